"""What makes vectors later: it finds everything, and costs nothing while nothing waits (E14)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from memory_service.domain.errors import Reason, Unavailable
from memory_service.domain.ids import OwnerKey, TenantId, UserId
from memory_service.jobs import backfill as module
from memory_service.jobs.backfill import REST_SECONDS, Backfill
from memory_service.ports.embedder import Embedder, EmbeddingModel, FloatMatrix
from tests.app.harness import Silent, World

OWNERS = [OwnerKey(TenantId("acme"), UserId(f"u{number}")) for number in range(12)]


class Renamed:
    """A model like another under a name of its own, which may be away."""

    def __init__(self, inner: Embedder, name: str) -> None:
        self.inner, self.away = inner, False
        self.model: EmbeddingModel = replace(inner.model, id=name)

    async def embed(self, texts: Sequence[str]) -> FloatMatrix:
        if self.away:
            raise Unavailable(Reason.EMBEDDER_UNAVAILABLE, "away")
        return await self.inner.embed(texts)

    async def close(self) -> None: ...


class Asked:
    """A store that notes what it is asked."""

    def __init__(self, store: Any) -> None:
        self.store, self.calls = store, list[str]()

    def __getattr__(self, name: str) -> Any:
        self.calls.append(name)
        return getattr(self.store, name)


@pytest.fixture(autouse=True)
def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_PAGE", 2)
    monkeypatch.setattr(module, "_LOOKED_MAX", 6)


async def owners_behind(world: World, model_id: str) -> int:
    return len((await world.store.owners_behind(model_id, after=None, limit=100)).owners)


async def test_a_change_of_the_model_embeds_everything_anew_and_then_only_what_waits_is_asked_for():
    world = World()
    for owner in OWNERS:
        await world.say("I like tea", owner)
    model, store = Renamed(world.embedder, "another"), Asked(world.store)
    backfill = Backfill(store, world.snapshots, model, Silent(), world.clock)
    assert [await backfill.run_once() for _ in range(3)] == [6, 6, 0]
    assert await owners_behind(world, model.model.id) == 0
    store.calls.clear()
    for _ in range(20):
        assert await backfill.run_once() == 0
    assert store.calls == ["owners_with_waiting_fragments"] * 20
    world.clock.advance(timedelta(seconds=REST_SECONDS))
    await backfill.run_once()
    assert store.calls.count("owners_behind") == 3


async def test_a_model_that_goes_away_in_the_middle_skips_nobody():
    world = World()
    for owner in OWNERS:
        await world.say("I like tea", owner)
    model = Renamed(world.embedder, "another")
    backfill = Backfill(world.store, world.snapshots, model, Silent(), world.clock)
    assert await backfill.run_once() == 6
    model.away = True
    for _ in range(3):
        with pytest.raises(Unavailable):
            await backfill.run_once()
    model.away = False
    assert await backfill.run_once() == 6
    assert await owners_behind(world, model.model.id) == 0


async def test_what_came_while_the_model_was_away_waits_for_no_walk():
    model = Renamed(World().embedder, "own")
    world = World(embedder=model)
    backfill = Backfill(world.store, world.snapshots, model, Silent(), world.clock)
    await backfill.run_once()
    model.away = True
    for owner in OWNERS:
        await world.say("I like tea", owner)
    model.away = False
    assert await backfill.run_once() == len(OWNERS)
