"""A circuit breaker: once the server counts as away, calls fail at once instead of each waiting its time-out."""

from __future__ import annotations

from memory_service.ports.clock import Clock


class CircuitBreaker:
    """Counts failures in a row.

    Closed: every call may go. After `failures_max` failures in a row it opens: none may go for `away_seconds`.
    Then one call may try; its success closes the breaker, anything else leaves it open for as long again.
    """

    def __init__(self, clock: Clock, *, failures_max: int, away_seconds: float) -> None:
        self._clock = clock
        self._failures_max = failures_max
        self._away_seconds = away_seconds
        self._failures = 0
        self._retry_at = 0.0

    @property
    def is_open(self) -> bool:
        """Whether the server counts as away."""
        return self._failures >= self._failures_max

    def allows(self) -> bool:
        """Whether a call may go now. A True while open makes the caller the one that tries."""
        if not self.is_open:
            return True
        now = self._clock.monotonic()
        if now < self._retry_at:
            return False
        # The trial may be cancelled and never report; so the next one is allowed by time, not by its answer.
        self._retry_at = now + self._away_seconds
        return True

    def succeeded(self) -> None:
        """Told after a call that was answered."""
        self._failures = 0

    def failed(self) -> None:
        """Told after a call that was not."""
        self._failures += 1
        if self.is_open:
            self._retry_at = self._clock.monotonic() + self._away_seconds
