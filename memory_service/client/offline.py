"""A device that works without the service: it queues changes, keeps a copy of the memories, and syncs later.

    async with OfflineDevice(Path("ann.device"), client, user="ann", device="phone") as phone:
        await phone.write("I am allergic to peanuts.")      # durable in the file; nothing is sent
        print((await phone.search("peanuts"))[0].text)
        report = await phone.sync()                          # when there is a network
        for met in report.conflicts:
            print(met.mine, met.other)

See `docs/devices.md`.
"""

from __future__ import annotations

import asyncio
import threading
import uuid
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from functools import update_wrapper
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, Self, TypeVar, Unpack

from memory_service.client import decode, encode, requests
from memory_service.client import types as t
from memory_service.client.aio import AsyncMemoryClient
from memory_service.client.conflicts import ContestedSlot, contested_slots
from memory_service.client.device_file import DeviceFile, Queued, Refused, State, now
from memory_service.client.device_sync import RejectedChange as RejectedChange
from memory_service.client.device_sync import Synchroniser, not_while_offline
from memory_service.client.device_sync import SyncProgress as SyncProgress
from memory_service.client.device_sync import SyncReport as SyncReport
from memory_service.client.errors import DeviceError
from memory_service.client.failures import from_item_error
from memory_service.client.local_view import STANDING, described, search, view
from memory_service.client.local_view import LocalMemory as LocalMemory
from memory_service.client.local_view import PendingChange as PendingChange
from memory_service.client.plumbing import Plumbing
from memory_service.client.sync import MemoryClient
from memory_service.client.wire import drive
from memory_service.v1 import memory_service_pb2 as api
from memory_service.v1 import sync_service_pb2 as sync

IDLE_SECONDS = 30.0
"""A sync in which nothing comes for so long is broken off and begun again."""

P = ParamSpec("P")
Result = TypeVar("Result")


