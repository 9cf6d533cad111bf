"""How long remembering one statement takes, causality and all, beside the same row put into a table with bare SQL.

Run `python -m tests.bench.bench_write [rounds] [writes a round] [seconds a crowd]`; prints one JSON object.
PostgreSQL is a fresh one with fsync on. What is compared takes turns, write by write, so that a busy machine slows
all alike:

    bare     BEGIN; INSERT of the version's columns and its vector into a table with a primary key; COMMIT
    causal   what causality costs: lock, retries by request id and dot, slot, tombstones, evidence, journal, commit;
             the statement was read, classified and embedded before
    write    the whole use case, reading and classifying the text and its (hashed) embedding included
    slot     the same for the next value of a single-valued slot, which supersedes the one before

Ratios are to `bare`: of all samples, and round by round. `crowds` are writers at once, of one owner (whose writes are
serial and share commits) and of as many owners: statements a second, and milliseconds for each. The embedding model
is the hashing one, which takes microseconds: a real one is not causality's cost.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import sys
import time
from typing import Any

import asyncpg

from memory_service.adapters.embedded import TemporaryStack
from memory_service.adapters.postgres import PostgresBackend, PostgresSettings, migrate
from memory_service.adapters.postgres.columns import VERSION_COLUMNS
from memory_service.adapters.postgres.rows import halfvec_of, pass_halfvec
from memory_service.app.commands import ChangeMeta, ChangeResult, Statement
from memory_service.app.drafts import Draft
from memory_service.domain.ids import OwnerKey, TenantId, UserId
from memory_service.domain.memory import Assertion, Kind, MemoryVersion
from memory_service.domain.vector_clock import VectorClock
from tests.app.harness import World
from tests.bench.bench_change import Sample, figures, on_cpu

NAMES = ("bare", "causal", "write", "slot")
WRITERS = (1, 8, 32)
TEXT = "The user prefers green tea in the morning and black coffee after lunch, without sugar"


def owner(name: str) -> OwnerKey:
    """An owner of the benchmark's."""
    return OwnerKey(TenantId("bench"), UserId(name))


class Device:
    """A device that numbers its changes and says what it had seen."""

    def __init__(self, world: World, name: str, of: OwnerKey) -> None:
        self.world, self.name, self.owner = world, name, of
        self.counter = 0
        self.seen = VectorClock()

    async def send(self, statement: Statement) -> ChangeResult:
        """Remember one statement."""
        result = await self.world.write.one(self.owner, statement, self.meta())
        self.seen = result.clock
        return result

    async def commit(self, draft: Draft) -> None:
        """Remember one statement that was read before."""
        (result,) = await self.world.write._commit(self.owner, [draft], [self.meta()])
        assert isinstance(result, ChangeResult)
        self.seen = result.clock

    def meta(self) -> ChangeMeta:
        """The name of its next change, and what it had seen."""
        self.counter += 1
        return ChangeMeta(
            actor="key-1",
            request_id=f"{self.name}/{self.counter}",
            device=self.name,
            counter=self.counter,
            context=self.seen,
        )

    def text(self) -> Statement:
        """A statement nobody made before."""
        return Statement(text=f"{TEXT}, says {self.name} for the {self.counter + 1}th time", kind=Kind.FACT)

    def value(self) -> Statement:
        """The next value of a slot of its own."""
        return Statement(assertion=Assertion(self.name, "editor", f"editor {self.counter + 1}"))


class Bench:
    """What takes turns."""

    def __init__(self, world: World, plain: Any) -> None:
        self.world, self.plain = world, plain
        self.writer = Device(world, "phone", owner("texts"))
        self.slots = Device(world, "tablet", owner("slots"))
        self.statement = ""
        self.version: MemoryVersion
        self.draft: Draft
        self.vector: Any = None
        self.inserted = 0

    async def prepare(self) -> None:
        """The plain table, and the row that goes into it: that of a statement the use case remembered."""
        await self.plain.execute(
            "CREATE TABLE plain AS SELECT *, NULL::bigint AS n, NULL::halfvec AS embedding FROM memory_versions "
            "WITH NO DATA; ALTER TABLE plain ADD PRIMARY KEY (owner, memory_id, n)"
        )
        names = ", ".join(["owner", *(c.name for c in VERSION_COLUMNS), "n", "embedding"])
        values = ", ".join(f"${n}::{c.wire}{c.cast}" for n, c in enumerate(VERSION_COLUMNS, 2))
        last = len(VERSION_COLUMNS) + 2
        self.statement = f"INSERT INTO plain ({names}) VALUES ($1, {values}, ${last}, ${last + 1})"
        result = await self.writer.send(self.writer.text())
        assert result.memory is not None
        self.version = result.memory.current
        self.vector = (await self.world.embedder.embed([self.version.text]))[0]

    async def bare(self) -> None:
        """The row by bare SQL."""
        self.inserted += 1
        row = [column.get(self.version) for column in VERSION_COLUMNS]
        await self.plain.execute("BEGIN")
        await self.plain.fetchval(self.statement, self.writer.owner.id, *row, self.inserted, halfvec_of(self.vector))
        await self.plain.execute("COMMIT")

    async def ready(self) -> None:
        """What is done before the clock starts."""
        self.draft = await self.world.changes.drafting.draft(self.writer.text(), self.world.clock.now())

    async def causal(self) -> None:
        """A text, read before, by the use case."""
        await self.writer.commit(self.draft)

    async def write(self) -> None:
        """A text by the use case."""
        await self.writer.send(self.writer.text())

    async def slot(self) -> None:
        """The next value of a slot by the use case."""
        await self.slots.send(self.slots.value())


