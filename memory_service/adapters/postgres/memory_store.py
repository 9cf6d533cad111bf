"""`MemoryStore` on PostgreSQL with pgvector."""

from __future__ import annotations

import asyncio
import uuid
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import datetime
from typing import TypeVar

from memory_service.adapters.postgres import rows, sql, sql_policies, sql_writing
from memory_service.adapters.postgres.changes import PostgresOwnerChange
from memory_service.adapters.postgres.filters import idle_parameters, list_parameters
from memory_service.adapters.postgres.gate import OwnerGate
from memory_service.adapters.postgres.known_states import KnownState, KnownStates
from memory_service.adapters.postgres.migrate import SchemaState
from memory_service.adapters.postgres.policies import intervals_of
from memory_service.adapters.postgres.session import Database, Session
from memory_service.domain.errors import InternalError, OutOfRange, Reason, Unavailable
from memory_service.domain.evidence import RETIRED
from memory_service.domain.ids import MemoryId, OwnerKey, Revision, TenantId, UserId
from memory_service.domain.memory import MemoryHead, MemoryVersion
from memory_service.domain.reuse import Interval
from memory_service.domain.vector_clock import VectorClock
from memory_service.ports.memory_store import (
    Changed,
    ChangeRecord,
    ColdFile,
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
)

_Row = TypeVar("_Row")
_Value = TypeVar("_Value")
_BEFORE_ALL = (Revision(0), MemoryId(uuid.UUID(int=0)))
_SLICE_ROWS = 200
"""Rows converted before others get the event loop: a few milliseconds of work."""


