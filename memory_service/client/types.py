"""What the client takes and returns: plain, immutable values. Nothing here knows about gRPC.

Times are aware datetimes in UTC when they come back; a naive one given in is refused. JSON numbers travel as
doubles, so whole numbers beyond 2^53 are refused instead of being changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import Enum
from typing import Final, Literal, TypeAlias, TypedDict

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
    Status as Status,
)
from memory_service.client.words import (
    Tier as Tier,
)
from memory_service.client.words import (
    Visibility as Visibility,
)

JsonScalar = str | int | float | bool | None
JsonValue: TypeAlias = "JsonScalar | Sequence[JsonValue] | Mapping[str, JsonValue]"


class Kept(Enum):
    """The type of `KEPT`."""

    KEPT = "kept"

    def __repr__(self) -> str:
        return "KEPT"


KEPT: Final = Kept.KEPT
"""As a `context`: what this client has seen of the user so far (and everything, if nothing yet)."""


@dataclass(frozen=True, slots=True)
class Context:
    """A causal context: for each device, how many of its changes have been seen."""

    counters: Mapping[str, int] = field(default_factory=dict)

    def covers(self, other: Context) -> bool:
        """Whether everything `other` has seen has been seen here too."""
        return all(self.counters.get(device, 0) >= count for device, count in other.counters.items())

    def merged(self, other: Context) -> Context:
        """What has been seen by either."""
        counters = dict(self.counters)
        for device, count in other.counters.items():
            counters[device] = max(count, counters.get(device, 0))
        return Context(counters)


ContextArgument: TypeAlias = Context | Kept | None
"""`KEPT`, an own `Context`, or None for "everything the server has when it accepts the change"."""


@dataclass(frozen=True, slots=True)
class Dot:
    """The name of one change: the `counter`-th that `device` made; 0 lets the server number it."""

    device: str
    counter: int = 0


@dataclass(frozen=True, slots=True)
class Slot:
    """What a memory is about: (subject, predicate), or a topic for statements without structure."""

    subject: str = ""
    predicate: str = ""
    topic: str = ""


@dataclass(frozen=True, slots=True)
class Assertion:
    """A structured statement; `object` is any JSON value."""

    subject: str
    predicate: str
    object: JsonValue


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where a version came from. `actor` is the id of the key that wrote it."""

    actor: str = ""
    device: str = ""
    agent: str = ""
    session: str = ""
    process: str = ""
    reference: str = ""


@dataclass(frozen=True, slots=True)
class Memory:
    """A memory as it stands, or one version of it. Fields as in `types.proto`; absent times are None."""

    id: str
    version: int
    etag: str
    kind: Kind
    text: str
    assertion: Assertion | None
    topic: str
    tags: tuple[str, ...]
    source: Source
    confidence: float
    importance: float
    support: int
    tier: Tier
    status: Status
    valid_from: datetime | None
    valid_to: datetime | None
    recorded_at: datetime | None
    expires_at: datetime | None
    said_at: datetime | None
    created_at: datetime | None
    provenance: Provenance
    dot: Dot | None
    context: Context
    visibility: Visibility
    pinned: bool
    access_count: int
    adopted_count: int
    last_access_at: datetime | None
    language: str
    reason: str
    redacted: bool


class MemoryFields(TypedDict, total=False):
    """What a writer may say of a memory beside its text; every field may be left out."""

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
    """What memory has to say; iterating gives the memories, best first."""

    memories: tuple[RecalledMemory, ...]
    context_block: str
    context: Context
    token: str
    stages: tuple[RecallStage, ...]
    degraded: bool
    candidates: int

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
