"""What breaks things, one after the other, while the clients work."""

from __future__ import annotations

import asyncio

from tests.robustness.cluster import Cluster
from tests.robustness.history import History
from tests.robustness.line import Line
from tests.robustness.plan import Fault


async def harm(cluster: Cluster, faults: tuple[Fault, ...], history: History, over: asyncio.Event) -> None:
    """Do what the plan says until `over` is set. Whatever is begun is mended before the next begins."""
    for fault in faults:
        try:
            await asyncio.wait_for(over.wait(), fault.after_seconds)
            return
        except TimeoutError:
            pass
        history.note("nemesis", "begin", fault=fault.what, strength=round(fault.strength, 3))
        await _break(cluster, fault)
        history.note("nemesis", "end", fault=fault.what)
    await over.wait()


async def _break(cluster: Cluster, fault: Fault) -> None:
    verb, what = fault.what.split()
    if verb == "kill":
        await cluster.kill(what)
    elif verb == "freeze":
        await cluster.freeze(what, 0.2 + fault.strength)
    else:
        line = cluster.cache_line if what == "cache" else cluster.lines[int(what)]
        assert line is not None
        await _disturb(line, verb, fault.strength)


async def _disturb(line: Line, verb: str, strength: float) -> None:
    if verb == "cut":
        line.passing = False
        line.cut()
        await asyncio.sleep(strength)
        line.passing = True
    elif verb == "half":
        for _ in range(4):
            line.cut_after(int(strength * 3_000) + 1)
            await asyncio.sleep(0.1)
    elif verb == "slow":
        line.delay_seconds = 0.02 + strength / 5
        await asyncio.sleep(0.3 + strength)
        line.delay_seconds = 0.0
