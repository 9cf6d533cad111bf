"""The judgement: the weighed signs, and what no sum of signs may decide.

A linear model of the named features (multinomial logistic, fitted by `tools/fit_relations.py`) says which relation
the wording speaks for; the rules below it hold whatever the sum: nothing with a conflict is ever a paraphrase, and
nothing unrelated replaces anything. Errors do not cost the same: merging two facts is worst, replacing a fact that
still holds next, keeping two where one would do is mild; hence what a merge and a replacement must reach.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import exp, isfinite
from typing import Final

from memory_service.domain.relations._weights import WITH_COSINE, WITHOUT_COSINE
from memory_service.domain.relations.features import NEAR_WEIGHT, compare, other_person
from memory_service.domain.relations.other_value import another_value, topic_replaced
from memory_service.domain.relations.preference import opposed
from memory_service.domain.relations.quantities import CLOCK
from memory_service.domain.relations.reading import Reading
from memory_service.domain.relations.relation import Judgement, StatementRelation
from memory_service.domain.relations.subjects import CLAIM_WORDS_MAX, one_subject

MERGE_CERTAINTY: Final = 0.65
"""Least certainty of a paraphrase."""
MERGE_CERTAINTY_BY_WORDS: Final = 0.75
"""The same where no cosine confirms the words."""
MERGE_CERTAINTY_OF_MORE: Final = 0.9
"""The same where one says all that the other says, and a word more: most often a detail."""
ADDED_WEIGHT: Final = 0.85
REPLACE_CERTAINTY: Final = 0.5
"""Least certainty of an update or an opposite."""
HINTED_CERTAINTY: Final = 0.6
"""Least certainty of an update that only a hint ("now", 现在) speaks for."""
CORRECTION_CERTAINTY: Final = 0.3
"""Least certainty of an update that calls itself a correction."""
CORRECTED_COSINE: Final = 0.5
"""Cosine (of the model `use`) from which a correction is of this statement."""
CORRECTED_VALUE_COSINE: Final = 0.4
"""The same where both name a value of one kind: "Correction, it's the 15th"."""
CORRECTED_COVER: Final = 0.5
"""Share of the earlier statement's words that a correction repeats, from which it is of this statement."""
SUBJECT_ONLY_COSINE: Final = 0.6
"""Cosine (of the model `use`) up to which two statements of one thing alone are of different sides of it."""
NEARLY_ALIKE: Final = 0.5
UNRELATED_COSINE: Final = 0.2
"""Cosine (of the model `use`) below which two statements have nothing to do with one another."""
OTHER_VALUE: Final = "another_value"
"""The reason of a judgement by `another_value`."""
OTHER_VALUE_CERTAINTY: Final = 0.9
_SAID_MOSTLY: Final = 0.5
"""Share of what a statement says that must be denied for it to be denied as a whole."""
TOPIC_REPLACED: Final = "topic_replaced"
"""The reason of a judgement by `topic_replaced`."""
DENIED_OUTRIGHT: Final = "denied_outright"
"""The reason of a judgement of a statement that says in one clause that an earlier one does not hold, and no more."""
DENIED_CERTAINTY: Final = 0.8
BRIDGE_COSINE: Final = 0.85
"""Cosine (of the model `use`) from which an English and a Chinese statement are one claim."""
CORRECTION_SHIFT: Final = 3.5
"""What the words of a correction ("I meant", 说错了) add to the weight of `update`."""
SLOT_SHIFT: Final = 1.5
"""What a caller's word that both fill one slot takes from the weight of `different`."""

_P, _O, _U = StatementRelation.PARAPHRASE, StatementRelation.OPPOSITE, StatementRelation.UPDATE
_R, _D = StatementRelation.REFINEMENT, StatementRelation.DIFFERENT
_ORDER: Final = (_P, _O, _U, _R, _D)
_REASONS_MAX: Final = 3
_CHANGED: Final = frozenset({"change", "hint", "correction"})


