"""What goes wrong in the middle: cancellation, time-outs, lost connections, full pools, text nobody can store."""

from __future__ import annotations

import asyncio
import dataclasses
import time
import uuid
from collections.abc import AsyncIterator
from typing import Any, cast

import asyncpg
import pytest

from memory_service.adapters.postgres import PostgresBackend
from memory_service.adapters.postgres.errors import BY_SQLSTATE, connection_is_gone, translated_error
from memory_service.adapters.postgres.session import Database
from memory_service.domain.errors import (
    DeadlineExceeded,
    InternalError,
    InvalidInput,
    LimitExceeded,
    MemoryServiceError,
    Reason,
    Unavailable,
)
from memory_service.domain.ids import DeviceId, Revision
from memory_service.domain.memory import Assertion, MemoryVersion, Usage
from memory_service.domain.vector_clock import Dot
from memory_service.ports.memory_store import Changeset
from tests.conftest import NewDatabase
from tests.contracts import builders as make
from tests.postgres.fixtures import connected, postgres_backend

OPEN_TRANSACTIONS = """
SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND application_name = 'memory-service' AND state LIKE 'idle in transaction%'"""


@pytest.fixture(scope="module")
async def database_url(new_database: NewDatabase) -> AsyncIterator[str]:
    """One database for all: every test has owners of its own."""
    async with new_database() as dsn:
        yield dsn


@pytest.fixture
async def backend(database_url: str) -> AsyncIterator[PostgresBackend]:
    """A backend with two connections and short time-outs."""
    async with postgres_backend(
        database_url, pool_max=2, acquire_timeout=0.3, lock_timeout=0.3, statement_timeout=1.0
    ) as made:
        yield made


def database_of(backend: PostgresBackend) -> Database:
    return backend._database


async def expect_clean(backend: PostgresBackend, dsn: str) -> None:
    """All connections are back, none in a transaction, none with an owner set."""
    stats = backend.pool_stats()
    assert stats.idle == stats.size
    async with connected(dsn) as superuser:
        assert await superuser.fetchval(OPEN_TRANSACTIONS) == 0
    for _ in range(stats.size + 1):
        seen = await database_of(backend).fetch(
            "SELECT current_setting('memory_service.owner', true) AS owner, count(*) AS rows FROM owners"
        )
        assert (seen[0]["owner"] or "", seen[0]["rows"]) == ("", 0)


async def test_an_owner_setting_does_not_outlive_its_use(backend: PostgresBackend, database_url: str):
    owner = make.new_owner()
    await make.write(backend.memories, owner, make.version(make.new_id()))
    await backend.memories.state(owner)
    await expect_clean(backend, database_url)


@pytest.mark.parametrize("where", ["waiting for the lock", "in the body", "in a statement", "twice"])
async def test_cancellation_rolls_back_and_gives_the_connection_back(
    backend: PostgresBackend, database_url: str, where: str
):
    owner, version = make.new_owner(), make.version(make.new_id())
    await make.write(backend.memories, owner, make.version(make.new_id()))
    reached = asyncio.Event()

    async def change() -> None:
        async with backend.memories.change(owner) as change:
            await change.apply(Changeset(state=make.next_state(change.state), versions=[version]))
            reached.set()
            if where == "in a statement":
                await change._session.value("SELECT pg_sleep(60) WHERE $1::uuid IS NOT NULL")  # type: ignore[attr-defined]
            await asyncio.Event().wait()

    async with connected(database_url) as blocker:
        await blocker.execute("BEGIN")
        if where == "waiting for the lock":
            await blocker.execute("SELECT FROM owners FOR UPDATE")
        task = asyncio.create_task(change())
        if where == "waiting for the lock":
            await blocked(blocker)
        else:
            await reached.wait()
        if where == "in a statement":
            await asyncio.sleep(0)
        task.cancel()
        if where == "twice":
            await asyncio.sleep(0)
            task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await blocker.execute("ROLLBACK")
    assert await backend.memories.get(owner, version.id) is None
    assert (await backend.memories.state(owner)).revision == 1
    await expect_clean(backend, database_url)


async def blocked(connection: Any) -> None:
    """Return once somebody waits for a lock in this database."""
    query = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    async with asyncio.timeout(10):
        while not await connection.fetchval(query):  # noqa: ASYNC110 (it happens in PostgreSQL)
            await asyncio.sleep(0)


async def test_an_exhausted_pool_is_an_error_in_time(backend: PostgresBackend):
    async with backend.memories.change(make.new_owner()), backend.memories.change(make.new_owner()):
        started = time.monotonic()
        for attempt in (backend.memories.state(make.new_owner()), backend.keys.find(b"x")):
            with pytest.raises(Unavailable) as refused:
                await attempt
            assert refused.value.reason is Reason.DATABASE_UNAVAILABLE
        assert time.monotonic() - started < 5
    await backend.memories.state(make.new_owner())


