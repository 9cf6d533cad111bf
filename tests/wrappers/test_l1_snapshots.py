"""The first tier, scenario by scenario."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from memory_service.adapters.inmemory import InMemoryMemoryStore
from memory_service.domain.errors import InvalidInput, Reason, Unavailable
from memory_service.domain.ids import Revision
from memory_service.ports.snapshots import Freshness, Requirement
from tests.contracts import builders as make
from tests.wrappers.replicas import Replica, World, content, settled

FAST = Requirement()
NEWEST = Requirement(Freshness.FULLY_CONSISTENT)


def at_least(revision: int) -> Requirement:
    """A token's requirement."""
    return Requirement(Freshness.AT_LEAST_AS_FRESH, Revision(revision))


@pytest.fixture
async def world():
    """A world, ended afterwards."""
    made = World()
    yield made
    await made.close()


async def warm(world: World, **settings):
    """A replica that listens, and an owner that it holds at revision 1."""
    replica, owner = world.replica(**settings), make.new_owner()
    replica.l1.start()
    await settled()
    await world.write(owner)
    await replica.l1.snapshot(owner, FAST)
    await settled()
    replica.store.calls.clear()
    return replica, owner


def advance(world: World, seconds: float, *, beating: bool = True) -> None:
    """Let time pass, the cache's heart beating or not."""
    for _ in range(int(seconds * 2)):
        world.clock.advance(timedelta(seconds=0.5))
        if beating:
            world.cache.beat()


async def test_a_hot_recall_does_no_io(world: World):
    replica, owner = await warm(world)
    first = await replica.l1.snapshot(owner, FAST)
    assert await replica.l1.snapshot(owner, FAST) is first
    assert await replica.l1.snapshot(owner, at_least(1)) is first
    assert not replica.store.calls
    assert replica.telemetry.counts["snapshot_requests_total", "l1", "hit"] == 3


async def test_while_subscribed_the_store_is_not_asked_for_long(world: World):
    replica, owner = await warm(world)
    for _ in range(14):
        advance(world, 2)
        await settled()
        await replica.l1.snapshot(owner, FAST)
    assert not replica.store.calls
    advance(world, 3)
    await settled()
    await replica.l1.snapshot(owner, FAST)
    assert replica.store.calls == {"state": 1}


async def test_a_dead_writers_commit_is_seen_in_bounded_time(world: World):
    replica, owner = await warm(world)
    revision = await world.write(owner)
    advance(world, 20)
    await settled()
    assert (await replica.l1.snapshot(owner, FAST)).revision == 1
    advance(world, 11)
    await settled()
    assert (await replica.l1.snapshot(owner, FAST)).revision == revision


async def test_without_heartbeats_the_store_is_asked_after_the_staleness(world: World):
    replica, owner = await warm(world)
    revision = await world.write(owner)
    advance(world, 1, beating=False)
    assert (await replica.l1.snapshot(owner, FAST)).revision == 1
    advance(world, 0.5, beating=False)
    assert (await replica.l1.snapshot(owner, FAST)).revision == revision


async def test_a_gap_marks_every_snapshot_unverified(world: World):
    replica, owner = await warm(world)
    advance(world, 2)
    world.cache.set_away(True)
    world.cache.set_away(False)
    revision = await world.write(owner)
    await settled()
    assert (await replica.l1.snapshot(owner, FAST)).revision == revision


async def test_a_verification_that_began_before_the_gap_ended_proves_nothing(world: World):
    replica, owner = await warm(world)
    advance(world, 2)
    world.cache.set_away(True)
    await settled()
    world.gates.closed = True
    recall = asyncio.create_task(replica.l1.snapshot(owner, FAST))
    await settled()
    world.gates.release(0)
    await settled()
    revision = await world.write(owner)
    world.cache.set_away(False)
    await settled()
    world.gates.open()
    assert (await recall).revision == 1
    advance(world, 2)
    await settled()
    assert (await replica.l1.snapshot(owner, FAST)).revision == revision


