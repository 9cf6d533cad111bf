"""Shared cache contract, on the in-memory one and on a real server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_service.adapters.inmemory import InMemorySharedCache, ManualClock, SystemClock
from memory_service.adapters.redis import RedisSettings, RedisSharedCache
from memory_service.domain.ids import OwnerKey, Revision, TenantId, UserId
from memory_service.ports.snapshots import NO_REVISION, SharedCache
from tests.contracts import builders as make

PATIENCE_SECONDS = 20
LIMIT = 10_000


@pytest.fixture
def inmemory_cache() -> SharedCache:
    """The one in this process's memory."""
    return InMemorySharedCache(ManualClock(), packed_bytes_max=LIMIT)


@pytest.fixture
async def redis_cache(redis_url: str) -> AsyncIterator[SharedCache]:
    """One on a real server; time-outs are long, since the machine that tests may be busy."""
    cache = RedisSharedCache(
        RedisSettings(
            redis_url, packed_bytes_max=LIMIT, timeout_seconds=10, transfer_timeout_seconds=10, heartbeat_seconds=5
        ),
        SystemClock(),
    )
    yield cache
    await cache.close()


@pytest.fixture(params=["inmemory", "redis"])
def cache(request: pytest.FixtureRequest) -> SharedCache:
    """Each in turn."""
    chosen: SharedCache = request.getfixturevalue(f"{request.param}_cache")
    return chosen


async def test_a_snapshot_comes_back_with_its_revision(cache: SharedCache):
    owner = make.new_owner()
    assert await cache.get_snapshot(owner, "m") is None
    await cache.put_snapshot(owner, "m", Revision(3), b"\x00packed\xff")
    assert await cache.get_snapshot(owner, "m") == (3, b"\x00packed\xff")
    assert await cache.get_snapshot(owner, "m2") is None
    assert await cache.get_snapshot(make.new_owner(), "m") is None
    await cache.ping()


@settings(max_examples=30)
@given(
    steps=st.lists(
        st.tuples(st.sampled_from(["put", "put", "put", "drop"]), st.sampled_from("ab"), st.integers(0, 12)),
        max_size=12,
    ),
    scale=st.sampled_from([1, 10**6, 2**59]),
)
async def test_puts_and_drops_against_a_model(cache: SharedCache, steps, scale: int):
    """A put never replaces a newer snapshot, nor comes back after a drop of a newer revision."""
    owner = make.new_owner()
    kept: dict[str, int] = {}
    least = 0
    for kind, model_id, number in steps:
        revision = number * scale + (number % 2)
        if kind == "drop":
            await cache.drop_owner(owner, Revision(revision))
            kept, least = {}, max(least, revision)
        else:
            await cache.put_snapshot(owner, model_id, Revision(revision), str(revision).encode())
            if revision >= max(least, kept.get(model_id, 0)):
                kept[model_id] = revision
        newest = max(kept.values(), default=0)
        for name in "ab":
            found = await cache.get_snapshot(owner, name)
            wanted = (kept[name], str(kept[name]).encode()) if name in kept else None
            # An older snapshot of another model may be let go at any time.
            assert found == wanted or (found is None and kept[name] < newest)
            if found is None:
                kept.pop(name, None)


async def test_dropping_one_owner_leaves_the_others(cache: SharedCache):
    tenant = make.new_owner().tenant
    one, two = OwnerKey(tenant, UserId("one")), OwnerKey(tenant, UserId("two"))
    swapped = OwnerKey(TenantId(f"{tenant}o"), UserId("ne"))
    for owner in (one, two, swapped):
        await cache.put_snapshot(owner, "m", Revision(1), b"x")
    await cache.drop_owner(one, Revision(2))
    assert await cache.get_snapshot(one, "m") is None
    assert await cache.get_snapshot(two, "m") == (1, b"x")
    assert await cache.get_snapshot(swapped, "m") == (1, b"x")


async def test_a_snapshot_over_the_limit_is_not_kept(cache: SharedCache):
    owner = make.new_owner()
    await cache.put_snapshot(owner, "m", Revision(1), b"x" * (LIMIT + 1))
    assert await cache.get_snapshot(owner, "m") is None
    await cache.put_snapshot(owner, "m", Revision(1), b"x" * LIMIT)
    assert await cache.get_snapshot(owner, "m") == (1, b"x" * LIMIT)


async def test_concurrent_puts_leave_the_newest(cache: SharedCache):
    owner = make.new_owner()
    revisions = [7, 3, 9, 1, 8, 2, 10, 4]
    await asyncio.gather(*(cache.put_snapshot(owner, "m", Revision(r), str(r).encode()) for r in revisions))
    assert await cache.get_snapshot(owner, "m") == (10, b"10")


@settings(max_examples=20)
@given(
    model_id=st.text(st.characters(exclude_categories=["Cs"]), max_size=9),
    digest=st.binary(max_size=32),
    values=st.lists(st.floats(-1, 1, width=32), min_size=1, max_size=9),
)
async def test_vectors_come_back_exactly(cache: SharedCache, model_id: str, digest: bytes, values):
    vector = np.array(values, dtype=np.float32)
    await cache.put_vector(model_id, digest, vector)
    found = await cache.get_vector(model_id, digest)
    assert found is not None
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, vector)


async def test_vectors_of_other_models_and_texts_stay_apart(cache: SharedCache):
    await cache.put_vector("ab", b"c", make.vector(1))
    assert await cache.get_vector("a", b"bc") is None
    assert await cache.get_vector("ab", b"d") is None
    vector = make.vector(2)
    await cache.put_vector("ab", b"c", vector)
    vector_before = vector.copy()
    vector[:] = 0
    np.testing.assert_array_equal(await cache.get_vector("ab", b"c"), vector_before)


async def test_subscribers_hear_in_order_what_is_published_after_they_began(cache: SharedCache):
    owners = [make.new_owner(), make.new_owner()]
    await cache.publish(owners[0], Revision(1))
    async with (
        asyncio.timeout(PATIENCE_SECONDS),
        aclosing(cache.changes()) as one,
        aclosing(cache.changes()) as two,
    ):
        assert await anext(one) == ()
        assert await anext(two) == ()
        sent = [(owners[n % 2], Revision(n if n != 4 else NO_REVISION)) for n in range(2, 9)]
        for owner, revision in sent:
            await cache.publish(owner, revision)
        for subscription in (one, two):
            heard: list[tuple[str, Revision]] = []
            while len(heard) < len(sent):
                batch = await anext(subscription)
                assert batch is not None
                heard += batch
            assert heard == [(str(owner.id), revision) for owner, revision in sent]
