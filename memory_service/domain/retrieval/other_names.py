"""A question by another name finds what is said under the first: what a snapshot knows of other names (C8).

Pairs are read from the memories themselves, so they come, change and go with them. A question that mentions one name
of a pair is asked again with the other in its place, and a memory counts as the better of the two finds it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from memory_service.domain.memory import Assertion, MemoryVersion
from memory_service.domain.retrieval.columns import Floats, GrowTable, Interner, Ints, Mask
from memory_service.domain.slots import SELF
from memory_service.domain.text.analysis import analyse
from memory_service.domain.text.naming import TEXT_CHARS_MAX, Pair, other_names, tidy_pairs
from memory_service.domain.text.scripts import UNSPACED
from memory_service.domain.text.stopwords import CHINESE_STOP_WORDS, ENGLISH_STOP
from memory_service.domain.text.traditional import to_simplified
from memory_service.domain.vocabulary import normalise_name

Bm25 = Callable[[Sequence[str]], tuple[Floats, float]]

PHRASINGS_MAX: Final = 3
"""How often a question is asked again: with so many other names."""
NAMING_SHARE: Final = 0.7
"""What counts of a memory that only says what something is called, for a question about something else."""

_NAMING_PREDICATES: Final = frozenset(
    [
        "alias",
        "aliases",
        "aka",
        "also_known_as",
        "nickname",
        "nick_name",
        "pet_name",
        "code_name",
        "codename",
        "short_name",
        "known_as",
        "same_as",
        "means",
        "english_name",
        "chinese_name",
        "handle_of",
        "别名",
        "外号",
        "绰号",
        "小名",
        "昵称",
        "简称",
        "代号",
        "英文名",
        "中文名",
        "俗称",
    ]
)
_NAMES: Final = frozenset(["name", "full_name", "real_name", "called", "姓名", "名字", "大名", "全名"])
_NAMING_QUESTION_RE: Final = re.compile(
    r"\b(?:call(?:s|ed)?|names?|named|nick-?names?|alias(?:es)?|stands? for|short for|aka|known as|means?|refers? to"
    r"|code[- ]?names?)\b|叫什么|叫啥|名字|大名|小名|外号|绰号|代号|简称|全称"
    r"|英文名|中文名|别名|昵称|指什么|指的|什么意思",
    re.IGNORECASE,
)
_WORD_RE: Final = re.compile(rf"[^\W_{UNSPACED}][\w.'\u2019&-]*")
_CJK_RE: Final = re.compile(f"[{UNSPACED}]")
_PAREN_RE: Final = re.compile(r"^(?P<one>[^()（）]+)[(（](?P<other>[^()（）]+)[)）]$")
_OWN_RE: Final = re.compile(r"^(?:(?:the )?user['\u2019]s |my |用户的?|我的?)", re.IGNORECASE)
_POSSESSIVE_RE: Final = re.compile("['\u2019]s?$")
_TITLES: Final = frozenset(
    [
        "project",
        "team",
        "plan",
        "operation",
        "program",
        "programme",
        "dr",
        "mr",
        "mrs",
        "ms",
        "miss",
        "prof",
        "professor",
        "aunt",
        "uncle",
        "the",
        "st",
        "saint",
        "new",
        "old",
        "city",
        "street",
        "road",
        "lane",
        "app",
        "service",
        "system",
        "group",
    ]
)
_WORD_CHARS_MIN: Final = 3
_THERE: Final = 0.6
"""Share of a name from which on a memory is about what is so called."""
_PREFIX: Final = 2


def names_in(version: MemoryVersion) -> tuple[Pair, ...]:
    """The pairs of names that a memory gives to one thing each: by its wording, and by its assertion."""
    told = other_names(version.text) if len(version.text) <= TEXT_CHARS_MAX else ()
    if version.assertion is None:
        return told
    return tuple(dict.fromkeys((*told, *_asserted(version.assertion))))


def _asserted(assertion: Assertion) -> tuple[Pair, ...]:
    predicate, value = to_simplified(normalise_name(assertion.predicate)), assertion.object
    if not isinstance(value, str) or assertion.subject == SELF:
        return ()
    if predicate not in _NAMING_PREDICATES and predicate not in _NAMES:
        return ()
    subject, value = _OWN_RE.sub("", to_simplified(assertion.subject)), to_simplified(value)
    both = _PAREN_RE.match(value)
    names = (value,) if both is None else (both["one"], both["other"])
    found = [(subject, name) for name in names]
    return tidy_pairs(iter([*found, *([] if both is None else [(both["one"], both["other"])])]))


def empty_table() -> GrowTable:
    """Of no pairs: columns `row`, and `one` and `other`, numbers of the snapshot's string table."""
    return GrowTable({name: np.zeros(0, np.int32) for name in ("row", "one", "other")})


