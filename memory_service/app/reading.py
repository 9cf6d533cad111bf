"""Get, List, GetHistory and Prewarm: reads that change nothing."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from memory_service.app.admission import visible_to
from memory_service.app.targets import not_found
from memory_service.app.tokens import Tokens
from memory_service.app.validation import check_count, check_fraction, check_list, check_name, check_order, check_time
from memory_service.domain import limits
from memory_service.domain.errors import InvalidInput, Reason
from memory_service.domain.ids import MemoryId, OwnerKey, Revision
from memory_service.domain.memory import CURRENT_STATUSES, Kind, MemoryHead, MemoryVersion, Status
from memory_service.domain.records import JournalEntry, Link, MemoryFilter
from memory_service.domain.standing import Standing, standing_at
from memory_service.domain.vector_clock import VectorClock
from memory_service.ports.clock import Clock
from memory_service.ports.memory_store import MemoryStore
from memory_service.ports.snapshots import Freshness, Requirement, SnapshotSource


@dataclass(frozen=True, slots=True)
class AsOf:
    """The two times an answer may be about: what held in the world `valid` then, as it was believed at `recorded`.

    None is now. Without either, the answer is about the present.
    """

    valid: datetime | None = None
    recorded: datetime | None = None

    def at(self, now: datetime) -> datetime:
        """The moment in the world that the answer is about."""
        return self.valid or self.recorded or now

    @property
    def given(self) -> bool:
        """Whether a time was asked for."""
        return self != NOW


NOW = AsOf()


@dataclass(frozen=True, slots=True)
class Shown:
    """A memory and what it is at the time that was asked about; `successor` took its place."""

    head: MemoryHead
    standing: Standing
    successor: MemoryId | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """One memory with its links, and the clock to change it with."""

    shown: Shown
    links: Sequence[Link]
    clock: VectorClock


@dataclass(frozen=True, slots=True)
class ListedPage:
    """A page of memories; `next_token` is "" on the last."""

    memories: Sequence[Shown] = field(default_factory=tuple)
    next_token: str = ""


@dataclass(frozen=True, slots=True)
class Past:
    """Everything known of a memory's past, oldest first."""

    versions: Sequence[MemoryVersion]
    events: Sequence[JournalEntry]
    links: Sequence[Link]


@dataclass(frozen=True, slots=True)
class Reading:
    """Reads of one owner's memories, straight from the store: always consistent."""

    store: MemoryStore
    snapshots: SnapshotSource
    tokens: Tokens
    clock: Clock

    async def get(self, owner: OwnerKey, memory_id: MemoryId, agent: str = "", as_of: AsOf = NOW) -> Found:
        """One memory: as it stands, or as it was believed at one time, and what it is at another (P10).

        Raises:
            NotFound: MEMORY_NOT_FOUND; also for another agent's private memory, for one that was forgotten, for one
                not yet remembered at `as_of.recorded`, and for one that did not hold yet at `as_of.valid` (an event
                is found before it takes place).
            InvalidInput: TIME_OUT_OF_RANGE.
        """
        check_name(agent, "agent")
        check_as_of(as_of)
        # The clock is read first: a change between the two reads is then unseen, never falsely seen.
        state = await self.store.state(owner)
        head = await self.store.get(owner, memory_id)
        if head is None or (agent and not visible_to(head, agent)):
            raise not_found(memory_id, "memory_id")
        if as_of.recorded is not None:
            versions = await self.store.history(owner, memory_id)
            believed = [v for v in versions if v.recorded_at <= as_of.recorded and not v.redacted]
            if not believed:
                raise not_found(memory_id, "memory_id")
            head = replace(head, current=believed[-1])
        early = as_of.valid is not None and head.current.window.ahead(as_of.valid)
        if early and head.current.kind is not Kind.EVENT:
            raise not_found(memory_id, "memory_id")
        (shown,) = await standings(self.store, owner, [head], as_of, self.clock.now())
        return Found(shown, await self.store.links(owner, memory_id), state.clock)

    async def list(
        self,
        owner: OwnerKey,
        where: MemoryFilter,
        *,
        page_size: int = 0,
        page_token: str = "",
        agent: str = "",
        as_of: AsOf = NOW,
    ) -> ListedPage:
        """A page of memories in order of creation; current ones unless the filter names statuses.

        With `as_of.valid` those that held then, replaced since or not; with `as_of.recorded` as they were believed.

        Raises:
            InvalidInput: for an unusable filter, page size or page token.
        """
        check_name(agent, "agent")
        check_filter(where)
        check_as_of(as_of)
        check_count(page_size, "page_size", minimum=0, maximum=limits.PAGE_SIZE_MAX)
        if not where.statuses:
            held = {Status.SUPERSEDED} if as_of.valid is not None else frozenset[Status]()
            where = replace(where, statuses=CURRENT_STATUSES | held)
        if as_of.valid is not None:
            where = replace(where, valid_at=as_of.valid)
        if agent:
            where = replace(where, visible_to_agent=agent)
        query = f"{describe(where)};believed={as_of.recorded}"
        after = self.tokens.after(owner, query, page_token, "page_token") if page_token else None
        most = page_size or limits.PAGE_SIZE_DEFAULT
        page = await self.store.list(owner, where, limit=most, after=after, recorded_at=as_of.recorded)
        following = page.next_after
        shown = await standings(self.store, owner, page.heads, as_of, self.clock.now())
        return ListedPage(shown, self.tokens.page(owner, query, following) if following else "")

    async def history(self, owner: OwnerKey, memory_id: MemoryId) -> Past:
        """Every version and state change of a memory, forgotten ones as an outline.

        Raises:
            NotFound: MEMORY_NOT_FOUND when this user never had such a memory.
        """
        versions = await self.store.history(owner, memory_id)
        if not versions:
            raise not_found(memory_id, "memory_id")
        events = await self.store.journal(owner, memory_id)
        return Past(versions, events, await self.store.links(owner, memory_id))

    async def prewarm(self, owner: OwnerKey) -> tuple[int, Revision]:
        """Load the owner into this process's cache (F9); the number of memories and the revision at hand."""
        snapshot = await self.snapshots.snapshot(owner, Requirement(Freshness.FULLY_CONSISTENT))
        return len(snapshot), snapshot.revision


