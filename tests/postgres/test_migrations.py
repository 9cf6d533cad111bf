"""Migrating: from nothing, again, several at once, half-way failures, and schemas that are not ours."""

from __future__ import annotations

import asyncio
import sys

import pytest

from memory_service.adapters.postgres import migrate, schema_state
from memory_service.adapters.postgres.migrate import Migration, migrations
from memory_service.domain.errors import FailedPrecondition, InternalError, Reason, Unavailable
from memory_service.domain.memory import Assertion, JsonValue, MemoryVersion
from memory_service.domain.records import ASSERTION_ORDINAL
from tests.contracts.builders import MODEL, fragment, new_id, new_owner, version, write
from tests.postgres.fixtures import connected, postgres_backend

migrate_module = sys.modules["memory_service.adapters.postgres.migrate"]
NAMES = [m.name for m in migrations()]


async def test_from_empty_in_order_then_nothing(empty_database_url: str):
    assert (await schema_state(empty_database_url)).pending == tuple(NAMES)
    told: list[str] = []
    assert await migrate(empty_database_url, on_progress=told.append) == NAMES == told
    assert (await schema_state(empty_database_url)).is_known
    assert await migrate(empty_database_url, on_progress=told.append) == []
    assert told == NAMES


async def test_several_at_once_apply_each_file_once(empty_database_url: str):
    done = await asyncio.gather(*(migrate(empty_database_url) for _ in range(4)))
    assert sorted(done, key=len) == [[], [], [], NAMES]


async def test_an_unmigrated_database_is_refused(empty_database_url: str):
    with pytest.raises(FailedPrecondition) as refused:
        async with postgres_backend(empty_database_url):
            pass
    assert refused.value.reason is Reason.SCHEMA_UNKNOWN


async def test_what_was_stored_before_waits_to_be_searched_by_its_assertion(empty_database_url: str):
    """0012: each present text once, where the assertion says more than it; nothing of what was forgotten."""
    before = NAMES.index("0012_assertion_fragments.sql")
    stored = [
        asserted("87 kilos.", "weight", "87 kg"),
        asserted("user home port: 5432", "home_port", 5432),
        asserted("They agreed.", "terms", {"net": 30}),
        version(new_id(), text="No assertion."),
    ]
    owner = new_owner()
    older = migrations()[:before]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(migrate_module, "migrations", lambda: older)
        await migrate(empty_database_url)
        async with postgres_backend(empty_database_url) as backend:
            await write(backend.memories, owner, *stored, fragments=[fragment(v, seed=None) for v in stored])
    assert await migrate(empty_database_url) == NAMES[before:]
    async with postgres_backend(empty_database_url) as backend:
        waiting = await backend.memories.waiting_fragments(owner, MODEL, limit=100)
    assert {f.memory_id: f.text for f in waiting if f.ordinal == ASSERTION_ORDINAL} == {
        stored[0].id: "user weight: 87 kg",
        stored[2].id: 'user terms: {"net":30}',  # as it is stored: what embeds it sees no difference
    }
    async with connected(empty_database_url) as connection:
        unforced = "SELECT count(*) FROM pg_class WHERE relrowsecurity AND NOT relforcerowsecurity"
        assert await connection.fetchval(unforced) == 0


def asserted(text: str, predicate: str, value: JsonValue) -> MemoryVersion:
    return version(new_id(), text=text, assertion=Assertion("user", predicate, value))


@pytest.mark.parametrize(
    "spoil",
    [
        "INSERT INTO schema_migrations VALUES ('9999_from_the_future.sql', 'x')",
        "UPDATE schema_migrations SET checksum = 'edited' WHERE name LIKE '0002%'",
    ],
)
async def test_a_newer_or_changed_schema_is_refused_everywhere(database_url: str, spoil: str):
    async with postgres_backend(database_url) as serving:
        await serving.memories.ping()
        async with connected(database_url) as connection:
            await connection.execute(spoil)
        assert not (await schema_state(database_url)).is_known
        with pytest.raises(Unavailable):
            await serving.memories.ping()
    for use in (migrate(database_url), postgres_backend(database_url).__aenter__()):
        with pytest.raises(FailedPrecondition) as refused:
            await use
        assert refused.value.reason is Reason.SCHEMA_UNKNOWN


async def test_an_older_schema_is_refused_for_serving_and_named(database_url: str):
    async with connected(database_url) as connection:
        await connection.execute("DELETE FROM schema_migrations WHERE name = $1", NAMES[-1])
    with pytest.raises(FailedPrecondition) as refused:
        async with postgres_backend(database_url):
            pass
    assert refused.value.metadata["pending"] == NAMES[-1]


async def test_a_file_that_fails_leaves_nothing_of_itself(empty_database_url: str, monkeypatch: pytest.MonkeyPatch):
    broken = Migration("9000_broken.sql", "CREATE TABLE memory_service.half (x int); SELECT 1 / 0;")
    monkeypatch.setattr(migrate_module, "migrations", lambda: (*migrations(), broken))
    with pytest.raises(InternalError):
        await migrate(empty_database_url)
    async with connected(empty_database_url) as connection:
        assert await connection.fetchval("SELECT to_regclass('memory_service.half')") is None
    assert (await schema_state(empty_database_url)).applied == tuple(NAMES)


async def test_a_file_marked_so_runs_outside_a_transaction(empty_database_url: str, monkeypatch: pytest.MonkeyPatch):
    text = (
        "-- migrate: no-transaction\n"
        "CREATE INDEX CONCURRENTLY IF NOT EXISTS extra ON memory_service.devices (owner, last_seen)"
    )
    later = Migration("9000_index.sql", text)
    monkeypatch.setattr(migrate_module, "migrations", lambda: (*migrations(), later))
    assert (await migrate(empty_database_url))[-1] == "9000_index.sql"
    assert (await schema_state(empty_database_url)).is_known


async def test_a_role_above_row_level_security_is_refused(database_url: str):
    with pytest.raises(FailedPrecondition):
        async with postgres_backend(database_url, app_role=""):
            pass
