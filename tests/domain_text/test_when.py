"""Time expressions, resolved against the statement's own time and zone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_service.domain.text import Granularity, find_times, finest, window_end
from memory_service.domain.text._when_base import hints
from memory_service.domain.text.when import _MIXED_RULES

SHANGHAI = ZoneInfo("Asia/Shanghai")
NEW_YORK = ZoneInfo("America/New_York")
ZONES = [SHANGHAI, NEW_YORK, ZoneInfo("UTC"), ZoneInfo("Australia/Lord_Howe"), ZoneInfo("Asia/Kathmandu")]
WEDNESDAY = datetime(2026, 3, 11, 10, 0, tzinfo=SHANGHAI)

FRAGMENTS = [
    "tomorrow", "tonight", "next Friday", "last week", "in 3 days", "two weeks ago", "May 3",
    "3rd of June", "2026-02-30", "30 February", "at nine", "7 pm", "15:30", "half past six", "noon",
    "in the morning", "the weekend", "next 9999 years", "end of the month", "Sunday the 25th",
    "every Monday", "by the 31st", "9999-12-31", "0001-01-01", "in 9999 months", "今天", "今晚",
    "大后天", "下周五", "上个月", "三天后", "两周前", "5月3日", "二零二六年五月三日", "下午三点半",
    "一点", "月底", "去年", "每周一", "十二点", "9999年12月31日", "半小时后", "London time",
    "北京时间", "UTC", "三月底",
    "二月三十日", "，", "。", ", ", ". ", " ", "I went", "了", "Ａ１",
]  # fmt: skip
texts = st.one_of(st.text(max_size=120), st.lists(st.sampled_from(FRAGMENTS), max_size=10).map(" ".join))
naive = datetime.fromisoformat
moments = st.datetimes(naive("0001-01-02"), naive("9999-12-30"), timezones=st.just(UTC))


@given(texts, moments, st.sampled_from(ZONES))
def test_spans_lie_in_the_text_and_run_forwards(text: str, said_at: datetime, tz: ZoneInfo) -> None:
    spans = find_times(text, said_at, tz)
    for span in spans:
        assert 0 <= span.text_span[0] < span.text_span[1] <= len(text)
        assert span.start < span.end
        assert span.start.tzinfo is UTC
        assert span.end.tzinfo is UTC
    assert [span.text_span for span in spans] == sorted(span.text_span for span in spans)
    end = window_end(spans, tz)
    assert end is None or all(span.end <= end for span in spans)


@given(st.lists(st.sampled_from(FRAGMENTS), max_size=6).map(" ".join), st.sampled_from(ZONES))
def test_only_the_statement_time_matters_and_not_the_form_it_comes_in(text: str, tz: ZoneInfo) -> None:
    said_at = datetime(2026, 7, 1, 3, tzinfo=UTC)
    assert find_times(text, said_at, tz) == find_times(text, said_at.astimezone(NEW_YORK), tz)


@given(st.lists(st.sampled_from(FRAGMENTS), min_size=1, max_size=8).map(" ".join))
def test_hints_never_exclude_a_match(text: str) -> None:
    found = hints(text)
    for rule in _MIXED_RULES:
        if any(found.isdisjoint(needed) for needed in rule.needs):
            assert not rule.pattern.search(text), (rule.pattern.pattern, text)


@given(moments, st.sampled_from(ZONES))
def test_today_contains_the_statement(said_at: datetime, tz: ZoneInfo) -> None:
    for text in ("today", "今天"):
        for span in find_times(text, said_at, tz):
            assert span.start <= said_at < span.end
            assert timedelta(hours=22) <= span.end - span.start <= timedelta(hours=26)


def local(text: str, said_at: datetime = WEDNESDAY, tz: ZoneInfo = SHANGHAI) -> list[str]:
    """Each span as its local start, and for longer ones its local end."""
    found = []
    for span in find_times(text, said_at, tz):
        start, end = span.start.astimezone(tz), span.end.astimezone(tz)
        if span.granularity in (Granularity.MINUTE, Granularity.HOUR):
            found.append(f"{start:%Y-%m-%d %H:%M}")
        elif span.granularity is Granularity.DAY:
            found.append(f"{start:%Y-%m-%d}")
        else:
            found.append(f"{start:%Y-%m-%d %H:%M}/{end:%Y-%m-%d %H:%M}")
    return found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Parents' evening tomorrow at nine in the morning", ["2026-03-12 09:00"]),
        ("The day after tomorrow we fly", ["2026-03-13"]),
        ("Dinner tonight at seven", ["2026-03-11 19:00"]),
        ("Tonight!", ["2026-03-11 18:00/2026-03-12 04:00"]),
        ("Yesterday evening", ["2026-03-10 18:00/2026-03-11 00:00"]),
        ("Chess club this Friday", ["2026-03-13"]),
        ("Chess club next Friday at 3", ["2026-03-20 15:00"]),
        ("I saw him last Tuesday", ["2026-03-10"]),
        ("On Monday I repaired the gate", ["2026-03-09"]),
        ("We have to be there on Monday at quarter past four", ["2026-03-16 16:15"]),
        ("Two weeks from tomorrow", ["2026-03-26"]),
        ("Saturday week", ["2026-03-21"]),
        ("next week on Thursday", ["2026-03-19"]),
        ("last week", ["2026-03-02 00:00/2026-03-09 00:00"]),
        ("next month", ["2026-04-01 00:00/2026-05-01 00:00"]),
        ("last year", ["2025-01-01 00:00/2026-01-01 00:00"]),
        ("this weekend", ["2026-03-14 00:00/2026-03-16 00:00"]),
        ("in four hours", ["2026-03-11 14:00"]),
        ("half an hour ago", ["2026-03-11 09:30"]),
        ("in 10 days", ["2026-03-21"]),
        ("three months ago", ["2025-12-11"]),
        ("a couple of weeks ago", ["2026-02-25"]),
        ("over the next five days", ["2026-03-11 00:00/2026-03-17 00:00"]),
        ("2026-05-03", ["2026-05-03"]),
        ("2026-05-03T08:15", ["2026-05-03 08:15"]),
        ("25/12/2026", ["2026-12-25"]),
        ("03/04/2026", []),
        ("May 3", ["2026-05-03"]),
        ("Feb 3rd", ["2027-02-03"]),
        ("we met on Feb 3rd", ["2026-02-03"]),
        ("the twenty-first of May, 2027", ["2027-05-21"]),
        ("3 May 2026 at 6:45 pm", ["2026-05-03 18:45"]),
        ("from June 2nd to 5th", ["2026-06-02 00:00/2026-06-06 00:00"]),
        ("8-10 July", ["2026-07-08 00:00/2026-07-11 00:00"]),
        ("by the end of May", ["2026-05-31"]),
        ("in September", ["2026-09-01 00:00/2026-10-01 00:00"]),
        ("back in 2019", ["2019-01-01 00:00/2020-01-01 00:00"]),
        ("pay it by the 5th.", ["2026-04-05"]),
        ("29 February", ["2028-02-29"]),
        ("30 February", []),
        ("New Year's Eve", ["2026-12-31"]),
        ("Fair tomorrow, gates open at ten", ["2026-03-12", "2026-03-12 10:00"]),
        ("ring me at 3:30 pm", ["2026-03-11 15:30"]),
        ("ring me at 9:30 am", ["2026-03-12 09:30"]),
        ("never ring after 9 pm", []),
        ("yoga every Tuesday at 7", []),
        ("Fridays are for chess", []),
        ("you may 5 times march 3 miles", []),
        ("one of the twelve at table two", []),
    ],
)  # fmt: skip
def test_english(text: str, expected: list[str]) -> None:
    assert local(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("今晚八点看球", ["2026-03-11 20:00"]),
        ("明天上午九点半体检", ["2026-03-12 09:30"]),
        ("后天交房租", ["2026-03-13"]),
        ("大后天傍晚", ["2026-03-14 17:00/2026-03-14 20:00"]),
        ("昨天前天都下雨", ["2026-03-10", "2026-03-09"]),
        ("这周末爬山", ["2026-03-14 00:00/2026-03-16 00:00"]),
        ("下周五下午三点面试", ["2026-03-20 15:00"]),
        ("下下周一", ["2026-03-23"]),
        ("上周三", ["2026-03-04"]),
        ("上周", ["2026-03-02 00:00/2026-03-09 00:00"]),
        ("周五要交稿", ["2026-03-13"]),
        ("周一我去过银行了", ["2026-03-09"]),
        ("下个月", ["2026-04-01 00:00/2026-05-01 00:00"]),
        ("下个月8号上午十点", ["2026-04-08 10:00"]),
        ("去年", ["2025-01-01 00:00/2026-01-01 00:00"]),
        ("明年六月", ["2027-06-01 00:00/2027-07-01 00:00"]),
        ("三天后出发", ["2026-03-14"]),
        ("两周前", ["2026-02-25"]),
        ("半小时后", ["2026-03-11 10:30"]),
        ("三个半小时之后", ["2026-03-11 13:30"]),
        ("半年前", ["2025-09-11"]),
        ("未来三天", ["2026-03-11 00:00/2026-03-15 00:00"]),
        ("5月3日", ["2026-05-03"]),
        ("２０２６年５月３日", ["2026-05-03"]),
        ("二零二六年五月三日下午三点半", ["2026-05-03 15:30"]),
        ("十二月二十五号", ["2026-12-25"]),
        ("5月3日到6日", ["2026-05-03 00:00/2026-05-07 00:00"]),
        ("月底前", ["2026-03-31"]),
        ("今年年底", ["2026-12-31"]),
        ("今天晚上十二点", ["2026-03-12 00:00"]),
        ("明天凌晨一点", ["2026-03-12 01:00"]),
        ("明天中午十二点一刻", ["2026-03-12 12:15"]),
        ("明天 12:30", ["2026-03-12 12:30"]),
        ("国庆", ["2026-10-01"]),
        ("每周五晚上七点练琴", []),
        ("每天早上六点起床", []),
        ("有一点累，早一点睡", []),
        ("第三点最重要", []),
        ("晚上九点以后不接电话", []),
        ("记一下月薪", []),
        ("二月三十日", []),
        ("tomorrow 下午三点 开会", ["2026-03-12 15:00"]),
    ],
)  # fmt: skip
def test_chinese(text: str, expected: list[str]) -> None:
    assert local(text) == expected


def test_the_day_is_the_speakers() -> None:
    said_at = datetime(2026, 3, 11, 23, 30, tzinfo=UTC)
    assert local("tomorrow", said_at, SHANGHAI) == ["2026-03-13"]
    assert local("tomorrow", said_at, NEW_YORK) == ["2026-03-12"]
    assert local("今晚八点", datetime(2026, 1, 16, 0, 30, tzinfo=SHANGHAI)) == ["2026-01-16 20:00"]


def test_clock_changes_shorten_and_lengthen_days() -> None:
    before_spring = datetime(2026, 3, 7, 20, tzinfo=NEW_YORK)
    (spring,) = find_times("tomorrow", before_spring, NEW_YORK)
    assert spring.end - spring.start == timedelta(hours=23)
    (nine,) = find_times("tomorrow at nine", before_spring, NEW_YORK)
    assert nine.start == datetime(2026, 3, 8, 13, tzinfo=UTC)
    (skipped,) = find_times("tomorrow at 2:30 am", before_spring, NEW_YORK)
    assert skipped.start == datetime(2026, 3, 8, 7, 30, tzinfo=UTC)
    (hours,) = find_times("in ten hours", before_spring, NEW_YORK)
    assert hours.start - before_spring.astimezone(UTC) == timedelta(hours=10)
    before_autumn = datetime(2026, 10, 31, 20, tzinfo=NEW_YORK)
    (autumn,) = find_times("明天", before_autumn, NEW_YORK)
    assert autumn.end - autumn.start == timedelta(hours=25)
    (twice,) = find_times("tomorrow at 1:30 am", before_autumn, NEW_YORK)
    assert twice.start == datetime(2026, 11, 1, 5, 30, tzinfo=UTC)


def test_a_zone_beside_a_clock_time_is_the_one_it_is_read_in() -> None:
    (call,) = find_times("Call tomorrow at 9 am London time", WEDNESDAY, SHANGHAI)
    assert call.start == datetime(2026, 3, 12, 9, tzinfo=UTC)
    (stream,) = find_times("stream on Friday at 3 pm PST, all welcome", WEDNESDAY, SHANGHAI)
    assert stream.start == datetime(2026, 3, 13, 22, tzinfo=UTC)
    text = "会议在北京时间明天上午九点"
    (meeting,) = find_times(text, datetime(2026, 3, 11, 10, tzinfo=NEW_YORK), NEW_YORK)
    assert meeting.start == datetime(2026, 3, 12, 1, tzinfo=UTC)
    assert text[slice(*meeting.text_span)] == "北京时间明天上午九点"
    (plain,) = find_times("we have to leave London time and again tomorrow", WEDNESDAY, SHANGHAI)
    assert plain.granularity is Granularity.DAY


def test_text_spans_name_the_expression() -> None:
    text = "🎈 party next Friday at 3, 然后下周日下午两点野餐"
    found = [text[slice(*span.text_span)] for span in find_times(text, WEDNESDAY, SHANGHAI)]
    assert found == ["next Friday at 3", "下周日下午两点"]


def test_the_finest_time_and_the_end_of_its_day() -> None:
    spans = find_times("Fair tomorrow, gates open at ten", WEDNESDAY, SHANGHAI)
    best = finest(spans)
    assert best is not None
    assert best.granularity is Granularity.HOUR
    assert window_end(spans, SHANGHAI) == datetime(2026, 3, 13, tzinfo=SHANGHAI)
    assert finest([]) is None
    assert window_end([], SHANGHAI) is None


def test_a_clock_time_alone_says_no_day() -> None:
    (alone,) = find_times("call me at 3 pm", WEDNESDAY, SHANGHAI)
    (dated,) = find_times("call me today at 3 pm", WEDNESDAY, SHANGHAI)
    assert (alone.start, alone.day_said) == (dated.start, False)
    assert dated.day_said


def test_a_naive_statement_time_is_refused() -> None:
    with pytest.raises(ValueError, match="aware"):
        find_times("today", naive("2026-01-01"), SHANGHAI)


def test_long_and_crowded_text_is_bounded() -> None:
    assert len(find_times("tomorrow. " * 5_000, WEDNESDAY, SHANGHAI)) <= 64
    assert find_times("x" * 5_000 + " tomorrow", WEDNESDAY, SHANGHAI) == []