async def test_a_slow_load_is_as_old_as_its_beginning(world: World):
    replica, owner = await warm(world, staleness_seconds_max=1.0)
    world.cache.set_away(True)
    await settled()
    advance(world, 2, beating=False)
    revision = Revision(1)
    world.gates.closed = True
    slow = asyncio.create_task(replica.l1.snapshot(owner, FAST))
    await settled()
    world.gates.release(0)
    await settled()
    revision = await world.write(owner)
    advance(world, 5, beating=False)
    late = asyncio.create_task(replica.l1.snapshot(owner, FAST))
    await settled()
    world.gates.open()
    assert (await slow).revision == 1
    assert (await late).revision == revision
    assert (await replica.l1.snapshot(owner, FAST)).revision == revision


async def test_own_commits_are_seen_at_once_and_by_delta(world: World):
    replica, owner = await warm(world)
    revision = await world.change(owner, 0)
    replica.l1.committed(owner, revision)
    snapshot = await replica.l1.snapshot(owner, FAST)
    assert snapshot.revision == revision
    assert content(snapshot) == world.contents[owner, revision]
    assert replica.store.calls == {"search_rows_since": 1}


async def test_own_commits_are_seen_although_an_older_load_is_under_way(world: World):
    replica, owner = await warm(world)
    world.gates.closed = True
    older = asyncio.create_task(replica.l1.snapshot(owner, NEWEST))
    await settled()
    world.gates.release(0)
    await settled()
    revision = await world.write(owner)
    replica.l1.committed(owner, revision)
    own = [asyncio.create_task(replica.l1.snapshot(owner, r)) for r in (FAST, NEWEST, at_least(revision))]
    await settled()
    world.gates.open()
    assert (await older).revision == 1
    assert [snapshot.revision for snapshot in await asyncio.gather(*own)] == [revision] * 3


async def test_commits_elsewhere_arrive_as_news(world: World):
    replica, owner = await warm(world)
    other = world.replica()
    other.l1.start()
    revision = await world.write(owner)
    other.l1.committed(owner, revision)
    await other.l1.flushed()
    await settled()
    assert (await replica.l1.snapshot(owner, FAST)).revision == revision


async def test_news_that_could_not_be_sent_is_sent_later(world: World):
    replica, owner = await warm(world)
    other = world.replica()
    other.l1.start()
    world.cache.set_away(True)
    revision = await world.write(owner)
    other.l1.committed(owner, revision)
    await settled()
    assert other.telemetry.counts["snapshot_news_total", "unpublished"]
    world.cache.set_away(False)
    async with asyncio.timeout(10):
        await other.l1.flushed()
    await settled()
    assert replica.l1._entries[owner].known == revision


async def test_a_token_is_never_violated(world: World):
    replica, owner = await warm(world)
    revision = await world.write(owner)
    assert (await replica.l1.snapshot(owner, at_least(revision))).revision == revision
    assert (await replica.l1.snapshot(owner, at_least(1))).revision == revision


@pytest.mark.parametrize("held", [True, False])
async def test_a_token_of_no_revision_is_refused(world: World, held: bool):
    replica, owner = await warm(world)
    with pytest.raises(InvalidInput) as caught:
        await replica.l1.snapshot(owner if held else make.new_owner(), at_least(99))
    assert caught.value.reason is Reason.CONSISTENCY_TOKEN_INVALID


async def test_many_who_miss_share_one_load(world: World):
    replica, owner = world.replica(), make.new_owner()
    await world.write(owner)
    world.gates.closed = True
    recalls = [asyncio.create_task(replica.l1.snapshot(owner, FAST)) for _ in range(20)]
    await settled()
    recalls[0].cancel()
    await settled()
    world.gates.open()
    snapshots = await asyncio.gather(*recalls, return_exceptions=True)
    assert isinstance(snapshots[0], asyncio.CancelledError)
    assert len({id(snapshot) for snapshot in snapshots[1:]}) == 1
    assert replica.store.calls == {"search_rows": 1}


async def test_consistent_readers_share_the_next_load_not_the_present_one(world: World):
    replica, owner = await warm(world)
    world.gates.closed = True
    first = asyncio.create_task(replica.l1.snapshot(owner, NEWEST))
    await settled()
    world.gates.release(0)
    await settled()
    revision = await world.write(owner)
    later = [asyncio.create_task(replica.l1.snapshot(owner, NEWEST)) for _ in range(10)]
    await settled()
    world.gates.open()
    assert (await first).revision == 1
    assert {snapshot.revision for snapshot in await asyncio.gather(*later)} == {revision}
    assert replica.store.calls["state"] == 2


