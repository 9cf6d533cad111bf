"""`JobQueue` and `UpkeepPlan` in this process's memory."""

from __future__ import annotations

import asyncio
import itertools
import json
import time
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from memory_service.adapters.inmemory.clock import SystemClock
from memory_service.adapters.inmemory.values import utc
from memory_service.domain.ids import OwnerKey, Revision, TenantId
from memory_service.ports.clock import Clock
from memory_service.ports.job_queue import (
    Done,
    GivenUpJob,
    GiveUp,
    Job,
    JobHandler,
    JobRequest,
    JobTotals,
    QueueState,
    Retry,
    Verdict,
    WorkerReport,
    WorkSettings,
)
from memory_service.ports.upkeep_plan import LONGEST, QUIET_SHARE, STILL_THERE, Looked, StepDue, StepInterval

_WORKER_KEPT = timedelta(days=1)
_SLACK = timedelta(days=1)


@dataclass(slots=True)
class _Queued:
    id: int
    owner: OwnerKey
    request: JobRequest
    data: str
    since: float
    ready: float
    attempt: int = 0
    running: bool = False

    @property
    def key(self) -> tuple[OwnerKey, str, str] | None:
        return (self.owner, self.request.name, self.request.key) if self.request.key else None

    @property
    def order(self) -> tuple[int, int]:
        return (-self.request.priority, self.id)

    def handed_out(self) -> Job:
        return Job(self.id, self.request.name, self.owner, json.loads(self.data), self.attempt)


