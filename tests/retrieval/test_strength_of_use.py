"""E1 and C10 as one model: what use and rejection do to strength, and the archive's rules over it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from math import exp, log1p
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from memory_service.config import Settings
from memory_service.domain.arbitration import Side, readjudicate
from memory_service.domain.decay import DEFAULT_DECAY, NEVER, DecayPolicy, last_touch
from memory_service.domain.memory import Assertion, Kind, MemoryHead, Status, Tier, Usage
from memory_service.domain.parameters import Parameters
from memory_service.domain.ranking import strength_of
from memory_service.domain.retention import SHORT_KINDS, Retention
from memory_service.domain.retrieval.snapshot import OwnerSnapshot
from memory_service.domain.vocabulary import Vocabulary
from tests.retrieval.builders import DIMENSION, MODEL, NOW, head, heads, memory_id, row, rows

_DAY = timedelta(days=1)
_POLICY = DecayPolicy.of(Vocabulary.of())
_usages = st.builds(
    Usage,
    st.integers(0, 400),
    st.integers(0, 40),
    st.none() | st.integers(-400, 400).map(lambda n: NOW + n * _DAY),
    st.none() | st.integers(-400, 400).map(lambda n: NOW + n * _DAY),
    st.integers(0, 40),
)
_predicates = st.sampled_from(["allergy", "incident", "role", "deadline", "unheard_of", ""])


def _used(usage: Usage, kind: Kind, predicate: str = "", *, pinned: bool = False) -> MemoryHead:
    assertion = Assertion("user", predicate, "x") if predicate else None
    return head(kind=kind, assertion=assertion, pinned=pinned, usage=usage)


@given(st.lists(st.builds(_used, _usages, st.sampled_from(Kind), _predicates, pinned=st.booleans()), min_size=1))
@settings(max_examples=60, deadline=None)
def test_one_memory_and_many_at_once_have_one_formula(made: list[MemoryHead]) -> None:
    world = [replace(h, current=replace(h.current, id=memory_id(n))) for n, h in enumerate(made)]
    snapshot = OwnerSnapshot.build(rows(*map(row, world)), MODEL, DIMENSION)
    for now in (NOW - 500 * _DAY, NOW, NOW + 77 * _DAY, NOW + 5_000 * _DAY):
        together = strength_of(snapshot, np.arange(len(world)), now, _POLICY)
        assert together == pytest.approx([_POLICY.strength(one, now) for one in world], abs=1e-12)


@given(_usages, st.sampled_from(Kind), st.integers(0, 2_000))
@settings(max_examples=200, deadline=None)
def test_an_access_raises_an_adoption_more_and_a_rejection_lowers(usage: Usage, kind: Kind, days: int) -> None:
    """Judged at a later time, after a recall at `now` that was not judged, adopted, or rejected."""
    now = max(last_touch(_used(usage, kind)), NOW)
    later = now + days * _DAY
    accessed = replace(usage, access_count=usage.access_count + 1, last_access_at=now)

    def strength(of: Usage) -> float:
        return _POLICY.strength(_used(of, kind), later)

    before = strength(usage)
    assert before <= strength(accessed) <= strength(accessed.adopted(now)) <= 1.0
    assert 0.0 <= strength(accessed.rejected()) <= before


def test_use_slows_fading_as_spaced_repetition_does() -> None:
    later = NOW + 90 * _DAY
    plain = _POLICY.strength(_used(Usage(1, 0, NOW), Kind.PREFERENCE), later)
    assert plain == pytest.approx(exp(-1 / (1 + 0.1 * log1p(1))))
    adopted = _POLICY.strength(_used(Usage(1, 3, NOW), Kind.PREFERENCE), later)
    assert adopted == pytest.approx(exp(-1 / (1 + 0.1 * log1p(1) + 0.5 * log1p(3))))
    most = _POLICY.strength(_used(Usage(10**9, 10**9, NOW), Kind.PREFERENCE), later)
    assert most == pytest.approx(exp(-1 / 4))
    twice = _POLICY.strength(_used(Usage(1, 0, None, NOW, 2), Kind.PREFERENCE), NOW)
    assert twice == pytest.approx(0.7**2)


@given(_usages, st.sampled_from(Kind))
@settings(max_examples=100, deadline=None)
def test_nothing_moves_what_is_pinned_or_never_fades(usage: Usage, kind: Kind) -> None:
    for unfading in (_used(usage, kind, pinned=True), _used(usage, kind, "allergy")):
        for now in (NOW, NOW + 9_999 * _DAY):
            assert _POLICY.strength(unfading, now) == 1.0
            assert _POLICY.activity(unfading, now) == 100.0
            assert Retention(_POLICY).overdue(unfading, now) is None


@given(_usages, st.sampled_from(Kind), st.integers(-500, 500))
def test_activity_is_the_same_model_with_one_half_life(usage: Usage, kind: Kind, days: int) -> None:
    """C10 and E1 agree on everything but the clock's rate: activity = 100 s (strength / s) ** (tau / tau of C10)."""
    one, now = _used(usage, kind), NOW + days * _DAY
    initial = _POLICY.initial(usage)
    rate = _POLICY.tau_of(one) / (30 * 86_400 / 0.6931471805599453)
    expected = 100 * initial * (_POLICY.strength(one, now) / initial) ** rate
    assert _POLICY.activity(one, now) == pytest.approx(expected, rel=1e-6, abs=1e-9)


