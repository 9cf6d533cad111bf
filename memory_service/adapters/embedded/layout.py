"""The data directory: its parts, the lock that says who serves it, and short paths to its sockets."""

from __future__ import annotations

import fcntl
import os
import re
import secrets
import shutil
import tempfile
from pathlib import Path

from memory_service.adapters.embedded.errors import DataDirectoryInUse, EmbeddedStartFailed

#: Bytes a Unix socket path may have, less the closing NUL: 107 on Linux, 103 on macOS. We keep to the
#: smaller.
SOCKET_PATH_BYTES_MAX = 103
POSTGRES_SOCKET = ".s.PGSQL.5432"
VALKEY_SOCKET = "valkey.sock"
LOG_BYTES_MAX = 8 * 1024 * 1024
_PLAIN_PATH = re.compile(r"[A-Za-z0-9._/-]+")
_LINK_NOTE = "socket-links"
_LINK_PREFIX = "memory-service-sockets-"


class DataDirectory:
    """The parts of one data directory.

    DIR/service.lock   locked (flock) by the serving process, holds its pid
    DIR/postgres/      the database cluster, with its socket; mode 0700, owned by PostgreSQL's account
    DIR/valkey/        working directory and socket of Valkey; mode 0700, same owner
    DIR/logs/          postgres.log, valkey.log, each kept below about 16 MB with its predecessor
    """

    def __init__(self, root: Path) -> None:
        self.root = root.expanduser().absolute()
        self.postgres = self.root / "postgres"
        self.valkey = self.root / "valkey"
        self.logs = self.root / "logs"
        self._lock_fd = -1
        self._links: Path | None = None

    @property
    def tag(self) -> str:
        """Marks every process we start for this directory. A copy of the directory has another inode and so
        another tag: starting the copy never touches the servers of the original."""
        status = self.root.stat()
        return f"memory-service-{status.st_dev:x}-{status.st_ino:x}."

    def new_tag(self) -> str:
        """`tag` plus a number for one launch, so that a dying guard spares its successor's server."""
        return self.tag + secrets.token_hex(4)

    def create(self) -> None:
        """Make the directory and our part of it.

        Raises:
            EmbeddedStartFailed: it cannot be made, read or written.
        """
        try:
            if not self.root.exists():
                self.root.mkdir(parents=True, mode=0o700)
            self.logs.mkdir(mode=0o700, exist_ok=True)
            next(self.root.iterdir(), None)
        except OSError as error:
            raise EmbeddedStartFailed(
                f"the data directory {self.root} cannot be used ({error.strerror})",
                "make it a directory that the service's user may read and write, or name another one",
            ) from error

    def lock(self) -> None:
        """Hold the directory until `unlock` or the end of this process, however it ends.

        Raises:
            DataDirectoryInUse: another process, or another stack of this one, holds it.
            EmbeddedStartFailed: the lock file cannot be opened.
        """
        path = self.root / "service.lock"
        try:
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            raise EmbeddedStartFailed(
                f"the lock file {path} cannot be opened ({error.strerror})",
                "start the service as the user who owns the data directory, on a disk that can be written",
            ) from error
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = os.read(handle, 32).decode("ascii", "replace").strip()
            os.close(handle)
            raise DataDirectoryInUse(self.root, int(holder) if holder.isdigit() else 0) from error
        self._lock_fd = handle
        os.ftruncate(handle, 0)
        os.pwrite(handle, f"{os.getpid()}\n".encode(), 0)

    def unlock(self) -> None:
        """Let go of the directory and remove the short links. Idempotent."""
        if self._lock_fd >= 0:
            self.remove_links()
            os.ftruncate(self._lock_fd, 0)
            os.close(self._lock_fd)
            self._lock_fd = -1

    def socket_dir(self, part: Path, socket_name: str) -> Path:
        """A path of `part` short and plain enough for a client to reach `socket_name` in it.

        That is `part` itself when its path fits; otherwise a link to it in a new directory of mode 0700 under
        XDG_RUNTIME_DIR or the temporary directory. (The servers bind their sockets by a path relative to
        their own working directory, so only clients need this.)
        """
        path = os.fsencode(part / socket_name)
        if len(path) <= SOCKET_PATH_BYTES_MAX and _PLAIN_PATH.fullmatch(str(part)):
            return part
        if self._links is None:
            self._links = self._make_links_dir()
        link = self._links / part.name
        if not link.is_symlink():
            link.symlink_to(part, target_is_directory=True)
        return link

    def known_socket_dir(self, part: Path, socket_name: str) -> Path | None:
        """Where the serving process put the socket of `part`; None when there is none. Changes nothing."""
        candidates = [part]
        note = self.root / _LINK_NOTE
        if note.is_file():
            candidates.insert(0, Path(note.read_text(encoding="utf-8").strip()) / part.name)
        return next((folder for folder in candidates if (folder / socket_name).is_socket()), None)

    def holder(self) -> int:
        """The pid in the lock file, 0 when nobody serves. The lock itself is not tried: that could turn away a
        service that starts at the same moment."""
        try:
            text = (self.root / "service.lock").read_text(encoding="ascii").strip()
            os.kill(int(text), 0)
        except (OSError, ValueError):
            return 0
        return int(text)

    def _make_links_dir(self) -> Path:
        for base in (os.environ.get("XDG_RUNTIME_DIR", ""), tempfile.gettempdir(), "/tmp"):  # noqa: S108
            if not base or not _PLAIN_PATH.fullmatch(base) or not os.access(base, os.W_OK | os.X_OK):
                continue
            if len(base) + len(_LINK_PREFIX) + 32 > SOCKET_PATH_BYTES_MAX:
                continue
            made = Path(tempfile.mkdtemp(prefix=_LINK_PREFIX, dir=base))
            (self.root / _LINK_NOTE).write_text(f"{made}\n", encoding="utf-8")
            return made
        raise EmbeddedStartFailed(
            f"the path of the data directory is too long for a Unix socket ({self.root})",
            "choose a shorter one, or set XDG_RUNTIME_DIR or TMPDIR to a short directory you may write to",
        )

    def remove_links(self) -> None:
        """Remove the directory of short links, also one that a killed process left. Idempotent."""
        note = self.root / _LINK_NOTE
        self._links = None
        try:
            left = Path(note.read_text(encoding="utf-8").strip())
        except (OSError, UnicodeDecodeError):
            return
        ours = left.name.startswith(_LINK_PREFIX) and left.is_dir() and not left.is_symlink()
        if ours and left.stat().st_uid == os.geteuid():
            shutil.rmtree(left, ignore_errors=True)
        note.unlink(missing_ok=True)

    def log_path(self, name: str) -> Path:
        """Where the server `name` logs."""
        return self.logs / f"{name}.log"

    def rotate_logs(self) -> None:
        """Move a log that is too large to NAME.log.1. Blocking.

        The servers hold it open for appending, so it is copied and cut. Lines written between the two steps
        are lost: the price of needing nothing from the servers.
        """
        for path in self.logs.glob("*.log"):
            if path.stat().st_size > LOG_BYTES_MAX:
                shutil.copyfile(path, path.with_suffix(".log.1"))
                os.truncate(path, 0)


def tail(path: Path, *, start: int = 0, lines: int = 15, bytes_max: int = 16_384) -> str:
    """The last `lines` lines of a log, from byte `start` on; "" when there is nothing to read."""
    try:
        with path.open("rb") as stream:
            size = stream.seek(0, os.SEEK_END)
            stream.seek(max(min(start, size), size - bytes_max))
            text = stream.read().decode("utf-8", "replace")
    except OSError:
        return ""
    return "\n".join(text.strip().splitlines()[-lines:])


def size(path: Path) -> int:
    """Bytes in a file; 0 when there is none."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
