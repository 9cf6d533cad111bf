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
from memory_service.domain.relations.quantities import BARE, CODE, clashing
from memory_service.domain.relations.reading import Reading
from memory_service.domain.relations.relation import StatementRelation
from memory_service.domain.relations.subjects import (
    complements_apart,
    has,
    of_other_people,
    of_other_things,
    one_subject,
)

_TOPIC_MIN: Final = 1.0
"""Weight of the words both have, numbers and words of change aside, when the later one says that it changed."""
_TOPIC_MIN_UNSAID: Final = 1.6
"""The same when nothing says so."""
_TOPIC_MIN_NAMED: Final = 2.6
"""The same for a number that may be a name: "fact number 3", "note 4"."""
_TOPIC_ALONE_MIN: Final = 2.2
"""The same when neither opens with what the other has."""
_LEFT_MAX_UNSAID: Final = 1.7
"""Weight of the words that both may have for themselves when nothing says that something changed."""
_GUESSES_COSINE_MIN: Final = 0.7
_GUESSES_OWN_MAX: Final = 3
_SEVERAL: Final = frozenset(
    word
    for line in (
        "like love enjoy prefer have own speak know visit play read watch want learn studi collect listen eat",
        "drink cook",
        "偏好 有 会 养 想 爱 看 玩 学 听 读 去 喝 吃 收集",
    )
    for word in line.split()
)
_COSINE_MIN: Final = 0.25
_COSINE_MIN_UNSAID: Final = 0.45
_WORD_CHANGED: Final = 0.3
_THINGS_ZH: Final = frozenset("店室馆号费卡机包票车单表群站口厅码")
"""What makes another thing of the word before it: 彩票, 彩票店."""
_FORMER: Final = frozenset(("old", "legaci", "former", "previou", "prior"))
"""Tells of a thing that it is not the one there is now: another of its kind says nothing of it."""
_CODED: Final = frozenset(
    word
    for line in (
        "password passcod code pin id key ssid plate serial token refer number login usernam licenc",
        "密码 口令 编号 车牌 账号 序列号 单号 学号 工号 代码 号码 证号",
    )
    for word in line.split()
)
_DIGIT_RE: Final = re.compile(r"\d")
_COUNTS_RE: Final = re.compile(r"[\d一二三四五六七八九十几每]")
_WEEKDAYS: Final = frozenset(
    word
    for line in (
        "monday/mon tuesday/tue wednesday/wed thursday/thu friday/fri saturday/sat sunday/sun",
        "周一 周二 周三 周四 周五 周六 周日",
    )
    for word in line.split()
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
    says_so = (
        says_so or "verified" in later.signs or bool(later.left_behind & {value for _, value in earlier.quantities})
    )
    topic = _topic(earlier, later)
    counted = bool(earlier.counted & later.counted)
    if of_other_things(earlier, later):
        return None
    if topic < _TOPIC_ALONE_MIN and not counted and not one_subject(earlier, later):
        return None
    if says_so:
        enough = topic >= _TOPIC_MIN and (cosine is None or cosine >= _COSINE_MIN)
        return StatementRelation.UPDATE if enough else None
    if any(_followed_apart(earlier, later, term, names=True) for term in earlier.terms if term in later.terms):
        return None
    if kinds[0] == CODE and not _CODED & earlier.terms.keys() & later.terms.keys():
        return None  # of passwords and the like a thing has one; what a shelf holds may be many things with codes
    least = _TOPIC_MIN if counted else _TOPIC_MIN_UNSAID
    if kinds[0].startswith("=") or (kinds[0] == BARE and earlier.language == "en"):
        least = _TOPIC_MIN_NAMED  # "fact number 3" may be one of many, by its number
    enough = topic >= least and found["plain_left_both"] <= _LEFT_MAX_UNSAID
    if enough and (cosine is None or cosine >= _COSINE_MIN_UNSAID) and not found["moment"]:
        return StatementRelation.OPPOSITE
    return None


def topic_replaced(earlier: Reading, later: Reading, found: Mapping[str, float], cosine: float | None) -> bool:
    """Whether the later one says that what the earlier one is of changed: "my gym is …", "I've switched gyms to …".

    Args:
        found: the features of the pair, see `compare`.
        cosine: of the two texts by the model `use`.
    """
    if len(clashing(earlier.quantities, later.quantities, later.left_behind)) > 1:
        return False  # two entries of a list
    if "change" not in later.signs or later.scopes - earlier.scopes or found["more"] or earlier.denies:
        return False
    if cosine is not None and cosine < _COSINE_MIN:
        return False
    if _of_other_person(earlier, later, found) or found["label_apart"] or _ends(later) or siblings(earlier, later):
        return False
    if another_in_place(earlier, later) or of_other_things(earlier, later):
        return False
    worded = any(not _DIGIT_RE.search(name) for name in earlier.names)
    if earlier.quantities and not worded and not later.quantities and later.names - earlier.names:
        return False  # a number and a name are values of two kinds: a phone's number, a phone's make
    return any(_is_replaced(topic, earlier, later) for topic in _topics_of(earlier))


def _is_replaced(topic: str, earlier: Reading, later: Reading) -> bool:
    if topic not in later.terms or topic in later.people or _names_somebody(topic, later):
        return False
    if _followed_apart(earlier, later, topic):
        return False
    if earlier.leads[:1] == ("self",):
        # What the speaker does in general may be done with several: only another name stands in the place of one.
        return bool(earlier.names and later.names - earlier.names) and later.about_self
    return later.about_self or topic in later.openings


def guesses_apart(earlier: Reading, later: Reading, cosine: float | None) -> bool:
    """Whether two guesses about one thing say what is hardly both so: "runs on diesel", "takes petrol".

    For what nobody told only, since it does no more than mark both as unsure. Both are one clause about one thing,
    near in meaning, with a telling word or value in common and each with words of its own; what one may do or have
    several of (`_SEVERAL`) is left alone.
    """
    if cosine is None or cosine < _GUESSES_COSINE_MIN or earlier.leads[:1] != later.leads[:1]:
        return False
    if len(earlier.leads) != 1 or len(later.leads) != 1 or earlier.scopes != later.scopes:
        return False
    if "more" in later.signs or _SEVERAL & (set(earlier.terms) | set(later.terms)):
        return False
    shared = {t for t in earlier.terms if t in later.terms and earlier.terms[t] >= 1.0}
    own = [
        {t for t in one.terms if t not in other.terms and t not in one.measures}
        for one, other in ((earlier, later), (later, earlier))
    ]
    return bool(shared or earlier.values & later.values) and all(1 <= len(words) <= _GUESSES_OWN_MAX for words in own)


def _names_somebody(topic: str, later: Reading) -> bool:
    """Whether it may be a name: capitals tell inside a sentence, so in the other statement."""
    if topic.isascii():
        return topic not in later.common
    return topic[0] in "小老阿"


def _topics_of(earlier: Reading) -> list[str]:
    """The first words that may tell what a statement is of: no names, measures and words of change."""
    first = earlier.order[: 2 if earlier.language == "en" else 4]
    skip = CHANGE_WORDS | earlier.measures | earlier.names
    return [term for term in first if term not in skip and earlier.terms[term] >= 1.0]


def _followed_apart(earlier: Reading, later: Reading, topic: str, *, names: bool = False) -> bool:
    """Whether another word follows the topic and makes another thing of it: a phone, a phone number.

    Args:
        names: a name that follows makes another thing of it, too, and is no value of it.
    """
    mine, its = _after(earlier).get(topic, ""), _after(later).get(topic, "")
    if its == mine or not its or its in earlier.terms or (its in later.names and not names):
        return False
    if _COUNTS_RE.search(mine) or _COUNTS_RE.search(its):
        return False
    if its in _THINGS_ZH:
        return True
    if its in CHANGE_WORDS or its in later.measures or not mine:
        return False
    return not its.isascii() or later.terms.get(its, 0.0) >= 1.0


def _after(reading: Reading) -> dict[str, str]:
    return {previous: term for term, previous in reading.before.items()}


def _weekdays_apart(earlier: Reading, later: Reading) -> list[str]:
    """One entry when both name weekdays and not one in common."""
    mine, its = ({value for _, value in reading.values if value in _WEEKDAYS} for reading in (earlier, later))
    return ["weekday"] if mine and its and mine.isdisjoint(its) else []


def _ends(later: Reading) -> bool:
    """Whether the later one only denies or ends something: that is no other value."""
    return (later.denies and later.negated and len(later.denied_clauses) == 1) or any(
        t in ENDING_WORDS for t in later.order[:2]
    )


def _of_another(earlier: Reading, later: Reading, found: Mapping[str, float]) -> bool:
    """Whether the later one is of another thing, another person, another occasion, or adds to what is said."""
    corrects = bool(found["correction"])
    if _of_other_person(earlier, later, found) and not corrects:
        return True
    of_its_day = found["moment_before"] and not {"change", "hint"} & later.signs
    if (
        found["label_apart"]
        or (found["names_apart"] and _named_apart(earlier, later))
        or found["more"]
        or of_its_day
        or siblings(earlier, later)
    ):
        return True
    if (later.scopes - earlier.scopes or earlier.scopes - later.scopes) and not corrects:
        return True
    return another_in_place(earlier, later) and not corrects


def _of_other_person(earlier: Reading, later: Reading, found: Mapping[str, float]) -> bool:
    """Whether it is of somebody else; whoever only tells of it ("my coach says …") is not whom it is of."""
    if of_other_people(earlier, later):
        return True
    if not found["other_person"]:
        return False
    return not any(lead not in later.people and lead != "self" and has(earlier, lead) for lead in later.leads)


def another_in_place(earlier: Reading, later: Reading) -> bool:
    """Whether what both name is another one by the word before it: *dentist* appointment, *vet* appointment."""
    if complements_apart(earlier, later) or any(word in _FORMER for word in earlier.before.values()):
        return True
    for term, mine in earlier.before.items():
        its = later.before.get(term, "")
        if not its or its == mine or {mine, its} & (CHANGE_WORDS | earlier.measures | later.measures):
            continue
        if _COUNTS_RE.search(mine) or _COUNTS_RE.search(its) or _one_thing(mine, its):
            continue
        if not has(later, mine) and not has(earlier, its):
            return True
    return False


def _named_apart(earlier: Reading, later: Reading) -> bool:
    """Whether they name different things, the codes that are their values aside."""
    mine, its = ({n for n in reading.names if (CODE, n) not in reading.quantities} for reading in (earlier, later))
    return bool(mine and its) and mine.isdisjoint(its)


def siblings(earlier: Reading, later: Reading) -> bool:
    """Whether both open with a Chinese name of one length and one kind, and not the same: 蓝鲸, 白鲸."""
    one, other = earlier.leads[:1], later.leads[:1]
    if not one or not other or one == other or one[0].isascii() or len(one[0]) != len(other[0]) or len(one[0]) < 2:
        return False
    return bool(set(one[0]) & set(other[0])) and not has(earlier, other[0]) and not has(later, one[0])


def _one_thing(one: str, other: str) -> bool:
    """Whether two words of Chinese may be two names of one thing: they have a character in common."""
    return not one.isascii() and bool(set(one) & set(other))


def _topic(earlier: Reading, later: Reading) -> float:
    skip = earlier.measures | later.measures | CHANGE_WORDS
    return sum(
        weight
        for term, weight in earlier.terms.items()
        if weight > _WORD_CHANGED and term in later.terms and term not in skip
    )
