"""Fit the weights of `memory_service.domain.relations` and write them down.

    PYTHONPATH=. python tools/fit_relations.py FILE...

FILEs hold labelled pairs (`tests/evolution/pairs_own.jsonl` and files like it; a pair marked `holdout` is left out)
or scenarios, whose small talk gives pairs that have nothing to do with one another, which is what most pairs are
that are judged at write time. Multinomial logistic regression with an L2
penalty by full-batch Adam in NumPy: deterministic.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from memory_service.adapters.embedders.use import load_use
from memory_service.cli.relation_pairs import Pair, read_pairs
from memory_service.domain.relations.features import compare
from memory_service.domain.relations.reading import read
from memory_service.domain.relations.relation import StatementRelation

Matrix = NDArray[np.float64]

TARGET = Path(__file__).parents[1] / "memory_service/domain/relations/_weights.py"
PENALTY = 0.01
STEPS = 2_000
SMALL_TALK_WEIGHT = 0.06
SCENARIO_WEIGHT = 0.5
BATCH = 32
LABELS = [relation.value for relation in StatementRelation]
PREFERRED = ("opposite", "update", "paraphrase", "different", "refinement")
"""Of two relations a scenario allows the first is learned: what replaces goes before what stands beside."""


def pairs_of(paths: Sequence[Path]) -> list[tuple[Pair, str, float]]:
    """The pairs to learn from, each with its label and how much it counts; held-out ones are left out."""
    found = []
    for path in paths:
        for pair in read_pairs(path):
            label = next((one for one in PREFERRED if one in pair.wanted), "")
            if pair.part == "holdout" or len(pair.wanted) > 2 or not label:
                continue
            weight = SMALL_TALK_WEIGHT if pair.small_talk else SCENARIO_WEIGHT if pair.family else 1.0
            found.append((pair, label, weight))
    return found


def fit(features: Matrix, labels: Matrix, weights: Matrix) -> Matrix:
    """Weights of shape (features, labels) that minimise the weighted cross entropy plus the penalty."""
    share = (weights / weights.sum())[:, None]
    found = np.zeros((features.shape[1], labels.shape[1]))
    first, second = np.zeros_like(found), np.zeros_like(found)
    for step in range(1, STEPS + 1):
        scores = features @ found
        odds = np.exp(scores - scores.max(axis=1, keepdims=True))
        odds /= odds.sum(axis=1, keepdims=True)
        slope = features.T @ ((odds - labels) * share) + PENALTY / 10 * found
        first = 0.9 * first + 0.1 * slope
        second = 0.999 * second + 0.001 * slope**2
        found -= 0.05 * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.999**step)) + 1e-8)
    return found


def main() -> None:
    """Fit with and without the cosine, and write `_weights.py`."""
    parser = argparse.ArgumentParser()
    parser.add_argument("pairs", nargs="+", type=Path)
    arguments = parser.parse_args()
    pairs = pairs_of(arguments.pairs)
    texts = sorted({text for pair, _, _ in pairs for text in (pair.earlier, pair.later)})
    encoder = load_use()
    rows = np.vstack([encoder.encode(texts[at : at + BATCH]) for at in range(0, len(texts), BATCH)])
    vectors = dict(zip(texts, rows / np.linalg.norm(rows, axis=1, keepdims=True), strict=True))
    labels = np.eye(len(LABELS))[[LABELS.index(label) for _, label, _ in pairs]]
    weights = np.array([weight for _, _, weight in pairs])
    text = [
        '"""The weights of the features, fitted by `tools/fit_relations.py`: do not edit.',
        "",
        f"A row a feature: {', '.join(LABELS)}.",
        '"""',
        "",
        "from typing import Final",
    ]
    for name, with_cosine in (("WITH_COSINE", True), ("WITHOUT_COSINE", False)):
        rows_found = [
            compare(
                read(pair.earlier),
                read(pair.later),
                float(vectors[pair.earlier] @ vectors[pair.later]) if with_cosine else None,
            )
            for pair, _, _ in pairs
        ]
        names = list(rows_found[0])
        table = np.array([[float(row[one]) for one in names] for row in rows_found])
        found = fit(table, labels, weights)
        text += ["", f"{name}: Final[dict[str, tuple[float, ...]]] = {{"]
        text += [
            f'    "{one}": ({", ".join(f"{value:.3f}" for value in row)}),'
            for one, row in zip(names, found, strict=True)
        ]
        text += ["}"]
        right = float(((table @ found).argmax(axis=1) == labels.argmax(axis=1))[weights == 1].mean())
        print(f"{name}: {len(pairs)} pairs, right of the labelled ones {right:.3f}")
    TARGET.write_text("\n".join(text) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
