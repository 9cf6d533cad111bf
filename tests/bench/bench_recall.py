"""How long a hot recall takes, beside the bare matrix-vector product it cannot do without.

Run `python -m tests.bench.bench_recall [memories …]`; prints one JSON object a size. Times are medians in
milliseconds. `recall` is the whole use case with the query's vector and the snapshot at hand (everything after
the embedding): filters, three lists, fusion, scoring, reasons, context block, use counts.
"""

from __future__ import annotations

import asyncio
import json
import random
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from memory_service.adapters.inmemory import InMemoryMemoryStore, SystemClock
from memory_service.app.access_recorder import AccessRecorder
from memory_service.app.recall import Recall, RecallRequest
from memory_service.domain.ids import OwnerKey, TenantId, UserId
from memory_service.domain.memory import Kind
from memory_service.domain.records import MemoryFilter, SearchRow
from memory_service.domain.retrieval.snapshot import OwnerSnapshot
from memory_service.ports.embedder import Embedder, EmbeddingModel, FloatMatrix
from memory_service.ports.snapshots import Requirement, SnapshotSource
from tests.retrieval.builders import MODEL, head, random_unit, row, rows

DIMENSION = 512
WORDS = [f"w{chr(97 + n % 26)}{n}" for n in range(4_000)]
OWNER = OwnerKey(TenantId("bench"), UserId("bench"))


def world(count: int) -> list[SearchRow]:
    """Memories of 25 words of a Zipf-like vocabulary, a vector each."""
    chance = random.Random(1)
    weights = [1 / (n + 1) for n in range(len(WORDS))]
    kinds = list(Kind)
    made = []
    for number in range(count):
        text = " ".join(chance.choices(WORDS, weights, k=25))
        of = head(number, text, topic=f"topic {number % 97}", tags=(f"tag{number % 31}",), kind=chance.choice(kinds))
        made.append(row(of, random_unit(number, DIMENSION)))
    return made


@dataclass
class Ready:
    """Stands for both a warm L1 and a warm vector cache."""

    snapshot_: OwnerSnapshot
    vector: NDArray[np.float32]

    @property
    def model(self) -> EmbeddingModel:
        return EmbeddingModel(MODEL, DIMENSION, 0.8)

    async def embed(self, texts: Sequence[str]) -> FloatMatrix:
        return np.tile(self.vector, (len(texts), 1))

    async def snapshot(self, owner: OwnerKey, requirement: Requirement) -> OwnerSnapshot:
        return self.snapshot_


class Silent:
    """Telemetry that goes nowhere."""

    def count(self, name: str, amount: int = 1, **labels: str) -> None:
        return

    def observe(self, name: str, seconds: float, **labels: str) -> None:
        return

    def gauge(self, name: str, value: float, **labels: str) -> None:
        return


def median_ms(work: Callable[[], Any], times: int) -> float:
    work()
    taken = []
    for _ in range(times):
        started = time.perf_counter()
        work()
        taken.append(time.perf_counter() - started)
    return round(statistics.median(taken) * 1e3, 4)


async def recalls_ms(recall: Recall, request: RecallRequest, times: int) -> tuple[float, dict[str, float]]:
    taken: list[float] = []
    stages: dict[str, list[float]] = {}
    for _ in range(times):
        started = time.perf_counter()
        response = await recall(request)
        taken.append(time.perf_counter() - started)
        for stage in response.stages:
            stages.setdefault(stage.name, []).append(stage.seconds)
    by_stage = {name: round(statistics.median(values) * 1e3, 4) for name, values in stages.items()}
    return round(statistics.median(taken) * 1e3, 4), by_stage


def measure(count: int) -> dict[str, Any]:
    """Every figure for one size."""
    made = rows(*world(count))
    times = max(5, 200_000 // count)
    snapshot = OwnerSnapshot.build(made, MODEL, DIMENSION)
    packed = snapshot.pack()
    probe = random_unit(10**6, DIMENSION)
    ready = Ready(snapshot, probe)
    store = InMemoryMemoryStore()
    recall = Recall(
        cast(SnapshotSource, ready),
        store,
        cast(Embedder, ready),
        AccessRecorder(store, Silent()),
        SystemClock(),
        Silent(),
    )
    query = " ".join(WORDS[n] for n in (0, 5, 40, 300, 1_000, 3_000))
    plain, stages = asyncio.run(recalls_ms(recall, RecallRequest(owner=OWNER, query=query), times))
    where = MemoryFilter(kinds=frozenset({Kind.FACT, Kind.PREFERENCE}), tags_any=frozenset({"tag1", "tag2"}))
    filtered, _ = asyncio.run(recalls_ms(recall, RecallRequest(owner=OWNER, query=query, where=where), times))
    matrix = snapshot.vectors["vector"]
    product = median_ms(lambda: matrix @ probe, times)
    row_by_row = median_ms(lambda: np.vecdot(matrix, probe), times)
    delta = rows(row(head(count + 1, "one more memory"), random_unit(3, DIMENSION)), revision=2)
    grown = snapshot.apply(delta)
    step = iter(range(10**9))

    def apply() -> None:
        nonlocal grown
        change = row(head(count + 2 + next(step), "one more memory"), random_unit(3, DIMENSION))
        grown = grown.apply(rows(change, revision=grown.revision + 1))

    return {
        "memories": count,
        "dimension": DIMENSION,
        "matrix_vector_ms": product,
        "row_by_row_ms": row_by_row,
        "recall_ms": plain,
        "recall_filtered_ms": filtered,
        "recall_over_row_by_row": round(plain / row_by_row, 1),
        "stages_ms": stages,
        "apply_one_ms": median_ms(apply, 30),
        "build_ms": median_ms(lambda: OwnerSnapshot.build(made, MODEL, DIMENSION), 3),
        "unpack_ms": median_ms(lambda: OwnerSnapshot.unpack(packed), 5),
        "pack_ms": median_ms(snapshot.pack, 3),
        "packed_bytes": len(packed),
        "held_bytes": snapshot.nbytes,
    }


def main() -> None:
    """Measure the sizes given on the command line."""
    for count in map(int, sys.argv[1:] or ["100", "1000", "10000"]):
        print(json.dumps(measure(count)), flush=True)


if __name__ == "__main__":
    main()
