"""Nothing acknowledged is lost, doubled, invented or brought back while everything is killed (issue's suite).

The short form runs with all tests. The long form, `make test-robustness DURATION=600 SEED=7`, goes on in rounds, each
with owners of its own and a check at its end.
"""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from tests.robustness.cluster import Cluster
from tests.robustness.plan import Plan, make_plan
from tests.robustness.run import Outcome, run
from tests.robustness.shrink import shrink, story

DURATION = float(os.environ.get("DURATION") or 120)
SEED = int(os.environ.get("SEED") or 0)
HISTORIES = os.environ.get("HISTORIES", "")
SHORT_SECONDS = 9.0
ROUND_SECONDS = 120.0


async def explain(cluster: Cluster, outcome: Outcome, folder: Path, seconds: float) -> str:
    """The shortest failing history that is found in the time."""

    async def attempt(plan: Plan) -> Outcome:
        return await run(cluster, plan, folder, keep=True)

    shortest = await shrink(outcome, attempt, seconds)
    if shortest is outcome:
        return "not found again in a shorter run\n" + story(outcome)
    return story(shortest)


async def test_nothing_acknowledged_is_lost_while_everything_is_killed(two_servers: Cluster, tmp_path: Path):
    plan = make_plan(SEED or 1, seconds=SHORT_SECONDS, owners=2, importers=1, ops=500, pause=0.03, calm=0.7)
    outcome = await run(two_servers, replace(plan, batch=10), tmp_path, path=tmp_path / "history.jsonl", keep=True)
    assert outcome.history.acknowledged > 100
    assert outcome.findings.clean, await explain(two_servers, outcome, tmp_path, 20)


@pytest.mark.robustness
@pytest.mark.timeout(0)
async def test_long(two_servers: Cluster, tmp_path: Path):
    """For DURATION seconds; prints the account of every round and of all."""
    seed = SEED or time.time_ns() % 10**6
    began, number = time.monotonic(), 0
    total: Counter[str] = Counter()
    kills: Counter[str] = Counter()
    folder = Path(HISTORIES) if HISTORIES else tmp_path
    while number == 0 or time.monotonic() - began < DURATION:
        seconds = min(ROUND_SECONDS, max(10.0, DURATION - (time.monotonic() - began)))
        plan = make_plan(
            seed + number,
            seconds=seconds,
            owners=4,
            importers=8,
            ops=100_000,
            pause=0.2,
            calm=2.5,
            batch=100,
            kills_only=number % 3 != 2,
        )
        outcome = await run(two_servers, plan, tmp_path, path=folder / f"history-{seed + number}.jsonl")
        print(json.dumps(outcome.figures), flush=True)
        total.update({name: value for name, value in outcome.figures.items() if isinstance(value, int)})
        kills.update(outcome.kills)
        if not outcome.findings.clean:
            print(*outcome.findings.problems[:20], sep="\n", flush=True)
            pytest.fail(await explain(two_servers, outcome, tmp_path, 300))
        number += 1
    total.pop("seed")
    account = {"seed": seed, "rounds": number, "seconds": round(time.monotonic() - began)}
    print(json.dumps(account | dict(total) | {"kills": sum(kills.values()), "of": dict(kills)}), flush=True)
