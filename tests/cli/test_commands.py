"""The commands: what they send, what they print, and the codes they leave with."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import grpc
import pytest

from memory_service.cli import render
from memory_service.cli.app import app
from memory_service.v1 import memory_service_pb2 as api
from memory_service.v1 import types_pb2 as pb
from tests.cli.conftest import Shell
from tests.client.fake_server import KEY, Fail, FakeServer


def test_write_and_recall(shell: Shell, server: FakeServer) -> None:
    said = shell("write", "I like green tea", "--kind", "preference", "--tag", "drinks", "--session", "s1")
    assert "created" in said.stdout
    assert "I like green tea" in said.stdout
    (request,) = server.of("Write")
    assert (request.user, request.memory.kind, request.memory.session) == ("ann", pb.KIND_PREFERENCE, "s1")
    found = shell("recall", "green tea", "--limit", "3", "--explain")
    assert "█" in found.stdout
    assert "2 words in common" in found.stdout
    assert "\x1b[" not in found.stdout, "no colours where nobody sees them"


def test_structured_values_are_json_or_text(shell: Shell, server: FakeServer) -> None:
    shell("write", "--predicate", "budget", "--object", '{"amount": 50, "currency": "EUR"}')
    shell("write", "--predicate", "location", "--object", "Berlin")
    first, second = (request.memory.assertion for request in server.of("Write"))
    assert first.object.struct_value.fields["amount"].number_value == 50
    assert (second.subject, second.object.string_value) == ("user", "Berlin")


def test_text_from_standard_input(shell: Shell, server: FakeServer) -> None:
    shell("write", "-", stdin="我对花生过敏\n")
    assert server.of("Write")[0].memory.text == "我对花生过敏"


def test_times_without_a_zone_are_local(shell: Shell, server: FakeServer) -> None:
    shell("write", "x", "--said-at", "2026-05-03T10:00:00+02:00", "--valid-from", "2026-05-03")
    memory = server.of("Write")[0].memory
    assert memory.said_at.ToJsonString() == "2026-05-03T08:00:00Z"
    assert memory.HasField("valid_from")
    shell("write", "x", "--said-at", "yesterday", code=2)


def test_other_times_are_asked_for_alike(shell: Shell, server: FakeServer) -> None:
    shell("write", "tea")
    (memory_id,) = [str(one["id"]) for one in json.loads(shell("list", "--json").stdout)["memories"]]
    shell("recall", "tea", "--as-of", "2026-01-20T00:00:00Z", "--as-believed", "2026-02-10T00:00:00Z")
    shell("show", memory_id, "--as-of", "2026-01-20T00:00:00Z", "--as-believed", "2026-02-10T00:00:00Z")
    shell("list", "--as-of", "2026-01-20T00:00:00Z", "--as-believed", "2026-02-10T00:00:00Z")
    for request in (server.of("Recall")[-1], server.of("GetMemory")[-1], server.of("ListMemories")[-1]):
        assert request.as_of_valid.ToJsonString() == "2026-01-20T00:00:00Z"
        assert request.as_of_recorded.ToJsonString() == "2026-02-10T00:00:00Z"
    shell("recall", "tea three months ago", "--resolve-time", "--time-zone", "Asia/Shanghai")
    asked = server.of("Recall")[-1]
    assert (asked.resolve_time, asked.time_zone) == (True, "Asia/Shanghai")


def test_json_for_machines(shell: Shell) -> None:
    written = shell.json("write", "喝绿茶")
    assert written["effect"] == "created"
    assert written["memory"]["text"] == "喝绿茶"
    assert written["memory"]["recorded_at"] == "2026-01-01T00:00:00+00:00"
    memory_id = written["memory"]["id"]
    assert shell.json("recall", "喝绿茶")["memories"][0]["memory"]["id"] == memory_id
    assert shell.json("list")["memories"][0]["id"] == memory_id
    assert shell.json("show", memory_id)["memory"]["status"] == "active"
    assert shell.json("correct", memory_id, "喝红茶", "--reason", "错了")["memory"]["version"] == 2
    assert [v["version"] for v in shell.json("history", memory_id)["versions"]] == [1, 2]
    assert shell.json("rollback", memory_id, "1")["memory"]["text"] == "喝绿茶"
    assert shell.json("forget", memory_id, "--yes")["forgotten_count"] == 1


def test_history_is_a_timeline(shell: Shell) -> None:
    memory_id = shell.json("write", "tea")["memory"]["id"]
    shell("correct", memory_id, "coffee", "--reason", "typo")
    lines = shell("history", memory_id).stdout.splitlines()
    assert lines[0].startswith("v1 ")
    assert "created" in lines[1]
    assert lines[2].startswith("v2 ")
    assert "corrected" in lines[3]
    assert "typo" in lines[3]


def test_correct_a_slot(shell: Shell, server: FakeServer) -> None:
    shell("correct", "--predicate", "location", "--object", "Bonn", "--outdated", "--changed-at", "2026-01-01")
    (request,) = server.of("Correct")
    assert (request.slot.subject, request.slot.predicate) == ("user", "location")
    assert request.nature == api.CORRECTION_NATURE_OUTDATED
    assert request.memory.assertion.object.string_value == "Bonn"


def test_forget_shows_and_asks(shell: Shell, server: FakeServer) -> None:
    memory_id = shell.json("write", "tea", "--tag", "t")["memory"]["id"]
    refused = shell("forget", memory_id, code=1)
    assert "--yes" in refused.output
    preview = shell("forget", "--tag", "t", "--dry-run")
    assert "tea" not in preview.stdout, "the toy server filters by tags_any only"
    assert shell.json("list")["memories"]
    assert "forgotten 1 memory" in shell("forget", memory_id, "--yes", "--reason", "asked").stdout
    assert server.of("Forget")[-1].reason == "asked"
    assert all(request.validate_only for request in server.of("Forget")[:-1])
    shell("forget", code=2)
    shell("forget", memory_id, "--tag", "t", code=2)


def test_keys(shell: Shell) -> None:
    made = shell("keys", "create", "laptop", "--role", "reader", "--for-user", "ann")
    assert made.stdout.startswith("ms_secret_of_k1")
    assert "laptop" in shell("keys", "list").stdout
    shell("keys", "revoke", "k1")
    assert shell.json("keys", "list")["keys"][0]["revoked_at"] == "2026-01-02T00:00:00+00:00"
    missing = shell.json("keys", "revoke", "k9", code=1)
    assert missing["error"]["reason"] == "KEY_NOT_FOUND"


@pytest.mark.parametrize(
    ("failure", "code"),
    [
        (Fail(grpc.StatusCode.INVALID_ARGUMENT, "FIELD_TOO_LONG", at_field="query"), 2),
        (Fail(grpc.StatusCode.NOT_FOUND, "MEMORY_NOT_FOUND"), 1),
        (Fail(grpc.StatusCode.PERMISSION_DENIED, "USER_NOT_ALLOWED"), 1),
        (Fail(grpc.StatusCode.DEADLINE_EXCEEDED, "DEADLINE_EXCEEDED"), 3),
    ],
)
def test_exit_codes(shell: Shell, server: FakeServer, failure: Fail, code: int) -> None:
    server.next("Recall", *[failure] * 40)
    result = shell("recall", "q", "--timeout", "1", code=code)
    assert "error:" in result.stderr
    assert failure.reason in result.stderr


def test_an_absent_server_is_code_3_with_advice(shell: Shell) -> None:
    result = shell("recall", "q", "--target", "127.0.0.1:1", "--timeout", "1", code=3)
    assert "memory-service serve" in result.stderr
    told = shell.json("recall", "q", "--target", "127.0.0.1:1", "--timeout", "1", code=3)
    assert told["error"]["kind"] == "Unavailable"


def test_a_missing_key_is_explained(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MEMORY_SERVICE_KEY")
    assert "memory-service serve" in shell("recall", "q", code=1).stderr


def test_nobody_named_is_the_default_user_of_the_local_service_only(
    shell: Shell, server: FakeServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("MEMORY_SERVICE_USER")
    shell("write", "with a key of one's own")
    monkeypatch.delenv("MEMORY_SERVICE_KEY")
    (tmp_path / "data").mkdir()
    stored = json.dumps({"target": server.target, "key": KEY, "tenant": "default"})
    (tmp_path / "data" / "credentials.json").write_text(stored)
    shell("write", "with the key of the local service")
    assert [request.user for request in server.of("Write")] == ["", "default"]


def test_the_key_is_not_printed(shell: Shell) -> None:
    result = shell("recall", "q", "--key", "ms_do_not_show", code=1)
    assert "do_not_show" not in result.output
    assert "do_not_show" not in shell("recall", "--help").output


def test_markup_in_memories_is_text(shell: Shell) -> None:
    shell("write", "[bold red]not markup[/] [link=x]")
    assert "[bold red]not markup[/] [link=x]" in shell("recall", "[bold").stdout
    assert "[bold red]not markup[/] [link=x]" in shell("list").stdout


def test_every_command_has_help_and_json(shell: Shell) -> None:
    import typer.main

    group = typer.main.get_command(app)
    names = set(group.commands)  # type: ignore[attr-defined]
    assert names == {
        *("serve", "migrate", "keys", "write", "recall", "correct", "forget", "list", "show", "history"),
        *("rollback", "load", "eval", "eval-pairs", "eval-evolution", "simulate", "doctor", "demo", "version"),
        *("feedback", "watch", "conflicts", "resolve", "revoke", "sync", "offline", "session", "unmerge"),
        *("vocabulary", "parameters", "experiments", "calibrate", "reviews", "accept", "reject"),
        *("worker", "jobs"),
    }
    for name in names - {"keys", "serve", "worker", "migrate", "offline", "vocabulary", "parameters", "session"}:
        assert "--json" in shell(name, "--help").stdout, name


def test_doctor_says_what_to_do(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORY_SERVICE_OPS_LISTEN", "127.0.0.1:1")
    checks = {check["name"]: check for check in shell.json("doctor")["checks"]}
    assert checks["python"]["state"] == "ok"
    assert checks["server"]["state"] == "ok"
    assert checks["key"]["state"] == "ok"
    assert checks["embedder"]["state"] == "warn"
    assert "meaning" in checks["embedder"]["advice"]
    assert checks["clock"]["state"] == "ok"
    assert checks["recall"]["state"] == "ok"
    assert (checks["jobs"]["state"], checks["jobs"]["found"]) == (
        "warn",
        "2 worker(s), 2 job(s) wait, 1 failed for good",
    )
    assert "→" in shell("doctor").stdout


def test_doctor_with_a_wrong_key_and_without_a_server(shell: Shell) -> None:
    wrong = {check["name"]: check for check in shell.json("doctor", "--key", "wrong", code=1)["checks"]}
    assert wrong["key"]["state"] == "fail"
    absent = shell.json("doctor", "--target", "127.0.0.1:1", "--timeout", "1", code=3)
    assert absent["state"] == "fail"


def test_doctor_sees_a_skewed_clock(shell: Shell, server: FakeServer) -> None:
    from datetime import UTC, datetime, timedelta

    from memory_service.cli.doctor import check_clock
    from memory_service.client import ServerInfo

    info = ServerInfo("1", "m", 1, {}, datetime.now(UTC) - timedelta(minutes=5))
    assert check_clock(info, 0.01).state == "warn"


def test_demo_tells_its_story(shell: Shell, server: FakeServer) -> None:
    story = shell.json("demo", "--fast", "--target", server.target)
    assert [step["title"] for step in story["steps"]] == [
        "Write",
        "Recall",
        "Say it again",
        "Correct",
        "Conflict",
        "Forget",
    ]
    assert "花生" in shell("demo", "--target", server.target).stdout
    dots = [request.dot.device for request in server.of("Correct")]
    assert dots[1:3] == ["phone", "laptop"]
    contexts = [dict(request.context.counters) for request in server.of("Correct")]
    assert contexts[1] == contexts[2], "neither device has seen the other"


def test_wrong_settings_are_named_without_their_values(shell: Shell) -> None:
    result = shell("serve", "--embedder", "nonsense-secret", code=2)
    assert "embedder" in result.stderr
    assert "nonsense-secret" not in result.stderr


def test_client_commands_do_not_load_the_server() -> None:
    """They must start fast: nothing of the server, no databases, no numerics."""
    code = (
        "import sys, memory_service.cli.app, memory_service.client; "
        "heavy = {'numpy', 'asyncpg', 'redis', 'jieba', 'starlette', 'onnxruntime', 'memory_service.server', "
        "'memory_service.config', 'google.rpc', 'rich.table'}; print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(("share", "cells"), [(0, 0), (1, 12), (2, 12), (-1, 0), (0.5, 6)])
def test_bars(share: float, cells: int) -> None:
    assert render.bar(share).count("█") == cells
    assert len(render.bar(share)) == 12


def test_output_survives_a_closed_pipe(shell: Shell, server: FakeServer, tmp_path: Path) -> None:
    for number in range(3):
        shell("write", f"memory {number}")
    command = [sys.executable, "-m", "memory_service", "list", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        process.stdout.close()
        assert process.wait(20) == 0
    assert len(json.loads(line)["memories"]) == 3


@pytest.mark.parametrize("days", ["nan", "0", "-1", "inf", "1e9"])
def test_a_tau_that_is_no_stretch_of_time_is_refused_by_the_command_line(shell: Shell, days: str):
    result = shell("vocabulary", "put", "shoe_size", "--kind", "profile", "--tau-days", days, code=2)
    assert "--tau-days" in result.stderr
    assert "Traceback" not in result.stderr
