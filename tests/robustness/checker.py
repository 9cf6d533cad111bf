"""Holds the end of a run to what its clients were told."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import asyncpg
import redis.asyncio

from memory_service.client import AsyncMemoryClient, Consistency, Memory, MemoryFilter, Status
from memory_service.domain.ids import OwnerKey, TenantId, UserId
from tests.acceptance.leftovers import TABLES
from tests.robustness.history import History
from tests.robustness.model import TEXT, Expected, Head, expect
from tests.robustness.traffic import LEDGER, claim_of
from tests.robustness.watching import Told, Watching

EVERY_STATUS = tuple(status for status in Status if status is not Status.UNKNOWN)
STANDING = (Status.ACTIVE, Status.CONTESTED, Status.YIELDED)
MARK = re.compile(r"mk\w+?x(?![0-9a-z])")
SHOWN_MAX = 6


@dataclass(slots=True)
class Database:
    """An owner's rows of the database.

    Attributes:
        revision, clock: the owner's.
        changes: (revision, device, counter, operation) in order.
        journal: (memory, event, version) in order.
    """

    revision: int = 0
    clock: Mapping[str, int] = field(default_factory=dict)
    changes: Sequence[tuple[int, str, int, str]] = ()
    journal: Sequence[Told] = ()


@dataclass(slots=True)
class End:
    """What there is of one owner in the end."""

    user: str
    memories: Sequence[Memory]
    recalled: frozenset[str] | None
    database: Database
    histories: Mapping[str, Sequence[Memory]] = field(default_factory=dict)
    replicas: Mapping[str, Sequence[Memory]] = field(default_factory=dict)
    watched: Sequence[Told] | None = None


@dataclass(slots=True)
class Findings:
    """What is wrong. Each sort has a count; `problems` says some of it."""

    lost: int = 0
    duplicates: int = 0
    divergent: int = 0
    invented: int = 0
    returned: int = 0
    other: int = 0
    problems: list[str] = field(default_factory=list)

    def add(self, sort: str, what: str, count: int = 1) -> None:
        if count:
            setattr(self, sort, getattr(self, sort) + count)
            self.problems.append(f"{sort}: {what}")

    @property
    def clean(self) -> bool:
        return not self.problems


def check(history: History, ends: Iterable[End], kept: frozenset[str]) -> Findings:
    """All findings; `kept` are the markers found anywhere in tables and caches."""
    findings = Findings()
    for problem in history.problems:
        findings.add("other", problem)
    for end in ends:
        expected = expect(history.acts[end.user])
        _check_heads(findings, history, end, expected)
        _check_ledgers(findings, history, end)
        _check_changes(findings, history, end)
        _check_copies(findings, end)
        marks = {mark for value in expected.forgotten for mark in MARK.findall(value)}
        back = sorted(marks & kept)
        findings.add(
            "returned", f"{end.user}: forgotten and found in tables or caches: {back[:SHOWN_MAX]}", len(back)
        )
        missed = history.maybe.get(f"missed {end.user}", set())
        for text in missed:
            if not any(a.kind == "forget_claim" and a.claim[2] == text for a in history.acts[end.user]):
                findings.add("other", f"{end.user}: a recall with its token did not show {text!r}")
    return findings


def heads_of(memories: Iterable[Memory]) -> list[Head]:
    """What stands, in the model's terms."""
    return [
        (*claim_of(m), str(m.status), m.support, round(m.confidence, 6)) for m in memories if m.status in STANDING
    ]


def _check_heads(findings: Findings, history: History, end: End, expected: Expected) -> None:
    maybe = history.maybe.get(end.user, set())
    ledgers = {m.id for m in end.memories if LEDGER in m.tags}
    found = heads_of(m for m in end.memories if m.id not in ledgers)
    claims = Counter(head[:3] for head in found)
    twice = sorted(claim for claim, count in claims.items() if count > 1)
    findings.add("duplicates", f"{end.user}: {twice[:SHOWN_MAX]}", len(twice))
    wanted = {head[:3]: head for head in expected.heads}
    for head in found:
        due = wanted.pop(head[:3], None)
        if due is None and head[1] == TEXT and head[2] in maybe:
            if head[4] != 1:
                findings.add("duplicates", f"{end.user}: sent once, counted {head[4]} times: {head}")
        elif due is None:
            said = any(act.claim == head[:3] for act in history.acts[end.user])
            findings.add("returned" if said else "invented", f"{end.user}: {head} stands and must not")
        elif due != head:
            sort = "duplicates" if head[4] > due[4] else "lost" if head[4] < due[4] else "divergent"
            findings.add(sort, f"{end.user}: {head} is there, {due} is due")
    missing = sorted(wanted.values())
    findings.add("lost", f"{end.user}: {missing[:SHOWN_MAX]}", len(missing))
    if end.recalled is not None:
        shown = {m.id for m in end.memories if m.status in (Status.ACTIVE, Status.CONTESTED)}
        if shown != end.recalled:
            findings.add(
                "divergent", f"{end.user}: recall and list differ by {sorted(shown ^ end.recalled)[:SHOWN_MAX]}"
            )


def _check_ledgers(findings: Findings, history: History, end: End) -> None:
    there = {m.id: m for m in end.memories if LEDGER in m.tags}
    for memory_id, ledger in history.ledgers[end.user].items():
        versions = {v.version: v.text for v in end.histories.get(memory_id, ())}
        if memory_id not in there or versions != ledger.versions:
            lost = {n: text for n, text in ledger.versions.items() if versions.get(n) != text}
            sort = "lost" if lost else "duplicates"
            findings.add(sort, f"{end.user}: versions {versions} of {memory_id}, acknowledged {ledger.versions}")
        elif there[memory_id].text != versions[max(versions)]:
            findings.add("lost", f"{end.user}: {memory_id} is not its newest version")
    extra = sorted(set(there) - set(history.ledgers[end.user]))
    findings.add("duplicates", f"{end.user}: ledgers nobody was told of: {extra}", len(extra))


