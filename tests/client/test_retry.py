"""Sending again: only when it is safe and may help, within the deadline, with the same request id."""

from __future__ import annotations

import asyncio
import socket
import time
from typing import Any

import grpc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_service.client import (
    AsyncMemoryClient,
    ClientClosed,
    DeadlineExceeded,
    InvalidArgument,
    MemoryClient,
    ResourceExhausted,
    RetryPolicy,
    Unavailable,
    rpcs,
)
from memory_service.client.retry import Caller
from memory_service.v1 import memory_service_pb2 as api
from tests.client.conftest import TWICE
from tests.client.fake_server import KEY, Crash, Fail, FakeServer, Hang

UNAVAILABLE = grpc.StatusCode.UNAVAILABLE


async def test_a_write_whose_answer_was_lost_is_accepted_once(server: FakeServer, client: AsyncMemoryClient) -> None:
    server.next("Write", Fail(UNAVAILABLE, after_commit=True), Fail(UNAVAILABLE, "OVERLOADED"))
    result = await client.write("once")
    sent = server.of("Write")
    assert len(sent) == 3
    assert len({request.request_id for request in sent}) == 1
    assert len({request.SerializeToString(deterministic=True) for request in sent}) == 1
    assert result.replayed
    assert server.store.changes == 1


async def test_a_write_survives_a_broken_connection(server: FakeServer, client: AsyncMemoryClient) -> None:
    server.next("Write", Crash())
    result = await client.write("through a crash")
    assert result.replayed
    assert server.store.changes == 1
    assert len(server.of("Write")) == 2


def test_a_blocking_write_survives_a_broken_connection(server: FakeServer, blocking: MemoryClient) -> None:
    server.next("Write", Crash())
    assert blocking.write("through a crash").replayed
    assert server.store.changes == 1


async def test_every_change_is_repeated_with_its_id(server: FakeServer, client: AsyncMemoryClient) -> None:
    written = await client.write("a")
    assert written.memory is not None
    for method in ("Correct", "Rollback", "Forget", "BatchWrite"):
        server.next(method, Fail(UNAVAILABLE, after_commit=True))
    assert (await client.correct(written.memory.id, "b")).replayed
    assert (await client.rollback(written.memory.id, 1)).replayed
    outcomes = await client.write_many(["x", "y"])
    assert [outcome.result is not None and outcome.result.replayed for outcome in outcomes] == [True, True]
    assert (await client.forget(written.memory.id)).replayed
    assert server.store.changes == 6


async def test_the_callers_own_request_id_is_used(server: FakeServer, client: AsyncMemoryClient) -> None:
    first = await client.write("a", request_id="import-1")
    again = await client.write("a", request_id="import-1")
    assert (first.replayed, again.replayed) == (False, True)
    assert server.store.changes == 1


@pytest.mark.parametrize(
    "code",
    [
        grpc.StatusCode.INVALID_ARGUMENT,
        grpc.StatusCode.NOT_FOUND,
        grpc.StatusCode.ABORTED,
        grpc.StatusCode.FAILED_PRECONDITION,
        grpc.StatusCode.UNAUTHENTICATED,
        grpc.StatusCode.PERMISSION_DENIED,
        grpc.StatusCode.RESOURCE_EXHAUSTED,
        grpc.StatusCode.INTERNAL,
        grpc.StatusCode.UNKNOWN,
    ],
)
async def test_what_cannot_help_is_not_tried(
    server: FakeServer, client: AsyncMemoryClient, code: grpc.StatusCode
) -> None:
    server.next("Recall", Fail(code, "QUOTA_EXCEEDED"))
    with pytest.raises(Exception, match="scripted failure"):
        await client.recall("q")
    assert len(server.of("Recall")) == 1


