"""One change of one owner: what it may read, and how a changeset becomes statements."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from itertools import chain

from memory_service.adapters.postgres import rows, sql, sql_jobs, sql_writing
from memory_service.adapters.postgres.columns import VERSION_COLUMNS, array_literal, clock_text, json_text
from memory_service.adapters.postgres.episodes import forget_episodes
from memory_service.adapters.postgres.filters import list_parameters
from memory_service.adapters.postgres.job_queue import enqueue_parameters
from memory_service.adapters.postgres.session import Session
from memory_service.domain.errors import InternalError, Reason
from memory_service.domain.evidence import RETIRED
from memory_service.domain.ids import DeviceId, MemoryId, OwnerKey, Revision
from memory_service.domain.memory import MemoryHead, MemoryVersion, Relation, Usage
from memory_service.domain.vector_clock import Dot
from memory_service.ports.memory_store import (
    ChangeRecord,
    Changeset,
    DeviceRecord,
    Fragment,
    JournalEntry,
    Link,
    MemoryFilter,
    OwnerState,
    StoredOutcome,
    Tombstone,
    Writer,
)

_NO_USAGE = Usage()


def _columns(width: int, records: Iterable[tuple[object, ...]]) -> list[list[object]]:
    """Records turned into `width` parameter arrays."""
    turned = [list(values) for values in zip(*records, strict=True)]
    return turned or [[] for _ in range(width)]


def _arrays(groups: Iterable[list[tuple[object, ...]]]) -> Iterable[list[object]]:
    """The parameter arrays of `sql_writing.WRITE` behind the state."""
    widths = map(len, sql_writing.WRITE_GROUPS)
    return chain.from_iterable(map(_columns, widths, groups))


class PostgresOwnerChange:
    """Exclusive use of one owner; see `OwnerChange`. All its statements run in one transaction.

    Attributes:
        committing: the state after the change, once there is one.
        xmin: the transaction that wrote it, as the owner's row will name it.
    """

    def __init__(self, session: Session, owner: OwnerKey, state: OwnerState) -> None:
        self._session = session
        self._owner = owner
        self._state = state
        self.committing: OwnerState | None = None
        self.xmin = 0

    @property
    def state(self) -> OwnerState:
        """The owner's state at the start of the change."""
        return self._state

    async def outcome_of_request(self, request_id: str) -> StoredOutcome | None:
        """The answer already given to this request id, if any."""
        row = await self._session.row(sql.OUTCOME_OF_REQUEST, request_id)
        return None if row is None else rows.outcome_of(tuple(row))

    async def outcome_of_dot(self, dot: Dot) -> StoredOutcome | None:
        """The answer already given to this dot, if any."""
        row = await self._session.row(sql.OUTCOME_OF_DOT, dot.device, dot.counter)
        return None if row is None else rows.outcome_of(tuple(row))

    async def heads_in_slots(self, slots: Sequence[str]) -> Sequence[MemoryHead]:
        """Standing heads in these slots, oldest first."""
        return [rows.head_of(r) for r in await self._session.rows(sql.HEADS_IN_SLOTS, list(slots))]

    async def heads_of_claims(self, claims: Sequence[str], *, standing_only: bool = True) -> Sequence[MemoryHead]:
        """Heads of these claims, oldest first; of standing status unless `standing_only` is False."""
        statement = sql.HEADS_OF_CLAIMS if standing_only else sql.ALL_HEADS_OF_CLAIMS
        return [rows.head_of(r) for r in await self._session.rows(statement, list(claims))]

    async def heads(self, ids: Sequence[MemoryId]) -> Sequence[MemoryHead]:
        """The heads with these ids that exist."""
        return [rows.head_of(r) for r in await self._session.rows(sql.HEADS, list(ids))]

    async def select(self, where: MemoryFilter, *, limit: int) -> Sequence[MemoryHead]:
        """Up to `limit` heads that match, oldest first."""
        found = await self._session.rows(sql.LIST_HEADS, *list_parameters(where, limit=limit, after=None))
        return [rows.head_of(r) for r in found]

    async def versions(self, memory_id: MemoryId) -> Sequence[MemoryVersion]:
        """Every version of a memory, oldest first."""
        return [rows.version_of(tuple(r)) for r in await self._session.rows(sql.VERSIONS, memory_id)]

    async def tombstones(self, digests: Sequence[bytes]) -> Sequence[Tombstone]:
        """Tombstones with one of these digests."""
        return [rows.tombstone_of(tuple(r)) for r in await self._session.rows(sql.TOMBSTONES, list(digests))]

    async def forgotten_wordings(self, *, limit: int) -> Sequence[Tombstone]:
        """Tombstones of scope WORDING, newest first."""
        return [rows.tombstone_of(tuple(r)) for r in await self._session.rows(sql.WORDINGS, limit)]

    async def fragments(self, memory_id: MemoryId, content_version: int) -> Sequence[Fragment]:
        """Fragments stored for one text of a memory, in order; one for each model that has a vector of it."""
        found = await self._session.rows(sql.FRAGMENTS, memory_id, content_version)
        return rows.without_waiting_twins(rows.fragments_of(found))

    async def derivatives(self, ids: Sequence[MemoryId]) -> Sequence[MemoryId]:
        """Memories derived from, or merged out of, any of `ids`, one step away."""
        return [MemoryId(row[0]) for row in await self._session.rows(sql.DERIVATIVES, list(ids))]

    async def linked(self, ids: Sequence[MemoryId], relation: Relation) -> Sequence[Link]:
        """Links of this relation from or to any of `ids`, each once."""
        return [rows.link_of(tuple(row)) for row in await self._session.rows(sql.LINKED, list(ids), relation)]

    async def devices(self, names: Sequence[DeviceId]) -> Mapping[DeviceId, DeviceRecord]:
        """What is known of these devices, retired ones included."""
        found = map(rows.device_of, map(tuple, await self._session.rows(sql.DEVICES, list(names))))
        return {record.device: record for record in found}

    async def idle_devices(self, *, limit: int) -> Sequence[DeviceRecord]:
        """Devices that are not retired, least recently seen first; the retired actor is none of them."""
        return [rows.device_of(tuple(row)) for row in await self._session.rows(sql.IDLE_DEVICES, limit, RETIRED)]

    async def changes_by(self, writer: Writer, since: datetime) -> Sequence[ChangeRecord]:
        """Changes that a writer made at or after `since`, in order of revision."""
        found = await self._session.rows(sql.CHANGES_BY, since, writer.device, writer.agent, writer.actor)
        return [rows.change_of(tuple(row)) for row in found]

    async def changes_at(self, revisions: Sequence[Revision]) -> Sequence[ChangeRecord]:
        """The changes that made these revisions, in order of revision."""
        return [rows.change_of(tuple(r)) for r in await self._session.rows(sql.CHANGES_AT, list(revisions))]

    async def versions_at(self, revisions: Sequence[Revision]) -> Sequence[MemoryVersion]:
        """Versions made by these revisions, of memories that still have a head."""
        return [rows.version_of(tuple(r)) for r in await self._session.rows(sql.VERSIONS_AT, list(revisions))]

    async def observed(
        self, *, sessions_min: int, limit: int, except_about: Collection[str] = ()
    ) -> Sequence[tuple[MemoryHead, int]]:
        """Standing candidates stated in at least so many distinct sessions, oldest first."""
        found = await self._session.rows(sql.OBSERVED_HEADS, sessions_min, limit, list(except_about))
        return [(rows.head_of(row), row["sessions"]) for row in found]

    async def contested(self, *, unchanged_since: datetime, limit: int) -> Sequence[MemoryHead]:
        """Contested heads out of the archive that nobody changed since, in order of (recorded_at, id)."""
        return [rows.head_of(r) for r in await self._session.rows(sql.CONTESTED_HEADS, unchanged_since, limit)]

    async def apply(self, changeset: Changeset) -> None:
        """Write the change into the transaction; leaving the context commits it.

        Raises:
            InternalError: a second apply, a revision that does not rise, or a version that follows no head.
            InvalidInput: text or JSON that cannot be stored.
        """
        if self.committing is not None:
            raise InternalError(Reason.INTERNAL, "apply may be called once in a change")
        if changeset.state.revision <= self._state.revision:
            raise InternalError(Reason.INTERNAL, "a change must raise the owner's revision")
        self.committing = changeset.state
        if changeset.thawed:
            thawed = list(changeset.thawed)
            _expect(await self._session.value(sql_writing.THAW, thawed), len(thawed))
        groups: tuple[list[tuple[object, ...]], ...] = (
            version_records(changeset),
            list(map(_fragment_record, changeset.fragments)),
            list(map(_journal_record, changeset.journal)),
            list(map(_outcome_record, changeset.outcomes)),
            list(map(_change_record, changeset.changes)),
            device_records(self._state, changeset),
        )
        single = all(len(records) == 1 for records in groups)
        state = changeset.state
        written, self.xmin = await self._session.only_row(
            sql_writing.WRITE_ONE if single else sql_writing.WRITE,
            state.revision,
            clock_text(state.clock),
            state.salt,
            state.memory_count,
            sorted(state.frozen_kinds),
            *(chain.from_iterable(chain.from_iterable(groups)) if single else _arrays(groups)),
        )
        _expect(written, len({version.id for version in changeset.versions}))
        await self._write_the_rarer(changeset)

    async def _write_the_rarer(self, changeset: Changeset) -> None:
        """What most changes do not have: links, tombstones, usage alone, forgotten memories, jobs."""
        revision = changeset.state.revision
        if changeset.links:
            links = [(link.from_id, link.relation, link.to_id) for link in changeset.links]
            await self._session.run(sql_writing.WRITE_LINKS, *_columns(len(sql_writing.LINK_COLUMNS), links))
        if changeset.tombstones:
            stones = map(_tombstone_record, changeset.tombstones)
            await self._session.run(
                sql_writing.WRITE_TOMBSTONES, *_columns(len(sql_writing.TOMBSTONE_COLUMNS), stones)
            )
        touched = touched_records(changeset)
        if touched:
            columns = _columns(len(sql_writing.USAGE_WRITTEN_COLUMNS), touched)
            _expect(await self._session.value(sql_writing.WRITE_USAGE, revision, *columns), len(touched))
        if changeset.unsaid:
            await self._session.run(sql_writing.UNSAY, *_columns(2, changeset.unsaid))
        forgotten = list(set(changeset.forgotten))
        if forgotten:
            await forget_episodes(self._session, forgotten)
            _expect(await self._session.value(sql_writing.FORGET, forgotten, revision), len(forgotten))
        if changeset.jobs:
            jobs = enqueue_parameters((self._owner, request) for request in changeset.jobs)
            await self._session.ownerless(sql_jobs.ENQUEUE, *jobs)


