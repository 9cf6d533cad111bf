"""Times as whole microseconds since 1970, the form in which columns hold and compare them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)

NEVER_BEFORE: Final = -(2**62)
"""Stands for an open beginning: earlier than any time."""

NEVER_AFTER: Final = 2**62
"""Stands for an open end: later than any time."""


def microseconds(at: datetime) -> int:
    """`at` (timezone-aware) as microseconds since 1970-01-01 UTC; exact."""
    return (at - _EPOCH) // _MICROSECOND


def from_microseconds(value: int) -> datetime:
    """The UTC time that is `value` microseconds after 1970-01-01."""
    return _EPOCH + timedelta(microseconds=value)


def optional_microseconds(at: datetime | None, absent: int) -> int:
    """As `microseconds`, with `absent` for None."""
    return absent if at is None else (at - _EPOCH) // _MICROSECOND
