"""Chinese time expressions, as rules tried in order; an earlier rule's match is not looked at again."""

from __future__ import annotations

import re
from datetime import date, timedelta
from typing import Final

from memory_service.domain.text import _when_base as base
from memory_service.domain.text._when_base import (
    Clock,
    Context,
    DayPart,
    Meaning,
    Rule,
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
from memory_service.domain.text.numerals import chinese_number

_DIGIT: Final = "零〇○一二两三四五六七八九"
_NUMBER: Final = rf"(\d{{1,3}}|[{_DIGIT}十百]{{1,5}})"
_MONTH: Final = r"(1[0-2]|0?[1-9]|十[一二]?|[一二三四五六七八九])"
_NUMBER_OR_SOME: Final = rf"([\d]{{1,2}}|[{_DIGIT}十两几]{{1,3}})"
_DAY_NUMBER: Final = r"([12]\d|3[01]|0?[1-9]|[二三]?十[一二三四五六七八九]?|初?[一二三四五六七八九])"
_YEAR: Final = rf"(\d{{4}}年|[{_DIGIT}]{{4}}年|[今明后去前]年)"
_WEEK: Final = r"(?:周|星期|礼拜)"
_WEEKDAYS: Final = {char: number for number, char in enumerate("一二三四五六日")} | {"天": 6}
_RELATIVE: Final = r"(?<![一以楼地脚手底])(这|本|下下|下|上上|上)"
_OFFSETS: Final = {"这": 0, "本": 0, "下": 1, "下下": 2, "上": -1, "上上": -2}
_YEAR_OFFSETS: Final = {"今": 0, "明": 1, "后": 2, "去": -1, "前": -2}
_NO_DAY: Final = "[楼院线店门桌机车馆台坑厅屋房馆柜位床选球铺地文公]"
"""After a number with 号 that counts things, not days."""
_TO: Final = r"\s*(?:到|至|-|\u2013|\u2014|~|\uff5e)\s*"


def _rule(pattern: str, build: base.Builder, needed: str) -> Rule:
    """A rule of Chinese; a sentence must have one of the characters `needed`."""
    return Rule(re.compile(pattern), build, (frozenset(needed),))


def _year_said(text: str | None, context: Context) -> str | None:
    if not text:
        return None
    if text[0] in _YEAR_OFFSETS and len(text) == 2:
        return str(context.today.year + _YEAR_OFFSETS[text[0]])
    number = chinese_number(text[:-1])
    return None if number is None else str(number)


def _value(text: str) -> int:
    number = chinese_number(text.removeprefix("初"))
    if number is None:
        raise ValueError("not a number")
    return number


def _date_range(match: re.Match[str], context: Context) -> Meaning | None:
    year, first_month, first_day, last_month, last_day = match.groups()
    start = choose_year(_value(first_month), _value(first_day), _year_said(year, context), context)
    end = date(start.year, _value(last_month) if last_month else start.month, _value(last_day))
    if end < start:
        end = end.replace(year=end.year + 1)
    if end == start or (not last_month and end.year != start.year):
        return None
    return Meaning(days=Days(start, end + DAY, Granularity.RANGE))


def _date(match: re.Match[str], context: Context) -> Meaning:
    year, number, day = match.groups()
    return Meaning(days=one_day(choose_year(_value(number), _value(day), _year_said(year, context), context)))


def _month(match: re.Match[str], context: Context) -> Meaning | None:
    year, number, edge = match.groups()
    days = choose_month(_value(number), _year_said(year, context), context)
    return Meaning(days=_edge_of(days, edge))


def _bare_month(match: re.Match[str], context: Context) -> Meaning | None:
    return None if context.recurring else Meaning(days=choose_month(_value(match.group(1)), None, context))


def _edge_of(days: Days, edge: str | None) -> Days:
    if edge in ("底", "末"):
        return one_day(days.end - DAY)
    return one_day(days.start) if edge == "初" else days


def _relative_month(match: re.Match[str], context: Context) -> Meaning:
    lead, edge, day = match.groups()
    days = month_of(context.today, _OFFSETS[lead])
    if day:
        return Meaning(days=one_day(days.start.replace(day=_value(day))))
    return Meaning(days=_edge_of(days, edge))


def _bare_edge(match: re.Match[str], context: Context) -> Meaning:
    year, unit, edge = match.groups()
    if unit == "月":
        return Meaning(days=_edge_of(month_of(context.today), edge))
    said = _year_said(year, context)
    number = context.today.year if said is None else int(said)
    # "年底" is used of December as a whole; its last day is what a deadline needs.
    return Meaning(days=_edge_of(year_of(number), edge))


def _year(match: re.Match[str], context: Context) -> Meaning | None:
    said = _year_said(match.group(1), context)
    return None if said is None else Meaning(days=year_of(int(said)))


_NAMED_DAYS: Final = {
    "大后天": (3, None),
    "大前天": (-3, None),
    "后天": (2, None),
    "前天": (-2, None),
    "明天": (1, None),
    "明日": (1, None),
    "明儿": (1, None),
    "昨天": (-1, None),
    "昨日": (-1, None),
    "昨儿": (-1, None),
    "今天": (0, None),
    "今日": (0, None),
    "今儿": (0, None),
    "今晚": (0, base.NIGHT),
    "今夜": (0, base.NIGHT),
    "明晚": (1, base.NIGHT),
    "昨晚": (-1, base.NIGHT),
    "昨夜": (-1, base.NIGHT),
    "后晚": (2, base.NIGHT),
    "今早": (0, base.MORNING),
    "今晨": (0, base.MORNING),
    "明早": (1, base.MORNING),
}


def _named_day(match: re.Match[str], context: Context) -> Meaning:
    offset, part = _NAMED_DAYS[match.group(1)]
    return Meaning(days=one_day(context.today + timedelta(days=offset)), part=part)


def _relative_week(match: re.Match[str], context: Context) -> Meaning:
    lead, day = match.groups()
    offset = _OFFSETS[lead]
    if day is None:
        return Meaning(days=week_of(context.today, offset))
    if day == "末":
        return Meaning(days=weekend_of(context.today, offset))
    return Meaning(days=one_day(week_of(context.today, offset).start + timedelta(days=_WEEKDAYS[day])))


def _weekday(match: re.Match[str], context: Context) -> Meaning | None:
    if context.recurring:
        return None
    weekday = _WEEKDAYS[match.group(1)]
    if context.past:
        day = weekday_before(context.today, weekday)
    else:
        day = weekday_on_or_after(context.today + DAY, weekday)
    return Meaning(days=one_day(day), weekday=weekday)


def _weekend(_match: re.Match[str], context: Context) -> Meaning | None:
    if context.recurring:
        return None
    behind = context.past and context.today.weekday() < 5
    return Meaning(days=weekend_of(context.today, -1 if behind else 0))


_UNITS: Final = {
    "天": "day",
    "周": "week",
    "星期": "week",
    "礼拜": "week",
    "月": "month",
    "年": "year",
    "小时": "hour",
    "钟头": "hour",
    "分钟": "minute",
}
_UNIT: Final = r"(?:个)?(天|周|星期|礼拜|月|年|小时|钟头|分钟)"


def _offset(match: re.Match[str], context: Context) -> Meaning | None:
    count, unit, half, direction = match.groups()
    number = chinese_number(count)
    if number is None:
        return None
    sign = -1 if "前" in direction else 1
    name = _UNITS[unit]
    if half and name == "hour":
        return shifted(sign * (60 * number + 30), "minute", context)
    if half and name == "year":
        return shifted(sign * (12 * number + 6), "month", context)
    return shifted(sign * number, name, context)


def _and_half_offset(match: re.Match[str], context: Context) -> Meaning | None:
    """`两个半小时后`: so many and a half."""
    count, unit, direction = match.groups()
    number = chinese_number(count)
    if number is None:
        return None
    sign = -1 if "前" in direction else 1
    if unit == "月":
        return shifted(sign * (30 * number + 15), "day", context)
    return shifted(sign * (60 * number + 30), "minute", context)


def _half_offset(match: re.Match[str], context: Context) -> Meaning:
    unit, direction = match.groups()
    sign = -1 if "前" in direction else 1
    if unit == "年":
        return shifted(sign * 6, "month", context)
    if unit == "月":
        return shifted(sign * 15, "day", context)
    return shifted(sign * 30, "minute", context)


def _within(match: re.Match[str], context: Context) -> Meaning | None:
    _ahead, behind, count, unit = match.groups()
    number = chinese_number(count)
    if number is None:
        return None
    return span_of_units(-number if behind else number, _UNITS[unit], context)


def _inside(match: re.Match[str], context: Context) -> Meaning | None:
    number = chinese_number(match.group(1))
    return None if number is None else span_of_units(number, _UNITS[match.group(2)], context)


def _for_a_while(match: re.Match[str], context: Context) -> Meaning | None:
    """`这两周`, `这几天`: so long from now on, when the clause says what is to be or not to be done meanwhile."""
    count, unit = match.groups()
    low, high = base.clause_of(match.string, *match.span())
    clause = match.string[low:high]
    if _MEANWHILE_RE.search(clause) is None or _DONE_RE.search(clause) is not None:
        return None
    if count is None:
        return span_of_units(_VAGUE_DAYS, "day", context)
    number = _SOME if count == "几" else chinese_number(count)
    return None if number is None else span_of_units(number, _UNITS[unit], context)


_SOME: Final = 4
"""What 几 counts, at most, where nobody counts."""
_VAGUE_DAYS: Final = 21
_MEANWHILE_RE: Final = re.compile("别|不(?!是|过|错)|先|都|得|要|在|住|停|放|找|用|归|由|请|走|替|只能|暂")
_DONE_RE: Final = re.compile("[了过](?![一二三四五六七八九十两几半])|已经|终于|开始|起")


def _years(match: re.Match[str], context: Context) -> Meaning | None:
    """`2016年3月到2020年6月`, `2019年到2023年底`: whole years or months."""
    first, from_month, last, to_month = match.groups()
    began, ended = _year_said(first, context), _year_said(last, context)
    if began is None or ended is None:
        return None
    low, high = int(began), int(ended)
    start = month(low, _value(from_month)).start if from_month else year_of(low).start
    end = month(high, _value(to_month)).end if to_month else year_of(high).end
    return Meaning(days=Days(start, end, Granularity.RANGE)) if start < end else None


def _stretch(match: re.Match[str], context: Context) -> Meaning | None:
    """`10号到20号`, of a month that is said only relatively or not at all."""
    lead, first, last = match.groups()
    ahead = base.points_ahead(match.string, *match.span())
    days = choose_stretch(_value(first), _value(last), None if lead is None else _OFFSETS[lead], ahead, context)
    return None if days is None else Meaning(days=days)


def _day_number(match: re.Match[str], context: Context) -> Meaning | None:
    day = _value(match.group(1))
    for offset in range(13):
        target = month_of(context.today, -offset if context.past else offset)
        if not 1 <= day <= (target.end - target.start).days:
            continue
        candidate = target.start.replace(day=day)
        if candidate <= context.today if context.past else candidate >= context.today:
            return Meaning(days=one_day(candidate))
    return None


_HOLIDAYS: Final = {
    "元旦": (1, 1),
    "五一": (5, 1),
    "劳动节": (5, 1),
    "国庆": (10, 1),
    "国庆节": (10, 1),
    "平安夜": (12, 24),
    "圣诞": (12, 25),
    "圣诞节": (12, 25),
}


def _holiday(match: re.Match[str], context: Context) -> Meaning:
    number, day = _HOLIDAYS[match.group(2)]
    return Meaning(days=one_day(choose_year(number, day, _year_said(match.group(1), context), context)))


_PARTS: Final[dict[str, DayPart]] = {
    "凌晨": base.SMALL_HOURS,
    "清晨": base.MORNING,
    "早晨": base.MORNING,
    "早上": base.MORNING,
    "上午": base.MORNING,
    "中午": base.NOON,
    "正午": base.NOON,
    "午后": base.AFTERNOON,
    "下午": base.AFTERNOON,
    "傍晚": base.DUSK,
    "晚上": base.NIGHT,
    "夜里": base.NIGHT,
    "夜晚": base.NIGHT,
    "半夜": base.LATE_NIGHT,
    "深夜": base.LATE_NIGHT,
}


def _part(match: re.Match[str], _context: Context) -> Meaning:
    return Meaning(part=_PARTS[match.group(1)])


def _clock(match: re.Match[str], _context: Context) -> Meaning | None:
    hour_text, exact, half, quarter, minute_text = match.groups()
    hour = _value(hour_text)
    minute = 30 if half else {"一刻": 15, "三刻": 45}.get(quarter) if quarter else 0 if exact == "整" else None
    if minute_text:
        minute = _value(minute_text.removeprefix("零").removeprefix("过") or "零")
    if not 0 <= hour <= 24 or (minute is not None and not 0 <= minute <= 59) or (hour == 24 and minute):
        return None
    # "一点", "两点" alone are "a bit" and "two points"; beside a date or part of the day they are hours.
    bound = not (exact or half or quarter or minute_text) and not hour_text.isdigit()
    return Meaning(clock=Clock(hour, minute, certain=hour > 12 or hour == 0, bound=bound))


def _digital(match: re.Match[str], _context: Context) -> Meaning | None:
    hour, minute = int(match.group(1)), int(match.group(2))
    if hour > 24 or minute > 59 or (hour == 24 and minute):
        return None
    return Meaning(clock=Clock(hour, minute, certain=hour > 12 or hour == 0))


def _month_numbered(match: re.Match[str], context: Context) -> Meaning:
    said = _year_said(match.group(1), context)
    return Meaning(days=month(int(said or context.today.year), _value(match.group(2))))


RULES: Final[tuple[Rule, ...]] = (
    _rule(
        rf"{_YEAR}(?:{_MONTH}月)?份?(?:到|至|-|\u2014+|~){_YEAR}(?:{_MONTH}月|底|末|[春夏秋冬]天?)?份?",
        _years,
        "年",
    ),
    _rule(rf"{_YEAR}?{_MONTH}月{_DAY_NUMBER}[日号]?{_TO}(?:{_MONTH}月)?{_DAY_NUMBER}[日号]", _date_range, "月"),
    _rule(rf"{_YEAR}?\s*(?<![\d{_DIGIT}十]){_MONTH}\s*月\s*{_DAY_NUMBER}\s*[日号]", _date, "月"),
    _rule(rf"{_YEAR}?(?<![\d{_DIGIT}十个]){_MONTH}月份?(底|末|初)", _month, "月"),
    _rule(rf"{_YEAR}{_MONTH}月份?", _month_numbered, "月"),
    _rule(
        rf"(?:{_RELATIVE}(?:一)?个?月份?的?|(?<![\d{_DIGIT}十百第A-Za-z月年每])){_DAY_NUMBER}[日号]?{_TO}{_DAY_NUMBER}[日号](?!{_NO_DAY})",
        _stretch,
        "日号",
    ),
    _rule(rf"{_RELATIVE}(?:一)?个?月(?:份)?(?:(底|末|初)|的?{_DAY_NUMBER}[日号])?(?!饼)", _relative_month, "月"),
    _rule(rf"{_YEAR}?(?<!过)(月|年)(底|末|初)(?!一|级|薪)", _bare_edge, "底末初"),
    _rule(rf"{_YEAR}(?!级|前)", _year, "年"),
    _rule(
        rf"(?<![\d{_DIGIT}十个半每满岁第几]){_MONTH}月份?(?![饼球{_DIGIT}\d]|一次)",
        _bare_month,
        "月",
    ),
    _rule(rf"(?<!每)({'|'.join(_NAMED_DAYS)})", _named_day, "天日儿晚夜早晨"),
    _rule(
        rf"{_RELATIVE}(?:一)?个?{_WEEK}(?:的?{_WEEK}?([一二三四五六日天末]))?(?!期|年)",
        _relative_week,
        "周星礼",
    ),
    _rule(
        rf"(?<![每逢])(?<![周期拜][一二三四五六日天][到至]){_WEEK}([一二三四五六日天])(?!{_TO}{_WEEK}?[一二三四五六日天])",
        _weekday,
        "周星礼",
    ),
    _rule(r"(?<![每逢])周末", _weekend, "周"),
    _rule(
        rf"(?<![\d{_DIGIT}十百第几]){_NUMBER}{_UNIT}(半)?(之后|以后|后(?!面|边)|之前|以前|前(?!面|边|半))",
        _offset,
        "后前",
    ),
    _rule(
        rf"(?<![\d{_DIGIT}十百第几]){_NUMBER}个半(月|小时|钟头)(之后|以后|后|之前|以前|前)",
        _and_half_offset,
        "半",
    ),
    _rule(r"半个?(年|月|小时|钟头)(之后|以后|后(?!面|边)|之前|以前|前(?!面|边))", _half_offset, "半"),
    _rule(rf"(?:(接下来|未来|今后)|(最近|过去|近))(?:的)?{_NUMBER}{_UNIT}", _within, "来后近去"),
    _rule(rf"(?<![\d{_DIGIT}十百第几每]){_NUMBER}{_UNIT}(?:之内|以内|内)", _inside, "内"),
    _rule(
        rf"(?<![从自])这(?:{_NUMBER_OR_SOME}(?:个)?(天|周|星期|礼拜|月)|阵子|段时间|段日子)(?:之?内|里)?(?![起前后以之])",
        _for_a_while,
        "这",
    ),
    _rule(rf"({'|'.join(sorted(_PARTS, key=len, reverse=True))})", _part, "晨早上午晚里夜"),
    _rule(
        rf"(?<![\d{_DIGIT}十百第A-Za-z月])(?<![日号][到至~-])([12]\d|3[01]|[1-9]|[二三]?十[一二三四五六七八九]?|[一二三四五六七八九])号"
        r"(?=[前后之以，。,.！!\s早上下中晚凌要去开交是到截]|$)(?!上[的门]|下[铺面])"
        rf"(?!{_TO}{_DAY_NUMBER}[日号])",
        _day_number,
        "号",
    ),
    _rule(rf"{_YEAR}?({'|'.join(sorted(_HOLIDAYS, key=len, reverse=True))})(?!广场)", _holiday, "元五劳国平圣"),
    _rule(
        rf"(?<![\d{_DIGIT}十百第几.]){_NUMBER}点(?![儿心评菜头赞击名燃子缀数滴\d])(钟|整)?"
        rf"(?:(半)|(一刻|三刻)|((?:零|过)?(?:\d{{1,2}}|[{_DIGIT}十]{{1,3}}))分?(?!个))?",
        _clock,
        "点",
    ),
    _rule(r"(?<![\d:.\-/])(\d{1,2}):(\d{2})(?::\d{2})?(?![\d:])", _digital, base.DIGIT_HINT),
)
