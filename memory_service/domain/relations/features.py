"""How two statements stand to one another, as named numbers from their readings."""

from __future__ import annotations

from collections.abc import Mapping
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
    if small.language != "zh" or len(small.grams) < 2:
        return not small.terms and not small.grams.isdisjoint(large.grams)
    return len(small.grams & large.grams) >= 2


def conflicting_values(earlier: Reading, later: Reading) -> bool:
    """Whether both name a value of one closed set (a weekday, a side, a date) and not the same."""
    if earlier.values and later.values:
        sets = {number for number, _ in earlier.values} & {number for number, _ in later.values}
        for number in sets:
            mine = {value for kind, value in earlier.values if kind == number}
            if mine.isdisjoint(value for kind, value in later.values if kind == number):
                return True
    return conflicting_numbers(earlier, later)


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


def compare(earlier: Reading, later: Reading, cosine: float | None) -> Mapping[str, float]:
    """The named numbers the judgement weighs, all within about -3 to 3; `cosine` adds its own when given."""
    mine, its = earlier.terms, later.terms
    shared = {term: weight for term, weight in mine.items() if term in its}
    weight_mine, weight_its = sum(mine.values()) or 0.1, sum(its.values()) or 0.1
    common = sum(shared.values())
    clashing = sum(w for term, w in shared.items() if (term in earlier.denied) != (term in later.denied))
    said, saying = earlier.signs, later.signs
    grams = len(earlier.grams & later.grams) * 2 / ((len(earlier.grams) + len(later.grams)) or 1)
    others = other_person(earlier, later) and "correction" not in later.signs
    values = conflicting_values(earlier, later)
    opens_alike = earlier.leads_with == later.leads_with
    leads_apart = not opens_alike and earlier.leads_with not in its and later.leads_with not in mine
    things = "self" not in (earlier.leads_with, later.leads_with)
    clash = clashing / common if common else 0.0
    # What both name tells better than the first clauses whether one denies what the other says.
    denies_apart = clash > 0.5 if common > NEAR_WEIGHT else earlier.denies != later.denies
    change = "change" in saying and "change" not in said
    all_none = ("none" in saying) != ("none" in said)
    in_frame = frame(earlier, later)
    plain_mine = sum(w for term, w in mine.items() if term not in its and term not in earlier.measures)
    plain_its = sum(w for term, w in its.items() if term not in mine and term not in later.measures)
    corrects = "correction" in saying
    same_field = not earlier.fields.isdisjoint(later.fields)
    shared_name = not earlier.names.isdisjoint(later.names)
    zh = 1.0 if later.language == "zh" else 0.0
    found: dict[str, float] = {
        "bias": 1.0,
        "values_only_apart": values * max(0.0, 1 - min(plain_mine, plain_its)),
        "plain_left_of_earlier": min(3.0, plain_mine) / 3,
        "hint": "hint" in saying and "hint" not in said,
        "hint_covers": ("hint" in saying and "hint" not in said) * common / weight_mine,
        "same_words": max(weight_mine - common, weight_its - common) < 0.4,
        "same_words_clash": (max(weight_mine - common, weight_its - common) < 0.4) * max(clash, float(denies_apart)),
        "field_denies_apart": same_field and earlier.denies != later.denies,
        "field_values": same_field and values,
        "shared_name": shared_name,
        "shared_name_values": shared_name and values,
        "shared_name_change": shared_name and "change" in saying,
        "same_person_values": bool(earlier.people & later.people) and values,
        "same_field": same_field,
        "change_field": ("change" in saying) and same_field,
        "denies_left": denies_apart * min(weight_mine - common, weight_its - common, 2.0),
        "left_behind_here": bool(later.left_behind & {value for _, value in earlier.numbers}),
        "left_behind_elsewhere": bool(
            later.left_behind and earlier.numbers and later.left_behind.isdisjoint(v for _, v in earlier.numbers)
        ),
        "label_apart": other_label(earlier, later),
        "change_covers": ("change" in saying) * common / weight_mine,
        "change_loose": change * max(0.0, 0.5 - common / weight_mine),
        "correction_values": corrects and values,
        "correction_covers": corrects * common / weight_mine,
        "moment_before": "moment" in said,
        "changed_apart": ("change" in saying and "change" in said) * min(weight_mine - common, 2.0),
        "apart_alike": float(leads_apart and things) * grams,
        "change_apart": change * in_frame * leads_apart,
        "change_other_person": float(change and others),
        "left_both": min(weight_mine - common, weight_its - common, 2.0),
        "plain_left_both": min(plain_mine, plain_its, 2.0),
        "left_both_frame": min(weight_mine - common, weight_its - common, 2.0) * in_frame,
        "only_left_later": float(weight_mine - common < NEAR_WEIGHT) * min(3.0, weight_its - common),
        "covers_earlier": common / weight_mine,
        "covers_later": common / weight_its,
        "grams": grams,
        "frame": in_frame,
        "frame_apart": in_frame * leads_apart,
        "left_of_earlier": min(3.0, weight_mine - common) / 3,
        "left_of_later": min(6.0, weight_its - common) / 3,
        "longer": max(-1.5, min(1.5, log((len(later.key) + 1) / (len(earlier.key) + 1)))),
        "short_earlier": float(len(mine) <= 2),
        "clash": clash,
        "denies_apart": denies_apart,
        "clash_same_words": clash * common / weight_mine,
        "only_later_denies": later.denies and not earlier.denies,
        "denies_what_was_said": _denies_what_was_said(earlier, later),
        "some_clash": clashing > 0.8,
        "some_clash_opens_alike": clashing > 0.8 and earlier.leads_with == later.leads_with,
        "values": values,
        "values_frame": values * in_frame,
        "new_number": bool(later.numbers and not earlier.numbers),
        "lost_number": bool(earlier.numbers and not later.numbers),
        "same_numbers": bool(earlier.numbers and earlier.numbers & later.numbers),
        "change": change,
        "change_related": change * min(1.0, common),
        "change_both": "change" in saying and "change" in said,
        "changed_before": "change" in said and "change" not in saying,
        "correction": "correction" in saying,
        "scope": bool(later.scopes - earlier.scopes),
        "scope_before": bool(earlier.scopes - later.scopes),
        "more": "more" in saying and "more" not in said,
        "detail": "detail" in saying and "detail" not in said,
        "moment": "moment" in saying,
        "all_none": all_none,
        "other_person": others,
        "same_person": bool(earlier.people & later.people),
        "opens_alike": opens_alike,
        "things_apart": leads_apart and things,
        "leads_apart": leads_apart,
        "new_names": min(2, len(later.names - earlier.names)) / 2,
        "names_apart": bool(earlier.names and later.names and earlier.names.isdisjoint(later.names)),
        "preference_both": "preference" in saying and "preference" in said,
        "zh": zh,
    }
    if cosine is not None:
        found |= {
            "cosine": (cosine - 0.5) * 2,
            "cosine_low": max(0.0, 0.5 - cosine) * 4,
            "cosine_high": max(0.0, cosine - 0.65) * 5,
            "cosine_clash": max(0.0, cosine - 0.5) * 4 * denies_apart,
            "cosine_change": max(0.0, cosine - 0.3) * 3 * change,
            "change_unlike": change * max(0.0, 0.4 - cosine) * 4,
            "correction_like": corrects * max(0.0, cosine - 0.2) * 2,
            "values_like": values * max(0.0, cosine - 0.5) * 3,
            "cosine_zh": (cosine - 0.5) * 2 * zh,
            "cosine_apart": max(0.0, cosine - 0.5) * 4 * leads_apart,
            "cosine_longer": max(0.0, cosine - 0.5) * max(0.0, log((len(later.key) + 1) / (len(earlier.key) + 1))),
        }
    return found
