"""Changes that wait: an owner's row locked behind the server's back."""

from __future__ import annotations

import contextlib
import time
from collections.abc import AsyncIterator
from typing import Any

import asyncpg


@contextlib.asynccontextmanager
async def held(dsn: str, user: str) -> AsyncIterator[None]:
    """The owner's row locked, so that its changes wait."""
    connection: Any = await asyncpg.connect(dsn)
    try:
        async with connection.transaction():
            statement = "SELECT owner FROM memory_service.owners WHERE user_id = $1 FOR UPDATE"
            assert await connection.fetchval(statement, user)
            yield
    finally:
        await connection.close()


async def waits(dsn: str) -> None:
    """Until a change waits for a lock."""
    connection: Any = await asyncpg.connect(dsn)
    try:
        statement = "SELECT count(*) FROM pg_locks l JOIN pg_stat_activity a USING (pid) WHERE NOT l.granted"
        statement += " AND a.datname = current_database()"
        deadline = time.monotonic() + 20
        while not await connection.fetchval(statement):
            assert time.monotonic() < deadline
    finally:
        await connection.close()
