"""What decisions about one memory have in common: the version their author had read, one answer to one request."""

from __future__ import annotations

import uuid
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from memory_service.app.commands import ChangeMeta, ChangeResult, RollbackCommand
from memory_service.app.review import Decision, Review, ReviewCommand
from memory_service.domain.errors import Conflict, NotFound, Reason
from memory_service.domain.ids import DeviceId, MemoryId
from memory_service.domain.memory import MemoryHead, Source
from memory_service.domain.vector_clock import VectorClock
from tests.app.harness import ALICE, World

Decide = Callable[[World, MemoryId, str, ChangeMeta], Awaitable[ChangeResult]]


async def rolled_back(world: World, memory_id: MemoryId, etag: str, meta: ChangeMeta) -> ChangeResult:
    return await world.rollback(ALICE, RollbackCommand(memory_id, 1, etag=etag), meta)


async def reviewed(world: World, memory_id: MemoryId, etag: str, meta: ChangeMeta) -> ChangeResult:
    command = ReviewCommand(memory_id=memory_id, decision=Decision.ACCEPT, etag=etag)
    return await Review(world.changes)(ALICE, command, meta)


async def waiting(world: World) -> MemoryHead:
    """A sensitive memory that nobody said outright, twice stated."""
    await world.state("allergy", "nuts", source=Source.INFERRED)
    result = await world.state("allergy", "nuts", source=Source.INFERRED)
    assert result.memory is not None
    return result.memory


def unseen(**given: Any) -> ChangeMeta:
    """An author whose context holds nothing."""
    return ChangeMeta(actor="key", context=VectorClock({DeviceId("other"): 0}), **given)


@pytest.mark.parametrize("decide", [rolled_back, reviewed])
async def test_an_etag_or_the_context_tells_what_its_author_had_read(decide: Decide):
    world = World()
    head = await waiting(world)
    with pytest.raises(Conflict) as caught:
        await decide(world, head.id, "", unseen())
    assert (caught.value.reason, caught.value.field) == (Reason.ETAG_MISMATCH, "context")
    with pytest.raises(Conflict) as caught:
        await decide(world, head.id, "v1", unseen())
    assert (caught.value.reason, caught.value.field) == (Reason.ETAG_MISMATCH, "etag")
    first = await decide(world, head.id, head.etag, unseen(request_id="r"))
    assert first.memory is not None
    again = await decide(world, head.id, head.etag, unseen(request_id="r"))
    assert (again.dot, again.replayed) == (first.dot, True)


@pytest.mark.parametrize("decide", [rolled_back, reviewed])
async def test_what_is_not_there_is_told(decide: Decide):
    world = World()
    await waiting(world)
    with pytest.raises(NotFound) as caught:
        await decide(world, MemoryId(uuid.uuid4()), "", ChangeMeta(actor="key"))
    assert caught.value.reason is Reason.MEMORY_NOT_FOUND