def _expect(written: int, named: int) -> None:
    """Raise `InternalError` when a change names a memory that is not there, or not as its writer had read it."""
    if written != named:
        raise InternalError(Reason.INTERNAL, "a change names a memory that does not exist, or its old version")


def _usage_values(usage: Usage | None) -> tuple[object, ...]:
    """The columns has_usage … rejected_count."""
    given = usage or _NO_USAGE
    return (
        usage is not None,
        given.access_count,
        given.adopted_count,
        given.last_access_at,
        given.last_confirmed_at,
        given.rejected_count,
    )


def version_records(changeset: Changeset) -> list[tuple[object, ...]]:
    """The values of `sql_writing.WRITTEN_COLUMNS` for each version.

    Raises:
        InternalError: a gap between the versions of a memory.
    """
    first: dict[MemoryId, MemoryVersion] = {}
    last: dict[MemoryId, MemoryVersion] = {}
    for version in changeset.versions:
        first.setdefault(version.id, version)
        if version.id in last and version.version != last[version.id].version + 1:
            raise InternalError(Reason.INTERNAL, "versions of a memory must follow each other without gap")
        last[version.id] = version
    return [
        (
            *(column.get(version) for column in VERSION_COLUMNS),
            last[version.id] is version,
            first[version.id].version - 1,
            first[version.id].recorded_at,
            *_usage_values(changeset.usage.get(version.id)),
        )
        for version in changeset.versions
    ]


