"""What sessions on Redis do beyond the contract: keys, times to live, bounds under load, a full server."""

from __future__ import annotations

import asyncio
import contextlib
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import redis.asyncio

from memory_service.adapters.inmemory import SystemClock
from memory_service.adapters.redis import RedisSettings
from memory_service.adapters.redis.sessions import RedisSessionStore
from memory_service.domain import limits
from memory_service.domain.errors import Conflict, LimitExceeded, NotFound, Reason, Unavailable
from memory_service.domain.ids import OwnerKey
from memory_service.domain.session.model import (
    FieldChange,
    KeptTurn,
    SessionFacts,
    SessionId,
    SessionStatus,
    StateBlock,
    Turn,
    TurnRole,
    session_id,
)
from memory_service.ports.sessions import Basis, SessionLimits
from tests.contracts import builders as make

PARTS = ("facts", "fields", "turns", "ids", "blocks")
NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


@asynccontextmanager
async def connected(
    url: str, bounds: SessionLimits | None = None, **settings: float
) -> AsyncIterator[RedisSessionStore]:
    """A store on `url`; time-outs are long unless given, since the machine that tests may be busy."""
    patient = {"timeout_seconds": 20.0, "transfer_timeout_seconds": 20.0, **settings}
    store = RedisSessionStore(RedisSettings(url, **patient), SystemClock(), bounds)  # type: ignore[arg-type]
    try:
        yield store
    finally:
        await store.close()


def facts(at: datetime = NOW, request_id: str = "") -> SessionFacts:
    return SessionFacts(id=session_id(at, uuid.uuid4()), started_at=at, request_id=request_id)


def turn(name: str, text: str = "hello") -> KeptTurn:
    return KeptTurn(Turn(id=name, role=TurnRole.USER, text=text), NOW, answers=True)


async def fill(store: RedisSessionStore, owner: OwnerKey, session: SessionId) -> None:
    """Touch every key a session may have."""
    await store.append(owner, session, [turn("a")], Basis(0, 0), StateBlock(sequence=1, topic="x"), NOW)
    changes = [FieldChange("slots.x", 1, "a")]
    await store.update(owner, session, changes, device="", etag_version=None, seen_version=None, now=NOW)


async def test_every_key_lives_for_a_while_in_the_owners_hash_slot(redis_url: str):
    owner = make.new_owner()
    async with connected(redis_url) as store, redis.asyncio.from_url(redis_url) as client:
        session = await store.create(owner, facts(request_id="r"), NOW)
        steps = [
            lambda: fill(store, owner, session),
            lambda: store.read(owner, session, turns=9, touch=True, now=NOW),
            lambda: store.list(owner, after=None, limit=9),
            lambda: store.drop_blocks(owner, session, 1),
            lambda: store.end(owner, session, NOW),
        ]
        for step in steps:
            await step()
            keys: list[Any] = await client.keys("*")
            assert {key.split(b"}")[0] for key in keys} == {b"ms1:{" + owner.id.hex.encode()}
            for key in keys:
                assert 0 < await client.pttl(key) <= 86_400_000, key
        assert await client.dbsize() == 5


async def test_a_session_of_100_000_turns_stays_bounded(redis_url: str):
    owner = make.new_owner()
    async with connected(redis_url) as store, redis.asyncio.from_url(redis_url) as client:
        session = await store.create(owner, facts(), NOW)
        before = int((await client.info("memory"))["used_memory"])
        for start in range(0, 100_000, 500):
            batch = [turn(f"t{n}", f"turn number {n}") for n in range(start, start + 500)]
            await store.append(owner, session, batch, None, None, NOW)
        grown = int((await client.info("memory"))["used_memory"]) - before
        found = await store.read(owner, session, turns=200, touch=False, now=NOW)
    assert found.turn_count == 100_000
    assert [kept.turn.id for kept in found.turns] == [f"t{n}" for n in range(99_800, 100_000)]
    assert grown < 1_000_000


async def test_10_000_sessions_of_one_user_are_listed_and_no_more_are_taken(redis_url: str):
    owner = make.new_owner()
    count = limits.SESSIONS_PER_OWNER_MAX_DEFAULT
    async with connected(redis_url) as store:
        for start in range(0, count, 500):
            at = [NOW + timedelta(milliseconds=n) for n in range(start, start + 500)]
            await asyncio.gather(*(store.create(owner, facts(when), NOW) for when in at))
        with pytest.raises(LimitExceeded) as caught:
            await store.create(owner, facts(), NOW)
        assert caught.value.metadata["limit"] == str(count)
        seen: list[SessionId] = []
        after = None
        while True:
            page = await store.list(owner, after=after, limit=500)
            seen += [line.facts.id for line in page.lines]
            after = page.next_after
            if after is None:
                break
    assert len(seen) == len(set(seen)) == count
    assert seen == sorted(seen, reverse=True)


