"""Memory store contract: values come back equal to what was stored, and belong to the store alone."""

from __future__ import annotations

import dataclasses
from datetime import UTC
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from memory_service.domain.ids import DeviceId, Revision
from memory_service.domain.memory import Assertion, Kind, MemoryVersion, Relation, Usage
from memory_service.domain.vector_clock import Dot, VectorClock
from memory_service.ports.memory_store import (
    Changeset,
    JournalEvent,
    Link,
    MemoryStore,
    Tombstone,
    TombstoneScope,
)
from tests.contracts import builders as make
from tests.contracts import strategies


def in_utc(record: Any, *names: str) -> Any:
    """A record with these times in UTC."""
    changes = {n: getattr(record, n).astimezone(UTC) for n in names if getattr(record, n) is not None}
    return dataclasses.replace(record, **changes)


def expected(version: MemoryVersion) -> Any:
    """A version with its times in UTC."""
    return in_utc(version, "recorded_at", "valid_from", "valid_to", "expires_at", "said_at")


@settings(max_examples=60)
@given(version=strategies.arbitrary_versions)
async def test_versions_round_trip(store: MemoryStore, version: MemoryVersion):
    owner = make.new_owner()
    await make.write(store, owner, version)
    head = await store.get(owner, version.id)
    assert head is not None
    assert make.plain(head.current) == make.plain(expected(version))
    assert make.plain(head.created_at) == make.plain(expected(version).recorded_at)
    assert head.usage == Usage()
    assert make.plain(await store.history(owner, version.id)) == (make.plain(expected(version)),)
    async with store.change(owner) as change:
        assert make.plain(await change.versions(version.id)) == (make.plain(expected(version)),)


@settings(max_examples=60)
@given(value=strategies.json_values)
@example(value=2**53 + 1)
@example(value=[10**30, -(10**30), 1e308, -1e-308, 5e-324, 0.1, -0.0, 1.0, True, 1, None])
@example(value={"": {"\U0001f600": "\u2028", "￿": ["", {}, []]}, "b": 1, "a": 2})
async def test_json_round_trips_by_value(store: MemoryStore, value: object):
    owner = make.new_owner()
    memory = make.version(make.new_id(), assertion=Assertion("s", "p", value))  # type: ignore[arg-type]
    dot = Dot(DeviceId("d"), 1)
    answer = make.outcome(dot, "r", 1, outcome={"value": value})
    await make.write(store, owner, memory, outcomes=[answer])
    head = await store.get(owner, memory.id)
    assert head is not None
    assert head.current.assertion is not None
    assert make.json_plain(head.current.assertion.object) == make.json_plain(value)
    async with store.change(owner) as change:
        found = await change.outcome_of_dot(dot)
    assert found is not None
    assert make.json_plain(found.outcome) == make.json_plain({"value": value})


@settings(max_examples=40)
@given(
    clock=strategies.clocks,
    salt=st.binary(min_size=32, max_size=32),
    count=st.integers(0, 10**9),
    frozen=st.frozensets(st.sampled_from(Kind)),
    revision=st.integers(1, 2**62),
)
async def test_states_round_trip(store: MemoryStore, clock, salt, count, frozen, revision):
    owner = make.new_owner()
    async with store.change(owner) as change:
        assert change.state.revision == 0
        state = dataclasses.replace(
            change.state,
            revision=Revision(revision),
            clock=clock,
            salt=salt,
            memory_count=count,
            frozen_kinds=frozen,
        )
        await change.apply(Changeset(state=state))
    assert await store.state(owner) == state
    async with store.change(owner) as change:
        assert change.state == state
    rows = await store.search_rows(owner, make.MODEL)
    assert (rows.revision, rows.clock, list(rows.rows)) == (revision, clock, [])


@settings(max_examples=40)
@given(
    texts=st.lists(strategies.texts, min_size=1, max_size=4),
    terms=st.lists(strategies.texts, max_size=5),
    values=st.lists(st.floats(-1, 1, width=32), min_size=make.DIMENSION, max_size=make.DIMENSION),
)
async def test_fragments_round_trip_at_half_precision(store: MemoryStore, texts, terms, values):
    owner, memory = make.new_owner(), make.version(make.new_id())
    vector = np.array(values, dtype=np.float32)
    fragments = [
        dataclasses.replace(make.fragment(memory, i), text=text, terms=tuple(terms), vector=vector)
        for i, text in enumerate(texts)
    ]
    await make.write(store, owner, memory, fragments=fragments)
    (row,) = (await store.search_rows(owner, make.MODEL)).rows
    async with store.change(owner) as change:
        told = await change.fragments(memory.id, 1)
    for found in (row.fragments, told):
        assert [(f.ordinal, f.text, f.terms, f.model_id) for f in found] == [
            (f.ordinal, f.text, f.terms, make.MODEL) for f in fragments
        ]
        for f in found:
            assert f.vector is not None
            assert f.vector.dtype == np.float32
            np.testing.assert_array_equal(f.vector, vector.astype(np.float16).astype(np.float32))


