"""Vocabularies, parameter sets, experiments and re-use intervals as pure rules."""

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime, timedelta
from math import inf, nan

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from memory_service.domain import limits
from memory_service.domain.decay import NEVER
from memory_service.domain.errors import InvalidInput, MemoryServiceError, Reason
from memory_service.domain.memory import Cardinality, Kind, MergePolicy, Source
from memory_service.domain.parameters import Parameters
from memory_service.domain.policy import (
    Experiment,
    OwnerPolicy,
    Variant,
    experiment_of,
    experiment_text,
    values_of,
    values_text,
    vocabulary_of,
    vocabulary_text,
)
from memory_service.domain.ranking import PROFILES
from memory_service.domain.reuse import BUCKETS, Interval, bucket_of, bucket_seconds, histograms
from memory_service.domain.tuning import (
    FIXED_FIELDS,
    SPECS,
    checked_values,
    parameters_with,
)
from memory_service.domain.vocabulary import (
    GENERAL,
    Predicate,
    Sensitivity,
    UnknownPredicates,
    Vocabulary,
    checked,
    normalise_name,
)

names = st.sampled_from(["size", "Size", "鞋码", "hat size", "hat-size", "pet", "宠物", "family", "x", "ä", "Ä"])
predicates = st.builds(
    Predicate,
    name=names,
    kind=st.sampled_from(Kind),
    cardinality=st.sampled_from(Cardinality),
    merge=st.sampled_from(MergePolicy),
    tau=st.none() | st.timedeltas(timedelta(microseconds=1), timedelta(days=limits.TAU_DAYS_MAX)),
    aliases=st.lists(names, max_size=4).map(tuple),
    sensitivity=st.sampled_from(Sensitivity),
)
changes = st.one_of(
    st.tuples(st.just("put"), predicates),
    st.tuples(st.just("remove"), names, names | st.just("")),
    st.tuples(st.just("unknown"), st.sampled_from(UnknownPredicates)),
    st.tuples(st.just("roll back"), st.integers(0, 5)),
)


def apply(words: Vocabulary, change: tuple, versions: list[Vocabulary]) -> Vocabulary:
    """What a change makes of a vocabulary; itself when it is refused."""
    try:
        if change[0] == "put":
            return words.having(checked(change[1], "predicate"))
        if change[0] == "remove":
            return words.without(change[1], change[2])
        if change[0] == "unknown":
            return words.with_unknown(change[1])
    except InvalidInput:
        return words
    return versions[change[1] % len(versions)]


@settings(max_examples=60)
@given(st.lists(changes, max_size=12))
def test_whatever_is_changed_names_stay_unambiguous_and_versions_come_back_equal(history: list[tuple]):
    versions = [Vocabulary.of()]
    for change in history:
        before = versions[-1]
        after = apply(before, change, versions)
        versions.append(after)
        owners: dict[str, str] = {}
        for word in after.predicates.values():
            assert word.name == normalise_name(word.name)
            for name in (word.name, *word.aliases):
                assert owners.setdefault(normalise_name(name), word.name) == word.name
                assert after.find(name) is word
        assert vocabulary_of(vocabulary_text(after)) == after
        if after.unknown is UnknownPredicates.MAP:
            assert after.resolve("never heard of", "f").kind is after.resolve(GENERAL, "f").kind
        if change[0] == "remove" and change[2] and after is not before:
            gone = before.find(change[1])
            assert gone is not None
            for name in (gone.name, *gone.aliases):
                heir = after.find(name)
                assert heir is not None
                assert heir.name != gone.name


