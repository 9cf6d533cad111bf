"""Stretches of days without their month, and ends of parts of the day: what they mean, whenever it is said (E17)."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from memory_service.app.commands import Statement
from memory_service.domain.text import find_times
from memory_service.domain.text.classify import classify
from memory_service.domain.text.holding import held_window
from tests.app.harness import World

SHANGHAI = ZoneInfo("Asia/Shanghai")
BERLIN = ZoneInfo("Europe/Berlin")
ZONES = [SHANGHAI, BERLIN, ZoneInfo("America/Los_Angeles"), ZoneInfo("Australia/Lord_Howe"), ZoneInfo("UTC")]


def days_of(text: str, said: str, tz: ZoneInfo) -> list[tuple[str, str]]:
    """First and last local day of each time in a text said at noon of a day of 2026."""
    at = datetime.fromisoformat(f"2026-{said}T12:00").replace(tzinfo=tz)
    spans = find_times(text, at, tz)
    return [
        (f"{s.start.astimezone(tz):%Y-%m-%d}", f"{s.end.astimezone(tz) - timedelta(microseconds=1):%Y-%m-%d}")
        for s in spans
    ]


MARCH = ("2026-03-10", "2026-03-20")
APRIL = ("2026-04-10", "2026-04-20")
FEBRUARY = ("2026-02-10", "2026-02-20")


@pytest.mark.parametrize(
    ("text", "said", "stretch"),
    [
        ("I'm in Oslo from the 10th to the 20th", "03-05", MARCH),
        ("I'm in Oslo from the 10th to the 20th", "03-15", MARCH),
        ("I'm in Oslo from the 10th to the 20th", "03-25", APRIL),
        ("I'll be in Oslo from the 10th to the 20th.", "03-15", APRIL),
        ("I was in Oslo from the 10th to the 20th", "03-25", MARCH),
        ("I was in Oslo from the tenth to the twentieth", "03-05", FEBRUARY),
        ("From the 10th until the 20th we're away", "03-05", MARCH),
        ("We're away the 10th through the 20th, back after that", "03-05", MARCH),
        ("10th-20th: Oslo", "03-05", MARCH),
        ("no meetings from the 10th to the 20th please", "03-05", MARCH),
        ("I'm off between the 10th and the 20th", "03-05", MARCH),
        ("I'm off from the 10th to the 20th of next month", "03-05", APRIL),
        ("from the 28th to the 3rd I'm away", "03-05", ("2026-03-28", "2026-04-03")),
        ("from the 28th to the 3rd I'm away", "12-05", ("2026-12-28", "2027-01-03")),
        ("I was away from the 28th to the 3rd", "03-05", ("2026-02-28", "2026-03-03")),
        ("I'm away from the 20th to the 31st", "04-05", ("2026-05-20", "2026-05-31")),
        ("我10号到20号在出差", "03-05", MARCH),
        ("10号到20号去大理", "03-05", MARCH),
        ("我10号到20号在出差", "03-15", MARCH),
        ("10号到20号要去大理", "03-15", APRIL),
        ("10号到20号去大理", "03-25", APRIL),
        ("10号到20号去了大理", "03-25", MARCH),
        ("10号到20号去了大理", "03-05", FEBRUARY),
        ("从10号到20号请假", "03-05", MARCH),
        ("10号至20号我在北京", "03-25", APRIL),
        ("10-20号出差", "03-05", MARCH),
        ("十号到二十号不在家", "03-05", MARCH),
        ("下个月10号到20号休假", "03-05", APRIL),
        ("上个月10号到20号休假", "03-05", FEBRUARY),
        ("28号到3号出差", "03-05", ("2026-03-28", "2026-04-03")),
    ],
)
def test_days_without_their_month_are_one_stretch(text: str, said: str, stretch: tuple[str, str]) -> None:
    tz = BERLIN if text.isascii() else SHANGHAI
    assert days_of(text, said, tz) == [stretch]


@pytest.mark.parametrize(
    "text",
    [
        "from the 10th to the 20th floor",
        "The lift runs from the 1st to the 20th floor",
        "Every month from the 10th to the 20th we count the stock",
        "每月10号到20号盘点",
        "pages from 10 to 20",
        "from the 10th to the 20th century",
        "10号到20号楼都停水",
        "from the 10th to the 10th",
        "from the 40th to the 50th",
    ],
)
def test_what_is_no_stretch_of_days_is_not_read_as_one(text: str) -> None:
    assert days_of(text, "03-05", BERLIN) == []


@pytest.mark.parametrize(
    ("text", "tz"), [("I'm in Oslo from the 10th to the 20th", BERLIN), ("我从10号到20号在出差", SHANGHAI)]
)
def test_a_state_of_such_a_stretch_holds_in_it(text: str, tz: ZoneInfo) -> None:
    at = datetime(2026, 3, 5, 12, tzinfo=tz)
    window = held_window(text, find_times(text, at, tz), at)
    assert (window.start, window.end) == (datetime(2026, 3, 10, tzinfo=tz), datetime(2026, 3, 21, tzinfo=tz))


STRETCHES = [
    "I'm in Oslo from the {a} to the {b}",
    "I was in Oslo from the {a} to the {b}",
    "I'll be away from the {a} until the {b}",
    "off between the {a} and the {b}",
    "我{A}号到{B}号在出差",
    "{A}号到{B}号去了大理",
    "从{A}号至{B}号请假",
]
MOMENTS = st.datetimes(
    datetime(2020, 1, 1),  # noqa: DTZ001 - a local clock, which gets its zone in the test
    datetime(2040, 1, 1),  # noqa: DTZ001
)


def ordinal(day: int) -> str:
    return f"{day}{'th' if 10 < day < 20 else {1: 'st', 2: 'nd', 3: 'rd'}.get(day % 10, 'th')}"


@given(st.sampled_from(STRETCHES), st.integers(1, 31), st.integers(1, 31), MOMENTS, st.sampled_from(ZONES))
def test_a_stretch_has_the_days_said_and_lies_where_its_tense_says(
    text: str, first: int, last: int, local: datetime, tz: ZoneInfo
) -> None:
    assume(first != last)
    at = local.replace(tzinfo=tz)
    said = text.format(a=ordinal(first), b=ordinal(last), A=first, B=last)
    (span,) = find_times(said, at, tz)
    start, end = span.start.astimezone(tz), span.end.astimezone(tz)
    final = (end - timedelta(microseconds=1)).date()
    assert (start.time(), end.time()) == (time(), time())
    assert (start.day, final.day) == (first, last)
    assert timedelta(0) < final - start.date() < timedelta(days=62)
    past = "was" in said or "了" in said
    assert final <= at.date() if past else final >= at.date()
    # The nearest such stretch: no month between has both days.
    assert abs(start.date() - at.date()) < timedelta(days=125)


PASSING = [
    ("今晚就别放葱了", 28, 18),
    ("今晚别放葱", 28, 18),
    ("今晚不吃辣了", 28, 18),
    ("今天下午别打电话了", 18, 12),
    ("今天下午不接电话了", 18, 12),
    ("今天中午别点外卖了", 14, 11),
    ("今天中午不吃米饭", 14, 11),
    ("今天上午就不要打扰我了", 12, 5),
    ("no onions tonight", 28, 18),
    ("No onions tonight, please", 28, 18),
    ("no calls this afternoon", 18, 12),
    ("please don't call me this evening", 24, 18),
    ("no coffee this morning", 12, 5),
    ("Don't put me through this afternoon", 18, 12),
]
"""A wish for a part of the day, with the local hours in which that ends and begins."""


@given(st.sampled_from(PASSING), MOMENTS, st.floats(0, 1, exclude_max=True), st.sampled_from(ZONES))
def test_a_wish_for_a_part_of_the_day_ends_with_it_whenever_it_is_said(
    wish: tuple[str, int, int], local: datetime, share: float, tz: ZoneInfo
) -> None:
    text, until, begins = wish
    day = local.date()
    at = local_hour(day, begins, tz) * (1 - share) + local_hour(day, min(until, 24), tz) * share
    moment = datetime.fromtimestamp(at, tz)
    assume(moment.date() == day and moment.timestamp() < local_hour(day, until, tz))
    read = classify(text, moment, tz)
    assert not read.standing
    assert read.expires_after_hint is not None
    end = moment.timestamp() + read.expires_after_hint.total_seconds()
    assert end == local_hour(day, until, tz)
    assert end > moment.timestamp()


def local_hour(day: date, hour: int, tz: ZoneInfo) -> float:
    """The instant of a local hour, over 24 on the next day."""
    moved = day + timedelta(days=hour // 24)
    return datetime.combine(moved, time(hour % 24), tzinfo=tz).timestamp()


@pytest.mark.parametrize(
    "text", ["今晚喝了粥", "今晚吃了没放葱的面", "I skipped onions tonight", "今天中午特别累，睡了一觉"]
)
def test_what_was_done_in_a_part_of_the_day_is_a_record(text: str) -> None:
    tz = SHANGHAI
    assert classify(text, datetime(2026, 3, 10, 22, tzinfo=tz), tz).expires_after_hint is None


@pytest.mark.parametrize(
    ("text", "said", "end"),
    [
        ("今晚就别放葱了", "2026-03-10T19:00", "2026-03-11T04:00"),
        ("今天中午别点外卖了", "2026-03-10T12:30", "2026-03-10T14:00"),
        ("今晚不吃辣了", "2026-03-10T20:00", "2026-03-11T04:00"),
        ("no onions tonight", "2026-03-10T19:00", "2026-03-11T04:00"),
        ("no calls this afternoon", "2026-03-10T15:00", "2026-03-10T18:00"),
        ("I'm at the dentist this afternoon", "2026-03-10T15:00", "2026-03-10T18:00"),
        ("我10号到20号在出差", "2026-03-15T10:00", "2026-03-21T00:00"),
        ("I'm in Oslo from the 10th to the 20th", "2026-03-15T10:00", "2026-03-21T00:00"),
    ],
)
async def test_what_is_written_down_has_that_end(text: str, said: str, end: str) -> None:
    """As the interval of what takes place, or the expiry of what passes."""
    at = datetime.fromisoformat(said).replace(tzinfo=SHANGHAI)
    draft = await World().changes.drafting.draft(Statement(text=text, time_zone=SHANGHAI.key), at)
    assert (draft.expires_at or draft.valid_to) == datetime.fromisoformat(end).replace(tzinfo=SHANGHAI)
