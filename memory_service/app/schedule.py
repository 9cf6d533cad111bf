"""The one schedule: every owner's upkeep, when it is worth a look, by whichever worker is free (E14).

    look  ──►  plan of each (owner, step)  ──►  claim  ──►  queue  ──►  run  ──►  next time in the plan
    (a page of owners)                        (what is due)          (any worker)

Nothing here is on the way of a write: owners that changed are found by looking at all of them in turn. Each arrow
is one commit, and a process killed between any two leaves a plan by which the rest is done: what was claimed and
got lost is due again after `claim_lease`; what ran twice finds nothing to do.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from memory_service.app.jobs import WORKER_SEEN_SECONDS, JobWork
from memory_service.app.upkeep import Upkeep
from memory_service.domain.errors import InvalidInput, MemoryServiceError, Reason
from memory_service.domain.ids import OwnerKey
from memory_service.ports.clock import Clock
from memory_service.ports.job_queue import Job, JobQueue, JobTotals, QueueState
from memory_service.ports.telemetry import Telemetry
from memory_service.ports.upkeep_plan import StepInterval, UpkeepPlan

_DUE_COUNTED_MAX = 10_000


@dataclass(frozen=True, slots=True)
class ScheduleSettings:
    """How fast the schedule goes.

    Attributes:
        owners_per_look: owners looked at in one tick.
        look_pace: time between two looks, whoever looks.
        waiting_max: jobs of upkeep that wait at most; beyond it nothing is claimed, so the plan holds the rest.
        claims_per_tick: jobs enqueued in one tick.
        claim_lease: after it a job that was neither done nor is waiting counts as lost.
        rounds_max: times a step is run in one job while it finds work, before others get their turn.
        rest: wait until the next job of a step that has not come to an end.
        gave_up_rest: wait after a step failed for good, unless its interval is longer.
    """

    owners_per_look: int = 5_000
    look_pace: timedelta = timedelta()
    waiting_max: int = 2_000
    claims_per_tick: int = 500
    claim_lease: timedelta = timedelta(minutes=15)
    rounds_max: int = 50
    rest: timedelta = timedelta(seconds=1)
    gave_up_rest: timedelta = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class StepRun:
    """What running one step did: memories changed, or the reason why it failed."""

    step: str
    changed: int = 0
    error: MemoryServiceError | None = None


@dataclass(frozen=True, slots=True)
class ScheduledJob:
    """One kind of job as it stands. `every` is None for jobs that follow from changes and not from time."""

    name: str
    every: timedelta | None
    due: int
    next_due_at: datetime | None
    state: QueueState
    totals: JobTotals


@dataclass(frozen=True, slots=True)
class ScheduleView:
    """The whole schedule as it stands."""

    jobs: Sequence[ScheduledJob]
    workers: int


@dataclass(frozen=True, slots=True)
class Schedule:
    """See the module."""

    upkeep: Upkeep
    plan: UpkeepPlan
    queue: JobQueue
    clock: Clock
    telemetry: Telemetry
    settings: ScheduleSettings = field(default_factory=ScheduleSettings)

    @property
    def steps(self) -> Sequence[StepInterval]:
        """All steps as they are planned."""
        return [StepInterval(step.name, step.every) for step in self.upkeep.steps]

    def work(self) -> Mapping[str, JobWork]:
        """What the queue's jobs of upkeep are done by."""
        return {step.job: _StepWork(self, step) for step in self.steps}

    async def tick(self) -> int:
        """Look at the next owners and enqueue what is due; how many jobs are new. Any process may, at any time.

        Raises:
            Unavailable: when the store is away; the next tick goes on where this one was.
        """
        steps = self.steps
        if not steps:
            return 0
        looked = await self.plan.look(
            steps, self.clock.now(), owners_max=self.settings.owners_per_look, pace=self.settings.look_pace
        )
        if looked is not None:
            self.telemetry.count("upkeep_owners_looked_at_total", looked.owners)
            self.telemetry.count("upkeep_owners_planned_total", looked.planned)
        room = self.settings.waiting_max - await self.queue.waiting(
            [step.job for step in steps], at_most=self.settings.waiting_max
        )
        limit = min(room, self.settings.claims_per_tick)
        if limit <= 0:
            return 0
        now = self.clock.now()
        return await self.plan.claim(steps, now, limit=limit, again_at=now + self.settings.claim_lease)

    async def run(self, owner: OwnerKey, step: StepInterval) -> int:
        """Run one step until it finds nothing more, and plan its next time; how many memories changed.

        After `rounds_max` rounds others get their turn. Raises what the step raises; then the plan stays, and the
        caller tries again.
        """
        changed = 0
        more = True
        for _ in range(self.settings.rounds_max):
            done = (await self.upkeep.run(owner, step.name))[step.name]
            changed += done
            if not done:
                more = False
                break
            await asyncio.sleep(0)
        now = self.clock.now()
        await self.plan.ran(owner, step, now, again_at=now + self.settings.rest if more else None)
        return changed

    async def run_now(self, owner: OwnerKey, names: Sequence[str] = ()) -> Sequence[StepRun]:
        """Run these steps (all without names) for one owner, in their order. One that fails stops no other.

        Raises:
            InvalidInput: FIELD_INVALID for a step that there is not; then none is run.
        """
        known = {step.name: step for step in self.steps}
        for index, name in enumerate(names):
            if name not in known:
                raise InvalidInput(
                    Reason.FIELD_INVALID,
                    "there is no such step of upkeep",
                    field=f"steps[{index}]",
                    metadata={"known": ",".join(known)},
                )
        runs: list[StepRun] = []
        for step in known.values():
            if names and step.name not in names:
                continue
            try:
                runs.append(StepRun(step.name, await self.run(owner, step)))
            except MemoryServiceError as error:
                runs.append(StepRun(step.name, error=error))
        return runs

    async def view(self) -> ScheduleView:
        """The schedule and the queue as they stand, for people."""
        now = self.clock.now()
        steps = self.steps
        due = {d.step: d for d in await self.plan.due(steps, now, count_max=_DUE_COUNTED_MAX)} if steps else {}
        states = {state.name: state for state in await self.queue.states()}
        totals = {total.name: total for total in await self.queue.totals()}
        jobs = [
            ScheduledJob(
                step.job,
                step.every,
                due[step.name].due,
                due[step.name].next_due_at,
                states.get(step.job, QueueState(step.job)),
                totals.get(step.job, JobTotals(step.job)),
            )
            for step in steps
        ]
        known = {job.name for job in jobs}
        jobs += [
            ScheduledJob(name, None, 0, None, states.get(name, QueueState(name)), totals.get(name, JobTotals(name)))
            for name in sorted({*states, *totals} - known)
        ]
        return ScheduleView(jobs, await self.queue.workers(now - timedelta(seconds=WORKER_SEEN_SECONDS)))


@dataclass(frozen=True, slots=True)
class _StepWork:
    """A job of upkeep: one step for one owner."""

    schedule: Schedule
    step: StepInterval

    async def run(self, job: Job) -> int:
        """Run the step; how many memories changed."""
        return await self.schedule.run(job.owner, self.step)

    async def gave_up(self, job: Job) -> None:
        """Leave the owner alone for a while: what failed so often will fail again."""
        now = self.schedule.clock.now()
        rest = max(self.step.every, self.schedule.settings.gave_up_rest)
        await self.schedule.plan.ran(job.owner, self.step, now, again_at=now + rest)
