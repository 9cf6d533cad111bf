"""Looking up what is decided for an owner, and moving memories to the word that took their word's place."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_service.adapters.inmemory import InMemoryMemoryStore, InMemoryPolicyStore, ManualClock
from memory_service.app.commands import (
    ChangeMeta,
    Effect,
    ForgetCommand,
    RollbackCommand,
    SlotRef,
    Statement,
)
from memory_service.app.edit_parameters import EditParameters
from memory_service.app.edit_vocabulary import EditVocabulary
from memory_service.app.experiments import Experiments, Outcomes
from memory_service.app.move_words import MoveWords
from memory_service.app.policies import Policies, StartValues
from memory_service.app.policy_changes import By, PolicyChanges
from memory_service.domain.errors import FailedPrecondition, InvalidInput, MemoryServiceError, Reason, Unavailable
from memory_service.domain.ids import OwnerKey, TenantId, UserId
from memory_service.domain.memory import Assertion, Cardinality, Kind, MergePolicy, Source, Status, Tier
from memory_service.domain.parameters import Parameters
from memory_service.domain.policy import Measure, PolicyDocument, Variant, vocabulary_text
from memory_service.domain.records import MemoryFilter
from memory_service.domain.vocabulary import Predicate, UnknownPredicates, Vocabulary
from tests.app.harness import ALICE, START, Silent, World, device

ACME = TenantId("acme")
BY = By("key", "why")
SIZE = Predicate("size", Kind.PROFILE, Cardinality.ONE, MergePolicy.CONFIRM, aliases=("尺码",))


class Replica:
    """One process's policies over a store that it may share."""

    def __init__(self, store: InMemoryPolicyStore, memories: InMemoryMemoryStore, start: StartValues | None = None):
        self.policies = Policies(store, start or StartValues(Vocabulary.of(), Parameters()), Silent())
        changes = PolicyChanges(self.policies, ManualClock(START))
        self.words = EditVocabulary(changes)
        self.numbers = EditParameters(changes, memories)
        self.experiments = Experiments(changes)


def replicas(count: int = 2) -> list[Replica]:
    memories = InMemoryMemoryStore()
    store = InMemoryPolicyStore(memories)
    return [Replica(store, memories) for _ in range(count)]


async def test_a_change_is_in_force_here_at_once_and_elsewhere_after_a_refresh():
    here, there = replicas()
    start = there.policies.of(ALICE)
    await here.words.put(ACME, SIZE, BY)
    assert here.policies.of(ALICE).vocabulary.find("尺码") == SIZE
    assert there.policies.of(ALICE) is start
    assert await there.policies.refresh() == 1
    assert there.policies.of(ALICE).vocabulary == here.policies.of(ALICE).vocabulary
    assert await there.policies.refresh() == 0
    other = OwnerKey(TenantId("other"), UserId("alice"))
    assert there.policies.of(other) is start


async def test_looking_up_makes_nothing_anew():
    (here,) = replicas(1)
    await here.numbers.set(ACME, "", {"replace_ratio": 2.0}, (), BY)
    policy = here.policies.of(ALICE)
    assert policy.parameters.replace_ratio == 2.0
    assert here.policies.of(ALICE) is policy
    assert here.policies.of(OwnerKey(ACME, UserId("bob"))) is policy


async def test_a_store_that_is_away_leaves_what_is_known_in_force():
    (here,) = replicas(1)
    await here.words.put(ACME, SIZE, BY)
    known = here.policies.of(ALICE)

    async def away(*_: object, **__: object) -> list[PolicyDocument]:
        raise Unavailable(Reason.DATABASE_UNAVAILABLE, "away")

    here.policies.store.newest_after = away  # type: ignore[method-assign]
    await here.policies.keep_fresh()
    assert here.policies.of(ALICE) is known
    with pytest.raises(Unavailable):
        await here.words.put(ACME, replace(SIZE, name="other", aliases=()), BY)
    assert here.policies.of(ALICE) is known


