"""Workers on PostgreSQL: any number of them do what is due once, through kills, outages and failures (E14)."""

from __future__ import annotations

import asyncio
import os
import sys
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import asyncpg
import pytest
import structlog.testing

from memory_service.adapters.inmemory.clock import ManualClock
from memory_service.adapters.postgres.sql_jobs import NAMES
from memory_service.app.jobs import RetryPolicy
from memory_service.app.schedule import ScheduleSettings
from memory_service.domain.errors import Reason, Unavailable
from memory_service.domain.ids import OwnerKey
from tests.conftest import NewDatabase, with_database
from tests.jobs.deployment import (
    HOUR,
    PATIENCE_SECONDS,
    QUICK,
    START,
    Node,
    Promote,
    assert_promoted_once,
    node,
    owner_with_candidates,
    tick_until_done,
)
from tests.postgres.fixtures import connected, postgres_backend

SOON = replace(QUICK, takeover_seconds=1.0)
ROOT = Path(__file__).parents[2]


@pytest.fixture
async def dsn(new_database: NewDatabase) -> AsyncIterator[str]:
    """A database that only this test works on."""
    async with new_database() as database_url:
        yield database_url


async def all_due(clock: ManualClock, first: Node) -> None:
    """Plan every owner, and move on to when all of them are due."""
    await first.schedule.tick()
    clock.advance(HOUR)


async def test_the_tables_are_those_that_pgqueuer_wants(dsn: str):
    from pgqueuer.adapters.persistence.qb import QueryBuilderEnvironment
    from pgqueuer.adapters.persistence.queries import Queries

    connection = await asyncpg.connect(dsn)
    try:
        queries = Queries.from_asyncpg_connection(connection)
        queries.qbe = QueryBuilderEnvironment(settings=NAMES)
        plan = await queries.plan_upgrade()
    finally:
        await connection.close()
    assert not plan.statements


