"""Which judgements are sure enough to act on, among all the memories of one person (E9, E10).

A judgement is fitted to pairs that were put together because they have to do with one another. Among the nearest
memories of a person most do not, and there a small share of false alarms is many: so for acting on one the two must
be about the same thing by their own words, whatever the sum of the signs says.
"""

from __future__ import annotations

from typing import Final

from memory_service.domain.relations.poles import turned
from memory_service.domain.relations.reading import Reading
from memory_service.domain.relations.relation import Judgement, StatementRelation

MERGE_LEFT_MAX: Final = 0.6
"""Weight of the words that either of two wordings of one claim may have for itself: less than one content word."""
MERGE_COSINE_MIN: Final = 0.6
CONFLICT_SHARED_MIN: Final = 1.0
"""Weight of the words that two statements in conflict share: one content word."""
CONFLICT_MUCH_SHARED_MIN: Final = 2.2
"""Weight of shared words that needs no likeness beside it."""
CONFLICT_COSINE_MIN: Final = 0.6
"""Cosine (of the model `use`) that stands in for a shared word."""
SHARED_COSINE_MIN: Final = 0.4
"""Cosine (of the model `use`) that must go with one shared word."""
OPPOSITE_LEFT_MAX: Final = 1.0
"""Weight of the words that the shorter of two told statements may have for itself, if one denies the other."""
TOLD_CERTAINTY_MIN: Final = 0.85
"""Certainty from which the words for a change and one shared word are enough."""
CONFLICT_CERTAINTY_MIN: Final = 0.6
_CONFLICTS: Final = (StatementRelation.OPPOSITE, StatementRelation.UPDATE)


def sure(
    judgement: Judgement, earlier: Reading, later: Reading, cosine: float | None, *, guesses: bool = False
) -> bool:
    """Whether to merge, replace or contest by this judgement; refinements and different statements need nothing.

    Args:
        guesses: neither was told, both were inferred; then a conflict needs less, since it only marks both as unsure.
    """
    if earlier.key == later.key:
        return True
    shared = sum(weight for term, weight in earlier.terms.items() if term in later.terms)
    if judgement.relation is StatementRelation.PARAPHRASE:
        left = max(sum(earlier.terms.values()) - shared, sum(later.terms.values()) - shared)
        near = cosine is None or cosine >= MERGE_COSINE_MIN
        same_numbers = {v for _, v in earlier.numbers} == {v for _, v in later.numbers}
        return near and left <= MERGE_LEFT_MAX and same_numbers and not turned(earlier.poles, later.poles)
    if judgement.relation in _CONFLICTS:
        alike = shared >= CONFLICT_SHARED_MIN and cosine is not None and cosine >= CONFLICT_COSINE_MIN
        if judgement.certainty < CONFLICT_CERTAINTY_MIN and not alike:
            return False
        if judgement.relation is StatementRelation.OPPOSITE and not guesses:
            least = min(sum(earlier.terms.values()), sum(later.terms.values())) - shared
            return (
                least <= OPPOSITE_LEFT_MAX and shared >= CONFLICT_SHARED_MIN and (cosine or 1.0) >= SHARED_COSINE_MIN
            )
        if cosine is None:
            return shared >= CONFLICT_SHARED_MIN
        if judgement.relation is StatementRelation.UPDATE and judgement.certainty >= TOLD_CERTAINTY_MIN:
            return _common(earlier, later) >= CONFLICT_SHARED_MIN or cosine >= CONFLICT_COSINE_MIN
        related = shared >= CONFLICT_SHARED_MIN and cosine >= SHARED_COSINE_MIN
        return related or cosine >= CONFLICT_COSINE_MIN or shared >= CONFLICT_MUCH_SHARED_MIN
    return True


def _common(earlier: Reading, later: Reading) -> float:
    """Weight of the earlier statement's words that the later one has, Chinese ones also as part of others."""
    return sum(
        weight
        for term, weight in earlier.terms.items()
        if term in later.terms or (not term.isascii() and len(term) > 1 and term[:2] in later.key)
    )
