"""How two statements stand to one another, as named numbers from their readings."""

from __future__ import annotations

from dataclasses import dataclass
from math import log
from typing import Final

from memory_service.domain.relations.reading import Reading

NEAR_WEIGHT: Final = 0.3
"""Weight up to which a word is too common to make two statements related."""


def may_concern(earlier: Reading, later: Reading) -> bool:
    """Whether the two have a content word, a line of a life or (in Chinese) two pairs of characters in common.

    A gate of a few microseconds. False says that the words show nothing: a caller who has a cosine should judge such
    a pair all the same when it is high.
    """
    if earlier.key == later.key:
        return True
    if not earlier.fields.isdisjoint(later.fields):
        return True
    small, large = (earlier, later) if len(earlier.terms) <= len(later.terms) else (later, earlier)
    if any(weight > NEAR_WEIGHT and term in large.terms for term, weight in small.terms.items()):
        return True
    if "zh" not in (small.language, large.language) or min(len(small.grams), len(large.grams)) < 2:
        return not small.terms and not small.grams.isdisjoint(large.grams)
    return len(small.grams & large.grams) >= 2


def conflicting_values(earlier: Reading, later: Reading) -> bool:
    """Whether both name a value of one closed set (a weekday, a side, a date) and not the same."""
    return sets_apart(earlier, later) or conflicting_numbers(earlier, later)


def sets_apart(earlier: Reading, later: Reading) -> bool:
    """Whether there is a closed set (weekdays, sides) of which both have a value and not one in common."""
    kinds = {kind for kind, _ in earlier.values} & {kind for kind, _ in later.values}
    return not kinds <= {kind for kind, _ in earlier.values & later.values}


def conflicting_numbers(earlier: Reading, later: Reading) -> bool:
    """Whether both count one kind of thing and no number is in both; a number without a kind fits any kind."""
    if not earlier.numbers or not later.numbers:
        return False
    kinds = {kind for kind, _ in earlier.numbers} & {kind for kind, _ in later.numbers}
    for kind in kinds:
        mine = {value for one, value in earlier.numbers if one == kind}
        if mine.isdisjoint(value for one, value in later.numbers if one == kind):
            return True
    if kinds:
        return False
    return {value for _, value in earlier.numbers}.isdisjoint(value for _, value in later.numbers)


def other_person(earlier: Reading, later: Reading) -> bool:
    """Whether the two are about two persons: different kin, or the speaker and kin."""
    if earlier.people and later.people:
        leads = earlier.leads_with in earlier.people or later.leads_with in later.people
        return leads and earlier.people.isdisjoint(later.people)
    if earlier.people:
        return earlier.leads_with in earlier.people and later.about_self and not earlier.about_self
    if later.people:
        return later.leads_with in later.people and earlier.about_self and not later.about_self
    return False


def other_label(earlier: Reading, later: Reading) -> bool:
    """Whether both open with a thing named by a number or a letter, and not the same: Route 9 and Route 6."""
    return any(
        thing == its_thing and label != its_label
        for thing, label in earlier.labels
        for its_thing, its_label in later.labels
    )


def frame(earlier: Reading, later: Reading) -> float:
    """Share of the longer statement's words that stand alike at its beginning and its end (0 to 1)."""
    a, b = earlier.order, later.order
    short, long = min(len(a), len(b)), max(len(a), len(b))
    if not long:
        return 0.0
    head = 0
    while head < short and a[head] == b[head]:
        head += 1
    tail = 0
    while tail < short - head and a[-1 - tail] == b[-1 - tail]:
        tail += 1
    return (head + tail) / long


def _denies_what_was_said(earlier: Reading, later: Reading) -> bool:
    """Whether a clause of the later one does nothing but deny what the earlier one affirms: "never by hand"."""
    for clause in later.denied_clauses:
        said = {term for term in clause if later.terms[term] > NEAR_WEIGHT}
        if said and said <= earlier.terms.keys() and said.isdisjoint(earlier.denied):
            return True
    return False


def _only_subject_shared(earlier: Reading, later: Reading) -> bool:
    """Whether the later one shares at most what the earlier one is of, and nothing of what it says of it."""
    said = [term for term, weight in earlier.terms.items() if weight > NEAR_WEIGHT]
    subject = said[0] if said and earlier.leads_with != "self" else ""
    return len(said) > 1 and all(term == subject or term not in later.terms for term in said)


