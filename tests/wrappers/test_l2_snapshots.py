"""The second tier: a cache whose content is never believed to be new."""

from __future__ import annotations

import asyncio

import pytest

from memory_service.domain.ids import Revision
from memory_service.domain.retrieval.snapshot import OwnerSnapshot
from memory_service.ports.snapshots import Freshness, Requirement
from tests.contracts import builders as make
from tests.wrappers.replicas import MODEL, World, content, settled, word

NEWEST = Requirement(Freshness.FULLY_CONSISTENT)


@pytest.fixture
async def world():
    """A world, ended afterwards."""
    made = World()
    yield made
    await made.close()


async def filled(world: World):
    """An owner that the cache holds at revision 1, and another process to read it."""
    owner = make.new_owner()
    await world.write(owner)
    first = world.replica()
    assert first.l2 is not None
    await first.l2.snapshot(owner, NEWEST)
    await first.l2.settle()
    second = world.replica()
    assert second.l2 is not None
    return owner, second


async def test_another_process_reads_what_one_stored(world: World):
    owner, replica = await filled(world)
    snapshot = await replica.l2.snapshot(owner, NEWEST)
    assert content(snapshot) == world.contents[owner, Revision(1)]
    assert replica.store.calls == {"search_rows_since": 1}
    assert replica.telemetry.counts["snapshot_requests_total", "l2", "hit"] == 1
    await replica.l2.settle()
    assert "put_snapshot" not in replica.cache.calls


async def test_what_the_cache_holds_is_brought_up_to_date_and_stored_again(world: World):
    owner, replica = await filled(world)
    revision = await world.change(owner, 0)
    snapshot = await replica.l2.snapshot(owner, NEWEST)
    assert content(snapshot) == world.contents[owner, revision]
    await replica.l2.settle()
    kept = await world.cache.get_snapshot(owner, MODEL.id)
    assert kept is not None
    assert kept[0] == revision


async def test_what_was_forgotten_does_not_live_on_behind_a_mask(world: World):
    owner, replica = await filled(world)
    (memory_id,) = world.alive[owner]
    await world.forget(owner, memory_id)
    snapshot = await replica.l2.snapshot(owner, NEWEST)
    assert snapshot.dead_count == 0
    assert word(memory_id) not in snapshot.strings.strings()
    await replica.l2.settle()
    kept = await world.cache.get_snapshot(owner, MODEL.id)
    assert kept is not None
    assert word(memory_id).encode() not in kept[1]


async def test_a_snapshot_on_its_way_cannot_pass_a_drop(world: World):
    owner = make.new_owner()
    await world.write(owner)
    replica = world.replica()
    assert replica.l2 is not None
    world.gates.closed = True
    recall = asyncio.create_task(replica.l2.snapshot(owner, NEWEST))
    await settled()
    while not recall.done():
        world.gates.release(0)
        await settled()
    # Its put waits before the cache now.
    held, world.gates.waiting = world.gates.waiting, []
    assert len(held) == 1
    world.gates.closed = False
    revision = await world.forget(owner, world.alive[owner][0])
    await replica.l2.dropped(owner)
    held[0].set_result(None)
    await replica.l2.settle()
    assert await world.cache.get_snapshot(owner, MODEL.id) is None
    await replica.l2.snapshot(owner, NEWEST)
    await replica.l2.settle()
    kept = await world.cache.get_snapshot(owner, MODEL.id)
    assert kept is not None
    assert kept[0] == revision


async def test_the_cache_being_away_is_no_failure(world: World):
    owner, replica = await filled(world)
    world.cache.set_away(True)
    assert content(await replica.l2.snapshot(owner, NEWEST)) == world.contents[owner, Revision(1)]
    await replica.l2.settle()
    assert replica.telemetry.counts["snapshot_requests_total", "l2", "error"] == 1
    assert replica.telemetry.counts["snapshot_puts_total", "error"] == 1


@pytest.mark.parametrize("damage", ["garbage", "truncated", "revision", "model"])
async def test_a_damaged_entry_is_passed_over(world: World, damage: str):
    owner, replica = await filled(world)
    kept = await world.cache.get_snapshot(owner, MODEL.id)
    assert kept is not None
    other = OwnerSnapshot.build(await world.store.search_rows(owner, "another"), "another", 3).pack()
    packed = {"garbage": b"x" * 50, "truncated": kept[1][:-3], "revision": kept[1], "model": other}[damage]
    await world.cache.put_snapshot(owner, MODEL.id, Revision(5 if damage == "revision" else 1), packed)
    assert content(await replica.l2.snapshot(owner, NEWEST)) == world.contents[owner, Revision(1)]
    assert replica.telemetry.counts["snapshot_requests_total", "l2", "error"] == 1


async def test_too_many_puts_at_once_are_left_out(world: World):
    owners = [make.new_owner() for _ in range(12)]
    replica = world.replica()
    assert replica.l2 is not None
    for owner in owners:
        await world.write(owner)
    world.gates.closed = True
    recalls = [asyncio.create_task(replica.l2.snapshot(owner, NEWEST)) for owner in owners]
    await settled()
    for _ in range(len(owners) * 4):
        # Of those that wait, the recalls are first; their puts line up behind.
        world.gates.release(0)
        await settled()
    assert all(recall.done() for recall in recalls)
    world.gates.open()
    await replica.l2.settle()
    assert replica.telemetry.counts["snapshot_puts_total", "skipped"] > 0
    assert replica.telemetry.counts["snapshot_puts_total", "stored"] >= 8
