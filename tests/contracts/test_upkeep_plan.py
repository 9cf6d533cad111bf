"""Plan of upkeep contract: who is due when, found by looking, claimed once, and never lost (E14)."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Sequence
from datetime import datetime, timedelta

import pytest

from memory_service.domain.ids import OwnerKey
from memory_service.ports.job_queue import JobQueue
from memory_service.ports.memory_store import MemoryStore
from memory_service.ports.upkeep_plan import LONGEST, QUIET_SHARE, STILL_THERE, StepInterval, UpkeepPlan
from tests.contracts import builders as make

HOUR = timedelta(hours=1)
NOW = make.START
LEASE = timedelta(minutes=15)
MANY = 1_000
FOR_EVER = timedelta(days=10_000)


@pytest.fixture
def step() -> StepInterval:
    """A step that no other test has."""
    return StepInterval(f"step-{uuid.uuid4()}", HOUR)


async def owners_with_memories(store: MemoryStore, count: int) -> list[OwnerKey]:
    """Owners that wrote once."""
    owners = [make.new_owner() for _ in range(count)]
    for owner in owners:
        await make.write(store, owner, make.version(make.new_id()))
    return owners


async def look_at_all(plan: UpkeepPlan, steps: Sequence[StepInterval], at: datetime, page: int = MANY) -> int:
    """Two rounds through all owners, so that each was looked at from wherever the first began; how many planned."""
    planned, rounds = 0, 0
    while rounds < 2:
        looked = await plan.look(steps, at, owners_max=page)
        assert looked is not None
        planned += looked.planned
        rounds += looked.owners < page
    return planned


async def due_of(plan: UpkeepPlan, step: StepInterval, at: datetime) -> int:
    """How many owners are due."""
    (found,) = await plan.due([step], at, count_max=MANY)
    return found.due


async def claim(plan: UpkeepPlan, step: StepInterval, at: datetime, limit: int = MANY) -> int:
    """Claim what is due."""
    return await plan.claim([step], at, limit=limit, again_at=at + LEASE)


async def test_new_owners_are_found_page_by_page_and_due_within_the_interval(
    store: MemoryStore, plan: UpkeepPlan, step: StepInterval
):
    await owners_with_memories(store, 7)
    assert await look_at_all(plan, [step], NOW, page=3) >= 7
    due = await due_of(plan, step, NOW + HOUR)
    assert due >= 7
    assert await due_of(plan, step, NOW) == 0
    (found,) = await plan.due([step], NOW, count_max=2)
    assert found.next_due_at is not None
    assert NOW < found.next_due_at <= NOW + HOUR
    assert await look_at_all(plan, [step], NOW + HOUR, page=3) == 0
    assert (await plan.due([step], NOW + HOUR, count_max=2))[0].due == 2


async def test_many_who_look_look_no_faster_than_one(plan: UpkeepPlan, step: StepInterval):
    assert await plan.look([step], NOW, owners_max=MANY) is not None
    for _ in range(3):
        assert await plan.look([step], NOW, owners_max=MANY, pace=HOUR) is None
    assert await plan.look([step], NOW, owners_max=MANY) is not None


async def test_a_claim_is_one_job_each_for_nobody_else_and_due_again_when_lost(
    store: MemoryStore, plan: UpkeepPlan, queue: JobQueue, step: StepInterval
):
    await owners_with_memories(store, 5)
    await look_at_all(plan, [step], NOW)
    later = NOW + HOUR
    everything = await due_of(plan, step, later)
    assert await claim(plan, step, later, limit=3) == 3
    assert await due_of(plan, step, later) == everything - 3
    took = await asyncio.gather(*(claim(plan, step, later) for _ in range(4)))
    assert sum(took) == everything - 3
    assert await claim(plan, step, later) == 0
    assert await queue.waiting([step.job], at_most=MANY) == everything
    # The jobs still wait when the lease ends: no second ones, and a further look soon.
    assert await due_of(plan, step, later + LEASE) == everything
    assert await claim(plan, step, later + LEASE) == 0
    assert await queue.waiting([step.job], at_most=MANY) == everything
    assert await due_of(plan, step, later + LEASE + STILL_THERE) == everything


async def test_after_a_run_the_interval_counts_and_a_quiet_owner_is_left_alone(
    store: MemoryStore, plan: UpkeepPlan, step: StepInterval
):
    (owner,) = await owners_with_memories(store, 1)
    await look_at_all(plan, [step], NOW)
    assert await plan.ran(owner, step, NOW + HOUR) == NOW + 2 * HOUR
    quiet = timedelta(days=100)
    assert await plan.ran(owner, step, NOW + quiet) == NOW + quiet * (1 + QUIET_SHARE)
    long_quiet = timedelta(days=5_000)
    assert await plan.ran(owner, step, NOW + long_quiet) == NOW + long_quiet + LONGEST
    assert await plan.ran(owner, step, NOW, again_at=NOW + LEASE) == NOW + LEASE
    assert await plan.ran(make.new_owner(), step, NOW) is None


async def test_a_change_brings_a_quiet_owner_back_within_the_interval(
    store: MemoryStore, plan: UpkeepPlan, step: StepInterval
):
    (owner,) = await owners_with_memories(store, 1)
    await look_at_all(plan, [step], NOW)
    after = NOW + timedelta(days=400)
    next_at = await plan.ran(owner, step, after)
    assert next_at == after + timedelta(days=20)
    assert await look_at_all(plan, [step], after) == 0
    await make.write(store, owner, make.version(make.new_id()))
    assert await look_at_all(plan, [step], after) == 1
    assert await plan.ran(owner, step, after, again_at=after + HOUR) == after + HOUR
    assert await plan.ran(owner, step, after + HOUR) == after + 2 * HOUR


async def test_a_step_that_is_to_rest_is_not_brought_back_by_a_change(
    store: MemoryStore, plan: UpkeepPlan, step: StepInterval
):
    (owner,) = await owners_with_memories(store, 1)
    await look_at_all(plan, [step], NOW)
    await plan.ran(owner, step, NOW, again_at=NOW + 24 * HOUR)
    others = await due_of(plan, step, NOW + 2 * HOUR)
    await make.write(store, owner, make.version(make.new_id()))
    assert await look_at_all(plan, [step], NOW) == 1
    assert await due_of(plan, step, NOW + 2 * HOUR) == others
    assert await due_of(plan, step, NOW + 24 * HOUR) == others + 1
    await plan.ran(owner, step, NOW + 24 * HOUR)
    await make.write(store, owner, make.version(make.new_id()))
    assert await look_at_all(plan, [step], NOW) == 1
    assert await due_of(plan, step, NOW + HOUR) >= 1


async def test_a_step_that_is_new_is_planned_for_owners_known_before(
    store: MemoryStore, plan: UpkeepPlan, step: StepInterval
):
    await owners_with_memories(store, 3)
    await look_at_all(plan, [step], NOW)
    added = StepInterval(f"{step.name}-added", 2 * HOUR)
    assert await look_at_all(plan, [added, step], NOW) >= 3
    assert await look_at_all(plan, [step, added], NOW) == 0
    assert await due_of(plan, added, NOW + 2 * HOUR) >= 3


async def test_a_clock_that_was_wrong_and_goes_back_delays_nobody_for_long(
    store: MemoryStore, plan: UpkeepPlan, step: StepInterval
):
    owners = await owners_with_memories(store, 3)
    wrong = NOW + FOR_EVER
    await look_at_all(plan, [step], wrong)
    for owner in owners:
        await plan.ran(owner, step, wrong)
    assert await due_of(plan, step, NOW + HOUR) == 0
    await look_at_all(plan, [step], NOW)
    assert await due_of(plan, step, NOW + HOUR) >= 3
    # By an hour it is just due an hour later by the same clock.
    assert await plan.ran(owners[0], step, NOW - HOUR) == NOW


async def test_an_owner_without_changes_is_not_planned(store: MemoryStore, plan: UpkeepPlan, step: StepInterval):
    owner = make.new_owner()
    async with store.change(owner):
        pass
    await look_at_all(plan, [step], NOW)
    assert await plan.ran(owner, step, NOW) is None
