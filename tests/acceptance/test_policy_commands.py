"""The commands on vocabulary, parameters, experiments, reviews and calibration, against a real server."""

from __future__ import annotations

import asyncio
import json
import re
import shlex
import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from memory_service.adapters.postgres.backend import PostgresBackend
from memory_service.adapters.postgres.settings import PostgresSettings
from memory_service.cli.app import app
from memory_service.domain.ids import MemoryId, OwnerKey, TenantId, UserId
from memory_service.ports.keys import Role
from tests.acceptance.service import ServiceProcess
from tests.acceptance.world import make_keys

ROOT = Path(__file__).parents[2]
SECTIONS = ("Vocabulary", "Parameters and experiments", "Reviews", "Calibration")
"""Parts of docs/evolution.md that this file runs."""


class Shell:
    """Runs commands with an admin's key of a tenant of its own, for its user `ann`."""

    def __init__(self, service: ServiceProcess, tenant: str, key: str) -> None:
        self.service, self.tenant = service, tenant
        self._options = ["--target", service.target, "--key", key, "--timeout", "20"]

    async def __call__(self, *words: str, code: int = 0, user: str | None = "ann") -> str:
        own = [] if user is None else ["--user", user]
        result = await asyncio.to_thread(CliRunner().invoke, app, [*words, *self._options, *own])
        assert result.exit_code == code, result.output
        return result.output

    async def json(self, *words: str, **options: Any) -> Any:
        return json.loads((await self(*words, "--json", **options)).splitlines()[-1])


@pytest.fixture
async def shell(service: ServiceProcess) -> Shell:
    tenant = f"tenant-{uuid.uuid4()}"
    (key,) = await make_keys(service, (tenant, Role.ADMIN, (), None))
    return Shell(service, tenant, key.secret)


async def test_vocabulary(shell: Shell):
    listed = await shell("vocabulary", "list")
    assert "allergy" in listed
    assert "过敏" in listed
    assert "version 0; other predicates: refuse" in listed
    put = ("vocabulary", "put", "shoe size", "--kind", "profile", "--one", "--tau-days", "400", "--alias", "鞋码")
    assert "shoe_size is in the vocabulary" in await shell(*put, "--sensitive", "--reason", "shop")
    word = next(w for w in (await shell.json("vocabulary", "list"))["predicates"] if w["name"] == "shoe_size")
    assert (word["tau"], word["aliases"], word["sensitivity"]) == (400 * 86_400, ["鞋码"], "sensitive")
    await shell("write", "--predicate", "鞋码", "--object", "42")
    refused = await shell.json("vocabulary", "remove", "shoe_size", code=1)
    assert refused["error"]["reason"] == "PREDICATE_IN_USE"
    assert refused["error"]["metadata"]["memories"] == "1"
    assert "version 2 is in force" in await shell("vocabulary", "remove", "shoe_size", "--replacement", "attribute")
    assert "version 3 is in force" in await shell("vocabulary", "unknown", "map")
    history = await shell("vocabulary", "history")
    assert "shop" in history
    assert "version 4 is in force" in await shell("vocabulary", "rollback", "1")
    await shell(*put[:5], "--tau-days", "0", code=2)
    await shell(*put[:5], "--tau-days", "-3", code=2)
    await shell("vocabulary", "remove", "no_such", code=2)


