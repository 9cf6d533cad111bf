"""`JobQueue` and `UpkeepPlan` on PostgreSQL, with pgqueuer."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta

from memory_service.adapters.postgres import sql_jobs
from memory_service.adapters.postgres.job_worker import work_on
from memory_service.adapters.postgres.session import Database
from memory_service.adapters.postgres.settings import PostgresSettings
from memory_service.domain.ids import OwnerKey, TenantId, UserId
from memory_service.ports.job_queue import (
    GivenUpJob,
    JobHandler,
    JobRequest,
    JobTotals,
    QueueState,
    WorkerReport,
    WorkSettings,
)
from memory_service.ports.upkeep_plan import LONGEST, QUIET_SHARE, STILL_THERE, Looked, StepDue, StepInterval

_FAILURES_KEPT = timedelta(days=7)
_GIVEN_UP_KEPT = timedelta(days=30)
_PRUNED_AT_ONCE = 1_000


def enqueue_parameters(requests: Iterable[tuple[OwnerKey, JobRequest]]) -> list[list[object]]:
    """The parameters of `sql_jobs.ENQUEUE`."""
    records = [
        (
            request.priority,
            request.name,
            json.dumps(dict(request.data)).encode(),
            request.delay,
            f"{request.name}/{owner.id}/{request.key}" if request.key else None,
            json.dumps({"tenant": owner.tenant, "user": owner.user}),
        )
        for owner, request in requests
    ]
    return [list(column) for column in zip(*records, strict=True)]


class PostgresJobQueue:
    """See `JobQueue`. Made by `PostgresBackend`; its workers bring their own few connections."""

    def __init__(self, settings: PostgresSettings, database: Database) -> None:
        self._settings = settings
        self._database = database

    async def enqueue(self, owner: OwnerKey, *requests: JobRequest) -> int:
        """Add jobs; how many are new."""
        if not requests:
            return 0
        parameters = enqueue_parameters((owner, request) for request in requests)
        return len(await self._database.fetch(sql_jobs.ENQUEUE, *parameters, repeatable=False))

    async def work(self, handlers: Mapping[str, JobHandler], settings: WorkSettings, stopping: asyncio.Event) -> None:
        """Hand jobs to their handlers until told to stop."""
        await work_on(self._settings, handlers, settings, stopping)

    async def waiting(self, names: Sequence[str], *, at_most: int) -> int:
        """How many jobs of these names wait, counted up to `at_most`."""
        found = await self._database.fetch(sql_jobs.WAITING, list(names), at_most)
        return int(found[0][0])

    async def states(self) -> Sequence[QueueState]:
        """The queue by name of job."""
        found = await self._database.fetch(sql_jobs.STATES)
        return [
            QueueState(
                r["entrypoint"], r["waiting"], r["running"], r["given_up"], max(0.0, r["oldest_seconds"] or 0.0)
            )
            for r in found
        ]

    async def given_up(self, tenant: TenantId, *, limit: int) -> Sequence[GivenUpJob]:
        """Jobs of this tenant's owners that were given up, newest first."""
        found = await self._database.fetch(sql_jobs.GIVEN_UP, tenant, limit)
        return [
            GivenUpJob(
                id=row["id"],
                name=row["entrypoint"],
                owner=OwnerKey(TenantId(row["tenant"]), UserId(row["user_id"])),
                attempts=row["attempts"],
                reason=row["reason"],
                at=row["updated"],
            )
            for row in found
        ]

    async def requeue(self, tenant: TenantId, ids: Sequence[int]) -> int:
        """Let jobs that were given up wait again."""
        found = await self._database.fetch(sql_jobs.REQUEUE, list(ids), tenant)
        # pgqueuer tells its workers of what is added and removed, not of what changes.
        await self._database.fetch(sql_jobs.WAKE, sql_jobs.NAMES.channel)
        return int(found[0][0])

    async def report(self, report: WorkerReport) -> None:
        """Write down a worker's sign of life and what it did."""
        totals = sorted(report.totals, key=lambda t: t.name)  # in one order, so that two workers cannot deadlock
        await self._database.fetch(
            sql_jobs.REPORT,
            report.worker,
            report.started_at,
            report.at,
            [t.name for t in totals],
            [t.done for t in totals],
            [t.changed for t in totals],
            [t.retried for t in totals],
            [t.given_up for t in totals],
            [t.last_run_at for t in totals],
            repeatable=False,
        )
        await self._database.fetch(sql_jobs.PRUNE, _FAILURES_KEPT, _GIVEN_UP_KEPT, _PRUNED_AT_ONCE)

    async def totals(self) -> Sequence[JobTotals]:
        """What was done so far, by name of job."""
        return [JobTotals(*row) for row in await self._database.fetch(sql_jobs.TOTALS)]

    async def workers(self, seen_since: datetime) -> int:
        """How many workers gave a sign of life since then."""
        found = await self._database.fetch(sql_jobs.WORKERS, seen_since)
        return int(found[0][0])


class PostgresUpkeepPlan:
    """See `UpkeepPlan`. Made by `PostgresBackend`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def look(
        self, steps: Sequence[StepInterval], at: datetime, *, owners_max: int, pace: timedelta = timedelta()
    ) -> Looked | None:
        """Look at the next page of owners."""
        ordered = sorted(steps, key=lambda step: step.name)
        names, every = [step.name for step in ordered], [step.every for step in ordered]
        found = await self._database.fetch(sql_jobs.LOOK, at, names, every, LONGEST, owners_max, pace)
        return Looked(found[0]["looked"], found[0]["planned"]) if found else None

    async def claim(self, steps: Sequence[StepInterval], at: datetime, *, limit: int, again_at: datetime) -> int:
        """Enqueue jobs for up to `limit` of what is due; how many jobs are new."""
        names = {step.name: step.job for step in steps}
        async with self._database.together() as rows:
            claimed = await rows(sql_jobs.CLAIM, at, list(names), limit, again_at, STILL_THERE)
            if not claimed:
                return 0
            due = [
                (
                    OwnerKey(TenantId(row["tenant"]), UserId(row["user_id"])),
                    JobRequest(names[row["step"]], key="due"),
                )
                for row in claimed
            ]
            return len(await rows(sql_jobs.ENQUEUE, *enqueue_parameters(due)))

    async def ran(
        self, owner: OwnerKey, step: StepInterval, at: datetime, *, again_at: datetime | None = None
    ) -> datetime | None:
        """A step was run: when it is due next."""
        found = await self._database.fetch(
            sql_jobs.RAN, owner.id, step.name, at, step.every, QUIET_SHARE, LONGEST, again_at
        )
        next_at: datetime | None = found[0][0]
        return next_at

    async def due(self, steps: Sequence[StepInterval], at: datetime, *, count_max: int) -> Sequence[StepDue]:
        """How each step stands."""
        found = await self._database.fetch(sql_jobs.DUE, at, [step.name for step in steps], count_max)
        by_step = {row["step"]: StepDue(row["step"], row["due"], row["next_due_at"]) for row in found}
        return [by_step[step.name] for step in steps]
