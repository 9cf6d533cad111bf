"""What the English and the Chinese rules of time expressions share: atoms, their context, and tense."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from memory_service.domain.text.calendar_math import DAY, Days, Granularity, add_months, month, month_of, one_day


@dataclass(frozen=True, slots=True)
class DayPart:
    """A part of a day in local hours; over 24 is the small hours of the next day."""

    start_hour: int
    end_hour: int


SMALL_HOURS: Final = DayPart(0, 6)
MORNING: Final = DayPart(5, 12)
NOON: Final = DayPart(11, 14)
AFTERNOON: Final = DayPart(12, 18)
DUSK: Final = DayPart(17, 20)
EVENING: Final = DayPart(18, 24)
NIGHT: Final = DayPart(18, 28)
LATE_NIGHT: Final = DayPart(22, 28)


@dataclass(frozen=True, slots=True)
class Clock:
    """A time of day as said.

    `certain` when the words fix the half of the day ("7 pm", "15:00"); `hour` is then 0 to 24. `bound` when
    the words mean a clock only beside a date or part of the day ("at nine", 一点).
    """

    hour: int
    minute: int | None
    certain: bool
    bound: bool = False


@dataclass(frozen=True, slots=True)
class Instant:
    """A stretch of the time line that needs no calendar ("in two hours")."""

    start: datetime
    end: datetime
    granularity: Granularity


@dataclass(frozen=True, slots=True)
class Atom:
    """The smallest expression a rule recognises: exactly one of days, clock, instant or part alone.

    `days` may come with a `part` ("tonight"). `weekday` marks days that were only named by their weekday.
    """

    span: tuple[int, int]
    days: Days | None = None
    part: DayPart | None = None
    clock: Clock | None = None
    instant: Instant | None = None
    weekday: int | None = None


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a rule's builder returns: an atom without its place."""

    days: Days | None = None
    part: DayPart | None = None
    clock: Clock | None = None
    instant: Instant | None = None
    weekday: int | None = None

    def at(self, span: tuple[int, int]) -> Atom:
        return Atom(span, self.days, self.part, self.clock, self.instant, self.weekday)


@dataclass(frozen=True, slots=True)
class Context:
    """When and where a statement was made, and how its sentence leans."""

    said_at: datetime  # UTC
    today: date  # local
    tz: ZoneInfo
    past: bool
    recurring: bool
    nearest: bool = False
    """Whether nothing tells which way the sentence leans, so that the nearer of what was and what comes is meant."""


Builder = Callable[[re.Match[str], Context], Meaning | None]


@dataclass(frozen=True, slots=True)
class Rule:
    """A pattern and what it means.

    `needs` is what a sentence must have for the pattern to be worth trying: one of each set, out of the
    sentence's `hints`. It only saves time, and must never exclude a match.
    """

    pattern: re.Pattern[str]
    build: Builder
    needs: tuple[frozenset[str], ...]


_HINT_RE: Final = re.compile(r"[a-z]+|[\u4e00-\u9fff\u3007\u25cb]")
_DIGIT_RE: Final = re.compile(r"\d")
DIGIT_HINT: Final = "#"


def hints(sentence: str) -> set[str]:
    """The lower-case Latin words and the Chinese characters of a sentence, and "#" when it has a digit."""
    found = set(_HINT_RE.findall(sentence.lower()))
    if _DIGIT_RE.search(sentence):
        found.add(DIGIT_HINT)
    return found


def any_of(words: str) -> frozenset[str]:
    """A set of hints from words separated by spaces."""
    return frozenset(words.split())


_RECURRING_RE: Final = re.compile(
    r"\b(?:every|each|always|usually|normally|generally|typically|never|weekly|daily|monthly"
    r"|yearly|annually|"
    r"often|nightly|whenever|(?:mon|tues|wednes|thurs|fri|satur|sun)days|weekdays|weekends"
    r"|mornings|evenings|"
    r"nights|as a rule)\b"
    r"|每|总是|总要|一般|平时|平常|通常|从不|从来|固定|工作日|天天|一天[一二两三四]次|习惯|经常"
    r"|常常|向来",
    re.IGNORECASE,
)

