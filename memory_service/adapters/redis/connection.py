"""A pool of connections, and the guard around every call: bounded in time, its failure translated."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

import redis.asyncio
from redis.asyncio.connection import ConnectionPool
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from memory_service.adapters.redis.breaker import CircuitBreaker
from memory_service.adapters.redis.failures import CAUGHT, is_failure
from memory_service.adapters.redis.settings import RedisSettings
from memory_service.domain.errors import Reason, Unavailable


def unavailable() -> Unavailable:
    """The server is away; the driver's text stays in the chain, for the log."""
    return Unavailable(Reason.REDIS_UNAVAILABLE, "the shared cache does not answer")


def connection_pool(settings: RedisSettings, *, socket_timeout: float) -> ConnectionPool:
    """Connections that never retry by themselves: the callers know what a repetition means."""
    pool: ConnectionPool = redis.asyncio.BlockingConnectionPool.from_url(
        settings.url,
        max_connections=settings.connections_max,
        timeout=settings.timeout_seconds,
        socket_timeout=socket_timeout,
        socket_connect_timeout=settings.timeout_seconds,
        retry=Retry(NoBackoff(), 0),
        protocol=2,
    )
    return pool


@contextlib.asynccontextmanager
async def guarded(breaker: CircuitBreaker, timeout_seconds: float) -> AsyncIterator[None]:
    """Bound a call in time and translate its failure."""
    if not breaker.allows():
        raise unavailable()
    try:
        async with asyncio.timeout(timeout_seconds):
            yield
    except CAUGHT as error:
        if not is_failure(error):
            raise
        breaker.failed()
        raise unavailable() from error
    breaker.succeeded()
