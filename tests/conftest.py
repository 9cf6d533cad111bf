"""Shared fixtures: one embedded PostgreSQL and Valkey per worker, started only when a test asks for them.

    stack               session   the running servers (`EmbeddedStack`)
    new_database        session   `async with new_database() as dsn`, for fixtures that outlive a test
    database_url        test      DSN of a fresh, migrated database (superuser), dropped afterwards
    empty_database_url  test      DSN of a fresh database that holds nothing, dropped afterwards
    redis_url           test      URL of an empty Valkey

A fresh database is a copy of a template that was migrated once per worker, which takes tens of milliseconds.
"""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from memory_service.adapters.embedded import EmbeddedStack

TEMPLATE = "memory_service_template"
NewDatabase = Callable[[], contextlib.AbstractAsyncContextManager[str]]
_numbers = itertools.count(1)

pytest.register_assert_rewrite("tests.contracts", "tests.support")

settings.register_profile(
    "quick", deadline=None, print_blob=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
# In CI the same examples each time: a red run is then the change's doing. The seed of the order is printed.
settings.register_profile("ci", settings.get_profile("quick"), derandomize=True, database=None)
settings.register_profile("thorough", settings.get_profile("quick"), max_examples=2_000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if os.environ.get("CI") else "quick"))


def pytest_configure() -> None:
    """Settings of whoever runs the tests must not reach the service under test."""
    for name in [name for name in os.environ if name.startswith("MEMORY_SERVICE_")]:
        del os.environ[name]


def with_database(dsn: str, name: str) -> str:
    """The same server, another database."""
    return urlsplit(dsn)._replace(path=f"/{name}").geturl()


@pytest.fixture(scope="session")
async def stack() -> AsyncIterator[EmbeddedStack]:
    """The embedded servers of this worker."""
    from memory_service.adapters.embedded import TemporaryStack

    async with TemporaryStack() as running:
        yield running


async def _execute(dsn: str, statement: str) -> None:
    import asyncpg

    connection = await asyncpg.connect(dsn)
    try:
        await connection.execute(statement)
    finally:
        await connection.close()


@contextlib.asynccontextmanager
async def _database(dsn: str, template: str) -> AsyncIterator[str]:
    """A new database made from a template; dropped at the end, whoever is still connected."""
    name = f"test_{next(_numbers)}"
    await _execute(dsn, f'CREATE DATABASE "{name}" TEMPLATE "{template}"')
    try:
        yield with_database(dsn, name)
    finally:
        await _execute(dsn, f'DROP DATABASE "{name}" WITH (FORCE)')


@pytest.fixture(scope="session")
async def database_template(stack: EmbeddedStack) -> str:
    """Name of the migrated template database."""
    from memory_service.adapters.postgres.migrate import migrate

    await _execute(stack.database_url, f'CREATE DATABASE "{TEMPLATE}"')
    await migrate(with_database(stack.database_url, TEMPLATE))
    return TEMPLATE


@pytest.fixture(scope="session")
async def new_database(stack: EmbeddedStack, database_template: str) -> NewDatabase:
    """Makes a fresh migrated database, dropped when its block ends."""
    return lambda: _database(stack.database_url, database_template)


@pytest.fixture
async def database_url(new_database: NewDatabase) -> AsyncIterator[str]:
    """A fresh migrated database."""
    async with new_database() as dsn:
        yield dsn


@pytest.fixture
async def empty_database_url(stack: EmbeddedStack) -> AsyncIterator[str]:
    """A fresh database without schema."""
    async with _database(stack.database_url, "template0") as dsn:
        yield dsn


@pytest.fixture
async def redis_url(stack: EmbeddedStack) -> str:
    """The worker's Valkey, emptied."""
    import redis.asyncio

    async with redis.asyncio.from_url(stack.redis_url) as client:
        await client.flushall()
    return stack.redis_url