_FUTURE_RE: Final = re.compile(
    r"\b(?:will|shall|going to|gonna|have to|has to|need to|must|should|plan(?:ning)? to|hop(?:e"
    r"|ing) to|"
    r"supposed to|about to|due|remind|remember to|don't forget|let's|wants?)\b|['\u2019]ll\b"
    r"|(?<![主重])要(?![求是么紧素领])"
    r"|(?<![学开社机约聚领体误例晚早年展大峰唱宴舞晚协商理班周月])会(?!议"
    r"|上|员|计|场)|将|准备|打算|计划|得去|得在|该|别忘|记得|提醒|快到",
    re.IGNORECASE,
)
# An -ed form after a form of "be" or "get" is a state ("is scheduled"), not a past.
# Forms that are also adjectives, nouns or presents ("left hip", "I've got") tell a past only after a pronoun;
# an -ed form after a form of "be" or "get" is a state ("is scheduled"), not a past.
_PAST_RE: Final = re.compile(
    r"\b(?:was|were|went|had|did|didn['\u2019]t|met|saw|came|ate|bought|said|told|took|made|gave"
    r"|began|lost|wrote|"
    r"spent|drove|flew|slept|woke|broke|heard|knew|sold|sent|brought|caught|taught|paid|understood"
    r"|became|led|rode|wore|drank|"
    r"swam|sang|fell|forgot|chose|grew|hung out|ago|led|rode|wore|used to)\b"
    r"|\b(?:i|we|you|he|she|they|it|who)\s+(?:just\s+|finally\s+|also\s+)?"
    r"(?:left|read|felt|thought|found|ran|won|kept|held|stood|quit|got|put|cut|set|lay|bit|shot)\b"
    r"|\b(?<!\bis )(?<!\bare )(?<!\bam )(?<!\bbe )(?<!\bget )(?<!['\u2019]s )(?<!['\u2019]re )(?<!['\u2019]m )"
    r"(?!(?:need|feed|seed|bed|red|speed|embed|tired|excited|interested|hundred|indeed|exceed"
    r"|proceed|"
    r"succeed|wed|shed|ahead)\b)[a-z]{2,}ed\b"
    r"|[\u4e00-\u9fff]了|(?![度通经超不难路错透越渡])[\u4e00-\u9fff]过(?!敏|来|去|年|节|度|期|程|生日)"
    r"|[抽收遇看听碰吃拿买找]到(?!时|底|期)|刚[才刚]?|已经|曾经",
    re.IGNORECASE,
)


# What is asked or given up is not done yet, though it ends in 了: "别放葱了", "不吃辣了".
# (不见了 and 不小心 … tell of the past.)
_NOT_DONE_RE: Final = re.compile(
    r"(?:(?<![特区分告类性级个识辨送])别(?!人|的|处|名|墅|扭|致)|甭|不要|不用|不必|勿)"
    r"[^，,。;；!！?？]{0,12}了"
    r"|(?<![从得])不(?!见|小心|知|得|久|料|巧|幸|慎|光|仅|只|但|过|错|停|断)"
    r"[^，,。;；!！?？不了]{1,4}了(?=$|[，,。;；!！?？\s吧])"
)


def looks_past(sentence: str) -> bool:
    """Whether a sentence tells of something done, by its verbs: false as soon as anything points ahead."""
    if _FUTURE_RE.search(sentence) is not None:
        return False
    told = _NOT_DONE_RE.sub("", sentence) if "了" in sentence else sentence
    return _PAST_RE.search(told) is not None


def points_ahead(text: str, start: int, end: int) -> bool:
    """Whether the clause with `text[start:end]` says by a word that it is still to come; 80 characters each way."""
    return _FUTURE_RE.search(text, *clause_of(text, start, end)) is not None


def clause_of(text: str, start: int, end: int) -> tuple[int, int]:
    """Where the clause with `text[start:end]` begins and ends; at most 80 characters each way."""
    low, high = max(0, start - _CLAUSE_REACH), min(len(text), end + _CLAUSE_REACH)
    low = max((match.end() for match in _CLAUSE_MARK_RE.finditer(text, low, start)), default=low)
    mark = _CLAUSE_MARK_RE.search(text, end, high)
    return low, mark.start() if mark else high


_CLAUSE_REACH: Final = 80
_CLAUSE_MARK_RE: Final = re.compile(r"[,;.!?，；。！？\n]")


# What has lasted "since the 2nd" began before it was said, whatever the tense of the rest.
_SINCE_RE: Final = re.compile(
    r"\bsince\s+(?:(?:the|last|this|early|mid|late|about|around|start|beginning|end|middle|of)\b[\s-]*)*(?:\d"
    r"|[a-z]*(?:day|ary|uly|une|may|march|april|august|ber)\b"
    r"|(?:first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth"
    r"|eleventh|twelfth)\b)|自从|自.{1,8}(?:以来|起)|从[^，,。]{1,8}(?:开始"
    r"|起)[^，,。]{1,16}了(?=$|[，,。!！])",
    re.IGNORECASE,
)
# "From March on", 从三月起, 一直到三月都 and 三月之前住 say of themselves neither that it was nor that it will be.
_UNDIRECTED_RE: Final = re.compile(
    r"\bfrom\b[^,.;]{1,30}\b(?:on|onwards?|forward)\b|[月日号年份](?:初|底|末)?(?:起(?!来|床|飞|身)|开始)|(?:一直|直)到[^，,。]{1,10}都"
    r"|[月日号年](?:之前|以前)[^，,。]{0,4}(?:一直|住|在|是|用|叫|都)",
    re.IGNORECASE,
)
_CLAUSE_END_RE: Final = re.compile(r"[,;，；]+|\s[-\u2013\u2014]\s|\b(?:but|so)\b")
# A clause this short holds the time alone ("On Monday, I went ..."); its verb is in the next one.
_VERBLESS_CLAUSE_CHARS: Final = {True: 7, False: 24}  # with Chinese characters, without
_HAN_RE: Final = re.compile("[\u4e00-\u9fff]")


