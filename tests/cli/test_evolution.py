"""The scoring of change over time, on answers made by hand; and small scenarios through the real service."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from memory_service.adapters.embedders.factory import build_embedder
from memory_service.cli.evaluate_evolution import SERVICE, evaluate_evolution
from memory_service.cli.evolution import (
    Ask,
    RefsOfMemory,
    Scenario,
    Shown,
    Verdict,
    control_figures,
    figures,
    judge,
    read_scenarios,
)
from memory_service.cli.evolution_players import is_past
from memory_service.cli.form import DatasetError
from memory_service.client import Kind, Status
from tests.cli.conftest import Shell

START = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
SCENARIO = Scenario("s", "en", "update", ())


def shown(*places: str) -> list[Shown]:
    """ "a b" stands for both; "-a" says it is past, "?a" that it is disputed."""
    return [
        Shown(frozenset(place.strip("-?").split()), past=place.startswith("-"), contested=place.startswith("?"))
        for place in places
    ]


def met(answer: list[Shown], *, after_forget: bool = False, **wanted: str) -> dict[str, bool]:
    expected: Any = {f"expect_{name.strip('_')}": frozenset(refs.split()) for name, refs in wanted.items()}
    verdict = judge(SCENARIO, Ask(START, 1, "?", after_forget=after_forget, **expected), answer)
    return {name.removeprefix("expect_"): value for name, value in verdict.met.items()}


def test_top_is_the_first_place() -> None:
    assert met(shown("b", "a"), top="b")["top"]
    assert met(shown("x b", "a"), top="b c")["top"], "a merged memory counts as every ref it absorbed"
    assert not met(shown("a", "b"), top="b")["top"]
    assert not met([], top="b")["top"]


def test_in_wants_all_of_them_among_five() -> None:
    assert met(shown("x", "a b", "y"), in_="a b")["in"]
    assert not met(shown("a", "x"), in_="a b")["in"]
    assert not met(shown("1", "2", "3", "4", "5", "a"), in_="a")["in"], "the sixth is too far down"


def test_not_in_allows_what_says_it_is_past() -> None:
    assert met(shown("b", "-a"), not_in="a")["not_in"]
    assert met(shown("b", "x"), not_in="a")["not_in"]
    assert met(shown("1", "2", "3", "4", "5", "a"), not_in="a")["not_in"]
    assert not met(shown("b", "a"), not_in="a")["not_in"]
    assert not met(shown("b", "x a"), not_in="a c")["not_in"]
    assert not met(shown("b", "?a"), not_in="a")["not_in"], "what is disputed may still hold: it is not past"
    assert not met(shown("b", "-a", "a"), not_in="a")["not_in"], "one that is past does not excuse one that is not"


def test_after_forgetting_nothing_may_appear_in_any_form() -> None:
    assert not met(shown("b", "-a"), not_in="a", after_forget=True)["not_in"]
    assert met(shown("b"), not_in="a", after_forget=True)["not_in"]


def test_contested_wants_all_there_and_none_settled() -> None:
    assert met(shown("?a", "?b", "x"), contested="a b")["contested"]
    assert not met(shown("?a", "b"), contested="a b")["contested"]
    assert not met(shown("?a"), contested="a b")["contested"], "silence is no dispute"
    assert not met(shown("?a", "?b", "a"), contested="a b")["contested"], "disputed here and settled there"


def test_an_ask_passes_when_all_of_it_holds() -> None:
    def verdict(*answer: str) -> Verdict:
        ask = Ask(START, 1, "?", expect_top=frozenset("b"), expect_not_in=frozenset("a"))
        return judge(SCENARIO, ask, shown(*answer))

    assert verdict("b", "-a").passed
    assert not verdict("b", "a").passed
    assert not verdict("x", "b").passed
    assert judge(SCENARIO, Ask(START, 1, "?"), []).passed, "nothing claimed, nothing broken"


def test_figures_by_hand() -> None:
    other = Scenario("z", "zh", "decay", ())
    top, both = Ask(START, 1, "?", expect_top=frozenset("b")), Ask(START, 2, "?", expect_top=frozenset("b"))
    verdicts = [
        judge(SCENARIO, top, shown("b")),
        judge(SCENARIO, both, shown("a")),
        judge(other, top, shown("a")),
        judge(other, Ask(START, 3, "?", expect_in=frozenset("a")), shown("x", "a")),
    ]
    found = figures(verdicts)
    assert (found["asks"], found["passed"], found["pass_rate"]) == (4, 2, 0.5)
    assert found["by_family"]["update"] == {"asks": 2, "passed": 1, "pass_rate": 0.5}
    assert found["by_language"]["zh"] == {"asks": 2, "passed": 1, "pass_rate": 0.5}
    assert found["expect_top"] == pytest.approx(1 / 3, abs=1e-4)
    assert (found["expect_in"], found["expect_contested"]) == (1.0, None)
    assert control_figures(verdicts)["pass_rate"] == 0.5


def test_a_version_stands_for_what_was_said_up_to_it() -> None:
    refs = RefsOfMemory()
    refs.note("a", 1, replaces=False)
    refs.note("b", 2, replaces=False)
    refs.note("c", 3, replaces=True)
    refs.note("d", 4, replaces=False)
    assert [refs.at(version) for version in (0, 1, 2, 3, 4, 9)] == [
        frozenset(),
        frozenset("a"),
        frozenset("ab"),
        frozenset("c"),
        frozenset("cd"),
        frozenset("cd"),
    ]


class _Memory:
    def __init__(self, status: Status = Status.ACTIVE, valid_from: Any = None, valid_to: Any = None) -> None:
        self.status, self.valid_from, self.valid_to, self.expires_at = status, valid_from, valid_to, None
        self.kind = Kind.FACT


def past(memory: Any, as_of: datetime | None = None) -> bool:
    return is_past(memory, as_of, START)


def test_what_is_superseded_now_may_have_held_then() -> None:
    day = timedelta(days=1)
    ended = _Memory(Status.SUPERSEDED, START - 9 * day, START - 2 * day)
    assert past(ended)
    assert not past(ended, START - 5 * day)
    assert past(ended, START - day), "ended before the time asked about"
    assert past(ended, START - 10 * day), "had not begun"
    assert past(_Memory(Status.RETRACTED), START - 5 * day), "was never true"
    assert not past(_Memory(Status.CONTESTED))
    assert past(_Memory(valid_from=START + day)), "what has not begun is no claim about now"
    assert not past(_Memory(valid_from=START + day), START + 2 * day)


def test_a_line_that_is_no_scenario_is_named() -> None:
    with pytest.raises(DatasetError, match="line 2"):
        read_scenarios(["", '{"id": "x"}'])
    bad = {**_scenario("x"), "steps": [{"at": "2026-01-05T09:00:00", "op": "forget", "of": "a"}]}
    with pytest.raises(DatasetError, match="offset"):
        read_scenarios([json.dumps(bad)])


def _step(days: float, op: str, **fields: Any) -> dict[str, Any]:
    return {"at": (START + timedelta(days=days)).isoformat(), "op": op, **fields}


def _said(days: float, ref: str, text: str, value: str = "", **fields: Any) -> dict[str, Any]:
    step = _step(days, "write", text=text, source="explicit", session=f"s{ref}", device="phone", ref=ref) | fields
    return step | ({"slot": {"subject": "user", "predicate": "location", "object": value}} if value else {})


def _scenario(name: str, *steps: dict[str, Any], family: str = "update", language: str = "en") -> dict[str, Any]:
    return {"id": name, "language": language, "family": family, "timezone": "Europe/Berlin", "steps": list(steps)}


MOVED = _scenario(
    "en-moved",
    _said(0, "a", "I live in Lisbon.", "Lisbon"),
    _said(20, "b", "I live in Porto now.", "Porto"),
    _step(30, "ask", query="Where do I live?", expect_top=["b"], expect_not_in=["a"]),
    _step(30, "ask", query="Where did I live?", expect_top=["a"], expect_not_in=["b"], as_of=_step(10, "")["at"]),
    _step(30.1, "ask", query="Where do I live?", expect_top=["nobody"]),
)
FORGOTTEN = _scenario(
    "zh-forgotten",
    _said(1, "a", "我住在北京朝阳区。", "北京"),
    _said(2, "n1", "今天下雨了。"),
    _step(3, "forget", of="a"),
    _said(9, "b", "我住在北京朝阳区。", "北京", source="inferred", device="tablet"),
    _step(10, "ask", query="我住在哪里？", expect_not_in=["a", "b"]),
    family="forget_then_relearn",
    language="zh",
)


async def test_scenarios_through_the_real_service() -> None:
    scenarios = read_scenarios([json.dumps(MOVED), json.dumps(FORGOTTEN)])
    embedder = build_embedder("hash", cache_dir=Path(), openai=None, threads=1)
    outcome = await evaluate_evolution(scenarios, use_slots=True, in_memory=True, embedder=embedder)
    verdicts = outcome.verdicts[SERVICE]
    assert [(v.scenario.id, v.ask.number, v.passed) for v in verdicts] == [
        ("en-moved", 1, True),
        ("en-moved", 2, True),
        ("en-moved", 3, False),
        ("zh-forgotten", 1, True),
    ]
    report = outcome.report()
    assert list(report) == [
        *("asks", "passed", "pass_rate", "by_family", "by_language"),
        *("expect_top", "expect_in", "expect_not_in", "expect_contested", "controls"),
    ]
    controls = report["controls"]
    assert controls["append_only"]["expect_not_in"] < controls["last_write_wins"]["expect_not_in"], (
        "nothing ever gives way in the one; in the other a slot's new value does"
    )
    assert controls["last_write_wins"]["pass_rate"] < report["pass_rate"], "it knows nothing of the past"


def test_only_and_slots_choose_scenarios() -> None:
    plain = _scenario("en-plain", _said(0, "a", "hello"))
    lines = [json.dumps(scenario) for scenario in (MOVED, FORGOTTEN, plain)]
    assert [s.id for s in read_scenarios(lines, "forget_then_relearn")] == ["zh-forgotten"]
    assert [s.id for s in read_scenarios(lines, "en-plain")] == ["en-plain"]
    assert [s.id for s in read_scenarios(lines, slotted_only=True)] == ["en-moved", "zh-forgotten"]


def test_the_command(shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORY_SERVICE_EMBEDDER", "hash")
    # The runner's standard error is closed afterwards, and loggers of later tests would hold on to it.
    monkeypatch.setattr("memory_service.logs.configure", lambda *_: None)
    path = tmp_path / "set.jsonl"
    path.write_text("\n".join(json.dumps(scenario) for scenario in (MOVED, FORGOTTEN)))
    printed = shell("eval-evolution", str(path), "--use-slots", "--verbose").stdout
    assert "en-moved ask 3" in printed
    assert "expect_top nobody: missed" in printed
    assert "en-moved ask 1" not in printed
    assert "last write wins" in printed
    shell("eval-evolution", str(path), "--only", "none-such", code=2)
    path.write_text("{}")
    assert "line 1" in shell("eval-evolution", str(path), code=2).stderr
