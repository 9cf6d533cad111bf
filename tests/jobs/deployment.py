"""Workers on one database: a step that promotes candidates batch by batch, which leaves a trace of every run."""

from __future__ import annotations

import asyncio
import contextlib
import uuid
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta

from memory_service.adapters.inmemory.clock import ManualClock
from memory_service.adapters.postgres import PostgresBackend, PostgresSettings
from memory_service.app.jobs import JobRunner, RetryPolicy
from memory_service.app.schedule import Schedule, ScheduleSettings
from memory_service.app.upkeep import Upkeep, UpkeepStep
from memory_service.domain.ids import OwnerKey, Revision
from memory_service.domain.memory import Tier
from memory_service.domain.records import JournalEntry, JournalEvent, MemoryFilter
from memory_service.domain.vector_clock import Dot
from memory_service.jobs.worker import Worker
from memory_service.ports.job_queue import WorkSettings
from memory_service.ports.memory_store import Changeset, MemoryStore
from memory_service.ports.upkeep_plan import STILL_THERE
from tests.app.harness import Silent
from tests.contracts import builders as make

START = make.START
HOUR = timedelta(hours=1)
PATIENCE_SECONDS = 60
CANDIDATES = MemoryFilter(tiers=frozenset({Tier.CANDIDATE}))
QUICK = WorkSettings(concurrency=4, takeover_seconds=15.0, poll_seconds=0.2)
PATIENT = RetryPolicy(attempts_max=50, delay_first=timedelta(seconds=0.01), delay_max=timedelta(seconds=0.05))


@dataclass
class Promote:
    """A step: every candidate becomes long-term, `batch` in a commit, each with its entry in the journal."""

    store: MemoryStore
    batch: int = 3
    name: str = "promote"
    every: timedelta = HOUR
    runs: list[OwnerKey] = field(default_factory=list)
    most_held: int = 0

    async def __call__(self, owner: OwnerKey) -> int:
        self.runs.append(owner)
        async with self.store.change(owner) as change:
            heads = await change.select(CANDIDATES, limit=self.batch)
            self.most_held = max(self.most_held, len(heads))
            if not heads:
                return 0
            dot = Dot(make.version(make.new_id()).dot.device, change.state.revision + 1)
            after = make.next_state(change.state, dot)
            versions = [
                replace(
                    h.current, version=h.current.version + 1, tier=Tier.LONG_TERM, revision=after.revision, dot=dot
                )
                for h in heads
            ]
            journal = [
                JournalEntry(after.revision, n, JournalEvent.PROMOTED, v.id, v.version, START, "~server", "", "seen")
                for n, v in enumerate(versions)
            ]
            await change.apply(Changeset(after, versions, journal=journal))
        return len(heads)


async def owner_with_candidates(store: MemoryStore, count: int) -> OwnerKey:
    """A new owner with so many candidates."""
    owner = make.new_owner()
    candidates = (make.version(make.new_id(), tier=Tier.CANDIDATE) for _ in range(count))
    await make.write(store, owner, *candidates, fragments=[])
    return owner


async def assert_promoted_once(store: MemoryStore, owner: OwnerKey, count: int) -> None:
    """All of an owner's candidates were promoted, each exactly once, and nothing else was done."""
    page = await store.list(owner, make.EVERYTHING, limit=count + 1)
    assert [(h.current.tier, h.current.version) for h in page.heads] == [(Tier.LONG_TERM, 2)] * count
    revision = (await store.state(owner)).revision
    entries = await store.journal_since(owner, Revision(0), revision)
    promoted = [e.memory_id for e in entries if e.event is JournalEvent.PROMOTED]
    assert sorted(promoted) == sorted(head.id for head in page.heads)


@dataclass
class Node:
    """One process's share: its connections, schedule and worker."""

    backend: PostgresBackend
    schedule: Schedule
    runner: JobRunner
    worker: Worker


@contextlib.asynccontextmanager
async def node(
    dsn: str,
    clock: ManualClock,
    *steps: UpkeepStep,
    settings: ScheduleSettings | None = None,
    how: WorkSettings = QUICK,
    retry: RetryPolicy = PATIENT,
) -> AsyncIterator[Node]:
    """A node on a database whose worker is not started yet; without steps it promotes."""
    backend = await PostgresBackend.connect(PostgresSettings(dsn=dsn, pool_min=1, pool_max=6))
    telemetry = Silent()
    upkeep = Upkeep(steps or (Promote(backend.memories),), telemetry)
    schedule = Schedule(upkeep, backend.upkeep, backend.jobs, clock, telemetry, settings or ScheduleSettings())
    runner = JobRunner(backend.jobs, schedule.work(), clock, telemetry, uuid.uuid4(), retry)
    worker = Worker(backend.jobs, runner, how)
    try:
        yield Node(backend, schedule, runner, worker)
    finally:
        await worker.stop()
        await backend.close()


async def tick_until_done(clock: ManualClock, nodes: Sequence[Node]) -> int:
    """Tick all nodes until nothing is due (or will be in a moment), waits or runs; how many waited at most."""
    most = 0
    schedule = nodes[0].schedule
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            await asyncio.gather(*(one.schedule.tick() for one in nodes))
            soon = clock.now() + 2 * STILL_THERE
            jobs = (await schedule.view()).jobs
            most = max(most, *(job.state.waiting for job in jobs))
            unfinished = any(job.state.waiting or job.state.running for job in jobs)
            if not unfinished and not any(job.next_due_at and job.next_due_at <= soon for job in jobs):
                return most
            clock.advance(schedule.settings.rest if unfinished else STILL_THERE)
            await asyncio.sleep(0.02)
