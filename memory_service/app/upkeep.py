"""Upkeep: what the service does to an owner's memories by itself, as time passes (E5, E6, E14, P11, S9, C11).

Each step looks at one owner, stages what is due at the clock's present time, commits it like any other change, and
does nothing when nothing is due: a step may be run at any time, any number of times, by any number of workers, and
killed between any two statements.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol

from memory_service.domain.ids import OwnerKey
from memory_service.ports.telemetry import Telemetry


class UpkeepStep(Protocol):
    """One kind of work; see the module."""

    @property
    def name(self) -> str:
        """What it is called in schedules, metrics and journals."""
        ...

    @property
    def every(self) -> timedelta:
        """How often it is worth looking."""
        ...

    async def __call__(self, owner: OwnerKey) -> int:
        """Do what is due for `owner`, in bounded batches; how many memories changed.

        Raises:
            Unavailable: when the store is away; what was committed before stays, the rest is done the next time.
        """
        ...


@dataclass(frozen=True, slots=True)
class Upkeep:
    """All steps, in the order in which they run."""

    steps: Sequence[UpkeepStep]
    telemetry: Telemetry

    async def run(self, owner: OwnerKey, *names: str) -> dict[str, int]:
        """Run the named steps (all without names) for one owner; how many memories each changed."""
        done: dict[str, int] = {}
        for step in self.steps:
            if names and step.name not in names:
                continue
            done[step.name] = await step(owner)
            self.telemetry.count("upkeep_changes_total", done[step.name], step=step.name)
        return done
