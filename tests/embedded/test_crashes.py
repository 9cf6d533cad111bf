"""SIGKILL in every combination: what was committed is there, and nothing keeps running."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import pytest

from memory_service.adapters.embedded import EmbeddedServers
from tests.embedded.support import (
    ServiceProcess,
    eventually,
    nothing_left,
    redis_client,
    server_processes,
    serving,
    sql,
)


@pytest.mark.parametrize("victims", ["service", "service and guards", "everything"])
async def test_every_committed_row_survives_sigkill(tmp_path: Path, victims: str) -> None:
    data_dir = tmp_path / "data"
    service = await ServiceProcess.spawn(data_dir, "write")
    while int(await service.line()) < 50:
        pass
    postgres, postgres_guard, valkey, valkey_guard = service.pids
    also = {
        "service": [],
        "service and guards": [postgres_guard, valkey_guard],
        "everything": [postgres, postgres_guard, valkey, valkey_guard],
    }[victims]
    for pid in (*also, service.process.pid):
        os.kill(pid, signal.SIGKILL)
    committed = max([50, *(int(line) for line in await service.rest() if line.isdigit())])
    await service.process.wait()
    # Without a next start, everything of ours ends by itself.
    assert await eventually(lambda: nothing_left(data_dir), seconds=6.0)
    async with serving(EmbeddedServers(data_dir)) as stack:
        numbers = await sql(stack, "SELECT array_agg(n ORDER BY n) FROM kept")
        # The row in flight may be there too; the last line read may not be the last row committed.
        assert isinstance(numbers, list)
        assert numbers == list(range(1, len(numbers) + 1))
        assert len(numbers) >= committed
    assert nothing_left(data_dir)


async def test_an_immediate_restart_takes_over_while_the_old_guards_still_clean_up(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    for _ in range(2):
        service = await ServiceProcess.spawn(data_dir, "wait")
        service.process.kill()
        await service.process.wait()
    servers = EmbeddedServers(data_dir)
    async with serving(servers) as stack:
        # The old guards leave and take nothing of the new servers with them.
        assert await eventually(lambda: not _alive(service.pids[1]) and not _alive(service.pids[3]))
        assert await sql(stack, "SELECT count(*) FROM kept") == 0
        status = await servers.status()
        assert (status.postgres_restarts, status.valkey_restarts) == (0, 0)
        assert status.postgres_alive
        assert status.valkey_alive


def _alive(pid: int) -> bool:
    """Running, and not a zombie that nobody has waited for."""
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0] != b"Z"
    except OSError:
        return False


async def test_a_server_that_dies_while_serving_is_started_again(tmp_path: Path) -> None:
    servers = EmbeddedServers(tmp_path / "data")
    async with serving(servers) as stack:
        await sql(stack, "CREATE TABLE kept (n int)")
        await sql(stack, "INSERT INTO kept VALUES (1)")
        for guard in (await servers.status()).postgres_pids[1], (await servers.status()).valkey_pids[1]:
            os.kill(guard, signal.SIGTERM)  # meant for the whole group: the service decides when to stop
            os.kill(guard, signal.SIGINT)
        assert servers.restarts == (0, 0)
        for round_number, which in enumerate((0, 1), start=1):  # the server itself, then its guard
            before = await servers.status()
            os.kill(before.postgres_pids[which], signal.SIGKILL)
            os.kill(before.valkey_pids[which], signal.SIGKILL)
            async with asyncio.timeout(15):
                while True:
                    now = await servers.status()
                    counts = (now.postgres_restarts, now.valkey_restarts)
                    if counts == (round_number, round_number) and now.postgres_alive and now.valkey_alive:
                        break
                    await asyncio.sleep(0.05)
            assert not set(now.postgres_pids) & set(before.postgres_pids)
            assert await sql(stack, "SELECT count(*) FROM kept") == 1
            async with redis_client(stack) as client:
                assert await client.ping()
    assert nothing_left(tmp_path / "data")


async def test_a_stop_while_a_server_is_down_leaves_nothing(tmp_path: Path) -> None:
    servers = EmbeddedServers(tmp_path / "data")
    await servers.start()
    status = await servers.status()
    os.kill(status.postgres_pids[0], signal.SIGKILL)
    os.kill(status.valkey_pids[1], signal.SIGKILL)
    await servers.stop()
    assert server_processes(tmp_path / "data") == []
    assert nothing_left(tmp_path / "data")
