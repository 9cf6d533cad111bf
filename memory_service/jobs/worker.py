"""A worker: takes jobs off the queue as long as the process serves, through every absence of the database."""

from __future__ import annotations

import asyncio

import structlog

from memory_service.app.jobs import JobRunner
from memory_service.domain.errors import MemoryServiceError
from memory_service.ports.job_queue import JobQueue, WorkSettings

_log = structlog.get_logger("memory_service.jobs")
_RETRY_SECONDS_FIRST = 0.5
_RETRY_SECONDS_MAX = 15.0


class Worker:
    """`start`, then `stop`, which lets jobs under way end for a while; cut off, they are done again by others."""

    def __init__(
        self, queue: JobQueue, runner: JobRunner, settings: WorkSettings, stop_seconds_max: float = 10.0
    ) -> None:
        self._queue = queue
        self._runner = runner
        self._settings = settings
        self._stop_seconds_max = stop_seconds_max
        self._stopping = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin; the task is kept until `stop`."""
        self._task = asyncio.create_task(self._run(), name="worker")

    async def stop(self) -> None:
        """End after the jobs under way, or without them when they take too long. Idempotent."""
        self._stopping.set()
        if self._task is None:
            return
        _, late = await asyncio.wait([self._task], timeout=self._stop_seconds_max)
        for task in late:
            task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        self._task = None
        await self._report()

    async def _report(self) -> None:
        """At the beginning, to be seen at once, and at the end, so that nothing done goes unmentioned."""
        try:
            await self._runner.report()
        except MemoryServiceError as error:
            _log.warning("worker could not report", reason=error.reason.value)

    async def _run(self) -> None:
        await self._report()
        seconds = _RETRY_SECONDS_FIRST
        while not self._stopping.is_set():
            began = asyncio.get_running_loop().time()
            try:
                await self._queue.work(self._runner.handlers(), self._settings, self._stopping)
            except MemoryServiceError as error:
                _log.warning("worker waits", reason=error.reason.value, retry_seconds=seconds)
            except Exception:  # noqa: BLE001 - the last line of defence: a process must not stop working unnoticed
                _log.exception("worker failed unexpectedly", retry_seconds=seconds)
            if asyncio.get_running_loop().time() - began > _RETRY_SECONDS_MAX:
                seconds = _RETRY_SECONDS_FIRST
            try:
                await asyncio.wait_for(self._stopping.wait(), seconds)
            except TimeoutError:
                seconds = min(seconds * 2, _RETRY_SECONDS_MAX)
