"""What text may be stored, and the forms under which two texts count as the same.

PostgreSQL text holds neither NUL nor lone surrogates; both are refused by name, never replaced, because
a silent replacement would make what is read differ from what was written.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from memory_service.domain.errors import InvalidInput, Reason
from memory_service.domain.text.scripts import UNSPACED
from memory_service.domain.text.traditional import to_simplified

_SURROGATE_RE: Final = re.compile("[\ud800-\udfff]")

# Letters and symbols by category that nevertheless draw nothing.
_BLANK_LETTERS: Final = frozenset("\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
_INVISIBLE_CATEGORIES: Final = frozenset({"Cc", "Cf", "Zs", "Zl", "Zp", "Mn", "Mc", "Me"})

# Default-ignorable code points: they change no reader's reading of the text.
_IGNORABLE_RE: Final = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\U000e0000-\U000e0fff]"
)
_CONTROL_RE: Final = re.compile("[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f]")
_SPACE_RE: Final = re.compile(r"\s+")
_NORMALISE_ROUNDS_MAX: Final = 8


def _is_visible(char: str) -> bool:
    if char in _BLANK_LETTERS:
        return False
    code = ord(char)
    if code & 0xFFFE == 0xFFFE or 0xFDD0 <= code <= 0xFDEF or 0xE0000 <= code <= 0xE0FFF:
        return False
    return unicodedata.category(char) not in _INVISIBLE_CATEGORIES


def check_storable(text: str, field: str, max_chars: int) -> None:
    """Refuse text that cannot or should not be stored.

    Args:
        text: as the caller sent it.
        field: dotted path of the request field, for the error.
        max_chars: most code points allowed.

    Raises:
        InvalidInput: FIELD_TOO_LONG (metadata `limit`, `actual`, in code points); TEXT_NOT_STORABLE for
            NUL or a lone surrogate (metadata `position`, in code points from 0); FIELD_REQUIRED when
            nothing in it is visible: empty, white space, zero-width, control or combining characters only.
    """
    if len(text) > max_chars:
        raise InvalidInput(
            Reason.FIELD_TOO_LONG,
            f"{field} is longer than {max_chars} characters",
            field=field,
            metadata={"limit": str(max_chars), "actual": str(len(text))},
        )
    nul = text.find("\x00")
    if nul >= 0:
        raise InvalidInput(
            Reason.TEXT_NOT_STORABLE,
            f"{field} contains a NUL character",
            field=field,
            metadata={"position": str(nul)},
        )
    surrogate = _SURROGATE_RE.search(text)
    if surrogate is not None:
        raise InvalidInput(
            Reason.TEXT_NOT_STORABLE,
            f"{field} contains a lone surrogate",
            field=field,
            metadata={"position": str(surrogate.start())},
        )
    if not any(map(_is_visible, text)):
        raise InvalidInput(Reason.FIELD_REQUIRED, f"{field} has no visible text", field=field)


def normalise(text: str) -> str:
    """Fold `text` for comparing: NFKC, case, width, script, ignorable characters and white space.

    Full-width forms become ASCII, white space runs one space (none at the ends), Traditional Chinese becomes
    Simplified. Idempotent; never raises.
    """
    if text.isascii():
        return _SPACE_RE.sub(" ", _CONTROL_RE.sub(" ", text).lower()).strip()
    folded = text
    # One round is not always a fixed point: NFKC can yield characters that fold again.
    for _ in range(_NORMALISE_ROUNDS_MAX):
        bare = _CONTROL_RE.sub(" ", _IGNORABLE_RE.sub("", folded))
        once = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", bare).casefold())
        if once == folded:
            break
        folded = once
    return to_simplified(_SPACE_RE.sub(" ", folded).strip())


_APOSTROPHE_RE: Final = re.compile("(?<=[^\\W\\d_])['\u2018\u2019\u02bc](?=[^\\W\\d_])")
_GROUPING_RE: Final = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
# A mark that changes the value beside it: a sign, a decimal point, a time or date separator, part of an
# identifier. Symbols (currency, +, <, emoji) are not punctuation by category and always stay.
_ALNUM: Final = r"[^\W_]"
_MEANINGFUL_RE: Final = re.compile(
    rf"(?<=\d)[.,:/\-\u2013](?=\d)|(?<={_ALNUM})[@/\\_](?={_ALNUM})|(?<![^\W{UNSPACED}])[-\u2212](?=\d)"
    rf"|(?<=\d)%|(?<={_ALNUM})#|&(?={_ALNUM})"
)
_AROUND_UNSPACED_RE: Final = re.compile(f"(?<=[{UNSPACED}]) | (?=[{UNSPACED}])")
_DROPPED_SYMBOLS: Final = frozenset("`^\u00b4\u00a8~|")


def same_text_key(text: str) -> str:
    """A key equal for casings, punctuation, spacing and width variants of one sentence.

    Digits (with their decimal points, signs, times and dates), currency, negations, Chinese characters and
    emoji keep distinguishing; white space separates Latin words but not Chinese characters, so "now here"
    and "nowhere" stay apart while "用 Python 写" and "用Python写" do not. A question mark is punctuation
    here. Empty for text of punctuation alone, which therefore must not be merged by this key. Idempotent.
    """
    # A full-width comma lists; only the narrow one can belong to a number.
    folded = _GROUPING_RE.sub("", _APOSTROPHE_RE.sub("", normalise(text.replace("\uff0c", ", "))))
    kept = {match.start() for match in _MEANINGFUL_RE.finditer(folded)}
    chars = [char if index in kept or not _is_mark(char) else " " for index, char in enumerate(folded)]
    spaced = _SPACE_RE.sub(" ", "".join(chars)).strip()
    return _AROUND_UNSPACED_RE.sub("", spaced)


def _is_mark(char: str) -> bool:
    return char in _DROPPED_SYMBOLS or unicodedata.category(char)[0] == "P"
