"""A request sent again is answered again and done once (B2)."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from google.protobuf.message import Message

from memory_service.v1 import memory_service_pb2 as api
from memory_service.v1 import types_pb2 as pb
from tests.acceptance.raw import Raw
from tests.acceptance.world import new_user, state_of

BY_REQUEST_ID = {"request_id": "a-name"}
BY_DOT = {"dot": pb.Dot(device="phone", counter=1)}


def write(user: str, memory_id: str, **named: object) -> tuple[str, Message]:
    return "Write", api.WriteRequest(user=user, memory=pb.MemoryInput(text="I swim at dawn"), **named)  # type: ignore[arg-type]


def correct(user: str, memory_id: str, **named: object) -> tuple[str, Message]:
    memory = pb.MemoryInput(text="I run at dusk")
    return "Correct", api.CorrectRequest(user=user, memory_id=memory_id, memory=memory, **named)  # type: ignore[arg-type]


def forget(user: str, memory_id: str, **named: object) -> tuple[str, Message]:
    return "Forget", api.ForgetRequest(user=user, memories=api.MemoryIds(ids=[memory_id]), **named)  # type: ignore[arg-type]


def rollback(user: str, memory_id: str, **named: object) -> tuple[str, Message]:
    return "Rollback", api.RollbackRequest(user=user, memory_id=memory_id, version=1, **named)  # type: ignore[arg-type]


@pytest.mark.parametrize("named", [BY_REQUEST_ID, BY_DOT, BY_REQUEST_ID | BY_DOT], ids=["request id", "dot", "both"])
@pytest.mark.parametrize("change", [write, correct, forget, rollback])
async def test_the_same_request_gets_the_same_answer_and_is_done_once(
    change: Callable[..., tuple[str, Message]], named: dict[str, object], raw: Raw
):
    user = new_user()
    base = await raw.call("Write", api.WriteRequest(user=user, memory=pb.MemoryInput(text="I walk at noon")))
    rpc, request = change(user, base.memory.id, **named)
    first = await raw.call(rpc, request)
    after = await state_of(raw, user)
    second = await raw.call(rpc, request)
    assert not first.replayed
    assert second.replayed
    assert await state_of(raw, user) == after
    second.replayed = False
    if rpc != "Forget":
        for answer in (first, second):
            # Counters of use are the present ones, not part of the answer to the change.
            answer.memory.ClearField("last_access_at")
            answer.memory.ClearField("access_count")
    assert second == first


async def test_a_name_used_for_something_else_is_refused(raw: Raw):
    user = new_user()
    base = await raw.call("Write", api.WriteRequest(user=user, memory=pb.MemoryInput(text="I walk at noon")))
    for number, change in enumerate((write, correct, rollback, forget), start=1):
        named = {"request_id": f"name-{number}", "dot": pb.Dot(device="phone", counter=number)}
        await raw.call(*change(user, base.memory.id, **named))
    before = await state_of(raw, user)
    for number in range(1, 5):
        for change in (write, correct, rollback, forget):
            by_id = change(user, base.memory.id, request_id=f"name-{number}")
            by_dot = change(user, base.memory.id, dot=pb.Dot(device="phone", counter=number))
            if [write, correct, rollback, forget].index(change) + 1 == number:
                assert (await raw.call(*by_id)).replayed
                assert (await raw.call(*by_dot)).replayed
            else:
                assert (await raw.refused(*by_id)).reason == "REQUEST_ID_REUSED"
                assert (await raw.refused(*by_dot)).reason == "DEVICE_COUNTER_REUSED"
    assert await state_of(raw, user) == before


async def test_a_batch_sent_again_repeats_what_was_done_and_tries_what_was_refused(raw: Raw):
    user = new_user()
    items = [
        api.BatchWriteItem(memory=pb.MemoryInput(text="I own two cats"), request_id="one"),
        api.BatchWriteItem(memory=pb.MemoryInput(text="bad\0text"), request_id="two"),
        api.BatchWriteItem(memory=pb.MemoryInput(text="I own a parrot"), dot=pb.Dot(device="phone", counter=1)),
        api.BatchWriteItem(memory=pb.MemoryInput(text="I own two cats"), request_id="one"),
        api.BatchWriteItem(memory=pb.MemoryInput(text="I own a dog"), request_id="one"),
        api.BatchWriteItem(memory=pb.MemoryInput(text="I own a horse"), dot=pb.Dot(device="phone", counter=3)),
    ]
    first = await raw.call("BatchWrite", api.BatchWriteRequest(user=user, items=items))
    after = await state_of(raw, user)
    kinds = [result.WhichOneof("result") for result in first.results]
    assert kinds == ["written", "error", "written", "written", "error", "error"]
    assert [result.written.replayed for result in first.results] == [False, False, False, True, False, False]
    reasons = [result.error.reason for result in first.results]
    assert reasons == ["", "TEXT_NOT_STORABLE", "", "", "REQUEST_ID_REUSED", "DEVICE_COUNTER_GAP"]
    assert first.results[5].error.metadata["expected"] == "2"
    second = await raw.call("BatchWrite", api.BatchWriteRequest(user=user, items=items))
    assert [result.written.replayed for result in second.results] == [True, False, True, True, False, False]
    assert [result.written.memory.id for result in second.results] == [r.written.memory.id for r in first.results]
    assert await state_of(raw, user) == after

    items[1].memory.text = "mended text"
    third = await raw.call("BatchWrite", api.BatchWriteRequest(user=user, items=items))
    assert third.results[1].written.memory.text == "mended text"


async def test_a_refused_request_may_use_its_name_again(raw: Raw):
    user = new_user()
    named = {"request_id": "a-name", "dot": pb.Dot(device="phone", counter=1)}
    wrong = api.WriteRequest(user=user, memory=pb.MemoryInput(text=""), **named)  # type: ignore[arg-type]
    assert (await raw.refused("Write", wrong)).reason == "FIELD_REQUIRED"
    right = api.WriteRequest(user=user, memory=pb.MemoryInput(text="fine now"), **named)  # type: ignore[arg-type]
    assert not (await raw.call("Write", right)).replayed
