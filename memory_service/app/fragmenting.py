"""Splits a memory's text into the pieces that are embedded and searched (S5)."""

from __future__ import annotations

import re

FRAGMENT_CHARS_MAX = 800
"""Longest piece. Encoders read a few hundred tokens; what lies beyond would never be found."""
FRAGMENTS_MAX = 32

_BREAK = re.compile(r"\n+|(?<=[.!?。！？；;])\s*")


def fragment(text: str, chars_max: int = FRAGMENT_CHARS_MAX) -> list[str]:
    """Pieces of `text` in order, each at most `chars_max` characters, split where sentences or lines end.

    Short texts are one piece. At most `FRAGMENTS_MAX` pieces are made: beyond that they grow instead, so that
    no part of the text is left unsearched by words.
    """
    if len(text) <= chars_max:
        return [text]
    chars_max = max(chars_max, -(-len(text) // FRAGMENTS_MAX) * 2)
    pieces: list[str] = []
    current = ""
    for sentence in _sentences(text, chars_max):
        if current and len(current) + len(sentence) > chars_max:
            pieces.append(current)
            current = ""
        current += sentence
    if current:
        pieces.append(current)
    return [piece.strip() for piece in pieces if piece.strip()] or [text[:chars_max]]


def _sentences(text: str, chars_max: int) -> list[str]:
    found: list[str] = []
    start = 0
    for match in _BREAK.finditer(text):
        if match.end() > start:
            found.append(text[start : match.end()])
            start = match.end()
    if start < len(text):
        found.append(text[start:])
    return [s[i : i + chars_max] for s in found for i in range(0, len(s), chars_max)]
