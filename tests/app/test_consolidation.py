"""Consolidation: what becomes one memory, what never does, and what undoing it gives back (P11, S9, C5, F8)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_service.app.commands import (
    ChangeMeta,
    CorrectCommand,
    ForgetCommand,
    RevokeCommand,
    Statement,
    UnmergeCommand,
)
from memory_service.app.consolidation import Consolidation, ConsolidationSettings, Consolidator, Deduplication
from memory_service.app.revoke import Revoke
from memory_service.app.unmerge import Unmerge
from memory_service.domain.errors import FailedPrecondition
from memory_service.domain.ids import MemoryId
from memory_service.domain.memory import MemoryHead, Relation, Source, Status, Tier, Visibility
from memory_service.domain.records import MemoryFilter
from memory_service.ports.embedder import Embedder, EmbeddingModel, FloatMatrix
from tests.app.harness import ALICE, World, device

SAME = ["I like green tea", "I really like green tea", "I like the green tea", "I also like green tea"]
CHINESE = ["我喜欢喝绿茶", "我很喜欢喝绿茶", "我真的喜欢喝绿茶", "我也喜欢喝绿茶"]
DIFFERENT = [
    "I like black tea",
    "I do not like green tea",
    "我不喜欢喝绿茶",
    "我很少喝绿茶",
    "My sister likes green tea",
    "I used to like green tea",
    "Tea from London to Paris",
    "Tea from Paris to London",
]
KEY = ChangeMeta(actor="key")


@dataclass
class Measured:
    """An embedder whose model finds nothing near (2) or everything (-1), so that only the judge tells them apart."""

    inner: Embedder
    same_cosine: float

    @property
    def model(self) -> EmbeddingModel:
        return replace(self.inner.model, same_cosine=self.same_cosine)

    async def embed(self, texts: Sequence[str]) -> FloatMatrix:
        return await self.inner.embed(texts)

    async def close(self) -> None: ...


def new_world() -> World:
    return World(embedder=Measured(World().embedder, 2.0))


def consolidator(world: World, **given: object) -> Consolidator:
    return Consolidator(world.changes, **given)  # type: ignore[arg-type]


def step(world: World, **given: object) -> Consolidation:
    return Consolidation(consolidator(world, **given))


async def say_all(world: World, texts: Sequence[str], **given: object) -> list[MemoryId]:
    """Each text as a memory of its own, under one topic."""
    ids = []
    for text in texts:
        world.clock.advance(timedelta(hours=1))
        result = await world.say(text, **{"topic": "tea", **given})  # type: ignore[arg-type]
        assert result.memory is not None
        ids.append(result.memory.id)
    return list(dict.fromkeys(ids))


async def heads(world: World) -> dict[MemoryId, MemoryHead]:
    async with world.store.change(ALICE) as change:
        return {head.id: head for head in await change.select(MemoryFilter(), limit=10_000)}


async def merged(world: World) -> MemoryHead:
    """The one memory that is current."""
    (row,) = (await world.store.search_rows(ALICE, world.embedder.model.id)).rows
    found = await world.store.get(ALICE, row.head.id)
    assert found is not None
    return found


def what_it_is(head: MemoryHead) -> object:
    """All of a memory but when and by which change it became so."""
    version = head.current
    skipped = {"version", "revision", "recorded_at", "reason"}
    fields = [(n, getattr(version, n)) for n in type(version).__dataclass_fields__ if n not in skipped]
    return fields, head.usage, head.created_at


@pytest.fixture(autouse=True)
def unjoined(monkeypatch: pytest.MonkeyPatch) -> None:
    """Statements as of devices that had not seen one another: writing them joins none (see `kinship`)."""
    monkeypatch.setattr("memory_service.app.write.takes_part", lambda draft, meta: False)


@pytest.fixture
def world() -> World:
    return new_world()


@pytest.mark.parametrize("texts", [SAME, CHINESE])
async def test_memories_that_say_the_same_become_one_with_all_support(world: World, texts: list[str]):
    ids = await say_all(world, texts)
    assert len(ids) == len(texts)
    assert await step(world)(ALICE) == len(texts)
    one = await merged(world)
    assert one.current.text in texts
    assert one.current.support == len(texts)
    assert one.current.reason == "merged"
    for memory_id in ids:
        past = await world.reading.history(ALICE, memory_id)
        assert past.versions[-1].status is Status.SUPERSEDED
        assert past.versions[-1].reason == "merged"
        assert past.versions[0].text in texts
        assert [(k.relation, k.to_id) for k in past.links] == [(Relation.MERGED_INTO, one.id)]
    assert await step(world)(ALICE) == 0


async def test_the_wording_is_the_best_supported_then_the_newest(world: World):
    await say_all(world, [SAME[0], *SAME, SAME[0]])
    await step(world)(ALICE)
    assert (await merged(world)).current.text == SAME[0]
    other = new_world()
    await say_all(other, SAME)
    await step(other)(ALICE)
    assert (await merged(other)).current.text == SAME[-1]


async def test_two_are_too_few_for_the_daily_step_and_enough_for_the_weekly(world: World):
    await say_all(world, SAME[:2])
    assert await step(world)(ALICE) == 0
    assert await Deduplication(consolidator(world))(ALICE) == 2
    await say_all(world, [SAME[2]])
    assert await step(world)(ALICE) == 2  # a merge takes a single one
    assert (await merged(world)).current.support == 3


@pytest.mark.parametrize("text", DIFFERENT)
async def test_what_says_something_else_is_never_merged(world: World, text: str):
    await say_all(world, [*SAME, text])
    (other,) = [h for h in (await heads(world)).values() if h.current.text == text]
    await step(world)(ALICE)
    await Deduplication(consolidator(world))(ALICE)
    after = await world.store.get(ALICE, other.id)
    assert after is not None
    assert after.current.status is not Status.SUPERSEDED


async def test_values_of_a_list_stay_apart(world: World):
    for value in ("tea", "coffee", "chess", "opera"):
        await world.state("likes", value)
    assert await step(world)(ALICE) == 0
    assert await Deduplication(consolidator(world))(ALICE) == 0


async def test_contested_memories_are_left_alone(world: World):
    ids = await say_all(world, SAME)
    async with world.store.change(ALICE) as change:
        found = await change.heads(ids)
    from memory_service.app.workspace import Workspace

    async with world.store.change(ALICE) as change:
        ws = Workspace.of(change, world.ids, ALICE)
        ws.adopt(found)
        by = await world.changes.author(ws, KEY)
        ws.advance(by, "test")
        world.changes.settling(ws).show(found[0], Status.CONTESTED, by, "test", disputed=True)
        await world.changes.apply(ws, by)
    assert await step(world)(ALICE) == 3
    contested = await world.store.get(ALICE, found[0].id)
    assert contested is not None
    assert contested.current.status is Status.CONTESTED


async def test_a_private_memory_joins_what_all_know_and_never_anothers(world: World):
    await say_all(world, SAME[:1])
    await say_all(world, SAME[1:2], visibility=Visibility.PRIVATE, agent="one")
    await say_all(world, SAME[2:3], visibility=Visibility.PRIVATE, agent="two")
    assert await step(world)(ALICE) == 0
    assert await Deduplication(consolidator(world))(ALICE) == 2
    left = [h for h in (await heads(world)).values() if h.current.status is Status.ACTIVE]
    assert {(h.current.visibility, h.current.support) for h in left} == {
        (Visibility.SHARED, 2),
        (Visibility.PRIVATE, 1),
    }
    assert [h.current.text for h in left if h.current.visibility is Visibility.SHARED] == SAME[:1]
    only = new_world()
    await say_all(only, SAME[:1], visibility=Visibility.PRIVATE, agent="one")
    await say_all(only, SAME[1:2], visibility=Visibility.PRIVATE, agent="two")
    assert await Deduplication(consolidator(only))(ALICE) == 0


@settings(max_examples=25, deadline=None)
@given(data=st.data())
async def test_merge_then_unmerge_gives_equal_states(data: st.DataObject):
    world = new_world()
    for _ in range(data.draw(st.integers(3, 8))):
        await say_all(
            world,
            [data.draw(st.sampled_from([*SAME, *CHINESE, *DIFFERENT]))],
            tags=tuple(data.draw(st.lists(st.sampled_from("abc"), unique=True))),
            source=data.draw(st.sampled_from([Source.EXPLICIT, Source.INFERRED])),
            pinned=data.draw(st.booleans()),
            importance=data.draw(st.floats(0, 1)),
        )
    before = {i: what_it_is(h) for i, h in (await heads(world)).items()}
    steps = step(world)
    await steps(ALICE)
    made = [h for i, h in (await heads(world)).items() if i not in before]
    for head in made:
        result = await Unmerge(world.changes)(ALICE, UnmergeCommand(memory_id=head.id), KEY)
        assert result.memory is not None
        assert result.memory.current.status is Status.RETRACTED
    after = await heads(world)
    assert {i: what_it_is(after[i]) for i in before} == before
    assert await steps(ALICE) == 0  # what was taken apart stays apart


async def test_unmerging_keeps_what_was_said_since_and_what_was_replaced(world: World):
    ids = await say_all(world, SAME)
    await step(world)(ALICE)
    one = await merged(world)
    again = await world.say(one.current.text, topic="tea")
    assert again.memory is not None
    assert again.memory.current.support == 5
    await Unmerge(world.changes)(ALICE, UnmergeCommand(memory_id=one.id), KEY)
    after = await heads(world)
    assert sum(after[i].current.support for i in ids) == 5
    assert all(after[i].current.status is Status.ACTIVE for i in ids)
    with pytest.raises(FailedPrecondition):
        await Unmerge(world.changes)(ALICE, UnmergeCommand(memory_id=one.id), KEY)
    with pytest.raises(FailedPrecondition):
        await Unmerge(world.changes)(ALICE, UnmergeCommand(memory_id=ids[0]), KEY)


async def test_a_corrected_merge_is_not_taken_apart(world: World):
    await say_all(world, SAME)
    await step(world)(ALICE)
    one = await merged(world)
    await world.correct(ALICE, CorrectCommand(memory_id=one.id, statement=Statement(text="I like white tea")), KEY)
    with pytest.raises(FailedPrecondition):
        await Unmerge(world.changes)(ALICE, UnmergeCommand(memory_id=one.id), KEY)


async def test_forgetting_a_merge_forgets_what_it_absorbed(world: World):
    ids = await say_all(world, SAME)
    await step(world)(ALICE)
    one = await merged(world)
    result = await world.forget(ALICE, ForgetCommand(ids=(one.id,)), KEY)
    assert set(result.ids) == {one.id, *ids}
    assert await heads(world) == {}


async def test_forgetting_one_source_takes_what_it_contributed_and_leaves_the_rest(world: World):
    ids = await say_all(world, SAME)
    before = await heads(world)
    await step(world)(ALICE)
    one = await merged(world)
    result = await world.forget(ALICE, ForgetCommand(ids=(ids[0],)), KEY)
    assert set(result.ids) == {one.id, ids[0]}
    after = await heads(world)
    assert {i: what_it_is(h) for i, h in after.items()} == {i: what_it_is(before[i]) for i in ids[1:]}
    assert await step(world)(ALICE) == 3
    assert (await merged(world)).current.support == 3


async def test_revoking_a_writer_takes_its_part_out_of_a_merge(world: World):
    since = world.clock.now()
    await say_all(world, SAME[:3])
    ids = await say_all(world, SAME[3:], meta=ChangeMeta(actor="key", device="stolen"))
    await step(world)(ALICE)
    await Revoke(world.changes)(ALICE, RevokeCommand(device="stolen", since=since), KEY)
    after = await heads(world)
    assert after[ids[0]].current.status is Status.RETRACTED
    standing = [h for h in after.values() if h.current.status is Status.ACTIVE]
    assert sorted(h.current.text for h in standing) == sorted(SAME[:3])


async def test_a_writer_that_had_not_seen_all_sources_replaces_only_what_it_had_seen(world: World):
    """The merge holds the statements of its sources one by one, so a late change takes away those it had seen."""
    for number, text in enumerate(SAME, start=1):
        await say_all(world, [text], meta=device(f"d{number}"))
    await step(world)(ALICE)
    one = await merged(world)
    await world.correct(
        ALICE,
        CorrectCommand(memory_id=one.id, statement=Statement(text="I like white tea"), reason="late"),
        device("late", seen={"d1": 1, "d2": 1}),
    )
    after = await world.store.get(ALICE, one.id)
    assert after is not None
    texts = {h.current.text for h in (await heads(world)).values() if h.current.status is not Status.SUPERSEDED}
    assert "I like white tea" in texts
    assert one.current.text in texts


class Interrupted(Exception):
    pass


async def test_a_run_that_is_killed_leaves_whole_merges_and_the_next_one_goes_on(world: World):
    for topic in ("one", "two", "three"):
        await say_all(world, [f"{text} {topic}" for text in SAME], topic=topic)
    consolidation = step(world)
    told = world.snapshots.committed
    commits = []

    def dies(owner: object, revision: object) -> None:
        commits.append(revision)
        raise Interrupted

    world.snapshots.committed = dies  # type: ignore[method-assign]
    with pytest.raises(Interrupted):
        await consolidation(ALICE)
    world.snapshots.committed = told  # type: ignore[method-assign]
    assert len((await world.store.search_rows(ALICE, world.embedder.model.id)).rows) == 9
    assert await consolidation(ALICE) == 8
    assert len((await world.store.search_rows(ALICE, world.embedder.model.id)).rows) == 3


async def test_a_member_that_changed_meanwhile_is_not_merged(world: World):
    ids = await say_all(world, SAME)

    class Slow:
        async def merge_text(self, texts: Sequence[str], language: str) -> str | None:
            await world.say(SAME[0], topic="tea")
            return None

    assert await step(world, summarizer=Slow())(ALICE) == 0
    assert {h.current.status for h in (await heads(world)).values()} == {Status.ACTIVE}
    assert await step(world)(ALICE) == len(ids)


@pytest.mark.parametrize(
    ("made", "taken"),
    [
        ("I really also like the green tea", True),
        ("I like green tea and 3 cats", False),
        ("Bob likes green tea", False),
        ("I like green tea " * 20, False),
        ("", False),
    ],
)
async def test_a_models_wording_is_taken_only_if_it_says_no_more(world: World, made: str, taken: bool):
    class Model:
        async def merge_text(self, texts: Sequence[str], language: str) -> str | None:
            return made

    await say_all(world, SAME)
    assert await step(world, summarizer=Model())(ALICE) == 4
    assert ((await merged(world)).current.text == made) is taken


async def test_a_run_is_bounded(world: World):
    for topic in ("one", "two", "three"):
        await say_all(world, [f"{text} {topic}" for text in SAME], topic=topic)
    bounded = step(world, settings=ConsolidationSettings(merges_max=2))
    assert [await bounded(ALICE), await bounded(ALICE), await bounded(ALICE)] == [8, 4, 0]


async def test_what_was_only_inferred_is_observed_first(world: World):
    await say_all(world, SAME, source=Source.INFERRED)
    assert await step(world)(ALICE) == 0
    await say_all(world, ["I really also like green tea"])
    assert await step(world)(ALICE) == 5
    assert (await merged(world)).current.tier is Tier.LONG_TERM


async def test_a_revocation_that_is_taken_back_leaves_nothing_that_a_forget_misses(world: World):
    since = world.clock.now()
    ids = await say_all(world, SAME[:3])
    ids += await say_all(world, SAME[3:], meta=ChangeMeta(actor="key", device="stolen"))
    await step(world)(ALICE)
    one = await merged(world)
    revoked = await Revoke(world.changes)(ALICE, RevokeCommand(device="stolen", since=since), KEY)
    await Revoke(world.changes)(ALICE, RevokeCommand(undo=revoked.revision), KEY)
    assert (await merged(world)).id == one.id
    result = await world.forget(ALICE, ForgetCommand(ids=(one.id,)), KEY)
    assert set(result.ids) == {one.id, *ids}
