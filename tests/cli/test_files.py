"""Input files of commands that are not as they must be: a clear error with its place, whatever is wrong."""

from __future__ import annotations

import contextlib
import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from memory_service.cli.app import app
from memory_service.cli.dataset import read_set
from memory_service.cli.evolution import read_scenarios
from memory_service.cli.form import DatasetError, lines_of
from memory_service.cli.relation_pairs import read_pairs
from memory_service.cli.simulation import read_lives, with_looks

RUNNER = CliRunner()
LIFE: dict[str, Any] = {
    "id": "x",
    "title": "A life",
    "language": "en",
    "time_zone": "Europe/Berlin",
    "start": "2026-01-05",
    "about": ["E2"],
    "steps": [
        {"day": 0, "say": "I live in Bonn.", "fact": "bonn", "slot": ["user", "location", "Bonn"]},
        {"day": 1, "chat": ["Rain again.", "A fox."], "every": 3},
        {"day": 5, "time": "20:00", "state": {"bonn": "remembered"}, "once": ["bonn"]},
        {"day": 7, "ask": "Where do I live?", "key": ["bonn"], "as_of_day": 2},
        {"day": 8, "forget": "bonn"},
    ],
}
SCENARIO: dict[str, Any] = {
    "id": "s",
    "language": "en",
    "family": "update",
    "timezone": "UTC",
    "steps": [
        {
            "at": "2026-01-05T09:00:00Z",
            "op": "write",
            "ref": "a",
            "text": "My desk is here.",
            "source": "explicit",
            "session": "one",
            "device": "phone",
            "slot": {"subject": "user", "predicate": "desk", "object": 4},
        },
        {
            "at": "2026-01-06T09:00:00Z",
            "op": "ask",
            "query": "Where?",
            "expect_top": ["a"],
            "as_of": "2026-01-05T10:00:00Z",
        },
        {"at": "2026-01-07T09:00:00Z", "op": "forget", "of": "a"},
    ],
}
PAIR: dict[str, Any] = {"id": "1", "language": "en", "a": "I like tea", "b": "I love tea", "label": "paraphrase"}
MEMORY = {"type": "memory", "owner": "a", "id": "m", "text": "I like tea", "order": 1, "time": "2026-01-05T09:00:00Z"}
QUESTION = {"type": "question", "owner": "a", "id": "q", "text": "?", "evidence": ["m"], "visible_before_order": 3}

Reader = Callable[[Path], object]


def evaluation(path: Path) -> object:
    return read_set(lines_of(path))


def scenarios(path: Path) -> object:
    return read_scenarios(lines_of(path))


def lives(path: Path) -> object:
    return [with_looks(life) for life in read_lives(path)]


READERS: dict[str, tuple[Reader, list[dict[str, Any]]]] = {
    "simulate": (lives, [LIFE]),
    "eval-evolution": (scenarios, [SCENARIO]),
    "eval-pairs": (read_pairs, [SCENARIO, PAIR]),
    "eval": (evaluation, [MEMORY, QUESTION]),
}
COMMANDS = {
    "simulate": ["simulate", "--no-controls", "--scenario"],
    "eval-evolution": ["eval-evolution"],
    "eval-pairs": ["eval-pairs"],
    "eval": ["eval"],
}

odd = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**30), 10**30),
    st.sampled_from([0, -1, 1, 10**400, 2**53, 366 * 9000]),
    st.floats(allow_nan=True, allow_infinity=True),
    st.sampled_from(
        [
            "",
            "x",
            "\ud800",
            "\0",
            "9999-12-31T23:59:59-12:00",
            "0001-01-01T00:00:00+14:00",
            "9999-12-31",
            "10000-01-01",
        ]
    ),
    st.sampled_from(["24:00", "09:00+02:00", "Etc", "../UTC", "2026-13-01", "nan", "bonn", "P1D"]),
    st.text(max_size=5),
    st.lists(st.one_of(st.none(), st.integers(), st.text(max_size=3)), max_size=4),
    st.dictionaries(st.text(max_size=3), st.one_of(st.none(), st.integers(), st.text(max_size=3)), max_size=3),
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every field and item of a JSON value."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [here for key, inner in items for here in ((*path, key), *places(inner, (*path, key)))]


def changed(values: list[dict[str, Any]], path: tuple[Any, ...], new: Any) -> list[dict[str, Any]]:
    made = copy.deepcopy(values)
    at: Any = made
    for key in path[:-1]:
        at = at[key]
    if new is ...:
        del at[path[-1]]
    else:
        at[path[-1]] = new
    return made


