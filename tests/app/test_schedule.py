"""The schedule as a use case, on the store in memory: what is claimed, run, put off and shown."""

from __future__ import annotations

import asyncio
import uuid
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_service.adapters.inmemory import InMemoryMemoryStore, SeededIds
from memory_service.app.jobs import JobRunner, RetryPolicy
from memory_service.app.schedule import Schedule, ScheduleSettings
from memory_service.app.upkeep import Upkeep, UpkeepStep
from memory_service.app.workspace import Workspace
from memory_service.domain.errors import InvalidInput, Reason, Unavailable
from memory_service.domain.ids import OwnerKey, TenantId, UserId
from memory_service.ports.job_queue import Done, GiveUp, Job, JobRequest, Retry, WorkSettings
from tests.app.harness import START
from tests.contracts import builders as make

HOUR = timedelta(hours=1)
TENANT = TenantId("acme")


class Told:
    """Telemetry that remembers what it was told."""

    def __init__(self) -> None:
        self.counts: dict[tuple[str, str], int] = {}
        self.gauges: dict[str, float] = {}

    def count(self, name: str, amount: int = 1, **labels: str) -> None:
        key = (name, labels.get("outcome", ""))
        self.counts[key] = self.counts.get(key, 0) + amount

    def observe(self, name: str, seconds: float, **labels: str) -> None: ...

    def gauge(self, name: str, value: float, **labels: str) -> None:
        self.gauges[name] = value


class FreeClock:
    """A clock that may be set back, as a machine's may."""

    def __init__(self) -> None:
        self.time = START

    def now(self) -> datetime:
        return self.time

    def monotonic(self) -> float:
        return (self.time - START).total_seconds()


class Step:
    """A step that finds work for so many rounds, or fails."""

    def __init__(self, name: str = "tidy", every: timedelta = HOUR) -> None:
        self.name = name
        self.every = every
        self.rounds: dict[OwnerKey, int] = {}
        self.error: Exception | None = None
        self.runs: list[OwnerKey] = []

    async def __call__(self, owner: OwnerKey) -> int:
        self.runs.append(owner)
        if self.error is not None:
            raise self.error
        left = self.rounds.get(owner, 0)
        self.rounds[owner] = max(0, left - 1)
        return 2 if left else 0


class Deployment:
    """One process in memory whose jobs run when asked to."""

    def __init__(self, *steps: UpkeepStep, settings: ScheduleSettings | None = None) -> None:
        self.clock = FreeClock()
        self.store = InMemoryMemoryStore()
        self.told = Told()
        self.schedule = Schedule(
            Upkeep(steps, self.told),
            self.store.upkeep,
            self.store.jobs,
            self.clock,
            self.told,
            settings or ScheduleSettings(),
        )
        policy = RetryPolicy(attempts_max=3, delay_first=timedelta(), delay_max=timedelta())
        self.runner = JobRunner(self.store.jobs, self.schedule.work(), self.clock, self.told, uuid.uuid4(), policy)

    async def owners(self, count: int) -> list[OwnerKey]:
        owners = [OwnerKey(TENANT, UserId(f"user-{n}")) for n in range(count)]
        for owner in owners:
            await make.write(self.store, owner, make.version(make.new_id()))
        return owners

    async def work(self) -> None:
        """Do all jobs that wait."""
        stopping = asyncio.Event()
        task = asyncio.create_task(
            self.store.jobs.work(self.runner.handlers(), WorkSettings(poll_seconds=0.01), stopping)
        )
        async with asyncio.timeout(10):
            while any(s.waiting or s.running for s in await self.store.jobs.states()):  # noqa: ASYNC110
                await asyncio.sleep(0.001)
        stopping.set()
        await task

    async def later(self, by: timedelta) -> int:
        """Let time pass, tick and work; how many jobs there were."""
        self.clock.time += by
        jobs = await self.schedule.tick()
        await self.work()
        return jobs


async def test_an_active_owner_is_looked_at_every_interval_and_a_quiet_one_ever_more_rarely():
    step = Step()
    it = Deployment(step)
    (owner,) = await it.owners(1)
    await it.schedule.tick()
    for _ in range(10):
        assert await it.later(HOUR) == 1
    hours = 0
    while it.clock.time < START + timedelta(days=365):
        it.clock.time += HOUR
        hours += 1
        await it.later(timedelta())
    looks = len(step.runs)
    assert hours > 8_000
    assert looks < 160, "a year of rest costs some dozen looks and not one an hour"
    await make.write(it.store, owner, make.version(make.new_id()))
    await it.schedule.tick()
    assert await it.later(HOUR) == 1


async def test_nothing_is_claimed_beyond_what_may_wait_and_the_rest_comes_in_turn():
    step = Step()
    it = Deployment(step, settings=ScheduleSettings(waiting_max=7, claims_per_tick=5))
    owners = await it.owners(20)
    await it.schedule.tick()
    it.clock.time += HOUR
    assert [await it.schedule.tick() for _ in range(3)] == [5, 2, 0]
    await it.work()
    await it.later(timedelta())
    while await it.later(timedelta()):
        pass
    assert sorted(step.runs, key=lambda o: o.id) == sorted(owners, key=lambda o: o.id)


