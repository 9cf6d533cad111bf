"""The real server as a process of its own: started, watched, killed and started again on the same data."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
import sys
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Any, Self

from memory_service.adapters.embedded import EmbeddedStack, running_stack
from memory_service.client import AsyncMemoryClient
from tests.acceptance.raw import Raw
from tests.embedded.support import guard_processes, server_processes

START_SECONDS_MAX = 90.0
STOP_SECONDS_MAX = 45.0
_QUICK = {
    "MEMORY_SERVICE_EMBEDDER": "hash",
    "MEMORY_SERVICE_LISTEN": "127.0.0.1:0",
    "MEMORY_SERVICE_OPS_LISTEN": "127.0.0.1:0",
    "MEMORY_SERVICE_ACCESS_FLUSH_SECONDS": "0.05",
    "MEMORY_SERVICE_LOG_LEVEL": "debug",
}


class ServiceProcess:
    """`memory-service serve` on one data directory, with every line it prints kept in a file of its own."""

    def __init__(self, data_dir: Path, env: Mapping[str, str] | None = None) -> None:
        self.data_dir = data_dir
        self.env = {**_QUICK, "MEMORY_SERVICE_DATA_DIR": str(data_dir), **(env or {})}
        self.target = ""
        self.ops = ""
        self._starts = 0
        self._process: asyncio.subprocess.Process | None = None

    # Life ---------------------------------------------------------------------------------------------------

    async def spawn(self) -> Self:
        """Launch the process and wait for nothing."""
        assert self._process is None or self._process.returncode is not None
        self._starts += 1
        self.data_dir.parent.mkdir(parents=True, exist_ok=True)
        kept = {name: value for name, value in os.environ.items() if not name.startswith("MEMORY_SERVICE_")}
        with self.log_path.open("wb") as log:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "memory_service",
                "serve",
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**kept, **self.env},
                start_new_session=True,
            )
        return self

    async def start(self) -> Self:
        """Launch the process and wait until it says it is ready."""
        await self.spawn()
        await self.ready()
        return self

    async def ready(self) -> None:
        """Wait for the ready line; the addresses are in it."""
        await self.until(lambda: "\nready: " in f"\n{self.log}", "it is ready", seconds=START_SECONDS_MAX)
        line = next(line for line in self.log.splitlines() if line.startswith("ready: "))
        self.target = line.split("gRPC on ")[1].split(",")[0]
        self.ops = line.rsplit(" ", 1)[1]

    async def until(self, condition: Callable[[], bool], what: str, *, seconds: float = 30.0) -> None:
        """Wait for a condition; fails at once when the process ends first."""
        deadline = asyncio.get_running_loop().time() + seconds
        while not await asyncio.to_thread(condition):
            if not self.running or asyncio.get_running_loop().time() > deadline:
                raise AssertionError(f"waited in vain until {what}; exit code {self.exit_code}; log:\n{self.tail()}")
            await asyncio.sleep(0.03)

    async def kill9(self) -> None:
        """SIGKILL to the server alone; its databases find out by themselves."""
        self._send(signal.SIGKILL)
        await self.wait()

    async def kill9_everything(self) -> None:
        """SIGKILL to the server, PostgreSQL, Valkey and their guards, as a power cut would."""
        for pid in self.pids():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        await self.wait()

    async def stop(self, number: int = signal.SIGTERM) -> int:
        """Ask it to stop and wait; the exit code."""
        if self.running:
            self._send(number)
        return await self.wait()

    async def wait(self) -> int:
        """Wait for its end; the exit code."""
        assert self._process is not None
        return await asyncio.wait_for(self._process.wait(), STOP_SECONDS_MAX)

    async def ends_badly(self) -> str:
        """Launch a process that must refuse to start; what it said."""
        await self.spawn()
        code = await self.wait()
        assert code not in (0, None), f"it started, or called its refusal a success:\n{self.tail()}"
        return self.log

    def signal(self, number: int) -> None:
        """Send a signal and wait for nothing."""
        self._send(number)

    def _send(self, number: int) -> None:
        assert self._process is not None
        self._process.send_signal(number)

    # Looks --------------------------------------------------------------------------------------------------

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.returncode is None

    @property
    def exit_code(self) -> int | None:
        return None if self._process is None else self._process.returncode

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def log_path(self) -> Path:
        return self.data_dir.with_name(f"{self.data_dir.name}-serve-{self._starts}.log")

    @property
    def log(self) -> str:
        """Everything this start printed, on either stream."""
        return self.log_path.read_text(encoding="utf-8", errors="replace")

    def tail(self, chars: int = 3_000) -> str:
        return self.log[-chars:]

    def pids(self) -> list[int]:
        """The server's process, every descendant, and every database process of its data directory."""
        found = {self.pid} if self.running else set()
        found |= set(descendants(self.pid))
        if self.data_dir.exists():
            found |= {*server_processes(self.data_dir), *guard_processes(self.data_dir)}
        return sorted(found)

    @property
    def credentials(self) -> dict[str, str]:
        content = json.loads((self.data_dir / "credentials.json").read_text(encoding="utf-8"))
        assert isinstance(content, dict)
        return content

    @property
    def key(self) -> str:
        return self.credentials["key"]

    def stack(self) -> EmbeddedStack:
        """The embedded servers behind it."""
        found = running_stack(self.data_dir)
        assert found is not None
        return found

    async def page(self, path: str) -> tuple[int, str]:
        """Status and body of one of the operators' pages; (0, "") when nobody listens."""
        return await asyncio.to_thread(_get, f"{self.ops}{path}")

    # Callers ------------------------------------------------------------------------------------------------

    def client(self, user: str, key: str | None = None, **options: Any) -> AsyncMemoryClient:
        return AsyncMemoryClient(self.target, self.key if key is None else key, user=user, **options)

    def raw(self, key: str | None = None) -> Raw:
        """Bare stubs, which send what no client would."""
        return Raw(self.target, self.key if key is None else key)


@contextlib.asynccontextmanager
async def serving(data_dir: Path, env: Mapping[str, str] | None = None) -> AsyncIterator[ServiceProcess]:
    """A ready server that is gone afterwards, whatever happened."""
    service = ServiceProcess(data_dir, env)
    try:
        await service.start()
        yield service
    finally:
        await put_away(service)


async def put_away(service: ServiceProcess) -> None:
    """End a server of a test; one that does not end by itself is killed, and that is a failure."""
    try:
        if service.running:
            await service.stop()
    except TimeoutError:
        log = service.tail()
        await service.kill9_everything()
        raise AssertionError(f"it did not stop within {STOP_SECONDS_MAX} s; log:\n{log}") from None


def descendants(pid: int) -> list[int]:
    """Every living descendant of a process."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError, IndexError, ValueError):
                parent = int((entry / "stat").read_bytes().rpartition(b")")[2].split()[1])
                children.setdefault(parent, []).append(int(entry.name))
    found: list[int] = []
    frontier = [pid]
    while frontier:
        frontier = [child for parent in frontier for child in children.get(parent, [])]
        found += frontier
    return found


def all_processes() -> list[int]:
    """Every living process."""
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]


def free_port() -> int:
    """A port nobody listens on now."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    assert isinstance(port, int)
    return port


def _get(url: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()
    except OSError:
        return 0, ""
