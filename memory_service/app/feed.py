"""Wakes whoever waits for an owner's next change, whichever process committed it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from memory_service.domain.errors import Reason, Unavailable
from memory_service.domain.ids import OwnerKey, Revision


@dataclass(slots=True)
class ChangeFeed:
    """A bell per owner. It may ring for nothing and may miss a ring: waiters look at the store either way."""

    _waiting: dict[str, set[asyncio.Future[None]]] = field(default_factory=dict)
    _closed: bool = False

    def announce(self, owner_id: str, revision: Revision) -> None:  # noqa: ARG002 - the shape of news
        """Something of this owner was committed."""
        for waiter in self._waiting.pop(owner_id, ()):
            if not waiter.done():
                waiter.set_result(None)

    async def wait(self, owner: OwnerKey, seconds: float) -> None:
        """Wait for the next announcement, at most so long.

        Raises:
            Unavailable: SHUTTING_DOWN once the feed is closed.
        """
        self._check_open()
        key = str(owner.id)
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(key, set()).add(waiter)
        try:
            await asyncio.wait_for(waiter, seconds)
        except TimeoutError:
            pass
        finally:
            left = self._waiting.get(key)
            if left is not None:
                left.discard(waiter)
                if not left:
                    del self._waiting[key]
        self._check_open()

    def close(self) -> None:
        """Wake everybody for the last time."""
        self._closed = True
        for key in list(self._waiting):
            self.announce(key, Revision(0))

    def _check_open(self) -> None:
        if self._closed:
            raise Unavailable(Reason.SHUTTING_DOWN, "this server is shutting down")
