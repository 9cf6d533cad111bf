"""Splits a memory's text into the pieces that are embedded and searched (S5)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from memory_service.domain.ids import MemoryId
from memory_service.domain.memory import Assertion
from memory_service.domain.records import ASSERTION_ORDINAL, Fragment
from memory_service.domain.slots import render_assertion
from memory_service.domain.text import analyse
from memory_service.domain.text.scripts import UNSPACED

FRAGMENT_WIDTH_MAX: Final = 600
"""Longest piece. A passage this long answers a question, and encoders read it whole."""
WHOLE_WIDTH_MAX: Final = 750
"""Longest text that stays in one piece: better whole than with a scrap left over."""
FRAGMENTS_MAX: Final = 48
WORDINGS_MAX: Final = 8
"""Wordings that a memory is searched by."""
ASSERTION_CHARS_MAX: Final = WHOLE_WIDTH_MAX
"""How much of a rendered assertion is embedded: a long value is told by its beginning."""

_UNSPACED_WIDTH: Final = 3
"""A Chinese character says about as much as three letters."""

_BREAK_RE: Final = re.compile(r"\n+|(?<=[.!?])\s+|(?<=[。！？；])\s*")
_UNSPACED_RE: Final = re.compile(f"[{UNSPACED}]")


def width(text: str) -> int:
    """How much a text says: its characters, those of unspaced scripts (Chinese) counting three each."""
    if text.isascii():
        return len(text)
    return len(text) + (_UNSPACED_WIDTH - 1) * len(_UNSPACED_RE.findall(text))


def fragment(text: str, width_max: int = FRAGMENT_WIDTH_MAX) -> list[str]:
    """Pieces of `text` in order, each at most `width_max` wide, split where sentences or lines end.

    Texts up to a quarter longer are one piece. At most `FRAGMENTS_MAX` pieces are made: beyond that they grow
    instead, so that no part of the text is left unsearched by words.
    """
    whole = width(text)
    if whole <= width_max * WHOLE_WIDTH_MAX / FRAGMENT_WIDTH_MAX:
        return [text]
    width_max = max(width_max, -(-whole // FRAGMENTS_MAX) * 2)
    pieces: list[str] = []
    current, used = "", 0
    for sentence in _sentences(text, width_max):
        size = width(sentence)
        if current and used + size > width_max:
            pieces.append(current)
            current, used = "", 0
        current += sentence
        used += size
    pieces.append(current)
    return [piece.strip() for piece in pieces if piece.strip()] or [text]


def assertion_piece(text: str, assertion: Assertion | None) -> str:
    """What an assertion is searched by beside the text it came with; "" where the text says it already.

    "87 kilos this morning" does not say that it is a weight: its slot does (E13, C8).
    """
    rendered = "" if assertion is None else render_assertion(assertion)
    return "" if rendered == text else rendered[:ASSERTION_CHARS_MAX]


def waiting_fragments(
    memory_id: MemoryId, content_version: int, text: str, assertion: Assertion | None = None
) -> list[Fragment]:
    """The pieces a memory is searched by; their vectors are made by the backfill job."""
    pieces = [
        Fragment(memory_id, content_version, ordinal, piece, tuple(analyse(piece)))
        for ordinal, piece in enumerate(fragment(text))
    ]
    beside = assertion_piece(text, assertion)
    return [*pieces, Fragment(memory_id, content_version, ASSERTION_ORDINAL, beside, ())] if beside else pieces


def _sentences(text: str, width_max: int) -> Iterator[str]:
    """The sentences of a text, white space included, cut where they are wider than a piece."""
    start = 0
    ends = [match.end() for match in _BREAK_RE.finditer(text)]
    for end in [*ends, len(text)]:
        yield from _cut(text[start:end], width_max)
        start = end


def _cut(sentence: str, width_max: int) -> Iterator[str]:
    while width(sentence) > width_max:
        size = width_max if sentence.isascii() else width_max // _UNSPACED_WIDTH
        space = sentence.rfind(" ", size // 2, size)
        size = size if space < 0 else space + 1
        yield sentence[:size]
        sentence = sentence[size:]
    if sentence:
        yield sentence
