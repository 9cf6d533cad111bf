"""Ways to get a PostgreSQL backend on a database, with short time-outs and few connections."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from typing import Any

import asyncpg

from memory_service.adapters.postgres import PostgresBackend, PostgresSettings


async def make_postgres_store(database_url: str, **overrides: Any) -> PostgresBackend:
    """A backend on a migrated database (see `database_url` in `tests/conftest.py`); the caller closes it."""
    chosen: dict[str, Any] = {"pool_min": 1, "pool_max": 4, **overrides}
    return await PostgresBackend.connect(PostgresSettings(dsn=database_url, **chosen))


@contextlib.asynccontextmanager
async def postgres_backend(database_url: str, **overrides: Any) -> AsyncIterator[PostgresBackend]:
    """`make_postgres_store`, closed at the end."""
    backend = await make_postgres_store(database_url, **overrides)
    try:
        yield backend
    finally:
        await backend.close()


@contextlib.asynccontextmanager
async def connected(database_url: str, **settings: str) -> AsyncIterator[Any]:
    """A connection of the superuser (who is above row-level security), with the adapter's search path."""
    chosen = {"search_path": "memory_service, public", **settings}
    connection = await asyncpg.connect(database_url, server_settings=chosen)
    try:
        yield connection
    finally:
        await connection.close()
