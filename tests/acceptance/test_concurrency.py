"""Many writers at once: nothing is lost, nothing is doubled, one of them wins, and what is gone stays gone."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from memory_service.client import Aborted, AsyncMemoryClient, Consistency, MemoryFilter, Unauthenticated
from memory_service.v1 import memory_service_pb2 as api
from memory_service.v1 import types_pb2 as pb
from tests.acceptance.raw import Raw
from tests.acceptance.service import ServiceProcess, serving
from tests.acceptance.world import new_user

KEY_CACHE_SECONDS = 1.0


async def texts(memory: AsyncMemoryClient, user: str) -> list[str]:
    return sorted([found.text async for found in memory.list(user=user, page_size=500)])


async def test_eight_appends_at_once_all_survive(service: ServiceProcess):
    """Eight callers of one user, each its own connection, each in its own session."""
    user = new_user()
    clients = [service.client(user, session=f"session-{n}") for n in range(8)]
    said = [f"caller {n} likes dish number {i}" for n in range(8) for i in range(5)]

    async def append(memory: AsyncMemoryClient, number: int) -> None:
        for i in range(5):
            await memory.write(f"caller {number} likes dish number {i}")

    try:
        await asyncio.gather(*(append(memory, number) for number, memory in enumerate(clients)))
        assert await texts(clients[0], user) == sorted(said)
        found = await clients[1].recall("dish", limit=200, consistency=Consistency.fully_consistent())
        assert sorted(item.memory.text for item in found) == sorted(said)
    finally:
        await asyncio.gather(*(memory.close() for memory in clients))


async def test_thirty_identical_writes_are_one_memory_with_support_30(service: ServiceProcess):
    user = new_user()
    async with service.client(user) as memory:
        results = await asyncio.gather(*(memory.write("I always take the window seat") for _ in range(30)))
        assert len({result.memory.id for result in results if result.memory}) == 1
        assert sorted(str(result.effect) for result in results).count("created") == 1
        (one,) = [found async for found in memory.list()]
        assert one.support == 30
        assert one.version == 30


async def test_one_request_sent_thirty_times_at_once_is_done_once(service: ServiceProcess):
    user = new_user()
    async with service.client(user) as memory:
        results = await asyncio.gather(*(memory.write("I ride a red bicycle", request_id="only") for _ in range(30)))
        assert sum(not result.replayed for result in results) == 1
        assert len({(r.token, r.memory.etag) for r in results if r.memory}) == 1
        (one,) = [found async for found in memory.list()]
        assert (one.support, one.version) == (1, 1)


async def test_of_many_corrections_with_one_etag_exactly_one_wins(service: ServiceProcess):
    user = new_user()
    async with service.client(user) as memory:
        written = (await memory.write("My sister lives in Oslo")).memory
        assert written

        async def correct(number: int) -> str:
            text = f"My sister lives in town {number}"
            try:
                await memory.correct(written.id, text, etag=written.etag, context=None)
            except Aborted as error:
                return error.reason
            return text

        said = await asyncio.gather(*(correct(n) for n in range(10)))
        won = [text for text in said if text != "ETAG_MISMATCH"]
        assert len(won) == 1
        assert await texts(memory, user) == won
        history = await memory.history(written.id)
        assert [version.text for version in history.versions] == ["My sister lives in Oslo", *won]


async def test_corrections_at_once_that_name_no_version_are_all_made(service: ServiceProcess):
    user = new_user()
    async with service.client(user) as memory:
        written = (await memory.write("My sister lives in Oslo")).memory
        assert written
        towns = [f"My sister lives in town {n}" for n in range(40)]
        await asyncio.gather(*(memory.correct(written.id, town, context=None) for town in towns))
        history = await memory.history(written.id)
        assert sorted(version.text for version in history.versions) == sorted(["My sister lives in Oslo", *towns])
        assert await texts(memory, user) == [history.versions[-1].text]


async def test_a_bulk_forget_among_writers_takes_all_it_names_and_nothing_else(service: ServiceProcess):
    user = new_user()
    async with service.client(user) as memory:
        await asyncio.gather(*(memory.write(f"old bill number {n}", tags=["bill"]) for n in range(20)))
        started = asyncio.Event()

        async def go_on(number: int) -> None:
            for i in range(6):
                await memory.write(f"note {number}-{i}", tags=["note"])
                # The same statements over and over: those made before the Forget must not come back with them.
                await memory.write(f"old bill number {i}", tags=["bill"], source="derived")
                started.set()

        async def forget() -> set[str]:
            await started.wait()
            return set((await memory.forget(where=MemoryFilter(tags_any=["bill"]))).memory_ids)

        writing = asyncio.gather(*(go_on(number) for number in range(4)))
        gone = await forget()
        await writing
        assert len(gone) == 20
        assert await texts(memory, user) == sorted(f"note {n}-{i}" for n in range(4) for i in range(6))
        everything = await memory.recall("old bill", limit=200, consistency=Consistency.fully_consistent())
        assert not [found for found in everything if "bill" in found.memory.text]


async def test_changes_of_one_owner_do_not_wait_for_those_of_others(service: ServiceProcess):
    """Forty owners at once, each with its own order of changes."""
    users = [new_user() for _ in range(40)]
    async with service.client("") as memory:

        async def live(user: str) -> list[str]:
            for n in range(3):
                await memory.write(user=user, predicate="location", object=f"city {n}")
            return await texts(memory, user)

        assert await asyncio.gather(*(live(user) for user in users)) == [["user location: city 2"]] * 40


@pytest.fixture(scope="module")
async def replica(service: ServiceProcess, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ServiceProcess]:
    """A second server on the first one's databases."""
    stack = service.stack()
    folder: Path = tmp_path_factory.mktemp("replica") / "data"
    env = {
        "MEMORY_SERVICE_DATABASE_URL": stack.database_url,
        "MEMORY_SERVICE_REDIS_URL": stack.redis_url,
        "MEMORY_SERVICE_KEY_CACHE_SECONDS": str(KEY_CACHE_SECONDS),
    }
    async with serving(folder, env) as running:
        yield running


