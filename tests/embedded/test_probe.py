"""A look whether PostgreSQL answers is answered itself, however badly the connection ends.

The watcher that starts a dead server again looks in this way: an error out of it would end the watching for good.
"""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from memory_service.adapters.embedded import EmbeddedServers, postgres
from tests.embedded.support import eventually, serving, sql


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
        (asyncpg.InternalClientError("another operation is in progress"), False),
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


async def test_a_look_that_fails_does_not_end_the_watching(tmp_path: Path) -> None:
    """PostgreSQL killed again while it is looked at after its first death: it is started once more all the same."""
    others = asyncio.all_tasks()  # other tests' servers live on the same loop
    async with serving(EmbeddedServers(tmp_path / "data", durable=False)) as stack:
        (server,) = [task for task in asyncio.all_tasks() - others if task.get_name() == "watch PostgreSQL"]
        managed: Any = server.get_coro().cr_frame.f_locals["self"]  # type: ignore[union-attr]
        look, looks = managed._probe, 0

        async def fails_once() -> bool:
            nonlocal looks
            looks += 1
            if looks == 1:
                raise RuntimeError("unable to perform operation on <UnixTransport closed=True>")
            return bool(await look())

        managed._probe = fails_once
        os.kill(managed.pids[0], signal.SIGKILL)
        assert await eventually(lambda: managed.restarts == 1 or server.done(), 30)
        assert not server.done()
        assert await sql(stack, "SELECT 1") == 1