async def test_many_changes_of_one_owner_do_not_take_the_pool_from_others(database_url: str):
    busy, other = make.new_owner(), make.new_owner()
    # The waiting is what is tried here, so it has time, also on a machine that has little.
    async with postgres_backend(database_url, pool_max=2, lock_timeout=60.0) as backend:
        async with backend.memories.change(busy):
            writes = (make.write(backend.memories, busy, make.version(make.new_id())) for _ in range(10))
            waiting = [asyncio.create_task(write) for write in writes]
            await asyncio.sleep(0)
            await make.write(backend.memories, other, make.version(make.new_id()))
        assert sorted(await asyncio.gather(*waiting)) == list(range(1, 11))


async def test_a_lock_held_for_too_long_is_overload(backend: PostgresBackend, database_url: str):
    owner = make.new_owner()
    await make.write(backend.memories, owner, make.version(make.new_id()))
    async with connected(database_url) as blocker:
        await blocker.execute("BEGIN; SELECT FROM owners FOR UPDATE")
        with pytest.raises(Unavailable) as refused:  # another process has it
            await make.write(backend.memories, owner, make.version(make.new_id()))
        assert refused.value.reason is Reason.OVERLOADED
    async with backend.memories.change(owner):
        with pytest.raises(Unavailable) as refused:  # this process has it
            await make.write(backend.memories, owner, make.version(make.new_id()))
        assert refused.value.reason is Reason.OVERLOADED
    await expect_clean(backend, database_url)


async def test_a_slow_statement_is_a_deadline(database_url: str):
    async with postgres_backend(database_url, statement_timeout=0.1) as backend:
        with pytest.raises(DeadlineExceeded):
            await database_of(backend).fetch("SELECT pg_sleep(60)")
        await backend.memories.ping()


async def test_a_change_idle_for_too_long_is_ended_by_the_database(database_url: str):
    async with postgres_backend(database_url, idle_in_transaction_timeout=0.05) as backend:
        owner = make.new_owner()

        async def dawdle() -> None:
            async with backend.memories.change(owner) as change:
                while True:
                    await asyncio.sleep(0.2)
                    await change.heads([make.new_id()])

        with pytest.raises(Unavailable):
            await dawdle()
        await make.write(backend.memories, owner, make.version(make.new_id()))


@pytest.mark.parametrize("bad", ["nul \0", "lone \ud800 surrogate"])
@pytest.mark.parametrize("field", ["text", "slot", "tags", "object", "terms", "request"])
async def test_text_that_cannot_be_stored_is_named_and_nothing_is_written(
    backend: PostgresBackend, database_url: str, bad: str, field: str
):
    owner, version = make.new_owner(), make.version(make.new_id())
    fields: dict[str, Any] = {}
    if field in {"text", "slot"}:
        version = dataclasses.replace(version, **cast("Any", {field: bad}))
    elif field == "tags":
        version = dataclasses.replace(version, tags=("good", bad))
    elif field == "object":
        version = dataclasses.replace(version, assertion=Assertion("s", "p", {"key": [bad]}))
    elif field == "terms":
        fields["fragments"] = [dataclasses.replace(make.fragment(version), terms=(bad,))]
    else:
        fields["outcomes"] = [make.outcome(Dot(DeviceId("d"), 1), bad, 1)]
    if field == "object" and "\0" in bad:
        await make.write(backend.memories, owner, version)  # JSON can say NUL
        head = await backend.memories.get(owner, version.id)
        assert head is not None
        assert head.current.assertion == version.assertion
        return
    with pytest.raises(InvalidInput) as refused:
        await make.write(backend.memories, owner, version, **fields)
    assert refused.value.reason is Reason.TEXT_NOT_STORABLE
    assert (await backend.memories.state(owner)).revision == 0
    await expect_clean(backend, database_url)


def nested(depth: int) -> Any:
    """A list in a list in a list …"""
    value: Any = []
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        pytest.param(float("nan"), Reason.FIELD_INVALID, id="nan"),
        pytest.param(10**5000, Reason.FIELD_INVALID, id="too many digits"),
        pytest.param(nested(100_000), Reason.JSON_TOO_DEEP, id="too deep"),
    ],
)
async def test_values_that_json_cannot_hold_are_refused(backend: PostgresBackend, value: Any, reason: Reason):
    version = dataclasses.replace(make.version(make.new_id()), assertion=Assertion("s", "p", value))
    with pytest.raises(InvalidInput) as refused:
        await make.write(backend.memories, make.new_owner(), version)
    assert refused.value.reason is reason


