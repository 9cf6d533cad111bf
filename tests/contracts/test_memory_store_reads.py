"""Memory store contract: filters, pages, snapshots, deltas and as-of answers, against a naive model."""

from __future__ import annotations

import dataclasses
import random
import uuid
from datetime import datetime
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_service.domain.ids import MemoryId, OwnerKey, Revision
from memory_service.domain.memory import (
    Assertion,
    Kind,
    MemoryHead,
    MemoryVersion,
    Provenance,
    Relation,
    Source,
    Status,
    Tier,
    Usage,
    Visibility,
)
from memory_service.ports.memory_store import Changeset, Link, MemoryFilter, MemoryStore, OwnerState
from tests.contracts import builders as make
from tests.contracts import model as naive
from tests.contracts import strategies
from tests.contracts.conftest import Backend

COUNT = 150
WORDS = ["a", "b", "c"]


def assorted(random_: random.Random) -> MemoryVersion:
    """A version with every filterable field drawn from few values."""
    pick = random_.choice
    some_time = [None, *(make.at(n) for n in range(6))]
    return make.version(
        MemoryId(uuid.UUID(int=random_.getrandbits(128), version=4)),
        kind=pick(list(Kind)),
        status=pick(list(Status)),
        tier=pick(list(Tier)),
        source=pick(list(Source)),
        tags=tuple(random_.sample(WORDS, random_.randint(0, 3))),
        topic=pick(WORDS),
        slot=pick(WORDS),
        claim=pick(WORDS),
        assertion=pick([None, Assertion(pick(WORDS), pick(WORDS), pick(WORDS))]),
        provenance=Provenance("actor", pick(WORDS), pick(["", *WORDS]), pick(WORDS)),
        said_at=pick(some_time),
        valid_from=pick(some_time),
        valid_to=pick(some_time),
        recorded_at=make.at(random_.randint(0, 5)),
        importance=pick([0.0, 0.25, 0.5, 1.0]),
        confidence=pick([0.0, 0.25, 0.5, 1.0]),
        visibility=pick(list(Visibility)),
    )


@dataclasses.dataclass
class Assorted:
    """One owner with many assorted memories, and the model of it."""

    store: MemoryStore
    owner: OwnerKey
    model: naive.NaiveOwner


@pytest.fixture(scope="session")
async def assorted_owner(backend: Backend) -> Assorted:
    """Written once, only read after."""
    owner, random_ = make.new_owner(), random.Random(7)
    store = backend.memories
    async with store.change(owner) as change:
        model = naive.NaiveOwner(change.state)
        after = make.next_state(change.state)
        versions = [dataclasses.replace(assorted(random_), revision=after.revision) for _ in range(COUNT)]
        changeset = Changeset(state=after, versions=versions, fragments=[make.fragment(v) for v in versions])
        await change.apply(changeset)
    model.apply(changeset)
    return Assorted(store, owner, model)


def some(values: st.SearchStrategy) -> st.SearchStrategy:
    """One or two values, one of which nothing has."""
    return st.frozensets(values, min_size=1, max_size=2)


words = some(st.sampled_from([*WORDS, "absent"]))
moments = st.integers(0, 6).map(make.at)
fields: dict[str, st.SearchStrategy] = {
    "kinds": some(st.sampled_from(Kind)),
    "statuses": some(st.sampled_from(Status)),
    "tiers": some(st.sampled_from(Tier)),
    "sources": some(st.sampled_from(Source)),
    "tags_all": words,
    "tags_any": words,
    "topics": words,
    "slots": words,
    "subjects": words,
    "predicates": words,
    "agents": words,
    "devices": words,
    "sessions": words,
    "said_from": moments,
    "said_until": moments,
    "valid_at": moments,
    "importance_min": st.sampled_from([0.25, 0.3, 1.0]),
    "confidence_min": st.sampled_from([0.25, 0.3, 1.0]),
    "visible_to_agent": st.sampled_from(["", *WORDS, "absent"]),
}


def test_every_field_of_the_filter_is_drawn():
    """A new condition without a test here is a condition nobody holds the backends to."""
    assert set(fields) | {"ids"} == {field.name for field in dataclasses.fields(MemoryFilter)}