class DeviceCore:
    """The logic of an offline device as coroutines; callers hold `OfflineDevice` or `BlockingOfflineDevice`."""

    def __init__(
        self,
        path: Path,
        client: Plumbing | None,
        user: str | None,
        device: str | None,
        clock: Callable[[], datetime],
        before: Callable[[str], None] | None,
    ) -> None:
        self._path = Path(path)
        self._client = client
        self._user = user if user is not None or client is None else client.user or None
        self._name = device if device is not None or client is None else client.device or None
        self._clock = clock
        self._before = before
        self._opened: DeviceFile | None = None
        self._closed = False
        self._syncing = False

    async def _run(self, function: Callable[..., Result], *arguments: Any) -> Result:
        """Run a function on the file, where it does not hold up others."""
        raise NotImplementedError

    async def _file(self) -> DeviceFile:
        if self._closed:
            raise DeviceError("the offline device is closed")
        if self._opened is None:
            self._opened = await self._run(self._open_file)
        return self._opened

    def _open_file(self) -> DeviceFile:
        if self._opened is not None:  # by another task, while this one waited for the thread
            return self._opened
        user = self._user
        if user is None and self._client is not None and not self._path.exists():
            user = ""  # the one that the key is bound to
        return DeviceFile(self._path, user, self._name, before=self._before)

    # ── Changes: queued, not sent ───────────────────────────────────────────────────────────────────────────

    async def write(self, text: str | None = None, **fields: Unpack[t.MemoryFields]) -> t.Dot:
        """Queue a statement; as `AsyncMemoryClient.write`. It is durable when its dot comes back.

        It was said now, by this device's clock, unless `said_at` says otherwise.
        """
        if "said_at" not in fields:
            fields["said_at"] = self._clock()
        request = requests.write(text, fields)
        if self._client is not None:
            self._client._sign(request.memory)
        return await self._queue(sync.SyncChange(write=request))

    async def correct(
        self,
        memory_id: str | None = None,
        text: str | None = None,
        *,
        slot: t.Slot | tuple[str, str] | None = None,
        nature: t.CorrectionNature | str | None = None,
        changed_at: datetime | None = None,
        reason: str = "",
        **fields: Unpack[t.MemoryFields],
    ) -> t.Dot:
        """Queue a correction; as `AsyncMemoryClient.correct`."""
        request = requests.correct(
            memory_id,
            text,
            slot,
            fields,
            nature=nature,
            changed_at=changed_at,
            reason=reason,
            etag="",  # the context says what this device had seen, and more exactly
            update_mask=None,
        )
        return await self._queue(sync.SyncChange(correct=request))

    async def forget(
        self,
        ids: str | Sequence[str] | None = None,
        *,
        slot: t.Slot | tuple[str, str] | None = None,
        statement: str | t.Assertion | t.NewMemory | None = None,
        reason: str = "",
    ) -> t.Dot:
        """Queue a Forget by id, slot or statement; as `AsyncMemoryClient.forget`.

        What this device wrote and has not sent has no id yet: forget it by its statement.
        """
        request = requests.forget(ids, slot, None, statement, reason=reason)
        return await self._queue(sync.SyncChange(forget=request))

    async def resolve(
        self,
        ids: Sequence[str],
        *,
        keep: str | None = None,
        merge: str | t.Assertion | t.NewMemory | None = None,
        dismiss: bool = False,
        reason: str = "",
    ) -> t.Dot:
        """Queue a decision; as `AsyncMemoryClient.resolve_conflict`."""
        request = requests.resolve(ids, keep, merge, dismiss=dismiss, reason=reason)
        if request.HasField("merge") and self._client is not None:
            self._client._sign(request.merge)
        return await self._queue(sync.SyncChange(resolve=request))

    async def rollback(self, memory_id: str, version: int, *, reason: str = "") -> t.Dot:
        """Queue a roll-back; as `AsyncMemoryClient.rollback`."""
        request = api.RollbackRequest(
            memory_id=encode.text(memory_id, "memory_id"),
            version=encode.integer(version, "version", 2**64 - 1),
            reason=encode.text(reason, "reason"),
        )
        return await self._queue(sync.SyncChange(rollback=request))

    async def _queue(self, change: sync.SyncChange) -> t.Dot:
        which = change.WhichOneof("change")
        assert which is not None
        # Kept through a new incarnation, so that a change which got through before it is not made twice.
        getattr(change, which).request_id = uuid.uuid4().hex
        file = await self._file()
        name = await self._run(file.add, change, self._clock())
        return t.Dot(name.device, name.counter)

    # ── What the device knows ───────────────────────────────────────────────────────────────────────────────

    async def state(self) -> State:
        """Whose device this is, and where it stands."""
        file = await self._file()
        return await self._run(file.state)

    async def pending(self) -> Sequence[PendingChange]:
        """Changes that wait to be sent, in order."""
        file = await self._file()
        return [described(queued) for queued in await self._run(file.queue)]

    async def rejected(self) -> Sequence[RejectedChange]:
        """Changes that the service refused for good, with why, oldest first."""
        file = await self._file()
        return [_rejected(refused) for refused in await self._run(file.refused)]

    async def clear_rejected(self, numbers: Sequence[int] | None = None) -> int:
        """Drop refused changes by their numbers, all when None, once their author has dealt with them."""
        file = await self._file()
        return await self._run(file.clear_refused, numbers)

    async def memories(self, *, statuses: Sequence[t.Status] = STANDING) -> Sequence[LocalMemory]:
        """What this device knows, its queued changes laid over what the last sync brought; newest first."""
        file = await self._file()
        return await self._run(_view, file, statuses)

    async def search(self, text: str, *, limit: int = 10) -> Sequence[LocalMemory]:
        """Those of `memories` that share words with the text, most of them first. No match for a recall."""
        file = await self._file()
        return await self._run(_search, file, text, limit)

    async def conflicts(self) -> Sequence[ContestedSlot]:
        """What was contested when the device last synced, by slot, with who said it, when, and which clock."""
        file = await self._file()
        return await self._run(_contested, file)

    # ── The service ─────────────────────────────────────────────────────────────────────────────────────────

    async def sync(
        self,
        on_progress: Callable[[SyncProgress], None] | None = None,
        *,
        idle_seconds: float = IDLE_SECONDS,
    ) -> SyncReport:
        """Send what is queued, then fetch what this device lacks.

        May break at any point and be called again: nothing is lost and nothing is done twice. A broken stream
        is tried again as the client's `RetryPolicy` says, for as long as each gets further.

        Raises:
            Unavailable: the service stayed away.
            DeviceOutOfStep: the service knows another history of this device; see `new_incarnation`.
        """
        if self._client is None:
            raise not_while_offline()
        if self._syncing:
            raise DeviceError("a sync of this device is under way")
        file = await self._file()
        self._syncing = True
        try:
            return await Synchroniser(self._client, file, self._run, idle_seconds, on_progress)()
        finally:
            self._syncing = False

    async def new_incarnation(self) -> str:
        """Go on under a fresh device id ("phone", "phone~2", …), and number what was not sent anew.

        For a device that was installed anew under its old name, or whose file came back from a backup. Changes
        that the service had accepted under the old name are recognised and not made again.
        """
        if self._syncing:
            raise DeviceError("a sync of this device is under way")
        file = await self._file()
        state = await self._run(file.new_incarnation)
        return state.device

    async def _close(self) -> None:
        self._closed = True
        if self._opened is not None:
            file, self._opened = self._opened, None
            await self._run(file.close)


