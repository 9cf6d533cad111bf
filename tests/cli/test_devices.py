"""The commands on devices: watch, conflicts, resolve, revoke, forget --says, sync and offline."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import grpc
import pytest

from memory_service.v1 import types_pb2 as pb
from tests.cli.conftest import Shell
from tests.client.fake_server import Fail, FakeServer
from tests.client.fake_sync import BreakAfter


def contested(server: FakeServer, shell: Shell) -> list[str]:
    """Two memories that disagree."""
    ids = []
    for city, device in (("Bonn", "phone"), ("Ulm", "laptop")):
        memory_id = shell.json("write", f"I live in {city}", "--predicate", "location", "--object", city)["memory"][
            "id"
        ]
        memory = server.store.memories["ann"][memory_id]
        memory.status = pb.STATUS_CONTESTED
        memory.dot.CopyFrom(pb.Dot(device=device, counter=4))
        memory.provenance.device = device
        memory.context.counters["tv"] = 2
        ids.append(memory_id)
    return ids


def test_conflicts_are_shown_and_resolved(shell: Shell, server: FakeServer) -> None:
    ids = contested(server, shell)
    shown = shell("conflicts").stdout
    for part in ("user location", "Bonn", "Ulm", "phone", "change laptop:4", "had seen tv:2", *ids):
        assert part in shown
    (slot,) = shell.json("conflicts")["conflicts"]
    assert slot["slot"]["predicate"] == "location"
    assert [side["dot"] for side in slot["sides"]] == [
        {"device": "phone", "counter": 4},
        {"device": "laptop", "counter": 4},
    ]
    said = shell("resolve", *ids, "--keep", ids[0], "--reason", "asked").stdout
    assert "updated" in said
    assert "retracted" in said
    shell("resolve", *ids, "--merge", "I live in Kiel")
    shell("resolve", *ids, "--predicate", "location", "--object", "Kiel")
    shell("resolve", *ids, "--dismiss")
    keep, text, value, dismiss = server.of("ResolveConflict")
    assert (keep.keep, keep.reason, list(keep.memory_ids)) == (ids[0], "asked", ids)
    assert text.merge.text == "I live in Kiel"
    assert value.merge.assertion.object.string_value == "Kiel"
    assert dismiss.dismiss
    shell("resolve", *ids, code=2)
    shell("resolve", *ids, "--dismiss", "--keep", ids[0], code=2)


def test_revoke_shows_first(shell: Shell, server: FakeServer) -> None:
    shell("write", "a lie", "--agent", "bad")
    since = ("--since", "2026-05-01T00:00:00Z")
    refused = shell("revoke", "--agent", "bad", *since, code=1)
    assert "--yes" in refused.stderr
    preview = shell("revoke", "--agent", "bad", *since, "--dry-run").stdout
    assert "would undo 1 change" in preview
    assert "a lie" in preview
    assert all(request.validate_only for request in server.of("RevokeWriter"))
    done = shell("revoke", "--agent", "bad", *since, "--yes")
    assert "revoke --undo 2" in done.stdout
    assert not shell.json("list")["memories"]
    undone = shell.json("revoke", "--undo", "2", "--yes")
    assert undone["changes"] == 1
    assert shell.json("list")["memories"]
    shell("revoke", "--device", "phone", *since, "--yes")
    assert server.of("RevokeWriter")[-1].writer.device == "phone"
    assert not server.of("RevokeWriter")[-1].HasField("dot"), "it is not that device that revokes"
    for wrong in (["revoke"], ["revoke", "--agent", "bad"], ["revoke", "--agent", "bad", "--undo", "1"]):
        shell(*wrong, code=2)


def test_forget_what_says_something(shell: Shell, server: FakeServer) -> None:
    shell("write", "tea")
    assert "forgotten 1" in shell("forget", "--says", "tea", "--yes").stdout
    assert server.of("Forget")[-1].statement.text == "tea"
    shell("forget", "x", "--says", "tea", "--yes", code=2)


def test_watch(shell: Shell, server: FakeServer) -> None:
    server.tell(1, "m1")
    server.tell(2, "m2", event="superseded")
    server.next("Watch stream", BreakAfter(2, Fail(grpc.StatusCode.UNAVAILABLE, "SHUTTING_DOWN")))
    shown = shell("watch", "--from-start", "--limit", "2")
    assert "created  text of m1" in shown.stdout
    assert "superseded  text of m2" in shown.stdout
    assert "going on" in shown.stderr
    lines = [json.loads(line) for line in shell("watch", "--cursor", "1", "-n", "1", "--json").stdout.splitlines()]
    assert [line["type"] for line in lines] == ["checkpoint", "event"]
    assert (lines[1]["memory_id"], lines[1]["memory"]["text"]) == ("m2", "text of m2")
    server.next("Watch", Fail(grpc.StatusCode.OUT_OF_RANGE, "CURSOR_TOO_OLD"))
    assert "watch from now" in shell("watch", "--cursor", "1", code=1).stderr


def test_an_offline_device(shell: Shell, server: FakeServer, tmp_path: Path) -> None:
    folder = str(tmp_path)
    queued = shell("offline", "write", folder, "I like tea", "--device", "phone", "--tag", "drinks")
    assert "phone:1" in queued.stdout
    assert (tmp_path / "phone.memory").exists()
    file = str(tmp_path / "phone.memory")
    shell("offline", "write", folder, "--predicate", "location", "--object", "Bonn")
    assert shell.json("offline", "forget", file, "--says", "coffee")["dot"] == {"device": "phone", "counter": 3}
    waiting = shell.json("offline", "pending", file)["pending"]
    assert [change["operation"] for change in waiting] == ["write", "write", "forget"]
    assert "3 to be sent" in shell("offline", "pending", file).stdout
    assert "queued as phone:1" in shell("offline", "search", file, "tea").stdout
    assert not server.calls, "nothing was sent"
    told = shell.json("sync", folder)
    assert (told["accepted"], told["received"], told["rejected"]) == (3, 2, [])
    assert server.of("Sync")[0].user == "ann"
    listed = shell.json("offline", "list", file)["memories"]
    assert sorted(one["text"] for one in listed) == ["I like tea", 'user location "Bonn"'] or len(listed) == 2
    shell("offline", "correct", file, listed[0]["memory"]["id"], "changed", "--reason", "typo")
    shell("offline", "correct", file, "--predicate", "location", "--object", "Ulm", "--outdated")
    shell("offline", "resolve", file, "a", "b", "--keep", "a")
    assert len(shell.json("offline", "pending", file)["pending"]) == 3
    assert "nothing is contested" in shell("offline", "conflicts", file).stdout


def test_refused_and_disputed_changes_are_shown(shell: Shell, server: FakeServer, tmp_path: Path) -> None:
    for device, city in (("laptop", "Bonn"), ("phone", "Ulm")):
        shell(
            "offline", "write", str(tmp_path), city, "--predicate", "location", "--object", city, "--device", device
        )
    shell("offline", "write", str(tmp_path), "refuse me", "--device", "phone")
    shell("sync", str(tmp_path), "--device", "laptop")
    shown = shell("sync", str(tmp_path), "--device", "phone").stdout
    for part in ("1 sent", "1 refused", "contested", "mine   Ulm", "other  Bonn", "laptop:1", "refuse me"):
        assert part in shown
    assert "user location" in shell("offline", "conflicts", str(tmp_path), "--device", "phone").stdout
    file = str(tmp_path / "phone.memory")
    (kept,) = shell.json("offline", "rejected", file)["rejected"]
    assert (kept["error"]["reason"], kept["change"]["text"]) == ("FIELD_INVALID", "refuse me")
    assert "FIELD_INVALID" in shell("offline", "rejected", file, "--clear").stdout
    assert shell.json("offline", "rejected", file)["rejected"] == []


def test_a_device_installed_anew(shell: Shell, server: FakeServer, tmp_path: Path) -> None:
    shell("offline", "write", str(tmp_path), "one", "--device", "phone")
    shell("sync", str(tmp_path))
    (tmp_path / "phone.memory").unlink()
    refused = shell("sync", str(tmp_path), "--device", "phone", code=1)
    assert "new-incarnation" in refused.stderr
    assert "phone~2" in shell("offline", "new-incarnation", str(tmp_path / "phone.memory")).stdout
    assert shell.json("sync", str(tmp_path))["received"] == 1


def test_files_that_cannot_be_used(shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "--device" in shell("offline", "write", str(tmp_path), "x", code=2).output
    (tmp_path / "bad.memory").write_text("not a database")
    told = shell.json("offline", "list", str(tmp_path / "bad.memory"), code=1)
    assert told["error"]["kind"] == "DeviceFileCorrupt"
    shell("offline", "list", str(tmp_path / "absent.memory"), code=2)
    shell("offline", "list", str(tmp_path), "--device", "absent", code=2)
    monkeypatch.delenv("MEMORY_SERVICE_USER")
    assert "--user" in shell("offline", "write", str(tmp_path / "x.memory"), "x", "--device", "d", code=1).stderr


def test_offline_commands_have_json() -> None:
    import typer.main

    from memory_service.cli.offline import app

    group = typer.main.get_command(app)
    names = set(group.commands)  # type: ignore[attr-defined]
    assert {"write", "correct", "forget", "resolve", "list", "search", "pending", "rejected", "conflicts"} < names
    for name in names:
        options = {option for p in group.commands[name].params for option in p.opts}  # type: ignore[attr-defined]
        assert "--json" in options, name


def test_offline_commands_do_not_load_the_service() -> None:
    code = (
        "import sys, memory_service.cli.offline, memory_service.client.offline; "
        "print(sorted({'numpy', 'asyncpg', 'redis', 'memory_service.config'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_feedback_names_what_was_of_use(shell: Shell, server: FakeServer) -> None:
    memory_id = shell.json("write", "I like tea")["memory"]["id"]
    said = shell("feedback", "--adopted", memory_id, "--rejected", "gone").stdout
    assert "recorded 1 memory" in said
    assert "not there any more: gone" in said
    assert shell.json("feedback", "--rejected", memory_id)["recorded"] == 1
    assert "1 adopted, 1 rejected" in shell("show", memory_id).stdout
    shell("feedback", code=2)
