"""How often a guess of what was forgotten is known in other words, on labelled pairs (B3); see docs/evaluation.md."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memory_service.domain.fingerprint import fingerprint, restates

PAIRS = [
    json.loads(line) for line in (Path(__file__).parent / "restated.jsonl").read_text(encoding="utf-8").splitlines()
]
SALT = bytes(range(32))


def figures(part: str, language: str) -> tuple[float, float]:
    """Precision and recall."""
    right = found = there = 0
    for pair in PAIRS:
        if (pair["part"], pair["language"]) != (part, language):
            continue
        known = restates(fingerprint(pair["later"], SALT), fingerprint(pair["forgotten"], SALT))
        right += known and pair["restates"]
        found += known
        there += pair["restates"]
    return right / found, right / there


def test_the_set_is_balanced():
    assert len(PAIRS) >= 120
    assert len({(p["forgotten"], p["later"]) for p in PAIRS}) == len(PAIRS)
    assert sum(p["restates"] for p in PAIRS) * 2 == len(PAIRS)
    assert sum(p["language"] == "zh" for p in PAIRS) * 2 == len(PAIRS)


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize(
    ("part", "precision", "recall"),
    [("development", 0.95, 0.9), ("holdout", 0.95, 0.9), ("unseen", 0.9, 0.75), ("last", 0.8, 0.6)],
)
def test_most_restatements_are_known_and_few_others_are_taken_for_one(
    part: str, language: str, precision: float, recall: float
):
    found = figures(part, language)
    assert found[0] >= precision
    assert found[1] >= recall


def test_whatever_the_salt_the_figures_are_about_the_same():
    """A chance match of buckets is rare: over forty salts few of the unlike pairs are taken for alike."""
    taken = sum(
        restates(fingerprint(pair["later"], salt), fingerprint(pair["forgotten"], salt))
        for pair in PAIRS
        if not pair["restates"]
        for salt in (bytes([number]) * 32 for number in range(40))
    )
    assert taken <= 40 * sum(not p["restates"] for p in PAIRS) * 0.03
