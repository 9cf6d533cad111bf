"""A service whose time is in our hands: it moves when told, and upkeep runs as the schedule would have it."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pytest

from memory_service.adapters.prometheus.telemetry import PrometheusTelemetry
from memory_service.app.upkeep import Upkeep
from memory_service.client import AsyncMemoryClient
from memory_service.config import EmbedderName, Settings
from memory_service.domain.ids import OwnerKey
from memory_service.timemachine import Journey, TimeMachine, time_machine

START = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)


@dataclass
class Counted:
    """A step that changes one memory each time, and remembers when it ran for whom."""

    machine: TimeMachine
    name: str
    every: timedelta
    ran: list[tuple[str, datetime]] = field(default_factory=list)

    async def __call__(self, owner: OwnerKey) -> int:
        self.ran.append((owner.user, self.machine.clock.now()))
        return 1


@pytest.fixture
async def machine() -> AsyncIterator[TimeMachine]:
    async with time_machine(START, Settings(embedder=EmbedderName.HASH), in_memory=True) as made:
        yield made


def steps(machine: TimeMachine) -> tuple[Counted, Counted]:
    hourly, weekly = Counted(machine, "hourly", HOUR), Counted(machine, "weekly", 7 * DAY)
    machine.application.upkeep = Upkeep((hourly, weekly), PrometheusTelemetry())
    return hourly, weekly


async def test_time_moves_only_when_told_and_never_back(machine: TimeMachine) -> None:
    async with AsyncMemoryClient(machine.target, machine.key, user="ann") as client:
        first = await client.write("I live in Bonn.")
        machine.move(START + 90 * DAY)
        machine.move(START)
        second = await client.write("I collect stamps.")
    assert first.memory is not None
    assert second.memory is not None
    assert first.memory.recorded_at == START
    assert second.memory.recorded_at == START + 90 * DAY


async def test_what_is_due_runs_day_by_day(machine: TimeMachine) -> None:
    hourly, weekly = steps(machine)
    journey = Journey(machine)
    assert await journey.to(START, "ann") == 0, "nothing is due when somebody comes on board"
    changed = await journey.to(START + 10 * DAY + HOUR, "ann")
    times = [at for _, at in hourly.ran]
    assert times == [*(START + n * DAY for n in range(1, 11)), START + 10 * DAY + HOUR]
    assert [at for _, at in weekly.ran] == [START + 7 * DAY, START + 10 * DAY + HOUR], (
        "by its own interval, and before somebody acts"
    )
    assert changed == len(hourly.ran) + len(weekly.ran)
    assert await journey.to(START + 10 * DAY + 1.5 * HOUR, "ann") == 0, "kept up half an hour ago"


async def test_everybody_on_board_is_kept_up(machine: TimeMachine) -> None:
    hourly, _ = steps(machine)
    journey = Journey(machine)
    await journey.to(START, "ann")
    await journey.to(START + HOUR, "ben")
    await journey.to(START + 2 * DAY + HOUR, "ben")
    assert Counter(user for user, _ in hourly.ran) == {"ann": 2, "ben": 3}
    journey.leave("ann")
    await journey.to(START + 4 * DAY, "ben")
    assert Counter(user for user, _ in hourly.ran)["ann"] == 2
