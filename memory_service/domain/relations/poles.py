"""Little words that turn a statement into its contrary and are no content words: before and after, with, without."""

from __future__ import annotations

import re
from typing import Final

_PAIRS: Final = [
    "before/after",
    "since/until",
    "above/below",
    "over/under",
    "in/out",
    "on/off",
    "up/down",
    "with/without",
    "from/to",
    "inside/outside",
    "more/less",
    "most/least",
    "early/late",
    "earlier/later",
    "first/last",
    "same/other",
    "everyone/nobody",
    "always/never",
    "all/none",
    "前/后",
    "上/下",
    "内/外",
    "里/外",
    "早/晚",
    "左/右",
    "多/少",
    "高/低",
    "进/出",
    "开/关",
    "大/小",
    "长/短",
    "新/旧",
]
_CONTRARY: Final = tuple(tuple(pair.split("/")) for pair in _PAIRS)
_ENGLISH: Final = frozenset(word for pair in _CONTRARY for word in pair if word.isascii())
_CHINESE: Final = frozenset(word for pair in _CONTRARY for word in pair if not word.isascii())
_WORD_RE: Final = re.compile(r"[a-z]+")


def poles_of(folded: str) -> frozenset[str]:
    """Those that a normalised text has."""
    found = {word for word in _WORD_RE.findall(folded) if word in _ENGLISH}
    return frozenset(found | {char for char in folded if char in _CHINESE})


def turned(one: frozenset[str], other: frozenset[str]) -> bool:
    """Whether one text has only one word of a pair, and the other only its contrary."""
    for first, second in _CONTRARY:
        mine, its = {first, second} & one, {first, second} & other
        if len(mine) == 1 and len(its) == 1 and mine != its:
            return True
    return False
