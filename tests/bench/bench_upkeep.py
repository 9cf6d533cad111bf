"""What upkeep costs on PostgreSQL: an owner with nothing due, with everything faded, and with 10,000 disputes.

Run `python -m tests.bench.bench_upkeep [memories]`; prints one JSON object: milliseconds of each step, median of five
where nothing is due, and for the others how many memories changed and how long that took.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import sys
import time
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from memory_service.adapters.embedded import TemporaryStack
from memory_service.adapters.postgres import PostgresBackend, PostgresSettings, migrate
from memory_service.app.commands import BatchItem, Statement
from memory_service.domain.ids import OwnerKey, TenantId, UserId
from memory_service.domain.memory import Assertion, Kind, MemoryHead, Source
from memory_service.domain.parameters import Parameters
from memory_service.domain.records import MemoryFilter
from tests.app.harness import World

BATCH = 500
KINDS = (Kind.FACT, Kind.FACT, Kind.PREFERENCE, Kind.TASK, Kind.PROFILE, Kind.EVENT)


def owner(name: str) -> OwnerKey:
    """An owner of the bench."""
    return OwnerKey(TenantId("bench"), UserId(name))


async def fill(world: World, whose: OwnerKey, statements: Sequence[Statement]) -> None:
    """Write statements in batches."""
    for start in range(0, len(statements), BATCH):
        items = [BatchItem(statement=statement) for statement in statements[start : start + BATCH]]
        await world.write.batch(whose, items, actor="bench", context=None)


async def timed(world: World, whose: OwnerKey, name: str) -> tuple[int, float]:
    """Memories changed, and milliseconds."""
    began = time.perf_counter()
    done = await world.upkeep.run(whose, name)
    return done[name], (time.perf_counter() - began) * 1e3


async def heads(world: World, whose: OwnerKey) -> list[MemoryHead]:
    """All memories of an owner."""
    found: list[MemoryHead] = []
    after = None
    while True:
        page = await world.store.list(whose, MemoryFilter(), limit=500, after=after)
        found += page.heads
        after = page.next_after
        if after is None:
            return found


async def measure(world: World, count: int) -> dict[str, Any]:
    """Fill, wait, and run the steps."""
    report: dict[str, Any] = {"memories": count}
    names = [step.name for step in world.upkeep.steps]
    plain = owner("plain")
    texts = [
        Statement(text=f"Note number {n} about matter {n % 97} of the project", kind=KINDS[n % len(KINDS)])
        for n in range(count)
    ]
    await fill(world, plain, texts)
    idle = {name: [(await timed(world, plain, name)) for _ in range(5)] for name in names}
    assert not any(changed for runs in idle.values() for changed, _ in runs)
    report["nothing_due_ms"] = {
        name: round(statistics.median(ms for _, ms in runs), 1) for name, runs in idle.items()
    }
    world.clock.advance(timedelta(days=100))
    changed, ms = await timed(world, plain, "decay_short_term")
    report["short_term_faded"] = {"changed": changed, "ms": round(ms)}
    world.clock.advance(timedelta(days=100))
    changed, ms = await timed(world, plain, "decay_long_term")
    report["all_faded"] = {"changed": changed, "ms": round(ms)}
    disputes = owner("disputes")
    for city in ("Berlin", "Munich"):
        await fill(
            world,
            disputes,
            [
                Statement(assertion=Assertion(f"person {n}", "location", city), confidence=0.9)
                for n in range(count // 2)
            ],
        )
        if city == "Berlin":
            found = await heads(world, disputes)
            await world.store.record_access(disputes, {h.id: (3, world.clock.now()) for h in found})
            world.clock.advance(timedelta(minutes=1))
    world.clock.advance(timedelta(days=15))
    changed, ms = await timed(world, disputes, "contested")
    report["disputes_judged"] = {"changed": changed, "ms": round(ms)}
    guesses = owner("guesses")
    for session in ("a", "b", "c"):
        seen = [
            Statement(text=f"Seems to like song {n}", source=Source.INFERRED, session=session)
            for n in range(count // 5)
        ]
        await fill(world, guesses, seen)
    changed, ms = await timed(world, guesses, "promotion")
    report["guesses_promoted"] = {"changed": changed, "ms": round(ms)}
    return report


async def main(count: int) -> None:
    """On a fresh database with fsync on."""
    async with TemporaryStack(durable=True) as stack:
        await migrate(stack.database_url)
        backend = await PostgresBackend.connect(PostgresSettings(dsn=stack.database_url))
        try:
            world = World(store=backend.memories, parameters=Parameters(cards_max=0))
            print(json.dumps(await measure(world, count)))
        finally:
            await backend.close()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000))
