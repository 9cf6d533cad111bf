"""Quantities have one form however they are written: amounts, codes, times, days, English and Chinese."""

from __future__ import annotations

import calendar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_service.domain.text import normalise
from memory_service.domain.text.quantities import Measure, take_quantities

SAME = [
    ("18000", Measure.AMOUNT, ["一万八", "18000", "18,000", "18k", "1.8万", "eighteen thousand", "£18,000"]),
    ("350000", Measure.AMOUNT, ["三十五万", "35万", "350,000"]),
    ("3200", Measure.AMOUNT, ["三千二", "3200", "three thousand two hundred"]),
    ("3002", Measure.AMOUNT, ["三千零二", "3,002"]),
    ("94", Measure.AMOUNT, ["94 kilos", "94kg", "94公斤", "体重九十四公斤", "188斤", "ninety-four kg"]),
    ("160", Measure.AMOUNT, ["一米六", "160cm", "160 厘米"]),
    ("7741", Measure.CODE, ["code 77 41", "PIN: 77-41", "密码七七四一", "alarm 7-7-4-1"]),
    ("7741", Measure.AMOUNT, ["code 7741", "密码7741"]),
    ("13800138462", Measure.CODE, ["138-0013-8462", "138 0013 8462", "手机号：138 0013 8462"]),
    ("07700900461", Measure.CODE, ["07700 900 461", "07700-900-461"]),
    ("07700900461", Measure.AMOUNT, ["07700900461"]),
    ("time6:30", Measure.TIME, ["half past six", "6:30 pm", "18:30", "晚上六点半", "时间：18:30", "下午6点30分"]),
    ("time6:00", Measure.TIME, ["at six", "at 6 o'clock", "6pm", "18:00", "六点钟"]),
    ("time8:45", Measure.TIME, ["quarter to nine", "20:45", "八点三刻"]),
    ("day5-3", Measure.DAY, ["the 3rd of May", "May 3", "May 3rd", "3 May", "5月3日", "五月三号", "2026-05-03"]),
    ("day11-21", Measure.DAY, ["November twenty-first", "21 November", "11月21号", "十一月二十一日"]),
    ("2011", Measure.YEAR, ["in 2011", "2011年", "，2011年", "二零一一年"]),
    ("month3", Measure.MONTH, ["in March", "三月份", "3月"]),
    ("weekday3", Measure.WEEKDAY, ["Wednesdays", "on Wednesday", "周三", "每星期三", "礼拜三"]),
    ("weekday7", Measure.WEEKDAY, ["Sunday", "周日", "星期天"]),
]
NONE = [
    "万一",
    "一起",
    "千万别说",
    "I may go",
    "march on",
    "one of them",
    "一个人",
    "at home",
    "十分",
    "the first",
    "3rd",
]


@pytest.mark.parametrize(
    ("term", "kind", "text"), [(term, kind, text) for term, kind, texts in SAME for text in texts]
)
def test_one_form(term: str, kind: Measure, text: str):
    found = take_quantities(normalise(text)).terms
    assert found.get(term) is kind, found


@pytest.mark.parametrize("text", NONE)
def test_what_only_looks_like_a_quantity_is_none(text: str):
    found = take_quantities(normalise(text))
    assert found.terms == {}
    assert found.rest == normalise(text)


@given(st.integers(2, 99_999_999))
def test_an_amount_is_the_same_grouped_and_in_chinese(value: int):
    expected = str(value)
    for text in (f"{value:,}", f"{value}", _chinese(value)):
        found = take_quantities(normalise(f"用户欠{text}元")).terms
        year = text == f"{value}" and 1900 <= value <= 2099
        assert list(found) == [expected], (text, found)
        assert found[expected] in ({Measure.YEAR, Measure.AMOUNT} if year else {Measure.AMOUNT})


@given(st.integers(1, 12), st.integers(1, 28))
def test_a_day_is_the_same_in_both_languages(month: int, day: int):
    name = calendar.month_name[month]
    for text in (f"{name} {day}", f"{day} {name}", f"{month}月{day}日", f"{_chinese(month)}月{_chinese(day)}号"):
        assert list(take_quantities(normalise(f"it is {text} then")).terms) == [f"day{month}-{day}"], text


@given(st.integers(1, 12), st.sampled_from([0, 15, 30, 45]))
def test_a_time_is_the_same_in_both_languages(hour: int, minute: int):
    spoken = {0: "点钟", 15: "点一刻", 30: "点半", 45: "点三刻"}[minute]
    terms = {
        next(iter(take_quantities(normalise(text)).terms))
        for text in (f"{hour}:{minute:02}", f"{hour + 12}:{minute:02}", f"晚上{_chinese(hour)}{spoken}")
    }
    assert terms == {f"time{hour % 12}:{minute:02}"}


@given(st.text(max_size=200) | st.text(alphabet="0123456789一二两十百千万亿点月日号年:-., kat半", max_size=40))
def test_any_text_is_read(text: str):
    found = take_quantities(normalise(text))
    assert all(found.terms)


def _chinese(value: int) -> str:
    """The usual way to write a number below 100,000,000."""
    if value >= 10_000:
        high, low = divmod(value, 10_000)
        gap = "零" if 0 < low < 1_000 else ""
        return _chinese(high) + "万" + (gap + _chinese(low) if low else "")
    digits, text = "零一二三四五六七八九", ""
    skipped = False
    for size, name in ((1_000, "千"), (100, "百"), (10, "十"), (1, "")):
        digit = value // size % 10
        if digit:
            text += ("零" if skipped and text else "") + digits[digit] + name
        skipped = not digit
    return text.removeprefix("一") if text.startswith("一十") else text
