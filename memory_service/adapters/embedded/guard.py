"""The small process between the service and one embedded server: it starts the server and outlives the
service.

Run as a plain file (`python -I -S guard.py LABEL`), so it imports nothing but the standard library. It reads
one JSON line, the `GuardSpec`, from its standard input, starts the server, prints the server's pid on one
line, and then waits:

* the server ends: the guard ends with the same exit code (128 + signal when a signal ended it);
* the input says `stop`: the guard walks the `stop` plan, signal by signal, and ends by SIGKILL;
* the input closes, or the parent process changes (the service is gone, even by SIGKILL): the `abandon` plan.

A death signal set by `PR_SET_PDEATHSIG` fires when the *thread* that forked ends, so the service, which has
many threads, cannot use it. The guard has one thread, so it can: on Linux the server also dies with the
guard. The guard runs in a session of its own and ignores SIGINT, SIGTERM and SIGHUP: Ctrl-C, or a signal sent
to a whole group, reaches the service first, which drains and then says `stop`.
"""

# ruff: noqa: PTH123 - importing pathlib would double the start-up time of a guard
from __future__ import annotations

import contextlib
import ctypes
import json
import os
import resource
import select
import signal
import sys
import time
from collections.abc import Iterator
from typing import TypedDict

PR_SET_PDEATHSIG = 1
POLL_SECONDS = 0.5
SPEC_BYTES_MAX = 1 << 20
#: How long the helpers of a dead server may take to leave by themselves before they are killed.
STRAGGLER_SECONDS = 2.0

Plan = list[tuple[int, float]]


class GuardSpec(TypedDict):
    """What the service tells its guard. Plans are (signal number, seconds to wait after it) pairs."""

    argv: list[str]
    env: dict[str, str]
    log: str
    uid: int
    gid: int
    parent: int
    death_signal: int
    stop: Plan
    abandon: Plan
    comm: str
    tag: str


def find_processes(comm: str, tag: str) -> list[int]:
    """Pids of the running processes named `comm` whose command line contains `tag`.

    The tag, made from the data directory's device and inode, is on the command line of everything we start,
    and PostgreSQL keeps it in the titles of its helpers. A command line can be read in containers where root
    may not read another user's `/proc/PID/cwd`.
    """
    try:
        entries = [int(entry.name) for entry in os.scandir("/proc") if entry.name.isdigit()]
    except FileNotFoundError:
        return _find_with_ps(comm, tag)
    found = []
    for pid in entries:
        try:
            with open(f"/proc/{pid}/comm", "rb") as stream:
                if stream.read().strip() != comm.encode()[:15]:
                    continue
            with open(f"/proc/{pid}/cmdline", "rb") as stream:
                words = stream.read().replace(b"\0", b" ")
        except OSError:  # it ended while we looked, or it is hidden from us and so not ours
            continue
        if tag.encode() in words and pid != os.getpid():
            found.append(pid)
    return found


def _find_with_ps(comm: str, tag: str) -> list[int]:
    """The same where there is no /proc (macOS)."""
    import subprocess

    listing = subprocess.run(
        ["/bin/ps", "-axo", "pid=,command="], capture_output=True, text=True, check=False, timeout=10
    ).stdout
    found = []
    for line in listing.splitlines():
        pid, _, command = line.strip().partition(" ")
        if tag in command and comm in command.split(" ")[0] and pid.isdigit() and int(pid) != os.getpid():
            found.append(int(pid))
    return found


def send_signal(pid: int, number: int, comm: str, tag: str) -> bool:
    """Signal `pid` if it still is a process of ours; false when it is gone or its number is another's."""
    try:
        handle = os.pidfd_open(pid) if hasattr(os, "pidfd_open") else -1
    except OSError:
        return False
    try:
        # The handle pins the process, so the check below and the signal are about the same one.
        if pid not in find_processes(comm, tag):
            return False
        if handle >= 0:
            signal.pidfd_send_signal(handle, number)
        else:
            os.kill(pid, number)
    except OSError:
        return False
    finally:
        if handle >= 0:
            os.close(handle)
    return True


def _read_spec() -> GuardSpec:
    line = b""
    while not line.endswith(b"\n") and len(line) < SPEC_BYTES_MAX:
        byte = os.read(0, 1)
        if not byte:
            raise SystemExit(0)  # the service died before it said anything: nothing to start
        line += byte
    spec: GuardSpec = json.loads(line)
    return spec


