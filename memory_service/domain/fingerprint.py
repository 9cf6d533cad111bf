"""A trace of a forgotten wording by which a restatement of it is known, and which names none of its words (B3).

A claim's digest stops the very same claim only; what is extracted again from an old conversation has other words. The
fingerprint keeps, for each content word, one of 1,024 buckets of a hash keyed by the owner's salt. Some hundred words
of a language share a bucket, so even with the salt a fingerprint does not say which was meant; a chance match of two
words has odds of 1 : 1,024, so several matches are not chance.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from typing import Final

from memory_service.domain.text import AnalysisOptions, analyse, normalise
from memory_service.domain.text.numerals import ENGLISH_NUMBERS, chinese_number

_BUCKETS: Final = 1_024
_WORDS_MAX: Final = 48
_CHARS_MAX: Final = 2_000
_NAME_WEIGHT: Final = 2
_LONG_NUMBER_WEIGHT: Final = 3
_LONG_NUMBER: Final = 1_000
_OPTIONS: Final = AnalysisOptions(cjk_unigrams=False, cjk_bigrams=False, cjk_words=True, wholes=False)
_SELF: Final = frozenset({"user", "用户"})

SHARE_MIN: Final = 0.5
"""Weight that must be shared, of the lighter of the two wordings."""
WEIGHT_MIN: Final = 3
"""Weight that must be shared: three words, a name and a word, or a number of four digits."""

_NAME_RE: Final = re.compile(
    r"(?<=[\w,;'\u2019\u4e00-\u9fff] )[A-Z][\w-]+|(?<=[\u4e00-\u9fff])[A-Za-z][\w-]+|\d[\d,.]*\d"
)
_GROUPED_RE: Final = re.compile(r"(?<=\d),(?=\d{3})")
_HUNDREDS_RE: Final = re.compile(r"\b([a-z]+|\d{1,3})\s+(hundred|thousand)\b")
_CHINESE_WAN_RE: Final = re.compile(
    r"([一二两三四五六七八九十]{1,3}|\d{1,4})([万千])([一二三四五六七八九]?)(?![一-九十百千万])"
)


def fingerprint(text: str, salt: bytes) -> Mapping[int, int]:
    """Bucket to weight of a text's content words, English or Chinese; at most 48.

    A word weighs 1, a name or a number 2, a number of four digits or more 3.

    Args:
        text: its first 2,000 characters count.
        salt: the owner's; at most 64 bytes.
    """
    found: dict[int, int] = {}
    for term, weight in _weighted(text[:_CHARS_MAX]):
        bucket = int.from_bytes(hashlib.blake2b(term.encode(), digest_size=4, key=salt).digest()) % _BUCKETS
        found[bucket] = max(weight, found.get(bucket, 0))
        if len(found) >= _WORDS_MAX:
            break
    return found


def pack(buckets: Mapping[int, int]) -> bytes:
    """Two bytes a word: ten bits of bucket and two of weight, in order of bucket."""
    return b"".join((bucket << 2 | weight).to_bytes(2) for bucket, weight in sorted(buckets.items()))


def unpack(packed: bytes) -> Mapping[int, int]:
    """What `pack` packed."""
    words = (int.from_bytes(packed[i : i + 2]) for i in range(0, len(packed), 2))
    return {word >> 2: word & 3 for word in words}


def restates(stated: Mapping[int, int], forgotten: Mapping[int, int]) -> bool:
    """Whether a statement is so like a forgotten one that it may be that again."""
    shared = stated.keys() & forgotten.keys()
    weight = sum(min(stated[bucket], forgotten[bucket]) for bucket in shared)
    lighter = min(sum(stated.values()), sum(forgotten.values()))
    return weight >= WEIGHT_MIN and weight >= SHARE_MIN * lighter


def _weighted(text: str) -> Iterator[tuple[str, int]]:
    names = {term for match in _NAME_RE.finditer(text) for term in analyse(match.group(), _OPTIONS)}
    folded = _GROUPED_RE.sub("", normalise(text))
    amounts = [str(number) for number in _numbers(folded)]
    for term in dict.fromkeys([*amounts, *analyse(folded, _OPTIONS)]):
        if term.isdecimal():
            yield term, _LONG_NUMBER_WEIGHT if int(term) >= _LONG_NUMBER else _NAME_WEIGHT
        elif term not in _SELF:
            yield term, _NAME_WEIGHT if term in names else 1


def _numbers(folded: str) -> Iterator[int]:
    """Amounts written in words, as digits."""
    for match in _HUNDREDS_RE.finditer(folded):
        count = ENGLISH_NUMBERS.get(match[1], int(match[1]) if match[1].isdecimal() else None)
        if count:
            yield count * (100 if match[2] == "hundred" else 1_000)
    for match in _CHINESE_WAN_RE.finditer(folded):
        count, unit = chinese_number(match[1]), 10_000 if match[2] == "万" else 1_000
        if count:
            yield count * unit + (chinese_number(match[3]) or 0) * unit // 10
