"""Every guarantee in the docs names tests that exist."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def _tests() -> set[str]:
    found = set()
    for path in (ROOT / "tests").rglob("test_*.py"):
        found.add(str(path.relative_to(ROOT)))
        found.update(re.findall(r"def (test_\w+)\(", path.read_text(encoding="utf-8")))
    return found


def test_every_guarantee_names_a_test_that_exists() -> None:
    text = (ROOT / "docs/guarantees.md").read_text(encoding="utf-8").split("## What is not guaranteed")[0]
    named = set(re.findall(r"`((?:tests/\S+\.py)|(?:test_\w+))`", text))
    assert len(named) > 20
    assert named - _tests() == set()


def test_no_guarantee_goes_without_a_test() -> None:
    text = (ROOT / "docs/guarantees.md").read_text(encoding="utf-8").split("## What is not guaranteed")[0]
    lines = re.split(r"\n- ", text)[1:]
    assert [line for line in lines if "`test" not in line] == []
