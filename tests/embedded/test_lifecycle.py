"""Start, stop, start again; two at once; one directory twice; awkward paths."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import stat
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import pytest
from redis.exceptions import ResponseError

from memory_service.adapters.embedded import (
    DataDirectoryInUse,
    EmbeddedServers,
    EmbeddedStack,
    EmbeddedStartFailed,
    TemporaryStack,
    running_stack,
)
from memory_service.adapters.embedded.layout import DataDirectory
from memory_service.adapters.embedded.managed import GuardedProcess
from memory_service.adapters.embedded.postgres import server_spec
from memory_service.adapters.embedded.programs import choose_account, find_programs
from memory_service.domain.errors import Unavailable
from tests.embedded.support import (
    ServiceProcess,
    entries,
    eventually,
    guard_processes,
    links_of,
    nothing_left,
    read_logs,
    redis_client,
    server_processes,
    serving,
    sql,
)


async def test_rows_survive_a_restart_sessions_do_not_and_nothing_is_left(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    told: list[str] = []
    servers = EmbeddedServers(data_dir, on_progress=told.append)
    async with serving(servers) as stack:
        assert stack.data_dir == data_dir
        await sql(stack, "CREATE TABLE kept (n int, v vector(3))")
        await sql(stack, "INSERT INTO kept VALUES (7, '[1,2,3]')")
        async with redis_client(stack) as client:
            await client.set("session", "secret words")
        status = await servers.status()
        assert status.postgres_alive
        assert status.valkey_alive
        assert await servers.alive()
        assert len(status.postgres_pids) == len(status.valkey_pids) == 2
        assert server_processes(data_dir)
        assert len(guard_processes(data_dir)) == 2
    assert nothing_left(data_dir)
    assert not await servers.alive()
    assert any("first start" in line for line in told)
    await servers.stop()  # a second stop does nothing

    told.clear()
    async with serving(servers) as stack:
        assert await sql(stack, "SELECT n FROM kept") == 7
        async with redis_client(stack) as client:
            assert await client.get("session") is None
    assert not any("first start" in line for line in told)
    assert nothing_left(data_dir)
    written = [path for path in data_dir.rglob("*") if path.is_file() and "postgres" not in path.parts]
    assert not any(b"secret words" in path.read_bytes() for path in written)


@pytest.fixture(scope="module")
async def shared(clusters_base: Path) -> AsyncIterator[EmbeddedStack]:
    """One durable stack for the tests that only look."""
    root = Path(tempfile.mkdtemp(prefix="embedded-", dir=clusters_base))
    async with serving(EmbeddedServers(root / "data", valkey_memory_mb_max=32)) as stack:
        yield stack
    shutil.rmtree(root, ignore_errors=True)


async def test_settings_are_durable_private_and_bounded(shared: EmbeddedStack) -> None:
    expected = {
        "listen_addresses": "", "fsync": "on", "synchronous_commit": "on", "full_page_writes": "on",
        "data_checksums": "on", "server_encoding": "UTF8", "timezone": "UTC", "log_timezone": "UTC",
        "max_connections": "60", "log_error_verbosity": "terse", "log_min_error_statement": "panic",
        "lc_messages": "C", "logging_collector": "off", "log_min_messages": "log",
    }  # fmt: skip
    for name, value in expected.items():
        assert await sql(shared, "SELECT current_setting($1)", name) == value, name
    assert await sql(shared, "SELECT upper('äé') || lower('Ж')") == "ÄÉж"
    async with redis_client(shared) as client:
        config = await client.config_get("*")
        assert (config["port"], config["save"], config["appendonly"]) == ("0", "", "no")
        assert (config["maxmemory"], config["maxmemory-policy"]) == (str(32 << 20), "volatile-lru")
        with pytest.raises(ResponseError):
            await client.bgsave()
    for part in (".", "postgres", "valkey", "logs"):
        assert stat.S_IMODE((shared.data_dir / part).stat().st_mode) == 0o700


async def test_a_failing_statement_leaves_no_text_in_the_log(shared: EmbeddedStack) -> None:
    await sql(shared, "CREATE TABLE kept (t text PRIMARY KEY CHECK (length(t) < 40))")
    text = "the cat is called Tom"
    await sql(shared, "INSERT INTO kept VALUES ($1)", text)
    with pytest.raises(asyncpg.UniqueViolationError):
        await sql(shared, "INSERT INTO kept VALUES ($1)", text)
    with pytest.raises(asyncpg.CheckViolationError):
        await sql(shared, "INSERT INTO kept VALUES ($1)", text * 2)
    with pytest.raises(asyncpg.InvalidTextRepresentationError):
        await sql(shared, f"SELECT '{text}'::int")
    logs = read_logs(shared)
    assert "ready to accept connections" in logs
    assert "Tom" not in logs


async def test_a_held_directory_is_refused_with_the_holders_pid(shared: EmbeddedStack) -> None:
    with pytest.raises(DataDirectoryInUse, match=str(os.getpid())) as caught:
        await EmbeddedServers(shared.data_dir).start()
    assert caught.value.pid == os.getpid()
    assert isinstance(caught.value, Unavailable)
    assert await sql(shared, "SELECT 1") == 1  # the refused one harmed nothing


async def test_another_process_is_named_and_drains_when_its_whole_group_gets_ctrl_c(tmp_path: Path) -> None:
    service = await ServiceProcess.spawn(tmp_path / "data", "wait")
    with pytest.raises(DataDirectoryInUse) as caught:
        await EmbeddedServers(tmp_path / "data").start()
    assert caught.value.pid == service.process.pid
    os.killpg(service.process.pid, signal.SIGINT)
    assert await service.line() == "drained 0"
    assert await service.process.wait() == 0
    assert nothing_left(tmp_path / "data")


async def test_a_temporary_stack_works_and_is_removed_also_after_an_error(tmp_path: Path) -> None:
    async def use() -> None:
        async with temporary as stack:
            assert await sql(stack, "SELECT current_setting('fsync')") == "off"
            assert await sql(stack, "SELECT '[1,2]'::vector <-> '[1,3]'::vector") == 1
            assert (await temporary.status()).postgres_alive
            assert len(entries(tmp_path)) == 1
            raise ZeroDivisionError

    temporary = TemporaryStack(parent=tmp_path)
    with pytest.raises(ZeroDivisionError):
        await use()
    assert entries(tmp_path) == []


async def test_two_side_by_side_and_in_long_and_strange_places(tmp_path: Path) -> None:
    awkward = tmp_path / ("long, and with a 空格 " + "x" * 120) / "data"
    first, second = EmbeddedServers(tmp_path / "data", durable=False), EmbeddedServers(awkward, durable=False)
    async with serving(first) as one, serving(second) as two:
        await sql(one, "CREATE TABLE here (n int)")
        assert await sql(two, "SELECT to_regclass('here')::text") is None
        async with redis_client(one) as mine, redis_client(two) as other:
            await mine.set("a", "1")
            assert await other.get("a") is None
        links = links_of(awkward)
        assert stat.S_IMODE(links.lstat().st_mode) == 0o700
        assert len(entries(links)) == 2
        assert running_stack(awkward) == two
        assert running_stack(tmp_path / "data") == one
    assert nothing_left(awkward)
    assert running_stack(awkward) is None
    assert running_stack(tmp_path / "none") is None
    assert nothing_left(tmp_path / "data")
    assert links.name not in [entry.name for entry in entries(links.parent)]


async def test_a_cancelled_start_and_a_cancelled_stop_leave_nothing(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    for moment in ("making the database", "starting"):
        reached = asyncio.Event()

        def watch(line: str, moment: str = moment, reached: asyncio.Event = reached) -> None:
            if line.startswith(moment):
                reached.set()

        servers = EmbeddedServers(data_dir, on_progress=watch, durable=False)
        starting = asyncio.create_task(servers.start())
        await reached.wait()
        starting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await starting
        assert nothing_left(data_dir)

    servers = EmbeddedServers(data_dir, durable=False)
    await servers.start()
    stopping = asyncio.create_task(servers.stop())
    await asyncio.sleep(0)
    stopping.cancel()
    await asyncio.sleep(0)
    stopping.cancel()
    with pytest.raises(asyncio.CancelledError):
        await stopping
    assert nothing_left(data_dir)
    async with serving(EmbeddedServers(data_dir, durable=False)):
        pass


async def test_a_leftover_server_is_stopped_before_the_next_start(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    async with serving(EmbeddedServers(data_dir, durable=False)) as stack:
        await sql(stack, "CREATE TABLE kept (n int)")
    directory = DataDirectory(data_dir)
    account = choose_account(None, directory.postgres.stat().st_uid)
    spec = server_spec(directory, find_programs(account), account, {})
    leftover = await GuardedProcess.spawn(spec, directory.new_tag())
    assert await eventually((directory.postgres / ".s.PGSQL.5432").exists)
    async with serving(EmbeddedServers(data_dir, durable=False)) as stack:
        await leftover.wait()
        assert await sql(stack, "SELECT count(*) FROM kept") == 0


async def test_a_stale_lock_file_that_names_a_live_process_does_not_matter(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    async with serving(EmbeddedServers(data_dir, durable=False)):
        lock = (data_dir / "postgres" / "postmaster.pid").read_text(encoding="ascii").splitlines()
    # A restarted container gives old numbers to new processes; here a process of the server's user has it.
    owner = (data_dir / "postgres").stat().st_uid
    other = await asyncio.create_subprocess_exec("sleep", "60", user=None if os.geteuid() else owner)
    try:
        path = data_dir / "postgres" / "postmaster.pid"
        path.write_text("\n".join([str(other.pid), *lock[1:]]) + "\n", encoding="ascii")
        os.chown(path, owner, -1)
        async with serving(EmbeddedServers(data_dir, durable=False)) as stack:
            assert await sql(stack, "SELECT 1") == 1
        assert other.returncode is None
    finally:
        other.kill()
        await other.wait()


async def test_a_failed_start_can_be_tried_again(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    data_dir.write_text("a file", encoding="utf-8")
    servers = EmbeddedServers(data_dir, durable=False)
    with pytest.raises(EmbeddedStartFailed, match="cannot be used"):
        await servers.start()
    data_dir.unlink()
    async with serving(servers) as stack:
        assert await sql(stack, "SELECT 1") == 1


@pytest.mark.parametrize("only", ["postgres", "valkey"])
async def test_only_what_is_wanted_is_run(tmp_path: Path, only: str) -> None:
    servers = EmbeddedServers(tmp_path / "data", with_postgres=only == "postgres", with_valkey=only == "valkey")
    async with serving(servers) as stack:
        assert (bool(stack.database_url), bool(stack.redis_url)) == (only == "postgres", only == "valkey")
        assert await servers.alive()
        assert len(guard_processes(tmp_path / "data")) == 1
        assert (tmp_path / "data" / "postgres").exists() == (only == "postgres")
    assert nothing_left(tmp_path / "data")
    assert not await servers.alive()
