"""Fragments: all of the text, in order, none too wide, not too many."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_service.app.fragmenting import (
    FRAGMENT_WIDTH_MAX,
    FRAGMENTS_MAX,
    WHOLE_WIDTH_MAX,
    fragment,
    width,
)
from memory_service.domain import limits

_WORDS = st.sampled_from(["tea. ", "茶。", "a" * 700, "word ", "\n", "é ", "茶" * 300, "wait! ", "  "])


def squeezed(text: str) -> str:
    return "".join(text.split())


@given(st.lists(_WORDS, min_size=1, max_size=400).map("".join))
@settings(deadline=None)
def test_pieces_are_the_text_in_order_and_bounded(text: str) -> None:
    text = text[: limits.TEXT_CHARS_MAX]
    pieces = fragment(text)
    assert squeezed("".join(pieces)) == squeezed(text)
    assert 1 <= len(pieces) <= FRAGMENTS_MAX + 1
    grown = max(WHOLE_WIDTH_MAX, 2 * (width(text) // FRAGMENTS_MAX + 1))
    assert all(width(piece) <= grown for piece in pieces)


def test_short_texts_stay_whole_and_long_ones_break_where_sentences_end() -> None:
    assert fragment("x" * WHOLE_WIDTH_MAX) == ["x" * WHOLE_WIDTH_MAX]
    assert fragment("茶" * (WHOLE_WIDTH_MAX // 3)) == ["茶" * (WHOLE_WIDTH_MAX // 3)]
    sentence = "A sentence of fifty characters, more or less so. "
    pieces = fragment(sentence * 40)
    assert all(piece.endswith("so.") for piece in pieces)
    assert all(width(piece) <= FRAGMENT_WIDTH_MAX for piece in pieces)


@pytest.mark.parametrize("text", ["a" * limits.TEXT_CHARS_MAX, "茶" * limits.TEXT_CHARS_MAX, "é" * 9_999])
def test_text_without_a_break_is_cut(text: str) -> None:
    pieces = fragment(text)
    assert "".join(pieces) == text
    assert len(pieces) <= FRAGMENTS_MAX + 1
