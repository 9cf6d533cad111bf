"""Doctor's word on an external Redis: nothing on disk, and only what may go is let go of."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import redis.asyncio

from memory_service.adapters.embedded import EmbeddedStack
from memory_service.cli.doctor import Check, State, check_redis


@asynccontextmanager
async def configured(url: str, **settings: str) -> AsyncIterator[None]:
    """A server with other settings, as it was before afterwards."""
    async with redis.asyncio.from_url(url) as client:
        names = {name.replace("_", "-"): value for name, value in settings.items()}
        before = {name: (await client.config_get(name))[name] or "" for name in names}
        for name, value in names.items():
            await client.config_set(name, value)
        try:
            yield
        finally:
            for name, value in before.items():
                await client.config_set(name, value)


@pytest.mark.parametrize(
    ("settings", "state", "words"),
    [
        ({}, State.OK, "keeps nothing on disk"),
        ({"save": "3600 1"}, State.WARN, "writes sessions to disk"),
        ({"maxmemory_policy": "allkeys-lru"}, State.WARN, "allkeys-lru"),
        ({"maxmemory_policy": "volatile-ttl"}, State.WARN, "volatile-ttl"),
        ({"maxmemory_policy": "noeviction"}, State.OK, "keeps nothing on disk"),
    ],
)
async def test_doctor_looks_at_an_external_redis(
    stack: EmbeddedStack,
    monkeypatch: pytest.MonkeyPatch,
    settings: dict[str, str],
    state: State,
    words: str,
) -> None:
    monkeypatch.setenv("MEMORY_SERVICE_REDIS_URL", stack.redis_url)
    async with configured(stack.redis_url, **settings):
        found: Check = check_redis()
    assert (found.name, found.state) == ("redis", state)
    assert words in found.found
    assert bool(found.advice) == (state is State.WARN)
