"""`EpisodeLog` on PostgreSQL."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from memory_service.adapters.postgres import sql_episodes, sql_jobs, sql_writing
from memory_service.adapters.postgres.columns import array_literal
from memory_service.adapters.postgres.job_queue import enqueue_parameters
from memory_service.adapters.postgres.session import Database, Session
from memory_service.domain.ids import MemoryId, OwnerKey, TenantId, UserId
from memory_service.domain.records import JobRequest
from memory_service.domain.session.model import SessionId, ToolStatus, TurnRole, TurnTag, started_at
from memory_service.ports.episodes import Episode, LearningBacklog, LearningTask

_URGENT = [TurnTag.CORRECTION.value]
_MONTHS_AHEAD = 4
_BEHIND = timedelta(days=31)


class PostgresEpisodeLog:
    """See `EpisodeLog`. Made by `PostgresBackend`.

    An append is one statement and takes no lock of the owner: episodes change nothing that anybody else decides by.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

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
        """Add what is not there yet, with the task to learn from it and the job that does."""
        if not episodes:
            return 0
        session = episodes[0].session
        columns = zip(*(_record(place, episode) for place, episode in enumerate(episodes)), strict=True)
        parameters = (*_key(session), now, due_at, due_count, _URGENT)
        async with self._database.change(owner.id) as change:
            await change.run(sql_writing.ADD_OWNER, owner.tenant, owner.user)
            arrays = (list(column) for column in columns)
            new = int(await change.value(sql_episodes.APPEND_EPISODES, *parameters, *arrays))
            if new and job is not None:
                await change.ownerless(sql_jobs.ENQUEUE, *enqueue_parameters([(owner, job)]))
        return new

    async def waiting(self, owner: OwnerKey, session: SessionId, *, limit: int) -> Sequence[Episode]:
        """Episodes not reflected on and not barred, in order."""
        async with self._database.reading(owner.id) as reading:
            found = await reading.rows(sql_episodes.EPISODES_WAITING, *_key(session), limit)
        return [_episode(session, row) for row in found]

    async def reflected(self, owner: OwnerKey, session: SessionId, turn_ids: Sequence[str], now: datetime) -> None:
        """Mark episodes as reflected on; the task goes with the last of them."""
        async with self._database.change(owner.id) as change:
            await change.run(sql_episodes.EPISODES_REFLECTED, *_key(session), list(turn_ids), now)

    async def bar(self, owner: OwnerKey, session: SessionId, turn_ids: Sequence[str]) -> int:
        """Bar episodes; how many were newly barred."""
        async with self._database.change(owner.id) as change:
            return int(await change.value(sql_episodes.EPISODES_BAR, *_key(session), list(turn_ids)))

    async def due(self, now: datetime, *, limit: int) -> Sequence[LearningTask]:
        """Tasks that are due, corrections first."""
        found = await self._database.fetch(sql_episodes.LEARNING_DUE, now, limit)
        return [
            LearningTask(
                OwnerKey(TenantId(row["tenant"]), UserId(row["user_id"])),
                SessionId(str(row["session"])),
                row["waiting"],
                row["first_at"],
                row["due_at"],
                row["urgent"],
            )
            for row in found
        ]

    async def task(self, owner: OwnerKey, session: SessionId) -> LearningTask | None:
        """The task of one session."""
        async with self._database.reading(owner.id) as reading:
            row = await reading.row(sql_episodes.LEARNING_TASK, uuid.UUID(session))
        if row is None:
            return None
        return LearningTask(owner, session, row["waiting"], row["first_at"], row["due_at"], row["urgent"])

    async def backlog(self, now: datetime) -> LearningBacklog:
        """How much waits."""
        (row,) = await self._database.fetch(sql_episodes.LEARNING_BACKLOG, now)
        return LearningBacklog(row["sessions"], row["episodes"], row["oldest_due_at"])

    async def prepare(self, now: datetime) -> int:
        """Make the partitions of this month, the one before and the next ones."""
        (row,) = await self._database.fetch(sql_episodes.EPISODES_PREPARE, now - _BEHIND, _MONTHS_AHEAD)
        return int(row[0])


async def forget_episodes(change: Session, memories: Sequence[MemoryId]) -> None:
    """Bar and empty the episodes that these memories name as their source, before these are emptied themselves.

    Those not in the log (yet) are barred ahead.
    """
    by_session: dict[str, list[str]] = {}
    for session, turn_id in await change.rows(sql_episodes.EPISODE_SOURCES, list(memories)):
        by_session.setdefault(session, []).append(turn_id)
    for session, turn_ids in by_session.items():
        try:
            key = _key(SessionId(session))
        except ValueError:
            continue  # the caller's own name for a conversation: not a session of ours
        await change.run(sql_episodes.EPISODES_BAR_AHEAD, *key, turn_ids)
        await change.run(sql_episodes.EPISODES_FORGET, *key, turn_ids)


def _key(session: SessionId) -> tuple[datetime, uuid.UUID]:
    return started_at(session), uuid.UUID(session)


def _record(place: int, episode: Episode) -> tuple[object, ...]:
    """The values of `EPISODE_COLUMNS`."""
    return (
        episode.turn_id,
        place,
        episode.recorded_at,
        episode.said_at,
        episode.actor.value,
        episode.agent,
        episode.credential,
        episode.action,
        episode.content,
        episode.tool,
        episode.tool_status.value if episode.tool_status else "",
        episode.feedback,
        array_literal([tag.value for tag in episode.tags]),
    )


def _episode(session: SessionId, row: Any) -> Episode:
    return Episode(
        session=session,
        turn_id=row["turn_id"],
        recorded_at=row["recorded_at"],
        actor=TurnRole(row["actor"]),
        content=row["content"],
        said_at=row["said_at"],
        agent=row["agent"],
        credential=row["credential"],
        action=row["action"],
        tool=row["tool"],
        tool_status=ToolStatus(row["tool_status"]) if row["tool_status"] else None,
        feedback=row["feedback"],
        tags=tuple(TurnTag(tag) for tag in row["tags"]),
    )
