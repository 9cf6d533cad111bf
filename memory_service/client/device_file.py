"""The file of an offline device: queued changes and a copy of the memories, in SQLite.

One connection holds the file for as long as it is open (`locking_mode=EXCLUSIVE`); every change is one
transaction, flushed to the disk before it returns (`synchronous=FULL`), so a kill at any instant leaves either
all of it or nothing. What is stored as bytes carries a checksum. The file is never repaired, emptied or made anew
where there was one: what cannot be read is an error.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import sqlite3
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from memory_service.client.errors import DeviceError, DeviceFileCorrupt, DeviceFileLocked, InvalidArgument
from memory_service.v1 import memory_service_pb2 as api
from memory_service.v1 import sync_service_pb2 as sync
from memory_service.v1 import types_pb2 as pb

APPLICATION_ID: Final = 0x6D656D64
FORMAT: Final = 1

QUEUED_MAX: Final = 100_000
"""How many changes may wait; a device that is not synced for so long has another problem."""

_SCHEMA: Final = (
    (
        "CREATE TABLE state (id INTEGER PRIMARY KEY CHECK (id = 1), user TEXT NOT NULL, name TEXT NOT NULL, "
        "incarnation INTEGER NOT NULL, counter INTEGER NOT NULL, acknowledged INTEGER NOT NULL, clock BLOB NOT NULL, "
        "clock_check INTEGER NOT NULL, cursor TEXT NOT NULL, generation INTEGER NOT NULL, whole INTEGER NOT NULL, "
        "synced_at TEXT NOT NULL)"
    ),
    (
        "CREATE TABLE changes (counter INTEGER PRIMARY KEY, message BLOB NOT NULL, message_check INTEGER NOT NULL, "
        "made_at TEXT NOT NULL)"
    ),
    (
        "CREATE TABLE rejected (number INTEGER PRIMARY KEY, message BLOB NOT NULL, message_check INTEGER NOT NULL, "
        "error BLOB NOT NULL, error_check INTEGER NOT NULL, made_at TEXT NOT NULL)"
    ),
    (
        "CREATE TABLE memories (id TEXT PRIMARY KEY, message BLOB NOT NULL, message_check INTEGER NOT NULL, "
        "generation INTEGER NOT NULL)"
    ),
)


@dataclass(frozen=True, slots=True)
class State:
    """Where the device stands.

    Attributes:
        counter: of its last change; acknowledged: of the last that the service decided.
        clock, cursor: of the copy of the memories; the clock is that of the last sync that was completed.
        generation, whole: which complete reading the copy belongs to, and whether one is under way.
    """

    user: str
    name: str
    incarnation: int
    counter: int
    acknowledged: int
    clock: dict[str, int]
    cursor: str
    generation: int
    whole: bool
    synced_at: datetime | None

    @property
    def device(self) -> str:
        """The device id: the name, with the number of the incarnation from the second on."""
        return self.name if self.incarnation == 1 else f"{self.name}~{self.incarnation}"

    def context(self) -> dict[str, int]:
        """What the next change will have seen: the copy, and this device's own changes."""
        seen = dict(self.clock)
        if self.counter:
            seen[self.device] = max(self.counter, seen.get(self.device, 0))
        return seen


@dataclass(frozen=True, slots=True)
class Queued:
    """A change that waits to be sent."""

    counter: int
    message: sync.SyncChange
    made_at: datetime


@dataclass(frozen=True, slots=True)
class Refused:
    """A change that the service refused for good."""

    number: int
    message: sync.SyncChange
    error: api.ItemError
    made_at: datetime