@pytest.mark.parametrize("stated", ["metadata", "detail"])
async def test_a_rate_limit_is_waited_out(server: FakeServer, client: AsyncMemoryClient, stated: str) -> None:
    failure = Fail(grpc.StatusCode.RESOURCE_EXHAUSTED, "RATE_LIMITED")
    if stated == "metadata":
        failure.metadata = {"retry_after_ms": "150"}
    else:
        failure.retry_info_seconds = 0.15
    server.next("Recall", failure)
    started = time.monotonic()
    await client.recall("q")
    assert time.monotonic() - started >= 0.15
    assert len(server.of("Recall")) == 2


async def test_a_wait_past_the_deadline_is_not_begun(server: FakeServer, client: AsyncMemoryClient) -> None:
    limited = Fail(grpc.StatusCode.RESOURCE_EXHAUSTED, "RATE_LIMITED", metadata={"retry_after_ms": "60000"})
    server.next("Recall", limited)
    started = time.monotonic()
    with pytest.raises(ResourceExhausted) as caught:
        await client.recall("q")
    assert time.monotonic() - started < 20
    assert caught.value.retry_after_seconds == 60
    assert caught.value.attempts == 1


async def test_the_deadline_travels(server: FakeServer, client: AsyncMemoryClient) -> None:
    await client.recall("q", timeout_seconds=3.0)
    left = server.calls[0].seconds_left
    assert left is not None
    assert 0 < left < 3.1


class FailingWire:
    """A wire on which every attempt takes a second and fails; time is a number."""

    def __init__(self, code: grpc.StatusCode = UNAVAILABLE) -> None:
        self.time = 0.0
        self.timeouts: list[float] = []
        self.code = code

    async def unary(self, rpc: Any, request: Any, *, timeout: float, metadata: Any) -> Any:
        self.timeouts.append(timeout)
        self.time += min(timeout, 1.0)
        nothing = grpc.aio.Metadata()
        raise grpc.aio.AioRpcError(self.code, nothing, nothing, "down")

    def stream(self, rpc: Any, *, metadata: Any) -> Any: ...

    async def sleep(self, seconds: float) -> None:
        self.time += seconds

    async def close(self) -> None: ...

    def start(self, work: Any) -> Any: ...


async def test_each_attempt_is_given_what_is_left() -> None:
    wire = FailingWire()
    policy = RetryPolicy(backoff_seconds=0.5, backoff_seconds_max=0.5)
    caller = Caller(wire, "nowhere:1", policy, now=lambda: wire.time, draw=lambda: 1.0)
    with pytest.raises(Unavailable) as caught:
        await caller.call(rpcs.RECALL, api.RecallRequest(), timeout_seconds=5.0, metadata=())
    assert wire.timeouts == [5.0, 3.5, 2.0, 0.5]
    assert wire.time == 5.0
    assert caught.value.attempts == 4


async def test_an_attempts_own_limit_never_exceeds_what_is_left() -> None:
    wire = FailingWire(grpc.StatusCode.DEADLINE_EXCEEDED)
    policy = RetryPolicy(backoff_seconds=0.5, backoff_seconds_max=0.5, attempt_timeout_seconds=0.8)
    caller = Caller(wire, "nowhere:1", policy, now=lambda: wire.time, draw=lambda: 1.0)
    with pytest.raises(DeadlineExceeded):
        await caller.call(rpcs.RECALL, api.RecallRequest(), timeout_seconds=3.0, metadata=())
    assert wire.timeouts == pytest.approx([0.8, 0.8, 0.4])


async def test_silence_ends_with_the_deadline(server: FakeServer, client: AsyncMemoryClient) -> None:
    server.next("Write", Hang(after_commit=True))
    with pytest.raises(DeadlineExceeded) as caught:
        await client.write("x", timeout_seconds=0.2)
    assert isinstance(caught.value, TimeoutError)
    assert caught.value.request_id == server.of("Write")[0].request_id
    settled = await client.write("x", request_id=caught.value.request_id)
    assert settled.replayed


async def test_a_silent_attempt_is_followed_by_another(server: FakeServer) -> None:
    policy = RetryPolicy(backoff_seconds=0.01, attempt_timeout_seconds=0.15)
    server.next("Write", Hang(after_commit=True))
    async with AsyncMemoryClient(server.target, KEY, user="ann", retry=policy) as client:
        assert (await client.write("x")).replayed
    assert server.store.changes == 1


