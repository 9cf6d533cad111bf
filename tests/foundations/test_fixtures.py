"""The shared fixtures: every test gets databases that no other test has touched."""

from __future__ import annotations

import os

import asyncpg
import pytest
import redis.asyncio

from tests.conftest import NewDatabase

MARK = "CREATE TABLE mark (id int)"
FIND_MARK = "SELECT to_regclass('public.mark')"
FIND_SCHEMA = "SELECT to_regnamespace('memory_service')"


async def value(dsn: str, query: str) -> object:
    connection = await asyncpg.connect(dsn)
    try:
        return await connection.fetchval(query)
    finally:
        await connection.close()


@pytest.mark.parametrize("turn", [1, 2])
async def test_a_database_is_migrated_and_fresh(database_url: str, turn: int) -> None:
    assert await value(database_url, FIND_SCHEMA) == "memory_service"
    assert await value(database_url, FIND_MARK) is None, turn
    await value(database_url, MARK)


@pytest.mark.parametrize("turn", [1, 2])
async def test_a_database_without_schema(empty_database_url: str, turn: int) -> None:
    assert await value(empty_database_url, FIND_SCHEMA) is None
    assert await value(empty_database_url, FIND_MARK) is None, turn
    await value(empty_database_url, MARK)


async def test_a_database_is_dropped_even_with_a_connection_open(new_database: NewDatabase) -> None:
    async with new_database() as dsn:
        connection = await asyncpg.connect(dsn)
    with pytest.raises((asyncpg.PostgresError, asyncpg.InterfaceError, ConnectionError)):
        await connection.fetchval("SELECT 1")
    with pytest.raises(asyncpg.InvalidCatalogNameError):
        await value(dsn, "SELECT 1")


@pytest.mark.parametrize("turn", [1, 2])
async def test_valkey_is_empty(redis_url: str, turn: int) -> None:
    async with redis.asyncio.from_url(redis_url) as client:
        assert await client.dbsize() == 0, turn
        await client.set("left", turn)


def test_settings_of_the_shell_do_not_reach_the_tests() -> None:
    assert [name for name in os.environ if name.startswith("MEMORY_SERVICE_")] == []
