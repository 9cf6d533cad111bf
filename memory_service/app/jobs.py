"""Jobs as use cases: what becomes of one that fails, and what a worker tells of itself (E14, P2)."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Protocol

import structlog

from memory_service.domain.errors import MemoryServiceError
from memory_service.ports.clock import Clock
from memory_service.ports.job_queue import (
    Done,
    GiveUp,
    Job,
    JobHandler,
    JobQueue,
    JobTotals,
    Retry,
    Verdict,
    WorkerReport,
)
from memory_service.ports.telemetry import Telemetry

_log = structlog.get_logger("memory_service.jobs")
WORKER_SEEN_SECONDS = 60.0
"""A worker counts as there for so long after its last sign of life; it gives one every few seconds."""


class JobWork(Protocol):
    """One kind of work on jobs. Idempotent: a job may be run again although it was done."""

    async def run(self, job: Job) -> int:
        """Do it; how many things changed. Whatever it raises is tried again later."""
        ...

    async def gave_up(self, job: Job) -> None:
        """The job failed for good."""
        ...


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How a job that fails is tried again: after 5, 10, 20 … seconds, then given up.

    Attributes:
        attempts_max: failures and lost workers until it is given up.
        delay_first, delay_max: wait after the first failure, doubled after each further one up to the second.
        run_seconds_max: time one run may take; it is stopped and counts as failed.
    """

    attempts_max: int = 8
    delay_first: timedelta = timedelta(seconds=5)
    delay_max: timedelta = timedelta(minutes=15)
    run_seconds_max: float = 600.0

    def verdict(self, attempt: int, reason: str) -> Verdict:
        """What becomes of a job that failed for the `attempt`-th time, counted from 0."""
        if attempt + 1 >= self.attempts_max:
            return GiveUp(reason)
        return Retry(min(self.delay_first * 2**attempt, self.delay_max), reason)


@dataclass(slots=True)
class JobRunner:
    """Handlers for a queue, made of the work there is."""

    queue: JobQueue
    work: Mapping[str, JobWork]
    clock: Clock
    telemetry: Telemetry
    worker: uuid.UUID
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    _totals: dict[str, JobTotals] = field(default_factory=dict)
    _started_at: datetime | None = None

    def handlers(self) -> Mapping[str, JobHandler]:
        """One for each kind of work."""
        return dict.fromkeys(self.work, self.run)

    async def run(self, job: Job) -> Verdict:
        """Do one job; the verdict is counted and timed."""
        if job.attempt >= self.retry.attempts_max:
            # It was never told to have failed: each worker that had it died.
            return await self._settled(job, GiveUp("WORKER_LOST"))
        started = self.clock.monotonic()
        changed = 0
        verdict: Verdict = Done()
        try:
            async with asyncio.timeout(self.retry.run_seconds_max):
                changed = await self.work[job.name].run(job)
        except MemoryServiceError as error:
            verdict = self.retry.verdict(job.attempt, error.reason.value)
        except TimeoutError:
            verdict = self.retry.verdict(job.attempt, "TOOK_TOO_LONG")
        except Exception as error:  # noqa: BLE001 - a defect of one job must not stop the others: counted and shown
            verdict = self.retry.verdict(job.attempt, type(error).__name__)
            _log.exception("a job failed unexpectedly", job=job.name)
        self.telemetry.observe("job_seconds", self.clock.monotonic() - started, job=job.name)
        return await self._settled(job, verdict, changed)

    async def _settled(self, job: Job, verdict: Verdict, changed: int = 0) -> Verdict:
        totals = self._totals.get(job.name, JobTotals(job.name))
        outcome = "changed" if changed else "nothing_due"
        match verdict:
            case Done():
                totals = replace(totals, done=totals.done + 1, changed=totals.changed + changed)
            case Retry(_, reason):
                outcome = "retried"
                totals = replace(totals, retried=totals.retried + 1)
                _log.warning("job failed", job=job.name, attempt=job.attempt + 1, reason=reason)
            case GiveUp(reason):
                outcome = "given_up"
                totals = replace(totals, given_up=totals.given_up + 1)
                _log.error("job given up", job=job.name, attempts=job.attempt + 1, reason=reason)
                await self._told(job)
        self._totals[job.name] = replace(totals, last_run_at=self.clock.now())
        self.telemetry.count("job_runs_total", job=job.name, outcome=outcome)
        return verdict

    async def _told(self, job: Job) -> None:
        try:
            await self.work[job.name].gave_up(job)
        except MemoryServiceError as error:
            _log.warning("a job that was given up could not be told", job=job.name, reason=error.reason.value)

    async def report(self) -> None:
        """Give a sign of life, add to the totals of all, and set the gauges of the queue.

        Raises:
            Unavailable: when the queue is away; the totals are added the next time.
        """
        now = self.clock.now()
        self._started_at = self._started_at or now
        totals, self._totals = self._totals, {}
        try:
            await self.queue.report(WorkerReport(self.worker, self._started_at, now, list(totals.values())))
        except MemoryServiceError:
            for name, lost in totals.items():
                self._totals[name] = _sum(lost, self._totals.get(name))
            raise
        states = {state.name: state for state in await self.queue.states()}
        for name in self.work:
            state = states.get(name)
            self.telemetry.gauge("job_queue_depth", state.waiting if state else 0, job=name)
            self.telemetry.gauge("job_running", state.running if state else 0, job=name)
            self.telemetry.gauge("job_given_up", state.given_up if state else 0, job=name)
            self.telemetry.gauge("job_oldest_seconds", state.oldest_seconds if state else 0.0, job=name)


def _sum(one: JobTotals, other: JobTotals | None) -> JobTotals:
    if other is None:
        return one
    return JobTotals(
        one.name,
        done=one.done + other.done,
        changed=one.changed + other.changed,
        retried=one.retried + other.retried,
        given_up=one.given_up + other.given_up,
        last_run_at=other.last_run_at or one.last_run_at,
    )
