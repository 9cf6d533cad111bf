"""The commands of sessions against the service itself."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
import textwrap
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from memory_service.cli.app import app
from memory_service.client import AsyncMemoryClient
from memory_service.temporary import temporary

GUIDE = Path(__file__).parents[2] / "docs" / "sessions.md"


@pytest.fixture(scope="module")
async def service() -> AsyncIterator[tuple[str, str]]:
    async with temporary({"MEMORY_SERVICE_EMBEDDER": "hash"}) as found:
        yield found


class Shell:
    """Runs `session` commands as a user would."""

    def __init__(self, target: str, key: str) -> None:
        self._common = ("--target", target, "--key", key, "--user", "ann", "--timeout", "20")

    def __call__(self, *arguments: str, code: int = 0) -> str:
        result = CliRunner().invoke(app, ["session", *arguments, *self._common])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        assert result.exit_code == code, result.output
        return result.output

    def json(self, *arguments: str, code: int = 0) -> Any:
        return json.loads(self(*arguments, "--json", code=code).splitlines()[-1])


@pytest.fixture
def shell(service: tuple[str, str]) -> Shell:
    return Shell(*service)


async def test_a_session_from_beginning_to_end(shell: Shell) -> None:
    session = shell(
        "create", "--agent", "cli", "--constraint", "tone=be brief", "--task", "mail=send the mail"
    ).strip()
    said = shell("append", session, "We decided to meet in Rome. Remind me to book a room.", "--id", "one")
    assert "one" in said
    assert "decided We decided to meet in Rome." in said
    assert "was there already" in shell("append", session, "again", "--id", "one")
    failed = shell.json("append", session, "no rooms", "--role", "tool", "--tool", "booking", "--failed")
    assert list(failed["tags"].values()) == [["tool_failure"]]
    updated = shell.json("update", session, "--slot", "trip.city=Rome@one", "--intent", "plan_trip", "--done", "mail")
    assert updated["version"] == 3
    assert "no task" in shell("update", session, "--done", "unknown", code=2)
    other = shell("update", session, "--constraint", "tone=sing", "--seen", "1")
    assert "etag s4" in other
    assert "overwrote tasks.mail" in shell("update", session, "--task", "mail=call", "--seen", "1")
    shown = shell("show", session)
    for text in ("plan_trip", "trip.city = Rome", "sing", "Remind me to book a room", "tool booking", "4 turns"):
        assert (text in shown) == (text != "4 turns"), text
    listed = shell("list")
    assert session in listed
    assert "cli" in listed
    context = shell("context", session, "where do we meet?")
    assert "We decided to meet in Rome." in context
    assert "o200k_base" in context
    assert shell("context", session, "--block").startswith("<session_state>")
    assert shell.json("context", session, "--window", "10")["block"] == ""
    watched = shell("watch", session, "--interval", "0.1", "--count", "3", "--json").splitlines()
    assert [json.loads(line)["turn_count"] for line in watched] == [2]
    assert "ended" in shell("end", session)
    assert shell.json("watch", session)["status"] == "ended"
    assert shell.json("append", session, "more", code=1)["error"]["reason"] == "SESSION_ENDED"


async def test_what_cannot_be_meant_is_refused_with_its_form(shell: Shell) -> None:
    session = shell.json("create")["id"]
    assert "ID=TEXT" in shell("update", session, "--task", "mail", code=2)
    assert "NAME=VALUE@TURN" in shell("update", session, "--slot", "city=Rome", code=2)
    assert shell.json("show", "nothing", code=1)["error"]["reason"] == "SESSION_NOT_FOUND"
    assert shell.json("update", session, code=2)["error"]["reason"] == "FIELD_REQUIRED"


def block(language: str) -> str:
    """The first block of this language in the guide."""
    found = re.search(rf"```{language}\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    return found.group(1)


async def test_the_commands_of_the_guide_run(service: tuple[str, str]) -> None:
    # A watch goes on until the session ends, which the next line does.
    script = block("sh").replace("session watch $S", "session watch $S --count 1")
    environment = {
        **os.environ,
        "MEMORY_SERVICE_TARGET": service[0],
        "MEMORY_SERVICE_KEY": service[1],
        "MEMORY_SERVICE_USER": "guide",
        "PYTHONPATH": str(GUIDE.parents[1]),
    }
    run = f'set -e; memory-service() {{ "{sys.executable}" -m memory_service "$@"; }}\n{script}'
    process = await asyncio.create_subprocess_exec(
        "bash", "-c", run, env=environment, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    said, _ = await process.communicate()
    assert process.returncode == 0, said.decode()
    assert "We decided to meet in Rome." in said.decode()


async def test_the_code_of_the_guide_runs(service: tuple[str, str]) -> None:
    seen: list[str] = []

    async def model(system: str, user: str) -> str:
        seen.append(system)
        return "For when?"

    code = f"async def guide():\n{textwrap.indent(block('python'), '    ')}"
    names: dict[str, Any] = {
        "AsyncMemoryClient": lambda user: AsyncMemoryClient(*service, user=user, timeout_seconds=20),
        "model": model,
    }
    exec(code, names)
    await names["guide"]()
    assert "Book me a table for two" in seen[0]
