"""English time expressions, as rules tried in order; an earlier rule's match is not looked at again."""

from __future__ import annotations

import re
from datetime import date, timedelta
from typing import Final

from memory_service.domain.text import _when_base as base
from memory_service.domain.text._when_base import (
    Context,
    Meaning,
    Rule,
    calendar_step,
    choose_month,
    choose_stretch,
    choose_year,
    shifted,
    span_of_units,
)
from memory_service.domain.text.calendar_math import (
    DAY,
    Days,
    Granularity,
    month,
    month_of,
    one_day,
    week_of,
    weekday_before,
    weekday_on_or_after,
    weekend_of,
    year_of,
)
from memory_service.domain.text.numerals import (
    ENGLISH_NUMBERS,
    ENGLISH_ORDINALS,
    english_number,
    english_ordinal,
)

_MONTHS: Final = (
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
)
_WEEKDAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")

MONTH: Final = (
    r"(january|february|march|april|may|june|july|august|september|october|november|december"
    r"|(?:jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)\b\.?)"
)
WEEKDAY: Final = (
    r"(monday|tuesday|wednesday|thursday|friday|saturday|sunday|(?-i:Mon|Tues?|Wed|Thurs?|Thur|Fri)\b\.?)"
)
_ORDINAL_WORDS: Final = "|".join(sorted(map(re.escape, ENGLISH_ORDINALS), key=len, reverse=True))
_ORDINAL: Final = rf"(\d{{1,2}}(?:st|nd|rd|th)?|{_ORDINAL_WORDS})\b"
_YEAR: Final = r"(?:,?\s+(\d{4})\b)?"
_NUMBER: Final = (
    r"(\d{1,4}|(?:a\s+)?couple\s+of|an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fourteen"
    r"|fifteen|twenty|thirty|forty|fifty)"
)
_UNIT: Final = r"(minute|min|hour|hr|day|week|fortnight|month|year)s?\b"
_TO: Final = r"\s*(?:-|\u2013|\u2014|to|through|till|until)\s*(?:the\s+)?"


_DAY_SAID: Final = rf"(\d{{1,2}}(?:st|nd|rd|th)|{_ORDINAL_WORDS})\b"
# What may follow a day that is named by its number alone: "the 20th floor" is none.
_AFTER_DAY: Final = (
    r"(?=\s*(?:[,.;:!?)]|$)|\s+(?:at|in|for|to|and|but|so|we|i|you|he|she|they|it|my|our|with|was|is|am|are|on"
    r"|inclusive|because|while|when|if|unless|please|thanks|then|too|again|only|this|not|no)\b)"
)
_OF_MONTH: Final = r"(?:\s+(?:of\s+)?(this|next|last)\s+month)?"


def rule(pattern: str, build: base.Builder, *needs: frozenset[str]) -> Rule:
    """A rule of English, blind to case."""
    return Rule(re.compile(pattern, re.IGNORECASE), build, needs)


_DIGITS: Final = frozenset({base.DIGIT_HINT})
_MONTHS_NEEDED: Final = frozenset(_MONTHS) | base.any_of("jan feb mar apr jun jul aug sep sept oct nov dec")
WEEKDAYS_NEEDED: Final = frozenset(_WEEKDAYS) | base.any_of("mon tue tues wed thu thur thurs fri")
NUMBERS_NEEDED: Final = _DIGITS | frozenset(ENGLISH_NUMBERS)
_ORDINALS_NEEDED: Final = _DIGITS | frozenset(word for name in ENGLISH_ORDINALS for word in re.split("[- ]", name))
_UNITS_NEEDED: Final = base.any_of(
    "minute min hour hr day week fortnight month year minutes mins hours hrs days weeks fortnights months years"
)
_PERIODS_NEEDED: Final = base.any_of("week weekend month year")
_LEADS_NEEDED: Final = base.any_of("this next last past previous coming upcoming")


