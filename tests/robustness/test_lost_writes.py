"""How memories get lost or doubled elsewhere, each as a test over two real servers on one database.

The complaints are public ones of users of other systems: appends at once of which some survive, retries that
double, checks before inserts that race, bulk deletes that tear what writers build, processes that break each
other's keys, and leases shorter than the work they protect.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from memory_service.client import (
    Aborted,
    AsyncMemoryClient,
    Consistency,
    DeadlineExceeded,
    Dot,
    MemoryFilter,
    NewMemory,
    RetryPolicy,
    Unavailable,
)
from tests.acceptance.locks import held, waits
from tests.acceptance.world import new_user
from tests.robustness.checker import EVERY_STATUS, read_database
from tests.robustness.cluster import Cluster

ONCE = RetryPolicy(attempts_max=1)
Pair = tuple[AsyncMemoryClient, AsyncMemoryClient]


@pytest.fixture
async def pair(two_servers: Cluster) -> AsyncIterator[Pair]:
    """A client of each server, for one new user."""
    user = new_user()
    here, there = (
        AsyncMemoryClient(line.target, two_servers.key, user=user, timeout_seconds=30) for line in two_servers.lines
    )
    async with here, there:
        yield here, there


async def texts(memory: AsyncMemoryClient) -> list[str]:
    return sorted([found.text async for found in memory.list(page_size=500)])


async def check_log(cluster: Cluster, user: str) -> None:
    """Revisions and the numbers of each device follow one another."""
    log = await read_database(cluster.database_url, user)
    assert [change[0] for change in log.changes] == list(range(1, log.revision + 1))
    for device, count in log.clock.items():
        assert [c[2] for c in log.changes if c[1] == device] == list(range(1, count + 1))


async def test_eight_concurrent_appends_all_survive(two_servers: Cluster, pair: Pair):
    said = [f"caller {n} parked on level {i}" for n in range(8) for i in range(6)]

    async def append(number: int) -> None:
        for i in range(6):
            await pair[(number + i) % 2].write(f"caller {number} parked on level {i}", session=f"s{number}")

    await asyncio.gather(*(append(n) for n in range(8)))
    for memory in pair:
        assert await texts(memory) == sorted(said)
        found = await memory.recall("", limit=200, consistency=Consistency.fully_consistent())
        assert sorted(item.memory.text for item in found) == sorted(said)
    await check_log(two_servers, pair[0].user)


async def test_appends_to_one_slot_at_once_drop_no_turn(two_servers: Cluster, pair: Pair):
    """Every value of a slot written by many at once is kept: one stands, the others are its past."""
    await asyncio.gather(
        *(pair[n % 2].write(predicate="location", object=f"town {n}", source="explicit") for n in range(24))
    )
    every = [m async for m in pair[0].list(where=MemoryFilter(statuses=EVERY_STATUS), page_size=100)]
    assert sorted(m.text for m in every) == sorted(f"user location: town {n}" for n in range(24))
    assert len([m for m in every if str(m.status) == "active"]) == 1
    await check_log(two_servers, pair[0].user)


async def test_a_retry_after_a_time_out_does_it_once(two_servers: Cluster, pair: Pair):
    """The answer comes too late for its caller while the change waits for a lock; the same request settles it."""
    memory = pair[0]
    await memory.write("before")
    async with held(two_servers.database_url, memory.user):
        late = [
            asyncio.create_task(memory.write(f"late {n}", request_id=f"late-{n}", timeout_seconds=0.6))
            for n in range(3)
        ]
        await waits(two_servers.database_url)
        for error in await asyncio.gather(*late, return_exceptions=True):
            assert isinstance(error, DeadlineExceeded | Unavailable)
    for n in range(3):
        again = await asyncio.gather(*(side.write(f"late {n}", request_id=f"late-{n}") for side in pair))
        assert len({(result.memory.id, result.token) for result in again if result.memory}) == 1
    found = [m async for m in memory.list()]
    assert sorted((m.text, m.support) for m in found) == [("before", 1), *((f"late {n}", 1) for n in range(3))]


async def test_an_answer_cut_off_on_the_way_is_given_again(two_servers: Cluster, pair: Pair):
    """The line breaks in the middle of answers; retries over the other server find the change done."""
    for n in range(12):
        two_servers.lines[n % 2].cut_after(5 + 17 * n)
        written = None
        for attempt in range(40):
            try:
                side = pair[(n + attempt) % 2]
                written = await side.write(f"cut {n}", request_id=f"cut-{n}", timeout_seconds=3)
                break
            except (DeadlineExceeded, Unavailable):
                continue
        assert written is not None
    found = [m async for m in pair[0].list()]
    assert sorted((m.text, m.support, m.version) for m in found) == sorted((f"cut {n}", 1, 1) for n in range(12))


async def test_check_then_insert_makes_no_duplicates(two_servers: Cluster, pair: Pair):
    """Callers who look first and write when they find nothing all find nothing; it is one memory all the same."""

    async def note(number: int) -> None:
        memory = pair[number % 2]
        found = await memory.recall("lighthouse", consistency=Consistency.fully_consistent(), read_only=True)
        if not found.memories:
            await memory.write("The lighthouse opens at nine" if number % 3 else "the LIGHTHOUSE opens at  nine.")

    await asyncio.gather(*(note(n) for n in range(16)))
    (one,) = [m async for m in pair[0].list()]
    assert 1 <= one.support <= 16
    assert one.version == one.support


async def test_a_bulk_delete_among_writers_takes_all_it_named_and_breaks_nothing(two_servers: Cluster, pair: Pair):
    here, there = pair
    await here.write_many([NewMemory(f"old invoice {n}", {"tags": ["invoice"]}) for n in range(60)])
    started = asyncio.Event()

    async def write(number: int) -> None:
        for i in range(8):
            await pair[number % 2].write(f"receipt {number}-{i}", tags=["receipt"])
            started.set()

    writing = asyncio.gather(*(write(n) for n in range(4)))
    await started.wait()
    gone = await there.forget(where=MemoryFilter(tags_any=["invoice"]))
    await writing
    assert gone.forgotten_count == 60
    kept = sorted(f"receipt {n}-{i}" for n in range(4) for i in range(8))
    for memory in pair:
        assert await texts(memory) == kept
        found = await memory.recall("", limit=200, consistency=Consistency.fully_consistent())
        assert sorted(item.memory.text for item in found) == kept
    for found_one in [m async for m in here.list()]:
        detail = await here.get(found_one.id)
        assert not set(gone.memory_ids) & {end for link in detail.links for end in (link.from_id, link.to_id)}
    await check_log(two_servers, here.user)


async def test_two_processes_on_one_owner_break_no_key_and_no_number(two_servers: Cluster, pair: Pair):
    """One device writes through both servers in turn, and both servers number nameless callers at the same time."""

    async def nameless(number: int) -> None:
        for i in range(10):
            await pair[(number + i) % 2].write(f"nameless {number} heard {i}")

    async def device() -> None:
        for n in range(1, 21):
            await pair[n % 2].write(f"device heard {n}", dot=Dot("phone", n), context=None)

    await asyncio.gather(*(nameless(n) for n in range(4)), device())
    assert len(await texts(pair[0])) == 60
    log = await read_database(two_servers.database_url, pair[0].user)
    assert dict(log.clock) == {"~server": 40, "phone": 20}
    await check_log(two_servers, pair[0].user)


async def test_one_number_sent_to_two_processes_at_once_is_one_change(two_servers: Cluster, pair: Pair):
    for n in range(1, 11):
        twice = await asyncio.gather(*(side.write(f"entry {n}", dot=Dot("phone", n), context=None) for side in pair))
        assert len({(r.token, r.memory.id) for r in twice if r.memory}) == 1
        assert sorted(r.replayed for r in twice) == [False, True]
    assert len(await texts(pair[0])) == 10


async def test_same_document_work_does_not_deadlock(two_servers: Cluster, pair: Pair):
    """Batches that touch the same slots in opposite orders, from both sides at once."""
    slots = [f"part {n}" for n in range(12)]

    def batch(number: int) -> list[NewMemory]:
        order = slots if number % 2 else slots[::-1]
        return [NewMemory("", {"subject": s, "predicate": "editor", "object": f"hand {number}"}) for s in order]

    outcomes = await asyncio.wait_for(asyncio.gather(*(pair[n % 2].write_many(batch(n)) for n in range(10))), 60)
    assert all(outcome.result is not None for batch_ in outcomes for outcome in batch_)
    standing = [m async for m in pair[0].list(page_size=100)]
    assert len(standing) == len(slots)
    assert len({str(m.assertion.object) for m in standing if m.assertion}) == 1


async def test_work_that_outlives_every_time_limit_changes_a_user_once(two_servers: Cluster, pair: Pair):
    """A claim time-out shorter than the job lets two workers change one user: here there is no lease to run out.

    A change that is frozen in the middle, for longer than its caller waits, is repeated on the other server.
    """
    first = pair[0]
    await first.write("before")
    frozen = asyncio.create_task(two_servers.freeze("first", 2.5))
    await asyncio.sleep(0.05)
    slow = AsyncMemoryClient(two_servers.lines[0].target, two_servers.key, user=first.user, retry=ONCE)
    async with slow:
        job = asyncio.create_task(slow.write("the job", request_id="job", timeout_seconds=1.0))
        with pytest.raises((DeadlineExceeded, Unavailable)):
            await job
        taken_over = await pair[1].write("the job", request_id="job", timeout_seconds=30)
        await frozen
        again = await first.write("the job", request_id="job", timeout_seconds=30)
    assert (again.token, again.replayed) == (taken_over.token, True)
    found = [m async for m in first.list()]
    assert sorted((m.text, m.support) for m in found) == [("before", 1), ("the job", 1)]


async def test_an_etag_lets_one_of_two_processes_win(two_servers: Cluster, pair: Pair):
    """Read-modify-write on both sides: every round has one winner, and the loser is told."""
    written = (await pair[0].write("counter at 0")).memory
    assert written
    version = 1
    for n in range(1, 9):
        now = (await pair[0].get(written.id)).memory

        async def correct(side: AsyncMemoryClient, name: str, etag: str, n: int = n) -> str:
            try:
                await side.correct(written.id, f"counter at {n} by {name}", etag=etag, context=None)
            except Aborted as error:
                return error.reason
            return ""

        won = await asyncio.gather(*(correct(side, str(i), now.etag) for i, side in enumerate(pair)))
        assert sorted(won) == ["", "ETAG_MISMATCH"]
        version += 1
        assert (await pair[1].get(written.id)).memory.version == version


async def test_an_import_that_is_cut_and_repeated_is_done_once(two_servers: Cluster, pair: Pair):
    items = [NewMemory(f"imported line {n}", request_id=f"import-{n}") for n in range(120)]
    cutting = asyncio.create_task(_cut_for_a_while(two_servers))
    done = 0
    for attempt in range(40):
        try:
            done = len(await pair[attempt % 2].write_many(items, batch_size=30, timeout_seconds=4))
            break
        except (DeadlineExceeded, Unavailable):
            continue
    await cutting
    assert done == len(items)
    found = [m async for m in pair[0].list(page_size=500)]
    assert sorted((m.text, m.support) for m in found) == sorted((item.text, 1) for item in items)


async def _cut_for_a_while(cluster: Cluster) -> None:
    for n in range(6):
        await asyncio.sleep(0.05)
        cluster.lines[n % 2].cut()
