"""News of changes by pub/sub, with no gap unnoticed.

The driver's own PubSub object reconnects by itself and says nothing, which is exactly what must not happen
here: whatever was published meanwhile is lost. So this listens on a bare connection and reports its end.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from typing import Any

from redis.asyncio.connection import AbstractConnection, ConnectionPool

from memory_service.adapters.redis import keys
from memory_service.adapters.redis.failures import CAUGHT, is_failure
from memory_service.adapters.redis.settings import RedisSettings
from memory_service.domain.ids import Revision

_BACKOFF_SECONDS = 0.05


class NewsListener:
    """Makes subscriptions; each call of `changes` is one, with a connection of its own."""

    def __init__(self, pool: ConnectionPool, settings: RedisSettings) -> None:
        self._pool = pool
        self._settings = settings
        self._channel = keys.channel(settings.key_prefix)

    async def changes(self) -> AsyncGenerator[Sequence[tuple[str, Revision]] | None, None]:
        """News until the caller stops reading; see `SharedCache.changes`."""
        pause = 0.0
        while True:
            connection: AbstractConnection = self._pool.make_connection()  # type: ignore[no-untyped-call]
            try:
                await connection.connect()  # type: ignore[no-untyped-call]
                await connection.send_command("SUBSCRIBE", self._channel)
                async for batch in self._read(connection):
                    pause = 0.0
                    yield batch
            except CAUGHT as error:
                if not is_failure(error):
                    raise
                yield None
            finally:
                await connection.disconnect(nowait=True)
            await asyncio.sleep(pause * random.uniform(0.5, 1.0))  # noqa: S311 - spreads reconnects
            pause = min(self._settings.reconnect_seconds_max, max(_BACKOFF_SECONDS, 2 * pause))

    async def _read(self, connection: AbstractConnection) -> AsyncIterator[Sequence[tuple[str, Revision]]]:
        """Batches of one connection. Raises what the driver raises, TimeoutError when nothing answers."""
        # The first answer is to SUBSCRIBE; from then on a silence is answered by asking.
        asked = True
        while True:
            reply: Any = await connection.read_response(timeout=self._settings.heartbeat_seconds)
            if reply is None:
                if asked:
                    raise TimeoutError
                await connection.send_command("PING")
                asked = True
                continue
            asked = False
            if reply[0] != b"message":
                yield ()
                continue
            try:
                yield (keys.read_news(reply[2]),)
            except ValueError:
                # Not ours, so no news; but the connection speaks.
                yield ()