def touched_records(changeset: Changeset) -> list[tuple[object, ...]]:
    """Usage of, and fragments new or gone of, memories that get no new version in this change."""
    versioned = {version.id for version in changeset.versions}
    reworded = (*(fragment.memory_id for fragment in changeset.fragments), *(i for i, _ in changeset.unsaid))
    named = dict.fromkeys((*changeset.usage, *reworded))
    return [
        (memory_id, *_usage_values(changeset.usage.get(memory_id)))
        for memory_id in named
        if memory_id not in versioned
    ]


def device_records(before: OwnerState, changeset: Changeset) -> list[tuple[object, ...]]:
    """The values of `sql_writing.DEVICE_COLUMNS` for devices that wrote, moved in the clock or were retired.

    A device that writes is active again, unless the same change retires it.
    """
    seen = changeset.devices_seen()
    return [
        (device, counter, seen.get(device), *_retirement_values(device, changeset))
        for device, counter in changeset.device_counters(before).items()
    ]


def _retirement_values(device: DeviceId, changeset: Changeset) -> tuple[object, ...]:
    """The columns retired, retired_counter, retired_fold."""
    retirement = changeset.retired.get(device)
    return (False, None, None) if retirement is None else (True, retirement.counter, retirement.fold)


def _fragment_record(f: Fragment) -> tuple[object, ...]:
    terms = array_literal(f.terms)
    model_id, vector = ("", None) if f.vector is None else (f.model_id, rows.halfvec_of(f.vector))
    return (f.memory_id, f.content_version, f.ordinal, model_id, f.text, terms, vector)


def _journal_record(e: JournalEntry) -> tuple[object, ...]:
    return (
        *(e.revision, e.ordinal, e.event, e.memory_id, e.version, e.at, e.actor, e.device, e.reason),
        *(e.before, e.after, json_text(dict(e.details))),
    )


def _outcome_record(o: StoredOutcome) -> tuple[object, ...]:
    return (
        *(o.dot.device, o.dot.counter, o.request_id, o.operation, o.payload_digest),
        *(json_text(dict(o.outcome)), o.revision, o.at),
    )


def _change_record(c: ChangeRecord) -> tuple[object, ...]:
    return (c.revision, c.dot.device, c.dot.counter, c.operation, c.actor, c.agent, c.at)


def _tombstone_record(t: Tombstone) -> tuple[object, ...]:
    return (
        t.digest,
        t.scope,
        t.dot.device,
        t.dot.counter,
        clock_text(t.context),
        t.at,
        t.revision,
        b"".join(t.claims),
    )
