"""The database's own enforcement of isolation, for every table there is (the catalog is asked, not a list)."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import pytest

from memory_service.adapters.postgres import APP_ROLE
from tests.conftest import NewDatabase
from tests.postgres.fixtures import connected

OWN, OTHER = uuid.UUID(int=1), uuid.UUID(int=2)
OF_NO_OWNER = {
    *("api_keys", "secrets", "schema_migrations", "policies", "experiment_counts"),
    # The queue and the plan of upkeep: who is worth a look, and nothing of what they said.
    *("pgqueuer", "pgqueuer_log", "pgqueuer_schedules", "pgqueuer_statistics", "job_workers", "job_totals"),
    *("upkeep_owners", "upkeep_due", "upkeep_cursor"),
}
VALUES = {
    "uuid": "'00000000-0000-0000-0000-00000000000a'",
    "text": "'x'",
    "bytea": r"'\x00'",
    "json": "'{}'",
    "text[]": "'{}'",
    "boolean": "false",
    "timestamp with time zone": "now()",
    "halfvec": "'[1,2]'",
}
COLUMNS = """
SELECT a.attname AS name, format_type(a.atttypid, NULL) AS type FROM pg_attribute a
WHERE a.attrelid = ('memory_service.' || $1)::regclass AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
ORDER BY a.attnum"""
TABLES = """
SELECT c.relname AS name, c.relrowsecurity AND c.relforcerowsecurity AS secured,
       pg_get_userbyid(c.relowner) AS held_by, c.relispartition AS is_part,
       EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'owner') AS owned
FROM pg_class c WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND c.relnamespace = 'memory_service'::regnamespace"""


async def insertion(connection: Any, table: str, owner: uuid.UUID) -> str:
    """A statement that inserts a row of `owner`, whatever the columns are."""
    columns = await connection.fetch(COLUMNS, table)
    values = [f"'{owner}'" if c["name"] == "owner" else VALUES.get(c["type"], "1") for c in columns]
    names = ", ".join(c["name"] for c in columns)
    return f"INSERT INTO {table} ({names}) VALUES ({', '.join(values)})"


@contextlib.asynccontextmanager
async def as_application(dsn: str) -> AsyncIterator[Any]:
    """A connection bound as the service's are, in a transaction that is rolled back."""
    async with connected(dsn, role=APP_ROLE) as connection:
        await connection.execute("BEGIN")
        yield connection
        await connection.execute("ROLLBACK")


async def attempt(connection: Any, statement: str) -> str:
    """What a statement did: its status, or "refused" when the database did not let it."""
    await connection.execute("SAVEPOINT before")
    try:
        return str(await connection.execute(statement))
    except asyncpg.InsufficientPrivilegeError:  # also the state of a row that a policy rejects
        await connection.execute("ROLLBACK TO before")
        return "refused"


@pytest.fixture(scope="module")
async def dsn(new_database: NewDatabase) -> AsyncIterator[str]:
    """A database in which the other owner has a row in every table."""
    async with new_database() as database_url:
        async with connected(database_url) as connection:
            for table in await owner_tables(connection):
                await connection.execute(await insertion(connection, table, OTHER))
        yield database_url


async def owner_tables(connection: Any) -> list[str]:
    """Tables that hold owners' rows; what is reached by way of another table is not named."""
    return [row["name"] for row in await connection.fetch(TABLES) if row["owned"] and not row["is_part"]]


async def test_every_table_is_of_an_owner_and_secured_or_known_not_to_be(dsn: str):
    async with connected(dsn) as connection:
        tables = await connection.fetch(TABLES)
    assert {t["name"] for t in tables if not t["owned"]} == OF_NO_OWNER
    assert len(tables) > len(OF_NO_OWNER) + 8
    for table in tables:
        assert table["held_by"] != APP_ROLE
        assert table["secured"] or not table["owned"], table["name"]


