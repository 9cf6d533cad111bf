"""Time and chance, injected so that tests and simulations can move them."""

from __future__ import annotations

import uuid
from datetime import datetime
from typing import Protocol


class Clock(Protocol):
    """The one source of the service's time.

    Contract: `now()` is timezone-aware UTC and never goes backwards within a process; `monotonic()` is
    seconds from an arbitrary origin, for durations only. No client's time ever stands in for either.
    """

    def now(self) -> datetime:
        """Current time, UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds for measuring durations."""
        ...


class Ids(Protocol):
    """Makes ids. Contract: ids of one process are unique; production ids are also unguessable."""

    def new(self) -> uuid.UUID:
        """A fresh id."""
        ...
