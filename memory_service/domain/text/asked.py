"""The past time that a question itself names: "which editor did I use three months ago"."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from memory_service.domain.text._when_base import looks_past
from memory_service.domain.text.calendar_math import FINENESS, Granularity
from memory_service.domain.text.traditional import to_simplified
from memory_service.domain.text.when import find_times, finest

# A question about the past that no verb of its own shows as such.
_PAST_QUESTION_RE: Final = re.compile(
    r"\b(?:did|was|were|had|used to|then|back then|at the time|led|ran|held|kept)\b"
    r"|当时|那时|那会儿|那天|之前|以前|原来|[在用吃住做叫开穿喝写读学养]的(?:是|还是)|的是(?:什么|哪|谁)|曾",
    re.IGNORECASE,
)

# Chinese verbs have no tense: a date in a question without a word of intent is the one last gone by.
_HAN_RE: Final = re.compile("[\u4e00-\u9fff]")
_AHEAD_RE: Final = re.compile(r"[要会将该]|打算|准备|计划|安排|预定|有空|有没有|有什么|到期|截止|还有")
_UTC_ZONE: Final = ZoneInfo("UTC")
_ZONES_APART: Final = timedelta(hours=14)


@dataclass(frozen=True, slots=True)
class AskedTime:
    """The moment a question is about, and its words for it."""

    at: datetime
    words: str


@dataclass(frozen=True, slots=True)
class AskedTimes:
    """What a question says of time.

    Attributes:
        windows: the stretches it names to the week or finer, as (start, end) in UTC.
        past: whether it asks about what was.
    """

    windows: tuple[tuple[datetime, datetime], ...] = ()
    past: bool = False


def times_asked(query: str, now: datetime, tz: ZoneInfo | None) -> AskedTimes:
    """The times a question names, relative to `now`, for ranking by them; wider where the zone is not known."""
    past = _leans_past(query)
    spans = find_times(query, now, tz or _UTC_ZONE, past=True if past else None)
    slack = timedelta(0) if tz is not None else _ZONES_APART
    fine = [span for span in spans if FINENESS[span.granularity] <= FINENESS[Granularity.RANGE]]
    return AskedTimes(tuple((span.start - slack, span.end + slack) for span in fine), past)


def without_time(query: str, at: datetime, now: datetime, tz: ZoneInfo) -> str:
    """A question without its words for the time `at`, about which it is answered: they say nothing of what is sought.

    The question as it is when nothing else would be left of it.
    """
    spans = find_times(query, now, tz, past=True if at <= now else None)
    rest = query
    for span in sorted(spans, key=lambda span: -span.text_span[0]):
        if span.day_said and span.start - _ZONES_APART <= at < span.end + _ZONES_APART:
            rest = rest[: span.text_span[0]] + rest[span.text_span[1] :]
    return rest if re.search(r"\w{2,}", rest) else query


def _leans_past(query: str) -> bool:
    query = to_simplified(query)
    return looks_past(query) or _PAST_QUESTION_RE.search(query) is not None


def time_asked(query: str, now: datetime, tz: ZoneInfo) -> AskedTime | None:
    """The one past time a question names; None when it names none, or several that differ.

    Args:
        query: English or Chinese.
        now: when it is asked (aware); relative words count from here.
        tz: zone of whoever asks.

    Returns:
        The middle of what was named (noon of a day, the 16th of a month), in UTC: a value that changed on the edge
        of it is then the one that held for most of it. What is not wholly over is no time of the past.
    """
    past = _leans_past(query) or (_HAN_RE.search(query) is not None and not _AHEAD_RE.search(to_simplified(query)))
    spans = find_times(query, now, tz, past=True if past else None)
    over = [span for span in spans if span.day_said and span.end <= now]
    chosen = finest(over)
    if chosen is None or any(not (s.start <= chosen.start and chosen.end <= s.end) for s in over):
        return None
    middle = chosen.start + (chosen.end - chosen.start) / 2
    return AskedTime(middle, query[slice(*chosen.text_span)].strip())
