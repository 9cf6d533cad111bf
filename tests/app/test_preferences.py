"""Thirty free wordings of one preference, from the first statement to the merge and back; on both stores (E9)."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest

from memory_service.app.commands import UnmergeCommand
from memory_service.app.consolidation import Consolidation, Consolidator, Deduplication
from memory_service.app.unmerge import Unmerge
from memory_service.domain.ids import MemoryId
from memory_service.domain.memory import Kind, MemoryHead, Relation, Status
from memory_service.domain.records import MemoryFilter
from memory_service.domain.relations.preference import preference
from tests.app.harness import ALICE, World, device
from tests.app.test_consolidation import KEY, what_it_is
from tests.conftest import NewDatabase
from tests.postgres.fixtures import postgres_backend

FILE = Path(__file__).parents[1] / "evolution" / "preferences.jsonl"
LISTS = {one["id"]: one["wordings"] for one in map(json.loads, FILE.read_text("utf-8").splitlines())}
LIKED = [LISTS["en-like-green-tea"][:30], LISTS["zh-like-hiking"][:30]]
APART = {
    0: [
        "I don't like green tea without sugar",
        "My sister likes green tea",
        "I used to like green tea",
        "I like tea",
    ],
    1: ["我不喜欢晚上爬山", "我妹妹喜欢爬山", "我以前喜欢爬山", "我喜欢爬楼"],
}
OPPOSITE = {0: "Green tea is not my cup of tea", 1: "爬山不是我的菜"}


@pytest.fixture(params=["inmemory", "postgres"])
async def world(request: pytest.FixtureRequest, new_database: NewDatabase) -> AsyncIterator[World]:
    if request.param == "inmemory":
        yield World()
        return
    async with new_database() as dsn, postgres_backend(dsn) as backend:
        yield World(store=backend.memories)


async def plainly(world: World, texts: list[str], *, unseen: bool) -> list[MemoryId]:
    """Each said as a plain statement, hours apart; `unseen` by devices that had not seen the others."""
    ids = []
    for text in texts:
        world.clock.advance(timedelta(hours=1))
        meta = device(f"d {text}", seen={}) if unseen else None
        result = await (world.say(text, meta=meta) if meta else world.say(text))
        assert result.memory is not None
        ids.append(result.memory.id)
    return ids


async def standing(world: World) -> list[MemoryHead]:
    where = MemoryFilter(statuses=frozenset({Status.ACTIVE}))
    return list((await world.store.list(ALICE, where, limit=100)).heads)


@pytest.mark.parametrize("language", [0, 1])
async def test_thirty_wordings_said_one_after_another_are_one_memory_at_once(world: World, language: int) -> None:
    ids = await plainly(world, LIKED[language], unseen=False)
    assert len(set(ids)) == 1
    (one,) = await standing(world)
    assert one.current.support == 30
    assert one.current.kind is Kind.PREFERENCE
    assert len({assertion.dot for assertion in one.current.evidence}) == 30


@pytest.mark.parametrize("daily", [True, False])
@pytest.mark.parametrize("language", [0, 1])
async def test_thirty_wordings_of_thirty_devices_are_merged_and_taken_apart(
    world: World, language: int, daily: bool
) -> None:
    ids = await plainly(world, LIKED[language], unseen=True)
    others = await plainly(world, APART[language], unseen=True)
    assert len(set(ids)) == 30
    before = {head.id: what_it_is(head) for head in await standing(world)}
    step = Consolidation(Consolidator(world.changes)) if daily else Deduplication(Consolidator(world.changes))
    assert await step(ALICE) == 30
    one, *left = sorted(await standing(world), key=lambda head: -head.current.support)
    assert {head.id for head in left} <= set(others)
    assert one.current.support == 30
    assert one.current.text in LIKED[language]
    for memory_id in ids:
        past = await world.reading.history(ALICE, memory_id)
        assert past.versions[-1].status is Status.SUPERSEDED
        assert [(link.relation, link.to_id) for link in past.links] == [(Relation.MERGED_INTO, one.id)]
    assert await step(ALICE) == 0
    await Unmerge(world.changes)(ALICE, UnmergeCommand(memory_id=one.id), KEY)
    assert {head.id: what_it_is(head) for head in await standing(world)} == before
    assert await step(ALICE) == 0


@pytest.mark.parametrize("language", [0, 1])
async def test_the_opposite_is_a_conflict_and_no_more_support(world: World, language: int) -> None:
    (liked,) = set(await plainly(world, LIKED[language][:3], unseen=False))
    (other,) = await plainly(world, [OPPOSITE[language]], unseen=False)
    assert other != liked
    for step in (Consolidation(Consolidator(world.changes)), Deduplication(Consolidator(world.changes))):
        assert await step(ALICE) == 0
    for memory_id, text in ((liked, LIKED[language][0]), (other, OPPOSITE[language])):
        head = await world.get(memory_id)
        assert head.current.text == text
        assert head.current.disputed
        assert head.current.status is Status.CONTESTED


@pytest.mark.parametrize("daily", [True, False])
async def test_opposites_of_two_devices_are_never_merged(world: World, daily: bool) -> None:
    texts = [text for language in (0, 1) for text in (*LIKED[language][:4], OPPOSITE[language])]
    await plainly(world, texts, unseen=True)
    step = Consolidation(Consolidator(world.changes)) if daily else Deduplication(Consolidator(world.changes))
    assert await step(ALICE) == 8
    assert sorted(head.current.support for head in await standing(world)) == [1, 1, 4, 4]


async def test_wordings_of_one_preference_are_of_one_topic_and_kind(world: World) -> None:
    for wordings in LIKED:
        found = [await world.get(memory_id) for memory_id in await plainly(world, wordings, unseen=True)]
        assert {(head.current.topic, head.current.kind) for head in found} == {
            (found[0].current.topic, Kind.PREFERENCE)
        }


async def test_turns_of_a_conversation_are_records_and_stay_apart(world: World) -> None:
    for number, text in enumerate(LIKED[0][:4]):
        await world.say(text, meta=device(f"d{number}", seen={}), session="s", process="conversation")
    assert preference(LIKED[0][0]) == preference(LIKED[0][3])
    assert await Deduplication(Consolidator(world.changes))(ALICE) == 0