async def drop_meanwhile(world: World, replica: Replica, owner, through: int):
    """A recall that passed `through` gates when everything of the owner is forgotten and dropped."""
    (memory_id,) = world.alive[owner]
    world.gates.closed = True
    recall = asyncio.create_task(replica.l1.snapshot(owner, NEWEST))
    await settled()
    for _ in range(through):
        world.gates.release(0)
        await settled()
    assert not recall.done()
    held, world.gates.waiting = world.gates.waiting, []
    world.gates.closed = False
    revision = await world.forget(owner, memory_id)
    await replica.l1.dropped(owner)
    for gate in held:
        gate.set_result(None)
    snapshot = await recall
    await settled()
    return revision, snapshot


@pytest.mark.parametrize(
    ("case", "through"),
    [("verifying", n) for n in range(2)] + [("delta", n) for n in range(2)] + [("shared", n) for n in range(4)]
    + [("store", n) for n in range(4)],
)  # fmt: skip
async def test_a_load_under_way_cannot_bring_back_what_was_forgotten(world: World, case: str, through: int):
    replica, owner = await warm(world)
    if case == "delta":
        replica.l1.committed(owner, await world.change(owner, 0))
    elif case != "verifying":
        if case == "store":
            world.cache._snapshots.clear()
        replica = world.replica()
        replica.l1.start()
        await settled()
    revision, snapshot = await drop_meanwhile(world, replica, owner, through)
    assert content(snapshot) == set()
    assert content(await replica.l1.snapshot(owner, FAST)) == set()
    held = replica.held(owner)
    assert held is None or held.dead_count == 0
    await settled()
    kept = await world.cache.get_snapshot(owner, make.MODEL)
    assert kept is None or kept[0] >= revision


async def test_a_forget_elsewhere_empties_this_process(world: World):
    replica, owner = await warm(world)
    other = world.replica()
    other.l1.start()
    await world.forget(owner, world.alive[owner][0])
    await other.l1.dropped(owner)
    await settled()
    assert replica.held(owner) is None
    assert content(await replica.l1.snapshot(owner, FAST)) == set()


async def test_a_drop_that_the_cache_missed_is_an_error(world: World):
    replica, owner = await warm(world)
    await world.forget(owner, world.alive[owner][0])
    world.cache.set_away(True)
    with pytest.raises(Unavailable) as caught:
        await replica.l1.dropped(owner)
    assert caught.value.reason is Reason.REDIS_UNAVAILABLE
    # All the same this process holds and serves nothing of it.
    assert replica.held(owner) is None
    assert content(await replica.l1.snapshot(owner, FAST)) == set()
    world.cache.set_away(False)
    await replica.l1.dropped(owner)
    assert await world.cache.get_snapshot(owner, make.MODEL) is None


async def test_without_a_cache_everything_works_by_verifying(world: World):
    replica, owner = world.replica(cache=False), make.new_owner()
    replica.l1.start()
    revision = await world.write(owner)
    assert (await replica.l1.snapshot(owner, FAST)).revision == revision
    revision = await world.write(owner)
    advance(world, 1.5)
    assert (await replica.l1.snapshot(owner, FAST)).revision == revision
    replica.l1.committed(owner, await world.forget(owner, world.alive[owner][0]))
    await replica.l1.dropped(owner)
    assert len(content(await replica.l1.snapshot(owner, FAST))) == 1


async def test_bytes_are_bounded_and_the_least_used_go_first(world: World):
    replica = world.replica()
    owners = [make.new_owner() for _ in range(4)]
    for owner in owners:
        await world.write(owner)
        await replica.l1.snapshot(owner, FAST)
    each = replica.telemetry.gauges["snapshot_cache_bytes", "l1"] / 4
    small = world.replica(bytes_max=int(each * 2.5))
    for owner in owners[:2]:
        await small.l1.snapshot(owner, FAST)
    await small.l1.snapshot(owners[0], FAST)
    await small.l1.snapshot(owners[2], FAST)
    assert [owner in small.l1._entries for owner in owners] == [True, False, True, False]
    assert small.telemetry.gauges["snapshot_cache_bytes", "l1"] <= each * 2.5
    assert small.telemetry.counts["snapshot_evictions_total", "l1"] == 1
    tiny = world.replica(bytes_max=0)
    assert len(content(await tiny.l1.snapshot(owners[0], FAST))) == 1
    assert not tiny.l1._entries
    assert not tiny.l1._owners_by_id
    assert tiny.telemetry.gauges["snapshot_cache_bytes", "l1"] == 0


