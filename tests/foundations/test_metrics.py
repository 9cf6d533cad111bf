"""Every metric that the code reports is declared, with the same labels, and every declared one is reported."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from memory_service.adapters.prometheus import telemetry
from tests.foundations.repository import ROOT

PACKAGE = ROOT / "memory_service"
DECLARATIONS = PACKAGE / "adapters" / "prometheus" / "telemetry.py"
KINDS = {"count": telemetry.COUNTERS, "observe": telemetry.HISTOGRAMS, "gauge": telemetry.GAUGES}


def trees() -> Iterator[tuple[str, ast.Module]]:
    """The syntax of each module, but the declarations and generated code."""
    for path in sorted(PACKAGE.rglob("*.py")):
        if path != DECLARATIONS and "_pb2" not in path.name:
            yield str(path.relative_to(ROOT)), ast.parse(path.read_text(encoding="utf-8"))


def reports(tree: ast.Module) -> Iterator[tuple[str, str, frozenset[str] | None]]:
    """Calls of the port `Telemetry` by a literal name: kind, name, labels (None when given as a mapping)."""
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in KINDS):
            continue
        if not ast.unparse(node.func.value).endswith("telemetry") or not node.args:
            continue
        if isinstance(node.args[0], ast.Constant) and isinstance(node.args[0].value, str):
            labels = {keyword.arg for keyword in node.keywords} - {"amount"}
            named = None if None in labels else frozenset(label for label in labels if label)
            yield node.func.attr, node.args[0].value, named


def test_every_reported_metric_is_declared_with_its_labels() -> None:
    seen = 0
    wrong = []
    for module, tree in trees():
        for kind, name, labels in reports(tree):
            seen += 1
            declared = {metric.name: frozenset(metric.labels) for metric in KINDS[kind]}
            if name not in declared or (labels is not None and labels != declared[name]):
                wrong.append(f"{module}: {kind}({name!r}, {sorted(labels or ())})")
    assert seen > 10
    assert wrong == []


def test_every_declared_metric_is_reported_somewhere() -> None:
    constants = {
        node.value
        for _, tree in trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    declared = [metric.name for metrics in KINDS.values() for metric in metrics]
    assert [name for name in declared if name not in constants] == []


def test_names_and_labels_follow_the_rules() -> None:
    """Counters end in `_total`, durations in `_seconds`; no label could hold a tenant, a user or text."""
    assert all(metric.name.endswith("_total") for metric in telemetry.COUNTERS)
    assert all(metric.name.endswith("_seconds") for metric in telemetry.HISTOGRAMS)
    assert not any(metric.name.endswith("_total") for metric in telemetry.GAUGES)
    labels = {label for metrics in KINDS.values() for metric in metrics for label in metric.labels}
    assert labels.isdisjoint({"tenant", "user", "owner", "device", "agent", "session", "text", "query", "key", "id"})
    assert all(metric.help.endswith(".") for metrics in KINDS.values() for metric in metrics)