def _check_changes(findings: Findings, history: History, end: End) -> None:
    database = end.database
    revisions = [change[0] for change in database.changes]
    if revisions != list(range(1, database.revision + 1)):
        findings.add("other", f"{end.user}: revisions up to {database.revision} are not one after the other")
    counters: dict[str, list[int]] = {}
    for _, device, counter, _ in database.changes:
        counters.setdefault(device, []).append(counter)
    for device, numbers in counters.items():
        if numbers != list(range(1, len(numbers) + 1)) or database.clock.get(device) != len(numbers):
            findings.add("other", f"{end.user}: the changes of {device} are not numbered one after the other")
    told = {(act.dot.device, act.dot.counter) for act in history.acts[end.user]}
    there = {(device, counter) for _, device, counter, operation in database.changes if operation != "void"}
    findings.add("lost", f"{end.user}: acknowledged changes {sorted(told - there)[:SHOWN_MAX]}", len(told - there))
    unknown = len(history.maybe.get(end.user, ()))
    if len(there - told) > unknown:
        findings.add("duplicates", f"{end.user}: changes nobody was told of: {sorted(there - told)[:SHOWN_MAX]}")
    if len(told) != len(history.acts[end.user]):
        findings.add("other", f"{end.user}: one name was given to two changes")


def _check_copies(findings: Findings, end: End) -> None:
    due = {m.id: (m.version, str(m.status), m.text, m.support) for m in end.memories}
    for device, memories in end.replicas.items():
        copy = {m.id: (m.version, str(m.status), m.text, m.support) for m in memories}
        apart = [(i, due.get(i), copy.get(i)) for i in sorted(due.keys() | copy.keys()) if due.get(i) != copy.get(i)]
        findings.add("divergent", f"{end.user}: the copy of {device}: {apart[:SHOWN_MAX]}", len(apart))
    if end.watched is not None and list(end.watched) != list(end.database.journal):
        watched, journal = end.watched, end.database.journal
        place = next((n for n, (a, b) in enumerate(zip(watched, journal, strict=False)) if a != b), "the end")
        findings.add(
            "divergent",
            f"{end.user}: the watch told {len(watched)} of {len(journal)} events, and differs from {place}: "
            f"missed {list(Counter(journal) - Counter(watched))[:3]}, told twice "
            f"{list(Counter(watched) - Counter(journal))[:3]}",
        )


# Reading the end ------------------------------------------------------------------------------------------------


async def read_end(
    client: AsyncMemoryClient, dsn: str, user: str, ledgers: Iterable[str], watch: Watching | None
) -> End:
    """Everything there is of one owner."""
    every = MemoryFilter(statuses=EVERY_STATUS)
    memories = [memory async for memory in client.list(where=every, page_size=500, user=user)]
    recalled = None
    if sum(m.status in (Status.ACTIVE, Status.CONTESTED) for m in memories) <= 200:
        answer = await client.recall(
            "", user=user, limit=200, read_only=True, consistency=Consistency.fully_consistent()
        )
        recalled = frozenset(item.memory.id for item in answer.memories)
    histories = {}
    for memory_id in ledgers:
        if any(memory.id == memory_id for memory in memories):
            histories[memory_id] = (await client.history(memory_id, user=user)).versions
    database = await read_database(dsn, user)
    watched = None
    if watch is not None:
        await watch.reached(len(database.journal))
        watched = list(watch.told)
    return End(user, memories, recalled, database, histories, {}, watched)


async def read_database(dsn: str, user: str) -> Database:
    """An owner's log, from the tables."""
    owner = OwnerKey(TenantId("default"), UserId(user)).id
    connection: Any = await asyncpg.connect(dsn, server_settings={"search_path": "memory_service"})
    try:
        row = await connection.fetchrow("SELECT revision, clock FROM owners WHERE owner = $1", owner)
        if row is None:
            return Database()
        changes = await connection.fetch(
            "SELECT revision, device, counter, operation FROM changes WHERE owner = $1 ORDER BY revision", owner
        )
        journal = await connection.fetch(
            "SELECT memory_id, event, version FROM journal WHERE owner = $1 ORDER BY revision, ordinal", owner
        )
        return Database(
            row["revision"],
            json.loads(row["clock"]),
            [tuple(change) for change in changes],
            [(str(entry[0]), entry[1], entry[2]) for entry in journal],
        )
    finally:
        await connection.close()


async def marks_kept(dsn: str, redis_url: str, prefix: str) -> frozenset[str]:
    """Every marker of this run that is in any column of any table or in any key or value of Valkey."""
    found: set[str] = set()
    connection: Any = await asyncpg.connect(dsn)
    try:
        for schema, table in await connection.fetch(TABLES):
            statement = f"SELECT x::text FROM \"{schema}\".\"{table}\" x WHERE x::text LIKE '%mk' || $1 || '%'"
            async with connection.transaction():
                async for row in connection.cursor(statement, prefix, prefetch=1_000):
                    found.update(MARK.findall(row[0]))
    finally:
        await connection.close()
    client = redis.asyncio.from_url(redis_url)
    try:
        async for key in client.scan_iter(count=1_000):
            if await client.type(key) == b"string":
                value: Any = await client.get(key)
                found.update(MARK.findall((value or b"").decode("latin-1")))
    finally:
        await client.aclose()
    return frozenset(found)
