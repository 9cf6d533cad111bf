"""The benchmark of sessions as a test: prints its figures, and fails only when something is badly wrong."""

from __future__ import annotations

import json

import pytest

from tests.bench.bench_session import measure


@pytest.mark.bench
async def test_sessions() -> None:
    figures = await measure(300)
    print(json.dumps(figures))
    assert figures["append_ratio"] < 6
    assert figures["context_throughput"] > 0.2
    assert figures["session_bytes"]["released"] < 4_000
