"""What of a statement the judgement needs, read once: words, what each clause denies, values and signs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from memory_service.domain.relations import _signs as signs
from memory_service.domain.relations import _words as words
from memory_service.domain.relations.bare import bare_wording
from memory_service.domain.relations.belonging import complements_of, owners_of, person_of
from memory_service.domain.relations.change_words import CHANGE_WORDS
from memory_service.domain.relations.quantities import Quantity, quantities
from memory_service.domain.relations.tables import denying, grouped
from memory_service.domain.text.analysis import AnalysisOptions, stem_english, token_terms, tokens
from memory_service.domain.text.negation import polarity
from memory_service.domain.text.numerals import ENGLISH_NUMBERS, ENGLISH_ORDINALS, chinese_number
from memory_service.domain.text.scripts import HAN, Language, language_of
from memory_service.domain.text.segment import cut_words
from memory_service.domain.text.stopwords import CHINESE_STOP_WORDS
from memory_service.domain.text.storable import normalise, same_text_key
from memory_service.domain.text.traditional import to_simplified

CHARS_MAX: Final = 600
"""A statement is one claim; of a longer text its beginning is read."""


@dataclass(frozen=True, slots=True)
class Reading:
    """One statement, read.

    Attributes:
        key: equal for casings, punctuation and spacing of one sentence (`same_text_key`).
        language: see `language_of`.
        terms: content words in one form each, with how much it matters that two statements share it (0 to 2).
        order: the same words as they come.
        denied: those in a clause that denies, dislikes or ends.
        negated: whether it has a negation of its own, not only a word that denies another ("leave").
        denies: whether the statement as a whole denies.
        grams: pairs of characters of the bare text, for what no dictionary cuts alike.
        values: words of closed sets (weekday, colour, side), as (set, value).
        numbers: numbers with the kind of thing they count, as (kind, value).
        measures: those of the words that are numbers, dates or values of closed sets.
        denied_clauses: the words of each clause that denies.
        names: words that name: capitals inside a sentence, identifiers.
        common: the words written in small letters somewhere, which name nobody.
        people: kin and persons named by their role.
        leads_with: the person or the first content word the statement opens with.
        leads: the same of every clause, in order.
        openings: the first two telling words of every clause.
        owners: whose a thing is, by thing: `self` or a name ("my meeting", "Bob's meeting").
        person: a short Chinese name that it opens with (小王), empty for none.
        complements: what a word is of, for, with or in, by word and preposition: the price *of milk*.
        counted: the words that a number or date is said of: the last one before it in its clause.
        before: what stands right before a word and belongs to it (*dentist* appointment), by word.
        about_self: whether the speaker is the subject of a clause.
        scopes: conditions, occasions and exceptions, as worded.
        labels: things named by a number or a letter at the start, as (thing, label).
        quantities: what it counts or dates, see `quantities`.
        left_behind: numbers that are said to hold no more ("off 8080", "from ten to eleven").
        fields: the lines of a life it is about (`words.FIELDS`).
        bare: equal for one claim: the preference it states, else the wording without what fills it (`bare_wording`).
        signs: names of the signs found, see `_SIGNS`.
    """

    key: str
    language: Language
    terms: dict[str, float]
    order: tuple[str, ...]
    denied: frozenset[str]
    denies: bool
    negated: bool
    grams: frozenset[str]
    values: frozenset[tuple[int, str]]
    numbers: frozenset[tuple[str, float]]
    measures: frozenset[str]
    denied_clauses: tuple[frozenset[str], ...]
    names: frozenset[str]
    common: frozenset[str]
    people: frozenset[str]
    leads_with: str
    leads: tuple[str, ...]
    openings: frozenset[str]
    before: dict[str, str]
    owners: dict[str, str]
    person: str
    complements: dict[str, dict[str, str]]
    counted: frozenset[str]
    about_self: bool
    scopes: frozenset[str]
    labels: frozenset[tuple[str, str]]
    quantities: frozenset[Quantity]
    left_behind: frozenset[float]
    fields: frozenset[int]
    signs: frozenset[str]
    bare: str = ""


_SIGNS: Final = (
    ("change", signs.CHANGE_RE),
    ("hint", signs.HINT_RE),
    ("correction", signs.CORRECTION_RE),
    ("scope", signs.SCOPE_RE),
    ("more", signs.MORE_RE),
    ("detail", signs.DETAIL_RE),
    ("question", signs.QUESTION_RE),
    ("hypothetical", signs.HYPOTHETICAL_RE),
    ("moment", signs.MOMENT_RE),
    ("passing", signs.PASSING_RE),
    ("return", signs.RETURN_RE),
    ("list", signs.LIST_RE),
    ("only_now", signs.ONLY_NOW_RE),
    ("today", signs.TODAY_RE),
    ("verified", signs.VERIFIED_RE),
    ("past", signs.PAST_RE),
    ("all", signs.ALL_RE),
    ("none", signs.NONE_RE),
    ("preference", signs.PREFERENCE_RE),
)
_OPTIONS: Final = AnalysisOptions(
    cjk_unigrams=False, cjk_bigrams=False, parts=False, english_stop=True, english_stem=False
)

_MEASURE_RE: Final = re.compile(
    r"\d+(?:st|nd|rd|th|am|pm|gb|k|%)?$|[零〇一二三四五六七八九十百千两半]+[年月日号点周岁块元个天位级楼]?$|[周号点月日年半岁]$"
)
_MODAL_ZH_RE: Final = re.compile(
    "不可以|可以|不能够?|能够|不会|不用|不要|不必|不需要|不肯|不愿意?|不想|不是|不让|不准|不许|不到|不得|没有|从来不?|从不|绝不|一直|已经|现在|还是"
)
_NOT_DENIED_ZH: Final = frozenset(words.NOT_DENIED_CHINESE.split())
_PLAIN_VERBS_ZH: Final = frozenset("喝吃弹穿戴骑养")
_VERBS_ZH: Final = frozenset("喝吃弹拉吹唱下打骑穿戴养学坐")
_FROM_WEEKDAY_ZH_RE: Final = re.compile(r"(周[一二三四五六日天])起")
_HARMLESS_RE: Final = re.compile(
    r"\b(?:with )?no (?:trouble|problems?|bother|harm|exceptions?|extensions?)\b|\bnot? at all bad\b"
)
_NAMED_RE: Final = re.compile(r"\b(?:is|are|was|am) (?:called|named)\b|'s name is\b|\bname's\b")
# A heading in brackets says where a note belongs, not what it claims.
_HEADING_RE: Final = re.compile(r"^\s*(?:[【\[][^】\]]{1,80}[】\]]\s*)+(?=\S)")
_USED_TO_RE: Final = re.compile(r"\bused to\b")
# "There is no day on which I do not": every day.
_NOT_ONE_ZH_RE: Final = re.compile(r"没有?[一哪]([天个次回年月])([^不,。]{0,3})不")
_FIELD_RES: Final = tuple(re.compile(pattern) for pattern in words.FIELDS)
# In Chinese a name shows by its Latin letters or its quotation marks.
_NAME_ZH_RE: Final = re.compile(
    r"[A-Za-z][A-Za-z0-9_-]*|(?<=[\"\u201c\u300a])[^\"\u201d\u300b]{1,12}(?=[\"\u201d\u300b])"
)
_LABEL_EN_RE: Final = re.compile(
    r"^(?:(?:the|my|our)\s+)?([a-z]+)\s+(\d{1,6}|alpha|beta|gamma|delta|[b-hj-z]|a(?=\s+(?:has|is|was|[a-z]{3,}s\b)))\b"
)
_LABEL_VERBS: Final = frozenset(words.NO_LABELLED_ENGLISH.split())
_LABEL_ZH_RE: Final = re.compile(
    r"^(.{0,3}?)([甲乙丙丁]|(?:[一二三四五六七八九十\d]+号?|[a-h])(?=[组班栋楼库仓机线队桌厅店房车]))(.?)"
)
# A sentence that opens with its verb is the speaker's: "Switched over to …", 跳槽到…了.
_NO_SUBJECT_EN_RE: Final = re.compile(
    r"(?:^|[.!?;]\s+)(?:(?:just|finally|officially|also|back|now|not|still|off|on)\s+)*(?:\w{2,}(?<!ne)(?<!bas)ed|gave|went|got|took"
    r"|sold|bought|left|quit|had|been|became|began|made|put|kept|met|gone|done|back|on|off)\s+(?:up|over|down|out|off|on|to|with|"
    r"from|in|my|our|the|a|an|it|back|into|for|at)\b"
)
_NO_SUBJECT_ZH_RE: Final = re.compile(
    r"(?:^|[,.;!?。，；！？]\s*)(?:刚|已经|终于|总算|昨天|今天|上周|上个?月|这周|现在|又|重新|还是|老老实实)*"
    r"(?:跳槽|搬[到去进回]|换[成到了]|改[成到用吃喝坐走住写学]|转[到去岗]|辞|离职|入职|戒|停了|不[做用吃喝干去住坐]了|回[到去来]?|开始|住|吃|用)"
)
_LEFT_BEHIND_RE: Final = re.compile(
    r"\b(?:off|from|not|no longer)\s+(?:port\s+)?(\d[\d,.]*\d|\d|[a-z]+)|(?:不是|没有|没|从)\s*(\d+)"
)
_CLAUSE_RE: Final = re.compile(
    r"[,;:.!?\uff0c\uff1b\uff1a。\uff01\uff1f、\u2014]+(?=\s|$|[^\d\s])|\b(?:but|though|although|because|so|and|whereas|while)\b"
    r"|但是?|可是?|不过(?!敏)|所以|因为",
    re.IGNORECASE,
)
_SUBJECT_RE: Final = re.compile(r"\bthe user(?:'s|\u2019s)?\b|(?:^|[.;:]\s*)user(?:'s|\u2019s)?\b|用户|本人")
_HAN_RUN_RE: Final = re.compile(f"[{HAN}]+")
_NAME_RE: Final = re.compile(
    r"(?<![.!?\u201c\"] )(?<=\w[ ,'\u2019-])[A-Z][\w\u00c0-\u024f-]+|\b[A-Za-z]*\d[\w-]*\b|\b[A-Z]\b(?<!\bI)"
)
_SMALL_RE: Final = re.compile(r"\b[a-z]{2,}\b")
_LEAD_SKIP_EN: Final = frozenset(words.BEFORE_NOUN_ENGLISH.split())
_NUMBER_EN_RE: Final = re.compile(
    r"\b(?P<digits>\d[\d,]*(?:\.\d+)?)(?P<suffix>st|nd|rd|th)?(?:\s*(?P<unit>[a-z%°$]+))?"
)
_NUMBER_ZH_RE: Final = re.compile(
    r"(?P<n>\d+(?:\.\d+)?|[零〇一二三四五六七八九十百千两]+)(?P<half>点半)?(?P<unit>[^\s\d,。\uff0c]?)"
)
_TRIVIAL_NUMBERS_ZH: Final = frozenset("一")
_LEADS_NOTHING: Final = CHANGE_WORDS | frozenset(words.LEADS_NOTHING.split())
_GENERIC_EN: Final = frozenset(map(stem_english, words.GENERIC_ENGLISH.split()))
_GENERIC_ZH: Final = frozenset(words.GENERIC_CHINESE.split())
_ADDED_STOP_ZH: Final = frozenset(words.STOP_CHINESE.split())


# Part of a sign, and no content.
_SIGN_WORDS_EN: Final = frozenset({"longer", "anymore", "never", "also"})
_LIKE_EN: Final = "like"
_LIKE_ZH: Final = "偏好"


_SAME_EN: Final = {stem_english(word): stem_english(first) for word, first in grouped(words.SAME_ENGLISH).items()}
_SAME_ZH: Final = grouped(words.SAME_CHINESE)
_DENY_EN_RAW: Final = denying(words.DENYING_ENGLISH)
_DENY_EN: Final = {stem_english(word): stem_english(first) for word, first in _DENY_EN_RAW[0].items()}
_DENY_ZH: Final = denying(words.DENYING_CHINESE)[0]
_KIN_EN: Final = grouped(words.KIN_ENGLISH)
_KIN_ZH: Final = grouped(words.KIN_CHINESE)
# One character is kin only by itself: 慧敏姐 is a colleague.
_KIN_ZH_RE: Final = re.compile(
    "|".join(
        word if len(word) > 1 else f"(?:(?<![{HAN}])|(?<=[我他她你的家])){word}"
        for word in sorted(_KIN_ZH, key=len, reverse=True)
    )
)
_VALUES: Final[dict[str, tuple[tuple[int, str], ...]]] = {}
for _number, _line in enumerate(words.EXCLUSIVE.strip().splitlines()):
    for _value in _line.split():
        for _word in _value.split("/"):
            _VALUES[_word] = (*_VALUES.get(_word, ()), (_number, _value))
_WEEKDAY_ZH_RE: Final = re.compile(r"(?:周|星期|礼拜)([一二三四五六日天])")
_VALUE_ZH_RE: Final = re.compile(
    "|".join(sorted((re.escape(word) for word in _VALUES if not word.isascii()), key=len, reverse=True))
)
_MONTHS: Final = {
    name: number
    for number, names in enumerate(
        (
            "january jan",
            "february feb",
            "march mar",
            "april apr",
            "may",
            "june jun",
            "july jul",
            "august aug",
            "september sept",
            "october oct",
            "november nov",
            "december dec",
        ),
        start=1,
    )
    for name in names.split()
}
_MONTH_RE: Final = re.compile(rf"\b({'|'.join(_MONTHS)})\b(?<!\bmay(?= (?:not|be|i|we|you|park|touch|use)))")
_MEASURE_TERMS: Final = (
    frozenset(map(stem_english, (*ENGLISH_NUMBERS, *ENGLISH_ORDINALS, *_MONTHS)))
    | frozenset(_SAME_ZH.get(word, word) for word in _VALUES)
    | frozenset(stem_english(word) for word in _VALUES if word.isascii())
    | frozenset(stem_english(word + "s") for word in _VALUES if word.endswith("day"))
)


def read(text: str) -> Reading:
    """Read one statement, English, Chinese (in either script) or both; its first 600 characters. Never raises.

    Loads the Chinese dictionary at the first Chinese text.
    """
    return _read(to_simplified(text[:CHARS_MAX]))


@lru_cache(maxsize=4_096)
def _read(text: str) -> Reading:
    folded = _SUBJECT_RE.sub(" i ", normalise(text)) if "user" in text or "User" in text else normalise(text)
    folded = _HEADING_RE.sub("", folded)
    folded = folded.replace("用户", "我").replace("\u2019", "'").strip()
    folded = signs.NOBODY_BUT_EN_RE.sub("only", folded)
    folded = signs.NOBODY_BUT_ZH_RE.sub(r"只有\1", folded)
    folded = _FROM_WEEKDAY_ZH_RE.sub(r"\1 起", folded)
    folded = _HARMLESS_RE.sub(" fine ", folded)
    folded = _NAMED_RE.sub(" name ", folded)
    folded = _USED_TO_RE.sub(" formerly ", folded)
    folded = _NOT_ONE_ZH_RE.sub(r"每\1\2", folded)
    folded = signs.ENDED_UP_RE.sub(" ", folded)
    folded = signs.WHO_SAYS_RE.sub(" not " if folded.isascii() else "不是", folded)
    language = language_of(text)
    order: list[str] = []
    denied: set[str] = set()
    denied_clauses: list[frozenset[str]] = []
    leads: list[str] = []
    openings: set[str] = set()
    before: dict[str, str] = {}
    counted: set[str] = set()
    last: list[str] = []
    main = False
    for clause, against in _clauses(folded):
        clause_terms, negative, preceding = _clause(clause)
        negative |= against
        if not clause_terms:
            # "…, not any more" and 一点都不行 deny what stands before them.
            if negative and last:
                denied.symmetric_difference_update(last)
                main = not main
            continue
        if not order:
            main = negative
        order.extend(clause_terms)
        telling = _telling(clause_terms)
        leads.append(_lead(clause.strip(), telling or clause_terms))
        openings.update(telling[:2])
        before = preceding | before
        counted.update(_counted(clause_terms))
        last = clause_terms
        if negative:
            denied.update(clause_terms)
            denied_clauses.append(frozenset(clause_terms))
    names = frozenset(found.lower() for found in (_NAME_ZH_RE if language == "zh" else _NAME_RE).findall(text))
    people = _people(folded)
    measures = frozenset(term for term in order if term in _MEASURE_TERMS or _MEASURE_RE.match(term))
    bare = same_text_key(text)
    return Reading(
        key=bare,
        language=language,
        terms={term: _weight(term, names) for term in order},
        order=tuple(order),
        denied=frozenset(denied),
        denies=main,
        negated=polarity(folded) == "-",
        grams=frozenset(bare[at : at + 2] for at in range(len(bare) - 1)),
        values=_values(folded),
        numbers=_numbers(folded),
        measures=measures,
        denied_clauses=tuple(denied_clauses),
        names=names - measures,
        common=frozenset(_english(word)[0] for word in _SMALL_RE.findall(text)),
        people=people,
        leads_with=_lead(folded, order),
        leads=tuple(leads),
        openings=frozenset(openings),
        before=before,
        owners=owners_of(folded, _form),
        person=person_of(folded),
        complements=complements_of(folded, _form),
        counted=frozenset(counted),
        about_self=_about_self(folded),
        scopes=frozenset(match.group() for match in signs.SCOPE_RE.finditer(folded)),
        labels=_labels(folded),
        quantities=quantities(folded),
        left_behind=_left_behind(folded),
        fields=frozenset(at for at, pattern in enumerate(_FIELD_RES) if pattern.search(folded)),
        signs=frozenset(name for name, pattern in _SIGNS if pattern.search(folded)),
        bare=bare_wording(text),
    )


def _clauses(folded: str) -> Iterator[tuple[str, bool]]:
    """The clauses, each with whether it is set against what is said ("rather than coffee")."""
    folded = signs.PREFERRED_OVER_RE.sub(r"\1\2rather than ", folded)
    folded = signs.PREFERRED_TO_RE.sub(r"\1\2 rather than ", folded)
    folded = signs.PREFERRED_ZH_RE.sub(r"而不是\1,", folded)
    for clause in _CLAUSE_RE.split(folded):
        if not clause or not clause.strip():
            continue
        for number, part in enumerate(signs.CONTRAST_RE.split(clause)):
            if part.strip():
                yield part, number > 0 and polarity(part) == "+"


def _clause(clause: str) -> tuple[list[str], bool, dict[str, str]]:
    """The content words of one clause, whether it denies them, and what stands right before which."""
    found: list[str] = []
    clause, dislikes = signs.DISLIKE_RE.subn(" ", clause)
    if dislikes:
        found.append(_LIKE_EN if clause.isascii() else _LIKE_ZH)
    clause, phrases = signs.DENIAL_RE.subn(" ", clause)
    phrases += dislikes
    negative = (polarity(clause) == "-") != (phrases % 2 == 1)
    before: dict[str, str] = {}
    previous = ""
    for word, term in _words_of(clause):
        if term is None:
            previous = ""
            continue
        negative ^= word
        found.append(term)
        if previous:
            before.setdefault(term, previous)
        previous = term
    return found, negative, before


def _telling(clause_terms: list[str]) -> list[str]:
    """The words of a clause that may say what it is of: no words of change, no measures and what they count."""
    found = []
    counts = False
    for term in clause_terms:
        measure = term.isdigit() or term in _MEASURE_TERMS or bool(_MEASURE_RE.match(term))
        if not measure and not counts and term not in _LEADS_NOTHING:
            found.append(term)
        counts = measure and term.isdigit()
    return found


def _counted(clause_terms: list[str]) -> Iterator[str]:
    """The words that stand last before a number or a date."""
    last = ""
    for term in clause_terms:
        if any(char.isdigit() for char in term) or term in _MEASURE_TERMS or _MEASURE_RE.match(term):
            if last:
                yield last
        elif term not in _LEADS_NOTHING and term not in _GENERIC_EN and term not in _GENERIC_ZH:
            last = term


def _words_of(clause: str) -> Iterator[tuple[bool, str | None]]:
    """The words in one form each, with whether they deny it; None in place of what is no content."""
    for is_cjk, token in tokens(clause):
        if not is_cjk:
            said = [word for word in token_terms(token, _OPTIONS) if word not in _SIGN_WORDS_EN]
            if not said:
                yield False, None
            for word in said:
                term, denies = _english(word)
                yield denies, term
            continue
        for han in _HAN_RUN_RE.findall(token):
            for word in _chinese(han):
                if word in CHINESE_STOP_WORDS or word in _ADDED_STOP_ZH:
                    yield False, None
                    continue
                term = _DENY_ZH.get(word, word)
                yield term != word and polarity(word) == "+", _SAME_ZH.get(term, term)


def _chinese(han: str) -> Iterator[str]:
    """The words of a run, without modal verbs, and with a verb parted from the object the dictionary has it with."""
    for run in _MODAL_ZH_RE.split(han):
        for word in cut_words(run):
            if len(word) > 1 and word[0] in "不没未" and word not in _NOT_DENIED_ZH:
                yield word[1:]
            elif (
                (len(word) > 2 or word[0] in _PLAIN_VERBS_ZH)
                and len(word) > 1
                and word[0] in _VERBS_ZH
                and word not in _SAME_ZH
                and word not in _DENY_ZH
            ):
                yield word[0]
                yield word[1:]
            else:
                yield word


def _english(word: str) -> tuple[str, bool]:
    """A word in one form, and whether it denies that form (`unheated` is a denial of `heated`)."""
    stem = stem_english(word)
    denies = False
    if stem in _DENY_EN:
        denies = polarity(word) == "+"
        stem = _DENY_EN[stem]
    elif word.startswith("un") and len(word) > 6 and word.endswith(("ed", "able", "ful", "ing")):
        stem, denies = stem_english(word[2:]), True
    return _SAME_EN.get(stem, stem), denies


def _form(word: str) -> str:
    return _english(word)[0]


def _weight(term: str, names: frozenset[str]) -> float:
    if term in _GENERIC_EN or term in _GENERIC_ZH:
        return 0.3
    if term in names:
        return 1.6
    if term.isascii():
        return 1.0
    return 0.6 if len(term) == 1 else 1.2


def _people(folded: str) -> frozenset[str]:
    found = {_KIN_EN[word] for word in re.findall(r"[a-z]+(?:-in-law)?", folded) if word in _KIN_EN}
    if not folded.isascii():
        found |= {_KIN_ZH[match] for match in _KIN_ZH_RE.findall(folded)}
    return frozenset(found)


def _about_self(folded: str) -> bool:
    if signs.SELF_SUBJECT_EN_RE.search(folded) or _NO_SUBJECT_EN_RE.search(folded):
        return True
    if _NO_SUBJECT_ZH_RE.search(folded):
        return True
    return any(
        clause.lstrip().startswith(("我", "咱", "本人"))
        and not _KIN_ZH_RE.match(clause.lstrip()[:3].lstrip("我的家"))
        for clause in _CLAUSE_RE.split(folded)
        if clause
    ) or ("我" in folded and not _KIN_ZH_RE.search(folded))


def _lead(folded: str, order: list[str]) -> str:
    """Whom or what the first clause opens with: `self`, kin, or the first content word."""
    if folded.isascii() or folded[:1].isascii():
        for word in re.findall(r"[a-z]+(?:-in-law)?|\d+", folded)[:6]:
            if word in ("i", "we", "me"):
                return "self"
            if word in _KIN_EN:
                return _KIN_EN[word]
            if word in _LEAD_SKIP_EN:
                continue
            break
    else:
        match = _KIN_ZH_RE.match(folded) or _KIN_ZH_RE.match(folded[1:]) or _KIN_ZH_RE.match(folded[2:])
        if (match and folded[0] in "我咱") or (match and folded.startswith(match.group())):
            return _KIN_ZH[match.group()]
        if folded.startswith(("我", "咱")):
            return "self"
    return order[0] if order else ""


def _values(folded: str) -> frozenset[tuple[int, str]]:
    found: set[tuple[int, str]] = set()
    for word in re.findall(r"[a-z]+(?:-[a-z]+)*", folded):
        found.update(_VALUES.get(word) or _VALUES.get(word.removesuffix("s"), ()))
    if not folded.isascii():
        plain = _WEEKDAY_ZH_RE.sub(lambda match: "周" + match.group(1).replace("天", "日"), folded)
        for match in _VALUE_ZH_RE.findall(plain):
            found.update(_VALUES[match])
    return frozenset(found)


def _numbers(folded: str) -> frozenset[tuple[str, float]]:
    found: set[tuple[str, float]] = set()
    if not folded.isascii():
        for match in _NUMBER_ZH_RE.finditer(folded):
            raw, unit = match["n"], match["unit"]
            if raw in _TRIVIAL_NUMBERS_ZH or folded[max(0, match.start() - 1) : match.start()] in ("周", "期", "拜"):
                continue
            value = float(raw) if raw[0].isdigit() else chinese_number(raw)
            if value is not None:
                half = 0.5 if match["half"] else 0.0
                found.add((_unit(unit if not half else "点"), float(value) + half))
    for match in _NUMBER_EN_RE.finditer(folded):
        digits = match["digits"].replace(",", "")
        if len(digits) <= 15:
            found.add(("nth" if match["suffix"] else _unit(match["unit"] or ""), float(digits)))
    for word in re.findall(r"[a-z]+(?:-[a-z]+)?", folded):
        if word in ENGLISH_NUMBERS and word not in ("a", "an", "one", "couple", "zero"):
            scale = _SCALE_RE.search(folded[folded.index(word) + len(word) :])
            found.add(("", float(ENGLISH_NUMBERS[word]) * (_SCALES[scale.group(1)] if scale else 1)))
        elif word in ENGLISH_ORDINALS and word != "second" and word != "first":
            found.add(("nth", float(ENGLISH_ORDINALS[word])))
    for match in _MONTH_RE.findall(folded):
        found.add(("month", float(_MONTHS[match])))
    return frozenset(found)


def _labels(folded: str) -> frozenset[tuple[str, str]]:
    english = _LABEL_EN_RE.match(folded)
    if english and english.group(1) not in _LABEL_VERBS:
        return frozenset({(english.group(1), english.group(2))})
    chinese = None if folded.isascii() else _LABEL_ZH_RE.match(folded)
    return frozenset({(chinese.group(1) or chinese.group(3), chinese.group(2))}) if chinese else frozenset()


def _left_behind(folded: str) -> frozenset[float]:
    found: set[float] = set()
    for match in _LEFT_BEHIND_RE.finditer(folded):
        word = next(group for group in match.groups() if group).replace(",", "")
        if word[0].isdigit():
            found.add(float(word)) if word.count(".") < 2 and len(word) <= 15 else None
        elif word in ENGLISH_NUMBERS and word not in ("a", "an", "one"):
            found.add(float(ENGLISH_NUMBERS[word]))
    return frozenset(found)


_UNITS: Final = {
    "点": "hour",
    "号": "nth",
    "日": "nth",
    "月": "month",
    "am": "hour",
    "pm": "hour",
    "o": "hour",
    "k": "thousand",
}


_SCALES: Final = {"hundred": 100, "thousand": 1_000, "million": 1_000_000}
_SCALE_RE: Final = re.compile(rf"^\s+({'|'.join(_SCALES)})\b")


def _unit(unit: str) -> str:
    return _UNITS.get(unit, unit if not unit.isascii() else "")
