"""Two servers on one database, with a line before each of them and one before the shared cache; all can be hurt."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import tempfile
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import asyncpg

from memory_service.adapters.embedded import EmbeddedStack
from memory_service.adapters.embedded.guard import find_processes
from memory_service.adapters.embedded.layout import DataDirectory
from tests.acceptance.service import ServiceProcess, free_port, put_away
from tests.robustness.line import Line, to_port, to_socket

_ENV = {"MEMORY_SERVICE_LOG_LEVEL": "info", "MEMORY_SERVICE_DATABASE_ACQUIRE_SECONDS_MAX": "2"}
_TRACE_LINES = 40


class Cluster:
    """`first` runs the embedded databases, `second` uses them by their addresses, Valkey through a line.

    Attributes:
        kills: how many processes of each sort were ended by SIGKILL.
    """

    def __init__(self, folder: Path) -> None:
        ports = free_port(), free_port()
        self.kills: Counter[str] = Counter()
        self.first = ServiceProcess(folder / "data", {**_ENV, "MEMORY_SERVICE_LISTEN": f"127.0.0.1:{ports[0]}"})
        self.second = ServiceProcess(folder / "second", {**_ENV, "MEMORY_SERVICE_LISTEN": f"127.0.0.1:{ports[1]}"})
        self.lines = [Line(to_port(port)) for port in ports]
        self.cache_line: Line | None = None
        self._logs: list[str] = []
        self._stack: EmbeddedStack | None = None

    async def start(self) -> None:
        await self.first.start()
        # Its addresses stay the same; that it runs is not so sure later.
        self._stack = stack = self.first.stack()
        socket = urlsplit(stack.redis_url).path
        self.cache_line = Line(to_socket(socket))
        await self.cache_line.open()
        database = parse_qs(urlsplit(stack.redis_url).query).get("db", ["0"])[0]
        self.second.env |= {
            "MEMORY_SERVICE_DATABASE_URL": stack.database_url,
            "MEMORY_SERVICE_REDIS_URL": f"redis://{self.cache_line.target}/{database}",
        }
        await self.second.start()
        for line in self.lines:
            await line.open()

    async def stop(self) -> None:
        for line in self.lines:
            await line.close()
        for service in (self.second, self.first):
            await put_away(service)
        if self.cache_line is not None:
            await self.cache_line.close()

    @property
    def key(self) -> str:
        return self.first.key

    @property
    def database_url(self) -> str:
        return self.stack.database_url

    @property
    def stack(self) -> EmbeddedStack:
        assert self._stack is not None
        return self._stack

    async def recovered(self, seconds: float = 60.0) -> None:
        """Wait until the database takes connections again, at most so long."""
        deadline = asyncio.get_running_loop().time() + seconds
        while True:
            try:
                connection = await asyncpg.connect(self.database_url, timeout=5)
                await connection.close(timeout=5)
                return
            except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
                if asyncio.get_running_loop().time() > deadline:
                    raise AssertionError(f"PostgreSQL does not come back\n{self.state()}") from error
            await asyncio.sleep(0.1)

    # Faults -------------------------------------------------------------------------------------------------

    async def kill(self, what: str) -> None:
        """SIGKILL to one of first, second, postgres, backend, valkey, everything; servers are started again."""
        if what in ("first", "everything"):
            await self._restart(self.first, everything=what == "everything")
        elif what == "second":
            await self._restart(self.second)
        else:
            pids = self.pids(what)
            for pid in pids[:1]:
                self._end(pid, what)

    async def _restart(self, service: ServiceProcess, *, everything: bool = False) -> None:
        name = "first" if service is self.first else "second"
        self.keep_log(service)
        if everything:
            self.kills.update({"server": 1, "postgres": 1, "valkey": 1})
            await service.kill9_everything()
        else:
            self.kills["server"] += 1
            await service.kill9()
        assert not service.running, name
        try:
            await service.start()
        except AssertionError as error:
            error.add_note(self.state())
            raise

    def _end(self, pid: int, what: str) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
            self.kills[what] += 1

    def pids(self, what: str) -> list[int]:
        """Processes of one sort: the postmaster, a server process of it, Valkey, or a server."""
        if what in ("first", "second"):
            service = self.first if what == "first" else self.second
            return [service.pid] if service.running else []
        tag = DataDirectory(self.first.data_dir).tag
        if what == "valkey":
            return find_processes("valkey-server", tag)
        file = self.first.data_dir / "postgres" / "postmaster.pid"
        try:
            postmaster = int(file.read_text().splitlines()[0])
        except (OSError, ValueError, IndexError):
            return []
        if what == "postgres":
            return [postmaster]
        return [pid for pid in _children(postmaster) if b"memory_service" in _command(pid)]

    async def freeze(self, what: str, seconds: float) -> None:
        """SIGSTOP, and SIGCONT after a while; of PostgreSQL all processes."""
        pids = self.pids(what)
        if what == "postgres":
            pids += [child for pid in pids for child in _children(pid)]
        try:
            for pid in pids:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGSTOP)
            await asyncio.sleep(seconds)
        finally:
            for pid in pids:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGCONT)

    # Looks --------------------------------------------------------------------------------------------------

    def keep_log(self, service: ServiceProcess) -> None:
        """Look at what a server printed before it is started again, for what must never be there."""
        lines = service.log.splitlines()
        for number, line in enumerate(lines):
            if "unexpected error" in line or line.startswith("ERROR memory_service") or '"code": "INTERNAL"' in line:
                self._logs.append("\n".join(lines[max(0, number - 3) : number + _TRACE_LINES]))

    def state(self) -> str:
        """What a person needs when something does not come back."""
        logs = sorted((self.first.data_dir / "logs").iterdir())
        told = [f"== {service.log_path.name}\n{service.tail(6_000)}" for service in (self.first, self.second)]
        told += [f"== {path.name}\n{path.read_text(encoding='utf-8', errors='replace')[-3_000:]}" for path in logs]
        told += [f"== process {pid}: {_command(pid)!r} {_status(pid)}" for pid in self.first.pids()]
        return "\n".join(told)

    def complaints(self) -> list[str]:
        """Lines of any server's log that no fault excuses."""
        for service in (self.first, self.second):
            self.keep_log(service)
        found, self._logs = sorted(set(self._logs)), []
        return found


@contextlib.asynccontextmanager
async def cluster() -> AsyncIterator[Cluster]:
    """A running cluster in a folder of its own; its name is short, for the sockets in it."""
    folder = Path(tempfile.mkdtemp(prefix="mr-"))
    os.chmod(folder, 0o755)  # noqa: PTH101 - the databases may run as another account
    found = Cluster(folder)
    try:
        await found.start()
        yield found
    finally:
        await found.stop()
        shutil.rmtree(folder, ignore_errors=True)


def _children(pid: int) -> list[int]:
    try:
        tasks = list(Path(f"/proc/{pid}/task").iterdir())
        return [int(word) for task in tasks for word in (task / "children").read_text().split()]
    except OSError:
        return []


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def _status(pid: int) -> str:
    try:
        return " ".join(Path(f"/proc/{pid}/status").read_text(encoding="utf-8").split("\n")[2:7])
    except OSError:
        return "gone"