class InMemoryJobQueue:
    """See `JobQueue`. Its workers are tasks of this process, so none of them dies alone."""

    def __init__(
        self,
        clock: Clock | None = None,
    ) -> None:
        """Delays and times are by `clock`; the system's without one."""
        given = clock or SystemClock()
        self._monotonic = given.monotonic
        self._now = given.now
        self._ids = itertools.count(1)
        self._jobs: dict[int, _Queued] = {}
        self._keys: dict[tuple[OwnerKey, str, str], int] = {}
        self._given_up: dict[int, tuple[_Queued, str, datetime]] = {}
        self._totals: dict[str, JobTotals] = {}
        self._workers: dict[uuid.UUID, datetime] = {}
        self._news = asyncio.Event()

    async def enqueue(self, owner: OwnerKey, *requests: JobRequest) -> int:
        """Add jobs; how many are new."""
        return self.add((owner, request) for request in requests)

    def add(self, requests: Iterable[tuple[OwnerKey, JobRequest]]) -> int:
        """`enqueue` for several owners, without awaiting: part of a commit."""
        added = 0
        for owner, request in requests:
            since = self._monotonic()
            ready = since + request.delay.total_seconds()
            job = _Queued(next(self._ids), owner, request, json.dumps(dict(request.data)), since, ready)
            if job.key is not None and job.key in self._keys:
                continue
            self._put(job)
            added += 1
        return added

    def has(self, owner: OwnerKey, request: JobRequest) -> bool:
        """Whether a job of this owner, name and key waits or runs."""
        return (owner, request.name, request.key) in self._keys

    def _put(self, job: _Queued) -> None:
        self._jobs[job.id] = job
        if job.key is not None:
            self._keys[job.key] = job.id
        self._news.set()

    def _drop(self, job: _Queued) -> None:
        self._jobs.pop(job.id, None)
        if job.key is not None:
            self._keys.pop(job.key, None)

    async def work(self, handlers: Mapping[str, JobHandler], settings: WorkSettings, stopping: asyncio.Event) -> None:
        """Hand jobs to their handlers until told to stop."""
        running: set[asyncio.Task[None]] = set()
        stop = asyncio.create_task(stopping.wait())
        try:
            while not stopping.is_set():
                self._news.clear()
                while len(running) < settings.concurrency and (job := self._next(handlers)) is not None:
                    job.running = True
                    task = asyncio.create_task(self._do(job, handlers[job.request.name]))
                    running.add(task)
                    task.add_done_callback(running.discard)
                news = asyncio.create_task(self._news.wait())
                await asyncio.wait(
                    {news, stop, *running}, timeout=self._pause(settings), return_when=asyncio.FIRST_COMPLETED
                )
                news.cancel()
            await asyncio.gather(*running)
        finally:
            stop.cancel()
            for task in running:
                task.cancel()

    def _next(self, handlers: Mapping[str, JobHandler]) -> _Queued | None:
        now = self._monotonic()
        ready = (j for j in self._jobs.values() if not j.running and j.ready <= now and j.request.name in handlers)
        return min(ready, key=lambda job: job.order, default=None)

    def _pause(self, settings: WorkSettings) -> float:
        now = self._monotonic()
        delayed = (job.ready - now for job in self._jobs.values() if not job.running and job.ready > now)
        return min(settings.poll_seconds, min(delayed, default=settings.poll_seconds))

    async def _do(self, job: _Queued, handler: JobHandler) -> None:
        verdict: Verdict = Retry(timedelta(), "cancelled")
        try:
            verdict = await handler(job.handed_out())
        except Exception as error:  # noqa: BLE001 - the contract: a defect of a handler is no reason to stop working
            verdict = GiveUp(type(error).__name__)
        finally:
            self._settle(job, verdict)

    def _settle(self, job: _Queued, verdict: Verdict) -> None:
        job.running = False
        match verdict:
            case Done():
                self._drop(job)
            case Retry(delay, _):
                job.attempt += 1
                job.ready = self._monotonic() + delay.total_seconds()
            case GiveUp(reason):
                self._drop(job)
                if job.key is not None:
                    older = [i for i, (kept, _, _) in self._given_up.items() if kept.key == job.key]
                    for number in older:
                        del self._given_up[number]
                self._given_up[job.id] = (job, reason, self._now())
        self._news.set()

    async def waiting(self, names: Sequence[str], *, at_most: int) -> int:
        """How many jobs of these names wait, counted up to `at_most`."""
        wanted = set(names)
        waiting = (1 for job in self._jobs.values() if not job.running and job.request.name in wanted)
        return sum(itertools.islice(waiting, at_most))

    async def states(self) -> Sequence[QueueState]:
        """The queue by name of job."""
        now = self._monotonic()
        states: dict[str, QueueState] = {}
        for job in self._jobs.values():
            name = job.request.name
            state = states.get(name, QueueState(name))
            if job.running:
                states[name] = replace(state, running=state.running + 1)
            else:
                oldest = max(state.oldest_seconds, now - job.since)
                states[name] = replace(state, waiting=state.waiting + 1, oldest_seconds=oldest)
        for job, _, _ in self._given_up.values():
            state = states.get(job.request.name, QueueState(job.request.name))
            states[job.request.name] = replace(state, given_up=state.given_up + 1)
        return [states[name] for name in sorted(states)]

    async def given_up(self, tenant: TenantId, *, limit: int) -> Sequence[GivenUpJob]:
        """Jobs of this tenant's owners that were given up, newest first."""
        kept = sorted(self._given_up.values(), key=lambda item: -item[0].id)
        found = (
            GivenUpJob(job.id, job.request.name, job.owner, job.attempt, reason, at)
            for job, reason, at in kept
            if job.owner.tenant == tenant
        )
        return list(itertools.islice(found, limit))

    async def requeue(self, tenant: TenantId, ids: Sequence[int]) -> int:
        """Let jobs that were given up wait again."""
        count = 0
        for number in dict.fromkeys(ids):
            kept = self._given_up.get(number)
            if kept is None or kept[0].owner.tenant != tenant:
                continue
            del self._given_up[number]
            count += 1
            job = kept[0]
            if job.key is None or job.key not in self._keys:
                job.attempt, job.ready = 0, self._monotonic()
                self._put(job)
        return count

    async def report(self, report: WorkerReport) -> None:
        """Write down a worker's sign of life and what it did."""
        self._workers = {w: at for w, at in self._workers.items() if at >= report.at - _WORKER_KEPT}
        self._workers[report.worker] = utc(report.at)
        for new in report.totals:
            old = self._totals.get(new.name, JobTotals(new.name))
            times = [at for at in (old.last_run_at, new.last_run_at) if at is not None]
            self._totals[new.name] = JobTotals(
                new.name,
                done=old.done + new.done,
                changed=old.changed + new.changed,
                retried=old.retried + new.retried,
                given_up=old.given_up + new.given_up,
                last_run_at=max(times, default=None),
            )

    async def totals(self) -> Sequence[JobTotals]:
        """What was done so far, by name of job."""
        return [self._totals[name] for name in sorted(self._totals)]

    async def workers(self, seen_since: datetime) -> int:
        """How many workers gave a sign of life since then."""
        return sum(at >= seen_since for at in self._workers.values())