@pytest.mark.parametrize("command", READERS)
@settings(max_examples=400, deadline=None)
@given(data=st.data())
def test_whatever_a_field_is_only_one_error_comes_out(
    tmp_path_factory: pytest.TempPathFactory, command: str, data: st.DataObject
) -> None:
    reader, values = READERS[command]
    path = data.draw(st.sampled_from(places(values)))
    wrong = changed(values, path, data.draw(st.one_of(odd, st.just(...))))
    file = tmp_path_factory.getbasetemp() / f"{command}.jsonl"
    file.write_text("\n".join(json.dumps(value) for value in wrong), "utf-8")
    with contextlib.suppress(DatasetError):
        reader(file)


RAW = {
    "empty": b"",
    "white space": b" \n\n",
    "not UTF-8": b'{"id": "\xff\xfe"}',
    "cut off": b'{"id": "x", "steps": [',
    "not an object": b"[1, 2]",
    "a number": b"3",
    "nested too deeply": b"[" * 200_000,
    "NaN": json.dumps({**LIFE, "about": float("nan")}).encode(),
    "huge number": b'{"id": 1e999}',
    "many digits": b'{"order": ' + b"9" * 5_000 + b"}",
    "a mark of byte order": b"\xef\xbb\xbf{}",
}


@pytest.mark.parametrize("raw", RAW.values(), ids=RAW.keys())
@pytest.mark.parametrize("command", COMMANDS)
def test_a_file_that_is_no_such_file_is_refused_with_exit_code_2(tmp_path: Path, command: str, raw: bytes) -> None:
    file = tmp_path / "file.json"
    file.write_bytes(raw)
    shown = RUNNER.invoke(app, [*COMMANDS[command], str(file), "--json"])
    assert shown.exit_code == 2, shown.output
    assert json.loads(shown.stdout)["error"]["message"]


@pytest.mark.parametrize(
    ("path", "wrong", "told"),
    [
        (("start",), "9999-12-01", "start must lie between"),
        (("start",), "soon", "start must be a date"),
        (("time_zone",), "Mars/Olympus", "time_zone must be"),
        (("colour",), "red", "unknown field 'colour'"),
        (("steps", 1, "every"), 36_500, None),
        (("steps", 1, "every"), 10**9, "step 2: every must be a whole number"),
        (("steps", 1, "every"), -1, "step 2: every must be"),
        (("steps", 3, "day"), 4e6, "step 4: day must be a whole number"),
        (("steps", 3, "day"), 4_000_000, "step 4: day must be a whole number"),
        (("steps", 3, "day"), -3, "step 4: day must be"),
        (("steps", 3, "time"), "25:00", "step 4: time must be a time of day"),
        (("steps", 3, "key"), "bonn", "step 4: key must be a list of texts"),
        (("steps", 0, "slot"), ["user"], "step 1: slot must be a list of subject"),
        (("steps",), [], "steps must be a list with a step"),
        (("steps",), {}, "steps must be a list of objects"),
    ],
)
def test_what_is_wrong_with_a_life_is_told_with_its_step_and_field(
    tmp_path: Path, path: tuple[Any, ...], wrong: Any, told: str | None
) -> None:
    file = tmp_path / "life.json"
    file.write_text(json.dumps(changed([LIFE], (0, *path), wrong)[0]))
    if told is None:
        assert lives(file)
        return
    with pytest.raises(DatasetError, match=told):
        lives(file)


def test_a_line_of_a_set_is_named(tmp_path: Path) -> None:
    file = tmp_path / "set.jsonl"
    file.write_text("\n".join(map(json.dumps, [MEMORY, QUESTION, {**QUESTION, "visible_before_order": "soon"}])))
    with pytest.raises(DatasetError, match="line 3: visible_before_order must be a whole number"):
        evaluation(file)
    file.write_text(json.dumps(changed([SCENARIO], (0, "steps", 1, "at"), "9999-12-31T23:59:59-12:00")[0]))
    with pytest.raises(DatasetError, match="line 1, step 2: at must lie between"):
        scenarios(file)
    file.write_text(json.dumps(PAIR) + "\n" + json.dumps({**PAIR, "label": "alike"}))
    with pytest.raises(DatasetError, match="line 2: label must be one of"):
        read_pairs(file)