async def test_any_number_of_empty_owners_is_bounded(world: World):
    replica = world.replica(bytes_max=100_000)
    for _ in range(300):
        await replica.l1.snapshot(make.new_owner(), FAST)
    assert len(replica.l1._entries) < 100
    assert not world.cache._snapshots


class FailingStore(InMemoryMemoryStore):
    """A store that is away while told so."""

    away = False

    async def state(self, owner):
        if self.away:
            raise Unavailable(Reason.DATABASE_UNAVAILABLE, "away")
        return await super().state(owner)

    async def search_rows(self, owner, model_id):
        if self.away:
            raise Unavailable(Reason.DATABASE_UNAVAILABLE, "away")
        return await super().search_rows(owner, model_id)

    async def search_rows_since(self, owner, model_id, revision):
        if self.away:
            raise Unavailable(Reason.DATABASE_UNAVAILABLE, "away")
        return await super().search_rows_since(owner, model_id, revision)


async def test_failures_of_the_store_are_the_callers_and_are_not_kept(world: World):
    world.store = FailingStore()
    replica, owner = await warm(world)
    world.store.away = True
    for asked, requirement in ((owner, NEWEST), (make.new_owner(), FAST)):
        with pytest.raises(Unavailable) as caught:
            await replica.l1.snapshot(asked, requirement)
        assert caught.value.reason is Reason.DATABASE_UNAVAILABLE
    # What is held and verified is served all the same.
    assert (await replica.l1.snapshot(owner, FAST)).revision == 1
    world.store.away = False
    assert (await replica.l1.snapshot(owner, NEWEST)).revision == 1


async def test_a_restored_backup_is_noticed(world: World):
    replica, owner = await warm(world)
    for _ in range(3):
        replica.l1.committed(owner, await world.write(owner))
    await replica.l1.snapshot(owner, FAST)
    # What the shared cache holds of the lost history is told apart by its clock, which these writes leave empty.
    world.store._owners.clear()
    world.cache._snapshots.clear()
    await world.write(owner)
    for requirement in (NEWEST, FAST):
        snapshot = await replica.l1.snapshot(owner, requirement)
        assert content(snapshot) == world.contents[owner, Revision(1)]


async def test_closing_ends_what_is_under_way(world: World):
    replica, owner = await warm(world)
    world.gates.closed = True
    recall = asyncio.create_task(replica.l1.snapshot(owner, NEWEST))
    await settled()
    await replica.l1.close()
    await replica.l1.close()
    with pytest.raises(Unavailable) as caught:
        await recall
    assert caught.value.reason is Reason.SHUTTING_DOWN


async def test_what_a_slow_load_brought_is_verified_before_it_is_served_again(world: World):
    replica, owner = world.replica(), make.new_owner()
    await world.write(owner)
    revision = Revision(1)
    world.gates.closed = True
    slow = asyncio.create_task(replica.l1.snapshot(owner, FAST))
    while not slow.done():
        revision = await world.write(owner)
        world.clock.advance(timedelta(seconds=3))
        world.gates.release(0)
        await settled()
    world.gates.open()
    assert (await slow).revision < revision
    assert (await replica.l1.snapshot(owner, FAST)).revision == revision


@pytest.mark.parametrize("cache", [True, False])
async def test_a_load_that_lands_while_the_drop_reads_the_store_is_dropped_too(world: World, cache: bool):
    # Without a cache the replica does not even hear its own news.
    replica, owner = await warm(world, cache=cache)
    world.gates.closed = True
    recall = asyncio.create_task(replica.l1.snapshot(owner, NEWEST))
    await settled()
    world.gates.release(0)
    await settled()
    (landing,) = world.gates.waiting
    world.gates.waiting = []
    await world.forget(owner, world.alive[owner][0])
    # Nobody calls `committed`: the drop has to find the revision by itself.
    drop = asyncio.create_task(replica.l1.dropped(owner))
    await settled()
    landing.set_result(None)
    await settled()
    # Answered before the drop was complete, which is all right; kept is another matter.
    assert recall.done()
    world.gates.open()
    await drop
    assert replica.held(owner) is None
    assert content(await replica.l1.snapshot(owner, FAST)) == set()
