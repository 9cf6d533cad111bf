"""Makes the vectors of fragments that were stored while the embedding model was away, or for another model.

What came without a vector is in an index of its own, which is empty while nothing waits, and is asked for each time.
Which vectors are of another model no index tells: so there is a walk through all owners, by pages, when a process
starts (which is when the model changes) and then every hour, for what processes of an earlier release wrote.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field, replace

from memory_service.domain.ids import OwnerKey
from memory_service.ports.clock import Clock
from memory_service.ports.embedder import Embedder
from memory_service.ports.memory_store import MemoryStore
from memory_service.ports.snapshots import SnapshotSource
from memory_service.ports.telemetry import Telemetry

_OWNERS_AT_ONCE = 100
_FRAGMENTS_AT_ONCE = 64
_PAGE = 500
_LOOKED_MAX = 5_000
"""Owners looked at in one run of the walk."""
REST_SECONDS = 3_600.0
"""From the end of one walk to the beginning of the next."""


@dataclass(slots=True)
class _Walk:
    """Where the walk through all owners is; `rests_until` is on the monotonic clock."""

    after: uuid.UUID | None = None
    rests_until: float = float("-inf")


@dataclass(frozen=True, slots=True)
class Backfill:
    """At-least-once and idempotent: a vector stored twice is the same vector."""

    store: MemoryStore
    snapshots: SnapshotSource
    embedder: Embedder
    telemetry: Telemetry
    clock: Clock
    _walk: _Walk = field(default_factory=_Walk)

    async def run_once(self) -> int:
        """Embed what waits, owner by owner; how many fragments were embedded.

        Raises:
            Unavailable: when the store or the model is away; what was stored before stays.
        """
        model_id = self.embedder.model.id
        done = 0
        for owner in await self.store.owners_with_waiting_fragments(model_id, limit=_OWNERS_AT_ONCE):
            done += await self._owner(owner, model_id)
        done += await self._walked(model_id)
        self.telemetry.count("job_runs_total", job="backfill", outcome="done")
        return done

    async def _walked(self, model_id: str) -> int:
        """Go on with the walk, unless it rests; a page counts as done when all that waits in it was embedded."""
        walk, done, looked = self._walk, 0, 0
        while looked < _LOOKED_MAX and self.clock.monotonic() >= walk.rests_until:
            page = await self.store.owners_behind(model_id, after=walk.after, limit=_PAGE)
            for owner in page.owners:
                done += await self._owner(owner, model_id)
            looked += page.looked
            walk.after = page.next_after
            if walk.after is None:
                walk.rests_until = self.clock.monotonic() + REST_SECONDS
        return done

    async def _owner(self, owner: OwnerKey, model_id: str) -> int:
        done = 0
        while fragments := await self.store.waiting_fragments(owner, model_id, limit=_FRAGMENTS_AT_ONCE):
            vectors = await self.embedder.embed([fragment.text for fragment in fragments])
            ready = [replace(f, model_id=model_id, vector=v) for f, v in zip(fragments, vectors, strict=True)]
            await self.store.store_vectors(owner, ready)
            self.snapshots.committed(owner, (await self.store.state(owner)).revision)
            self.telemetry.count("embed_backfilled_total", len(ready))
            done += len(ready)
            if len(fragments) < _FRAGMENTS_AT_ONCE:
                break
        return done
