"""What the embedded tests share: waiting for real processes, and a service process to kill."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import asyncpg
import redis.asyncio

from memory_service.adapters.embedded import EmbeddedServers, EmbeddedStack
from memory_service.adapters.embedded.guard import find_processes
from memory_service.adapters.embedded.layout import DataDirectory

SCRIPT = Path(__file__).with_name("service_script.py")


def server_processes(data_dir: Path) -> list[int]:
    """Every PostgreSQL, initdb and Valkey process of this data directory."""
    tag = DataDirectory(data_dir).tag
    return [pid for comm in ("postgres", "initdb", "valkey-server") for pid in find_processes(comm, tag)]


def guard_processes(data_dir: Path) -> list[int]:
    """Every guard of this data directory (the directory is on its command line)."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if any(w.endswith(b"guard.py") for w in words) and any(os.fsencode(data_dir) in w for w in words):
                found.append(int(entry.name))
    return found


def nothing_left(data_dir: Path) -> bool:
    return not server_processes(data_dir) and not guard_processes(data_dir)


def entries(folder: Path) -> list[Path]:
    return list(folder.iterdir())


def links_of(data_dir: Path) -> Path:
    """Where the short links to the sockets of a long path are."""
    return Path((data_dir / "socket-links").read_text(encoding="utf-8").strip())


def read_logs(stack: EmbeddedStack) -> str:
    return "\n".join(path.read_text(encoding="utf-8") for path in entries(stack.data_dir / "logs"))


async def eventually(condition: Callable[[], bool], seconds: float = 8.0) -> bool:
    """Wait until `condition` holds; false if it does not within `seconds`."""
    deadline = asyncio.get_running_loop().time() + seconds
    while not condition():
        if asyncio.get_running_loop().time() > deadline:
            return False
        await asyncio.sleep(0.02)
    return True


@asynccontextmanager
async def serving(servers: EmbeddedServers) -> AsyncIterator[EmbeddedStack]:
    stack = await servers.start()
    try:
        yield stack
    finally:
        await servers.stop()


async def sql(stack: EmbeddedStack, statement: str, *values: object) -> object:
    """The first value of a statement's answer, on a connection of its own."""
    connection = await asyncpg.connect(stack.database_url)
    try:
        return await connection.fetchval(statement, *values)
    finally:
        await connection.close()


@asynccontextmanager
async def redis_client(stack: EmbeddedStack) -> AsyncIterator[redis.asyncio.Redis]:
    client = redis.asyncio.from_url(stack.redis_url)
    try:
        yield client
    finally:
        await client.aclose()


class ServiceProcess:
    """`service_script.py` running; `pids` are PostgreSQL, its guard, Valkey, its guard."""

    def __init__(self, process: asyncio.subprocess.Process, pids: list[int]) -> None:
        self.process = process
        self.pids = pids

    @classmethod
    async def spawn(cls, data_dir: Path, mode: str) -> ServiceProcess:
        process = await asyncio.create_subprocess_exec(
            sys.executable, SCRIPT, data_dir, mode, stdout=asyncio.subprocess.PIPE, start_new_session=True
        )
        assert process.stdout is not None
        words = (await process.stdout.readline()).split()
        assert words[0] == b"ready", words
        return cls(process, [int(word) for word in words[1:]])

    async def line(self) -> str:
        assert self.process.stdout is not None
        return (await self.process.stdout.readline()).decode().strip()

    async def rest(self) -> list[str]:
        assert self.process.stdout is not None
        return (await self.process.stdout.read()).decode().splitlines()
