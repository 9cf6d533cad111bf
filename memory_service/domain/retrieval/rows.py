"""The columns of a snapshot: what filters and scoring need of each memory, as numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final
from uuid import UUID

import numpy as np
from numpy.typing import DTypeLike, NDArray

from memory_service.domain.memory import Kind, MemoryHead, MemoryVersion, Source, Status, Tier, Visibility
from memory_service.domain.retrieval.columns import Column, GrowTable, Interner, optional
from memory_service.domain.retrieval.heads import object_nbytes
from memory_service.domain.retrieval.times import (
    NEVER_AFTER,
    NEVER_BEFORE,
    microseconds,
    optional_microseconds,
)

KIND_CODE: Final = {kind: code for code, kind in enumerate(Kind)}
STATUS_CODE: Final = {status: code for code, status in enumerate(Status)}
TIER_CODE: Final = {tier: code for code, tier in enumerate(Tier)}
SOURCE_CODE: Final = {source: code for code, source in enumerate(Source)}

STRING_COLUMNS: Final = ("topic", "slot", "subject", "predicate", "agent", "device", "session")
ROW_COLUMNS: Final[Mapping[str, DTypeLike]] = {
    "id_high": np.uint64,
    "id_low": np.uint64,
    "kind": np.int8,
    "status": np.int8,
    "tier": np.int8,
    "source": np.int8,
    "private": np.bool_,
    "pinned": np.bool_,
    "confidence": np.float64,
    "importance": np.float64,
    "access_count": np.int64,
    "adopted_count": np.int64,
    "rejected_count": np.int64,
    "accessed_at": np.int64,
    "confirmed_at": np.int64,
    "recorded_at": np.int64,
    "created_at": np.int64,
    "said_at": np.int64,
    "turn": np.bool_,
    "revision": np.int64,
    "valid_from": np.int64,
    "valid_to": np.int64,
    "expires_at": np.int64,
    **dict.fromkeys(STRING_COLUMNS, np.int32),
    "head_bytes": np.int32,
    "documents_end": np.int64,
}
"""Columns of a memory. Times in microseconds (see `times`), strings as numbers of the string table."""

_MASK_64: Final = 2**64 - 1
CONVERSATION: Final = "conversation"
"""The process whose memories are the turns of a conversation; see `is_turn`."""


def is_turn(version: MemoryVersion) -> bool:
    """Whether a memory is a turn of a conversation as it was said, so that those around it are its context.

    Its writer says so: a session, and `CONVERSATION` as the process that produced it. Nothing about a text tells a
    raw message from a statement drawn from it, and between statements neighbours do harm.
    """
    origin = version.provenance
    return origin.process == CONVERSATION and bool(origin.session) and version.assertion is None


def row_ids(rows: GrowTable, numbers: NDArray[np.int64]) -> Iterable[Any]:
    """The memory ids of these rows."""
    high, low = rows["id_high"][numbers].tolist(), rows["id_low"][numbers].tolist()
    return (UUID(int=(h << 64) | lo) for h, lo in zip(high, low, strict=True))


def row_columns(heads: Sequence[MemoryHead], strings: Interner) -> dict[str, Column]:
    """The columns of these heads, apart from `documents_end`."""
    values = [_row_values(head, strings) for head in heads]
    names = [name for name in ROW_COLUMNS if name != "documents_end"]
    by_column = zip(*values, strict=True) if values else [()] * len(names)
    return {name: np.asarray(column, ROW_COLUMNS[name]) for name, column in zip(names, by_column, strict=True)}


def _row_values(head: MemoryHead, strings: Interner) -> tuple[Any, ...]:
    """In the order of `ROW_COLUMNS`."""
    v, use = head.current, head.usage
    recorded = microseconds(v.recorded_at)
    claim = v.assertion
    return (
        v.id.int >> 64,
        v.id.int & _MASK_64,
        KIND_CODE[v.kind],
        STATUS_CODE[v.status],
        TIER_CODE[v.tier],
        SOURCE_CODE[v.source],
        v.visibility is Visibility.PRIVATE,
        v.pinned,
        v.confidence,
        v.importance,
        use.access_count,
        use.adopted_count,
        use.rejected_count,
        optional_microseconds(use.last_access_at, NEVER_BEFORE),
        optional_microseconds(use.last_confirmed_at, NEVER_BEFORE),
        recorded,
        optional_microseconds(head.created_at, recorded),
        optional_microseconds(v.said_at, recorded),
        is_turn(v),
        v.revision,
        optional_microseconds(v.valid_from, NEVER_BEFORE),
        optional_microseconds(v.valid_to, NEVER_AFTER),
        optional_microseconds(v.expires_at, NEVER_AFTER),
        optional(v.topic, strings),
        optional(v.slot, strings),
        optional(claim.subject if claim else "", strings),
        optional(claim.predicate if claim else "", strings),
        optional(v.provenance.agent, strings),
        optional(v.provenance.device, strings),
        optional(v.provenance.session, strings),
        object_nbytes(head),
    )
