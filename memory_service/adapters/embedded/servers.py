"""`EmbeddedServers`: PostgreSQL and Valkey out of wheels, for as long as the service runs."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import structlog

from memory_service.adapters.embedded import postgres, valkey
from memory_service.adapters.embedded.errors import EmbeddedStartFailed
from memory_service.adapters.embedded.layout import POSTGRES_SOCKET, VALKEY_SOCKET, DataDirectory
from memory_service.adapters.embedded.managed import ManagedServer, clear_leftovers
from memory_service.adapters.embedded.programs import Account, Programs, choose_account, find_programs
from memory_service.domain.errors import Reason

LOG_CHECK_SECONDS = 30.0
VALKEY_MEMORY_MB_MAX = 256
#: A start that takes longer than this tells the operator why.
SLOW_START_SECONDS = 3.0

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class EmbeddedStack:
    """What is running.

    `database_url` is the superuser's DSN (asyncpg, Unix socket, database "memory_service", extension vector
    there); `redis_url` is for `redis.asyncio.from_url`.
    """

    database_url: str
    redis_url: str
    data_dir: Path


@dataclass(frozen=True, slots=True)
class EmbeddedStatus:
    """Health of the two servers: answering now, process numbers (server, guard), restarts since `start()`."""

    postgres_alive: bool
    valkey_alive: bool
    postgres_pids: tuple[int, ...]
    valkey_pids: tuple[int, ...]
    postgres_restarts: int
    valkey_restarts: int


class EmbeddedServers:
    """Starts, watches and stops the embedded servers of one data directory.

    A server that dies is started again, with growing pauses. If the service dies, even by SIGKILL, the
    servers end within a few seconds; whatever is left of them is stopped by the next start on the same
    directory, before it recovers. One object serves one event loop; after `stop()` it may be started again.

    Args:
        data_dir: made (0700) if it is not there.
        on_progress: called with one line for a person at each slow step; must not block.
        run_as: for root only, the account of the servers (else the account memory-service, else nobody).
        durable: False relaxes fsync, for tests only.
        valkey_memory_mb_max: bound on Valkey's memory.
        postgres_settings: more PostgreSQL settings, over ours.
        with_postgres, with_valkey: which servers to run, where one of them is somebody else's.
    """

    def __init__(
        self,
        data_dir: Path,
        *,
        on_progress: Callable[[str], None] | None = None,
        run_as: str | None = None,
        durable: bool = True,
        valkey_memory_mb_max: int = VALKEY_MEMORY_MB_MAX,
        postgres_settings: Mapping[str, str] | None = None,
        with_postgres: bool = True,
        with_valkey: bool = True,
    ) -> None:
        self._with_postgres, self._with_valkey = with_postgres, with_valkey
        self._directory = DataDirectory(data_dir)
        self._progress = on_progress or (lambda _line: None)
        self._run_as = run_as
        self._durable = durable
        self._valkey_memory_mb_max = valkey_memory_mb_max
        self._settings = {**({} if durable else postgres.RELAXED), **(postgres_settings or {})}
        self._postgres: ManagedServer | None = None
        self._valkey: ManagedServer | None = None
        self._log_keeper: asyncio.Task[None] | None = None
        self._stopping: asyncio.Task[None] | None = None
        self._started = False

    async def start(self) -> EmbeddedStack:
        """Bring both servers up and make the database ready. Never blocks the event loop.

        Raises:
            DataDirectoryInUse: another process serves the directory.
            EmbeddedStartFailed: says what is wrong, what to do, and the tail of the log.
        """
        if self._started:
            raise RuntimeError("these servers are started already")
        self._started = True
        try:
            return await self._start()
        except OSError as error:
            await self._finish(self._stop())
            full = error.errno in (28, 122)  # ENOSPC, EDQUOT
            raise EmbeddedStartFailed(
                f"the data directory {self._directory.root} cannot be used ({error.strerror})",
                "free some space on its disk" if full else "make it readable and writable for the service's user",
                reason=Reason.STORAGE_FULL if full else Reason.DATABASE_UNAVAILABLE,
            ) from error
        except BaseException:
            await self._finish(self._stop())
            raise

    async def _start(self) -> EmbeddedStack:
        account, programs = await asyncio.to_thread(self._take_directory)
        starts: list[Coroutine[Any, Any, None]] = []
        names: list[str] = []
        database_url = redis_url = ""
        sockets = None
        if self._with_postgres:
            sockets = await self._prepare_postgres(account, programs)
            assert self._postgres is not None
            starts.append(self._postgres.start(self._slow_start()))
            names.append("PostgreSQL")
            database_url = postgres.database_url(sockets)
        if self._with_valkey:
            redis_url = self._prepare_valkey(account, programs)
            assert self._valkey is not None
            starts.append(self._valkey.start())
            names.append("Valkey")
        self._progress(f"starting {' and '.join(names)}")
        await _together(*starts)
        if sockets is not None:
            await postgres.ensure_database(sockets)
        self._log_keeper = asyncio.create_task(self._keep_logs(), name="rotate embedded logs")
        return EmbeddedStack(database_url, redis_url, self._directory.root)

    async def _prepare_postgres(self, account: Account, programs: Programs) -> Path:
        """Everything before PostgreSQL's start; the folder of its socket."""
        directory = self._directory
        spec = postgres.server_spec(directory, programs, account, self._settings)
        await asyncio.to_thread(clear_leftovers, spec, directory.tag)
        if not directory.postgres.exists():
            self._progress(f"making the database files in {directory.postgres} (first start only, a few seconds)")
            await postgres.make_cluster(directory, programs, account, durable=self._durable, tag=directory.new_tag())
        await asyncio.to_thread(postgres.check_cluster, directory, account)
        sockets = directory.socket_dir(directory.postgres, POSTGRES_SOCKET)
        self._postgres = ManagedServer(
            spec,
            new_tag=directory.new_tag,
            directory_tag=directory.tag,
            probe=lambda: postgres.answers(sockets),
            diagnose=postgres.diagnose,
            prepare=lambda: postgres.remove_stale_locks(directory),
            start_seconds_max=postgres.START_SECONDS_MAX,
        )
        return sockets

    def _prepare_valkey(self, account: Account, programs: Programs) -> str:
        """Everything before Valkey's start; its address."""
        directory = self._directory
        spec = valkey.server_spec(directory, programs, account, memory_mb_max=self._valkey_memory_mb_max)
        sockets = directory.socket_dir(directory.valkey, VALKEY_SOCKET)
        self._valkey = ManagedServer(
            spec,
            new_tag=directory.new_tag,
            directory_tag=directory.tag,
            probe=lambda: valkey.answers(sockets),
            diagnose=valkey.diagnose,
            prepare=lambda: (directory.valkey / VALKEY_SOCKET).unlink(missing_ok=True),
            start_seconds_max=valkey.START_SECONDS_MAX,
        )
        return valkey.redis_url(sockets)

    def _take_directory(self) -> tuple[Account, Programs]:
        """Make, lock and tidy the directory; find out who runs the servers, and from where. Blocking."""
        directory = self._directory
        directory.create()
        directory.lock()
        directory.remove_links()
        account = choose_account(self._run_as, postgres.cluster_owner(directory))
        programs = find_programs(account)
        directory.valkey.mkdir(mode=0o700, exist_ok=True)
        if account.switches and directory.valkey.stat().st_uid != account.uid:
            os.chown(directory.valkey, account.uid, account.gid)
        return account, programs

    def _slow_start(self) -> Callable[[float], None]:
        told = False

        def on_wait(seconds: float) -> None:
            nonlocal told
            if seconds > SLOW_START_SECONDS and not told:
                told = True
                self._progress("PostgreSQL is still starting: it recovers from a stop that was not clean")

        return on_wait

    async def _keep_logs(self) -> None:
        while True:
            await asyncio.sleep(LOG_CHECK_SECONDS)
            try:
                await asyncio.to_thread(self._directory.rotate_logs)
            except OSError as error:
                log.warning("embedded_log_rotation_failed", problem=error.strerror)

    async def stop(self) -> None:
        """Stop both servers and let the directory go. Idempotent; when cancelled it finishes first, then
        raises.

        Bounded: a fast shutdown, then an immediate one, then SIGKILL; about 40 s at worst, well under one as
        a rule.
        """
        if self._started:
            await self._finish(self._stop())

    async def _finish(self, work: Coroutine[Any, Any, None]) -> None:
        """Run the stop to its end, whatever is cancelled; callers at the same time share one."""
        if self._stopping is None:
            self._stopping = asyncio.create_task(work, name="stop embedded servers")
        else:
            work.close()
        task = self._stopping
        cancelled: asyncio.CancelledError | None = None
        while not task.done():
            try:
                await asyncio.shield(task)
            except asyncio.CancelledError as error:
                if task.cancelled():
                    raise
                cancelled = error
        self._stopping = None
        task.result()
        if cancelled is not None:
            raise cancelled

    async def _stop(self) -> None:
        keeper, self._log_keeper = self._log_keeper, None
        if keeper is not None:
            keeper.cancel()
            await asyncio.wait({keeper})
        servers = [server for server in (self._postgres, self._valkey) if server is not None]
        try:
            results = await asyncio.gather(*(server.stop() for server in servers), return_exceptions=True)
        finally:
            await asyncio.to_thread(self._directory.unlock)
            self._started = False
        for result in results:
            if isinstance(result, BaseException):
                raise result

    @property
    def restarts(self) -> tuple[int, int]:
        """How often PostgreSQL and Valkey died while serving and were started again, since `start()`."""
        servers = (self._postgres, self._valkey)
        first, second = (server.restarts if server is not None else 0 for server in servers)
        return first, second

    async def status(self) -> EmbeddedStatus:
        """Ask both servers now; bounded by their probes' time-outs (5 s, 2 s)."""
        servers = (self._postgres, self._valkey) if self._started else (None, None)
        first, second = await asyncio.gather(*(_health(server) for server in servers))
        return EmbeddedStatus(first[0], second[0], first[1], second[1], first[2], second[2])

    async def alive(self) -> bool:
        """Whether the servers answer now."""
        status = await self.status()
        wanted = (self._with_postgres, self._with_valkey)
        return all(
            up or not want for up, want in zip((status.postgres_alive, status.valkey_alive), wanted, strict=True)
        )