async def check(assorted_owner: Assorted, where: MemoryFilter) -> None:
    store, owner = assorted_owner.store, assorted_owner.owner
    wanted = [h.id for h in assorted_owner.model.heads(lambda head: naive.matches(head, where))]
    page = await store.list(owner, where, limit=COUNT)
    assert [h.id for h in page.heads] == wanted
    assert page.next_after is None
    async with store.change(owner) as change:
        assert [h.id for h in await change.select(where, limit=COUNT)] == wanted
        assert [h.id for h in await change.select(where, limit=3)] == wanted[:3]


@pytest.mark.parametrize("name", sorted(fields))
@settings(max_examples=6)
@given(data=st.data())
async def test_one_condition_against_the_model(assorted_owner: Assorted, name: str, data: st.DataObject):
    await check(assorted_owner, MemoryFilter(**{name: data.draw(fields[name])}))


@settings(max_examples=40)
@given(
    where=st.fixed_dictionaries({}, optional=fields),
    ids=st.frozensets(st.integers(0, COUNT - 1), max_size=60),
)
async def test_conditions_together_against_the_model(assorted_owner: Assorted, where, ids):
    chosen = frozenset(assorted_owner.model.versions[n].id for n in ids) | {make.new_id()}
    if ids:
        where = {**where, "ids": chosen}
    await check(assorted_owner, MemoryFilter(**where))


@settings(max_examples=15)
@given(where=st.fixed_dictionaries({}, optional=fields), limit=st.integers(1, 40))
async def test_pages_join_to_the_whole(assorted_owner: Assorted, where, limit: int):
    condition = MemoryFilter(**where)
    wanted = assorted_owner.model.heads(lambda head: naive.matches(head, condition))
    found: list = []
    after = None
    while True:
        page = await assorted_owner.store.list(assorted_owner.owner, condition, limit=limit, after=after)
        assert len(page.heads) <= limit
        found += page.heads
        if page.next_after is None:
            break
        assert page.heads
        after = page.next_after
    assert make.plain(found) == make.plain(wanted)