def _run_server(spec: GuardSpec) -> int:
    guard = os.getpid()
    pid = os.fork()
    if pid:
        return pid
    try:
        _become_server(spec, guard)
    except BaseException as error:  # noqa: BLE001 - the child must never return into the guard's code
        os.write(2, f"cannot start {spec['argv'][0]}: {error}\n".encode())
    os._exit(127)


def _become_server(spec: GuardSpec, guard: int) -> None:
    os.setsid()
    for number in (
        signal.SIGINT,
        signal.SIGTERM,
        signal.SIGHUP,
        signal.SIGPIPE,
        signal.SIGXFSZ,
        signal.SIGCHLD,
    ):
        signal.signal(number, signal.SIG_DFL)
    null = os.open(os.devnull, os.O_RDWR)
    log = os.open(spec["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)
    os.dup2(null, 0)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.closerange(3, 256)
    os.umask(0o077)
    # A core file would put memories on the disk.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if spec["uid"] != os.geteuid():
        os.setgroups([])
        os.setgid(spec["gid"])
        os.setuid(spec["uid"])
    # After setuid, which clears it.
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, spec["death_signal"], 0, 0, 0)
    if os.getppid() != guard:
        raise OSError("the guard is gone")
    os.execve(spec["argv"][0], spec["argv"], spec["env"])  # noqa: S606 - our own program and words


class Guard:
    """Waits on one server and walks the plans."""

    def __init__(self, spec: GuardSpec, pid: int, wake: int) -> None:
        self._spec = spec
        self._pid = pid
        self._wake = wake
        self._status: int | None = None
        self._input_open = True

    def run(self) -> int:
        """Wait until the server has ended, by itself or by a plan. Returns its exit code."""
        while not self._ended():
            order = self._order(POLL_SECONDS)
            if order is not None:
                self._walk(order)
        self._sweep()
        assert self._status is not None
        code = os.waitstatus_to_exitcode(self._status)
        return code if code >= 0 else 128 - code

    def _ended(self) -> bool:
        if self._status is None:
            pid, status = os.waitpid(self._pid, os.WNOHANG)
            if pid:
                self._status = status
        return self._status is not None

    def _order(self, seconds: float) -> Plan | None:
        """Wait at most `seconds` for an order, the server's end, or the service's end."""
        readers = [self._wake, *([0] if self._input_open else [])]
        ready, _, _ = select.select(readers, [], [], max(0.0, seconds))
        if self._wake in ready:
            os.read(self._wake, 512)
        if 0 in ready:
            try:
                word = os.read(0, 64)
            except OSError:
                word = b""
            if word.startswith(b"stop"):
                return self._spec["stop"]
            self._input_open = False
            return self._spec["abandon"]
        if self._input_open and os.getppid() != self._spec["parent"]:
            self._input_open = False
            return self._spec["abandon"]
        return None

    def _walk(self, plan: Plan) -> None:
        for number, seconds in self._steps(plan):
            if self._ended():
                return
            os.kill(self._pid, number)
            deadline = time.monotonic() + seconds
            while not self._ended() and time.monotonic() < deadline:
                if self._order(min(POLL_SECONDS, deadline - time.monotonic())) is self._spec["abandon"]:
                    self._walk(self._spec["abandon"])
                    return

    def _steps(self, plan: Plan) -> Iterator[tuple[int, float]]:
        yield from ((number, seconds) for number, seconds in plan)
        while True:
            yield signal.SIGKILL, POLL_SECONDS

    def _sweep(self) -> None:
        """No helper of the server may stay behind, not even one that is stuck."""
        deadline = time.monotonic() + STRAGGLER_SECONDS
        while left := find_processes(self._spec["comm"], self._spec["tag"]):
            if time.monotonic() > deadline:
                for pid in left:
                    send_signal(pid, signal.SIGKILL, self._spec["comm"], self._spec["tag"])
                return
            time.sleep(0.02)


def main() -> int:
    """Entry point of the guard process. Returns the exit code."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    wake, wake_writer = os.pipe()
    os.set_blocking(wake_writer, False)
    signal.set_wakeup_fd(wake_writer)
    signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
    spec = _read_spec()
    pid = _run_server(spec)
    with contextlib.suppress(OSError):  # nobody listens any more; the closed input says so too
        os.write(1, f"{pid}\n".encode())
    return Guard(spec, pid, wake).run()


if __name__ == "__main__":
    sys.exit(main())
