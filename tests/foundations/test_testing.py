"""Every bug in the record names the test that holds it now."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def rows() -> list[list[str]]:
    text = (ROOT / "docs/testing.md").read_text(encoding="utf-8").split("## Bugs that tests found")[1]
    return [line.strip("|").split("|") for line in text.splitlines() if line.startswith("| ")][1:]


def test_every_bug_in_the_record_names_a_test_that_exists() -> None:
    there = set()
    for path in (ROOT / "tests").rglob("test_*.py"):
        there.update(re.findall(r"def (test_\w+)\(", path.read_text(encoding="utf-8")))
    assert len(rows()) > 10
    for bug, _, held in rows():
        names = re.findall(r"`(test_\w+)`", held)
        assert names, bug
        assert set(names) <= there, bug
