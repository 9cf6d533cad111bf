"""The values of sessions: what a conversation under way holds, and the context of its next turn."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from memory_service.client.types import Context, JsonValue, Memory, RecalledMemory, RecallStage


class SessionStatus(StrEnum):
    """Where a session stands. `RELEASED`: idle for so long that only its state block is left."""

    UNKNOWN = "unknown"
    ACTIVE = "active"
    RELEASED = "released"
    ENDED = "ended"


class TurnRole(StrEnum):
    """Who speaks in a turn."""

    UNKNOWN = "unknown"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"
    SYSTEM = "system"


class ToolStatus(StrEnum):
    """How a tool's call ended; `UNKNOWN` when it was not said."""

    UNKNOWN = "unknown"
    OK = "ok"
    FAILED = "failed"


class TurnTag(StrEnum):
    """What was noticed about a turn when it arrived."""

    UNKNOWN = "unknown"
    CORRECTION = "correction"
    PRAISE = "praise"
    REPEAT = "repeat"
    TOOL_FAILURE = "tool_failure"


class TaskStatus(StrEnum):
    """How far a task is."""

    UNKNOWN = "unknown"
    PENDING = "pending"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn. To add one, give role and text; the client makes an id when there is none.

    `sequence`, `accepted_at`, `tags` and `tokens` come from the service.
    """

    role: TurnRole | str
    text: str
    id: str = ""
    said_at: datetime | None = None
    action: str = ""
    tool: str = ""
    tool_status: ToolStatus | str = ""
    feedback: str = ""
    sequence: int = 0
    accepted_at: datetime | None = None
    tags: tuple[TurnTag, ...] = ()
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class Intent:
    """One thing the user is after."""

    name: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class SlotAnswer:
    """What the user answered, and the turn in which they did."""

    value: JsonValue
    answered_by: str
    version: int = 0


@dataclass(frozen=True, slots=True)
class SessionConstraint:
    """What holds in this session only. `predicate`: whose remembered value gives way; by the wording when empty."""

    text: str = ""
    predicate: str = ""
    object: JsonValue = None
    version: int = 0


@dataclass(frozen=True, slots=True)
class SessionTask:
    """Something still to be done in this session."""

    text: str
    status: TaskStatus | str = TaskStatus.PENDING
    version: int = 0


@dataclass(frozen=True, slots=True)
class StateBlock:
    """What a conversation has come to."""

    sequence: int
    topic: str
    intent: str
    entities: tuple[str, ...]
    decisions: tuple[str, ...]
    pending: tuple[str, ...]
    updated_at: datetime | None
    turn_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Session:
    """A session as it stands; fields by name, turns oldest first."""

    id: str
    status: SessionStatus
    agent: str
    started_at: datetime
    last_active_at: datetime
    etag: str
    version: int
    record_episodes: bool
    turn_count: int
    intents: tuple[Intent, ...]
    slots: dict[str, SlotAnswer]
    constraints: dict[str, SessionConstraint]
    tasks: dict[str, SessionTask]
    block: StateBlock | None
    turns: tuple[Turn, ...]


@dataclass(frozen=True, slots=True)
class SessionSummary:
    """One session in a list."""

    id: str
    status: SessionStatus
    agent: str
    started_at: datetime
    last_active_at: datetime
    turn_count: int
    topic: str


@dataclass(frozen=True, slots=True)
class SessionPage:
    """A page of sessions, newest first; `next_page_token` is "" on the last."""

    sessions: tuple[SessionSummary, ...]
    next_page_token: str

    def __iter__(self) -> Iterator[SessionSummary]:
        return iter(self.sessions)


@dataclass(frozen=True, slots=True)
class AppendResult:
    """What adding turns did.

    Attributes:
        turn_ids: ids of the turns sent, in order. `duplicates`: those that the session had already.
        block: the state block, when the turns changed it.
        tags: what was noticed about each turn, by id.
        recorded: whether they are in the episodic log.
    """

    turn_ids: tuple[str, ...]
    duplicates: tuple[str, ...]
    turn_count: int
    block: StateBlock | None
    tags: dict[str, tuple[TurnTag, ...]]
    recorded: bool


@dataclass(frozen=True, slots=True)
class OverwrittenField:
    """A field that another had set, and this writer overwrote without having seen it."""

    path: str
    value: JsonValue
    device: str
    version: int


@dataclass(frozen=True, slots=True)
class UpdateResult:
    """What changing fields did."""

    etag: str
    version: int
    overwritten: tuple[OverwrittenField, ...]


@dataclass(frozen=True, slots=True)
class TokenUse:
    """How many tokens a context takes, and how they were counted."""

    short_term: int
    recalled: int
    total: int
    budget: int
    tokenizer: str
    exact: bool


@dataclass(frozen=True, slots=True)
class ContextMemory:
    """A remembered memory in a context. `overridden_by`: id of the session's constraint that holds instead."""

    recalled: RecalledMemory
    in_block: bool
    overridden_by: str

    @property
    def memory(self) -> Memory:
        """The memory."""
        return self.recalled.memory


@dataclass(frozen=True, slots=True)
class SessionContext:
    """What an agent should know before its next turn; `block` is ready to be put before a language model.

    Attributes:
        session: None when working memory is away.
        missing: what is missing and why, e.g. "session: REDIS_UNAVAILABLE"; `degraded` says that something is.
    """

    block: str
    session: Session | None
    memories: tuple[ContextMemory, ...]
    tokens: TokenUse
    turns_left_out: int
    degraded: bool
    missing: tuple[str, ...]
    context: Context
    token: str
    stages: tuple[RecallStage, ...]
    constraints_left_out: int = 0


@dataclass(frozen=True, slots=True)
class Preference:
    """What is remembered under one predicate; a contested one must never be presented as certain."""

    predicate: str
    memories: tuple[Memory, ...]
    contested: bool

    @property
    def values(self) -> tuple[JsonValue, ...]:
        """The values of its memories."""
        return tuple(m.assertion.object for m in self.memories if m.assertion is not None)
