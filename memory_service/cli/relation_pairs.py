"""Pairs of statements with the relations that would be right, from files of labelled pairs and of scenarios.

A scenario (a history of writes with questions between, as `eval-evolution` replays it) labels no pair, but its
expectations leave little choice: what a question shows as disputed is opposite; what a later answer drives out was
updated; what both belong to an answer, or to an exception, stand side by side; small talk goes with nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from memory_service.cli.evolution import Ask, Scenario, Write, scenario_of
from memory_service.cli.form import DatasetError, Form, lines_of, parsed
from memory_service.domain.relations import StatementRelation

LABELS = tuple(relation.value for relation in StatementRelation)
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
        DatasetError: naming the line that is neither, and what is wrong with it.
    """
    found: list[Pair] = []
    for number, text in enumerate(lines_of(path), start=1):
        if not text.strip():
            continue
        line = parsed(text, f"line {number}")
        if "steps" in line:
            found.extend(scenario_pairs(scenario_of(line), line.place))
        else:
            found.append(_labelled(line))
    return found


def _labelled(line: Form) -> Pair:
    label, name = line.text("label"), line.name("id")
    if label not in LABELS:
        raise line.wrong("label", f"one of {', '.join(LABELS)}")
    texts = (line.text("a"), line.text("b"))
    return Pair(name, line.text("language"), *texts, frozenset({label}), name, part=line.name("part", ""))


def scenario_pairs(scenario: Scenario, place: str = "a scenario") -> Iterator[Pair]:
    """Every write of a scenario against every earlier one for which its questions leave no doubt.

    Raises:
        DatasetError: a question names what nothing has said.
    """
    writes = [step for step in scenario.steps if isinstance(step, Write)]
    wanted = _wanted(scenario, writes, place)
    for earlier, later in combinations(writes, 2):
        small_talk = any(_SMALL_TALK_RE.fullmatch(step.ref) for step in (earlier, later))
        relations = wanted.get((earlier.ref, later.ref)) or (frozenset({"different"}) if small_talk else None)
        if relations is None:
            continue
        name = f"{scenario.id}:{earlier.ref}-{later.ref}"
        texts = (earlier.text, later.text)
        yield Pair(name, scenario.language, *texts, relations, scenario.id, scenario.family, small_talk=small_talk)


def _wanted(scenario: Scenario, writes: Sequence[Write], place: str) -> dict[tuple[str, str], frozenset[str]]:
    at = {step.ref: number for number, step in enumerate(writes)}
    asks = [step for step in scenario.steps if isinstance(step, Ask)]
    named = frozenset().union(*(a.expect_top | a.expect_in | a.expect_not_in | a.expect_contested for a in asks))
    if named - at.keys():
        raise DatasetError(f"{place}: a question names {min(named - at.keys())!r}, which nothing has said")
    now = [ask for ask in asks if ask.as_of is None]
    family = scenario.family
    over = {"update", "opposite"} if family in _WRONG_NOT_OVER else {"update"}
    wanted: dict[tuple[str, str], frozenset[str]] = {}
    for ask in asks:
        for first, second in combinations(sorted(ask.expect_contested, key=at.__getitem__), 2):
            wanted[first, second] = frozenset({"opposite"})
    if family not in ("exception", "decay", "event_vs_preference", "forget_then_relearn"):
        for ask in now:
            for first in ask.expect_not_in:
                for second in ask.expect_top:
                    if at[first] < at[second] and not _SMALL_TALK_RE.fullmatch(first + second):
                        wanted.setdefault((first, second), frozenset(over))
    for ask in now:
        top = ask.expect_top
        for first, second in combinations(sorted(top | ask.expect_in, key=at.__getitem__), 2):
            relations = _ONE_CLAIM if {first, second} <= top else _SIDE_BY_SIDE
            if family in ("reversal_and_back", "explicit_correction", "as_of"):
                # The value that came back stands again; that it replaces its own older statement does no harm.
                relations = relations | {"update"}
            wanted.setdefault((first, second), relations)
    for first, second in combinations(at, 2):
        if family == "exception" or "d" in (first[0], second[0]):
            wanted.setdefault((first, second), _SIDE_BY_SIDE)
    return {pair: rel for pair, rel in wanted.items() if not any(map(_SMALL_TALK_RE.fullmatch, pair))}
