"""How well memory copes with change: the scenarios, and the scoring of what it answered. Pure.

The form and the rules are those of the set's README: scenarios of writes, forgets and asks, each ask with
expectations over the first five results, where a memory stands for every ref it absorbed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

from memory_service.cli.form import Form, parsed

ANSWERS_MAX: Final = 5
"""Expectations are over so many results."""

EXPECTATIONS: Final = ("expect_top", "expect_in", "expect_not_in", "expect_contested")


@dataclass(frozen=True, slots=True)
class Write:
    """Something is said. `slot` is (subject, predicate, object) where the set gives one; `time_zone` an IANA name."""

    at: datetime
    ref: str
    text: str
    source: str
    session: str
    device: str
    time_zone: str
    slot: tuple[str, str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Forgetting:
    """The user asks for what `of` said to be forgotten."""

    at: datetime
    of: str


@dataclass(frozen=True, slots=True)
class Ask:
    """A question, and what is expected of the first five results; see the module.

    Attributes:
        number: 1, 2, 3 … within the scenario.
        after_forget: something was forgotten before; what must not be there must then not appear at all.
    """

    at: datetime
    number: int
    query: str
    as_of: datetime | None = None
    expect_top: frozenset[str] = frozenset()
    expect_in: frozenset[str] = frozenset()
    expect_not_in: frozenset[str] = frozenset()
    expect_contested: frozenset[str] = frozenset()
    after_forget: bool = False
    note: str = ""


@dataclass(frozen=True, slots=True)
class Look:
    """Nothing happens: a moment at which a simulation looks at what is remembered.

    Attributes:
        states: for a fact, the states (`State`) that its memories may be in then.
        once: facts that exactly one standing memory must state.
    """

    at: datetime
    states: Mapping[str, frozenset[str]] = field(default_factory=dict)
    once: frozenset[str] = frozenset()


Step = Write | Forgetting | Ask | Look


@dataclass(frozen=True, slots=True)
class Scenario:
    """One user's story; `title` says for people what it is about."""

    id: str
    language: str
    family: str
    steps: tuple[Step, ...]
    title: str = ""

    @property
    def slotted(self) -> bool:
        """Whether any of its writes has a slot."""
        return any(isinstance(step, Write) and step.slot is not None for step in self.steps)


@dataclass(frozen=True, slots=True)
class Shown:
    """One result, as an agent would see it.

    Attributes:
        refs: what it stands for.
        past: it says of itself that it no longer holds, or never did: no claim about the time asked about.
        contested: it is marked as disputed.
        text, score, note: for people.
    """

    refs: frozenset[str]
    past: bool = False
    contested: bool = False
    text: str = ""
    score: float = 0.0
    note: str = ""


class State(StrEnum):
    """Where a memory stands in its life, in one word."""

    REMEMBERED = "remembered"
    CANDIDATE = "candidate"
    CONTESTED = "contested"
    SUPERSEDED = "superseded"
    RETRACTED = "retracted"
    YIELDED = "yielded"
    EXPIRED = "expired"
    ARCHIVED = "archived"


