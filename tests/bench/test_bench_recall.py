"""The recall benchmark as a test: prints its figures, and fails only when something is badly wrong."""

from __future__ import annotations

import json

import pytest

from tests.bench.bench_recall import measure


@pytest.mark.bench
@pytest.mark.parametrize("count", [100, 1_000, 10_000])
def test_hot_recall(count: int) -> None:
    figures = measure(count)
    print(json.dumps(figures))
    assert figures["recall_ms"] < 5 + 20 * figures["row_by_row_ms"]
    assert figures["unpack_ms"] < figures["build_ms"] / 2
