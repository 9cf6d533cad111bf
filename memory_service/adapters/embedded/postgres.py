"""The embedded PostgreSQL: making a cluster, its settings, readiness, and what its failures mean."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote

import asyncpg

from memory_service.adapters.embedded.errors import EmbeddedStartFailed
from memory_service.adapters.embedded.guard import Plan
from memory_service.adapters.embedded.layout import DataDirectory, size, tail
from memory_service.adapters.embedded.managed import GuardedProcess, ServerSpec
from memory_service.adapters.embedded.programs import POSTGRES_MAJOR, Account, Programs
from memory_service.domain.errors import Reason

SUPERUSER = "postgres"
DATABASE = "memory_service"
PROBE_SECONDS_MAX = 5.0
#: Crash recovery replays at most about `max_wal_size`; a slow disk may need minutes.
START_SECONDS_MAX = 300.0
#: Line of postmaster.pid that holds the server's state ("starting", "ready", "stopping").
POSTMASTER_STATUS_LINE = 8
INITDB_PREFIX = "postgres.new-"

#: SIGINT is a fast shutdown (sessions end, checkpoint), SIGQUIT an immediate one (recovery at the next
#: start).
STOP: Plan = [(int(signal.SIGINT), 20.0), (int(signal.SIGQUIT), 5.0)]
#: When the service is gone nobody waits for a checkpoint: committed work is in the log, so be quick.
ABANDON: Plan = [(int(signal.SIGINT), 1.5), (int(signal.SIGQUIT), 1.5)]

#: Passed on the command line: they win over postgresql.conf, follow the version of the service, and need no
#: file written by root into a directory another account owns. Sized for a machine of 1-2 GB shared with the
#: service.
SETTINGS: Mapping[str, str] = {
    # Reached by the Unix socket in its own 0700 directory only.
    "listen_addresses": "",
    "unix_socket_directories": ".",
    "unix_socket_permissions": "0700",
    "max_connections": "60",
    # Durable.
    "fsync": "on",
    "synchronous_commit": "on",
    "full_page_writes": "on",
    "restart_after_crash": "on",
    "wal_level": "replica",
    "max_wal_size": "512MB",
    "min_wal_size": "80MB",
    "wal_compression": "on",
    "checkpoint_timeout": "5min",
    # After a crash: one call for the file system, not one for each of a thousand files (0.1 s, not 2 s).
    **({"recovery_init_sync_method": "syncfs"} if sys.platform == "linux" else {}),
    # Memory and processes.
    "shared_buffers": "128MB",
    "effective_cache_size": "512MB",
    "work_mem": "8MB",
    "maintenance_work_mem": "128MB",
    "max_worker_processes": "6",
    "max_parallel_workers": "2",
    "max_parallel_workers_per_gather": "1",
    "io_workers": "2",
    "jit": "off",
    # In files of the data directory: /dev/shm is 64 MB in most containers, too small to build a vector index
    # in parallel, and is emptied by systemd when an ordinary user logs out.
    "dynamic_shared_memory_type": "mmap",
    # Forget and decay leave dead rows all day.
    "autovacuum": "on",
    "autovacuum_max_workers": "2",
    "autovacuum_naptime": "20s",
    "idle_in_transaction_session_timeout": "5min",
    # The log. Errors of statements go to the client only: their words can quote memory text, which would then
    # outlive its erasure. (Here "log" stands above "error": the server's own events, FATAL and PANIC stay.)
    "log_min_messages": "log",
    "log_destination": "stderr",
    "logging_collector": "off",
    "log_line_prefix": "%m [%p] ",
    "log_statement": "none",
    "log_min_error_statement": "panic",
    "log_error_verbosity": "terse",
    "log_checkpoints": "off",
    "log_timezone": "UTC",
    "timezone": "UTC",
    "lc_messages": "C",
}
#: For tests: survives the death of processes, not of the machine.
RELAXED: Mapping[str, str] = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}


def database_url(socket_dir: Path, database: str = DATABASE) -> str:
    """DSN of the superuser, for `asyncpg.connect`, over the socket in `socket_dir`."""
    return f"postgresql://{SUPERUSER}@/{database}?host={quote(str(socket_dir), safe='/')}"


def server_spec(
    directory: DataDirectory, programs: Programs, account: Account, settings: Mapping[str, str]
) -> ServerSpec:
    """How to run the server of this data directory, with `settings` over `SETTINGS`."""
    merged = {**SETTINGS, **settings}
    options = [word for name, value in merged.items() for word in ("-c", f"{name}={value}")]

    def argv(tag: str) -> list[str]:
        return [
            str(programs.postgres), "-D", _own_directory(directory.postgres, account),
            "-c", f"cluster_name={tag}", *options,
        ]  # fmt: skip

    return ServerSpec(
        name="PostgreSQL",
        comm="postgres",
        directory=directory.postgres,
        log_path=directory.log_path("postgres"),
        argv=argv,
        account=account,
        stop=STOP,
        abandon=ABANDON,
        death_signal=int(signal.SIGQUIT),
    )


def _own_directory(path: Path, account: Account) -> str:
    """How the server is told its own directory, in which it is started.

    By name; or by the kernel's name for the working directory, under an account that perhaps may not walk the
    directories above.
    """
    return "/proc/self/cwd" if account.switches and Path("/proc/self").is_dir() else str(path)


def cluster_owner(directory: DataDirectory) -> int | None:
    """The user number that owns the cluster; None when there is no cluster."""
    try:
        return os.lstat(directory.postgres).st_uid
    except FileNotFoundError:
        return None


def check_cluster(directory: DataDirectory, account: Account) -> None:
    """Look at an existing cluster before the server does. Blocking.

    Raises:
        EmbeddedStartFailed: of another major version, incomplete, or unreadable.
    """
    path = directory.postgres
    try:
        version = (path / "PG_VERSION").read_text(encoding="ascii", errors="replace").strip()
        control = (path / "global" / "pg_control").is_file()
        status = path.stat()
    except FileNotFoundError:
        version, control, status = "", False, None
    except OSError as error:
        raise EmbeddedStartFailed(
            f"the database files in {path} cannot be read ({error.strerror})",
            "start the service as the user who owns the data directory",
        ) from error
    if not version or not control or status is None:
        raise EmbeddedStartFailed(
            f"{path} is not a complete PostgreSQL cluster (no PG_VERSION or pg_control)",
            "restore the data directory from a backup; to start empty instead, move it away first",
        )
    if version != str(POSTGRES_MAJOR):
        raise EmbeddedStartFailed(
            f"{path} was made by PostgreSQL {version}, and this is PostgreSQL {POSTGRES_MAJOR}",
            f"dump it with PostgreSQL {version} and load that into a new data directory, or use pg_upgrade",
        )
    if status.st_uid == 0 and account.switches:
        _give_away(path, account)
    elif status.st_mode & 0o077 and os.geteuid() in (0, status.st_uid):
        path.chmod(0o700)


def _give_away(path: Path, account: Account) -> None:
    """Give a tree that root restored to the server's account. Links are not followed."""
    for folder, folders, files in os.walk(path):
        for name in (*folders, *files):
            os.chown(Path(folder, name), account.uid, account.gid, follow_symlinks=False)
    os.chown(path, account.uid, account.gid)
    path.chmod(0o700)


