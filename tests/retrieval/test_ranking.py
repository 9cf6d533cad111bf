"""E12, E16, C7, P7: scores that add up, an order that is fixed, places by kind; relevance is never swamped."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from math import exp, log1p
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_service.domain.decay import DEFAULT_DECAY, DecayPolicy
from memory_service.domain.memory import Assertion, Kind, MemoryHead, Tier, Usage
from memory_service.domain.ranking import (
    ADOPTED_PROFILE,
    DEFAULT_PROFILE,
    RELEVANCE_PROFILE,
    Ranked,
    RankingProfile,
    rank,
    strength_of,
)
from memory_service.domain.retrieval.fusion import CandidateLists
from memory_service.domain.retrieval.snapshot import OwnerSnapshot
from tests.retrieval.builders import DIMENSION, MODEL, NOW, head, heads, memory_id, row, rows

_DAY = timedelta(days=1)


def snapshot_of(*of: MemoryHead) -> OwnerSnapshot:
    return OwnerSnapshot.build(rows(*map(row, of)), MODEL, DIMENSION)


def ranked(
    of: list[MemoryHead],
    relevances: list[float],
    *,
    limit: int = 10,
    profile: RankingProfile = DEFAULT_PROFILE,
    now: Any = NOW,
) -> tuple[list[int], list[Ranked]]:
    """Places in `of` in the order of the answer, given each one's relevance (1 should be among them)."""
    snapshot = snapshot_of(*of)
    lists = CandidateLists(bm25=np.asarray(relevances, np.float64))
    result = rank(snapshot, np.arange(len(of)), lists, now=now, limit=limit, profile=profile)
    return [one.row for one in result], result


@given(st.lists(heads(), min_size=1, max_size=8), st.data())
@settings(max_examples=40, deadline=None)
def test_scores_add_up(made: list[MemoryHead], data: st.DataObject) -> None:
    world = [replace(h, current=replace(h.current, id=memory_id(n))) for n, h in enumerate(made)]
    relevances = [data.draw(st.integers(0, 9)) / 9 for _ in world]
    for profile in (DEFAULT_PROFILE, ADOPTED_PROFILE, RELEVANCE_PROFILE):
        _, result = ranked(world, relevances, profile=profile)
        finals = [one.score.final for one in result]
        assert finals == sorted(finals, reverse=True)
        for one in result:
            s, of = one.score, world[one.row]
            assert s.importance == pytest.approx(min(1, log1p(of.usage.access_count) / 5))
            assert s.strength == pytest.approx(DEFAULT_DECAY.strength(of, NOW))
            floor = 0 if profile is ADOPTED_PROFILE else profile.freshness_floor
            assert s.freshness == pytest.approx(floor + (1 - floor) * s.strength)
            assert s.support == pytest.approx(1 + 0.1 * log1p(of.usage.adopted_count))
            if profile is ADOPTED_PROFILE:
                assert s.final == pytest.approx(s.semantic * s.freshness * s.confidence * s.support, abs=1e-6)
            else:
                total = profile.semantic_weight * s.semantic + profile.freshness_weight * s.freshness
                total += profile.importance_weight * s.importance + s.tier_bonus
                assert s.final == pytest.approx(total, abs=1e-6)


def test_the_formula_by_hand() -> None:
    old = head(1, tier=Tier.CANDIDATE, usage=Usage(access_count=3, last_access_at=NOW - 90 * _DAY))
    old = replace(old, current=replace(old.current, recorded_at=NOW - 200 * _DAY))
    faded = exp(-0.5 / (1 + 0.1 * log1p(3)))
    _, result = ranked([old, head(2)], [1.0, 0.0], profile=replace(DEFAULT_PROFILE, quotas=()))
    score = next(one.score for one in result if one.row == 0)
    assert score.final == pytest.approx(0.5 + 0.3 * (0.95 + 0.05 * faded) + 0.2 * log1p(3) / 5, abs=1e-6)
    _, result = ranked([old, head(2)], [1.0, 0.0], profile=ADOPTED_PROFILE)
    assert result[0].score.final == pytest.approx(faded * 0.95, abs=1e-6)


