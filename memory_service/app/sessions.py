"""Create, Get, List, Update and End of sessions (F4, S1). Turns are added by `AddTurns`."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from memory_service.app.session_fields import check_changes, version_of
from memory_service.app.session_memos import Memo, Memos, turns_of
from memory_service.app.tokens import Tokens
from memory_service.app.validation import check_count, check_name
from memory_service.domain import limits
from memory_service.domain.errors import InvalidInput, MemoryServiceError, Reason
from memory_service.domain.ids import OwnerKey
from memory_service.domain.session.failures import session_not_found
from memory_service.domain.session.model import (
    SLOTS,
    FieldChange,
    SessionFacts,
    SessionId,
    SessionView,
    session_id,
    started_at,
)
from memory_service.domain.slots import payload_digest
from memory_service.ports.clock import Clock, Ids
from memory_service.ports.sessions import SessionLine, SessionStore, Updated
from memory_service.ports.snapshots import Requirement, SnapshotSource
from memory_service.ports.telemetry import Telemetry

VERSION_MAX = 10**15


@dataclass(frozen=True, slots=True)
class ListedSessions:
    """A page of sessions; `next_token` is "" on the last."""

    lines: Sequence[SessionLine]
    next_token: str


@dataclass(frozen=True, slots=True)
class Sessions:
    """The use cases. `records`, `recorded_tenants`: whether sessions (of a tenant) go to the episodic log."""

    store: SessionStore
    snapshots: SnapshotSource
    memos: Memos
    tokens: Tokens
    clock: Clock
    ids: Ids
    telemetry: Telemetry
    records: bool = False
    recorded_tenants: Mapping[str, bool] = field(default_factory=dict)
    _warming: set[asyncio.Task[None]] = field(default_factory=set)

    async def create(
        self,
        owner: OwnerKey,
        *,
        agent: str = "",
        record_episodes: bool | None = None,
        changes: Sequence[FieldChange] = (),
        request_id: str = "",
    ) -> SessionView:
        """Begin a session, and load the owner's memories meanwhile (F9).

        Raises:
            InvalidInput: for a field over its limit, or a slot: nobody has answered anything yet.
            Conflict: REQUEST_ID_REUSED. LimitExceeded: QUOTA_EXCEEDED. Unavailable: working memory is away.
        """
        check_name(agent, "agent")
        check_name(request_id, "request_id", limit=limits.REQUEST_ID_CHARS_MAX)
        if changes:
            check_changes(changes)
        if any(change.path.startswith(SLOTS) for change in changes):
            raise InvalidInput(
                Reason.FIELD_INVALID, "a session begins without slots: nobody has answered yet", field="state.slots"
            )
        digest = _digest(agent, record_episodes, changes) if request_id else ""
        if record_episodes is None:
            record_episodes = self.recorded_tenants.get(owner.tenant, self.records)
        now = self.clock.now()
        facts = SessionFacts(
            id=session_id(now, self.ids.new()),
            started_at=now,
            agent=agent,
            record_episodes=record_episodes,
            request_id=request_id,
        )
        made = await self.store.create(owner, facts, now, digest)
        self.prewarm(owner)
        if changes:
            await self.store.update(
                owner, made, changes, device="", etag_version=None, seen_version=None, now=self.clock.now()
            )
        view = await self.get(owner, made, turns=limits.SESSION_TURNS_MAX)
        self.memos.put(owner, made, Memo(view.facts, view.block, view.turn_count, turns_of(view.turns)))
        self.telemetry.count("sessions_created_total")
        return view

    def prewarm(self, owner: OwnerKey) -> None:
        """Load the owner's memories in the background; when that fails, the first recall does it."""

        async def load() -> None:
            try:
                await self.snapshots.snapshot(owner, Requirement())
            except MemoryServiceError as error:
                self.telemetry.count("session_prewarm_failures_total", reason=error.reason.value)

        task = asyncio.create_task(load())
        self._warming.add(task)
        task.add_done_callback(self._warming.discard)

    async def close(self) -> None:
        """End what runs in the background."""
        for task in list(self._warming):
            task.cancel()
        await asyncio.gather(*self._warming, return_exceptions=True)

    async def get(self, owner: OwnerKey, session: str, *, turns: int) -> SessionView:
        """A session with its newest turns; looking at it does not keep it.

        Raises:
            NotFound: SESSION_NOT_FOUND. InvalidInput: for too many turns. Unavailable: working memory is away.
        """
        check_count(turns, "turns", minimum=0, maximum=limits.SESSION_TURNS_MAX)
        return await self.store.read(owner, known_id(session), turns=turns, touch=False, now=self.clock.now())

    async def list(self, owner: OwnerKey, *, page_size: int = 0, page_token: str = "") -> ListedSessions:
        """A page of sessions, newest first.

        Raises:
            InvalidInput: for an unusable page size or token. Unavailable: working memory is away.
        """
        check_count(page_size, "page_size", minimum=0, maximum=limits.PAGE_SIZE_MAX)
        after = SessionId(self.tokens.session_after(owner, page_token, "page_token")) if page_token else None
        page = await self.store.list(owner, after=after, limit=page_size or limits.PAGE_SIZE_DEFAULT)
        following = page.next_after
        return ListedSessions(page.lines, self.tokens.session_page(owner, following) if following else "")

    async def update(
        self,
        owner: OwnerKey,
        session: str,
        changes: Sequence[FieldChange],
        *,
        etag: str = "",
        seen_version: int | None = None,
        device: str = "",
    ) -> Updated:
        """Change fields, all or none; see `SessionStore.update` for what is refused.

        Fields of different names merge. Of one name the later change stands, and its writer is told what it
        overwrote without having seen it.
        """
        check_changes(changes)
        check_name(device, "device")
        if seen_version is not None:
            check_count(seen_version, "seen_version", minimum=0, maximum=VERSION_MAX)
        updated = await self.store.update(
            owner,
            known_id(session),
            changes,
            device=device,
            etag_version=version_of(etag),
            seen_version=seen_version,
            now=self.clock.now(),
        )
        if updated.overwritten:
            self.telemetry.count("session_overwritten_total", len(updated.overwritten))
        return updated

    async def end(self, owner: OwnerKey, session: str) -> SessionView:
        """End a session; ending it again is harmless.

        Raises:
            NotFound: SESSION_NOT_FOUND. Unavailable: working memory is away.
        """
        known = known_id(session)
        await self.store.end(owner, known, self.clock.now())
        self.memos.drop(owner, known)
        return await self.get(owner, known, turns=0)


def _digest(agent: str, record_episodes: bool | None, changes: Sequence[FieldChange]) -> str:
    """What tells a repeated request from another one under its id."""
    asked = {change.path: change.value for change in changes}
    return payload_digest(b"", "create_session", [agent, record_episodes, asked]).hex()


def known_id(session: str) -> SessionId:
    """The id as such.

    Raises:
        InvalidInput: FIELD_REQUIRED when empty, FIELD_TOO_LONG. NotFound: what is no id names no session.
    """
    check_name(session, "session_id", required=True)
    try:
        started_at(SessionId(session))
    except (ValueError, OverflowError, OSError):
        raise session_not_found() from None
    return SessionId(session)
