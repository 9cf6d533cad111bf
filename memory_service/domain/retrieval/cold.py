"""Chooses, among many memories that are not in memory, the few that are worth scoring (P9)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from memory_service.domain.retrieval.columns import Floats, Ints

NOTHING: Final = -np.inf
"""In place of a cosine where there was nothing to compare."""


def word_scores(owners: Ints, terms: Ints, memories: int, kinds: int) -> Floats:
    """For each memory the sum of the inverse document frequencies of the terms it has, shape (memories,).

    Args:
        owners, terms: parallel: this memory has this term of the question (numbered from 0), any number of times.
        kinds: how many terms the question has.
    """
    pairs = np.unique(owners.astype(np.int64) * max(kinds, 1) + terms)
    has, which = np.divmod(pairs, max(kinds, 1))
    frequency = np.bincount(which, minlength=max(kinds, 1))
    weight = np.log1p(memories / np.maximum(frequency, 1))
    scores: Floats = np.bincount(has, weights=weight[which], minlength=memories).astype(np.float64)
    return scores


def best_cosines(owners: Ints, vectors: NDArray[np.float32], query: NDArray[np.float32], memories: int) -> Floats:
    """For each memory the greatest cosine of its fragments, shape (memories,); NOTHING without one.

    Args:
        owners: the memory of each fragment.
        vectors: unit vectors, shape (fragments, dimension).
    """
    scores: Floats = np.full(memories, NOTHING)
    if len(owners):
        np.maximum.at(scores, owners, vectors @ query)
    return scores


def chosen(cosines: Floats, words: Floats, limit: int) -> Sequence[int]:
    """The places of the best `limit` by cosine and the best by words (that share any), each once, in order."""
    found: set[int] = set()
    for scores, least in ((cosines, NOTHING), (words, 0.0)):
        places = np.flatnonzero(scores > least)
        best = places[np.argsort(-scores[places], kind="stable")[:limit]]
        found.update(best.tolist())
    return sorted(found)
