"""Plain statements meet by their wording: updated, repeated, taken back, disputed, decided."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from memory_service.app.commands import BatchItem, ChangeResult, Effect, Statement
from memory_service.domain.memory import MemoryHead, Source, Status, Visibility
from memory_service.domain.parameters import Parameters
from tests.app.harness import ALICE, BOB, World, device

MOVES = [
    ("My gym is Ironside.", "I've switched gyms from Ironside to Pulse."),
    ("I work as a nurse at Elm Hospital.", "I no longer work at Elm Hospital, I've moved to Birch Clinic."),
    ("The staging server runs on port 8080.", "We moved the staging server off 8080, it listens on 9090 now."),
    ("我的默认浏览器是火狐。", "我的默认浏览器换成Edge了。"),
    ("我在支付组上班。", "我从今天起不在支付组上班了，调到风控组。"),
    ("我家的猫吃三文鱼猫粮。", "我家的猫换成鸭肉猫粮了，不吃三文鱼的了。"),
]
TAKEN_BACK = [
    ("The choir concert is on April 14th.", "Correction, it's the 15th of April."),
    ("I'm flying to Portland for the boat show.", "No, I meant Portland, Maine, not the Oregon one."),
    ("我女儿的生日是6月8号。", "上次说错了，我女儿的生日是6月18号。"),
    ("我要去杭州站接人。", "不是，我是说杭州东站。"),
]
APART = [
    ("My left knee hurts on stairs.", "My right shoulder hurts at night."),
    ("The Fennel repo wraps at 88 columns.", "The Sorrel repo wraps at 120 columns."),
    ("I play the cello.", "I also play the banjo."),
    ("爷爷有高血压，要少吃盐。", "外公有糖尿病，要少吃糖。"),
    ("蓝鲸项目4月10号上线。", "白鲸项目4月24号上线。"),
]
GUESSES = [
    (
        "The Hollins grant is due on June 12th.",
        "The Hollins grant is due on June 19th.",
        "Hollins closes on the 12th of June.",
    ),
    ("用户的儿子上小学三年级。", "用户的儿子上小学五年级。", "我儿子上小学五年级了。"),
]


async def head_of(world: World, result: ChangeResult) -> MemoryHead:
    assert result.memory is not None
    head = await world.store.get(ALICE, result.memory.id)
    assert head is not None
    return head


async def told(world: World, text: str, **given: Any) -> ChangeResult:
    world.clock.advance(timedelta(days=2))
    return await world.say(text, **given)


@pytest.mark.parametrize(("before", "after"), MOVES)
async def test_what_says_that_something_changed_takes_the_old_values_place(before: str, after: str) -> None:
    world = World()
    old, new = await told(world, before), await told(world, after)
    assert new.effect is Effect.CREATED
    assert [item.effect for item in new.affected] == [Effect.SUPERSEDED]
    gone = (await head_of(world, old)).current
    assert gone.status is Status.SUPERSEDED
    assert gone.valid_to is not None
    assert timedelta() <= world.clock.now() - gone.valid_to < timedelta(days=1)
    assert await world.current() == [after]


@pytest.mark.parametrize(("before", "after"), MOVES)
async def test_even_one_recalled_often_gives_way_to_who_says_it_changed(before: str, after: str) -> None:
    """E4 protects what was accessed more than five times from all but an explicit correction, which this is."""
    world = World()
    old = await told(world, before)
    assert old.memory is not None
    await world.store.record_access(ALICE, {old.memory.id: (9, world.clock.now())})
    await told(world, after)
    assert (await head_of(world, old)).current.status is Status.SUPERSEDED


@pytest.mark.parametrize(("before", "after"), MOVES)
async def test_a_writer_that_names_its_context_replaces_nothing_by_wording(before: str, after: str) -> None:
    """Wording cannot order concurrent statements, so devices keep both."""
    world = World()
    await world.say(before, meta=device("phone", 1, {}))
    await world.say(after, meta=device("laptop", 1, {"phone": 1}))
    assert len(await world.current()) == 2


@pytest.mark.parametrize(("before", "after"), TAKEN_BACK)
async def test_a_correction_is_of_what_was_said_and_lends_it_its_words(before: str, after: str) -> None:
    world = World()
    old = await told(world, before, session="s")
    new = await world.say(after, session="s")
    assert (await head_of(world, old)).current.status is Status.RETRACTED, "it was never true"
    assert await world.current() == [after]
    assert new.memory is not None
    async with world.store.change(ALICE) as change:
        assert [piece.text for piece in await change.fragments(new.memory.id, 1)] == [after, before]


@pytest.mark.parametrize(("before", "after"), TAKEN_BACK)
async def test_forgetting_what_was_corrected_takes_its_words_from_the_correction(before: str, after: str) -> None:
    world = World()
    old = await told(world, before, session="s")
    new = await world.say(after, session="s")
    assert old.memory is not None
    assert new.memory is not None
    await world.erase(old.memory.id)
    async with world.store.change(ALICE) as change:
        assert [piece.text for piece in await change.fragments(new.memory.id, 1)] == [after]


@pytest.mark.parametrize(("one", "other"), APART)
async def test_two_facts_alike_in_wording_are_both_kept(one: str, other: str) -> None:
    world = World()
    await told(world, one)
    result = await told(world, other)
    assert (result.effect, list(result.affected)) == (Effect.CREATED, [])
    assert await world.current() == sorted([one, other])


@pytest.mark.parametrize(("one", "other", "evidence"), GUESSES)
async def test_two_guesses_are_disputed_until_somebody_tells(one: str, other: str, evidence: str) -> None:
    world = World()
    first = await told(world, one, source=Source.INFERRED)
    second = await told(world, other, source=Source.INFERRED)
    assert second.effect is Effect.CONTESTED
    assert {(await head_of(world, r)).current.status for r in (first, second)} == {Status.CONTESTED}
    await told(world, evidence)
    wrong = first if "五年级" in evidence else second
    right = second if wrong is first else first
    assert (await head_of(world, wrong)).current.status is Status.RETRACTED
    assert (await head_of(world, right)).current.status is Status.ACTIVE


@pytest.mark.parametrize("texts", [("I like jazz.", "I love jazz."), ("我喜欢爵士乐。", "我很喜欢爵士乐。")])
async def test_the_same_in_other_words_is_one_memory_found_by_both(texts: tuple[str, str]) -> None:
    world = World()
    first, second = [await told(world, text) for text in texts]
    assert second.effect is Effect.SUPPORTED
    head = await head_of(world, first)
    assert (head.current.text, head.current.support) == (texts[0], 2)
    async with world.store.change(ALICE) as change:
        assert [piece.text for piece in await change.fragments(head.id, 1)] == list(texts)


async def test_statements_of_one_batch_meet_like_any_others_and_no_two_share_a_place() -> None:
    world = World()
    texts = ["I like jazz.", "I love jazz.", "I really like jazz.", "I love jazz a lot.", "I play chess on Sundays."]
    items = [BatchItem(statement=Statement(text=text)) for text in texts]
    results = await world.write.batch(ALICE, items, actor="key", context=None)
    assert [r.effect for r in results if isinstance(r, ChangeResult)][:2] == [Effect.CREATED, Effect.SUPPORTED]
    for number in range(12):
        await world.say(f"I {'really ' * number}love jazz, as I said {number} times.")
    for row in (await world.store.search_rows(ALICE, world.embedder.model.id)).rows:
        ordinals = [fragment.ordinal for fragment in row.fragments]
        assert len(ordinals) == len(set(ordinals)) <= 9


async def test_another_users_and_another_agents_memories_are_never_met() -> None:
    world = World()
    await world.say("My gym is Ironside.", owner=BOB)
    await world.say("My gym is Ironside.", agent="coach", visibility=Visibility.PRIVATE)
    result = await world.say("I've switched gyms from Ironside to Pulse.")
    assert list(result.affected) == []


async def test_what_was_forgotten_does_not_come_back_in_other_words() -> None:
    world = World()
    told_once = await told(world, "My therapist is Dr Okafor, we meet on Mondays.")
    assert told_once.memory is not None
    await world.erase(told_once.memory.id)
    again = await told(world, "The user meets therapist Dr Okafor every Monday.", source=Source.INFERRED)
    assert (again.effect, again.memory) == (Effect.SUPPRESSED, None)
    other = await told(world, "The user plays football on Mondays.", source=Source.INFERRED)
    assert other.effect is Effect.CREATED
    anew = await told(world, "I meet my therapist Dr Okafor on Mondays.")
    assert anew.effect is Effect.CREATED, "what the user says anew counts"


async def test_forgetting_a_memory_stops_every_wording_it_had() -> None:
    world = World()
    first = await told(world, "I like jazz.")
    await told(world, "I love jazz.")
    assert first.memory is not None
    await world.erase(first.memory.id)
    for text in ("I like jazz.", "I love jazz."):
        assert (await told(world, text, source=Source.DERIVED)).effect is Effect.SUPPRESSED


async def test_turns_of_a_conversation_replace_nothing() -> None:
    world = World()
    await world.say("My gym is Ironside.", session="s", process="conversation")
    result = await world.say("I've switched gyms from Ironside to Pulse.", session="s", process="conversation")
    assert list(result.affected) == []


@pytest.mark.parametrize(("left", "expected"), [(1.0, 0.95), (0.3, 0.285)])
async def test_what_a_newer_statement_restates_in_more_detail_keeps_the_weight_the_policy_says(
    left: float, expected: float
) -> None:
    """S8 as a policy: off by default, 0.3 as it is told there."""
    world = World(parameters=replace(Parameters(), restated_confidence=left))
    plain = await told(world, "I like jazz.")
    await told(world, "I like jazz, above all slow piano trios from the sixties.")
    head = await head_of(world, plain)
    assert head.current.status is Status.ACTIVE
    assert head.current.confidence == pytest.approx(expected)
    assert len(await world.current()) == 2