def test_a_card_is_idle_after_three_periods_below_twenty() -> None:
    """100 halves to 20 in 69.66 days, and 90 more make three half-lives."""
    card = _used(Usage(), Kind.PREFERENCE)
    assert not _POLICY.inactive(card, NOW + timedelta(days=159.6))
    assert _POLICY.inactive(card, NOW + timedelta(days=159.7))
    adopted = _used(Usage(1, 1, NOW), Kind.PREFERENCE)
    assert not _POLICY.inactive(adopted, NOW + timedelta(days=159.7))
    rejected = _used(Usage(0, 0, None, None, 3), Kind.PREFERENCE)
    assert _POLICY.inactive(rejected, NOW + timedelta(days=144.3))


@pytest.mark.parametrize(
    ("made", "days", "reason"),
    [
        (head(kind=Kind.CONTEXT), 5.9, None),
        (head(kind=Kind.CONTEXT), 6.0, "strength"),
        (head(kind=Kind.FACT), 179.9, None),
        (head(kind=Kind.FACT), 180.1, "unused"),
        (head(kind=Kind.FACT, confidence=0.59), 89.9, None),
        (head(kind=Kind.FACT, confidence=0.59), 90.1, "little confidence"),
        (head(kind=Kind.FACT, confidence=0.59, usage=Usage(1)), 90.1, None),
        (head(kind=Kind.PROFILE), 160, "activity"),
        (head(kind=Kind.FACT, expires_at=NOW + _DAY), 0.9, None),
        (head(kind=Kind.FACT, expires_at=NOW + _DAY), 1.0, "its time is over"),
        (head(kind=Kind.FACT, status=Status.SUPERSEDED), 999, None),
        (head(kind=Kind.FACT, tier=Tier.ARCHIVE), 999, None),
        (head(kind=Kind.FACT, usage=Usage(rejected_count=9)), 0.0, "strength"),
        (head(kind=Kind.FACT), -50.0, None),
    ],
)
def test_what_is_overdue_and_why(made: MemoryHead, days: float, reason: str | None) -> None:
    found = Retention(_POLICY).overdue(made, NOW + timedelta(days=days))
    if reason is None:
        assert found is None
    else:
        assert found is not None
        assert found.reason.startswith(reason)
        assert {"strength", "tau_days", "unused_days", "accesses"} < set(found.details)


