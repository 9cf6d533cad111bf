"""Kind, topic and lifetime of a free-text statement, by wording alone (E17 in its simple form, kinds of E1).

The question that matters most is whether a statement is a one-off, which must lapse, or standing, which
must not. A standing statement taken for a one-off is lost; a one-off taken for standing only lingers and
decays. So a one-off needs a positive sign (a time ahead, "just this once", 暂时) and no sign of habit, and
whatever has no sign at all is a standing fact.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Final
from zoneinfo import ZoneInfo

from memory_service.domain.intervals import Window
from memory_service.domain.text._cues import PATTERNS, STATIVE_RE, USUAL_RE, Cue
from memory_service.domain.text._when_base import clause_of, clause_tenses, looks_past
from memory_service.domain.text.calendar_math import FINENESS, Granularity, TimeSpan
from memory_service.domain.text.holding import held_window, looks_back
from memory_service.domain.text.topic import topic_of
from memory_service.domain.text.traditional import to_simplified
from memory_service.domain.text.when import find_times, window_end


class StatementKind(StrEnum):
    """What rules can tell apart. The wire and the decay table use the same names."""

    PREFERENCE = "preference"
    PROFILE = "profile"
    FACT = "fact"
    EVENT = "event"
    CONSTRAINT = "constraint"
    PROCEDURE = "procedure"
    CONTEXT = "context"
    TASK = "task"
    TEMPORARY_PREFERENCE = "temporary_preference"


_UNBOUNDED: Final = Window()


@dataclass(frozen=True, slots=True)
class Classification:
    """What the wording of a statement shows.

    Attributes:
        kind: see `StatementKind`; FACT when nothing tells.
        topic: key of what it is about, see `topic_of`.
        standing: true until changed; false for what lapses by itself. A told past event is standing: it is a
            record.
        expires_after_hint: for what is not standing, how long after the statement it is over. Exact to the
            end of the local day when `said_at` was given and a time was named; else an upper bound by kind.
        cues: names of the cues that fired, in a fixed order.
        window: the stretch of time in which the wording says it holds; unbounded without `said_at`.
    """

    kind: StatementKind
    topic: str
    standing: bool
    expires_after_hint: timedelta | None
    cues: tuple[str, ...]
    window: Window = _UNBOUNDED

    @property
    def passing(self) -> bool:
        """Whether it is for the moment: an exception, a state of now, or one whose end is said."""
        signs = {Cue.EXCEPTION.value, Cue.MOMENT.value}
        return not self.standing and (bool(signs & set(self.cues)) or self.window.end is not None)


_MOMENT_LIFE: Final = timedelta(hours=48)
_TASK_LIFE: Final = timedelta(days=7)
_TEMPORARY_LIFE: Final = timedelta(days=14)
# "I want one by December" is a goal, "I want soup tonight" a passing wish.
_WISH_REACH: Final = timedelta(days=8)
_EXCEPTION_LIFE: Final = timedelta(days=1)
# Without the statement's time a weekday may be up to a week further than it looks from the reference day.
_UNDATED_SLACK: Final = timedelta(days=1)
_REFERENCE: Final = datetime(2024, 1, 3, 12, tzinfo=UTC)  # a Wednesday noon

_CHARS_MAX: Final = 2_000
# A one-off is said briefly. A longer text says other things too, and those must not lapse with it.
_ONE_OFF_SENTENCES_MAX: Final = 3
_ONE_OFF_CHARS_MAX: Final = {True: 120, False: 280}  # with Chinese characters, without

_HAN_RE: Final = re.compile("[\u4e00-\u9fff]")
_SENTENCE_RE: Final = re.compile(r"[^。!\uff01?\uff1f\n.]+(?:\.(?=\S)[^。!\uff01?\uff1f\n.]+)*[。!\uff01?\uff1f\n.]*")
_PROCEDURE_CHARS_MAX: Final = 600
_FILLER_CHARS_MAX: Final = {True: 4, False: 14}
_UTC_ZONE: Final = ZoneInfo("UTC")

_BARE_WEEKDAY_RE: Final = re.compile(
    r"(?:周|星期|礼拜)[一二三四五六日天末]"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)day\b(?!\s+(?:the|week)\b)",
    re.IGNORECASE,
)
_BARE_CLOCK_RE: Final = re.compile(r"[\d一二两三四五六七八九十]{1,3}[点:]")
_YEAR_RE: Final = re.compile(r"\d{4}|[零〇一二三四五六七八九]{4}年")
_WEEKDAY_LEAD_RE: Final = re.compile(r"\b(?:on|by|until|till|before)\s+$", re.IGNORECASE)
_NAMING_RE: Final = re.compile(r"\s*(?:(?:is|are|means|was)\b|是)", re.IGNORECASE)
# A clause that says what is not to be done, or is done instead, tells of nothing past: 脚崴了，医生让这两周别跑别跳。
_DIRECTIVE_RE: Final = re.compile(r"别(?!人|的|处|墅)|不能|不要|先(?!生|前|后)|只能|暂时")
_PRESENT_RE: Final = re.compile(
    r"(?:\b(?:am|is|are)|['\u2019](?:m|re))\b(?!\s+(?:done|over|back|gone)\b)[^,.;]{0,60}\bfor\s+(?:the\s+)?(?:next|coming|rest)\b",
    re.IGNORECASE,
)
# What may or must be done on such a day, every time it comes: 周五晚上可以看到九点半.
_RULE_RE: Final = re.compile(
    r"再说|可以|允许|放宽|也要|也得|一律|一般|通常|不(?:处理|接|回|开会|加班|上班|工作|营业)"
)
_APPOINTMENT_RE: Final = re.compile(
    r"\b(?:will|going to|gonna|have to|has to|need to|due|deadline|appointment|booked|scheduled"
    r"|meeting|flight|interview"
    r"|exam)\b|['\u2019]ll\b"
    r"|要|得去|约了|约好|开会|面试|考试|复诊|体检|到期|截止|出发|航班|[是有].{0,3}(?:周|星期"
    r"|礼拜)[一二三四五六日天]",
    re.IGNORECASE,
)
_CLAUSE_RE: Final = re.compile(r"[,;\uff0c\uff1b。.!?\uff01\uff1f]")

_LASTING_CUES: Final = (Cue.PREFERENCE, Cue.PROFILE, Cue.CONSTRAINT)
_PREFERENCE_FAMILY: Final = (StatementKind.PREFERENCE, StatementKind.TEMPORARY_PREFERENCE)


def classify(text: str, said_at: datetime | None = None, tz: ZoneInfo = _UTC_ZONE) -> Classification:
    """Classify one statement by its wording, English or Chinese.

    Args:
        text: the statement; its first 2,000 characters are read.
        said_at: when it was made (aware); makes the expiry exact and dates with a year tell past from ahead.
        tz: the speaker's zone; only used with `said_at`.

    Raises:
        ValueError: `said_at` is naive.
    """
    head = to_simplified(text[:_CHARS_MAX].strip())
    moment = said_at or _REFERENCE
    spans = find_times(head, moment, tz if said_at else _UTC_ZONE)
    window = held_window(head, spans, moment)
    cues = _cues(head, spans, moment, said_at is not None, window)
    kind, standing, life = _decide(head, cues, spans, moment)
    if life is not None and window.end is not None and window.end > moment:
        kind = StatementKind.CONTEXT if kind is StatementKind.EVENT else kind  # a state that ends, no appointment
        life = window.end - moment if said_at is not None else window.end - moment + _UNDATED_SLACK
    elif life is not None:
        life = _lifetime(life, cues, spans, moment, tz if said_at else _UTC_ZONE, exact=said_at is not None)
    family = "preference" if kind in _PREFERENCE_FAMILY else ""
    if said_at is None or {Cue.QUESTION, Cue.HYPOTHETICAL} & set(cues):
        window = Window()
    names = tuple(cue.value for cue in cues)
    return Classification(kind, topic_of(text, family=family), standing, life, names, window)


def _cues(text: str, spans: Sequence[TimeSpan], moment: datetime, exact: bool, window: Window) -> tuple[Cue, ...]:
    fired = {cue for cue, pattern in PATTERNS.items() if pattern.search(text)}
    if window.end is not None:
        fired.discard(Cue.CHANGE)  # what ends by itself is no lasting change
        if window.end > moment:
            fired.add(Cue.UPCOMING)
    elif window.start is not None:
        fired.add(Cue.CHANGE)
    near = [span for span in spans if span.day_said and FINENESS[span.granularity] <= FINENESS[Granularity.RANGE]]
    if _is_stamped(text, near, moment, exact):
        fired.add(Cue.PAST)
    elif any(_is_ahead(text, span, moment, exact) for span in near):
        fired.add(Cue.UPCOMING)
    elif any(_is_behind(text, span, moment, exact) for span in near) or (spans and looks_past(text)):
        fired.add(Cue.PAST)
    return tuple(cue for cue in Cue if cue in fired)


def _is_ahead(text: str, span: TimeSpan, moment: datetime, exact: bool) -> bool:
    if span.end <= moment or looks_back(text, span):
        return False
    expression = text[slice(*span.text_span)]
    if _YEAR_RE.search(expression):
        return exact and span.start > moment
    if _BARE_WEEKDAY_RE.match(expression) and not _is_appointment(text, span):
        return False
    if _BARE_CLOCK_RE.match(expression) and _RULE_RE.search(text, *clause_of(text, *span.text_span)) is not None:
        return False
    return span.start > moment or not _told_as_past(text, span)


def _is_behind(text: str, span: TimeSpan, moment: datetime, exact: bool) -> bool:
    if not exact and _YEAR_RE.search(text, *span.text_span):
        return _told_as_past(text, span)
    return span.end <= moment or _told_as_past(text, span)


def _is_stamped(text: str, spans: Sequence[TimeSpan], moment: datetime, exact: bool) -> bool:
    """Whether the text opens with a date in full that is not ahead, as a diary or a log does."""
    if not spans or spans[0].text_span[0] != 0 or not _YEAR_RE.search(text, *spans[0].text_span):
        return False
    return not exact or spans[0].start <= moment


def _is_appointment(text: str, span: TimeSpan) -> bool:
    """Whether a weekday without "this" or "next" names one day: "Thursday is bridge night" does not."""
    if _RULE_RE.search(text, *clause_of(text, *span.text_span)) is not None:
        return False
    lead = text[max(0, span.text_span[0] - 10) : span.text_span[0]]
    if span.granularity in (Granularity.MINUTE, Granularity.HOUR) and not _NAMING_RE.match(text, span.text_span[1]):
        return True  # "Friday at seven, hotpot with Li": a day and an hour
    return _WEEKDAY_LEAD_RE.search(lead) is not None or _APPOINTMENT_RE.search(text) is not None


def _told_as_past(text: str, span: TimeSpan) -> bool:
    """Whether the clause or the sentence with this time tells of something done: "I signed the lease today"."""
    at = span.text_span[0]
    clause = clause_of(text, *span.text_span)
    if _DIRECTIVE_RE.search(text, *clause) is not None or _PRESENT_RE.search(text, *clause) is not None:
        return False
    for match in _SENTENCE_RE.finditer(text):
        if at < match.end():
            tenses = clause_tenses(text, match.start(), match.end())
            return looks_past(match.group()) or next((past for end, past in tenses if at < end), False)
    return looks_past(text)


def _decide(
    text: str, cues: Sequence[Cue], spans: Sequence[TimeSpan], moment: datetime
) -> tuple[StatementKind, bool, timedelta | None]:
    """Kind, whether standing, and the lifetime of what is not."""
    if Cue.HYPOTHETICAL in cues or (Cue.QUESTION in cues and len(_sentences(text)) <= 1):
        return StatementKind.FACT, True, None
    if Cue.PROCEDURE in cues and Cue.UPCOMING not in cues and len(text) <= _PROCEDURE_CHARS_MAX:
        return StatementKind.PROCEDURE, True, None
    if _is_one_off(text, cues, spans):
        return _one_off(text, cues, spans, moment)
    if Cue.PAST in cues and Cue.ANNIVERSARY not in cues and Cue.CHANGE not in cues:
        return StatementKind.EVENT, True, None
    kind = _standing_kind(text, cues)
    if kind is StatementKind.TASK and Cue.HABIT not in cues and Cue.SCHEDULE not in cues:
        return kind, False, _TASK_LIFE
    return kind, True, None


def _sentences(text: str) -> list[str]:
    return [match.group().strip() for match in _SENTENCE_RE.finditer(text) if match.group().strip()]


def _is_one_off(text: str, cues: Sequence[Cue], spans: Sequence[TimeSpan]) -> bool:
    if Cue.EXCEPTION not in cues and not {Cue.UPCOMING, Cue.MOMENT, Cue.TEMPORARY} & set(cues):
        return False
    if Cue.CHANGE in cues or Cue.ANNIVERSARY in cues:
        return False
    if Cue.EXCEPTION not in cues and (Cue.HABIT in cues or Cue.SCHEDULE in cues):
        return False
    if Cue.UPCOMING not in cues and looks_past(text):
        return False
    if Cue.EXCEPTION not in cues and _says_more(text, spans):
        return False
    han = _HAN_RE.search(text) is not None
    sentences = [sentence for sentence in _sentences(text) if len(sentence) > _FILLER_CHARS_MAX[han]]
    return len(sentences) <= _ONE_OFF_SENTENCES_MAX and len(text) <= _ONE_OFF_CHARS_MAX[han]


def _says_more(text: str, spans: Sequence[TimeSpan]) -> bool:
    """Whether something lasting is said apart from the passing matter.

    A liking, a rule or a trait in a sentence of its own, or a liking in a clause before any sign of time: the
    text must then not lapse as a whole.
    """
    signs = [span.text_span[0] for span in spans if span.day_said]
    for cue in (Cue.TEMPORARY, Cue.MOMENT):
        signs += [match.start() for match in PATTERNS[cue].finditer(text)]
    for match in _SENTENCE_RE.finditer(text):
        if any(match.start() <= sign < match.end() for sign in signs):
            continue
        if any(PATTERNS[cue].search(match.group()) for cue in _LASTING_CUES):
            return True
    liking = PATTERNS[Cue.PREFERENCE].search(text)
    if liking is None or not signs:
        return False
    return _CLAUSE_RE.search(text, liking.end(), max(min(signs), liking.end())) is not None


def _one_off(
    text: str, cues: Sequence[Cue], spans: Sequence[TimeSpan], moment: datetime
) -> tuple[StatementKind, bool, timedelta | None]:
    if Cue.TASK in cues and _leads(Cue.TASK, text):
        return StatementKind.TASK, False, _TASK_LIFE
    soon = all(span.end - moment <= _WISH_REACH for span in spans)
    ruled = Cue.CONSTRAINT in cues and Cue.UPCOMING in cues
    if Cue.PREFERENCE in cues or ((Cue.WISH in cues or ruled) and soon):
        short = Cue.EXCEPTION in cues
        return StatementKind.TEMPORARY_PREFERENCE, False, _EXCEPTION_LIFE if short else _TEMPORARY_LIFE
    if Cue.UPCOMING not in cues and Cue.EXCEPTION not in cues:
        return StatementKind.CONTEXT, False, _MOMENT_LIFE if Cue.MOMENT in cues else _TEMPORARY_LIFE
    long_spans = (Granularity.WEEK, Granularity.RANGE)
    if STATIVE_RE.search(text) and any(span.granularity in long_spans for span in spans):
        return StatementKind.CONTEXT, False, _TEMPORARY_LIFE
    return StatementKind.EVENT, False, _EXCEPTION_LIFE if Cue.UPCOMING not in cues else _TEMPORARY_LIFE


def _leads(cue: Cue, text: str) -> bool:
    """Whether a cue opens the text: what opens it is what the rest hangs on."""
    match = PATTERNS[cue].search(text)
    return match is not None and match.start() <= _FILLER_CHARS_MAX[_HAN_RE.search(text) is not None]


def _standing_kind(text: str, cues: Sequence[Cue]) -> StatementKind:
    if Cue.CONSTRAINT in cues and Cue.DENIAL not in cues:
        return StatementKind.CONSTRAINT
    if Cue.PREFERENCE in cues:
        return StatementKind.PREFERENCE
    if Cue.HABIT in cues and (Cue.SCHEDULE not in cues or USUAL_RE.search(text)) and not looks_past(text):
        return StatementKind.PREFERENCE
    if Cue.PROFILE in cues:
        return StatementKind.PROFILE
    if Cue.TASK in cues and _leads(Cue.TASK, text):
        return StatementKind.TASK
    return StatementKind.FACT


def _lifetime(
    default: timedelta,
    cues: Sequence[Cue],
    spans: Sequence[TimeSpan],
    moment: datetime,
    tz: ZoneInfo,
    *,
    exact: bool,
) -> timedelta:
    """Until the end of the day of the last time named, or the default without one."""
    if Cue.UPCOMING not in cues:
        return default
    end = window_end([span for span in spans if span.end > moment], tz)
    if end is None or end <= moment:
        return default
    return end - moment if exact else end - moment + _UNDATED_SLACK
