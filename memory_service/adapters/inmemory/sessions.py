"""`SessionStore` in this process's memory."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from memory_service.domain.errors import Reason, Unavailable
from memory_service.domain.ids import OwnerKey
from memory_service.domain.session.failures import (
    etag_mismatch,
    not_answered,
    request_id_reused,
    session_ended,
    session_not_found,
    too_many_fields,
    too_many_sessions,
    unseen_version,
)
from memory_service.domain.session.model import (
    FieldChange,
    KeptTurn,
    SessionFacts,
    SessionId,
    SessionStatus,
    SessionView,
    StateBlock,
    StateField,
    emptied,
)
from memory_service.ports.clock import Clock
from memory_service.ports.sessions import (
    Appended,
    Basis,
    Behind,
    SessionLimits,
    SessionLine,
    SessionPage,
    Updated,
)

_RECENT = 6


@dataclass(slots=True)
class _Kept:
    """One session; `idle_until` is when turns and fields go, `until` when all does."""

    facts: SessionFacts
    idle_until: datetime
    until: datetime
    last_active_at: datetime
    digest: str
    version: int = 1
    turn_count: int = 0
    ended: bool = False
    live: bool = True
    fields: dict[str, StateField] = field(default_factory=dict)
    turns: list[KeptTurn] = field(default_factory=list)
    ids: dict[str, bool] = field(default_factory=dict)
    blocks: list[StateBlock] = field(default_factory=list)

    @property
    def block(self) -> StateBlock | None:
        return self.blocks[-1] if self.blocks else None

    @property
    def basis(self) -> Basis:
        return Basis(self.blocks[-1].sequence if self.blocks else 0, self.turn_count)


class InMemorySessionStore:
    """See `SessionStore`. `away` makes every call `Unavailable`, for tests of callers."""

    def __init__(self, clock: Clock, given: SessionLimits | None = None) -> None:
        self._clock = clock
        self._limits = given or SessionLimits()
        self._sessions: dict[OwnerKey, dict[SessionId, _Kept]] = {}
        self.away = False

    async def create(self, owner: OwnerKey, facts: SessionFacts, now: datetime, digest: str = "") -> SessionId:
        """Begin a session, or find the one begun with this request id."""
        mine = self._of(owner)
        for kept in mine.values():
            if facts.request_id and kept.facts.request_id == facts.request_id:
                if kept.digest != digest:
                    raise request_id_reused()
                return kept.facts.id
        if len(mine) >= self._limits.sessions_max:
            raise too_many_sessions(self._limits.sessions_max)
        kept = _Kept(facts, now, now, now, digest)
        mine[facts.id] = kept
        self._touch(kept, now)
        return facts.id

    async def append(
        self,
        owner: OwnerKey,
        session: SessionId,
        turns: Sequence[KeptTurn],
        basis: Basis | None,
        block: StateBlock | None,
        now: datetime,
    ) -> Appended | Behind:
        """Add turns and their block."""
        kept = self._open(owner, session)
        known = frozenset(t.turn.id for t in turns if t.turn.id in kept.ids)
        if known or (basis is not None and basis != kept.basis):
            return Behind(kept.facts, kept.block, kept.turn_count, tuple(kept.turns[-_RECENT:]), known)
        for turn in turns:
            kept.turn_count += 1
            kept.turns.append(turn._replace(sequence=kept.turn_count))
            kept.ids[turn.turn.id] = turn.answers
        self._bound(kept)
        if block is not None:
            kept.blocks.append(block)
            del kept.blocks[: -self._limits.blocks_max]
        self._touch(kept, now)
        return Appended(kept.turn_count, len(kept.blocks))

    def _bound(self, kept: _Kept) -> None:
        del kept.turns[: -self._limits.turns_max]
        while len(kept.turns) > 1 and sum(map(_size, kept.turns)) > self._limits.turn_bytes_max:
            del kept.turns[0]
        for old in list(kept.ids)[: max(0, len(kept.ids) - self._limits.turn_ids_max)]:
            del kept.ids[old]

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
        """Change fields, all or none."""
        kept = self._open(owner, session)
        if etag_version is not None and etag_version != kept.version:
            raise etag_mismatch(kept.version)
        if seen_version is not None and seen_version > kept.version:
            raise unseen_version(kept.version)
        for change in changes:
            if change.answered_by and not kept.ids.get(change.answered_by):
                raise not_answered(change.path)
        after = dict(kept.fields)
        overwritten = []
        version = kept.version + 1
        for change in changes:
            present = after.get(change.path)
            if present is not None and seen_version is not None and present.version > seen_version:
                overwritten.append(present)
            if change.removed:
                after.pop(change.path, None)
            else:
                after[change.path] = StateField(change.path, change.value, version, device, change.answered_by)
        if len(after) > self._limits.fields_max:
            raise too_many_fields(self._limits.fields_max)
        kept.fields, kept.version = after, version
        self._touch(kept, now)
        return Updated(version, tuple(overwritten))

    async def read(
        self, owner: OwnerKey, session: SessionId, *, turns: int, touch: bool, now: datetime
    ) -> SessionView:
        """The session with its newest turns."""
        kept = self._find(owner, session)
        if touch and not kept.ended:
            self._touch(kept, now)
        return SessionView(
            facts=kept.facts,
            status=self._status(kept),
            version=kept.version,
            last_active_at=kept.last_active_at,
            turn_count=kept.turn_count,
            fields=dict(sorted(kept.fields.items())),
            turns=tuple(kept.turns[-turns:] if turns else ()),
            block=kept.block,
            block_count=len(kept.blocks),
        )

    async def list(self, owner: OwnerKey, *, after: SessionId | None, limit: int) -> SessionPage:
        """Sessions, newest first."""
        found = sorted((i for i in self._of(owner) if after is None or i < after), reverse=True)
        lines = []
        for session in found[:limit]:
            kept = self._find(owner, session)
            topic = kept.block.topic if kept.block else ""
            lines.append(
                SessionLine(kept.facts, self._status(kept), kept.version, kept.last_active_at, kept.turn_count, topic)
            )
        return SessionPage(lines, found[limit - 1] if len(found) > limit else None)

    async def end(self, owner: OwnerKey, session: SessionId, now: datetime) -> None:
        """End it."""
        kept = self._find(owner, session)
        if kept.ended:
            return
        kept.ended, kept.version = True, kept.version + 1
        self._release(kept)
        self._touch(kept, now)

    async def blocks(self, owner: OwnerKey, session: SessionId) -> Sequence[StateBlock]:
        """The blocks kept, oldest first."""
        kept = self._of(owner).get(session)
        return tuple(kept.blocks) if kept else ()

    async def drop_blocks(self, owner: OwnerKey, session: SessionId, upto: int) -> None:
        """Drop the blocks up to this sequence, but the newest."""
        kept = self._of(owner).get(session)
        if kept is not None:
            kept.blocks = [b for b in kept.blocks[:-1] if b.sequence > upto] + kept.blocks[-1:]

    async def forget_turns(
        self, owner: OwnerKey, session: SessionId, turn_ids: Collection[str], now: datetime, revision: int
    ) -> None:
        """Empty these turns, remove the slots filled from them, and begin the state anew."""
        kept = self._of(owner).get(session)
        if kept is None:
            return
        kept.ids |= {known: False for known in turn_ids if known in kept.ids}
        kept.turns = [emptied(each) if each.turn.id in turn_ids else each for each in kept.turns]
        left = {path: item for path, item in kept.fields.items() if item.answered_by not in turn_ids}
        kept.version += len(left) != len(kept.fields)
        kept.fields = left
        kept.blocks = [StateBlock(sequence=kept.basis.block_sequence + 1, updated_at=now, forgot_at=revision)]

    async def ping(self) -> None:
        """Raise `Unavailable` while away."""
        if self.away:
            raise Unavailable(Reason.REDIS_UNAVAILABLE, "working memory does not answer")

    async def close(self) -> None:
        """Nothing is held open."""

    # Parts -------------------------------------------------------------------------------------------------

    def _of(self, owner: OwnerKey) -> dict[SessionId, _Kept]:
        """The owner's sessions that have not expired, with what is idle for too long released."""
        if self.away:
            raise Unavailable(Reason.REDIS_UNAVAILABLE, "working memory does not answer")
        now = self._clock.now()
        mine = self._sessions.setdefault(owner, {})
        for session, kept in list(mine.items()):
            if kept.until <= now:
                del mine[session]
            elif kept.idle_until <= now and kept.live:
                kept.version += 1
                self._release(kept)
        return mine

    def _find(self, owner: OwnerKey, session: SessionId) -> _Kept:
        kept = self._of(owner).get(session)
        if kept is None:
            raise session_not_found()
        return kept

    def _open(self, owner: OwnerKey, session: SessionId) -> _Kept:
        kept = self._find(owner, session)
        if kept.ended:
            raise session_ended()
        return kept

    def _status(self, kept: _Kept) -> SessionStatus:
        if kept.ended:
            return SessionStatus.ENDED
        return SessionStatus.RELEASED if kept.idle_until <= self._clock.now() else SessionStatus.ACTIVE

    def _touch(self, kept: _Kept, now: datetime) -> None:
        kept.last_active_at = now
        kept.live = not kept.ended
        kept.idle_until = now + timedelta(seconds=self._limits.idle_seconds)
        kept.until = now + timedelta(seconds=self._limits.block_seconds)

    @staticmethod
    def _release(kept: _Kept) -> None:
        kept.live = False
        kept.fields.clear()
        kept.turns.clear()
        kept.ids.clear()


def _size(turn: KeptTurn) -> int:
    return len(turn.turn.text.encode())
