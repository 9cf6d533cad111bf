"""What the judge of wording merges, and what becomes of the words that memories are searched by (P11, F5, F8, E9)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from memory_service.app.commands import ChangeMeta, UnmergeCommand
from memory_service.app.consolidation import Consolidator, Deduplication
from memory_service.app.fragmenting import WORDINGS_MAX
from memory_service.app.unmerge import Unmerge
from memory_service.app.workspace import Workspace
from memory_service.domain.ids import MemoryId, OwnerKey, TenantId, UserId
from memory_service.domain.memory import Kind, MemoryHead, Relation, Status
from memory_service.domain.records import JournalEvent, MemoryFilter
from tests.app.harness import ALICE, World, device

PAIRS = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "evolution" / "pairs_own.jsonl").read_text("utf-8").splitlines()
]
KEY = ChangeMeta(actor="key")
TEA, TOO, CHINESE = "I like green tea", "I really love green tea", "绿茶我喜欢喝"


def deduplication(world: World) -> Deduplication:
    return Deduplication(Consolidator(world.changes))


async def apart(world: World, *texts: str, owner: OwnerKey = ALICE, kind: Kind | None = None) -> list[MemoryId]:
    """Each as a memory of its own: their writers name what they had seen, so that none is joined as it is written."""
    found = []
    for text in texts:
        world.clock.advance(timedelta(hours=1))
        result = await world.say(text, owner, device(f"d {text}", seen={}), kind=kind)
        assert result.memory is not None
        found.append(result.memory.id)
    return found


async def standing(world: World, owner: OwnerKey = ALICE) -> list[MemoryHead]:
    where = MemoryFilter(statuses=frozenset({Status.ACTIVE}))
    return list((await world.store.list(owner, where, limit=100)).heads)


async def words(world: World, memory_id: MemoryId) -> list[str]:
    """What a memory is searched by."""
    head = await world.get(memory_id)
    async with world.store.change(ALICE) as change:
        pieces = await change.fragments(memory_id, head.current.content_version)
    return list(dict.fromkeys(piece.text for piece in pieces))


async def lend(world: World, old: MemoryId, new: MemoryId) -> None:
    """`new` takes the place of `old` and is searched by its words too, as a correction by wording is."""
    async with world.store.change(ALICE) as change:
        ws = Workspace.of(change, world.ids, ALICE)
        ws.adopt(await change.heads([old, new]))
        by = await world.changes.author(ws, KEY)
        ws.advance(by, "test")
        before = ws.heads[old]
        after = ws.revise(before, by, "corrected", status=Status.SUPERSEDED)
        world.changes.settling(ws).note(JournalEvent.SUPERSEDED, before, after, by, "corrected")
        ws.link(new, Relation.SUPERSEDES, old)
        pieces = await change.fragments(old, 1)
        ws.reword([replace(piece, memory_id=new, ordinal=1) for piece in pieces])
        await world.changes.apply(ws, by)


async def merge(world: World) -> MemoryId:
    """The memory that the step makes of all there are."""
    assert await deduplication(world)(ALICE)
    (one,) = await standing(world)
    return one.id


async def test_no_pair_is_merged_that_says_two_things() -> None:
    world = World()
    for number, pair in enumerate(PAIRS):
        owner = OwnerKey(TenantId("t"), UserId(str(number)))
        await apart(world, pair["a"], pair["b"], owner=owner)
        count = await deduplication(world)(owner)
        assert not count or pair["label"] == "paraphrase", pair


async def test_thirty_wordings_become_one_and_two_facts_stay_two() -> None:
    world = World()
    fillers = ["", "really ", "very ", "just ", "truly "]
    verbs, articles = ("like", "love", "enjoy"), ("", "the ")
    wordings = [
        f"I {filler}{verb} {article}green tea" for filler in fillers for verb in verbs for article in articles
    ]
    others = ["I like black tea", "My sister likes green tea", "I do not like green tea"]
    await apart(world, *wordings, *others, kind=Kind.PREFERENCE)
    assert await deduplication(world)(ALICE) == 30
    left = {head.current.text: head.current.support for head in await standing(world)}
    assert {text for text, support in left.items() if support == 1} == set(others)
    (one,) = [head for head in await standing(world) if head.current.support == 30]
    assert len(await words(world, one.id)) == WORDINGS_MAX


async def test_a_merge_is_found_by_all_words_and_its_sources_keep_theirs() -> None:
    world = World()
    ids = await apart(world, TEA, TOO)
    before = [await words(world, i) for i in ids]
    one = await merge(world)
    assert set(await words(world, one)) == {TEA, TOO}
    await Unmerge(world.changes)(ALICE, UnmergeCommand(memory_id=one), KEY)
    assert [await words(world, i) for i in ids] == before


async def test_what_a_merge_was_called_since_is_not_lost_with_it() -> None:
    world = World()
    ids = await apart(world, TEA, TOO)
    one = await merge(world)
    again = await world.say("I truly enjoy the green tea")
    assert again.memory is not None
    assert again.memory.id == one
    assert "I truly enjoy the green tea" in await words(world, one)
    await Unmerge(world.changes)(ALICE, UnmergeCommand(memory_id=one), KEY)
    assert sorted([*await words(world, ids[0]), *await words(world, ids[1])]) == sorted(
        [TEA, TOO, "I truly enjoy the green tea"]
    )


async def test_forgetting_one_source_leaves_the_words_of_the_others() -> None:
    world = World()
    ids = await apart(world, TEA, TOO)
    one = await merge(world)
    result = await world.erase(ids[0])
    assert set(result.ids) == {ids[0], one}
    assert await words(world, ids[1]) == [TOO]
    # What stays is no forgotten claim: it may be said again, whoever says it.
    (again,) = await apart(world, TOO)
    assert again == ids[1]
    assert await texts_of(world) == [TOO]


async def texts_of(world: World) -> Sequence[str]:
    return sorted(head.current.text for head in await standing(world))


async def test_words_of_a_replaced_memory_are_forgotten_in_a_merge_too() -> None:
    world = World()
    old, new, same = await apart(world, "The beverage of mornings", TEA, TOO)
    await lend(world, old, new)
    assert "The beverage of mornings" in await words(world, new)
    one = await merge(world)
    assert set(await words(world, one)) == {TEA, TOO, "The beverage of mornings"}
    result = await world.erase(old)
    assert set(result.ids) == {old}
    for memory_id in (one, new, same):
        assert "The beverage of mornings" not in await words(world, memory_id)
    assert set(await words(world, one)) == {TEA, TOO}
    await Unmerge(world.changes)(ALICE, UnmergeCommand(memory_id=one), KEY)
    assert (await words(world, new), await words(world, same)) == ([TEA], [TOO])


async def test_what_replaces_a_merge_loses_its_words_with_any_source() -> None:
    world = World()
    ids = await apart(world, TEA, TOO)
    one = await merge(world)
    (new,) = await apart(world, CHINESE)
    await lend(world, one, new)
    assert set(await words(world, new)) > {CHINESE}
    await world.erase(one)
    assert await words(world, new) == [CHINESE]
    assert [head.id for head in await standing(world)] == [new]
    assert not await world.store.get(ALICE, ids[0])
