"""Snapshots straight from the store: the last tier, and the only one whose failure is the caller's.

Metrics of all three tiers (`snapshot_…`, labels from closed sets):

    snapshot_requests_total{tier,result}
        tier l1:     hit (served from memory without I/O), verified (the store confirmed it), updated (by
                     delta), miss (loaded from the tier below), error
        tier l2:     hit (unpacked and brought up to date), miss, error (cache away or damaged entry)
        tier store:  loaded, error
    snapshot_load_seconds{tier}         time a tier below L1 took to give a snapshot
    snapshot_cache_bytes{tier="l1"}     bytes held
    snapshot_cache_owners{tier="l1"}    owners held
    snapshot_evictions_total{tier="l1"} snapshots let go for lack of room
    snapshot_news_total{result}         heard, gap (subscription lost), published, unpublished (will be retried)
    snapshot_puts_total{result}         stored in l2: stored, error, skipped (too many under way)
"""

from __future__ import annotations

import asyncio

from memory_service.domain.errors import InvalidInput, MemoryServiceError, Reason
from memory_service.domain.ids import OwnerKey, Revision
from memory_service.domain.records import SearchRows
from memory_service.domain.retrieval.snapshot import OwnerSnapshot
from memory_service.ports.clock import Clock
from memory_service.ports.embedder import EmbeddingModel
from memory_service.ports.memory_store import MemoryStore
from memory_service.ports.snapshots import Freshness, Requirement
from memory_service.ports.telemetry import Telemetry

ROWS_INLINE_MAX = 32
"""Up to so many rows are arranged on the event loop (about a millisecond); more go to a thread."""


async def built(rows: SearchRows, model: EmbeddingModel) -> OwnerSnapshot:
    """The snapshot of these rows, made without holding up the event loop."""
    if len(rows.rows) <= ROWS_INLINE_MAX:
        return OwnerSnapshot.build(rows, model.id, model.dimension)
    return await asyncio.to_thread(OwnerSnapshot.build, rows, model.id, model.dimension)


async def updated(base: OwnerSnapshot, delta: SearchRows) -> OwnerSnapshot:
    """`base` after `delta`, made without holding up the event loop."""
    if len(delta.rows) <= ROWS_INLINE_MAX:
        return base.apply(delta)
    return await asyncio.to_thread(base.apply, delta)


async def compacted(snapshot: OwnerSnapshot) -> OwnerSnapshot:
    """`snapshot` without masked rows, made without holding up the event loop."""
    if len(snapshot) <= ROWS_INLINE_MAX:
        return snapshot.compacted()
    return await asyncio.to_thread(snapshot.compacted)


def require(revision: Revision, requirement: Requirement) -> None:
    """Check data read after the call began against a token.

    Raises:
        InvalidInput: CONSISTENCY_TOKEN_INVALID, the token is of a revision that the store never reached (it is
            of another deployment, or of a history that a restored backup no longer has).
    """
    if requirement.freshness is Freshness.AT_LEAST_AS_FRESH and revision < requirement.revision:
        raise InvalidInput(
            Reason.CONSISTENCY_TOKEN_INVALID,
            "the token names a revision that does not exist",
            metadata={"revision": str(requirement.revision), "newest": str(revision)},
        )


class StoreSnapshots:
    """`SnapshotSource` that reads everything on each call; always as new as can be."""

    def __init__(self, store: MemoryStore, model: EmbeddingModel, clock: Clock, telemetry: Telemetry) -> None:
        self._store = store
        self._model = model
        self._clock = clock
        self._telemetry = telemetry

    async def snapshot(self, owner: OwnerKey, requirement: Requirement) -> OwnerSnapshot:
        """A snapshot of what is committed now. Raises what the store raises."""
        started = self._clock.monotonic()
        try:
            rows = await self._store.search_rows(owner, self._model.id)
        except MemoryServiceError:
            self._telemetry.count("snapshot_requests_total", tier="store", result="error")
            raise
        require(rows.revision, requirement)
        snapshot = await built(rows, self._model)
        self._telemetry.count("snapshot_requests_total", tier="store", result="loaded")
        self._telemetry.observe("snapshot_load_seconds", self._clock.monotonic() - started, tier="store")
        return snapshot

    def committed(self, owner: OwnerKey, revision: Revision) -> None:
        """Nothing is kept, so nothing is out of date."""

    async def dropped(self, owner: OwnerKey) -> None:
        """Nothing is kept, so nothing is to be dropped."""
