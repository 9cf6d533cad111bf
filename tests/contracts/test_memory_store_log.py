"""Memory store contract: the log of changes, what moved since a cursor, and the devices that write."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_service.domain.errors import OutOfRange, Reason
from memory_service.domain.evidence import RETIRED, Knowledge, Retirement
from memory_service.domain.ids import DeviceId, MemoryId, OwnerKey, Revision
from memory_service.domain.memory import Relation, Status
from memory_service.domain.vector_clock import Dot, VectorClock
from memory_service.ports.memory_store import (
    Changed,
    ChangeRecord,
    Changeset,
    DeviceRecord,
    JournalEntry,
    Link,
    MemoryStore,
    OwnerState,
    Writer,
)
from tests.contracts import builders as make
from tests.contracts import strategies

PHONE, LAPTOP, WATCH = map(DeviceId, ("phone", "laptop", "watch"))
DEVICES = (PHONE, LAPTOP, WATCH)


async def record(store: MemoryStore, owner: OwnerKey, dot: Dot, **fields: object) -> ChangeRecord:
    """Commit one change that does nothing but be recorded; `fields` of its record."""
    made: list[ChangeRecord] = []

    def build(state: OwnerState) -> Changeset:
        after = make.next_state(state, dot)
        made.append(make.change(dot, after.revision, **fields))
        return Changeset(state=after, changes=made)

    await make.commit(store, owner, build)
    return made[0]


async def retire(store: MemoryStore, owner: OwnerKey, *devices: DeviceId) -> dict[DeviceId, Retirement]:
    """Fold devices into the retired actor, in one change."""
    done: dict[DeviceId, Retirement] = {}

    def build(state: OwnerState) -> Changeset:
        folds = state.clock.counter(RETIRED)
        for fold, device in enumerate(devices, folds + 1):
            done[device] = Retirement(state.clock.counter(device), fold)
        left = {d: c for d, c in state.clock.items() if d not in done} | {RETIRED: folds + len(done)}
        return Changeset(state=make.next_state(state, clock=VectorClock(left)), retired=done)

    await make.commit(store, owner, build)
    return done


@settings(max_examples=30)
@given(dot=strategies.dots, words=st.tuples(*[strategies.texts] * 3), moment=strategies.times)
async def test_changes_round_trip(store: MemoryStore, dot: Dot, words: Sequence[str], moment):
    owner = make.new_owner()
    operation, actor, agent = words
    change = make.change(dot, 1, operation=operation, actor=actor, agent=agent, at=moment)
    await make.write(store, owner, changes=[change], fragments=[])
    (found,) = await store.changes_since(owner, Revision(0), limit=9)
    assert make.plain(found) == make.plain(dataclasses.replace(change, at=moment.astimezone(make.START.tzinfo)))


async def test_changes_and_journals_page_in_order_of_revision_under_concurrent_owners(store: MemoryStore):
    owners, writes = [make.new_owner() for _ in range(3)], 12
    journals: dict[OwnerKey, list[JournalEntry]] = {owner: [] for owner in owners}

    async def write(owner: OwnerKey, device: DeviceId) -> None:
        async with store.change(owner) as change:
            dot = Dot(device, change.state.clock.counter(device) + 1)
            after = make.next_state(change.state, dot)
            memory = make.version(make.new_id(), revision=after.revision, dot=dot)
            lines = [make.entry(memory, 1), make.entry(memory, 0)]
            await change.apply(
                Changeset(state=after, versions=[memory], journal=lines, changes=[make.change(dot, after.revision)])
            )
        journals[owner] += [lines[1], lines[0]]

    await asyncio.gather(*(write(owners[n % 3], DEVICES[n % 2]) for n in range(3 * writes)))
    for owner in owners:
        told: list[ChangeRecord] = []
        lines: list[JournalEntry] = []
        while page := await store.changes_since(owner, told[-1].revision if told else Revision(0), limit=5):
            assert len(page) <= 5
            lines += await store.journal_since(owner, told[-1].revision if told else Revision(0), page[-1].revision)
            told += page
        assert [change.revision for change in told] == list(range(1, writes + 1))
        by_device = {d: [c.dot.counter for c in told if c.dot.device == d] for d in (PHONE, LAPTOP)}
        assert all(counters == list(range(1, len(counters) + 1)) for counters in by_device.values())
        assert make.plain(lines) == make.plain(journals[owner])
        assert list(await store.changes_since(owner, Revision(writes), limit=5)) == []
        assert list(await store.journal_since(owner, Revision(3), Revision(3))) == []


@settings(max_examples=25)
@given(
    steps=strategies.steps,
    meanwhile=st.lists(st.lists(strategies.step, max_size=2), max_size=6),
    limit=st.integers(1, 4),
)
async def test_paging_through_what_changed_ends_with_what_is(store: MemoryStore, steps, meanwhile, limit: int):
    """Whatever moves behind the cursor between pages is met again there; the last word of each memory counts."""
    owner = make.new_owner()
    history = strategies.History(store, owner)
    for step in steps:
        await history.run(step)
    met: dict[MemoryId, Changed] = {}
    after: tuple[Revision, MemoryId] | None = None
    interruptions = iter(meanwhile)
    while True:
        page = await store.changed(owner, after, limit=limit)
        keys = [(item.revision, item.memory_id) for item in page]
        assert keys == sorted(keys)
        assert len(page) <= limit
        assert after is None or not keys or keys[0] > after
        met.update({item.memory_id: item for item in page})
        after = keys[-1] if keys else after
        for step in next(interruptions, ()):
            await history.run(step)
        if not page:
            break
    rest = await store.changed(owner, after, limit=100)
    met.update({item.memory_id: item for item in rest})
    model = history.model
    assert set(met) == {version.id for version in model.versions}
    assert {memory_id for memory_id, item in met.items() if item.head is None} == model.forgotten
    for memory_id in model.ids():
        item, head = met[memory_id], await store.get(owner, memory_id)
        assert item.head is not None
        assert head is not None
        assert make.plain(item.head.current) == make.plain(head.current)
        assert item.revision >= head.current.revision
    assert list(await store.changed(make.new_owner(), None, limit=9)) == []


moves = st.lists(
    st.tuples(st.sampled_from(["write", "write", "write", "retire", "fill"]), st.sampled_from(DEVICES)), max_size=14
)


@settings(max_examples=60)
@given(moves=moves, known=st.lists(st.integers(0, 14), max_size=3), prune=st.none() | st.integers(0, 14))
async def test_first_unseen_against_a_naive_model(store: MemoryStore, moves, known: list[int], prune: int | None):
    """Clocks are merged from some that the owner had, so that they are old, or mixed, but never impossible."""
    owner = make.new_owner()
    log: list[ChangeRecord] = []
    retired: dict[DeviceId, Retirement] = {}
    counters = dict.fromkeys(DEVICES, 0)
    clocks = [VectorClock()]
    for kind, device in moves:
        state = await store.state(owner)
        if kind == "write":
            counters[device] += 1
            log.append(await record(store, owner, Dot(device, counters[device])))
        elif kind == "retire" and state.clock.counter(device):
            retired |= await retire(store, owner, device)
        else:
            await make.write(store, owner, fragments=[])  # a revision that is nobody's change
        clocks.append((await store.state(owner)).clock)
    state = await store.state(owner)
    pruned = 0
    if prune is not None:
        pruned = min(prune, state.revision)
        await store.prune_log(owner, Revision(prune))
    for clock in (clocks[-1], merged(clocks[n % len(clocks)] for n in known)):
        knowledge = Knowledge(clock, retired)
        unseen = [change.revision for change in log if not knowledge.saw(change.dot)]
        wanted = min(unseen, default=state.revision + 1)
        if pruned and not clock.descends(state.clock):
            wanted = 1
        assert await store.first_unseen(owner, clock) == wanted
    assert await store.first_unseen(owner, state.clock) == state.revision + 1


def merged(clocks) -> VectorClock:
    """The least clock that includes all of these."""
    whole = VectorClock()
    for clock in clocks:
        whole = whole.merge(clock)
    return whole


async def test_a_device_is_retired_and_comes_back(store: MemoryStore):
    owner = make.new_owner()
    for counter in (1, 2, 3):
        await record(store, owner, Dot(PHONE, counter), at=make.at(counter))
    await record(store, owner, Dot(LAPTOP, 1), at=make.at(9))
    first = await retire(store, owner, PHONE)
    async with store.change(owner) as change:
        assert PHONE not in change.state.clock
        assert await change.devices([PHONE, WATCH]) == {PHONE: DeviceRecord(PHONE, 3, make.at(3), first[PHONE])}
        assert [d.device for d in await change.idle_devices(limit=9)] == [LAPTOP]
    await record(store, owner, Dot(PHONE, 4), at=make.at(5))
    async with store.change(owner) as change:
        back = DeviceRecord(PHONE, 4, make.at(5), first[PHONE])
        assert await change.devices([PHONE]) == {PHONE: back}
        assert list(await change.idle_devices(limit=9)) == [back, DeviceRecord(LAPTOP, 1, make.at(9))]
    second = await retire(store, owner, LAPTOP, PHONE)
    async with store.change(owner) as change:
        assert await change.devices(DEVICES) == {
            PHONE: DeviceRecord(PHONE, 4, make.at(5), Retirement(4, second[PHONE].fold)),
            LAPTOP: DeviceRecord(LAPTOP, 1, make.at(9), Retirement(1, second[LAPTOP].fold)),
        }
        assert list(await change.idle_devices(limit=9)) == []
        assert await change.devices([]) == {}
    async with store.change(make.new_owner()) as change:
        assert await change.devices(DEVICES) == {}
        assert list(await change.changes_at([Revision(1)])) == []
        assert list(await change.idle_devices(limit=9)) == []


async def test_a_device_that_writes_and_is_retired_in_one_change_is_retired(store: MemoryStore):
    owner, dot = make.new_owner(), Dot(PHONE, 1)
    fold = Retirement(1, 1)

    def build(state: OwnerState) -> Changeset:
        after = make.next_state(state, clock=VectorClock({RETIRED: 1}))
        return Changeset(state=after, changes=[make.change(dot, 1)], retired={PHONE: fold})

    await make.commit(store, owner, build)
    async with store.change(owner) as change:
        assert await change.devices([PHONE]) == {PHONE: DeviceRecord(PHONE, 1, make.at(1), fold)}
        assert list(await change.idle_devices(limit=9)) == []
    assert await store.first_unseen(owner, VectorClock({RETIRED: 1})) == 2
    assert await store.first_unseen(owner, VectorClock()) == 1


async def test_idle_devices_come_least_recently_seen_first_then_by_name(store: MemoryStore):
    owner = make.new_owner()
    names = ["é", "b", "a", "B", "_"]
    for name, second in zip(names, (5, 1, 3, 1, 1), strict=True):
        await record(store, owner, Dot(DeviceId(name), 1), at=make.at(second))
    await make.commit(store, owner, lambda s: Changeset(state=make.next_state(s, Dot(DeviceId("never seen"), 1))))
    # What it wrote last may carry an earlier time than what it wrote before; it was seen all the same.
    await record(store, owner, Dot(DeviceId("a"), 2), at=make.at(0))
    async with store.change(owner) as change:
        found = await change.idle_devices(limit=9)
        assert [d.device for d in found] == ["never seen", "B", "_", "b", "a", "é"]
        assert found[0].last_seen is None
        assert list(await change.idle_devices(limit=2)) == list(found)[:2]


CONDITIONS = [{"device": "phone"}, {"agent": "g1"}, {"actor": "k1"}]


@pytest.mark.parametrize(
    "conditions",
    [{}, *CONDITIONS, {"device": "phone", "agent": "g1"}, {"device": "laptop", "agent": "g2", "actor": "k1"},
     {"device": "absent"}, {"agent": "k1"}],
)  # fmt: skip
async def test_changes_of_a_writer_since_a_time(store: MemoryStore, conditions: dict[str, str]):
    owner = make.new_owner()
    log = [
        await record(store, owner, Dot(device, counter), agent=agent, actor=actor, at=make.at((7 * counter) % 5))
        for device in (PHONE, LAPTOP)
        for counter, (agent, actor) in enumerate([("g1", "k1"), ("g1", "k2"), ("g2", "k1"), ("", "k2")], 1)
    ]
    for second in (0, 2, 4, 5):
        wanted = [
            c
            for c in log
            if c.at >= make.at(second)
            and conditions.get("device", c.dot.device) == c.dot.device
            and conditions.get("agent", c.agent) == c.agent
            and conditions.get("actor", c.actor) == c.actor
        ]
        async with store.change(owner) as change:
            assert list(await change.changes_by(Writer(**conditions), make.at(second))) == wanted
    async with store.change(make.new_owner()) as change:
        assert list(await change.changes_by(Writer(**conditions), make.at(0))) == []


async def test_versions_are_found_by_revision_while_their_memory_lives(store: MemoryStore):
    owner = make.new_owner()
    one, two, three = (make.version(make.new_id(), claim=str(n)) for n in range(3))
    await make.write(store, owner, one, two, three)
    later = dataclasses.replace(one, version=2)
    last = dataclasses.replace(one, version=3, status=Status.RETRACTED)
    await make.write(store, owner, later, last, fragments=[])
    await make.write(store, owner, fragments=[], forgotten=[two.id])
    async with store.change(owner) as change:
        assert list(await change.versions_at([])) == []
        first = await change.versions_at([Revision(1)])
        assert [v.id for v in first] == sorted([one.id, three.id])
        found = await change.versions_at([Revision(2), Revision(1), Revision(3), Revision(2)])
        assert [(v.id, v.version) for v in found] == [*((v.id, 1) for v in first), (one.id, 2), (one.id, 3)]
        assert make.plain(found[-1]) == make.plain(dataclasses.replace(last, revision=Revision(2)))
    async with store.change(make.new_owner()) as change:
        assert list(await change.versions_at([Revision(1), Revision(2)])) == []


async def test_links_of_one_relation_from_or_to(store: MemoryStore):
    owner = make.new_owner()
    one, two, three = (make.version(make.new_id()) for _ in range(3))
    derived = [Link(one.id, Relation.DERIVED_FROM, two.id), Link(two.id, Relation.DERIVED_FROM, three.id)]
    other = Link(one.id, Relation.SUPPORTS, two.id)
    await make.write(store, owner, one, two, three, links=[*derived, other])
    async with store.change(owner) as change:
        for ids, wanted in (
            ([one.id], derived[:1]),
            ([two.id], derived),
            ([one.id, two.id, three.id], derived),
            ([make.new_id()], []),
            ([], []),
        ):
            found = await change.linked(ids, Relation.DERIVED_FROM)
            assert sorted(found, key=str) == sorted(wanted, key=str)
        assert list(await change.linked([two.id], Relation.SUPPORTS)) == [other]
    async with store.change(make.new_owner()) as change:
        assert list(await change.linked([one.id, two.id], Relation.DERIVED_FROM)) == []


async def test_a_pruned_log_refuses_older_cursors(store: MemoryStore):
    owner, other = make.new_owner(), make.new_owner()
    memory = make.version(make.new_id())
    await make.write(store, owner, memory, journal=[make.entry(memory)], changes=[make.change(Dot(PHONE, 1), 1)])
    log = [await record(store, owner, Dot(PHONE, counter)) for counter in (2, 3, 4, 5)]
    await record(store, other, Dot(PHONE, 1))
    before = await store.state(owner)
    await store.prune_log(owner, Revision(3))
    await store.prune_log(owner, Revision(2))  # what is gone stays gone
    assert await store.state(owner) == before
    for cursor in (0, 2):
        for attempt in (
            store.changes_since(owner, Revision(cursor), limit=9),
            store.journal_since(owner, Revision(cursor), Revision(5)),
        ):
            with pytest.raises(OutOfRange) as refused:
                await attempt
            assert refused.value.reason is Reason.CURSOR_TOO_OLD
            assert refused.value.metadata == {"oldest": "3"}
    assert list(await store.changes_since(owner, Revision(3), limit=9)) == log[2:]
    assert list(await store.journal_since(owner, Revision(3), Revision(5))) == []
    assert len(await store.journal(owner, memory.id)) == 1
    assert len(await store.changes_since(other, Revision(0), limit=9)) == 1
    async with store.change(owner) as change:
        assert list(await change.changes_by(Writer(), make.at(0))) == log[2:]
        assert list(await change.changes_at([Revision(5), Revision(2), Revision(4), Revision(99)])) == log[2:]
        assert list(await change.changes_at([])) == []
        assert (await change.devices([PHONE]))[PHONE].counter == 5
    await store.prune_log(owner, Revision(10**6))
    assert list(await store.changes_since(owner, Revision(5), limit=9)) == []
    await store.prune_log(make.new_owner(), Revision(7))
    # The log goes on behind what was dropped.
    newest = await record(store, owner, Dot(PHONE, 6))
    assert list(await store.changes_since(owner, Revision(5), limit=9)) == [newest]


async def test_nothing_of_the_log_stays_of_a_change_that_was_not_made(store: MemoryStore):
    owner = make.new_owner()
    await record(store, owner, Dot(PHONE, 1))

    async def fail() -> None:
        async with store.change(owner) as change:
            after = make.next_state(change.state, clock=VectorClock({RETIRED: 1}))
            await change.apply(
                Changeset(state=after, changes=[make.change(Dot(PHONE, 2), 2)], retired={PHONE: Retirement(2, 1)})
            )
            raise LookupError("the caller's own failure")

    with pytest.raises(LookupError):
        await fail()
    assert [c.dot.counter for c in await store.changes_since(owner, Revision(0), limit=9)] == [1]
    async with store.change(owner) as change:
        assert await change.devices([PHONE]) == {PHONE: DeviceRecord(PHONE, 1, make.at(1))}
        assert [d.device for d in await change.idle_devices(limit=9)] == [PHONE]
