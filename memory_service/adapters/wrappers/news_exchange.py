"""What this process tells others about its commits, and what it hears of theirs."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import aclosing

from memory_service.domain.errors import Unavailable
from memory_service.domain.ids import OwnerKey, Revision
from memory_service.ports.clock import Clock
from memory_service.ports.snapshots import NO_REVISION, SharedCache
from memory_service.ports.telemetry import Telemetry

NEVER = float("-inf")
OUTBOX_MAX = 100_000
_CANCEL_SECONDS = 0.1


class NewsExchange:
    """One subscription and one outbox.

    Listening counts as live for `lease_seconds` after each batch; the cache beats more often than that. `epoch`
    changes with every gap: what was verified in an earlier epoch may have missed news.

    Args:
        heard: called with (owner id, revision) for each piece of news; revision 0 tells to drop every copy.
    """

    def __init__(
        self,
        cache: SharedCache,
        clock: Clock,
        telemetry: Telemetry,
        heard: Callable[[str, Revision], None],
        *,
        lease_seconds: float,
        retry_seconds: float,
    ) -> None:
        self._cache = cache
        self._clock = clock
        self._telemetry = telemetry
        self._heard = heard
        self._lease_seconds = lease_seconds
        self._retry_seconds = retry_seconds
        self._live_until = NEVER
        self._outbox: OrderedDict[OwnerKey, Revision] = OrderedDict()
        self._filled = asyncio.Event()
        self._emptied = asyncio.Event()
        self._emptied.set()
        self._tasks: list[asyncio.Task[None]] = []
        self.epoch = 0

    def is_live(self) -> bool:
        """Whether all news published up to a lease ago has been heard."""
        return self._clock.monotonic() < self._live_until

    def start(self) -> None:
        """Begin to listen and to publish."""
        if not self._tasks:
            loop = asyncio.get_running_loop()
            self._tasks = [loop.create_task(self._listen()), loop.create_task(self._publish())]

    async def close(self) -> None:
        """Stop both; what is still in the outbox is not sent (others notice by verifying).

        Raises what ended either of them before its time.
        """
        tasks, self._tasks = self._tasks, []
        self._live_until = NEVER
        pending = set(tasks)
        while pending:
            for task in pending:
                task.cancel()
            # Again until it works: a driver that is just connecting can lose a cancellation.
            _, pending = await asyncio.wait(pending, timeout=_CANCEL_SECONDS)
        for result in await asyncio.gather(*tasks, return_exceptions=True):
            if isinstance(result, Exception):
                raise result

    def post(self, owner: OwnerKey, revision: Revision) -> None:
        """Have a commit published soon; of one owner's only the newest, of too many not the oldest."""
        self._outbox[owner] = max(revision, self._outbox.pop(owner, NO_REVISION))
        if len(self._outbox) > OUTBOX_MAX:
            self._outbox.popitem(last=False)
        self._emptied.clear()
        self._filled.set()

    async def flushed(self) -> None:
        """Wait until the outbox is empty."""
        await self._emptied.wait()

    async def publish_drop(self, owner: OwnerKey, revision: Revision) -> None:
        """Tell others the revision of a Forget, then to drop every copy. Raises `Unavailable`."""
        await self._cache.publish(owner, revision)
        await self._cache.publish(owner, NO_REVISION)

    async def _publish(self) -> None:
        while True:
            await self._filled.wait()
            while self._outbox:
                owner, revision = self._outbox.popitem(last=False)
                if not await self._sent(owner, revision):
                    self.post(owner, revision)
                    await asyncio.sleep(self._retry_seconds)
            self._filled.clear()
            self._emptied.set()

    async def _sent(self, owner: OwnerKey, revision: Revision) -> bool:
        try:
            await self._cache.publish(owner, revision)
        except Unavailable:
            self._telemetry.count("snapshot_news_total", result="unpublished")
            return False
        self._telemetry.count("snapshot_news_total", result="published")
        return True

    async def _listen(self) -> None:
        async with aclosing(self._cache.changes()) as changes:
            async for batch in changes:
                self._hear(batch)

    def _hear(self, batch: Sequence[tuple[str, Revision]] | None) -> None:
        if batch is None:
            self._telemetry.count("snapshot_news_total", result="gap")
            self._live_until = NEVER
            self.epoch += 1
            return
        for owner_id, revision in batch:
            self._heard(owner_id, revision)
        if batch:
            self._telemetry.count("snapshot_news_total", len(batch), result="heard")
        # Only now: until its news is taken in, a batch proves nothing.
        self._live_until = self._clock.monotonic() + self._lease_seconds