async def test_two_hundred_owners_due_at_once_are_each_done_once_by_three_workers(dsn: str):
    clock = ManualClock(START)
    async with node(dsn, clock) as one, node(dsn, clock) as two, node(dsn, clock) as three:
        nodes = [one, two, three]
        owners = [await owner_with_candidates(one.backend.memories, n % 5) for n in range(1, 201)]
        await all_due(clock, one)
        for each in nodes:
            each.worker.start()
        await tick_until_done(clock, nodes)
        for number, owner in enumerate(owners, 1):
            await assert_promoted_once(one.backend.memories, owner, number % 5)
        runs = Counter(owner for each in nodes for owner in each.schedule.upkeep.steps[0].runs)  # type: ignore[attr-defined]
        # One job each: batches of three until one finds nothing.
        assert runs == {owner: -(-(n % 5) // 3) + 1 for n, owner in enumerate(owners, 1)}
        assert all(each.schedule.upkeep.steps[0].runs for each in nodes)  # type: ignore[attr-defined]
        for each in nodes:
            await each.runner.report()
        view = await one.schedule.view()
        assert view.workers == 3
        assert (view.jobs[0].totals.done, view.jobs[0].totals.changed) == (200, sum(n % 5 for n in range(1, 201)))


async def test_two_workers_on_one_owner_take_turns_and_the_second_finds_nothing(dsn: str):
    clock = ManualClock(START)
    async with node(dsn, clock) as one, node(dsn, clock) as two:
        owner = await owner_with_candidates(one.backend.memories, 12)
        step = one.schedule.steps[0]
        done = await asyncio.gather(one.schedule.run(owner, step), two.schedule.run(owner, step))
        assert sum(done) == 12
        await assert_promoted_once(one.backend.memories, owner, 12)
        assert await two.schedule.run(owner, step) == 0


async def killed_workers(dsn: str, *arguments: str) -> str:
    """Run the script whose workers kill themselves; what it says."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.jobs.killed_worker", dsn, *arguments, stdout=asyncio.subprocess.PIPE, cwd=ROOT
    )
    said, _ = await process.communicate()
    assert process.returncode == 0
    return said.decode()


async def test_a_worker_killed_before_any_statement_loses_and_doubles_nothing(dsn: str):
    """SIGKILL before the n-th statement of looking, claiming, taking, doing and writing off, n = 1, 2, …"""
    said = await killed_workers(dsn, "every-statement")
    kills = int(said.split()[-1])
    assert kills >= 25
    clock = ManualClock(START)
    async with node(dsn, clock, how=SOON) as left:
        await all_due(clock, left)
        left.worker.start()
        await tick_until_done(clock, [left])
        async with connected(dsn) as connection:
            found = await connection.fetch("SELECT tenant, user_id FROM owners")
            assert await connection.fetchval("SELECT count(*) FROM pgqueuer") == 0
        assert len(found) >= kills
        for row in found:
            await assert_promoted_once(left.backend.memories, OwnerKey(row["tenant"], row["user_id"]), 4)


async def test_workers_killed_at_random_moments_lose_and_double_nothing(dsn: str):
    seed = os.environ.get("SEED", "20260301")
    clock = ManualClock(START)
    async with node(dsn, clock, how=SOON) as left:
        owners = [await owner_with_candidates(left.backend.memories, 7) for _ in range(120)]
        await all_due(clock, left)
        await left.schedule.tick()
        for attempt in range(8):  # a moment at which somebody is at work is likely, not certain
            said = await killed_workers(dsn, "random", f"{seed}{attempt or ''}")
            assert int(said.split()[-1]) >= 5
            if (await left.schedule.view()).jobs[0].state.running:
                break
        else:
            pytest.fail("nobody was killed at work")
        left.worker.start()
        await tick_until_done(clock, [left])
        for owner in owners:
            await assert_promoted_once(left.backend.memories, owner, 7)


async def test_a_job_that_kills_its_workers_is_given_up_and_can_be_tried_again(dsn: str):
    clock = ManualClock(START)
    policy = RetryPolicy(attempts_max=3)
    async with node(dsn, clock, retry=policy) as left:
        owner = await owner_with_candidates(left.backend.memories, 1)
        await all_due(clock, left)
        await left.schedule.tick()
        async with connected(dsn) as connection:
            for _ in range(3):
                # As a dead worker leaves it: picked, and silent for long.
                await connection.execute(
                    """UPDATE pgqueuer SET status = 'picked', queue_manager_id = gen_random_uuid(),
                       heartbeat = now() - interval '1 hour'"""
                )
            left.worker.start()
            async with asyncio.timeout(PATIENCE_SECONDS):
                while not (failed := await left.backend.jobs.given_up(owner.tenant, limit=9)):  # noqa: ASYNC110
                    await asyncio.sleep(0.02)
        assert [(job.reason, job.attempts, job.owner) for job in failed] == [("WORKER_LOST", 3, owner)]
        assert await left.backend.jobs.requeue(owner.tenant, [failed[0].id]) == 1
        await tick_until_done(clock, [left])
        await assert_promoted_once(left.backend.memories, owner, 1)


class Broken:
    """A step that raises for some owners."""

    name = "broken"
    every = HOUR

    def __init__(self, owners: set[OwnerKey], error: Exception) -> None:
        self.owners = owners
        self.error = error
        self.runs: Counter[OwnerKey] = Counter()

    async def __call__(self, owner: OwnerKey) -> int:
        self.runs[owner] += 1
        if owner in self.owners:
            raise self.error
        return 0


@pytest.mark.parametrize(
    ("error", "reason"),
    [(Unavailable(Reason.EMBEDDER_UNAVAILABLE, "away"), "EMBEDDER_UNAVAILABLE"), (KeyError("quokka"), "KeyError")],
)
async def test_a_step_that_raises_is_tried_again_then_kept_aside_and_stops_no_other(
    dsn: str, error: Exception, reason: str
):
    # Captured, since rendering tracebacks for people takes longer than all the rest.
    with structlog.testing.capture_logs() as logs:
        await broken_and_mended(dsn, error, reason, logs)


async def broken_and_mended(dsn: str, error: Exception, reason: str, logs: list[Any]) -> None:
    """The life of a job that fails for good."""
    clock = ManualClock(START)
    policy = RetryPolicy(attempts_max=3, delay_first=timedelta(seconds=0.01))
    owners: set[OwnerKey] = set()
    broken = Broken(owners, error)
    async with postgres_backend(dsn) as other:
        promote = Promote(other.memories)
        async with node(dsn, clock, broken, promote, retry=policy) as one:
            store = one.backend.memories
            good, bad = [await owner_with_candidates(store, 4) for _ in range(2)]
            owners.add(bad)
            await all_due(clock, one)
            one.worker.start()
            await tick_until_done(clock, [one])
            assert {log["reason"] for log in logs if log["event"] == "job failed"} == {reason}
            for owner in (good, bad):
                await assert_promoted_once(store, owner, 4)
            assert (broken.runs[good], broken.runs[bad]) == (1, 3)
            (failed,) = await one.backend.jobs.given_up(bad.tenant, limit=9)
            assert (failed.name, failed.owner, failed.reason) == ("upkeep.broken", bad, reason)
            assert await one.backend.jobs.given_up(good.tenant, limit=9) == []
            # It is left alone for a day, then tried again; of its failures one is kept.
            clock.advance(timedelta(hours=20))
            await tick_until_done(clock, [one])
            assert broken.runs[bad] == 3
            clock.advance(timedelta(hours=5))
            await tick_until_done(clock, [one])
            assert broken.runs[bad] == 6
            assert len(await one.backend.jobs.given_up(bad.tenant, limit=9)) == 1
            async with connected(dsn) as connection:
                kept = await connection.fetchval(
                    "SELECT count(*) || coalesce(string_agg(traceback::text, ''), '') FROM pgqueuer_log"
                )
            assert "quokka" not in kept


async def test_the_database_away_and_back_delays_and_loses_nothing(dsn: str, new_database: NewDatabase):
    clock = ManualClock(START)
    name = urlsplit(dsn).path.removeprefix("/")
    async with node(dsn, clock) as one:
        owners = [await owner_with_candidates(one.backend.memories, 6) for _ in range(40)]
        await all_due(clock, one)
        one.worker.start()
        await one.schedule.tick()
        async with connected(with_database(dsn, "postgres"), search_path="public") as above:
            await above.execute(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS false')
            cut = await above.fetch("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1", name)
            assert cut
            with pytest.raises(Exception, match="database"):
                await one.schedule.tick()
            await above.execute(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS true')
        await tick_until_done(clock, [one])
        for owner in owners:
            await assert_promoted_once(one.backend.memories, owner, 6)


async def test_ten_thousand_that_are_due_drain_batch_by_batch_from_a_bounded_queue(dsn: str):
    clock = ManualClock(START)
    few = ScheduleSettings(waiting_max=60, claims_per_tick=40, rounds_max=4)
    async with postgres_backend(dsn) as other:
        step = Promote(other.memories, batch=250)
        async with node(dsn, clock, step, settings=few, how=replace(QUICK, concurrency=16)) as one:
            store = one.backend.memories
            sizes = [4_500, 4_500, *[5] * 200]
            owners = [await owner_with_candidates(store, size) for size in sizes]
            await all_due(clock, one)
            one.worker.start()
            assert await tick_until_done(clock, [one]) <= few.waiting_max
            assert step.most_held == step.batch
            for owner, size in zip(owners, sizes, strict=True):
                await assert_promoted_once(store, owner, size)
