"""Workers that are killed with SIGKILL, in processes forked from this one; run by `test_workers.py`.

killed_worker.py DSN every-statement     each is killed before its n-th statement: n = 1 … 28
killed_worker.py DSN random SEED         each is killed after a random time, three at once
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sys
import time
from collections.abc import Callable, Coroutine
from typing import Any

import asyncpg.connection
from pgqueuer.core.qm import QueueManager

from memory_service.adapters.inmemory.clock import ManualClock
from memory_service.domain.ids import OwnerKey
from memory_service.ports.job_queue import WorkSettings
from tests.jobs.deployment import HOUR, START, Promote, node, owner_with_candidates

STATEMENTS = 28
ROUNDS = 3
AT_ONCE = 3
HOW = WorkSettings(concurrency=2, takeover_seconds=0.5, poll_seconds=0.1)


async def _known_to_be_there(self: QueueManager) -> None:
    """In place of a dozen statements by which pgqueuer makes sure of its tables."""


QueueManager.verify_structure = _known_to_be_there  # type: ignore[method-assign]


def kill_before_statement(number: int) -> None:
    """Let this process die before it sends its `number`-th statement from now on, on whatever connection."""
    sent = 0
    connection: Any = asyncpg.connection.Connection
    for name in ("fetch", "fetchval", "fetchrow", "execute"):
        original = getattr(connection, name)

        async def counted(self: Any, *arguments: Any, _original: Any = original, **named: Any) -> Any:
            nonlocal sent
            sent += 1
            if sent == number:
                os.kill(os.getpid(), signal.SIGKILL)
            return await _original(self, *arguments, **named)

        setattr(connection, name, counted)


async def one_owner(dsn: str, number: int) -> None:
    """Make an owner with work to do; plan, claim and do it; die before the `number`-th statement of that."""
    # Two hours on each time, so that what the one before had claimed and lost is due again.
    clock = ManualClock(START + number * 2 * HOUR)
    async with node(dsn, clock, how=HOW) as one:
        owner = await owner_with_candidates(one.backend.memories, 4)
        kill_before_statement(number)
        # The one before may have died while looking, which PostgreSQL has not noticed yet.
        while await one.backend.upkeep.look(one.schedule.steps, clock.now(), owners_max=1_000) is None:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        clock.advance(HOUR)
        await one.schedule.tick()
        one.worker.start()
        await wait_for_the_last_run(one.schedule.upkeep.steps[0], owner)  # type: ignore[arg-type]


async def wait_for_the_last_run(step: Promote, owner: OwnerKey) -> None:
    """Return a moment after a step found nothing more to do for `owner`: its job is written off by then."""
    while step.runs.count(owner) < 3:  # noqa: ASYNC110 - four candidates in batches of three, then none
        await asyncio.sleep(0.01)
    await asyncio.sleep(0.3)


async def for_ever(dsn: str) -> None:
    """Work until killed."""
    async with node(dsn, ManualClock(START), how=HOW) as one:
        one.worker.start()
        await asyncio.Event().wait()


def forked(work: Callable[[], Coroutine[Any, Any, None]]) -> int:
    """Run `work` in a process of its own; its id."""
    child = os.fork()
    if child:
        return child
    asyncio.run(work())
    os._exit(0)


def every_statement(dsn: str) -> int:
    """How many workers were killed; the last statements are those of the second job that runs at the same time."""
    killed = 0
    for number in range(1, STATEMENTS + 1):
        _, status = os.waitpid(forked(lambda number=number: one_owner(dsn, number)), 0)  # type: ignore[misc]
        killed += os.WIFSIGNALED(status)
    return killed


def at_random(dsn: str, seed: str) -> int:
    """How many workers were killed."""
    chance = random.Random(seed)
    killed = 0
    for _ in range(ROUNDS):
        children = [forked(lambda: for_ever(dsn)) for _ in range(AT_ONCE)]
        for child in children:
            time.sleep(chance.uniform(0.1, 0.35))
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            killed += 1
    return killed


if __name__ == "__main__":
    mode = sys.argv[2]
    print(
        "killed", every_statement(sys.argv[1]) if mode == "every-statement" else at_random(sys.argv[1], sys.argv[3])
    )
