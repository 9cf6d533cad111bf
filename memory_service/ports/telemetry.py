"""The port through which the inner layers report what they do."""

from __future__ import annotations

from typing import Protocol


class Telemetry(Protocol):
    """Counts and times. Names and label values come from closed sets; never a tenant, a user or text (B10).

    Contract: calls are cheap (microseconds), never block and never raise.
    """

    def count(self, name: str, amount: int = 1, **labels: str) -> None:
        """Add to a counter."""
        ...

    def observe(self, name: str, seconds: float, **labels: str) -> None:
        """Record a duration."""
        ...

    def gauge(self, name: str, value: float, **labels: str) -> None:
        """Set a gauge."""
        ...
