"""Lives to simulate: how a scenario file is read, and the figures of how memory coped with it (E19, P12). Pure.

A file is one JSON object: `id`, `title`, `language`, `time_zone` (IANA), `start` (the date of day 0), `about`
(requirement ids) and `steps`. Every step has a `day` (0, 1, 2 …), may have a `time` ("HH:MM", local, 09:00 without),
and is one of:

* `say`: a text; `fact` names what it states (several may state the same one), `slot` [subject, predicate, object]
  gives it as an assertion, `source`, `session` and `device` are as in the API.
* `chat`: a list of remarks that nobody will ask about, one in every `every` days (1 without).
* `forget`: the user asks that this fact be forgotten.
* `ask`: a question; `key` are facts that the answer must have, `old` facts that must have given way or lapsed,
  `contested` facts that must be shown as disputed, `as_of_day` asks what held on that day.
* `state`: for facts, the state that their memories must be in by then ("remembered", "candidate", "contested",
  "superseded", "retracted", "expired", "archived"; several with "|"); facts in `once` must be stated by one alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import Any, Final
from zoneinfo import ZoneInfo

from memory_service.cli.evolution import (
    ANSWERS_MAX,
    Ask,
    Forgetting,
    Held,
    Look,
    Scenario,
    Shown,
    State,
    Step,
    Write,
)
from memory_service.cli.form import DatasetError, Form, later, parsed, text_of

LOOK_EVERY: Final = timedelta(days=7)
DAYS_MAX: Final = 36_500
"""Longest life, from its first day to its last, in days."""
_TRIPLE: Final = 3
_LIFE: Final = frozenset({"id", "title", "language", "time_zone", "start", "about", "steps", "note"})
_OPS: Final = {
    "say": {"fact", "slot", "source", "session", "device"},
    "chat": {"every"},
    "forget": set[str](),
    "ask": {"key", "old", "contested", "as_of_day"},
    "state": {"once"},
}
_GONE: Final = frozenset({State.SUPERSEDED, State.RETRACTED})


def read_lives(path: Path) -> list[Scenario]:
    """The scenario of a file, or those of every `*.json` of a folder by name.

    Raises:
        DatasetError: naming the file, and what is wrong with it.
    """
    files = sorted(path.glob("*.json")) if path.is_dir() else [path]
    if not files:
        raise DatasetError(f"{path} has no scenario (*.json)")
    lives = []
    for file in files:
        try:
            lives.append(_life(parsed(text_of(file), "the file")))
        except DatasetError as error:
            raise DatasetError(f"{file} is not a scenario: {error}") from None
    names = [life.id for life in lives]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise DatasetError(f"{path}: two scenarios have the id {min(twice)}")
    return lives


def _life(data: Form) -> Scenario:
    data.only(_LIFE)
    zone, start = data.zone("time_zone"), _start(data)
    steps: list[Step] = []
    stated: set[str] = set()
    asks, forgot = 0, False
    for number, step in enumerate(data.forms("steps"), 1):
        op = _op(step)
        at = _at(step, start, zone, "day", step.text("time", "09:00"))
        if op == "say":
            steps.append(_say(step, number, at, zone.key))
            stated.add(step.text("fact", ""))
        elif op == "chat":
            steps += _chat(step, number, at, zone.key)
        elif op == "forget":
            of = step.text("forget")
            _known(step, {of}, stated)
            forgot = True
            steps.append(Forgetting(at, of))
        elif op == "state":
            look = _look(step, at)
            _known(step, {*look.states, *look.once}, stated)
            steps.append(look)
        else:
            asks += 1
            ask = _ask(step, at, asks, start, zone)
            _known(step, ask.expect_in | ask.expect_not_in | ask.expect_contested, stated)
            steps.append(replace(ask, after_forget=forgot))
    if not steps:
        raise data.wrong("steps", "a list with a step at least")
    if [step.at for step in steps if isinstance(step, Ask)] != sorted(s.at for s in steps if isinstance(s, Ask)):
        raise DatasetError(f"{data.place}: the steps are not in order of time")
    steps.sort(key=lambda one: one.at)
    about = ", ".join(data.texts("about"))
    return Scenario(data.text("id"), data.text("language"), about, tuple(steps), data.text("title"))


def _op(step: Form) -> str:
    ops = [name for name in _OPS if name in step]
    if len(ops) != 1:
        raise DatasetError(f"{step.place} must be one of {', '.join(_OPS)}")
    step.only(_OPS[ops[0]] | {ops[0], "day", "time", "note"})
    return ops[0]


def _known(step: Form, facts: set[str] | frozenset[str], stated: set[str]) -> None:
    unknown = facts - stated
    if unknown:
        raise DatasetError(f"{step.place} names the fact {min(unknown)!r}, which nothing has stated")


def _start(data: Form) -> date:
    try:
        start = date.fromisoformat(data.text("start"))
    except ValueError:
        raise data.wrong("start", "a date such as 2026-01-31") from None
    data.checked_time("start", datetime.combine(start, time(), UTC))
    return start


def _at(step: Form, start: date, zone: ZoneInfo, name: str, at: str) -> datetime:
    day = step.whole(name, minimum=0, maximum=DAYS_MAX)
    try:
        clock = time.fromisoformat(at)
    except ValueError:
        raise step.wrong("time", "a time of day such as 09:30") from None
    if clock.tzinfo is not None:
        raise step.wrong("time", "a time of day without an offset: it is local")
    return step.checked_time(name, datetime.combine(start + timedelta(days=day), clock, zone))


def _say(step: Form, number: int, at: datetime, time_zone: str) -> Write:
    return Write(
        at=at,
        ref=step.text("fact", "") or f"~{number}",
        text=step.text("say"),
        source=step.text("source", "explicit"),
        session=step.text("session", f"day-{step.any('day')}"),
        device=step.text("device", "phone"),
        time_zone=time_zone,
        slot=_slot(step) if step.given("slot") else None,
    )


def _slot(step: Form) -> tuple[str, str, Any]:
    slot = step.any("slot")
    if not isinstance(slot, list) or len(slot) != _TRIPLE or not all(isinstance(part, str) for part in slot[:2]):
        raise step.wrong("slot", "a list of subject, predicate and object")
    return slot[0], slot[1], slot[2]


def _chat(step: Form, number: int, at: datetime, time_zone: str) -> Iterator[Write]:
    every = timedelta(days=step.whole("every", 1, minimum=1, maximum=DAYS_MAX))
    for place, text in enumerate(step.texts("chat")):
        said = later(step, "every", at, every, place)
        session = f"chat-{said:%Y-%m-%d}"
        yield Write(said, f"~{number}.{place}", text, "explicit", session, "phone", time_zone)


def _ask(step: Form, at: datetime, number: int, start: date, zone: ZoneInfo) -> Ask:
    return Ask(
        at=at,
        number=number,
        query=step.text("ask"),
        as_of=_at(step, start, zone, "as_of_day", "12:00") if step.given("as_of_day") else None,
        expect_in=frozenset(step.texts("key", ())),
        expect_not_in=frozenset(step.texts("old", ())),
        expect_contested=frozenset(step.texts("contested", ())),
        note=step.text("note", ""),
    )


def _look(step: Form, at: datetime) -> Look:
    wanted = step.form("state")
    states = {fact: frozenset(wanted.text(fact).split("|")) for fact, _ in wanted.items()}
    unknown = frozenset().union(*states.values()) - set(State)
    if unknown:
        raise DatasetError(f"{wanted.place}: {min(unknown)!r} is not a state; they are {', '.join(State)}")
    return Look(at, states, frozenset(step.texts("once", ())))


def with_looks(life: Scenario, every: timedelta = LOOK_EVERY) -> Scenario:
    """The same life with moments in between at which nothing happens but a look at what is remembered."""
    first, last = life.steps[0].at, life.steps[-1].at
    looks = (Look(first + number * every) for number in range(1, (last - first) // every + 1))
    steps = sorted((*life.steps, *looks), key=lambda step: step.at)
    return replace(life, steps=tuple(steps))


@dataclass(frozen=True, slots=True)
class Answered:
    """One question's outcome: what came back (best first), and what was held then (None: nothing ever is)."""

    life: str
    ask: Ask
    shown: Sequence[Shown]
    held: Sequence[Held] | None


