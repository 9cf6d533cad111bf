"""The tiers over a real server."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack

import redis.asyncio

from memory_service.adapters.inmemory import InMemoryMemoryStore, SystemClock
from memory_service.adapters.redis import RedisSettings, RedisSharedCache
from memory_service.adapters.wrappers import L1Settings, L1Snapshots, L2Snapshots, StoreSnapshots
from memory_service.domain.ids import Revision
from memory_service.ports.memory_store import Changeset
from memory_service.ports.snapshots import Freshness, Requirement
from tests.contracts import builders as make
from tests.wrappers.replicas import MODEL, CountingTelemetry

PATIENCE_SECONDS = 30
FAST = Requirement()


async def until(condition) -> None:
    """Wait for something that another task is about to bring about."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not condition():  # noqa: ASYNC110 - what is awaited lies behind a socket
            await asyncio.sleep(0.001)


async def kept_in(url: str, word: str) -> bool:
    """Whether the server holds the word anywhere."""
    async with redis.asyncio.from_url(url, encoding="latin-1", decode_responses=True) as client:
        values = [value for key in await client.keys("*") for value in await client.hvals(key)]
    return any(word in str(value) for value in values)


async def test_two_processes_follow_each_other(redis_url: str):
    store, clock = InMemoryMemoryStore(), SystemClock()
    owner = make.new_owner()
    memory = make.version(make.new_id(), text="secretword")
    await make.write(store, owner, memory)
    async with AsyncExitStack() as stack:
        tiers = []
        for _ in range(2):
            cache = RedisSharedCache(RedisSettings(redis_url, timeout_seconds=10, transfer_timeout_seconds=10), clock)
            telemetry = CountingTelemetry()
            l2 = L2Snapshots(StoreSnapshots(store, MODEL, clock, telemetry), store, cache, MODEL, clock, telemetry)
            # So long a staleness that only news can explain what is seen.
            settings = L1Settings(staleness_seconds_max=1000, unheard_seconds_max=1000)
            l1 = L1Snapshots(l2, store, cache, MODEL, clock, telemetry, settings)
            l1.start()
            for closing in (cache.close, l2.close, l1.close):
                stack.push_async_callback(closing)
            await until(l1._news.is_live)  # type: ignore[union-attr]
            tiers.append((l1, l2, telemetry))
        (one, l2, _), (two, _, counts) = tiers
        await one.snapshot(owner, FAST)
        await l2.settle()
        assert await kept_in(redis_url, "secretword")
        assert len(await two.snapshot(owner, FAST)) == 1
        assert counts.counts["snapshot_requests_total", "l2", "hit"] == 1

        revision = await make.write(store, owner, make.version(make.new_id()))
        one.committed(owner, revision)
        await until(lambda: two._entries[owner].known == revision)
        assert (await two.snapshot(owner, FAST)).revision == revision

        forgotten = await make.commit(
            store, owner, lambda state: Changeset(state=make.next_state(state), forgotten=[memory.id])
        )
        one.committed(owner, forgotten)
        await one.dropped(owner)
        await until(lambda: owner not in two._entries)
        for l1 in (one, two):
            assert [head.id for head in (await l1.snapshot(owner, FAST)).memories()] != [memory.id]
            token = Requirement(Freshness.AT_LEAST_AS_FRESH, Revision(forgotten))
            assert len(await l1.snapshot(owner, token)) == 1
        assert not await kept_in(redis_url, "secretword")
