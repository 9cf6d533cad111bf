"""What is wrong is refused by reason and field, in one sentence of the service's own, and changes nothing."""

from __future__ import annotations

import pytest

from memory_service.domain import limits
from memory_service.v1 import admin_service_pb2 as admin
from memory_service.v1 import memory_service_pb2 as api
from memory_service.v1 import session_service_pb2 as session
from memory_service.v1 import types_pb2 as pb
from tests.acceptance.raw import Raw
from tests.acceptance.service import ServiceProcess
from tests.acceptance.world import new_user, state_of
from tests.acceptance.wrong import MARK, Known, Wrong, assertion
from tests.acceptance.wrong_requests import WRONG_REQUESTS
from tests.acceptance.wrong_sessions import WRONG_SESSIONS
from tests.acceptance.wrong_writes import WRONG_WRITES

WRONG = [*WRONG_WRITES, *WRONG_REQUESTS, *WRONG_SESSIONS]


@pytest.fixture(scope="module")
async def known(service: ServiceProcess) -> Known:
    user = new_user()
    async with service.raw() as raw:
        statement = pb.MemoryInput(text="I keep bees on the roof")
        dot = pb.Dot(device="phone", counter=1)
        first = await raw.call("Write", api.WriteRequest(user=user, memory=statement, request_id="one", dot=dot))
        fact = pb.MemoryInput(assertion=assertion("location", "Lyon"))
        second = await raw.call(
            "Write", api.WriteRequest(user=user, memory=fact, dot=pb.Dot(device="phone", counter=2))
        )
        page = await raw.call("ListMemories", api.ListMemoriesRequest(user=user, page_size=1))
        begun = await raw.call("CreateSession", session.CreateSessionRequest(user=user))
        turns = [
            session.Turn(id="asked", role=session.TURN_ROLE_USER, text="Which one?"),
            session.Turn(id="said", role=session.TURN_ROLE_USER, text="The blue one."),
        ]
        await raw.call("AppendTurns", session.AppendTurnsRequest(user=user, session_id=begun.session.id, turns=turns))
        return Known(user, first.memory, second.token, page.next_page_token, second.context, begun.session.id)


@pytest.fixture(scope="module", autouse=True)
async def quiet_log(service: ServiceProcess):
    """Nothing of what was sent, and nothing unexpected, was logged by the time the module ends."""
    yield
    assert MARK not in service.log
    assert "unexpected error" not in service.log
    assert "Traceback" not in service.log
    assert "asyncpg" not in service.log


@pytest.mark.parametrize("wrong", [pytest.param(wrong, id=f"{wrong.rpc}: {wrong.name}") for wrong in WRONG])
async def test_refused_by_reason_and_field_without_a_trace(wrong: Wrong, raw: Raw, known: Known):
    before = await state_of(raw, known.user)
    said = await raw.refused(wrong.rpc, wrong.build(known))
    assert (said.code, said.reason, said.field) == (wrong.code, wrong.reason, wrong.field)
    assert said.violations == ((wrong.field, wrong.reason),)
    assert said.metadata["request_id"]
    assert said.message
    assert len(said.everything) < 4_096
    assert MARK.encode() not in said.everything
    assert await state_of(raw, known.user) == before


def test_names_of_cases_are_their_own():
    names = [(wrong.rpc, wrong.name) for wrong in WRONG]
    assert len(set(names)) == len(names)


def _varint_field(number: int, payload: bytes) -> bytes:
    size, encoded = len(payload), b""
    while size > 127:
        encoded += bytes([size & 127 | 128])
        size >>= 7
    return bytes([number << 3 | 2]) + encoded + bytes([size]) + payload


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(b"\xed\xa0\xbd", id="a lone surrogate"),
        pytest.param(b"\xff\xfe", id="bytes that are no text"),
        pytest.param(b"\xe4\xbd", id="a torn character"),
    ],
)
async def test_text_that_is_not_unicode_is_refused_on_the_wire(text: bytes, raw: Raw, known: Known):
    """Clients in other languages send any bytes; protobuf says that text is no Unicode, not which."""
    before = await state_of(raw, known.user)
    request = _varint_field(1, known.user.encode()) + _varint_field(2, _varint_field(1, MARK.encode() + text))
    said = await raw.refused("Write", request)
    assert (said.code, said.reason) == ("INVALID_ARGUMENT", "TEXT_NOT_STORABLE")
    assert MARK.encode() not in said.everything
    assert await state_of(raw, known.user) == before


