"""What becomes of episodes: room is made for them ahead, what waits is told, what is due is handed to who learns.

Learning itself is the learner's. Without one nothing is consumed: jobs find nothing to do, what waits stays in the
log until there is one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from memory_service.app.add_turns import LEARN, learn_job
from memory_service.domain.session.model import SessionId
from memory_service.ports.clock import Clock
from memory_service.ports.episodes import Episode, EpisodeLog, LearningTask
from memory_service.ports.job_queue import Job, JobQueue
from memory_service.ports.telemetry import Telemetry

_TASKS_AT_ONCE = 100
_EPISODES_AT_ONCE = 200


class Learner(Protocol):
    """Learns from episodes. Called again with the same ones after a failure or a crash, so it must be idempotent."""

    async def __call__(self, task: LearningTask, episodes: Sequence[Episode]) -> None:
        """Learn; the episodes count as reflected on once it returns."""
        ...


@dataclass(frozen=True, slots=True)
class Learning:
    """The consumer of the episodic log: at least once, since an episode is marked after it was learned from.

    As work of the queue it runs the jobs that came with episodes. `tick` enqueues one for each task that is due all
    the same: what waited before there was a learner, or came while the job of its session ran.
    """

    log: EpisodeLog
    queue: JobQueue
    clock: Clock
    telemetry: Telemetry
    learner: Learner | None = None
    job: str = LEARN

    async def prepare(self) -> int:
        """Make room for the coming months; how much was made.

        Raises:
            Unavailable: when the database is away.
        """
        return await self.log.prepare(self.clock.now())

    async def tick(self) -> int:
        """Enqueue what is due and set the gauges; how many jobs are new.

        Raises:
            Unavailable: when the log or the queue is away.
        """
        now = self.clock.now()
        added = 0
        if self.learner is not None:
            for task in await self.log.due(now, limit=_TASKS_AT_ONCE):
                key = f"{task.session}/{task.due_at.isoformat()}"
                request = learn_job(task.session, now - now, urgent=task.urgent, key=key)
                added += await self.queue.enqueue(task.owner, request)
        backlog = await self.log.backlog(now)
        lag = 0.0 if backlog.oldest_due_at is None else (now - backlog.oldest_due_at).total_seconds()
        self.telemetry.gauge("episodes_waiting", backlog.episodes)
        self.telemetry.gauge("episode_sessions_waiting", backlog.sessions)
        self.telemetry.gauge("episode_lag_seconds", max(0.0, lag))
        return added

    async def run(self, job: Job) -> int:
        """Learn from what waits in the job's session; how many episodes were learned from.

        A session that went on since is left for when it is due.
        """
        if self.learner is None:
            return 0
        session = SessionId(str(job.data["session"]))
        now = self.clock.now()
        task = await self.log.task(job.owner, session)
        if task is None or task.due_at > now:
            return 0
        done = 0
        while episodes := await self.log.waiting(job.owner, session, limit=_EPISODES_AT_ONCE):
            await self.learner(task, episodes)
            ids = [episode.turn_id for episode in episodes]
            await self.log.reflected(job.owner, session, ids, self.clock.now())
            self.telemetry.count("episodes_reflected_total", len(ids))
            done += len(ids)
        return done

    async def gave_up(self, job: Job) -> None:
        """Nothing more: the episodes stay, and the next tick enqueues them again."""
        del job
        self.telemetry.count("episode_learning_failures_total")
