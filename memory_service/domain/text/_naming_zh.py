"""Other names in Chinese statements; see `naming`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

_CLAUSE_RE: Final = re.compile(r"[，。；！？,;!?\n]+")
_QUOTES: Final = "\"'\u201c\u201d\u2018\u2019\u300c\u300d\u300e\u300f\u300a\u300b"
_Y: Final = (
    rf"(?:[{_QUOTES}](?P<q>[^{_QUOTES}]{{1,16}})[{_QUOTES}]|(?P<n>[\u4e00-\u9fffA-Za-z0-9·._-]{{2,10}}?))"
    r"(?=$|[\s，。；、！？,;!?（(]|了$|吧$)"
)
_NOUN: Final = (
    r"(?:小名|乳名|外号|绰号|昵称|简称|别名|代号|英文名|中文名|曾用名|俗称|花名|网名|艺名"
    r"|备注|缩写|全称|全名|大名|本名)"
)
_PEOPLE: Final = (
    r"(?:大家|家里人?|内部|平时|我们|咱们|同事们?|公司里?|组里|孩子们?|朋友们?|圈里|私下里?|一般|人们|老家|对外|对内"
    r"|他们|我|人)"
)
_CALLED_RE: Final = re.compile(
    rf"{_NOUN}(?:里|上)?(?:就|还|也)?(?:叫做|叫作|叫|是|为|：|:)?\s*{_Y}".replace("?P<q>", "?P<q1>").replace(
        "?P<n>", "?P<n1>"
    )
    + rf"|(?:{_PEOPLE}(?:都|就|也|一直|习惯|又)*|(?:都|又|也|就))(?:管|把|称|喊)?(?:他|她|它|这个|这)?(?:都|就)?"
    rf"(?:叫做|叫作|叫|称为|称作|称|喊)(?:他们|他|她们|她|它|做|作|成)?\s*{_Y}".replace("?P<q>", "?P<q2>").replace(
        "?P<n>", "?P<n2>"
    )
    + rf"|(?:又名|又称|人称|亦称|也就是|即)\s*{_Y}".replace("?P<q>", "?P<q3>").replace("?P<n>", "?P<n3>")
)
_NAME_OF_RE: Final = re.compile(
    rf"[{_QUOTES}]?(?P<y>[\u4e00-\u9fffA-Za-z0-9·._-]{{2,12}})[{_QUOTES}]?是(?P<x>[^，。；,;]{{2,20}}?)的{_NOUN}"
)
_IS_RE: Final = re.compile(
    rf"^[{_QUOTES}]?(?P<y>[\u4e00-\u9fffA-Za-z0-9·._-]{{2,8}})[{_QUOTES}]?(?:就是|指的是|指的就是|说的就是)(?P<x>.{{2,20}})$"
)
_OWN_RE: Final = re.compile(
    r"^(?:其实|现在|以后)?(?:我们家?的?|我家的?|我的?|咱们?家?的?|他们?的?|她们?的?|这个?|那个?|用户的?)"
)
_BETWEEN_RE: Final = re.compile(
    rf"(?:的)?(?:大名|全名|本名|真名|学名|名字)(?:叫|是)?|叫做|名叫|叫|就是|是|(?=[{_QUOTES}])"
)
_ROLE_RE: Final = re.compile(
    r"^(?P<role>新?(?:房东|老板|领导|上司|经理|主管|组长|老师|同事|客户|邻居|室友|朋友|同学|医生|教练|助理|司机|阿姨|保姆"
    r"|妈妈?|爸爸?|母亲|父亲|外婆|外公|奶奶|爷爷|姥姥|姥爷|老公|老婆|丈夫|妻子|女儿|儿子|哥哥?|姐姐?|弟弟?|妹妹?|表[哥姐弟妹]"
    r"|舅舅|姑姑|姨妈|叔叔|婆婆|公公|岳父|岳母|女朋友|男朋友|狗|猫))(?P<name>[\u4e00-\u9fff]{2,4})$"
)
_NO_NAMES_RE: Final = re.compile(r"^[他她它我你您这那谁什哪]|什么|怎么|哪|这么|[吗呢吧啊]$")
_NO_SUBJECTS: Final = frozenset(
    ("对外", "对内", "内部", "平时", "微信", "家里", "私下", "现在", "以后", "其实", "因为", "所以")
)
_TAIL_RE: Final = re.compile(r"(?:项目|这个项目)$")
_WORDS_MAX: Final = 14


def pairs(text: str) -> Iterator[tuple[str, str]]:
    """The pairs of names that a Chinese statement gives; may repeat, and need tidying."""
    clauses = [clause.strip() for clause in _CLAUSE_RE.split(text) if clause.strip()]
    for match in _NAME_OF_RE.finditer(text):
        for one in _ways(match["x"]):
            yield one, match["y"]
    spoken_of: list[str] = []
    for clause in clauses:
        told = _IS_RE.search(clause)
        if told is not None and (len(clauses) > 1 or clause[0] in _QUOTES):
            spoken_of = [*_ways(told["x"]), told["y"]]
            for one in spoken_of[:-1]:
                yield one, told["y"]
            continue
        called = _CALLED_RE.search(clause)
        before = clause if called is None else clause[: called.start()]
        here = list(_subject(before)) if len(before) > 1 else []
        spoken_of = here or spoken_of
        name = "" if called is None else next((group for group in called.groups() if group), "")
        if not name or _NO_NAMES_RE.search(name) or before.endswith(("管", "把")):
            continue
        for one in spoken_of:
            yield one, name
        spoken_of = [*spoken_of, name][-3:]


def _subject(clause: str) -> Iterator[str]:
    """What a clause is about: what comes before "is" or "is called", and what comes after."""
    bare = _OWN_RE.sub("", clause)
    parts = [part.strip(_QUOTES + " 的") for part in _BETWEEN_RE.split(bare, maxsplit=1)]
    for part in parts:
        yield from _ways(part)


def _ways(thing: str) -> Iterator[str]:
    """The ways to speak of a thing: a role and a name together (房东顾长林) are two."""
    bare = _TAIL_RE.sub("", _OWN_RE.sub("", thing).strip(_QUOTES + " 的")).strip(_QUOTES)
    together = _ROLE_RE.match(bare)
    if together is not None:
        yield together["role"]
        yield together["name"]
    elif 2 <= len(bare) <= _WORDS_MAX and bare not in _NO_SUBJECTS and not _NO_NAMES_RE.search(bare):
        yield bare
