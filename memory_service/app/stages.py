"""Times the stages of one request and keeps its deadline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from memory_service.ports.clock import Clock
from memory_service.ports.telemetry import Telemetry


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage of a recall; `note` says why it did not run, or what it did."""

    name: str
    ran: bool
    seconds: float = 0.0
    note: str = ""


class Watch:
    """Times the stages of one recall and keeps its deadline."""

    def __init__(self, clock: Clock, telemetry: Telemetry, deadline_seconds: float | None) -> None:
        self._clock, self._telemetry = clock, telemetry
        self._ends = None if deadline_seconds is None else clock.monotonic() + deadline_seconds
        self.stages: list[Stage] = []

    def left(self) -> float | None:
        """Seconds left, None for no limit."""
        return None if self._ends is None else self._ends - self._clock.monotonic()

    def stage(self, name: str) -> TimedStage:
        """Times a stage; what is appended to the list given becomes its note."""
        return TimedStage(self, name)

    def now(self) -> float:
        """Seconds for measuring durations."""
        return self._clock.monotonic()

    def ran(self, name: str, seconds: float, notes: Sequence[str]) -> None:
        """A stage that ran."""
        self.stages.append(Stage(name, True, seconds, "; ".join(notes)))
        self._telemetry.observe("recall_stage_seconds", seconds, stage=name)

    def count(self, name: str, **labels: str) -> None:
        """Add one to a counter."""
        self._telemetry.count(name, 1, **labels)

    def skipped(self, name: str, note: str) -> None:
        """A stage that does not run."""
        self.stages.append(Stage(name, False, 0.0, note))


class TimedStage:
    """One running stage. (A class, since a generator would cost more than some stages take.)"""

    __slots__ = ("_name", "_notes", "_started", "_watch")

    def __init__(self, watch: Watch, name: str) -> None:
        self._watch, self._name = watch, name
        self._notes: list[str] = []

    def __enter__(self) -> list[str]:
        self._started = self._watch.now()
        return self._notes

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self._watch.ran(self._name, self._watch.now() - self._started, self._notes)
