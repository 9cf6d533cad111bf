"""One run: clients over a cluster that is being harmed, then peace, then the check."""

from __future__ import annotations

import asyncio
import itertools
import os
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from tests.robustness.checker import EVERY_STATUS, Findings, check, marks_kept, read_end
from tests.robustness.cluster import Cluster
from tests.robustness.history import History
from tests.robustness.nemesis import harm
from tests.robustness.offline import Offline
from tests.robustness.plan import Plan
from tests.robustness.traffic import Online, World
from tests.robustness.watching import Watching

_runs = itertools.count(1)


@dataclass(slots=True)
class Outcome:
    """What a run came to."""

    plan: Plan
    history: History
    findings: Findings
    kills: Counter[str] = field(default_factory=Counter)
    watches_resumed: int = 0
    seconds: float = 0.0

    @property
    def figures(self) -> dict[str, object]:
        """For the report."""
        found = self.findings
        return {
            "seed": self.plan.seed,
            "seconds": round(self.seconds, 1),
            "acknowledged": self.history.acknowledged,
            "kills": dict(self.kills),
            "failed_attempts": sum(self.history.attempts.values()),
            "watches_resumed": self.watches_resumed,
            "lost": found.lost,
            "duplicates": found.duplicates,
            "divergent": found.divergent,
            "invented": found.invented,
            "returned": found.returned,
            "other": found.other,
        }


async def run(cluster: Cluster, plan: Plan, folder: Path, *, path: Path | None = None, keep: bool = False) -> Outcome:
    """Carry out a plan on owners of its own and check the end."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    kills_before = Counter(cluster.kills)
    history = History(path, keep=keep)
    prefix = f"r{os.getpid() % 10_000}n{next(_runs)}q"
    targets = [line.target for line in cluster.lines]
    world = World(targets, cluster.key, history, prefix, began + plan.seconds, plan.pause, plan.batch)
    owners = sorted({script.owner for script in plan.scripts})
    # Each importer's owner makes as many events as all the others together: one of them is watched.
    importing = sorted({script.owner for script in plan.scripts if script.role == "batch"})[1:]
    watches = {owner: Watching(world.user(owner)) for owner in owners if owner not in importing}
    devices: list[Offline] = []
    over = asyncio.Event()
    nemesis = asyncio.create_task(harm(cluster, plan.faults, history, over))
    try:
        for place, watch in enumerate(watches.values()):
            watch.start(world, place)
        async with asyncio.TaskGroup() as group:
            for place, script in enumerate(plan.scripts):
                if script.role == "offline":
                    device = Offline(world, script, place, folder)
                    devices.append(device)
                    group.create_task(device.run())
                else:
                    group.create_task(Online(world, script, place).run())
            group.create_task(_peace(world, nemesis, over))
        findings = await _check(cluster, world, owners, watches, devices)
    finally:
        over.set()
        await asyncio.wait({nemesis})
        for watch in watches.values():
            await watch.stop()
        for device in devices:
            await device.close()
        history.close()
    resumed = sum(watch.resumed for watch in watches.values())
    kills = Counter(cluster.kills)
    kills.subtract(kills_before)
    return Outcome(plan, history, findings, +kills, resumed, loop.time() - began)


async def _peace(world: World, nemesis: asyncio.Task[None], over: asyncio.Event) -> None:
    """End the faults when time is up, so that clients get the answers they still wait for."""
    await asyncio.sleep(max(0.0, world.deadline - asyncio.get_running_loop().time()))
    over.set()
    await nemesis


async def _check(
    cluster: Cluster, world: World, owners: list[int], watches: dict[int, Watching], devices: list[Offline]
) -> Findings:
    history = world.history
    await cluster.recovered()
    for device in devices:
        await device.sync()
    ends = {}
    client = world.client(1, "")
    try:
        for owner in owners:
            user = world.user(owner)
            ends[user] = await read_end(client, cluster.database_url, user, history.ledgers[user], watches.get(owner))
    finally:
        await client.close()
    for device in devices:
        copy = await device.device.memories(statuses=EVERY_STATUS)
        replicas = dict(ends[device.user].replicas)
        replicas[device.name] = [one.memory for one in copy if one.memory is not None]
        ends[device.user].replicas = replicas
    for line in cluster.complaints():
        history.problem(f"a server's log: {line}")
    kept = await marks_kept(cluster.database_url, cluster.stack.redis_url, world.prefix)
    return check(history, ends.values(), kept)
