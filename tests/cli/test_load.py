"""Importing: both forms, resumable, and harmless to repeat."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import grpc
import pytest

from memory_service.cli.dataset import parts, read_lines, statement
from memory_service.cli.form import DatasetError, Form
from tests.cli.conftest import Shell
from tests.client.fake_server import Fail, FakeServer


def jsonl(path: Path, *values: Any) -> str:
    path.write_text("".join(json.dumps(value, ensure_ascii=False) + "\n" for value in values), encoding="utf-8")
    return str(path)


def memory(owner: str, number: int) -> dict[str, Any]:
    return {
        "type": "memory",
        "owner": owner,
        "id": f"D{number}",
        "text": f"{owner} said {number}",
        "session": "s1",
        "order": number,
        "time": "2023-05-08T13:56:00Z",
    }


@pytest.fixture
def file(tmp_path: Path) -> str:
    lines = [memory(owner, number) for number in range(5) for owner in ("a/1", "b/2")]
    question = {"type": "question", "owner": "a/1", "id": "q", "text": "?", "evidence": [], "answerable": False}
    return jsonl(tmp_path / "set.jsonl", {"type": "set", "name": "toy", "language": "en"}, *lines, question)


def test_the_evaluation_form(shell: Shell, server: FakeServer, file: str) -> None:
    report = shell.json("load", file, "--prefix", "x-", "--batch-size", "2")
    assert (report["loaded"], report["skipped"], report["refused"]) == (10, 0, 0)
    texts = [head.text for head in server.store.memories["x-a/1"].values()]
    assert texts == [f"a/1 said {number}" for number in range(5)]
    sent = server.of("BatchWrite")[0].items[0]
    assert (sent.memory.session, sent.memory.reference) == ("s1", "D0")
    assert sent.memory.said_at.ToJsonString() == "2023-05-08T13:56:00Z"


def test_a_second_run_sends_nothing(shell: Shell, server: FakeServer, file: str) -> None:
    shell("load", file)
    before = len(server.of("BatchWrite"))
    report = shell.json("load", file)
    assert (report["loaded"], report["skipped"]) == (0, 10)
    assert len(server.of("BatchWrite")) == before


def test_loading_again_replays(shell: Shell, server: FakeServer, file: str) -> None:
    shell("load", file)
    changes = server.store.changes
    assert shell.json("load", file, "--again")["loaded"] == 10
    assert server.store.changes == changes, "the request ids are the same, so nothing is accepted twice"


def test_an_interrupted_run_goes_on(shell: Shell, server: FakeServer, file: str) -> None:
    refused = Fail(grpc.StatusCode.PERMISSION_DENIED, "USER_NOT_ALLOWED")
    server.next("BatchWrite", None, refused)
    shell("load", file, "--batch-size", "2", "--concurrency", "1", code=1)
    loaded = server.store.changes
    assert 0 < loaded < 10
    report = shell.json("load", file, "--batch-size", "2")
    assert report["skipped"] == loaded
    assert report["loaded"] == 10 - loaded
    assert server.store.changes == 10


def test_plain_lines(shell: Shell, server: FakeServer, tmp_path: Path) -> None:
    same = {"text": "said twice"}
    path = jsonl(
        tmp_path / "plain.jsonl",
        {"user": "bob", "text": "tea", "kind": "preference", "tags": ["x"], "time": "2026-01-01"},
        {"predicate": "location", "object": {"city": "Bonn"}, "id": "m1"},
        same,
        same,
    )
    assert shell.json("load", path)["effects"] == {"created": 3, "supported": 1}
    assert next(iter(server.store.memories["bob"].values())).tags == ["x"]
    ids = [item.request_id for request in server.of("BatchWrite") for item in request.items]
    assert len(set(ids)) == 4


def test_a_wrong_line_is_named(shell: Shell, tmp_path: Path) -> None:
    path = jsonl(tmp_path / "bad.jsonl", {"text": "a"}, {"text": "b", "colour": "red"})
    assert "line 2: unknown field 'colour'" in shell("load", path, code=2).stderr
    (tmp_path / "worse.jsonl").write_text('{"text": "a"}\n{"text": \n')
    told = shell.json("load", str(tmp_path / "worse.jsonl"), code=2)
    assert "line 2" in told["error"]["message"]


def test_refused_statements_are_reported_and_tried_again(shell: Shell, server: FakeServer, tmp_path: Path) -> None:
    server.refuse_text = "bad"
    path = jsonl(tmp_path / "some.jsonl", {"text": "good"}, {"text": "bad"})
    report = shell.json("load", path, code=1)
    assert (report["loaded"], report["refused"]) == (1, 1)
    assert report["refusals"][0]["reason"] == "FIELD_INVALID"
    server.refuse_text = None
    assert shell.json("load", path)["loaded"] == 1


@pytest.mark.parametrize("line", ["[]", "1", "nonsense", '"text"'])
def test_lines_that_are_no_objects(line: str) -> None:
    with pytest.raises(DatasetError, match="line 1"):
        list(read_lines([line]))


@pytest.mark.parametrize(
    "value", [{"type": "memory", "owner": "a"}, {"text": "x", "time": "soon"}, {"text": "x", "said_at": 5}]
)
def test_lines_that_lack_something(value: dict[str, Any]) -> None:
    with pytest.raises(DatasetError, match="line 7"):
        statement(Form.of(value, "line 7"))


def test_long_texts_are_cut_at_spaces() -> None:
    text = "word " * 100
    pieces = parts(text, 64)
    assert all(0 < len(piece) <= 64 for piece in pieces)
    assert "".join(pieces).replace(" ", "") == text.replace(" ", "")
    assert parts("长" * 100, 64) == ["长" * 64, "长" * 36]
    assert parts("short", 64) == ["short"]


@pytest.mark.parametrize(("unit", "process"), [("turn", "conversation"), ("message", "conversation"), ("memory", "")])
@pytest.mark.parametrize("command", ["load", "eval"])
def test_turns_are_marked_as_such(
    shell: Shell, server: FakeServer, tmp_path: Path, command: str, unit: str, process: str
) -> None:
    path = jsonl(
        tmp_path / "set.jsonl",
        {"type": "set", "name": "s", "language": "en", "unit": unit},
        {"type": "memory", "owner": "a", "id": "1", "text": "hello", "session": "s1", "order": 0},
    )
    shell(command, path, *([] if command == "load" else ["--target", server.target]))
    (item,) = [item for request in server.of("BatchWrite") for item in request.items]
    assert (item.memory.session, item.memory.process) == ("s1", process)
