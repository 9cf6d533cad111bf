"""Snapshots from the shared cache, brought up to date by what the store says changed since (F9).

What the cache holds is never believed to be new: every answer ends with the store's own delta, so an answer is
always as new as the store's and a copy that should have gone is never shown, whatever became of the cache.
"""

from __future__ import annotations

import asyncio

from memory_service.adapters.wrappers.background import Background
from memory_service.adapters.wrappers.store_snapshots import compacted, require, updated
from memory_service.domain.errors import Unavailable
from memory_service.domain.ids import OwnerKey, Revision
from memory_service.domain.retrieval.snapshot import OwnerSnapshot
from memory_service.ports.clock import Clock
from memory_service.ports.embedder import EmbeddingModel
from memory_service.ports.memory_store import MemoryStore
from memory_service.ports.snapshots import Requirement, SharedCache, SnapshotSource
from memory_service.ports.telemetry import Telemetry

PACKED_INLINE_BYTES_MAX = 64 * 1024


class L2Snapshots:
    """`SnapshotSource` over a shared cache; every answer satisfies every requirement.

    Args:
        source: the tier below, asked when the cache has nothing.
        puts_max: most snapshots on their way into the cache at once; more are not stored.
    """

    def __init__(
        self,
        source: SnapshotSource,
        store: MemoryStore,
        cache: SharedCache,
        model: EmbeddingModel,
        clock: Clock,
        telemetry: Telemetry,
        *,
        puts_max: int = 8,
    ) -> None:
        self._source = source
        self._store = store
        self._cache = cache
        self._model = model
        self._clock = clock
        self._telemetry = telemetry
        self._background = Background(puts_max)

    async def snapshot(self, owner: OwnerKey, requirement: Requirement) -> OwnerSnapshot:
        """A snapshot of what is committed now. Raises what the store raises, nothing of the cache's."""
        started = self._clock.monotonic()
        kept = await self._kept(owner)
        snapshot = None if kept is None else await self._current(owner, kept)
        if snapshot is None:
            snapshot = await self._source.snapshot(owner, requirement)
        else:
            require(snapshot.revision, requirement)
            self._telemetry.observe("snapshot_load_seconds", self._clock.monotonic() - started, tier="l2")
        # An owner without history costs nothing to read, and there may be any number of them.
        is_news = snapshot.revision > 0 and (kept is None or snapshot.revision != kept.revision)
        if is_news and not self._background.start(self._put(owner, snapshot)):
            self._telemetry.count("snapshot_puts_total", result="skipped")
        return snapshot

    async def _kept(self, owner: OwnerKey) -> OwnerSnapshot | None:
        """What the cache holds, None also when it is away or damaged."""
        result = "error"
        try:
            found = await self._cache.get_snapshot(owner, self._model.id)
            result = "miss" if found is None else "hit"
            return None if found is None else self._fitting(await _unpacked(found[1]), found[0])
        except Unavailable:
            return None
        except ValueError:
            result = "error"
            return None
        finally:
            self._telemetry.count("snapshot_requests_total", tier="l2", result=result)

    def _fitting(self, snapshot: OwnerSnapshot, revision: Revision) -> OwnerSnapshot:
        """Raises ValueError for an entry that is not what its key says."""
        expected = (self._model.id, self._model.dimension, revision)
        if (snapshot.model_id, snapshot.dimension, snapshot.revision) != expected:
            raise ValueError("the entry does not fit its key")
        return snapshot

    async def _current(self, owner: OwnerKey, kept: OwnerSnapshot) -> OwnerSnapshot | None:
        """`kept` brought up to date; None when it is of another history than the store's (a restored backup)."""
        delta = await self._store.search_rows_since(owner, self._model.id, kept.revision)
        if not delta.clock.descends(kept.clock) or delta.revision < kept.revision:
            return None
        if delta.revision == kept.revision:
            return kept if delta.clock == kept.clock else None
        snapshot = await updated(kept, delta)
        # Rows that left are only masked; what was forgotten must not live on behind the mask.
        return await compacted(snapshot) if delta.removed else snapshot

    async def _put(self, owner: OwnerKey, snapshot: OwnerSnapshot) -> None:
        packed = (
            snapshot.pack() if snapshot.nbytes <= PACKED_INLINE_BYTES_MAX else await asyncio.to_thread(snapshot.pack)
        )
        try:
            await self._cache.put_snapshot(owner, self._model.id, snapshot.revision, packed)
        except Unavailable:
            self._telemetry.count("snapshot_puts_total", result="error")
        else:
            self._telemetry.count("snapshot_puts_total", result="stored")

    def committed(self, owner: OwnerKey, revision: Revision) -> None:
        """Passed on; the cache's copy is brought up to date when it is next read."""
        self._source.committed(owner, revision)

    async def dropped(self, owner: OwnerKey) -> None:
        """Remove the cache's copies and bar older ones from coming back.

        Raises:
            Unavailable: the cache (its copy may be there still, until its time to live ends) or the store does
                not answer; the caller tries again.
        """
        await self._source.dropped(owner)
        state = await self._store.state(owner)
        await self._cache.drop_owner(owner, state.revision)

    async def settle(self) -> None:
        """Wait until everything on its way into the cache has arrived."""
        await self._background.settle()

    async def close(self) -> None:
        """Give up what is on its way into the cache."""
        await self._background.close()


async def _unpacked(packed: bytes) -> OwnerSnapshot:
    if len(packed) <= PACKED_INLINE_BYTES_MAX:
        return OwnerSnapshot.unpack(packed)
    return await asyncio.to_thread(OwnerSnapshot.unpack, packed)
