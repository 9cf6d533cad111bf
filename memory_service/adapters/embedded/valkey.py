"""The embedded Valkey: working memory, the second cache tier and change notices. Never on disk."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path
from urllib.parse import quote

from memory_service.adapters.embedded.errors import EmbeddedStartFailed
from memory_service.adapters.embedded.guard import Plan
from memory_service.adapters.embedded.layout import VALKEY_SOCKET, DataDirectory
from memory_service.adapters.embedded.managed import ServerSpec
from memory_service.adapters.embedded.programs import Account, Programs
from memory_service.domain.errors import Reason

PROBE_SECONDS_MAX = 2.0
START_SECONDS_MAX = 20.0
STOP: Plan = [(int(signal.SIGTERM), 5.0)]
ABANDON: Plan = [(int(signal.SIGTERM), 1.0)]


def redis_url(socket_dir: Path) -> str:
    """URL for `redis.asyncio.from_url`, over the socket in `socket_dir`."""
    return f"unix://{quote(str(socket_dir / VALKEY_SOCKET), safe='/')}?db=0"


def server_spec(directory: DataDirectory, programs: Programs, account: Account, *, memory_mb_max: int) -> ServerSpec:
    """How to run the server of this data directory.

    Memory is bounded with `volatile-lru`. The cache and the sessions share one server, and all their keys
    expire. `noeviction` would let a full cache refuse the sessions' writes; `volatile-ttl` would drop
    sessions (30 minutes) before cached vectors (an hour). Least recently used drops what nobody reads: a
    session in use is touched at each turn, so cold cache entries go first. Keys without expiry (locks held by
    their own protocol) are never dropped.
    """
    options: dict[str, str] = {
        "port": "0",
        "unixsocket": VALKEY_SOCKET,
        "unixsocketperm": "700",
        # Never on disk: no snapshot, no log, none at shutdown, and no command that would make one.
        "save": "",
        "appendonly": "no",
        "shutdown-on-sigterm": "nosave",
        "shutdown-on-sigint": "nosave",
        "maxmemory": f"{memory_mb_max}mb",
        "maxmemory-policy": "volatile-lru",
        "maxmemory-samples": "10",
        "lazyfree-lazy-eviction": "yes",
        "maxclients": "256",
        "hide-user-data-from-log": "yes",
        "loglevel": "notice",
        "always-show-logo": "no",
        "daemonize": "no",
    }
    words = [word for name, value in options.items() for word in (f"--{name}", value)]
    words += [word for name in ("SAVE", "BGSAVE", "BGREWRITEAOF") for word in ("--rename-command", name, "")]

    def argv(tag: str) -> list[str]:
        return [str(programs.valkey), *words, "--proc-title-template", f"{{title}} {tag}"]

    return ServerSpec(
        name="Valkey",
        comm="valkey-server",
        directory=directory.valkey,
        log_path=directory.log_path("valkey"),
        argv=argv,
        account=account,
        stop=STOP,
        abandon=ABANDON,
        death_signal=int(signal.SIGKILL),
    )


async def answers(socket_dir: Path) -> bool:
    """Whether the server answers PING now."""
    try:
        async with asyncio.timeout(PROBE_SECONDS_MAX):
            reader, writer = await asyncio.open_unix_connection(str(socket_dir / VALKEY_SOCKET))
            try:
                writer.write(b"PING\r\n")
                await writer.drain()
                return (await reader.readline()).startswith(b"+PONG")
            finally:
                writer.close()
    except (OSError, TimeoutError):
        return False


def diagnose(what: str, log_tail: str) -> EmbeddedStartFailed:
    """The error for a failure whose log ends with `log_tail`."""
    if "No space left on device" in log_tail:
        return EmbeddedStartFailed(
            f"{what}: the disk is full",
            "free some space and start again",
            log_tail=log_tail,
            reason=Reason.STORAGE_FULL,
        )
    return EmbeddedStartFailed(
        what,
        "read the log below, or set MEMORY_SERVICE_REDIS_URL to a Redis or Valkey of your own",
        log_tail=log_tail,
        reason=Reason.REDIS_UNAVAILABLE,
    )
