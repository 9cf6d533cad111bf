"""What a memory is, told of one moment: whether its claim holds then, held before, or never did (P10, E17)."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from memory_service.domain.memory import MemoryVersion, Status


class Standing(StrEnum):
    """What the claim of a memory is at the time that was asked about.

    `superseded` was true and another value took its place; `past` is over by itself (an appointment, a wish for the
    moment, a period that ended); `wrong` was never true; `upcoming` does not hold yet; `yielded` stands, but another
    value of its slot speaks for it.
    """

    CURRENT = "current"
    UPCOMING = "upcoming"
    PAST = "past"
    SUPERSEDED = "superseded"
    WRONG = "wrong"
    YIELDED = "yielded"


def standing_at(version: MemoryVersion, at: datetime, *, replaced: bool = False, asked: bool = False) -> Standing:
    """What a version is at `at`.

    Args:
        version: the version believed at the time that is asked about.
        at: the moment in the world.
        replaced: whether another memory is known to have taken its place.
        asked: `at` was asked for, and is not just now: a superseded value that held then was current then.
    """
    window = version.window
    if version.status is Status.RETRACTED:
        return Standing.WRONG
    replaced = replaced or version.status is Status.SUPERSEDED
    if window.over(at) or window.empty or (version.status is Status.SUPERSEDED and not asked):
        return Standing.SUPERSEDED if replaced else Standing.PAST
    if version.status is Status.YIELDED:
        return Standing.YIELDED
    if version.expires_at is not None and version.expires_at <= at:
        return Standing.PAST
    return Standing.UPCOMING if window.ahead(at) else Standing.CURRENT
