"""Job queue contract: at least once, in order, bounded, and in the writer's own commit (P2)."""

from __future__ import annotations

import asyncio
import contextlib
import uuid
from collections.abc import AsyncIterator, Callable, Mapping
from datetime import timedelta

import pytest

from memory_service.domain.ids import OwnerKey, TenantId
from memory_service.ports.job_queue import (
    Done,
    GiveUp,
    Job,
    JobHandler,
    JobQueue,
    JobRequest,
    JobTotals,
    QueueState,
    Retry,
    Verdict,
    WorkerReport,
    WorkSettings,
)
from memory_service.ports.memory_store import Changeset, MemoryStore
from tests.contracts import builders as make

PATIENCE_SECONDS = 20
QUICK = WorkSettings(concurrency=4, takeover_seconds=5.0, poll_seconds=0.05)


def new_name() -> str:
    """A kind of job that no other test has."""
    return f"test-{uuid.uuid4()}"


@contextlib.asynccontextmanager
async def working(
    queue: JobQueue, handlers: Mapping[str, JobHandler], settings: WorkSettings = QUICK
) -> AsyncIterator[None]:
    """A worker, stopped at the end."""
    stopping = asyncio.Event()
    task = asyncio.create_task(queue.work(handlers, settings, stopping))
    try:
        yield
    finally:
        stopping.set()
        await asyncio.wait_for(task, PATIENCE_SECONDS)


async def until(condition: Callable[[], bool]) -> None:
    """Return when `condition` holds."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not condition():  # noqa: ASYNC110 - it is looked at, not told
            await asyncio.sleep(0.005)


async def state_of(queue: JobQueue, name: str) -> QueueState:
    """The queue's state of one name."""
    return next((s for s in await queue.states() if s.name == name), QueueState(name))


