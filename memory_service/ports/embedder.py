"""The port to whatever turns text into vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

FloatMatrix = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class EmbeddingModel:
    """What makes vectors comparable: two vectors may be compared only when their `id` is equal (S11, B5).

    Attributes:
        id: stable name of source, model, dimension, prefix and version, e.g. ``local:use-m3:512:v1``.
        dimension: length of a vector.
        same_cosine: cosine at and above which two statements of one slot count as the same (E10; calibrated
            per model, since absolute cosines of different models do not compare).
        batch_size_max: most texts one call should carry.
        judges_claims: whether its cosines are on the scale that the judgement of statements was fitted to
            (`domain/relations`); of other models only the order of cosines counts there.
    """

    id: str
    dimension: int
    same_cosine: float
    batch_size_max: int = 64
    judges_claims: bool = False


class Embedder(Protocol):
    """Turns texts into unit vectors.

    Contract:
        * `embed(texts)` returns a float32 array of shape (len(texts), model.dimension); rows have L2 norm 1,
          in the order of the texts. An empty sequence gives shape (0, dimension) and calls nothing.
        * Deterministic for one model id, and independent of what else is in the batch.
        * Never blocks the event loop: computing happens in threads or over the network.
        * Any Unicode text is accepted; text longer than the model reads is cut by the adapter, never refused.
        * A text that leaves nothing to embed (whitespace, only unknown symbols) still gives a unit vector.
        * Raises `Unavailable(EMBEDDER_UNAVAILABLE)` when the model cannot answer now. Never returns zeros or
          NaN in place of a failure.
    """

    @property
    def model(self) -> EmbeddingModel:
        """The model whose vectors this embedder makes."""
        ...

    async def embed(self, texts: Sequence[str]) -> FloatMatrix:
        """Embed `texts`; shape (len(texts), dimension)."""
        ...

    async def close(self) -> None:
        """Release threads, sessions and connections. Idempotent."""
        ...