class PostgresMemoryStore:
    """See `MemoryStore`. Made by `PostgresBackend`."""

    def __init__(self, database: Database, gate: OwnerGate) -> None:
        self._database = database
        self._gate = gate
        self._known = KnownStates()

    def change(self, owner: OwnerKey) -> AbstractAsyncContextManager[OwnerChange]:
        """Exclusive use of `owner`'s memories for one commit."""
        return self._change(owner)

    @asynccontextmanager
    async def _change(self, owner: OwnerKey) -> AsyncIterator[OwnerChange]:
        async with self._gate.held(owner.id):
            epoch = self._database.epoch
            known = self._known.taken(owner.id, epoch)
            try:
                async with self._database.change(owner.id, known) as session:
                    if known is None or not session.is_known:
                        known = await _lock(session, owner, epoch)
                    change = PostgresOwnerChange(session, owner, known.state)
                    yield change
                    if change.committing is None:
                        raise _NothingApplied
            except _NothingApplied:
                return  # rolled back, so that looking at an unknown owner does not make it known
            self._known.put(owner.id, KnownState(change.committing, change.xmin, epoch))

    async def state(self, owner: OwnerKey) -> OwnerState:
        """The committed state."""
        async with self._database.reading(owner.id) as session:
            return await _state(session)

    async def get(self, owner: OwnerKey, memory_id: MemoryId) -> MemoryHead | None:
        """The head, whatever its status."""
        async with self._database.reading(owner.id) as session:
            row = await session.row(sql.HEADS, [memory_id])
        return None if row is None else rows.head_of(row)

    async def links(self, owner: OwnerKey, memory_id: MemoryId) -> Sequence[Link]:
        """Links from and to a memory."""
        async with self._database.reading(owner.id) as session:
            found = await session.rows(sql.LINKS, memory_id)
        return [rows.link_of(tuple(row)) for row in found]

    async def successors(
        self, owner: OwnerKey, ids: Sequence[MemoryId], recorded_at: datetime | None = None
    ) -> Mapping[MemoryId, MemoryId]:
        """Which memory took the place of each of these, the last to do so."""
        if not ids:
            return {}
        async with self._database.reading(owner.id) as session:
            found = await session.rows(sql.SUCCESSORS, list(ids), recorded_at)
        return {MemoryId(row[0]): MemoryId(row[1]) for row in found}

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
        parameters = list_parameters(where, limit=limit + 1, after=after)
        if recorded_at is None:
            return await self._page(owner, sql.LIST_HEADS, parameters, limit)
        return await self._page(owner, sql.LIST_BELIEVED, [*parameters, recorded_at], limit)

    async def idle(
        self, owner: OwnerKey, where: Idle, *, limit: int, after: tuple[datetime, MemoryId] | None = None
    ) -> Page:
        """One page of the heads that time may have overtaken."""
        return await self._page(owner, sql.IDLE_HEADS, idle_parameters(where, limit=limit + 1, after=after), limit)

    async def _page(self, owner: OwnerKey, statement: str, parameters: Sequence[object], limit: int) -> Page:
        async with self._database.reading(owner.id) as session:
            found = await session.rows(statement, *parameters)
        heads = await _converted(found[:limit], rows.head_of)
        if len(found) <= limit or not heads:
            return Page(heads, None)
        return Page(heads, _page_key(heads[-1]))

    async def history(self, owner: OwnerKey, memory_id: MemoryId) -> Sequence[MemoryVersion]:
        """Every version of a memory, oldest first."""
        async with self._database.reading(owner.id) as session:
            found = await session.rows(sql.VERSIONS, memory_id)
        return await _converted(found, lambda row: rows.version_of(tuple(row)))

    async def journal(self, owner: OwnerKey, memory_id: MemoryId) -> Sequence[JournalEntry]:
        """The state changes of one memory, oldest first."""
        async with self._database.reading(owner.id) as session:
            found = await session.rows(sql.JOURNAL, memory_id)
        return await _converted(found, lambda row: rows.journal_entry_of(tuple(row)))

    async def search_rows(self, owner: OwnerKey, model_id: str) -> SearchRows:
        """All current memories with their fragments, in one snapshot. Heads to search carry no evidence."""
        async with self._database.reading(owner.id) as session:
            state = await _state(session)
            heads = await session.rows(sql.SEARCH_HEADS)
            fragments = await session.rows(sql.SEARCH_FRAGMENTS, model_id)
        return SearchRows(state.revision, state.clock, await _joined(heads, fragments))

    async def search_rows_since(self, owner: OwnerKey, model_id: str, revision: Revision) -> SearchRows:
        """What changed after `revision`, in one snapshot."""
        async with self._database.reading(owner.id) as session:
            state = await _state(session)
            if state.revision <= revision:
                return SearchRows(state.revision, state.clock, [])
            heads = await session.rows(sql.DELTA_HEADS, revision)
            fragments = await _fragments_of(session, model_id, heads)
            removed = await session.rows(sql.DELTA_REMOVED, revision)
        joined = await _joined(heads, fragments)
        return SearchRows(state.revision, state.clock, joined, [MemoryId(row[0]) for row in removed])

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
        async with self._database.reading(owner.id) as session:
            state = await _state(session)
            versions = await session.rows(sql.AS_OF_VERSIONS, valid_at, recorded_at, limit)
            fragments = await _fragments_of(session, model_id, versions)
        found = await _joined(versions, fragments, oldest_first=False)
        return SearchRows(state.revision, state.clock, found)

    async def changes_since(self, owner: OwnerKey, revision: Revision, *, limit: int) -> Sequence[ChangeRecord]:
        """The first `limit` changes after `revision`; metadata `oldest` of the error may be asked from."""
        async with self._database.reading(owner.id) as session:
            await _require_log(session, revision)
            found = await session.rows(sql.CHANGES_SINCE, revision, limit)
        return [rows.change_of(tuple(row)) for row in found]

    async def journal_since(self, owner: OwnerKey, after: Revision, until: Revision) -> Sequence[JournalEntry]:
        """Journal entries of the revisions after `after` up to and including `until`."""
        async with self._database.reading(owner.id) as session:
            await _require_log(session, after)
            found = await session.rows(sql.JOURNAL_SINCE, after, until)
        return await _converted(found, lambda row: rows.journal_entry_of(tuple(row)))

    async def changed(
        self, owner: OwnerKey, after: tuple[Revision, MemoryId] | None, *, limit: int
    ) -> Sequence[Changed]:
        """Memories by (revision that last changed them, id), strictly after `after`."""
        async with self._database.reading(owner.id) as session:
            found = await session.rows(sql.CHANGED, *(after or _BEFORE_ALL), limit)
        return await _converted(found, rows.changed_of)

    async def first_unseen(self, owner: OwnerKey, clock: VectorClock) -> Revision:
        """The oldest revision whose change `clock` does not hold; one past the newest when it holds all."""
        async with self._database.reading(owner.id) as session:
            state = await _state(session)
            next_revision = Revision(state.revision + 1)
            if clock.descends(state.clock):
                return next_revision
            if await _pruned(session):
                return Revision(1)
            counters = (list(clock), list(clock.values()), clock.counter(RETIRED))
            unseen = await session.value(sql.FIRST_UNSEEN, *counters)
        return next_revision if unseen is None else Revision(unseen)

    async def prune_log(self, owner: OwnerKey, upto: Revision) -> None:
        """Drop the records of changes up to a revision, and remember that they are gone."""
        async with self._gate.held(owner.id), self._database.change(owner.id) as session:
            if await session.row(sql.LOCK_STATE) is not None:
                await session.run(sql_writing.PRUNE_LOG, upto)

    async def record_access(
        self,
        owner: OwnerKey,
        accesses: Mapping[MemoryId, tuple[int, datetime]],
        predicates: Collection[str] = (),
    ) -> None:
        """Add to access counts and move last access forward, and count how long they lay unused.

        Takes the owner's lock: two such updates of the same memories in another order would deadlock.
        """
        if not accesses:
            return
        ids = list(accesses)
        counts = [accesses[i][0] for i in ids]
        times = [accesses[i][1] for i in ids]
        async with self._gate.held(owner.id), self._database.change(owner.id) as session:
            if await session.row(sql.LOCK_STATE) is not None:
                await session.run(sql_policies.RECORD_INTERVALS, ids, times, list(predicates))
                await session.run(sql_writing.RECORD_ACCESS, ids, counts, times)

    async def intervals(self, owner: OwnerKey) -> Sequence[Interval]:
        """The owner's re-use intervals."""
        async with self._database.reading(owner.id) as session:
            return intervals_of(await session.rows(sql_policies.INTERVALS))

    async def waiting_fragments(self, owner: OwnerKey, model_id: str, *, limit: int) -> Sequence[Fragment]:
        """Fragments of heads that have no vector of `model_id` yet, oldest memories first."""
        async with self._database.reading(owner.id) as session:
            found = await session.rows(sql.WAITING_FRAGMENTS, model_id, limit)
        return rows.fragments_of(found)

    async def store_vectors(self, owner: OwnerKey, fragments: Sequence[Fragment]) -> None:
        """Store vectors made later, under the next revision; no new revision when none is still wanted."""
        given = [f for f in fragments if f.vector is not None]
        if not given:
            return
        parameters = (
            [f.memory_id for f in given],
            [f.content_version for f in given],
            [f.ordinal for f in given],
            [f.text for f in given],
            [f.model_id for f in given],
            [rows.halfvec_of(f.vector) for f in given if f.vector is not None],
        )
        async with self._gate.held(owner.id), self._database.change(owner.id) as session:
            if await session.row(sql.LOCK_STATE) is not None:
                await session.run(sql_writing.STORE_VECTORS, *parameters)

    async def owners_with_waiting_fragments(self, model_id: str, *, limit: int) -> Sequence[OwnerKey]:
        """Owners that have fragments without any vector."""
        found = await self._database.fetch(sql.OWNERS_WAITING, model_id, limit)
        return [OwnerKey(TenantId(row["tenant"]), UserId(row["user_id"])) for row in found]

    async def owners_behind(self, model_id: str, *, after: uuid.UUID | None, limit: int) -> OwnersBehind:
        """Which of the next owners have fragments without a vector of `model_id`."""
        found = await self._database.fetch(sql.OWNERS_BEHIND, model_id, after or uuid.UUID(int=0), limit)
        behind = [OwnerKey(TenantId(row["tenant"]), UserId(row["user_id"])) for row in found if row["behind"]]
        return OwnersBehind(behind, len(found), found[-1]["owner"] if len(found) == limit else None)

    async def archived_rows(self, owner: OwnerKey, model_id: str, *, limit: int) -> Sequence[SearchRow]:
        """Archived memories of current status that are hot, newest first, as rows to search."""
        async with self._database.reading(owner.id) as session:
            heads = await session.rows(sql.ARCHIVED_HEADS, limit)
            fragments = await _fragments_of(session, model_id, heads)
        return await _joined(heads, fragments, oldest_first=False)

    async def freezable(self, owner: OwnerKey, idle_since: datetime, *, limit: int) -> Sequence[SearchRow]:
        """Archived memories that were neither changed nor used since, oldest first, with all their fragments."""
        async with self._database.reading(owner.id) as session:
            heads = await session.rows(sql.FREEZABLE, idle_since, limit)
            ids = [row["memory_id"] for row in heads]
            fragments = await session.rows(sql.FRAGMENTS_OF_MEMORIES, ids) if ids else []
        pieces: defaultdict[MemoryId, list[Fragment]] = defaultdict(list)
        for fragment in await _fragments(fragments):
            pieces[fragment.memory_id].append(fragment)
        return [SearchRow(head, tuple(pieces[head.id])) for head in await _converted(heads, rows.head_of)]

    async def freeze(self, owner: OwnerKey, file: str, versions: Mapping[MemoryId, int]) -> Sequence[MemoryId]:
        """Move those memories that are still archived at these versions to a file that holds them."""
        if not versions:
            return []
        async with self._gate.held(owner.id), self._database.change(owner.id) as session:
            if await session.row(sql.LOCK_STATE) is None:
                return []
            moved = await session.rows(sql_writing.FREEZE, file, list(versions), list(versions.values()))
        return [MemoryId(row[0]) for row in moved]

    async def cold_files(self, owner: OwnerKey) -> Sequence[ColdFile]:
        """The files of an owner, by name."""
        async with self._database.reading(owner.id) as session:
            found = await session.rows(sql.COLD_FILES)
        return [ColdFile(name, live, tuple(sorted(gone or ()))) for name, live, gone in found]

    async def cold_heads(self, owner: OwnerKey, file: str, ids: Sequence[MemoryId]) -> Sequence[MemoryHead]:
        """The heads of those of these memories that lie in a file, in no particular order."""
        async with self._database.reading(owner.id) as session:
            found = await session.rows(sql.COLD_HEADS, file, list(ids))
        return await _converted(found, rows.head_of)

    async def refile(self, owner: OwnerKey, old: str, new: str, *, without: Sequence[MemoryId]) -> int:
        """Say that what was in one file, but for some, is in another now; how many memories that names."""
        async with self._gate.held(owner.id), self._database.change(owner.id) as session:
            if await session.row(sql.LOCK_STATE) is None:
                return 0
            return int(await session.value(sql_writing.REFILE, old, new, list(without)))

    async def unfile(self, owner: OwnerKey, file: str) -> None:
        """Forget what is gone from a file that is no more."""
        async with self._gate.held(owner.id), self._database.change(owner.id) as session:
            if await session.row(sql.LOCK_STATE) is not None:
                await session.run(sql_writing.UNFILE, file)

    async def ping(self) -> None:
        """Raise `Unavailable` unless PostgreSQL answers and its schema is the one we know."""
        found = await self._database.fetch(sql.SCHEMA)
        if not SchemaState.of({row["name"]: row["checksum"] for row in found}).is_known:
            raise Unavailable(Reason.SCHEMA_UNKNOWN, "the database's schema is not the one of this release")


