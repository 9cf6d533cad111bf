"""Makes caches let go of what was forgotten: at once, or as soon as the shared cache answers again (B3)."""

from __future__ import annotations

from dataclasses import dataclass, field

from memory_service.domain.errors import Unavailable
from memory_service.domain.ids import OwnerKey
from memory_service.ports.snapshots import SnapshotSource


@dataclass(slots=True)
class CacheDrops:
    """What waits is lost with the process; a copy then lives until its time to live ends, and is never served,
    since a snapshot is brought up to date with the store before it is."""

    snapshots: SnapshotSource
    _waiting: dict[OwnerKey, None] = field(default_factory=dict)

    @property
    def waiting(self) -> int:
        """How many owners have copies in a cache that does not answer."""
        return len(self._waiting)

    async def drop(self, owner: OwnerKey) -> None:
        """Drop every copy of an owner. The forgetting is committed: a cache that is away only makes it wait."""
        try:
            await self.snapshots.dropped(owner)
        except Unavailable:
            self._waiting[owner] = None
        else:
            self._waiting.pop(owner, None)

    async def retry(self) -> None:
        """Drop what waits; called by a background task.

        Raises:
            Unavailable: the cache still does not answer; what was not dropped goes on waiting.
        """
        for owner in list(self._waiting):
            await self.snapshots.dropped(owner)
            self._waiting.pop(owner, None)