_parameters = st.builds(
    Parameters,
    archive_unused_days=st.floats(1, 400),
    weak_days=st.floats(1, 400),
    observed_days=st.floats(1, 400),
    weak_confidence=st.floats(0, 1),
    activity_half_life_days=st.floats(0.1, 100),
    activity_min=st.floats(0.1, 100),
    activity_periods=st.integers(0, 5),
    archive_strength_min=st.floats(0.001, 0.999),
    rejected_factor=st.floats(0.1, 1),
)


@given(_parameters, heads(), _usages, st.sampled_from([0.0, 3, 30, 91, 160, 181, 700, 30_000]))
@settings(max_examples=120, deadline=None)
def test_the_filter_of_the_store_misses_nothing_that_is_overdue(
    parameters: Parameters, made: MemoryHead, usage: Usage, days: float
) -> None:
    made, now = replace(made, usage=usage), NOW + timedelta(days=days)
    retention = Retention(DecayPolicy.of(Vocabulary.of(), parameters))
    kinds = SHORT_KINDS if made.current.kind in SHORT_KINDS else frozenset(Kind) - SHORT_KINDS
    if retention.overdue(made, now) is not None:
        assert retention.idle(kinds, now).holds(made)


@pytest.mark.parametrize("tau", [0.0, -1.0])
def test_a_tau_of_nothing_is_refused(tau: float) -> None:
    with pytest.raises(ValueError, match="positive"):
        DecayPolicy.of(Vocabulary.of(), Parameters(tau_hours={Kind.TASK: tau}))
    with pytest.raises(ValueError, match="positive"):
        DecayPolicy(by_predicate={"role": tau})


@pytest.mark.parametrize(
    "given", [{"tau_hours": {"task": 0}}, {"tau_hours": {"mood": 5}}, {"rejected_factor": 0}, {"activity_min": 0}]
)
def test_a_setting_that_would_divide_by_nothing_is_refused_at_start(given: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Settings(**given)


def test_every_parameter_is_a_setting_with_the_same_default() -> None:
    assert Settings().parameters == Parameters()
    changed = Settings(cards_max=7, tau_hours={Kind.TASK: 1}, promotion_sessions=2).parameters
    assert (changed.cards_max, changed.tau_hours, changed.promotion_sessions) == (7, {Kind.TASK: 1}, 2)


def test_tau_of_a_kind_is_a_parameter() -> None:
    policy = DecayPolicy.of(Vocabulary.of(), Parameters(tau_hours={Kind.TASK: 1.0}))
    assert policy.strength(head(kind=Kind.TASK), NOW + timedelta(hours=1)) == pytest.approx(exp(-1))
    assert policy.tau_seconds(Kind.FACT) == DEFAULT_DECAY.tau_seconds(Kind.FACT)
    assert policy.tau_seconds(Kind.TASK, "allergy") == NEVER


_sides = st.builds(
    Side,
    confidence=st.floats(0.01, 1),
    support=st.integers(1, 9),
    strength=st.floats(0.01, 1),
    access_count=st.integers(0, 9),
    said_at=st.integers(0, 50).map(lambda n: NOW + n * _DAY),
    observed=st.booleans(),
)


@given(st.lists(_sides, min_size=2, max_size=4))
@settings(max_examples=200, deadline=None)
def test_a_dispute_has_at_most_one_winner_in_any_order_and_never_over_what_is_protected(sides: list[Side]) -> None:
    verdict = readjudicate(sides, Parameters())
    backwards = readjudicate(sides[::-1], Parameters())
    assert (verdict is None) == (backwards is None)
    if verdict is None:
        return
    winner = sides[verdict[0]]
    losers = [side for place, side in enumerate(sides) if place != verdict[0]]
    assert all(side.access_count <= 5 for side in losers)
    assert not winner.observed or all(side.observed for side in losers)
    assert winner.weight > 1.2 * max(side.weight * min(1, side.access_count / 3) for side in losers) - 1e-9
