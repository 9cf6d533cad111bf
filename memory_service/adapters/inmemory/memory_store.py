"""`MemoryStore` in this process's memory: a real backend for tests, simulations and trying things out."""

from __future__ import annotations

import asyncio
import heapq
import uuid
from collections import Counter
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from datetime import datetime
from itertools import islice
from weakref import WeakValueDictionary

from memory_service.adapters.inmemory.episodes import InMemoryEpisodeLog
from memory_service.adapters.inmemory.job_queue import InMemoryJobQueue, InMemoryUpkeepPlan
from memory_service.adapters.inmemory.owner import OwnerData, StoredMemory, prepared
from memory_service.domain.errors import InternalError, Reason
from memory_service.domain.ids import DeviceId, MemoryId, OwnerKey, Revision, TenantId
from memory_service.domain.memory import (
    CURRENT_STATUSES,
    STANDING_STATUSES,
    Kind,
    MemoryHead,
    MemoryVersion,
    Relation,
    Status,
    Tier,
)
from memory_service.domain.retrieval.filters import held_at, matches
from memory_service.domain.reuse import Interval
from memory_service.domain.session.model import SessionId
from memory_service.domain.vector_clock import Dot, VectorClock
from memory_service.ports.memory_store import (
    Changed,
    ChangeRecord,
    Changeset,
    ColdFile,
    DeviceRecord,
    Fragment,
    Idle,
    JournalEntry,
    Link,
    MemoryFilter,
    OwnerChange,
    OwnersBehind,
    OwnerState,
    Page,
    SearchRow,
    SearchRows,
    StoredOutcome,
    Tombstone,
    Writer,
)

_EMPTY = OwnerData()
"""What an owner without history has; only ever read."""


