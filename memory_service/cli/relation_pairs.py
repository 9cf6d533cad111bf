"""Pairs of statements with the relations that would be right, from files of labelled pairs and of scenarios.

A scenario (a history of writes with questions between, as `eval-evolution` replays it) labels no pair, but its
expectations leave little choice: what a question shows as disputed is opposite; what a later answer drives out was
updated; what both belong to an answer, or to an exception, stand side by side; small talk goes with nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

_SMALL_TALK_RE = re.compile(r"n\d+")
_SIDE_BY_SIDE = frozenset({"different", "refinement"})
_ONE_CLAIM = _SIDE_BY_SIDE | {"paraphrase"}
_WRONG_NOT_OVER = ("contradiction", "explicit_correction")


@dataclass(frozen=True, slots=True)
class Pair:
    """Two statements, the earlier first, and the relations that are right.

    Attributes:
        wanted: one for a labelled pair, several where a scenario allows several.
        group: the scenario the pair is of, or its own id.
        small_talk: whether one of the two is about nothing.
    """

    id: str
    language: str
    earlier: str
    later: str
    wanted: frozenset[str]
    group: str
    family: str = ""
    part: str = ""
    small_talk: bool = False


def read_pairs(path: Path) -> list[Pair]:
    """The pairs of a file, a JSON object a line: labelled pairs or scenarios.

    Raises:
        ValueError: naming the line that is neither.
    """
    found: list[Pair] = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if not line.strip():
            continue
        try:
            item = json.loads(line)
            if "steps" in item:
                found.extend(scenario_pairs(item))
            else:
                label = frozenset({str(item["label"])})
                part = str(item.get("part", ""))
                name = str(item["id"])
                found.append(
                    Pair(name, str(item["language"]), str(item["a"]), str(item["b"]), label, name, part=part)
                )
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"line {number} is neither a labelled pair nor a scenario: {error!r}") from error
    return found


def scenario_pairs(scenario: Mapping[str, Any]) -> Iterator[Pair]:
    """Every write of a scenario against every earlier one for which its questions leave no doubt."""
    writes = [step for step in scenario["steps"] if step["op"] == "write"]
    wanted = _wanted(scenario, writes)
    for earlier, later in combinations(writes, 2):
        small_talk = any(_SMALL_TALK_RE.fullmatch(step["ref"]) for step in (earlier, later))
        relations = wanted.get((earlier["ref"], later["ref"])) or (frozenset({"different"}) if small_talk else None)
        if relations is None:
            continue
        name = f"{scenario['id']}:{earlier['ref']}-{later['ref']}"
        texts = (earlier["text"], later["text"])
        yield Pair(
            name, scenario["language"], *texts, relations, scenario["id"], scenario["family"], small_talk=small_talk
        )


def _wanted(
    scenario: Mapping[str, Any], writes: Sequence[Mapping[str, Any]]
) -> dict[tuple[str, str], frozenset[str]]:
    at = {step["ref"]: place for place, step in enumerate(writes)}
    asks = [step for step in scenario["steps"] if step["op"] == "ask"]
    now = [step for step in asks if not step.get("as_of")]
    family = scenario["family"]
    over = {"update", "opposite"} if family in _WRONG_NOT_OVER else {"update"}
    wanted: dict[tuple[str, str], frozenset[str]] = {}
    for ask in asks:
        for first, second in combinations(sorted(ask.get("expect_contested", ()), key=at.__getitem__), 2):
            wanted[first, second] = frozenset({"opposite"})
    if family not in ("exception", "decay", "event_vs_preference", "forget_then_relearn"):
        for ask in now:
            for first in ask["expect_not_in"]:
                for second in ask["expect_top"]:
                    if at[first] < at[second] and not _SMALL_TALK_RE.fullmatch(first + second):
                        wanted.setdefault((first, second), frozenset(over))
    for ask in now:
        top = set(ask["expect_top"])
        for first, second in combinations(sorted({*top, *ask["expect_in"]}, key=at.__getitem__), 2):
            relations = _ONE_CLAIM if {first, second} <= top else _SIDE_BY_SIDE
            if family in ("reversal_and_back", "explicit_correction", "as_of"):
                # The value that came back stands again; that it replaces its own older statement does no harm.
                relations = relations | {"update"}
            wanted.setdefault((first, second), relations)
    for first, second in combinations(at, 2):
        if family == "exception" or "d" in (first[0], second[0]):
            wanted.setdefault((first, second), _SIDE_BY_SIDE)
    return {pair: rel for pair, rel in wanted.items() if not any(map(_SMALL_TALK_RE.fullmatch, pair))}
