"""What the client sends for each call, and what it makes of the answer."""

from __future__ import annotations

import dataclasses
import tomllib
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from memory_service.client import (
    AsyncMemoryClient,
    Consistency,
    Context,
    CorrectionNature,
    Dot,
    Effect,
    Kind,
    MemoryClient,
    MemoryFilter,
    NewMemory,
    NotFound,
    Role,
    Slot,
    Status,
)
from memory_service.client.plumbing import CLIENT_VERSION
from memory_service.client.sync import MemoryClient as SyncClient
from memory_service.v1 import memory_service_pb2 as api
from memory_service.v1 import types_pb2 as pb
from tests.client.fake_server import KEY, FakeServer

NOON_IN_SHANGHAI = datetime(2026, 3, 1, 12, 0, 0, 123456, tzinfo=timezone(timedelta(hours=8)))


async def test_write_sends_every_field_and_the_key(server: FakeServer, client: AsyncMemoryClient) -> None:
    result = await client.write(
        "I moved to Berlin",
        predicate="location",
        object={"city": "Berlin", "floor": 3},
        kind="profile",
        topic="home",
        tags=["a", "b"],
        source="explicit",
        confidence=0.0,
        importance=0.7,
        valid_from=NOON_IN_SHANGHAI,
        time_zone="Europe/Berlin",
        visibility="private",
        pinned=True,
        embedding=[0.5, 0.25],
        agent="planner",
        session="s1",
        process="p",
        reference="msg-1",
        derived_from=["x"],
    )
    (call,) = server.calls
    sent = call.request.memory
    assert call.metadata["authorization"] == f"Bearer {KEY}"
    assert call.metadata["user-agent"].startswith("memory-service-python/")
    assert call.request.user == "ann"
    assert len(call.request.request_id) == 32
    assert not call.request.HasField("dot")
    assert not call.request.HasField("context"), "a new statement has seen what the server has"
    assert (sent.assertion.subject, sent.assertion.predicate) == ("user", "location")
    assert sent.assertion.object.struct_value.fields["floor"].number_value == 3
    assert sent.HasField("confidence")
    assert sent.confidence == 0
    assert sent.kind == pb.KIND_PROFILE
    assert sent.visibility == pb.VISIBILITY_PRIVATE
    assert sent.valid_from.ToJsonString() == "2026-03-01T04:00:00.123456Z"
    assert not sent.HasField("valid_to")
    assert list(sent.embedding) == [0.5, 0.25]
    assert list(sent.derived_from) == ["x"]
    assert result.effect is Effect.CREATED
    assert result.memory is not None
    assert result.memory.assertion is not None
    assert result.memory.assertion.object == {"city": "Berlin", "floor": 3}
    assert result.memory.kind is Kind.PROFILE
    assert result.memory.recorded_at == datetime(2026, 1, 1, tzinfo=UTC)
    assert result.memory.expires_at is None


async def test_client_defaults_travel_and_a_call_overrides_them(server: FakeServer) -> None:
    async with AsyncMemoryClient(
        server.target, KEY, user="ann", device="phone", agent="planner", session="s9"
    ) as client:
        await client.write("one")
        await client.write("two", agent="other", user="bob", dot=Dot("phone", 7), context=Context({"tv": 2}))
        await client.recall("one")
        await client.recall("one", agent="")
    first, second = server.of("Write")
    assert (first.user, first.memory.agent, first.memory.session) == ("ann", "planner", "s9")
    assert (first.dot.device, first.dot.counter) == ("phone", 0)
    assert (second.user, second.memory.agent) == ("bob", "other")
    assert (second.dot.device, second.dot.counter) == ("phone", 7)
    assert dict(second.context.counters) == {"tv": 2}
    assert [request.agent for request in server.of("Recall")] == ["planner", ""]


async def test_an_empty_context_is_sent_as_such(server: FakeServer, client: AsyncMemoryClient) -> None:
    await client.write("nothing seen", context=Context())
    assert server.of("Write")[0].HasField("context"), "has seen nothing is not the same as has seen all"


