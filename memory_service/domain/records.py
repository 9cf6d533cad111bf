"""The records a change is made of and a search is made from: passed between the rules and the stores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

import numpy as np
from numpy.typing import NDArray

from memory_service.domain.evidence import Retirement
from memory_service.domain.ids import DeviceId, MemoryId, Revision
from memory_service.domain.memory import (
    Kind,
    MemoryHead,
    MemoryVersion,
    Relation,
    Source,
    Status,
    Tier,
    Usage,
)
from memory_service.domain.vector_clock import Dot, VectorClock


@dataclass(frozen=True, slots=True)
class OwnerState:
    """Where an owner's history stands.

    Attributes:
        clock: every dot accepted so far.
        salt: 32 random bytes that the owner's first change brings; keys the digests kept of forgotten and
            idempotent content, so that nobody can test guesses against them once the owner is erased.
    """

    revision: Revision
    clock: VectorClock
    salt: bytes
    memory_count: int = 0
    frozen_kinds: frozenset[Kind] = frozenset()


ASSERTION_ORDINAL: Final = -1
"""The ordinal of the fragment that is a memory's assertion (see `app/fragmenting.py`); no part of its text."""


@dataclass(frozen=True, slots=True)
class Fragment:
    """A piece of a memory's text as it is searched (S5).

    Attributes:
        ordinal: 0, 1, 2 … within the text; `ASSERTION_ORDINAL` for the assertion beside it.
        terms: lexical terms, with repetition (see `domain/text/analysis.py`); none for an assertion, whose words a
            snapshot takes from the memory itself (`domain/retrieval/documents.py`).
        model_id: embedding model of `vector`, "" while the text waits to be embedded.
        vector: float32 unit vector of shape (dimension,), None while waiting.
    """

    memory_id: MemoryId
    content_version: int
    ordinal: int
    text: str
    terms: tuple[str, ...]
    model_id: str = ""
    vector: NDArray[np.float32] | None = None


@dataclass(frozen=True, slots=True)
class Link:
    """`from_id` stands in `relation` to `to_id`; both of one owner."""

    from_id: MemoryId
    relation: Relation
    to_id: MemoryId


class JournalEvent(StrEnum):
    """What happened to a memory; the closed list of state changes."""

    CREATED = "created"
    SUPPORTED = "supported"
    SUPERSEDED = "superseded"
    CONTESTED = "contested"
    YIELDED = "yielded"
    CORRECTED = "corrected"
    RETRACTED = "retracted"
    ROLLED_BACK = "rolled_back"
    FORGOTTEN = "forgotten"
    SUPPRESSED = "suppressed"
    REACTIVATED = "reactivated"
    ARCHIVED = "archived"
    PROMOTED = "promoted"
    RESOLVED = "resolved"


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """One state change of one memory: who, why, before and after. Carries no memory text.

    `details` holds the parameters in force and the ids involved, as JSON-compatible scalars.
    """

    revision: Revision
    ordinal: int
    event: JournalEvent
    memory_id: MemoryId
    version: int
    at: datetime
    actor: str
    device: str
    reason: str
    before: str = ""
    after: str = ""
    details: Mapping[str, str | int | float | bool] = field(default_factory=dict)


class TombstoneScope(StrEnum):
    """What a tombstone stops from coming back."""

    MEMORY = "memory"
    CLAIM = "claim"
    SLOT = "slot"
    WORDING = "wording"
    SESSION = "session"


@dataclass(frozen=True, slots=True)
class Tombstone:
    """The trace a Forget leaves (B3): salted digests, never content.

    `digest` is of the memory id, the claim, the slot or the session, by `scope`; of a wording it is the fingerprint
    (`domain/fingerprint`). `context` is what the forgetting writer
    had seen; `dot` names the Forget itself. A memory's tombstone keeps the digests of its claims (32 bytes
    each), so that a second Forget of it stops the same claims again. A session's keeps those of the turns that
    what was forgotten came from: what is made of the session later is not to repeat them.
    """

    scope: TombstoneScope
    digest: bytes
    dot: Dot
    context: VectorClock
    at: datetime
    revision: Revision
    claims: tuple[bytes, ...] = ()


@dataclass(frozen=True, slots=True)
class StoredOutcome:
    """The answer given to a change, kept so that a retry gets the same one (B2).

    Attributes:
        payload_digest: salted digest of what was asked; a retry with another payload is refused.
        outcome: the first answer, as JSON-compatible data without memory text (ids, versions, effects).
    """

    operation: str
    request_id: str
    dot: Dot
    payload_digest: bytes
    outcome: Mapping[str, object]
    revision: Revision
    at: datetime


@dataclass(frozen=True, slots=True)
class ChangeRecord:
    """One accepted change: which revision its dot made, and who made it."""

    revision: Revision
    dot: Dot
    operation: str
    actor: str
    agent: str
    at: datetime


@dataclass(frozen=True, slots=True)
class DeviceRecord:
    """What is known of one device of an owner.

    Attributes:
        counter: its highest accepted change.
        retirement: set once its changes were folded into the retired actor.
    """

    device: DeviceId
    counter: int
    last_seen: datetime | None = None
    retirement: Retirement | None = None


