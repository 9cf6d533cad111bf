"""Chinese constructions that state a preference; see `preference`. X is what is liked, Y what it is set above."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from memory_service.domain.relations._sides import ALL_OTHERS, Side
from memory_service.domain.text.scripts import HAN
from memory_service.domain.text.storable import normalise

_SPOILT_RE: Final = re.compile(r"[?？“”\"「」『』:;()\n]|[吗么]$")
_JOINED_RE: Final = re.compile("但|可是|不过|而|所以|因为|于是")
_SPACE_RE: Final = re.compile(rf"(?<=[{HAN},]) | (?=[{HAN},])")
_END_RE: Final = re.compile(r"[。.!~…、, ]+$|[呢啊呀哦哈啦嘛]$|(?<![酒网茶水书])吧$")

_ADV: Final = (
    "(?:真的是?|真心|真是|真|其实|确实|实在是?|的确|就是|就|可|也|很|特别|非常|十分|超级|超|好|挺|蛮|相当|极其|格外|无比"
    "|一直以来都?|一直都?|一向都?|向来都?|从来都|从小就?|始终都?|打心底里?|打心眼里?|打从心底|由衷地?|老|这个?人|个人|还是)*"
)
_LIKE: Final = "(?:喜欢|喜爱|爱好|钟爱|偏爱|热爱|酷爱|挚爱|痴迷于?|迷恋|热衷于?|钟情于?|中意|着迷于?|爱(?!人))"
_HATE: Final = (
    "(?:(?:(?:一点儿?|半点)[也都]|从来都?|压根儿?|根本|完全|丝毫)*"
    "不(?:太|大|怎么|是很|是特别|是太|很)?(?:喜欢|喜爱|中意|待见|爱)"
    "|讨厌|厌恶|反感|厌烦|憎恶|受不了|受不住|忍受不了|无法忍受|恨(?!不得)|烦(?![躁恼死闷心人]))"
)
_BEST: Final = "最+(?:喜欢|喜爱|钟爱|偏爱|中意|爱)"
_EVER: Final = "(?:永远都?|一直都?|始终都?|一向都?|就|真的)*"
_HAVE: Final = "(?:喝|吃|用)"
_SENSE: Final = "[吃喝听看玩]"
_CHOOSE: Final = "(?:会|肯定|一定|还是|都)*(?:选择?|挑)"
_X: Final = "(?P<x>[^,我]+?)"
_Y: Final = "(?P<y>[^,我]+?)"
# What is named first, and then liked: not what makes the speaker or has the speaker like something.
_FRONT: Final = "(?<![让使令叫给对跟和比向为]),?我"
_TRUE: Final = "(?:超级|资深|铁杆|忠实|十足的?|狂热的?)*"
_OR_OBJECT: Final = f"(?:{_HAVE})?"

_OVER: Final = (
    f"我?(?:比起|相比之?于?|相较于?)(?:喝|吃|用)?{_Y}(?:来说?|而言)?,?我?{_ADV}(?:更{_LIKE}|更?(?:愿意|倾向于?)|宁愿|宁可|{_CHOOSE}){_X}",
    f"(?:跟|和|与|同){_Y}(?:相比|比起?来?|比较),?我{_ADV}更{_LIKE}{_X}",
    f"与其{_Y},?我?(?:宁愿|宁可|更愿意|更{_LIKE}){_X}",
    f"我{_ADV}更{_LIKE}{_X},?(?:而不是|而非|不是){_Y}",
    f"我{_ADV}{_LIKE}{_X}(?:胜过|多过|多于|甚于)(?:{_LIKE})?{_Y}",
    f"我(?:宁愿|宁可){_X},?也?不(?:愿意?|肯)?(?P<have>{_HAVE}){_Y}",
)
_BETWEEN_RE: Final = re.compile(
    f"在?{_Y}[和跟与](?P<z>[^,我]+?)(?:之间|当中|里面?|中)?,?我{_ADV}(?:{_CHOOSE}|更{_LIKE}){_X}"
)
_KIND: Final = (
    f"我{_EVER}{_BEST}的(?P<kind>[^,我是]+?){_EVER}是{_X}",
    f"{_X}{_EVER}是我{_EVER}{_BEST}的(?P<kind>[^,我]+?)",
)
_ABOVE: Final = (
    f"{_X}{_FRONT}{_ADV}{_BEST}{_OR_OBJECT}",
    f"我{_EVER}{_BEST}的{_EVER}是{_X}",
    f"我的?最爱{_EVER}是{_X}",
    f"{_X}{_EVER}是我的?最爱",
    f"{_X},我的最爱",
    f"{_X}{_EVER}是我{_BEST}的(?:东西)?",
    f"没有?什么能?比{_X}更(?:好[吃喝看听玩]?|棒|让我(?:喜欢|开心|快乐)|合我(?:心意|胃口|口味))的?了?",
    f"我(?:总是|永远|每次都|一向|从来都|一直){_CHOOSE}{_X}",
    f"{_X}{_EVER}是我的?(?:首选|第一选择)",
    f"我的首选{_EVER}是{_X}",
    f"(?:(?:如果|要是)?[让要]我选(?:的话)?|有得选(?:的话)?),?我{_CHOOSE}{_X}",
    f"我{_ADV}更{_LIKE}{_X}",
    f"我{_ADV}(?:{_BEST}|独爱){_X}",
)
_DISLIKED_MOST: Final = (
    f"我{_ADV}最+{_HATE}{_X}",
    f"{_X}{_FRONT}{_ADV}最+{_HATE}{_OR_OBJECT}",
)
_DISLIKED: Final = (
    f"我{_ADV}{_HATE}{_X}",
    f"{_X}{_FRONT}{_ADV}{_HATE}{_OR_OBJECT}",
    f"{_X}(?:真的|就)?不是我的菜",
    f"{_X}(?:不太?|不怎么)[合对]我的?(?:胃口|口味|心意)",
    f"我对{_X}{_ADV}(?:反感|厌恶|深恶痛绝|喜欢不起来|没有?好感|敬谢不敏)",
    f"{_X}让我{_ADV}(?:反感|讨厌|厌烦|烦)",
    f"{_X}不是我{_LIKE}的(?:东西|事)?",
)
_LIKED: Final = (
    f"我{_ADV}{_LIKE}的{_EVER}是{_X}",
    f"我{_ADV}{_LIKE}{_X}(?:得不得了|得很|得要命|得不行)?",
    f"{_X}{_FRONT}{_ADV}{_LIKE}{_OR_OBJECT}",
    f"我对{_X}{_ADV}(?:情有独钟|着迷|痴迷|爱不释手|欲罢不能|爱得不行|毫无抵抗力|没有?什?么?抵抗力|百{_SENSE}不[厌腻])",
    f"{_X}{_EVER}是我的(?:爱好|菜|心头好|心头爱|心头所好|挚爱)",
    f"我的爱好{_EVER}是{_X}",
    f"我{_ADV}是(?:一?[个名位](?!人))?{_TRUE}{_X}的?{_TRUE}(?:爱好者|控|迷|发烧友|粉丝|忠粉|拥趸|党)",
    f"{_X}(?:总是?|总能)?让我{_ADV}(?:感到|觉得)?(?:开心|快乐|高兴|幸福|愉快)",
    f"{_X}{_ADV}[合对]我的?(?:胃口|口味|心意)",
    f"{_X}深得我心",
    f"我{_ADV}好{_X}这一?口",
    f"我{_ADV}离不开{_X}",
    f"{_X}我(?:怎么{_SENSE}都)?(?:百{_SENSE}|{_SENSE})不[腻厌]",
)


def _compiled(patterns: Iterable[str]) -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(pattern) for pattern in patterns)


_OVER_RES: Final = _compiled(_OVER)
_KIND_RES: Final = _compiled(_KIND)
# The narrower ones first: 最喜欢 is no adverb and 喜欢.
_ORDERED: Final = (
    (True, ALL_OTHERS, _compiled(_ABOVE)),
    (False, ALL_OTHERS, _compiled(_DISLIKED_MOST)),
    (False, "", _compiled(_DISLIKED)),
    (True, "", _compiled(_LIKED)),
)
# 挺喜欢…的: the 的 belongs to 挺, and to no thing.
_FRAMED_RE: Final = re.compile(f"我{_ADV}(?:挺|蛮|是){_ADV}(?:{_LIKE}|{_HATE}).+的$")

# What points at something said before, persons (爱 is more than 喜欢 there), and what is a clause or part of a word.
_POINTS_RE: Final = re.compile(
    "[你您他她它咱俺这那哪的得着起谁]|过(?!年|节|生日|冬|夏|马路|周末|日子)|上(?!班|海|学|课|网|山|街|午)|到(?!处)|不?(?:喜欢|爱)"
    "|自己|大家|别人|人家|人$"
    "|(?:爸|妈|爷|奶奶|哥|姐|弟|妹|老公|老婆|妻子|丈夫|孩子|儿子|女儿|父|母|家人|男朋友|女朋友|爱人)"
    "|[小老阿].$"
)
_ENDS_RE: Final = re.compile(r"(?:[了过]|之一|起来|与否)$")
_CLAUSE_RE: Final = re.compile(
    "是|因为|但|可是|不过(?!敏)|如果|的话|说|觉得|以为|可能|也许|好像|大概|以前|曾经?|不再|现在|今天|除了"
)
# Doings that say no more than the thing itself, unless what follows is no thing by itself.
_HAVING_RE: Final = re.compile("(?:喝|吃|用|品)(?=..|[茶酒鱼肉面饭菜糖蛋奶汤粥瓜果虾蟹])")
_NO_THING_RE: Final = re.compile(
    "[的完着了过多少慢快到得起在和跟给一点些惯不饱醉]|[亏醋力惊香货心功脑人]$|.*的$|.*(?:东西|什么)|(?:清淡|生冷|重口|辛辣|油腻)$"
)


def chinese(text: str) -> Side | None:
    """See `preference`."""
    folded = _folded(text)
    if folded is None or "我" not in folded:
        return None
    found = _set_above_one(folded) or _best_of_a_kind(folded)
    if found is not None:
        return found
    for likes, above, patterns in _ORDERED:
        for pattern in patterns:
            match = pattern.fullmatch(folded)
            if match is None:
                continue
            what = _thing(match.group("x"))
            return None if what is None else Side(likes, above, what)
    return None


def _folded(text: str) -> str | None:
    """The statement without what surrounds it; None for what is quoted, listed or asked."""
    folded = normalise(text)
    if _SPOILT_RE.search(folded) or _JOINED_RE.match(folded):
        return None
    folded = _SPACE_RE.sub("", folded.replace("，", ","))
    while (shorter := _END_RE.sub("", folded)) != folded:
        folded = shorter
    folded = re.sub("用户|本人", "我", folded)
    folded = re.sub("^(?:说实话|老实说|其实|说真的|坦白说|总之),?", "", folded)
    return folded[:-1] if _FRAMED_RE.fullmatch(folded) else folded


def _set_above_one(folded: str) -> Side | None:
    between = _BETWEEN_RE.fullmatch(folded)
    if between is not None:
        chosen, *two = (_thing(between.group(name)) for name in ("x", "y", "z"))
        if chosen is not None and None not in two and two.count(chosen) == 1:
            return Side(True, str(next(thing for thing in two if thing != chosen)), chosen)
    for pattern in _OVER_RES:
        match = pattern.fullmatch(folded)
        if match is None:
            continue
        what, other = _thing(match.group("x")), _thing(match.group("y"))
        return None if what is None or other is None or what == other else Side(True, other, what)
    return None


def _best_of_a_kind(folded: str) -> Side | None:
    for pattern in _KIND_RES:
        match = pattern.fullmatch(folded)
        if match is None or match.group("kind") in ("东西", "就"):
            continue
        what = _thing(match.group("x"))
        return None if what is None else Side(True, f"{ALL_OTHERS} of {match.group('kind')}", what)
    return None


def _thing(said: str) -> str | None:
    """What is liked, in one form; None when it points elsewhere, is a person or is no thing by itself."""
    if not said or _POINTS_RE.match(said) or _ENDS_RE.search(said) or _CLAUSE_RE.search(said):
        return None
    having = _HAVING_RE.match(said)
    if having is not None and not _NO_THING_RE.match(said[having.end() :]):
        return said[having.end() :]
    return said
