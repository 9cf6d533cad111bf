"""Simulated replicas: L1 over L2 over one store, with every read of theirs held at a gate the test opens."""

from __future__ import annotations

import asyncio
import dataclasses
from collections import Counter
from collections.abc import Callable
from typing import Any

from memory_service.adapters.inmemory import InMemoryMemoryStore, InMemorySharedCache, ManualClock
from memory_service.adapters.wrappers import L1Settings, L1Snapshots, L2Snapshots, StoreSnapshots
from memory_service.domain.ids import MemoryId, OwnerKey, Revision
from memory_service.domain.memory import Assertion
from memory_service.domain.retrieval.snapshot import OwnerSnapshot
from memory_service.ports.embedder import EmbeddingModel
from memory_service.ports.memory_store import Changeset, OwnerState
from tests.contracts import builders as make

MODEL = EmbeddingModel(make.MODEL, make.DIMENSION, same_cosine=0.9)


class CountingTelemetry:
    """Keeps counts by name and labels."""

    def __init__(self) -> None:
        self.counts: Counter[tuple[str, ...]] = Counter()
        self.gauges: dict[tuple[str, ...], float] = {}

    def count(self, name: str, amount: int = 1, **labels: str) -> None:
        """Add to a counter."""
        self.counts[name, *labels.values()] += amount

    def observe(self, name: str, seconds: float, **labels: str) -> None:
        """Count an observation."""
        self.counts[name, *labels.values()] += 1

    def gauge(self, name: str, value: float, **labels: str) -> None:
        """Keep a gauge."""
        self.gauges[name, *labels.values()] = value


class Gates:
    """Where calls wait until the test lets them on; open at first."""

    def __init__(self) -> None:
        self.closed = False
        self.waiting: list[asyncio.Future[None]] = []

    async def passage(self) -> None:
        """Wait here while closed."""
        if self.closed:
            gate = asyncio.get_running_loop().create_future()
            self.waiting.append(gate)
            await gate

    def release(self, choice: int) -> None:
        """Let one of the waiting on."""
        if self.waiting:
            gate = self.waiting.pop(choice % len(self.waiting))
            if not gate.done():
                gate.set_result(None)

    def open(self) -> None:
        """Let all on, now and from now on."""
        self.closed = False
        while self.waiting:
            self.release(0)


class Gated:
    """A proxy whose named methods wait at a gate before and after they do their work."""

    def __init__(self, inner: Any, gates: Gates, *names: str) -> None:
        self._inner = inner
        self._gates = gates
        self._names = names
        self.calls: Counter[str] = Counter()

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._inner, name)
        if name not in self._names:
            return method

        async def gated(*args: Any, **kwargs: Any) -> Any:
            self.calls[name] += 1
            await self._gates.passage()
            result = await method(*args, **kwargs)
            await self._gates.passage()
            return result

        return gated


STORE_READS = ("state", "search_rows", "search_rows_since")
CACHE_CALLS = ("get_snapshot", "put_snapshot", "drop_owner")


class World:
    """One store and one shared cache, and what is true of them."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.store = InMemoryMemoryStore()
        self.cache = InMemorySharedCache(self.clock)
        self.gates = Gates()
        self.contents: dict[tuple[OwnerKey, int], set[tuple[MemoryId, int]]] = {}
        self.alive: dict[OwnerKey, list[MemoryId]] = {}
        self.replicas: list[Replica] = []

    def replica(self, **settings: Any) -> Replica:
        """One more process."""
        replica = Replica(self, **settings)
        self.replicas.append(replica)
        return replica

    async def write(self, owner: OwnerKey) -> Revision:
        """Commit one new memory."""
        memory_id = make.new_id()
        self.alive.setdefault(owner, []).append(memory_id)

        def build(state: OwnerState) -> Changeset:
            after = make.next_state(state)
            version = make.version(
                memory_id,
                slot=word(memory_id),
                text=word(memory_id),
                assertion=Assertion(word(memory_id), "p", 1),
                revision=after.revision,
            )
            return Changeset(state=after, versions=[version], fragments=[make.fragment(version, seed=1)])

        return await self._committed(owner, build)

    async def change(self, owner: OwnerKey, choice: int) -> Revision:
        """Commit a new version of a memory, or a new memory when there is none."""
        alive = self.alive.get(owner)
        if not alive:
            return await self.write(owner)
        head = await self.store.get(owner, alive[choice % len(alive)])
        assert head is not None

        def build(state: OwnerState) -> Changeset:
            after = make.next_state(state)
            later = dataclasses.replace(head.current, version=head.current.version + 1, revision=after.revision)
            return Changeset(state=after, versions=[later])

        return await self._committed(owner, build)

    async def forget(self, owner: OwnerKey, memory_id: MemoryId) -> Revision:
        """Commit a Forget."""
        self.alive[owner].remove(memory_id)
        return await self._committed(
            owner, lambda state: Changeset(state=make.next_state(state), forgotten=[memory_id])
        )

    async def _committed(self, owner: OwnerKey, build: Callable[[OwnerState], Changeset]) -> Revision:
        revision = await make.commit(self.store, owner, build)
        rows = await self.store.search_rows(owner, make.MODEL)
        self.contents[owner, revision] = {(row.head.id, row.head.current.version) for row in rows.rows}
        return revision

    async def close(self) -> None:
        """End every replica."""
        self.gates.open()
        for replica in self.replicas:
            await replica.close()


def word(memory_id: MemoryId) -> str:
    """A word that only this memory holds."""
    return f"word{memory_id.hex}"


class Replica:
    """One process's tiers."""

    def __init__(self, world: World, *, cache: bool = True, **settings: Any) -> None:
        self.world = world
        self.telemetry = CountingTelemetry()
        self.store: Any = Gated(world.store, world.gates, *STORE_READS)
        self.cache: Any = Gated(world.cache, world.gates, *CACHE_CALLS)
        clock, telemetry = world.clock, self.telemetry
        source: Any = StoreSnapshots(self.store, MODEL, clock, telemetry)
        self.l2 = L2Snapshots(source, self.store, self.cache, MODEL, clock, telemetry) if cache else None
        self.l1 = L1Snapshots(
            self.l2 or source,
            self.store,
            self.cache if cache else None,
            MODEL,
            clock,
            telemetry,
            L1Settings(publish_retry_seconds=0, **settings),
        )

    def held(self, owner: OwnerKey) -> OwnerSnapshot | None:
        """What its first tier holds now."""
        entry = self.l1._entries.get(owner)
        return entry.snapshot if entry else None

    async def close(self) -> None:
        """End its tasks."""
        await self.l1.close()
        if self.l2 is not None:
            await self.l2.close()


def content(snapshot: OwnerSnapshot) -> set[tuple[MemoryId, int]]:
    """Which memories, at which version."""
    return {(head.id, head.current.version) for head in snapshot.memories()}


async def settled() -> None:
    """Let everything run that can."""
    for _ in range(25):
        await asyncio.sleep(0)