async def test_a_failure_swallowed_inside_a_change_does_not_pass_for_a_commit(backend: PostgresBackend):
    owner = make.new_owner()
    version = dataclasses.replace(make.version(make.new_id()), text="nul \0")

    async def carry_on() -> None:
        async with backend.memories.change(owner) as change:
            with pytest.raises(InvalidInput):
                await change.apply(Changeset(state=make.next_state(change.state), versions=[version]))

    with pytest.raises(InternalError):
        await carry_on()
    assert (await backend.memories.state(owner)).revision == 0


async def test_dead_connections_are_replaced(backend: PostgresBackend, database_url: str):
    owner = make.new_owner()
    async with backend.memories.change(make.new_owner()):
        await make.write(backend.memories, owner, make.version(make.new_id()))
    assert backend.pool_stats().size == 2
    for _ in range(2):
        async with connected(database_url) as superuser:
            await superuser.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'memory-service'"
                " AND datname = current_database()"
            )
        assert (await backend.memories.state(owner)).revision == 1
        assert await backend.keys.find(b"none") is None
    await make.write(backend.memories, owner, make.version(make.new_id()))


async def test_a_connection_lost_before_the_commit_is_answered_is_unavailable(
    backend: PostgresBackend, database_url: str
):
    owner, version = make.new_owner(), make.version(make.new_id())

    async def lose_the_connection() -> None:
        async with backend.memories.change(owner) as change:
            await change.apply(Changeset(state=make.next_state(change.state), versions=[version]))
            async with connected(database_url) as superuser:
                await superuser.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE state = 'idle in transaction'"
                    " AND datname = current_database()"
                )

    with pytest.raises(Unavailable) as refused:
        await lose_the_connection()
    assert refused.value.reason is Reason.DATABASE_UNAVAILABLE
    assert await backend.memories.get(owner, version.id) is None


async def test_an_ordinary_change_is_three_round_trips(backend: PostgresBackend, monkeypatch: pytest.MonkeyPatch):
    owner = make.new_owner()
    await make.write(backend.memories, owner, make.version(make.new_id()))
    sent: list[str] = []
    for method in ("execute", "fetch", "fetchrow", "fetchval"):
        original = getattr(asyncpg.Connection, method)

        async def counted(self: Any, query: str, *args: Any, _original: Any = original, **kwargs: Any) -> Any:
            sent.append(query.split()[0])
            return await _original(self, query, *args, **kwargs)

        monkeypatch.setattr(asyncpg.Connection, method, counted)
    for count in (1, 500):
        sent.clear()
        versions = [make.version(make.new_id()) for _ in range(count)]
        await make.write(backend.memories, owner, *versions, fragments=[make.fragment(v) for v in versions])
        assert sent == ["BEGIN;", "WITH", "COMMIT"]
    sent.clear()
    await backend.memories.prune_log(owner, Revision(1))  # another version of the owner's row, the same revision
    sent.clear()
    await make.write(backend.memories, owner, make.version(make.new_id()))
    assert sent == ["BEGIN;", "SELECT", "WITH", "COMMIT"]


async def test_a_state_that_another_process_has_moved_on_is_read_anew(database_url: str):
    owner = make.new_owner()
    async with postgres_backend(database_url) as one, postgres_backend(database_url) as two:
        for number, backend in enumerate((one, one, two, one, two, two, one), 1):
            async with backend.memories.change(owner) as change:
                assert change.state.revision == number - 1
                dot = Dot(DeviceId("d"), number)
                assert change.state.clock.counter(DeviceId("d")) == number - 1
                await change.apply(Changeset(state=make.next_state(change.state, dot)))
        waiting: asyncio.Task[Revision]
        async with two.memories.change(owner) as change:  # the other waits for the lock with an outdated state
            waiting = asyncio.create_task(make.write(one.memories, owner, make.version(make.new_id())))
            async with connected(database_url) as observer:
                await blocked(observer)
            await change.apply(Changeset(state=make.next_state(change.state)))
        assert await waiting == 9


@pytest.mark.parametrize("how", ["fails", "is not applied", "vectors", "forged"])
async def test_a_state_is_known_only_by_its_commit(backend: PostgresBackend, database_url: str, how: str):
    owner, version = make.new_owner(), make.version(make.new_id())
    await make.write(backend.memories, owner, version, fragments=[make.fragment(version, seed=None)])
    before = await backend.memories.state(owner)
    if how == "fails":
        with pytest.raises(InternalError):
            await make.write(backend.memories, owner, dataclasses.replace(version, version=7))
    elif how == "is not applied":
        async with backend.memories.change(owner):
            pass
    elif how == "vectors":
        await backend.memories.store_vectors(owner, [make.fragment(version)])
    else:  # as a restored backup may be: the same revision, of another history
        async with connected(database_url) as superuser:
            await superuser.execute("UPDATE owners SET memory_count = 7 WHERE owner = $1", owner.id)
    async with backend.memories.change(owner) as change:
        assert change.state == await backend.memories.state(owner)
        assert (change.state == before) == (how in {"fails", "is not applied"})


