"""A look whether PostgreSQL answers is answered itself, however badly the connection ends.

The watcher that starts a dead server again looks in this way: an error out of it would end the watching for good.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import asyncpg
import pytest

from memory_service.adapters.embedded import postgres


class Connection:
    """A session whose server dies, or stalls, before it is closed."""

    def __init__(self, error: Exception | None) -> None:
        self.error = error

    async def close(self, timeout: float) -> None:
        if self.error is not None:
            raise self.error


@pytest.mark.parametrize(
    ("error", "answer"),
    [
        (None, True),
        (TimeoutError(), False),
        (ConnectionResetError(), False),
        (asyncpg.ConnectionDoesNotExistError("killed"), False),
        (asyncpg.InterfaceError("closed"), False),
    ],
    ids=repr,
)
async def test_a_connection_that_ends_badly_is_no_answer(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, error: Exception | None, answer: bool
) -> None:
    async def connect(*_: Any, **__: Any) -> Connection:
        return Connection(error)

    monkeypatch.setattr(postgres, "says_ready", lambda _: True)
    monkeypatch.setattr(asyncpg, "connect", connect)
    assert await postgres.answers(tmp_path) is answer