def judge(earlier: Reading, later: Reading, *, cosine: float | None = None, same_slot: bool = False) -> Judgement:
    """Judge how `later` relates to `earlier`, both said by one speaker (E9, E10, E2).

    Args:
        earlier: the statement held.
        later: the statement that arrives.
        cosine: of the two texts by the model `use`; another model's only when brought to that scale. Without it
            the judgement is by the words alone, and worse. One that is no number counts as none.
        same_slot: a caller said both are about one predicate of one subject, so that unrelated they are not.

    Returns:
        Total and deterministic; never raises for any two readings.
    """
    if cosine is not None and not isfinite(cosine):
        cosine = None
    if earlier.key == later.key:
        return Judgement(_P, 1.0, "equal_text") if later.key else Judgement(_D, 1.0, "no_words")
    if earlier.bare == later.bare:
        return Judgement(_P, 1.0, "same_words")
    if "question" in later.signs or "question" in earlier.signs:
        return Judgement(_D, 0.9, "question")
    if "hypothetical" in later.signs and "hypothetical" not in earlier.signs:
        return Judgement(_D, 0.8, "hypothetical")
    if opposed(earlier.bare, later.bare):
        return Judgement(_U if later.signs & _CHANGED else _O, 0.95, "likes_and_dislikes")
    if {earlier.language, later.language} == {"en", "zh"}:
        return _across_languages(earlier, later, cosine)
    found = compare(earlier, later, cosine)
    if not same_slot and _unrelated(found, cosine):
        return Judgement(_D, 0.95, "nothing_in_common")
    passes = _passes(earlier, later)
    ruled = None if passes else _ruled(earlier, later, found, cosine)
    if ruled is not None:
        return ruled
    shares = _shares(found, cosine, same_slot)
    if same_slot and found["more"] and not (found["change"] or found["correction"]):
        return Judgement(_D, 0.7, "one_more_value")
    barred = dict(_barred(earlier, later, found, passes=passes))
    if _P in barred and (found["same_words"] or found["values_only_apart"] > NEARLY_ALIKE):
        # Word for word the same but for what bars a paraphrase: what spoke for it speaks for a conflict.
        left = sum(share for relation, share in shares.items() if relation not in barred)
        shares = {relation: 0.0 if relation in barred else share / left for relation, share in shares.items()}
    for relation in sorted(shares, key=lambda one: (-shares[one], one)):
        if relation in barred or shares[relation] < _least(relation, found, same_slot):
            continue
        if relation is _P and shares[_P] < MERGE_CERTAINTY_OF_MORE and found["only_left_later"] > ADDED_WEIGHT:
            continue
        if relation is _P and not _both_ways(earlier, later, cosine, same_slot):
            continue
        certainty, reason = round(shares[relation], 3), _reason(found, cosine, relation)
        if relation is _O and found["hint"]:
            # Both cannot hold, and the later one says "now": the earlier one held.
            relation, reason = _U, f"conflict_and_hint,{reason}"
        return Judgement(relation, certainty, reason)
    return Judgement(_D, round(max(shares[_D], 0.3), 3), next(iter(barred.values()), "unsure"))


def _ruled(earlier: Reading, later: Reading, found: Mapping[str, float], cosine: float | None) -> Judgement | None:
    """What is read word by word, before any sum; None of longer texts, and when no rule speaks."""
    if max(len(earlier.order), len(later.order)) > CLAIM_WORDS_MAX:
        return None
    other_value = another_value(earlier, later, found, cosine)
    if other_value is not None:
        return Judgement(other_value, OTHER_VALUE_CERTAINTY, OTHER_VALUE)
    if topic_replaced(earlier, later, found, cosine):
        return Judgement(_U, OTHER_VALUE_CERTAINTY, TOPIC_REPLACED)
    if not _denied_outright(earlier, later, found):
        return None
    replaces = found["change"] or found["hint"] or found["correction"] or "verified" in later.signs
    return Judgement(_U if replaces else _O, DENIED_CERTAINTY, DENIED_OUTRIGHT)


