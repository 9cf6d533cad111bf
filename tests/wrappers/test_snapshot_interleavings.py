"""Random interleavings of commits, recalls, Forgets, lost subscriptions and passing time over two replicas.

Every answer must satisfy what was asked, hold exactly what the store held at its revision, and nothing that was
forgotten once `dropped` returned. Reads are held at gates before and after they reach the store or the cache;
a seed chooses in which order they go on.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from dataclasses import dataclass, field
from datetime import timedelta

from hypothesis import example, given, settings
from hypothesis import strategies as st

from memory_service.domain.errors import Unavailable
from memory_service.domain.ids import MemoryId, OwnerKey, Revision
from memory_service.domain.retrieval.snapshot import OwnerSnapshot
from memory_service.ports.snapshots import Freshness, Requirement
from tests.contracts import builders as make
from tests.wrappers.replicas import Replica, World, content, settled, word

STALENESS = 1.0
UNHEARD = 30.0
PATIENCE_SECONDS = 60

WEIGHTS = {
    "minimize": 8,
    "at_least": 3,
    "fully": 3,
    "write": 2,
    "change": 3,
    "silent": 1,
    "forget": 4,
    "retry": 1,
    "away": 1,
    "back": 2,
    "beat": 3,
    "advance": 3,
    "leap": 1,
    "release": 24,
    "open": 2,
    "close": 2,
}
STEPS = 120
Step = tuple[str, int, int, int]


def drawn_steps(seed: int) -> list[Step]:
    """What to do, in which replica, to which owner, and a number for the rest."""
    source = random.Random(seed)
    kinds = source.choices(list(WEIGHTS), weights=list(WEIGHTS.values()), k=STEPS)
    return [(kind, source.randrange(2), int(source.random() < 0.1), source.randrange(21)) for kind in kinds]


@dataclass
class Commit:
    """One commit: when, and how long a reader under MINIMIZE_LATENCY may stay behind it."""

    revision: Revision
    at: float
    bound: float


@dataclass
class Run:
    """What happened so far, and what must hold."""

    world: World
    replicas: list[Replica]
    owners: list[OwnerKey]
    commits: dict[OwnerKey, list[Commit]] = field(default_factory=dict)
    own: dict[tuple[int, OwnerKey], Revision] = field(default_factory=dict)
    gone: dict[OwnerKey, dict[MemoryId, Revision]] = field(default_factory=dict)
    gone_at: dict[tuple[int, OwnerKey], set[MemoryId]] = field(default_factory=dict)
    undropped: list[tuple[int, OwnerKey, MemoryId, Revision]] = field(default_factory=list)
    tasks: list[asyncio.Task[None]] = field(default_factory=list)
    answers: int = 0

    def now(self) -> float:
        return self.world.clock.monotonic()

    async def step(self, kind: str, replica: int, which: int, choice: int) -> None:
        owner = self.owners[which]
        if kind in ("minimize", "at_least", "fully"):
            self.tasks.append(asyncio.create_task(self.recall(kind, replica, owner, choice)))
        elif kind in ("write", "change", "silent"):
            await self.write(kind, replica, owner, choice)
        elif kind == "forget":
            await self.forget(replica, owner, choice)
        elif kind == "retry" and self.undropped:
            self.tasks.append(asyncio.create_task(self.drop(*self.undropped.pop(choice % len(self.undropped)))))
        elif kind in ("away", "back"):
            self.world.cache.set_away(kind == "away")
        elif kind == "beat":
            self.world.cache.beat()
        elif kind in ("advance", "leap"):
            self.world.clock.advance(timedelta(seconds=choice / 10 if kind == "advance" else choice * 2))
        elif kind == "open":
            self.world.gates.open()
        elif kind == "close":
            self.world.gates.closed = True
        elif kind == "release":
            self.world.gates.release(choice)
        await settled()

    async def write(self, kind: str, replica: int, owner: OwnerKey, choice: int) -> None:
        if kind == "write":
            revision = await self.world.write(owner)
        else:
            revision = await self.world.change(owner, choice)
        # A silent writer died between its commit and its news.
        bound = UNHEARD if kind == "silent" else STALENESS
        self.commits.setdefault(owner, []).append(Commit(revision, self.now(), bound))
        if kind != "silent":
            self.own[replica, owner] = revision
            self.replicas[replica].l1.committed(owner, revision)

    async def forget(self, replica: int, owner: OwnerKey, choice: int) -> None:
        alive = self.world.alive.get(owner)
        if not alive:
            return
        memory_id = alive[choice % len(alive)]
        revision = await self.world.forget(owner, memory_id)
        self.commits.setdefault(owner, []).append(Commit(revision, self.now(), STALENESS))
        if choice % 2:
            # `dropped` must not depend on `committed` having been called first.
            self.own[replica, owner] = revision
            self.replicas[replica].l1.committed(owner, revision)
        self.tasks.append(asyncio.create_task(self.drop(replica, owner, memory_id, revision)))

    async def drop(self, replica: int, owner: OwnerKey, memory_id: MemoryId, revision: Revision) -> None:
        try:
            await self.replicas[replica].l1.dropped(owner)
        except Unavailable:
            self.undropped.append((replica, owner, memory_id, revision))
            return
        self.gone_at.setdefault((replica, owner), set()).add(memory_id)
        self.check_caches(replica, owner)
        # Others have heard once everything has run that can; the subscription is in order.
        await settled()
        self.gone.setdefault(owner, {})[memory_id] = revision

    def check_caches(self, replica: int, owner: OwnerKey) -> None:
        """Nothing forgotten is at rest in the replica that forgot, nor in the shared cache."""
        copies = [self.replicas[replica].held(owner)]
        packed = self.world.cache._snapshots.get((owner, make.MODEL))
        copies.append(OwnerSnapshot.unpack(packed[2]) if packed else None)
        for copy in filter(None, copies):
            for memory_id in self.gone_at[replica, owner]:
                assert memory_id not in {head.id for head in copy.memories()}
                assert word(memory_id) not in copy.strings.strings()

    async def recall(self, kind: str, replica: int, owner: OwnerKey, choice: int) -> None:
        called_at = self.now()
        commits = self.commits.get(owner, [])
        newest = commits[-1].revision if commits else Revision(0)
        own = self.own.get((replica, owner), Revision(0))
        heard_gone = set(self.gone.get(owner, {}))
        token = commits[choice % len(commits)].revision if commits else Revision(0)
        bound = max((c.revision for c in commits if c.at < called_at - c.bound), default=Revision(0))
        requirement = {
            "fully": Requirement(Freshness.FULLY_CONSISTENT),
            "at_least": Requirement(Freshness.AT_LEAST_AS_FRESH, token),
            "minimize": Requirement(),
        }[kind]
        snapshot = await self.replicas[replica].l1.snapshot(owner, requirement)
        least = {"fully": newest, "at_least": token, "minimize": max(bound, own)}[kind]
        assert snapshot.revision >= least, (kind, replica, snapshot.revision, least)
        held = content(snapshot)
        if snapshot.revision:
            assert held == self.world.contents[owner, snapshot.revision]
        ids = {memory_id for memory_id, _ in held}
        assert ids.isdisjoint(self.gone_at.get((replica, owner), set())), "forgotten here"
        if kind == "minimize":
            assert ids.isdisjoint(heard_gone), "forgotten elsewhere and heard of"
        self.answers += 1


@settings(max_examples=150)
@given(seed=st.integers(0, 2**32), bytes_max=st.sampled_from([0, 3_000, 10**9]), loads=st.sampled_from([1, 16]))
@example(seed=2486178, bytes_max=10**9, loads=1).via("a Forget whose drop hangs at the store")
@example(seed=1495, bytes_max=10**9, loads=1).via("the same, found first")
@example(seed=94067831, bytes_max=10**9, loads=1).via("a Forget while its process is reading")
async def test_every_answer_satisfies_what_was_asked(seed: int, bytes_max: int, loads: int):
    steps = drawn_steps(seed)
    world = World()
    replicas = [
        world.replica(
            bytes_max=bytes_max,
            loads_at_once_max=loads,
            staleness_seconds_max=STALENESS,
            unheard_seconds_max=UNHEARD,
        )
        for _ in range(2)
    ]
    for replica in replicas:
        replica.l1.start()
    run = Run(world, replicas, [make.new_owner(), make.new_owner()])
    await settled()
    for owner in run.owners:
        for _ in range(2):
            await run.write("write", 0, owner, 0)
    await settled()
    world.gates.closed = True
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            for step in steps:
                await run.step(*step)
                for task in run.tasks:
                    if task.done():
                        task.result()
            world.gates.open()
            await asyncio.gather(*run.tasks)
    finally:
        for task in run.tasks:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError, AssertionError):
                await task
        await world.close()
    assert run.answers == sum(step[0] in ("minimize", "at_least", "fully") for step in steps)
