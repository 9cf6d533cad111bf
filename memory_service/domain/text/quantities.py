"""Numbers, times, dates, weekdays and codes in one form each, however they are written, in English and Chinese.

一万八, 18,000, 18k and eighteen thousand are one amount; half past six, 6:30 pm, 18:30 and 六点半 one time on the
dial; the 3rd of May, May 3 and 5月3日 one day; 77-41, 77 41 and 七七四一 (beside "code" or 密码) one code.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from memory_service.domain.text.numerals import CHINESE_DIGITS, ENGLISH_NUMBERS, english_ordinal


class Measure(StrEnum):
    """What kind of quantity a term is."""

    AMOUNT = "amount"
    CODE = "code"
    YEAR = "year"
    DAY = "day"
    MONTH = "month"
    WEEKDAY = "weekday"
    TIME = "time"


@dataclass(slots=True)
class Quantities:
    """What `take_quantities` found.

    Attributes:
        terms: each quantity in its one form, with its kind, in order of first appearance within a kind.
        rest: the text without them.
    """

    rest: str
    terms: dict[str, Measure] = field(default_factory=dict)


_MONTHS: Final = {
    name: number
    for number, names in enumerate(
        (
            "january jan",
            "february feb",
            "march mar",
            "april apr",
            "may",
            "june jun",
            "july jul",
            "august aug",
            "september sept sep",
            "october oct",
            "november nov",
            "december dec",
        ),
        start=1,
    )
    for name in names.split()
}
_WEEKDAYS: Final = {
    name: number
    for number, names in enumerate(
        ("monday", "tuesday tues", "wednesday weds", "thursday thurs", "friday", "saturday", "sunday"), start=1
    )
    for name in names.split()
}
_MONTH: Final = rf"(?:{'|'.join(_MONTHS)})"
_CN: Final = "零〇一二两三四五六七八九十"
_CN_DAY: Final = rf"(?:\d{{1,2}}|[{_CN}]{{1,3}})"
_ORDINAL: Final = r"(?:\d{1,2}(?:st|nd|rd|th)?|(?:twenty|thirty)[- ]?[a-z]+(?:st|nd|rd|th)|[a-z]+(?:st|nd|rd|th))"

_ISO_RE: Final = re.compile(r"(?<!\d)(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?!\d)")
_DAY_MONTH_RE: Final = re.compile(rf"\b({_ORDINAL})(?:\s+of)?\s+({_MONTH})\b\.?")
_MONTH_DAY_RE: Final = re.compile(rf"\b({_MONTH})\.?\s+(?:the\s+)?({_ORDINAL})\b(?!:|\s*[ap]m)")
_CN_DATE_RE: Final = re.compile(rf"(?:(\d{{4}}|[{_CN}]{{4}})年)?({_CN_DAY})月({_CN_DAY})[日号]?")
_YEAR_RE: Final = re.compile(
    rf"(?<!\d)(?<!\d[.,])((?:19|20)\d\d)(?![\d.,:]\d|\d)(?!\s*(?:[元块万]|euros?|dollars?|pounds?))年?|([{_CN}]{{4}})年"
)
# "May" and "march" are also other words, so that a month alone needs a word before it that months have.
_MONTH_RE: Final = re.compile(
    rf"\b(?:in|by|since|until|till|from|last|next|this|early|late|mid|every|each|of)[ -]({_MONTH})\b"
)
_CN_MONTH_RE: Final = re.compile(rf"(?<![个\d{_CN}])({_CN_DAY})月(?:份|底|初)?")
_WEEKDAY_RE: Final = re.compile(rf"\b({'|'.join(_WEEKDAYS)})(?:s|['\u2019]s)?\b")
_CN_WEEKDAY_RE: Final = re.compile(r"每?(?:周|星期|礼拜)([一二三四五六日天])")

_SMALL: Final = {name: value for name, value in ENGLISH_NUMBERS.items() if 1 < value <= 12} | {"one": 1}
_HOUR: Final = rf"(\d{{1,2}}|{'|'.join(sorted((n for n in _SMALL if n != 'couple'), key=len, reverse=True))})"
_CLOCK_RE: Final = re.compile(r"(?<!\d)(?<!\d:)(\d{1,2}):(\d{2})(?![\d:])(?:\s*[ap]\.?m\b\.?)?")
_AMPM_RE: Final = re.compile(rf"\b{_HOUR}\s*[ap]\.?m\b\.?")
_PAST_RE: Final = re.compile(rf"\b(half|quarter|a quarter)\s+(past|to)\s+{_HOUR}\b")
_AT_RE: Final = re.compile(
    rf"\bat\s+{_HOUR}(?:\s+o['\u2019]clock)?(?=\s*(?:$|[.,;!?)]|(?:with|on|in|every|and|sharp|near|beside|after|before)\b))"
    rf"|\b{_HOUR}\s+o['\u2019]clock\b"
)
_CN_TIME_RE: Final = re.compile(
    rf"(?:凌晨|清早|早上|上午|中午|下午|傍晚|晚上|晚)?({_CN_DAY})点(?:钟|(半)|(一刻|三刻)|({_CN_DAY})分?)?(?!几|儿)"
)

_SECRET_RE: Final = re.compile(
    r"\b(?:code|pin|passcode|password|combination|number|account|card)\b|密码|口令|号码?|验证码"
)
_GROUPS_RE: Final = re.compile(r"(?<!\d)(?<!\d[.,:])\+?\(?\d{2,}\)?(?:[ -]\d{2,})+(?![\d.,:]\d)")
_CN_DIGITS_RE: Final = re.compile(r"[零〇一二三四五六七八九]{3,}(?![十百千万亿])")
_SPACED_DIGITS_RE: Final = re.compile(r"(?<![\d.,:/-])\d(?:[ -]\d){2,}(?![\d:/-]|[.,]\d)")
_CODE_DIGITS_MIN: Final = 7
"""So many digits in groups are one number, a telephone's; fewer only where the text speaks of a code."""