def _month_number(name: str) -> int:
    prefix = name.lower()[:3]
    return next(number for number, full in enumerate(_MONTHS, start=1) if full.startswith(prefix))


def _weekday_number(name: str) -> int:
    prefix = name.lower()[:3]
    return next(number for number, full in enumerate(_WEEKDAYS) if full.startswith(prefix))


def _is_modal(name: str, ordinal: str = "") -> bool:
    """`may 5`, `march 20` in lower case are more often verbs than dates; with `5th` they are dates."""
    return name in ("may", "march", "mar") and ordinal.isdigit()


def _iso(match: re.Match[str], _context: Context) -> Meaning:
    year, number, day = (int(part) for part in match.groups())
    return Meaning(days=one_day(date(year, number, day)))


def _slashed(match: re.Match[str], _context: Context) -> Meaning | None:
    first, second, year = (int(part) for part in match.groups())
    if first > 12 or first == second:
        return Meaning(days=one_day(date(year, second, first)))
    # 03/04 is March to some and April to others: no guess.
    return Meaning(days=one_day(date(year, first, second))) if second > 12 else None


def _day_range(number: int, first: str, last: str, year: str | None, context: Context) -> Meaning | None:
    start_day, end_day = english_ordinal(first), english_ordinal(last)
    if start_day is None or end_day is None or end_day <= start_day:
        return None
    start = choose_year(number, start_day, year, context)
    return Meaning(days=Days(start, start.replace(day=end_day) + DAY, Granularity.RANGE))


def _month_days(match: re.Match[str], context: Context) -> Meaning | None:
    name, first, last, year = match.groups()
    if _is_modal(name, first):
        return None
    return _day_range(_month_number(name), first, last, year, context)


def _days_of_month(match: re.Match[str], context: Context) -> Meaning | None:
    first, last, name, year = match.groups()
    return _day_range(_month_number(name), first, last, year, context)


def _month_day(match: re.Match[str], context: Context) -> Meaning | None:
    name, ordinal, year = match.groups()
    day = english_ordinal(ordinal)
    if day is None or _is_modal(name, ordinal):
        return None
    return Meaning(days=one_day(choose_year(_month_number(name), day, year, context)))


def _day_of_month(match: re.Match[str], context: Context) -> Meaning | None:
    ordinal, name, year = match.groups()
    day = english_ordinal(ordinal)
    if day is None:
        return None
    return Meaning(days=one_day(choose_year(_month_number(name), day, year, context)))


def _month_only(match: re.Match[str], context: Context) -> Meaning | None:
    lead, name, year = match.groups()
    if name in ("may", "march", "mar") and not year:
        return None
    days = choose_month(_month_number(name), year, context)
    if not year and lead and lead.lower() in ("last", "next"):
        current = month_of(context.today).start
        if lead.lower() == "last" and days.start >= current:
            days = month(days.start.year - 1, days.start.month)
        if lead.lower() == "next" and days.start <= current:
            days = month(days.start.year + 1, days.start.month)
    return Meaning(days=days)


def _month_year(match: re.Match[str], _context: Context) -> Meaning:
    return Meaning(days=month(int(match.group(2)), _month_number(match.group(1))))


def _years(match: re.Match[str], _context: Context) -> Meaning | None:
    """`2019 to the end of 2023`: whole years, but for an edge that is named."""
    first, edge, last = match.group(1), (match.group(2) or "").lower(), match.group(3)
    if int(first) > int(last):
        return None
    start, whole = year_of(int(first)).start, year_of(int(last))
    end = whole.start if edge in ("start", "beginning") else whole.end
    return Meaning(days=Days(start, end, Granularity.RANGE)) if end > start else None


def _year_only(match: re.Match[str], _context: Context) -> Meaning:
    return Meaning(days=year_of(int(match.group(1))))


_PERIOD_OFFSETS: Final = {"last": -1, "past": -1, "previous": -1, "next": 1, "coming": 0, "upcoming": 0}