class DeviceFile:
    """See the module. Not for two threads at once."""

    def __init__(
        self,
        path: Path,
        user: str | None = None,
        device: str | None = None,
        *,
        wait_seconds: float = 2.0,
        before: Callable[[str], None] | None = None,
    ) -> None:
        """Open the file, or make it when there is none and both user and device are given.

        Args:
            wait_seconds: how long another process may hold it.
            before: called with every statement before it runs; for tests.

        Raises:
            DeviceFileLocked, DeviceFileCorrupt, DeviceError, InvalidArgument: it belongs to another user or
            device, or there is none and no user and device were given.
        """
        self.path = path
        self._before = before or (lambda _statement: None)
        self._connection: sqlite3.Connection | None = None
        if not path.exists():
            if user is None or device is None:
                raise InvalidArgument(
                    f"there is no offline device at {path}", reason="FIELD_REQUIRED", field="device"
                )
            _make(path, user, device)
        with self._errors():
            self._open(wait_seconds)
            state = self.state()
        for field, given, held in (("user", user, state.user), ("device", device, state.name)):
            if given is not None and given not in (held, state.device if field == "device" else held):
                self.close()
                raise InvalidArgument(f"{path} belongs to the {field} {held!r}", reason="FIELD_INVALID", field=field)

    def _open(self, wait_seconds: float) -> None:
        if self.path.stat().st_size == 0:
            raise DeviceFileCorrupt(f"{self.path} is empty: it was cut off, or is not the file of a device")
        address = f"{self.path.absolute().as_uri()}?mode=rw"
        self._connection = sqlite3.connect(
            address, uri=True, timeout=wait_seconds, isolation_level=None, check_same_thread=False
        )
        try:
            self._rows("PRAGMA locking_mode=EXCLUSIVE")
            found = self._rows("PRAGMA application_id")[0][0], self._rows("PRAGMA user_version")[0][0]
            if found[0] != APPLICATION_ID:
                raise DeviceFileCorrupt(f"{self.path} is not the file of an offline device")
            if found[1] != FORMAT:
                raise DeviceError(f"{self.path} has format {found[1]}; this release knows {FORMAT}")
            # Only now: another program's file must not be touched.
            for pragma in ("journal_mode=WAL", "synchronous=FULL"):
                self._rows(f"PRAGMA {pragma}")
            with self._transaction():
                faults = self._rows("PRAGMA quick_check(1)")
                if faults != [("ok",)]:
                    raise DeviceFileCorrupt(f"{self.path} is damaged: {faults[0][0]}")
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Let go of the file. May be called twice."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    # ── Reading ─────────────────────────────────────────────────────────────────────────────────────────────

    def state(self) -> State:
        """Where the device stands."""
        with self._errors():
            rows = self._rows(
                "SELECT user, name, incarnation, counter, acknowledged, clock, clock_check, cursor, generation, "
                "whole, synced_at FROM state"
            )
            if len(rows) != 1:
                raise DeviceFileCorrupt(f"{self.path} has lost its state")
            row = rows[0]
            clock = pb.VectorClock.FromString(self._checked(row[5], row[6]))
            synced_at = datetime.fromisoformat(row[10]) if row[10] else None
            return State(
                user=row[0],
                name=row[1],
                incarnation=row[2],
                counter=row[3],
                acknowledged=row[4],
                clock=dict(clock.counters),
                cursor=row[7],
                generation=row[8],
                whole=bool(row[9]),
                synced_at=synced_at,
            )

    def queue(self, after: int = 0, limit: int = -1) -> list[Queued]:
        """Changes not yet acknowledged, in order, beyond a counter."""
        with self._errors():
            rows = self._rows(
                "SELECT counter, message, message_check, made_at FROM changes WHERE counter > ? ORDER BY counter "
                "LIMIT ?",
                after,
                limit,
            )
            return [
                Queued(row[0], sync.SyncChange.FromString(self._checked(row[1], row[2])), _time(row[3]))
                for row in rows
            ]

    def refused(self) -> list[Refused]:
        """Changes that were refused and not cleared, oldest first."""
        with self._errors():
            rows = self._rows(
                "SELECT number, message, message_check, error, error_check, made_at FROM rejected ORDER BY number"
            )
            return [
                Refused(
                    row[0],
                    sync.SyncChange.FromString(self._checked(row[1], row[2])),
                    api.ItemError.FromString(self._checked(row[3], row[4])),
                    _time(row[5]),
                )
                for row in rows
            ]

    def memories(self) -> list[pb.Memory]:
        """The copy of the memories, in no particular order."""
        with self._errors():
            rows = self._rows("SELECT message, message_check FROM memories")
            return [pb.Memory.FromString(self._checked(*row)) for row in rows]

    # ── Changing: each one transaction ──────────────────────────────────────────────────────────────────────

    def add(self, change: sync.SyncChange, made_at: datetime) -> pb.Dot:
        """Queue a change; its dot and context are set here. Durable when it returns."""
        with self._errors(), self._transaction():
            state = self.state()
            if state.counter - state.acknowledged >= QUEUED_MAX:
                raise DeviceError(f"{QUEUED_MAX} changes wait to be sent: sync first")
            name = pb.Dot(device=state.device, counter=state.counter + 1)
            request = request_of(change)
            request.dot.CopyFrom(name)
            request.context.CopyFrom(pb.VectorClock(counters=state.context()))
            self._put_change(name.counter, change, made_at.isoformat())
            self._run("UPDATE state SET counter = ?", name.counter)
            return name

    def acknowledge(self, ack: sync.SyncAck, *, accepted: bool) -> None:
        """A change was decided: take what is known of its outcome into the copy, or keep why it was refused."""
        with self._errors(), self._transaction():
            counter = ack.dot.counter
            rows = self._rows("SELECT message, message_check, made_at FROM changes WHERE counter = ?", counter)
            if not rows:
                return
            if accepted:
                self._take_outcome(ack)
            else:
                error = ack.error.SerializeToString()
                self._run(
                    "INSERT INTO rejected (message, message_check, error, error_check, made_at) "
                    "VALUES (?, ?, ?, ?, ?)",
                    self._checked(rows[0][0], rows[0][1]),
                    rows[0][1],
                    error,
                    zlib.crc32(error),
                    rows[0][2],
                )
            self._run("DELETE FROM changes WHERE counter = ?", counter)
            self._run("UPDATE state SET acknowledged = max(acknowledged, ?)", counter)

    def _take_outcome(self, ack: sync.SyncAck) -> None:
        which = ack.WhichOneof("result")
        if which is None or which == "error":
            return
        answer = getattr(ack, which)
        if answer.replayed:
            return  # as old as the first answer: what it tells may have been forgotten since
        generation = self.state().generation
        if which == "forgotten":
            self._drop(answer.memory_ids)
            return
        told = [answer.memory] if answer.HasField("memory") else []
        told += [one.memory for one in answer.affected if one.HasField("memory")]
        for memory in told:
            self._keep(memory, generation)

    def begin_whole(self) -> None:
        """Read everything anew: what is not among it will be dropped at the end."""
        with self._errors(), self._transaction():
            self._run("UPDATE state SET generation = generation + 1, whole = 1, cursor = ''")

    def store_page(self, page: sync.SyncPage, at: datetime) -> None:
        """Take a page into the copy, together with where it ends."""
        with self._errors(), self._transaction():
            state = self.state()
            for memory in page.memories:
                self._keep(memory, state.generation)
            self._drop(page.forgotten_ids)
            self._run("UPDATE state SET cursor = ?", page.cursor)
            if not page.done:
                return
            if state.whole:
                self._run("DELETE FROM memories WHERE generation < ?", state.generation)
            clock = {name: max(count, page.clock.counters[name]) for name, count in state.clock.items()}
            self._set_clock({**dict(page.clock.counters), **clock})
            self._run("UPDATE state SET whole = 0, synced_at = ?", at.isoformat())

    def new_incarnation(self) -> State:
        """Go on as a fresh device; what was not acknowledged is numbered anew, from 1, in its order."""
        with self._errors(), self._transaction():
            old = self.state()
            waiting = self.queue()
            self._run("DELETE FROM changes")
            self._run("UPDATE state SET incarnation = incarnation + 1, counter = ?, acknowledged = 0", len(waiting))
            # Of the old name only what was accepted has been seen by anybody; the rest gets new names.
            accepted = max(old.acknowledged, old.clock.get(old.device, 0))
            if accepted:
                self._set_clock({**old.clock, old.device: accepted})
            new = self.state()
            for counter, queued in enumerate(waiting, start=1):
                request = request_of(queued.message)
                request.dot.CopyFrom(pb.Dot(device=new.device, counter=counter))
                seen = min(request.context.counters.get(old.device, 0), accepted)
                if seen:
                    request.context.counters[old.device] = seen
                else:
                    request.context.counters.pop(old.device, None)
                if counter > 1:
                    request.context.counters[new.device] = counter - 1
                self._put_change(counter, queued.message, queued.made_at.isoformat())
            return self.state()

    def clear_refused(self, numbers: Sequence[int] | None) -> int:
        """Drop refused changes, all when None; how many there were."""
        with self._errors(), self._transaction():
            if numbers is None:
                return self._run("DELETE FROM rejected").rowcount
            return sum(self._run("DELETE FROM rejected WHERE number = ?", number).rowcount for number in numbers)

    # ── Parts ───────────────────────────────────────────────────────────────────────────────────────────────

    def _put_change(self, counter: int, change: sync.SyncChange, made_at: str) -> None:
        message = change.SerializeToString()
        self._run("INSERT INTO changes VALUES (?, ?, ?, ?)", counter, message, zlib.crc32(message), made_at)

    def _keep(self, memory: pb.Memory, generation: int) -> None:
        if memory.redacted:
            self._drop([memory.id])
            return
        message = memory.SerializeToString()
        self._run(
            "INSERT INTO memories VALUES (?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET message = excluded.message, "
            "message_check = excluded.message_check, generation = excluded.generation",
            memory.id,
            message,
            zlib.crc32(message),
            generation,
        )

    def _drop(self, ids: Sequence[str]) -> None:
        for memory_id in ids:
            self._run("DELETE FROM memories WHERE id = ?", memory_id)

    def _set_clock(self, counters: dict[str, int]) -> None:
        clock = pb.VectorClock(counters=counters).SerializeToString()
        self._run("UPDATE state SET clock = ?, clock_check = ?", clock, zlib.crc32(clock))

    def _checked(self, message: Any, check: int) -> bytes:
        if not isinstance(message, bytes) or zlib.crc32(message) != check:
            raise DeviceFileCorrupt(f"{self.path} is damaged: a checksum does not match")
        return bytes(message)

    def _run(self, statement: str, *values: Any) -> sqlite3.Cursor:
        if self._connection is None:
            raise DeviceError("the offline device is closed")
        self._before(statement)
        return self._connection.execute(statement, values)

    def _rows(self, statement: str, *values: Any) -> list[Any]:
        return self._run(statement, *values).fetchall()

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        self._run("BEGIN IMMEDIATE")
        try:
            yield
            self._run("COMMIT")
        except BaseException:
            if self._connection is not None and self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise _translated(error, self.path) from error


