"""`SharedCache` in this process's memory: what several simulated replicas share."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncGenerator, Sequence
from datetime import datetime, timedelta

import numpy as np
from numpy.typing import NDArray

from memory_service.domain.errors import Reason, Unavailable
from memory_service.domain.ids import OwnerKey, Revision
from memory_service.ports.clock import Clock

_News = Sequence[tuple[str, Revision]] | None


class InMemorySharedCache:
    """See `SharedCache`.

    Args:
        clock: tells when an entry's time to live is over.
        snapshot_ttl, vector_ttl: how long an entry is kept.
        packed_bytes_max: a larger snapshot is not kept.
        vectors_max: most query vectors kept; the oldest go first.
        news_max: most news a slow subscriber may leave unread; past it, it is told of a gap instead.
    """

    def __init__(
        self,
        clock: Clock,
        *,
        snapshot_ttl: timedelta = timedelta(hours=1),
        vector_ttl: timedelta = timedelta(hours=24),
        packed_bytes_max: int = 64 * 1024 * 1024,
        vectors_max: int = 100_000,
        news_max: int = 10_000,
    ) -> None:
        self._clock = clock
        self._snapshot_ttl = snapshot_ttl
        self._vector_ttl = vector_ttl
        self._packed_bytes_max = packed_bytes_max
        self._vectors_max = vectors_max
        self._news_max = news_max
        self._snapshots: dict[tuple[OwnerKey, str], tuple[datetime, Revision, bytes]] = {}
        self._floors: dict[OwnerKey, tuple[datetime, Revision]] = {}
        self._vectors: OrderedDict[tuple[str, bytes], tuple[datetime, NDArray[np.float32]]] = OrderedDict()
        self._subscribers: set[asyncio.Queue[_News]] = set()
        self._away = False

    def set_away(self, away: bool) -> None:
        """Simulate losing or regaining the cache; what it held stays, subscribers see a gap."""
        if away == self._away:
            return
        self._away = away
        for queue in self._subscribers:
            self._tell(queue, None if away else ())

    def beat(self) -> None:
        """Tell subscribers that they are connected, as a server's heartbeat does, unless it is away."""
        if not self._away:
            for queue in self._subscribers:
                self._tell(queue, ())

    def _check(self) -> None:
        if self._away:
            raise Unavailable(Reason.REDIS_UNAVAILABLE, "the shared cache is away")

    async def get_snapshot(self, owner: OwnerKey, model_id: str) -> tuple[Revision, bytes] | None:
        """The packed snapshot and its revision."""
        self._check()
        found = self._snapshots.get((owner, model_id))
        if found is None or found[0] <= self._clock.now():
            return None
        return found[1], found[2]

    async def put_snapshot(self, owner: OwnerKey, model_id: str, revision: Revision, packed: bytes) -> None:
        """Keep a packed snapshot unless a newer one or a later drop is there."""
        self._check()
        now = self._clock.now()
        floor = self._floors.get(owner)
        if len(packed) > self._packed_bytes_max or (floor and now < floor[0] and revision < floor[1]):
            return
        found = self._snapshots.get((owner, model_id))
        if found is None or found[0] <= now or found[1] <= revision:
            self._snapshots[owner, model_id] = (now + self._snapshot_ttl, revision, bytes(packed))

    async def drop_owner(self, owner: OwnerKey, revision: Revision) -> None:
        """Remove everything kept of this owner and keep out snapshots older than `revision`."""
        self._check()
        for key in [key for key in self._snapshots if key[0] == owner]:
            del self._snapshots[key]
        floor = self._floors.get(owner)
        least = max(revision, floor[1]) if floor else revision
        self._floors[owner] = (self._clock.now() + self._snapshot_ttl, least)

    async def get_vector(self, model_id: str, text_digest: bytes) -> NDArray[np.float32] | None:
        """The vector of a query seen before."""
        self._check()
        found = self._vectors.get((model_id, text_digest))
        return None if found is None or found[0] <= self._clock.now() else found[1]

    async def put_vector(self, model_id: str, text_digest: bytes, vector: NDArray[np.float32]) -> None:
        """Keep a query's vector."""
        self._check()
        kept = np.array(vector, dtype=np.float32)
        kept.setflags(write=False)
        self._vectors[model_id, text_digest] = (self._clock.now() + self._vector_ttl, kept)
        while len(self._vectors) > self._vectors_max:
            self._vectors.popitem(last=False)

    async def publish(self, owner: OwnerKey, revision: Revision) -> None:
        """Tell every subscriber."""
        self._check()
        for queue in self._subscribers:
            self._tell(queue, ((str(owner.id), revision),))

    def _tell(self, queue: asyncio.Queue[_News], news: _News) -> None:
        if queue.qsize() >= self._news_max:
            while not queue.empty():
                queue.get_nowait()
            queue.put_nowait(None)
        queue.put_nowait(news)

    async def changes(self) -> AsyncGenerator[_News, None]:
        """News in order: () once subscribed, None at a gap."""
        queue: asyncio.Queue[_News] = asyncio.Queue()
        self._subscribers.add(queue)
        try:
            yield None if self._away else ()
            while True:
                yield await queue.get()
        finally:
            self._subscribers.discard(queue)

    async def ping(self) -> None:
        """Raise `Unavailable` while away."""
        self._check()

    async def close(self) -> None:
        """Let go; there is nothing to close."""