async def test_recall_sends_its_arguments(server: FakeServer, client: AsyncMemoryClient) -> None:
    await client.write("tea in the morning")
    result = await client.recall(
        "tea",
        limit=3,
        where=MemoryFilter(kinds=["fact"], statuses=[Status.ACTIVE], slots=[Slot("user", "diet")], tags_any=["x"]),
        consistency=Consistency.fully_consistent(),
        as_of_valid=NOON_IN_SHANGHAI,
        profile="work",
        token_budget=100,
        read_only=True,
    )
    (request,) = server.of("Recall")
    assert request.limit == 3
    assert list(request.filter.kinds) == [pb.KIND_FACT]
    assert request.filter.slots[0].predicate == "diet"
    assert request.consistency.fully_consistent
    assert request.as_of_valid.seconds == int(NOON_IN_SHANGHAI.timestamp())
    assert not request.HasField("as_of_recorded")
    assert (request.profile, request.token_budget, request.read_only) == ("work", 100, True)
    assert len(result) == 1
    assert [found.memory.text for found in result] == ["tea in the morning"]
    assert result.stages[0].duration == timedelta(milliseconds=3)
    assert result.memories[0].why == "1 words in common"


async def test_times_travel_with_every_read(server: FakeServer, client: AsyncMemoryClient) -> None:
    written = await client.write("tea")
    assert written.memory is not None
    at = int(NOON_IN_SHANGHAI.timestamp())
    await client.get(written.memory.id, as_of_valid=NOON_IN_SHANGHAI)
    assert [one async for one in client.list(as_of_recorded=NOON_IN_SHANGHAI)]
    await client.recall("tea", resolve_time=True, time_zone="Asia/Shanghai")
    (shown,), (listed,), (asked,) = server.of("GetMemory"), server.of("ListMemories"), server.of("Recall")
    assert (shown.as_of_valid.seconds, shown.HasField("as_of_recorded")) == (at, False)
    assert (listed.as_of_recorded.seconds, listed.HasField("as_of_valid")) == (at, False)
    assert (asked.resolve_time, asked.time_zone) == (True, "Asia/Shanghai")


async def test_correct_by_id_and_by_slot(server: FakeServer, client: AsyncMemoryClient) -> None:
    written = await client.write("tea")
    assert written.memory is not None
    fixed = await client.correct(
        written.memory.id,
        "coffee",
        nature=CorrectionNature.OUTDATED,
        changed_at=NOON_IN_SHANGHAI,
        etag=written.memory.etag,
        reason="asked",
    )
    await client.correct(slot=("user", "location"), object="Bonn")
    by_id, by_slot = server.of("Correct")
    assert fixed.memory is not None
    assert (fixed.memory.version, fixed.memory.text, fixed.effect) == (2, "coffee", Effect.UPDATED)
    assert by_id.nature == api.CORRECTION_NATURE_OUTDATED
    assert not by_id.HasField("update_mask")
    assert not by_id.memory.agent, "a correction changes only what it names"
    assert by_slot.WhichOneof("target") == "slot"
    assert (by_slot.memory.assertion.subject, by_slot.memory.assertion.predicate) == ("user", "location")


async def test_a_correction_that_empties_a_field_names_its_fields(
    server: FakeServer, client: AsyncMemoryClient
) -> None:
    written = await client.write("tea")
    assert written.memory is not None
    await client.correct(written.memory.id, "green tea", tags=[], pinned=False, object=None)
    await client.correct(written.memory.id, topic="drinks", importance=0.0, agent="")
    await client.correct(written.memory.id, topic="drinks", session="")
    await client.correct(written.memory.id, "x", update_mask=["text"])
    masks = [list(request.update_mask.paths) for request in server.of("Correct")]
    assert masks == [["assertion", "pinned", "tags", "text"], ["importance", "topic"], [], ["text"]]


async def test_forget_preview_changes_nothing(server: FakeServer, client: AsyncMemoryClient) -> None:
    written = await client.write("tea", tags=["t"])
    assert written.memory is not None
    preview = await client.forget(where=MemoryFilter(tags_any=["t"]), validate_only=True)
    assert [memory.text for memory in preview.preview] == ["tea"]
    assert server.of("Forget")[0].request_id == ""
    done = await client.forget(written.memory.id)
    assert done.memory_ids == (written.memory.id,)
    with pytest.raises(NotFound) as caught:
        await client.get(written.memory.id)
    assert caught.value.reason == "MEMORY_NOT_FOUND"