async def _health(server: ManagedServer | None) -> tuple[bool, tuple[int, ...], int]:
    """(answers, process numbers, restarts) of a server, or of one that is not there."""
    return (False, (), 0) if server is None else (await server.alive(), server.pids, server.restarts)


def running_stack(data_dir: Path) -> EmbeddedStack | None:
    """The stack another process serves from `data_dir`, for commands that want to talk to it; None when none is up.

    Blocking. It may end at any moment after, as any server may.
    """
    directory = DataDirectory(data_dir)
    try:
        if not directory.holder() or not postgres.says_ready(directory.postgres):
            return None
        sockets = directory.known_socket_dir(directory.postgres, POSTGRES_SOCKET)
        valkey_sockets = directory.known_socket_dir(directory.valkey, VALKEY_SOCKET)
    except PermissionError as error:
        raise EmbeddedStartFailed(
            f"the data directory {directory.root} cannot be read ({error.strerror})",
            "run the command as the user who runs the service",
        ) from error
    if sockets is None or valkey_sockets is None:
        return None
    return EmbeddedStack(postgres.database_url(sockets), valkey.redis_url(valkey_sockets), directory.root)


async def _together(*work: Coroutine[Any, Any, None]) -> None:
    """Run all; at the first failure cancel the rest, wait for them, and raise that failure."""
    tasks = [asyncio.ensure_future(coroutine) for coroutine in work]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
    for task in tasks:
        if not task.cancelled() and (error := task.exception()) is not None:
            raise error
