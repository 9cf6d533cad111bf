"""What callers ask the use cases to change, and what they get back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from memory_service.domain.ids import MemoryId, Revision
from memory_service.domain.memory import Assertion, Kind, MemoryHead, Source, Visibility
from memory_service.domain.records import MemoryFilter
from memory_service.domain.session.model import SessionId
from memory_service.domain.vector_clock import Dot, VectorClock


@dataclass(frozen=True, slots=True)
class SessionOrigin:
    """The state of a session as it was read, for what is made of it to be refused when a part was forgotten (B3).

    Attributes:
        turn_ids: the turns that it is known to be made of.
        forgot_at: see `StateBlock`.
    """

    session: SessionId
    turn_ids: tuple[str, ...]
    forgot_at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """What a writer wants remembered, as given: None and empty mean "not given".

    Attributes:
        made_of: the state of a session that the service made it of; no caller gives it.
        time_zone: IANA name by which relative dates in the text are read; "" is UTC.
        vector: the writer's own vector of the text, shape (dimension,).
    """

    text: str = ""
    assertion: Assertion | None = None
    kind: Kind | None = None
    topic: str = ""
    tags: tuple[str, ...] = ()
    source: Source | None = None
    confidence: float | None = None
    importance: float | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    expires_at: datetime | None = None
    said_at: datetime | None = None
    time_zone: str = ""
    visibility: Visibility | None = None
    pinned: bool = False
    vector: NDArray[np.float32] | None = None
    agent: str = ""
    session: str = ""
    process: str = ""
    reference: str = ""
    derived_from: tuple[MemoryId, ...] = ()
    made_of: SessionOrigin | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeMeta:
    """Who makes a change and what they had seen.

    Attributes:
        actor: id of the credential.
        request_id: names the request for retries; "" for none.
        device: "" for a caller without one: the server's own actor makes the dot.
        counter: the device's number for the change; 0 lets the server number it.
        context: what the writer had seen; None means everything committed when the change is made.
        agent: the agent that makes it, for revoking by writer (B9).
    """

    actor: str
    agent: str = ""
    request_id: str = ""
    device: str = ""
    counter: int = 0
    context: VectorClock | None = None


class Effect(StrEnum):
    """What a change did to one memory."""

    CREATED = "created"
    SUPPORTED = "supported"
    UPDATED = "updated"
    SUPERSEDED = "superseded"
    CONTESTED = "contested"
    RETRACTED = "retracted"
    FORGOTTEN = "forgotten"
    SUPPRESSED = "suppressed"
    REACTIVATED = "reactivated"
    YIELDED = "yielded"


@dataclass(frozen=True, slots=True)
class Affected:
    """One memory a change touched; `head` is None when it is gone or was never made."""

    memory_id: MemoryId
    effect: Effect
    head: MemoryHead | None
    reason: str


@dataclass(frozen=True, slots=True)
class ChangeResult:
    """The answer to a change.

    Attributes:
        memory: the memory that now carries the statement; None when it was suppressed or forgotten.
        affected: other memories that changed.
        revision, clock: the owner's after the commit (of the first answer, when replayed).
        dot: the change's name.
    """

    memory: MemoryHead | None
    effect: Effect
    affected: Sequence[Affected]
    revision: Revision
    clock: VectorClock
    dot: Dot
    replayed: bool = False


@dataclass(frozen=True, slots=True)
class SlotRef:
    """A slot by name: subject and predicate, or a topic."""

    subject: str = ""
    predicate: str = ""
    topic: str = ""


class Nature(StrEnum):
    """What was wrong with a corrected value: never true, or true until a time (P10)."""

    WRONG = "wrong"
    OUTDATED = "outdated"


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrectCommand:
    """A correction. Exactly one of `memory_id` and `slot` is given.

    Attributes:
        fields: names of the statement's fields to take; empty takes all that are set.
        changed_at: when the old value ceased to hold, for OUTDATED; None is now.
    """

    statement: Statement
    memory_id: MemoryId | None = None
    slot: SlotRef | None = None
    fields: frozenset[str] = frozenset()
    etag: str = ""
    nature: Nature = Nature.WRONG
    changed_at: datetime | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetCommand:
    """What to forget. Exactly one of `ids`, `slot`, `says` and `where` is given.

    `says` names memories by what they say: text or assertion, compared as duplicates are.
    """

    ids: tuple[MemoryId, ...] = ()
    slot: SlotRef | None = None
    says: Statement | None = None
    where: MemoryFilter | None = None
    validate_only: bool = False
    reason: str = ""


@dataclass(frozen=True, slots=True)
class ForgetResult:
    """What was forgotten, or with `validate_only` would be; `preview` shows some of those."""

    ids: Sequence[MemoryId]
    preview: Sequence[MemoryHead]
    revision: Revision
    clock: VectorClock
    dot: Dot | None
    replayed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchItem:
    """One statement of a batch with its own names for retries.

    `context` is what its writer had seen, where that is not the batch's.
    """

    statement: Statement
    request_id: str = ""
    device: str = ""
    counter: int = 0
    context: VectorClock | None = None


@dataclass(frozen=True, slots=True)
class RollbackCommand:
    """Make `version` of a memory current again."""

    memory_id: MemoryId
    version: int
    etag: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolveCommand:
    """A decision about memories in conflict. Exactly one of `keep`, `merge` and `dismiss` is given."""

    ids: tuple[MemoryId, ...]
    keep: MemoryId | None = None
    merge: Statement | None = None
    dismiss: bool = False
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RevokeCommand:
    """Undo what a writer did since a time (B9).

    Attributes:
        device, agent, actor: whose changes; at least one is given, all given must match.
        undo: the revision of an earlier revocation to take back, instead of a writer.
    """

    device: str = ""
    agent: str = ""
    actor: str = ""
    since: datetime | None = None
    undo: Revision | None = None
    validate_only: bool = False
    reason: str = ""


@dataclass(frozen=True, slots=True)
class RevokeResult:
    """What was undone, or with `validate_only` would be.

    Attributes:
        changes: how many changes of the writer that undoes.
        affected: every memory it touches and how.
    """

    changes: int
    affected: Sequence[Affected]
    revision: Revision
    clock: VectorClock
    dot: Dot | None
    replayed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class UnmergeCommand:
    """Take a merged memory apart again."""

    memory_id: MemoryId
    etag: str = ""
    reason: str = ""


def pack_result(result: ChangeResult) -> dict[str, object]:
    """A change's answer without memory text, as JSON-compatible data."""
    memory = result.memory
    return {
        "memory": [str(memory.id), memory.current.version] if memory else None,
        "effect": result.effect.value,
        "affected": [
            [str(a.memory_id), a.head.current.version if a.head else 0, a.effect.value, a.reason]
            for a in result.affected
        ],
        "revision": int(result.revision),
        "clock": dict(result.clock),
        "dot": [result.dot.device, result.dot.counter],
    }
