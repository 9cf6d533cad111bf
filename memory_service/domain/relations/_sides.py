"""What the readers of either language find of a preference."""

from __future__ import annotations

from typing import Final, NamedTuple

ALL_OTHERS: Final = "*"
"""Stands for everything else, where a thing is set above all others."""


class Side(NamedTuple):
    """See `Preference`, which has the same fields."""

    likes: bool
    above: str
    what: str