def test_a_vocabulary_has_at_most_so_many_words_and_aliases():
    word = Predicate("w", Kind.FACT, Cardinality.MANY, MergePolicy.UNION)
    full = Vocabulary.of(dataclasses.replace(word, name=f"w{n}") for n in range(limits.PREDICATES_MAX))
    assert full.having(dataclasses.replace(word, name="w1", kind=Kind.TASK)) != full
    with pytest.raises(InvalidInput) as caught:
        full.having(word)
    assert (caught.value.reason, caught.value.metadata) == (Reason.FIELD_TOO_LONG, {"limit": "500"})
    many = dataclasses.replace(word, aliases=tuple(f"a{n}" for n in range(limits.PREDICATE_ALIASES_MAX)))
    heir = Vocabulary.of([checked(many, "p"), dataclasses.replace(word, name="other")])
    with pytest.raises(InvalidInput):
        heir.without("other", "w")
    long = [
        dataclasses.replace(word, name=f"w{n}", aliases=tuple(f"{n}-{a}" + "字" * 50 for a in range(40)))
        for n in range(80)
    ]
    with pytest.raises(InvalidInput) as caught:
        vocabulary_text(Vocabulary.of(long))
    assert caught.value.reason is Reason.FIELD_TOO_LONG


@pytest.mark.parametrize("tau", [timedelta(0), timedelta(days=-1), timedelta(days=limits.TAU_DAYS_MAX, seconds=1)])
def test_a_tau_that_is_not_positive_or_endless_is_refused(tau: timedelta):
    with pytest.raises(InvalidInput) as caught:
        checked(Predicate("p", Kind.FACT, Cardinality.ONE, MergePolicy.CONFIRM, tau=tau), "predicate")
    assert (caught.value.reason, caught.value.field) == (Reason.FIELD_OUT_OF_RANGE, "predicate.tau")


def test_the_word_that_unknown_ones_need_stays_while_they_are_mapped():
    mapped = Vocabulary.of(unknown=UnknownPredicates.MAP)
    with pytest.raises(InvalidInput):
        mapped.without(GENERAL)
    with pytest.raises(InvalidInput) as caught:
        mapped.without(GENERAL, "constraint")  # unknown ones would take another word's rules
    assert caught.value.reason is Reason.FIELD_INVALID
    with pytest.raises(InvalidInput):
        Vocabulary.of().without(GENERAL).with_unknown(UnknownPredicates.MAP)


# Parameters -------------------------------------------------------------------------------------------------


def test_every_number_of_the_rules_is_in_the_registry_once():
    fields = set(Parameters.__dataclass_fields__)
    assert fields - set(SPECS) == FIXED_FIELDS, "give a new field an entry in domain/tuning.py"
    assert {f"confidence.{source}" for source in Source} <= set(SPECS)
    assert {f"tau_seconds.{kind}" for kind in Kind} <= set(SPECS)
    for spec in SPECS.values():
        assert spec.minimum <= spec.default <= spec.maximum, spec.name
        assert spec.purpose.endswith(".")
        assert spec.requirement


def values_within() -> st.SearchStrategy[dict[str, float]]:
    """Any values that a set may have."""

    def one(name: str) -> st.SearchStrategy[float]:
        spec = SPECS[name]
        if spec.whole:
            return st.integers(int(spec.minimum), int(spec.maximum)).map(float)
        return st.floats(spec.minimum, spec.maximum)

    return st.sets(st.sampled_from(sorted(SPECS))).flatmap(
        lambda chosen: st.fixed_dictionaries({name: one(name) for name in sorted(chosen)})
    )


@given(values_within())
def test_any_values_within_the_bounds_make_a_policy_and_come_back_equal(values: dict[str, float]):
    weights = ("ranking.semantic_weight", "ranking.freshness_weight", "ranking.importance_weight")
    assume(any(values.get(name, SPECS[name].default) for name in weights))
    kept = checked_values(values)
    assert checked_values(kept) == kept
    assert values_of(values_text(kept)) == kept
    policy = OwnerPolicy.of(Vocabulary.of(), Parameters(), kept)
    assert set(policy.profiles) == set(PROFILES)
    for name, spec in SPECS.items():
        wanted = values.get(name, spec.default)
        if name in Parameters.__dataclass_fields__:
            assert getattr(policy.parameters, name) == wanted
        elif name.startswith("tau_seconds."):
            assert policy.decay.tau_seconds(Kind(name.removeprefix("tau_seconds."))) == pytest.approx(wanted)
        elif name.startswith("confidence."):
            assert policy.parameters.confidence_by_source[Source(name.removeprefix("confidence."))] == wanted
        elif name.removeprefix("ranking.") in PROFILES["default"].__dataclass_fields__:
            assert getattr(policy.profiles["default"], name.removeprefix("ranking.")) == wanted
    assert policy.decay.tau_seconds(Kind.CONSTRAINT, "allergy") == NEVER