class _NothingApplied(Exception):
    pass


async def _state(session: Session) -> OwnerState:
    row = await session.row(sql.STATE)
    return OwnerState(Revision(0), VectorClock(), b"") if row is None else rows.state_of(tuple(row))


async def _pruned(session: Session) -> Revision:
    """Changes up to this revision were dropped."""
    return Revision(await session.value(sql.PRUNED) or 0)


async def _require_log(session: Session, cursor: Revision) -> None:
    """Raise `OutOfRange` when changes after `cursor` were dropped."""
    pruned = await _pruned(session)
    if cursor < pruned:
        raise OutOfRange(
            Reason.CURSOR_TOO_OLD,
            "the changes that follow this cursor are no longer kept",
            metadata={"oldest": str(pruned)},
        )


async def _fragments_of(session: Session, model_id: str, versions: Sequence[rows.Record]) -> Sequence[rows.Record]:
    """Fragments of the texts of these heads or versions."""
    if not versions:
        return []
    ids = [row["memory_id"] for row in versions]
    contents = [row["content_version"] for row in versions]
    return await session.rows(sql.FRAGMENTS_OF, model_id, ids, contents)


async def _lock(session: Session, owner: OwnerKey, epoch: int) -> KnownState:
    """Lock the owner's row, making it on first use; of two who make it at once the later one waits."""
    row = await session.row(sql.LOCK_STATE)
    if row is None:
        await session.run(sql_writing.ADD_OWNER, owner.tenant, owner.user)
        row = await session.row(sql.LOCK_STATE)
    if row is None:
        raise InternalError(Reason.INTERNAL, "an owner's row was removed while it was made")
    *state, xmin = row
    return KnownState(rows.state_of(state), xmin, epoch)