class InMemoryOwnerChange:
    """Exclusive use of one owner; see `OwnerChange`."""

    def __init__(self, data: OwnerData) -> None:
        self._data = data
        self._state = data.state
        self.staged: Changeset | None = None

    @property
    def state(self) -> OwnerState:
        """The owner's state at the start of the change."""
        return self._state

    async def outcome_of_request(self, request_id: str) -> StoredOutcome | None:
        """The answer already given to this request id, if any."""
        return self._data.outcome_of_request(request_id)

    async def outcome_of_dot(self, dot: Dot) -> StoredOutcome | None:
        """The answer already given to this dot, if any."""
        return self._data.outcome_of_dot(dot)

    async def heads_in_slots(self, slots: Sequence[str]) -> Sequence[MemoryHead]:
        """Standing heads in these slots, oldest first."""
        return self._data.in_slots(slots)

    async def heads_of_claims(self, claims: Sequence[str], *, standing_only: bool = True) -> Sequence[MemoryHead]:
        """Heads of these claims, oldest first; of standing status unless `standing_only` is False."""
        return self._data.of_claims(claims, standing_only=standing_only)

    async def heads(self, ids: Sequence[MemoryId]) -> Sequence[MemoryHead]:
        """The heads with these ids that exist."""
        found = (self._data.memory(memory_id) for memory_id in dict.fromkeys(ids))
        return [memory.head() for memory in found if memory is not None]

    async def select(self, where: MemoryFilter, *, limit: int) -> Sequence[MemoryHead]:
        """Up to `limit` heads that match, oldest first."""
        heads = (memory.head() for memory in self._data.in_order())
        return list(islice((head for head in heads if matches(head, where)), limit))

    async def versions(self, memory_id: MemoryId) -> Sequence[MemoryVersion]:
        """Every version of a memory, oldest first."""
        return self._data.versions(memory_id)

    async def tombstones(self, digests: Sequence[bytes]) -> Sequence[Tombstone]:
        """Tombstones with one of these digests."""
        return self._data.tombstones(digests)

    async def forgotten_wordings(self, *, limit: int) -> Sequence[Tombstone]:
        """Tombstones of scope WORDING, newest first."""
        return self._data.forgotten_wordings()[:limit]

    async def fragments(self, memory_id: MemoryId, content_version: int) -> Sequence[Fragment]:
        """Fragments stored for one text of a memory, in order."""
        memory = self._data.memory(memory_id)
        return [] if memory is None else list(memory.fragments(content_version))

    async def derivatives(self, ids: Sequence[MemoryId]) -> Sequence[MemoryId]:
        """Memories derived from any of `ids`, or that one of `ids` was merged into; one step away."""
        return self._data.derivatives(ids)

    async def linked(self, ids: Sequence[MemoryId], relation: Relation) -> Sequence[Link]:
        """Links of this relation from or to any of `ids`, each once."""
        return self._data.linked(ids, relation)

    async def devices(self, names: Sequence[DeviceId]) -> Mapping[DeviceId, DeviceRecord]:
        """What is known of these devices, retired ones included."""
        return self._data.log.devices(names)

    async def idle_devices(self, *, limit: int) -> Sequence[DeviceRecord]:
        """Devices that are not retired, least recently seen first; the retired actor is none of them."""
        return self._data.log.idle(limit)

    async def changes_by(self, writer: Writer, since: datetime) -> Sequence[ChangeRecord]:
        """Changes that a writer made at or after `since`, in order of revision."""
        return self._data.log.by(writer, since)

    async def changes_at(self, revisions: Sequence[Revision]) -> Sequence[ChangeRecord]:
        """The changes that made these revisions, in order of revision."""
        return self._data.log.at(revisions)

    async def versions_at(self, revisions: Sequence[Revision]) -> Sequence[MemoryVersion]:
        """Versions made by these revisions, of memories that still have a head."""
        return self._data.versions_at(revisions)

    async def observed(
        self, *, sessions_min: int, limit: int, except_about: Collection[str] = ()
    ) -> Sequence[tuple[MemoryHead, int]]:
        """Standing candidates stated in at least so many distinct sessions, oldest first."""
        candidates = (
            head
            for head in self._standing()
            if head.current.tier is Tier.CANDIDATE and _about(head) not in except_about
        )
        found = ((head, self._data.sessions(head)) for head in candidates)
        return list(islice((each for each in found if each[1] >= sessions_min), limit))

    async def contested(self, *, unchanged_since: datetime, limit: int) -> Sequence[MemoryHead]:
        """Contested heads out of the archive that nobody changed since, in order of (recorded_at, id)."""
        found = [
            head
            for head in self._standing()
            if head.current.status is Status.CONTESTED
            and head.current.tier is not Tier.ARCHIVE
            and head.current.recorded_at <= unchanged_since
        ]
        return heapq.nsmallest(limit, found, key=lambda head: (head.current.recorded_at, head.id))

    def _standing(self) -> Iterator[MemoryHead]:
        heads = (memory.head() for memory in self._data.in_order())
        return (head for head in heads if head.current.status in STANDING_STATUSES)

    async def apply(self, changeset: Changeset) -> None:
        """Stage the change. Raises `InternalError` for a second apply or a changeset that cannot be kept."""
        if self.staged is not None:
            raise InternalError(Reason.INTERNAL, "apply may be called once in a change")
        changeset = prepared(changeset)
        self._data.check(changeset)
        self.staged = changeset


