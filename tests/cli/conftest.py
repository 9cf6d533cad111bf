from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from memory_service.cli.app import app
from tests.client.fake_server import KEY, FakeServer


@pytest.fixture
def server() -> Iterator[FakeServer]:
    fake = FakeServer()  # type: ignore[abstract]
    yield fake
    fake.stop()


@dataclass
class Shell:
    """Runs commands as a user would, against the fake server."""

    runner: CliRunner

    def __call__(self, *arguments: str, code: int = 0, stdin: str | None = None) -> Any:
        result = self.runner.invoke(app, list(arguments), input=stdin)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        assert result.exit_code == code, result.output
        return result

    def json(self, *arguments: str, code: int = 0) -> Any:
        return json.loads(self(*arguments, "--json", code=code).stdout)


@pytest.fixture
def shell(server: FakeServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Shell:
    monkeypatch.setenv("MEMORY_SERVICE_TARGET", server.target)
    monkeypatch.setenv("MEMORY_SERVICE_KEY", KEY)
    monkeypatch.setenv("MEMORY_SERVICE_USER", "ann")
    monkeypatch.setenv("MEMORY_SERVICE_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.delenv("MEMORY_SERVICE_REDIS_URL", raising=False)
    return Shell(CliRunner())
