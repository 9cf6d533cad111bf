"""Every metric the code reports is declared, with those very labels; every declared one is reported."""

from __future__ import annotations

import ast
from pathlib import Path

import memory_service
from memory_service.adapters.prometheus.telemetry import COUNTERS, GAUGES, HISTOGRAMS, PrometheusTelemetry

_METHODS = {"count": COUNTERS, "observe": HISTOGRAMS, "gauge": GAUGES}
_ROOT = Path(memory_service.__file__).parent


def _reported() -> set[tuple[str, str, frozenset[str]]]:
    found = set()
    for path in _ROOT.rglob("*.py"):
        if "v1" in path.parts or path.name == "telemetry.py":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args):
                continue
            first = node.args[0]
            if node.func.attr in _METHODS and isinstance(first, ast.Constant) and isinstance(first.value, str):
                labels = frozenset(k.arg for k in node.keywords if k.arg not in (None, "amount", "seconds", "value"))
                found.add((node.func.attr, first.value, labels))
    return {item for item in found if item[1].endswith("_total") or item[0] != "count"}


def test_reported_metrics_are_declared_with_their_labels() -> None:
    declared = {
        (method, metric.name, frozenset(metric.labels)) for method, metrics in _METHODS.items() for metric in metrics
    }
    assert _reported() - declared == set()


def test_declared_metrics_are_reported() -> None:
    reported = {name for _, name, _ in _reported()}
    declared = {metric.name for metrics in _METHODS.values() for metric in metrics}
    assert declared - reported == set()


def test_an_undeclared_metric_never_breaks_a_call() -> None:
    telemetry = PrometheusTelemetry()
    telemetry.count("no_such_total")
    telemetry.count("writes_total", effect="created")
    assert b'memory_service_writes_total{effect="created"} 1.0' in telemetry.exposition()