@dataclass(frozen=True, slots=True)
class _Both:
    """What several features of one pair need.

    Attributes:
        weight_mine, weight_its: of all words of the earlier and of the later one.
        common: weight of the shared words, of the earlier one's reckoning.
        clashing: of those, what one denies and the other does not.
        left_mine, left_its: weight of what is not shared.
        plain_mine, plain_its: the same without numbers, dates and values.
        growth: logarithm of the later one's length against the earlier one's.
    """

    weight_mine: float
    weight_its: float
    common: float
    clashing: float
    left_mine: float
    left_its: float
    plain_mine: float
    plain_its: float
    growth: float
    grams: float
    frame: float
    values: bool
    denies_apart: bool
    change: bool
    leads_apart: bool
    things: bool
    same_field: bool
    shared_name: bool

    @property
    def clash(self) -> float:
        return self.clashing / self.common if self.common else 0.0

    @property
    def covers(self) -> float:
        return self.common / self.weight_mine

    @property
    def left_both(self) -> float:
        return min(self.left_mine, self.left_its, 2.0)


def _both(earlier: Reading, later: Reading) -> _Both:
    mine, its = earlier.terms, later.terms
    shared = {term: weight for term, weight in mine.items() if term in its}
    weight_mine, weight_its = sum(mine.values()) or 0.1, sum(its.values()) or 0.1
    common = sum(shared.values())
    clashing = sum(w for term, w in shared.items() if (term in earlier.denied) != (term in later.denied))
    opens_alike = earlier.leads_with == later.leads_with
    # What both name tells better than the first clauses whether one denies what the other says.
    named = common > NEAR_WEIGHT
    return _Both(
        weight_mine=weight_mine,
        weight_its=weight_its,
        common=common,
        clashing=clashing,
        left_mine=weight_mine - common,
        left_its=weight_its - common,
        plain_mine=sum(w for term, w in mine.items() if term not in its and term not in earlier.measures),
        plain_its=sum(w for term, w in its.items() if term not in mine and term not in later.measures),
        growth=log((len(later.key) + 1) / (len(earlier.key) + 1)),
        grams=len(earlier.grams & later.grams) * 2 / ((len(earlier.grams) + len(later.grams)) or 1),
        frame=frame(earlier, later),
        values=conflicting_values(earlier, later),
        denies_apart=clashing / common > 0.5 if named else earlier.denies != later.denies,
        change="change" in later.signs and "change" not in earlier.signs,
        leads_apart=not opens_alike and earlier.leads_with not in its and later.leads_with not in mine,
        things="self" not in (earlier.leads_with, later.leads_with),
        same_field=not earlier.fields.isdisjoint(later.fields),
        shared_name=not earlier.names.isdisjoint(later.names),
    )


def compare(earlier: Reading, later: Reading, cosine: float | None) -> dict[str, float]:
    """The named numbers the judgement weighs, all within about -3 to 3; `cosine` adds its own when given."""
    both = _both(earlier, later)
    found = {
        "bias": 1.0,
        "zh": float(later.language == "zh"),
        **_of_words(both, earlier, later),
        **_of_values(both, earlier, later),
        **_of_subjects(both, earlier, later),
        **_of_signs(both, earlier, later),
    }
    if cosine is not None:
        found |= _of_cosine(both, cosine, corrects="correction" in later.signs, zh=found["zh"])
    return found


def _of_words(both: _Both, earlier: Reading, later: Reading) -> dict[str, float]:
    """How many words are shared, what is left of either, and what is denied of the shared ones."""
    same_words = max(both.left_mine, both.left_its) < 0.4
    return {
        "covers_earlier": both.covers,
        "covers_later": both.common / both.weight_its,
        "grams": both.grams,
        "frame": both.frame,
        "same_words": same_words,
        "left_of_earlier": min(3.0, both.left_mine) / 3,
        "left_of_later": min(6.0, both.left_its) / 3,
        "plain_left_of_earlier": min(3.0, both.plain_mine) / 3,
        "left_both": both.left_both,
        "left_both_frame": both.left_both * both.frame,
        "plain_left_both": min(both.plain_mine, both.plain_its, 2.0),
        "only_left_later": (both.left_mine < NEAR_WEIGHT) * min(3.0, both.left_its),
        "longer": max(-1.5, min(1.5, both.growth)),
        "short_earlier": len(earlier.terms) <= 2,
        "clash": both.clash,
        "clash_same_words": both.clash * both.covers,
        "same_words_clash": same_words * max(both.clash, float(both.denies_apart)),
        "some_clash": both.clashing > 0.8,
        "some_clash_opens_alike": both.clashing > 0.8 and earlier.leads_with == later.leads_with,
        "denies_apart": both.denies_apart,
        "denies_left": both.denies_apart * both.left_both,
        "denies_what_was_said": _denies_what_was_said(earlier, later),
        "only_later_denies": later.denies and not earlier.denies,
    }


