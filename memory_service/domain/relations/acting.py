"""Which judgements are sure enough to act on, among all the memories of one person (E9, E10).

A judgement is fitted to pairs that were put together because they have to do with one another. Among the nearest
memories of a person most do not, and there a small share of false alarms is many: so for acting on one the two must
be about the same thing by their own words, whatever the sum of the signs says.
"""

from __future__ import annotations

from typing import Final

from memory_service.domain.relations.change_words import CHANGE_WORDS, ENDING_WORDS
from memory_service.domain.relations.entries import two_entries
from memory_service.domain.relations.features import sets_apart
from memory_service.domain.relations.judging import DENIED_OUTRIGHT, OTHER_VALUE, TOPIC_REPLACED
from memory_service.domain.relations.preference import opposed
from memory_service.domain.relations.reading import Reading
from memory_service.domain.relations.relation import Judgement, StatementRelation
from memory_service.domain.relations.subjects import has, in_common, one_subject

CONFLICT_SHARED_MIN: Final = 1.0
"""Weight of the words that two statements in conflict share: one content word."""
CONFLICT_MUCH_SHARED_MIN: Final = 2.2
"""Weight of shared words that needs no likeness beside it."""
CONFLICT_COSINE_MIN: Final = 0.6
"""Cosine (of the model `use`) that stands in for a shared word."""
SHARED_COSINE_MIN: Final = 0.4
"""Cosine (of the model `use`) that must go with one shared word."""
OPPOSITE_LEFT_MAX: Final = 0.7
"""Weight of the words that the shorter of two told statements may have for itself, if one denies the other."""
TOLD_CERTAINTY_MIN: Final = 0.85
"""Certainty from which the words for a change and one shared word are enough."""
CONFLICT_CERTAINTY_MIN: Final = 0.6
_MOSTLY: Final = 0.7
_DATED: Final = frozenset({"month", "nth", "hour", "年"})
_CONFLICTS: Final = (StatementRelation.OPPOSITE, StatementRelation.UPDATE)


def sure(
    judgement: Judgement, earlier: Reading, later: Reading, cosine: float | None, *, guesses: bool = False
) -> bool:
    """Whether to merge, replace or contest by this judgement; refinements and different statements need nothing.

    Args:
        guesses: neither was told, both were inferred; then a conflict needs less, since it only marks both as unsure.
    """
    if earlier.bare == later.bare or opposed(earlier.bare, later.bare):
        return True
    if judgement.relation is StatementRelation.PARAPHRASE:
        # Words in common are not enough: "before" and "after", who owes whom, was and is make another claim of them.
        return False
    unsaid = judgement.relation is StatementRelation.OPPOSITE
    if judgement.relation in _CONFLICTS and not guesses and two_entries(earlier, later, unsaid=unsaid):
        return False
    if judgement.relation not in _CONFLICTS or judgement.reason in (OTHER_VALUE, TOPIC_REPLACED, DENIED_OUTRIGHT):
        return True
    if not one_subject(earlier, later) or _records(earlier, later) or not _ends_what_is_there(earlier, later):
        return False
    shared = in_common(earlier, later)
    alike = shared >= CONFLICT_SHARED_MIN and cosine is not None and cosine >= CONFLICT_COSINE_MIN
    if shared < CONFLICT_SHARED_MIN or (judgement.certainty < CONFLICT_CERTAINTY_MIN and not alike):
        # Two guesses that sound alike may contradict each other without a word in common.
        return guesses and cosine is not None and cosine >= CONFLICT_COSINE_MIN
    if judgement.relation is StatementRelation.OPPOSITE and not guesses:
        if "past" in later.signs and "past" not in earlier.signs:
            return False  # what was once does not contradict what is
        least = min(sum(earlier.terms.values()), sum(later.terms.values())) - shared
        return least <= OPPOSITE_LEFT_MAX and (cosine is None or cosine >= SHARED_COSINE_MIN)
    if judgement.relation is StatementRelation.UPDATE and judgement.certainty >= TOLD_CERTAINTY_MIN:
        return True
    return cosine is None or cosine >= SHARED_COSINE_MIN or shared >= CONFLICT_MUCH_SHARED_MIN


def _ends_what_is_there(earlier: Reading, later: Reading) -> bool:
    """Whether a statement that only ends or denies something does so of what the earlier one says, in all its words.

    "No longer in the evening" does not end what is done in the morning, nor "stopped learning German" any Spanish.
    """
    opening = later.order[:2]
    ended = set(later.denied) | (set(later.order) if any(word in ENDING_WORDS for word in opening) else set())
    told = {t: w for t, w in later.terms.items() if t not in CHANGE_WORDS and not t.startswith("从")}
    if not told or sum(w for term, w in told.items() if term in ended) < _MOSTLY * sum(told.values()):
        return True
    if any(not has(earlier, term) and told[term] >= 1.0 for term in ended if term in told):
        return False
    return not sets_apart(earlier, later)


def _records(earlier: Reading, later: Reading) -> bool:
    """Whether they are two entries of a list: one wording with two or more other numbers or codes in it."""
    mine, its = _codes(earlier), _codes(later)
    return len(mine - its) > 1 and len(its - mine) > 1


def _codes(reading: Reading) -> frozenset[str]:
    codes = {term for term in reading.terms if term.isascii() and any(char.isdigit() for char in term)}
    # A number of Chinese text is both a token and a number.
    plain = {f"{value:.15g}" for kind, value in reading.numbers if kind not in _DATED}
    return frozenset(codes if reading.language == "en" else {code for code in codes if code not in plain} | plain)
