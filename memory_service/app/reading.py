"""Get, List, GetHistory and Prewarm: reads that change nothing."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace

from memory_service.app.admission import visible_to
from memory_service.app.targets import not_found
from memory_service.app.tokens import Tokens
from memory_service.app.validation import check_count, check_fraction, check_list, check_name, check_order, check_time
from memory_service.domain import limits
from memory_service.domain.errors import InvalidInput, Reason
from memory_service.domain.ids import MemoryId, OwnerKey, Revision
from memory_service.domain.memory import CURRENT_STATUSES, MemoryHead, MemoryVersion
from memory_service.domain.records import JournalEntry, Link, MemoryFilter
from memory_service.domain.vector_clock import VectorClock
from memory_service.ports.memory_store import MemoryStore
from memory_service.ports.snapshots import Freshness, Requirement, SnapshotSource


@dataclass(frozen=True, slots=True)
class Found:
    """One memory with its links, and the clock to change it with."""

    head: MemoryHead
    links: Sequence[Link]
    clock: VectorClock


@dataclass(frozen=True, slots=True)
class ListedPage:
    """A page of memories; `next_token` is "" on the last."""

    heads: Sequence[MemoryHead]
    next_token: str


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

    async def get(self, owner: OwnerKey, memory_id: MemoryId, agent: str = "") -> Found:
        """One memory.

        Raises:
            NotFound: MEMORY_NOT_FOUND; another agent's private memory is not found either.
        """
        check_name(agent, "agent")
        # The clock is read first: a change between the two reads is then unseen, never falsely seen.
        state = await self.store.state(owner)
        head = await self.store.get(owner, memory_id)
        if head is None or (agent and not visible_to(head, agent)):
            raise not_found(memory_id, "memory_id")
        return Found(head, await self.store.links(owner, memory_id), state.clock)

    async def list(
        self, owner: OwnerKey, where: MemoryFilter, *, page_size: int = 0, page_token: str = "", agent: str = ""
    ) -> ListedPage:
        """A page of memories in order of creation; current ones unless the filter names statuses.

        Raises:
            InvalidInput: for an unusable filter, page size or page token.
        """
        check_name(agent, "agent")
        check_filter(where)
        check_count(page_size, "page_size", minimum=0, maximum=limits.PAGE_SIZE_MAX)
        if not where.statuses:
            where = replace(where, statuses=CURRENT_STATUSES)
        if agent:
            where = replace(where, visible_to_agent=agent)
        query = describe(where)
        after = self.tokens.after(owner, query, page_token, "page_token") if page_token else None
        page = await self.store.list(owner, where, limit=page_size or limits.PAGE_SIZE_DEFAULT, after=after)
        following = page.next_after
        return ListedPage(page.heads, self.tokens.page(owner, query, following) if following else "")

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
