"""Memory store contract: what upkeep looks for: idle, observed and contested memories, against plain loops."""

from __future__ import annotations

import asyncio
import random
import uuid
from dataclasses import replace
from datetime import timedelta

from memory_service.adapters.inmemory import InMemoryMemoryStore
from memory_service.app.commands import Effect
from memory_service.domain.evidence import Attestation, Evidence
from memory_service.domain.ids import DeviceId, MemoryId, OwnerKey
from memory_service.domain.memory import (
    STANDING_STATUSES,
    Assertion,
    Kind,
    MemoryHead,
    Provenance,
    Source,
    Status,
    Tier,
    Usage,
)
from memory_service.domain.parameters import Parameters
from memory_service.domain.vector_clock import Dot
from memory_service.ports.memory_store import Changeset, Idle, MemoryFilter, MemoryStore
from tests.app.harness import World
from tests.contracts import builders as make

_PREDICATES = ("allergy", "incident", "role", "")


def _dot(counter: int) -> Dot:
    return Dot(DeviceId("device"), counter)


async def _world(store: MemoryStore, seed: int, count: int = 120) -> tuple[OwnerKey, list[MemoryHead]]:
    """An owner with memories whose relevant fields are drawn from few values."""
    chance = random.Random(seed)
    owner, pick = make.new_owner(), chance.choice
    versions, usages = [], {}
    for _ in range(count):
        memory_id = MemoryId(uuid.UUID(int=chance.getrandbits(128), version=4))
        predicate = pick(_PREDICATES)
        versions.append(
            make.version(
                memory_id,
                kind=pick(list(Kind)),
                tier=pick(list(Tier)),
                status=pick(list(Status)),
                confidence=pick([0.5, 0.6, 0.9]),
                pinned=pick([True, False, False]),
                expires_at=pick([None, None, make.at(5), make.at(50)]),
                recorded_at=make.at(chance.randint(0, 9)),
                assertion=Assertion("user", predicate, "x") if predicate else None,
            )
        )
        usages[memory_id] = Usage(
            chance.randint(0, 2),
            chance.randint(0, 1),
            pick([None, make.at(chance.randint(0, 20))]),
            pick([None, make.at(chance.randint(0, 20))]),
            chance.randint(0, 2),
        )
    await make.write(store, owner, *versions, usage=usages)
    page = await store.list(owner, MemoryFilter(), limit=500)
    assert len(page.heads) == count
    return owner, list(page.heads)


async def test_idle_memories_are_found_in_pages_and_no_others(store: MemoryStore):
    for seed in range(4):
        owner, heads = await _world(store, seed)
        where = Idle(
            untouched={kind: make.at(4 + 3 * n) for n, kind in enumerate(list(Kind)[:7])},
            untouched_predicates={"incident": make.at(1), "role": make.at(15)},
            lasting=frozenset({"allergy"}),
            weak_since=make.at(12),
            weak_confidence=0.6,
            expired_by=make.at(10),
        )
        wanted = [head for head in heads if where.holds(head)]
        assert 5 < len(wanted) < len(heads)
        found: list[MemoryHead] = []
        after = None
        while True:
            page = await store.idle(owner, where, limit=7, after=after)
            assert len(page.heads) <= 7
            found += page.heads
            after = page.next_after
            if after is None:
                break
        assert make.plain(found) == make.plain(wanted)
        assert (await store.idle(make.new_owner(), where, limit=7)).heads == []


async def test_contested_memories_come_by_age_and_leave_when_they_change(store: MemoryStore):
    owner, heads = await _world(store, 9, 300)
    since = make.at(6)
    wanted = [
        head
        for head in heads
        if head.current.status is Status.CONTESTED
        and head.current.tier is not Tier.ARCHIVE
        and head.current.recorded_at <= since
    ]
    wanted.sort(key=lambda head: (head.current.recorded_at, head.id))
    assert len(wanted) > 5
    async with store.change(owner) as change:
        assert make.plain(await change.contested(unchanged_since=since, limit=500)) == make.plain(wanted)
        assert make.plain(await change.contested(unchanged_since=since, limit=3)) == make.plain(wanted[:3])
    later = replace(wanted[0].current, version=2, recorded_at=make.at(7))
    await make.write(store, owner, later, fragments=[])
    async with store.change(owner) as change:
        assert make.plain(await change.contested(unchanged_since=since, limit=500)) == make.plain(wanted[1:])


