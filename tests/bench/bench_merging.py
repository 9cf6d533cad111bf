"""What consolidation and cold storage cost: `python -m tests.bench.bench_merging [merge N] [apart N] [cold N]`.

On PostgreSQL. `merge`: a user with N memories, a fifth of them in groups of five that say the same: a run that merges
them, and one that finds nothing to do. `apart`: N memories that differ in a number, each another agent's own secret,
and a weekly run that finds nothing to merge. `cold`: N archived memories of 512 dimensions moved to files, then deep
recalls over them. Prints one JSON object each. Times in milliseconds.
"""

from __future__ import annotations

import asyncio
import json
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import numpy as np

from memory_service.adapters.embedded import TemporaryStack
from memory_service.adapters.parquet import FolderFiles, ParquetColdStore
from memory_service.adapters.postgres import PostgresBackend, PostgresSettings, migrate
from memory_service.app.access_recorder import AccessRecorder
from memory_service.app.cold import ColdStorage
from memory_service.app.commands import BatchItem, Statement
from memory_service.app.consolidation import Consolidation, Consolidator, Deduplication
from memory_service.app.deep import DeepSearch, DeepSettings
from memory_service.app.recall import Recall, RecallRequest
from memory_service.domain.memory import Tier, Visibility
from memory_service.domain.records import Fragment
from memory_service.domain.text import analyse
from memory_service.ports.embedder import EmbeddingModel, FloatMatrix
from memory_service.ports.memory_store import Changeset
from tests.app.harness import ALICE, BOB, Silent, World
from tests.contracts.builders import new_id, next_state, version

FILLERS = ["", "really ", "also ", "actually ", "quite "]


async def merging(world: World, count: int) -> dict[str, object]:
    chance = random.Random(1)
    texts = [
        (f"I {filler}know fact {n} of subject {n % 977}", f"t{n}") for n in range(count // 25) for filler in FILLERS
    ]
    texts += [
        (f"I saw thing {n} in place {chance.randrange(9_999)}", f"s{n % 997}") for n in range(count - len(texts))
    ]
    for start in range(0, len(texts), 500):
        items = [BatchItem(statement=Statement(text=text, topic=topic)) for text, topic in texts[start : start + 500]]
        await world.write.batch(ALICE, items, actor="bench", context=None)
    step = Consolidation(Consolidator(world.changes))
    started, used = time.perf_counter(), time.process_time()
    absorbed = await step(ALICE)
    taken, used = time.perf_counter() - started, time.process_time() - used
    merges = absorbed / len(FILLERS)
    started = time.perf_counter()
    assert await step(ALICE) == 0
    idle = time.perf_counter() - started
    return {
        "memories": count,
        "merges": merges,
        "run_ms": round(taken * 1e3),
        "run_cpu_ms": round(used * 1e3),
        "merge_ms": round((taken - idle) / max(merges, 1) * 1e3, 2),
        "idle_run_ms": round(idle * 1e3),
    }


async def keeping_apart(world: World, count: int) -> dict[str, object]:
    for start in range(0, count, 500):
        secrets = [
            Statement(text=f"I like tea number {n}", topic=f"t{n}", visibility=Visibility.PRIVATE, agent=f"a{n}")
            for n in range(start, min(start + 500, count))
        ]
        await world.write.batch(ALICE, [BatchItem(statement=one) for one in secrets], actor="bench", context=None)
    started, used = time.perf_counter(), time.process_time()
    assert await Deduplication(Consolidator(world.changes))(ALICE) == 0
    taken, used = time.perf_counter() - started, time.process_time() - used
    return {"memories": count, "run_ms": round(taken * 1e3), "run_cpu_ms": round(used * 1e3)}


async def fill(world: World, count: int, dimension: int, model_id: str) -> None:
    """Archived memories, straight into the store."""
    chance = random.Random(1)
    words = [f"w{chr(97 + n % 26)}{n}" for n in range(4_000)]
    vectors = np.random.default_rng(1).normal(size=(count, dimension)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    for start in range(0, count, 1_000):
        async with world.store.change(BOB) as change:
            after = next_state(change.state)
            versions, pieces = [], []
            for number in range(start, min(start + 1_000, count)):
                text = " ".join(chance.choices(words, k=25))
                one = replace(
                    version(new_id(), tier=Tier.ARCHIVE, text=text, slot=f"s{number}"), revision=after.revision
                )
                versions.append(one)
                pieces.append(Fragment(one.id, 1, 0, text, tuple(analyse(text)), model_id, vectors[number]))
            await change.apply(Changeset(state=after, versions=versions, fragments=pieces))


class Model:
    """A model that makes a vector of 512 numbers by the length of a text; nothing is near anything by it."""

    model = EmbeddingModel("bench:512", 512, same_cosine=2.0)

    async def embed(self, texts: Sequence[str]) -> FloatMatrix:
        made = [np.random.default_rng(len(text)).normal(size=512).astype(np.float32) for text in texts]
        return np.stack([one / np.linalg.norm(one) for one in made])

    async def close(self) -> None: ...


async def freezing(world: World, count: int, folder: Path) -> dict[str, object]:
    model = world.embedder.model
    await fill(world, count, model.dimension, model.id)
    cold = ParquetColdStore(FolderFiles(folder))
    world.clock.advance(timedelta(days=400))
    started = time.perf_counter()
    moved = await ColdStorage(world.changes, cold)(BOB)
    taken = time.perf_counter() - started
    files = await world.store.cold_files(BOB)
    size = sum([await cold.size(BOB, file.name) for file in files])
    recall = Recall(
        snapshots=world.snapshots,
        store=world.store,
        embedder=world.embedder,
        accesses=AccessRecorder(world.store, Silent()),
        clock=world.clock,
        telemetry=Silent(),
        archive=DeepSearch(world.store, cold, DeepSettings()),
    )
    times, cpu = [], []
    for number in range(9):
        started, used = time.perf_counter(), time.process_time()
        answer = await recall(RecallRequest(owner=BOB, query=f"wa{26 * number} wb{1 + 26 * number}", deep=True))
        times.append((time.perf_counter() - started) * 1e3)
        cpu.append((time.process_time() - used) * 1e3)
        assert len(answer.memories) == 10
        assert not answer.degraded
    return {
        "memories": moved,
        "files": len(files),
        "bytes": size,
        "freeze_ms_per_file": round(taken / len(files) * 1e3),
        "deep_recall_ms_p50": round(statistics.median(times)),
        "deep_recall_ms_max": round(max(times)),
        "deep_recall_cpu_ms_p50": round(statistics.median(cpu)),
    }


async def main(wanted: dict[str, int]) -> None:
    async with TemporaryStack() as stack:
        await migrate(stack.database_url)
        backend = await PostgresBackend.connect(PostgresSettings(dsn=stack.database_url))
        try:
            if "merge" in wanted:
                world = World(store=backend.memories, embedder=Model(), seed=1)
                print(json.dumps(await merging(world, wanted["merge"])))
            if "apart" in wanted:
                world = World(store=backend.memories, embedder=Model(), seed=3)
                print(json.dumps(await keeping_apart(world, wanted["apart"])))
            if "cold" in wanted:
                world = World(store=backend.memories, embedder=Model(), seed=2)
                with tempfile.TemporaryDirectory() as folder:
                    print(json.dumps(await freezing(world, wanted["cold"], Path(folder))))
        finally:
            await backend.close()


if __name__ == "__main__":
    given = sys.argv[1:] or ["merge", "10000", "cold", "50000"]
    asyncio.run(main({given[i]: int(given[i + 1]) for i in range(0, len(given), 2)}))
