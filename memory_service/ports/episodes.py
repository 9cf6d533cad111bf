"""The port to the episodic log: what was said and done, append-only, to be learned from later (C1, C2).

Contract, for every backend (held by the suite in `tests/contracts/test_episode_log.py`):

* **Once.** A turn of a session is in the log once, however often and by however many it is appended. It is durable,
  and so is the task to learn from it, in the same commit, when `append` returns.
* **Append-only.** Nothing of an episode changes but two marks: that it is barred, that it was reflected on.
* **Barred is barred.** A barred episode is never given to anybody again.
* **Forgotten with the memory.** A change of the memory store that forgets a memory also bars and empties, in its
  commit, the episodes that its versions name as their source: provenance `session` and `reference`, the turn's id.
  One that is not in the log, or on its way into it, is barred ahead: `append` passes over it for ever.
* **One owner**, and the errors of `MemoryStore`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from memory_service.domain.ids import OwnerKey
from memory_service.domain.records import JobRequest
from memory_service.domain.session.model import SessionId, ToolStatus, TurnRole, TurnTag


@dataclass(frozen=True, slots=True, kw_only=True)
class Episode:
    """One event (C2).

    Attributes:
        session, turn_id: name it.
        recorded_at: when the service took it; said_at: when it was said, as its writer tells it.
        actor: who spoke; `agent` is whose conversation it was, `credential` who sent it.
        reflected: whether it was learned from.
    """

    session: SessionId
    turn_id: str
    recorded_at: datetime
    actor: TurnRole
    content: str
    said_at: datetime | None = None
    agent: str = ""
    credential: str = ""
    action: str = ""
    tool: str = ""
    tool_status: ToolStatus | None = None
    feedback: str = ""
    tags: tuple[TurnTag, ...] = ()
    reflected: bool = False


@dataclass(frozen=True, slots=True)
class LearningTask:
    """A session with episodes to learn from; `due_at` is when to (C4), `urgent` that the user corrected something."""

    owner: OwnerKey
    session: SessionId
    waiting: int
    first_at: datetime
    due_at: datetime
    urgent: bool


@dataclass(frozen=True, slots=True)
class LearningBacklog:
    """How much there is to learn from: sessions, episodes, and since when the oldest is due (None: none is)."""

    sessions: int
    episodes: int
    oldest_due_at: datetime | None


class EpisodeLog(Protocol):
    """The log of all owners; see the module's contract."""

    async def append(
        self,
        owner: OwnerKey,
        episodes: Sequence[Episode],
        *,
        due_at: datetime,
        due_count: int,
        now: datetime,
        job: JobRequest | None = None,
    ) -> int:
        """Add what is not there yet, all of one session, and see that it will be learned from; how many were new.

        The session's task is due at `due_at`; at once when `due_count` episodes wait for it, or one is a correction.
        `job` is enqueued if, and only if, something new is committed.
        """
        ...

    async def waiting(self, owner: OwnerKey, session: SessionId, *, limit: int) -> Sequence[Episode]:
        """Episodes of a session that were not reflected on and are not barred, in order."""
        ...

    async def reflected(self, owner: OwnerKey, session: SessionId, turn_ids: Sequence[str], now: datetime) -> None:
        """Mark episodes as reflected on; their session's task is done when none is left."""
        ...

    async def bar(self, owner: OwnerKey, session: SessionId, turn_ids: Sequence[str]) -> int:
        """Bar episodes from ever being read again; how many were newly barred."""
        ...

    async def due(self, now: datetime, *, limit: int) -> Sequence[LearningTask]:
        """Tasks that are due, corrections first, then the longest due."""
        ...

    async def task(self, owner: OwnerKey, session: SessionId) -> LearningTask | None:
        """The task of one session, None when nothing waits."""
        ...

    async def backlog(self, now: datetime) -> LearningBacklog:
        """How much waits."""
        ...

    async def prepare(self, now: datetime) -> int:
        """Make room for the coming months, ahead of time; how much was made. Harmless to repeat."""
        ...
