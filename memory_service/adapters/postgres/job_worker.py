"""One worker on the queue: pgqueuer's manager over a few connections of its own, until it stops or they break.

Its own connections, so that signs of life do not wait for requests, nor requests for jobs.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import asyncpg
from pgqueuer.adapters.drivers.asyncpg import AsyncpgPoolDriver
from pgqueuer.adapters.persistence.qb import QueryBuilderEnvironment, QueryQueueBuilder, QuerySchedulerBuilder
from pgqueuer.adapters.persistence.queries import Queries
from pgqueuer.core.executors import AbstractEntrypointExecutor, EntrypointExecutorParameters
from pgqueuer.core.qm import QueueManager
from pgqueuer.domain.errors import PgqException, RetryRequested
from pgqueuer.domain.models import Context, TracebackRecord
from pgqueuer.domain.models import Job as QueuedJob
from pydantic_core import from_json

from memory_service.adapters.postgres.errors import DRIVER_ERRORS, translated_error
from memory_service.adapters.postgres.settings import PostgresSettings
from memory_service.adapters.postgres.sql_jobs import NAMES, REPLACE_GIVEN_UP
from memory_service.domain.errors import Reason, Unavailable
from memory_service.domain.ids import OwnerKey, TenantId, UserId
from memory_service.ports.job_queue import Done, GiveUp, Job, JobHandler, Retry, Verdict, WorkSettings

_CONNECTIONS_MAX = 3
"""One listens; the others take jobs, write down what became of them, and give signs of life."""
_CLOSE_SECONDS_MAX = 5.0


class JobGivenUp(Exception):
    """What pgqueuer is told of a job that was given up: the reason and nothing else."""


async def work_on(
    settings: PostgresSettings, handlers: Mapping[str, JobHandler], how: WorkSettings, stopping: asyncio.Event
) -> None:
    """Work until `stopping`; see `JobQueue.work`."""
    if not handlers:
        await stopping.wait()
        return
    try:
        pool: Any = await _pool(settings)
    except DRIVER_ERRORS as error:
        raise translated_error(error) from error
    under_way: set[asyncio.Task[Any]] = set()
    try:
        await _run(_manager(pool, handlers, under_way), under_way, how, stopping)
    except PgqException as error:
        raise Unavailable(Reason.DATABASE_UNAVAILABLE, "the database no longer announces jobs") from error
    except DRIVER_ERRORS as error:
        raise translated_error(error) from error
    finally:
        with suppress(*DRIVER_ERRORS):
            async with asyncio.timeout(_CLOSE_SECONDS_MAX):
                await pool.close()
        pool.terminate()


async def _run(
    manager: QueueManager, under_way: set[asyncio.Task[Any]], how: WorkSettings, stopping: asyncio.Event
) -> None:
    async def pass_on() -> None:
        await stopping.wait()
        manager.shutdown.set()

    passing = asyncio.create_task(pass_on())
    working = asyncio.create_task(
        manager.run(
            dequeue_timeout=timedelta(seconds=how.poll_seconds),
            batch_size=max(1, how.concurrency // 2),
            max_concurrent_tasks=how.concurrency,
            shutdown_on_listener_failure=True,
            heartbeat_timeout=timedelta(seconds=how.takeover_seconds),
            log_aggregation_interval=timedelta(),
        )
    )
    try:
        await asyncio.shield(working)
    except asyncio.CancelledError:
        # pgqueuer would wait for the jobs under way, however long they take: they go back into the queue instead.
        manager.shutdown.set()
        for job in list(under_way):
            job.cancel()
        await asyncio.wait([working], timeout=_CLOSE_SECONDS_MAX)
        raise
    finally:
        for task in (passing, working):
            task.cancel()
        await asyncio.gather(passing, working, return_exceptions=True)


async def _pool(settings: PostgresSettings) -> Any:
    chosen = {
        "application_name": "memory-service jobs",
        "search_path": "memory_service, public",
        "timezone": "UTC",
        "jit": "off",
        "statement_timeout": str(round(settings.statement_timeout * 1000)),
        "lock_timeout": str(round(settings.lock_timeout * 1000)),
    }
    if settings.app_role:
        chosen["role"] = settings.app_role
    return await asyncpg.create_pool(
        dsn=settings.dsn,
        server_settings=chosen,
        min_size=1,
        max_size=_CONNECTIONS_MAX,
        timeout=settings.connect_timeout,
        command_timeout=settings.statement_timeout + _CLOSE_SECONDS_MAX,
    )


def _manager(pool: Any, handlers: Mapping[str, JobHandler], under_way: set[asyncio.Task[Any]]) -> QueueManager:
    queries = _Queries(
        AsyncpgPoolDriver(pool),
        qbe=QueryBuilderEnvironment(settings=NAMES),
        qbq=QueryQueueBuilder(settings=NAMES),
        qbs=QuerySchedulerBuilder(settings=NAMES),
    )
    manager = QueueManager(queries, channel=NAMES.channel)
    for name, handler in handlers.items():
        parameters = EntrypointExecutorParameters(concurrency_limit=0, func=_unused, on_failure="hold")
        manager.register_executor(name, _Executor(parameters, handler, queries, under_way))
    return manager


@dataclass
class _Queries(Queries):
    """pgqueuer's, except that a retry which cannot be written down is no failure of the job for good."""

    async def retry_job(self, job: QueuedJob, delay: timedelta, traceback_record: TracebackRecord | None) -> None:
        """Let the job wait again; with the database away it stays as it is, to be taken over later."""
        with suppress(*DRIVER_ERRORS):
            await super().retry_job(job, delay, traceback_record)


async def _unused(_: QueuedJob) -> None:
    """pgqueuer wants a function beside the executor that calls the handler."""


@dataclass
class _Executor(AbstractEntrypointExecutor):
    """Does what the handler's verdict says, in pgqueuer's terms."""

    handler: JobHandler
    queries: Queries
    under_way: set[asyncio.Task[Any]]

    async def execute(self, job: QueuedJob, context: Context) -> None:  # noqa: ARG002 - pgqueuer's signature
        """Run the handler once."""
        task = asyncio.current_task()
        assert task is not None
        self.under_way.add(task)
        try:
            verdict = await self._verdict(job)
        except asyncio.CancelledError:
            # Let through, it would tell pgqueuer to drop the job.
            verdict = Retry(timedelta(), "STOPPED")
        finally:
            self.under_way.discard(task)
        match verdict:
            case Done():
                return
            case Retry(delay, reason):
                raise RetryRequested(delay=delay, reason=reason)
            case GiveUp(reason):
                await self.queries.driver.execute(REPLACE_GIVEN_UP, job.id)
                raise JobGivenUp(reason)

    async def _verdict(self, job: QueuedJob) -> Verdict:
        headers = job.headers or {}
        owner = OwnerKey(TenantId(str(headers.get("tenant", ""))), UserId(str(headers.get("user", ""))))
        data = from_json(job.payload) if job.payload else {}
        try:
            return await self.handler(Job(job.id, str(job.entrypoint), owner, data, job.attempts))
        except Exception as error:  # noqa: BLE001 - the contract: a defect of a handler is no reason to stop working
            return GiveUp(type(error).__name__)