class InMemoryMemoryStore:
    """See `MemoryStore`. Everything is lost with the process; everything else of the contract holds.

    `jobs` and `upkeep` are its queue and plan: what a change enqueues is committed with it. `episodes` is its log:
    what a change forgets is forgotten there with it.
    """

    def __init__(self) -> None:
        self._owners: dict[OwnerKey, OwnerData] = {}
        self.jobs = InMemoryJobQueue()
        self.episodes = InMemoryEpisodeLog(self.jobs)
        self.upkeep = InMemoryUpkeepPlan(self.jobs, self._revisions)
        # Weak, so that a lock lives exactly as long as somebody holds or awaits it.
        self._locks: WeakValueDictionary[OwnerKey, asyncio.Lock] = WeakValueDictionary()

    def _revisions(self) -> Mapping[OwnerKey, Revision]:
        return {owner: data.state.revision for owner, data in self._owners.items()}

    def _lock(self, owner: OwnerKey) -> asyncio.Lock:
        lock = self._locks.get(owner)
        if lock is None:
            lock = asyncio.Lock()
            self._locks[owner] = lock
        return lock

    def _data(self, owner: OwnerKey) -> OwnerData:
        return self._owners.get(owner, _EMPTY)

    def change(self, owner: OwnerKey) -> AbstractAsyncContextManager[OwnerChange]:
        """Exclusive use of `owner`'s memories for one commit."""
        return self._change(owner)

    @asynccontextmanager
    async def _change(self, owner: OwnerKey) -> AsyncIterator[OwnerChange]:
        lock = self._lock(owner)
        async with lock:
            data = self._owners.get(owner) or OwnerData()
            change = InMemoryOwnerChange(data)
            yield change
            # Nothing from here on awaits: a cancellation comes wholly before the commit or wholly after it.
            if change.staged is not None:
                origins = [v.provenance for m in change.staged.forgotten for v in data.versions(m)]
                self.episodes.forget(owner, [(SessionId(o.session), o.reference) for o in origins])
                data.write(change.staged)
                self._owners[owner] = data
                self.jobs.add((owner, request) for request in change.staged.jobs)

    async def state(self, owner: OwnerKey) -> OwnerState:
        """The committed state."""
        return self._data(owner).state

    async def get(self, owner: OwnerKey, memory_id: MemoryId) -> MemoryHead | None:
        """The head, whatever its status."""
        memory = self._data(owner).memory(memory_id)
        return None if memory is None else memory.head()

    async def links(self, owner: OwnerKey, memory_id: MemoryId) -> Sequence[Link]:
        """Links from and to a memory."""
        return self._data(owner).links(memory_id)

    async def successors(
        self, owner: OwnerKey, ids: Sequence[MemoryId], recorded_at: datetime | None = None
    ) -> Mapping[MemoryId, MemoryId]:
        """Which memory took the place of each of these, the last to do so."""
        data = self._data(owner)
        found: dict[MemoryId, MemoryId] = {}
        for memory_id in ids:
            links = [link for link in data.links(memory_id) if link.relation is Relation.SUPERSEDES]
            memories = [data.memory(link.from_id) for link in links if link.to_id == memory_id]
            heads = [memory.head() for memory in memories if memory is not None]
            keys = [
                (head.created_at, head.id)
                for head in heads
                if head.created_at is not None
                and head.current.status is not Status.RETRACTED
                and (recorded_at is None or head.created_at <= recorded_at)
            ]
            if keys:
                found[memory_id] = max(keys)[1]
        return found

    async def list(
        self,
        owner: OwnerKey,
        where: MemoryFilter,
        *,
        limit: int,
        after: tuple[datetime, MemoryId] | None = None,
        recorded_at: datetime | None = None,
    ) -> Page:
        """One page of the heads that match; `next_after` is None on the last."""
        heads = _heads_believed(self._data(owner).in_order(after), recorded_at)
        return self._page(heads, lambda head: matches(head, where), limit)

    async def idle(
        self, owner: OwnerKey, where: Idle, *, limit: int, after: tuple[datetime, MemoryId] | None = None
    ) -> Page:
        """One page of the heads that time may have overtaken."""
        heads = (memory.head() for memory in self._data(owner).in_order(after))
        return self._page(heads, where.holds, limit)

    @staticmethod
    def _page(heads: Iterable[MemoryHead], wanted: Callable[[MemoryHead], bool], limit: int) -> Page:
        found = list(islice((head for head in heads if wanted(head)), limit + 1))
        page = found[:limit]
        if len(found) <= limit or not page:
            return Page(page, None)
        last = page[-1]
        return Page(page, (last.created_at or last.current.recorded_at, last.id))

    async def history(self, owner: OwnerKey, memory_id: MemoryId) -> Sequence[MemoryVersion]:
        """Every version of a memory, oldest first."""
        return self._data(owner).versions(memory_id)

    async def journal(self, owner: OwnerKey, memory_id: MemoryId) -> Sequence[JournalEntry]:
        """The state changes of one memory, oldest first."""
        return self._data(owner).journal(memory_id)

    async def search_rows(self, owner: OwnerKey, model_id: str) -> SearchRows:
        """All current memories with their fragments. Heads to search carry no evidence."""
        data = self._data(owner)
        rows = [memory.row(model_id) for memory in data.in_order() if memory.searchable]
        return SearchRows(data.state.revision, data.state.clock, rows)

    async def search_rows_since(self, owner: OwnerKey, model_id: str, revision: Revision) -> SearchRows:
        """What changed after `revision`."""
        data = self._data(owner)
        rows: list[SearchRow] = []
        removed: list[MemoryId] = []
        for memory in data.changed_since(revision):
            if memory.searchable:
                rows.append(memory.row(model_id))
            else:
                removed.append(memory.id)
        return SearchRows(data.state.revision, data.state.clock, rows, removed)

    async def search_rows_as_of(
        self,
        owner: OwnerKey,
        model_id: str,
        *,
        valid_at: datetime | None,
        recorded_at: datetime | None,
        limit: int,
    ) -> SearchRows:
        """Versions believed at `recorded_at` that held at `valid_at`, newest recorded first."""
        data = self._data(owner)
        rows: list[SearchRow] = []
        for memory in data.in_order():
            version = None if memory.cold else _believed(memory.versions, recorded_at)
            if version is not None and _answers(version, valid_at):
                rows.append(memory.row(model_id, version))
        newest = heapq.nlargest(limit, rows, key=lambda row: (row.head.current.recorded_at, row.head.id))
        return SearchRows(data.state.revision, data.state.clock, newest)

    async def changes_since(self, owner: OwnerKey, revision: Revision, *, limit: int) -> Sequence[ChangeRecord]:
        """The first `limit` changes after `revision`; metadata `oldest` of the error may be asked from."""
        return self._data(owner).log.since(revision, limit)

    async def journal_since(self, owner: OwnerKey, after: Revision, until: Revision) -> Sequence[JournalEntry]:
        """Journal entries of the revisions after `after` up to and including `until`."""
        return self._data(owner).journal_since(after, until)

    async def changed(
        self, owner: OwnerKey, after: tuple[Revision, MemoryId] | None, *, limit: int
    ) -> Sequence[Changed]:
        """Memories by (revision that last changed them, id), strictly after `after`."""
        return self._data(owner).changed(after, limit)

    async def first_unseen(self, owner: OwnerKey, clock: VectorClock) -> Revision:
        """The oldest revision whose change `clock` does not hold; one past the newest when it holds all."""
        data = self._data(owner)
        return data.log.first_unseen(clock, data.state)

    async def prune_log(self, owner: OwnerKey, upto: Revision) -> None:
        """Drop the records of changes up to a revision, and remember that they are gone."""
        async with self._lock(owner):
            data = self._data(owner)
            data.log.prune(upto, data.state.revision)

    async def record_access(
        self,
        owner: OwnerKey,
        accesses: Mapping[MemoryId, tuple[int, datetime]],
        predicates: Collection[str] = (),
    ) -> None:
        """Add to access counts and move last access forward, and count how long they lay unused."""
        async with self._lock(owner):
            data = self._data(owner)
            for memory_id, (count, at) in accesses.items():
                data.record_access(memory_id, count, at, predicates)

    async def intervals(self, owner: OwnerKey) -> Sequence[Interval]:
        """The owner's re-use intervals."""
        return self._data(owner).intervals()

    def tenant_intervals(self, tenant: TenantId) -> Sequence[Interval]:
        """The re-use intervals of all owners of a tenant, added up."""
        total: Counter[tuple[Kind, str, int]] = Counter()
        for owner, data in self._owners.items():
            if owner.tenant == tenant:
                total.update({(i.kind, i.predicate, i.bucket): i.count for i in data.intervals()})
        return [Interval(*key, count) for key, count in total.items()]

    def predicates(self, tenant: TenantId) -> Iterator[tuple[OwnerKey, str]]:
        """Owner and predicate of each memory of a tenant that has a predicate."""
        for owner, data in self._owners.items():
            if owner.tenant == tenant:
                heads = (memory.head() for memory in data.in_order())
                yield from ((owner, h.current.assertion.predicate) for h in heads if h.current.assertion)

    async def waiting_fragments(self, owner: OwnerKey, model_id: str, *, limit: int) -> Sequence[Fragment]:
        """Fragments of heads that have no vector of `model_id` yet."""
        waiting = (f for memory in self._data(owner).in_order() for f in memory.waiting(model_id))
        return list(islice(waiting, limit))

    async def store_vectors(self, owner: OwnerKey, fragments: Sequence[Fragment]) -> None:
        """Store vectors made later, under the next revision."""
        async with self._lock(owner):
            self._data(owner).store_vectors(fragments)

    async def owners_with_waiting_fragments(self, model_id: str, *, limit: int) -> Sequence[OwnerKey]:
        """Owners that have fragments without any vector."""
        del model_id  # a fragment without any has none of it
        owners = (
            owner for owner, data in self._owners.items() if any(memory.unembedded for memory in data.in_order())
        )
        return list(islice(owners, limit))

    async def owners_behind(self, model_id: str, *, after: uuid.UUID | None, limit: int) -> OwnersBehind:
        """Which of the next owners have fragments without a vector of `model_id`."""
        rest = sorted((o for o in self._owners if after is None or o.id > after), key=lambda o: o.id)
        looked = rest[:limit]
        behind = [o for o in looked if any(True for m in self._owners[o].in_order() for _ in m.waiting(model_id))]
        return OwnersBehind(behind, len(looked), looked[-1].id if len(looked) == limit else None)

    async def archived_rows(self, owner: OwnerKey, model_id: str, *, limit: int) -> Sequence[SearchRow]:
        """Archived memories of current status that are hot, newest first, as rows to search."""
        newest_first = reversed(list(self._data(owner).in_order()))
        archived = (m for m in newest_first if not m.cold and m.versions[-1].tier is Tier.ARCHIVE)
        current = (m for m in archived if m.versions[-1].status in CURRENT_STATUSES)
        return [memory.row(model_id) for memory in islice(current, limit)]

    async def freezable(self, owner: OwnerKey, idle_since: datetime, *, limit: int) -> Sequence[SearchRow]:
        """Archived memories that were neither changed nor used since, oldest first, with all their fragments."""
        archived = (m for m in self._data(owner).in_order() if not m.cold and m.idle_since(idle_since))
        idle = (m for m in archived if not m.reworded)
        return [SearchRow(m.head(), tuple(m.all_fragments())) for m in islice(idle, limit)]

    async def freeze(self, owner: OwnerKey, file: str, versions: Mapping[MemoryId, int]) -> Sequence[MemoryId]:
        """Move those memories that are still archived at these versions to a file that holds them."""
        async with self._lock(owner):
            return self._owners[owner].freeze(file, versions) if owner in self._owners else []

    async def cold_files(self, owner: OwnerKey) -> Sequence[ColdFile]:
        """The files of an owner, by name."""
        return self._data(owner).cold.all()

    async def cold_heads(self, owner: OwnerKey, file: str, ids: Sequence[MemoryId]) -> Sequence[MemoryHead]:
        """The heads of those of these memories that lie in a file, in no particular order."""
        found = (self._data(owner).memory(memory_id) for memory_id in dict.fromkeys(ids))
        return [memory.head() for memory in found if memory is not None and memory.cold == file]

    async def refile(self, owner: OwnerKey, old: str, new: str, *, without: Sequence[MemoryId]) -> int:
        """Say that what was in one file, but for some, is in another now; how many memories that names."""
        async with self._lock(owner):
            return self._owners[owner].refile(old, new, without) if owner in self._owners else 0

    async def unfile(self, owner: OwnerKey, file: str) -> None:
        """Forget what is gone from a file that is no more."""
        async with self._lock(owner):
            if owner in self._owners:
                self._owners[owner].cold.remove(file)

    async def ping(self) -> None:
        """Always answers."""


def _heads_believed(memories: Iterable[StoredMemory], recorded_at: datetime | None) -> Iterator[MemoryHead]:
    for memory in memories:
        if recorded_at is None:
            yield memory.head()
            continue
        version = _believed(memory.versions, recorded_at)
        if version is not None and not version.redacted:
            yield replace(memory.head(), current=version)


def _believed(versions: Sequence[MemoryVersion], recorded_at: datetime | None) -> MemoryVersion | None:
    """The newest version recorded no later than the given time."""
    for version in reversed(versions):
        if recorded_at is None or version.recorded_at <= recorded_at:
            return version
    return None


def _answers(version: MemoryVersion, valid_at: datetime | None) -> bool:
    """Whether a believed version belongs in an as-of answer."""
    if version.redacted or version.status in (Status.RETRACTED, Status.YIELDED):
        return False
    if valid_at is None:
        return version.status in CURRENT_STATUSES
    return held_at(version, valid_at)


def _about(head: MemoryHead) -> str:
    """The predicate of a memory, else its topic."""
    assertion = head.current.assertion
    return assertion.predicate if assertion else head.current.topic