async def settled(queue: JobQueue, name: str) -> QueueState:
    """The state once nothing of the name waits or runs."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while (state := await state_of(queue, name)).waiting or state.running:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    return state


class Recorder:
    """A handler that remembers its jobs, and answers what it is told to."""

    def __init__(self, *verdicts: Verdict) -> None:
        self.jobs: list[Job] = []
        self._verdicts = list(verdicts)

    async def __call__(self, job: Job) -> Verdict:
        self.jobs.append(job)
        return self._verdicts.pop(0) if self._verdicts else Done()


async def test_a_job_comes_as_it_was_given_and_goes_when_done(queue: JobQueue):
    name, owner, handler = new_name(), make.new_owner(), Recorder()
    data = {"id": str(uuid.uuid4()), "n": 2**60, "flag": True, "list": [1, "二"], "nothing": None}
    assert await queue.enqueue(owner, JobRequest(name, data)) == 1
    state = await state_of(queue, name)
    assert (state.waiting, state.running, state.given_up) == (1, 0, 0)
    assert 0 <= state.oldest_seconds < 60
    assert await queue.waiting([name], at_most=5) == 1
    async with working(queue, {name: handler}):
        await until(lambda: bool(handler.jobs))
        assert await settled(queue, name) == QueueState(name)
    (job,) = handler.jobs
    assert (job.name, job.owner, job.data, job.attempt) == (name, owner, data, 0)


async def test_priority_goes_first_then_age_and_a_delay_holds_up_nobody(queue: JobQueue):
    name, owner, handler = new_name(), make.new_owner(), Recorder()
    await queue.enqueue(owner, JobRequest(name, {"n": 0}, delay=timedelta(hours=1), priority=9, key="later"))
    await queue.enqueue(owner, *(JobRequest(name, {"n": n}, priority=n // 2) for n in range(4)))
    async with working(queue, {name: handler}, WorkSettings(concurrency=2, poll_seconds=0.05)):
        await until(lambda: len(handler.jobs) == 4)
    order = [int(str(job.data["n"])) for job in handler.jobs]
    assert {*order[:2]} == {2, 3}
    assert {*order[2:]} == {0, 1}
    assert (await state_of(queue, name)).waiting == 1


async def test_a_key_bounds_what_waits_and_runs_and_is_free_when_the_job_is_done(queue: JobQueue):
    name, owner, other = new_name(), make.new_owner(), make.new_owner()
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def slow(job: Job) -> Verdict:
        begun.set()
        await go_on.wait()
        return Done()

    same = JobRequest(name, key="k")
    assert await queue.enqueue(owner, same, same, JobRequest(name, key="other"), JobRequest(name)) == 3
    assert await queue.enqueue(owner, same) == 0
    assert await queue.enqueue(other, same) == 1
    async with working(queue, {name: slow}):
        await until(begun.is_set)
        assert await queue.enqueue(owner, same) == 0
        go_on.set()
        await settled(queue, name)
        assert await queue.enqueue(owner, same) == 1
        await settled(queue, name)


async def test_a_job_that_fails_is_tried_again_after_its_delay_and_counts(queue: JobQueue):
    name, handler = new_name(), Recorder(Retry(timedelta(), "AWAY"), Retry(timedelta(seconds=0.02), "AWAY"))
    await queue.enqueue(make.new_owner(), JobRequest(name, {"n": 1}, key="k"))
    async with working(queue, {name: handler}):
        await until(lambda: len(handler.jobs) == 3)
        assert await settled(queue, name) == QueueState(name)
    assert [job.attempt for job in handler.jobs] == [0, 1, 2]
    assert len({job.id for job in handler.jobs}) == 1


async def test_given_up_jobs_are_kept_one_of_each_and_can_be_tried_again_by_their_tenant(queue: JobQueue):
    name, owner = new_name(), make.new_owner()
    handler = Recorder(GiveUp("BROKEN"), GiveUp("BROKEN"), GiveUp("STILL"))
    request = JobRequest(name, {"n": 1}, key="k")
    async with working(queue, {name: handler}):
        await queue.enqueue(owner, JobRequest(name))
        assert (await settled(queue, name)).given_up == 1
        for _ in range(2):
            assert await queue.enqueue(owner, request) == 1
            assert (await settled(queue, name)).given_up == 2
        newest, oldest = await queue.given_up(owner.tenant, limit=10)
        assert (newest.name, newest.owner, newest.reason, newest.attempts) == (name, owner, "STILL", 0)
        assert oldest.reason == "BROKEN"
        assert [g.id for g in await queue.given_up(owner.tenant, limit=1)] == [newest.id]
        assert await queue.given_up(TenantId("nobody"), limit=10) == []
        assert await queue.requeue(TenantId("nobody"), [newest.id]) == 0
        assert await queue.requeue(owner.tenant, [newest.id, oldest.id, 10**12]) == 2
        assert await settled(queue, name) == QueueState(name)
    assert await queue.given_up(owner.tenant, limit=10) == []
    assert [job.attempt for job in handler.jobs] == [0] * 5


async def test_what_waits_again_already_is_not_doubled_by_trying_again(queue: JobQueue):
    name, owner, handler = new_name(), make.new_owner(), Recorder(GiveUp("BROKEN"))
    request = JobRequest(name, key="k")
    await queue.enqueue(owner, request)
    async with working(queue, {name: handler}):
        await settled(queue, name)
    await queue.enqueue(owner, request)
    (kept,) = await queue.given_up(owner.tenant, limit=10)
    assert await queue.requeue(owner.tenant, [kept.id]) == 1
    state = await state_of(queue, name)
    assert (state.waiting, state.running, state.given_up) == (1, 0, 0)
    assert 0 <= state.oldest_seconds < 60


async def test_a_handler_that_raises_is_given_up_and_the_worker_goes_on(queue: JobQueue):
    name, owner = new_name(), make.new_owner()

    async def broken(job: Job) -> Verdict:
        if job.data:
            raise ZeroDivisionError("a text that is to be seen nowhere")
        return Done()

    await queue.enqueue(owner, JobRequest(name, {"n": 1}), JobRequest(name))
    async with working(queue, {name: broken}):
        assert (await settled(queue, name)).given_up == 1
    assert [kept.reason for kept in await queue.given_up(owner.tenant, limit=10)] == ["ZeroDivisionError"]


async def test_no_more_than_so_many_run_at_once_and_names_without_handler_wait(queue: JobQueue):
    name, foreign, owner = new_name(), new_name(), make.new_owner()
    running, most = 0, 0

    async def counted(job: Job) -> Verdict:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.005)
        running -= 1
        return Done()

    await queue.enqueue(owner, *(JobRequest(name) for _ in range(12)), JobRequest(foreign))
    async with working(queue, {name: counted}):
        await settled(queue, name)
    assert 0 < most <= QUICK.concurrency
    assert (await state_of(queue, foreign)).waiting == 1


async def test_stopping_lets_a_running_job_end(queue: JobQueue):
    name, ended = new_name(), asyncio.Event()
    begun = asyncio.Event()

    async def slow(job: Job) -> Verdict:
        begun.set()
        await asyncio.sleep(0.05)
        ended.set()
        return Done()

    await queue.enqueue(make.new_owner(), JobRequest(name))
    async with working(queue, {name: slow}):
        await until(begun.is_set)
    assert ended.is_set()
    assert await state_of(queue, name) == QueueState(name)


async def test_a_worker_that_is_cut_off_puts_its_jobs_back(queue: JobQueue):
    name, begun, handler = new_name(), asyncio.Event(), Recorder()

    async def endless(job: Job) -> Verdict:
        begun.set()
        await asyncio.Event().wait()
        return Done()

    await queue.enqueue(make.new_owner(), JobRequest(name, {"n": 1}, key="k"))
    task = asyncio.create_task(queue.work({name: endless}, QUICK, asyncio.Event()))
    await until(begun.is_set)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, PATIENCE_SECONDS)
    assert (await state_of(queue, name)).waiting == 1
    async with working(queue, {name: handler}):
        await settled(queue, name)
    assert [(job.data, job.attempt) for job in handler.jobs] == [({"n": 1}, 1)]


async def change(store: MemoryStore, owner: OwnerKey, *jobs: JobRequest, fail: bool = False) -> None:
    """A change that brings a memory and jobs."""
    async with store.change(owner) as opened:
        memory = make.version(make.new_id(), revision=opened.state.revision + 1)
        await opened.apply(Changeset(make.next_state(opened.state), [memory], jobs=jobs))
        if fail:
            raise InterruptedError


async def test_jobs_of_a_change_are_there_when_and_only_when_it_is_committed(store: MemoryStore, queue: JobQueue):
    name, owner, handler = new_name(), make.new_owner(), Recorder()
    with pytest.raises(InterruptedError):
        await change(store, owner, JobRequest(name, {"revision": 1}), fail=True)
    assert await state_of(queue, name) == QueueState(name)
    await change(store, owner, JobRequest(name, {"revision": 1}, key="1"), JobRequest(name, {"revision": 1}, key="1"))
    await change(store, owner, JobRequest(name, {"revision": 2}, key="2"), JobRequest(name, {"revision": 1}, key="1"))
    async with working(queue, {name: handler}):
        await settled(queue, name)
    assert sorted(str(job.data) for job in handler.jobs) == ["{'revision': 1}", "{'revision': 2}"]
    assert {job.owner for job in handler.jobs} == {owner}


async def test_a_change_with_a_job_that_cannot_be_kept_leaves_no_trace(store: MemoryStore, queue: JobQueue):
    name, owner = new_name(), make.new_owner()
    with pytest.raises(TypeError):
        await change(store, owner, JobRequest(name, {"n": 1}), JobRequest(name, {"n": object()}))
    assert (await store.state(owner)).revision == 0
    assert await state_of(queue, name) == QueueState(name)


async def test_reports_add_up_and_workers_that_fell_silent_are_not_counted(queue: JobQueue):
    name, one, other = new_name(), uuid.uuid4(), uuid.uuid4()
    before = await queue.workers(make.at(0))
    await queue.report(WorkerReport(one, make.at(0), make.at(1), [JobTotals(name, 2, 5, 1, 1, make.at(1))]))
    await queue.report(WorkerReport(other, make.at(0), make.at(9), [JobTotals(name, 1, 0, 0, 0, make.at(0))]))
    await queue.report(WorkerReport(other, make.at(0), make.at(10)))
    assert await queue.workers(make.at(0)) == before + 2
    assert await queue.workers(make.at(5)) == 1
    assert [t for t in await queue.totals() if t.name == name] == [JobTotals(name, 3, 5, 1, 1, make.at(1))]