async def test_list_follows_every_page(server: FakeServer, client: AsyncMemoryClient) -> None:
    await client.write_many(f"memory {number}" for number in range(7))
    texts = [memory.text async for memory in client.list(page_size=3)]
    assert texts == [f"memory {number}" for number in range(7)]
    assert [request.page_token for request in server.of("ListMemories")] == ["", "3", "6"]


async def test_history_rollback_prewarm_and_keys(client: AsyncMemoryClient) -> None:
    written = await client.write("first")
    assert written.memory is not None
    await client.correct(written.memory.id, "second", reason="typo")
    rolled = await client.rollback(written.memory.id, 1)
    assert rolled.memory is not None
    assert (rolled.memory.text, rolled.effect) == ("first", Effect.UPDATED)
    history = await client.history(written.memory.id)
    assert [version.text for version in history.versions] == ["first", "second", "first"]
    assert [event.reason for event in history.events] == ["", "typo", ""]
    assert (await client.prewarm()).memories == 1
    made = await client.create_key("laptop", roles=["reader", Role.WRITER], users=["ann"])
    assert made.secret not in repr(made)
    assert (await client.list_keys())[0].roles == (Role.READER, Role.WRITER)
    await client.revoke_key(made.key.id)
    assert (await client.list_keys())[0].revoked_at == datetime(2026, 1, 2, tzinfo=UTC)
    info = await client.server_info()
    assert (info.version, info.embedding_dimension) == ("9.9.9", 256)
    assert info.limits == {"text_characters_max": 16384}


async def test_background_work(client: AsyncMemoryClient, server: FakeServer) -> None:
    view = await client.list_jobs()
    decay, learn = view.jobs
    assert (view.workers, decay.name, decay.every, decay.oldest_waiting) == (
        2,
        "upkeep.decay",
        timedelta(hours=1),
        timedelta(seconds=90),
    )
    assert (learn.every, learn.next_due_at, learn.last_run_at) == (None, None, None)
    good, _, broken = await client.run_upkeep("decay", "broken", user="bob")
    assert (good.step, good.changed, good.error_reason) == ("decay", 3, "")
    assert (broken.step, broken.error_reason, broken.error_message) == ("broken", "INTERNAL", "it broke")
    failed = await client.list_failed_jobs(limit=2)
    assert [job.id for job in failed] == [9, 2**40]
    assert await client.requeue_jobs([job.id for job in failed]) == 2


def test_the_client_names_its_release() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["project"]["version"] == CLIENT_VERSION


async def test_answers_are_frozen(client: AsyncMemoryClient) -> None:
    result = await client.write("frozen")
    assert result.memory is not None
    with pytest.raises(dataclasses.FrozenInstanceError):
        result.memory.text = "melted"  # type: ignore[misc]


def test_the_blocking_client_does_the_same(server: FakeServer, blocking: MemoryClient) -> None:
    written = blocking.write("tea", kind=Kind.PREFERENCE)
    assert written.memory is not None
    assert [found.memory.id for found in blocking.recall("tea")] == [written.memory.id]
    outcomes = blocking.write_many(
        [NewMemory(f"{user} {number}", user=user) for number in range(5) for user in ("ann", "bob", "cy")],
        batch_size=2,
        concurrency=3,
    )
    assert [outcome.item.text for outcome in outcomes[:3]] == ["ann 0", "bob 0", "cy 0"]
    assert all(outcome.error is None for outcome in outcomes)
    assert [memory.text for memory in blocking.list(user="bob", page_size=2)] == [
        f"bob {number}" for number in range(5)
    ]
    blocking.correct(written.memory.id, "coffee")
    assert blocking.history(written.memory.id).versions[-1].text == "coffee"
    assert blocking.causal_context() is not None
    assert repr(blocking) == f"MemoryClient(target='{server.target}', user='ann', device='')"


def test_the_blocking_client_has_every_method_of_the_other() -> None:
    def public(kind: type) -> set[str]:
        return {name for name in dir(kind) if not name.startswith("_")}

    assert public(AsyncMemoryClient) <= public(SyncClient)
    assert SyncClient.write.__doc__ == AsyncMemoryClient.write.__doc__