async def test_the_settings_are_what_a_tenant_starts_with():
    memories = InMemoryMemoryStore()
    own = Vocabulary.of(unknown=UnknownPredicates.MAP).with_policies({"city": MergePolicy.HIGHEST_CONFIDENCE})
    start = StartValues(Vocabulary.of(), replace(Parameters(), memories_max=7), {"acme": own})
    here = Replica(InMemoryPolicyStore(memories), memories, start)
    assert here.policies.of(ALICE).vocabulary == own
    assert here.policies.of(ALICE).parameters.memories_max == 7
    await here.words.put(ACME, SIZE, BY)
    assert here.policies.of(ALICE).vocabulary == own.having(SIZE)
    await here.words.roll_back(ACME, 0, BY)
    assert here.policies.of(ALICE).vocabulary == own


async def test_a_slow_replica_changes_what_is_newest_not_what_it_knew():
    here, there = replicas()
    await here.words.put(ACME, SIZE, BY)
    await there.words.put(ACME, replace(SIZE, name="other", aliases=()), BY)
    assert {"size", "other"} <= set(there.policies.of(ALICE).vocabulary.predicates)
    assert (await there.words.history(ACME, 0, 0))[0].version == 2


async def test_a_set_without_values_is_no_set_and_sets_are_bounded():
    (here,) = replicas(1)
    for n in range(19):
        await here.numbers.set(ACME, f"set{n}", {"replace_ratio": 2.0}, (), BY)
    with pytest.raises(MemoryServiceError) as caught:
        await here.numbers.set(ACME, "one more", {"replace_ratio": 2.0}, (), BY)
    assert caught.value.reason is Reason.QUOTA_EXCEEDED
    await here.numbers.roll_back(ACME, "set3", 0, BY)
    assert "set3" not in here.numbers.sets(ACME)
    await here.numbers.set(ACME, "one more", {"replace_ratio": 2.0}, (), BY)


async def test_outcomes_wait_while_the_store_is_away():
    (here,) = replicas(1)
    await here.numbers.set(ACME, "trial", {"replace_ratio": 2.0}, (), BY)
    await here.experiments.start(ACME, "e", "", "trial", 1.0, BY)
    outcomes = Outcomes(here.policies, here.policies.store, Silent())
    outcomes.note(ALICE, Measure.RECALLED, 3)
    outcomes.note(OwnerKey(TenantId("other"), UserId("alice")), Measure.RECALL)
    tally, failing = here.policies.store.tally, True

    async def flaky(*args: object) -> None:
        if failing:
            raise Unavailable(Reason.DATABASE_UNAVAILABLE, "away")
        await tally(*args)  # type: ignore[arg-type]

    here.policies.store.tally = flaky  # type: ignore[method-assign,assignment]
    with pytest.raises(Unavailable):
        await outcomes.flush()
    outcomes.note(ALICE, Measure.RECALLED, 2)
    failing = False
    await outcomes.flush()
    await outcomes.flush()
    assert await here.experiments.counts(ACME, "e") == {(Variant.TREATMENT, Measure.RECALLED): 5}


# Moving words -----------------------------------------------------------------------------------------------


def world() -> tuple[World, Replica]:
    memories = InMemoryMemoryStore()
    replica = Replica(InMemoryPolicyStore(memories), memories)
    return World(store=memories, policies=replica.policies), replica


async def heads(world: World, *statuses: Status) -> dict[str, tuple[str, object, Status]]:
    page = await world.store.list(ALICE, MemoryFilter(statuses=frozenset(statuses)), limit=100, after=None)
    return {
        str(h.id): (h.current.assertion.predicate, h.current.assertion.object, h.current.status)
        for h in page.heads
        if h.current.assertion
    }


async def test_memories_take_the_word_that_took_the_place_of_theirs():
    made, replica = world()
    await replica.words.put(ACME, SIZE, BY)
    await replica.words.put(ACME, replace(SIZE, name="shoe_size", aliases=()), BY)
    old = await made.state("size", 42)
    with pytest.raises(FailedPrecondition):
        await replica.words.remove(ACME, "size", "", BY)
    await replica.words.remove(ACME, "size", "shoe_size", BY)
    moving = MoveWords(made.changes)
    assert await moving(ALICE) == 1
    assert await moving(ALICE) == 0
    assert old.memory is not None
    assert (await heads(made))[str(old.memory.id)] == ("shoe_size", 42, Status.ACTIVE)
    new = await made.state("尺码", 43)
    assert [item.memory_id for item in new.affected] == [old.memory.id]
    last = (await made.store.journal(ALICE, old.memory.id))[-2]
    assert (last.actor, last.details["predicate"]) == ("vocabulary", "shoe_size")
    # Nothing has the old word any more: the way is free for another use of it.
    uses = await replica.policies.store.uses(ACME, ["size"], limit=10)
    assert uses.memories == 0


