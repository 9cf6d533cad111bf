"""`EpisodeLog` in this process's memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from memory_service.adapters.inmemory.job_queue import InMemoryJobQueue
from memory_service.domain.ids import OwnerKey
from memory_service.domain.records import JobRequest
from memory_service.domain.session.model import SessionId, TurnRole, TurnTag, started_at
from memory_service.ports.episodes import Episode, LearningBacklog, LearningTask

_Key = tuple[OwnerKey, SessionId]


@dataclass(slots=True)
class _Kept:
    episode: Episode
    barred: bool = False


class InMemoryEpisodeLog:
    """See `EpisodeLog`. `jobs` is where what follows from an append is enqueued."""

    def __init__(self, jobs: InMemoryJobQueue | None = None) -> None:
        self._jobs = jobs
        self._episodes: dict[_Key, dict[str, _Kept]] = {}
        self._tasks: dict[_Key, LearningTask] = {}

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
        key = (owner, episodes[0].session)
        mine = self._episodes.setdefault(key, {})
        new = [episode for episode in episodes if episode.turn_id not in mine]
        mine.update((episode.turn_id, _Kept(episode)) for episode in new)
        if new:
            task = self._tasks.get(key) or LearningTask(owner, key[1], 0, now, due_at, urgent=False)
            urgent = task.urgent or any(TurnTag.CORRECTION in episode.tags for episode in new)
            waiting = task.waiting + len(new)
            hurried = urgent or waiting >= due_count
            due = min(task.due_at, now) if hurried else max(task.due_at, due_at)
            self._tasks[key] = replace(task, waiting=waiting, urgent=urgent, due_at=due)
            if job is not None and self._jobs is not None:
                await self._jobs.enqueue(owner, job)
        return len(new)

    async def waiting(self, owner: OwnerKey, session: SessionId, *, limit: int) -> Sequence[Episode]:
        """Episodes not reflected on and not barred, in order."""
        kept = self._episodes.get((owner, session), {}).values()
        found = [item.episode for item in kept if not item.barred and not item.episode.reflected]
        return sorted(found, key=lambda episode: episode.recorded_at)[:limit]

    async def reflected(self, owner: OwnerKey, session: SessionId, turn_ids: Sequence[str], now: datetime) -> None:
        """Mark episodes as reflected on."""
        del now
        mine = self._episodes.get((owner, session), {})
        done = [mine[i] for i in dict.fromkeys(turn_ids) if i in mine and not mine[i].episode.reflected]
        for item in done:
            item.episode = replace(item.episode, reflected=True)
        self._fewer((owner, session), sum(not item.barred for item in done))

    async def bar(self, owner: OwnerKey, session: SessionId, turn_ids: Sequence[str]) -> int:
        """Bar episodes; how many were newly barred."""
        mine = self._episodes.get((owner, session), {})
        return self._bar((owner, session), [mine[i] for i in dict.fromkeys(turn_ids) if i in mine])

    def _bar(self, key: _Key, named: Sequence[_Kept]) -> int:
        barred = [item for item in named if not item.barred]
        for item in barred:
            item.barred = True
        self._fewer(key, sum(not item.episode.reflected for item in barred))
        return len(barred)

    def forget(self, owner: OwnerKey, sources: Sequence[tuple[SessionId, str]]) -> None:
        """Bar and empty the episodes of these sessions and turns, those that are not there (yet) ahead.

        Without awaiting: part of a commit.
        """
        for session, turn_id in sources:
            if not turn_id:
                continue
            try:
                began = started_at(session)
            except ValueError:
                continue  # the caller's own name for a conversation: not a session of ours
            mine = self._episodes.setdefault((owner, session), {})
            if turn_id not in mine:
                stub = Episode(session=session, turn_id=turn_id, recorded_at=began, actor=TurnRole.USER, content="")
                mine[turn_id] = _Kept(stub, barred=True)
            item = mine[turn_id]
            item.episode = replace(item.episode, content="", action="", feedback="")
            self._bar((owner, session), [item])

    def _fewer(self, key: _Key, number: int) -> None:
        task = self._tasks.get(key)
        if task is None:
            return
        if task.waiting <= number:
            del self._tasks[key]
        else:
            self._tasks[key] = replace(task, waiting=task.waiting - number)

    async def due(self, now: datetime, *, limit: int) -> Sequence[LearningTask]:
        """Tasks that are due, corrections first."""
        found = [task for task in self._tasks.values() if task.due_at <= now]
        return sorted(found, key=lambda t: (not t.urgent, t.due_at, str(t.owner.id), t.session))[:limit]

    async def task(self, owner: OwnerKey, session: SessionId) -> LearningTask | None:
        """The task of one session."""
        return self._tasks.get((owner, session))

    async def backlog(self, now: datetime) -> LearningBacklog:
        """How much waits."""
        tasks = self._tasks.values()
        oldest = min((task.due_at for task in tasks if task.due_at <= now), default=None)
        return LearningBacklog(len(tasks), sum(task.waiting for task in tasks), oldest)

    async def prepare(self, now: datetime) -> int:
        """Nothing has to be made ahead."""
        del now
        return 0