def pair_columns(versions: Iterable[MemoryVersion], first: int, strings: Interner) -> dict[str, Ints]:
    """The pairs of some memories in rows first, first + 1 …"""
    pairs = [
        (row, strings.add(one), strings.add(other))
        for row, version in enumerate(versions, first)
        for one, other in names_in(version)
    ]
    columns = np.asarray(pairs, np.int64).reshape(-1, 3)
    return {"row": columns[:, 0], "one": columns[:, 1], "other": columns[:, 2]}


@dataclass(frozen=True, slots=True)
class Phrasing:
    """A question asked again with another name.

    Attributes:
        text: the question with `other` in place of `name`, which it mentions by `mention`.
        rest: what it asks besides: its words without the mention.
        rows: which memories say that these are names of one thing.
    """

    text: str
    rest: str
    mention: str
    name: str
    other: str
    rows: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Known:
    row: int
    name: str
    other: str


class OtherNames:
    """The pairs of one snapshot, by a word (or two characters) that a question which mentions one must have."""

    __slots__ = ("_by_key",)

    def __init__(self, table: GrowTable, strings: Interner, live: Mask) -> None:
        self._by_key: dict[str, list[_Known]] = {}
        wanted = live[table["row"]]
        columns = [table[name][wanted].tolist() for name in ("row", "one", "other")]
        for row, one, other in zip(*columns, strict=True):
            names = strings.string(one), strings.string(other)
            for name, instead in (names, names[::-1]):
                known = _Known(row, name, instead)
                for key in _keys(name):
                    self._by_key.setdefault(key, []).append(known)

    def __bool__(self) -> bool:
        return bool(self._by_key)

    def phrasings(self, query: str, usable: Mask) -> list[Phrasing]:
        """The question with other names, at most `PHRASINGS_MAX`, the longest name it mentions first.

        The order of rows plays no part.

        Args:
            usable: rows whose word counts, shape (rows,): what whoever asks may see, and holds.
        """
        query = to_simplified(query)  # as the names are
        met: dict[_Known, None] = {}
        for key in dict.fromkeys(_keys_of_query(query)):
            met |= dict.fromkeys(known for known in self._by_key.get(key, ()) if usable[known.row])
        made: dict[str, Phrasing] = {}
        place: tuple[int, int] | None = None
        for known in sorted(met, key=lambda known: (-len(known.name), known.name, known.other)):
            span = _mention(known.name, query)
            if span is None or (place or span) != span:
                continue  # of two things in one question the one of the longer name has its other names tried
            before, mention, after = query[: span[0]], query[slice(*span)], query[span[1] :]
            if known.other.casefold() in f"{before} {after}".casefold():
                continue
            place = span
            text = before + known.other + after
            rows = made[text].rows if text in made else ()
            made[text] = Phrasing(text, f"{before} {after}", mention, known.name, known.other, (*rows, known.row))
        return list(made.values())[:PHRASINGS_MAX]


@dataclass(frozen=True, slots=True)
class NamedList:
    """BM25 of each of some rows by every name of what a question is about, and what is much (see `lexical`).

    `naming`: snapshot rows that only say what it is called, while another memory of it has words of the question.
    """

    scores: Floats
    strong: float
    naming: frozenset[int] = frozenset()


