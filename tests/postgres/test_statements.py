"""Every statement of the adapter: each names its owner, and none scans what belongs to others."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest

from memory_service.adapters import postgres
from memory_service.adapters.postgres import APP_ROLE, PostgresSettings
from memory_service.adapters.postgres.registry import STATEMENTS
from memory_service.adapters.postgres.session import _server_settings
from tests.conftest import NewDatabase
from tests.postgres.fixtures import connected

OWNER_TABLES = (
    "owners|devices|changes|memory_versions|memories|forgotten|fragments|links|journal|tombstones|idempotency"
    "|episodes|learning_tasks"
    "|reuse_intervals|cold_memories"
)
OF_NO_OWNER = {
    *("owners_waiting", "owners_behind", "key_add", "key_find", "key_list", "key_revoke", "secret", "schema", "role"),
    *("policy_add", "policy_version", "policy_history", "policies_after", "predicate_uses"),
    *("experiment_add", "experiment_totals", "tenant_intervals"),
    *(name for name in STATEMENTS if name.startswith(("jobs_", "upkeep_"))),
    *("learning_due", "learning_backlog", "episodes_prepare"),
}
WHOLE_OWNER = {
    **{name: {"*"} for name in ("search_heads", "search_fragments", "waiting_fragments", "as_of_versions")},
    "first_unseen": {"devices_pkey"},
    "idle_devices": {"devices_active"},
    "cold_files": {"cold_memories_pkey"},
    **{name: {"memories_archived"} for name in ("archived_heads", "freezable", "freeze")},
    "intervals": {"reuse_intervals_pkey"},
    "wordings": {"tombstones_wordings"},
    "observed_heads": {"memories_observed"},
}
"""Indexes of which a statement reads all that an owner has; it must find the rest by more than the owner."""
READ_OR_CHANGED = re.compile(rf"\b(?:FROM|JOIN|UPDATE) ({OWNER_TABLES})\b(?: AS)? (\w+)")
INSERTED = re.compile(rf"\bINSERT INTO ({OWNER_TABLES})\b(?: AS \w+)?\s*\(\s*(\w+)[^)]*\)\s*(?:VALUES|SELECT)")
FIRST_VALUE = re.compile(r"\)\s*SELECT (?:DISTINCT ON \([^)]*\)\s*)?\$1,")
ROWS = 20_000
OWNER = "00000000-0000-0000-0000-000000000007"


def faults(statement: str) -> list[str]:
    """Uses of owner tables in a statement that are not bound to `$1`."""
    found = [
        f"{table} as {alias}"
        for table, alias in READ_OR_CHANGED.findall(statement)
        if not re.search(rf"\b{alias}\.owner = \$1", statement)
    ]
    insertions = INSERTED.findall(statement)
    found += [f"INSERT INTO {table}" for table, first in insertions if first != "owner"]
    if len(insertions) > len(FIRST_VALUE.findall(statement)):
        found.append("an INSERT whose owner is not $1")
    uses = len(re.findall(rf"\b(?:FROM|JOIN|UPDATE|INTO|USING|ONLY|,) (?:{OWNER_TABLES})\b", statement))
    if uses != len(READ_OR_CHANGED.findall(statement)) + len(insertions):
        found.append("a use of an owner table that this test cannot read")
    return found


@pytest.mark.parametrize("name", sorted(STATEMENTS))
def test_every_statement_names_its_owner(name: str):
    statement = STATEMENTS[name]
    assert faults(statement) == []
    assert bool(re.search(rf"\b(?:{OWNER_TABLES})\b", statement)) == (name not in OF_NO_OWNER)


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT m.text FROM memories m WHERE m.memory_id = $1",
        "SELECT m.text FROM memories m, links l WHERE m.owner = $1",
        "SELECT f.text FROM memories m JOIN fragments f ON f.memory_id = m.memory_id WHERE m.owner = $1",
        "SELECT text FROM memories WHERE owner = $1 OR true",
        "DELETE FROM memories m USING links l WHERE m.owner = $1",
        "INSERT INTO links (owner, from_id) SELECT $2, $1",
        "INSERT INTO links (from_id, owner) SELECT $1, $2",
        "INSERT INTO links (owner, from_id) VALUES ($2, $1)",
        "INSERT INTO journal SELECT $1, $2",
    ],
)
def test_the_check_finds_what_it_is_for(statement: str):
    assert faults(statement)


def test_statements_are_sent_from_the_registry_only():
    folder = Path(postgres.__file__).parent
    literal = re.compile(r"\.(?:fetch\w*|execute\w*|prepare|cursor|copy\w*)\(\s*f?[\"']")
    for file in folder.glob("*.py"):
        if file.name != "migrate.py":
            assert not literal.search(file.read_text("utf-8")), file.name


@pytest.fixture(scope="module")
async def empty(new_database: NewDatabase) -> AsyncIterator[Any]:
    """A connection set as the adapter's, to a database that was just migrated."""
    async with new_database() as dsn, connected(dsn, **_server_settings(PostgresSettings(dsn=dsn))) as connection:
        yield connection


