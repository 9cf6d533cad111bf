"""Write: created, supported, superseded, contested, suppressed; once under retry; refused without a trace."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest

from memory_service.app.commands import (
    BatchItem,
    ChangeMeta,
    ChangeResult,
    Effect,
    Nature,
    RollbackCommand,
    Statement,
)
from memory_service.domain.errors import (
    Conflict,
    FailedPrecondition,
    InvalidInput,
    LimitExceeded,
    MemoryServiceError,
    NotFound,
    Reason,
)
from memory_service.domain.memory import Assertion, Source, Status, Tier
from memory_service.domain.parameters import Parameters
from memory_service.domain.records import ASSERTION_ORDINAL
from tests.app.harness import ALICE, BOB, World, device


async def test_new_statement_is_created_with_the_source_confidence() -> None:
    world = World()
    explicit = await world.say("I collect stamps from Peru")
    inferred = await world.say("Seems to enjoy quiet mornings", source=Source.INFERRED)
    assert explicit.effect is inferred.effect is Effect.CREATED
    assert explicit.memory
    assert inferred.memory
    assert (explicit.memory.current.confidence, explicit.memory.current.tier) == (0.95, Tier.LONG_TERM)
    assert (inferred.memory.current.confidence, inferred.memory.current.tier) == (0.5, Tier.CANDIDATE)
    assert inferred.revision == explicit.revision + 1


@pytest.mark.parametrize("again", ["我喜欢喝绿茶", "我喜欢喝绿茶。", "  我喜欢喝绿茶！ "])
async def test_same_wording_is_one_memory_with_more_support(again: str) -> None:
    world = World()
    first = await world.say("我喜欢喝绿茶")
    second = await world.say(again)
    assert second.effect is Effect.SUPPORTED
    assert first.memory
    assert second.memory
    assert second.memory.id == first.memory.id
    assert second.memory.current.support == 2
    assert len(await world.current()) == 1


async def test_new_value_of_a_single_valued_slot_supersedes_and_closes_the_old_one() -> None:
    world = World()
    old = await world.state("location", "Lyon")
    world.clock.advance(timedelta(days=30))
    new = await world.state("city", "Porto")  # an alias of the predicate
    assert new.effect is Effect.CREATED
    (gone,) = new.affected
    assert old.memory
    assert new.memory
    assert gone.head
    assert (gone.memory_id, gone.effect) == (old.memory.id, Effect.SUPERSEDED)
    assert gone.head.current.status is Status.SUPERSEDED
    assert gone.head.current.valid_to == new.memory.current.valid_from == world.clock.now()
    assert await world.current() == ["user location: Porto"]


async def test_many_valued_slot_keeps_both() -> None:
    world = World()
    await world.state("allergy", "peanuts")
    second = await world.state("allergy", "花生酱")
    assert (second.effect, list(second.affected)) == (Effect.CREATED, [])
    assert len(await world.current()) == 2


async def test_protected_value_is_contested_and_correction_replaces_it() -> None:
    world = World()
    old = await world.state("employer", "Initech")
    assert old.memory
    await world.store.record_access(ALICE, {old.memory.id: (6, world.clock.now())})
    rival = await world.state("employer", "Globex")
    assert rival.effect is Effect.CONTESTED
    assert {h.current.status for h in [rival.memory, rival.affected[0].head] if h} == {Status.CONTESTED}
    settled = await world.state("employer", "Globex", source=Source.EXPLICIT_CORRECTION)
    assert settled.effect is Effect.SUPPORTED
    assert await world.current() == ["user employer: Globex"]


async def test_one_off_exception_does_not_replace_a_standing_value() -> None:
    world = World()
    from memory_service.domain.memory import Kind

    await world.state("favorite", "window seat")
    exception = await world.state(
        "favorite",
        "aisle seat",
        kind=Kind.TEMPORARY_PREFERENCE,
        expires_at=world.clock.now() + timedelta(hours=5),
    )
    assert (exception.effect, list(exception.affected)) == (Effect.CREATED, [])
    assert len(await world.current()) == 2


async def test_concurrent_values_are_contested_both_ways_round() -> None:
    world = World()
    base = await world.state("location", "Lyon", meta=device("phone"))
    seen = dict(base.clock)
    a = await world.state("location", "Porto", meta=device("phone", seen=seen))
    b = await world.state("location", "Gdansk", meta=device("tablet", seen=seen))
    assert a.effect is Effect.CREATED
    assert b.effect is Effect.CONTESTED
    assert [x.effect for x in b.affected] == [Effect.CONTESTED]
    assert await world.current() == ["user location: Gdansk", "user location: Porto"]


async def test_forgotten_claim_comes_back_only_from_a_writer_that_saw_the_forget() -> None:
    world = World()
    written = await world.state("allergy", "kiwi", meta=device("phone"))
    assert written.memory
    before = dict(written.clock)
    forgotten = await world.erase(written.memory.id)
    late = await world.state("allergy", "Kiwi", meta=device("tablet", seen=before))
    derived = await world.state("allergy", "kiwi", source=Source.DERIVED)
    assert late.effect is derived.effect is Effect.SUPPRESSED
    assert await world.current() == []
    other = await world.state("allergy", "mango", meta=device("tablet"))
    assert other.effect is Effect.CREATED
    anew = await world.state("allergy", "kiwi", meta=device("phone", seen=dict(forgotten.clock)))
    assert anew.effect is Effect.CREATED


async def test_forgetting_a_slot_stops_concurrent_values_of_it() -> None:
    from memory_service.app.commands import SlotRef

    world = World()
    first = await world.state("location", "Lyon", meta=device("phone"))
    seen = dict(first.clock)
    gone = await world.erase(slot=SlotRef("user", "location"))
    assert len(gone.ids) == 1
    late = await world.state("location", "Porto", meta=device("tablet", seen=seen))
    assert late.effect is Effect.SUPPRESSED


async def test_retry_gets_the_first_answer_and_changes_nothing() -> None:
    world = World()
    meta = ChangeMeta(actor="key", request_id="r-1")
    first = await world.say("I keep bees", meta=meta)
    await world.say("I keep bees")
    again = await world.say("I keep bees", meta=meta)
    assert again.replayed
    assert first.memory
    assert again.memory
    assert again.memory.current == first.memory.current
    assert (again.revision, again.clock, again.dot) == (first.revision, first.clock, first.dot)
    state = await world.store.state(ALICE)
    assert state.revision == 2


async def test_request_id_with_another_payload_is_refused() -> None:
    world = World()
    meta = ChangeMeta(actor="key", request_id="r-1")
    await world.say("I keep bees", meta=meta)
    with pytest.raises(Conflict) as raised:
        await world.say("I keep wasps", meta=meta)
    assert raised.value.reason is Reason.REQUEST_ID_REUSED


async def test_dots_replay_and_refuse_gaps_and_reuse() -> None:
    world = World()
    await world.say("one", meta=device("phone", 1))
    two = await world.say("two", meta=device("phone", 2))
    assert (await world.say("two", meta=device("phone", 2))).memory == two.memory
    with pytest.raises(FailedPrecondition) as gap:
        await world.say("five", meta=device("phone", 5))
    assert gap.value.reason is Reason.DEVICE_COUNTER_GAP
    assert gap.value.metadata["expected"] == "3"
    with pytest.raises(Conflict) as reused:
        await world.say("another", meta=device("phone", 1))
    assert reused.value.reason is Reason.DEVICE_COUNTER_REUSED
    assert (await world.store.state(ALICE)).revision == 2


async def test_context_from_the_future_is_refused() -> None:
    world = World()
    with pytest.raises(FailedPrecondition) as raised:
        await world.say("x1", meta=device("phone", seen={"tablet": 4}))
    assert raised.value.reason is Reason.CONTEXT_FROM_FUTURE


BAD = [
    (Statement(), Reason.FIELD_REQUIRED, "memory.text"),
    (Statement(text=" \u200b "), Reason.FIELD_REQUIRED, "memory.text"),
    (Statement(text="a\x00b"), Reason.TEXT_NOT_STORABLE, "memory.text"),
    (Statement(text="x" * 16_385), Reason.FIELD_TOO_LONG, "memory.text"),
    (Statement(text="a", confidence=1.5), Reason.FIELD_OUT_OF_RANGE, "memory.confidence"),
    (Statement(text="a", confidence=float("nan")), Reason.FIELD_OUT_OF_RANGE, "memory.confidence"),
    (Statement(text="a", tags=("t",) * 33), Reason.FIELD_TOO_LONG, "memory.tags"),
    (Statement(text="a", time_zone="Mars/Base"), Reason.FIELD_INVALID, "memory.time_zone"),
    (Statement(text="a", vector=np.ones(3, np.float32)), Reason.VECTOR_DIMENSION_MISMATCH, "memory.embedding"),
    (Statement(text="a", vector=np.zeros(1024, np.float32)), Reason.VECTOR_INVALID, "memory.embedding"),
    (Statement(text="a", vector=np.full(1024, np.nan, np.float32)), Reason.VECTOR_INVALID, "memory.embedding"),
    (
        Statement(assertion=Assertion("user", "shoe_karma", "x")),
        Reason.UNKNOWN_PREDICATE,
        "memory.assertion.predicate",
    ),
    (Statement(assertion=Assertion("user", "goal", None)), Reason.FIELD_REQUIRED, "memory.assertion.object"),
]


@pytest.mark.parametrize(("statement", "reason", "field"), BAD)
async def test_bad_statement_names_its_field_and_changes_nothing(
    statement: Statement, reason: Reason, field: str
) -> None:
    world = World()
    with pytest.raises(InvalidInput) as raised:
        await world.write.one(ALICE, statement, ChangeMeta(actor="key", request_id="r"))
    assert (raised.value.reason, raised.value.field) == (reason, field)
    assert (await world.store.state(ALICE)).revision == 0


async def test_deep_json_is_refused() -> None:
    value: object = "leaf"
    for _ in range(20):
        value = [value]
    with pytest.raises(InvalidInput) as raised:
        await World().state("goal", value)  # type: ignore[arg-type]
    assert raised.value.reason is Reason.JSON_TOO_DEEP


async def test_batch_refuses_its_bad_items_alone_and_replays_within_itself() -> None:
    world = World()
    items = [
        BatchItem(statement=Statement(text="I play the oboe"), request_id="a"),
        BatchItem(statement=Statement(text="\x00")),
        BatchItem(statement=Statement(text="I play the oboe"), request_id="a"),
        BatchItem(statement=Statement(text="I PLAY THE OBOE")),
        BatchItem(statement=Statement(text="gap"), device="phone", counter=4),
    ]
    results = await world.write.batch(ALICE, items, actor="key", context=None)
    kinds = [r.effect if isinstance(r, ChangeResult) else r.reason for r in results]
    assert kinds == [
        Effect.CREATED,
        Reason.TEXT_NOT_STORABLE,
        Effect.CREATED,
        Effect.SUPPORTED,
        Reason.DEVICE_COUNTER_GAP,
    ]
    assert isinstance(results[1], MemoryServiceError)
    assert results[1].field == "items[1].memory.text"
    assert isinstance(results[2], ChangeResult)
    assert results[2].replayed
    assert (await world.store.state(ALICE)).revision == 2


async def test_quota_is_kept() -> None:
    world = World(parameters=replace(Parameters(), memories_max=2))
    await world.say("first thing")
    await world.say("second thing")
    with pytest.raises(LimitExceeded) as raised:
        await world.say("third thing")
    assert raised.value.reason is Reason.QUOTA_EXCEEDED
    assert (await world.say("First thing!")).effect is Effect.SUPPORTED


async def test_correct_keeps_history_and_rollback_brings_it_back() -> None:
    world = World()
    first = await world.say("My dentist is Dr Ito")
    assert first.memory
    fixed = await world.fix(first.memory.id, statement=Statement(text="My dentist is Dr Sato"))
    assert fixed.memory
    assert (fixed.effect, fixed.memory.id) == (Effect.UPDATED, first.memory.id)
    assert fixed.memory.current.source is Source.EXPLICIT_CORRECTION
    past = await world.reading.history(ALICE, first.memory.id)
    assert [v.text for v in past.versions] == ["My dentist is Dr Ito", "My dentist is Dr Sato"]
    from memory_service.app.commands import RollbackCommand

    back = await world.rollback(ALICE, RollbackCommand(first.memory.id, 1), ChangeMeta(actor="key"))
    assert back.memory
    assert (back.memory.current.text, back.memory.current.version) == ("My dentist is Dr Ito", 3)
    assert await world.current() == ["My dentist is Dr Ito"]


async def test_outdated_correction_supersedes_from_its_time() -> None:
    world = World()
    first = await world.state("role", "line cook")
    assert first.memory
    changed = world.clock.now() - timedelta(days=3)
    result = await world.fix(
        first.memory.id,
        statement=Statement(assertion=Assertion("", "", "sous chef")),
        nature=Nature.OUTDATED,
        changed_at=changed,
    )
    assert result.memory
    assert result.memory.id != first.memory.id
    assert result.memory.current.valid_from == changed
    assert result.affected[0].head
    assert result.affected[0].head.current.valid_to == changed


async def test_correct_checks_etag_target_and_mask() -> None:
    world = World()
    first = await world.say("I am 40 years old")
    assert first.memory
    with pytest.raises(Conflict) as stale:
        await world.fix(first.memory.id, statement=Statement(text="I am 41"), etag="9-9")
    assert stale.value.metadata["etag"] == first.memory.etag
    with pytest.raises(InvalidInput) as mask:
        await world.fix(first.memory.id, statement=Statement(text="x"), fields=frozenset({"dot"}))
    assert mask.value.field == "update_mask"
    from memory_service.domain.ids import MemoryId

    with pytest.raises(NotFound):
        await world.fix(MemoryId(world.ids.new()), statement=Statement(text="y"))


async def test_unseen_edit_makes_a_correction_a_sibling() -> None:
    world = World()
    first = await world.say("The gate code is 1111", meta=device("phone"))
    assert first.memory
    seen = dict(first.clock)
    await world.fix(first.memory.id, statement=Statement(text="The gate code is 2222"), meta=device("phone"))
    result = await world.fix(
        first.memory.id, statement=Statement(text="The gate code is 3333"), meta=device("tablet", seen=seen)
    )
    assert result.effect is Effect.CONTESTED
    assert await world.current() == ["The gate code is 2222", "The gate code is 3333"]


async def test_forget_removes_derived_and_history_content() -> None:
    world = World()
    secret = "The vault opens with 8841"
    first = await world.say(secret)
    assert first.memory
    summary = await world.say("Knows the vault's combination 8841", derived_from=(first.memory.id,))
    await world.fix(first.memory.id, statement=Statement(text="The vault opens with 8842"))
    gone = await world.erase(first.memory.id)
    assert summary.memory
    assert set(gone.ids) == {first.memory.id, summary.memory.id}
    assert await world.current() == []
    past = await world.reading.history(ALICE, first.memory.id)
    assert all(v.redacted and not v.text for v in past.versions)
    assert world.snapshots.drops == [ALICE]
    assert (await world.erase(first.memory.id)).ids == []
    late = await world.say(secret, meta=device("old", seen={}))
    assert late.effect is Effect.SUPPRESSED


async def test_forget_preview_changes_nothing_and_foreign_ids_are_not_found() -> None:
    world = World()
    mine = await world.say("mine")
    assert mine.memory
    preview = await world.erase(mine.memory.id, validate_only=True)
    assert list(preview.ids) == [mine.memory.id]
    assert await world.current() == ["mine"]
    with pytest.raises(NotFound):
        await world.erase(mine.memory.id, owner=BOB)
    with pytest.raises(NotFound):
        await world.reading.get(BOB, mine.memory.id)


async def test_text_is_kept_when_the_model_is_away() -> None:
    from memory_service.domain.errors import Unavailable

    world = World()

    class Away:
        model = world.embedder.model

        async def embed(self, texts: object) -> object:
            raise Unavailable(Reason.EMBEDDER_UNAVAILABLE, "away")

        async def close(self) -> None: ...

    object.__setattr__(world.changes.drafting, "embedder", Away())
    result = await world.say("Kept without a vector")
    assert result.effect is Effect.CREATED
    waiting = await world.store.waiting_fragments(ALICE, world.embedder.model.id, limit=10)
    assert [f.text for f in waiting] == ["Kept without a vector"]


@pytest.mark.parametrize("confidence", [0.01, 0.99])
async def test_a_guess_neither_replaces_nor_disputes_what_was_said(confidence: float) -> None:
    world = World()
    said = await world.state("name", "Ann")
    guess = await world.state("name", "Bob", source=Source.INFERRED, confidence=confidence)
    assert guess.effect is Effect.YIELDED
    assert said.memory
    assert [a.memory_id for a in guess.affected] == [said.memory.id]
    assert await world.current() == ["user name: Ann"]
    # It is observed, and speaks once nothing that was said stands against it.
    await world.erase(said.memory.id)
    assert await world.current() == ["user name: Bob"]
    await world.state("name", "Cleo")
    assert await world.current() == ["user name: Cleo"]


async def test_whose_value_was_replaced_is_told_with_its_own_dot_and_context() -> None:
    world = World()
    old = await world.state("location", "Lyon", meta=device("phone"))
    seen = dict(old.clock)
    new = await world.state("location", "Porto", meta=device("tablet", seen=seen))
    assert old.memory
    (gone,) = new.affected
    assert gone.head
    assert (gone.head.current.dot, gone.head.current.context) == (old.memory.current.dot, old.memory.current.context)


async def test_a_third_value_is_told_of_both_it_met() -> None:
    world = World()
    base = dict((await world.state("location", "Lyon", meta=device("phone"))).clock)
    await world.state("location", "Porto", meta=device("phone", seen=base))
    await world.state("location", "Gdansk", meta=device("tablet", seen=base))
    third = await world.state("location", "Rome", meta=device("watch", seen=base))
    assert third.effect is Effect.CONTESTED
    assert sorted(a.head.current.text for a in third.affected if a.head) == [
        "user location: Gdansk",
        "user location: Porto",
    ]


async def test_correcting_what_an_unseen_change_replaced_makes_a_sibling_of_what_stands() -> None:
    world = World()
    base = await world.state("location", "Lyon", meta=device("phone"))
    assert base.memory
    seen = dict(base.clock)
    await world.state("location", "Porto", meta=device("phone", seen=seen))
    late = await world.fix(
        base.memory.id,
        statement=Statement(assertion=Assertion("user", "location", "Rome")),
        meta=device("tablet", seen=seen),
    )
    assert late.effect is Effect.CONTESTED
    assert await world.current() == ["user location: Porto", "user location: Rome"]


async def test_who_names_the_etag_has_seen_the_state_whatever_its_context_says() -> None:
    world = World()
    first = await world.say("I am 40", meta=device("phone", 1, {}))
    assert first.memory
    later = await world.fix(first.memory.id, statement=Statement(text="I am 41"))
    assert later.memory
    back = RollbackCommand(memory_id=first.memory.id, version=1)
    stale = {"phone": 1}
    with pytest.raises(Conflict):
        await world.rollback(ALICE, back, device("phone", 2, stale))
    done = await world.rollback(ALICE, replace(back, etag=later.memory.etag), device("phone", 2, stale))
    assert done.memory is not None
    assert done.memory.current.text == "I am 40"


async def test_an_assertion_is_searched_beside_the_words_it_came_with() -> None:
    world = World()
    await world.state("birthday", "12 May", text="I turn forty on 12 May.")
    corrected = await world.state("birthday", "13 May", text="The 13th, sorry.", source=Source.EXPLICIT_CORRECTION)
    bare = await world.state("pet", "a tortoise")
    found = await world.store.search_rows(ALICE, world.embedder.model.id)
    pieces = {row.head.id: {f.ordinal: f for f in row.fragments} for row in found.rows}
    assert corrected.memory is not None
    assert bare.memory is not None
    beside = pieces[corrected.memory.id][ASSERTION_ORDINAL]
    assert (beside.text, beside.terms) == ("user birthday: 13 May", ())
    assert beside.vector is not None
    assert list(pieces[bare.memory.id]) == [0]
