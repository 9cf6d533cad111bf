"""From a question to the vector that memories are compared with.

A question's vector says as much of its being a question as of what it asks. Two directions are taken off it.
Its *skeleton* is what is left of it without content: punctuation, stop words, and words that many of the owner's
memories have (so a name that everything is about tells nothing apart). And the mean of the owner's memories that
ask something themselves: a question resembles other questions more than it resembles their answers. Measured on
the open sets (docs/evaluation.md); the shares are flat optima, anything from 0.4 to 0.8 is within a point.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from memory_service.domain.retrieval.columns import Floats, Ints
from memory_service.domain.retrieval.dense import unit
from memory_service.domain.retrieval.lexical import LexicalIndex
from memory_service.domain.text.analysis import token_terms, tokens
from memory_service.domain.text.scripts import UNSPACED
from memory_service.domain.text.stopwords import CHINESE_STOP_CHARS
from memory_service.domain.text.storable import normalise
from memory_service.domain.text.traditional import to_simplified

SKELETON_SHARE: Final = 0.6
QUESTION_SHARE: Final = 0.7

_QUESTION_PRIOR: Final = 5
"""Pseudo-memories without direction: the fewer question memories, the less is taken off."""
_COMMON_SHARE: Final = 0.1
_COMMON_MIN: Final = 3
_SKELETON_CHARS: Final = 1_000
_FIXED_POINT: Final = 2.0**24
"""float16 values within -1..1 are whole multiples of 2^-24."""

_LEFT_MIN: Final = 1e-4

_PIECE_RE: Final = re.compile(
    rf"(?P<unspaced>[{UNSPACED}])|[^\W_{UNSPACED}]+(?:['\u2019][^\W_{UNSPACED}]+)*|(?P<mark>[^\w\s])"
)
_QUESTION_RE: Final = re.compile("[?\uff1f]")


def asks(text: str) -> bool:
    """Whether a text has a question mark."""
    return _QUESTION_RE.search(text) is not None


def skeleton(query: str, index: LexicalIndex) -> str:
    """What is left of `query` without its content, in order; "" when there is nothing to take off.

    That is, when nothing or everything is left. Words are joined by one space (nothing in unspaced scripts).
    Looks at the first 1,000 characters.

    Args:
        index: of the owner's memories: a word is common when it is in more than a tenth of their fragments, and
            in more than three.
    """
    text = unicodedata.normalize("NFKC", query)[:_SKELETON_CHARS]
    folded = to_simplified(text)  # as the index is; places stay those of the text
    common = max(_COMMON_MIN, _COMMON_SHARE * index.live_count)
    kept: list[str] = []
    pieces, spaced = 0, True
    for match in _PIECE_RE.finditer(text):
        piece, sort = match.group(), match.lastgroup
        pieces += 1
        spaced = spaced and sort != "unspaced"
        if sort == "mark":
            kept.append(piece)
        elif sort == "unspaced":
            char = folded[match.start()]
            if char in CHINESE_STOP_CHARS or index.frequency(char) > common:
                kept.append(piece)
        elif all(index.frequency(term) > common for term in _terms(piece)):
            kept.append(piece)
    return "" if len(kept) == pieces else (" " if spaced else "").join(kept)


def _terms(word: str) -> list[str]:
    """The terms of one word; none for a stop word."""
    return [term for _, token in tokens(normalise(word)) for term in token_terms(token)]


@dataclass(frozen=True, slots=True)
class QuestionSum:
    """The vectors of the memories that ask something, summed in fixed point.

    Whole numbers add up to the same in any order, so a sum kept up to date equals one made anew.

    Attributes:
        total: sum of the vectors times 2^24, shape (dimension,).
        count: how many there are.
    """

    total: Ints
    count: int

    @classmethod
    def empty(cls, dimension: int) -> Self:
        """Of no memories."""
        return cls(np.zeros(dimension, np.int64), 0)

    def changed(self, added: NDArray[np.float32], gone: NDArray[np.float32]) -> QuestionSum:
        """With vectors added and others taken away; shapes (n, dimension), of float16 values."""
        if not len(added) and not len(gone):
            return self
        total = self.total + _fixed(added) - _fixed(gone)
        return QuestionSum(total, self.count + len(added) - len(gone))

    @property
    def direction(self) -> Floats:
        """Their mean, shrunk towards nothing where they are few; shape (dimension,)."""
        mean: Floats = self.total / (_FIXED_POINT * (self.count + _QUESTION_PRIOR))
        return mean


def _fixed(vectors: NDArray[np.float32]) -> Ints:
    whole: Ints = (vectors.astype(np.float64) * _FIXED_POINT).astype(np.int64).sum(axis=0)
    return whole


def probe(
    query: NDArray[np.float32],
    bare: NDArray[np.float32] | None,
    questions: QuestionSum,
    *,
    skeleton_share: float = SKELETON_SHARE,
    question_share: float = QUESTION_SHARE,
) -> NDArray[np.float32]:
    """The unit vector to compare memories with; shape (dimension,).

    Args:
        query, bare: unit vectors of the query and of its skeleton (None: nothing to take off).
    """
    vector = query.astype(np.float64)
    asking = questions.direction
    if bare is not None:
        direction = bare.astype(np.float64)
        vector = vector - skeleton_share * (vector @ direction) * direction
        asking = asking - skeleton_share * (asking @ direction) * direction
    vector = vector - question_share * asking
    # What is left of a query that says nothing is rounding.
    found = unit(vector.astype(np.float32)) if float(vector @ vector) > _LEFT_MIN else None
    return query if found is None else found