async def make_cluster(
    directory: DataDirectory, programs: Programs, account: Account, *, durable: bool, tag: str
) -> None:
    """Make a new cluster beside its final place, then rename it: an interrupted start leaves no half-made
    one.

    Raises:
        EmbeddedStartFailed: initdb failed.
    """
    building = await asyncio.to_thread(_new_building, directory, account)
    log_path = directory.log_path("initdb")
    sync = [] if durable else ["--no-sync"]
    if durable and sys.platform == "linux":
        sync = ["--sync-method=syncfs"]
    spec = ServerSpec(
        name="initdb",
        comm="initdb",
        directory=building,
        log_path=log_path,
        argv=lambda launch_tag: [
            *(str(programs.initdb), "-D", _own_directory(building, account), "-U", SUPERUSER),
            *("--encoding=UTF8", "--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C"),
            *("--auth-local=trust", "--auth-host=reject", "--data-checksums", "--no-instructions"),
            *("-c", f"cluster_name={launch_tag}", *sync),
        ],
        account=account,
        stop=[(int(signal.SIGTERM), 2.0)],
        abandon=[(int(signal.SIGTERM), 1.0)],
    )
    start = await asyncio.to_thread(size, log_path)
    process = await GuardedProcess.spawn(spec, tag)
    try:
        code = await process.wait()
    except BaseException:
        await process.stop()
        raise
    if code != 0:
        await asyncio.to_thread(shutil.rmtree, building, ignore_errors=True)
        raise diagnose("initdb, which makes the database files, failed", tail(log_path, start=start))
    await asyncio.to_thread(_publish, building, directory)


def _new_building(directory: DataDirectory, account: Account) -> Path:
    """A place to make a cluster in; what interrupted makings left goes first."""
    for left in directory.root.glob(INITDB_PREFIX + "*"):
        shutil.rmtree(left, ignore_errors=True)
    building = Path(tempfile.mkdtemp(prefix=INITDB_PREFIX, dir=directory.root))
    if account.switches:
        os.chown(building, account.uid, account.gid)
    return building


