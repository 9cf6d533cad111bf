"""Small numbers written as digits, English words or Chinese characters."""

from __future__ import annotations

from typing import Final


def _words(text: str) -> list[str]:
    return text.split()


_UNITS: Final = _words(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen"
)
_TENS: Final = {"twenty": 20, "thirty": 30, "forty": 40, "fifty": 50}
_ORDINALS: Final = _words(
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth "
    "fifteenth sixteenth seventeenth eighteenth nineteenth twentieth"
)

ENGLISH_NUMBERS: Final[dict[str, int]] = {
    **{word: value for value, word in enumerate(_UNITS)},
    **_TENS,
    "a": 1,
    "an": 1,
    "couple": 2,
}
ENGLISH_ORDINALS: Final[dict[str, int]] = {
    **{word: value for value, word in enumerate(_ORDINALS, start=1)},
    "thirtieth": 30,
    **{f"twenty{joint}{_ORDINALS[i]}": 21 + i for i in range(9) for joint in ("-", " ")},
    "thirty-first": 31,
    "thirty first": 31,
}

CHINESE_DIGITS: Final[dict[str, int]] = {
    **{char: value for value, char in enumerate("零一二三四五六七八九")},
    "〇": 0,
    "○": 0,
    "两": 2,
}
_CHINESE_SCALES: Final = {"十": 10, "百": 100, "千": 1_000}
_DIGITS_MAX: Final = 9


def english_number(word: str) -> int | None:
    """The value of `7`, `seven` or `a couple of`; None when it is not a number from 0 to 999,999,999."""
    bare = word.lower().removeprefix("a ").removesuffix(" of").strip()
    if bare.isdecimal():
        return int(bare) if len(bare) <= _DIGITS_MAX else None
    return ENGLISH_NUMBERS.get(bare)


def english_ordinal(word: str) -> int | None:
    """The value of `3`, `3rd` or `third`, from 1 to 31; None when it is none."""
    bare = " ".join(word.lower().split())
    digits = bare.rstrip("stndrh")
    if digits.isdecimal() and len(digits) <= 2:
        return int(digits)
    return ENGLISH_ORDINALS.get(bare)


def chinese_number(text: str) -> int | None:
    """The value of `12`, `十二`, `二十`, `一百零五` or digit by digit `二零二六`; else None."""
    if text.isdecimal():
        return int(text) if len(text) <= _DIGITS_MAX else None
    if not text or len(text) > _DIGITS_MAX:
        return None
    if all(char in CHINESE_DIGITS for char in text):
        return int("".join(str(CHINESE_DIGITS[char]) for char in text))
    total, pending = 0, None
    for char in text:
        if char in CHINESE_DIGITS:
            pending = CHINESE_DIGITS[char]
        elif char in _CHINESE_SCALES:
            total += (1 if pending is None else pending) * _CHINESE_SCALES[char]
            pending = None
        else:
            return None
    return total + (pending or 0)
