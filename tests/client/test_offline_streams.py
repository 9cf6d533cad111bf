"""The offline device over real streams, asynchronous and blocking."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import grpc
import pytest

import memory_service.client as sdk
from memory_service.client import AsyncMemoryClient, Dot, MemoryClient
from memory_service.client.offline import BlockingOfflineDevice, OfflineDevice
from tests.client.fake_server import Fail, FakeServer
from tests.client.fake_sync import BreakAfter, Silent

GONE = Fail(grpc.StatusCode.UNAVAILABLE, "SHUTTING_DOWN")


@pytest.fixture
async def phone(client: AsyncMemoryClient, tmp_path: Path) -> AsyncIterator[OfflineDevice]:
    async with OfflineDevice(tmp_path / "f", client, device="phone") as one:
        yield one


async def test_a_long_queue_goes_through_in_order(server: FakeServer, phone: OfflineDevice) -> None:
    for number in range(150):
        await phone.write(f"number {number} " + "x" * 500)
    report = await phone.sync()
    assert (report.accepted, report.received) == (150, 150)
    model = server.models["ann"]
    assert [text.split()[1] for text in model.made] == [str(number) for number in range(150)]
    assert not await phone.pending()
    assert len(await phone.memories()) == 150
    (opened,) = server.of("Sync")
    assert (opened.device, opened.cursor) == ("phone", "")
    await phone.sync()
    assert server.of("Sync")[-1].cursor == str(model.revision)


async def test_one_huge_change_and_many_small_ones(server: FakeServer, phone: OfflineDevice) -> None:
    for size in (16_000, 10, 16_000, 16_000, 10):
        await phone.write("文" * size)
        await phone.write(f"after {size} {len(await phone.pending())}")
    assert (await phone.sync()).accepted == 10


@pytest.mark.parametrize("failure", [GONE, None, Fail(grpc.StatusCode.UNKNOWN)])
async def test_it_goes_on_after_breaks(server: FakeServer, phone: OfflineDevice, failure: Fail | None) -> None:
    for number in range(10):
        await phone.write(f"number {number}")
    server.next("Sync stream", *[BreakAfter(count, failure) for count in (0, 1, 4, 9, 2, 2)])
    report = await phone.sync()
    assert report.interruptions in range(3, 7), "one that ends while something is sent is not waited out"
    assert sorted(server.models["ann"].made) == sorted(f"number {number}" for number in range(10))
    assert len(await phone.memories()) == 10


async def test_why_a_stream_ended_is_told(server: FakeServer, phone: OfflineDevice) -> None:
    """Though grpc.aio loses it when the stream ends while something is being sent."""
    for number in range(10):
        await phone.write(f"number {number}")
    failure = Fail(grpc.StatusCode.ABORTED, "DEVICE_COUNTER_REUSED")
    server.next("Sync stream", *[BreakAfter(4, failure)] * 2)
    with pytest.raises(sdk.DeviceOutOfStep):
        await phone.sync()
    server.script["Sync stream"].clear()
    await phone.sync()
    assert len(server.models["ann"].made) == 10


async def test_a_silent_service_is_left(server: FakeServer, phone: OfflineDevice) -> None:
    await phone.write("tea")
    server.next("Sync stream", Silent(1))
    report = await phone.sync(idle_seconds=0.1)
    assert (report.interruptions, report.accepted) == (1, 1)


async def test_an_absent_service_keeps_the_queue(server: FakeServer, phone: OfflineDevice) -> None:
    await phone.write("tea")
    server.stop()
    with pytest.raises(sdk.Unavailable):
        await phone.sync()
    assert len(await phone.pending()) == 1
    server.start()
    assert (await phone.sync()).accepted == 1


async def test_writes_go_on_while_a_sync_runs(server: FakeServer, phone: OfflineDevice) -> None:
    for number in range(20):
        await phone.write(f"number {number}")
    syncing = asyncio.create_task(phone.sync())
    await asyncio.sleep(0)
    with pytest.raises(sdk.DeviceError, match="under way"):
        await phone.sync()
    dots = [await phone.write(f"meanwhile {number}") for number in range(5)]
    await syncing
    await phone.sync()
    assert dots[-1] == Dot("phone", 25)
    assert len(server.models["ann"].made) == 25


async def test_a_cancelled_sync_leaves_the_device_usable(server: FakeServer, phone: OfflineDevice) -> None:
    await phone.write("tea")
    server.next("Sync stream", Silent(1))
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.1):
            await phone.sync()
    assert (await phone.sync()).accepted == 1
    await phone.close()
    with pytest.raises(sdk.DeviceError, match="closed"):
        await phone.write("late")


def test_the_blocking_device(server: FakeServer, blocking: MemoryClient, tmp_path: Path) -> None:
    with BlockingOfflineDevice(tmp_path / "f", blocking, device="phone") as phone:
        for number in range(80):
            phone.write(f"number {number}")
        server.next("Sync stream", BreakAfter(30, GONE), Silent(40))
        report = phone.sync(idle_seconds=0.3)
        assert (report.interruptions, report.accepted) == (2, 80)
        assert len(phone.memories()) == 80


async def test_the_users_and_agents_of_a_client_travel(server: FakeServer, tmp_path: Path) -> None:
    async with (
        AsyncMemoryClient(server.target, "ms_test_0123456789", user="bob", agent="bot", device="tv") as client,
        OfflineDevice(tmp_path / "g", client) as device,
    ):
        await device.write("tea")
        assert (await device.state()).user == "bob"
        await device.sync()
    (opened,) = server.of("Sync")
    assert (opened.user, opened.device) == ("bob", "tv")
    assert server.models["bob"].made == ["tea"]
