"""Workers that are killed with SIGKILL, in processes forked from this one; run by `test_workers.py`.

killed_worker.py DSN every-statement     each is killed before its n-th statement: n = 1, 2, … until one gets through
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
from datetime import timedelta
from typing import Any

import asyncpg.connection

from memory_service.adapters.inmemory.clock import ManualClock
from memory_service.ports.job_queue import WorkSettings
from tests.jobs.deployment import HOUR, START, node, owner_with_candidates, tick_until_done

STATEMENTS_MAX = 200
ROUNDS = 3
AT_ONCE = 3
HOW = WorkSettings(concurrency=2, takeover_seconds=0.5, poll_seconds=0.1)


def kill_before_statement(number: int) -> None:
    """Let this process die before it sends its `number`-th statement, on whatever connection."""
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


async def one_owner(dsn: str, late: timedelta) -> None:
    """Plan, claim and do the upkeep of all owners there are."""
    clock = ManualClock(START + late)
    async with node(dsn, clock, how=HOW) as one:
        await one.schedule.tick()
        clock.advance(HOUR)
        one.worker.start()
        await tick_until_done(clock, [one])


async def new_owner(dsn: str) -> None:
    """One more owner with work to do."""
    async with node(dsn, ManualClock(START)) as one:
        await owner_with_candidates(one.backend.memories, 4)


async def for_ever(dsn: str) -> None:
    """Work until killed."""
    async with node(dsn, ManualClock(START), how=HOW) as one:
        one.worker.start()
        await asyncio.Event().wait()


def forked(work: Callable[[], Coroutine[Any, Any, None]], prepare: Callable[[], None] = lambda: None) -> int:
    """Run `work` in a process of its own; its id."""
    child = os.fork()
    if child:
        return child
    prepare()
    asyncio.run(work())
    os._exit(0)


def every_statement(dsn: str) -> int:
    """How many workers were killed before one got through."""
    os.waitpid(forked(lambda: new_owner(dsn)), 0)
    for number in range(1, STATEMENTS_MAX):
        # Two hours on each time, so that what the one before had claimed and lost is due again.
        late = number * 2 * HOUR
        child = forked(lambda late=late: one_owner(dsn, late), lambda number=number: kill_before_statement(number))  # type: ignore[misc]
        _, status = os.waitpid(child, 0)
        if not os.WIFSIGNALED(status):
            assert os.waitstatus_to_exitcode(status) == 0
            return number - 1
        os.waitpid(forked(lambda: new_owner(dsn)), 0)
    raise AssertionError("no worker got through")


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