async def test_every_index_of_an_owner_table_begins_with_the_owner_and_none_is_of_vectors(dsn: str):
    async with connected(dsn) as connection:
        indexes = await connection.fetch(
            """SELECT i.indexrelid::regclass::text AS name, am.amname,
                      pg_get_indexdef(i.indexrelid, 1, true) AS first
               FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid
               JOIN pg_class x ON x.oid = i.indexrelid JOIN pg_am am ON am.oid = x.relam
               WHERE c.relnamespace = 'memory_service'::regnamespace AND c.relname <> ALL($1)""",
            list(OF_NO_OWNER),
        )
        unkeyed = await connection.fetch(
            """SELECT c.relname FROM pg_class c WHERE c.relkind = 'r'
               AND c.relnamespace = 'memory_service'::regnamespace
               AND NOT EXISTS (SELECT FROM pg_index i WHERE i.indrelid = c.oid AND i.indisprimary)"""
        )
    assert len(indexes) > 10
    assert not unkeyed
    assert {(i["first"], i["amname"]) for i in indexes} == {("owner", "btree")}


@pytest.mark.parametrize("setting", [None, "", str(OWN)])
async def test_rows_of_another_owner_can_be_neither_seen_nor_changed(dsn: str, setting: str | None):
    async with connected(dsn) as superuser:
        tables = await owner_tables(superuser)
        insertions = {table: await insertion(superuser, table, OTHER) for table in tables}
    async with as_application(dsn) as connection:
        if setting is not None:
            await connection.execute(f"SET LOCAL memory_service.owner = '{setting}'")
        for table in tables:
            assert await connection.fetchval(f"SELECT count(*) FROM {table}") == 0, table
            assert await attempt(connection, insertions[table]) == "refused", table
            assert await attempt(connection, f"UPDATE {table} SET owner = owner") in {"refused", "UPDATE 0"}
            assert await attempt(connection, f"DELETE FROM {table}") in {"refused", "DELETE 0"}, table
            assert await attempt(connection, f"TRUNCATE {table}") == "refused", table
    async with connected(dsn) as superuser:
        for table in tables:
            assert await superuser.fetchval(f"SELECT count(*) FROM {table} WHERE owner = $1", OTHER) == 1, table


async def test_partitions_are_reached_by_way_of_their_table_only(dsn: str):
    async with connected(dsn) as superuser:
        parts = [row["name"] for row in await superuser.fetch(TABLES) if row["is_part"]]
    assert len(parts) > 4
    async with as_application(dsn) as connection:
        await connection.execute(f"SET LOCAL memory_service.owner = '{OTHER}'")
        for part in parts:
            for statement in (f"SELECT FROM {part}", f"DELETE FROM {part}", f"UPDATE {part} SET barred = true"):
                assert await attempt(connection, statement) == "refused", part


async def test_own_rows_can_be_written_but_not_given_away(dsn: str):
    """The counterpart, without which the test above could pass on tables that nobody can use."""
    async with connected(dsn) as superuser:
        tables = await owner_tables(superuser)
        insertions = {table: await insertion(superuser, table, OWN) for table in tables}
    async with as_application(dsn) as connection:
        await connection.execute(f"SET LOCAL memory_service.owner = '{OWN}'")
        for table in tables:
            assert await attempt(connection, insertions[table]) == "INSERT 0 1", table
            assert await connection.fetchval(f"SELECT count(*) FROM {table}") == 1, table
            assert await attempt(connection, f"UPDATE {table} SET owner = '{OTHER}'") == "refused", table


async def test_the_setting_ends_with_its_transaction(dsn: str):
    async with connected(dsn, role=APP_ROLE) as connection:
        await connection.execute(f"BEGIN; SET LOCAL memory_service.owner = '{OTHER}'")
        assert await connection.fetchval("SELECT count(*) FROM memories") == 1
        await connection.execute("COMMIT")
        assert await connection.fetchval("SELECT count(*) FROM memories") == 0


