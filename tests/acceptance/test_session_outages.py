"""Sessions while Valkey is away, killed or new, and the episodic log whatever is killed."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from collections import Counter
from collections.abc import AsyncIterator

import asyncpg
import grpc
import pytest

from memory_service.adapters.embedded.guard import find_processes
from memory_service.adapters.embedded.layout import DataDirectory
from memory_service.client import (
    AsyncMemoryClient,
    Consistency,
    MemoryClientError,
    NotFound,
    RetryPolicy,
    Turn,
    Unavailable,
)
from memory_service.v1 import session_service_pb2 as api
from tests.acceptance.raw import refused
from tests.acceptance.service import ServiceProcess
from tests.acceptance.world import new_user

ONCE = RetryPolicy(attempts_max=1)
ANSWER_SECONDS_MAX = 5.0


def valkey(service: ServiceProcess) -> int:
    """The process of the embedded Valkey."""
    (pid,) = find_processes("valkey-server", DataDirectory(service.data_dir).tag)
    return pid


@contextlib.asynccontextmanager
async def silenced(service: ServiceProcess) -> AsyncIterator[None]:
    """Valkey does not answer meanwhile."""
    pid = valkey(service)
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


@contextlib.asynccontextmanager
async def hung_database(service: ServiceProcess) -> AsyncIterator[None]:
    """No process of the embedded PostgreSQL answers meanwhile."""
    pids = find_processes("postgres", DataDirectory(service.data_dir).tag)
    assert pids
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)


async def answers(memory: AsyncMemoryClient, session: str) -> str:
    """Wait until working memory is used again, and say how the session is."""
    deadline = time.monotonic() + 40
    while True:
        try:
            return str((await memory.get_session(session)).status)
        except NotFound:
            return "gone"
        except Unavailable:
            assert time.monotonic() < deadline
            await asyncio.sleep(0.1)


async def test_while_valkey_is_away_sessions_say_so_and_everything_else_goes_on(mended: ServiceProcess):
    service, user = mended, new_user()
    async with service.client(user, timeout_seconds=15, retry=ONCE) as memory, service.raw() as raw:
        await memory.write("my bicycle is blue")
        session = await memory.create_session()
        await memory.append_turns(session.id, [Turn("user", "before", id="before")])
        async with silenced(service):
            for call in (
                memory.create_session(),
                memory.get_session(session.id),
                memory.list_sessions(),
                memory.append_turns(session.id, [Turn("user", "meanwhile", id="meanwhile")]),
                memory.update_session(session.id, tasks={"t": "x"}),
                memory.end_session(session.id),
            ):
                began = time.monotonic()
                with pytest.raises(Unavailable) as caught:
                    await call
                assert time.monotonic() - began < ANSWER_SECONDS_MAX
                assert caught.value.reason == "REDIS_UNAVAILABLE"
                assert caught.value.retry_after_seconds
            said = await refused(raw.call("GetSession", api.GetSessionRequest(user=user, session_id=session.id)))
            assert (said.code, said.reason) == ("UNAVAILABLE", "REDIS_UNAVAILABLE")
            assert (await memory.write("my bicycle has a bell")).memory is not None
            assert len(await memory.recall("bicycle")) == 2
            began = time.monotonic()
            context = await memory.get_context(session.id, "which colour is my bicycle?", timeout_seconds=8)
            assert time.monotonic() - began < 8
            assert context.degraded
            assert context.missing == ("session: REDIS_UNAVAILABLE",)
            assert context.session is None
            assert "my bicycle is blue" in context.block
        assert await answers(memory, session.id) == "active"
        again = await memory.append_turns(session.id, [Turn("user", f"{n}", id=n) for n in ("before", "after")])
        assert "before" in again.duplicates
    assert "unexpected error" not in service.log


async def test_while_the_database_hangs_a_context_has_its_session_in_time(mended: ServiceProcess):
    service = mended
    # The key is known for two seconds without the database, so each time is one call soon after it was looked up.
    for consistency in (None, Consistency.fully_consistent()):
        user = new_user()
        async with service.client(user, timeout_seconds=20) as memory:
            session = (await memory.create_session()).id
            await memory.append_turns(session, [Turn("user", "We decided on the red one.")])
        async with hung_database(service), service.client(user, timeout_seconds=1.2, retry=ONCE) as memory:
            found = await memory.get_context(session, "which one?", consistency=consistency)
        assert "red one" in found.block
        if consistency:
            assert [what.partition(":")[0] for what in found.missing] == ["memories"]
            assert found.degraded


async def test_after_valkey_died_sessions_are_gone_and_everything_else_is_whole(mended: ServiceProcess):
    service, user = mended, new_user()
    async with service.client(user, timeout_seconds=20) as memory:
        await memory.write("my boat is green")
        session = await memory.create_session()
        acknowledged = 0

        async def chatter(name: str) -> None:
            nonlocal acknowledged
            for n in range(200):
                try:
                    await memory.append_turns(
                        session.id, [Turn("user", f"We decided on {name}{n}.", id=f"{name}{n}")]
                    )
                except (NotFound, Unavailable):
                    return
                acknowledged += 1

        talking = [asyncio.create_task(chatter(name)) for name in "abcd"]
        while acknowledged < 30:  # noqa: ASYNC110 - real processes are waited for
            await asyncio.sleep(0.01)
        os.kill(valkey(service), signal.SIGKILL)
        await asyncio.gather(*talking)
        assert await answers(memory, session.id) == "gone"
        fresh = await memory.create_session()
        await memory.append_turns(fresh.id, [Turn("user", "hello again")])
        assert "my boat is green" in {found.memory.text for found in await memory.recall("boat")}
        assert [line.id for line in await memory.list_sessions()] == [fresh.id]
    assert "unexpected error" not in service.log


async def test_after_everything_died_sessions_are_gone_and_memories_are_not(mended: ServiceProcess):
    service, user = mended, new_user()
    async with service.client(user, timeout_seconds=20) as memory:
        session = await memory.create_session()
        await memory.append_turns(session.id, [Turn("user", "We decided on the red one.")])
        await memory.write("my kite is red")
    await service.kill9_everything()
    await service.start()
    async with service.client(user, timeout_seconds=20) as memory:
        with pytest.raises(NotFound):
            await memory.get_session(session.id)
        assert len(await memory.recall("kite")) == 1


async def logged(service: ServiceProcess, session: str) -> Counter[str]:
    """How often each turn is in the log."""
    connection = await asyncpg.connect(service.stack().database_url)
    try:
        rows = await connection.fetch("SELECT turn_id FROM memory_service.episodes WHERE session = $1::uuid", session)
        task = await connection.fetchval(
            "SELECT waiting FROM memory_service.learning_tasks WHERE session = $1::uuid", session
        )
        jobs = await connection.fetchval(
            "SELECT count(*) FROM memory_service.pgqueuer WHERE entrypoint = 'learn' AND dedupe_key LIKE $1",
            f"%{session}",
        )
    finally:
        await connection.close()
    assert (task or 0) == len(rows)
    assert jobs == bool(rows)
    return Counter(row["turn_id"] for row in rows)


async def test_an_acknowledged_turn_is_in_the_log_once_whatever_is_killed(mended: ServiceProcess):
    service, user = mended, new_user()
    acknowledged: set[str] = set()
    sessions: list[str] = []

    async def talk(target: AsyncMemoryClient, name: str) -> None:
        n = 0
        with contextlib.suppress(MemoryClientError, grpc.RpcError):
            while True:
                n += 1
                turns = [Turn("user", f"{name} says {n}", id=f"{name}-{n}-{k}") for k in range(2)]
                for _ in range(2):  # each is sent again, as after a lost answer
                    result = await target.append_turns(sessions[-1], turns)
                    assert result.recorded
                acknowledged.update(turn.id for turn in turns)

    for killed in ("server", "everything"):
        async with service.client(user, timeout_seconds=5, retry=ONCE) as memory:
            sessions.append((await memory.create_session(record_episodes=True)).id)
            before = len(acknowledged)
            talking = [asyncio.create_task(talk(memory, f"{killed}{i}")) for i in range(4)]
            while len(acknowledged) < before + 60:  # noqa: ASYNC110 - real processes are waited for
                await asyncio.sleep(0.01)
            await (service.kill9() if killed == "server" else service.kill9_everything())
            await asyncio.gather(*talking)
        await service.start()
    found = await logged(service, sessions[0]) + await logged(service, sessions[1])
    assert acknowledged <= set(found)
    assert set(found.values()) == {1}
    async with service.client(user, timeout_seconds=20) as memory:
        quiet = await memory.create_session(record_episodes=False)
        assert not (await memory.append_turns(quiet.id, [Turn("user", "not for the log")])).recorded
        assert not await logged(service, quiet.id)