async def test_what_is_no_longer_true_moves_as_well():
    made, replica = world()
    await replica.words.put(ACME, SIZE, BY)
    for value in (40, 41):
        await made.state("size", value)
    await replica.words.remove(ACME, "size", "attribute", BY)
    assert await MoveWords(made.changes)(ALICE) == 2
    assert sorted((await heads(made)).values(), key=str) == [
        ("attribute", 40, Status.SUPERSEDED),
        ("attribute", 41, Status.ACTIVE),
    ]


async def test_what_two_words_said_alike_becomes_one():
    made, replica = world()
    await replica.words.put(ACME, replace(SIZE, cardinality=Cardinality.MANY, merge=MergePolicy.UNION), BY)
    one = await made.state("size", "L")
    two = await made.state("attribute", "L")
    await replica.words.remove(ACME, "size", "attribute", BY)
    assert await MoveWords(made.changes)(ALICE) == 1
    assert one.memory is not None
    assert two.memory is not None
    found = await heads(made)
    assert found[str(one.memory.id)] == ("attribute", "L", Status.SUPERSEDED)
    assert found[str(two.memory.id)] == ("attribute", "L", Status.ACTIVE)
    kept = await made.store.get(ALICE, two.memory.id)
    assert kept is not None
    assert kept.current.support == 2


@pytest.mark.parametrize("word", ["size", "shoe_size"])
async def test_what_was_forgotten_under_a_word_is_not_learnt_again_under_another(word: str):
    made, replica = world()
    await replica.words.put(ACME, SIZE, BY)
    await replica.words.put(ACME, replace(SIZE, name="shoe_size", aliases=()), BY)
    old = await made.state("size", 42)
    assert old.memory is not None
    await made.erase(old.memory.id)
    await replica.words.remove(ACME, "size", "shoe_size", BY)
    await replica.words.put(ACME, replace(SIZE, name="shoe_size", aliases=("size", "EU")), BY)
    again = await made.state(word, 42, source=Source.INFERRED)
    assert (again.effect, again.memory) == (Effect.SUPPRESSED, None)
    assert (await made.state(word, 42)).effect is Effect.CREATED


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["size", "shoe_size"]), st.integers(40, 43)), min_size=1, max_size=6))
async def test_moving_leaves_one_settled_slot_and_loses_no_value(said: list[tuple[str, int]]):
    made, replica = world()
    await replica.words.put(ACME, SIZE, BY)
    await replica.words.put(ACME, replace(SIZE, name="shoe_size", aliases=()), BY)
    for number, (word, value) in enumerate(said):
        await made.state(word, value, meta=device(f"d{number}", seen={}))
    before = {value for _, value, status in (await heads(made)).values() if status is not Status.SUPERSEDED}
    await replica.words.remove(ACME, "size", "shoe_size", BY)
    await MoveWords(made.changes)(ALICE)
    after = [
        (word, value, status)
        for word, value, status in (await heads(made)).values()
        if status is not Status.SUPERSEDED
    ]
    assert {word for word, _, _ in after} == {"shoe_size"}
    assert {value for _, value, _ in after} == before
    assert len(after) == len(before)
    statuses = {status for _, _, status in after}
    assert statuses == ({Status.ACTIVE} if len(after) == 1 else {Status.CONTESTED})


async def test_the_word_that_unknown_ones_need_stays_while_they_are_mapped():
    """Nor may another word take its name: unknown ones would take that one's rules."""
    (here,) = replicas(1)
    await here.words.remove(ACME, "attribute", "status", BY)  # nobody needs it while unknown ones are refused
    with pytest.raises(InvalidInput):
        await here.words.set_unknown(ACME, UnknownPredicates.MAP, BY)
    await here.words.roll_back(ACME, 0, BY)
    await here.words.set_unknown(ACME, UnknownPredicates.MAP, BY)
    for replacement in ("", "status"):
        for name in ("attribute", "Attribute", "property"):
            with pytest.raises(InvalidInput) as caught:
                await here.words.remove(ACME, name, replacement, BY)
            assert (caught.value.reason, caught.value.field) == (Reason.FIELD_INVALID, "name")
    assert here.policies.of(ALICE).vocabulary.resolve("shoe_brand", "p").kind is Kind.FACT