async def sample(bench: Bench, name: str, pids: list[int]) -> Sample:
    """One write."""
    await bench.ready()
    server, client, started = on_cpu(pids), time.process_time_ns(), time.perf_counter()
    await getattr(bench, name)()
    return time.perf_counter() - started, time.process_time_ns() - client, on_cpu(pids) - server


async def crowd(world: World, writers: int, *, together: bool, seconds: float) -> dict[str, float]:
    """So many writers at once, all of one owner or each of its own."""
    name = f"crowd-{writers}-{together}"
    devices = [Device(world, f"d{n}", owner(name if together else f"{name}-{n}")) for n in range(writers)]
    taken: list[float] = []
    ends = time.perf_counter() + seconds

    async def work(device: Device) -> None:
        while (started := time.perf_counter()) < ends:
            await device.send(device.text())
            taken.append(time.perf_counter() - started)

    began = time.perf_counter()
    await asyncio.gather(*(work(device) for device in devices))
    took = time.perf_counter() - began
    return {
        "writers": writers,
        "owners": 1 if together else writers,
        "a_second": round(len(taken) / took),
        "p50": round(statistics.median(taken) * 1e3, 2),
        "p90": round(statistics.quantiles(taken, n=10)[-1] * 1e3, 2),
    }


def summary(rounds: list[dict[str, list[Sample]]]) -> dict[str, Any]:
    """Figures of everything, and the ratios."""
    whole = {name: figures([s for taken in rounds for s in taken[name]]) for name in NAMES}
    told: dict[str, Any] = dict(whole)
    for name in NAMES[1:]:
        by_round = [figures(taken[name])["p50"] / figures(taken["bare"])["p50"] for taken in rounds]
        told[f"{name}_ratio"] = {
            "p50": round(whole[name]["p50"] / whole["bare"]["p50"], 2),
            "p50_by_round": [round(ratio, 2) for ratio in sorted(by_round)],
        }
    return told


async def measure(rounds: int, count: int, seconds: float) -> dict[str, Any]:
    """All figures."""
    async with TemporaryStack(durable=True) as stack:
        await migrate(stack.database_url)
        backend = await PostgresBackend.connect(PostgresSettings(dsn=stack.database_url, pool_min=1, pool_max=16))
        settings = {"search_path": "memory_service, public", "jit": "off"}
        plain: Any = await asyncpg.connect(stack.database_url, server_settings=settings)
        try:
            await plain.set_type_codec(
                "halfvec", schema="public", format="binary", encoder=pass_halfvec, decoder=pass_halfvec
            )
            world = World(store=backend.memories)
            bench = Bench(world, plain)
            await bench.prepare()
            pids = [row[0] for row in await plain.fetch(
                "SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend'"
            )]  # fmt: skip
            taken: list[dict[str, list[Sample]]] = []
            for _ in range(rounds + 1):
                taken.append({name: [] for name in NAMES})
                for name in NAMES * count:
                    taken[-1][name].append(await sample(bench, name, pids))
            crowds = []
            if seconds:
                crowds = [
                    await crowd(world, writers, together=together, seconds=seconds)
                    for writers in WRITERS
                    for together in (True, False)
                ]
            compared = summary(taken[1:])  # the first warms up
            return {"rounds": rounds, "writes_a_round": count, **compared, "crowds": crowds}
        finally:
            await plain.close()
            await backend.close()


def main() -> None:
    """Measure as the command line says."""
    rounds, count, seconds = sys.argv[1:4] if len(sys.argv) == 4 else ("8", "100", "3")
    print(json.dumps(asyncio.run(measure(int(rounds), int(count), float(seconds))), indent=1))


if __name__ == "__main__":
    main()