async def test_sessions_that_were_evicted_leave_the_list(redis_url: str):
    owner = make.new_owner()
    async with connected(redis_url) as store, redis.asyncio.from_url(redis_url) as client:
        kept, gone = [await store.create(owner, facts(NOW + timedelta(seconds=n)), NOW) for n in range(2)]
        await client.delete(store._keys(owner, gone)[0])
        assert [line.facts.id for line in (await store.list(owner, after=None, limit=9)).lines] == [kept]
        assert await client.zcard(store._keys(owner, gone)[5]) == 1
        with pytest.raises(NotFound):
            await store.read(owner, gone, turns=1, touch=True, now=NOW)


@pytest.mark.parametrize("evicted", ["fields", "turns", "ids"])
async def test_a_session_that_lost_a_part_is_released_whole(redis_url: str, evicted: str):
    owner = make.new_owner()
    async with connected(redis_url) as store, redis.asyncio.from_url(redis_url) as client:
        session = await store.create(owner, facts(), NOW)
        await fill(store, owner, session)
        await client.delete(store._keys(owner, session)[PARTS.index(evicted)])
        found = await store.read(owner, session, turns=9, touch=False, now=NOW)
        assert (found.status, found.turns, dict(found.fields)) == (SessionStatus.RELEASED, (), {})
        assert found.version == 3
        assert found.block is not None
        (line,) = (await store.list(owner, after=None, limit=9)).lines
        assert (line.status, line.version) == (SessionStatus.RELEASED, 3)
        with pytest.raises(Conflict):
            await store.update(
                owner, session, [FieldChange("tasks.t", 1)], device="", etag_version=2, seen_version=None, now=NOW
            )
        await store.append(owner, session, [turn("b")], None, None, NOW)
        found = await store.read(owner, session, turns=9, touch=False, now=NOW)
        assert ([kept.turn.id for kept in found.turns], dict(found.fields), found.version) == (["b"], {}, 3)


@pytest.mark.parametrize("evicted", ["facts", "blocks"])
async def test_a_session_that_lost_its_facts_or_its_state_is_no_more(redis_url: str, evicted: str):
    owner = make.new_owner()
    async with connected(redis_url) as store, redis.asyncio.from_url(redis_url) as client:
        session = await store.create(owner, facts(), NOW)
        await fill(store, owner, session)
        await client.delete(store._keys(owner, session)[PARTS.index(evicted)])
        change = [FieldChange("tasks.t", 1)]
        for call in (
            lambda: store.read(owner, session, turns=9, touch=True, now=NOW),
            lambda: store.append(owner, session, [turn("b")], None, None, NOW),
            lambda: store.update(owner, session, change, device="", etag_version=None, seen_version=None, now=NOW),
            lambda: store.end(owner, session, NOW),
        ):
            with pytest.raises(NotFound) as caught:
                await call()
            assert caught.value.reason is Reason.SESSION_NOT_FOUND
        assert (await store.list(owner, after=None, limit=9)).lines == []


async def test_a_session_ends_on_a_full_server(redis_url: str):
    owner = make.new_owner()
    async with connected(redis_url) as store, redis.asyncio.from_url(redis_url) as client:
        session = await store.create(owner, facts(), NOW)
        await fill(store, owner, session)
        async with memory_limited(client, "noeviction", FULL):
            with pytest.raises(LimitExceeded):
                await store.append(owner, session, [turn("t")], None, None, NOW)
            await store.end(owner, session, NOW)
            found = await store.read(owner, session, turns=9, touch=False, now=NOW)
        assert (found.status, found.turns) == (SessionStatus.ENDED, ())


FULL = -(2**60)
"""No room at all, however much of what other tests left is being freed meanwhile."""


@asynccontextmanager
async def memory_limited(client: redis.asyncio.Redis, policy: str, spare: int) -> AsyncIterator[None]:
    """A server with so many bytes to spare, as it was before afterwards."""
    names = ("maxmemory", "maxmemory-policy")
    before = {name: (await client.config_get(name))[name] or "" for name in names}
    used = int((await client.info("memory"))["used_memory"])
    await client.config_set("maxmemory-policy", policy)
    await client.config_set("maxmemory", max(1, used + spare))
    try:
        yield
    finally:
        await client.config_set("maxmemory", before["maxmemory"])
        await client.config_set("maxmemory-policy", before["maxmemory-policy"])