@pytest.fixture(scope="module")
async def filled(new_database: NewDatabase) -> AsyncIterator[Any]:
    """A connection set as the adapter's, to a database of 20,000 memories of 40 owners."""
    async with new_database() as dsn:
        async with connected(dsn) as superuser:
            await superuser.execute(_FILL)
        settings = _server_settings(PostgresSettings(dsn=dsn))
        assert settings["role"] == APP_ROLE
        async with connected(dsn, **settings) as connection:
            yield connection


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """All nodes of a plan."""
    yield plan
    for child in plan.get("Plans", ()):
        yield from nodes(child)


@pytest.mark.parametrize("seqscan", ["off", "on"])
@pytest.mark.parametrize("name", sorted(set(STATEMENTS) - OF_NO_OWNER))
async def test_plans_reach_owner_tables_by_an_index_on_the_owner(filled: Any, name: str, seqscan: str):
    """With `enable_seqscan` as the adapter has it, and on: the index is also what the planner prefers."""
    await check_plan(filled, name, seqscan)


@pytest.mark.parametrize("name", sorted(set(STATEMENTS) - OF_NO_OWNER))
async def test_plans_made_while_there_is_nothing_are_those_for_much(empty: Any, name: str):
    """A connection keeps its plans while the tables grow (until the next ANALYZE)."""
    await check_plan(empty, name, "off")


async def check_plan(connection: Any, name: str, seqscan: str) -> None:
    """Fail on a plan that scans a table, or finds by the owner alone what it could find by more."""
    await connection.execute(
        f"BEGIN; SET LOCAL memory_service.owner = '{OWNER}'; SET LOCAL enable_seqscan = {seqscan}"
    )
    try:
        nulls = ", ".join(["NULL"] * max(map(int, re.findall(r"\$(\d+)", STATEMENTS[name]))))
        await connection.execute(f"PREPARE stated AS {STATEMENTS[name]}")
        found = await connection.fetchval(f"EXPLAIN (FORMAT JSON) EXECUTE stated({nulls})")
    finally:
        await connection.execute("ROLLBACK; DEALLOCATE stated")
    (plan,) = json.loads(found)
    for node in nodes(plan["Plan"]):
        if node["Node Type"] == "Seq Scan" and node["Relation Name"] == "owners" and seqscan == "on":
            continue  # forty rows
        assert node["Node Type"] != "Seq Scan", node
        if node["Node Type"] in {"Index Scan", "Index Only Scan", "Bitmap Index Scan"}:
            assert re.search(r"\bowner = ", node["Index Cond"]), node
            whole = ["owners_pkey", *WHOLE_OWNER.get(name, ())]
            narrow = any(fnmatch(node["Index Name"], pattern) for pattern in whole)
            assert narrow or " AND " in node["Index Cond"], node


_FILL = f"""
INSERT INTO owners (owner, tenant, user_id)
SELECT lpad(to_hex(n), 32, '0')::uuid, 't', n::text FROM generate_series(0, 39) n;
INSERT INTO memory_versions
SELECT lpad(to_hex(n % 40), 32, '0')::uuid, lpad(to_hex(n), 32, '0')::uuid, 1, 1, 'fact', 'text ' || n, 'topic',
       'slot ' || n, 'claim ' || n, 'explicit', 0.9, 0.5, 1, 'long_term', 'active', now() + n * interval '1 ms',
       'd', n, '{{}}', n, 'a', 'd', '', '', '', '', NULL, NULL, NULL, '{{}}', 'und', NULL, NULL, NULL, NULL,
       'shared', false, '', false, '[]', false
FROM generate_series(1, {ROWS}) n;
INSERT INTO memories SELECT v.*, v.recorded_at, v.revision FROM memory_versions v;
INSERT INTO fragments SELECT v.owner, v.memory_id, 1, 0, 'm', v.text, '{{a,b}}', '[1,2]' FROM memories v;
INSERT INTO links SELECT v.owner, v.memory_id, 'supports', v.memory_id FROM memories v;
INSERT INTO forgotten SELECT v.owner, v.memory_id, v.revision FROM memories v;
INSERT INTO journal SELECT v.owner, v.revision, 0, 'created', v.memory_id, 1, now(), '', '', '', '', '', '{{}}'
FROM memories v;
INSERT INTO tombstones SELECT v.owner, decode(md5(v.text), 'hex'), 'claim', 'd', v.revision, '{{}}', now(), 1
FROM memories v;
INSERT INTO idempotency SELECT v.owner, 'd', v.revision, v.text, 'write', '', '{{}}', 1, now() FROM memories v;
INSERT INTO devices SELECT v.owner, v.text, 1, now(), v.revision % 500 > 40, 1, 1 FROM memories v;
INSERT INTO changes SELECT v.owner, v.revision, 'd', v.revision, 'write', 'a', 'g', v.recorded_at FROM memories v;
INSERT INTO cold_memories SELECT v.owner, 'file ' || v.revision % 4, v.memory_id, v.revision % 9 = 0, 1, v.slot_hash,
       v.claim_hash, v.created_at, v.revision, 0, 0 FROM memories v;
INSERT INTO episodes
SELECT v.owner, now(), v.memory_id, 't', 0, now(), NULL, 'user', '', '', '', v.text, '', '', '', '{{}}'
FROM memories v;
INSERT INTO learning_tasks SELECT v.owner, v.memory_id, now(), 1, now(), now(), false FROM memories v;
INSERT INTO reuse_intervals SELECT v.owner, v.kind, v.text, 3, 1 FROM memories v;
ANALYZE;
"""