def named_list(
    query: str, phrasings: Sequence[Phrasing], rows: Ints, bm25: Bm25, texts: Mapping[int, str]
) -> NamedList:
    """What the question's other words find, and as much more where any of the names is, whichever it is.

    A long name has many rare words, and by them alone would outdo what is said under a short one: so each name counts
    as much as the least of them, by the square of the share of it that is there.

    Args:
        rows: the rows that `bm25` scores, shape (memories,).
        bm25: scores those rows by terms, as `candidates.lexical_list` does.
        texts: of the rows that the phrasings come from.
    """
    asked = _content(phrasings[0].rest)
    rest, strong = bm25(asked) if asked else (np.zeros(len(rows)), 0.0)
    forms = dict.fromkeys(form for one in phrasings for form in _forms(one))
    by_form = [bm25(analyse(form))[0] for form in forms]
    found = [scores for scores in by_form if scores.max(initial=0.0) > 0]
    if not found:
        return NamedList(rest, strong)
    worth = min(float(scores.max()) for scores in found)
    there = np.max([(scores / scores.max()) ** 2 for scores in found], axis=0)
    total = np.round(rest + worth * there, 9)
    told = {row for one in phrasings for row in one.rows}
    if not asked or _NAMING_QUESTION_RE.search(to_simplified(query)):
        return NamedList(total, strong + worth)
    naming = {row for row in told if not set(asked).intersection(analyse(texts[row]))}
    elsewhere = (rest > 0) & (there >= _THERE) & ~np.isin(rows, list(naming))
    return NamedList(total, strong + worth, frozenset(naming) if elsewhere.any() else frozenset())


def _content(text: str) -> list[str]:
    """The terms of a text without stop words, and without single characters of Chinese where there are pairs."""
    return [
        term
        for term in analyse(text)
        if term not in ENGLISH_STOP and (term.isascii() or len(term) > 1) and term not in CHINESE_STOP_WORDS
    ]


def _forms(phrasing: Phrasing) -> Iterator[str]:
    """The ways in which a memory may name what the question is about: a camper van is spoken of as "the van"."""
    for name in (phrasing.mention, phrasing.name, phrasing.other):
        yield name
        if not _CJK_RE.search(name):
            yield from _telling(name)


def _keys(name: str) -> Iterator[str]:
    """Every key under which a mention of the name may show."""
    if _CJK_RE.search(name):
        yield name.casefold()[:_PREFIX]
        return
    for word in _telling(name):
        yield _folded(word)


def _keys_of_query(query: str) -> Iterator[str]:
    folded = query.casefold()
    for match in _WORD_RE.finditer(folded):
        yield _folded(match.group())
    if _CJK_RE.search(query):
        yield from (folded[place : place + _PREFIX] for place in range(len(folded) - 1))


def _telling(name: str) -> list[str]:
    """The words any of which stands for a name: capitalised ones and identifiers, but no titles; else all."""
    words = name.split()
    proper = [
        word
        for word in words
        if len(word) >= _WORD_CHARS_MIN
        and not word.islower()
        and word.casefold() not in _TITLES
        and not word.isdigit()
    ]
    return proper or words[-1:]


def _folded(word: str) -> str:
    return _POSSESSIVE_RE.sub("", word.casefold())


def _mention(name: str, query: str) -> tuple[int, int] | None:
    """Where a question mentions a name: in full, or by a word of it that is a name by itself."""
    if len(query.casefold()) != len(query):
        return None  # places in the folded question would not be places in the question
    place = query.casefold().find(name.casefold())
    if place >= 0 and (_CJK_RE.search(name) or _whole(query, place, place + len(name))):
        return place, place + len(name)
    if _CJK_RE.search(name):
        return None
    proper = {_folded(word) for word in _telling(name) if not word.islower()}
    for match in _WORD_RE.finditer(query):
        word = match.group()
        if not word.islower() and _folded(word) in proper:
            return match.start(), match.start() + len(_POSSESSIVE_RE.sub("", word))
    return None


def _whole(query: str, start: int, end: int) -> bool:
    """Whether no letter or digit goes on at either end."""
    return not (query[start - 1 : start].isalnum() or query[end : end + 1].isalnum())