def _passes(earlier: Reading, later: Reading) -> bool:
    """Whether the later one tells of a day or a while, and says nothing of a change: it stands beside what holds."""
    fresh = later.signs - earlier.signs
    scheduled = bool(earlier.values) or any(kind == CLOCK for kind, _ in earlier.quantities)
    if "correction" not in later.signs and ("only_now" in fresh or (scheduled and "today" in fresh)):
        return True
    if {"change", "correction"} & later.signs:
        return False
    return bool({"passing", "moment"} & fresh)


def _denied_outright(earlier: Reading, later: Reading, found: Mapping[str, float]) -> bool:
    """Whether a clause denies the very thing the earlier statement says: "she's not a vet", 我没养猫."""
    if not found["denies_what_was_said"] or earlier.denies or earlier.scopes - later.scopes:
        return False
    if (found["other_person"] and not found["correction"]) or found["label_apart"] or found["names_apart"]:
        return False
    return one_subject(earlier, later) and any(_said_of(earlier, later, clause) for clause in later.denied_clauses)


def _said_of(earlier: Reading, later: Reading, clause: frozenset[str]) -> bool:
    """Whether what a clause denies is what the earlier one says, and not only what it says it of."""
    said = {term for term in clause if later.terms[term] > NEAR_WEIGHT}
    if not said or not said <= earlier.terms.keys() or said & earlier.denied:
        return False
    if "list" in earlier.signs and {t for t in earlier.terms if earlier.terms[t] >= 1.0 and t not in later.terms}:
        return False  # of several things one
    own = sum(w for t, w in earlier.terms.items() if t not in earlier.names and t not in earlier.people)
    if sum(earlier.terms[term] for term in said) < _SAID_MOSTLY * own:
        return False
    return earlier.leads[:1] == ("self",) or bool(said - earlier.openings)


def _least(relation: StatementRelation, found: Mapping[str, float], same_slot: bool) -> float:
    if relation is _P:
        return MERGE_CERTAINTY if "cosine" in found else MERGE_CERTAINTY_BY_WORDS
    if relation is _U and _corrects(found):
        return CORRECTION_CERTAINTY
    if relation is _U and not (found["change"] or found["change_both"] or found["correction"]):
        return HINTED_CERTAINTY
    if relation in (_O, _U):
        return REPLACE_CERTAINTY - 0.1 * same_slot
    return 0.0


def _shares(found: Mapping[str, float], cosine: float | None, same_slot: bool) -> dict[StatementRelation, float]:
    """What each relation gets of the whole, by the weighed features."""
    table = WITHOUT_COSINE if cosine is None else WITH_COSINE
    sums = [0.0] * len(_ORDER)
    for name, value in found.items():
        if value and name in table:
            for at, weight in enumerate(table[name]):
                sums[at] += value * weight
    if _corrects(found):
        sums[_ORDER.index(_U)] += CORRECTION_SHIFT
    if same_slot:
        sums[_ORDER.index(_D)] -= SLOT_SHIFT
    top = max(sums)
    parts = [exp(one - top) for one in sums]
    return {relation: part / sum(parts) for relation, part in zip(_ORDER, parts, strict=True)}


