"""Makes the vectors of fragments that were stored while the embedding model was away."""

from __future__ import annotations

from dataclasses import dataclass, replace

from memory_service.domain.ids import OwnerKey
from memory_service.ports.embedder import Embedder
from memory_service.ports.memory_store import MemoryStore
from memory_service.ports.snapshots import SnapshotSource
from memory_service.ports.telemetry import Telemetry

_OWNERS_AT_ONCE = 100
_FRAGMENTS_AT_ONCE = 64


@dataclass(frozen=True, slots=True)
class Backfill:
    """At-least-once and idempotent: a vector stored twice is the same vector."""

    store: MemoryStore
    snapshots: SnapshotSource
    embedder: Embedder
    telemetry: Telemetry

    async def run_once(self) -> int:
        """Embed what waits, owner by owner; how many fragments were embedded.

        Raises:
            Unavailable: when the store or the model is away; what was stored before stays.
        """
        model_id = self.embedder.model.id
        done = 0
        for owner in await self.store.owners_with_waiting_fragments(model_id, limit=_OWNERS_AT_ONCE):
            done += await self._owner(owner, model_id)
        self.telemetry.count("job_runs_total", job="backfill", outcome="done")
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