@dataclass(frozen=True, slots=True)
class JobRequest:
    """Work to be done later for one owner, off the request path (P2).

    Attributes:
        name: the kind of work; whoever does it is registered under it.
        data: what to work on, as JSON-compatible data: ids and numbers, never what a memory or a person says, since
            forgetting does not look for it here.
        key: while a job of the same owner, name and key waits or runs no second one is added; "" for no such bound.
            A worker may have read before a change that comes while it runs, so a key must name the work (a
            revision, an episode) unless another look comes by itself.
        priority: greater ones go first; among equal ones the older.
        delay: how long to wait first.
    """

    name: str
    data: Mapping[str, object] = field(default_factory=dict)
    key: str = ""
    priority: int = 0
    delay: timedelta = timedelta()


@dataclass(frozen=True, slots=True)
class Changeset:
    """Everything that one commit writes, decided by the domain beforehand.

    Attributes:
        state: the owner's state after it.
        versions: new versions, each becoming the head of its memory.
        usage: use counters to set together with them (only for the memories named).
        forgotten: memories whose heads, fragments and links go and whose versions are redacted: text,
            assertion, topic, slot, claim, tags, reason and provenance reference are emptied, `redacted` is
            set. Reasons in their journal before this change are emptied as well: they are a caller's free text.
        unsaid: texts that these memories were searched by because another memory said so, which is forgotten: their
            fragments go, in every content version.
        outcomes: one for each accepted request in the commit.
        changes: one for each accepted change in the commit.
        retired: devices folded into the retired actor; `state.clock` no longer names them.
        jobs: work that follows from it: enqueued if, and only if, it is committed.
        thawed: memories that come back from cold storage, before anything else is written of them; their
            searchable fragments are among `fragments`.
    """

    state: OwnerState
    versions: Sequence[MemoryVersion] = ()
    usage: Mapping[MemoryId, Usage] = field(default_factory=dict)
    fragments: Sequence[Fragment] = ()
    links: Sequence[Link] = ()
    journal: Sequence[JournalEntry] = ()
    tombstones: Sequence[Tombstone] = ()
    forgotten: Sequence[MemoryId] = ()
    unsaid: Sequence[tuple[MemoryId, str]] = ()
    outcomes: Sequence[StoredOutcome] = ()
    changes: Sequence[ChangeRecord] = ()
    retired: Mapping[DeviceId, Retirement] = field(default_factory=dict)
    jobs: Sequence[JobRequest] = ()
    thawed: Sequence[MemoryId] = ()

    def device_counters(self, before: OwnerState) -> dict[DeviceId, int]:
        """The counters of devices that wrote, moved in the clock or are retired; `before` is the state it follows."""
        counters: dict[DeviceId, int] = {}
        for dot, _ in self._made():
            counters[dot.device] = max(dot.counter, counters.get(dot.device, 0))
        for device, counter in self.state.clock.items():
            if device in counters or before.clock.counter(device) != counter:
                counters[device] = counter
        for device, retirement in self.retired.items():
            counters[device] = max(retirement.counter, counters.get(device, 0))
        return counters

    def devices_seen(self) -> dict[DeviceId, datetime]:
        """When each device that wrote did so last."""
        seen: dict[DeviceId, datetime] = {}
        for dot, at in self._made():
            seen[dot.device] = max(at, seen.get(dot.device, at))
        return seen

    def _made(self) -> list[tuple[Dot, datetime]]:
        return [(o.dot, o.at) for o in self.outcomes] + [(c.dot, c.at) for c in self.changes]


@dataclass(frozen=True, slots=True)
class MemoryFilter:
    """Which memories; every given condition must hold, an empty one holds for all (E13, S6, P6).

    Attributes:
        tags_all, tags_any: has all of them / at least one of them.
        said_from, said_until: half-open range of `said_at`, or of `recorded_at` where `said_at` is absent.
        valid_at: held in the world at this time.
        agents, devices, sessions: provenance is one of these.
        visible_to_agent: private memories of other agents are left out; None leaves none out.
    """

    ids: frozenset[MemoryId] = frozenset()
    kinds: frozenset[Kind] = frozenset()
    statuses: frozenset[Status] = frozenset()
    tiers: frozenset[Tier] = frozenset()
    sources: frozenset[Source] = frozenset()
    tags_all: frozenset[str] = frozenset()
    tags_any: frozenset[str] = frozenset()
    topics: frozenset[str] = frozenset()
    slots: frozenset[str] = frozenset()
    subjects: frozenset[str] = frozenset()
    predicates: frozenset[str] = frozenset()
    agents: frozenset[str] = frozenset()
    devices: frozenset[str] = frozenset()
    sessions: frozenset[str] = frozenset()
    said_from: datetime | None = None
    said_until: datetime | None = None
    valid_at: datetime | None = None
    importance_min: float = 0.0
    confidence_min: float = 0.0
    visible_to_agent: str | None = None


@dataclass(frozen=True, slots=True)
class SearchRow:
    """A memory together with the fragments that search it."""

    head: MemoryHead
    fragments: Sequence[Fragment]


@dataclass(frozen=True, slots=True)
class ColdFile:
    """A file of cold storage as the store knows it.

    Attributes:
        live: how many memories lie in it.
        gone: memories that it holds and must not: they were forgotten, or are hot again.
    """

    name: str
    live: int
    gone: tuple[MemoryId, ...] = ()


@dataclass(frozen=True, slots=True)
class SearchRows:
    """What a snapshot is built from.

    Attributes:
        revision: the owner's revision these rows are of, read in the same database snapshot.
        clock: the owner's clock at it.
        rows: memories, in (created_at, id) order.
        removed: for a delta, memories that no longer belong in the snapshot.
    """

    revision: Revision
    clock: VectorClock
    rows: Sequence[SearchRow]
    removed: Sequence[MemoryId] = ()
