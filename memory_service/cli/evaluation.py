"""How well memory answers: the figures, computed from what was returned. Pure; nothing here is measured.

A returned memory stands for one or several ids of the set: a merged one counts as each of those it absorbed. It
takes one place in the ranking whatever it stands for.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

DEPTHS = (1, 5, 10, 20)

Ranking = Sequence[frozenset[str]]
"""What each place of an answer stands for, best first."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One question's outcome.

    Attributes:
        evidence: ids that answer it; empty for a question that cannot be answered.
        ranking: what came back.
        top_score: score of the first place, 0 when nothing came back.
        newer, older: the memories after and before a knowledge update, if the question is about one.
    """

    question: str
    category: str
    answerable: bool
    evidence: frozenset[str]
    ranking: Ranking
    top_score: float = 0.0
    newer: frozenset[str] = frozenset()
    older: frozenset[str] = frozenset()


def recall_at(ranking: Ranking, evidence: frozenset[str], depth: int) -> float:
    """Share of the evidence within the first `depth` places."""
    found = frozenset().union(*ranking[:depth])
    return len(found & evidence) / len(evidence)


def reciprocal_rank(ranking: Ranking, evidence: frozenset[str]) -> float:
    """One over the first place that has evidence; 0 when none has."""
    place = first_place(ranking, evidence)
    return 0.0 if place is None else 1.0 / place


def ndcg_at(ranking: Ranking, evidence: frozenset[str], depth: int) -> float:
    """Normalised discounted cumulative gain, each piece of evidence worth 1 at the first place that has it.

    A merged memory may bring several at one place, more than the ideal order of single ones allows for; hence
    the cut at 1.
    """
    seen: set[str] = set()
    gain = 0.0
    for place, ids in enumerate(ranking[:depth], start=1):
        new = (ids & evidence) - seen
        seen |= new
        gain += len(new) / math.log2(place + 1)
    ideal = sum(1 / math.log2(place + 1) for place in range(1, min(len(evidence), depth) + 1))
    return min(1.0, gain / ideal)


def first_place(ranking: Ranking, ids: frozenset[str]) -> int | None:
    """The first place (from 1) that stands for one of `ids`, None when no place does."""
    return next((place for place, held in enumerate(ranking, start=1) if held & ids), None)


def newer_first(answer: Answer, depth: int = 10) -> bool:
    """Whether a newer memory is within `depth` and ahead of every older one."""
    newer = first_place(answer.ranking, answer.newer)
    older = first_place(answer.ranking, answer.older)
    return newer is not None and newer <= depth and (older is None or newer < older)


def auroc(positives: Sequence[float], negatives: Sequence[float]) -> float | None:
    """Chance that a positive scores above a negative (ties count half); None without both. O(n log n)."""
    if not positives or not negatives:
        return None
    scores = sorted([(score, True) for score in positives] + [(score, False) for score in negatives])
    rank_sum, place = 0.0, 0
    while place < len(scores):
        end = place
        while end < len(scores) and scores[end][0] == scores[place][0]:
            end += 1
        mean_rank = (place + 1 + end) / 2
        rank_sum += mean_rank * sum(positive for _, positive in scores[place:end])
        place = end
    count = len(positives)
    return (rank_sum - count * (count + 1) / 2) / (count * len(negatives))


def percentile(values: Sequence[float], share: float) -> float:
    """The value that `share` (0..1) of the values do not exceed (nearest rank); 0 without values."""
    if not values:
        return 0.0
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def figures(answers: Sequence[Answer]) -> dict[str, Any]:
    """All figures over answerable questions with evidence, overall and by category."""
    scored = [answer for answer in answers if answer.answerable and answer.evidence]
    by_category: Mapping[str, list[Answer]] = defaultdict(list)
    for answer in scored:
        by_category[answer.category].append(answer)
    updates = [answer for answer in answers if answer.newer and answer.older]
    separation = auroc(
        [answer.top_score for answer in answers if answer.answerable],
        [answer.top_score for answer in answers if not answer.answerable],
    )
    result = _ranking_figures(scored)
    result["by_category"] = {name: _ranking_figures(group) for name, group in sorted(by_category.items())}
    if updates:
        share = sum(newer_first(answer) for answer in updates) / len(updates)
        result["updates"] = {"n": len(updates), "newer_first": round(share, 4)}
    if separation is not None:
        result["abstention_auroc"] = round(separation, 4)
    return result


def _ranking_figures(answers: Sequence[Answer]) -> dict[str, Any]:
    def mean(values: Sequence[float]) -> float:
        return round(math.fsum(values) / len(values), 4) if values else 0.0

    return {
        "n": len(answers),
        "recall_at": {
            str(depth): mean([recall_at(answer.ranking, answer.evidence, depth) for answer in answers])
            for depth in DEPTHS
        },
        "mrr": mean([reciprocal_rank(answer.ranking, answer.evidence) for answer in answers]),
        "ndcg_at_10": mean([ndcg_at(answer.ranking, answer.evidence, 10) for answer in answers]),
    }
