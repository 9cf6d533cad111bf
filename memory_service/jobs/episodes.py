"""What becomes of episodes: makes room for them ahead of time, tells how much waits, and hands over what is due.

Learning itself is the handler's: without one nothing is consumed, and what waits stays in the log.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from memory_service.ports.clock import Clock
from memory_service.ports.episodes import Episode, EpisodeLog, LearningTask
from memory_service.ports.telemetry import Telemetry

_TASKS_AT_ONCE = 20
_EPISODES_AT_ONCE = 200


class EpisodeHandler(Protocol):
    """Learns from episodes. Called again with the same ones after a failure or a crash, so it must be idempotent."""

    async def __call__(self, task: LearningTask, episodes: Sequence[Episode]) -> None:
        """Learn; the episodes count as reflected on once it returns."""
        ...


@dataclass(frozen=True, slots=True)
class EpisodeConsumer:
    """At least once: an episode is marked after it was learned from."""

    log: EpisodeLog
    clock: Clock
    telemetry: Telemetry
    handler: EpisodeHandler | None = None

    async def prepare(self) -> int:
        """Make room for the coming months; how much was made.

        Raises:
            Unavailable: when the database is away.
        """
        return await self.log.prepare(self.clock.now())

    async def run_once(self) -> int:
        """Learn from what is due, corrections first, and set the gauges; how many episodes were learned from.

        Raises:
            Unavailable: when the log is away; what was marked before stays so.
        """
        now = self.clock.now()
        done = 0
        if self.handler is not None:
            for task in await self.log.due(now, limit=_TASKS_AT_ONCE):
                done += await self._learn(self.handler, task)
        backlog = await self.log.backlog(now)
        lag = 0.0 if backlog.oldest_due_at is None else (now - backlog.oldest_due_at).total_seconds()
        self.telemetry.gauge("episodes_waiting", backlog.episodes)
        self.telemetry.gauge("episode_sessions_waiting", backlog.sessions)
        self.telemetry.gauge("episode_lag_seconds", max(0.0, lag))
        self.telemetry.count("job_runs_total", job="episodes", outcome="done")
        return done

    async def _learn(self, handler: EpisodeHandler, task: LearningTask) -> int:
        done = 0
        while episodes := await self.log.waiting(task.owner, task.session, limit=_EPISODES_AT_ONCE):
            await handler(task, episodes)
            ids = [episode.turn_id for episode in episodes]
            await self.log.reflected(task.owner, task.session, ids, self.clock.now())
            self.telemetry.count("episodes_reflected_total", len(ids))
            done += len(ids)
        return done
