"""One embedded server: launched under a guard, watched, launched again when it dies while serving."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import structlog

from memory_service.adapters.embedded import guard as guard_module
from memory_service.adapters.embedded.errors import EmbeddedStartFailed
from memory_service.adapters.embedded.guard import GuardSpec, Plan, find_processes, send_signal
from memory_service.adapters.embedded.layout import size, tail
from memory_service.adapters.embedded.programs import Account

PROBE_INTERVAL_SECONDS = 0.03
#: What a guard may take beyond its plan (SIGKILL, helpers, its own start) before it counts as frozen.
GUARD_GRACE_SECONDS = 10.0
BACKOFF_FIRST_SECONDS = 0.1
BACKOFF_SECONDS_MAX = 10.0
#: A server that ran this long before it died starts again with the first, short pause.
STABLE_SECONDS = 60.0

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class ServerSpec:
    """How to run one server.

    `argv` is a function of the launch's tag, which it must put on the command line. Plans are (signal,
    seconds) pairs.
    """

    name: str
    comm: str
    directory: Path
    log_path: Path
    argv: Callable[[str], list[str]]
    account: Account
    stop: Plan
    abandon: Plan
    death_signal: int = int(signal.SIGKILL)
    env: Mapping[str, str] = field(default_factory=dict)


def child_environment() -> dict[str, str]:
    """A small, fixed environment: the servers inherit no PG* variable, no secret and no locale of ours."""
    return {"PATH": "/usr/bin:/bin", "LANG": "C", "LC_ALL": "C", "TZ": "UTC"}


class GuardedProcess:
    """A running guard and its server."""

    def __init__(self, process: asyncio.subprocess.Process, pid: int, stop_seconds_max: float) -> None:
        self._process = process
        self._stop_seconds_max = stop_seconds_max
        self.pid = pid

    @property
    def guard_pid(self) -> int:
        return self._process.pid

    @property
    def running(self) -> bool:
        return self._process.returncode is None

    @classmethod
    async def spawn(cls, spec: ServerSpec, tag: str) -> GuardedProcess:
        """Start a server under a new guard.

        Raises:
            EmbeddedStartFailed: the guard could not be started.
        """
        order: GuardSpec = {
            "argv": spec.argv(tag),
            "env": {**child_environment(), **spec.env},
            "log": str(spec.log_path),
            "uid": spec.account.uid,
            "gid": spec.account.gid,
            "parent": os.getpid(),
            "death_signal": spec.death_signal,
            "stop": spec.stop,
            "abandon": spec.abandon,
            "comm": spec.comm,
            "tag": tag,
        }
        try:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                *("-I", "-S", guard_module.__file__, spec.comm, str(spec.directory)),
                cwd=spec.directory,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as error:
            raise EmbeddedStartFailed(
                f"{spec.name} could not be started ({error.strerror})",
                "free memory or process slots on this machine, or make the data directory readable",
            ) from error
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(json.dumps(order).encode() + b"\n")
            await process.stdin.drain()
            first = await process.stdout.readline()
        except ConnectionError:
            first = b""
        except BaseException:
            process.stdin.close()  # a cancelled start: the guard gives its server up
            await process.wait()
            raise
        pid = int(first) if first.strip().isdigit() else 0
        return cls(process, pid, sum(seconds for _, seconds in spec.stop) + GUARD_GRACE_SECONDS)

    async def wait(self) -> int:
        """Wait for the guard's end. Returns the server's exit code."""
        return await self._process.wait()

    async def stop(self) -> None:
        """Tell the guard to stop its server and wait for both; bounded by the spec's stop plan."""
        stdin = self._process.stdin
        if stdin is not None and self.running and not stdin.is_closing():
            stdin.write(b"stop\n")
        try:
            await asyncio.wait_for(self._process.wait(), self._stop_seconds_max)
        except TimeoutError:  # a frozen guard; its server dies with it
            self._process.kill()
            await self._process.wait()
        if stdin is not None:
            stdin.close()