@given(st.lists(st.integers(0, 1000), min_size=2, max_size=40, unique=True), st.integers(1, 40))
@settings(max_examples=50, deadline=None)
def test_equal_age_and_use_leave_the_order_to_relevance(numbers: list[int], limit: int) -> None:
    world = [head(n) for n in range(len(numbers))]
    relevances = [number / 1000 for number in numbers]
    default, _ = ranked(world, relevances, limit=limit)
    alone, _ = ranked(world, relevances, limit=limit, profile=RELEVANCE_PROFILE)
    assert default == alone == sorted(range(len(numbers)), key=lambda n: -numbers[n])[:limit]


def test_age_and_use_never_bring_in_what_is_not_relevant() -> None:
    """C7: only the most relevant 2 x limit are scored, however fresh and used the others are."""
    later = NOW + 300 * _DAY
    relevant = [head(n) for n in range(4)]
    busy = [head(n, usage=Usage(200, 0, later)) for n in range(4, 30)]
    order, _ = ranked(relevant + busy, [1.0, 0.99, 0.98, 0.97] + [0.0] * 26, limit=2, now=later)
    assert set(order) <= {0, 1, 2, 3}
    order, _ = ranked([*relevant, *busy, head(30)], [1.0, 0.99, 0.98, 0.97] + [0.9] * 26 + [0.0], limit=3, now=later)
    assert set(order) <= set(range(4, 30)), "among the relevant, the fresh and used come first"


@given(st.lists(heads(), min_size=2, max_size=12), st.integers(0, 900))
@settings(max_examples=40, deadline=None)
def test_age_never_undoes_a_lead_in_relevance(made: list[MemoryHead], days: int) -> None:
    """Of memories used equally, one that leads by more than 0.03 in relevance stands first, whatever their ages."""
    world = [
        replace(
            h,
            current=replace(
                h.current, id=memory_id(n), tier=Tier.CANDIDATE, valid_from=None, valid_to=None, expires_at=None
            ),
            usage=replace(h.usage, access_count=1),
        )
        for n, h in enumerate(made)
    ]
    relevances = [1 - n * 0.031 for n in range(len(world))]
    order, _ = ranked(world, relevances, limit=12, now=NOW + days * _DAY)
    assert order == list(range(len(world)))


def test_of_equally_relevant_memories_the_fresher_stands_first_and_without_a_query_age_counts_in_full() -> None:
    def recorded(number: int, days: int, **usage: Any) -> MemoryHead:
        made = head(number, tier=Tier.CANDIDATE, usage=Usage(**usage))
        return replace(made, current=replace(made.current, recorded_at=NOW - days * _DAY))

    world = [recorded(1, 700), recorded(2, 1)]
    assert ranked(world, [1.0, 0.98])[0] == [1, 0]
    assert ranked(world, [1.0, 0.9])[0] == [0, 1]
    snapshot = snapshot_of(*world)
    fresh = {one.row: one.score.freshness for one in rank(snapshot, np.arange(2), CandidateLists(), now=NOW, limit=2)}
    assert fresh[0] < 0.05
    assert fresh[1] > 0.99


def test_long_term_bonus_helps_only_what_is_relevant() -> None:
    candidate, settled = head(1, tier=Tier.CANDIDATE), head(2, tier=Tier.LONG_TERM)
    filler = head(3, tier=Tier.CANDIDATE)
    assert ranked([candidate, settled, filler], [1.0, 0.9, 0.0])[0] == [1, 0, 2]
    assert ranked([candidate, settled, filler], [1.0, 0.7, 0.0])[0] == [0, 1, 2]
    _, result = ranked([candidate, settled, filler], [1.0, 0.0, 0.0])
    assert [one.score.tier_bonus for one in result] == [0.0, 0.0, 0.0]


