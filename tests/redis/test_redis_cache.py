"""What the Redis adapter does beyond the contract: keys, times to live, failures, reconnection."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from datetime import timedelta

import pytest
import redis.asyncio
from hypothesis import given
from hypothesis import strategies as st

from memory_service.adapters.inmemory import ManualClock, SystemClock
from memory_service.adapters.redis import RedisSettings, RedisSharedCache, keys
from memory_service.adapters.redis.breaker import CircuitBreaker
from memory_service.domain.errors import Reason, Unavailable
from memory_service.domain.ids import OwnerKey, Revision, TenantId, UserId
from tests.contracts import builders as make

PATIENCE_SECONDS = 20


@asynccontextmanager
async def connected(url: str, clock=None, **settings) -> AsyncIterator[RedisSharedCache]:
    """A cache on `url`; time-outs are long unless given, since the machine that tests may be busy."""
    patient = {"timeout_seconds": 10, "transfer_timeout_seconds": 10, "heartbeat_seconds": 5}
    cache = RedisSharedCache(RedisSettings(url, **{**patient, **settings}), clock or SystemClock())
    try:
        yield cache
    finally:
        await cache.close()


@given(st.lists(st.binary(max_size=4), max_size=4), st.lists(st.binary(max_size=4), max_size=4))
def test_different_fields_never_share_a_key(one: list[bytes], two: list[bytes]):
    assert (keys.fields(*one) == keys.fields(*two)) == (one == two)


def test_all_keys_of_an_owner_share_a_hash_tag_and_carry_the_version():
    owner = OwnerKey(TenantId("t{x}"), UserId("u"))
    key = keys.owner_key("ms1", owner)
    assert key.startswith(b"ms1:{" + owner.id.hex.encode() + b"}")
    assert key.count(b"{") == 1
    assert keys.vector_key("ms1", "m", b"d").startswith(b"ms1:")


@given(st.integers(0, 2**63 - 1), st.integers(0, 2**63 - 1))
def test_revisions_compare_as_text(one: int, two: int):
    texts = [keys.revision_text(Revision(n)) for n in (one, two)]
    assert (texts[0] < texts[1]) == (one < two)
    assert len({len(text) for text in texts}) == 1


@given(st.integers(0, 2**63 - 1))
def test_news_round_trip(revision: int):
    owner = OwnerKey(TenantId("t"), UserId("u"))
    assert keys.read_news(keys.news(owner, Revision(revision))) == (str(owner.id), revision)


@pytest.mark.parametrize("message", [b"", b"x" * 23, b"x" * 25])
def test_other_messages_are_not_news(message: bytes):
    with pytest.raises(ValueError, match="not a message"):
        keys.read_news(message)


async def test_everything_kept_has_a_time_to_live(redis_url: str):
    owner, dropped = make.new_owner(), make.new_owner()
    async with connected(redis_url) as cache, redis.asyncio.from_url(redis_url) as client:
        await cache.put_snapshot(owner, "m", Revision(1), b"x")
        await cache.put_vector("m", b"d", make.vector(1))
        await cache.drop_owner(dropped, Revision(1))
        ttls = {key: await client.pttl(key) for key in await client.keys("*")}
    assert len(ttls) == 3
    hour, day = 3_600_000, 86_400_000
    vector = keys.vector_key("ms1", "m", b"d")
    assert day - 60_000 < ttls.pop(vector) <= day
    assert all(hour - 60_000 < ttl <= hour for ttl in ttls.values())


async def test_an_entry_is_gone_after_its_time(redis_url: str):
    owner = make.new_owner()
    async with connected(redis_url, snapshot_ttl_seconds=0.001, vector_ttl_seconds=0.001) as cache:
        await cache.put_snapshot(owner, "m", Revision(1), b"x")
        await cache.put_vector("m", b"d", make.vector(1))
        async with asyncio.timeout(PATIENCE_SECONDS):
            while await cache.get_snapshot(owner, "m") or await cache.get_vector("m", b"d") is not None:
                await cache.ping()


async def test_a_lost_subscription_shows_as_a_gap_and_comes_back(redis_url: str):
    owner = make.new_owner()
    async with (
        asyncio.timeout(PATIENCE_SECONDS),
        connected(redis_url) as cache,
        redis.asyncio.from_url(redis_url) as client,
        aclosing(cache.changes()) as changes,
    ):
        assert await anext(changes) == ()
        for revision in (1, 2):
            await client.execute_command("CLIENT", "KILL", "TYPE", "pubsub")
            assert await anext(changes) is None
            assert await anext(changes) == ()
            await cache.publish(owner, Revision(revision))
            assert await anext(changes) == ((str(owner.id), revision),)


async def test_a_silent_subscription_beats(redis_url: str):
    async with (
        asyncio.timeout(PATIENCE_SECONDS),
        connected(redis_url, heartbeat_seconds=0.01) as cache,
        aclosing(cache.changes()) as changes,
    ):
        beats = [await anext(changes) for _ in range(4)]
    # On a busy machine an answer may be late enough to count as a loss, but not every time.
    assert () in beats


async def test_what_others_publish_on_the_channel_is_no_news(redis_url: str):
    owner = make.new_owner()
    async with (
        asyncio.timeout(PATIENCE_SECONDS),
        connected(redis_url) as cache,
        redis.asyncio.from_url(redis_url) as client,
        aclosing(cache.changes()) as changes,
    ):
        assert await anext(changes) == ()
        await client.publish(keys.channel("ms1").decode(), b"hello")
        await cache.publish(owner, Revision(4))
        assert await anext(changes) == ()
        assert await anext(changes) == ((str(owner.id), 4),)


class SilentServer:
    """Accepts connections and never answers."""

    def __init__(self) -> None:
        self.connections = 0
        self._writers: list[asyncio.StreamWriter] = []

    async def _accept(self, _: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._writers.append(writer)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[str]:
        server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        try:
            yield f"redis://127.0.0.1:{port}/0"
        finally:
            server.close()
            for writer in self._writers:
                writer.close()


def calls(cache: RedisSharedCache) -> dict[str, object]:
    """Every method that may find the server away."""
    owner = make.new_owner()
    return {
        "get_snapshot": lambda: cache.get_snapshot(owner, "m"),
        "put_snapshot": lambda: cache.put_snapshot(owner, "m", Revision(1), b"x"),
        "drop_owner": lambda: cache.drop_owner(owner, Revision(1)),
        "get_vector": lambda: cache.get_vector("m", b"d"),
        "put_vector": lambda: cache.put_vector("m", b"d", make.vector(1)),
        "publish": lambda: cache.publish(owner, Revision(1)),
        "ping": cache.ping,
    }


@pytest.mark.parametrize(
    "name", ["get_snapshot", "put_snapshot", "drop_owner", "get_vector", "put_vector", "publish", "ping"]
)
@pytest.mark.parametrize("how", ["refused", "silent"])
async def test_every_failure_is_unavailable(name: str, how: str):
    async with SilentServer().running() as silent:
        url = silent if how == "silent" else "redis://127.0.0.1:1/0"
        async with connected(url, timeout_seconds=0.02, transfer_timeout_seconds=0.02) as cache:
            call = calls(cache)[name]
            with pytest.raises(Unavailable) as caught:
                await call()  # type: ignore[operator]
    assert caught.value.reason is Reason.REDIS_UNAVAILABLE
    assert "127.0.0.1" not in caught.value.message


async def test_a_dead_server_is_asked_only_now_and_then():
    server, clock = SilentServer(), ManualClock()
    async with (
        server.running() as url,
        connected(
            url, clock, timeout_seconds=0.02, transfer_timeout_seconds=0.02, failures_max=3, away_seconds=1
        ) as cache,
    ):

        async def fail(times: int) -> None:
            for _ in range(times):
                with pytest.raises(Unavailable):
                    await cache.get_vector("m", b"d")

        await fail(3)
        tried = server.connections
        assert tried == 3
        await fail(500)
        assert server.connections == tried
        clock.advance(timedelta(seconds=1))
        await fail(500)
        assert server.connections == tried + 1


async def test_a_server_that_comes_back_is_used_again(redis_url: str):
    clock = ManualClock()
    async with connected(redis_url, clock, failures_max=1) as cache:
        cache._breaker.failed()
        with pytest.raises(Unavailable):
            await cache.ping()
        clock.advance(timedelta(seconds=1))
        await cache.ping()
        await cache.ping()


async def test_refusals_of_the_server_are_unavailable_too(redis_url: str):
    owner = make.new_owner()
    async with connected(redis_url) as cache, redis.asyncio.from_url(redis_url) as client:
        await client.set(keys.owner_key("ms1", owner), b"another type")
        for call in (cache.get_snapshot(owner, "m"), cache.put_snapshot(owner, "m", Revision(1), b"x")):
            with pytest.raises(Unavailable):
                await call


async def test_giving_up_on_a_call_leaves_the_connection_usable(redis_url: str):
    owner = make.new_owner()
    async with connected(redis_url, connections_max=1) as cache:
        await cache.put_snapshot(owner, "m", Revision(1), b"snapshot")
        for _ in range(20):
            task = asyncio.create_task(cache.get_snapshot(owner, "m"))
            await asyncio.sleep(0)
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
            assert await cache.get_vector("m", b"absent") is None
        assert await cache.get_snapshot(owner, "m") == (1, b"snapshot")


async def test_a_subscription_survives_starting_without_a_server():
    async with (
        asyncio.timeout(PATIENCE_SECONDS),
        connected("redis://127.0.0.1:1/0", reconnect_seconds_max=0.01) as cache,
        aclosing(cache.changes()) as changes,
    ):
        assert [await anext(changes) for _ in range(3)] == [None] * 3


def test_the_breaker_lets_one_call_try_at_a_time():
    clock = ManualClock()
    breaker = CircuitBreaker(clock, failures_max=2, away_seconds=1)
    breaker.failed()
    assert breaker.allows()
    breaker.succeeded()
    breaker.failed()
    assert breaker.allows()
    breaker.failed()
    assert not breaker.allows()
    clock.advance(timedelta(seconds=1))
    assert [breaker.allows() for _ in range(3)] == [True, False, False]
    # The one that tried never came back to say; the next is let through by time.
    clock.advance(timedelta(seconds=1))
    assert breaker.allows()
    breaker.succeeded()
    assert all(breaker.allows() for _ in range(3))


@pytest.mark.parametrize("name", ["timeout_seconds", "failures_max", "snapshot_ttl_seconds"])
def test_settings_that_cannot_work_are_refused(name: str):
    with pytest.raises(ValueError, match=name):
        RedisSettings("redis://127.0.0.1/0", **{name: 0})  # type: ignore[arg-type]


async def test_a_connection_closed_under_a_command_is_an_absence_and_other_faults_are_not(
    redis_url: str, monkeypatch: pytest.MonkeyPatch
):
    async with connected(redis_url) as cache:
        said = "unable to perform operation on <TCPTransport closed=True 0x1>; the handler is closed"

        async def closed(*_: object, **__: object) -> None:
            raise RuntimeError(said)

        monkeypatch.setattr(cache._client, "get", closed)
        with pytest.raises(Unavailable) as caught:
            await cache.get_vector("m", b"d")
        assert caught.value.reason is Reason.REDIS_UNAVAILABLE
        said = "something else"
        with pytest.raises(RuntimeError, match="something else"):
            await cache.get_vector("m", b"d")
