"""A trace of a forgotten wording by which a restatement of it is known, and which names none of its words (B3).

A claim's digest stops the very same claim only; what is extracted again from an old conversation has other words.
The fingerprint keeps, for each matter that the wording speaks of, one of 1,024 buckets of a hash keyed by the owner's
salt.

    wording ─► quantities in one form ─► words of one matter as one ─► bucket and weight of each

What is hashed is a function of the word: many words of two languages to a concept, many ways of writing to an
amount. So a bucket tells a guesser at most what the bucket of the word itself would tell, and mostly less. See
`docs/architecture.md`, "Other words", for what can be guessed.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Final, NamedTuple

from memory_service.domain.concepts import NAMES, PEOPLE, concept_of, name_phrases
from memory_service.domain.text import AnalysisOptions, analyse, normalise
from memory_service.domain.text.quantities import Measure, take_quantities
from memory_service.domain.text.scripts import HAN
from memory_service.domain.text.segment import cut_for_search, cut_words
from memory_service.domain.text.stopwords import CHINESE_STOP_WORDS

_BUCKETS: Final = 1_024
_WORDS_MAX: Final = 48
_CHARS_MAX: Final = 2_000
_NAME_WEIGHT: Final = 2
_LONG_NUMBER_WEIGHT: Final = 3
_LONG_NUMBER: Final = 1_000
_SMALL_NUMBER_MAX: Final = 12
_EXACT_DIGITS_MIN: Final = 4
"""Digits before the noughts at the end from which a number is rather one thing's than many things'."""
_OPTIONS: Final = AnalysisOptions(cjk_unigrams=False, cjk_bigrams=False, cjk_words=True, wholes=False)

SHARE_MIN: Final = 0.5
"""Weight that must be shared, of the lighter of the two wordings."""
WEIGHT_MIN: Final = 3
"""Weight that must be shared: three words, a name and a word, or a number of four digits."""
SHORT_WEIGHT_MIN: Final = 2
"""Weight that must be shared where one wording says nothing beside what the other says."""
APART_SHARE_MIN: Final = 0.67
"""Share where either names or counts something that the other does not: mostly it is about something else."""
OTHER_SHARE_MIN: Final = 0.8
"""Share where each has a number or a name that the other has not, the later one a number."""

_COMPOUND_CHARS_MIN: Final = 4
"""Longer Chinese words count by their parts, of which the other wording may have one."""
_HAN_RUN_RE: Final = re.compile(f"[{HAN}]+")
_NAME_RE: Final = re.compile(r"(?<=[\w,;'\u2019\u4e00-\u9fff] )[A-Z][\w-]+|(?<=[\u4e00-\u9fff])[A-Za-z][\w-]+")


class Stated(dict[int, int]):
    """Bucket to weight of a wording that is at hand, and what of it says who and how much.

    Attributes:
        people: buckets of persons named by their role.
        names: buckets of names.
        numbers: buckets of amounts, codes, days and years.
        round_numbers: those of them that many things cost, weigh or count.
    """

    __slots__ = ("names", "numbers", "people", "round_numbers")

    def __init__(self) -> None:
        super().__init__()
        self.people: set[int] = set()
        self.names: set[int] = set()
        self.numbers: set[int] = set()
        self.round_numbers: set[int] = set()


def fingerprint(text: str, salt: bytes) -> Stated:
    """Bucket to weight of what a text speaks of, English or Chinese; at most 48.

    A word weighs 1, as do times and numbers up to twelve; a name, a day, a year or a larger number 2; a code and a
    number of four digits or more 3.

    Args:
        text: its first 2,000 characters count.
        salt: the owner's; at most 64 bytes.
    """
    found = Stated()
    for matter in _matters(text[:_CHARS_MAX]):
        digest = hashlib.blake2b(matter.term.encode(), digest_size=4, key=salt).digest()
        bucket = int.from_bytes(digest) % _BUCKETS
        found[bucket] = max(matter.weight, found.get(bucket, 0))
        for role in matter.roles:
            getattr(found, role).add(bucket)
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


def restates(stated: Stated, forgotten: Mapping[int, int]) -> bool:
    """Whether a statement is so like a forgotten one that it may be that again."""
    shared = stated.keys() & forgotten.keys()
    left, lost = stated.keys() - shared, forgotten.keys() - shared
    if not left and not lost:
        return bool(shared)
    if left and lost and (shared <= stated.people | stated.names or shared <= stated.round_numbers):
        return False  # only who or only how much is the same, and both say something else of it
    if left & stated.people and not shared & stated.names:
        return False  # it is somebody else's
    weight = shared_weight(stated, forgotten)
    own, its = sum(stated.values()), sum(forgotten.values())
    both_have_values = any(forgotten[bucket] > 1 for bucket in lost)
    other = bool(left & stated.numbers) and both_have_values
    if weight < WEIGHT_MIN:
        # A short one is often the very thing, and so is one that says nothing beside what was forgotten.
        within = not left or (not lost and weight >= SHARE_MIN * own)
        return within and not other and weight >= SHORT_WEIGHT_MIN
    apart = both_have_values and any(stated[bucket] > 1 for bucket in left)
    least = OTHER_SHARE_MIN if other else APART_SHARE_MIN if apart else SHARE_MIN
    return weight >= least * min(own, its)


def shared_weight(stated: Mapping[int, int], other: Mapping[int, int]) -> int:
    """Weight of what two wordings both speak of."""
    return sum(min(stated[bucket], other[bucket]) for bucket in stated.keys() & other.keys())


class _Matter(NamedTuple):
    """One thing a wording speaks of, with the sets of `Stated` that it is in."""

    term: str
    weight: int
    roles: tuple[str, ...] = ()


def _matters(text: str) -> Iterator[_Matter]:
    names = {term for match in _NAME_RE.finditer(text) for term in analyse(match.group(), _OPTIONS)}
    found = take_quantities(normalise(text))
    for term, kind in found.terms.items():
        yield _quantity(term, kind)
    said = dict(_words(name_phrases(found.rest), names))
    if not said and not found.terms:
        # Nothing but common words: then they are what it says.
        said = dict.fromkeys(analyse(text, _OPTIONS), False)
    for concept, named in said.items():
        role = ("people",) if concept in PEOPLE else ("names",) if named else ()
        yield _Matter(concept, _NAME_WEIGHT if named else 1, role)


def _words(rest: str, names: Collection[str]) -> Iterator[tuple[str, bool]]:
    """The concepts of a text, and whether each is a name."""
    for term in analyse(_HAN_RUN_RE.sub(" ", rest), _OPTIONS) if rest.strip() else ():
        concept = concept_of(term)
        if concept is not None:
            yield concept, term in names and concept not in NAMES
    for run in _HAN_RUN_RE.findall(rest):
        loose = ""
        for word in (*cut_words(run), ""):
            concept = concept_of(word) if word not in CHINESE_STOP_WORDS else None
            if concept is not None and concept == word and len(word) == 1:
                loose += word
                continue
            # No dictionary has names: they fall into single characters.
            yield from ((loose[at : at + 2], True) for at in range(len(loose) - 1))
            if len(loose) == 1:
                yield loose, False
            loose = ""
            if concept == word and len(word) >= _COMPOUND_CHARS_MIN:
                yield from ((part, False) for part in cut_for_search(word)[:-1] or [word])
            elif concept:
                yield concept, False


def _quantity(term: str, kind: Measure) -> _Matter:
    if kind in (Measure.MONTH, Measure.WEEKDAY, Measure.TIME):
        return _Matter(term, 1)
    if kind in (Measure.DAY, Measure.YEAR):
        return _Matter(term, _NAME_WEIGHT, ("numbers", "round_numbers"))
    value = float(term)
    if kind is Measure.CODE:
        return _Matter(term, _LONG_NUMBER_WEIGHT, ("numbers",))
    if value <= _SMALL_NUMBER_MAX:
        return _Matter(term, 1, ("round_numbers",))
    exact = len(term.rstrip("0")) >= _EXACT_DIGITS_MIN
    roles = ("numbers",) if exact else ("numbers", "round_numbers")
    return _Matter(term, _LONG_NUMBER_WEIGHT if value >= _LONG_NUMBER else _NAME_WEIGHT, roles)
