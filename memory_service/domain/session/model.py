"""What a session holds (S1, F4). Values only; where they are kept and for how long is the store's matter."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final, NamedTuple, NewType

from memory_service.domain.memory import JsonValue

SessionId = NewType("SessionId", str)

INTENTS: Final = "intents"
SLOTS: Final = "slots."
CONSTRAINTS: Final = "constraints."
TASKS: Final = "tasks."
"""Paths of a session's fields: `intents`, and a prefix before the name of a slot, constraint or task."""


class TurnRole(StrEnum):
    """Who speaks in a turn."""

    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"
    SYSTEM = "system"


class ToolStatus(StrEnum):
    """How a tool's call ended."""

    OK = "ok"
    FAILED = "failed"


class TurnTag(StrEnum):
    """What is noticed about a turn when it arrives (C2, C3)."""

    CORRECTION = "correction"
    PRAISE = "praise"
    REPEAT = "repeat"
    TOOL_FAILURE = "tool_failure"


class SessionStatus(StrEnum):
    """Where a session stands.

    `released`: idle for so long that turns and fields are gone; only the state block is left. Whoever goes on
    with it makes it active again.
    """

    ACTIVE = "active"
    RELEASED = "released"
    ENDED = "ended"


class TaskStatus(StrEnum):
    """How far a pending task is."""

    PENDING = "pending"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


class Turn(NamedTuple):
    """One turn as its writer tells it (C2). (A tuple, since a context makes hundreds of them.)

    Attributes:
        id: the writer's own, unique in the session: a turn sent again under it is the same turn.
        said_at: when it was said, as the writer tells it; never decides an order.
        action: what the speaker did beside speaking, in the caller's words.
        tool, tool_status: the tool a `tool` turn is the answer of, and how its call ended.
        feedback: what the user thought of the turn before, in the caller's words.
    """

    id: str
    role: TurnRole
    text: str
    said_at: datetime | None = None
    action: str = ""
    tool: str = ""
    tool_status: ToolStatus | None = None
    feedback: str = ""


class KeptTurn(NamedTuple):
    """A turn as a session keeps it.

    Attributes:
        accepted_at: when the service took it.
        tokens: of its line in a prompt, by the service's own tokenizer.
        answers: whether it is an actual answer, so that a slot may be filled from it (F4).
        sequence: 1, 2, 3 … within the session; 0 before the store numbered it.
    """

    turn: Turn
    accepted_at: datetime
    tags: tuple[TurnTag, ...] = ()
    tokens: int = 0
    answers: bool = False
    sequence: int = 0


def emptied(kept: KeptTurn) -> KeptTurn:
    """The turn without anything that was said or done in it; it answers nothing any more."""
    return kept._replace(turn=kept.turn._replace(text="", action="", feedback=""), tokens=0, answers=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class StateBlock:
    """What a conversation has come to (S1); a new one is made only when the state changes (S2).

    Attributes:
        sequence: 1, 2, 3 … within the session.
        turn_ids: the turns that changed the state, newest last: the block's evidence.
        forgot_at: the owner's revision of the Forget after which the state began anew, 0 if it never did: nothing
            that was forgotten until then is in it.
        withdrawn: decisions of the block before that this one took back or replaced; a summary leaves them out.
    """

    sequence: int = 0
    topic: str = ""
    intent: str = ""
    entities: tuple[str, ...] = ()
    decisions: tuple[str, ...] = ()
    pending: tuple[str, ...] = ()
    updated_at: datetime | None = None
    turn_ids: tuple[str, ...] = ()
    forgot_at: int = 0
    withdrawn: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StateField:
    """One field of a session's working memory and who set it, under which version of the session."""

    path: str
    value: JsonValue
    version: int
    device: str = ""
    answered_by: str = ""


@dataclass(frozen=True, slots=True)
class FieldChange:
    """One field to set, or to remove. `answered_by`: the turn a slot is filled from."""

    path: str
    value: JsonValue
    answered_by: str = ""
    removed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionFacts:
    """What does not change about a session after it began.

    Attributes:
        record_episodes: whether its turns are also kept in the episodic log (C2).
    """

    id: SessionId
    started_at: datetime
    agent: str = ""
    record_episodes: bool = False
    request_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionView:
    """A session as it stands.

    Attributes:
        version: grows with every change of a field; turns do not move it.
        turn_count: how many turns it ever had; `turns` are the newest of them, oldest first.
        block_count: how many blocks are kept, `block` being the newest.
    """

    facts: SessionFacts
    status: SessionStatus
    version: int
    last_active_at: datetime
    turn_count: int = 0
    fields: Mapping[str, StateField] = field(default_factory=dict)
    turns: Sequence[KeptTurn] = ()
    block: StateBlock | None = None
    block_count: int = 0

    @property
    def etag(self) -> str:
        """For optimistic concurrency (AIP-154)."""
        return f"s{self.version}"


def session_id(started_at: datetime, chance: uuid.UUID) -> SessionId:
    """A session's id: a UUID of version 7, so that it sorts by start, names it, and cannot be guessed.

    The month a session began is thereby known from its id for ever, which is where its episodes are kept.
    """
    milliseconds = int(started_at.timestamp() * 1000) & (2**48 - 1)
    low = chance.int & ((1 << 62) - 1)
    middle = (chance.int >> 64) & 0xFFF
    return SessionId(str(uuid.UUID(int=milliseconds << 80 | 7 << 76 | middle << 64 | 2 << 62 | low)))


def started_at(session: SessionId) -> datetime:
    """When the session of this id began, to the millisecond. Raises ValueError for another kind of id."""
    value = uuid.UUID(session)
    if value.version != 7 or str(value) != session:
        raise ValueError("not the id of a session")
    return datetime.fromtimestamp((value.int >> 80) / 1000, UTC)
