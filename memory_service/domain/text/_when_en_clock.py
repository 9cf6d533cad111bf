"""English clock times and parts of the day: the second half of the English rules."""

from __future__ import annotations

import re
from typing import Final

from memory_service.domain.text import _when_base as base
from memory_service.domain.text._when_base import Clock, Context, DayPart, Meaning, Rule
from memory_service.domain.text._when_en import MONTH, NUMBERS_NEEDED, WEEKDAY, rule
from memory_service.domain.text.numerals import english_number

_HOUR_WORD: Final = r"(one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)"
_HOUR: Final = rf"(\d{{1,2}}|{_HOUR_WORD[1:-1]})"

_PARTS: Final[dict[str, DayPart]] = {
    "morning": base.MORNING,
    "afternoon": base.AFTERNOON,
    "evening": base.EVENING,
    "night": base.NIGHT,
    "lunchtime": base.NOON,
}


def _part(match: re.Match[str], _context: Context) -> Meaning:
    return Meaning(part=_PARTS[match.group(1).lower()])


def _clock(hour: int | None, minute: int | None, meridiem: str = "", *, bound: bool = False) -> Meaning | None:
    if hour is None or hour > 24 or (minute is not None and minute > 59) or (hour == 24 and minute):
        return None
    half = meridiem.lower()[:1]
    if half and not 1 <= hour <= 12:
        return None
    if half:
        return Meaning(clock=Clock(hour % 12 + (12 if half == "p" else 0), minute, certain=True))
    return Meaning(clock=Clock(hour, minute, certain=hour > 12 or hour == 0, bound=bound))


def _meridiem(match: re.Match[str], _context: Context) -> Meaning | None:
    hour, minute, meridiem = match.groups()
    return _clock(english_number(hour), int(minute) if minute else None, meridiem)


def _digital(match: re.Match[str], _context: Context) -> Meaning | None:
    return _clock(int(match.group(1)), int(match.group(2)))


def _named_clock(match: re.Match[str], _context: Context) -> Meaning:
    midnight = match.group(1).lower() == "midnight"
    return Meaning(clock=Clock(24 if midnight else 12, 0, certain=True, bound=True))


def _half_past(match: re.Match[str], _context: Context) -> Meaning | None:
    return _clock(english_number(match.group(1)), 30, match.group(2) or "", bound=True)


def _past_to(match: re.Match[str], _context: Context) -> Meaning | None:
    amount, direction, hour_word, meridiem = match.groups()
    minutes = 15 if "quarter" in amount.lower() else english_number(amount)
    hour = english_number(hour_word)
    if minutes is None or hour is None or not 1 <= minutes <= 30:
        return None
    if direction.lower() in ("to", "before"):
        return _clock((hour - 2) % 12 + 1, 60 - minutes, meridiem or "", bound=True)
    return _clock(hour, minutes, meridiem or "", bound=True)


def _spoken(match: re.Match[str], _context: Context) -> Meaning | None:
    minutes = {"fifteen": 15, "thirty": 30, "forty": 45}
    return _clock(
        english_number(match.group(1)),
        minutes[match.group(2).lower()[:7].split("-")[0].split()[0]],
        bound=True,
    )


def _plain_hour(match: re.Match[str], _context: Context) -> Meaning | None:
    hour = english_number(match.group(1))
    return None if hour is None or not 1 <= hour <= 12 else _clock(hour, None, bound=True)


_AFTER_HOUR: Final = (
    r"(?=\s*(?:[,.;:!?)]|$)|\s+(?:on|in|at|today|tonight|tomorrow|this|next|sharp|for|with|to|till|until|and|it|"
    rf"it['\u2019]s|we|i|the|then|or|if|when|o['\u2019]clock|{WEEKDAY[1:-1]}|{MONTH[1:-1]})\b)"
)
_MERIDIEM: Final = r"\s*(a\.?m\b\.?|p\.?m\b\.?)"

RULES: Final[tuple[Rule, ...]] = (
    rule(
        rf"(?<![\w.:])(\d{{1,2}}|{_HOUR_WORD[1:-1]})(?:[:.](\d{{2}}))?{_MERIDIEM}",
        _meridiem,
        base.any_of("am pm m"),
    ),
    rule(r"(?<![\d:.\-/])(\d{1,2}):(\d{2})(?::\d{2})?(?![\d:])", _digital, frozenset({base.DIGIT_HINT})),
    rule(rf"\bhalf\s+(?:past\s+)?{_HOUR}\b(?:{_MERIDIEM})?", _half_past, base.any_of("half")),
    rule(
        rf"\b((?:a\s+)?quarter|five|ten|twenty|\d{{1,2}})\s+(?:minutes?\s+)?(past|to|before)\s+{_HOUR}\b(?:{_MERIDIEM})?",
        _past_to,
        NUMBERS_NEEDED,
        base.any_of("past to before"),
    ),
    rule(rf"\b{_HOUR_WORD}\s+(thirty|fifteen|forty[-\s]five)\b", _spoken, base.any_of("thirty fifteen forty")),
    rule(rf"\b{_HOUR}\s+o['\u2019]clock\b", _plain_hour, base.any_of("clock")),
    rule(
        rf"\b{_HOUR}(?=\s+(?:in\s+the\s+(?:morning|afternoon|evening)|at\s+night)\b)",
        _plain_hour,
        base.any_of("morning afternoon evening night"),
    ),
    rule(
        rf"\b(?:at|by|until|till|around|about|before|after|from)\s+{_HOUR}\b{_AFTER_HOUR}",
        _plain_hour,
        NUMBERS_NEEDED,
        base.any_of("at by until till around about before after from"),
    ),
    rule(r"\b(noon|midday|midnight)\b", _named_clock, base.any_of("noon midday midnight")),
    rule(
        r"\b(?:(?:in\s+the|at)\s+)?(morning|afternoon|evening|night|lunchtime)\b",
        _part,
        base.any_of("morning afternoon evening night lunchtime"),
    ),
)