@pytest.mark.parametrize("leave", ["RESET ROLE", "RESET ALL", "SET SESSION AUTHORIZATION DEFAULT"])
async def test_resetting_the_session_goes_back_to_the_bound_role(dsn: str, leave: str):
    async with connected(dsn, role=APP_ROLE) as connection:
        await connection.execute(leave)
        assert await connection.fetchval("SELECT count(*) FROM memory_service.memories") == 0


async def test_keys_and_secrets_are_reached_by_functions_only(dsn: str):
    async with as_application(dsn) as connection:
        for table in ("api_keys", "secrets", "policies", "experiment_counts"):
            column = "experiment" if table == "experiment_counts" else "name"
            for statement in (f"SELECT FROM {table}", f"DELETE FROM {table}", f"UPDATE {table} SET {column} = ''"):
                assert await attempt(connection, statement) == "refused"
        for table in ("upkeep_owners", "upkeep_due", "upkeep_cursor", "pgqueuer_schedules"):
            for statement in (f"SELECT FROM {table}", f"DELETE FROM {table}", f"INSERT INTO {table} DEFAULT VALUES"):
                assert await attempt(connection, statement) == "refused"
        assert await attempt(connection, "DELETE FROM schema_migrations") == "refused"


async def test_functions_that_run_with_other_rights_are_the_known_ones(dsn: str):
    async with connected(dsn) as connection:
        found = await connection.fetch(
            """SELECT p.proname AS name, pg_get_userbyid(p.proowner) AS held_by, p.proconfig AS config,
                      pg_get_function_result(p.oid) AS result,
                      has_function_privilege('public', p.oid, 'EXECUTE') AS open
               FROM pg_proc p WHERE p.prosecdef AND p.pronamespace = 'memory_service'::regnamespace"""
        )
        jobs = await connection.fetchrow("SELECT * FROM pg_roles WHERE rolname = 'memory_service_jobs'")
    by_name = {f["name"]: f for f in found}
    across_owners = {
        "owners_waiting": "TABLE(tenant text, user_id text)",
        "owners_behind": "TABLE(owner uuid, tenant text, user_id text, behind boolean)",
        "predicate_uses": "TABLE(uses bigint, users bigint)",
        "tenant_intervals": "TABLE(kind text, predicate text, bucket integer, count bigint)",
    }
    of_keys = {"key_add", "key_find", "key_list", "key_revoke", "secret_get"}
    of_tenants = {"policy_add", "policy_version", "policy_history", "policies_after"}
    of_tenants |= {"experiment_add", "experiment_totals"}
    of_episodes = {"learning_due", "learning_backlog", "episodes_prepare"}
    upkeep = {"upkeep_plan", "upkeep_claim", "upkeep_ran", "upkeep_overview"}
    assert set(by_name) == of_keys | of_tenants | of_episodes | upkeep | set(across_owners)
    assert {by_name[name]["held_by"] for name in upkeep} == {"memory_service_jobs"}
    for name, result in across_owners.items():
        assert by_name[name]["result"] == result
        assert by_name[name]["held_by"] == "memory_service_jobs"
    assert not any(jobs[power] for power in ("rolsuper", "rolbypassrls", "rolcanlogin", "rolcreaterole"))
    for function in found:
        assert not function["open"], function["name"]
        assert any(setting.startswith("search_path=memory_service, pg_catalog") for setting in function["config"])


async def test_the_view_across_owners_gives_identities_without_a_setting(dsn: str):
    async with connected(dsn) as superuser:
        await superuser.execute(f"UPDATE memories SET content_version = 1 WHERE owner = '{OTHER}'")
    async with as_application(dsn) as connection:
        look = "SELECT tenant, user_id FROM owners_behind($1, $2, 5) WHERE behind"
        waiting = await connection.fetch(look, "another model", uuid.UUID(int=0))
        assert [tuple(row) for row in waiting] == [("x", "x")]
        assert await connection.fetch(look, "x", uuid.UUID(int=0)) == []
        assert await connection.fetch("SELECT * FROM owners_waiting('another model', 5)") == []