class InMemoryUpkeepPlan:
    """See `UpkeepPlan`. `owners` tells every owner there is, and its revision."""

    def __init__(self, queue: InMemoryJobQueue, owners: Callable[[], Mapping[OwnerKey, Revision]]) -> None:
        self._queue = queue
        self._owners = owners
        self._after = uuid.UUID(int=0)
        self._looked_at = float("-inf")
        self._seen: dict[OwnerKey, tuple[Revision, datetime, tuple[str, ...]]] = {}
        self._due: defaultdict[str, dict[OwnerKey, datetime]] = defaultdict(dict)
        self._rest: defaultdict[str, dict[OwnerKey, datetime]] = defaultdict(dict)

    async def look(
        self, steps: Sequence[StepInterval], at: datetime, *, owners_max: int, pace: timedelta = timedelta()
    ) -> Looked | None:
        """Look at the next page of owners."""
        if time.monotonic() - self._looked_at < pace.total_seconds():
            return None
        self._looked_at = time.monotonic()
        owners = self._owners()
        names = tuple(sorted(step.name for step in steps))
        page = sorted((o for o in owners if o.id > self._after), key=lambda owner: owner.id)[:owners_max]
        planned = 0
        for owner in page:
            revision = owners[owner]
            seen = self._seen.get(owner)
            if not revision or (seen is not None and (seen[0], seen[2]) == (revision, names)):
                continue
            planned += 1
            since = at if seen is None or seen[0] != revision else seen[1]
            self._seen[owner] = (revision, since, names)
            # Spread as in the database: over the interval, by the id, where the owner is new.
            share = 1.0 if seen is not None else (1 + owner.id.int % 1024) / 1024
            for step in steps:
                due = self._due[step.name]
                wanted = min(due.get(owner, at + step.every), at + step.every * share)
                due[owner] = max(wanted, self._rest[step.name].get(owner, wanted))
        self._after = page[-1].id if len(page) == owners_max else uuid.UUID(int=0)
        self._bring_back(steps, at)
        return Looked(len(page), planned)

    def _bring_back(self, steps: Sequence[StepInterval], at: datetime) -> None:
        for step in steps:
            due = self._due[step.name]
            for owner, when in due.items():
                if when > at + max(step.every, LONGEST) + _SLACK:
                    due[owner] = at + step.every
                    self._rest[step.name].pop(owner, None)

    async def claim(self, steps: Sequence[StepInterval], at: datetime, *, limit: int, again_at: datetime) -> int:
        """Enqueue jobs for up to `limit` of what is due; how many jobs are new."""
        due = sorted(
            (
                (when, owner.id, owner, step)
                for step in steps
                for owner, when in self._due[step.name].items()
                if when <= at
            ),
            key=lambda item: item[:2],
        )[:limit]
        requests = [(owner, JobRequest(step.job, key="due")) for _, _, owner, step in due]
        for (_, _, owner, step), (_, request) in zip(due, requests, strict=True):
            self._due[step.name][owner] = at + STILL_THERE if self._queue.has(owner, request) else again_at
        return self._queue.add(requests)

    async def ran(
        self, owner: OwnerKey, step: StepInterval, at: datetime, *, again_at: datetime | None = None
    ) -> datetime | None:
        """A step was run: when it is due next."""
        if owner not in self._owners():
            return None
        seen = self._seen.get(owner)
        quiet = at - seen[1] if seen is not None else timedelta()
        next_at = again_at or at + max(step.every, min(quiet * QUIET_SHARE, LONGEST))
        self._due[step.name][owner] = next_at
        self._rest[step.name].pop(owner, None)
        if again_at is not None:
            self._rest[step.name][owner] = again_at
        return next_at

    async def due(self, steps: Sequence[StepInterval], at: datetime, *, count_max: int) -> Sequence[StepDue]:
        """How each step stands."""
        found = []
        for step in steps:
            times = self._due[step.name].values()
            count = sum(itertools.islice((1 for when in times if when <= at), count_max))
            found.append(StepDue(step.name, count, min(times, default=None)))
        return found
