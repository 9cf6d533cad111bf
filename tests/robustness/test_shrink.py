"""A failing plan becomes a short one that still fails, in bounded time, and its story is told."""

from __future__ import annotations

import time

from tests.robustness.checker import Findings
from tests.robustness.history import History
from tests.robustness.plan import Op, Plan, make_plan
from tests.robustness.run import Outcome
from tests.robustness.shrink import candidates, shrink, story


def outcome(plan: Plan, *, fails: bool) -> Outcome:
    findings = Findings()
    findings.add("lost", "ann: a statement", int(fails))
    history = History(keep=True)
    history.note("ann/device0", "ask", kind="assert")
    return Outcome(plan, history, findings)


def has(plan: Plan, *wanted: tuple[int, Op]) -> bool:
    there = {(script.owner, op) for script in plan.scripts for op in script.ops}
    return set(wanted) <= there


async def test_two_operations_that_fail_together_are_found_among_hundreds():
    plan = make_plan(3, seconds=9, owners=2, importers=1, ops=40, pause=0, calm=1)
    first, second = plan.scripts[0].ops[7], plan.scripts[4].ops[31]
    guilty = (plan.scripts[0].owner, first), (plan.scripts[4].owner, second)
    tried = 0

    async def attempt(candidate: Plan) -> Outcome:
        nonlocal tried
        tried += 1
        return outcome(candidate, fails=has(candidate, *guilty))

    shortest = await shrink(outcome(plan, fails=True), attempt, 30)
    assert shortest.plan.size == 2
    assert shortest.plan.faults == ()
    assert has(shortest.plan, *guilty)
    assert tried < 1_000
    assert "seed 3; 2 operations" in story(shortest)
    assert "lost: ann: a statement" in story(shortest)


async def test_a_failure_that_needs_its_faults_keeps_them():
    plan = make_plan(4, seconds=9, owners=1, importers=0, ops=8, pause=0, calm=1)

    async def attempt(candidate: Plan) -> Outcome:
        return outcome(candidate, fails=bool(candidate.faults))

    shortest = await shrink(outcome(plan, fails=True), attempt, 30)
    assert (shortest.plan.size, shortest.plan.faults) == (1, plan.faults)


async def test_time_ends_the_search_and_what_failed_first_is_kept():
    plan = make_plan(5, seconds=9, owners=1, importers=0, ops=8, pause=0, calm=1)

    async def attempt(candidate: Plan) -> Outcome:
        raise AssertionError("there was no time for this")

    failed = outcome(plan, fails=True)
    assert await shrink(failed, attempt, 0) is failed
    began = time.monotonic()

    async def passes(candidate: Plan) -> Outcome:
        return outcome(candidate, fails=False)

    assert await shrink(failed, passes, 5) is failed
    assert time.monotonic() - began < 5


def test_plans_are_the_seed_s_and_candidates_are_shorter():
    plan = make_plan(5, seconds=9, owners=2, importers=1, ops=30, pause=0, calm=1)
    assert plan == make_plan(5, seconds=9, owners=2, importers=1, ops=30, pause=0, calm=1)
    assert plan != make_plan(6, seconds=9, owners=2, importers=1, ops=30, pause=0, calm=1)
    for candidate in candidates(plan, 4):
        assert candidate.size < plan.size or len(candidate.faults) < len(plan.faults)