async def test_a_message_of_17_megabytes_is_refused(raw: Raw, known: Known):
    before = await state_of(raw, known.user)
    request = api.WriteRequest(user=known.user, memory=pb.MemoryInput(text=MARK * (17 * 1024 * 1024 // len(MARK))))
    said = await raw.refused("Write", request)
    assert said.code == "RESOURCE_EXHAUSTED"
    assert MARK.encode() not in said.everything
    assert await state_of(raw, known.user) == before


async def test_json_too_deep_for_protobuf_itself_is_refused(raw: Raw, known: Known):
    before = await state_of(raw, known.user)
    value = _varint_field(3, MARK.encode())
    for _ in range(5_000):
        value = _varint_field(6, _varint_field(1, value))
    memory = _varint_field(2, _varint_field(1, b"user") + _varint_field(2, b"pet") + _varint_field(3, value))
    said = await raw.refused("Write", _varint_field(1, known.user.encode()) + _varint_field(2, memory))
    assert (said.code, said.reason) == ("INVALID_ARGUMENT", "JSON_TOO_DEEP")
    assert MARK.encode() not in said.everything
    assert await state_of(raw, known.user) == before


async def test_bytes_that_are_no_message_are_refused_and_only_from_callers_we_know(raw: Raw, known: Known):
    before = await state_of(raw, known.user)
    said = await raw.refused("Write", b"\x0a\xff" + MARK.encode())
    assert (said.code, said.reason) == ("INVALID_ARGUMENT", "FIELD_INVALID")
    assert MARK.encode() not in said.everything
    stranger = await raw.refused("Write", b"\x0a\xff" + MARK.encode(), authorization="")
    assert (stranger.code, stranger.reason) == ("UNAUTHENTICATED", "CREDENTIAL_MISSING")
    assert await state_of(raw, known.user) == before


async def test_of_two_targets_the_last_one_counts_and_the_server_sees_one(raw: Raw, known: Known):
    """A oneof cannot carry two: protobuf keeps the last one sent, here a filter that is refused."""
    before = await state_of(raw, known.user)
    ids = api.ForgetRequest(user=known.user, memories=api.MemoryIds(ids=[known.memory.id])).SerializeToString()
    said = await raw.refused("Forget", ids + api.ForgetRequest(filter=pb.MemoryFilter()).SerializeToString())
    assert (said.reason, said.field) == ("FIELD_REQUIRED", "filter")
    assert await state_of(raw, known.user) == before


async def test_each_wrong_item_of_a_batch_fails_alone_and_names_its_place(raw: Raw):
    owner = new_user()
    wrong = [
        case
        for case in WRONG
        if case.rpc == "Write" and case.code == "INVALID_ARGUMENT" and "context" not in case.field
    ]
    known = Known(owner, pb.Memory(), "", "", pb.VectorClock())
    items = [api.BatchWriteItem(memory=pb.MemoryInput(text="the first good one"))]
    for case in wrong:
        request = case.build(known)
        assert isinstance(request, api.WriteRequest)
        items.append(api.BatchWriteItem(memory=request.memory, request_id=request.request_id, dot=request.dot))
    items.append(api.BatchWriteItem(memory=pb.MemoryInput(text="the second good one")))
    answer = await raw.call("BatchWrite", api.BatchWriteRequest(user=owner, items=items))
    results = list(answer.results)
    assert [results[0].WhichOneof("result"), results[-1].WhichOneof("result")] == ["written", "written"]
    said = [(result.error.reason, result.error.field, result.error.code) for result in results[1:-1]]
    assert said == [(case.reason, f"items[{place}].{case.field}", 3) for place, case in enumerate(wrong, 1)]
    listed = await raw.call("ListMemories", api.ListMemoriesRequest(user=owner))
    assert [memory.text for memory in listed.memories] == ["the first good one", "the second good one"]
    assert MARK not in str([result.error for result in results[1:-1]])


async def test_limits_that_are_told_are_the_limits_that_hold(raw: Raw):
    told = dict((await raw.call("GetServerInfo", admin.GetServerInfoRequest())).limits)
    assert told == limits.as_mapping()
    just = "x" * told["text_chars_max"]
    owner = new_user()
    answer = await raw.call("Write", api.WriteRequest(user=owner, memory=pb.MemoryInput(text=just)))
    assert answer.memory.text == just


async def test_with_any_number_of_devices_a_context_can_be_given_back(raw: Raw):
    """Devices not seen for long are folded away, so that what a recall returns as seen never outgrows a request."""
    owner = new_user()
    for start in range(0, 1_200, 400):
        items = [
            api.BatchWriteItem(memory=pb.MemoryInput(text="the same every time"), dot=pb.Dot(device=f"device {n}"))
            for n in range(start, start + 400)
        ]
        answer = await raw.call("BatchWrite", api.BatchWriteRequest(user=owner, items=items))
        assert not [result for result in answer.results if result.HasField("error")]
    again = api.WriteRequest(
        user=owner, memory=pb.MemoryInput(text="again"), dot=pb.Dot(device="device 7", counter=2)
    )
    assert (await raw.call("Write", again)).effect == api.EFFECT_CREATED
    found = await raw.call("Recall", api.RecallRequest(user=owner, consistency=pb.Consistency(fully_consistent=True)))
    assert len(found.context.counters) < limits.CLOCK_DEVICES_MAX
    ids = api.MemoryIds(ids=[item.memory.id for item in found.memories])
    gone = await raw.call("Forget", api.ForgetRequest(user=owner, memories=ids, context=found.context))
    assert gone.forgotten_count == 2