@dataclass(frozen=True, slots=True)
class Checked:
    """Whether a fact was in one of the states it had to be in (or stated once); `found` says how it was."""

    life: str
    at: datetime
    fact: str
    wanted: str
    found: str
    met: bool


def check(life: str, look: Look, held: Sequence[Held] | None) -> list[Checked]:
    """What became of the expectations of a look.

    All memories of a fact that still stand must be in a state wanted; those that gave way count when none stands.
    """
    found = []
    for fact, wanted in look.states.items():
        about = [one.state for one in held or () if fact in one.refs]
        states = [state for state in about if state not in _GONE] or about
        met = bool(states) and all(state.value in wanted for state in states)
        found.append(Checked(life, look.at, fact, "|".join(sorted(wanted)), ", ".join(states) or "gone", met))
    for fact in sorted(look.once):
        times = sum(fact in one.refs and one.state not in _GONE for one in held or ())
        found.append(Checked(life, look.at, fact, "one memory", f"{times} memories", times == 1))
    return found


def figures(answers: Sequence[Answered], checks: Sequence[Checked] = ()) -> dict[str, Any]:
    """What a set of lives came to; a share of nothing is null.

    * `recall_at_5` (E19): share of a question's key facts among the first five and not marked as past; averaged
      over the questions that have any.
    * `timeliness` (E19): share of the questions with facts that must have given way in which the first memory that
      speaks for the present and is about the matter states a key fact, and no old one.
    * `pollution_rate` (P12): share of the memories returned that state an old fact as if it held. After the user
      asked to forget, one that is returned at all counts.
    * `false_overwrite_rate`: share of the key facts, at each question about the present, that are superseded,
      retracted or gone, or are merged with another fact.
    * `contested` (E5): share of the questions with disputed facts in which all of them are shown, each as disputed.
    * `states` (E3, E5, E6, E9, E17): share of the expectations of where a fact stands in its life that were met.
    """
    return {
        "questions": len(answers),
        "recall_at_5": _mean([_recall(one) for one in answers if one.ask.expect_in]),
        "timeliness": _mean([_timely(one) for one in answers if one.ask.expect_in and one.ask.expect_not_in]),
        "pollution_rate": _mean([polluted for one in answers for polluted in _pollution(one)]),
        "false_overwrite_rate": _mean([lost for one in answers for lost in _overwritten(one)]),
        "contested": _mean([_disputed(one) for one in answers if one.ask.expect_contested]),
        "states": _mean([one.met for one in checks]),
    }