async def _converted(found: Sequence[_Row], convert: Callable[[_Row], _Value]) -> list[_Value]:
    """Convert all rows, letting others run in between."""
    values: list[_Value] = []
    for start in range(0, len(found), _SLICE_ROWS):
        if start:
            await asyncio.sleep(0)
        values.extend(map(convert, found[start : start + _SLICE_ROWS]))
    return values


def _page_key(head: MemoryHead) -> tuple[datetime, MemoryId]:
    return (head.created_at or head.current.recorded_at, head.id)


async def _joined(
    heads: Sequence[rows.Record], fragments: Sequence[rows.Record], *, oldest_first: bool = True
) -> list[SearchRow]:
    """Heads, oldest first or as they come, each with its fragments in order of ordinal."""
    pieces: defaultdict[MemoryId, list[Fragment]] = defaultdict(list)
    for fragment in await _fragments(fragments):
        pieces[fragment.memory_id].append(fragment)
    converted = await _converted(heads, rows.head_of)
    if oldest_first:
        converted.sort(key=_page_key)
    return [SearchRow(head, _in_order(pieces.get(head.id, ()))) for head in converted]


async def _fragments(found: Sequence[rows.Record]) -> list[Fragment]:
    """Fragments of rows, letting others run in between."""
    fragments: list[Fragment] = []
    for start in range(0, len(found), _SLICE_ROWS):
        await asyncio.sleep(0)
        fragments += rows.fragments_of(found[start : start + _SLICE_ROWS])
    return fragments


def _in_order(fragments: Sequence[Fragment]) -> Sequence[Fragment]:
    return tuple(rows.without_waiting_twins(fragments))
