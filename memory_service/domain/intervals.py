"""Stretches of valid time, and what a statement about one stretch leaves of what held before (P10).

All are half-open: the start belongs to it, the end does not, so that a value and the one that follows it never
hold at the same moment and leave none out. A bound that is not given is open: always, or not yet ended.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Window:
    """When something holds: from `start` up to, and not including, `end`; None is open."""

    start: datetime | None = None
    end: datetime | None = None

    @property
    def empty(self) -> bool:
        """Whether it holds no moment."""
        return self.start is not None and self.end is not None and self.end <= self.start

    def holds(self, at: datetime) -> bool:
        """Whether `at` is in it."""
        return (self.start is None or self.start <= at) and (self.end is None or at < self.end)

    def over(self, at: datetime) -> bool:
        """Whether it has ended by `at`."""
        return self.end is not None and self.end <= at

    def ahead(self, at: datetime) -> bool:
        """Whether it begins after `at`."""
        return self.start is not None and self.start > at

    def overlaps(self, other: Window) -> bool:
        """Whether both hold at some moment. An empty one overlaps nothing."""
        if self.empty or other.empty:
            return False
        begins = self.start is None or other.end is None or self.start < other.end
        return begins and (other.start is None or self.end is None or other.start < self.end)

    def without(self, other: Window) -> tuple[Window | None, Window | None]:
        """What is left of it before and after `other`, None where nothing is."""
        if not self.overlaps(other):
            if self.empty:
                return None, None
            later = self.start is not None and other.end is not None and other.end <= self.start
            return (None, self) if later else (self, None)
        before = after = None
        if other.start is not None and (self.start is None or self.start < other.start):
            before = Window(self.start, other.start)
        if other.end is not None and (self.end is None or other.end < self.end):
            after = Window(other.end, self.end)
        return before, after


def concurrent(items: Sequence[_T], window: Callable[[_T], Window]) -> list[list[_T]]:
    """`items` in groups, so that whatever overlaps is in one group; in the order of their first members.

    Values of one slot in different groups hold at different times, and do not contradict each other.
    """
    groups: list[list[_T]] = []
    for item in items:
        mine = window(item)
        met = [group for group in groups if any(window(other).overlaps(mine) for other in group)]
        joined = [other for group in met for other in group]
        groups = [group for group in groups if group not in met] if len(met) > 1 else groups
        if len(met) == 1:
            met[0].append(item)
        elif met:
            groups.append([*joined, item])
        else:
            groups.append([item])
    return groups
