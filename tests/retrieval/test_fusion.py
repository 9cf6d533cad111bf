"""Relevance: bounded, monotone in each list, indifferent to row order; RRF as published."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from memory_service.domain.retrieval.dense import NO_VECTOR
from memory_service.domain.retrieval.fusion import CandidateLists, Fusion, FusionMethod, ranks, relevance

_cosines = st.one_of(st.just(NO_VECTOR), st.integers(-100, 100).map(lambda n: n / 100))
_scores = st.one_of(st.just(0.0), st.integers(1, 50).map(lambda n: n / 7))


@st.composite
def candidate_lists(draw: st.DrawFn) -> tuple[CandidateLists, int]:
    count = draw(st.integers(0, 12))

    def column(values: st.SearchStrategy[float]) -> NDArray[np.float64] | None:
        drawn = draw(st.none() | st.lists(values, min_size=count, max_size=count))
        return None if drawn is None else np.asarray(drawn, np.float64)

    return CandidateLists(column(_cosines), column(_scores), column(_scores)), count


def permuted(lists: CandidateLists, order: NDArray[np.int64]) -> CandidateLists:
    columns = [None if c is None else c[order] for c in (lists.cosine, lists.bm25, lists.names)]
    return CandidateLists(columns[0], columns[1], columns[2])


@given(candidate_lists(), st.sampled_from(FusionMethod), st.randoms())
def test_bounded_and_indifferent_to_row_order(
    drawn: tuple[CandidateLists, int], method: FusionMethod, chance: object
) -> None:
    lists, count = drawn
    fusion = Fusion(method)
    result = relevance(lists, count, fusion)
    assert result.shape == (count,)
    assert ((result >= 0) & (result <= 1)).all()
    order = np.random.default_rng(count).permutation(count)
    assert relevance(permuted(lists, order), count, fusion).tolist() == pytest.approx(
        result[order].tolist(), abs=2e-6
    )


@given(candidate_lists(), st.sampled_from(FusionMethod))
def test_better_in_every_list_is_never_less_relevant(drawn: tuple[CandidateLists, int], method: FusionMethod) -> None:
    lists, count = drawn
    result = relevance(lists, count, Fusion(method))
    columns = [c for c in (lists.cosine, lists.bm25, lists.names) if c is not None]
    for a in range(count):
        for b in range(count):
            known = lists.cosine is None or min(lists.cosine[a], lists.cosine[b]) > NO_VECTOR
            if known and all(column[a] >= column[b] for column in columns):
                assert result[a] >= result[b]


@given(st.lists(st.integers(0, 5).map(float), min_size=1, max_size=20))
def test_ranks(scores: list[float]) -> None:
    expected = [1 + sum(other > score for other in scores) for score in scores]
    assert ranks(np.asarray(scores)).tolist() == expected


def test_reciprocal_ranks_by_hand() -> None:
    lists = CandidateLists(np.asarray([0.9, 0.5, NO_VECTOR]), np.asarray([0.0, 2.0, 1.0]))
    best = 2 / 61
    expected = [1 / 61 / best, (1 / 62 + 1 / 61) / best, 1 / 62 / best]
    fusion = Fusion(FusionMethod.RRF, name_weight=0)
    assert relevance(lists, 3, fusion).tolist() == pytest.approx(expected, abs=1e-6)


def test_weighted_sum_by_hand() -> None:
    lists = CandidateLists(np.asarray([0.9, 0.5, 0.1]), np.asarray([0.0, 2.0, 1.0]))
    low = 1.5 / 6
    dense = [1, (0.5 - low) / (0.9 - low), 0]
    dense = [0.99 * d + 0.01 * (1 + c) / 2 for d, c in zip(dense, [0.9, 0.5, 0.1], strict=True)]
    expected = [0.5 * d + 0.5 * lexical for d, lexical in zip(dense, [0, 1, 0.5], strict=True)]
    assert relevance(lists, 3, Fusion()).tolist() == pytest.approx(expected, abs=1e-6)


def test_a_best_hit_that_is_weak_in_itself_counts_for_what_it_is() -> None:
    weak = CandidateLists(np.asarray([0.2, 0.0, 0.0]), np.asarray([0.0, 2.0, 0.0]), bm25_strong=8.0)
    low = 0.2 / 6
    expected = [0.5 * (0.2 - low) / (0.4 - low), 0.5 * 2 / 8, 0]
    assert relevance(weak, 3, Fusion()).tolist() == pytest.approx(expected, abs=0.006)


def test_one_memory_alone_is_as_relevant_as_it_is_like_the_query() -> None:
    found = [relevance(CandidateLists(np.asarray([cosine])), 1, Fusion())[0] for cosine in (-0.5, 0.0, 0.1, 0.3, 0.5)]
    assert found[1] < 0.01
    assert found[0] < found[1] < found[2] < found[3] < 0.9 < found[4]


@given(st.lists(st.integers(-100, 100), min_size=2, max_size=30, unique=True))
def test_the_order_of_cosines_is_kept_even_below_their_mean(hundredths: list[int]) -> None:
    cosines = np.asarray(hundredths) / 100
    fused = relevance(CandidateLists(cosines), len(cosines), Fusion())
    assert np.argsort(fused).tolist() == np.argsort(cosines).tolist()


def test_a_list_that_found_nothing_takes_no_share() -> None:
    cosines = np.asarray([0.9, 0.1])
    lists = CandidateLists(cosines, np.zeros(2), np.zeros(2))
    assert relevance(lists, 2, Fusion()).tolist() == relevance(CandidateLists(cosines), 2, Fusion()).tolist()


def test_no_query_and_no_match() -> None:
    assert relevance(CandidateLists(), 2, Fusion()).tolist() == [1.0, 1.0]
    assert relevance(CandidateLists(bm25=np.zeros(2)), 2, Fusion()).tolist() == [0.0, 0.0]


def test_a_memory_waiting_for_its_vector_is_found_by_words() -> None:
    lists = CandidateLists(np.asarray([0.6, 0.3, NO_VECTOR]), np.asarray([0.0, 0.0, 3.0]))
    assert int(relevance(lists, 3, Fusion()).argmax()) == 2


def test_neighbours_lend_relevance_without_overtaking() -> None:
    before, after = np.asarray([-1, 0, -1]), np.asarray([1, -1, -1])
    lists = CandidateLists(np.asarray([0.9, 0.2, 0.2]), before=before, after=after)
    first, next_to_it, far = relevance(lists, 3, Fusion(neighbour_weight=0.3)).tolist()
    assert first > next_to_it > far
    alone = CandidateLists(np.asarray([0.9, 0.2, 0.5]), before=np.full(3, -1), after=np.full(3, -1))
    assert relevance(alone, 3, Fusion()).tolist() == relevance(alone, 3, Fusion(neighbour_weight=0.0)).tolist()
    best, *rest = relevance(lists, 3, Fusion(neighbour_weight=0.0)).tolist()
    assert best > 0.99
    assert rest[0] == rest[1]