def _period(unit: str, offset: int, context: Context) -> Days:
    if unit == "week":
        return week_of(context.today, offset)
    if unit == "weekend":
        return weekend_of(context.today, offset)
    return month_of(context.today, offset) if unit == "month" else year_of(context.today.year + offset)


def _edge(match: re.Match[str], context: Context) -> Meaning:
    """`the end of the month` is its last day, `the start of May` its first."""
    edge, lead, unit, name = (part.lower() if part else "" for part in match.groups())
    if name:
        days = choose_month(_month_number(name), None, context)
    else:
        days = _period(unit, _PERIOD_OFFSETS.get(lead, 0), context)
    return Meaning(days=one_day(days.end - DAY if edge == "end" else days.start))


def _relative_period(match: re.Match[str], context: Context) -> Meaning:
    lead, unit, further = match.group(1).lower(), match.group(2).lower(), match.group(3)
    offset = _PERIOD_OFFSETS.get(lead, 0) + (1 if further else 0)
    if lead in ("coming", "upcoming") and unit != "weekend":
        offset = 1
    return Meaning(days=_period(unit, offset, context))


def _after_next(match: re.Match[str], context: Context) -> Meaning:
    unit = match.group(1).lower()
    if unit in ("week", "weekend", "month", "year"):
        return Meaning(days=_period(unit, 2, context))
    return Meaning(days=one_day(week_of(context.today, 2).start + timedelta(days=_weekday_number(unit))))


def _the_weekend(_match: re.Match[str], context: Context) -> Meaning | None:
    if context.recurring:
        return None
    behind = context.past and context.today.weekday() < 5
    return Meaning(days=weekend_of(context.today, -1 if behind else 0))


def _relative_weekday(match: re.Match[str], context: Context) -> Meaning:
    """this = the first from today on; next = in the next Monday-to-Sunday week; last = the last one gone."""
    lead, weekday = match.group(1).lower(), _weekday_number(match.group(2))
    if lead == "next":
        day = week_of(context.today, 1).start + timedelta(days=weekday)
    elif lead in ("last", "past", "previous"):
        day = weekday_before(context.today, weekday)
    elif lead == "this" and context.past:
        day = weekday_before(context.today + DAY, weekday)
    else:
        day = weekday_on_or_after(context.today, weekday)
    return Meaning(days=one_day(day))


def _bare_weekday(name: str, context: Context) -> date:
    if context.past:
        return weekday_before(context.today, _weekday_number(name))
    return weekday_on_or_after(context.today + DAY, _weekday_number(name))


def _weekday(match: re.Match[str], context: Context) -> Meaning | None:
    if context.recurring:
        return None
    return Meaning(days=one_day(_bare_weekday(match.group(1), context)), weekday=_weekday_number(match.group(1)))


def _week_from(match: re.Match[str], context: Context) -> Meaning | None:
    count, unit, anchor = match.groups()
    number = english_number(count)
    if number is None:
        return None
    lowered = anchor.lower()
    if lowered in ("today", "now"):
        day = context.today
    elif lowered == "tomorrow":
        day = context.today + DAY
    else:
        day = _bare_weekday(anchor, context)
    return Meaning(days=one_day(day + calendar_step(number, unit)))


def _weekday_week(match: re.Match[str], context: Context) -> Meaning:
    return Meaning(days=one_day(_bare_weekday(match.group(1), context) + timedelta(weeks=1)))


def _in_units(match: re.Match[str], context: Context) -> Meaning | None:
    number = english_number(match.group(1))
    return None if number is None else shifted(number, match.group(2).lower(), context)


def _units_ago(match: re.Match[str], context: Context) -> Meaning | None:
    number = english_number(match.group(1))
    return None if number is None else shifted(-number, match.group(2).lower(), context)


def _half_hour(match: re.Match[str], context: Context) -> Meaning:
    return shifted(-30 if match.group(1) else 30, "minute", context)


def _next_units(match: re.Match[str], context: Context) -> Meaning | None:
    lead, count, unit = match.groups()
    number = english_number(count)
    if number is None:
        return None
    return span_of_units(number if lead.lower() in ("next", "coming") else -number, unit.lower(), context)