_GROUPED_RE: Final = re.compile(r"(?<=\d)[,\uff0c](?=\d{3}(?!\d))")
_CN_HEIGHT_RE: Final = re.compile(rf"([12一二两])米([{_CN}\d]{{1,2}})(?![厘毫])")
_CN_AMOUNT_RE: Final = re.compile(
    rf"(\d+(?:\.\d+)?[十百千万亿]+[{_CN}百千]*"
    rf"|[一二两三四五六七八九十][{_CN}百千万亿]*[十百千万亿][{_CN}百千万亿]*"
    rf"|十[一二三四五六七八九]?(?!分(?!钟)|足)"
    rf"|[一二两三四五六七八九]{{1,2}}(?=个月|公斤|千克|毫克|[块元岁斤天次年杯根片粒颗楼层号包瓶]))"
)
_UNIT_SCALE: Final = {"k": 1_000, "thousand": 1_000, "grand": 1_000, "hundred": 100, "million": 1_000_000}
_NUMBER_WORDS: Final = {
    **{name: value for name, value in ENGLISH_NUMBERS.items() if name not in ("a", "an", "couple", "zero", "one")},
    **{name: 10 * tens for tens, name in enumerate(("sixty", "seventy", "eighty", "ninety"), start=6)},
}
_SPELT: Final = rf"(?:{'|'.join(sorted([*_NUMBER_WORDS, 'one'], key=len, reverse=True))})"
_SCALE: Final = r"(?:hundred|thousand|grand|million)"
_SPELT_RE: Final = re.compile(rf"\b(?:a\s+{_SCALE}|{_SPELT})(?:(?:\s+and\s+|[\s-]+)(?:{_SPELT}|{_SCALE}))*\b")
_DIGITS_RE: Final = re.compile(
    r"(?<![a-z\d.])(\d+(?:\.\d+)?)(?:\s*(k|thousand|grand|hundred|million)\b)?(?!st\b|nd\b|rd\b|th\b|[a-z]*\d)"
)


