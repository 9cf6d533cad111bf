"""`SharedCache` on Redis or Valkey (F9)."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import AbstractAsyncContextManager

import numpy as np
import redis.asyncio
from numpy.typing import NDArray

from memory_service.adapters.redis import keys
from memory_service.adapters.redis.breaker import CircuitBreaker
from memory_service.adapters.redis.connection import connection_pool, guarded
from memory_service.adapters.redis.news import NewsListener
from memory_service.adapters.redis.scripts import DROP_OWNER, PUT_SNAPSHOT
from memory_service.adapters.redis.settings import RedisSettings
from memory_service.domain.ids import OwnerKey, Revision
from memory_service.ports.clock import Clock


class RedisSharedCache:
    """See `SharedCache`. Owns its connections; `close` ends them.

    Snapshots are fields of one hash per owner, so that one script can weigh revisions, write and set the time to
    live at once, and one deletion removes them all. No call retries: callers carry on without the cache.
    """

    def __init__(self, settings: RedisSettings, clock: Clock) -> None:
        self._settings = settings
        self._breaker = CircuitBreaker(clock, failures_max=settings.failures_max, away_seconds=settings.away_seconds)
        pool = connection_pool(settings, socket_timeout=settings.transfer_timeout_seconds)
        self._client = redis.asyncio.Redis.from_pool(pool)
        self._put = self._client.register_script(PUT_SNAPSHOT)
        self._drop = self._client.register_script(DROP_OWNER)
        self._news = NewsListener(pool, settings)

    def _guarded(self, timeout_seconds: float) -> AbstractAsyncContextManager[None]:
        """Bound a call in time and translate its failure."""
        return guarded(self._breaker, timeout_seconds)

    async def get_snapshot(self, owner: OwnerKey, model_id: str) -> tuple[Revision, bytes] | None:
        """The packed snapshot and its revision."""
        model = model_id.encode()
        async with self._guarded(self._settings.transfer_timeout_seconds):
            revision, packed = await self._client.hmget(self._owner_key(owner), [b"r" + model, b"d" + model])
        if revision is None or packed is None:
            return None
        return Revision(int(revision)), _bytes(packed)

    async def put_snapshot(self, owner: OwnerKey, model_id: str, revision: Revision, packed: bytes) -> None:
        """Keep a packed snapshot unless a newer one or a later drop is there, or it is too large."""
        if len(packed) > self._settings.packed_bytes_max:
            return
        arguments: list[bytes | int] = [
            model_id.encode(),
            keys.revision_text(revision),
            packed,
            _milliseconds(self._settings.snapshot_ttl_seconds),
        ]
        async with self._guarded(self._settings.transfer_timeout_seconds):
            await self._put(keys=[self._owner_key(owner)], args=arguments)

    async def drop_owner(self, owner: OwnerKey, revision: Revision) -> None:
        """Remove everything kept of this owner and keep out snapshots older than `revision`."""
        arguments: list[bytes | int] = [
            keys.revision_text(revision),
            _milliseconds(self._settings.snapshot_ttl_seconds),
        ]
        async with self._guarded(self._settings.timeout_seconds):
            await self._drop(keys=[self._owner_key(owner)], args=arguments)

    async def get_vector(self, model_id: str, text_digest: bytes) -> NDArray[np.float32] | None:
        """The vector of a query seen before; read-only."""
        key = keys.vector_key(self._settings.key_prefix, model_id, text_digest)
        async with self._guarded(self._settings.timeout_seconds):
            value = await self._client.get(key)
        if value is None:
            return None
        return np.frombuffer(_bytes(value), dtype="<f4").astype(np.float32, copy=False)

    async def put_vector(self, model_id: str, text_digest: bytes, vector: NDArray[np.float32]) -> None:
        """Keep a query's vector."""
        key = keys.vector_key(self._settings.key_prefix, model_id, text_digest)
        value = np.ascontiguousarray(vector, dtype="<f4").tobytes()
        async with self._guarded(self._settings.timeout_seconds):
            await self._client.set(key, value, px=_milliseconds(self._settings.vector_ttl_seconds))

    async def publish(self, owner: OwnerKey, revision: Revision) -> None:
        """Tell every subscriber."""
        async with self._guarded(self._settings.timeout_seconds):
            await self._client.publish(keys.channel(self._settings.key_prefix).decode(), keys.news(owner, revision))

    def changes(self) -> AsyncGenerator[Sequence[tuple[str, Revision]] | None, None]:
        """News, on a connection of its own; see `SharedCache.changes`."""
        return self._news.changes()

    async def ping(self) -> None:
        """Raise `Unavailable` unless the server answers."""
        async with self._guarded(self._settings.timeout_seconds):
            await self._client.ping()

    async def close(self) -> None:
        """End every connection. Idempotent."""
        await self._client.aclose(close_connection_pool=True)

    def _owner_key(self, owner: OwnerKey) -> bytes:
        return keys.owner_key(self._settings.key_prefix, owner)


def _bytes(value: bytes | str) -> bytes:
    """What the driver's types leave open: without decoding, a reply is bytes."""
    assert isinstance(value, bytes)
    return value


def _milliseconds(seconds: float) -> int:
    return max(1, round(seconds * 1000))
