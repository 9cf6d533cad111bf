"""A store that fails in the middle of a batch decides nothing: no item may pass for refused, or be left out alone."""

from __future__ import annotations

from typing import Any

import pytest

from memory_service.app import replay, write
from memory_service.app.commands import BatchItem, ChangeMeta, Statement
from memory_service.domain.errors import DeadlineExceeded, MemoryServiceError, Reason, Unavailable
from tests.app.harness import ALICE, World

AWAY = Unavailable(Reason.DATABASE_UNAVAILABLE, "the database is not available")
LATE = DeadlineExceeded(Reason.DEADLINE_EXCEEDED, "a statement took too long")
ITEMS = [BatchItem(statement=Statement(text=f"entry {n}"), request_id=f"entry-{n}") for n in range(3)]


def fail_at(monkeypatch: pytest.MonkeyPatch, request_id: str, error: MemoryServiceError) -> None:
    """The look-up for one item's retry fails, as it does when PostgreSQL is killed between two items."""
    found = replay.stored_outcome

    async def fails(workspace: Any, operation: str, meta: ChangeMeta, digest: bytes) -> Any:
        if meta.request_id == request_id:
            raise error
        return await found(workspace, operation, meta, digest)

    monkeypatch.setattr(write, "stored_outcome", fails)


@pytest.mark.parametrize("error", [AWAY, LATE], ids=["away", "late"])
@pytest.mark.parametrize("at", ["entry-0", "entry-1", "entry-2"])
async def test_a_failure_of_the_store_fails_the_whole_batch(
    monkeypatch: pytest.MonkeyPatch, at: str, error: MemoryServiceError
) -> None:
    world = World()
    fail_at(monkeypatch, at, error)
    with pytest.raises(type(error)):
        await world.write.batch(ALICE, ITEMS, actor="key", context=None)
    assert await world.current() == []
    monkeypatch.undo()
    results = await world.write.batch(ALICE, ITEMS, actor="key", context=None)
    assert [getattr(result, "replayed", None) for result in results] == [False] * 3
    assert await world.current() == ["entry 0", "entry 1", "entry 2"]