def test_quota_keeps_a_place_for_long_term_preferences() -> None:
    facts = [head(n) for n in range(12)]
    liked = head(12, kind=Kind.PREFERENCE)
    world, relevances = [*facts, liked, head(13)], [1.0] * 12 + [0.6, 0.0]
    order, result = ranked(world, relevances, limit=10)
    assert order[-1] == 12
    assert [one.reserved for one in result] == [False] * 9 + [True]
    assert 12 not in ranked(world, relevances, limit=9)[0], "below ten places relevance alone decides"
    weak = [1.0] * 12 + [0.4, 0.0]
    assert 12 not in ranked(world, weak, limit=10)[0], "a kept place is not for what is far from the question"
    unproven = head(12, kind=Kind.PREFERENCE, tier=Tier.CANDIDATE)
    assert 12 not in ranked([*facts, unproven, head(13)], relevances, limit=10)[0]
    plenty = [head(n, kind=Kind.PREFERENCE) for n in range(12)]
    assert not any(one.reserved for one in ranked([*plenty, liked], [1.0] * 12 + [0.6])[1])


def test_ties_go_to_the_newer_then_to_the_smaller_id_whatever_the_history() -> None:
    newer = replace(head(5), created_at=NOW + _DAY)
    world = [head(3), head(1), newer, head(2)]
    expected = [memory_id(5), *sorted((memory_id(n) for n in (1, 2, 3)), key=lambda id_: id_.int)]
    for order in ([0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1]):
        snapshot = snapshot_of(*(world[n] for n in order))
        result = rank(snapshot, np.arange(4), CandidateLists(), now=NOW, limit=10)
        assert [snapshot.head(one.row).id for one in result] == expected


@given(st.lists(heads(), min_size=1, max_size=6), st.integers(-10, 400))
@settings(max_examples=40, deadline=None)
def test_strength_equals_decay(made: list[MemoryHead], days: int) -> None:
    world = [replace(h, current=replace(h.current, id=memory_id(n))) for n, h in enumerate(made)]
    policy = DecayPolicy(by_predicate={"user": 1e4, "food": float("inf")})
    now = NOW + days * _DAY
    found = strength_of(snapshot_of(*world), np.arange(len(world)), now, policy)
    assert found.tolist() == pytest.approx([policy.strength(h, now) for h in world])


def test_callers_importance_is_an_addition_one_asks_for() -> None:
    world = [head(1, importance=0.9), head(2, importance=0.1)]
    assert [one.score.importance for one in ranked(world, [1.0, 0.0])[1]] == [0.0, 0.0]
    profile = replace(DEFAULT_PROFILE, caller_importance=True)
    assert [one.score.importance for one in ranked(world, [1.0, 0.0], profile=profile)[1]] == [0.9, 0.1]


@pytest.mark.parametrize("limit", [1, 5, 9, 10, 50])
def test_never_fewer_than_there_are(limit: int) -> None:
    world = [head(n, kind=Kind.PREFERENCE if n % 2 else Kind.FACT) for n in range(9)]
    for relevances in ([0.0] * 9, [n / 8 for n in range(9)]):
        order, _ = ranked(world, relevances, limit=limit)
        assert len(order) == len(set(order)) == min(limit, 9)
    assert ranked([], [], limit=limit)[0] == []


def test_ranks_of_lists_are_told() -> None:
    snapshot = snapshot_of(head(1), head(2, assertion=Assertion("u", "p", 1)))
    lists = CandidateLists(np.asarray([0.2, 0.8]), np.asarray([3.0, 0.0]), np.asarray([0.0, 0.0]))
    by_row = {one.row: one.score for one in rank(snapshot, np.arange(2), lists, now=NOW, limit=5)}
    assert (by_row[0].cosine_rank, by_row[0].bm25_rank, by_row[0].names_rank) == (2, 1, None)
    assert (by_row[1].cosine_rank, by_row[1].bm25_rank) == (1, None)
    assert by_row[0].rrf == pytest.approx(1 / 62 + 1 / 61)
    assert (by_row[1].cosine, by_row[1].bm25) == (0.8, None)