def _barred(
    earlier: Reading, later: Reading, found: Mapping[str, float], *, passes: bool = False
) -> Iterable[tuple[StatementRelation, str]]:
    """What the two cannot be, whatever the sum says, each with the rule's name."""
    if found["other_person"] and not found["correction"]:
        yield from ((_P, "other_person"), (_O, "other_person"))
        if found["frame"] > 0 or not found["change"]:
            yield _U, "other_person"
    if "cosine" not in found and found["left_both"] > 0.5:
        yield _P, "other_words_and_no_cosine"
    if found["frame"] > 0.3 and found["plain_left_both"] > 0.85:
        yield _P, "another_word_in_one_frame"
    if found["label_apart"] or (found["things_apart"] and found["frame"] >= 0.4):
        yield from ((relation, "another_thing") for relation in (_P, _O, _U))
    if found["names_apart"] and found["values"] and not found["change"]:
        yield _O, "another_name"
    if passes:
        yield from ((_O, "for_a_while"), (_U, "for_a_while"))
    if found["left_behind_elsewhere"] or (found["moment_before"] and "change" not in earlier.signs):
        yield from ((relation, "not_of_this") for relation in (_O, _U))
    for name in ("denies_apart", "clash", "values", "names_apart", "change", "correction", "scope"):
        if found[name] > 0.3:
            yield _P, name
            break
    if bool(earlier.scopes) != bool(later.scopes) and not found["values"] and found["scope"]:
        yield _O, "scope"
    if not (
        found["denies_apart"]
        or found["values"]
        or found["some_clash"]
        or found["denies_what_was_said"]
        or found["all_none"]
        or found["same_field"]
    ):
        yield _O, "no_conflict"
    alike = found["values"] or found["same_field"] or found["correction"]
    if found["only_subject"] and not alike and found.get("cosine", 0.0) / 2 + 0.5 < SUBJECT_ONLY_COSINE:
        yield _U, "only_the_subject_in_common"
    if found["correction"] and not found["change"] and not _corrects(found):
        yield _U, "corrects_something_else"
    signs = ("change", "correction", "change_both", "hint", "denies_apart", "values")
    if not any(found[name] for name in signs):
        yield _U, "no_sign_of_change"


def _corrects(found: Mapping[str, float]) -> bool:
    """Whether the words of a correction are of this statement: much in common, or another value of one kind."""
    if not found["correction"]:
        return False
    cosine = found["cosine"] / 2 + 0.5 if "cosine" in found else None
    if cosine is None:
        return found["covers_earlier"] >= CORRECTED_COVER or found["values"] > 0
    if found["values"]:
        return cosine >= CORRECTED_VALUE_COSINE
    return cosine >= CORRECTED_COSINE or found["covers_earlier"] >= CORRECTED_COVER


def _unrelated(found: Mapping[str, float], cosine: float | None) -> bool:
    words = found["covers_earlier"] > 0 and found["covers_later"] > 0
    if cosine is None:
        return not words and not found["grams"] > NEAR_WEIGHT
    return cosine < UNRELATED_COSINE and not found["change_field"] and found["covers_earlier"] < NEAR_WEIGHT


def _both_ways(earlier: Reading, later: Reading, cosine: float | None, same_slot: bool) -> bool:
    """Whether the two are the same claim read the other way round, too: a paraphrase knows no order."""
    found = compare(later, earlier, cosine)
    if any(relation is _P for relation, _ in _barred(later, earlier, found)):
        return False
    least = MERGE_CERTAINTY_OF_MORE if found["only_left_later"] > ADDED_WEIGHT else _least(_P, found, same_slot)
    return _shares(found, cosine, same_slot)[_P] >= least


def _across_languages(earlier: Reading, later: Reading, cosine: float | None) -> Judgement:
    if cosine is None or cosine < BRIDGE_COSINE:
        return Judgement(_D, 0.6, "other_language")
    values = {value for _, value in earlier.numbers} == {value for _, value in later.numbers}
    if earlier.denies != later.denies or not values or other_person(earlier, later) or "change" in later.signs:
        return Judgement(_D, 0.5, "other_language")
    return Judgement(_P, round(cosine, 3), "cosine_across_languages")


def _reason(found: Mapping[str, float], cosine: float | None, relation: StatementRelation) -> str:
    """The features that spoke loudest for the relation against the mean of all, loudest first."""
    table = WITHOUT_COSINE if cosine is None else WITH_COSINE
    at = _ORDER.index(relation)
    spoke = {
        name: value * (table[name][at] - sum(table[name]) / len(_ORDER))
        for name, value in found.items()
        if value and name != "bias" and name in table
    }
    loudest = sorted(spoke, key=lambda name: (-spoke[name], name))[:_REASONS_MAX]
    return ",".join(name for name in loudest if spoke[name] > 0) or "on_balance"
