"""Which of two statements that contradict each other a third one speaks for (E5: re-judged on new evidence)."""

from __future__ import annotations

from typing import Final

from memory_service.domain.relations.reading import Reading

_LEAST: Final = 1.0
"""Weight by which the evidence for one side must exceed that for the other: about one content word or one number."""
_VALUE_WEIGHT: Final = 2.0
_SCOPES: Final = frozenset({"all", "none"})


def speaks_for(evidence: Reading, one: Reading, other: Reading) -> int:
    """1 when `evidence` speaks for `one`, -1 when for `other`, 0 when it does not tell.

    What both say does not count, only what tells them apart: the words, the numbers and the values of closed sets
    that one has and the other has not, each held against it where the evidence denies it.
    """
    if not _concerns(evidence, one, other):
        return 0
    lead = _weight(evidence, one, other) - _weight(evidence, other, one)
    return 0 if abs(lead) < _LEAST else (1 if lead > 0 else -1)


def _concerns(evidence: Reading, one: Reading, other: Reading) -> bool:
    """Whether the evidence is about what the two are about at all: enough of what either says, or a value of it.

    A word that both have may be no more than whom they are about.
    """
    found = {term for term in (*one.terms, *other.terms) if _says(evidence, term)}
    if len(found) > 1:
        return True
    told = {value for _, value in evidence.numbers} | evidence.values
    theirs = {value for side in (one, other) for _, value in side.numbers} | one.values | other.values
    return bool(told & theirs) and any(term in one.terms and term in other.terms for term in found)


def _weight(evidence: Reading, side: Reading, against: Reading) -> float:
    """How much of what only `side` says the evidence says as well."""
    total = 0.0
    for term, weight in side.terms.items():
        if not _says(evidence, term) or any(char.isdigit() for char in term):
            continue
        agrees = (term in side.denied) == (term in evidence.denied)
        if term not in against.terms:
            total += weight if agrees else -weight
        elif (term in side.denied) != (term in against.denied):
            total += weight * agrees
    numbers = {value for _, value in side.numbers} - {value for _, value in against.numbers}
    total += _VALUE_WEIGHT * len(numbers & {value for _, value in evidence.numbers})
    total += _VALUE_WEIGHT * len((side.values - against.values) & evidence.values)
    return total + len((side.signs - against.signs) & evidence.signs & _SCOPES)


def _says(evidence: Reading, term: str) -> bool:
    """Whether the evidence has a word; a Chinese one wherever its characters stand, since dictionaries cut unlike."""
    return term in evidence.terms or (not term.isascii() and term in evidence.key)
