"""Copies that make stored values immune to what callers do with theirs, and the rounding a database does."""

from __future__ import annotations

import copy
from dataclasses import replace
from datetime import UTC, datetime
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from memory_service.domain.memory import NO_EVIDENCE, Assertion, MemoryVersion, Provenance, Usage
from memory_service.ports.memory_store import ChangeRecord, JournalEntry, StoredOutcome, Tombstone

_SCALARS = (str, int, float, bool, type(None))
_Stamped = TypeVar("_Stamped", ChangeRecord, JournalEntry, StoredOutcome, Tombstone)


def utc(moment: datetime) -> datetime:
    """The same instant in UTC, as a database gives it back. Raises ValueError for a naive time."""
    if moment.tzinfo is None:
        raise ValueError("times must carry a time zone")
    return moment.astimezone(UTC)


def utc_or_none(moment: datetime | None) -> datetime | None:
    """`utc`, with None for None."""
    return None if moment is None else utc(moment)


def half_precision(vector: NDArray[np.float32]) -> NDArray[np.float32]:
    """A read-only float32 copy rounded through float16, as PostgreSQL's halfvec keeps it; same shape."""
    rounded = vector.astype(np.float16).astype(np.float32)
    rounded.setflags(write=False)
    return rounded


def own_assertion(version: MemoryVersion) -> MemoryVersion:
    """`version` with an assertion object that nobody else holds; itself when the object is a scalar."""
    assertion = version.assertion
    if assertion is None or isinstance(assertion.object, _SCALARS):
        return version
    copied = Assertion(assertion.subject, assertion.predicate, copy.deepcopy(assertion.object))
    return replace(version, assertion=copied)


def stored_version(version: MemoryVersion) -> MemoryVersion:
    """The version as it is kept: times in UTC, nothing shared with the caller."""
    return replace(
        own_assertion(version),
        recorded_at=utc(version.recorded_at),
        valid_from=utc_or_none(version.valid_from),
        valid_to=utc_or_none(version.valid_to),
        expires_at=utc_or_none(version.expires_at),
        said_at=utc_or_none(version.said_at),
        tags=tuple(version.tags),
    )


def stored_usage(usage: Usage) -> Usage:
    """The usage as it is kept: times in UTC."""
    return replace(
        usage,
        last_access_at=utc_or_none(usage.last_access_at),
        last_confirmed_at=utc_or_none(usage.last_confirmed_at),
    )


def stored_at_utc(record: _Stamped) -> _Stamped:
    """The record with `at` in UTC."""
    return replace(record, at=utc(record.at))


def redacted(version: MemoryVersion) -> MemoryVersion:
    """What is left of a forgotten version (B3): that it was, when and by whom, nothing of what it said."""
    origin = version.provenance
    return replace(
        version,
        text="",
        assertion=None,
        topic="",
        slot="",
        claim="",
        tags=(),
        provenance=Provenance(origin.actor, origin.device, origin.agent, origin.session, origin.process),
        reason="",
        evidence=NO_EVIDENCE,
        redacted=True,
    )
