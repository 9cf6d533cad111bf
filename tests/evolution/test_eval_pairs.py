"""`eval-pairs`, and what a scenario says of its pairs."""

from __future__ import annotations

import json
from pathlib import Path

from typer.testing import CliRunner

from memory_service.cli.app import app
from memory_service.cli.evaluate_pairs import confusion_figures, scenario_figures
from memory_service.cli.evolution import scenario_of
from memory_service.cli.form import Form
from memory_service.cli.relation_pairs import Pair, scenario_pairs

RUNNER = CliRunner()
PAIRS: list[dict[str, object]] = [
    {"id": "1", "language": "en", "a": "I eat fish.", "b": "I eat fish!", "label": "paraphrase"},
    {"id": "2", "language": "zh", "a": "我会开车。", "b": "我不会开车。", "label": "opposite"},
]


def _file(path: Path, items: list[dict[str, object]]) -> str:
    path.write_text("".join(json.dumps(item) + "\n" for item in items), encoding="utf-8")
    return str(path)


def test_labelled_pairs_as_json_and_as_tables(tmp_path: Path) -> None:
    file = _file(tmp_path / "pairs.jsonl", PAIRS)
    shown = RUNNER.invoke(app, ["eval-pairs", file, "--words-only", "--json"])
    assert shown.exit_code == 0, shown.output
    found = json.loads(shown.stdout)
    assert found["pairs"] == 2
    assert found["confusion"]["paraphrase"]["paraphrase"] == 1
    assert found["merge_precision"] == 1
    assert set(found["by_language"]) == {"en", "zh"}
    assert "accuracy" in RUNNER.invoke(app, ["eval-pairs", file, "--words-only"]).stdout


def test_what_is_no_pair_is_named_by_its_line(tmp_path: Path) -> None:
    shown = RUNNER.invoke(app, ["eval-pairs", _file(tmp_path / "p.jsonl", [*PAIRS, {"id": "3"}]), "--json"])
    assert shown.exit_code == 2
    assert "line 3" in json.loads(shown.stdout)["error"]["message"]
    assert RUNNER.invoke(app, ["eval-pairs", _file(tmp_path / "none.jsonl", [])]).exit_code == 2


def test_confusion_by_hand() -> None:
    def pair(name: str, label: str) -> Pair:
        return Pair(name, "en", "a", "b", frozenset({label}), name)

    found = confusion_figures(
        [
            (pair("1", "paraphrase"), "paraphrase"),
            (pair("2", "update"), "paraphrase"),
            (pair("3", "update"), "update"),
            (pair("4", "different"), "different"),
        ]
    )
    assert found["accuracy"] == 0.75
    assert found["merge_precision"] == 0.5
    assert found["merged_wrongly"] == {"update": ["2"]}
    assert found["recall"]["update"] == 0.5
    assert found["recall"]["opposite"] is None


AT = "2026-01-05T09:00:00Z"


def _scenario() -> dict[str, object]:
    def write(ref: str, text: str) -> dict[str, object]:
        return {"op": "write", "at": AT, "ref": ref, "text": text, "source": "explicit"}

    def ask(**expected: object) -> dict[str, object]:
        return {"op": "ask", "at": AT, "query": "?", **expected}

    steps = [
        write("a", "My desk is in room 4."),
        write("n1", "A gull stole my sandwich."),
        write("b", "My desk has moved to room 9."),
        ask(expect_top=["b"], expect_not_in=["a"]),
        ask(expect_top=["a"], as_of="2026-01-01T00:00:00Z"),
    ]
    return {"id": "en-update-x", "language": "en", "family": "update", "timezone": "UTC", "steps": steps}


def test_a_scenario_leaves_little_choice() -> None:
    scenario = scenario_of(Form.of(_scenario(), "a scenario"))
    pairs = {pair.id.split(":")[1]: pair for pair in scenario_pairs(scenario)}
    assert pairs["a-b"].wanted == {"update"}
    assert pairs["a-n1"].wanted == {"different"}
    assert pairs["a-n1"].small_talk
    harmless = scenario_figures([(pairs["a-b"], "update"), (pairs["a-n1"], "refinement")])
    assert (harmless["scenarios_right"], harmless["pairs_right"]) == (1, 0.5)
    harmful = scenario_figures([(pairs["a-b"], "update"), (pairs["a-n1"], "update")])
    assert harmful["scenarios_right"] == 0


def test_scenarios_are_judged(tmp_path: Path) -> None:
    file = _file(tmp_path / "scenarios.jsonl", [_scenario()])
    found = json.loads(RUNNER.invoke(app, ["eval-pairs", file, "--words-only", "--json"]).stdout)
    assert found["scenarios"] == 1
    assert found["by_family"] == {"update": found["scenarios_right"]}
    assert RUNNER.invoke(app, ["eval-pairs", file, "--words-only"]).exit_code == 0