def take_quantities(folded: str) -> Quantities:
    """The quantities of a normalised text and the rest of it. Never raises."""
    found = Quantities(_GROUPED_RE.sub("", folded))
    secret = _SECRET_RE.search(folded) is not None
    _days(found)
    _times(found)
    _codes(found, secret=secret)
    _amounts(found)
    return found


def _take(
    found: Quantities, pattern: re.Pattern[str], read: Callable[[re.Match[str]], str | None], kind: Measure
) -> None:
    """Move what `pattern` finds to the terms, where `read` makes something of it."""

    def moved(match: re.Match[str]) -> str:
        term = read(match)
        if term is None:
            return match.group()
        found.terms.setdefault(term, kind)
        return " "

    found.rest = pattern.sub(moved, found.rest)


def _days(found: Quantities) -> None:
    for pattern in (_ISO_RE, _CN_DATE_RE):
        for match in pattern.finditer(found.rest):
            if match[1]:
                found.terms.setdefault(f"{_chinese(match[1]) or 0:g}", Measure.YEAR)
        _take(found, pattern, lambda m: _day(_chinese(m[2]), _chinese(m[3])), Measure.DAY)
    _take(found, _DAY_MONTH_RE, lambda m: _day(_MONTHS[m[2]], english_ordinal(m[1])), Measure.DAY)
    _take(found, _MONTH_DAY_RE, lambda m: _day(_MONTHS[m[1]], english_ordinal(m[2])), Measure.DAY)
    _take(found, _YEAR_RE, lambda m: f"{_chinese(m[1] or m[2]) or 0:g}", Measure.YEAR)
    _take(found, _MONTH_RE, lambda m: f"month{_MONTHS[m[1]]}", Measure.MONTH)
    _take(found, _CN_MONTH_RE, lambda m: _month(_chinese(m[1])), Measure.MONTH)
    _take(found, _WEEKDAY_RE, lambda m: f"weekday{_WEEKDAYS[m[1]]}", Measure.WEEKDAY)
    _take(
        found,
        _CN_WEEKDAY_RE,
        lambda m: f"weekday{'一二三四五六日天'.index(m[1].replace('天', '日')) + 1}",
        Measure.WEEKDAY,
    )


def _day(month: float | None, day: float | None) -> str | None:
    if month is None or day is None or not 1 <= month <= 12 or not 1 <= day <= 31:
        return None
    return f"day{month:g}-{day:g}"


def _month(number: float | None) -> str | None:
    return f"month{number:g}" if number is not None and 1 <= number <= 12 else None


def _times(found: Quantities) -> None:
    _take(found, _CLOCK_RE, lambda m: _time(int(m[1]), int(m[2])), Measure.TIME)
    _take(found, _PAST_RE, _read_past, Measure.TIME)
    _take(found, _AMPM_RE, lambda m: _time(_hour(m[1]), 0), Measure.TIME)
    _take(found, _AT_RE, lambda m: _time(_hour(m[1] or m[2]), 0), Measure.TIME)
    _take(found, _CN_TIME_RE, _read_chinese_time, Measure.TIME)


def _time(hour: float | None, minute: float | None) -> str | None:
    """A time on the dial: who writes six means 18:00 as often as not."""
    if hour is None or minute is None or not 0 <= hour <= 24 or not 0 <= minute < 60:
        return None
    return f"time{hour % 12:g}:{minute:02g}"


def _hour(text: str) -> int | None:
    return int(text) if text.isdecimal() else _SMALL.get(text)


def _read_past(match: re.Match[str]) -> str | None:
    hour = _hour(match[3])
    minutes = 30 if match[1] == "half" else 15
    if hour is None:
        return None
    return _time(hour, minutes) if match[2] == "past" else _time((hour - 1) % 12, 60 - minutes)


def _read_chinese_time(match: re.Match[str]) -> str | None:
    minute: float | None = 30 if match[2] else {"一刻": 15, "三刻": 45}.get(match[3] or "", 0)
    if match[4]:
        minute = _chinese(match[4])
    return _time(_chinese(match[1]), minute)