async def test_pages_stay_whole_while_memories_are_added(store: MemoryStore):
    owner = make.new_owner()
    first = [make.version(make.new_id(), recorded_at=make.at(n // 3)) for n in range(10)]
    await make.write(store, owner, *first)
    found: list[MemoryId] = []
    after: tuple[datetime, MemoryId] | None = None
    added: set[MemoryId] = set()
    for turn in range(100):
        page = await store.list(owner, make.EVERYTHING, limit=3, after=after)
        found += [head.id for head in page.heads]
        after = page.next_after
        if after is None:
            break
        if turn < 5:
            newcomers = [make.version(make.new_id(), recorded_at=make.at(moment)) for moment in (-1, 1, 50)]
            added |= {memory.id for memory in newcomers}
            await make.write(store, owner, *newcomers)
    assert len(found) == len(set(found))
    assert set(found) - added == {memory.id for memory in first}


@settings(max_examples=25)
@given(steps=strategies.steps, base=st.integers(0, 14), limit=st.integers(1, 4), moments=st.tuples(
    st.none() | st.integers(0, 10), st.none() | st.integers(0, 16)))  # fmt: skip
async def test_histories_against_the_model(store: MemoryStore, steps, base: int, limit: int, moments):
    """After any history every reading method agrees with the model, and deltas compose to the whole."""
    owner = make.new_owner()
    history = strategies.History(store, owner)
    earlier = {model: await store.search_rows(owner, model) for model in (make.MODEL, make.OTHER_MODEL)}
    for number, step in enumerate(steps):
        if number == base:
            earlier = {model: await store.search_rows(owner, model) for model in earlier}
        await history.run(step)
    model = history.model
    assert make.plain(await store.state(owner)) == make.plain(model.state)
    assert make.plain((await store.list(owner, make.EVERYTHING, limit=99)).heads) == make.plain(model.heads())
    for memory_id in {v.id for v in model.versions}:
        await check_memory(store, owner, model, memory_id)
    for model_id, base_rows in earlier.items():
        whole = await store.search_rows(owner, model_id)
        assert make.plain(whole) == make.plain(model.search_rows(model_id))
        delta = await store.search_rows_since(owner, model_id, base_rows.revision)
        composed = naive.without_usage(naive.compose(base_rows, delta))
        assert make.plain(composed) == make.plain(naive.without_usage(whole))
        now = await store.search_rows_since(owner, model_id, whole.revision)
        assert (list(now.rows), list(now.removed), now.revision) == ([], [], whole.revision)
        waiting = model.waiting(model_id)
        assert sorted(map(repr, map(make.plain, await store.waiting_fragments(owner, model_id, limit=99)))) == (
            sorted(map(repr, map(make.plain, waiting)))
        )
        assert len(await store.waiting_fragments(owner, model_id, limit=1)) == min(1, len(waiting))
        valid_at, recorded_at = (None if moment is None else make.at(moment) for moment in moments)
        answer = await store.search_rows_as_of(
            owner, model_id, valid_at=valid_at, recorded_at=recorded_at, limit=limit
        )
        wanted = model.as_of(model_id, valid_at, recorded_at)[:limit]
        assert make.plain(answer.rows) == make.plain(wanted)
        await check_believed(store, owner, model, recorded_at or make.at(99), limit, MemoryFilter(valid_at=valid_at))
        assert (answer.revision, answer.clock) == (model.state.revision, model.state.clock)


async def check_believed(
    store: MemoryStore, owner: OwnerKey, model: naive.NaiveOwner, at: datetime, limit: int, where: MemoryFilter
) -> None:
    """Pages of what was believed join to the whole, and what is there no more is in none of them."""
    found: list[MemoryHead] = []
    after = None
    while True:
        page = await store.list(owner, where, limit=limit, after=after, recorded_at=at)
        found += page.heads
        after = page.next_after
        if after is None:
            break
    assert make.plain(found) == make.plain(model.believed(at, lambda head: naive.matches(head, where)))


async def check_memory(store: MemoryStore, owner: OwnerKey, model: naive.NaiveOwner, memory_id: MemoryId) -> None:
    versions = await store.history(owner, memory_id)
    chain = model.chain(memory_id)
    assert [v.version for v in versions] == [v.version for v in chain]
    if memory_id in model.forgotten:
        assert await store.get(owner, memory_id) is None
        assert {v.redacted for v in versions} == {True}
    else:
        assert make.plain(await store.get(owner, memory_id)) == make.plain(model.head(memory_id))
        assert make.plain(versions) == make.plain(chain)


async def test_vectors_of_several_models_live_side_by_side(store: MemoryStore):
    owner, memory = make.new_owner(), make.version(make.new_id())
    await make.write(store, owner, memory, fragments=[make.fragment(memory, n, seed=n) for n in range(3)])
    waiting = await store.waiting_fragments(owner, make.OTHER_MODEL, limit=10)
    assert [(f.ordinal, f.model_id, f.vector) for f in waiting] == [(n, "", None) for n in range(3)]
    made = [dataclasses.replace(f, model_id=make.OTHER_MODEL, vector=make.vector(50 + f.ordinal)) for f in waiting]
    before = await store.state(owner)
    await store.store_vectors(owner, made[:2])
    after = await store.state(owner)
    assert after.revision > before.revision
    assert after.clock == before.clock
    delta = await store.search_rows_since(owner, make.OTHER_MODEL, before.revision)
    assert [row.head.id for row in delta.rows] == [memory.id]
    (row,) = (await store.search_rows(owner, make.OTHER_MODEL)).rows
    assert [(f.model_id, f.vector is not None) for f in row.fragments] == [
        (make.OTHER_MODEL, True),
        (make.OTHER_MODEL, True),
        ("", False),
    ]
    (row,) = (await store.search_rows(owner, make.MODEL)).rows
    assert make.plain([f.vector for f in row.fragments]) == make.plain(
        [naive.rounded(make.vector(n)) for n in range(3)]
    )
    assert [f.ordinal for f in await store.waiting_fragments(owner, make.OTHER_MODEL, limit=9)] == [2]
    assert row.head.current.version == 1


def forgetting(memory_id: MemoryId, state: OwnerState) -> Changeset:
    """A change that forgets one memory."""
    return Changeset(state=make.next_state(state), forgotten=[memory_id])


async def walked(store: MemoryStore, model_id: str, page: int) -> list[OwnerKey]:
    """Owners that a walk through all of them finds behind a model."""
    found: list[OwnerKey] = []
    after = None
    while True:
        answer = await store.owners_behind(model_id, after=after, limit=page)
        assert len(answer.owners) <= answer.looked <= page
        found += answer.owners
        after = answer.next_after
        if after is None:
            return found


async def test_owners_with_fragments_to_embed_are_found(store: MemoryStore):
    model_id = f"test:{make.new_id()}:8:v1"
    waiting, older, done, forgotten = (make.new_owner() for _ in range(4))
    for owner in (waiting, older, done, forgotten):
        memory = make.version(make.new_id())
        seed = None if owner in (waiting, forgotten) else 1
        fragments = [make.fragment(memory, seed=seed, model_id=model_id if owner is done else make.MODEL)]
        await make.write(store, owner, memory, fragments=fragments)
        if owner is forgotten:
            await make.commit(store, owner, partial(forgetting, memory.id))
    found = set(await store.owners_with_waiting_fragments(model_id, limit=100_000))
    assert waiting in found
    assert found.isdisjoint({older, done, forgotten}), "what has a vector of another model is found by the walk"
    assert len(await store.owners_with_waiting_fragments(model_id, limit=1)) == 1
    for page in (1, 7, 100_000):
        behind = await walked(store, model_id, page)
        assert {waiting, older} <= set(behind)
        assert set(behind).isdisjoint({done, forgotten})
        assert len(set(behind)) == len(behind)


async def test_access_adds_up_and_moves_forward_only(store: MemoryStore):
    owner, memory = make.new_owner(), make.version(make.new_id())
    await make.write(store, owner, memory, usage={memory.id: Usage(2, 1, None, make.at(0))})
    before = await store.state(owner)
    for count, moment in ((1, 5), (4, 9), (2, 3)):
        await store.record_access(owner, {memory.id: (count, make.at(moment)), make.new_id(): (1, make.at(1))})
    head = await store.get(owner, memory.id)
    assert head is not None
    assert head.usage == Usage(9, 1, make.at(9), make.at(0))
    assert len(await store.history(owner, memory.id)) == 1
    assert await store.state(owner) == before
    later = dataclasses.replace(memory, version=2, recorded_at=make.at(20))
    await make.write(store, owner, later)
    head = await store.get(owner, memory.id)
    assert head is not None
    assert (head.usage.access_count, head.current.version, head.created_at) == (9, 2, memory.recorded_at)
    assert head.etag != "1-1"


@pytest.mark.parametrize(
    ("status", "tier", "shown"),
    [(s, t, s in ("active", "contested") and t != "archive") for s in Status for t in Tier],
)
async def test_only_current_memories_are_in_a_snapshot(store: MemoryStore, status, tier, shown: bool):
    owner, memory = make.new_owner(), make.version(make.new_id())
    revision = await make.write(store, owner, memory)
    later = dataclasses.replace(memory, version=2, status=status, tier=tier)
    await make.write(store, owner, later, fragments=[])
    rows = await store.search_rows(owner, make.MODEL)
    delta = await store.search_rows_since(owner, make.MODEL, revision)
    assert [row.head.current.version for row in rows.rows] == ([2] if shown else [])
    assert [row.head.id for row in delta.rows] == ([memory.id] if shown else [])
    assert list(delta.removed) == ([] if shown else [memory.id])
    assert all(len(row.fragments) == 1 for row in rows.rows)
    assert delta.revision == rows.revision == Revision(2)


async def test_the_successor_is_the_memory_that_took_the_place_last(store: MemoryStore):
    owner, other = make.new_owner(), make.new_owner()
    old = make.version(make.new_id(), recorded_at=make.at(0))
    heirs = [make.version(make.new_id(), recorded_at=make.at(n)) for n in (1, 3, 2)]
    wrong = make.version(make.new_id(), recorded_at=make.at(4), status=Status.RETRACTED)
    links = [Link(heir.id, Relation.SUPERSEDES, old.id) for heir in (*heirs, wrong)]
    links.append(Link(heirs[0].id, Relation.SUPPORTS, heirs[1].id))
    await make.write(store, owner, old, *heirs, wrong, links=links)
    ids = [old.id, heirs[0].id, make.new_id()]
    assert await store.successors(owner, ids) == {old.id: heirs[1].id}
    assert await store.successors(owner, ids, make.at(2)) == {old.id: heirs[2].id}
    assert await store.successors(owner, ids, make.at(0)) == {}
    assert await store.successors(other, ids) == {}
    assert await store.successors(owner, []) == {}
