"""Runs background work at intervals inside a server, one run at a time, until told to stop."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import structlog

from memory_service.domain.errors import MemoryServiceError

_log = structlog.get_logger("memory_service.jobs")
_BACKOFF_FACTOR_MAX = 30


class Periodic:
    """Calls `work` every `seconds`, waiting longer after failures. A failed run is logged and tried again."""

    def __init__(self, name: str, seconds: float, work: Callable[[], Awaitable[object]]) -> None:
        self._name = name
        self._seconds = seconds
        self._work = work
        self._stop = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin; the task is kept until `stop`."""
        self._task = asyncio.create_task(self._run(), name=f"periodic-{self._name}")

    async def stop(self) -> None:
        """End after the run under way. Idempotent."""
        self._stop.set()
        if self._task is not None:
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None

    async def _run(self) -> None:
        failures = 0
        while not self._stop.is_set():
            try:
                await asyncio.wait_for(self._stop.wait(), self._seconds * min(1 + failures, _BACKOFF_FACTOR_MAX))
                return
            except TimeoutError:
                pass
            try:
                await self._work()
                failures = 0
            except MemoryServiceError as error:
                failures += 1
                _log.warning("job failed", job=self._name, reason=error.reason.value, failures=failures)