async def test_a_token_makes_any_replica_show_the_write(service: ServiceProcess, replica: ServiceProcess):
    user = new_user()
    async with service.client(user) as here, replica.client(user, service.key) as there:
        for n in range(25):
            writer, reader = (here, there) if n % 2 else (there, here)
            written = await writer.write(f"fact number {n}")
            token = Consistency.at_least_as_fresh(written.token)
            found = await reader.recall("", limit=200, consistency=token, read_only=True)
            assert len(found) == n + 1
            assert f"fact number {n}" in {item.memory.text for item in found}


async def test_what_one_replica_forgot_is_gone_on_the_other(service: ServiceProcess, replica: ServiceProcess):
    user = new_user()
    async with service.client(user) as here, replica.client(user, service.key) as there:
        kept = await here.write("I play the cello")
        gone = await here.write("my locker is number 88")
        assert gone.memory
        assert kept.memory
        token = Consistency.at_least_as_fresh(gone.token)
        assert len(await there.recall("locker", consistency=token)) == 2
        forgotten = await here.forget(gone.memory.id)
        token = Consistency.at_least_as_fresh(forgotten.token)
        for consistency in (token, Consistency.fully_consistent()):
            found = await there.recall("locker", consistency=consistency)
            assert [item.memory.text for item in found] == ["I play the cello"]
        assert await texts(there, user) == ["I play the cello"]
        again = await there.write("my locker is number 88", source="inferred")
        assert str(again.effect) == "suppressed"


async def test_a_stale_recall_is_stale_for_a_moment_only(service: ServiceProcess, replica: ServiceProcess):
    """Without a token the other replica may lag, by the documented second at most: it never lags for good."""
    user = new_user()
    async with service.raw() as here, replica.raw(service.key) as there:
        await there.call("Recall", api.RecallRequest(user=user))
        await here.call("Write", api.WriteRequest(user=user, memory=pb.MemoryInput(text="a new fact")))
        deadline = time.monotonic() + 10
        while not (await there.call("Recall", api.RecallRequest(user=user))).memories:
            assert time.monotonic() < deadline


async def test_a_key_revoked_on_one_replica_stops_on_the_other_in_time(
    service: ServiceProcess, replica: ServiceProcess
):
    user = new_user()
    async with service.client(user) as admin:
        made = await admin.create_key("short-lived", roles=["reader"])
    async with service.client(user, made.secret) as here, replica.client(user, made.secret) as there:
        await here.prewarm()
        await there.prewarm()
        async with service.client(user) as admin:
            await admin.revoke_key(made.key.id)
        revoked = time.monotonic()
        with pytest.raises(Unauthenticated):
            await here.prewarm()
        last, refused = revoked, ""
        while not refused:
            began = time.monotonic()
            assert began - revoked < 10
            try:
                await there.prewarm()
                last = began
            except Unauthenticated as error:
                refused = error.reason
        assert refused == "CREDENTIAL_INVALID"
        assert last - revoked <= KEY_CACHE_SECONDS


async def test_raw_and_typed_callers_see_the_same(service: ServiceProcess, raw: Raw):
    user = new_user()
    async with service.client(user) as memory:
        await memory.write("I sleep with the window open")
        (found,) = await memory.recall("window")
    (bare,) = (await raw.call("Recall", api.RecallRequest(user=user, query="window"))).memories
    assert (found.memory.id, found.memory.text) == (bare.memory.id, bare.memory.text)