def test_no_values_are_the_shipped_ones():
    policy = OwnerPolicy.of(Vocabulary.of(), Parameters(), {})
    assert parameters_with(Parameters(), {}) == policy.parameters
    for name, profile in PROFILES.items():
        assert dataclasses.replace(policy.profiles[name], decay=profile.decay) == profile
    assert policy.decay.by_kind == PROFILES["default"].decay.by_kind


@given(st.sampled_from(sorted(SPECS)), st.sampled_from([nan, inf, -inf, -1.0, 1e30]))
def test_numbers_outside_their_bounds_are_refused(name: str, value: float):
    with pytest.raises(MemoryServiceError) as caught:
        checked_values({name: value})
    assert caught.value.reason is Reason.FIELD_OUT_OF_RANGE


# Experiments ------------------------------------------------------------------------------------------------


@given(st.text(min_size=1), st.text(), st.floats(0.01, 1))
def test_a_user_is_on_one_side_that_no_replica_disputes(name: str, user: str, share: float):
    made = Experiment(name, "default", "other", share, datetime(2026, 3, 1, tzinfo=UTC))
    side = made.variant_of(user)
    assert experiment_of(experiment_text(made)) == made
    assert experiment_of(experiment_text(made)).variant_of(user) is side
    assert side is Variant.TREATMENT or share < 1
    wider = dataclasses.replace(made, share=1.0)
    assert wider.variant_of(user) is Variant.TREATMENT


def test_the_share_is_kept_and_experiments_are_independent():
    users = [f"user-{n}" for n in range(4000)]
    at = datetime(2026, 3, 1, tzinfo=UTC)
    sides = {}
    for name in ("a", "b"):
        experiment = Experiment(name, "default", "other", 0.3, at)
        sides[name] = {user for user in users if experiment.variant_of(user) is Variant.TREATMENT}
        assert abs(len(sides[name]) / len(users) - 0.3) < 0.03
    assert abs(len(sides["a"] & sides["b"]) / len(users) - 0.09) < 0.03


# Re-use -----------------------------------------------------------------------------------------------------


@given(st.floats(0, 1e12))
def test_an_interval_lies_in_its_bucket(seconds: float):
    bucket = bucket_of(seconds)
    if bucket is None:
        assert seconds < bucket_seconds(0)
        return
    assert 0 <= bucket < BUCKETS
    assert seconds >= bucket_seconds(bucket) * (1 - 1e-12)
    assert bucket == BUCKETS - 1 or seconds < bucket_seconds(bucket + 1) * (1 + 1e-12)


@given(st.floats(3600, 3e7), st.integers(1, 500), st.integers(0, 40))
def test_the_rhythm_that_dominates_is_found_among_others(seconds: float, count: int, noise: int):
    bucket = bucket_of(seconds)
    assert bucket is not None
    seen = [Interval(Kind.FACT, "", bucket, count * 50 + noise)]
    seen += [Interval(Kind.FACT, "", other, 1) for other in range(0, BUCKETS, 7) if noise]
    (histogram,) = histograms(seen)
    dominant, suggested = histogram.dominant_seconds, histogram.suggested_tau_seconds
    assert dominant is not None
    assert suggested == pytest.approx(1.4 * dominant)
    assert 0.7 < dominant / seconds < 1.45


def test_kinds_hold_their_predicates_together():
    found = histograms(
        [Interval(Kind.FACT, "pet", 3, 2), Interval(Kind.FACT, "", 3, 1), Interval(Kind.TASK, "status", 9, 5)]
    )
    shown = [(h.kind, h.predicate, h.total) for h in found]
    assert shown == [
        (Kind.FACT, "", 3),
        (Kind.FACT, "pet", 2),
        (Kind.TASK, "", 5),
        (Kind.TASK, "status", 5),
    ]
    assert histograms([]) == []