@pytest.mark.parametrize("state", [*sorted(BY_SQLSTATE), "08006", "28P01", "3D000", "23505", "42P01", "XX000"])
def test_every_state_becomes_an_error_of_ours_without_driver_text(state: str):
    known: dict[str, tuple[type[MemoryServiceError], Reason]] = {
        "53100": (LimitExceeded, Reason.STORAGE_FULL),
        "53300": (Unavailable, Reason.DATABASE_UNAVAILABLE),
        "57P01": (Unavailable, Reason.DATABASE_UNAVAILABLE),
        "57014": (DeadlineExceeded, Reason.DEADLINE_EXCEEDED),
        "55P03": (Unavailable, Reason.OVERLOADED),
        "40001": (Unavailable, Reason.OVERLOADED),
        "22021": (InvalidInput, Reason.TEXT_NOT_STORABLE),
        "08006": (Unavailable, Reason.DATABASE_UNAVAILABLE),
        "23505": (InternalError, Reason.INTERNAL),
        "42P01": (InternalError, Reason.INTERNAL),
    }
    error = asyncpg.PostgresError.new({"C": state, "M": f"secret {uuid.uuid4()}", "S": "ERROR"})
    answer = translated_error(error)
    assert "secret" not in str(answer)
    if state in known:
        assert (type(answer), answer.reason) == known[state]


@pytest.mark.parametrize(
    "wrong", ["gap after the head", "gap in the change", "forgotten", "unknown usage", "unknown forgotten", "again"]
)
async def test_a_change_that_does_not_fit_what_is_stored_is_a_bug_and_not_a_silent_loss(
    backend: PostgresBackend, wrong: str
):
    owner, first = make.new_owner(), make.version(make.new_id())
    await make.write(backend.memories, owner, first)
    versions: list[MemoryVersion] = []
    fields: dict[str, Any] = {}
    if wrong == "gap after the head":
        versions = [dataclasses.replace(first, version=3)]
    elif wrong == "gap in the change":
        versions = [dataclasses.replace(first, version=2), dataclasses.replace(first, version=4)]
    elif wrong == "again":
        versions = [first]
    elif wrong == "unknown usage":
        fields["usage"] = {make.new_id(): Usage(1)}
    elif wrong == "unknown forgotten":
        fields["forgotten"] = [make.new_id()]
    else:
        await make.write(backend.memories, owner, forgotten=[first.id])
        versions = [dataclasses.replace(first, version=2)]
    before = await make.dump(backend.memories, owner, [first.id])
    with pytest.raises(InternalError):
        await make.write(backend.memories, owner, *versions, **fields)
    assert await make.dump(backend.memories, owner, [first.id]) == before


async def test_a_first_change_by_several_at_once_makes_one_owner(database_url: str):
    owner = make.new_owner()
    async with postgres_backend(database_url) as one, postgres_backend(database_url) as two:
        done = await asyncio.gather(
            *(make.write(b.memories, owner, make.version(make.new_id())) for b in (one, two) for _ in range(5))
        )
        assert sorted(done) == [Revision(n) for n in range(1, 11)]


async def test_slots_and_claims_of_any_length_are_found(backend: PostgresBackend):
    """An index entry holds 2,700 bytes at most, and random text does not compress."""
    owner, long = make.new_owner(), "".join(str(uuid.uuid4()) for _ in range(300))
    version = dataclasses.replace(make.version(make.new_id()), slot=long, claim=long + "!")
    await make.write(backend.memories, owner, version)
    async with backend.memories.change(owner) as change:
        assert [head.id for head in await change.heads_in_slots([long, "another"])] == [version.id]
        assert [head.id for head in await change.heads_of_claims([long + "!"])] == [version.id]
        assert not await change.heads_of_claims([long])


def test_a_connection_closed_under_a_write_is_an_absence_and_other_faults_are_not():
    closed = RuntimeError("unable to perform operation on <UnixTransport closed=True 0x1>; the handler is closed")
    assert translated_error(closed).reason is Reason.DATABASE_UNAVAILABLE
    assert connection_is_gone(closed)
    assert translated_error(RuntimeError("something else")).reason is Reason.INTERNAL
    assert not connection_is_gone(RuntimeError("something else"))
