"""Stand-ins for the ports that recall uses."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from memory_service.adapters.embedders.hashing import HASH_MODEL, HashEncoder
from memory_service.domain.errors import Reason, Unavailable
from memory_service.domain.ids import OwnerKey, Revision
from memory_service.domain.memory import MemoryHead
from memory_service.domain.records import Changeset, Fragment
from memory_service.domain.retrieval.snapshot import OwnerSnapshot
from memory_service.domain.text import analyse
from memory_service.domain.vector_clock import VectorClock
from memory_service.ports.embedder import EmbeddingModel, FloatMatrix
from memory_service.ports.memory_store import MemoryStore
from memory_service.ports.snapshots import Requirement


class CountingTelemetry:
    """Remembers what it was told."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.observed: list[tuple[str, str]] = []

    def count(self, name: str, amount: int = 1, **labels: str) -> None:
        self.counts[name] += amount

    def observe(self, name: str, seconds: float, **labels: str) -> None:
        assert seconds >= 0
        self.observed.append((name, labels.get("stage", "")))

    def gauge(self, name: str, value: float, **labels: str) -> None:
        raise AssertionError("recall has no gauges")


class HashEmbedder:
    """The hashing embedder without its threads; can be away (but for what it knows), or never answer."""

    def __init__(self) -> None:
        self.away = False
        self.stuck = False
        self.calls: list[list[str]] = []
        self.known: set[str] = set()

    @property
    def model(self) -> EmbeddingModel:
        return HASH_MODEL

    @property
    def asked(self) -> list[str]:
        return [text for call in self.calls for text in call]

    async def embed(self, texts: Sequence[str]) -> FloatMatrix:
        self.calls.append(list(texts))
        if self.away and not self.known.issuperset(texts):
            raise Unavailable(Reason.EMBEDDER_UNAVAILABLE, "away")
        if self.stuck:
            await asyncio.Event().wait()
        return HashEncoder().encode(texts)

    async def close(self) -> None:
        return


class FreshSnapshots:
    """Builds a snapshot from the store for every call."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store
        self.stuck = False
        self.slow = 0
        self.model_id = HASH_MODEL.id

    async def snapshot(self, owner: OwnerKey, requirement: Requirement) -> OwnerSnapshot:
        if self.stuck:
            await asyncio.Event().wait()
        for _ in range(self.slow):
            await asyncio.sleep(0)
        rows = await self._store.search_rows(owner, self.model_id)
        return OwnerSnapshot.build(rows, self.model_id, HASH_MODEL.dimension)

    def committed(self, owner: OwnerKey, revision: Revision) -> None:
        raise AssertionError("recall commits nothing")

    async def dropped(self, owner: OwnerKey) -> None:
        raise AssertionError("recall drops nothing")


async def keep(store: MemoryStore, owner: OwnerKey, *heads: MemoryHead) -> Revision:
    """Commit these heads' versions with hashed vectors and their use."""
    async with store.change(owner) as change:
        state = change.state
        revision = Revision(state.revision + 1)
        versions = [replace(h.current, revision=revision) for h in heads]
        vectors = HashEncoder().encode([v.text for v in versions]) if versions else np.zeros((0, 1), np.float32)
        fragments = [
            Fragment(v.id, v.content_version, 0, v.text, tuple(analyse(v.text)), HASH_MODEL.id, vector)
            for v, vector in zip(versions, vectors, strict=True)
        ]
        clock = state.clock
        for version in versions:
            clock = clock.merge(VectorClock({version.dot.device: version.dot.counter}))
        after = replace(state, revision=revision, clock=clock, salt=state.salt or bytes(32))
        usage = {h.id: h.usage for h in heads}
        await change.apply(Changeset(after, versions, usage, fragments))
    return revision