async def test_a_full_server_refuses_whole_steps(redis_url: str):
    owner = make.new_owner()
    async with connected(redis_url) as store, redis.asyncio.from_url(redis_url) as client:
        session = await store.create(owner, facts(), NOW)
        await store.append(owner, session, [turn("warm")], None, None, NOW)
        async with memory_limited(client, "noeviction", FULL):
            with pytest.raises(LimitExceeded) as caught:
                await store.append(owner, session, [turn("t", "x" * 16_000)], None, None, NOW)
            assert caught.value.reason is Reason.STORAGE_FULL
            with pytest.raises(LimitExceeded):
                await store.create(owner, facts(), NOW)
        found = await store.read(owner, session, turns=200, touch=False, now=NOW)
        assert found.turn_count == len(found.turns)
        await store.append(owner, session, [turn("after")], None, None, NOW)


async def evicted_keys(client: redis.asyncio.Redis) -> int:
    """How many keys had to go since the server started."""
    return int((await client.info("stats"))["evicted_keys"])


async def test_a_full_server_that_evicts_leaves_sessions_whole_or_gone(redis_url: str):
    owner = make.new_owner()
    text = "x" * 4_000
    async with (
        connected(redis_url) as store,
        redis.asyncio.from_url(redis_url) as client,
        memory_limited(client, "volatile-lru", 2_000_000),
    ):
        made: list[SessionId] = []
        before = await evicted_keys(client)
        # What other tests left may be freed meanwhile, which makes room: so it is filled until something has to go.
        while len(made) < 600 or await evicted_keys(client) == before:
            assert len(made) < 20_000
            session = await store.create(owner, facts(NOW + timedelta(milliseconds=len(made))), NOW)
            made.append(session)
            with contextlib.suppress(NotFound):  # what was just made may be what has to go
                await store.append(
                    owner, session, [turn("a", text), turn("b", text)], None, StateBlock(sequence=1, topic="x"), NOW
                )
        whole = 0
        for session in made:
            try:
                found = await store.read(owner, session, turns=9, touch=False, now=NOW)
            except NotFound:
                continue
            whole += found.status is SessionStatus.ACTIVE
            assert found.facts.id == session
            assert len(found.turns) in (0, 2)
        assert whole > 0
        for session in reversed(made):
            with contextlib.suppress(NotFound):
                await store.append(owner, session, [turn("c")], None, None, NOW)
                break
        else:
            pytest.fail("no session that is there takes a turn")


@pytest.mark.parametrize("how", ["refused", "silent"])
async def test_every_failure_is_unavailable(how: str):
    from tests.redis.test_redis_cache import SilentServer

    owner, session = make.new_owner(), facts().id
    async with SilentServer().running() as silent:
        url = silent if how == "silent" else "redis://127.0.0.1:1/0"
        async with connected(url, timeout_seconds=0.02, transfer_timeout_seconds=0.02) as store:
            for call in (
                lambda: store.create(owner, facts(), NOW),
                lambda: fill(store, owner, session),
                lambda: store.read(owner, session, turns=1, touch=True, now=NOW),
                lambda: store.list(owner, after=None, limit=1),
                lambda: store.end(owner, session, NOW),
                lambda: store.blocks(owner, session),
                lambda: store.drop_blocks(owner, session, 1),
                store.ping,
            ):
                with pytest.raises(Unavailable) as caught:
                    await call()
                assert caught.value.reason is Reason.REDIS_UNAVAILABLE
                assert "127.0.0.1" not in caught.value.message


async def test_what_comes_while_turns_are_being_forgotten_is_forgotten_too(redis_url: str):
    """The session is read, then changed by a script: what was added in between is not missed."""
    async with connected(redis_url) as store:
        owner = make.new_owner()
        session = await store.create(owner, facts(), NOW)
        await store.append(owner, session, [turn("a", "secret")], Basis(0, 0), None, NOW)
        read, done = store._to_forget, list[bool]()

        async def reading(*given: Any) -> list[Any]:
            found = await read(*given)
            if not done:
                done.append(True)
                await store.append(owner, session, [turn("b", "secret")], None, None, NOW)
                await store.update(
                    owner,
                    session,
                    [FieldChange("slots.s", "secret", "b")],
                    device="",
                    etag_version=None,
                    seen_version=None,
                    now=NOW,
                )
            return found

        store._to_forget = reading  # type: ignore[method-assign, assignment]
        await store.forget_turns(owner, session, {"a", "b"}, NOW, 3)
        view = await store.read(owner, session, turns=9, touch=False, now=NOW)
        assert "secret" not in repr(view)
        assert view.turn_count == 2
