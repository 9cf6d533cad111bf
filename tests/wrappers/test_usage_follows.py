"""Snapshots held in memory follow the use of memories, and count no access twice whatever is read meanwhile."""

from __future__ import annotations

import asyncio
import random
from datetime import timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from memory_service.app.access_recorder import AccessRecorder
from memory_service.domain.ids import MemoryId, OwnerKey, Revision
from memory_service.domain.records import MemoryFilter
from memory_service.ports.snapshots import Freshness, Requirement
from tests.contracts import builders as make
from tests.wrappers.replicas import Gated, Replica, World, settled

FAST = Requirement()
NEWEST = Requirement(Freshness.FULLY_CONSISTENT)


def recorder(replica: Replica) -> AccessRecorder:
    """A recorder whose writes wait at the gates like every other call."""
    store = Gated(replica.world.store, replica.world.gates, "record_access")
    return AccessRecorder(store, replica.telemetry, on_write=replica.l1.storing_accesses)


async def stored(world: World, owner: OwnerKey) -> dict[MemoryId, int]:
    """What the store has counted."""
    page = await world.store.list(owner, MemoryFilter(), limit=1_000)
    return {head.id: head.usage.access_count for head in page.heads}


def held(replica: Replica, owner: OwnerKey) -> dict[MemoryId, int]:
    """What the replica's snapshot says, the same in its columns and its heads."""
    snapshot = replica.held(owner)
    if snapshot is None:
        return {}
    columns = {id_: int(snapshot.rows["access_count"][row]) for id_, row in snapshot.row_of.items()}
    assert columns == {head.id: head.usage.access_count for head in snapshot.memories()}
    return columns


async def test_a_flush_shows_in_the_snapshot_held_without_reading() -> None:
    world, owner = World(), make.new_owner()
    replica = world.replica()
    await world.write(owner)
    await world.write(owner)
    first, second = world.alive[owner]
    before = await replica.l1.snapshot(owner, FAST)
    replica.store.calls.clear()
    accesses = recorder(replica)
    for _ in range(3):
        accesses.record(owner, [first], world.clock.now())
    await accesses.flush()
    after = await replica.l1.snapshot(owner, FAST)
    assert held(replica, owner) == await stored(world, owner) == {first: 3, second: 0}
    assert after.heads[after.row_of[first]].usage.last_access_at == world.clock.now()
    assert (after.revision, before.heads[before.row_of[first]].usage.access_count) == (before.revision, 0)
    assert not replica.store.calls
    await replica.l1.snapshot(owner, NEWEST)
    await world.write(owner)
    await replica.l1.snapshot(owner, NEWEST)
    assert held(replica, owner)[first] == 3, "a verification and a delta leave what they do not bring"
    await world.close()


async def test_what_is_not_held_or_failed_to_be_written_is_left_alone() -> None:
    world, owner = World(), make.new_owner()
    replica = world.replica()
    await world.write(owner)
    (only,) = world.alive[owner]
    accesses = recorder(replica)
    accesses.record(owner, [only], world.clock.now())
    await accesses.flush()
    assert replica.held(owner) is None
    await replica.l1.snapshot(owner, FAST)
    replica.l1.storing_accesses(owner)
    assert held(replica, owner) == {only: 1}
    await world.close()


async def test_accesses_written_during_a_reading_are_in_what_it_brings() -> None:
    world, owner = World(), make.new_owner()
    replica = world.replica()
    await world.write(owner)
    (only,) = world.alive[owner]
    await replica.l1.snapshot(owner, FAST)
    accesses = recorder(replica)
    world.gates.closed = True
    reading = asyncio.create_task(replica.l1.snapshot(owner, NEWEST))
    await settled()
    world.gates.closed = False
    accesses.record(owner, [only], world.clock.now())
    await accesses.flush()
    world.gates.open()
    await reading
    assert held(replica, owner) == {only: 1}
    await world.close()


@given(st.integers(0, 2**32))
@settings(max_examples=60, deadline=None)
def test_no_interleaving_counts_an_access_twice(seed: int) -> None:
    asyncio.run(interleaved(random.Random(seed)))


async def interleaved(chance: random.Random) -> None:
    """Accesses, commits, Forgets and readings in any order; a snapshot never says more than the store."""
    world, owner = World(), make.new_owner()
    replicas = [world.replica(), world.replica()]
    recorders = [recorder(replica) for replica in replicas]
    await world.write(owner)
    tasks: list[asyncio.Task[object]] = []
    for _ in range(80):
        one = chance.randrange(2)
        step = chance.choices(
            ["access", "flush", "read", "write", "change", "forget", "release", "gate", "time"],
            [5, 5, 6, 1, 2, 0.5, 14, 1, 1],
        )[0]
        if step == "access" and world.alive[owner]:
            recorders[one].record(owner, [chance.choice(world.alive[owner])], world.clock.now())
        elif step == "flush":
            tasks.append(asyncio.create_task(recorders[one].flush()))
        elif step == "read":
            tasks.append(asyncio.create_task(replicas[one].l1.snapshot(owner, chance.choice([FAST, NEWEST]))))
        elif step == "write":
            replicas[one].l1.committed(owner, await world.write(owner))
        elif step == "change":
            replicas[one].l1.committed(owner, await world.change(owner, chance.randrange(9)))
        elif step == "forget" and world.alive[owner]:
            revision: Revision = await world.forget(owner, chance.choice(world.alive[owner]))
            replicas[one].l1.committed(owner, revision)
        elif step == "release":
            world.gates.release(chance.randrange(9))
        elif step == "gate":
            world.gates.closed = not world.gates.closed
        elif step == "time":
            world.clock.advance(timedelta(seconds=chance.randrange(3)))
        await settled()
        counted = await stored(world, owner)
        for replica in replicas:
            for id_, count in held(replica, owner).items():
                assert count <= counted.get(id_, count)
    world.gates.open()
    await asyncio.gather(*tasks, return_exceptions=True)
    for recorder_ in recorders:
        await recorder_.flush()
    await world.close()
