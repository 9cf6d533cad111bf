"""Watching over streams that break: nothing missed, nothing told twice."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence

import grpc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import memory_service.client as sdk
from memory_service.client import AsyncMemoryClient, MemoryClient, MemoryClientError, WatchCheckpoint, WatchEvent
from tests.client.conftest import QUICK
from tests.client.fake_server import KEY, Fail, FakeServer
from tests.client.fake_sync import BreakAfter, Silent

SLOW = Fail(grpc.StatusCode.RESOURCE_EXHAUSTED, "WATCHER_TOO_SLOW")
CUT = Fail(grpc.StatusCode.INTERNAL)  # as gRPC says of a reset stream: no reason of the service's
GONE = Fail(grpc.StatusCode.UNAVAILABLE, "SHUTTING_DOWN")


async def events(watch: sdk.AsyncWatch, count: int) -> list[WatchEvent]:
    found: list[WatchEvent] = []
    async with asyncio.timeout(10):
        async for told in watch:
            if isinstance(told, WatchEvent):
                found.append(told)
            if len(found) == count:
                break
    await watch.aclose()
    return found


def names(told: Sequence[WatchEvent]) -> list[str]:
    return [one.memory_id for one in told]


async def test_events_and_checkpoints(server: FakeServer, client: AsyncMemoryClient) -> None:
    server.tell(1, "before")
    watch = client.watch(events=["created"], kinds=["fact"], agent="a", checkpoint_seconds=1)
    assert await anext(watch) == WatchCheckpoint("1"), "the first says from where"
    server.tell(2, "x", event="superseded")
    server.tell(3, "a")
    (told,) = await events(watch, 1)
    assert told.memory is not None
    assert (told.memory_id, told.event.event, told.memory.text) == ("a", "created", "text of a")
    (request,) = server.of("Watch")
    assert (request.user, request.agent, list(request.events)) == ("ann", "a", ["created"])
    assert request.checkpoint_interval.seconds == 1


async def test_from_the_start_or_a_cursor(server: FakeServer, client: AsyncMemoryClient) -> None:
    for revision in range(1, 5):
        server.tell(revision, f"m{revision}")
    assert names(await events(client.watch(from_start=True), 4)) == ["m1", "m2", "m3", "m4"]
    watch = client.watch("2", from_start=True)
    assert names(await events(watch, 2)) == ["m3", "m4"]
    assert watch.cursor == "3", "the change of m4 may not be complete yet"


@pytest.mark.parametrize("failure", [None, SLOW, GONE, CUT, Fail(grpc.StatusCode.CANCELLED)])
async def test_a_break_within_a_change_loses_and_repeats_nothing(
    server: FakeServer, client: AsyncMemoryClient, failure: Fail | None
) -> None:
    server.tell(1, "a")
    server.tell(2, "b", "c", "d")
    server.tell(3, "e")
    told: list[MemoryClientError] = []
    # The first message of a stream is its checkpoint.
    server.next("Watch stream", BreakAfter(3, failure), BreakAfter(0, failure), BreakAfter(3, failure))
    watch = client.watch(from_start=True, on_interruption=told.append)
    found = await events(watch, 5)
    assert names(found) == ["a", "b", "c", "d", "e"]
    assert len(told) == 3
    assert [request.cursor for request in server.of("Watch")] == ["", "1", "1"]
    assert [one.cursor for one in found] == ["0", "1", "1", "1", "2"], "each resumes so that nothing is missed"


@settings(max_examples=25)
@given(
    changes=st.lists(st.integers(1, 3), min_size=1, max_size=6),
    breaks=st.lists(st.integers(0, 4), max_size=6),
)
def test_whatever_breaks_every_event_is_told_once(changes: list[int], breaks: list[int]) -> None:
    server = FakeServer()  # type: ignore[abstract]
    try:
        expected = []
        for revision, size in enumerate(changes, start=1):
            of_change = [f"m{revision}-{index}" for index in range(size)]
            server.tell(revision, *of_change)
            expected += of_change
        server.next("Watch stream", *[BreakAfter(count, GONE) for count in breaks])
        with MemoryClient(server.target, KEY, user="ann", retry=QUICK) as client:
            found: list[str] = []
            for told in client.watch(from_start=True):
                if isinstance(told, WatchEvent):
                    found.append(told.memory_id)
                if len(found) == len(expected):
                    break
        assert found == expected
    finally:
        server.stop()


async def test_a_dead_stream_is_noticed(server: FakeServer, client: AsyncMemoryClient) -> None:
    server.tell(1, "a")
    server.tell(2, "b")
    server.next("Watch stream", Silent(2))
    watch = client.watch(from_start=True, checkpoint_seconds=0.03, timeout_seconds=0.1)
    assert names(await events(watch, 2)) == ["a", "b"]


def test_a_dead_stream_is_noticed_by_the_blocking_client(server: FakeServer, blocking: MemoryClient) -> None:
    server.tell(1, "a")
    server.tell(2, "b")
    server.next("Watch stream", Silent(2))
    with blocking.watch(from_start=True, checkpoint_seconds=0.03, timeout_seconds=0.1) as watch:
        told = (one for one in watch if isinstance(one, WatchEvent))
        assert [next(told).memory_id, next(told).memory_id] == ["a", "b"]


async def test_a_cursor_that_is_too_old_is_the_callers_business(
    server: FakeServer, client: AsyncMemoryClient
) -> None:
    server.next("Watch", Fail(grpc.StatusCode.OUT_OF_RANGE, "CURSOR_TOO_OLD"))
    with pytest.raises(sdk.OutOfRange) as known:
        await anext(client.watch("1"))
    assert known.value.reason == "CURSOR_TOO_OLD"
    server.next("Watch", Fail(grpc.StatusCode.INTERNAL, "INTERNAL"))
    with pytest.raises(sdk.Internal):
        await anext(client.watch("1"))
    server.next("Watch", Fail(grpc.StatusCode.INVALID_ARGUMENT, "CURSOR_INVALID"))
    with pytest.raises(sdk.InvalidArgument):
        await anext(client.watch("1"))


async def test_a_service_that_was_never_there_is_given_up(server: FakeServer) -> None:
    async with AsyncMemoryClient("127.0.0.1:1", KEY, user="ann", timeout_seconds=0.2, retry=QUICK) as nobody:
        with pytest.raises(sdk.Unavailable):
            await anext(nobody.watch())


async def test_a_service_that_comes_back_is_waited_for(server: FakeServer, client: AsyncMemoryClient) -> None:
    server.tell(1, "a")
    watch = client.watch(from_start=True, timeout_seconds=0.05)
    assert isinstance(await anext(watch), WatchCheckpoint)
    assert names([one for one in [await anext(watch)] if isinstance(one, WatchEvent)]) == ["a"]
    await asyncio.to_thread(server.stop)
    waiting = asyncio.create_task(events(watch, 1))
    await asyncio.sleep(0.15)  # longer than a service never reached is tried
    server.tell(2, "b")
    server.start()
    assert names(await waiting) == ["b"]


def test_closing_ends_the_iteration(server: FakeServer, blocking: MemoryClient) -> None:
    watch = blocking.watch()
    threading.Timer(0.1, watch.close).start()
    assert len(list(watch)) == 1
    assert not list(watch)


async def test_closing_ends_the_asynchronous_iteration(server: FakeServer, client: AsyncMemoryClient) -> None:
    async with client.watch() as watch:
        await anext(watch)
        asyncio.get_running_loop().call_later(0.05, asyncio.create_task, watch.aclose())
        assert [one async for one in watch] == []


async def test_a_closed_client_ends_it_too(server: FakeServer) -> None:
    client = AsyncMemoryClient(server.target, KEY, user="ann", retry=QUICK)
    watch = client.watch()
    await anext(watch)
    asyncio.get_running_loop().call_later(0.05, asyncio.create_task, client.close())
    with pytest.raises(sdk.ClientClosed):
        await anext(watch)


async def test_cancelling_is_not_a_break(server: FakeServer, client: AsyncMemoryClient) -> None:
    watch = client.watch()
    await anext(watch)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await anext(watch)
    assert len(server.of("Watch")) == 1
