"""What a memory is: an immutable version, its place in both times, and the head that serves it.

A memory is a chain of versions under one id. Every change, of value or of state, appends a version (E11); the
head is the newest one plus counters of use. Valid time says when the claim held in the world; recorded time
says when the service believed it (P10).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import TypeAlias

from memory_service.domain.evidence import Evidence
from memory_service.domain.ids import MemoryId, Revision
from memory_service.domain.intervals import Window
from memory_service.domain.vector_clock import Dot, VectorClock

NO_EVIDENCE = Evidence()

JsonScalar = str | int | float | bool | None
JsonValue: TypeAlias = "JsonScalar | Sequence[JsonValue] | Mapping[str, JsonValue]"


class Kind(StrEnum):
    """What sort of thing a memory says; sets its default decay and quota (E1, E13)."""

    PREFERENCE = "preference"
    PROFILE = "profile"
    FACT = "fact"
    EVENT = "event"
    CONSTRAINT = "constraint"
    PROCEDURE = "procedure"
    CONTEXT = "context"
    TASK = "task"
    TEMPORARY_PREFERENCE = "temporary_preference"
    SUMMARY = "summary"


class Source(StrEnum):
    """How the writer came to know it; sets the default confidence (E8)."""

    EXPLICIT = "explicit"
    EXPLICIT_CORRECTION = "explicit_correction"
    DERIVED = "derived"
    INFERRED = "inferred"


class Tier(StrEnum):
    """Where a memory stands in its life (E6). Working memory lives in Redis, never here."""

    CANDIDATE = "candidate"
    LONG_TERM = "long_term"
    ARCHIVE = "archive"


class Status(StrEnum):
    """Whether a memory speaks for the present.

    `superseded` was true and no longer is; `retracted` was never true (P10). `contested` waits for
    a decision. `yielded` stands, but another value of its slot speaks for it (F7).
    """

    ACTIVE = "active"
    CONTESTED = "contested"
    YIELDED = "yielded"
    SUPERSEDED = "superseded"
    RETRACTED = "retracted"


CURRENT_STATUSES = frozenset({Status.ACTIVE, Status.CONTESTED})
"""Statuses that a recall about now may return."""
STANDING_STATUSES = CURRENT_STATUSES | {Status.YIELDED}
"""Statuses of memories that still count when their slot changes."""


class Visibility(StrEnum):
    """Who, among one owner's agents, may see it (C14)."""

    SHARED = "shared"
    PRIVATE = "private"


class Relation(StrEnum):
    """What joins two memories of one owner."""

    DERIVED_FROM = "derived_from"
    SUPERSEDES = "supersedes"
    CONTRADICTS = "contradicts"
    SUPPORTS = "supports"
    MERGED_INTO = "merged_into"


class Cardinality(StrEnum):
    """How many values of a slot may hold at once (P3)."""

    ONE = "one"
    MANY = "many"


class MergePolicy(StrEnum):
    """What becomes of concurrent values of one slot (F7)."""

    UNION = "union"
    INTERSECTION = "intersection"
    HIGHEST_CONFIDENCE = "highest_confidence"
    CONFIRM = "confirm"


@dataclass(frozen=True, slots=True)
class Assertion:
    """The primary form of a memory (P1): who (or what), which predicate, which value."""

    subject: str
    predicate: str
    object: JsonValue


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where a version came from (P5). Every field may be empty but `actor`.

    Attributes:
        actor: id of the credential that wrote it.
        device: device that wrote it; the server's own actor name when the caller has none.
        agent, session, process: the agent, conversation and process that produced it.
        reference: the caller's own id of the source, e.g. a message id.
    """

    actor: str
    device: str = ""
    agent: str = ""
    session: str = ""
    process: str = ""
    reference: str = ""


@dataclass(frozen=True, slots=True)
class MemoryVersion:
    """One immutable version of one memory.

    Attributes:
        version: 1, 2, 3 … within the memory.
        content_version: the version that introduced the present text (its fragments are stored under it).
        slot: normalised key of what it is about (see `slots.py`), "" for none.
        claim: normalised key of slot and value; equal claims are duplicates.
        confidence, importance: 0..1. `importance` is the writer's own; the score's importance grows with use.
        support: number of independent statements of it, from 1.
        valid_from, valid_to: when it held in the world; None is open.
        recorded_at: when this version was accepted (server clock, UTC).
        expires_at: after it, no recall about now returns it; None never.
        said_at: when the statement was made, as the writer tells it; shown, filtered by, and used to
            read relative dates.
        dot, context: the change that made this version, and what its writer had seen.
        evidence: the statements that stand behind the claim; empty once it was replaced.
        disputed: arbitration set it against another value (E4).
        revision: the owner's revision that made it.
    """

    id: MemoryId
    version: int
    content_version: int
    kind: Kind
    text: str
    topic: str
    slot: str
    claim: str
    source: Source
    confidence: float
    importance: float
    support: int
    tier: Tier
    status: Status
    recorded_at: datetime
    dot: Dot
    context: VectorClock
    revision: Revision
    provenance: Provenance
    assertion: Assertion | None = None
    tags: tuple[str, ...] = ()
    language: str = "und"
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    expires_at: datetime | None = None
    said_at: datetime | None = None
    visibility: Visibility = Visibility.SHARED
    pinned: bool = False
    reason: str = ""
    redacted: bool = False
    evidence: Evidence = NO_EVIDENCE
    disputed: bool = False

    @property
    def window(self) -> Window:
        """When the claim held in the world."""
        return Window(self.valid_from, self.valid_to)

    @property
    def merged(self) -> bool:
        """Whether it was made from siblings and stands for them; nobody stated it as such."""
        return self.status in STANDING_STATUSES and not self.evidence


@dataclass(frozen=True, slots=True)
class Usage:
    """Counters of use; they change without making a version and are not part of the causal history.

    Attributes:
        access_count: recalls that returned it, without those that were rejected.
        adopted_count, rejected_count: recalls whose reader said that it was of use, or was not.
        last_access_at: the last of the accesses counted; None after a rejection.
        last_confirmed_at: when its claim was last stated.
    """

    access_count: int = 0
    adopted_count: int = 0
    last_access_at: datetime | None = None
    last_confirmed_at: datetime | None = None
    rejected_count: int = 0

    def adopted(self, at: datetime) -> Usage:
        """After a recall at `at` that was of use."""
        last = max(filter(None, (self.last_access_at, at)))
        return replace(self, adopted_count=self.adopted_count + 1, last_access_at=last)

    def rejected(self) -> Usage:
        """After a recall that was of no use: it does not count as an access, nor do earlier ones keep it fresh.

        The access of the recall itself was counted before anybody could judge it, and the time of the one before
        is not kept, so freshness falls back to the last confirmation.
        """
        count = max(self.access_count - 1, 0)
        return replace(self, rejected_count=self.rejected_count + 1, access_count=count, last_access_at=None)


@dataclass(frozen=True, slots=True)
class MemoryHead:
    """The newest version of a memory, with its use.

    Attributes:
        cold: it lies in cold storage: what is searched of it is in a file, and only a deep recall finds it (P9).
    """

    current: MemoryVersion
    usage: Usage = field(default_factory=Usage)
    created_at: datetime | None = None
    cold: bool = False

    @property
    def id(self) -> MemoryId:
        """The memory's id."""
        return self.current.id

    @property
    def etag(self) -> str:
        """Changes with every version; for optimistic concurrency (AIP-154)."""
        return f"{self.current.version}-{self.current.revision}"
