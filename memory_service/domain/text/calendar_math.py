"""Local calendar days and clock times as intervals of UTC.

All arithmetic on days happens on calendar dates and only the result is placed on the time line, so a day that
a clock change makes 23 or 25 hours long comes out that long.
"""

from __future__ import annotations

import calendar
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from enum import StrEnum
from typing import Final
from zoneinfo import ZoneInfo


class Granularity(StrEnum):
    """How precise a time expression is, finest first."""

    MINUTE = "minute"
    HOUR = "hour"
    DAY_PART = "day_part"
    DAY = "day"
    WEEKEND = "weekend"
    WEEK = "week"
    RANGE = "range"
    MONTH = "month"
    YEAR = "year"


FINENESS: Final = {granularity: rank for rank, granularity in enumerate(Granularity)}


@dataclass(frozen=True, slots=True)
class TimeSpan:
    """One time expression of a text, resolved.

    Attributes:
        start, end: UTC instants, `start < end`, the end excluded; a clock time is a minute or an hour long.
        text_span: code point offsets of the expression in the text, the end excluded.
        granularity: what the words were precise to.
        day_said: false for a clock time alone ("at 3 pm"), whose day is the statement's own or the next.
    """

    start: datetime
    end: datetime
    text_span: tuple[int, int]
    granularity: Granularity
    day_said: bool = True


@dataclass(frozen=True, slots=True)
class Days:
    """A run of local calendar days, the end excluded."""

    start: date
    end: date
    granularity: Granularity


DAY: Final = timedelta(days=1)


def one_day(day: date) -> Days:
    return Days(day, day + DAY, Granularity.DAY)


def week_of(day: date, offset: int = 0) -> Days:
    """The week, Monday first (ISO 8601), that is `offset` weeks from the one `day` is in."""
    monday = day - timedelta(days=day.weekday()) + timedelta(weeks=offset)
    return Days(monday, monday + timedelta(weeks=1), Granularity.WEEK)


def weekend_of(day: date, offset: int = 0) -> Days:
    """Saturday and Sunday of the week that is `offset` weeks from the one `day` is in."""
    saturday = week_of(day, offset).start + timedelta(days=5)
    return Days(saturday, saturday + timedelta(days=2), Granularity.WEEKEND)


def month_of(day: date, offset: int = 0) -> Days:
    """The calendar month `offset` months from the one `day` is in. Raises ValueError outside years 1-9999."""
    return month(day.year + (day.month - 1 + offset) // 12, (day.month - 1 + offset) % 12 + 1)


def month(year: int, number: int) -> Days:
    """One calendar month. Raises ValueError outside years 1-9999 or months 1-12."""
    start = date(year, number, 1)
    return Days(start, start + timedelta(days=calendar.monthrange(year, number)[1]), Granularity.MONTH)


def year_of(year: int) -> Days:
    """One calendar year. Raises ValueError outside years 1-9998."""
    return Days(date(year, 1, 1), date(year + 1, 1, 1), Granularity.YEAR)


def add_months(day: date, months: int) -> date:
    """The same day of the month `months` later, or the month's last day. Raises ValueError out of range."""
    target = month_of(day, months).start
    return target.replace(day=min(day.day, calendar.monthrange(target.year, target.month)[1]))


def weekday_on_or_after(day: date, weekday: int) -> date:
    return day + timedelta(days=(weekday - day.weekday()) % 7)


def weekday_before(day: date, weekday: int) -> date:
    """The last such weekday strictly before `day`."""
    return day - timedelta(days=(day.weekday() - weekday - 1) % 7 + 1)


def to_utc(day: date, at: time, tz: ZoneInfo) -> datetime:
    """The instant a local clock shows `at` on `day`.

    A time that a clock change skips is read with the offset before the change (02:30 becomes 03:30); one that
    occurs twice is its first occurrence. Raises OverflowError outside years 1-9999.
    """
    return datetime.combine(day, at, tzinfo=tz).astimezone(UTC)


def days_to_utc(days: Days, tz: ZoneInfo) -> tuple[datetime, datetime]:
    """Local midnight to local midnight. Raises OverflowError outside years 1-9999."""
    return to_utc(days.start, time(), tz), to_utc(days.end, time(), tz)
