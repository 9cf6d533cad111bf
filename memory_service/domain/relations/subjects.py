"""Whether two statements are about one person or thing, by their own words."""

from __future__ import annotations

from typing import Final

from memory_service.domain.relations.change_words import CHANGE_WORDS
from memory_service.domain.relations.reading import Reading

_RETURN_SHARED_MIN: Final = 1.2
"""Weight of the words that a statement has of what it goes back to."""


def in_common(earlier: Reading, later: Reading) -> float:
    """Weight of the earlier statement's words that the later one has, but for words of change, which anything has."""
    return sum(w for term, w in earlier.terms.items() if term not in CHANGE_WORDS and has(later, term))


def has(reading: Reading, term: str) -> bool:
    """Whether it has a word, a Chinese one also as part of another."""
    return term in reading.terms or (not term.isascii() and len(term) > 1 and term[:2] in reading.key)


def one_subject(earlier: Reading, later: Reading) -> bool:
    """Whether both may be about one person or thing: a clause opens with what the other has, or both are the
    speaker's.

    Of whom a clause opens with it is; who is only named in one ("a letter from the landlord: …") tells of it.
    """
    others = later.people - earlier.people
    if others and not earlier.people & later.people and (others & set(later.leads) or later.leads_with in others):
        return False
    if any(has(earlier, lead) for lead in later.leads) or any(has(later, lead) for lead in earlier.leads):
        return True
    return bool(earlier.names & later.names) or (earlier.about_self and later.about_self)


def returns_to(replaced: Reading, held: Reading, later: Reading) -> bool:
    """Whether a statement goes back to what the one that is held took the place of: "we're back with Brightwell".

    Args:
        replaced: what the held statement replaced.
    """
    if "return" not in later.signs or later.scopes - held.scopes:
        return False
    again = in_common(replaced, later)
    named = bool(replaced.names & later.names)
    # What the held one says as well speaks for neither.
    telling = {t for t in replaced.terms if has(later, t) and not has(held, t) and t not in CHANGE_WORDS}
    telling |= {value for _, value in replaced.values & later.values if (_, value) not in held.values}
    return bool(telling) and (named or again >= _RETURN_SHARED_MIN)
