"""From filters to the parameters of `sql.LIST_HEADS` and `sql.IDLE_HEADS`."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from datetime import UTC, datetime

from memory_service.domain.ids import MemoryId
from memory_service.ports.memory_store import Idle, MemoryFilter

_BEFORE_ALL = (datetime.min.replace(tzinfo=UTC), uuid.UUID(int=0))
"""The driver sends the least time as -infinity."""


def _given(items: Iterable[object]) -> list[object] | None:
    """The items as an array, None (no condition) when there are none."""
    return list(items) or None


def list_parameters(
    where: MemoryFilter, *, limit: int, after: tuple[datetime, MemoryId] | None
) -> tuple[object, ...]:
    """Parameters from `$2` on."""
    created_at, memory_id = after or _BEFORE_ALL
    return (
        created_at,
        memory_id,
        limit,
        _given(where.ids),
        _given(where.kinds),
        _given(where.statuses),
        _given(where.tiers),
        _given(where.sources),
        _given(where.tags_all),
        _given(where.tags_any),
        _given(where.topics),
        _given(where.slots),
        _given(where.subjects),
        _given(where.predicates),
        _given(where.agents),
        _given(where.devices),
        _given(where.sessions),
        where.said_from,
        where.said_until,
        where.valid_at,
        where.importance_min,
        where.confidence_min,
        where.visible_to_agent,
    )


def idle_parameters(where: Idle, *, limit: int, after: tuple[datetime, MemoryId] | None) -> tuple[object, ...]:
    """Parameters of `sql.IDLE_HEADS` from `$2` on."""
    created_at, memory_id = after or _BEFORE_ALL
    return (
        created_at,
        memory_id,
        limit,
        list(where.untouched),
        list(where.untouched.values()),
        list(where.untouched_predicates),
        list(where.untouched_predicates.values()),
        list(where.lasting),
        where.weak_since,
        where.weak_confidence,
        where.expired_by,
    )