def _rejected(refused: Refused) -> RejectedChange:
    change = described(Queued(0, refused.message, refused.made_at))
    return RejectedChange(refused.number, change, from_item_error(refused.error, ""))


def _view(file: DeviceFile, statuses: Sequence[t.Status]) -> list[LocalMemory]:
    return view(file.memories(), file.queue(), statuses)


def _search(file: DeviceFile, text: str, limit: int) -> list[LocalMemory]:
    return search(_view(file, STANDING), text, limit)


def _contested(file: DeviceFile) -> tuple[ContestedSlot, ...]:
    found = [decode.memory(memory) for memory in file.memories()]
    return contested_slots(sorted(found, key=lambda memory: (str(memory.recorded_at), memory.id)))


class OfflineDevice(DeviceCore):
    """An offline device for asyncio; the file is used on a thread of its own.

    Args:
        path: the file; made at first use. One process at a time may have it open.
        client: to sync with; not needed before.
        user: whose memories; the client's user when None. Kept in the file, so it may be left out later.
        device: the device's name; the client's device when None. Kept in the file too.
        clock: this machine's time, for `said_at` and for showing; it never decides an order.
    """

    def __init__(
        self,
        path: Path | str,
        client: AsyncMemoryClient | None = None,
        user: str | None = None,
        device: str | None = None,
        *,
        clock: Callable[[], datetime] = now,
        before_statement: Callable[[str], None] | None = None,
    ) -> None:
        super().__init__(Path(path), client, user, device, clock, before_statement)
        self._thread: ThreadPoolExecutor | None = None

    async def _run(self, function: Callable[..., Result], *arguments: Any) -> Result:
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, thread_name_prefix="memory-device")
        return await asyncio.get_running_loop().run_in_executor(self._thread, function, *arguments)

    async def close(self) -> None:
        """Let go of the file."""
        await self._close()
        if self._thread is not None:
            self._thread.shutdown(wait=False)
            self._thread = None

    async def __aenter__(self) -> Self:
        await self._file()
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.close()


class _BlockingCore(DeviceCore):
    """Runs everything where it is called, one caller at a time."""

    _lock: threading.RLock

    async def _run(self, function: Callable[..., Result], *arguments: Any) -> Result:
        with self._lock:
            return function(*arguments)


def _blocking(
    method: Callable[Concatenate[DeviceCore, P], Awaitable[Result]],
) -> Callable[Concatenate[BlockingOfflineDevice, P], Result]:
    def call(self: BlockingOfflineDevice, /, *args: P.args, **kwargs: P.kwargs) -> Result:
        work: Any = method(self._core, *args, **kwargs)
        coroutine: Coroutine[Any, Any, Result] = work
        return drive(coroutine)

    update_wrapper(call, method)
    return call


class BlockingOfflineDevice:
    """An offline device that blocks; for everything else see `OfflineDevice`. Opens its file when made."""

    def __init__(
        self,
        path: Path | str,
        client: MemoryClient | None = None,
        user: str | None = None,
        device: str | None = None,
        *,
        clock: Callable[[], datetime] = now,
        before_statement: Callable[[str], None] | None = None,
    ) -> None:
        plumbing = None if client is None else client._core
        self._core = _BlockingCore(Path(path), plumbing, user, device, clock, before_statement)
        self._core._lock = threading.RLock()
        drive(self._core._file())

    write = _blocking(DeviceCore.write)
    correct = _blocking(DeviceCore.correct)
    forget = _blocking(DeviceCore.forget)
    resolve = _blocking(DeviceCore.resolve)
    rollback = _blocking(DeviceCore.rollback)
    state = _blocking(DeviceCore.state)
    pending = _blocking(DeviceCore.pending)
    rejected = _blocking(DeviceCore.rejected)
    clear_rejected = _blocking(DeviceCore.clear_rejected)
    memories = _blocking(DeviceCore.memories)
    search = _blocking(DeviceCore.search)
    conflicts = _blocking(DeviceCore.conflicts)
    sync = _blocking(DeviceCore.sync)
    new_incarnation = _blocking(DeviceCore.new_incarnation)

    def close(self) -> None:
        """Let go of the file."""
        drive(self._core._close())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()
