"""Other names that a statement gives to things: "we call the camper van Gertrude", 小名糖糖 (C8).

By rule, without a model. A pair of names is two ways to speak of one thing, and either finds what is said under the
other, so a pair too many costs a little order and a pair too few loses an answer. English names are capitalised,
quoted or identifiers; what they are names of may be any noun phrase.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from memory_service.domain.text import _naming_zh
from memory_service.domain.text.scripts import UNSPACED
from memory_service.domain.text.traditional import to_simplified

Pair = tuple[str, str]

TEXT_CHARS_MAX: Final = 600
"""Longer texts are records, not statements of a name."""
NAME_CHARS_MAX: Final = 60
PAIRS_MAX: Final = 6
"""Most pairs that one statement gives."""

_HINTS: Final = (
    *("call", "nick", "code", "aka", "a.k.a", "known as", "goes by", "go by", "went by", "short", "mean", "alias"),
    *("answers to", "refer", "dubbed", "stands for", " say", " name", "handle", "working title", "("),
)
_HINTS_ZH: Final = (
    *("叫", "称", "就是", "指的", "也就是", "即", "小名", "乳名", "外号", "绰号", "别名", "代号", "英文名", "中文名"),
    *("曾用名", "花名", "网名", "艺名", "备注", "缩写", "大名", "本名", "全名"),
)
_HINTS_ALL: Final = (*_HINTS, *_HINTS_ZH)
_CJK_RE: Final = re.compile(f"[{UNSPACED}]")

_QUOTED: Final = r"[\"'\u201c\u2018](?P<y_q>[^\"\u201c\u201d]{2,40}?)[\"'\u201d\u2019](?!\w)"
_NAME: Final = r"(?:[tT]he )?(?P<y_n>[A-Z][\w.&-]*(?: [A-Z0-9][\w.&-]*){0,3}|[a-z]+(?:[-_.][a-z0-9]+)+)"
_THING: Final = (
    r"(?:(?:[tT]he|[oO]ur|[mM]y|[hH]is|[hH]er|[tT]heir|[aA]|[tT]his|[tT]hat) )?"
    r"(?P<x>(?:[A-Z0-9][\w.&-]*|[a-z][\w-]*)(?: [\w.&-]+){0,4}?)"
)
_WHO: Final = (
    r"(?:we|I|everyone|everybody|people|they|you|folks|the kids|the team|friends|family|the family|all of us"
    r"|most people)"
)
_OFTEN: Final = r"(?: (?:all|both|just|always|usually|mostly|also|still|often|only|sometimes))?"
_CALL: Final = rf"{_WHO}{_OFTEN} (?:calls?|called|nicknamed?|refers? to)"
_END: Final = r"(?=\s*(?:$|[.,;:!?)]|\b(?:now|for short|internally|at home|around|in|when|but|and)\b))"
_CODE: Final = r"(?:code[- ]?name|nickname|working title|short name|pet name|alias|handle)"
_KNOWN_AS: Final = (
    r"(?i:also known as|better known as|known as|a\.?k\.?a\.?|nick-?named|code[- ]?named|dubbed|goes by|went by"
    r"|answers to|is short for|short for|is an alias (?:of|for))"
)


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text.replace("<Y>", f"(?:{_QUOTED}|{_NAME})").replace("<thing x>", _THING))


_PATTERNS: Final = tuple(
    map(
        _pattern,
        (
            rf"\b(?i:{_CALL}) (?!(?i:him|her|it|them|this|that)\b)<thing x> <Y>{_END}",
            rf"<Y> (?i:is what {_WHO}{_OFTEN} call(?:s|ed)?) <thing x>{_END}",
            rf"\b(?i:{_CALL}) <Y> (?:is|means)(?: (?:really|actually|just))? <thing x>{_END}",
            rf"<thing x>,? (?:is |was )?{_KNOWN_AS} <Y>",
            rf"<Y> (?i:is short for|stands for|is an alias (?:of|for)|is the {_CODE} (?:of|for)) <thing x>{_END}",
            r"<thing x>,? (?:or|aka) <Y>,? for short\b",
            r"<thing x>,? <Y> for short\b",
            rf"<thing x> (?:has|have|got|gets)(?: got)? an? (?:new )?(?i:{_CODE})[^,.:;]*[,:] <Y>",
            rf"(?i:{_CODE}) (?:of|for) <thing x> (?:is|will be) <Y>",
            rf"<thing x>'s (?i:{_CODE}) (?:is|will be) <Y>",
            r"(?i:when I say|by) <Y>,? (?:I|we) mean <thing x>" + _END,
            r"<Y> (?:always |just )?means <thing x>" + _END,
            r"<thing x> \((?:aka |also |or )?[\"\u201c]<Y>[\"\u201d]?\)",
        ),
    )
)
_OF_A_PRONOUN: Final = tuple(
    map(
        _pattern,
        (
            rf"\b(?i:{_CALL}) (?:him|her|it|them|this|that) <Y>",
            rf"\b(?i:{_WHO}{_OFTEN} says?) <Y>{_END}",
            rf"\b(?i:(?:he|she|it|they) (?:goes|go) by|(?:he|she|it)(?:'s| is) (?:known as|nicknamed)) <Y>{_END}",
        ),
    )
)
_SUBJECT_RE: Final = re.compile(
    r"(?:^|[.;!?,] )(?:(?:The|the|Our|our|My|my|His|his|Her|her|Their|their) )?"
    r"(?P<role>[a-z][\w-]*(?: [a-z][\w-]*){0,3}?)?(?:(?:'s| is| was|,)? ?)"
    r"(?P<name>[A-Z][\w-]+(?: [A-Z][\w-]+){0,3})"
)
_ACRONYM_RE: Final = re.compile(r"(?P<long>(?:[A-Za-z][\w-]*\s+){1,5}[A-Za-z][\w-]*) \((?P<short>[A-Z]{2,6})\)")
_DETERMINER_RE: Final = re.compile(r"^(?:the|our|my|his|her|their|an?|this|that|your)\s+", re.IGNORECASE)
_NO_NAMES: Final = frozenset(
    [
        "i",
        "me",
        "you",
        "he",
        "she",
        "it",
        "we",
        "they",
        "him",
        "her",
        "them",
        "this",
        "that",
        "there",
        "here",
        "what",
        "who",
        "everyone",
        "everybody",
        "people",
        "is",
        "was",
        "are",
        "be",
        "the",
        "a",
        "an",
        "and",
        "or",
        "but",
        "so",
        "if",
        "when",
        "then",
        "now",
        "today",
        "yes",
        "no",
        "ok",
        "okay",
    ]
)


def other_names(text: str) -> tuple[Pair, ...]:
    """The pairs of names that a statement gives to one thing each, each pair once, in order; () for most statements.

    Names come without articles and quotation marks, at most `NAME_CHARS_MAX` long, and in Simplified Chinese.
    """
    text = to_simplified(text)
    # Most texts have no such word; to look for some strings costs a tenth of reading by pattern.
    if len(text) > TEXT_CHARS_MAX or not any(map(text.lower().__contains__, _hints(text))):
        return ()
    found = _naming_zh.pairs(text) if _CJK_RE.search(text) else _english(text)
    return tidy_pairs(found)


def _hints(text: str) -> Sequence[str]:
    """What a statement of a name has at least one of."""
    return _HINTS if text.isascii() else _HINTS_ALL


def tidy_pairs(found: Iterator[Pair]) -> tuple[Pair, ...]:
    """Pairs of two names worth looking for, each once, whichever way round."""
    kept: dict[frozenset[str], Pair] = {}
    for one, other in found:
        pair = (_tidy(one), _tidy(other))
        folded = frozenset(name.casefold() for name in pair)
        if len(folded) == 2 and all(map(_is_name, pair)):
            kept.setdefault(folded, pair)
        if len(kept) == PAIRS_MAX:
            break
    return tuple(kept.values())


def _tidy(name: str) -> str:
    bare = " ".join(name.split()).strip(
        " .,;:!?\"'\u201c\u201d\u2018\u2019\u300c\u300d\u300a\u300b()\uff08\uff09\uff0c\u3002\uff1b\uff1a"
    )
    return _DETERMINER_RE.sub("", bare).removesuffix("'s")


def _is_name(name: str) -> bool:
    return 2 <= len(name) <= NAME_CHARS_MAX and name.casefold() not in _NO_NAMES


def _english(text: str) -> Iterator[Pair]:
    for pattern in _PATTERNS:
        for match in pattern.finditer(text):
            thing, name = match["x"], match["y_q"] or match["y_n"]
            for one in _ways(thing):
                yield one, name
    for match in (match for pattern in _OF_A_PRONOUN for match in pattern.finditer(text)):
        for one in _spoken_of(text[: match.start()]):
            yield one, match["y_q"] or match["y_n"]
    for match in _ACRONYM_RE.finditer(text):
        words = match["long"].split()[-len(match["short"]) :]
        if "".join(word[0] for word in words).upper() == match["short"]:
            yield " ".join(words), match["short"]


def _ways(thing: str) -> Iterator[str]:
    """The ways to speak of a thing: a role and a name side by side ("mother-in-law Dolores") are two."""
    words = thing.split()
    if "is" in words:
        return
    place = next((n for n, word in enumerate(words) if word[:1].isupper() or word[:1].isdigit()), 0)
    if place and all(word[:1].isupper() or word[:1].isdigit() for word in words[place:]):
        yield " ".join(words[:place])
        yield " ".join(words[place:])
    else:
        yield thing


def _spoken_of(before: str) -> Iterator[str]:
    """What a pronoun stands for: the role and the name of the last subject before it."""
    subjects = [match for match in _SUBJECT_RE.finditer(before) if match["name"].casefold() not in _NO_NAMES]
    if subjects:
        yield subjects[-1]["name"]
        if subjects[-1]["role"]:
            yield subjects[-1]["role"]
