"""Whether a statement gives the thing an earlier one is of another value of one kind: a price, a time, a dose.

The weighed signs need a frame of words in common; here what both name and the kind of what they say of it are enough,
since of such a kind a thing has one. That both are about one thing must show: a telling word in common, and no other
name, person, label, occasion or word in the same place.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from memory_service.domain.relations.change_words import CHANGE_WORDS, ENDING_WORDS
from memory_service.domain.relations.quantities import clashing
from memory_service.domain.relations.reading import Reading
from memory_service.domain.relations.relation import StatementRelation
from memory_service.domain.relations.subjects import has, one_subject

_TOPIC_MIN: Final = 1.0
"""Weight of the words both have, numbers and words of change aside, when the later one says that something changed."""
_TOPIC_MIN_UNSAID: Final = 1.6
"""The same when nothing says so."""
_TOPIC_ALONE_MIN: Final = 2.2
"""The same when neither opens with what the other has."""
_LEFT_MAX_UNSAID: Final = 1.7
"""Weight of the words that both may have for themselves when nothing says that something changed."""
_COSINE_MIN: Final = 0.25
_COSINE_MIN_UNSAID: Final = 0.45
_WORD_CHANGED: Final = 0.3
_COUNTS_RE: Final = re.compile(r"[\d一二三四五六七八九十几每]")
_WEEKDAYS: Final = frozenset(
    ["monday/mon", "tuesday/tue", "wednesday/wed", "thursday/thu", "friday/fri", "saturday/sat", "sunday/sun", "周一", "周二", "周三", "周四", "周五", "周六", "周日"]
)


def another_value(
    earlier: Reading, later: Reading, found: Mapping[str, float], cosine: float | None
) -> StatementRelation | None:
    """UPDATE or OPPOSITE when it does, None when that does not show.

    Args:
        found: the features of the pair, see `compare`.
        cosine: of the two texts by the model `use`.
    """
    kinds = clashing(earlier.quantities, later.quantities, later.left_behind) or _weekdays_apart(earlier, later)
    if len(kinds) != 1 or _ends(later) or _of_another(earlier, later, found):
        return None
    says_so = bool(found["change"] or found["hint"] or found["correction"] or found["change_both"])
    says_so = says_so or bool(later.left_behind & {value for _, value in earlier.quantities})
    topic = _topic(earlier, later)
    if topic < _TOPIC_ALONE_MIN and not one_subject(earlier, later):
        return None
    if says_so:
        enough = topic >= _TOPIC_MIN and (cosine is None or cosine >= _COSINE_MIN)
        return StatementRelation.UPDATE if enough else None
    if any(_followed_apart(earlier, later, term) for term in earlier.terms if term in later.terms):
        return None
    least = _TOPIC_MIN if earlier.counted & later.counted else _TOPIC_MIN_UNSAID
    enough = topic >= least and found["plain_left_both"] <= _LEFT_MAX_UNSAID
    if enough and (cosine is None or cosine >= _COSINE_MIN_UNSAID) and not found["moment"]:
        return StatementRelation.OPPOSITE
    return None


def topic_replaced(
    earlier: Reading, later: Reading, found: Mapping[str, float], cosine: float | None
) -> bool:
    """Whether the later one says that what the earlier one is of changed: "my gym is …", "I've switched gyms to …".

    Args:
        found: the features of the pair, see `compare`.
        cosine: of the two texts by the model `use`.
    """
    if "change" not in later.signs or later.scopes - earlier.scopes or found["more"] or earlier.denies:
        return False
    topic = _topic_of(earlier)
    if not topic or topic not in later.terms or topic in later.people or _names_somebody(topic, later) or (cosine is not None and cosine < _COSINE_MIN):
        return False
    if found["other_person"] or found["label_apart"] or _ends(later) or _another_in_place(earlier, later):
        return False
    if _followed_apart(earlier, later, topic):
        return False
    if earlier.leads[:1] == ("self",):
        # What the speaker does in general may be done with several: only another name stands in the place of one.
        return bool(earlier.names and later.names - earlier.names) and later.about_self
    return later.about_self or later.leads_with == topic or topic in later.leads


def _names_somebody(topic: str, later: Reading) -> bool:
    """Whether it may be a name: at the beginning of a sentence capitals do not tell, in the other statement they do."""
    if topic.isascii():
        return topic not in later.common
    return topic[0] in "小老阿"


def _topic_of(earlier: Reading) -> str:
    """The first word that tells what a statement is of; empty for one of a person or of a measure."""
    for term in earlier.order[:2]:
        weight = earlier.terms[term]
        if term in CHANGE_WORDS or term in earlier.measures or weight <= _WORD_CHANGED:
            continue
        return term if weight >= 1.0 and term not in earlier.names else ""
    return ""


def _followed_apart(earlier: Reading, later: Reading, topic: str) -> bool:
    """Whether another word follows the topic and makes another thing of it: a phone, a phone number."""
    mine, its = _after(earlier).get(topic, ""), _after(later).get(topic, "")
    if its == mine or not its or its in earlier.terms or its in later.names:
        return False
    return its not in CHANGE_WORDS and its not in later.measures and later.terms.get(its, 0.0) >= 1.0 and bool(mine)


def _after(reading: Reading) -> dict[str, str]:
    return {previous: term for term, previous in reading.before.items()}


def _weekdays_apart(earlier: Reading, later: Reading) -> list[str]:
    """One entry when both name weekdays and not one in common."""
    mine, its = ({value for _, value in reading.values if value in _WEEKDAYS} for reading in (earlier, later))
    return ["weekday"] if mine and its and mine.isdisjoint(its) else []


def _ends(later: Reading) -> bool:
    """Whether the later one only denies or ends something: that is no other value."""
    return (later.denies and len(later.denied_clauses) == 1) or any(t in ENDING_WORDS for t in later.order[:2])


def _of_another(earlier: Reading, later: Reading, found: Mapping[str, float]) -> bool:
    """Whether the later one is of another thing, another person, another occasion, or adds to what is said."""
    corrects = bool(found["correction"])
    if found["other_person"] and not corrects:
        return True
    of_its_day = found["moment_before"] and not {"change", "hint"} & later.signs
    if found["label_apart"] or found["names_apart"] or found["more"] or of_its_day:
        return True
    if (later.scopes - earlier.scopes or earlier.scopes - later.scopes) and not corrects:
        return True
    return _another_in_place(earlier, later) and not corrects


def _another_in_place(earlier: Reading, later: Reading) -> bool:
    """Whether what both name is another one by the word before it: the *dentist* appointment, the *vet* appointment."""
    for term, mine in earlier.before.items():
        its = later.before.get(term, "")
        if not its or its == mine or {mine, its} & (CHANGE_WORDS | earlier.measures | later.measures):
            continue
        if not (_COUNTS_RE.search(mine) or _COUNTS_RE.search(its)):
            if not has(later, mine) and not has(earlier, its):
                return True
    return False


def _topic(earlier: Reading, later: Reading) -> float:
    skip = earlier.measures | later.measures | CHANGE_WORDS
    return sum(
        weight
        for term, weight in earlier.terms.items()
        if weight > _WORD_CHANGED and term in later.terms and term not in skip
    )
