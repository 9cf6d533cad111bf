"""Work that a call leaves behind, held and bounded."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine


class Background:
    """Runs coroutines that nobody waits for. They must deal with their own expected failures."""

    def __init__(self, tasks_max: int) -> None:
        self._tasks_max = tasks_max
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, work: Coroutine[None, None, None]) -> bool:
        """Run `work`; False, leaving it undone, when as much as allowed is running already."""
        if len(self._tasks) >= self._tasks_max:
            work.close()
            return False
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return True

    async def settle(self) -> None:
        """Wait until all that runs now is done. Raises what any of it raised."""
        await asyncio.gather(*self._tasks)

    async def close(self) -> None:
        """Cancel what still runs and wait for it."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
