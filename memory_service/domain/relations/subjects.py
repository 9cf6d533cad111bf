"""Whether two statements are about one person or thing, by their own words."""

from __future__ import annotations

from typing import Final

from memory_service.domain.relations.change_words import CHANGE_WORDS
from memory_service.domain.relations.reading import Reading

CLAIM_WORDS_MAX: Final = 16
"""Most content words of one claim: of a longer text too much is shared by chance."""
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
    if of_other_people(earlier, later):
        return False
    if any(has(earlier, lead) for lead in later.leads) or any(has(later, lead) for lead in earlier.leads):
        return True
    return bool(earlier.names & later.names) or (earlier.about_self and later.about_self)


def returns_to(replaced: Reading, held: Reading, later: Reading) -> bool:
    """Whether a statement goes back to what the one that is held took the place of: "we're back with Brightwell".

    Args:
        replaced: what the held statement replaced.
    """
    if "return" not in later.signs or later.scopes - held.scopes or len(later.order) > CLAIM_WORDS_MAX:
        return False
    if replaced.names & later.names and "change" in held.signs:
        return True  # what it left is named in what is held as well
    # What the held one says as well speaks for neither, nor does what both are of.
    telling = {t for t in replaced.terms if has(later, t) and not has(held, t) and t not in CHANGE_WORDS}
    if replaced.leads[:1] != ("self",):
        telling -= replaced.openings
    telling |= {value for _, value in (replaced.values & later.values) - held.values}
    return bool(telling) and in_common(replaced, later) >= _RETURN_SHARED_MIN


_TELLERS: Final = frozenset(
    word
    for line in (
        "doctor landlord landladi financ hr boss manag offic team letter email mail bank council clinic school coach",
        "财务 房东 甲方 乙方 教练 医生 老师 领导 老板 客服 物业 公司 学校 医院 银行 通知 公告",
    )
    for word in line.split()
)


def complements_apart(earlier: Reading, later: Reading) -> bool:
    """Whether what both name is of, for, with or in another thing: the price of milk, the price of butter."""
    for head, mine in earlier.complements.items():
        its = later.complements.get(head)
        if its and mine.keys() & its.keys():
            pairs = [(mine[word], its[word]) for word in mine.keys() & its.keys()]
            if any(a != b and not has(later, a) and not has(earlier, b) for a, b in pairs):
                return True
    return False


def of_other_people(earlier: Reading, later: Reading) -> bool:
    """Whether one is led by somebody ("my wife's rent") whom the other does not name; who only tells is none."""
    for one, other in ((earlier, later), (later, earlier)):
        led = {lead for lead in one.leads if lead in one.people and lead not in _TELLERS}
        if led and not led & other.people:
            return True
    return False


def of_other_things(earlier: Reading, later: Reading) -> bool:
    """Whether each opens with a thing that the other has not; who only tells of it ("the landlord says") is none."""
    lead = next((one for one in later.leads if one not in _TELLERS and one not in later.people), "")
    mine = earlier.leads[0] if earlier.leads else ""
    if not lead or not mine or "self" in (lead, mine) or any(len(w) == 1 and not w.isascii() for w in (lead, mine)):
        return False  # of a name that no dictionary has one character tells nothing
    return not has(earlier, lead) and not has(later, mine)