def _for_the_unit(match: re.Match[str], context: Context) -> Meaning | None:
    """`I'm at my sister's for the fortnight`: so long from now on, where nothing says that it is over or goes on."""
    low, high = base.clause_of(match.string, *match.span())
    if context.past or _LASTED_RE.search(match.string, low, high) or not _LASTING_RE.search(match.string, low, high):
        return None
    return span_of_units(1, match.group(1).lower(), context)


_LASTING_RE: Final = re.compile(
    r"(?:\b(?:am|is|are)|['\u2019](?:m|s|re))\b|\b(?:stay|off|away|out|no|only|closed)\b", re.IGNORECASE
)
_LASTED_RE: Final = re.compile(
    r"\b(?:been|was|were|had|has|have|did|went|stayed|lived|worked|ran|used)\b|['\u2019]ve\b", re.IGNORECASE
)


def _day_number(match: re.Match[str], context: Context) -> Meaning | None:
    """`on the 25th`: in this month if still to come (or gone, in the past), else the nearest that has it."""
    day = english_ordinal(match.group(1))
    if day is None:
        return None
    for offset in range(13):
        target = month_of(context.today, -offset if context.past else offset)
        if day > (target.end - target.start).days:
            continue
        candidate = target.start.replace(day=day)
        if candidate <= context.today if context.past else candidate >= context.today:
            return Meaning(days=one_day(candidate))
    return None


def _stretch(match: re.Match[str], context: Context) -> Meaning | None:
    """`the 10th to the 20th`, of a month that is said only relatively or not at all."""
    first, last = (english_ordinal(day) for day in match.group(1, 2))
    if first is None or last is None:
        return None
    lead = match.group(3)
    offset = None if lead is None else _PERIOD_OFFSETS.get(lead.lower(), 0)
    days = choose_stretch(first, last, offset, base.points_ahead(match.string, *match.span()), context)
    return None if days is None else Meaning(days=days)


def _weekday_number_day(match: re.Match[str], context: Context) -> Meaning | None:
    """`Sunday the 25th`: the nearest month in the sentence's direction whose 25th is a Sunday."""
    weekday, day = _weekday_number(match.group(1)), english_ordinal(match.group(2))
    for offset in range(13):
        target = month_of(context.today, -offset if context.past else offset)
        if day is None or day > (target.end - target.start).days:
            continue
        candidate = target.start.replace(day=day)
        fits = candidate <= context.today if context.past else candidate >= context.today
        if fits and candidate.weekday() == weekday:
            return Meaning(days=one_day(candidate))
    return None


_NAMED_DAYS: Final = {
    "today": (0, None),
    "tonight": (0, base.NIGHT),
    "tomorrow": (1, None),
    "tmrw": (1, None),
    "yesterday": (-1, None),
    "the day after tomorrow": (2, None),
    "day after tomorrow": (2, None),
    "the day before yesterday": (-2, None),
    "day before yesterday": (-2, None),
    "last night": (-1, base.NIGHT),
    "this morning": (0, base.MORNING),
    "this afternoon": (0, base.AFTERNOON),
    "this evening": (0, base.EVENING),
    "later today": (0, None),
}


def _named_day(match: re.Match[str], context: Context) -> Meaning:
    offset, part = _NAMED_DAYS[" ".join(match.group().lower().split())]
    return Meaning(days=one_day(context.today + timedelta(days=offset)), part=part)


_HOLIDAYS: Final = {
    "christmas eve": (12, 24),
    "christmas": (12, 25),
    "boxing day": (12, 26),
    "new year's eve": (12, 31),
    "new year's day": (1, 1),
    "halloween": (10, 31),
    "valentine's day": (2, 14),
}


