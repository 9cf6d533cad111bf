"""What the client takes and returns: plain, immutable values. Nothing here knows about gRPC.

Times are aware datetimes in UTC when they come back; a naive one given in is refused. JSON numbers travel as
doubles, so whole numbers beyond 2^53 are refused instead of being changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal, TypedDict

from memory_service.client.conflicts import CONFLICTING
from memory_service.client.conflicts import (
    Conflict as Conflict,
)
from memory_service.client.conflicts import (
    Side as Side,
)
from memory_service.client.values import (
    KEPT as KEPT,
)
from memory_service.client.values import (
    Assertion as Assertion,
)
from memory_service.client.values import (
    Context as Context,
)
from memory_service.client.values import (
    ContextArgument as ContextArgument,
)
from memory_service.client.values import (
    Dot as Dot,
)
from memory_service.client.values import (
    JsonScalar as JsonScalar,
)
from memory_service.client.values import (
    JsonValue as JsonValue,
)
from memory_service.client.values import (
    Kept as Kept,
)
from memory_service.client.values import (
    Memory as Memory,
)
from memory_service.client.values import (
    Provenance as Provenance,
)
from memory_service.client.values import (
    Slot as Slot,
)
from memory_service.client.words import (
    CorrectionNature as CorrectionNature,
)
from memory_service.client.words import (
    Effect as Effect,
)
from memory_service.client.words import (
    Kind as Kind,
)
from memory_service.client.words import (
    Relation as Relation,
)
from memory_service.client.words import (
    Role as Role,
)
from memory_service.client.words import (
    Source as Source,
)
from memory_service.client.words import (
    Standing as Standing,
)
from memory_service.client.words import (
    Status as Status,
)
from memory_service.client.words import (
    Tier as Tier,
)
from memory_service.client.words import (
    Visibility as Visibility,
)


class MemoryFields(TypedDict, total=False):
    """What a writer may say of a memory beside its text; every field may be left out.

    A turn of a conversation, kept as it was said, is marked by its `session` and `process="conversation"`: a recall
    then counts what was said just before and after it. Statements drawn from a conversation are not to be marked.
    """

    subject: str
    predicate: str
    object: JsonValue
    kind: Kind | str
    topic: str
    tags: Sequence[str]
    source: Source | str
    confidence: float
    importance: float
    valid_from: datetime | None
    valid_to: datetime | None
    expires_at: datetime | None
    said_at: datetime | None
    time_zone: str
    visibility: Visibility | str
    pinned: bool
    embedding: Sequence[float]
    agent: str
    session: str
    process: str
    reference: str
    derived_from: Sequence[str]


@dataclass(frozen=True, slots=True)
class NewMemory:
    """One statement of a batch.

    Attributes:
        fields: as the keyword arguments of `write`.
        user: whose memory; the call's or the client's user when None.
        request_id: made by the client when empty. Give your own to make a repeated import harmless.
    """

    text: str = ""
    fields: MemoryFields = field(default_factory=MemoryFields)
    user: str | None = None
    request_id: str = ""
    dot: Dot | None = None


@dataclass(frozen=True, slots=True)
class MemoryFilter:
    """Which memories; every given condition must hold, an empty one holds for all."""

    kinds: Sequence[Kind | str] = ()
    statuses: Sequence[Status | str] = ()
    tiers: Sequence[Tier | str] = ()
    sources: Sequence[Source | str] = ()
    tags_all: Sequence[str] = ()
    tags_any: Sequence[str] = ()
    topics: Sequence[str] = ()
    slots: Sequence[Slot] = ()
    subjects: Sequence[str] = ()
    predicates: Sequence[str] = ()
    agents: Sequence[str] = ()
    devices: Sequence[str] = ()
    sessions: Sequence[str] = ()
    said_from: datetime | None = None
    said_until: datetime | None = None
    importance_min: float = 0.0
    confidence_min: float = 0.0
    ids: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Consistency:
    """How new the data of a recall must be; make one with the three class methods."""

    requirement: Literal["minimize_latency", "at_least_as_fresh", "fully_consistent"]
    token: str = ""

    @classmethod
    def minimize_latency(cls) -> Consistency:
        """Whatever is at hand; at most a second old by default."""
        return cls("minimize_latency")

    @classmethod
    def at_least_as_fresh(cls, token: str) -> Consistency:
        """Includes the change that returned this token."""
        return cls("at_least_as_fresh", token)

    @classmethod
    def fully_consistent(cls) -> Consistency:
        """Includes every change acknowledged before the recall."""
        return cls("fully_consistent")


@dataclass(frozen=True, slots=True)
class Affected:
    """A memory that a change touched; `memory` is None when it is gone or was not made."""

    memory_id: str
    effect: Effect
    memory: Memory | None
    reason: str


@dataclass(frozen=True, slots=True)
class WriteResult:
    """What remembering (or correcting, or rolling back) did.

    Attributes:
        memory: the memory that now says it; None when it was not remembered.
        effect: what became of the statement itself.
        affected: other memories that changed.
        token: for a read, by whomever, that must see this change.
        context: everything seen now.
        dot: the name this change got.
        replayed: whether this is the answer to an earlier, identical request.
    """

    memory: Memory | None
    effect: Effect
    affected: tuple[Affected, ...]
    token: str
    context: Context
    dot: Dot | None
    replayed: bool

    @property
    def conflicts(self) -> tuple[Conflict, ...]:
        """What this change met: for every memory that it contested, made yield or replaced, or that it yields
        to, both values, with who said them, when, and by which clock (F7)."""
        met = [one for one in self.affected if one.effect in CONFLICTING]
        mine = None if self.memory is None else Side.of(self.memory)
        found = [
            Conflict(one.effect, one.memory_id, mine, None if one.memory is None else Side.of(one.memory), one.reason)
            for one in met
        ]
        if not found and self.effect in (Effect.CONTESTED, Effect.YIELDED) and self.memory is not None:
            found.append(Conflict(self.effect, self.memory.id, mine, None, self.memory.reason))
        return tuple(found)


@dataclass(frozen=True, slots=True)
class ForgetResult:
    """What was forgotten or, with `validate_only`, what would be (`preview`, at most 100 of them)."""

    forgotten_count: int
    memory_ids: tuple[str, ...]
    preview: tuple[Memory, ...]
    token: str
    context: Context
    dot: Dot | None
    replayed: bool


@dataclass(frozen=True, slots=True)
class RevokeResult:
    """What was undone or, with `validate_only`, what would be.

    Attributes:
        changes: how many of the writer's changes.
        affected: every memory that this touched.
        revision: names this revocation for `undo_revocation`.
    """

    changes: int
    affected: tuple[Affected, ...]
    revision: int
    token: str
    context: Context
    dot: Dot | None
    replayed: bool


@dataclass(frozen=True, slots=True)
class FeedbackResult:
    """What was recorded of recalled memories.

    Attributes:
        recorded: how many memories.
        missing_ids: those named that are not there, e.g. forgotten meanwhile.
    """

    recorded: int
    missing_ids: tuple[str, ...]
    token: str
    replayed: bool


@dataclass(frozen=True, slots=True)
class ScoreBreakdown:
    """How a score came about; see `memory_service.proto`. Scores compare within one answer only."""

    total: float
    semantic: float
    freshness: float
    importance: float
    confidence: float
    cosine: float
    bm25: float
    rrf: float
    vector_rank: int
    lexical_rank: int
    slot_rank: int
    tier_bonus: float
    support: float


@dataclass(frozen=True, slots=True)
class RecalledMemory:
    """A memory found. A contested one must never be presented as certain."""

    memory: Memory
    score: float
    breakdown: ScoreBreakdown
    contested: bool
    why: str


@dataclass(frozen=True, slots=True)
class RecallStage:
    """One stage of a recall: whether it ran, for how long, and why not."""

    name: str
    ran: bool
    duration: timedelta
    note: str


@dataclass(frozen=True, slots=True)
class RecallResult:
    """What memory has to say; iterating gives the memories, best first.

    `as_of_valid` is the time in the world it is about (None for now), `as_of_words` the words of the query that named
    it, when `resolve_time` found some.
    """

    memories: tuple[RecalledMemory, ...]
    context_block: str
    context: Context
    token: str
    stages: tuple[RecallStage, ...]
    degraded: bool
    candidates: int
    as_of_valid: datetime | None = None
    as_of_words: str = ""

    def __iter__(self) -> Iterator[RecalledMemory]:
        return iter(self.memories)

    def __len__(self) -> int:
        return len(self.memories)


@dataclass(frozen=True, slots=True)
class Link:
    """`from_id` stands in `relation` to `to_id`."""

    from_id: str
    relation: Relation
    to_id: str


@dataclass(frozen=True, slots=True)
class MemoryDetail:
    """One memory with what it is joined to."""

    memory: Memory
    links: tuple[Link, ...]
    context: Context


@dataclass(frozen=True, slots=True)
class HistoryEvent:
    """One state change of a memory: what, when, by whom, why, and the numbers that decided it."""

    event: str
    version: int
    at: datetime | None
    actor: str
    device: str
    reason: str
    before: str
    after: str
    details: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class History:
    """Every version and state change of a memory, oldest first."""

    versions: tuple[Memory, ...]
    events: tuple[HistoryEvent, ...]
    links: tuple[Link, ...]


@dataclass(frozen=True, slots=True)
class WatchEvent:
    """One state change, told to a watcher.

    Attributes:
        cursor: going on from here, nothing after this event is missed. The event itself, and others of the
            same change, may come again when it was not known yet that the change was complete.
        memory: as it stands when the event is sent; None when it is gone.
    """

    cursor: str
    memory_id: str
    event: HistoryEvent
    memory: Memory | None


@dataclass(frozen=True, slots=True)
class WatchCheckpoint:
    """Nothing more happened up to `cursor`."""

    cursor: str


@dataclass(frozen=True, slots=True)
class MemoryPage:
    """A page of memories in order of creation; `next_page_token` is empty on the last."""

    memories: tuple[Memory, ...]
    next_page_token: str


@dataclass(frozen=True, slots=True)
class PrewarmResult:
    """How many memories are at hand now, and the token of that data."""

    memories: int
    token: str


@dataclass(frozen=True, slots=True)
class ApiKey:
    """An API key without its secret; `users` empty means any user of the tenant."""

    id: str
    tenant: str
    name: str
    prefix: str
    roles: tuple[Role, ...]
    users: tuple[str, ...]
    created_at: datetime | None
    expires_at: datetime | None
    revoked_at: datetime | None


@dataclass(frozen=True, slots=True)
class NewApiKey:
    """A key just made. The secret cannot be read again, and is left out of `repr`."""

    key: ApiKey
    secret: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class ServerInfo:
    """Facts about the server; `now` is its clock."""

    version: str
    embedding_model: str
    embedding_dimension: int
    limits: Mapping[str, int]
    now: datetime | None


@dataclass(frozen=True, slots=True)
class JobKind:
    """One kind of background job as it stands; `every` is None for jobs that follow from changes, not from time.

    `due` counts users whose job is not enqueued yet; `oldest_waiting` is how long the oldest job has waited.
    """

    name: str
    every: timedelta | None
    due: int
    next_due_at: datetime | None
    waiting: int
    running: int
    failed: int
    oldest_waiting: timedelta
    last_run_at: datetime | None
    runs_done: int
    changed: int
    retried: int
    given_up: int


@dataclass(frozen=True, slots=True)
class JobsView:
    """The background work of a deployment: each kind of job, and workers seen in the last minute."""

    jobs: tuple[JobKind, ...]
    workers: int
    now: datetime | None


@dataclass(frozen=True, slots=True)
class StepRun:
    """What one step of upkeep did for one user; with `error_reason` it failed, and stopped no other."""

    step: str
    changed: int
    error_reason: str
    error_message: str


@dataclass(frozen=True, slots=True)
class FailedJob:
    """A job that failed for good, kept until it is tried again (or for 30 days)."""

    id: int
    name: str
    user: str
    attempts: int
    reason: str
    failed_at: datetime | None
