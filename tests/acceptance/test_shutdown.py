"""Start and stop: open requests are answered, nothing stays behind, and what is refused says why."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from memory_service.adapters.embedded import EmbeddedStack
from memory_service.v1 import memory_service_pb2 as api
from memory_service.v1 import types_pb2 as pb
from tests.acceptance.locks import held, waits
from tests.acceptance.raw import Raw, refusal
from tests.acceptance.service import ServiceProcess, all_processes, put_away, serving
from tests.acceptance.world import first_key, new_user
from tests.conftest import NewDatabase


@contextlib.asynccontextmanager
async def external(
    stack: EmbeddedStack, new_database: NewDatabase, data_dir: Path, **more: str
) -> AsyncIterator[tuple[ServiceProcess, str, str]]:
    """A server on databases of the test's: it starts and stops quickly. Gives it, an admin's key and the DSN."""
    async with new_database() as dsn:
        env = {"MEMORY_SERVICE_DATABASE_URL": dsn, "MEMORY_SERVICE_REDIS_URL": stack.redis_url, **more}
        async with serving(data_dir, env) as service:
            yield service, await first_key(dsn), dsn


def statement(user: str, text: str) -> api.WriteRequest:
    return api.WriteRequest(user=user, memory=pb.MemoryInput(text=text))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_open_requests_are_answered_and_new_ones_sent_elsewhere(
    number: signal.Signals, stack: EmbeddedStack, new_database: NewDatabase, data_dir: Path
):
    user = new_user()
    async with external(stack, new_database, data_dir) as (service, key, dsn), service.raw(key) as raw:
        await raw.call("Write", statement(user, "written before"))
        async with held(dsn, user):
            open_call = asyncio.create_task(raw.call("Write", statement(user, "under way")))
            await waits(dsn)
            service.signal(number)
            await service.until(lambda: "stopping" in service.log, "it begins to stop")
            await refused_now(raw, user)
            assert (await service.page("/readyz"))[0] == 503
            assert (await service.page("/livez"))[0] == 200
            assert not open_call.done()
        answer = await open_call
        assert answer.memory.text == "under way"
        assert await service.wait() == 0
        assert service.log.rstrip().endswith("stopped")
        assert "Traceback" not in service.log
        assert service.pids() == []


async def refused_now(raw: Raw, user: str) -> None:
    """A request that comes while the server drains is refused by word, so that the caller goes elsewhere."""
    deadline = time.monotonic() + 10
    while True:
        try:
            await raw.call("Prewarm", api.PrewarmRequest(user=user), timeout=5)
        except grpc.aio.AioRpcError as error:
            said = refusal(error)
            assert (said.code, said.reason) == ("UNAVAILABLE", "SHUTTING_DOWN")
            return
        assert time.monotonic() < deadline, "it goes on serving"


async def test_who_watches_its_health_does_not_hold_it_up(
    stack: EmbeddedStack, new_database: NewDatabase, data_dir: Path
):
    """A load balancer keeps a Watch open for good: it hears NOT_SERVING and is then let go."""
    server = external(stack, new_database, data_dir)
    async with server as (service, _, _dsn), grpc.aio.insecure_channel(service.target) as channel:
        stub: Any = health_pb2_grpc.HealthStub(channel)
        watch = stub.Watch(health_pb2.HealthCheckRequest())
        assert (await watch.read()).status == health_pb2.HealthCheckResponse.SERVING
        began = time.monotonic()
        service.signal(signal.SIGTERM)
        assert (await watch.read()).status == health_pb2.HealthCheckResponse.NOT_SERVING
        assert await service.wait() == 0
        assert time.monotonic() - began < 20


async def test_a_request_that_never_ends_is_cut_when_the_time_to_drain_is_over(
    stack: EmbeddedStack, new_database: NewDatabase, data_dir: Path
):
    user = new_user()
    quick = {"MEMORY_SERVICE_DRAIN_SECONDS_MAX": "0.5"}
    async with external(stack, new_database, data_dir, **quick) as (service, key, dsn), service.raw(key) as raw:
        await raw.call("Write", statement(user, "written before"))
        async with held(dsn, user):
            open_call = asyncio.create_task(raw.call("Write", statement(user, "stuck")))
            await waits(dsn)
            assert await service.stop() == 0
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await open_call
            assert caught.value.code() in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED)
        assert service.pids() == []


async def test_embedded_databases_end_with_it_and_come_back_with_the_same_data_and_key(mended: ServiceProcess):
    service, user = mended, new_user()
    key = service.key
    async with service.client(user) as memory:
        written = await memory.write("I live by the sea")
    pids = service.pids()
    assert len(pids) >= 5
    for number in (signal.SIGTERM, signal.SIGINT):
        assert await service.stop(number) == 0
        assert service.pids() == []
        assert not set(pids) & set(all_processes())
        assert not (service.data_dir / "postgres" / "postmaster.pid").exists()
        began = time.monotonic()
        await service.start()
        assert time.monotonic() - began < 30
        assert "making the database files" not in service.log
        assert service.key == key
        async with service.client(user) as memory:
            (found,) = await memory.recall("where do I live?")
            assert written.memory is not None
            assert found.memory.id == written.memory.id


async def test_the_ready_lines_say_where_everything_is(service: ServiceProcess):
    said = service.log
    assert f"ready: gRPC on {service.target}, metrics and health on {service.ops}" in said
    assert f"data: {service.data_dir}" in said
    assert "credentials.json" in said
    assert "try: " in said
    assert service.key not in said
    assert (service.data_dir / "credentials.json").stat().st_mode & 0o077 == 0
    assert service.credentials == {"target": service.target, "key": service.key, "tenant": "default"}


async def test_two_services_live_side_by_side(service: ServiceProcess, mended: ServiceProcess):
    user = new_user()
    assert service.data_dir != mended.data_dir
    assert len({service.target, mended.target, service.ops, mended.ops}) == 4
    async with service.client(user) as one, mended.client(user) as other:
        await one.write("said to the first")
        await other.write("said to the second")
        assert [found.memory.text for found in await one.recall()] == ["said to the first"]
        assert [found.memory.text for found in await other.recall()] == ["said to the second"]
    async with service.raw(mended.key) as raw:
        assert (await raw.refused("Prewarm", api.PrewarmRequest(user=user))).reason == "CREDENTIAL_INVALID"


async def test_a_data_directory_in_use_is_refused_by_name(service: ServiceProcess, tmp_path: Path):
    second = ServiceProcess(service.data_dir)
    second._starts = 100  # a log of its own
    try:
        said = await second.ends_badly()
    finally:
        await put_away(second)
    assert "cannot start" in said
    assert str(service.data_dir) in said
    assert str(service.pid) in said
    assert "Traceback" not in said
    async with service.client(new_user()) as memory:
        await memory.write("the first one goes on")


@pytest.mark.parametrize("which", ["LISTEN", "OPS_LISTEN"])
async def test_a_port_in_use_is_named(
    which: str, service: ServiceProcess, stack: EmbeddedStack, new_database: NewDatabase, data_dir: Path
):
    taken = service.target if which == "LISTEN" else service.ops.removeprefix("http://")
    async with new_database() as dsn:
        env = {"MEMORY_SERVICE_DATABASE_URL": dsn, "MEMORY_SERVICE_REDIS_URL": stack.redis_url}
        second = ServiceProcess(data_dir, {**env, f"MEMORY_SERVICE_{which}": taken})
        try:
            said = await second.ends_badly()
        finally:
            await put_away(second)
    assert "cannot start" in said
    assert taken in said
    assert "Traceback" not in said


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("MEMORY_SERVICE_LISTEN", "nonsense"),
        ("MEMORY_SERVICE_OPS_LISTEN", "127.0.0.1:99999"),
        ("MEMORY_SERVICE_LISTEN", "192.0.2.1:50051"),
        ("MEMORY_SERVICE_EMBEDDER", "nonsense"),
        ("MEMORY_SERVICE_DATABASE_URL", "nonsense"),
        ("MEMORY_SERVICE_REDIS_URL", "nonsense"),
        ("MEMORY_SERVICE_DATABASE_POOL_MAX", "-1"),
        ("MEMORY_SERVICE_MERGE_POLICIES", '{"default": {"shoe": "union"}}'),
        ("MEMORY_SERVICE_TLS_CERTIFICATE", "/certificate.pem"),
        ("MEMORY_SERVICE_TLS_KEY", "/key.pem"),
    ],
)
async def test_a_wrong_setting_is_named_in_a_sentence(
    name: str, value: str, stack: EmbeddedStack, new_database: NewDatabase, data_dir: Path
):
    async with new_database() as dsn:
        env = {"MEMORY_SERVICE_DATABASE_URL": dsn, "MEMORY_SERVICE_REDIS_URL": stack.redis_url, name: value}
        service = ServiceProcess(data_dir, env)
        try:
            said = await service.ends_badly()
        finally:
            await put_away(service)
    assert "Traceback" not in said
    assert value in said or name.removeprefix("MEMORY_SERVICE_").lower() in said


async def test_a_stop_while_it_starts_leaves_nothing(data_dir: Path):
    service = await ServiceProcess(data_dir).spawn()
    try:
        await service.until(lambda: "starting PostgreSQL" in service.log, "its databases are being started")
        assert await service.stop(signal.SIGINT) == 0
        assert service.pids() == []
        assert "Traceback" not in service.log
    finally:
        await put_away(service)