def _holiday(match: re.Match[str], context: Context) -> Meaning:
    name = " ".join(match.group(1).lower().replace("\u2019", "'").split()).removesuffix(" day")
    number, day = _HOLIDAYS.get(name) or _HOLIDAYS[name + " day"]
    return Meaning(days=one_day(choose_year(number, day, match.group(2), context)))


RULES: Final[tuple[Rule, ...]] = (
    rule(r"(?<![\d\-/.])(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?![\d\-/])", _iso, _DIGITS),
    rule(r"(?<![\d\-/.])(\d{1,2})[/.](\d{1,2})[/.](\d{4})(?![\d\-/])", _slashed, _DIGITS),
    rule(
        rf"\b{MONTH}\s+(?:the\s+)?{_ORDINAL}{_TO}{_ORDINAL}{_YEAR}",
        _month_days,
        _MONTHS_NEEDED,
        _ORDINALS_NEEDED,
    ),
    rule(
        rf"\b{_ORDINAL}{_TO}{_ORDINAL}(?:\s+of)?\s+{MONTH}\b{_YEAR}",
        _days_of_month,
        _MONTHS_NEEDED,
        _ORDINALS_NEEDED,
    ),
    rule(
        rf"\b{MONTH}\s+(?:the\s+)?{_ORDINAL}{_YEAR}(?!\s*(?:%|percent|people|times))",
        _month_day,
        _MONTHS_NEEDED,
        _ORDINALS_NEEDED,
    ),
    rule(rf"\b{_ORDINAL}(?:\s+of)?\s+{MONTH}\b{_YEAR}", _day_of_month, _MONTHS_NEEDED, _ORDINALS_NEEDED),
    rule(
        rf"(?<!between )(?<!between the )(?:\bthe\s+|\b(?=\d)){_DAY_SAID}{_TO}{_DAY_SAID}{_OF_MONTH}{_AFTER_DAY}",
        _stretch,
        _ORDINALS_NEEDED,
    ),
    rule(
        rf"(?<=between )(?:the\s+)?{_DAY_SAID}\s+and\s+(?:the\s+)?{_DAY_SAID}{_OF_MONTH}{_AFTER_DAY}",
        _stretch,
        _ORDINALS_NEEDED,
        base.any_of("between"),
    ),
    rule(
        rf"\b(end|start|beginning)\s+of\s+(?:(?:the|this|(next|last))\s+)?(?:(week|month|year)\b|{MONTH})",
        _edge,
        base.any_of("end start beginning"),
    ),
    rule(rf"\b{MONTH},?\s+(\d{{4}})\b", _month_year, _MONTHS_NEEDED, _DIGITS),
    rule(
        r"\b(?:in|by|during|since|until|till|from|through|early|late|mid|(this|next|last))[\s-]+"
        rf"{MONTH}\b(?:\s+(\d{{4}})\b)?(?!\s*\d)",
        _month_only,
        _MONTHS_NEEDED,
    ),
    rule(
        r"\b((?:19|20)\d{2})\s*(?:to|until|till|through|-|\u2013|\u2014)\s*"
        r"(?:(?:the\s+)?(end|start|beginning|middle|spring|summer|autumn|fall|winter)\s+of\s+|about\s+|around\s+)?"
        r"((?:19|20)\d{2})\b"
        r"(?![-/.:]\d)",
        _years,
        _DIGITS,
    ),
    rule(r"\b(?:in|since|during|until|by|back in)\s+((?:19|20)\d{2})\b(?![-/.:]\d)", _year_only, _DIGITS),
    rule(
        r"\b(?:the\s+)?day\s+(?:after\s+tomorrow|before\s+yesterday)\b",
        _named_day,
        base.any_of("tomorrow yesterday"),
    ),
    rule(
        rf"\b{_NUMBER}\s+(day|week|fortnight)s?\s+(?:from|after|on)\s+(today|now|tomorrow|{WEEKDAY[1:-1]})\b",
        _week_from,
        _UNITS_NEEDED,
        base.any_of("from after on"),
    ),
    rule(rf"\b{WEEKDAY}\s+week\b(?!\s*(?:end|day))", _weekday_week, WEEKDAYS_NEEDED, base.any_of("week")),
    rule(
        rf"\b(next|coming|past|last)\s+{_NUMBER}\s+{_UNIT}",
        _next_units,
        _UNITS_NEEDED,
        base.any_of("next coming past last"),
    ),
    rule(
        r"\bfor\s+(?:the\s+(?:(?:whole|entire|rest\s+of\s+the)\s+)?|a\s+)(day|week|fortnight|month)\b"
        r"(?!\s+(?:now|ago|or so now))",
        _for_the_unit,
        base.any_of("day week fortnight month"),
        base.any_of("for"),
    ),
    rule(
        r"\bhalf\s+an\s+hour\s+(?:(ago)|from\s+now|later)\b|\bin\s+half\s+an\s+hour\b",
        _half_hour,
        base.any_of("half"),
    ),
    rule(rf"\b{_NUMBER}\s+{_UNIT}\s+ago\b", _units_ago, base.any_of("ago")),
    rule(rf"\b{_NUMBER}\s+{_UNIT}\s+(?:from\s+now|later)\b", _in_units, base.any_of("now later")),
    rule(
        rf"\b(?:with)?in\s+(?:about\s+|around\s+|roughly\s+)?{_NUMBER}\s+{_UNIT}(?:['\u2019]?s?\s+time)?",
        _in_units,
        _UNITS_NEEDED,
        base.any_of("in within"),
    ),
    rule(
        rf"\b(?:the\s+)?(week|weekend|month|year|{WEEKDAY[1:-1]})\s+after\s+next\b",
        _after_next,
        base.any_of("next"),
    ),
    rule(
        r"\b(?:this\s+)?(this|next|last|past|previous|coming|upcoming)\s+(weekend|week|month|year)\b(\s+after\s+next)?",
        _relative_period,
        _PERIODS_NEEDED,
        _LEADS_NEEDED,
    ),
    rule(
        rf"\b(?:this\s+)?(this|next|last|past|previous|coming|upcoming)\s+{WEEKDAY}(?!s)\b",
        _relative_weekday,
        WEEKDAYS_NEEDED,
        _LEADS_NEEDED,
    ),
    rule(
        r"\b(?:tonight|later\s+today|today|tomorrow|tmrw|yesterday|last\s+night|this\s+(?:morning|afternoon|evening))\b",
        _named_day,
        base.any_of("tonight today tomorrow tmrw yesterday last this"),
    ),
    rule(r"\b(?:the|over\s+the|at\s+the)\s+weekend\b", _the_weekend, base.any_of("weekend")),
    rule(rf"\b{WEEKDAY}\s+(?:the\s+){_ORDINAL}", _weekday_number_day, WEEKDAYS_NEEDED, _ORDINALS_NEEDED),
    rule(
        r"\b(?:on|by|until|till|from|since|before|after)\s+the\s+"
        rf"(\d{{1,2}}(?:st|nd|rd|th)|{_ORDINAL_WORDS})(?=\s*(?:[,.;!?)]|$)|\s+(?:at|in|for|to|and|we|i|with)\b)"
        rf"(?!{_TO}{_DAY_SAID})",
        _day_number,
        _ORDINALS_NEEDED,
    ),
    rule(
        r"\b(christmas(?:\s+(?:eve|day))?|boxing\s+day|new\s+year['\u2019]s\s+(?:eve|day)|halloween"
        rf"|valentine['\u2019]s\s+day){_YEAR}(?!\w)",
        _holiday,
        base.any_of("christmas boxing new halloween valentine"),
    ),
    # "Monday to Friday" is a schedule, and no two dates.
    rule(
        rf"\b(?<!day to )(?<!day through )(?<!day-)(?<!day\u2013){WEEKDAY}\b(?!['\u2019]s\s+child)"
        rf"(?!{_TO}{WEEKDAY}\b)",
        _weekday,
        WEEKDAYS_NEEDED,
    ),
)
