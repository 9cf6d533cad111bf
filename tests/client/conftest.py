from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from memory_service.client import AsyncMemoryClient, MemoryClient, RetryPolicy
from tests.client.fake_server import KEY, FakeServer

QUICK = RetryPolicy(backoff_seconds=0.01, backoff_seconds_max=0.1)
"""Waits too short to be noticed; the policy's own arithmetic is tested without waiting."""

TWICE = RetryPolicy(attempts_max=2, backoff_seconds=0.01)
"""Gives up after the second attempt, however slow the machine."""


@pytest.fixture
def server() -> Iterator[FakeServer]:
    fake = FakeServer()  # type: ignore[abstract]
    yield fake
    fake.stop()


@pytest.fixture
async def client(server: FakeServer) -> AsyncIterator[AsyncMemoryClient]:
    async with AsyncMemoryClient(server.target, KEY, user="ann", timeout_seconds=20, retry=QUICK) as one:
        yield one


@pytest.fixture
def blocking(server: FakeServer) -> Iterator[MemoryClient]:
    with MemoryClient(server.target, KEY, user="ann", timeout_seconds=20, retry=QUICK) as one:
        yield one