def misses(one: Answered) -> list[str]:
    """What is wrong with an answer, in words; empty when nothing is."""
    found = []
    if one.ask.expect_in and _recall(one) < 1:
        found.append("a key fact is missing")
    if one.ask.expect_in and one.ask.expect_not_in and not _timely(one):
        found.append("the present version is not first")
    if any(_pollution(one)):
        found.append("an old fact is told as if it held")
    if any(_overwritten(one)):
        found.append("a key fact was overwritten")
    if one.ask.expect_contested and not _disputed(one):
        found.append("a dispute is not shown")
    return found


def _first(one: Answered) -> Sequence[Shown]:
    return one.shown[:ANSWERS_MAX]


def _recall(one: Answered) -> float:
    told = frozenset().union(*(shown.refs for shown in _first(one) if not shown.past))
    return len(one.ask.expect_in & told) / len(one.ask.expect_in)


def _timely(one: Answered) -> bool:
    about = one.ask.expect_in | one.ask.expect_not_in
    first = next((shown for shown in _first(one) if not shown.past and shown.refs & about), None)
    return first is not None and bool(first.refs & one.ask.expect_in) and not first.refs & one.ask.expect_not_in


def _pollution(one: Answered) -> list[bool]:
    strict = one.ask.after_forget
    return [bool(shown.refs & one.ask.expect_not_in) and (strict or not shown.past) for shown in _first(one)]


def _overwritten(one: Answered) -> list[bool]:
    if one.held is None or one.ask.as_of is not None:
        return []
    standing = [held for held in one.held if held.state not in _GONE]
    return [not any(fact in held.refs and len(held.refs) == 1 for held in standing) for fact in one.ask.expect_in]


def _disputed(one: Answered) -> bool:
    told = frozenset().union(*(shown.refs for shown in _first(one)))
    settled = frozenset().union(*(shown.refs for shown in _first(one) if not shown.contested))
    return one.ask.expect_contested <= told and not one.ask.expect_contested & settled


def _mean(values: Sequence[float | bool]) -> float | None:
    return round(sum(values) / len(values), 4) if values else None
