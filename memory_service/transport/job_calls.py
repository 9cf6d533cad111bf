"""The part of AdminService about background work."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from google.protobuf.duration_pb2 import Duration

from memory_service.app.schedule import Schedule, ScheduledJob, StepRun
from memory_service.app.validation import check_count, check_list, check_name
from memory_service.domain import limits
from memory_service.ports.clock import Clock
from memory_service.ports.job_queue import GivenUpJob, JobQueue
from memory_service.transport.identity import Caller
from memory_service.transport.values import time_out
from memory_service.v1 import admin_service_pb2 as api

_FAILED_DEFAULT = 100


@dataclass(frozen=True, slots=True)
class JobCalls:
    """See `admin_service.proto` for what each call means. The caller is an admin already."""

    schedule: Schedule
    queue: JobQueue
    clock: Clock

    async def list_jobs(self) -> api.ListJobsResponse:
        """Every kind of job."""
        view = await self.schedule.view()
        return api.ListJobsResponse(
            jobs=[_kind_out(job) for job in view.jobs], workers=view.workers, now=time_out(self.clock.now())
        )

    async def run_upkeep(self, caller: Caller, request: api.RunUpkeepRequest) -> api.RunUpkeepResponse:
        """Run steps for one user."""
        owner = caller.owner(request.user)
        check_list(request.steps, "steps", limits.FILTER_VALUES_MAX)
        for index, name in enumerate(request.steps):
            check_name(name, f"steps[{index}]", required=True)
        return api.RunUpkeepResponse(
            runs=[_run_out(run) for run in await self.schedule.run_now(owner, list(request.steps))]
        )

    async def list_failed(self, caller: Caller, request: api.ListFailedJobsRequest) -> api.ListFailedJobsResponse:
        """Jobs of the caller's users that failed for good."""
        check_count(request.page_size, "page_size", minimum=0, maximum=limits.PAGE_SIZE_MAX)
        failed = await self._failed(caller, limits.PAGE_SIZE_MAX if caller.key.users else 0, request.page_size)
        return api.ListFailedJobsResponse(jobs=[_failed_out(job) for job in failed])

    async def requeue(self, caller: Caller, request: api.RequeueJobsRequest) -> api.RequeueJobsResponse:
        """Let failed jobs be tried again."""
        check_list(request.ids, "ids", limits.PAGE_SIZE_MAX)
        ids = list(dict.fromkeys(request.ids))
        if caller.key.users:
            own = {job.id for job in await self._failed(caller, limits.PAGE_SIZE_MAX, limits.PAGE_SIZE_MAX)}
            ids = [number for number in ids if number in own]
        return api.RequeueJobsResponse(requeued=await self.queue.requeue(caller.key.tenant, ids) if ids else 0)

    async def _failed(self, caller: Caller, looked_at: int, page_size: int) -> list[GivenUpJob]:
        size = page_size or _FAILED_DEFAULT
        failed = await self.queue.given_up(caller.key.tenant, limit=max(size, looked_at))
        allowed = caller.key.users
        return [job for job in failed if not allowed or job.owner.user in allowed][:size]


def _duration(value: timedelta | None) -> Duration | None:
    if value is None:
        return None
    message = Duration()
    message.FromTimedelta(value)
    return message


def _kind_out(job: ScheduledJob) -> api.JobKind:
    return api.JobKind(
        name=job.name,
        every=_duration(job.every),
        due=job.due,
        next_due_at=time_out(job.next_due_at),
        waiting=job.state.waiting,
        running=job.state.running,
        failed=job.state.given_up,
        oldest_waiting=_duration(timedelta(seconds=job.state.oldest_seconds)),
        last_run_at=time_out(job.totals.last_run_at),
        runs_done=job.totals.done,
        changed=job.totals.changed,
        retried=job.totals.retried,
        given_up=job.totals.given_up,
    )


def _run_out(run: StepRun) -> api.StepRun:
    error = run.error
    return api.StepRun(
        step=run.step,
        changed=run.changed,
        error_reason=error.reason.value if error else "",
        error_message=error.message if error else "",
    )


def _failed_out(job: GivenUpJob) -> api.FailedJob:
    return api.FailedJob(
        id=job.id,
        name=job.name,
        user=job.owner.user,
        attempts=job.attempts,
        reason=job.reason,
        failed_at=time_out(job.at),
    )