@settings(max_examples=30)
@given(
    usage=st.builds(
        Usage,
        st.integers(0, 2**31 - 1),
        st.integers(0, 2**31 - 1),
        st.none() | strategies.times,
        st.none() | strategies.times,
    ),
    word=strategies.texts,
    digest=st.binary(min_size=16, max_size=32),
    dot=strategies.dots,
    context=strategies.clocks,
    moment=strategies.times,
    scope=st.sampled_from(TombstoneScope),
    event=st.sampled_from(JournalEvent),
    number=st.integers(-(2**40), 2**40) | st.floats(-1e9, 1e9),
)
async def test_the_other_records_round_trip(
    store: MemoryStore, usage, word, digest, dot, context, moment, scope, event, number
):
    owner, memory = make.new_owner(), make.version(make.new_id())
    utc = moment.astimezone(UTC)
    line = dataclasses.replace(
        make.entry(memory, event=event),
        at=moment,
        actor=word,
        device=word,
        reason=word,
        before=word,
        after=word,
    )
    line = dataclasses.replace(line, details={"w": word, "n": number, "b": True})
    claims = (digest.ljust(32, b"c"), b"d" * 32)
    stone = Tombstone(scope, digest, dot, context, moment, Revision(1), claims)
    answer = make.outcome(dot, f"r{word}", 1, operation=word, payload_digest=digest, at=moment)
    await make.write(
        store, owner, memory, usage={memory.id: usage}, journal=[line], tombstones=[stone], outcomes=[answer]
    )
    head = await store.get(owner, memory.id)
    assert head is not None
    assert make.plain(head.usage) == make.plain(in_utc(usage, "last_access_at", "last_confirmed_at"))
    assert make.plain(await store.journal(owner, memory.id)) == make.plain([dataclasses.replace(line, at=utc)])
    async with store.change(owner) as change:
        assert make.plain(await change.tombstones([digest])) == make.plain([dataclasses.replace(stone, at=utc)])
        told = make.plain(dataclasses.replace(answer, at=utc))
        assert make.plain(await change.outcome_of_dot(dot)) == told
        assert make.plain(await change.outcome_of_request(f"r{word}")) == told


async def test_links_round_trip(store: MemoryStore):
    owner = make.new_owner()
    one, two, three = (make.version(make.new_id()) for _ in range(3))
    links = [Link(one.id, relation, two.id) for relation in Relation] + [Link(three.id, Relation.SUPPORTS, one.id)]
    await make.write(store, owner, one, two, three, links=links)
    await make.write(store, owner, links=links[:2], fragments=[])
    assert sorted(await store.links(owner, one.id), key=str) == sorted(links, key=str)
    assert sorted(await store.links(owner, two.id), key=str) == sorted(links[:-1], key=str)
    assert list(await store.links(owner, three.id)) == links[-1:]
    assert list(await store.links(owner, make.new_id())) == []


async def test_derivatives_are_one_step_away(store: MemoryStore):
    owner = make.new_owner()
    source, derived, twice, merged, other = (make.version(make.new_id()) for _ in range(5))
    links = [
        Link(derived.id, Relation.DERIVED_FROM, source.id),
        Link(twice.id, Relation.DERIVED_FROM, derived.id),
        Link(source.id, Relation.MERGED_INTO, merged.id),
        Link(other.id, Relation.SUPPORTS, source.id),
        Link(source.id, Relation.SUPERSEDES, other.id),
    ]
    await make.write(store, owner, source, derived, twice, merged, other, links=links)
    async with store.change(owner) as change:
        assert sorted(await change.derivatives([source.id])) == sorted([derived.id, merged.id])
        assert sorted(await change.derivatives([source.id, derived.id])) == sorted([derived.id, merged.id, twice.id])
        assert list(await change.derivatives([other.id, make.new_id()])) == []
        assert list(await change.derivatives([])) == []
    async with store.change(make.new_owner()) as change:
        assert list(await change.derivatives([source.id])) == []


async def test_what_was_stored_does_not_follow_the_callers_objects(store: MemoryStore):
    owner = make.new_owner()
    value = {"list": [1]}
    vector = make.vector(1)
    memory = make.version(make.new_id(), assertion=Assertion("s", "p", value))
    fragment = dataclasses.replace(make.fragment(memory), vector=vector)
    await make.write(store, owner, memory, fragments=[fragment])
    before = await make.dump(store, owner, [memory.id])
    value["list"].append(2)
    vector[:] = 0
    head = await store.get(owner, memory.id)
    assert head is not None
    assert head.current.assertion is not None
    told = head.current.assertion.object
    assert isinstance(told, dict)
    told["list"] = "changed"
    (row,) = (await store.search_rows(owner, make.MODEL)).rows
    if row.fragments[0].vector is not None and row.fragments[0].vector.flags.writeable:
        row.fragments[0].vector[:] = 0
    assert await make.dump(store, owner, [memory.id]) == before


async def test_an_unknown_owner_is_empty_at_revision_zero(store: MemoryStore):
    owner = make.new_owner()
    state = await store.state(owner)
    assert (state.revision, state.clock, state.salt, state.memory_count) == (0, VectorClock(), b"", 0)
    told = await make.dump(store, owner, [make.new_id()])
    empty = {
        key: value
        for key, value in told.items()
        if key.split()[0] in {"history", "journal", "links", "heads", "versions", "fragments", "waiting"}
    }
    assert set(empty.values()) == {()}
    await store.record_access(owner, {make.new_id(): (1, make.at(1))})
    await store.store_vectors(owner, [make.fragment(make.version(make.new_id()))])
    assert (await store.search_rows(owner, make.MODEL)).rows in ([], ())
    await store.ping()


@pytest.mark.parametrize("limit", [1, 3])
async def test_outcomes_without_request_id_do_not_meet(store: MemoryStore, limit: int):
    owner = make.new_owner()
    answers = [make.outcome(Dot(DeviceId("d"), n), "", n) for n in range(1, limit + 1)]
    for answer in answers:
        await make.write(store, owner, outcomes=[answer])
    async with store.change(owner) as change:
        for answer in answers:
            assert make.plain(await change.outcome_of_dot(answer.dot)) == make.plain(answer)
        assert await change.outcome_of_request("") is None
        assert await change.outcome_of_request("other") is None
        assert await change.outcome_of_dot(Dot(DeviceId("d"), 99)) is None
        assert await change.outcome_of_dot(Dot(DeviceId("e"), 1)) is None