async def test_parameters_and_experiments(shell: Shell):
    listed = await shell("parameters", "list")
    assert "replace_ratio" in listed
    assert "E4" in listed
    await shell(
        "parameters", "set", "replace_ratio=1.5", "confidence.inferred=0.4", "--set", "careful", "--reason", "trial"
    )
    assert "careful (version 1)" in await shell("parameters", "list")
    assert "replace_ratio=1.5" in await shell("parameters", "history", "--set", "careful")
    await shell("parameters", "set", "replace_ratio=0", code=2)
    await shell("parameters", "set", "replace_ratio", code=2)
    await shell("parameters", "set", code=2)
    assert "no experiments" in await shell("experiments")
    await shell("experiments", "--start", "trial", code=2)
    running = await shell("experiments", "--start", "trial", "--treatment", "careful", "--share", "0.25")
    for part in ("control", "treatment", "careful", "25%", "75%", "running"):
        assert part in running
    await shell("parameters", "set", "--set", "careful", "--reset", "replace_ratio", code=1)
    (stopped,) = (await shell.json("experiments", "--stop", "trial"))["experiments"]
    assert stopped["stopped_at"]
    assert set(stopped["counts"]) == {"control", "treatment"}
    await shell("parameters", "set", "--set", "careful", "--reset", "replace_ratio")
    assert "version 3 is in force" in await shell("parameters", "rollback", "1", "--set", "careful")


async def test_reviews(shell: Shell):
    assert "nothing waits" in await shell("reviews")
    written = await shell.json("write", "--predicate", "health", "--object", "asthma", "--source", "inferred")
    memory_id = written["memory"]["id"]
    waiting = await shell("reviews")
    assert memory_id in waiting
    assert "memory-service accept ID" in waiting
    await shell("accept", memory_id, "--reason", "asked")
    assert (await shell.json("reviews"))["reviews"] == []
    await shell("accept", memory_id, "--undo")
    assert "retracted" in await shell("reject", memory_id)
    again = await shell.json("write", "--predicate", "health", "--object", "asthma", "--source", "inferred")
    assert again["effect"] == "suppressed"
    await shell("reject", memory_id, code=1)
    await shell("reject", memory_id, "--undo")
    assert memory_id in await shell("reviews")


async def test_calibrate(shell: Shell, tmp_path: Path):
    assert "nothing to go by" in await shell("calibrate", user=None)
    await shell("calibrate", "--apply", "fact", code=2, user=None)
    written = await shell.json("write", "--predicate", "location", "--object", "Porto")
    owner, memory_id = OwnerKey(TenantId(shell.tenant), UserId("ann")), MemoryId(uuid.UUID(written["memory"]["id"]))
    backend = await PostgresBackend.connect(PostgresSettings(dsn=shell.service.stack().database_url, pool_min=0))
    try:
        for week in range(40):
            at = datetime.now(UTC) + timedelta(weeks=week)
            await backend.memories.record_access(owner, {memory_id: (1, at)}, ["location"])
    finally:
        await backend.close()
    shown = await shell("calibrate", user=None)
    for part in ("profile", "location", "suggests tau", "90.0 d", "intervals between uses"):
        assert part in shown
    picture = tmp_path / "intervals.svg"
    applied = await shell.json("calibrate", "--plot", str(picture), "--apply", "profile", user=None)
    assert applied["version"] == 1
    assert picture.read_text(encoding="utf-8").startswith("<svg")
    suggested = applied["applied"]["tau_seconds.profile"]
    assert 0.8 < suggested / (1.4 * 7 * 86_400) < 1.25
    parameters = (await shell.json("parameters", "list"))["parameters"]
    assert next(p["value"] for p in parameters if p["name"] == "tau_seconds.profile") == suggested
    await shell("calibrate", "--plot", "intervals.png", code=2, user=None)
    assert (await shell.json("calibrate", user="bob"))["calibrations"] == []


async def test_the_commands_of_the_docs_run_in_order(shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "docs/evolution.md").read_text(encoding="utf-8")
    sections = [part for part in text.split("\n## ") if part.split("\n")[0] in SECTIONS]
    assert len(sections) == len(SECTIONS)
    for section in sections:
        lines = [line for block in re.findall(r"```sh\n(.*?)```", section, re.DOTALL) for line in block.splitlines()]
        assert lines, section[:40]
        for line in lines:
            program, *words = shlex.split(line)
            assert program == "memory-service"
            await shell(*words, user=None if words[0] == "calibrate" else "ann")
