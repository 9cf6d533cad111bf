"""A watch of one owner from its first change to its last, over however many streams that takes."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from memory_service.client import AsyncMemoryClient, MemoryClientError, WatchEvent
from tests.robustness.history import History
from tests.robustness.traffic import World

Told = tuple[str, str, int]
"""Memory, event, version."""


@dataclass(slots=True)
class Watching:
    """Collects what one watch tells; `resumed` counts its breaks."""

    user: str
    told: list[Told] = field(default_factory=list)
    resumed: int = 0
    task: asyncio.Task[None] | None = None

    def start(self, world: World, place: int) -> None:
        self.task = asyncio.create_task(self._run(world.client(place, self.user), world.history))

    async def _run(self, client: AsyncMemoryClient, history: History) -> None:
        def interrupted(error: MemoryClientError) -> None:
            self.resumed += 1
            history.failed(f"watch of {self.user}", error)

        try:
            async with client.watch(
                from_start=True, checkpoint_seconds=1.0, on_interruption=interrupted, timeout_seconds=60
            ) as watch:
                async for told in watch:
                    if isinstance(told, WatchEvent):
                        self.told.append((told.memory_id, told.event.event, told.event.version))
        except MemoryClientError as error:
            history.problem(f"the watch of {self.user} ended: {error!r}")
        finally:
            await client.close()

    async def reached(self, count: int, seconds: float = 30.0) -> None:
        """Wait until so many events were told, at most so long."""
        deadline = asyncio.get_running_loop().time() + seconds
        while len(self.told) < count and asyncio.get_running_loop().time() < deadline:  # noqa: ASYNC110 - bounded
            await asyncio.sleep(0.05)

    async def stop(self) -> None:
        if self.task is not None:
            self.task.cancel()
            await asyncio.wait({self.task})
