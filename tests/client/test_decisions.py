"""Deciding conflicts, revoking writers, forgetting by statement, and what a change tells of what it met."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

import memory_service.client as sdk
from memory_service.client import Assertion, AsyncMemoryClient, Dot, Effect, MemoryClient, NewMemory, Status, decode
from memory_service.v1 import memory_service_pb2 as api
from memory_service.v1 import types_pb2 as pb
from tests.client.fake_server import KEY, FakeServer

SINCE = datetime(2026, 5, 1, tzinfo=UTC)


async def test_a_conflict_is_decided(server: FakeServer, client: AsyncMemoryClient) -> None:
    ids = []
    for city in ("Bonn", "Ulm", "Kiel"):
        memory = (await client.write(f"I live in {city}")).memory
        assert memory is not None
        ids.append(memory.id)
    kept = await client.resolve_conflict(ids[:2], keep=ids[0], reason="asked", dot=Dot("phone", 7))
    assert kept.memory is not None
    assert (kept.memory.id, kept.effect, [one.memory_id for one in kept.affected]) == (
        ids[0],
        Effect.UPDATED,
        [ids[1]],
    )
    merged = await client.resolve_conflict(ids, merge=Assertion("user", "location", "Bonn"))
    assert merged.memory is not None
    dismissed = await client.resolve_conflict([merged.memory.id], dismiss=True)
    assert (dismissed.memory, dismissed.effect) == (None, Effect.RETRACTED)
    first, second, third = server.of("ResolveConflict")
    assert (first.keep, first.reason, first.dot.counter, list(first.memory_ids)) == (ids[0], "asked", 7, ids[:2])
    assert dict(first.context.counters) == {"server": 3}, "the decision says what its author had seen"
    assert second.merge.assertion.predicate == "location"
    assert third.dismiss
    assert len({request.request_id for request in (first, second, third)}) == 3
    assert client.token() == dismissed.token


@pytest.mark.parametrize("decision", [{}, {"keep": "a", "dismiss": True}, {"keep": "a", "merge": "x"}])
async def test_exactly_one_decision(client: AsyncMemoryClient, decision: dict[str, Any]) -> None:
    with pytest.raises(sdk.InvalidArgument, match="one of the three"):
        await client.resolve_conflict(["a", "b"], **decision)


async def test_a_writer_is_revoked_and_that_is_undone(server: FakeServer, client: AsyncMemoryClient) -> None:
    await client.write("by a bad agent", agent="bad")
    await client.write("by a good one", agent="good")
    seen = await client.revoke_writer(agent="bad", since=SINCE, validate_only=True)
    assert (seen.changes, [one.effect for one in seen.affected]) == (1, [Effect.RETRACTED])
    assert len([one async for one in client.list()]) == 2
    done = await client.revoke_writer(agent="bad", since=SINCE, reason="it lied")
    assert done.revision == 3
    assert [one.text async for one in client.list()] == ["by a good one"]
    undone = await client.undo_revocation(done.revision)
    assert [one.effect for one in undone.affected] == [Effect.REACTIVATED]
    assert len([one async for one in client.list()]) == 2
    preview, revoke, undo = server.of("RevokeWriter")
    assert preview.validate_only
    assert not preview.request_id
    assert (revoke.writer.agent, revoke.since.ToDatetime(UTC), revoke.reason) == ("bad", SINCE, "it lied")
    assert undo.undo_revision == 3


async def test_a_revocation_needs_a_writer_and_a_time(client: AsyncMemoryClient) -> None:
    with pytest.raises(sdk.InvalidArgument) as writer:
        await client.revoke_writer(since=SINCE)
    with pytest.raises(sdk.InvalidArgument) as since:
        await client.revoke_writer(device="phone")
    assert (writer.value.field, since.value.field) == ("writer", "since")


def test_the_blocking_client_decides_too(server: FakeServer, blocking: MemoryClient) -> None:
    first, second = blocking.write("a").memory, blocking.write("b").memory
    assert first is not None
    assert second is not None
    blocking.resolve_conflict([first.id, second.id], keep=first.id)
    revision = blocking.revoke_writer(device="phone", since=SINCE).revision
    assert blocking.undo_revocation(revision).changes == 0
    assert blocking.forget(statement="b").memory_ids == (second.id,)


@pytest.mark.parametrize(
    "statement",
    ["I live in Bonn", Assertion("user", "location", "Bonn"), NewMemory("x", {"topic": "home", "kind": "fact"})],
)
async def test_forgetting_a_statement(
    server: FakeServer, client: AsyncMemoryClient, statement: str | Assertion | NewMemory
) -> None:
    await client.forget(statement=statement, validate_only=True)
    await client.forget(statement=statement)
    preview, request = server.of("Forget")
    assert request.WhichOneof("target") == "statement"
    assert preview.statement == request.statement
    if isinstance(statement, Assertion):
        assert request.statement.assertion.object.string_value == "Bonn"
    else:
        assert request.statement.text in ("I live in Bonn", "x")


def test_what_a_change_met() -> None:
    """Both values, who said them, when, and by which clock."""

    def memory(name: str, value: str, status: pb.Status) -> pb.Memory:
        made = pb.Memory(id=name, text=value, status=status, context=pb.VectorClock(counters={"tv": 2}))
        made.assertion.CopyFrom(pb.Assertion(subject="user", predicate="location"))
        made.assertion.object.string_value = value
        made.dot.CopyFrom(pb.Dot(device=name, counter=3))
        made.provenance.CopyFrom(pb.Provenance(actor="key-1", agent="bot"))
        made.created_at.FromDatetime(SINCE)
        return made

    answer = api.WriteResponse(memory=memory("phone", "Ulm", pb.STATUS_CONTESTED), effect=api.EFFECT_CONTESTED)
    bonn = memory("laptop", "Bonn", pb.STATUS_CONTESTED)
    answer.affected.add(memory_id="laptop", effect=api.EFFECT_CONTESTED, memory=bonn, reason="neither saw the other")
    answer.affected.add(memory_id="other", effect=api.EFFECT_SUPPORTED)
    (met,) = decode.write_result(answer).conflicts
    assert met.mine is not None
    assert met.other is not None
    assert (met.effect, met.reason, met.memory_id) == (Effect.CONTESTED, "neither saw the other", "laptop")
    assert (met.mine.value, met.other.value) == ("Ulm", "Bonn")
    assert (met.other.device, met.other.agent, met.other.actor, met.other.created_at) == (
        "laptop",
        "bot",
        "key-1",
        SINCE,
    )
    assert (met.other.dot, met.other.context.counters) == (Dot("laptop", 3), {"tv": 2})
    alone = api.WriteResponse(memory=memory("phone", "Ulm", pb.STATUS_YIELDED), effect=api.EFFECT_YIELDED)
    (met,) = decode.write_result(alone).conflicts
    assert (met.effect, met.other) == (Effect.YIELDED, None)
    assert met.mine is not None
    assert met.mine.status is Status.YIELDED
    assert not decode.write_result(api.WriteResponse(effect=api.EFFECT_CREATED)).conflicts


async def test_feedback_names_each_memory_with_its_outcome(server: FakeServer, client: AsyncMemoryClient) -> None:
    ids = []
    for text in ("tea", "coffee"):
        memory = (await client.write(text)).memory
        assert memory is not None
        ids.append(memory.id)
    result = await client.record_feedback(adopted=ids[:1], rejected=[ids[1], "gone"])
    assert (result.recorded, result.missing_ids, result.replayed) == (2, ("gone",), False)
    (request,) = server.of("RecordFeedback")
    assert request.request_id
    adopted, rejected = api.RECALL_OUTCOME_ADOPTED, api.RECALL_OUTCOME_REJECTED
    told = [(item.memory_id, item.outcome) for item in request.items]
    assert told == [(ids[0], adopted), (ids[1], rejected), ("gone", rejected)]
    counts = [((await client.get(i)).memory.adopted_count, (await client.get(i)).memory.rejected_count) for i in ids]
    assert counts == [(1, 0), (0, 1)]


def test_the_blocking_client_gives_feedback_too(server: FakeServer) -> None:
    with MemoryClient(server.target, KEY, user="ann") as blocking:
        memory = blocking.write("tea").memory
        assert memory is not None
        assert blocking.record_feedback(adopted=[memory.id], request_id="r").recorded == 1
        assert blocking.record_feedback(adopted=[memory.id], request_id="r").replayed
