"""The figures, on data small enough to work out by hand; and the whole command against the fake server."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_service.cli.dataset import read_set
from memory_service.cli.evaluation import (
    Answer,
    auroc,
    figures,
    ndcg_at,
    newer_first,
    percentile,
    recall_at,
    reciprocal_rank,
)
from tests.cli.conftest import Shell
from tests.client.fake_server import FakeServer


def ranking(*places: str) -> list[frozenset[str]]:
    """ "a b" is a place that stands for both; "" one that stands for nothing known."""
    return [frozenset(place.split()) for place in places]


def test_recall_is_the_share_of_the_evidence() -> None:
    found = ranking("x", "a", "y", "b")
    evidence = frozenset({"a", "b", "c", "d"})
    assert [recall_at(found, evidence, depth) for depth in (1, 2, 4, 20)] == [0, 0.25, 0.5, 0.5]
    assert recall_at([], evidence, 10) == 0


def test_a_merged_memory_counts_as_all_it_absorbed() -> None:
    found = ranking("a b x", "c")
    assert recall_at(found, frozenset({"a", "b"}), 1) == 1
    assert recall_at(found, frozenset({"a", "b", "c"}), 1) == pytest.approx(2 / 3)
    assert reciprocal_rank(found, frozenset({"c"})) == 0.5


def test_reciprocal_rank() -> None:
    assert reciprocal_rank(ranking("x", "", "a", "b"), frozenset({"a", "b"})) == pytest.approx(1 / 3)
    assert reciprocal_rank(ranking("x"), frozenset({"a"})) == 0


def test_ndcg_by_hand() -> None:
    evidence = frozenset({"a", "b"})
    ideal = 1 + 1 / math.log2(3)
    assert ndcg_at(ranking("a", "b"), evidence, 10) == 1
    assert ndcg_at(ranking("x", "a", "y", "b"), evidence, 10) == pytest.approx(
        (1 / math.log2(3) + 1 / math.log2(5)) / ideal
    )
    assert ndcg_at(ranking("a", "a", "a"), evidence, 10) == pytest.approx(1 / ideal), "once is enough"
    assert ndcg_at(ranking("a b"), evidence, 10) == 1, "never above 1"
    assert ndcg_at(ranking(*["x"] * 10, "a"), evidence, 10) == 0


def test_knowledge_updates() -> None:
    def answer(*places: str) -> Answer:
        both = frozenset({"new", "old"})
        return Answer("q", "c", True, both, ranking(*places), newer=frozenset({"new"}), older=frozenset({"old"}))

    assert newer_first(answer("x", "new", "old"))
    assert newer_first(answer("new"))
    assert not newer_first(answer("old", "new"))
    assert not newer_first(answer("old"))
    assert not newer_first(answer("new old")), "merged into one: the newer is not ahead"
    assert not newer_first(answer(*["x"] * 10, "new")), "beyond the tenth place"


def test_auroc() -> None:
    assert auroc([3, 4], [1, 2]) == 1
    assert auroc([1, 2], [3, 4]) == 0
    assert auroc([1, 1], [1, 1]) == 0.5
    assert auroc([1, 3], [2]) == 0.5
    assert auroc([1], []) is None


@given(st.lists(st.integers(0, 5), min_size=1, max_size=8), st.lists(st.integers(0, 5), min_size=1, max_size=8))
def test_auroc_is_the_chance_of_a_right_order(positives: list[int], negatives: list[int]) -> None:
    pairs = [(p > n) + 0.5 * (p == n) for p in positives for n in negatives]
    assert auroc(positives, negatives) == pytest.approx(sum(pairs) / len(pairs))


def test_percentiles() -> None:
    values = [float(value) for value in range(100, 0, -1)]
    assert (percentile(values, 0.5), percentile(values, 0.95)) == (50, 95)
    assert percentile([7.0], 0.95) == 7
    assert percentile([], 0.5) == 0


def test_figures_leave_out_what_cannot_be_answered() -> None:
    report = figures(
        [
            Answer("1", "single", True, frozenset({"a"}), ranking("a"), 0.9),
            Answer("2", "multi", True, frozenset({"a", "b"}), ranking("x", "a"), 0.5),
            Answer("3", "abstention", False, frozenset(), ranking("x"), 0.4),
            Answer("4", "single", True, frozenset(), ranking("x"), 0.1),
        ]
    )
    assert report["n"] == 2
    assert report["recall_at"] == {"1": 0.5, "5": 0.75, "10": 0.75, "20": 0.75}
    assert report["mrr"] == 0.75
    assert set(report["by_category"]) == {"single", "multi"}
    assert report["by_category"]["multi"]["recall_at"]["5"] == 0.5
    assert report["abstention_auroc"] == pytest.approx(2 / 3, abs=1e-3)
    assert "updates" not in report


def test_figures_of_nothing() -> None:
    assert figures([])["recall_at"]["10"] == 0


TOY: list[dict[str, Any]] = [
    {"type": "set", "name": "toy", "language": "en"},
    {"type": "memory", "owner": "o1", "id": "m0", "text": "the cat is called tom", "session": "s", "order": 0},
    {"type": "memory", "owner": "o1", "id": "m1", "text": "the dog is called rex", "session": "s", "order": 1},
    {"type": "memory", "owner": "o1", "id": "m2", "text": "the cat is called tom", "session": "t", "order": 2},
    {"type": "memory", "owner": "o1", "id": "m3", "text": "the hen is called ada", "session": "t", "order": 3},
    {"type": "memory", "owner": "o2", "id": "m0", "text": "cat food is expensive", "session": "s", "order": 0},
    {
        "type": "question",
        "owner": "o1",
        "id": "early",
        "text": "dog rex",
        "category": "early",
        "evidence": ["m1"],
        "answerable": True,
        "visible_before_order": 1,
    },
    {
        "type": "question",
        "owner": "o1",
        "id": "merged",
        "text": "cat tom",
        "category": "single",
        "evidence": ["m0", "m2"],
        "answerable": True,
    },
    {
        "type": "question",
        "owner": "o1",
        "id": "none",
        "text": "zebra",
        "category": "abstention",
        "evidence": [],
        "answerable": False,
    },
]


def test_the_command(shell: Shell, server: FakeServer, tmp_path: Path) -> None:
    path = tmp_path / "toy.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in TOY))
    details = tmp_path / "details.jsonl"
    report = shell.json("eval", str(path), "--target", server.target, "--details", str(details))
    assert (report["set"], report["n"], report["memories"], report["questions"]) == ("toy", 2, 5, 3)
    assert report["effects"] == {"created": 4, "supported": 1}
    assert report["by_category"]["early"]["recall_at"]["20"] == 0, "it may not see what came later"
    assert report["by_category"]["single"]["recall_at"]["1"] == 1, "the merged one counts as both"
    assert report["refused"] == {}
    assert report["write_per_s"] > 0
    assert report["recall_p95_ms"] >= report["recall_p50_ms"] > 0
    assert len(details.read_text().splitlines()) == 3
    recalls = server.of("Recall")
    assert all(request.read_only and request.limit == 20 for request in recalls)
    assert all(request.user.startswith("eval-") for request in recalls)
    first = [call.method for call in server.calls].index("Recall")
    before = sum(len(call.request.items) for call in server.calls[:first] if call.method == "BatchWrite")
    assert before == 1, "the early question is asked when only one memory is there"
    table = shell("eval", str(path), "--target", server.target, "--limit-owners", "1").stdout
    assert "R@10" in table


def test_two_runs_do_not_see_each_other(shell: Shell, server: FakeServer, tmp_path: Path) -> None:
    path = tmp_path / "toy.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in TOY))
    first = shell.json("eval", str(path), "--target", server.target)
    second = shell.json("eval", str(path), "--target", server.target)
    assert first["recall_at"] == second["recall_at"]
    assert first["effects"] == second["effects"]


def test_a_set_limited_to_owners() -> None:
    data = read_set((json.dumps(line) for line in TOY), owners_max=1)
    assert list(data.owners) == ["o1"]
    assert [memory.order for memory in data.owners["o1"].memories] == [0, 1, 2, 3]


def test_a_wrong_set_is_a_usage_error(shell: Shell, tmp_path: Path) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text('{"type": "memory", "owner": "a"}\n')
    assert "line 1" in shell("eval", str(path), code=2).stderr