def _of_values(both: _Both, earlier: Reading, later: Reading) -> dict[str, float]:
    """Numbers, dates and values of closed sets."""
    numbers = {value for _, value in earlier.numbers}
    return {
        "values": both.values,
        "values_frame": both.values * both.frame,
        "values_only_apart": both.values * max(0.0, 1 - min(both.plain_mine, both.plain_its)),
        "field_values": both.same_field and both.values,
        "shared_name_values": both.shared_name and both.values,
        "same_person_values": bool(earlier.people & later.people) and both.values,
        "correction_values": "correction" in later.signs and both.values,
        "new_number": bool(later.numbers and not earlier.numbers),
        "lost_number": bool(earlier.numbers and not later.numbers),
        "same_numbers": bool(earlier.numbers & later.numbers),
        "left_behind_here": bool(later.left_behind & numbers),
        "left_behind_elsewhere": bool(later.left_behind and numbers and later.left_behind.isdisjoint(numbers)),
    }


def _of_subjects(both: _Both, earlier: Reading, later: Reading) -> dict[str, float]:
    """Whom and what the two are about."""
    others = other_person(earlier, later) and "correction" not in later.signs
    return {
        "other_person": others,
        "change_other_person": both.change and others,
        "same_person": bool(earlier.people & later.people),
        "opens_alike": earlier.leads_with == later.leads_with,
        "leads_apart": both.leads_apart,
        "things_apart": both.leads_apart and both.things,
        "apart_alike": (both.leads_apart and both.things) * both.grams,
        "frame_apart": both.frame * both.leads_apart,
        "change_apart": both.change * both.frame * both.leads_apart,
        "label_apart": other_label(earlier, later),
        "only_subject": _only_subject_shared(earlier, later),
        "same_field": both.same_field,
        "field_denies_apart": both.same_field and earlier.denies != later.denies,
        "shared_name": both.shared_name,
        "new_names": min(2, len(later.names - earlier.names)) / 2,
        "names_apart": bool(earlier.names and later.names) and not both.shared_name,
    }


def _of_signs(both: _Both, earlier: Reading, later: Reading) -> dict[str, float]:
    """Words of change, correction, scope, detail and the like: new in the later one, or in both."""
    said, saying = earlier.signs, later.signs
    changes, corrects = "change" in saying, "correction" in saying
    hint = "hint" in saying and "hint" not in said
    return {
        "change": both.change,
        "change_related": both.change * min(1.0, both.common),
        "change_covers": changes * both.covers,
        "change_loose": both.change * max(0.0, 0.5 - both.covers),
        "change_field": changes and both.same_field,
        "shared_name_change": both.shared_name and changes,
        "change_both": changes and "change" in said,
        "changed_apart": (changes and "change" in said) * min(both.left_mine, 2.0),
        "changed_before": "change" in said and not changes,
        "hint": hint,
        "hint_covers": hint * both.covers,
        "correction": corrects,
        "correction_covers": corrects * both.covers,
        "scope": bool(later.scopes - earlier.scopes),
        "scope_before": bool(earlier.scopes - later.scopes),
        "more": "more" in saying and "more" not in said,
        "detail": "detail" in saying and "detail" not in said,
        "moment": "moment" in saying,
        "moment_before": "moment" in said,
        "all_none": ("none" in saying) != ("none" in said),
        "preference_both": "preference" in saying and "preference" in said,
    }


def _of_cosine(both: _Both, cosine: float, *, corrects: bool, zh: float) -> dict[str, float]:
    """The cosine, and with what it weighs differently."""
    above = max(0.0, cosine - 0.5)
    return {
        "cosine": (cosine - 0.5) * 2,
        "cosine_low": max(0.0, 0.5 - cosine) * 4,
        "cosine_high": max(0.0, cosine - 0.65) * 5,
        "cosine_clash": above * 4 * both.denies_apart,
        "cosine_change": max(0.0, cosine - 0.3) * 3 * both.change,
        "change_unlike": both.change * max(0.0, 0.4 - cosine) * 4,
        "correction_like": corrects * max(0.0, cosine - 0.2) * 2,
        "values_like": both.values * above * 3,
        "cosine_zh": (cosine - 0.5) * 2 * zh,
        "cosine_apart": above * 4 * both.leads_apart,
        "cosine_longer": above * max(0.0, both.growth),
    }
