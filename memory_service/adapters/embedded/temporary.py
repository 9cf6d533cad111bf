"""`TemporaryStack`: embedded servers in a directory of their own that is gone afterwards. For tests and
`eval`."""

from __future__ import annotations

import asyncio
import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

from memory_service.adapters.embedded.servers import EmbeddedServers, EmbeddedStack, EmbeddedStatus

PREFIX = "memory-service-tmp-"
#: A directory younger than this may belong to a stack that has not taken its lock yet.
LEFTOVER_AGE_SECONDS_MIN = 600.0


class TemporaryStack:
    """`async with TemporaryStack() as stack: ...` gives an `EmbeddedStack` and removes it afterwards.

    Args:
        durable: True keeps fsync on (for measurements of writes); False is several times faster to write.
        parent: where to make the directory; the system's temporary directory when None.
        on_progress: as for `EmbeddedServers`.
    """

    def __init__(
        self,
        *,
        durable: bool = False,
        parent: Path | None = None,
        on_progress: Callable[[str], None] | None = None,
    ) -> None:
        self._durable = durable
        self._parent = parent or Path(tempfile.gettempdir())
        self._on_progress = on_progress
        self._root: Path | None = None
        self._servers: EmbeddedServers | None = None

    async def __aenter__(self) -> EmbeddedStack:
        await asyncio.to_thread(remove_leftovers, self._parent)
        self._root = Path(await asyncio.to_thread(tempfile.mkdtemp, prefix=PREFIX, dir=self._parent))
        self._servers = EmbeddedServers(self._root / "data", on_progress=self._on_progress, durable=self._durable)
        try:
            return await self._servers.start()
        except BaseException:
            await asyncio.to_thread(shutil.rmtree, self._root, ignore_errors=True)
            raise

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._servers is not None
        assert self._root is not None
        try:
            await self._servers.stop()
        finally:
            await asyncio.to_thread(shutil.rmtree, self._root, ignore_errors=True)

    async def status(self) -> EmbeddedStatus:
        """Health of the servers, for tests that kill them."""
        assert self._servers is not None
        return await self._servers.status()


def remove_leftovers(parent: Path) -> None:
    """Remove the temporary stacks of killed processes: ours, old enough, and held by nobody. Blocking."""
    for left in parent.glob(PREFIX + "*"):
        try:
            status = left.lstat()
            if status.st_uid != os.geteuid() or time.time() - status.st_mtime < LEFTOVER_AGE_SECONDS_MIN:
                continue
            handle = os.open(left / "data" / "service.lock", os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError:
            continue
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(left, ignore_errors=True)
        except BlockingIOError:
            continue
        finally:
            os.close(handle)
