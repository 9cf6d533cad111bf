"""Looks for a word in everything that the databases hold."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import asyncpg
import redis.asyncio

from memory_service.v1 import memory_service_pb2 as api
from memory_service.v1 import types_pb2 as pb
from tests.acceptance.raw import Raw
from tests.acceptance.service import ServiceProcess
from tests.acceptance.world import new_user

TABLES = """
SELECT n.nspname, c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'm') AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast')
"""


async def tables_with(service: ServiceProcess, word: str) -> list[str]:
    """Every table with `word` in any column of any row: as text, in JSON, in arrays, or in bytes."""
    connection: Any = await asyncpg.connect(service.stack().database_url)
    try:
        found = []
        tables = await connection.fetch(TABLES)
        assert len(tables) > 8
        for schema, table in tables:
            statement = f'SELECT count(*) FROM "{schema}"."{table}" x WHERE x::text ILIKE $1 OR x::text ILIKE $2'
            if await connection.fetchval(statement, f"%{word}%", f"%{word.encode().hex()}%"):
                found.append(str(table))
        return sorted(found)
    finally:
        await connection.close()


async def cached_with(service: ServiceProcess, word: str) -> list[bytes]:
    """Every key of Valkey whose name or value holds `word`."""
    client = redis.asyncio.from_url(service.stack().redis_url)
    readers: dict[Any, Callable[[Any], Any]] = {
        b"string": client.get,
        b"hash": client.hgetall,
        b"list": lambda key: client.lrange(key, 0, -1),
        b"set": client.smembers,
        b"zset": lambda key: client.zrange(key, 0, -1),
        b"stream": client.xrange,
    }
    try:
        found = []
        async for key in client.scan_iter(count=1_000):
            value = await readers[await client.type(key)](key)
            if word.encode() in repr((key, value)).encode().lower():
                found.append(key)
        return found
    finally:
        await client.aclose()


async def kept_everywhere(service: ServiceProcess, raw: Raw, user: str, word: str) -> None:
    """Show that the content is in tables and cache, so that the search would find it."""
    assert {"memories", "memory_versions", "fragments"} <= set(await tables_with(service, word))
    for _ in range(200):
        await raw.call("Recall", api.RecallRequest(user=user, query=word, read_only=True))
        if await cached_with(service, word):
            return
        # The shared cache is filled behind the answer, by whoever loads a snapshot anew; one that could not be put
        # there (Valkey was slow, or is just back) stays in the process. A deletion makes the next answer load again.
        request = api.WriteRequest(user=user, memory=pb.MemoryInput(text=f"note {new_user()}"))
        request.context.SetInParent()
        other = (await raw.call("Write", request)).memory.id
        await raw.call("Forget", api.ForgetRequest(user=user, memories=api.MemoryIds(ids=[other])))
    raise AssertionError("the shared cache never got the content: the search below would prove nothing")
