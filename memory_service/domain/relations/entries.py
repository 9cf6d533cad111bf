"""Whether two statements are two entries beside one another: of two people, things or occasions, however alike.

What was told is lost when a statement about something else takes its place, so nothing that was told is replaced or
disputed by wording when any of these signs shows; two statements kept where one would do cost a line in an answer.
"""

from __future__ import annotations

from typing import Final

from memory_service.domain.relations.change_words import CHANGE_WORDS
from memory_service.domain.relations.features import sets_apart
from memory_service.domain.relations.other_value import another_in_place, siblings
from memory_service.domain.relations.quantities import DATE, clashing
from memory_service.domain.relations.reading import Reading
from memory_service.domain.relations.subjects import complements_apart, has, of_other_people, of_other_things

_RATES: Final = frozenset(("month", "week", "day", "year", "hour", "minut", "天", "月", "年", "个月", DATE))
"""Of "a month" only the price counts; and a date tells since when."""
_CONTENT: Final = 1.0
_ZH_CONTENT: Final = 0.6
_ZH_WORD: Final = 1.2


def two_entries(earlier: Reading, later: Reading, *, unsaid: bool) -> bool:
    """Whether both stand: see the module.

    Args:
        unsaid: nothing in the later one says that something changed.
    """
    if complements_apart(earlier, later) or siblings(earlier, later) or _of_other_occasions(earlier, later):
        return True
    if not {"correction", "verified"} & later.signs and (
        of_other_people(earlier, later)
        or of_other_things(earlier, later)
        or _other_owner(earlier, later)
        or _of_a_list(earlier, later)
    ):
        return True
    if not unsaid:
        return False
    return any(sign(earlier, later) for sign in (another_in_place, _on_an_occasion, _another_kind, _own_words))


def _other_owner(earlier: Reading, later: Reading) -> bool:
    """Whether what both name is somebody else's: my meeting, Bob's meeting."""
    for thing, owner in earlier.owners.items():
        its = later.owners.get(thing, owner)
        if its != owner and not (has(later, owner) or has(earlier, its)):
            return True
    mine, its = earlier.person, later.person
    if mine and its:
        return mine != its
    return bool(mine) and later.leads[:1] == ("self",) and mine not in later.key


def _of_a_list(earlier: Reading, later: Reading) -> bool:
    """Whether the earlier one says several things, and the later one speaks of one of them only."""
    if "list" in earlier.signs and (later.denied or _gives_up(later)):
        items = {
            t
            for t, w in earlier.terms.items()
            if w >= _CONTENT and t not in CHANGE_WORDS and t not in earlier.openings
        }
        if items - later.terms.keys() and items & later.terms.keys() and "all" not in later.signs:
            return True
    kinds, its = ({k for k, v in one.quantities if k not in _RATES or v != 1} for one in (earlier, later))
    days = bool(earlier.values) and not later.values
    return bool(kinds & its) and (days or len(kinds) > 1) and not kinds <= its


def _gives_up(later: Reading) -> bool:
    """Whether it says that something is given up, and no new value."""
    return (
        "change" in later.signs
        and not later.quantities
        and any(t in later.order[:2] for t in ("sold", "sell", "stop", "quit"))
    )


def _of_other_occasions(earlier: Reading, later: Reading) -> bool:
    """Whether each is of another day, part of the day, side or colour, and says another number of it."""
    numbers = clashing(earlier.quantities, later.quantities, later.left_behind)
    changed = {"change", "correction", "verified"} & later.signs
    return bool(numbers) and sets_apart(earlier, later) and (not changed or len(numbers) > 1)


def _on_an_occasion(earlier: Reading, later: Reading) -> bool:
    """Whether one is of a day or a part of it that the other does not name: "on Sundays it closes at six"."""
    mine, its = {kind for kind, _ in earlier.values}, {kind for kind, _ in later.values}
    dated = [{v for k, v in reading.numbers if k == "month"} for reading in (earlier, later)]
    return bool(its - mine) or (mine != its and bool(earlier.quantities)) or dated[0] != dated[1]


def _another_kind(earlier: Reading, later: Reading) -> bool:
    """Whether a shared word is in a compound in one of them only: a house, a holiday house; milk, milk chocolate."""
    for one, other in ((earlier, later), (later, earlier)):
        if any(t not in other.terms and t not in one.measures and w >= _ZH_CONTENT for t, w in one.terms.items()):
            continue
        following = {before: term for term, before in other.before.items()}
        for term in one.terms:
            if term not in other.terms:
                continue
            leading = other.before.get(term, "") if earlier.quantities else ""
            for word in (leading, following.get(term, "")):
                least = _CONTENT if word.isascii() else _ZH_WORD
                new = word and word not in one.terms and word not in CHANGE_WORDS and word not in other.measures
                if new and other.terms.get(word, 0.0) >= least and not has(one, word):
                    return True
    return False


def _own_words(earlier: Reading, later: Reading) -> bool:
    """Whether a word that says how big or good something is parts them: a small coffee, a large coffee."""
    clash = {t for t in earlier.terms if t in later.terms and (t in earlier.denied) != (t in later.denied)}
    return bool(clash) and bool(clashing(earlier.quantities, later.quantities, later.left_behind))
