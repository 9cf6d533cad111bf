"""From several lists of candidates to one relevance between 0 and 1.

Two ways. Reciprocal rank fusion (P6; Cormack, Clarke and Büttcher 2009) sees only places: sum of
weight / (k + rank) over the lists that know the memory. The gated sum sees how much better a hit is than the
rest, and whether it is any good: the best of a list counts in full only when it is strong in itself. Cosines are
stretched from the mean of the memories in question (0) to the best of them or `cosine_strong`, whichever is more
(1); BM25 is a share of the best or of what four heavy terms of the query give, whichever is more, so that one
accidental common word is worth little. On the open sets the sum is the better one everywhere: equal-weight ranks
let a weak list drag a strong one down.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import numpy as np

from memory_service.domain.retrieval.columns import ABSENT, Floats, Ints
from memory_service.domain.retrieval.probe import QUESTION_SHARE, SKELETON_SHARE

_DECIMALS: Final = 6
_COSINE_MIN: Final = -1.5
"""Between the least cosine there is and NO_VECTOR."""
_TINY: Final = float(np.finfo(np.float64).tiny)
_MEAN_PRIOR: Final = 3
_TRACE: Final = 0.01


class FusionMethod(StrEnum):
    """How lists become one."""

    RRF = "rrf"
    SUM = "sum"


@dataclass(frozen=True, slots=True)
class Fusion:
    """The parameters of both ways, and of the lists themselves.

    Attributes:
        rrf_k: k of reciprocal rank fusion.
        dense_weight, lexical_weight, name_weight: of each list; 0 leaves a list out. A list that found nothing
            has no part in the sum.
        skeleton_share, question_share: see `probe`; 0 leaves the query's vector as it is.
        cosine_strong: see above.
        neighbour_weight: how much the more relevant of what was said just before and after in the same session
            counts beside a memory's own relevance; 0 turns it off. See `OwnerSnapshot.session_neighbours`.
        bm25_k1, bm25_b, bm25_repeats: see `lexical`.
    """

    method: FusionMethod = FusionMethod.SUM
    rrf_k: float = 60.0
    dense_weight: float = 1.0
    lexical_weight: float = 1.0
    name_weight: float = 0.2
    skeleton_share: float = SKELETON_SHARE
    question_share: float = QUESTION_SHARE
    cosine_strong: float = 0.4
    neighbour_weight: float = 0.3
    bm25_k1: float = 1.2
    bm25_b: float = 0.75
    bm25_repeats: float = 0.5


@dataclass(frozen=True, slots=True)
class CandidateLists:
    """What each list says of the same memories, each of shape (memories,); None for a list that did not run.

    Attributes:
        cosine: NO_VECTOR for memories without a vector.
        bm25: 0 for no match.
        bm25_strong: see `LexicalScores.strong`.
        names: weight of the names the query mentions, 0 for none.
        naming: rows that only say what something is called, for a question about something else of it.
        before, after: places (in these arrays) of the session's neighbours, -1 for none.
    """

    cosine: Floats | None = None
    bm25: Floats | None = None
    names: Floats | None = None
    before: Ints | None = None
    after: Ints | None = None
    bm25_strong: float = 0.0
    naming: frozenset[int] = frozenset()

    def taking_part(self, fusion: Fusion) -> list[tuple[Floats, float, float]]:
        """(scores, weight, least score that counts as found) of each list that ran, has weight and found."""
        lists = (
            (self.cosine, fusion.dense_weight, _COSINE_MIN),
            (self.bm25, fusion.lexical_weight, _TINY),
            (self.names, fusion.name_weight, _TINY),
        )
        return [
            (scores, weight, least)
            for scores, weight, least in lists
            if scores is not None and weight and len(scores) and scores.max() >= least
        ]

    @property
    def asked(self) -> bool:
        """Whether any list ran, i.e. whether there was a query."""
        return not (self.cosine is None and self.bm25 is None and self.names is None)


def relevance(lists: CandidateLists, count: int, fusion: Fusion) -> Floats:
    """How relevant each memory is to the query, 0..1, rounded to 6 decimals; shape (count,).

    Without a query everything is equally relevant: 1. With one that found nothing, everything has 0. RRF is
    divided by what the first place in every list would give.
    """
    if not lists.asked:
        return np.ones(count)
    parts = lists.taking_part(fusion)
    if not parts:
        return np.zeros(count)
    weights = sum(weight for _, weight, _ in parts)
    if fusion.method is FusionMethod.RRF:
        fused = reciprocal_ranks(lists, count, fusion) * (fusion.rrf_k + 1) / weights
    else:
        fused = np.zeros(count)
        for scores, weight, _ in parts:
            if scores is lists.cosine:
                share = _stretched(scores, fusion.cosine_strong)
            else:
                share = scores / max(float(scores.max()), lists.bm25_strong if scores is lists.bm25 else 0.0)
            fused += weight / weights * share
    return np.round(_smoothed(fused, lists, fusion), _DECIMALS)


def reciprocal_ranks(lists: CandidateLists, count: int, fusion: Fusion) -> Floats:
    """Sum of weight / (k + rank) over the lists that found it; shape (count,)."""
    total = np.zeros(count)
    for scores, weight, least in lists.taking_part(fusion):
        total += np.where(scores >= least, weight / (fusion.rrf_k + ranks(scores)), 0.0)
    return total


def ranks(scores: Floats, of: Floats | None = None) -> Ints:
    """Each place's rank, 1 the best; equal scores share the better rank, so row order decides nothing.

    Args:
        of: the scores whose rank is wanted, all of them when None.
    """
    ordered = np.sort(scores)
    wanted = scores if of is None else of
    result: Ints = len(scores) - np.searchsorted(ordered, wanted, side="right") + 1
    return result


def _stretched(cosine: Floats, strong: float) -> Floats:
    """Cosines from 0 (their mean, and below) to 1 (the best of them, or `strong` if that is more).

    Memories without vectors get what the others get on average: they wait for theirs, which says nothing of them.
    """
    known = cosine >= _COSINE_MIN
    values = cosine[known]
    # Of one memory alone the mean would be its own cosine; a few that are like nothing keep it apart.
    low = float(values.sum()) / (len(values) + _MEAN_PRIOR)
    high = max(float(values.max()), strong)
    share = np.clip((values - low) / (high - low), 0.0, 1.0)
    # A trace of the cosine itself keeps those below the mean in order.
    values = (1 - _TRACE) * share + _TRACE * np.clip((values + 1) / 2, 0.0, 1.0)
    if len(values) == len(cosine):
        return values
    result = np.full(len(cosine), float(values.mean()))
    result[known] = values
    return result


def _smoothed(fused: Floats, lists: CandidateLists, fusion: Fusion) -> Floats:
    if not fusion.neighbour_weight or lists.before is None or lists.after is None:
        return fused
    # One more place, so that ABSENT (-1), no neighbour, reads 0.
    padded = np.append(fused, 0.0)
    around = np.maximum(padded[lists.before], padded[lists.after])
    blended = (fused + fusion.neighbour_weight * around) / (1 + fusion.neighbour_weight)
    # A statement that stands alone is not the less relevant for it.
    alone = (lists.before == ABSENT) & (lists.after == ABSENT)
    result: Floats = np.where(alone, fused, blended)
    return result