def clause_tenses(text: str, start: int, end: int) -> list[tuple[int, bool]]:
    """Where each clause of the sentence `text[start:end]` ends, and whether it tells of something done.

    Tense is a matter of the clause: "we moved it, the talk is on 8 May" looks ahead.
    """
    ends = [match.end() for match in _CLAUSE_END_RE.finditer(text, start, end)] + [end]
    tenses, low = [], start
    for index, high in enumerate(ends):
        clause = text[low:high]
        verbless = len(clause) <= _VERBLESS_CLAUSE_CHARS[_HAN_RE.search(clause) is not None]
        if verbless and index == 0 and len(ends) > 1:
            clause = text[low : ends[1]]
        tenses.append((high, looks_past(clause) or _SINCE_RE.search(clause) is not None))
        low = high
    return tenses


def undirected(clause: str) -> bool:
    """Whether a clause with a beginning or an end of something tells by no word which way it leans."""
    return _UNDIRECTED_RE.search(clause) is not None and _FUTURE_RE.search(clause) is None


def looks_recurring(sentence: str) -> bool:
    """Whether a sentence speaks of what happens again and again, so that "Monday" in it is no date."""
    return _RECURRING_RE.search(sentence) is not None


def choose_year(number: int, day: int, year: str | None, context: Context) -> date:
    """The date meant by a month and day: the year said, else the nearest one in the sentence's direction."""
    if year:
        return date(int(year), number, day)
    years = range(context.today.year - 4, context.today.year + 5)
    # 29 February exists only in some of them.
    dates = [date(y, number, day) for y in years if not (number == 2 and day == 29) or y % 4 == 0]
    if context.past:
        return max(candidate for candidate in dates if candidate <= context.today)
    return min(candidate for candidate in dates if candidate >= context.today)


def choose_month(number: int, year: str | None, context: Context) -> Days:
    """The month meant by its name, by the same rule as `choose_year`."""
    if year:
        return month(int(year), number)
    behind = number < context.today.month if not context.past else number > context.today.month
    step = 0 if not behind else -1 if context.past else 1
    return month(context.today.year + step, number)


_STRETCH_MONTHS: Final = 24


def choose_stretch(first: int, last: int, offset: int | None, ahead: bool, context: Context) -> Days | None:
    """The days meant by "from the 10th to the 20th": in the month said, else the nearest one the tense allows.

    A stretch that is over is meant in the past, one that is not over else; one that has not begun when the words
    point ahead. A last day not after the first is the next month's. None for days that no month has, and for what
    happens again and again.

    Args:
        offset: the month said, from the present one; None for none.
        ahead: whether a word says that it is still to come.
    """
    if first == last or context.recurring:
        return None
    if offset is not None:
        return _stretch(first, last, month_of(context.today, offset))
    step = -1 if context.past else 1
    for number in range(_STRETCH_MONTHS):
        days = _stretch(first, last, month_of(context.today, step * number - (not context.past)))
        if days is None:
            continue
        final = days.end - DAY
        if final <= context.today if context.past else (days.start if ahead else final) >= context.today:
            return days
    return None


def _stretch(first: int, last: int, begins: Days) -> Days | None:
    ends = begins if last > first else month_of(begins.start, 1)
    if not 1 <= first <= (begins.end - begins.start).days or not 1 <= last <= (ends.end - ends.start).days:
        return None
    return Days(begins.start.replace(day=first), ends.start.replace(day=last) + DAY, Granularity.RANGE)


def calendar_step(number: int, unit: str) -> timedelta:
    per_unit = {"day": 1, "week": 7, "fortnight": 14}
    return timedelta(days=number * per_unit[unit.lower()])


def shifted(number: int, unit: str, context: Context) -> Meaning:
    """`number` units from the statement: hours and minutes on the time line, longer ones on the calendar."""
    if unit in ("minute", "min", "hour", "hr"):
        step = timedelta(minutes=number) if unit.startswith("min") else timedelta(hours=number)
        start = context.said_at + step
        return Meaning(instant=Instant(start, start + timedelta(minutes=1), Granularity.MINUTE))
    if unit == "month":
        day = add_months(context.today, number)
    elif unit == "year":
        day = add_months(context.today, 12 * number)
    else:
        day = context.today + calendar_step(number, unit)
    return Meaning(days=one_day(day))


def span_of_units(number: int, unit: str, context: Context) -> Meaning | None:
    """The next (or, negative, the last) `number` calendar units, today included."""
    if unit in ("minute", "min", "hour", "hr"):
        return None
    moved = shifted(number, unit, context).days
    if moved is None:
        return None
    first, last = sorted((context.today, moved.start))
    return Meaning(days=Days(first, last + DAY, Granularity.RANGE))
