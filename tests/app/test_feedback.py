"""RecordFeedback: what was of use fades more slowly, what was not sooner; once under retry, refused without trace."""

from __future__ import annotations

import asyncio
import uuid
from datetime import timedelta

import pytest

from memory_service.app.access_recorder import AccessRecorder
from memory_service.app.commands import ChangeMeta
from memory_service.app.feedback import Outcome, RecordFeedback
from memory_service.domain.errors import Conflict, InvalidInput, Reason
from memory_service.domain.ids import MemoryId
from memory_service.domain.memory import Tier, Usage
from tests.app.harness import ALICE, START, Silent, World

_DAY = timedelta(days=1)


async def _said(world: World, text: str = "I like oolong tea") -> MemoryId:
    result = await world.say(text)
    assert result.memory
    return result.memory.id


async def test_adopted_and_rejected_recalls_are_counted() -> None:
    world = World()
    good, bad = await _said(world), await _said(world, "我住在杭州")
    world.clock.advance(_DAY)
    await world.used(good, bad, times=2)
    result = await world.feedback(
        ALICE, [(good, Outcome.ADOPTED), (bad, Outcome.REJECTED)], ChangeMeta(actor="key", request_id="r1")
    )
    assert (result.recorded, list(result.missing), result.replayed) == (2, [], False)
    assert (await world.get(good)).usage == Usage(2, 1, START + _DAY, START)
    assert (await world.get(bad)).usage == Usage(1, 0, None, START, 1)


async def test_the_same_request_is_done_once_also_at_once_and_another_under_its_name_is_refused() -> None:
    world = World()
    memory_id = await _said(world)
    results = await asyncio.gather(*(world.judge(Outcome.ADOPTED, memory_id, request_id="r1") for _ in range(8)))
    assert sorted(result.replayed for result in results) == [False] + [True] * 7
    assert (await world.get(memory_id)).usage.adopted_count == 1
    before = await world.store.state(ALICE)
    with pytest.raises(Conflict) as refused:
        await world.judge(Outcome.REJECTED, memory_id, request_id="r1")
    assert refused.value.reason is Reason.REQUEST_ID_REUSED
    assert await world.store.state(ALICE) == before


async def test_what_was_forgotten_meanwhile_is_named_and_the_rest_is_recorded() -> None:
    world = World()
    kept, gone = await _said(world), await _said(world, "My dentist is Dr Hu")
    await world.erase(gone)
    nobody = MemoryId(uuid.UUID(int=7, version=4))
    for _ in range(2):
        items = [(kept, Outcome.ADOPTED), (gone, Outcome.REJECTED), (nobody, Outcome.ADOPTED)]
        result = await world.feedback(ALICE, items, ChangeMeta(actor="key", request_id="r"))
        assert (result.recorded, list(result.missing)) == (1, [gone, nobody])
    assert (await world.get(kept)).usage.adopted_count == 1


async def test_bad_input_names_its_field_and_leaves_no_trace() -> None:
    world = World()
    one = await _said(world)
    before = await world.store.state(ALICE)
    many = [(MemoryId(uuid.UUID(int=n, version=4)), Outcome.ADOPTED) for n in range(201)]
    cases = [
        ([], Reason.FIELD_REQUIRED, "items"),
        (many, Reason.FIELD_TOO_LONG, "items"),
        ([(one, Outcome.ADOPTED), (one, Outcome.REJECTED)], Reason.FIELD_INVALID, "items[1].memory_id"),
    ]
    for items, reason, field in cases:
        with pytest.raises(InvalidInput) as refused:
            await world.feedback(ALICE, items, ChangeMeta(actor="key"))
        assert (refused.value.reason, refused.value.field) == (reason, field)
    assert await world.store.state(ALICE) == before
    assert (await world.get(one)).usage == Usage(0, 0, None, START)


async def test_a_rejection_takes_back_the_access_that_still_waits_to_be_written() -> None:
    world = World()
    memory_id = await _said(world)
    recorder = AccessRecorder(world.store, Silent())
    feedback = RecordFeedback(world.changes, recorder)
    recorder.record(ALICE, [memory_id], world.clock.now() + _DAY)
    await feedback(ALICE, [(memory_id, Outcome.REJECTED)], ChangeMeta(actor="key"))
    assert recorder.waiting == 0
    await recorder.flush()
    assert (await world.get(memory_id)).usage == Usage(0, 0, None, START, 1)


async def test_rejected_recalls_do_not_protect_a_value_and_nine_archive_it_until_it_is_said_again() -> None:
    world = World()
    memory_id = await _said(world)
    for _ in range(9):
        await world.used(memory_id)
        await world.judge(Outcome.REJECTED, memory_id)
    assert (await world.get(memory_id)).usage == Usage(0, 0, None, START, 9)
    done = await world.upkeep.run(ALICE)
    assert done["decay_long_term"] == 1
    assert (await world.get(memory_id)).current.tier is Tier.ARCHIVE
    await world.say("I like oolong tea")
    assert sum((await world.upkeep.run(ALICE)).values()) == 0
    back = await world.get(memory_id)
    assert (back.current.tier, back.usage.rejected_count) == (Tier.LONG_TERM, 0)