async def test_an_absent_server_is_named_with_the_attempts_made() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        target = f"127.0.0.1:{taken.getsockname()[1]}"
        async with AsyncMemoryClient(target, KEY, timeout_seconds=20, retry=TWICE) as client:
            with pytest.raises(Unavailable, match="cannot reach") as caught:
                await client.recall("q")
    assert caught.value.attempts == 2
    assert target in caught.value.message


async def test_attempts_are_bounded(server: FakeServer) -> None:
    server.next("Recall", *[Fail(UNAVAILABLE)] * 5)
    policy = RetryPolicy(attempts_max=3, backoff_seconds=0.001)
    async with AsyncMemoryClient(server.target, KEY, retry=policy) as client:
        with pytest.raises(Unavailable) as caught:
            await client.recall("q")
    assert caught.value.attempts == 3


async def test_a_key_is_never_made_twice(server: FakeServer, client: AsyncMemoryClient) -> None:
    server.next("CreateKey", Fail(UNAVAILABLE, after_commit=True))
    with pytest.raises(Unavailable):
        await client.create_key("laptop")
    assert len(server.store.keys) == 1


async def test_a_closed_client_says_so(server: FakeServer, client: AsyncMemoryClient) -> None:
    server.next("Recall", Hang())
    call = asyncio.create_task(client.recall("q"))
    assert await asyncio.to_thread(server.arrived.wait, 5)
    await client.close()
    with pytest.raises(ClientClosed):
        await call
    with pytest.raises(ClientClosed):
        await client.recall("q")


async def test_cancelling_a_call_cancels_it(server: FakeServer, client: AsyncMemoryClient) -> None:
    server.next("Recall", Hang())
    call = asyncio.create_task(client.recall("q"))
    assert await asyncio.to_thread(server.arrived.wait, 5)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call


def test_a_closed_blocking_client_says_so(blocking: MemoryClient) -> None:
    blocking.close()
    with pytest.raises(ClientClosed):
        blocking.recall("q")


async def test_a_bad_request_is_not_sent(server: FakeServer, client: AsyncMemoryClient) -> None:
    with pytest.raises(InvalidArgument):
        await client.recall("q", limit=2**40)
    assert not server.calls


@given(
    attempt=st.integers(1, 10_000),
    asked=st.none() | st.floats(0, 100),
    draw=st.floats(0, 1, exclude_max=True),
    first=st.floats(0.001, 1),
    longest=st.floats(1, 60),
)
def test_waits_are_jittered_bounded_and_no_shorter_than_asked(
    attempt: int, asked: float | None, draw: float, first: float, longest: float
) -> None:
    wait = RetryPolicy(backoff_seconds=first, backoff_seconds_max=longest).wait_seconds(attempt, asked, draw)
    assert wait >= (asked or 0)
    assert wait <= max(asked or 0, longest)
    assert wait >= min(first, longest) / 2


def test_waits_double() -> None:
    policy = RetryPolicy(backoff_seconds=0.1, backoff_seconds_max=1.0)
    waits = [policy.wait_seconds(attempt, None, 0.999999) for attempt in range(1, 7)]
    assert waits == pytest.approx([0.1, 0.2, 0.4, 0.8, 1.0, 1.0], rel=1e-3)


async def test_cancelling_an_import_does_not_wait_for_it(server: FakeServer, client: AsyncMemoryClient) -> None:
    server.next("BatchWrite", Hang())
    work = asyncio.create_task(client.write_many([f"memory {number}" for number in range(10)], batch_size=5))
    assert await asyncio.to_thread(server.arrived.wait, 5)
    work.cancel()
    started = time.monotonic()
    with pytest.raises(asyncio.CancelledError):
        await work
    assert time.monotonic() - started < 5
    assert len(server.of("BatchWrite")) == 1
