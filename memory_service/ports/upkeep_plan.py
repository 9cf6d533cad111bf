"""The port to the plan of upkeep: which owner is worth a look by which step, and when (E14).

Contract, for every backend (held by the suite in `tests/contracts/test_upkeep_plan.py`). Every time is the caller's.

* **Found by looking.** `look` goes through all owners in order of id, a page a call, and begins anew at the end; it
  plans those that are new, changed since, or not yet planned for all `steps`: each step is then due within its
  interval. A change therefore costs its writer nothing, and nothing is lost when a process dies: the next round
  finds it.
* **Quiet owners are left alone.** After a run a step is due again after its interval, or after `QUIET_SHARE` of the
  time for which the owner has not changed, whichever is longer, at most `LONGEST`.
* **Claimed once.** `claim` enqueues what is due, longest due first, and moves it to `again_at` in the same commit:
  two who claim at once get different ones, and one whose job is lost is due again then. One whose job is waiting or
  running already is only moved by `STILL_THERE`.
* **Clocks may be wrong.** A time that cannot be (further off than any interval) is brought back by a `look`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from memory_service.domain.ids import OwnerKey

QUIET_SHARE = 0.05
"""Of an owner that has not changed for 100 days a step is due every 5 days: found at most 5 % late."""
LONGEST = timedelta(days=30)
"""An owner is looked at so often, however quiet (or at a step's own interval, if that is longer)."""
STILL_THERE = timedelta(minutes=1)
"""When to look again at what is due while its job is still there: it may be about to end."""
JOB_PREFIX = "upkeep."
"""Jobs of upkeep are named by it and the step."""


@dataclass(frozen=True, slots=True)
class StepInterval:
    """One step of upkeep as it is planned."""

    name: str
    every: timedelta

    @property
    def job(self) -> str:
        """The name of its jobs."""
        return JOB_PREFIX + self.name


@dataclass(frozen=True, slots=True)
class Looked:
    """What a `look` did: owners looked at, of those planned anew."""

    owners: int
    planned: int


@dataclass(frozen=True, slots=True)
class StepDue:
    """How one step stands: owners that are due (counted up to a bound) and when the first one is or was."""

    step: str
    due: int
    next_due_at: datetime | None


class UpkeepPlan(Protocol):
    """When each owner is worth a look; see the module's contract."""

    async def look(
        self, steps: Sequence[StepInterval], at: datetime, *, owners_max: int, pace: timedelta = timedelta()
    ) -> Looked | None:
        """Look at the next page of owners; None when another process is looking, or did so less than `pace` ago.

        The pace is kept by the backend's own clock, so that many processes look no faster than one.
        """
        ...

    async def claim(self, steps: Sequence[StepInterval], at: datetime, *, limit: int, again_at: datetime) -> int:
        """Enqueue jobs for up to `limit` of what is due; how many jobs are new."""
        ...

    async def ran(
        self, owner: OwnerKey, step: StepInterval, at: datetime, *, again_at: datetime | None = None
    ) -> datetime | None:
        """A step was run: when it is due next; None for an owner without history.

        With `again_at` it is due then, and not before, whatever the owner changes meanwhile.
        """
        ...

    async def due(self, steps: Sequence[StepInterval], at: datetime, *, count_max: int) -> Sequence[StepDue]:
        """How each step stands, in the given order."""
        ...
