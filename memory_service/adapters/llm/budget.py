"""What may be spent on a language model."""

from __future__ import annotations

from datetime import UTC, date

from memory_service.ports.clock import Clock


class Budget:
    """Tokens this process may spend on one day (UTC).

    A call is paid for before it is made, at the most it can cost. What it cost less is given back when the answer
    says so; a call that fails has cost all of it, since nobody knows.
    """

    def __init__(self, clock: Clock, tokens_per_day_max: int) -> None:
        self._clock, self._most = clock, tokens_per_day_max
        self._day: date | None = None
        self._spent = 0

    @property
    def spent(self) -> int:
        """Tokens spent today."""
        self._turn()
        return self._spent

    def take(self, tokens: int) -> bool:
        """Spend so many; False, and nothing spent, when that is more than is left."""
        self._turn()
        if self._spent + tokens > self._most:
            return False
        self._spent += tokens
        return True

    def give_back(self, tokens: int) -> None:
        """Take back what was not used after all."""
        self._turn()
        self._spent = max(0, self._spent - max(0, tokens))

    def _turn(self) -> None:
        today = self._clock.now().astimezone(UTC).date()
        if today != self._day:
            self._day, self._spent = today, 0
