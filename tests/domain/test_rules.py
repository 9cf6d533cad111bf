"""Arbitration, siblings, slots, claims and the vocabulary."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_service.domain.arbitration import Verdict, arbitrate, stubbornness
from memory_service.domain.errors import InvalidInput, Reason
from memory_service.domain.evidence import RETIRED, Attestation, Evidence, Knowledge, Retirement
from memory_service.domain.ids import DeviceId, OwnerKey, TenantId, UserId
from memory_service.domain.memory import MergePolicy, Source, Status, Visibility
from memory_service.domain.parameters import Parameters
from memory_service.domain.siblings import Value, settle
from memory_service.domain.slots import (
    audience,
    claim_of_assertion,
    claim_of_text,
    payload_digest,
    slot_of_assertion,
    tombstone_digest,
)
from memory_service.domain.vector_clock import VectorClock
from memory_service.domain.vocabulary import DEFAULT_PREDICATES, UnknownPredicates, Vocabulary

fractions = st.floats(0, 1)
sources = st.sampled_from([Source.EXPLICIT, Source.DERIVED, Source.INFERRED])


@given(sources, fractions, fractions, st.integers(0, 20))
def test_arbitration_is_the_written_rule(source: Source, new: float, old: float, accesses: int) -> None:
    ruling = arbitrate(
        source=source, confidence=new, old_confidence=old, old_access_count=accesses, parameters=Parameters()
    )
    replaces = accesses <= 5 and new > 1.2 * (old * min(1, accesses / 3))
    assert ruling.verdict is (Verdict.REPLACE if replaces else Verdict.CONTEST)


@given(fractions, fractions, st.integers(0, 10_000))
def test_explicit_correction_always_replaces(new: float, old: float, accesses: int) -> None:
    ruling = arbitrate(
        source=Source.EXPLICIT_CORRECTION,
        confidence=new,
        old_confidence=old,
        old_access_count=accesses,
        parameters=Parameters(),
    )
    assert ruling.verdict is Verdict.REPLACE


@given(fractions, st.integers(0, 100))
def test_stubbornness_grows_with_use_up_to_the_confidence(confidence: float, accesses: int) -> None:
    now, later = (stubbornness(confidence, n, Parameters()) for n in (accesses, accesses + 1))
    assert 0 <= now <= later <= confidence


attestations = st.builds(
    Attestation, st.sampled_from([DeviceId(d) for d in "abc"]), st.integers(1, 9), st.sampled_from([0.2, 0.5, 0.9])
)
evidences = st.lists(attestations, min_size=1, max_size=3, unique_by=lambda a: a.dot).map(Evidence.of)
values = st.lists(
    st.tuples(st.sampled_from("pqrs"), evidences, st.booleans(), st.lists(st.sampled_from("xyz"), unique=True)),
    min_size=1,
    max_size=4,
    unique_by=(lambda v: v[0], lambda v: v[1].rank),
).map(lambda vs: [Value(key, evidence, disputed, value) for key, evidence, disputed, value in vs])


@given(values, st.sampled_from(MergePolicy))
def test_siblings_fare_the_same_in_every_order(siblings: list[Value], policy: MergePolicy) -> None:
    expected = settle(policy, siblings)
    for order in itertools.permutations(siblings):
        found = settle(policy, order)
        assert (dict(found.status), found.merged) == (dict(expected.status), expected.merged)


@given(values)
def test_policies_show_what_they_promise(siblings: list[Value]) -> None:
    undisputed = [Value(v.key, v.evidence, value=v.value) for v in siblings]
    highest = settle(MergePolicy.HIGHEST_CONFIDENCE, undisputed)
    (speaker,) = [key for key, status in highest.status.items() if status is Status.ACTIVE]
    assert speaker == max(undisputed, key=lambda v: v.evidence.rank).key
    confirm = settle(MergePolicy.CONFIRM, undisputed)
    shown = Status.ACTIVE if len(undisputed) == 1 else Status.CONTESTED
    assert set(confirm.status.values()) == {shown}
    if len(undisputed) > 1:
        lists = [set(v.value) for v in undisputed if isinstance(v.value, list)]
        union = settle(MergePolicy.UNION, undisputed).merged or []
        both = settle(MergePolicy.INTERSECTION, undisputed).merged or []
        assert union == sorted(set.union(*lists))
        assert both == sorted(set.intersection(*lists))
        for policy in MergePolicy:
            # Something always speaks: a value, or what they make together.
            settlement = settle(policy, undisputed)
            assert settlement.merged or set(settlement.status.values()) != {Status.YIELDED}


@given(values, st.sampled_from(MergePolicy))
def test_what_arbitration_disputed_is_contested_whatever_the_policy(
    siblings: list[Value], policy: MergePolicy
) -> None:
    if len(siblings) > 1 and any(v.disputed for v in siblings):
        assert set(settle(policy, siblings).status.values()) == {Status.CONTESTED}


clocks = st.dictionaries(st.sampled_from([DeviceId(d) for d in "abc"]), st.integers(0, 9)).map(VectorClock)


@given(evidences, clocks, clocks)
def test_what_two_writers_leave_of_evidence_is_what_neither_had_seen(
    evidence: Evidence, one: VectorClock, other: VectorClock
) -> None:
    first, second = Knowledge(one), Knowledge(other)
    left = evidence.unseen_by(first).unseen_by(second)
    assert left == evidence.unseen_by(second).unseen_by(first)
    assert set(left) == {a for a in evidence if not one.saw(a.dot) and not other.saw(a.dot)}
    assert evidence.wholly_seen_by(first) == (not evidence.unseen_by(first))


@given(evidences, st.integers(1, 5), st.integers(0, 6))
def test_a_fold_counts_as_having_seen_all_of_a_retired_device(evidence: Evidence, fold: int, held: int) -> None:
    retired = {DeviceId(d): Retirement(9, fold) for d in "abc"}
    knowledge = Knowledge(VectorClock({RETIRED: held}), retired)
    assert evidence.wholly_seen_by(knowledge) == (held >= fold)
    compact = evidence.compacted(retired)
    assert compact.support == evidence.support
    assert compact.confidence == evidence.confidence


@pytest.mark.parametrize("subject", ["user", "User", " USER ", "me", "用户", "ｕｓｅｒ"])
def test_every_way_of_naming_the_user_is_one_slot(subject: str) -> None:
    assert slot_of_assertion(subject, "role") == slot_of_assertion("user", "role")


def test_keys_of_fields_that_share_letters_differ() -> None:
    def owner(tenant: str, user: str) -> OwnerKey:
        return OwnerKey(TenantId(tenant), UserId(user))

    assert owner("ab", "c").id != owner("a", "bc").id
    assert slot_of_assertion("a", "bc") != slot_of_assertion("ab", "c")


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        ("Peanuts", "peanuts", True),
        (1, 1.0, True),
        (True, 1, False),
        ("1", 1, False),
        ({"city": "Rome", "zip": "00100"}, {"zip": "00100", "city": "rome"}, True),
        (["a", "b"], ["b", "a"], False),
        ("port 5432", "port 5433", False),
        ("不吃辣", "吃辣", False),
    ],
)
def test_claims_compare_values(a: object, b: object, same: bool) -> None:
    slot = slot_of_assertion("user", "preference")
    assert (claim_of_assertion(slot, a) == claim_of_assertion(slot, b)) is same  # type: ignore[arg-type]


def test_private_statements_never_share_keys_with_others() -> None:
    keys = {
        claim_of_text("same words", audience(Visibility.SHARED, "x")),
        claim_of_text("same words", audience(Visibility.PRIVATE, "x")),
        claim_of_text("same words", audience(Visibility.PRIVATE, "y")),
    }
    assert len(keys) == 3


@given(st.binary(min_size=32, max_size=32), st.binary(min_size=32, max_size=32), st.text())
def test_digests_depend_on_the_salt(one: bytes, other: bytes, key: str) -> None:
    assert (tombstone_digest(one, "claim", key) == tombstone_digest(other, "claim", key)) == (one == other)
    assert payload_digest(one, "write", [key]) != payload_digest(one, "correct", [key])


def test_vocabulary_finds_names_and_aliases_and_refuses_or_maps_others() -> None:
    vocabulary = Vocabulary.of()
    for predicate in DEFAULT_PREDICATES:
        for name in (predicate.name, predicate.name.upper().replace("_", " "), *predicate.aliases):
            assert vocabulary.resolve(name, "f") is predicate
    with pytest.raises(InvalidInput) as raised:
        vocabulary.resolve("blood_type", "f")
    assert raised.value.reason is Reason.UNKNOWN_PREDICATE
    mapped = Vocabulary.of(unknown=UnknownPredicates.MAP).resolve("Blood-Type", "f")
    assert (mapped.name, mapped.cardinality) == ("blood_type", vocabulary.resolve("attribute", "f").cardinality)
    with pytest.raises(InvalidInput):
        Vocabulary.of(unknown=UnknownPredicates.MAP).resolve("--", "f")


def test_a_name_may_mean_one_predicate_only() -> None:
    first = DEFAULT_PREDICATES[0]
    with pytest.raises(ValueError, match="names both"):
        Vocabulary.of((first, replace(first, name="other", aliases=(first.name,))))
