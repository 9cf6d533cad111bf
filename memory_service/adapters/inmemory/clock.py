"""Clocks and id sources: the system's, and ones that tests and simulations steer."""

from __future__ import annotations

import random
import time
import uuid
from datetime import UTC, datetime, timedelta

from memory_service.adapters.inmemory.values import utc


class SystemClock:
    """The machine's time. `now()` never goes backwards in a process, even when the machine's clock does."""

    def __init__(self) -> None:
        self._latest = datetime.now(UTC)

    def now(self) -> datetime:
        """Current time, UTC."""
        self._latest = max(self._latest, datetime.now(UTC))
        return self._latest

    def monotonic(self) -> float:
        """Seconds from an arbitrary origin."""
        return time.monotonic()


class ManualClock:
    """Time that moves only when told."""

    def __init__(self, start: datetime = datetime(2026, 1, 1, tzinfo=UTC)) -> None:
        self._now = utc(start)
        self._monotonic = 0.0

    def now(self) -> datetime:
        """The time reached so far, UTC."""
        return self._now

    def monotonic(self) -> float:
        """Seconds advanced so far."""
        return self._monotonic

    def advance(self, by: timedelta) -> None:
        """Move both clocks forward. Raises ValueError for a negative step: time never goes backwards."""
        if by < timedelta():
            raise ValueError("time never goes backwards")
        self._now += by
        self._monotonic += by.total_seconds()


class RandomIds:
    """Unguessable ids from the operating system's randomness."""

    def new(self) -> uuid.UUID:
        """A fresh version-4 UUID."""
        return uuid.uuid4()


class SeededIds:
    """The same ids for the same seed; for tests and simulations only, since they can be guessed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)  # noqa: S311 - repeatable is the point

    def new(self) -> uuid.UUID:
        """The next version-4 UUID of the seed."""
        return uuid.UUID(int=self._random.getrandbits(128), version=4)
