"""Memory store contract: changes are serial per owner, all or nothing, and of one owner."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses

import pytest

from memory_service.domain.errors import InternalError, MemoryServiceError
from memory_service.domain.evidence import Attestation, Evidence
from memory_service.domain.ids import DeviceId, MemoryId, OwnerKey, Revision, TenantId, UserId
from memory_service.domain.memory import Assertion, Provenance, Relation, Status, Tier, Usage
from memory_service.domain.vector_clock import Dot, VectorClock
from memory_service.ports.memory_store import (
    Changeset,
    JournalEvent,
    Link,
    MemoryFilter,
    MemoryStore,
    OwnerState,
    Tombstone,
    TombstoneScope,
)
from tests.contracts import builders as make

PATIENCE_SECONDS = 20


async def test_concurrent_changes_of_one_owner_lose_nothing(store: MemoryStore):
    owner = make.new_owner()
    writers = 12
    seen: list[int] = []

    async def writer(number: int) -> None:
        async with store.change(owner) as change:
            seen.append(change.state.revision)
            await change.heads_in_slots(["slot"])
            await asyncio.sleep(0)
            dot = Dot(DeviceId("d"), change.state.revision + 1)
            after = make.next_state(change.state, dot, memory_count=change.state.memory_count + 1)
            memory = make.version(make.new_id(), revision=after.revision, text=str(number), dot=dot)
            await change.apply(Changeset(state=after, versions=[memory]))

    async with asyncio.timeout(PATIENCE_SECONDS):
        await asyncio.gather(*(writer(n) for n in range(writers)))
    state = await store.state(owner)
    assert (state.revision, state.memory_count) == (writers, writers)
    assert state.clock == VectorClock({DeviceId("d"): writers})
    assert seen == sorted(seen) == list(range(writers))
    page = await store.list(owner, make.EVERYTHING, limit=100)
    assert {head.current.text for head in page.heads} == {str(n) for n in range(writers)}


async def test_a_second_change_of_an_owner_waits_for_the_first(store: MemoryStore):
    owner, log = make.new_owner(), list[str]()
    memory = make.version(make.new_id())

    async def second() -> None:
        async with store.change(owner) as change:
            log.append(f"second at {change.state.revision}")

    async with asyncio.timeout(PATIENCE_SECONDS):
        async with store.change(owner) as change:
            waiting = asyncio.create_task(second())
            for _ in range(20):
                await change.heads([memory.id])
                await store.state(owner)
                await asyncio.sleep(0)
            await change.apply(Changeset(state=make.next_state(change.state), versions=[memory]))
            log.append("first leaves")
        await waiting
    assert log == ["first leaves", "second at 1"]


async def test_other_owners_and_readers_do_not_wait(store: MemoryStore):
    owner, other = make.new_owner(), make.new_owner()
    memory = make.version(make.new_id())
    async with asyncio.timeout(PATIENCE_SECONDS), store.change(owner) as change:
        await change.apply(Changeset(state=make.next_state(change.state), versions=[memory]))
        await make.write(store, other, memory)
        assert (await store.state(other)).revision == 1
        assert (await store.state(owner)).revision == 0
        assert await store.get(owner, memory.id) is None
        assert list((await store.search_rows(owner, make.MODEL)).rows) == []
    assert (await store.state(owner)).revision == 1


async def rich(store: MemoryStore, owner: OwnerKey, word: str) -> list[MemoryId]:
    """An owner with one of everything, `word` in every text."""
    one = make.version(
        make.new_id(),
        text=f"text {word}",
        topic=f"topic {word}",
        slot=f"slot {word}",
        claim=f"claim {word}",
        tags=(f"tag {word}",),
        assertion=Assertion(f"subject {word}", f"predicate {word}", {f"key {word}": [f"value {word}"]}),
        provenance=Provenance("actor", "device", "agent", "session", "process", f"reference {word}"),
        reason=f"reason {word}",
        evidence=Evidence((Attestation(DeviceId("device"), 1, 0.5),)),
        disputed=True,
    )
    two = make.version(make.new_id(), text="another", slot="another", claim="another")
    fragments = [
        dataclasses.replace(make.fragment(one, 0, seed=1), terms=(f"term{word}",)),
        make.fragment(one, 1, seed=None),
        make.fragment(two, 0, seed=3),
    ]
    await make.write(
        store,
        owner,
        one,
        two,
        fragments=fragments,
        links=[Link(one.id, Relation.SUPPORTS, two.id), Link(two.id, Relation.DERIVED_FROM, one.id)],
        journal=[dataclasses.replace(make.entry(one), reason=f"reason {word}"), make.entry(two, 1)],
        usage={one.id: Usage(4, 2, make.at(1), make.at(2))},
        tombstones=[
            Tombstone(TombstoneScope.SLOT, b"d" * 16, Dot(DeviceId("t"), 1), VectorClock(), make.at(1), Revision(1))
        ],
        outcomes=[make.outcome(Dot(DeviceId("d"), 1), "request", 1)],
    )
    later = dataclasses.replace(one, version=2, content_version=2, text=f"later {word}", recorded_at=make.at(2))
    await make.write(store, owner, later, journal=[dataclasses.replace(make.entry(later), revision=Revision(2))])
    return [one.id, two.id]


@pytest.mark.parametrize("how", ["exception", "cancelled", "not applied"])
async def test_a_change_not_left_normally_leaves_no_trace(store: MemoryStore, how: str):
    owner = make.new_owner()
    ids = await rich(store, owner, "word")
    before = await make.dump(store, owner, ids)
    reached, never = asyncio.Event(), asyncio.Event()
    fresh = make.version(make.new_id(), revision=Revision(3))

    async def change_everything() -> None:
        async with store.change(owner) as change:
            after = make.next_state(change.state, Dot(DeviceId("d"), 1))
            if how != "not applied":
                await change.apply(
                    Changeset(
                        state=after,
                        versions=[fresh],
                        fragments=[make.fragment(fresh)],
                        usage={ids[1]: Usage(9)},
                        links=[Link(fresh.id, Relation.SUPPORTS, ids[1])],
                        journal=[make.entry(fresh)],
                        forgotten=[ids[0]],
                        tombstones=[
                            Tombstone(
                                TombstoneScope.MEMORY,
                                b"x" * 16,
                                Dot(DeviceId("d"), 1),
                                VectorClock(),
                                make.at(1),
                                after.revision,
                            )
                        ],
                        outcomes=[make.outcome(Dot(DeviceId("e"), 1), "another request", 3)],
                    )
                )
            if how == "exception":
                raise LookupError("the caller's own failure")
            if how == "cancelled":
                reached.set()
                await never.wait()

    task = asyncio.create_task(change_everything())
    if how == "cancelled":
        async with asyncio.timeout(PATIENCE_SECONDS):
            await reached.wait()
        task.cancel()
    result = (await asyncio.gather(task, return_exceptions=True))[0]
    expected = {"exception": LookupError, "cancelled": asyncio.CancelledError, "not applied": type(None)}
    assert type(result) is expected[how]
    assert await make.dump(store, owner, ids) == before
    assert await store.get(owner, fresh.id) is None
    async with store.change(owner) as change:
        assert await change.outcome_of_request("another request") is None
        assert list(await change.tombstones([b"x" * 16])) == []
    assert await make.write(store, owner, fresh) == 3


async def test_giving_up_while_waiting_for_a_change_harms_nobody(store: MemoryStore):
    owner = make.new_owner()
    async with asyncio.timeout(PATIENCE_SECONDS):
        async with store.change(owner) as change:
            waiting = [asyncio.create_task(make.write(store, owner, make.version(make.new_id()))) for _ in range(3)]
            for _ in range(5):
                await store.state(owner)
            waiting[0].cancel()
            waiting[1].cancel()
            await change.apply(Changeset(state=make.next_state(change.state)))
        results = await asyncio.gather(*waiting, return_exceptions=True)
    assert isinstance(results[0], asyncio.CancelledError)
    assert isinstance(results[1], asyncio.CancelledError)
    assert results[2] == 2
    assert (await store.state(owner)).revision == 2


async def test_apply_is_called_once(store: MemoryStore):
    owner = make.new_owner()

    async def apply_twice() -> None:
        async with store.change(owner) as change:
            await change.apply(Changeset(state=make.next_state(change.state)))
            await change.apply(Changeset(state=make.next_state(change.state)))

    with pytest.raises(InternalError):
        await apply_twice()
    assert (await store.state(owner)).revision == 0


async def test_nothing_of_another_owner_is_told_or_touched(store: MemoryStore):
    tenant = make.new_owner().tenant
    owner, same_tenant = OwnerKey(tenant, UserId("one")), OwnerKey(tenant, UserId("two"))
    ids = await rich(store, owner, "word")
    for other in (same_tenant, OwnerKey(TenantId("x" + tenant), UserId("one"))):
        before = await make.dump(store, owner, ids)
        bystander = await make.write(store, other, make.version(make.new_id(), text="bystander"))
        told = repr(await make.dump(store, other, ids))
        assert "word" not in told
        assert "another" not in told
        async with store.change(other) as change:
            assert list(await change.heads(ids)) == []
            assert list(await change.heads_in_slots(["slot word", "another"])) == []
            assert list(await change.heads_of_claims(["claim word", "another"])) == []
            assert list(await change.select(MemoryFilter(ids=frozenset(ids)), limit=10)) == []
            assert list(await change.tombstones([b"d" * 16])) == []
            assert await change.outcome_of_request("request") is None
            assert await change.outcome_of_dot(Dot(DeviceId("d"), 1)) is None
            assert list(await change.fragments(ids[0], 2)) == []
        head = await store.get(owner, ids[0])
        assert head is not None
        await store.record_access(other, {memory_id: (7, make.at(9)) for memory_id in ids})
        stolen = [make.fragment(head.current, 0, seed=9), make.fragment(head.current, 1, seed=9)]
        await store.store_vectors(other, stolen)
        hostile = {
            "forgotten": {"forgotten": ids},
            "usage": {"usage": {ids[0]: Usage(99)}},
            "fragments": {"fragments": stolen},
            "links": {"links": [Link(ids[0], Relation.CONTRADICTS, ids[1])]},
            "version": {"versions": [dataclasses.replace(head.current, version=3, text="stolen")]},
        }
        for fields in hostile.values():
            # Refusing is as good as doing nothing; touching the other owner is not.
            with contextlib.suppress(MemoryServiceError):
                async with store.change(other) as change:
                    await change.apply(
                        Changeset(state=make.next_state(change.state), **fields)  # type: ignore[arg-type]
                    )
        assert await make.dump(store, owner, ids) == before
        assert bystander == 1


async def test_two_owners_may_use_the_same_ids(store: MemoryStore):
    owners = [make.new_owner(), make.new_owner()]
    memory = make.version(make.new_id())
    for number, owner in enumerate(owners):
        await make.write(
            store,
            owner,
            dataclasses.replace(memory, text=f"of {number}"),
            outcomes=[make.outcome(Dot(DeviceId("d"), 1), "request", 1, operation=f"of {number}")],
            journal=[make.entry(memory)],
        )
    await make.commit(store, owners[0], lambda state: Changeset(state=make.next_state(state), forgotten=[memory.id]))
    assert await store.get(owners[0], memory.id) is None
    head = await store.get(owners[1], memory.id)
    assert head is not None
    assert head.current.text == "of 1"
    async with store.change(owners[1]) as change:
        found = await change.outcome_of_request("request")
        assert found is not None
        assert found.operation == "of 1"


async def test_forgetting_leaves_no_content_anywhere(store: MemoryStore):
    owner = make.new_owner()
    ids = await rich(store, owner, "secret")
    before = await make.dump(store, owner, ids)
    assert "secret" in repr(before)

    def forget(state: OwnerState) -> Changeset:
        after = make.next_state(state)
        head = make.version(ids[0], 2, revision=after.revision)
        line = dataclasses.replace(make.entry(head, 0, JournalEvent.RETRACTED), reason="secret reason")
        last = dataclasses.replace(make.entry(head, 1, JournalEvent.FORGOTTEN), reason="asked for")
        beside = dataclasses.replace(make.entry(make.version(ids[1], revision=after.revision), 2), reason="its own")
        return Changeset(state=after, forgotten=[ids[0]], journal=[line, last, beside])

    revision = await make.commit(store, owner, forget)
    told = await make.dump(store, owner, ids)
    assert "secret" not in repr(told)
    assert await store.get(owner, ids[0]) is None
    assert list(await store.links(owner, ids[0])) == []
    assert list(await store.links(owner, ids[1])) == []
    async with store.change(owner) as change:
        assert list(await change.heads_in_slots(["slot secret", ""])) == []
        assert list(await change.heads_of_claims(["claim secret", ""])) == []
        assert [h.id for h in await change.select(make.EVERYTHING, limit=9)] == [ids[1]]
        assert list(await change.fragments(ids[0], 1)) == list(await change.fragments(ids[0], 2)) == []
        assert list(await change.derivatives([ids[0]])) == []
    history = await store.history(owner, ids[0])
    assert [(v.version, v.redacted, v.text, v.assertion, v.tags) for v in history] == [
        (1, True, "", None, ()),
        (2, True, "", None, ()),
    ]
    assert {(v.topic, v.slot, v.claim, v.provenance.reference) for v in history} == {("", "", "", "")}
    assert {(v.provenance.actor, v.provenance.device, v.provenance.agent) for v in history} == {
        ("actor", "device", "agent")
    }
    assert {(v.reason, v.evidence, v.disputed) for v in history} == {("", Evidence(), True)}
    journal = await store.journal(owner, ids[0])
    assert [(line.event, line.reason) for line in journal] == [
        (JournalEvent.CREATED, ""),
        (JournalEvent.CREATED, ""),
        (JournalEvent.RETRACTED, ""),
        (JournalEvent.FORGOTTEN, "asked for"),
    ]
    assert [line.reason for line in await store.journal(owner, ids[1])] == ["because", "its own"]
    delta = await store.search_rows_since(owner, make.MODEL, Revision(revision - 1))
    assert list(delta.removed) == [ids[0]]
    assert list(delta.rows) == []
    # The one beside it is as it was.
    for key in (f"get {ids[1]}", f"history {ids[1]}", f"fragments {ids[1]} 1"):
        assert told[key] == before[key]


async def test_a_version_written_and_forgotten_in_one_change_is_redacted(store: MemoryStore):
    owner = make.new_owner()
    ids = await rich(store, owner, "secret")
    head = await store.get(owner, ids[0])
    assert head is not None
    last = dataclasses.replace(head.current, version=3, status=Status.RETRACTED, text="secret to the end")
    await make.write(store, owner, last, forgotten=[ids[0]], fragments=[])
    assert "secret" not in repr(await make.dump(store, owner, ids))
    assert [v.redacted for v in await store.history(owner, ids[0])] == [True] * 3


async def test_vectors_that_arrive_after_a_forget_are_passed_over(store: MemoryStore):
    owner = make.new_owner()
    ids = await rich(store, owner, "secret")
    waiting = await store.waiting_fragments(owner, make.OTHER_MODEL, limit=10)
    assert waiting
    late = [dataclasses.replace(f, model_id=make.OTHER_MODEL, vector=make.vector(5)) for f in waiting]
    await make.commit(store, owner, lambda s: Changeset(state=make.next_state(s), forgotten=ids))
    await store.store_vectors(owner, late)
    assert "secret" not in repr(await make.dump(store, owner, ids))
    assert list(await store.waiting_fragments(owner, make.OTHER_MODEL, limit=10)) == []
    assert list((await store.search_rows(owner, make.OTHER_MODEL)).rows) == []


async def test_tombstones_of_one_digest_are_all_kept(store: MemoryStore):
    owner = make.new_owner()
    stones = [
        Tombstone(
            TombstoneScope.CLAIM,
            b"same digest 1234",
            Dot(DeviceId(device), 1),
            VectorClock({DeviceId(device): 1}),
            make.at(1),
            Revision(number),
        )
        for number, device in enumerate(["a", "b"], 1)
    ]
    for stone in stones:
        await make.write(store, owner, tombstones=[stone])
    async with store.change(owner) as change:
        found = await change.tombstones([b"same digest 1234", b"other digest 123"])
        assert sorted(map(make.plain, found), key=str) == sorted(map(make.plain, stones), key=str)
        assert list(await change.tombstones([])) == []


async def test_slots_and_claims_find_standing_heads_oldest_first(store: MemoryStore):
    owner = make.new_owner()
    heads = []
    for number, (status, tier) in enumerate([(s, t) for s in Status for t in Tier], 1):
        slot = "odd" if number % 2 else "even"
        memory = make.version(
            make.new_id(),
            status=status,
            tier=tier,
            slot=slot,
            claim=f"claim {slot}",
            recorded_at=make.at(100 - number),
        )
        await make.write(store, owner, memory)
        heads.append(memory)
    moved = dataclasses.replace(heads[0], version=2, slot="moved", claim="moved", recorded_at=make.at(200))
    await make.write(store, owner, moved)
    wanted = [
        m.id
        for m in sorted(heads, key=lambda m: m.recorded_at)
        if m.status in (Status.ACTIVE, Status.CONTESTED, Status.YIELDED) and m.slot == "odd" and m.id != moved.id
    ]
    of_any_status = [
        m.id for m in sorted(heads, key=lambda m: m.recorded_at) if m.claim == "claim odd" and m.id != moved.id
    ]
    async with store.change(owner) as change:
        assert [h.id for h in await change.heads_in_slots(["odd", "absent"])] == wanted
        assert [h.id for h in await change.heads_of_claims(["claim odd", "absent"])] == wanted
        everywhere = await change.heads_of_claims(["claim odd", "absent"], standing_only=False)
        assert [h.id for h in everywhere] == of_any_status
        assert [h.id for h in await change.heads_in_slots(["moved"])] == [moved.id]
        assert [h.id for h in await change.heads_of_claims(["moved"])] == [moved.id]
        assert list(await change.heads_in_slots([])) == list(await change.heads_of_claims([])) == []
        both = await change.heads_in_slots(["odd", "even", "odd"])
        assert len(both) == len({h.id for h in both}) == 3 * len(Tier) - 1
        assert {h.id for h in await change.heads([m.id for m in heads[:3]] + [make.new_id()])} == {
            m.id for m in heads[:3]
        }


async def test_the_journal_is_told_in_order(store: MemoryStore):
    owner = make.new_owner()
    memory, other = make.version(make.new_id()), make.version(make.new_id())
    lines = [dataclasses.replace(make.entry(memory, n), revision=Revision(1)) for n in (0, 2, 5)]
    await make.write(store, owner, memory, other, journal=[lines[2], make.entry(other, 1), lines[0], lines[1]])
    second = dataclasses.replace(make.entry(memory, 0), revision=Revision(2))
    await make.write(store, owner, journal=[second])
    assert make.plain(await store.journal(owner, memory.id)) == make.plain([*lines, second])


async def test_forgotten_wordings_come_newest_first_and_no_other_tombstones(store: MemoryStore):
    owner = make.new_owner()
    for number in range(1, 6):
        scope = TombstoneScope.CLAIM if number == 3 else TombstoneScope.WORDING
        stone = Tombstone(
            scope, bytes([number, 7]), Dot(DeviceId("a"), number), VectorClock(), make.at(number), Revision(number)
        )
        await make.write(store, owner, tombstones=[stone])
    async with store.change(owner) as change:
        assert [s.digest for s in await change.forgotten_wordings(limit=3)] == [b"\5\7", b"\4\7", b"\2\7"]
        assert len(await change.forgotten_wordings(limit=100)) == 4
    async with store.change(make.new_owner()) as change:
        assert list(await change.forgotten_wordings(limit=100)) == []


async def test_a_text_unsaid_is_searched_no_more_in_any_version_and_comes_with_the_delta(store: MemoryStore):
    owner = make.new_owner()
    memory, other = make.version(make.new_id(), text="own words"), make.version(make.new_id(), text="lent words")
    pieces = [
        make.fragment(memory, 0, seed=1),
        dataclasses.replace(make.fragment(memory, 1, seed=2), text="lent words"),
    ]
    await make.write(store, owner, memory, other, fragments=[*pieces, make.fragment(other, 0, seed=3)])
    later = dataclasses.replace(memory, version=2, content_version=2, recorded_at=make.at(2))
    kept = [make.fragment(later, 0, seed=1), dataclasses.replace(make.fragment(later, 1, seed=2), text="lent words")]
    await make.write(store, owner, later, fragments=kept)
    before = (await store.state(owner)).revision
    await make.write(store, owner, unsaid=[(memory.id, "lent words"), (memory.id, "never said")])
    async with store.change(owner) as change:
        for content_version in (1, 2):
            assert "lent words" not in [f.text for f in await change.fragments(memory.id, content_version)]
            assert len(await change.fragments(memory.id, content_version)) == 1
        assert [f.text for f in await change.fragments(other.id, 1)] == ["lent words #0"]
    delta = await store.search_rows_since(owner, make.MODEL, before)
    assert [row.head.id for row in delta.rows] == [memory.id]
