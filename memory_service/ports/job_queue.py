"""The port to work off the request path: a durable queue of jobs, each for one owner (P2, E14).

Contract, for every backend (held by the suite in `tests/contracts/test_job_queue.py`):

* **At least once.** A job that was enqueued is handed to a handler until one answers `Done`, or `GiveUp`. It may be
  handed out again although it was done (its worker died before that was written down), so handlers are idempotent.
* **One at a time, while its worker lives.** A running job is handed to nobody else until its worker has given no
  sign of life for `takeover_seconds`; being taken over counts as an attempt. A worker that only seemed dead may go
  on beside the new one: what must not happen at the same time is serialised elsewhere (by the owner's lock).
* **In a change or alone.** `enqueue` commits by itself; `Changeset.jobs` commits with the change.
* **Order.** Greater priority first, then the older; nothing waits for a job that waits for its delay or retry.
* **Bounded.** At most one job of an owner, a name and a key waits or runs; of those given up the newest of each is
  kept.
* **Errors.** `Unavailable(DATABASE_UNAVAILABLE)` when the backend is away. What runs then is handed out again later.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Protocol

from memory_service.domain.ids import OwnerKey, TenantId
from memory_service.domain.records import JobRequest

__all__ = [
    "Done",
    "GiveUp",
    "GivenUpJob",
    "Job",
    "JobHandler",
    "JobQueue",
    "JobRequest",
    "JobTotals",
    "QueueState",
    "Retry",
    "Verdict",
    "WorkSettings",
    "WorkerReport",
]


@dataclass(frozen=True, slots=True)
class Job:
    """A job handed to a worker; `attempt` counts failures and lost workers before this time, from 0."""

    id: int
    name: str
    owner: OwnerKey
    data: Mapping[str, object]
    attempt: int


@dataclass(frozen=True, slots=True)
class Done:
    """The work is done; the job goes."""


@dataclass(frozen=True, slots=True)
class Retry:
    """Try again after `delay`. `reason` is a word from a closed set or the name of an error, never text."""

    delay: timedelta
    reason: str


@dataclass(frozen=True, slots=True)
class GiveUp:
    """Keep the job aside until a person looks at it."""

    reason: str


Verdict = Done | Retry | GiveUp
JobHandler = Callable[[Job], Awaitable[Verdict]]
"""Does one job. Must not raise: what it raises all the same is taken as `GiveUp` with the error's name."""


@dataclass(frozen=True, slots=True)
class WorkSettings:
    """How a process works on the queue.

    Attributes:
        concurrency: jobs at once, at least 2.
        takeover_seconds: silence after which a worker counts as dead and its jobs are handed to others.
        poll_seconds: how often to look although nothing was announced.
    """

    concurrency: int = 4
    takeover_seconds: float = 30.0
    poll_seconds: float = 10.0


@dataclass(frozen=True, slots=True)
class QueueState:
    """The jobs of one name: how many wait, run and were given up, and how long the oldest has waited (0 for none)."""

    name: str
    waiting: int = 0
    running: int = 0
    given_up: int = 0
    oldest_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class GivenUpJob:
    """A job that was given up, and why."""

    id: int
    name: str
    owner: OwnerKey
    attempts: int
    reason: str
    at: datetime


@dataclass(frozen=True, slots=True)
class JobTotals:
    """What became of the jobs of one name; `changed` is what they say they changed."""

    name: str
    done: int = 0
    changed: int = 0
    retried: int = 0
    given_up: int = 0
    last_run_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class WorkerReport:
    """A worker's sign of life, and what it did since the one before."""

    worker: uuid.UUID
    started_at: datetime
    at: datetime
    totals: Sequence[JobTotals] = field(default_factory=list)


class JobQueue(Protocol):
    """The queue of a deployment; see the module's contract."""

    async def enqueue(self, owner: OwnerKey, *requests: JobRequest) -> int:
        """Add jobs; how many are new (the rest waits or runs already)."""
        ...

    async def work(self, handlers: Mapping[str, JobHandler], settings: WorkSettings, stopping: asyncio.Event) -> None:
        """Hand jobs of these names to their handlers until `stopping` is set and those under way are done.

        Cancelled, it stops those under way; they wait again.

        Raises:
            Unavailable: the backend went away; call again. Handlers under way were waited for.
        """
        ...

    async def waiting(self, names: Sequence[str], *, at_most: int) -> int:
        """How many jobs of these names wait, counted up to `at_most`."""
        ...

    async def states(self) -> Sequence[QueueState]:
        """The queue by name of job, for every name that has any, in order of name."""
        ...

    async def given_up(self, tenant: TenantId, *, limit: int) -> Sequence[GivenUpJob]:
        """Jobs of this tenant's owners that were given up, newest first."""
        ...

    async def requeue(self, tenant: TenantId, ids: Sequence[int]) -> int:
        """Let jobs that were given up wait again, with all attempts; how many there were of this tenant.

        One whose work waits or runs already in another job is dropped, and counted.
        """
        ...

    async def report(self, report: WorkerReport) -> None:
        """Write down a worker's sign of life and add its totals to those of all; let go what is too old to matter."""
        ...

    async def totals(self) -> Sequence[JobTotals]:
        """What was done so far, by name of job; the last seconds of a killed worker are missing."""
        ...

    async def workers(self, seen_since: datetime) -> int:
        """How many workers gave a sign of life since then."""
        ...
