"""The offline device against a model of the service: nothing lost, nothing twice, wherever it is cut off."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import memory_service.client as sdk
from memory_service.client import Assertion, Dot
from memory_service.client.offline import BlockingOfflineDevice, SyncProgress
from tests.client.sync_model import REFUSED, ModelClient, ModelWire, SyncModel

QUICK_FOLDER = "/dev/shm" if Path("/dev/shm").is_dir() else None

SAID = datetime(2020, 2, 2, tzinfo=UTC)


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """In memory where there is such a place: the device flushes every change, and disks are slow at that."""
    with tempfile.TemporaryDirectory(dir=QUICK_FOLDER) as folder:
        yield Path(folder)


def device(
    path: Path, model: SyncModel | None = None, name: str | None = None, wire: ModelWire | None = None, **more: Any
) -> BlockingOfflineDevice:
    wire = wire or ModelWire(model or SyncModel())
    client: Any = ModelClient(wire)
    return BlockingOfflineDevice(path, client, device=name, clock=lambda: SAID, **more)


def texts(one: BlockingOfflineDevice) -> list[str]:
    return sorted(shown.text for shown in one.memories())


def test_what_is_queued_is_there_after_a_restart(tmp_path: Path) -> None:
    with device(tmp_path / "f", name="phone") as phone:
        assert phone.write("tea", tags=["drinks"]) == Dot("phone", 1)
        assert phone.forget(statement="coffee") == Dot("phone", 2)
    with BlockingOfflineDevice(tmp_path / "f") as phone:
        first, second = phone.pending()
        assert (first.operation, first.text, first.context.counters) == ("write", "tea", {})
        assert (second.operation, second.text, second.context.counters) == ("forget", "coffee", {"phone": 1})
        assert [shown.pending for shown in phone.search("tea")] == [Dot("phone", 1)]
        with pytest.raises(sdk.InvalidArgument, match="client"):
            phone.sync()


def test_a_sync_sends_and_fetches(tmp_path: Path) -> None:
    model, told = SyncModel(), list[SyncProgress]()
    with device(tmp_path / "laptop", model, "laptop") as laptop, device(tmp_path / "phone", model, "phone") as phone:
        for number in range(5):
            laptop.write(f"laptop {number}")
        laptop.sync()
        phone.write("phone 0")
        report = phone.sync(told.append)
        assert (report.accepted, report.received, report.interruptions) == (1, 6, 0)
        assert told[0].stage == "sending"
        assert (told[-1].stage, told[-1].pending, told[-1].received) == ("done", 0, 6)
        assert texts(phone) == model.texts()
        # The next change has seen what the sync brought.
        phone.write("phone 1")
        assert phone.pending()[0].context.counters == {"laptop": 5, "phone": 1}
        assert phone.state().synced_at is not None
        gone = phone.memories()[-1].memory
        assert gone is not None
        phone.forget(gone.id)
        assert gone.text not in texts(phone), "a queued Forget hides at once"
        phone.sync()
        laptop.sync()
        assert texts(laptop) == texts(phone) == model.texts()


def test_a_conflict_is_shown_with_both_values(tmp_path: Path) -> None:
    model = SyncModel()
    with device(tmp_path / "laptop", model, "laptop") as laptop, device(tmp_path / "phone", model, "phone") as phone:
        for one, city in ((laptop, "Bonn"), (phone, "Ulm")):
            one.write(f"I live in {city}", predicate="location", object=city)
        assert not laptop.sync().conflicts
        (met,) = phone.sync().conflicts
        assert met.mine is not None
        assert met.other is not None
        assert (met.mine.value, met.mine.device, met.other.value, met.other.device) == (
            "Ulm",
            "phone",
            "Bonn",
            "laptop",
        )
        assert met.other.dot == Dot("laptop", 1)
        assert "laptop" not in met.mine.context.counters
        (slot,) = phone.conflicts()
        assert {side.value for side in slot.sides} == {"Bonn", "Ulm"}
        phone.resolve([side.memory_id for side in slot.sides], keep=met.mine.memory_id)
        assert texts(phone) == ["I live in Ulm"]
        phone.sync()
        laptop.sync()
        assert texts(laptop) == ["I live in Ulm"]
        assert not laptop.conflicts()
        # A value that was seen is replaced, not disputed.
        laptop.write("moved", predicate="location", object="Kiel")
        assert [met.effect for met in laptop.sync().conflicts] == [sdk.Effect.SUPERSEDED]


def test_a_refused_change_is_kept_and_does_not_hold_up_others(tmp_path: Path) -> None:
    model = SyncModel()
    with device(tmp_path / "f", model, "phone") as phone:
        phone.write(REFUSED)
        phone.write("tea")
        report = phone.sync()
        assert (report.accepted, [one.change.text for one in report.rejected]) == (1, [REFUSED])
        assert model.texts() == ["tea"]
    with device(tmp_path / "f", model) as phone:
        (kept,) = phone.rejected()
        assert isinstance(kept.error, sdk.InvalidArgument)
        assert (kept.error.reason, kept.error.field, kept.change.text) == ("FIELD_INVALID", "memory.text", REFUSED)
        assert phone.clear_rejected([kept.number]) == 1
        assert not phone.rejected()


def test_queued_changes_are_laid_over_the_copy(tmp_path: Path) -> None:
    model = SyncModel()
    with device(tmp_path / "f", model, "phone") as phone:
        phone.write("I drink tea", predicate="drink", object="tea")
        phone.write("喜欢喝绿茶")
        phone.sync()
        tea, green = phone.search("tea")[0].memory, phone.search("绿茶")[0].memory
        assert tea is not None
        assert green is not None
        phone.correct(green.id, "喜欢喝红茶")
        assert [shown.text for shown in phone.search("红茶")] == ["喜欢喝红茶"]
        phone.correct(slot=("user", "drink"), object="coffee")
        assert texts(phone) == ['user drink "coffee"', "喜欢喝红茶"]
        phone.forget(statement=Assertion("user", "drink", "coffee"))
        assert texts(phone) == ["喜欢喝红茶"]
        assert not phone.search("coffee")
        assert len(phone.search("", limit=1)) == 1


def test_what_was_forgotten_since_is_not_shown_by_a_late_acknowledgement(tmp_path: Path) -> None:
    model = SyncModel()
    # The first acknowledgement (message 3) is lost, and nothing gets through for a while; later, no page (11) does.
    wire = ModelWire(model, broken={3, 4, 5, 6, 11, 12, 13, 14})
    with device(tmp_path / "f", name="phone", wire=wire) as phone:
        phone.write("one")
        with pytest.raises(sdk.Unavailable):
            phone.sync()
        model.drop("phone-1")
        with pytest.raises(sdk.Unavailable):
            phone.sync()
        assert not phone.pending(), "it was acknowledged"
        assert texts(phone) == []
        phone.sync()
        assert texts(phone) == []


def test_every_change_is_flushed_to_the_disk(tmp_path: Path) -> None:
    with device(tmp_path / "f", name="phone") as phone:
        file = phone._core._opened
        assert file is not None
        assert file._rows("PRAGMA synchronous") == [(2,)], "FULL"
        assert file._rows("PRAGMA journal_mode") == [("wal",)]


def test_a_cursor_that_is_too_old_reads_everything_anew(tmp_path: Path) -> None:
    model = SyncModel()
    with device(tmp_path / "f", model, "phone") as phone:
        for number in range(5):
            phone.write(f"number {number}")
        phone.sync()
        model.drop("phone-2")
        del model.changed["phone-2"]  # and nothing tells of it any more
        model.oldest_cursor = model.revision
        report = phone.sync()
        assert report.received == 4
        assert texts(phone) == model.texts()


# ── Another history of the same device ──────────────────────────────────────────────────────────────────────────


def test_a_device_installed_anew_is_told_to_begin_anew(tmp_path: Path) -> None:
    model = SyncModel()
    with device(tmp_path / "old", model, "phone") as phone:
        phone.write("before")
        phone.sync()
    with device(tmp_path / "new", model, "phone") as phone:
        with pytest.raises(sdk.DeviceOutOfStep, match="new incarnation") as known:
            phone.sync()
        assert known.value.metadata["accepted"] == "1"
        phone.write("after")
        with pytest.raises(sdk.DeviceOutOfStep, match="new incarnation"):
            phone.sync()
        phone.write("after that")
        with pytest.raises(sdk.DeviceOutOfStep):
            phone.sync()
        assert len(phone.pending()) == 2
        assert phone.new_incarnation() == "phone~2"
        first, second = phone.pending()
        assert (first.dot, second.dot) == (Dot("phone~2", 1), Dot("phone~2", 2))
        assert (first.context.counters, second.context.counters) == ({}, {"phone~2": 1})
        assert phone.write("and after that") == Dot("phone~2", 3)
        phone.sync()
    assert model.texts() == ["after", "after that", "and after that", "before"]
    with device(tmp_path / "new", model, "phone") as phone:
        assert phone.state().device == "phone~2"


def test_a_backup_that_used_the_same_counters_for_something_else_loses_nothing(tmp_path: Path) -> None:
    model = SyncModel()
    with device(tmp_path / "f", model, "phone") as phone:
        phone.write("one")
        phone.sync()
        phone.write("two")
    shutil.copy(tmp_path / "f", tmp_path / "backup")
    with device(tmp_path / "f", model, "phone") as phone:
        phone.write("three")
        phone.sync()
    with device(tmp_path / "backup", model, "phone") as phone:
        phone.write("another three")  # the counter of "three"
        phone.write("four")
        with pytest.raises(sdk.DeviceOutOfStep):
            phone.sync()
        assert [change.text for change in phone.pending()][-2:] == ["another three", "four"]
        phone.new_incarnation()
        phone.sync()
        assert texts(phone) == sorted(["one", "two", "three", "another three", "four"])
    assert sorted(model.made) == sorted(["one", "two", "three", "another three", "four"]), "nothing was made twice"


def test_what_got_through_before_the_backup_was_restored_is_not_made_twice(tmp_path: Path) -> None:
    model = SyncModel()
    with device(tmp_path / "f", model, "phone") as phone:
        phone.write("one")
    shutil.copy(tmp_path / "f", tmp_path / "backup")
    with device(tmp_path / "f", model, "phone") as phone:
        phone.write("two")
        phone.sync()
    with device(tmp_path / "backup", model, "phone") as phone:
        with pytest.raises(sdk.DeviceOutOfStep):
            phone.sync()
        phone.new_incarnation()
        report = phone.sync()
        assert (report.accepted, report.rejected) == (1, ())
    assert model.made == ["one", "two"]


def test_a_service_that_lost_changes_is_noticed(tmp_path: Path) -> None:
    with device(tmp_path / "f", name="phone") as phone:
        phone.write("one")
        phone.sync()
    with device(tmp_path / "f", SyncModel()) as phone, pytest.raises(sdk.DeviceOutOfStep, match="another service"):
        phone.sync()


# ── The file ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_file_belongs_to_one_user_and_device(tmp_path: Path) -> None:
    device(tmp_path / "f", name="phone").close()
    for more in ({"user": "bob"}, {"device": "laptop"}):
        with pytest.raises(sdk.InvalidArgument, match="belongs to"):
            BlockingOfflineDevice(tmp_path / "f", **more)  # type: ignore[arg-type]
    with pytest.raises(sdk.InvalidArgument, match="no offline device"):
        BlockingOfflineDevice(tmp_path / "absent")
    assert not (tmp_path / "absent").exists()
    with pytest.raises(sdk.InvalidArgument, match="~"):
        device(tmp_path / "other", name="~server")
    with pytest.raises(sdk.DeviceError):
        device(tmp_path / "no folder" / "f", name="phone")


def test_two_cannot_have_it_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = (
        "import sys; from memory_service.client.device_file import DeviceFile; from pathlib import Path\n"
        "from memory_service.client import DeviceFileLocked\n"
        "try: DeviceFile(Path(sys.argv[1]), wait_seconds=0.05)\n"
        "except DeviceFileLocked: sys.exit(7)"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "f")]
    with device(tmp_path / "f", name="phone"):
        assert subprocess.run(command, check=False).returncode == 7
        monkeypatch.setattr("memory_service.client.offline.DeviceFile", _hasty)
        with pytest.raises(sdk.DeviceFileLocked):
            BlockingOfflineDevice(tmp_path / "f")
    assert subprocess.run(command, check=False).returncode == 0


def _hasty(*args: Any, **kwargs: Any) -> Any:
    from memory_service.client.device_file import DeviceFile

    return DeviceFile(*args, **kwargs, wait_seconds=0.05)


def test_a_killed_process_leaves_what_it_was_told_was_queued(tmp_path: Path) -> None:
    code = (
        "import os, sys; from memory_service.client.offline import BlockingOfflineDevice\n"
        "phone = BlockingOfflineDevice(sys.argv[1], user='ann', device='phone')\n"
        "for number in range(20): phone.write(f'number {number}')\n"
        "os.kill(os.getpid(), 9)"
    )
    killed = subprocess.run([sys.executable, "-c", code, str(tmp_path / "f")], check=False)
    assert killed.returncode == -9
    with BlockingOfflineDevice(tmp_path / "f") as phone:
        assert [change.text for change in phone.pending()] == [f"number {number}" for number in range(20)]


def _empty(path: Path) -> None:
    path.write_bytes(b"")


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: 4096 * 2])


def _overwrite(path: Path) -> None:
    path.write_bytes(b"not a database " * 2000)


def _other_program(path: Path) -> None:
    path.unlink()
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE state (x)")


def _flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    place = data.rindex(b"precious")
    data[place] ^= 1
    path.write_bytes(bytes(data))


def _newer(path: Path) -> None:
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version=99")


@pytest.mark.parametrize("damage", [_empty, _cut, _overwrite, _other_program, _flip, _newer])
def test_a_damaged_file_is_an_error_and_left_alone(tmp_path: Path, damage: Callable[[Path], None]) -> None:
    path = tmp_path / "f"
    with device(path, name="phone") as phone:
        phone.write("precious")
    damage(path)
    before = path.read_bytes()
    with pytest.raises(sdk.DeviceError) as found, device(path, name="phone") as phone:
        phone.pending()
    assert isinstance(found.value, sdk.DeviceFileCorrupt) or damage is _newer
    assert str(path) in str(found.value)
    assert path.read_bytes() == before


def test_a_file_that_lost_its_main_part_is_not_made_anew(tmp_path: Path) -> None:
    (tmp_path / "f-wal").write_bytes(b"x")
    with pytest.raises(sdk.DeviceFileCorrupt, match="f-wal"):
        device(tmp_path / "f", name="phone")


def test_a_full_disk_is_an_error_and_nothing_is_queued(tmp_path: Path) -> None:
    with device(tmp_path / "f", name="phone") as phone:
        phone.write("fits")
        file = phone._core._opened
        assert file is not None
        assert file._connection is not None
        pages = file._connection.execute("PRAGMA page_count").fetchone()[0]
        file._connection.execute(f"PRAGMA max_page_count={pages}")
        with pytest.raises(sdk.DeviceError, match="full"):
            phone.write("x" * 16_000)
        assert [change.text for change in phone.pending()] == ["fits"]
        file._connection.execute("PRAGMA max_page_count=100000")
        assert phone.write("fits too") == Dot("phone", 2)


# ── Cut off anywhere ────────────────────────────────────────────────────────────────────────────────────────────


class Crash(BaseException):
    """The process is gone."""


@dataclass
class Machine:
    """A device whose process may die before any statement, and whose streams may break at any message."""

    folder: Path
    model: SyncModel
    name: str
    wire: ModelWire
    statements: int = 0
    crash_at: set[int] = field(default_factory=set)
    lives: int = 0
    promised: list[str] = field(default_factory=list)
    """Texts whose dot was given to the caller."""

    @property
    def path(self) -> Path:
        return self.folder / f"{self.name}-{self.lives}"

    def before(self, _statement: str) -> None:
        self.statements += 1
        if self.statements - 1 in self.crash_at:
            # What is on the disk now is what the next life finds.
            following = self.folder / f"{self.name}-{self.lives + 1}"
            for ending in ("", "-wal"):
                source = self.path.with_name(self.path.name + ending)
                if source.exists():
                    shutil.copy(source, following.with_name(following.name + ending))
            self.lives += 1
            raise Crash

    @contextlib.contextmanager
    def alive(self) -> Iterator[BlockingOfflineDevice]:
        while True:
            try:
                one = device(self.path, name=self.name, wire=self.wire, before_statement=self.before)
                break
            except Crash:
                continue
        try:
            yield one
        finally:
            one.close()

    def write(self, text: str) -> None:
        with contextlib.suppress(Crash), self.alive() as one:
            before = one.state().counter
            name = one.write(text)
            self.promised.append(text)
            assert name.counter == before + 1

    def forget(self, text: str) -> None:
        with contextlib.suppress(Crash), self.alive() as one:
            one.forget(statement=text)

    def sync(self) -> None:
        with contextlib.suppress(Crash, sdk.Unavailable), self.alive() as one:
            one.sync()

    def settle(self) -> None:
        self.crash_at.clear()
        self.wire.broken.clear()
        with self.alive() as one:
            one.sync()


def check(machine: Machine, forgotten: set[str]) -> None:
    made = machine.model.made
    assert len(made) == len(set(made)), f"made twice: {made}"
    assert set(machine.promised) <= set(made), "promised and lost"
    with machine.alive() as one:
        assert not one.pending()
        assert texts(one) == machine.model.texts(), "the copy is not what the service has"
        assert one.state().clock == dict(machine.model.clock().counters)
        assert not {shown.text for shown in one.memories()} & forgotten


def _scenario(machine: Machine) -> None:
    machine.write("one")
    machine.write("two")
    machine.sync()
    machine.write("three")
    machine.forget("one")
    machine.sync()


def _machine(folder: Path) -> Machine:
    model = SyncModel()
    for number in range(3):  # what other devices had written
        other = device(folder / f"other-{number}", model, f"other-{number}")
        other.write(f"other {number}")
        other.sync()
        other.close()
    return Machine(folder, model, "phone", ModelWire(model))


def test_a_crash_before_any_statement(tmp_path: Path) -> None:
    whole = _machine(tmp_path)
    _scenario(whole)
    assert whole.statements > 80
    for place in range(whole.statements):
        with tempfile.TemporaryDirectory(dir=tmp_path) as folder:
            machine = _machine(Path(folder))
            machine.crash_at = {place}
            _scenario(machine)
            assert machine.lives == 1, place
            machine.settle()
            check(machine, set())


def test_a_stream_that_breaks_at_any_message(tmp_path: Path) -> None:
    whole = _machine(tmp_path)
    _scenario(whole)
    assert whole.wire.messages > 15
    for place in range(whole.wire.messages):
        with tempfile.TemporaryDirectory(dir=tmp_path) as folder:
            machine = _machine(Path(folder))
            machine.wire.broken = {place}
            _scenario(machine)
            assert machine.wire.streams == whole.wire.streams + 1, "it goes on by itself"
            check(machine, {"one"})


_STEPS = st.one_of(
    st.tuples(st.just("write"), st.sampled_from(["phone", "laptop"])),
    st.tuples(st.just("forget"), st.sampled_from(["phone", "laptop"])),
    st.tuples(st.just("sync"), st.sampled_from(["phone", "laptop"])),
)


@given(
    steps=st.lists(_STEPS, min_size=3, max_size=14),
    crashes=st.sets(st.integers(0, 200), max_size=6),
    breaks=st.sets(st.integers(0, 60), max_size=8),
)
def test_devices_converge_whatever_happens(steps: list[tuple[str, str]], crashes: set[int], breaks: set[int]) -> None:
    with tempfile.TemporaryDirectory(dir=QUICK_FOLDER) as folder:
        model = SyncModel()
        machines = {name: Machine(Path(folder), model, name, ModelWire(model)) for name in ("phone", "laptop")}
        for machine in machines.values():
            machine.crash_at, machine.wire.broken = set(crashes), set(breaks)
        for number, (step, name) in enumerate(steps):
            machine = machines[name]
            if step == "write":
                machine.write(f"{name} {number}")
            elif step == "forget":
                machine.forget(f"{name} {number - 1}")
            else:
                machine.sync()
        for _ in range(2):
            for machine in machines.values():
                machine.settle()
        for machine in machines.values():
            check(machine, set())
        for name, done in model.accepted.items():
            assert [ack.dot.counter for _, ack in done] == list(range(1, len(done) + 1)), name


def test_a_full_reading_survives_breaks_and_drops_what_is_gone(tmp_path: Path) -> None:
    model = SyncModel(page_size=1)
    with device(tmp_path / "f", model, "phone") as phone:
        for number in range(4):
            phone.write(f"number {number}")
        phone.sync()
    model.drop("phone-3")
    del model.changed["phone-3"]
    with device(tmp_path / "f", wire=ModelWire(model, broken={4, 8})) as phone:
        file = phone._core._opened
        assert file is not None
        file.begin_whole()
        assert phone.sync().interruptions == 2
        assert texts(phone) == model.texts()
