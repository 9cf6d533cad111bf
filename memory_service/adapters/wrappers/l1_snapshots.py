"""Snapshots held in this process: a hot recall does no I/O (F9).

One entry per owner, the least recently used let go when bytes run out. At most one read per owner is under way
(a *flight*), shared by all who wait for the same.

Why answers are right, by the freshness asked for:

* FULLY_CONSISTENT: only a flight whose reading began after the call satisfies it.
* AT_LEAST_AS_FRESH: any snapshot of that revision or later; behind it, a flight.
* MINIMIZE_LATENCY: the entry, unless it is known to be behind, if it was verified at most
  `staleness_seconds_max` ago, or was verified while the subscription was live, has been live since, and that is
  at most `unheard_seconds_max` ago. The last bound is for a writer that died between its commit and its news.

What a flight that began before a Forget brings back is older than the entry's `floor`, which the Forget raised:
it is neither kept nor given to anybody; they fly again. In this process that holds once `dropped` is called; in
others once they hear of it, at the latest when the lease of their subscription ends (`staleness_seconds_max`).
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from memory_service.adapters.wrappers.news_exchange import NEVER, NewsExchange
from memory_service.adapters.wrappers.store_snapshots import compacted, require, updated
from memory_service.domain.errors import Reason, Unavailable
from memory_service.domain.ids import MemoryId, OwnerKey, Revision
from memory_service.domain.retrieval.snapshot import OwnerSnapshot
from memory_service.ports.clock import Clock
from memory_service.ports.embedder import EmbeddingModel
from memory_service.ports.memory_store import MemoryStore
from memory_service.ports.snapshots import (
    NO_REVISION,
    Freshness,
    Requirement,
    SharedCache,
    SnapshotSource,
)
from memory_service.ports.telemetry import Telemetry

ENTRY_BYTES = 1024
"""Charged for an entry beside its snapshot, so that any number of empty owners is bounded too."""

_Accesses = Mapping[MemoryId, tuple[int, datetime]]
_NEWEST = Requirement(Freshness.FULLY_CONSISTENT)


@dataclass(frozen=True, slots=True)
class L1Settings:
    """Settings of the first tier; times in seconds.

    Attributes:
        bytes_max: most bytes of snapshots held, by their own estimate.
        staleness_seconds_max: how far behind an answer may be under MINIMIZE_LATENCY.
        unheard_seconds_max: longest trust in the subscription alone, without asking the store.
        loads_at_once_max: most reads under way at once; more wait.
        publish_retry_seconds: pause before a commit that could not be published is tried again.
    """

    bytes_max: int = 512 * 1024 * 1024
    staleness_seconds_max: float = 1.0
    unheard_seconds_max: float = 30.0
    loads_at_once_max: int = 16
    publish_retry_seconds: float = 0.1


@dataclass(slots=True, eq=False)
class _Flight:
    """One read under way. `number` and `began_at` tell when its reading began; 0 before.

    `used` are the accesses stored meanwhile, each with the snapshot held before.
    """

    task: asyncio.Task[OwnerSnapshot] | None = None
    used: list[tuple[OwnerSnapshot, _Accesses]] = field(default_factory=list)
    number: int = 0
    began_at: float = NEVER


@dataclass(slots=True, eq=False)
class _Entry:
    """What is held of one owner.

    Attributes:
        known: newest revision known to be committed.
        floor: no snapshot older than it may be held or given out; `drops` counts its changes.
        verified_at: when the snapshot was last known to be the newest.
        epoch: of the subscription, if it was live then; None otherwise.
        waiting: callers that hold on to this entry.
    """

    snapshot: OwnerSnapshot | None = None
    nbytes: int = ENTRY_BYTES
    known: Revision = NO_REVISION
    floor: Revision = NO_REVISION
    drops: int = 0
    verified_at: float = NEVER
    epoch: int | None = None
    flight: _Flight | None = None
    waiting: int = 0


class L1Snapshots:
    """`SnapshotSource` that keeps snapshots in memory, over a slower `source`.

    Args:
        source: the tier below; its answers must be as new as the store's when the call began.
        cache: where news of other processes comes from; None when there is none, and then every answer older
            than `staleness_seconds_max` is verified with the store.
        listener: told of every commit heard of, of this process or another; must not block or raise.
    """

    def __init__(
        self,
        source: SnapshotSource,
        store: MemoryStore,
        cache: SharedCache | None,
        model: EmbeddingModel,
        clock: Clock,
        telemetry: Telemetry,
        settings: L1Settings | None = None,
        listener: Callable[[str, Revision], None] = lambda _owner, _revision: None,
    ) -> None:
        self._source = source
        self._store = store
        self._model = model
        self._clock = clock
        self._telemetry = telemetry
        self._settings = settings or L1Settings()
        self._listener = listener
        self._entries: OrderedDict[OwnerKey, _Entry] = OrderedDict()
        self._owners_by_id: dict[str, OwnerKey] = {}
        self._nbytes = 0
        self._number = 0
        self._loads = asyncio.Semaphore(self._settings.loads_at_once_max)
        self._news: NewsExchange | None = None
        if cache is not None:
            self._news = NewsExchange(
                cache,
                clock,
                telemetry,
                self._heard,
                lease_seconds=self._settings.staleness_seconds_max,
                retry_seconds=self._settings.publish_retry_seconds,
            )

    def start(self) -> None:
        """Begin to listen for news and to publish; call on the running event loop."""
        if self._news is not None:
            self._news.start()

    async def close(self) -> None:
        """Stop listening, publishing and reading. Idempotent."""
        if self._news is not None:
            await self._news.close()
        flights = [entry.flight.task for entry in self._entries.values() if entry.flight is not None]
        tasks = [task for task in flights if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def flushed(self) -> None:
        """Wait until every commit told to `committed` has been published."""
        if self._news is not None:
            await self._news.flushed()

    # Asking ------------------------------------------------------------------------------------------------

    async def snapshot(self, owner: OwnerKey, requirement: Requirement) -> OwnerSnapshot:
        """A snapshot that satisfies `requirement`.

        Raises:
            InvalidInput: CONSISTENCY_TOKEN_INVALID, the required revision does not exist.
            MemoryServiceError: what the store raises, when it had to be asked.
        """
        now = self._clock.monotonic()
        entry = self._entries.get(owner)
        if entry is not None:
            self._entries.move_to_end(owner)
            held = entry.snapshot
            if held is not None and self._suffices(entry, held, requirement, now):
                self._telemetry.count("snapshot_requests_total", tier="l1", result="hit")
                return held
        return await self._awaited(owner, requirement, now)

    def _suffices(self, entry: _Entry, held: OwnerSnapshot, requirement: Requirement, now: float) -> bool:
        """Whether the entry may be served without I/O."""
        if requirement.freshness is Freshness.FULLY_CONSISTENT:
            return False
        if requirement.freshness is Freshness.AT_LEAST_AS_FRESH:
            return held.revision >= requirement.revision
        if held.revision < entry.known:
            return False
        age = now - entry.verified_at
        if age <= self._settings.staleness_seconds_max:
            return True
        news = self._news
        return (
            news is not None
            and entry.epoch == news.epoch
            and news.is_live()
            and age <= self._settings.unheard_seconds_max
        )

    async def _awaited(self, owner: OwnerKey, requirement: Requirement, called_at: float) -> OwnerSnapshot:
        entry = self._entries.get(owner) or self._added(owner)
        self._number += 1
        called = self._number
        wanted = requirement.revision
        if requirement.freshness is not Freshness.AT_LEAST_AS_FRESH:
            wanted = entry.known
        oldest = called_at - self._settings.staleness_seconds_max
        entry.waiting += 1
        try:
            while True:
                flight = entry.flight or self._launched(owner, entry)
                snapshot = await self._landed(flight)
                if snapshot.revision < entry.floor:
                    continue
                if flight.number > called:
                    require(snapshot.revision, requirement)
                    return snapshot
                if requirement.freshness is Freshness.FULLY_CONSISTENT or snapshot.revision < wanted:
                    continue
                if requirement.freshness is Freshness.AT_LEAST_AS_FRESH or flight.began_at >= oldest:
                    return snapshot
        finally:
            entry.waiting -= 1
            self._make_room()

    async def _landed(self, flight: _Flight) -> OwnerSnapshot:
        """Wait for a flight, which goes on for the others when this caller gives up."""
        assert flight.task is not None
        try:
            return await asyncio.shield(flight.task)
        except asyncio.CancelledError:
            caller = asyncio.current_task()
            if flight.task.cancelled() and caller is not None and not caller.cancelling():
                raise Unavailable(Reason.SHUTTING_DOWN, "the service is shutting down") from None
            raise

    # Reading -----------------------------------------------------------------------------------------------

    def _launched(self, owner: OwnerKey, entry: _Entry) -> _Flight:
        flight = _Flight()
        flight.task = asyncio.get_running_loop().create_task(self._fly(owner, entry, flight))
        # Every caller may have given up; a failure that nobody waits for any more is no news.
        flight.task.add_done_callback(lambda task: task.cancelled() or task.exception())
        entry.flight = flight
        return flight

    async def _fly(self, owner: OwnerKey, entry: _Entry, flight: _Flight) -> OwnerSnapshot:
        """One read: verify, update by delta, or load; then keep what came."""
        result = "error"
        try:
            async with self._loads:
                self._number += 1
                flight.number, flight.began_at = self._number, self._clock.monotonic()
                epoch = self._news.epoch if self._news is not None and self._news.is_live() else None
                drops, known, base = entry.drops, entry.known, entry.snapshot
                snapshot = None if base is None else await self._refreshed(owner, base, known)
                if snapshot is None:
                    result = "miss"
                    snapshot = await self._source.snapshot(owner, _NEWEST)
                else:
                    result = "verified" if snapshot is base else "updated"
                if entry.drops != drops:
                    # Masked rows may hold what was forgotten meanwhile.
                    snapshot = await compacted(snapshot)
            if entry.known == known and snapshot.revision < known:
                # The store's history is shorter than it was: a backup was restored.
                entry.known = snapshot.revision
            if entry.drops == drops and snapshot.revision < entry.floor:
                entry.floor = snapshot.revision
            if snapshot.revision >= entry.floor:
                # What dropped the copies meanwhile may have come after this read, and is not told again.
                entry.verified_at, entry.epoch = flight.began_at, epoch if entry.drops == drops else None
                for seen, accesses in flight.used:
                    snapshot = snapshot.with_usage(accesses, seen=seen)
                self._hold(entry, snapshot)
            return snapshot
        except BaseException:
            result = "error"
            raise
        finally:
            entry.flight = None
            self._telemetry.count("snapshot_requests_total", tier="l1", result=result)
            self._make_room()

    async def _refreshed(self, owner: OwnerKey, base: OwnerSnapshot, known: Revision) -> OwnerSnapshot | None:
        """`base`, if the store confirms it, or brought up to date.

        None when `base` is of another history than the store's, which a restored backup brings about.
        """
        if known <= base.revision:
            state = await self._store.state(owner)
            if state.revision == base.revision and state.clock == base.clock:
                return base
        delta = await self._store.search_rows_since(owner, self._model.id, base.revision)
        if delta.revision <= base.revision or not delta.clock.descends(base.clock):
            return None
        return await updated(base, delta)

    # Keeping -----------------------------------------------------------------------------------------------

    def _added(self, owner: OwnerKey) -> _Entry:
        entry = _Entry()
        self._entries[owner] = entry
        self._owners_by_id[str(owner.id)] = owner
        self._nbytes += entry.nbytes
        return entry

    def _hold(self, entry: _Entry, snapshot: OwnerSnapshot | None) -> None:
        nbytes = ENTRY_BYTES + (0 if snapshot is None else snapshot.nbytes)
        self._nbytes += nbytes - entry.nbytes
        entry.snapshot, entry.nbytes = snapshot, nbytes

    def _make_room(self) -> None:
        """Let the least recently used go until the rest fits; entries in use stay."""
        if self._nbytes > self._settings.bytes_max:
            for owner in self._least_used(self._nbytes - self._settings.bytes_max):
                self._remove(owner)
                self._telemetry.count("snapshot_evictions_total", tier="l1")
        self._telemetry.gauge("snapshot_cache_bytes", self._nbytes, tier="l1")
        self._telemetry.gauge("snapshot_cache_owners", len(self._entries), tier="l1")

    def _least_used(self, nbytes: int) -> list[OwnerKey]:
        """Idle owners, the longest unused first, that hold so many bytes together (or all idle ones)."""
        chosen: list[OwnerKey] = []
        for owner, entry in self._entries.items():
            if nbytes <= 0:
                break
            if not entry.waiting and entry.flight is None:
                chosen.append(owner)
                nbytes -= entry.nbytes
        return chosen

    def _remove(self, owner: OwnerKey) -> None:
        entry = self._entries.pop(owner)
        del self._owners_by_id[str(owner.id)]
        self._nbytes -= entry.nbytes

    def storing_accesses(self, owner: OwnerKey) -> Callable[[_Accesses], None]:
        """Told before accesses of `owner` are stored; what it returns is told them once they are.

        The snapshot held follows, though accesses make no revision. Only what was read before the storing began
        is counted up, so nothing is counted twice; what was read meanwhile may lack these accesses until it is
        read again.
        """
        entry = self._entries.get(owner)
        seen = None if entry is None else entry.snapshot

        def stored(accesses: _Accesses) -> None:
            entry = self._entries.get(owner)
            if entry is None or seen is None:
                return
            if entry.flight is not None:
                entry.flight.used.append((seen, accesses))
            if entry.snapshot is not None:
                self._hold(entry, entry.snapshot.with_usage(accesses, seen=seen))

        return stored

    # News --------------------------------------------------------------------------------------------------

    def committed(self, owner: OwnerKey, revision: Revision) -> None:
        """Told after each commit of this process; tells the others."""
        entry = self._entries.get(owner)
        if entry is not None:
            entry.known = max(entry.known, revision)
        self._listener(str(owner.id), revision)
        self._source.committed(owner, revision)
        if self._news is not None:
            self._news.post(owner, revision)

    async def dropped(self, owner: OwnerKey) -> None:
        """Told after a Forget committed: no copy older than it is left in this process or the shared cache.

        Other processes are told to drop theirs.

        Raises:
            Unavailable: the store or the shared cache did not answer. Nothing forgotten will be served by this
                process, but a copy may remain in the cache or in another process: the caller tries again.
        """
        # At once, for those who ask while the store is being read …
        self._drop(owner, NO_REVISION)
        if self._news is not None:
            # … and for others, who must not wait for a store or a cache that hangs for this process.
            self._news.post(owner, NO_REVISION)
        revision = (await self._store.state(owner)).revision
        # … and again, for a flight that began before the Forget and has ended meanwhile.
        self._drop(owner, revision)
        failure: Unavailable | None = None
        try:
            await self._source.dropped(owner)
        except Unavailable as error:
            failure = error
        if self._news is not None:
            await self._news.publish_drop(owner, revision)
        if failure is not None:
            raise failure

    def _drop(self, owner: OwnerKey, revision: Revision) -> None:
        """Let every copy go, and bar what is older than `revision` or than what is known."""
        entry = self._entries.get(owner)
        if entry is None:
            return
        entry.known = max(entry.known, revision)
        entry.floor = max(entry.floor, entry.known)
        entry.drops += 1
        self._hold(entry, None)
        if not entry.waiting and entry.flight is None:
            self._remove(owner)

    def _heard(self, owner_id: str, revision: Revision) -> None:
        """News of another process; 0 tells to drop."""
        self._listener(owner_id, revision)
        owner = self._owners_by_id.get(owner_id)
        if owner is None:
            return
        if revision == NO_REVISION:
            self._drop(owner, NO_REVISION)
        else:
            entry = self._entries[owner]
            entry.known = max(entry.known, revision)