@dataclass(frozen=True, slots=True)
class Held:
    """One memory that somebody keeps: its id, what it stands for, its state and its text."""

    id: str
    refs: frozenset[str]
    state: State
    text: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of one ask: for each expectation it had, whether it was met."""

    scenario: Scenario
    ask: Ask
    met: Mapping[str, bool]
    shown: Sequence[Shown] = ()

    @property
    def passed(self) -> bool:
        """Whether every expectation was met."""
        return all(self.met.values())


def read_scenarios(lines: Iterable[str], only: str = "", *, slotted_only: bool = False) -> list[Scenario]:
    """The scenarios of a set; with `only`, those of that family or id.

    Raises:
        DatasetError: a line that is none, with its number.
    """
    found = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        scenario = scenario_of(parsed(line, f"line {number}"))
        if only and only not in (scenario.id, scenario.family):
            continue
        if slotted_only and not scenario.slotted:
            continue
        found.append(scenario)
    return found


def scenario_of(data: Form) -> Scenario:
    """The scenario of a line.

    Raises:
        DatasetError: naming the line, the step and the field.
    """
    steps: list[Step] = []
    time_zone = data.zone("timezone").key
    asks, forgot = 0, False
    for step in data.forms("steps"):
        at = step.time("at")
        match step.any("op"):
            case "write":
                steps.append(_write(step, at, time_zone))
            case "forget":
                forgot = True
                steps.append(Forgetting(at, step.name("of")))
            case "ask":
                asks += 1
                as_of = step.time("as_of") if step.given("as_of") else None
                wanted = {name: step.names(name) for name in EXPECTATIONS}
                note = step.text("note", "")
                steps.append(Ask(at, asks, step.text("query"), as_of, **wanted, after_forget=forgot, note=note))
            case _:
                raise step.wrong("op", "one of write, forget, ask")
    if not steps:
        raise data.wrong("steps", "a list with a step at least")
    return Scenario(data.name("id"), data.text("language"), data.name("family"), tuple(steps))


def _write(step: Form, at: datetime, time_zone: str) -> Write:
    triple = None
    if step.given("slot"):
        slot = step.form("slot")
        triple = (slot.text("subject"), slot.text("predicate"), slot.any("object"))
    said = (step.text("text"), step.text("source"), step.name("session", ""), step.name("device", ""), time_zone)
    return Write(at, step.name("ref"), *said, triple)


def judge(scenario: Scenario, ask: Ask, shown: Sequence[Shown]) -> Verdict:
    """Whether what came back (best first) meets the ask's expectations.

    * `expect_top`: the first result stands for one of them.
    * `expect_in`: each is among the first five.
    * `expect_not_in`: none is among the first five unless marked as past. A disputed one is not past: it may
      still hold. After something was forgotten none may be there in any form.
    * `expect_contested`: each is among the first five, and everything there that stands for it is marked disputed.
    """
    first = list(shown[:ANSWERS_MAX])
    there = frozenset().union(*(one.refs for one in first))
    claimed = frozenset().union(*(one.refs for one in first if ask.after_forget or not one.past))
    settled = frozenset().union(*(one.refs for one in first if not one.contested))
    met: dict[str, bool] = {}
    if ask.expect_top:
        met["expect_top"] = bool(first) and bool(first[0].refs & ask.expect_top)
    if ask.expect_in:
        met["expect_in"] = ask.expect_in <= there
    if ask.expect_not_in:
        met["expect_not_in"] = not ask.expect_not_in & claimed
    if ask.expect_contested:
        met["expect_contested"] = ask.expect_contested <= there and not ask.expect_contested & settled
    return Verdict(scenario, ask, met, first)


def figures(verdicts: Sequence[Verdict]) -> dict[str, Any]:
    """The figures of a run. A share of nothing is null."""
    return {
        **_passed(verdicts),
        "by_family": _by(verdicts, lambda verdict: verdict.scenario.family),
        "by_language": _by(verdicts, lambda verdict: verdict.scenario.language),
        **{name: _share([v.met[name] for v in verdicts if name in v.met]) for name in EXPECTATIONS},
    }


def control_figures(verdicts: Sequence[Verdict]) -> dict[str, Any]:
    """The figures kept of a control."""
    return {
        "pass_rate": _share([verdict.passed for verdict in verdicts]),
        **{name: _share([v.met[name] for v in verdicts if name in v.met]) for name in EXPECTATIONS},
    }


def _passed(verdicts: Sequence[Verdict]) -> dict[str, Any]:
    passed = [verdict.passed for verdict in verdicts]
    return {"asks": len(passed), "passed": sum(passed), "pass_rate": _share(passed)}


def _by(verdicts: Sequence[Verdict], key: Callable[[Verdict], str]) -> dict[str, Any]:
    groups: dict[str, list[Verdict]] = {}
    for verdict in verdicts:
        groups.setdefault(key(verdict), []).append(verdict)
    return {name: _passed(group) for name, group in sorted(groups.items())}


def _share(hits: Sequence[bool]) -> float | None:
    return round(sum(hits) / len(hits), 4) if hits else None


@dataclass(slots=True)
class RefsOfMemory:
    """What one memory stands for, version by version.

    A restatement adds to what it stands for; a write that gives it another content replaces that from its version
    on, so that an answer about the past, which shows an earlier version, stands for what was said then.
    """

    _said: list[tuple[int, str, bool]] = field(default_factory=list)

    def note(self, ref: str, version: int, *, replaces: bool) -> None:
        """A write became this version of the memory."""
        self._said.append((version, ref, replaces))

    def at(self, version: int) -> frozenset[str]:
        """What the version stands for."""
        refs: set[str] = set()
        for since, ref, replaces in self._said:
            if since <= version:
                if replaces:
                    refs.clear()
                refs.add(ref)
        return frozenset(refs)

    @property
    def everything(self) -> frozenset[str]:
        """What any version stands for that later writes left standing."""
        return self.at(max((version for version, _, _ in self._said), default=0))
