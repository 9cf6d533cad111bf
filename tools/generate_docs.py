"""Writes docs/configuration.md, docs/metrics.md and docs/errors.md from the code; `--check` compares instead."""

from __future__ import annotations

import re
import sys
from enum import Enum
from pathlib import Path
from typing import Any, get_args

from pydantic import SecretStr
from pydantic.fields import FieldInfo

from memory_service.adapters.prometheus.telemetry import COUNTERS, GAUGES, HISTOGRAMS, PREFIX, Metric
from memory_service.config import Settings
from memory_service.domain import limits
from memory_service.domain.errors import Reason

ROOT = Path(__file__).parent.parent
_NOTE = "<!-- Written by tools/generate_docs.py; change the code instead. -->\n\n"


def configuration() -> str:
    """Every setting and every limit."""
    lines = [
        "# Configuration\n",
        "Settings come from the environment; a `.env` file is never read. The most common ones are also options of",
        "`memory-service serve`. With nothing set, everything is embedded.\n",
        "| variable | default | meaning |",
        "| --- | --- | --- |",
    ]
    for name, info in Settings.model_fields.items():
        lines.append(f"| `MEMORY_SERVICE_{name.upper()}` | {_default(info)} | {info.description}{_choices(info)} |")
    lines += [
        "\n## Limits\n",
        "What a request may carry; also told by `GetServerInfo`. Over a limit: an error naming field and limit.\n",
        "| limit | value |",
        "| --- | --- |",
    ]
    lines += [f"| `{name}` | {value:,} |" for name, value in sorted(limits.as_mapping().items())]
    return "# Configuration\n\n" + _NOTE + "\n".join(lines[1:]) + "\n"


def _default(info: FieldInfo) -> str:
    value = info.default
    if value is None:
        return "unset"
    if isinstance(value, Enum):
        value = value.value
    return f"`{value}`"


def _choices(info: FieldInfo) -> str:
    kinds: tuple[Any, ...] = (info.annotation, *get_args(info.annotation))
    for kind in kinds:
        if isinstance(kind, type) and issubclass(kind, Enum):
            return " One of " + ", ".join(f"`{member.value}`" for member in kind) + "."
        if kind is SecretStr:
            return " Kept out of logs."
    return ""


def metrics() -> str:
    """Every metric."""
    lines = ["Scraped from `/metrics` of the ops address. No label ever carries a tenant, a user or text.\n"]
    for title, declared in (("Counters", COUNTERS), ("Histograms", HISTOGRAMS), ("Gauges", GAUGES)):
        lines += [f"## {title}\n", "| metric | labels | meaning |", "| --- | --- | --- |"]
        lines += [_metric_row(metric) for metric in declared]
        lines.append("")
    return "# Metrics\n\n" + _NOTE + "\n".join(lines)


def _metric_row(metric: Metric) -> str:
    labels = ", ".join(f"`{label}`" for label in metric.labels) or "none"
    return f"| `{PREFIX}{metric.name}` | {labels} | {metric.help} |"


def errors() -> str:
    """Every error reason with the comment that the protocol gives it."""
    proto = (ROOT / "proto/memory_service/v1/error_reason.proto").read_text(encoding="utf-8")
    comments = dict(re.findall(r"// ([^\n]*)\n  ERROR_REASON_(?!UNSPECIFIED)([A-Z_]+) =", proto))
    meaning = {reason: comment for comment, reason in comments.items()}
    lines = [
        "Every failed call carries `google.rpc.ErrorInfo` (domain `memory-service`) with one of these reasons, and",
        "`google.rpc.BadRequest` naming the field when one is at fault.\n",
        "| code | reason | meaning |",
        "| --- | --- | --- |",
    ]
    for reason in Reason:
        code, _, text = meaning[reason.value].partition(": ")
        lines.append(f"| {code} | `{reason.value}` | {text[0].upper()}{text[1:]} |")
    return "# Errors\n\n" + _NOTE + "\n".join(lines) + "\n"


def main() -> int:
    """Write, or with `--check` compare; the exit code says whether all is as it would be written."""
    stale = []
    for name, content in (("configuration", configuration()), ("metrics", metrics()), ("errors", errors())):
        path = ROOT / "docs" / f"{name}.md"
        if "--check" not in sys.argv:
            path.write_text(content, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != content:
            stale.append(str(path.relative_to(ROOT)))
    if stale:
        print(f"not as the code would write them: {', '.join(stale)}; run .venv/bin/python tools/generate_docs.py")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
