"""How long a change takes, beside the same row put into a plain table with bare SQL.

Run `python -m tests.bench.bench_change [rounds] [changes a round]`; prints one JSON object. PostgreSQL is a fresh
one with fsync on. What is compared takes turns, change by change, so that a busy machine or disk slows all alike:

    bare        BEGIN; INSERT of the version's columns and its vector into a table with a primary key; COMMIT
    change      the store's change: version, head, fragment, journal, outcome, record of the change, clock, device
    admitted    the same after the look-ups of a write: dot, slot, tombstones
    nothing     BEGIN; COMMIT, which is what two round trips cost

What is to be stored is made before the clock starts. `p50` and `p90` in milliseconds; `client` and `server`: mean
CPU microseconds in this process and in the database's processes. Ratios are to `bare`: of all, and round by round.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import sys
import time
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import asyncpg
import numpy as np

from memory_service.adapters.embedded import TemporaryStack
from memory_service.adapters.postgres import PostgresBackend, PostgresSettings, migrate
from memory_service.adapters.postgres.columns import VERSION_COLUMNS
from memory_service.adapters.postgres.rows import halfvec_of, pass_halfvec
from memory_service.domain.evidence import Attestation, Evidence
from memory_service.domain.ids import DeviceId, OwnerKey, Revision, TenantId, UserId
from memory_service.domain.memory import Assertion, MemoryVersion, Provenance
from memory_service.domain.records import Changeset, Fragment, JournalEntry, JournalEvent, StoredOutcome
from memory_service.domain.vector_clock import Dot, VectorClock
from memory_service.ports.memory_store import ChangeRecord, OwnerState
from tests.contracts import builders as make

DIMENSION = 384
NAMES = ("bare", "change", "admitted", "nothing")
DEVICE = DeviceId("phone")
TEXT = "The user prefers green tea in the morning and black coffee after lunch, without sugar."
Work = Callable[[Changeset], Awaitable[None]]


def version_of(state: OwnerState, number: int) -> MemoryVersion:
    """A version as a write makes it."""
    dot = Dot(DEVICE, state.clock.counter(DEVICE) + 1)
    return make.version(
        make.new_id(),
        text=f"{TEXT} {number}",
        topic="drinks",
        slot=f"user/prefers/{number}",
        claim=f"user/prefers/{number}/green tea",
        assertion=Assertion("user", "prefers", "green tea"),
        tags=("drinks", "morning"),
        dot=dot,
        context=state.clock,
        revision=Revision(state.revision + 1),
        provenance=Provenance("key-1", DEVICE, "assistant", "session-1", "process-1", "message-1"),
        evidence=Evidence((Attestation(DEVICE, dot.counter, 0.95),)),
        reason="stated",
    )


def changeset_of(state: OwnerState, number: int, vector: np.ndarray) -> Changeset:
    """Everything that one ordinary write commits."""
    version = version_of(state, number)
    after = make.next_state(state, version.dot, memory_count=state.memory_count + 1)
    terms = tuple(TEXT.lower().split())
    return Changeset(
        state=after,
        versions=[version],
        fragments=[Fragment(version.id, 1, 0, version.text, terms, make.MODEL, vector)],
        journal=[entry_of(version)],
        outcomes=[outcome_of(version)],
        changes=[ChangeRecord(version.revision, version.dot, "write", "key-1", "assistant", version.recorded_at)],
    )


def entry_of(version: MemoryVersion) -> JournalEntry:
    """Its line in the journal."""
    return replace(make.entry(version, event=JournalEvent.CREATED), reason="stated", details={})


def outcome_of(version: MemoryVersion) -> StoredOutcome:
    """The answer kept for a retry."""
    effects = [{"id": str(version.id), "version": 1, "effect": "created", "reason": "stated"}]
    answer = {"affected": effects, "revision": version.revision}
    return make.outcome(version.dot, str(uuid.uuid4()), version.revision, outcome=answer)


class Bench:
    """What takes turns."""

    def __init__(self, backend: PostgresBackend, plain: Any) -> None:
        self.store, self.plain = backend.memories, plain
        self.owner = OwnerKey(TenantId("bench"), UserId("bench"))
        vector = np.random.default_rng(1).normal(size=DIMENSION).astype(np.float32)
        self.vector = vector / np.linalg.norm(vector)
        self.statement = ""
        self.number = 0
        self.state = OwnerState(Revision(0), VectorClock(), make.SALT)

    async def prepare(self) -> None:
        """The plain table."""
        await self.plain.execute(
            "CREATE TABLE plain AS SELECT *, NULL::halfvec AS embedding FROM memory_versions WITH NO DATA;"
            "ALTER TABLE plain ADD PRIMARY KEY (owner, memory_id)"
        )
        names = ", ".join(["owner", *(c.name for c in VERSION_COLUMNS), "embedding"])
        values = ", ".join(f"${n}::{c.wire}{c.cast}" for n, c in enumerate(VERSION_COLUMNS, 2))
        self.statement = f"INSERT INTO plain ({names}) VALUES ($1, {values}, ${len(VERSION_COLUMNS) + 2})"

    def next(self) -> Changeset:
        """What is to be stored next, as its writer, who is alone, knows the state to be."""
        self.number += 1
        return changeset_of(self.state, self.number, self.vector)

    async def bare(self, changeset: Changeset) -> None:
        """The same row by bare SQL."""
        row = [c.get(changeset.versions[0]) for c in VERSION_COLUMNS]
        await self.plain.execute("BEGIN")
        await self.plain.fetchval(self.statement, self.owner.id, *row, halfvec_of(self.vector))
        await self.plain.execute("COMMIT")

    async def change(self, changeset: Changeset) -> None:
        """A change without look-ups."""
        async with self.store.change(self.owner) as change:
            await change.apply(changeset)
        self.state = changeset.state

    async def admitted(self, changeset: Changeset) -> None:
        """A change with the look-ups of a write."""
        version = changeset.versions[0]
        async with self.store.change(self.owner) as change:
            await change.outcome_of_dot(version.dot)
            await change.heads_in_slots([version.slot])
            await change.tombstones([bytes(16), bytes(15) + b"1"])
            await change.apply(changeset)
        self.state = changeset.state

    async def nothing(self, changeset: Changeset) -> None:
        """Nothing, committed."""
        await self.plain.execute("BEGIN")
        await self.plain.execute("COMMIT")


def on_cpu(pids: list[int]) -> int:
    """Nanoseconds that these processes have run."""
    return sum(int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) for pid in pids)


Sample = tuple[float, float, float]
"""Seconds of the clock, CPU nanoseconds here and in the database."""


async def sample(bench: Bench, name: str, pids: list[int]) -> Sample:
    """One change."""
    work: Work = getattr(bench, name)
    changeset = bench.next()
    server, client, started = on_cpu(pids), time.process_time_ns(), time.perf_counter()
    await work(changeset)
    return time.perf_counter() - started, time.process_time_ns() - client, on_cpu(pids) - server


def figures(samples: list[Sample]) -> dict[str, float]:
    """What is told of the samples of one name."""
    seconds, client, server = zip(*samples, strict=True)
    return {
        "p50": round(statistics.median(seconds) * 1e3, 3),
        "p90": round(statistics.quantiles(seconds, n=10)[-1] * 1e3, 3),
        "client": round(statistics.mean(client) / 1e3),
        "server": round(statistics.mean(server) / 1e3),
    }


def summary(rounds: list[dict[str, list[Sample]]]) -> dict[str, Any]:
    """Figures of everything, and the ratios."""
    whole = {name: figures([s for taken in rounds for s in taken[name]]) for name in NAMES}
    told: dict[str, Any] = dict(whole)
    for name in ("change", "admitted"):
        by_round = [figures(taken[name])["p50"] / figures(taken["bare"])["p50"] for taken in rounds]
        cpu = [whole[of]["client"] + whole[of]["server"] for of in (name, "bare")]
        told[f"{name}_ratio"] = {
            "p50": round(whole[name]["p50"] / whole["bare"]["p50"], 2),
            "p50_by_round": [round(ratio, 2) for ratio in sorted(by_round)],
            "cpu": round(cpu[0] / cpu[1], 2),
        }
    return told


async def measure(rounds: int, count: int) -> dict[str, Any]:
    """All figures."""
    async with TemporaryStack(durable=True) as stack:
        await migrate(stack.database_url)
        backend = await PostgresBackend.connect(PostgresSettings(dsn=stack.database_url, pool_min=1, pool_max=1))
        plain = await asyncpg.connect(
            stack.database_url, server_settings={"search_path": "memory_service, public", "jit": "off"}
        )
        try:
            await plain.set_type_codec(
                "halfvec", schema="public", format="binary", encoder=pass_halfvec, decoder=pass_halfvec
            )
            bench = Bench(backend, plain)
            await bench.prepare()
            pids = [row[0] for row in await plain.fetch(
                "SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend'"
            )]  # fmt: skip
            taken: list[dict[str, list[Sample]]] = []
            for _ in range(rounds + 1):
                taken.append({name: [] for name in NAMES})
                for name in NAMES * count:
                    taken[-1][name].append(await sample(bench, name, pids))
            return {"rounds": rounds, "changes_a_round": count, **summary(taken[1:])}  # the first warms up
        finally:
            await plain.close()
            await backend.close()


def main() -> None:
    """Measure as the command line says."""
    rounds, count = map(int, sys.argv[1:3] or ("8", "150"))
    print(json.dumps(asyncio.run(measure(rounds, count)), indent=1))


if __name__ == "__main__":
    main()
