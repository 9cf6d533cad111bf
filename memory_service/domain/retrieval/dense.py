"""Exact cosine similarity with every memory (B6): no index, so nothing is missed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from memory_service.domain.retrieval.columns import Floats, Mask

if TYPE_CHECKING:
    from memory_service.domain.retrieval.snapshot import OwnerSnapshot

NO_VECTOR: Final = -2.0
"""Stands for "no vector of this model": below every cosine."""

GATHER_SHARE: Final = 0.2
"""Below this share of wanted memories, copying their vectors out is cheaper than multiplying all."""

_DECIMALS: Final = 6


def cosines(snapshot: OwnerSnapshot, query: NDArray[np.float32], wanted: Mask | None = None) -> Floats:
    """The cosine of each row's vector with `query`; NO_VECTOR for rows without one.

    Args:
        query: unit vector of the snapshot's model, shape (dimension,).
        wanted: rows that matter, shape (rows,); others may get NO_VECTOR. None: all.

    Returns:
        Shape (rows,), rounded to 6 decimals: what machines with other vector units agree on.
    """
    best = np.full(len(snapshot.live), NO_VECTOR)
    rows, matrix = snapshot.vectors["row"], snapshot.vectors["vector"]
    if wanted is not None:
        places = np.flatnonzero(wanted[rows])
        if len(places) < GATHER_SHARE * len(rows):
            rows, matrix = rows[places], matrix[places]
    # Row by row: as fast as BLAS's matrix-vector product on one thread, the same for a row whatever stands beside
    # it, and without BLAS's own threads, which wait milliseconds for each other on a busy machine.
    best[rows] = np.round(np.vecdot(matrix, query).astype(np.float64), _DECIMALS)
    return best


def unit(vector: NDArray[np.float32]) -> NDArray[np.float32] | None:
    """`vector` at length 1; None when it is zero, not finite or too large to have a length."""
    wide = vector.astype(np.float64)
    length = float(np.sqrt(wide @ wide))
    if not np.isfinite(length) or length == 0.0:
        return None
    return (wide / length).astype(np.float32)