async def test_one_job_runs_a_step_until_it_finds_nothing_but_lets_others_have_their_turn():
    step = Step()
    it = Deployment(step, settings=ScheduleSettings(rounds_max=4))
    short, long = await it.owners(2)
    step.rounds = {short: 2, long: 10}
    await it.schedule.tick()
    await it.later(HOUR)
    assert (step.runs.count(short), step.runs.count(long)) == (3, 4)
    # Its rest is over in a moment, not in an hour.
    for _ in range(4):
        await it.later(timedelta(seconds=1))
    assert step.runs.count(long) == 11
    assert step.runs.count(short) == 3
    await it.runner.report()
    (job,) = (await it.schedule.view()).jobs
    assert (job.name, job.every, job.totals.changed) == ("upkeep.tidy", HOUR, 24)
    assert it.told.gauges["job_queue_depth"] == 0
    assert it.told.counts["job_runs_total", "changed"] == 4


async def test_a_step_that_fails_stops_no_other_and_is_left_alone_for_a_day():
    broken, good = Step("broken"), Step("good")
    it = Deployment(broken, good)
    (owner,) = await it.owners(1)
    broken.error = Unavailable(Reason.EMBEDDER_UNAVAILABLE, "away")
    await it.schedule.tick()
    await it.later(HOUR)
    assert (len(broken.runs), len(good.runs)) == (3, 1)
    assert [(j.name, j.reason) for j in await it.store.jobs.given_up(TENANT, limit=9)] == [
        ("upkeep.broken", "EMBEDDER_UNAVAILABLE")
    ]
    for _ in range(20):
        await it.later(HOUR)
    assert (len(broken.runs), len(good.runs)) == (3, 21)
    assert it.told.counts["job_runs_total", "retried"] == 2
    assert it.told.counts["job_runs_total", "given_up"] == 1
    broken.error = None
    assert await it.store.jobs.requeue(TENANT, [(await it.store.jobs.given_up(TENANT, limit=1))[0].id]) == 1
    await it.work()
    assert len(broken.runs) == 4
    runs = await it.schedule.run_now(owner)
    assert [(run.step, run.error) for run in runs] == [("broken", None), ("good", None)]


async def test_running_now_names_unknown_steps_and_tells_what_failed():
    broken, good = Step("broken"), Step("good")
    it = Deployment(broken, good)
    (owner,) = await it.owners(1)
    broken.error = Unavailable(Reason.EMBEDDER_UNAVAILABLE, "away")
    good.rounds[owner] = 3
    with pytest.raises(InvalidInput) as refused:
        await it.schedule.run_now(owner, ["good", "none"])
    assert refused.value.field == "steps[1]"
    assert good.runs == []
    failed, done = await it.schedule.run_now(owner, ["good", "broken", "good"])
    assert failed.error is broken.error
    assert (done.step, done.changed) == ("good", 6)
    assert [run.step for run in await it.schedule.run_now(owner, ["good"])] == ["good"]
    # Someone unknown has nothing to do, and does not become known by it.
    stranger = OwnerKey(TENANT, UserId("stranger"))
    assert [run.changed for run in await it.schedule.run_now(stranger, ["good"])] == [0]
    assert (await it.store.state(stranger)).revision == 0


async def test_a_clock_that_goes_back_delays_by_as_much_and_a_wrong_one_is_got_over():
    step = Step()
    it = Deployment(step)
    await it.owners(3)
    await it.schedule.tick()
    assert await it.later(HOUR) == 3
    it.clock.time -= timedelta(minutes=30)
    assert await it.later(timedelta()) == 0
    assert await it.later(timedelta(minutes=90)) == 3
    it.clock.time += timedelta(days=5_000)
    assert await it.later(timedelta()) == 3
    it.clock.time = START + 3 * HOUR
    await it.schedule.tick()
    assert await it.later(HOUR) == 3


async def test_a_job_that_hangs_is_stopped_and_counts_as_failed():
    class Hanging(Step):
        async def __call__(self, owner: OwnerKey) -> int:
            await asyncio.Event().wait()
            return 0

    it = Deployment(Hanging())
    it.runner.retry = RetryPolicy(attempts_max=1, run_seconds_max=0.01)
    await it.owners(1)
    await it.schedule.tick()
    await it.later(HOUR)
    assert [j.reason for j in await it.store.jobs.given_up(TENANT, limit=9)] == ["TOOK_TOO_LONG"]


async def test_a_job_whose_workers_died_every_time_is_not_tried_again():
    step = Step()
    it = Deployment(step)
    job = Job(1, "upkeep.tidy", make.new_owner(), {}, attempt=3)
    assert await it.runner.run(job) == GiveUp("WORKER_LOST")
    assert step.runs == []
    assert await it.runner.run(Job(1, "upkeep.tidy", make.new_owner(), {}, attempt=2)) == Done()


@given(st.integers(0, 40))
def test_retries_wait_twice_as_long_each_time_up_to_a_bound_and_come_to_an_end(attempt: int):
    policy = RetryPolicy()
    verdict = policy.verdict(attempt, "AWAY")
    if attempt >= policy.attempts_max - 1:
        assert verdict == GiveUp("AWAY")
    else:
        assert verdict == Retry(min(timedelta(seconds=5 * 2**attempt), timedelta(minutes=15)), "AWAY")


async def test_a_change_in_a_workspace_brings_its_jobs():
    it = Deployment(Step())
    owner = make.new_owner()
    async with it.store.change(owner) as change:
        workspace = Workspace.of(change, SeededIds(1), owner)
        workspace.state = make.next_state(workspace.state)
        workspace.enqueue(JobRequest("learn", {"revision": 1}, key="1"))
        await change.apply(workspace.changeset())
    assert [(s.name, s.waiting) for s in await it.store.jobs.states()] == [("learn", 1)]
    # Nobody here knows what to do with it: it is shown, and waits.
    assert [(j.name, j.every, j.state.waiting) for j in (await it.schedule.view()).jobs] == [
        ("upkeep.tidy", HOUR, 0),
        ("learn", None, 1),
    ]
