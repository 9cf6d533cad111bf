"""Which writing system a character belongs to, as character classes for regular expressions.

Kept in one place so that analysis, comparison keys and the rules agree on what "Chinese" means.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final, Literal

Language = Literal["en", "zh", "und"]

HAN: Final = "\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"
KANA: Final = "\u3041-\u3096\u30a1-\u30fa\u30fc\u31f0-\u31ff"
_HANGUL: Final = "\u1100-\u11ff\u3131-\u318e\uac00-\ud7a3"
# Thai, Lao, Myanmar and Khmer write no spaces between words either.
_SOUTH_EAST_ASIAN: Final = "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0edf\u1000-\u109f\u1780-\u17d3"

UNSPACED: Final = HAN + KANA + _HANGUL + _SOUTH_EAST_ASIAN
"""Inside of a character class: scripts that are indexed by character n-grams, not by words."""


def _mark_class(limit: int = 0x20000) -> str:
    """Inside of a character class: every combining mark (categories Mn, Mc, Me) below `limit`.

    Indic and Arabic vowel signs are marks, which `\\w` leaves out, and a word must not break at them.
    """
    ranges: list[list[int]] = []
    for code in range(0x300, limit):
        if unicodedata.category(chr(code))[0] != "M":
            continue
        if ranges and ranges[-1][1] == code - 1:
            ranges[-1][1] = code
        else:
            ranges.append([code, code])
    return "".join(f"\\U{low:08x}-\\U{high:08x}" for low, high in ranges)


MARKS: Final = _mark_class()

_HAN_RE: Final = re.compile(f"[{HAN}]")
_KANA_RE: Final = re.compile(f"[{KANA}]")
_ASCII_WORD_RE: Final = re.compile(r"[A-Za-z]+(?:['\u2019][A-Za-z]+)*")
_OTHER_LETTER_RE: Final = re.compile(f"[^\\W\\d_A-Za-z{HAN}{KANA}]")

# Two Chinese characters carry about as much as one English word.
_HAN_PER_WORD: Final = 2
_SAMPLE_CHARS: Final = 4_000


def language_of(text: str) -> Language:
    """The language the rules should read `text` in: by its script alone, never by a guess at its words.

    "zh" when Han characters outweigh Latin words (two characters to a word) and no kana says Japanese;
    "en" when ASCII words outweigh everything else; "und" for other scripts, numbers alone, or nothing.
    Looks at the first 4,000 characters. Never raises.
    """
    sample = text[:_SAMPLE_CHARS]
    han = len(_HAN_RE.findall(sample))
    kana = len(_KANA_RE.findall(sample))
    latin = len(_ASCII_WORD_RE.findall(sample))
    other = len(_OTHER_LETTER_RE.findall(sample))
    if kana and kana * 4 >= han:
        return "und"
    if han and han >= latin * _HAN_PER_WORD and han >= other:
        return "zh"
    if latin and latin * 2 >= other:
        return "en"
    return "und"