class ManagedServer:
    """Launches a server, waits until it answers, and keeps it running.

    Args:
        spec: how to run it.
        new_tag: makes the tag of one launch.
        directory_tag: the prefix of all tags of this data directory, by which leftovers are found.
        probe: one look whether the server answers; false for "not yet".
        diagnose: turns the tail of the log into an error to raise.
        prepare: blocking clean-up before each launch, once no leftover runs.
        start_seconds_max: how long a launch may take until it answers.
    """

    def __init__(
        self,
        spec: ServerSpec,
        *,
        new_tag: Callable[[], str],
        directory_tag: str,
        probe: Callable[[], Awaitable[bool]],
        diagnose: Callable[[str, str], EmbeddedStartFailed],
        prepare: Callable[[], None] = lambda: None,
        start_seconds_max: float,
    ) -> None:
        self.spec = spec
        self.restarts = 0
        self._new_tag = new_tag
        self._directory_tag = directory_tag
        self._probe = probe
        self._diagnose = diagnose
        self._prepare = prepare
        self._start_seconds_max = start_seconds_max
        self._process: GuardedProcess | None = None
        self._watcher: asyncio.Task[None] | None = None
        self._stopping = False

    @property
    def pids(self) -> tuple[int, ...]:
        """The server's pid and its guard's, or nothing when it is not running."""
        if self._process is None or not self._process.running:
            return ()
        return (self._process.pid, self._process.guard_pid)

    async def start(self, on_wait: Callable[[float], None] = lambda _seconds: None) -> None:
        """Launch, wait until it answers, begin to watch.

        Raises:
            EmbeddedStartFailed: it ended or did not answer in time; the message has the tail of its log.
        """
        self._stopping = False
        await self._launch(on_wait)
        self._watcher = asyncio.create_task(self._watch(), name=f"watch {self.spec.name}")

    async def alive(self) -> bool:
        """Whether the process runs and answers now."""
        return self._process is not None and self._process.running and await self._probe()

    async def stop(self) -> None:
        """Stop watching and stop the server. Idempotent."""
        self._stopping = True
        watcher, self._watcher = self._watcher, None
        if watcher is not None:
            watcher.cancel()
            await asyncio.wait({watcher})
        if self._process is not None:
            await self._process.stop()
        await asyncio.to_thread(clear_leftovers, self.spec, self._directory_tag)

    async def _launch(self, on_wait: Callable[[float], None]) -> None:
        await asyncio.to_thread(self._clear)
        log_start = await asyncio.to_thread(size, self.spec.log_path)
        process = self._process = await GuardedProcess.spawn(self.spec, self._new_tag())
        loop = asyncio.get_running_loop()
        began = loop.time()
        while True:
            if not process.running:
                raise self._failure("ended while it started", log_start)
            if await self._probe():
                return
            waited = loop.time() - began
            if waited > self._start_seconds_max:
                await process.stop()
                raise self._failure(f"did not answer within {self._start_seconds_max:.0f} s", log_start)
            on_wait(waited)
            await asyncio.sleep(PROBE_INTERVAL_SECONDS)

    def _clear(self) -> None:
        clear_leftovers(self.spec, self._directory_tag)
        self._prepare()

    def _failure(self, what: str, log_start: int) -> EmbeddedStartFailed:
        return self._diagnose(f"{self.spec.name} {what}", tail(self.spec.log_path, start=log_start))

    async def _watch(self) -> None:
        loop = asyncio.get_running_loop()
        failures = 0
        while self._process is not None:
            began = loop.time()
            code = await self._process.wait()
            if self._stopping:
                return
            if loop.time() - began > STABLE_SECONDS:
                failures = 0
            while True:
                pause = min(BACKOFF_SECONDS_MAX, BACKOFF_FIRST_SECONDS * 2**failures)
                log.warning("embedded_server_died", server=self.spec.name, exit_code=code, restart_in_seconds=pause)
                await asyncio.sleep(pause)
                failures = min(failures + 1, 16)
                try:
                    await self._launch(lambda _seconds: None)
                except EmbeddedStartFailed as error:
                    log.error("embedded_server_restart_failed", server=self.spec.name, problem=error.problem)
                    continue
                except (OSError, RuntimeError) as error:
                    # uvloop's word for a connection that ended under its user is RuntimeError. Whatever a launch
                    # ends in, the watching goes on: the next one clears away what this one left.
                    log.error("embedded_server_restart_failed", server=self.spec.name, problem=type(error).__name__)
                    continue
                self.restarts += 1
                log.info("embedded_server_restarted", server=self.spec.name, restarts=self.restarts)
                break


def clear_leftovers(spec: ServerSpec, directory_tag: str) -> None:
    """Stop the servers of this data directory that outlived their service. Blocking; call it with the lock
    held.

    They are known by program name and by the directory's tag on the command line, never by pid alone.
    """
    for number, seconds in [*spec.abandon, (int(signal.SIGKILL), 2.0)]:
        pids = find_processes(spec.comm, directory_tag)
        if not pids:
            return
        # The oldest is the server, the others are its helpers, which go with it.
        targets = pids if number == signal.SIGKILL else [min(pids, key=_started)]
        for pid in targets:
            send_signal(pid, number, spec.comm, directory_tag)
        deadline = time.monotonic() + seconds
        while find_processes(spec.comm, directory_tag) and time.monotonic() < deadline:
            time.sleep(0.02)
    if left := find_processes(spec.comm, directory_tag):
        raise EmbeddedStartFailed(
            f"an earlier {spec.name} of this data directory does not end (process {left[0]})",
            "end that process, or restart the machine if it cannot be ended",
        )


def _started(pid: int) -> tuple[int, int]:
    """(start time in clock ticks, pid): the pid alone where /proc does not tell."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[19]), pid
    except (OSError, IndexError, ValueError):
        return 0, pid
