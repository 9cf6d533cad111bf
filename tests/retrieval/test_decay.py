"""E1: strength fades exponentially, by kind and predicate, and never below zero or above its start."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_service.domain.decay import (
    DEFAULT_DECAY,
    DEFAULT_TAU_SECONDS,
    NEVER,
    DecayPolicy,
    half_life_seconds,
    strength,
    until_strength,
)
from memory_service.domain.memory import Assertion, Kind, Usage
from tests.retrieval.builders import NOW, head

_seconds = st.floats(0, 1e10)
_tau = st.floats(1, 1e9)


@given(_seconds, _seconds, _tau)
def test_monotone_and_bounded(first: float, second: float, tau: float) -> None:
    early, late = sorted((first, second))
    assert 0.0 <= strength(late, tau) <= strength(early, tau) <= 1.0


@given(_tau)
def test_half_life(tau: float) -> None:
    assert strength(half_life_seconds(tau), tau) == pytest.approx(0.5)
    assert strength(tau, tau) == pytest.approx(0.36787944117144233)


@given(st.floats(-1e9, 0), _tau)
def test_time_running_backwards_counts_as_none(seconds: float, tau: float) -> None:
    assert strength(seconds, tau) == 1.0


@given(_seconds)
def test_what_never_fades(seconds: float) -> None:
    assert strength(seconds, NEVER) == 1.0


@pytest.mark.parametrize(
    ("kind", "hours"),
    [
        (Kind.CONTEXT, 48),
        (Kind.TASK, 7 * 24),
        (Kind.TEMPORARY_PREFERENCE, 14 * 24),
        (Kind.PROFILE, 90 * 24),
        (Kind.PREFERENCE, 90 * 24),
        (Kind.FACT, 180 * 24),
    ],
)
def test_default_tau(kind: Kind, hours: int) -> None:
    assert DEFAULT_TAU_SECONDS[kind] == hours * 3600


def test_predicate_overrides_kind() -> None:
    policy = DecayPolicy(by_predicate={"allergy": NEVER, "incident": 7 * 86_400.0})
    old = NOW + timedelta(days=28)
    assert policy.strength(head(assertion=Assertion("u", "allergy", "nuts")), old) == 1.0
    assert policy.strength(head(assertion=Assertion("u", "incident", "x")), old) == pytest.approx(0.0183156, rel=1e-4)
    assert policy.strength(head(assertion=Assertion("u", "role", "x")), old) == pytest.approx(0.8559562, rel=1e-4)


def test_counts_from_the_last_touch() -> None:
    later = NOW + timedelta(days=180)
    untouched = DEFAULT_DECAY.strength(head(), later)
    assert untouched == pytest.approx(0.36787944)
    assert DEFAULT_DECAY.strength(head(usage=Usage(1, 0, later)), later) == 1.0
    assert DEFAULT_DECAY.strength(head(usage=Usage(1, 0, None, later)), later) == 1.0
    before = NOW - timedelta(days=9)
    assert DEFAULT_DECAY.strength(head(usage=Usage(0, 0, before)), later) == untouched


def test_pinned_never_decays() -> None:
    assert DEFAULT_DECAY.strength(head(pinned=True), NOW + timedelta(days=9_999)) == 1.0


@given(st.floats(0.001, 1), st.floats(1, 1e6))
def test_until_strength_inverts(threshold: float, tau: float) -> None:
    left = until_strength(threshold, tau)
    assert left is not None
    assert strength(left.total_seconds(), tau) == pytest.approx(threshold, rel=1e-4)
    assert until_strength(threshold, NEVER) is None


def test_bad_policies_are_refused() -> None:
    with pytest.raises(ValueError, match="positive"):
        DecayPolicy(by_predicate={"x": 0.0})
    with pytest.raises(ValueError, match="every kind"):
        DecayPolicy(by_kind={Kind.FACT: 1.0})
