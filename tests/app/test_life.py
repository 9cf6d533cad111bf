"""A memory's life through upkeep: archived, promoted, judged again, capped; and back (E3, E5, E6, E15, C10, C11)."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from memory_service.app.commands import (
    BatchItem,
    ChangeMeta,
    ChangeResult,
    CorrectCommand,
    Effect,
    RevokeCommand,
    Statement,
)
from memory_service.app.feedback import Outcome
from memory_service.app.own_change import ACTOR
from memory_service.app.revoke import Revoke
from memory_service.domain.errors import InvalidInput, Reason
from memory_service.domain.ids import MemoryId
from memory_service.domain.memory import Assertion, Kind, MemoryHead, Source, Status, Tier
from memory_service.domain.parameters import Parameters
from memory_service.domain.records import JournalEvent, MemoryFilter
from tests.app.harness import ALICE, START, World, device
from tests.causality.histories import vocabulary

_DAY = timedelta(days=1)
_E = JournalEvent


def _id(result: ChangeResult) -> MemoryId:
    assert result.memory
    return result.memory.id


async def _all(world: World) -> list[MemoryHead]:
    return list((await world.store.list(ALICE, MemoryFilter(), limit=500)).heads)


# Decay ----------------------------------------------------------------------------------------------------------


async def test_what_fades_is_archived_as_it_is_and_says_why() -> None:
    world = World()
    faded = _id(await world.say("The server room is being repainted", kind=Kind.CONTEXT))
    kept = _id(await world.state("allergy", "peanuts"))
    pinned = _id(await world.say("We are in a hotel this week", kind=Kind.CONTEXT, pinned=True))
    before = await world.get(faded)
    world.clock.advance(6 * _DAY)
    assert await world.upkeep.run(ALICE, "decay_long_term") == {"decay_long_term": 0}
    assert await world.upkeep.run(ALICE, "decay_short_term") == {"decay_short_term": 1}
    after = await world.get(faded)
    assert (after.current.tier, after.current.status) == (Tier.ARCHIVE, Status.ACTIVE)
    assert (after.current.text, after.current.content_version) == (
        before.current.text,
        before.current.content_version,
    )
    assert (after.current.evidence, after.current.dot) == (before.current.evidence, before.current.dot)
    entry = (await world.store.journal(ALICE, faded))[-1]
    assert (entry.event, entry.actor, entry.device) == (_E.ARCHIVED, ACTOR, "~server")
    assert entry.reason == "strength 0.050 is below 0.05"
    assert entry.details["archive_strength_min"] == 0.05
    assert (entry.details["tier_before"], entry.details["tier_after"]) == ("long_term", "archive")
    assert (entry.details["support"], entry.details["tau_days"]) == (1, 2.0)
    async with world.store.change(ALICE) as change:
        assert len(await change.fragments(faded, 1)) == 1
    world.clock.advance(2_000 * _DAY)
    assert sum((await world.upkeep.run(ALICE)).values()) == 0
    for memory_id in (kept, pinned):
        assert (await world.get(memory_id)).current.tier is Tier.LONG_TERM
    assert faded not in {row.head.id for row in (await world.store.search_rows(ALICE, "any")).rows}


async def test_a_step_that_finds_nothing_makes_no_revision_and_knows_no_unknown_owner() -> None:
    world = World()
    assert sum((await world.upkeep.run(ALICE)).values()) == 0
    assert (await world.store.state(ALICE)).revision == 0
    await world.say("I like green tea")
    before = await world.store.state(ALICE)
    assert sum((await world.upkeep.run(ALICE)).values()) == 0
    assert await world.store.state(ALICE) == before


async def test_an_event_is_archived_when_its_window_is_over() -> None:
    world = World()
    wish = _id(await world.say("今晚想吃火锅", kind=Kind.TEMPORARY_PREFERENCE, expires_at=START + _DAY))
    world.clock.advance(_DAY - timedelta(seconds=1))
    assert sum((await world.upkeep.run(ALICE)).values()) == 0
    world.clock.advance(timedelta(seconds=1))
    assert sum((await world.upkeep.run(ALICE)).values()) == 1
    assert (await world.store.journal(ALICE, wish))[-1].reason == "its time is over"


async def test_use_keeps_a_memory_and_a_late_access_saves_it() -> None:
    world = World()
    used, unused = _id(await world.say("I prefer tea to coffee")), _id(await world.say("I prefer trains to planes"))
    for _ in range(6):
        world.clock.advance(60 * _DAY)
        await world.used(used)
        await world.upkeep.run(ALICE)
    assert (await world.get(used)).current.tier is Tier.LONG_TERM
    assert (await world.get(unused)).current.tier is Tier.ARCHIVE


async def test_a_clock_that_goes_back_archives_nothing_and_no_recorded_time_decreases() -> None:
    world = World()
    memory_id = _id(await world.say("Our stand-up is at nine", kind=Kind.TASK))
    world.clock._now -= 400 * _DAY
    assert sum((await world.upkeep.run(ALICE)).values()) == 0
    await world.say("Our stand-up is at nine", kind=Kind.TASK)
    await world.judge(Outcome.ADOPTED, memory_id)
    versions = await world.store.history(ALICE, memory_id)
    assert [v.recorded_at for v in versions] == [START, START]
    usage = (await world.get(memory_id)).usage
    assert usage.last_confirmed_at == START
    world.clock._now += 500 * _DAY
    assert sum((await world.upkeep.run(ALICE)).values()) == 1


# E15 ------------------------------------------------------------------------------------------------------------


async def test_an_archived_memory_that_is_mentioned_again_is_back_with_less_confidence_and_full_strength() -> None:
    world = World()
    memory_id = _id(await world.say("我喜欢吃辣"))
    world.clock.advance(200 * _DAY)
    await world.upkeep.run(ALICE)
    again = await world.say("我喜欢吃辣")
    assert (again.effect, _id(again)) == (Effect.REACTIVATED, memory_id)
    head = await world.get(memory_id)
    assert (head.current.tier, head.current.status, head.current.support) == (Tier.LONG_TERM, Status.ACTIVE, 2)
    assert head.current.confidence == pytest.approx(0.95 * 0.8)
    assert world.changes.retention_of(ALICE).decay.strength(head, world.clock.now()) == 1.0
    entry = (await world.store.journal(ALICE, memory_id))[-1]
    assert (entry.event, entry.details["reactivation_discount"]) == (_E.REACTIVATED, 0.8)
    assert (entry.details["tier_before"], entry.details["tier_after"]) == ("archive", "long_term")
    assert await world.events(memory_id) == [_E.CREATED, _E.ARCHIVED, _E.REACTIVATED]


async def test_what_was_inferred_and_archived_is_observed_again_when_it_is_inferred_again() -> None:
    world = World()
    guess = _id(await world.say("Seems to like jazz", source=Source.INFERRED, session="s1"))
    world.clock.advance(91 * _DAY)
    assert (await world.upkeep.run(ALICE))["decay_long_term"] == 1
    assert (await world.store.journal(ALICE, guess))[-1].reason.startswith("inferred once, and not recalled")
    await world.say("Seems to like jazz", source=Source.INFERRED, session="s2")
    assert (await world.get(guess)).current.tier is Tier.CANDIDATE
    assert (await world.get(guess)).current.confidence == pytest.approx(0.4)
    world.clock.advance(91 * _DAY)
    await world.upkeep.run(ALICE)
    await world.say("Seems to like jazz")
    assert (await world.get(guess)).current.tier is Tier.LONG_TERM


async def test_a_value_held_back_outlives_time_and_speaks_when_the_other_goes() -> None:
    world = World()
    low = _id(await world.state("favorite", "green", confidence=0.6, meta=device("phone", 1, {})))
    high = _id(await world.state("favorite", "blue", confidence=0.9, meta=device("tablet", 1, {})))
    guess = _id(await world.state("favorite", "red", source=Source.INFERRED))
    assert {(await world.get(i)).current.status for i in (low, guess)} == {Status.YIELDED}
    world.clock.advance(200 * _DAY)
    await world.used(high)
    assert (await world.upkeep.run(ALICE))["decay_long_term"] == 1
    assert (await world.get(guess)).current.tier is Tier.ARCHIVE
    await world.erase(high)
    head = await world.get(low)
    assert (head.current.tier, head.current.status) == (Tier.LONG_TERM, Status.ACTIVE)


async def test_what_speaks_for_siblings_is_back_with_one_of_them() -> None:
    world = World(vocabulary=vocabulary())
    await world.state("p_union", ["mon", "tue"], meta=device("phone", 1, {}))
    await world.state("p_union", ["tue", "wed"], meta=device("tablet", 1, {}))
    world.clock.advance(200 * _DAY)
    assert (await world.upkeep.run(ALICE))["decay_long_term"] == 1
    assert await world.current() == []
    await world.state("p_union", ["mon", "tue"], meta=device("phone", 2, {"phone": 1}))
    (merged,) = [head for head in await _all(world) if head.current.merged]
    assert (merged.current.tier, merged.current.status) == (Tier.LONG_TERM, Status.ACTIVE)
    assert (await world.events(merged.id))[-1] is _E.REACTIVATED


async def test_what_the_service_did_can_be_undone_like_what_anybody_did() -> None:
    world = World()
    memory_id = _id(await world.say("Our stand-up is at nine", kind=Kind.TASK))
    world.clock.advance(60 * _DAY)
    since = world.clock.now()
    await world.upkeep.run(ALICE)
    assert (await world.get(memory_id)).current.tier is Tier.ARCHIVE
    revoke = Revoke(world.changes)
    done = await revoke(ALICE, RevokeCommand(actor=ACTOR, since=since), ChangeMeta(actor="key"))
    assert done.changes == 1
    assert (await world.get(memory_id)).current.tier is Tier.LONG_TERM
    assert await world.events(memory_id) == [_E.CREATED, _E.ARCHIVED, _E.ROLLED_BACK]


# Promotion ------------------------------------------------------------------------------------------------------


async def test_a_guess_is_promoted_by_three_conversations_and_not_by_one_thrice() -> None:
    world = World()
    for n in range(3):
        await world.say("Seems to like jazz", source=Source.INFERRED, session=f"s{n}")
        await world.say("Seems to own a dog", source=Source.INFERRED, session="s0")
        await world.say("Seems to be vegan", source=Source.INFERRED)
        assert (await world.upkeep.run(ALICE, "promotion"))["promotion"] == (1 if n == 2 else 0)
        tiers = {head.current.text: head.current.tier for head in await _all(world)}
        del tiers["Seems to like jazz"]
        assert set(tiers.values()) == {Tier.CANDIDATE}
    guess = next(head for head in await _all(world) if head.current.text == "Seems to like jazz")
    entry = (await world.store.journal(ALICE, guess.id))[-1]
    assert (await world.get(entry.memory_id)).current.tier is Tier.LONG_TERM
    assert (entry.event, entry.reason) == (_E.PROMOTED, "seen in 3 conversations")
    assert (entry.details["sessions"], entry.details["promotion_sessions"], entry.details["support"]) == (3, 3, 3)


async def test_said_outright_a_guess_is_promoted_at_once() -> None:
    world = World()
    guess = _id(await world.say("用户可能喜欢爵士乐", source=Source.INFERRED))
    assert (await world.get(guess)).current.tier is Tier.CANDIDATE
    await world.say("用户可能喜欢爵士乐", source=Source.DERIVED)
    assert (await world.get(guess)).current.tier is Tier.CANDIDATE
    assert (await world.say("用户可能喜欢爵士乐")).effect is Effect.SUPPORTED
    assert (await world.get(guess)).current.tier is Tier.LONG_TERM
    assert await world.events(guess) == [_E.CREATED, _E.SUPPORTED, _E.PROMOTED]


async def test_a_promoted_guess_disputes_what_it_was_held_back_by() -> None:
    world = World()
    stated = _id(await world.state("location", "Berlin"))
    guess = _id(await world.state("location", "Munich", source=Source.INFERRED, session="s0"))
    for n in range(1, 3):
        world.clock.advance(_DAY)
        await world.state("location", "Munich", source=Source.INFERRED, session=f"s{n}")
    assert (await world.get(guess)).current.status is Status.YIELDED
    assert (await world.get(stated)).current.status is Status.ACTIVE
    await world.upkeep.run(ALICE, "promotion")
    assert {(await world.get(i)).current.status for i in (guess, stated)} == {Status.CONTESTED}


# Disputes -------------------------------------------------------------------------------------------------------


async def _dispute(
    world: World, *, accesses: int = 3, old: float = 0.9, new: float = 0.9
) -> tuple[MemoryId, MemoryId]:
    first = _id(await world.state("location", "Berlin", confidence=old))
    await world.used(first, times=accesses)
    world.clock.advance(timedelta(minutes=1))
    second = await world.state("location", "Munich", confidence=new)
    assert second.effect is Effect.CONTESTED
    return first, _id(second)


async def test_a_dispute_is_judged_again_after_fourteen_days_and_the_side_in_use_wins() -> None:
    world = World()
    first, second = await _dispute(world)
    world.clock.advance(13 * _DAY)
    assert (await world.upkeep.run(ALICE))["contested"] == 0
    world.clock.advance(2 * _DAY)
    assert (await world.upkeep.run(ALICE))["contested"] > 0
    kept, gone = await world.get(first), await world.get(second)
    assert (kept.current.status, kept.current.disputed) == (Status.ACTIVE, False)
    assert gone.current.status is Status.RETRACTED
    entry = (await world.store.journal(ALICE, first))[-1]
    assert entry.event is _E.RESOLVED
    assert {"needed", "stubbornness", "replace_ratio", "stubborn_accesses", "support"} < set(entry.details)
    assert (await world.upkeep.run(ALICE))["contested"] == 0


async def test_a_newer_side_with_more_behind_it_takes_the_place_of_the_older() -> None:
    world = World(parameters=Parameters(replace_ratio=3.0))
    first, second = await _dispute(world)
    world.clock.advance(5 * _DAY)
    await world.state("location", "Munich")
    assert (await world.get(second)).current.status is Status.CONTESTED
    assert (await world.get(first)).current.status is Status.CONTESTED
    later = World(store=world.store, seed=8)
    later.clock.advance(20 * _DAY)
    assert (await later.upkeep.run(ALICE))["contested"] > 0
    gone, kept = await world.get(first), await world.get(second)
    assert (gone.current.status, kept.current.status) == (Status.SUPERSEDED, Status.ACTIVE)
    assert gone.current.valid_to == START + timedelta(minutes=1) == kept.current.valid_from
    assert {link.to_id for link in await world.store.links(ALICE, second) if link.relation == "supersedes"} == {first}


async def test_new_evidence_decides_a_dispute_at_once() -> None:
    """E5: the value said again weighs with all that stands behind it."""
    world = World()
    first, second = await _dispute(world)
    again = await world.state("location", "Munich")
    assert again.effect is Effect.SUPPORTED
    assert (await world.get(second)).current.status is Status.ACTIVE
    assert (await world.get(first)).current.status is Status.SUPERSEDED
    ruled = (await world.store.journal(ALICE, first))[-1]
    assert ruled.reason.startswith("judged again")


async def test_what_cannot_be_decided_is_put_off_and_at_last_archived_as_it_is() -> None:
    world = World()
    first, second = await _dispute(world, accesses=9)
    await world.used(second, times=9)
    for days in (15, 29, 43):
        world.clock.advance(START + days * _DAY - world.clock.now())
        assert (await world.upkeep.run(ALICE))["contested"] > 0
        assert (await world.upkeep.run(ALICE))["contested"] == 0
        await world.used(first, second)
    assert {(await world.get(i)).current.status for i in (first, second)} == {Status.CONTESTED}
    world.clock.advance(START + 91 * _DAY - world.clock.now())
    await world.upkeep.run(ALICE)
    for memory_id in (first, second):
        head = await world.get(memory_id)
        assert (head.current.tier, head.current.status) == (Tier.ARCHIVE, Status.CONTESTED)
        assert (await world.events(memory_id))[-1] is _E.ARCHIVED
    world.clock.advance(30 * _DAY)
    assert (await world.upkeep.run(ALICE))["contested"] == 0
    back = await world.state("location", "Munich", source=Source.EXPLICIT_CORRECTION)
    assert back.effect is Effect.REACTIVATED
    assert (await world.get(second)).current.status is Status.ACTIVE
    assert (await world.get(first)).current.status is Status.SUPERSEDED


async def test_concurrent_values_that_a_person_is_to_decide_are_not_decided_by_time() -> None:
    world = World()
    a = _id(await world.state("location", "Berlin", meta=device("phone", 1, {})))
    b = _id(await world.state("location", "Munich", meta=device("tablet", 1, {})))
    world.clock.advance(15 * _DAY)
    await world.used(a, times=3)
    assert (await world.upkeep.run(ALICE))["contested"] > 0
    assert {(await world.get(i)).current.status for i in (a, b)} == {Status.CONTESTED}


async def test_disputes_of_free_text_topics_are_judged_by_their_links() -> None:
    world = World()
    first = _id(await world.say("I take my coffee black", topic="coffee"))
    await world.used(first, times=9)
    other = await world.say("I take my coffee black.", topic="coffee", confidence=0.9)
    assert _id(other) == first  # the same claim: nothing to dispute
    rival = await world.correct(
        ALICE,
        _correction(first, "I take my coffee with milk"),
        device("phone", 1, {}),
    )
    assert rival.effect is Effect.CONTESTED
    world.clock.advance(15 * _DAY)
    assert (await world.upkeep.run(ALICE))["contested"] > 0
    assert (await world.get(first)).current.status in (Status.ACTIVE, Status.CONTESTED)


def _correction(memory_id: MemoryId, text: str) -> CorrectCommand:
    return CorrectCommand(memory_id=memory_id, statement=Statement(text=text))


# Cards ----------------------------------------------------------------------------------------------------------


async def test_the_weakest_cards_over_the_cap_are_archived() -> None:
    world = World(parameters=Parameters(cards_max=5))
    cards = [_id(await world.state("preference", f"tea number {n}")) for n in range(8)]
    pinned = _id(await world.state("dislike", "cilantro", pinned=True, confidence=0.1))
    lasting = _id(await world.state("allergy", "cats", confidence=0.1))
    fact = _id(await world.state("ownership", "a bike"))
    turn = _id(await world.say("I like this tune", kind=Kind.PREFERENCE, process="conversation", session="s"))
    said = _id(await world.say("我喜欢这首歌", kind=Kind.PREFERENCE, session="s"))
    await world.used(*cards[4:], times=2)
    world.clock.advance(10 * _DAY)
    await world.used(cards[7])
    assert (await world.upkeep.run(ALICE, "cap"))["cap"] == 5
    gone = {head.id for head in await _all(world) if head.current.tier is Tier.ARCHIVE}
    assert gone > set(cards[:4])
    assert not gone & {cards[7], pinned, lasting, fact, turn, said}
    assert (await world.upkeep.run(ALICE, "cap"))["cap"] == 0
    entry = (await world.store.journal(ALICE, cards[0]))[-1]
    assert (entry.details["cards"], entry.details["cards_max"]) == (10, 5)


async def test_by_default_a_long_conversation_stays_whole_and_three_hundred_cards_do() -> None:
    world = World()
    turns = [BatchItem(statement=Statement(text=f"I prefer song {n} 我喜欢", session="s")) for n in range(400)]
    cards = [
        BatchItem(statement=Statement(assertion=Assertion("user", "preference", f"tea {n}"))) for n in range(320)
    ]
    for start in range(0, 400, 200):
        await world.write.batch(ALICE, turns[start : start + 200], actor="key", context=None)
    assert (await world.upkeep.run(ALICE, "cap"))["cap"] == 0
    await world.write.batch(ALICE, cards, actor="key", context=None)
    assert (await world.upkeep.run(ALICE, "cap"))["cap"] == 20


async def test_a_cap_of_nothing_keeps_every_card() -> None:
    world = World(parameters=Parameters(cards_max=0))
    for n in range(4):
        await world.state("preference", f"tea number {n}")
    assert (await world.upkeep.run(ALICE, "cap"))["cap"] == 0


# P4 -------------------------------------------------------------------------------------------------------------


async def test_extracted_assertions_of_too_little_confidence_are_refused_and_others_are_not() -> None:
    world = World(parameters=Parameters(extracted_confidence_min=0.6))
    for source in (Source.INFERRED, Source.DERIVED):
        with pytest.raises(InvalidInput) as refused:
            await world.state("preference", "jazz", source=source, confidence=0.59)
        assert refused.value.reason is Reason.FIELD_OUT_OF_RANGE
        assert (refused.value.field, refused.value.metadata["limit"]) == ("memory.confidence", "0.6")
    assert (await world.store.state(ALICE)).revision == 0
    await world.state("preference", "jazz", source=Source.INFERRED)  # E8's 0.5 is not its writer's judgement
    await world.state("preference", "blues", source=Source.INFERRED, confidence=0.6)
    await world.state("preference", "folk", confidence=0.1)
    await world.say("Seems to like techno", source=Source.INFERRED, confidence=0.1)
    assert len(await _all(world)) == 4


# Workers --------------------------------------------------------------------------------------------------------


async def test_two_workers_on_one_owner_do_the_work_once() -> None:
    world = World()
    for n in range(5):
        await world.say(f"Ticket {n} is open", kind=Kind.TASK)
    for n in range(3):
        await world.say("Seems to like jazz", source=Source.INFERRED, session=f"s{n}")
    await _dispute(world)
    world.clock.advance(30 * _DAY)
    done = await asyncio.gather(*(world.upkeep.run(ALICE) for _ in range(4)))
    assert sum(one["decay_short_term"] for one in done) == 5
    assert sum(one["promotion"] for one in done) == 1
    for head in await _all(world):
        events = await world.events(head.id)
        assert events.count(_E.ARCHIVED) <= 1
        assert events.count(_E.PROMOTED) <= 1
        assert events.count(_E.RESOLVED) <= 1
