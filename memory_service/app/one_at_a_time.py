"""One caller at a time for each of any number of things, first come, first served, within this process.

For changes that read first and are refused when another came in between: without it, of many at once only a few
would ever get through. Between processes whoever commits first still decides.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)


@dataclass(slots=True)
class OneAtATime(Generic[Key]):
    """Locks by key; one lives exactly as long as somebody holds or awaits it."""

    _locks: dict[Key, tuple[asyncio.Lock, int]] = field(default_factory=dict)

    @asynccontextmanager
    async def held(self, key: Key) -> AsyncIterator[None]:
        """Exclusive use of `key`."""
        lock, users = self._locks.get(key, (None, 0))
        lock = lock or asyncio.Lock()
        self._locks[key] = (lock, users + 1)
        try:
            async with lock:
                yield
        finally:
            lock, users = self._locks[key]
            if users == 1:
                del self._locks[key]
            else:
                self._locks[key] = (lock, users - 1)