async def test_a_version_that_lacks_the_word_that_unknown_ones_need_does_not_come_back():
    (here,) = replicas(1)
    mapped = Vocabulary.of(unknown=UnknownPredicates.MAP)
    words = {name: word for name, word in mapped.predicates.items() if name != "attribute"}
    words["status"] = replace(words["status"], aliases=("attribute",))
    old = vocabulary_text(Vocabulary(words, UnknownPredicates.MAP))  # as an earlier release let it become
    await here.policies.store.add(PolicyDocument(ACME, "vocabulary", 1, old, "key", "why", START))
    await here.words.roll_back(ACME, 0, BY)
    with pytest.raises(InvalidInput) as caught:
        await here.words.roll_back(ACME, 1, BY)
    assert (caught.value.reason, caught.value.field) == (Reason.FIELD_INVALID, "version")


async def test_values_that_stood_beside_each_other_give_way_once_a_slot_holds_one():
    made, replica = world()
    many = replace(SIZE, cardinality=Cardinality.MANY, merge=MergePolicy.UNION)
    await replica.words.put(ACME, many, BY)
    for value in (40, 41):
        await made.state("size", value)
    await replica.words.put(ACME, SIZE, BY)
    before = await heads(made, Status.ACTIVE)
    assert {value for _, value, _ in before.values()} == {40, 41}, "nothing changes until the slot does"
    new = await made.state("size", 42)
    assert {item.effect for item in new.affected} == {Effect.SUPERSEDED}
    assert {value for _, value, _ in (await heads(made, Status.ACTIVE)).values()} == {42}
    await replica.words.put(ACME, many, BY)
    await made.state("size", 43)
    assert {value for _, value, _ in (await heads(made, Status.ACTIVE)).values()} == {42, 43}


async def test_a_roll_back_of_a_memory_goes_by_the_tenants_own_words():
    made, replica = world()
    await replica.words.put(ACME, SIZE, BY)
    first = await made.state("size", 40)
    assert first.memory is not None
    await made.fix(first.memory.id, statement=Statement(assertion=Assertion("user", "size", 41)))
    result = await made.rollback(ALICE, RollbackCommand(first.memory.id, 1), ChangeMeta(actor="key"))
    assert result.memory is not None
    assert result.memory.current.assertion == Assertion("user", "size", 40)
    found = await made.forget(ALICE, ForgetCommand(slot=SlotRef("user", "尺码")), ChangeMeta(actor="key"))
    assert list(found.ids) == [first.memory.id]


async def test_upkeep_of_two_workers_moves_each_memory_once():
    made, replica = world()
    await replica.words.put(ACME, SIZE, BY)
    for owner in range(30):
        await made.say("", assertion=Assertion(f"person {owner}", "size", owner))
    await replica.words.remove(ACME, "size", "attribute", BY)
    moving = MoveWords(made.changes)
    done = await asyncio.gather(moving(ALICE), moving(ALICE))
    assert sum(done) == 30
    moved = await heads(made)
    assert {word for word, _, _ in moved.values()} == {"attribute"}
    assert len(moved) == 30


async def test_what_is_sensitive_is_not_promoted_by_being_seen_often():
    made, _ = world()
    for number in range(5):
        for predicate in ("health", "pet"):
            await made.state(predicate, "x", source=Source.INFERRED, session=f"s{number}")
    assert (await made.upkeep.run(ALICE, "promotion"))["promotion"] == 1
    page = await made.store.list(ALICE, MemoryFilter(), limit=9, after=None)
    tiers = {h.current.assertion.predicate: h.current.tier for h in page.heads if h.current.assertion}
    assert tiers == {"health": Tier.CANDIDATE, "pet": Tier.LONG_TERM}


async def test_upkeep_goes_by_the_tenants_own_numbers():
    made, replica = world()
    await replica.numbers.set(ACME, "", {"promotion_sessions": 1, "archive_unused_days": 2}, (), BY)
    await made.state("pet", "cat", source=Source.INFERRED, session="s1")
    assert (await made.upkeep.run(ALICE, "promotion"))["promotion"] == 1
    made.clock.advance(timedelta(days=3))
    assert sum((await made.upkeep.run(ALICE)).values()) == 1
