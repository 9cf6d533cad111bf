"""Time expressions in text, resolved against the statement's own time and zone, never against now.

Rules find atoms (a day, a clock time, a part of the day); atoms that stand together make one expression
("tomorrow | at nine | in the morning"); a clock time apart from its date takes the date of its sentence. The
rules of a language are a table (`_when_en`, `_when_zh`), and both run on every text, so mixed text works.
What the words do not fix is settled by convention, stated at the rule; what stays ambiguous is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, time, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from memory_service.domain.text import _when_en, _when_en_clock, _when_zh
from memory_service.domain.text._when_base import (
    Atom,
    Clock,
    Context,
    DayPart,
    Meaning,
    Rule,
    clause_tenses,
    hints,
    looks_recurring,
    undirected,
)
from memory_service.domain.text._zones import zone_said
from memory_service.domain.text.calendar_math import (
    DAY,
    FINENESS,
    Days,
    Granularity,
    TimeSpan,
    days_to_utc,
    to_utc,
    week_of,
)
from memory_service.domain.text.traditional import to_simplified

_ENGLISH_RULES: Final = (*_when_en.RULES, *_when_en_clock.RULES)
_MIXED_RULES: Final = (*_when_zh.RULES, *_ENGLISH_RULES)

_CHARS_MAX: Final = 4_000
_SPANS_MAX: Final = 64

# Full-width digits, letters and marks, one code point for one, so that offsets stay those of the text.
_NARROW: Final = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}
_SENTENCE_END_RE: Final = re.compile(r"[。!?\n;]+|(?<![ap]\.m)\.(?=\s|$)")
_LIMIT_BEFORE_RE: Final = re.compile(r"\b(?:before|after|from|until|till|between)\s+$", re.IGNORECASE)
_LIMIT_AFTER_RE: Final = re.compile(r"\s*(?:之?以?[前后]|到|至|-|to\b|till\b|until\b)")
_CONNECTOR_RE: Final = re.compile(
    r"[\s,()（）、]*(?:(?:at|on|in|by|from|around|about|before|after|until|till|the|of|for|的|T|@)\s*)*",
    re.IGNORECASE,
)
_EVENING_RE: Final = re.compile(r"\b(?:tonight|evening|dinner|supper|drinks?|party)\b|晚|夜宵|聚餐", re.IGNORECASE)
_HAN_RE: Final = re.compile("[\u4e00-\u9fff]")

_MORNING_HOURS: Final = range(7, 12)


def find_times(text: str, said_at: datetime, tz: ZoneInfo, *, past: bool | None = None) -> list[TimeSpan]:
    """Every time expression of `text`, resolved, in order of appearance.

    Args:
        text: English, Chinese (in either script) or mixed; the first 4,000 characters are read.
        said_at: when the statement was made; aware.
        tz: the speaker's zone, in which days begin and clocks are read.
        past: whether what the words leave open ("on 3 May", "on Friday") lies behind; by the verbs when None.

    Returns:
        At most 64 spans, with UTC instants (arithmetic on aware local times would ignore clock changes).
        A clock time with a zone beside it ("9 am London time") is read in that zone.
        Recurring times ("every Monday", 每天九点) and dates outside years 1-9999 are not reported.

    Raises:
        ValueError: `said_at` is naive.
    """
    if said_at.tzinfo is None:
        raise ValueError("said_at must be aware")
    folded = to_simplified(text[:_CHARS_MAX].translate(_NARROW))
    moment = said_at.astimezone(UTC)
    rules = _MIXED_RULES if _HAN_RE.search(folded) else _ENGLISH_RULES
    spans: list[TimeSpan] = []
    for start, end in _sentences(folded):
        sentence = folded[start:end]
        context = Context(moment, said_at.astimezone(tz).date(), tz, False, looks_recurring(sentence))
        clauses = _clauses(folded, start, end, context, past)
        atoms = _atoms(folded, start, clauses, rules)
        spans.extend(_resolve_sentence(folded, atoms, sentence, context))
        if len(spans) >= _SPANS_MAX:
            break
    return spans[:_SPANS_MAX]


def _clauses(text: str, start: int, end: int, context: Context, past: bool | None) -> list[tuple[int, Context]]:
    """Where each clause of the sentence `text[start:end]` ends, and how it leans."""
    clauses, low = [], start
    for high, told in clause_tenses(text, start, end):
        open_ = past is None and not told and undirected(text[low:high])
        clauses.append((high, replace(context, past=told if past is None else past, nearest=open_)))
        low = high
    return clauses


def _built(rule: Rule, match: re.Match[str], context: Context) -> Meaning | None:
    """What a rule makes of its match; of a clause that leans neither way, the nearer of both readings.

    But "from Monday on" is ahead: whoever means the Monday gone by says so.
    """
    ahead = rule.build(match, context)
    if not context.nearest or (ahead is not None and ahead.weekday is not None):
        return ahead
    behind = rule.build(match, replace(context, past=True))
    if ahead is None or behind is None or ahead.days is None or behind.days is None:
        return ahead
    return behind if context.today - behind.days.start <= ahead.days.start - context.today else ahead


def finest(spans: Iterable[TimeSpan]) -> TimeSpan | None:
    """The most precise of `spans`, the first of equals: usually the time a one-off statement is about."""
    return min(spans, key=lambda span: FINENESS[span.granularity], default=None)


def window_end(spans: Sequence[TimeSpan], tz: ZoneInfo) -> datetime | None:
    """When a one-off with these times is over, in UTC: with the part of the day it names last, else with that day.

    None without spans. After a clock time the rest of the day is grace: a call at nine is still what people ask about
    at ten. A night runs into the small hours of the next date; a clock time in them belongs to its own date.
    """
    if not spans:
        return None
    final = max(spans, key=lambda span: span.end)
    if final.granularity is Granularity.DAY_PART:
        return final.end
    last = final.end - timedelta(microseconds=1)
    try:
        return to_utc(last.astimezone(tz).date() + DAY, time(), tz)
    except OverflowError:
        return None


def _sentences(text: str) -> list[tuple[int, int]]:
    bounds, start = [], 0
    for match in _SENTENCE_END_RE.finditer(text):
        bounds.append((start, match.end()))
        start = match.end()
    bounds.append((start, len(text)))
    return [(low, high) for low, high in bounds if low < high]


def _atoms(text: str, start: int, clauses: Sequence[tuple[int, Context]], rules: Sequence[Rule]) -> list[Atom]:
    """Non-overlapping atoms of one sentence, in order of place; earlier rules win."""
    atoms: list[Atom] = []
    end = clauses[-1][0]
    found = hints(text[start:end])
    for rule in rules:
        if any(found.isdisjoint(needed) for needed in rule.needs):
            continue
        for match in rule.pattern.finditer(text, start, end):
            low, high = match.span()
            if any(low < atom.span[1] and atom.span[0] < high for atom in atoms):
                continue
            context = next(context for clause_end, context in clauses if low < clause_end)
            try:
                meaning = _built(rule, match, context)
            except (ValueError, OverflowError):
                continue  # words shaped like a date that the calendar does not have: "30 February"
            if meaning is not None:
                atoms.append(meaning.at((low, high)))
    return sorted(atoms, key=lambda atom: atom.span)


def _resolve_sentence(text: str, atoms: Sequence[Atom], sentence: str, context: Context) -> list[TimeSpan]:
    groups = _grouped(text, atoms)
    dated = [(index, group.days) for index, group in enumerate(groups) if group.days is not None]
    evening = _EVENING_RE.search(sentence) is not None
    spans: list[TimeSpan] = []
    for index, group in enumerate(groups):
        day_said = group.days is not None or group.instant is not None or bool(dated)
        if group.clock is not None and group.days is None:
            group = _with_date(text, group, index, dated, context)
        if group.days is None and group.instant is None:
            continue
        here = context
        if group.clock is not None and (zone := zone_said(text, group.span)) is not None:
            here, group = replace(context, tz=zone[0]), replace(group, span=zone[1])
        try:
            spans.append(replace(_to_span(group, evening, here), day_said=day_said))
        except (ValueError, OverflowError):
            continue
    return spans


def _with_date(text: str, group: Atom, index: int, dated: Sequence[tuple[int, Days]], context: Context) -> Atom:
    """Give a clock time the date said before it in its sentence, else the one after it, else today's."""
    before = [days for at, days in dated if at < index]
    after = [days for at, days in dated if at > index]
    days = before[-1] if before else after[0] if after else None
    if days is not None and days.granularity is Granularity.DAY:
        return replace(group, days=days)
    clock = group.clock
    if days is not None or clock is None or context.recurring:
        return group
    low, high = group.span
    if _LIMIT_BEFORE_RE.search(text, max(0, low - 10), low) or _LIMIT_AFTER_RE.match(text, high):
        return group  # "not after seven pm" is a rule, not an appointment
    if group.part is None and (clock.bound or not (clock.certain or clock.minute is not None)):
        return group
    day = context.today
    hour = _hour(clock, group.part, False)
    if to_utc(day + timedelta(days=hour // 24), time(hour % 24, clock.minute or 0), context.tz) < context.said_at:
        day += timedelta(0) if context.past else DAY
    return replace(group, days=Days(day, day + DAY, Granularity.DAY))


def _grouped(text: str, atoms: Sequence[Atom]) -> list[Atom]:
    """Join atoms that stand together and complete each other."""
    groups: list[Atom] = []
    for atom in atoms:
        joined = None
        if groups and _CONNECTOR_RE.fullmatch(text, groups[-1].span[1], atom.span[0]):
            gap = text[groups[-1].span[1] : atom.span[0]]
            joined = None if _is_noun(groups[-1], atom, gap) else _join(groups[-1], atom)
        if joined is None:
            groups.append(atom)
        else:
            groups[-1] = joined
    return groups


def _is_noun(left: Atom, right: Atom, gap: str) -> bool:
    """Whether the part of the day before a date is a thing: "parents' evening tomorrow"."""
    alone = left.part is not None and left.days is None and left.clock is None
    return alone and right.days is not None and not gap.strip()


def _join(left: Atom, right: Atom) -> Atom | None:
    if left.instant or right.instant or (left.clock and right.clock) or (left.part and right.part):
        return None
    days, weekday = left.days or right.days, left.weekday if left.days else right.weekday
    if left.days and right.days:
        both = _join_days(left, right)
        if both is None:
            return None
        days, weekday = both, None
    if days is not None and days.granularity is not Granularity.DAY and (left.clock or right.clock):
        return None
    return Atom(
        (left.span[0], right.span[1]), days, left.part or right.part, left.clock or right.clock, None, weekday
    )


def _join_days(left: Atom, right: Atom) -> Days | None:
    """`next week on Friday` is a day of that week; `Monday, 4 May` is the date, whatever weekday it is."""
    for outer, inner in ((left, right), (right, left)):
        if outer.days is None or inner.weekday is None:
            continue
        if outer.days.granularity is Granularity.WEEK:
            day = week_of(outer.days.start).start + timedelta(days=inner.weekday)
            return Days(day, day + DAY, Granularity.DAY)
        if outer.weekday is None and outer.days.granularity is Granularity.DAY:
            return outer.days
    return None


def _to_span(group: Atom, evening: bool, context: Context) -> TimeSpan:
    if group.instant is not None:
        return TimeSpan(group.instant.start, group.instant.end, group.span, group.instant.granularity)
    days = group.days
    if days is None:
        raise ValueError("an atom without a date")
    if group.clock is not None:
        return _clock_span(group, days, evening, context)
    if group.part is not None and days.granularity is Granularity.DAY:
        start = _at_hour(days, group.part.start_hour, 0, context.tz)
        return TimeSpan(start, _at_hour(days, group.part.end_hour, 0, context.tz), group.span, Granularity.DAY_PART)
    start, end = days_to_utc(days, context.tz)
    return TimeSpan(start, end, group.span, days.granularity)


def _clock_span(group: Atom, days: Days, evening: bool, context: Context) -> TimeSpan:
    clock = group.clock
    if clock is None:
        raise ValueError("an atom without a clock time")
    hour = _hour(clock, group.part, evening)
    start = _at_hour(days, hour, clock.minute or 0, context.tz)
    uncertain = not clock.certain and group.part is None and hour < 12
    if uncertain and not context.past and days.start == context.today and start < context.said_at:
        start = _at_hour(days, hour + 12, clock.minute or 0, context.tz)
    if clock.minute is None:
        return TimeSpan(start, start + timedelta(hours=1), group.span, Granularity.HOUR)
    return TimeSpan(start, start + timedelta(minutes=1), group.span, Granularity.MINUTE)


def _at_hour(days: Days, hour: int, minute: int, tz: ZoneInfo) -> datetime:
    return to_utc(days.start + timedelta(days=hour // 24), time(hour % 24, minute), tz)


def _hour(clock: Clock, part: DayPart | None, evening: bool) -> int:
    """The hour 0-28 meant by a clock time: by its part of the day, else by what people mostly mean.

    Without a part, one to six are afternoon hours, seven to eleven morning hours (evening ones in a sentence
    about an evening), twelve is noon.
    """
    hour = clock.hour
    if clock.certain or not 1 <= hour <= 12:
        return hour
    if part is None:
        if hour in _MORNING_HOURS:
            return hour + 12 if evening and hour >= 5 else hour
        return hour if hour == 12 else hour + 12
    if part.start_hour < 11:
        return hour % 12
    if part.end_hour > 24:  # a night: its small hours are the next date's
        return hour % 12 + 24 if hour == 12 or hour <= 4 else hour + 12
    if part.start_hour == 11:  # around noon: 11, 12, 1, 2
        return hour if hour >= 10 else hour + 12
    return hour % 12 + 12
