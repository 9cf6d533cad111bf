"""Vectors of queries seen before: recalls repeat themselves, and a vector costs far more than a look-up.

Metrics: `query_vector_requests_total{tier,result}` with tier l1 (hit, miss), l2 (hit, miss, error) and model
(made, error); `query_vector_cache_entries`.
"""

from __future__ import annotations

import asyncio
import hashlib
import unicodedata
from collections import OrderedDict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from memory_service.adapters.wrappers.background import Background
from memory_service.domain.errors import MemoryServiceError, Unavailable
from memory_service.ports.embedder import Embedder, EmbeddingModel, FloatMatrix
from memory_service.ports.snapshots import SharedCache
from memory_service.ports.telemetry import Telemetry

_Vector = NDArray[np.float32]
_UNIT_TOLERANCE = 1e-3


def normalised(text: str) -> str:
    """The text that is embedded and keyed: NFC, white space of any sort and amount as one space, none at the ends.

    Queries that differ only so mean the same; embedding the normalised text keeps the answer independent of
    which of them came first.
    """
    return " ".join(unicodedata.normalize("NFC", text).split())


def digest(text: str) -> bytes:
    """16 bytes that stand for a normalised text."""
    return hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=16).digest()


class CachedQueryEmbedder:
    """`Embedder` for queries: this process's cache, the shared one, then the model. Failures are never kept.

    Args:
        cache: the shared cache; None when there is none. Its being away only costs speed.
        entries_max: most vectors held in this process, the least recently used going first.
        puts_max: most vectors on their way into the shared cache at once; more are not stored there.
    """

    def __init__(
        self,
        embedder: Embedder,
        cache: SharedCache | None,
        telemetry: Telemetry,
        *,
        entries_max: int = 8192,
        puts_max: int = 64,
    ) -> None:
        self._embedder = embedder
        self._cache = cache
        self._telemetry = telemetry
        self._entries_max = entries_max
        self._entries: OrderedDict[bytes, _Vector] = OrderedDict()
        self._background = Background(puts_max)

    @property
    def model(self) -> EmbeddingModel:
        """The model whose vectors these are."""
        return self._embedder.model

    async def embed(self, texts: Sequence[str]) -> FloatMatrix:
        """Unit vectors of the normalised texts; shape (len(texts), dimension). Raises what the model raises."""
        by_digest = {digest(text): text for text in map(normalised, texts)}
        found = {key: vector for key in by_digest if (vector := self._held(key)) is not None}
        self._count("l1", "hit", len(found))
        missing = [key for key in by_digest if key not in found]
        if missing:
            self._count("l1", "miss", len(missing))
            found |= await self._shared(missing)
            missing = [key for key in missing if key not in found]
        if missing:
            found |= await self._made({key: by_digest[key] for key in missing})
        for key, vector in found.items():
            self._hold(key, vector)
        rows = np.empty((len(texts), self.model.dimension), np.float32)
        for row, text in enumerate(texts):
            rows[row] = found[digest(normalised(text))]
        return rows

    async def _shared(self, keys: Sequence[bytes]) -> dict[bytes, _Vector]:
        """Those that the shared cache has."""
        cache = self._cache
        if cache is None:
            return {}
        answers = await asyncio.gather(*(self._looked_up(cache, key) for key in keys))
        return {key: vector for key, vector in zip(keys, answers, strict=True) if vector is not None}

    async def _looked_up(self, cache: SharedCache, key: bytes) -> _Vector | None:
        try:
            vector = await cache.get_vector(self.model.id, key)
        except Unavailable:
            self._count("l2", "error")
            return None
        if vector is not None and not self._is_sound(vector):
            self._count("l2", "error")
            return None
        self._count("l2", "miss" if vector is None else "hit")
        return vector

    def _is_sound(self, vector: _Vector) -> bool:
        """Whether it can be a vector of the model: right shape, and of unit length (so no NaN)."""
        return vector.shape == (self.model.dimension,) and abs(float(np.linalg.norm(vector)) - 1) < _UNIT_TOLERANCE

    async def _made(self, texts: dict[bytes, str]) -> dict[bytes, _Vector]:
        try:
            vectors = await self._embedder.embed(list(texts.values()))
        except MemoryServiceError:
            self._count("model", "error", len(texts))
            raise
        self._count("model", "made", len(texts))
        made = {key: vectors[row].copy() for row, key in enumerate(texts)}
        if self._cache is not None:
            for key, vector in made.items():
                self._background.start(self._put(self._cache, key, vector))
        return made

    async def _put(self, cache: SharedCache, key: bytes, vector: _Vector) -> None:
        try:
            await cache.put_vector(self.model.id, key, vector)
        except Unavailable:
            self._count("l2", "error")

    def _held(self, key: bytes) -> _Vector | None:
        vector = self._entries.get(key)
        if vector is not None:
            self._entries.move_to_end(key)
        return vector

    def _hold(self, key: bytes, vector: _Vector) -> None:
        self._entries[key] = vector
        while len(self._entries) > self._entries_max:
            self._entries.popitem(last=False)
        self._telemetry.gauge("query_vector_cache_entries", len(self._entries))

    def _count(self, tier: str, result: str, amount: int = 1) -> None:
        if amount:
            self._telemetry.count("query_vector_requests_total", amount, tier=tier, result=result)

    async def settle(self) -> None:
        """Wait until everything on its way into the shared cache has arrived."""
        await self._background.settle()

    async def close(self) -> None:
        """Give up what is on its way, then close the embedder. Idempotent."""
        await self._background.close()
        await self._embedder.close()
