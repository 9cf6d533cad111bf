"""Finds a shorter plan that still fails (delta debugging, Zeller and Hildebrandt, TSE 2002), in bounded time.

Processes are not deterministic: a plan that fails once may pass the next time. A candidate that passes is tried
once more before it is given up, and what is printed is a history that did fail.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from dataclasses import replace

from tests.robustness.plan import Op, Plan
from tests.robustness.run import Outcome

Try = Callable[[Plan], Awaitable[Outcome]]
TRIES_EACH = 2


async def shrink(failed: Outcome, attempt: Try, seconds: float) -> Outcome:
    """The failure with the fewest operations found within the time."""
    deadline = time.monotonic() + seconds
    best = failed

    async def fails(plan: Plan) -> Outcome | None:
        for _ in range(TRIES_EACH):
            if time.monotonic() < deadline:
                outcome = await attempt(plan)
                if not outcome.findings.clean:
                    return outcome
        return None

    parts = 2
    while best.plan.size > 1 and time.monotonic() < deadline:
        found = None
        for candidate in candidates(best.plan, parts):
            found = await fails(candidate)
            if found is not None or time.monotonic() >= deadline:
                break
        if found is not None:
            best, parts = found, max(parts - 1, 2)
        elif parts >= best.plan.size:
            break
        else:
            parts *= 2
    return best


def candidates(plan: Plan, parts: int) -> list[Plan]:
    """Plans with a part of the clients, of the operations or of the faults left out; whole owners first."""
    found: list[Plan] = []
    owners = sorted({script.owner for script in plan.scripts})
    if len(owners) > 1:
        found += [replace(plan, scripts=tuple(s for s in plan.scripts if s.owner == owner)) for owner in owners]
    if plan.faults:
        found.append(replace(plan, faults=()))
    flat = [(index, op) for index, script in enumerate(plan.scripts) for op in script.ops]
    size = max(1, len(flat) // parts)
    for start in range(0, len(flat), size):
        found.append(_with(plan, flat[:start] + flat[start + size :]))
    # One that waits for faults runs as long as its faults; without them it ends with its scripts.
    return [candidate for candidate in found if candidate.size > 0 and candidate != plan]


def _with(plan: Plan, flat: list[tuple[int, Op]]) -> Plan:
    scripts = [
        replace(script, ops=tuple(op for place, op in flat if place == index))
        for index, script in enumerate(plan.scripts)
    ]
    return replace(plan, scripts=tuple(scripts)).without_empty()


def story(outcome: Outcome, lines: int = 200) -> str:
    """What to print of a failure: the seed, what is wrong, and the history."""
    told = [f"seed {outcome.plan.seed}; {outcome.plan.size} operations of {len(outcome.plan.scripts)} clients"]
    told += [f"  {problem}" for problem in outcome.findings.problems[:20]]
    told.append("history:")
    told += [f"  {line}" for line in outcome.history.told[:lines]]
    if len(outcome.history.told) > lines:
        told.append(f"  … and {len(outcome.history.told) - lines} lines more")
    return "\n".join(told)
