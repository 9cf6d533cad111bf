"""Databases that are away: said at start, told to callers while it lasts, over by itself (issue's "Bad input")."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import statistics
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from memory_service.adapters.embedded import EmbeddedStack
from memory_service.adapters.embedded.guard import find_processes
from memory_service.adapters.embedded.layout import DataDirectory
from memory_service.v1 import memory_service_pb2 as api
from memory_service.v1 import types_pb2 as pb
from tests.acceptance.leftovers import cached_with, kept_everywhere
from tests.acceptance.locks import held, waits
from tests.acceptance.raw import Raw, refusal
from tests.acceptance.service import ServiceProcess, free_port, put_away, serving
from tests.acceptance.world import first_key, new_user
from tests.conftest import NewDatabase

ANSWER_SECONDS_MAX = 12.0
"""A caller is never left longer than this without an answer, however the databases are."""


class Line:
    """A TCP port in front of a Unix socket, which can be cut and mended: an outage without killing anything."""

    def __init__(self, socket: Path) -> None:
        self.port = free_port()
        self._socket = socket
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()

    async def mend(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)

    async def cut(self) -> None:
        if self._server is not None:
            self._server.close()
            for writer in list(self._writers):
                writer.close()
            await self._server.wait_closed()
            self._server = None

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_unix_connection(str(self._socket))
        self._writers |= {writer, back}
        await asyncio.gather(_copy(reader, back), _copy(there, writer))
        self._writers -= {writer, back}


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError):
        while data := await reader.read(65_536):
            writer.write(data)
            await writer.drain()
    writer.close()
    with contextlib.suppress(ConnectionError):
        await writer.wait_closed()


def line_to_database(stack: EmbeddedStack, dsn: str) -> tuple[Line, str]:
    """A line to a database and the address by it."""
    parts = urlsplit(dsn)
    folder = parse_qs(parts.query)["host"][0]
    line = Line(Path(folder) / ".s.PGSQL.5432")
    return line, f"postgresql://{parts.username}@127.0.0.1:{line.port}{parts.path}"


def statement(user: str, text: str) -> api.WriteRequest:
    return api.WriteRequest(user=user, memory=pb.MemoryInput(text=text))


async def timed(call: Awaitable[object]) -> tuple[str, float]:
    """(code, seconds) of a call."""
    began = time.monotonic()
    try:
        await call
    except grpc.aio.AioRpcError as error:
        return error.code().name, time.monotonic() - began
    return "OK", time.monotonic() - began


async def until_ok(call: Callable[[], Awaitable[object]], seconds: float = 40.0) -> list[tuple[str, float]]:
    """Repeat a call until it succeeds; what was said before."""
    deadline = time.monotonic() + seconds
    said: list[tuple[str, float]] = []
    while True:
        code, took = await timed(call())
        if code == "OK":
            return said
        said.append((code, took))
        assert time.monotonic() < deadline, said[-5:]


async def test_a_database_away_at_start_and_later_is_told_and_waited_for(
    stack: EmbeddedStack, new_database: NewDatabase, data_dir: Path
):
    async with new_database() as dsn:
        line, address = line_to_database(stack, dsn)
        ops = free_port()
        env = {
            "MEMORY_SERVICE_DATABASE_URL": address,
            "MEMORY_SERVICE_REDIS_URL": stack.redis_url,
            "MEMORY_SERVICE_OPS_LISTEN": f"127.0.0.1:{ops}",
            "MEMORY_SERVICE_DATABASE_ACQUIRE_SECONDS_MAX": "2",
        }
        service = ServiceProcess(data_dir, env)
        service.ops = f"http://127.0.0.1:{ops}"
        try:
            await service.spawn()
            await service.until(lambda: "waiting for PostgreSQL" in service.log, "it says what it waits for")
            assert (await service.page("/livez"))[0] == 200
            status, body = await service.page("/readyz")
            assert (status, json.loads(body)["ready"]) == (503, False)
            assert "PostgreSQL" in body
            assert "Traceback" not in service.log
            await line.mend()
            await service.ready()
            assert (await service.page("/readyz"))[0] == 200
            key = await first_key(dsn)
            async with service.raw(key) as raw:
                await away_and_back(service, line, raw)
        finally:
            await put_away(service)
            await line.cut()


async def away_and_back(service: ServiceProcess, line: Line, raw: Raw) -> None:
    user = new_user()
    await raw.call("Write", statement(user, "written before the outage"))
    await line.cut()
    calls = [raw.call("Write", statement(user, f"during the outage {n}")) for n in range(30)]
    calls.append(raw.call("GetHistory", api.GetHistoryRequest(user=user, memory_id=user_id())))
    said = await asyncio.gather(*(timed(call) for call in calls))
    assert {code for code, _ in said} == {"UNAVAILABLE"}
    assert max(took for _, took in said) < ANSWER_SECONDS_MAX
    refusal = await raw.refused("Write", statement(user, "one more"))
    assert refusal.reason == "DATABASE_UNAVAILABLE"
    assert (await service.page("/livez"))[0] == 200
    status, body = await service.page("/readyz")
    assert status == 503
    assert "database" in body
    await line.mend()
    await until_ok(lambda: raw.call("Write", statement(user, "written after the outage")))
    listed = await raw.call("ListMemories", api.ListMemoriesRequest(user=user))
    assert [m.text for m in listed.memories] == ["written before the outage", "written after the outage"]
    assert (await service.page("/readyz"))[0] == 200
    assert "unexpected error" not in service.log


def user_id() -> str:
    return "00000000-0000-4000-8000-000000000000"


async def test_a_stop_while_it_waits_for_its_database_is_a_stop(data_dir: Path):
    env = {
        "MEMORY_SERVICE_DATABASE_URL": f"postgresql://nobody@127.0.0.1:{free_port()}/none",
        "MEMORY_SERVICE_REDIS_URL": f"redis://127.0.0.1:{free_port()}/0",
    }
    service = await ServiceProcess(data_dir, env).spawn()
    try:
        await service.until(lambda: "waiting for PostgreSQL" in service.log, "it waits")
        assert await service.stop() == 0
        assert service.pids() == []
        assert "Traceback" not in service.log
    finally:
        await put_away(service)


async def test_postgresql_killed_while_serving_comes_back_by_itself(mended: ServiceProcess):
    service, user = mended, new_user()
    async with service.raw() as raw:
        await raw.call("Write", statement(user, "written before the crash"))
        pid = int((service.data_dir / "postgres" / "postmaster.pid").read_text().splitlines()[0])
        os.kill(pid, signal.SIGKILL)
        said = await until_ok(lambda: raw.call("Write", statement(user, "written after the crash")))
        assert {code for code, _ in said} <= {"UNAVAILABLE"}
        assert max((took for _, took in said), default=0) < ANSWER_SECONDS_MAX
        listed = await raw.call("ListMemories", api.ListMemoriesRequest(user=user))
        assert [m.text for m in listed.memories] == ["written before the crash", "written after the crash"]
        found = await raw.call("Recall", api.RecallRequest(user=user, query="written"))
        assert len(found.memories) == 2
        assert "unexpected error" not in service.log


async def test_valkey_killed_while_serving_stops_nobody(mended: ServiceProcess):
    service, user = mended, new_user()
    async with service.raw() as raw:
        await raw.call("Write", statement(user, "note 0"))
        await raw.call("Recall", api.RecallRequest(user=user, query="note"))
        (pid,) = find_processes("valkey-server", DataDirectory(service.data_dir).tag)
        os.kill(pid, signal.SIGKILL)
        for n in range(1, 30):
            written = await raw.call("Write", statement(user, f"note {n}"))
            fresh = pb.Consistency(at_least_as_fresh=written.token)
            recall = api.RecallRequest(user=user, query=f"note {n}", limit=200, consistency=fresh)
            assert len((await raw.call("Recall", recall)).memories) == n + 1
        assert "unexpected error" not in service.log


async def test_what_is_forgotten_while_valkey_does_not_answer_leaves_it_afterwards(mended: ServiceProcess):
    service, user, word = mended, new_user(), "flibbertigib"
    async with service.raw() as raw:
        request = statement(user, f"the secret word is {word}")
        # Who names a context is not compared by wording, so no snapshot is loaded before there is content in it.
        request.context.SetInParent()
        written = await raw.call("Write", request)
        await kept_everywhere(service, raw, user, word)
        (pid,) = find_processes("valkey-server", DataDirectory(service.data_dir).tag)
        os.kill(pid, signal.SIGSTOP)
        try:
            target = api.MemoryIds(ids=[written.memory.id])
            code, seconds = await timed(raw.call("Forget", api.ForgetRequest(user=user, memories=target)))
            assert code == "OK"
            assert seconds < ANSWER_SECONDS_MAX
            assert not (await raw.call("Recall", api.RecallRequest(user=user, query=word))).memories
        finally:
            os.kill(pid, signal.SIGCONT)
        deadline = time.monotonic() + 40
        while await cached_with(service, word):
            assert time.monotonic() < deadline


async def test_redis_away_for_life_costs_nothing_but_the_cache(
    stack: EmbeddedStack, new_database: NewDatabase, data_dir: Path
):
    async with new_database() as dsn:
        env = {
            "MEMORY_SERVICE_DATABASE_URL": dsn,
            "MEMORY_SERVICE_REDIS_URL": f"redis://127.0.0.1:{free_port()}/0",
        }
        async with serving(data_dir, env) as service, service.raw(await first_key(dsn)) as raw:
            assert (await service.page("/readyz"))[0] == 200
            user = new_user()
            made = [await raw.call("Write", statement(user, f"book number {n}")) for n in range(30)]
            seconds = []
            for n in range(40):
                # A new question each time: each misses every cache there could be.
                recall = api.RecallRequest(
                    user=user,
                    query=f"which book is number {n}?",
                    limit=200,
                    consistency=pb.Consistency(at_least_as_fresh=made[-1].token),
                )
                began = time.monotonic()
                answer = await raw.call("Recall", recall)
                seconds.append(time.monotonic() - began)
                assert len(answer.memories) == 30
                assert not answer.degraded
            assert statistics.median(seconds) < 0.05
            target = api.MemoryIds(ids=[made[0].memory.id])
            gone = await raw.call("Forget", api.ForgetRequest(user=user, memories=target))
            fresh = pb.Consistency(at_least_as_fresh=gone.token)
            after = await raw.call("Recall", api.RecallRequest(user=user, limit=200, consistency=fresh))
            assert len(after.memories) == 29
            assert "unexpected error" not in service.log
            assert await service.stop() == 0


async def test_a_user_whose_changes_are_stuck_is_told_so_and_stops_nobody_else(
    stack: EmbeddedStack, new_database: NewDatabase, data_dir: Path
):
    """More stuck callers than connections, so that a pool that runs dry would show."""
    async with new_database() as dsn:
        env = {
            "MEMORY_SERVICE_DATABASE_URL": dsn,
            "MEMORY_SERVICE_REDIS_URL": stack.redis_url,
            "MEMORY_SERVICE_DATABASE_POOL_MAX": "3",
        }
        async with serving(data_dir, env) as service, service.raw(await first_key(dsn)) as raw:
            stuck, free = new_user(), new_user()
            await raw.call("Write", statement(stuck, "before"))
            async with held(dsn, stuck):
                calls = [timed(raw.call("Write", statement(stuck, f"stuck {n}"))) for n in range(20)]
                waiting = asyncio.gather(*calls)
                await waits(dsn)
                for n in range(10):
                    code, seconds = await timed(raw.call("Write", statement(free, f"note {n}")))
                    assert code == "OK"
                    assert seconds < 6
                said = await waiting
            assert {code for code, _ in said} == {"UNAVAILABLE"}
            assert max(seconds for _, seconds in said) < ANSWER_SECONDS_MAX
            await raw.call("Write", statement(stuck, "after"))
            listed = await raw.call("ListMemories", api.ListMemoriesRequest(user=stuck))
            assert [memory.text for memory in listed.memories] == ["before", "after"]


async def test_too_many_requests_at_once_are_told_to_come_back_and_do(
    stack: EmbeddedStack, new_database: NewDatabase, data_dir: Path
):
    async with new_database() as dsn:
        env = {
            "MEMORY_SERVICE_DATABASE_URL": dsn,
            "MEMORY_SERVICE_REDIS_URL": stack.redis_url,
            "MEMORY_SERVICE_CONCURRENT_RPCS_MAX": "4",
        }
        async with serving(data_dir, env) as service:
            key, user = await first_key(dsn), new_user()
            async with service.raw(key) as raw:
                await raw.call("Write", statement(user, "before"))
                async with held(dsn, user):
                    calls = [asyncio.create_task(raw.call("Write", statement(user, f"waits {n}"))) for n in range(12)]
                    while sum(call.done() for call in calls) < 8:
                        await asyncio.wait(
                            [call for call in calls if not call.done()], timeout=5, return_when="FIRST_COMPLETED"
                        )
                    errors = [call.exception() for call in calls if call.done()]
                    told = [refusal(error) for error in errors if isinstance(error, grpc.aio.AioRpcError)]
                    assert len(told) == 8
                    assert {(said.code, said.reason) for said in told} == {("UNAVAILABLE", "OVERLOADED")}
                    async with grpc.aio.insecure_channel(service.target) as channel:
                        stub: Any = health_pb2_grpc.HealthStub(channel)
                        assert (await stub.Check(health_pb2.HealthCheckRequest())).status == 1
                said = await asyncio.gather(*calls, return_exceptions=True)
                assert sum(isinstance(answer, api.WriteResponse) for answer in said) == 4
            async with service.client(user, key) as memory:
                written = await asyncio.gather(*(memory.write(f"retried {n}") for n in range(40)))
            assert len({result.memory.id for result in written if result.memory}) == 40


async def test_a_schema_that_was_not_migrated_is_named(stack: EmbeddedStack, empty_database_url: str, data_dir: Path):
    env = {"MEMORY_SERVICE_DATABASE_URL": empty_database_url, "MEMORY_SERVICE_REDIS_URL": stack.redis_url}
    service = ServiceProcess(data_dir, env)
    said = await service.ends_badly()
    assert "cannot start" in said
    assert "migrate" in said
    assert "Traceback" not in said
