"""Skeletons of questions, question memories, and the vector that memories are compared with."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_service.domain.retrieval.lexical import LexicalIndex
from memory_service.domain.retrieval.probe import QuestionSum, asks, probe, skeleton
from memory_service.domain.text import analyse
from tests.retrieval.builders import DIMENSION, random_unit, unit


def index_of(*texts: str) -> LexicalIndex:
    documents = [analyse(text) for text in texts]
    return LexicalIndex.empty().extended(0, documents, [], np.zeros(0, np.int64))[0]


NOBODY = index_of()
ANNA = index_of(*(f"Anna saw thing{n}" for n in range(30)), *(f"other{n}" for n in range(10)))


@pytest.mark.parametrize(
    ("query", "index", "expected"),
    [
        ("What is the name of Anna's sister?", NOBODY, "What is the of ?"),
        ("What's Anna's sister called?", ANNA, "What's Anna's ?"),
        ("WHEN did you visit Paris, and why?", NOBODY, "WHEN did you , and why ?"),
        ("我对什么过敏？", NOBODY, "我对什么过?"),
        ("port 5433", NOBODY, ""),
        ("what is it?", NOBODY, ""),
        ("", NOBODY, ""),
        ("\u200b", NOBODY, ""),
    ],
)
def test_what_is_left_without_content(query: str, index: LexicalIndex, expected: str) -> None:
    assert skeleton(query, index) == expected


def test_a_word_is_common_in_more_than_three_and_a_tenth() -> None:
    assert skeleton("does tea help", index_of(*["tea"] * 3)) == "does"
    assert skeleton("does tea help", index_of(*["tea"] * 4)) == "does tea"
    assert skeleton("does tea help", index_of(*["tea"] * 4, *["x"] * 36)) == "does"
    assert skeleton("茶好喝", index_of(*["茶"] * 4)) == "茶"


@given(st.text(max_size=60))
def test_any_text_has_a_skeleton_shorter_than_itself(query: str) -> None:
    left = skeleton(query, ANNA)
    assert not left or sum(map(str.isalnum, left)) <= 3 * len(query)


def test_asks() -> None:
    assert [asks(text) for text in ("Really? Yes.", "真的？", "I asked.", "")] == [True, True, False, False]


@given(st.lists(st.integers(0, 50), min_size=1, max_size=8), st.data())
def test_a_sum_kept_up_to_date_equals_one_made_anew(seeds: list[int], data: st.DataObject) -> None:
    vectors = np.stack([random_unit(seed).astype(np.float16).astype(np.float32) for seed in seeds])
    leaving = np.asarray(data.draw(st.lists(st.booleans(), min_size=len(seeds), max_size=len(seeds))), np.bool_)
    empty, nothing = QuestionSum.empty(DIMENSION), vectors[:0]
    kept = empty.changed(vectors, nothing).changed(nothing, vectors[leaving])
    anew = empty.changed(vectors[~leaving][::-1], nothing)
    assert kept.count == anew.count
    assert kept.total.tolist() == anew.total.tolist()
    expected = vectors[~leaving].astype(np.float64).sum(axis=0) / (anew.count + 5)
    assert anew.direction.tolist() == pytest.approx(expected.tolist())


def test_the_probe_by_hand() -> None:
    query, bare = unit([1, 1, 0, 0, 0, 0, 0, 0]), unit([1, 0, 0, 0, 0, 0, 0, 0])
    asking = np.stack([unit([0, 0, 1, 0, 0, 0, 0, 0])] * 5)
    questions = QuestionSum.empty(8).changed(asking, asking[:0])
    root = 1 / math.sqrt(2)
    assert probe(query, bare, QuestionSum.empty(8)).tolist() == pytest.approx(
        unit([0.4 * root, root, *[0] * 6]).tolist()
    )
    expected = unit([0.4 * root, root, -0.7 * 0.5, *[0] * 5])
    assert probe(query, bare, questions).tolist() == pytest.approx(expected.tolist())
    assert probe(query, None, QuestionSum.empty(8)).tolist() == pytest.approx(query.tolist())
    untouched = probe(query, bare, questions, skeleton_share=0.0, question_share=0.0)
    assert untouched.tolist() == pytest.approx(query.tolist())


def test_a_query_that_would_vanish_stays() -> None:
    query = random_unit(1)
    assert probe(query, query, QuestionSum.empty(DIMENSION), skeleton_share=1.0).tolist() == query.tolist()