def _publish(building: Path, directory: DataDirectory) -> None:
    building.rename(directory.postgres)
    handle = os.open(directory.root, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def remove_stale_locks(directory: DataDirectory) -> None:
    """Remove the lock files of a server that died; call it once no server of this directory runs.

    PostgreSQL would take them for live when the pid in them now names any other process of its user, which in
    a restarted container is the rule.
    """
    for name in ("postmaster.pid", ".s.PGSQL.5432.lock", ".s.PGSQL.5432"):
        (directory.postgres / name).unlink(missing_ok=True)


async def answers(socket_dir: Path) -> bool:
    """Whether the server accepts a session now."""
    if not await asyncio.to_thread(says_ready, socket_dir):
        return False
    try:
        connection = await asyncpg.connect(database_url(socket_dir, SUPERUSER), timeout=PROBE_SECONDS_MAX)
        # It may die or stall in this very moment, too.
        await connection.close(timeout=PROBE_SECONDS_MAX)
    except asyncpg.TooManyConnectionsError:
        return True
    except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError):
        return False
    return True


def says_ready(cluster: Path) -> bool:
    """What the last line of postmaster.pid says. (Connecting while it recovers would log a FATAL.)"""
    try:
        lines = (cluster / "postmaster.pid").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return False
    return len(lines) >= POSTMASTER_STATUS_LINE and lines[POSTMASTER_STATUS_LINE - 1].strip() == "ready"


async def ensure_database(socket_dir: Path) -> None:
    """Make the service's database and the vector extension if they are not there; bring the extension up to
    date.

    Raises:
        EmbeddedStartFailed: the server refused.
    """
    try:
        connection = await asyncpg.connect(database_url(socket_dir, SUPERUSER), timeout=PROBE_SECONDS_MAX)
        try:
            if not await connection.fetchval("SELECT 1 FROM pg_database WHERE datname = $1", DATABASE):
                await connection.execute(f"CREATE DATABASE {DATABASE}")
        finally:
            await connection.close()
        connection = await asyncpg.connect(database_url(socket_dir), timeout=PROBE_SECONDS_MAX)
        try:
            await connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
            await connection.execute("ALTER EXTENSION vector UPDATE")
        finally:
            await connection.close()
    except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        raise diagnose("the database could not be prepared", str(error)) from error


#: (words in the log, problem, remedy, reason); the first that matches names the cause.
_CAUSES: tuple[tuple[tuple[str, ...], str, str, Reason], ...] = (
    (
        ("No space left on device", "Disk quota exceeded"),
        "the disk is full",
        "free some space on the disk of the data directory, then start again; no acknowledged write is lost",
        Reason.STORAGE_FULL,
    ),
    (
        ("Read-only file system",),
        "the disk is read-only",
        "mount it for writing, or choose another data directory",
        Reason.DATABASE_UNAVAILABLE,
    ),
    (
        ("Permission denied", "has wrong ownership", "has invalid permissions"),
        "the database files may not be used by the account that runs PostgreSQL",
        "give the data directory back to its owner (chown -R), or start the service as that user",
        Reason.DATABASE_UNAVAILABLE,
    ),
    (
        (
            "could not locate a valid checkpoint record", "invalid checkpoint", "incorrect checksum",
            "invalid page in block", "could not read file", "could not open file", "could not open directory",
            "is not a valid data directory", "PANIC",
        ),
        "the database files are damaged",
        "keep a copy of the data directory and restore it from a backup; do not delete it",
        Reason.DATABASE_UNAVAILABLE,
    ),
    (
        ("are incompatible with server",),
        "the database files are of another version of PostgreSQL",
        "start the version of the service that wrote them, or dump and load them",
        Reason.DATABASE_UNAVAILABLE,
    ),
    (
        ("Cannot allocate memory", "could not map anonymous shared memory", "could not fork"),
        "the machine is out of memory or of processes",
        "free some memory (PostgreSQL needs about 200 MB), or use an external database",
        Reason.DATABASE_UNAVAILABLE,
    ),
    (
        ("cannot start ",),
        "the program could not be run under its account",
        "start the service as an ordinary user, or as root with the right to change user",
        Reason.DATABASE_UNAVAILABLE,
    ),
)  # fmt: skip


def diagnose(what: str, log_tail: str) -> EmbeddedStartFailed:
    """The error for a failure whose log ends with `log_tail`."""
    for words, problem, remedy, reason in _CAUSES:
        if any(word in log_tail for word in words):
            return EmbeddedStartFailed(f"{what}: {problem}", remedy, log_tail=log_tail, reason=reason)
    return EmbeddedStartFailed(what, "read the log below; the whole of it is in DATA_DIR/logs", log_tail=log_tail)
