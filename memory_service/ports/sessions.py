"""The port to working memory: sessions of an owner, which live for a while and are never on disk (F4).

Contract, for every backend (held by the suite in `tests/contracts/test_session_store.py`):

* **Whole steps.** Each method is one atomic step: it happens entirely or not at all, whatever dies meanwhile, and
  with it the time to live of everything it touched. Steps on one session have an order, the same for all observers.
* **Nothing for ever.** Turns and fields are released once nobody touched the session for `idle_seconds`; facts
  and blocks after `block_seconds`. `read(touch=False)` and `list` do not touch. A release moves the version.
* **Whole or released.** A backend that loses a part of a session (one that evicts) has released it; one that loses
  its facts or blocks has it no more.
* **Bounded.** `SessionLimits` holds after every step: the oldest turns, ids and blocks leave; more fields or sessions
  are refused.
* **One owner.** A session is found under its owner only.
* **Errors.** `NotFound(SESSION_NOT_FOUND)`, `FailedPrecondition(SESSION_ENDED)` for changes of one that has ended,
  `Unavailable(REDIS_UNAVAILABLE)` when the backend is away, `LimitExceeded(STORAGE_FULL)` when it is full. After a
  failure the step may have happened; repeating it is harmless, since turns are known by their ids and an update
  by the version it was made on.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from memory_service.domain import limits
from memory_service.domain.ids import OwnerKey
from memory_service.domain.session.model import (
    FieldChange,
    KeptTurn,
    SessionFacts,
    SessionId,
    SessionStatus,
    SessionView,
    StateBlock,
    StateField,
)


@dataclass(frozen=True, slots=True)
class SessionLimits:
    """How long sessions live, in seconds, and how much they may hold."""

    idle_seconds: float = 1_800.0
    block_seconds: float = 86_400.0
    turns_max: int = limits.SESSION_TURNS_MAX
    turn_bytes_max: int = limits.SESSION_TURN_BYTES_MAX
    turn_ids_max: int = limits.SESSION_TURN_IDS_MAX
    fields_max: int = limits.SESSION_FIELDS_MAX
    blocks_max: int = 2 * limits.SESSION_BLOCKS_MAX
    sessions_max: int = limits.SESSIONS_PER_OWNER_MAX_DEFAULT


@dataclass(frozen=True, slots=True)
class Basis:
    """What turns were read against: the session they were thought to follow on."""

    block_sequence: int
    turn_count: int


@dataclass(frozen=True, slots=True)
class Appended:
    """Turns are in; `block_count` counts the blocks kept now."""

    turn_count: int
    block_count: int


@dataclass(frozen=True, slots=True)
class Behind:
    """Nothing was done: the basis is not the session's, or some turns are there already.

    Attributes:
        facts, block, turn_count: as they are.
        recent: the newest turns, oldest first.
        known: ids, among those offered, of turns that are there.
    """

    facts: SessionFacts
    block: StateBlock | None
    turn_count: int
    recent: Sequence[KeptTurn]
    known: frozenset[str]

    @property
    def basis(self) -> Basis:
        """What to read the turns against."""
        return Basis(self.block.sequence if self.block else 0, self.turn_count)


@dataclass(frozen=True, slots=True)
class Updated:
    """Fields are changed. `overwritten`: what another writer had set meanwhile, and this one had not seen."""

    version: int
    overwritten: Sequence[StateField]


@dataclass(frozen=True, slots=True)
class SessionLine:
    """One session in a list."""

    facts: SessionFacts
    status: SessionStatus
    version: int
    last_active_at: datetime
    turn_count: int
    topic: str


@dataclass(frozen=True, slots=True)
class SessionPage:
    """Sessions, newest first; `next_after` is None on the last page."""

    lines: Sequence[SessionLine]
    next_after: SessionId | None


class SessionStore(Protocol):
    """Working memory of all owners; see the module's contract."""

    async def create(self, owner: OwnerKey, facts: SessionFacts, now: datetime, digest: str = "") -> SessionId:
        """Begin a session, unless one was begun with this request id already: then that one's id.

        Args:
            digest: of what was asked for, so that another request under the same id is told.

        Raises:
            Conflict: REQUEST_ID_REUSED.
            LimitExceeded: QUOTA_EXCEEDED when the owner has `sessions_max` that have not expired.
        """
        ...

    async def append(
        self,
        owner: OwnerKey,
        session: SessionId,
        turns: Sequence[KeptTurn],
        basis: Basis | None,
        block: StateBlock | None,
        now: datetime,
    ) -> Appended | Behind:
        """Add turns and, when given, their new block; all are new turns, and the session is at `basis`.

        With `basis` None only the ids are looked at. No turns: looks whether the session is there, and touches it.
        """
        ...

    async def update(
        self,
        owner: OwnerKey,
        session: SessionId,
        changes: Sequence[FieldChange],
        *,
        device: str,
        etag_version: int | None,
        seen_version: int | None,
        now: datetime,
    ) -> Updated:
        """Change fields, all or none.

        Raises:
            Conflict: ETAG_MISMATCH unless the session is at `etag_version`, when given.
            InvalidInput: FIELD_OUT_OF_RANGE for a `seen_version` that the session has not reached.
            FailedPrecondition: SLOT_NOT_ANSWERED when a change's `answered_by` names no kept turn that answers.
            LimitExceeded: QUOTA_EXCEEDED for more than `fields_max` fields.
        """
        ...

    async def read(
        self, owner: OwnerKey, session: SessionId, *, turns: int, touch: bool, now: datetime
    ) -> SessionView:
        """The session with its newest `turns`; ended ones too. `touch` counts as use."""
        ...

    async def list(self, owner: OwnerKey, *, after: SessionId | None, limit: int) -> SessionPage:
        """Sessions, newest first, strictly after `after`; ended ones too."""
        ...

    async def end(self, owner: OwnerKey, session: SessionId, now: datetime) -> None:
        """End it: turns and fields go at once, facts and blocks after `block_seconds`. Ending twice is harmless."""
        ...

    async def blocks(self, owner: OwnerKey, session: SessionId) -> Sequence[StateBlock]:
        """The blocks kept, oldest first; empty for an unknown session."""
        ...

    async def drop_blocks(self, owner: OwnerKey, session: SessionId, upto: int) -> None:
        """Drop the blocks up to this sequence. The newest one always stays."""
        ...

    async def forget_turns(
        self, owner: OwnerKey, session: SessionId, turn_ids: Collection[str], now: datetime, revision: int
    ) -> None:
        """Empty these turns, remove the slots filled from them, and begin the state anew, whatever it was made of.

        The turns keep their place and id: sent again, they are the same, but no slot is filled from them any more.
        The new state has `revision`, the owner's after the Forget, as its `forgot_at`; turns that were read against
        the state before are refused (`Behind`). It does not touch. Nothing happens to an unknown session; of one
        that ended, or was released, the state goes.
        """
        ...

    async def ping(self) -> None:
        """Raise `Unavailable` unless the backend answers."""
        ...
