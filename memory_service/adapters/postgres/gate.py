"""One change of an owner at a time within this process, decided before a connection is taken.

Without it many changes of one owner would hold all connections of the pool while they wait for one row lock,
and other owners would wait for them. Between processes the lock of the owner's row decides.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary

from memory_service.domain.errors import Reason, Unavailable


class OwnerGate:
    """First come, first served, by owner."""

    def __init__(self, wait_seconds_max: float) -> None:
        self._wait_seconds_max = wait_seconds_max
        # Weak, so that a lock lives exactly as long as somebody holds or awaits it.
        self._locks: WeakValueDictionary[uuid.UUID, asyncio.Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def held(self, owner: uuid.UUID) -> AsyncIterator[None]:
        """Exclusive use of `owner` in this process; `Unavailable(OVERLOADED)` after the longest wait."""
        lock = self._locks.get(owner)
        if lock is None:
            lock = self._locks[owner] = asyncio.Lock()
        if lock.locked():
            try:
                async with asyncio.timeout(self._wait_seconds_max):
                    await lock.acquire()
            except TimeoutError as error:
                raise Unavailable(Reason.OVERLOADED, "too many changes of this owner wait already") from error
        else:
            await lock.acquire()
        try:
            yield
        finally:
            lock.release()