async def standings(
    store: MemoryStore, owner: OwnerKey, heads: Sequence[MemoryHead], as_of: AsOf, now: datetime
) -> list[Shown]:
    """What each of these is at the time that was asked about, and what took its place.

    The store is only asked about those that ended.
    """
    ended = [h.id for h in heads if h.current.valid_to is not None or h.current.status is Status.SUPERSEDED]
    successors = await store.successors(owner, ended, as_of.recorded)
    at, given = as_of.at(now), as_of.given
    return [
        Shown(
            head,
            standing_at(head.current, at, replaced=head.id in successors, asked=given),
            successors.get(head.id),
        )
        for head in heads
    ]


def check_as_of(as_of: AsOf) -> None:
    """Times within the limits.

    Raises:
        InvalidInput: TIME_OUT_OF_RANGE, naming the field.
    """
    check_time(as_of.valid, "as_of_valid")
    check_time(as_of.recorded, "as_of_recorded")


def check_filter(where: MemoryFilter, field: str = "filter") -> None:
    """A filter within the limits; the errors name the condition."""
    for name in MemoryFilter.__dataclass_fields__:
        values = getattr(where, name)
        if isinstance(values, frozenset):
            check_list(list(values), f"{field}.{name}", limits.FILTER_VALUES_MAX)
            for value in values:
                if type(value) is str:
                    check_name(value, f"{field}.{name}", required=True, limit=limits.NAME_CHARS_MAX * 4)
    check_fraction(where.importance_min, f"{field}.importance_min")
    check_fraction(where.confidence_min, f"{field}.confidence_min")
    for name in ("said_from", "said_until", "valid_at"):
        check_time(getattr(where, name), f"{field}.{name}")
    check_order(where.said_from, where.said_until, ("said_from", "said_until"), field)


def describe(where: MemoryFilter) -> str:
    """One string for equal filters, whatever the order of their values."""
    parts = []
    for name in MemoryFilter.__dataclass_fields__:
        value = getattr(where, name)
        parts.append(f"{name}={sorted(map(str, value)) if isinstance(value, frozenset) else value}")
    return ";".join(parts)


def parse_memory_id(value: str, field: str) -> MemoryId:
    """A memory's id from its text form.

    Raises:
        InvalidInput: FIELD_REQUIRED when empty, FIELD_INVALID when it is not a UUID.
    """
    if not value:
        raise InvalidInput(Reason.FIELD_REQUIRED, f"{field} must be given", field=field)
    try:
        return MemoryId(uuid.UUID(value))
    except ValueError as error:
        raise InvalidInput(Reason.FIELD_INVALID, f"{field} must be a UUID", field=field) from error