def request_of(
    change: sync.SyncChange,
) -> api.WriteRequest | api.CorrectRequest | api.ForgetRequest | api.ResolveConflictRequest | api.RollbackRequest:
    """The request inside a change."""
    which = change.WhichOneof("change")
    if which is None:
        raise DeviceFileCorrupt("a queued change is of a sort that this release does not know")
    request: api.WriteRequest = getattr(change, which)
    return request


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text)


def _translated(error: sqlite3.Error, path: Path) -> DeviceError:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return DeviceFileLocked(f"{path} is in use by another process")
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return DeviceFileCorrupt(f"{path} is damaged, or is not the file of an offline device: {error}")
    if code == sqlite3.SQLITE_ERROR:  # a table is missing or has other columns
        return DeviceFileCorrupt(f"{path} is not as this release made it: {error}")
    return DeviceError(f"{path} cannot be used: {error}")


def _make(path: Path, user: str, device: str) -> None:
    """Make the file beside its place and put it there whole, so that a kill leaves no half of one."""
    if not device or device.startswith("~"):
        raise InvalidArgument("a device needs a name that does not begin with ~", field="device")
    for ending in ("-wal", "-journal"):
        if path.with_name(path.name + ending).exists():
            raise DeviceFileCorrupt(f"{path} is gone, but {path.name}{ending} is there: put the file back first")
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}.new")
    try:
        connection = sqlite3.connect(draft, isolation_level=None)
        try:
            connection.execute("PRAGMA synchronous=FULL")
            connection.execute(f"PRAGMA application_id={APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version={FORMAT}")
            connection.execute("BEGIN IMMEDIATE")
            for statement in _SCHEMA:
                connection.execute(statement)
            connection.execute(
                "INSERT INTO state VALUES (1, ?, ?, 1, 0, 0, ?, ?, '', 0, 0, '')",
                (user, device, b"", zlib.crc32(b"")),
            )
            connection.execute("COMMIT")
        finally:
            connection.close()
        with contextlib.suppress(FileExistsError):  # somebody else was quicker; theirs will be opened
            os.link(draft, path)
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    except (OSError, sqlite3.Error) as error:
        raise DeviceError(f"{path} cannot be made: {error}") from error
    finally:
        draft.unlink(missing_ok=True)


def now() -> datetime:
    """This machine's time; only ever shown, or sent as the writer's word of when it said something."""
    return datetime.now(UTC)
