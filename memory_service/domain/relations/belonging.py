"""Whose and of what things are, as a text says: my meeting, Bob's meeting, the price of milk, 小王."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from memory_service.domain.text.numerals import ENGLISH_NUMBERS

_MONTHS: Final = frozenset(
    word
    for line in ("january february march april may june july august", "september october november december")
    for word in line.split()
)
_COMPLEMENT_RE: Final = re.compile(
    r"\b([a-z]{3,})\s+(of|for|with|in|to|at|from|about)\s+(?:(?:the|a|an|my|our|his|her|their)\s+)?([a-z]{2,})\b"
)
_NO_HEAD: Final = frozenset(
    word
    for line in (
        "live lives lived living work works worked working move moved moves moving go goes going went come",
        "comes came stay stays staying based switched switch changed back over out away down listen listens",
        "listening pay pays talk talks look looks belong belongs start starts started join joined is are was",
        "were due here there now on off up get got drive drives drove meet meets met need needs want wants",
        "apply applied send sends sent fly flies flew run runs",
    )
    for word in line.split()
)


_OWNER_RE: Final = re.compile(r"\b(my|our|[a-z]{2,})(?:(?<=\bmy)|(?<=\bour)|'s)\s+(?:[a-z]+\s+)?([a-z]{3,})\b")
_NO_OWNER: Final = frozenset(
    ("it", "that", "there", "here", "what", "who", "he", "she", "let", "how", "where", "when")
)
_PERSON_ZH_RE: Final = re.compile(r"(?:^|(?<=[,。，]))([小老阿][\u4e00-\u9fff])(?=[\u4e00-\u9fff])")
_NO_PERSON_ZH: Final = frozenset(
    "小区小时小学小孩小组小心小说小吃小店小狗小猫小费小票小雨小明星老板老师老家老婆老公老是老妈老爸老鼠老人老大阿姨阿公阿婆"[
        at : at + 2
    ]
    for at in range(0, 56, 2)
)


def owners_of(folded: str, form: Callable[[str], str]) -> dict[str, str]:
    """Whose a thing is, by thing: `self` or a name; `form` gives a word in one form."""
    found: dict[str, str] = {}
    for match in _OWNER_RE.finditer(folded):
        owner, thing = match.groups()
        if owner not in _NO_OWNER:
            found.setdefault(form(thing), "self" if owner in ("my", "our") else form(owner))
    return found


def person_of(folded: str) -> str:
    """A short Chinese name (小王) that the text or a clause of it opens with; empty for none."""
    match = _PERSON_ZH_RE.search(folded)
    return match.group(1) if match and match.group(1) not in _NO_PERSON_ZH else ""


def complements_of(folded: str, form: Callable[[str], str]) -> dict[str, dict[str, str]]:
    """What a word is of, for, with or in, by word and preposition; `form` gives a word in one form."""
    found: dict[str, dict[str, str]] = {}
    for match in _COMPLEMENT_RE.finditer(folded):
        head, word, of = match.groups()
        if head in _NO_HEAD or head.endswith(("ed", "ing")) or of in ENGLISH_NUMBERS or of in _MONTHS:
            continue
        found.setdefault(form(head), {})[word] = form(of)
    return found
