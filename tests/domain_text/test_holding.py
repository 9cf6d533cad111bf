"""From when and until when a told state held, by its wording and the time it is told (P10, B9)."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_service.domain.text import find_times
from memory_service.domain.text.classify import classify
from memory_service.domain.text.holding import held_window

TZ = ZoneInfo("Asia/Shanghai")
SAID = datetime(2026, 5, 13, 10, tzinfo=TZ)


def held(text: str, said: datetime = SAID) -> tuple[str | None, str | None]:
    """First and (excluded) last local day in which a text says that it holds."""
    window = held_window(text, find_times(text, said, TZ), said)
    return tuple(None if at is None else f"{at.astimezone(TZ):%Y-%m-%d}" for at in (window.start, window.end))  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        # What has lasted since a day began before it was said, however the day is named.
        ("Since the start of February I work from home", "2026-02-01", None),
        ("Since the end of last month we're on nights", "2026-04-30", None),
        ("Since the 2nd I've been on nights", "2026-05-02", None),
        ("I've been sous chef since the 20th", "2026-04-20", None),
        ("Ever since 2 February I've been sous chef", "2026-02-02", None),
        # Chinese has no tense: the nearer of what lies behind and ahead.
        ("从二月二号起我是副主厨", "2026-02-02", None),
        ("二月二号起我当副主厨", "2026-02-02", None),
        ("从六月一号起我是副主厨", "2026-06-01", None),
        ("二月份起我用新号码", "2026-02-01", None),
        ("从2号开始我值夜班", "2026-05-02", None),
        ("从20号开始我值夜班", "2026-05-20", None),
        ("从二月起我要上夜班", "2027-02-01", None),
        ("From 1 February onwards I'm sous chef", "2026-02-01", None),
        ("From 1 June onwards I'm sous chef", "2026-06-01", None),
        # What was until a day is told in the past.
        ("Matteus led us until 10 February", None, "2026-02-11"),
        ("I used to drive a Volvo until March", None, "2026-03-01"),
        ("一直到三月我都开沃尔沃", None, "2026-04-01"),
        ("我直到二月十号都是队长", None, "2026-02-11"),
        ("Until last week I worked at the bakery", None, "2026-05-11"),
        ("直到上周我还在面包店上班", None, "2026-05-11"),
        ("Before 10 March I lived in Bonn", None, "2026-03-10"),
        ("三月之前我住在波恩", None, "2026-03-01"),
        ("三月以前我一直用老号码", None, "2026-03-01"),
        # A change that is told with its day.
        ("Back in March I moved to Oslo", "2026-03-01", None),
        ("Last Tuesday we rolled Plover back to v3", "2026-05-12", None),
        ("We reverted to v3 on 2 May", "2026-05-02", None),
        ("I went back to tea in April", "2026-04-01", None),
        ("上周二回滚到了 v3", "2026-05-05", None),
        ("五月二号改回了老号码", "2026-05-02", None),
        ("上个月开始我坐公交上班", "2026-04-01", None),
        # How long it has lasted.
        ("For the last two months I've been in Oslo", "2026-03-13", None),
        ("I've been on the night shift for the past 3 weeks", "2026-04-22", None),
        ("最近三周我一直上夜班", "2026-04-22", None),
        # What says none of this bounds nothing.
        ("Please send it before March", None, None),
        ("三月之前我要交报告", None, None),
        ("I read ten books in the last two months", None, None),
        ("最近三周我看了两部电影", None, None),
        ("Since when is it open?", None, None),
    ],
)
def test_a_told_state_is_bounded_by_its_words(text: str, start: str | None, end: str | None) -> None:
    assert held(text) == (start, end)


@pytest.mark.parametrize(
    "text",
    ["For the last two months I've been in Oslo", "最近三周我一直上夜班", "I've been in Oslo for the past 3 weeks"],
)
def test_what_has_lasted_until_now_does_not_lapse_today(text: str) -> None:
    assert classify(text, SAID, TZ).standing


@given(
    st.integers(1, 12),
    st.integers(1, 28),
    st.datetimes(datetime(2020, 1, 1), datetime(2040, 1, 1), timezones=st.just(TZ)),  # noqa: DTZ001
    st.sampled_from(["从{m}月{d}号起我是副主厨", "{m}月{d}号开始我用新号码"]),
)
def test_without_tense_the_nearer_day_is_meant(number: int, day: int, said: datetime, text: str) -> None:
    words = text.format(m=number, d=day)
    window = held_window(words, find_times(words, said, TZ), said)
    assert window.start is not None
    start = window.start.astimezone(TZ)
    assert (start.month, start.day) == (number, day)
    assert abs((start.date() - said.date()).days) <= 183


@given(
    st.integers(1, 31),
    st.datetimes(datetime(2020, 1, 1), datetime(2040, 1, 1), timezones=st.just(TZ)),  # noqa: DTZ001
)
def test_since_never_lies_ahead(day: int, said: datetime) -> None:
    suffix = "th" if 10 < day < 20 else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")
    words = f"I've been on nights since the {day}{suffix}"
    window = held_window(words, find_times(words, said, TZ), said)
    assert window.start is not None
    assert window.start <= said