def _codes(found: Quantities, *, secret: bool) -> None:
    def joined(match: re.Match[str]) -> str | None:
        digits = re.sub(r"\D", "", match.group())
        return digits if secret or len(digits) >= _CODE_DIGITS_MIN else None

    _take(found, _GROUPS_RE, joined, Measure.CODE)
    _take(found, _SPACED_DIGITS_RE, lambda m: re.sub(r"\D", "", m.group()), Measure.CODE)
    _take(found, _CN_DIGITS_RE, lambda m: "".join(str(CHINESE_DIGITS[char]) for char in m.group()), Measure.CODE)


def _amounts(found: Quantities) -> None:
    _take(found, _CN_HEIGHT_RE, _read_height, Measure.AMOUNT)
    _take(found, _CN_AMOUNT_RE, lambda m: _amount(_chinese(m.group()), m), Measure.AMOUNT)
    _take(found, _SPELT_RE, lambda m: _spelt(m.group()), Measure.AMOUNT)
    _take(found, _DIGITS_RE, _read_digits, Measure.AMOUNT)


def _read_digits(match: re.Match[str]) -> str | None:
    digits = match[1]
    if digits.isdecimal() and not match[2] and (digits.startswith("0") or len(digits) >= _CODE_DIGITS_MIN):
        return digits  # a code or a telephone number keeps every digit, as it does in groups
    return _amount(float(digits) * _UNIT_SCALE.get(match[2] or "", 1), match)


def _amount(value: float | None, match: re.Match[str]) -> str | None:
    """One form of an amount; half-kilograms (斤) in kilograms. One of a thing is no amount."""
    if value is None or value == 1:
        return None
    # The unit itself stays in the rest.
    halved = match.string[match.end() : match.end() + 2].strip().startswith("斤")
    return f"{value / 2 if halved else value:.15g}"


def _read_height(match: re.Match[str]) -> str | None:
    metres, rest = _chinese(match[1]), match[2]
    part = _chinese(rest)
    if metres is None or part is None or part >= 100:
        return None
    return f"{metres * 100 + (part * 10 if part < 10 and not rest.startswith(('0', '零')) else part):g}"


def _spelt(text: str) -> str | None:
    """The value of number words, "forty-two thousand"; "seven one" is none."""
    total = current = 0
    for word in re.split(r"[\s-]+", text):
        if word in ("and", "a"):
            current = current or (word == "a")
        elif word == "hundred":
            current = (current or 1) * 100
        elif word in _UNIT_SCALE:
            total, current = total + (current or 1) * _UNIT_SCALE[word], 0
        else:
            current += _NUMBER_WORDS.get(word, 1)
    value = total + current
    return str(value) if value > 1 else None


def _chinese(text: str) -> float | None:
    """The value of `12`, `十二`, `35万`, `一万八` (18,000) or `二零二六`; None when it is none."""
    if re.fullmatch(r"\d+(?:\.\d+)?", text):
        return float(text)
    if not text:
        return None
    if all(char in CHINESE_DIGITS for char in text):
        return float("".join(str(CHINESE_DIGITS[char]) for char in text))
    for scale, size in (("亿", 100_000_000), ("万", 10_000)):
        if scale in text:
            high, _, low = text.partition(scale)
            left, right = _chinese(high), _chinese(low) if low else 0.0
            if left is None or right is None:
                return None
            return left * size + (right * size / 10 if low in CHINESE_DIGITS and right else right)
    return _below_ten_thousand(text)


def _below_ten_thousand(text: str) -> float | None:
    total, pending, last = 0.0, None, 1
    for part in re.findall(r"\d+(?:\.\d+)?|.", text):
        if part in ("十", "百", "千"):
            last = {"十": 10, "百": 100, "千": 1_000}[part]
            total += (1 if pending is None else pending) * last
            pending = None
        elif part in CHINESE_DIGITS:
            pending = float(CHINESE_DIGITS[part])
            last = 10 if part in "零〇" else last
        elif part[0].isdecimal():
            pending = float(part)
        else:
            return None
    # 三千二 is 3,200; 三千零二 is 3,002.
    return total + (pending or 0) * (last / 10 if last > 10 else 1)