async def test_sessions_count_once_and_only_while_their_statements_stand(store: MemoryStore):
    """Four candidates: three sessions; one session thrice; no sessions; three of which one lost its statement."""
    owner = make.new_owner()
    sessions = {
        "seen": ("s1", "s2", "s3"),
        "repeated": ("s1", "s1", "s1"),
        "unnamed": ("", "", ""),
        "revoked": ("s1", "s2", "s3"),
    }
    ids = {name: make.new_id() for name in sessions}
    dots = {name: [_dot(10 * n + k) for k in range(3)] for n, name in enumerate(sessions)}
    for k in range(3):
        for name, said in sessions.items():
            standing = [d for d in dots[name][: k + 1] if not (name == "revoked" and d == dots[name][0])]
            version = make.version(
                ids[name],
                k + 1,
                tier=Tier.CANDIDATE,
                status=Status.YIELDED if name == "seen" else Status.ACTIVE,
                dot=dots[name][k],
                provenance=Provenance("actor", session=said[k]),
                evidence=Evidence.of(Attestation(d.device, d.counter, 0.5) for d in standing),
            )
            await make.write(store, owner, version)
    async with store.change(owner) as change:
        three = await change.observed(sessions_min=3, limit=10)
        assert [(head.id, count) for head, count in three] == [(ids["seen"], 3)]
        assert three[0][0].current.status in STANDING_STATUSES
        counts = {head.id: count for head, count in await change.observed(sessions_min=1, limit=10)}
        assert counts == {ids["seen"]: 3, ids["repeated"]: 1, ids["revoked"]: 2}
        assert len(await change.observed(sessions_min=1, limit=2)) == 2
    promoted = replace(three[0][0].current, version=4, tier=Tier.LONG_TERM, recorded_at=make.at(9))
    await make.write(store, owner, promoted, fragments=[])
    async with store.change(owner) as change:
        assert await change.observed(sessions_min=3, limit=10) == []


async def test_rejections_are_kept_and_an_access_after_one_counts_from_anew(store: MemoryStore):
    owner, memory = make.new_owner(), make.version(make.new_id())
    await make.write(store, owner, memory, usage={memory.id: Usage(3, 1, make.at(5), make.at(1))})
    before = await store.get(owner, memory.id)
    assert before is not None
    await make.commit(
        store, owner, lambda state: Changeset(make.next_state(state), usage={memory.id: before.usage.rejected()})
    )
    rejected = await store.get(owner, memory.id)
    assert rejected is not None
    assert rejected.usage == Usage(2, 1, None, make.at(1), 1)
    await store.record_access(owner, {memory.id: (1, make.at(9))})
    used = await store.get(owner, memory.id)
    assert used is not None
    assert used.usage == Usage(3, 1, make.at(9), make.at(1), 1)
    assert make.at(9) - make.at(5) == timedelta(seconds=4)


async def _lived(store: MemoryStore) -> list[tuple[str, str, str, str]]:
    """A short life with something for every step to do, and how it ends; by two workers at once."""
    world, owner = World(store=store, parameters=Parameters(cards_max=4)), make.new_owner()
    for n in range(3):
        await world.say("Seems to like jazz", owner, source=Source.INFERRED, session=f"s{n}")
        await world.say(f"Ticket {n} is open", owner, kind=Kind.TASK)
    cards = [await world.state("preference", f"tea number {n}", owner) for n in range(6)]
    berlin = await world.state("location", "Berlin", owner, confidence=0.9)
    assert berlin.memory is not None
    await world.used(berlin.memory.id, times=3, owner=owner)
    world.clock.advance(timedelta(minutes=1))
    munich = await world.state("location", "Munich", owner, confidence=0.9)
    assert munich.effect is Effect.CONTESTED
    world.clock.advance(timedelta(days=40))
    await world.used(*(card.memory.id for card in cards[:2] if card.memory is not None), owner=owner)
    await asyncio.gather(world.upkeep.run(owner), world.upkeep.run(owner))
    assert not sum((await world.upkeep.run(owner)).values())
    await world.say("Ticket 1 is open", owner, kind=Kind.TASK)
    heads = (await store.list(owner, MemoryFilter(), limit=100)).heads
    journals = [await store.journal(owner, head.id) for head in heads]
    return [
        (head.current.text, head.current.tier, head.current.status, " ".join(entry.event for entry in journal))
        for head, journal in zip(heads, journals, strict=True)
    ]


async def test_a_life_ends_alike_on_every_backend(store: MemoryStore):
    lived = await _lived(store)
    assert lived == await _lived(InMemoryMemoryStore())
    told = {text: (tier, status, events) for text, tier, status, events in lived}
    assert told["Seems to like jazz"] == ("long_term", "active", "created supported supported promoted")
    assert told["Ticket 0 is open"] == ("archive", "active", "created archived")
    assert told["Ticket 1 is open"] == ("long_term", "active", "created archived reactivated")
    assert sorted(status for _, status, _ in told.values()).count("retracted") == 1
