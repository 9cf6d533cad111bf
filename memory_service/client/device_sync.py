"""One sync of an offline device: send the queue, then fetch what is lacking, over as many streams as it takes."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeVar

import grpc

from memory_service.client import decode, rpcs
from memory_service.client import types as t
from memory_service.client.device_file import DeviceFile, Queued, State, now, request_of
from memory_service.client.errors import (
    DeviceOutOfStep,
    InvalidArgument,
    MemoryClientError,
    OutOfRange,
    Unavailable,
)
from memory_service.client.failures import from_item_error, from_rpc_error
from memory_service.client.local_view import PendingChange, described
from memory_service.client.plumbing import Plumbing
from memory_service.client.retry import broken_off, worth_retrying
from memory_service.client.streams import EndedWhileSending
from memory_service.client.wire import Stream
from memory_service.v1 import sync_service_pb2 as sync

WINDOW_CHANGES: Final = 64
"""Changes sent and not yet acknowledged."""

WINDOW_BYTES: Final = 32 * 2**10
"""Bytes of them, one larger change excepted: less than gRPC's own window, so that neither side ever waits to
write while the other does too."""

PAGE_SIZE: Final = 200

Result = TypeVar("Result")
FileRunner = Callable[..., Awaitable[Any]]
DeviceStream = Stream[sync.SyncRequest, sync.SyncResponse]


@dataclass(frozen=True, slots=True)
class SyncProgress:
    """How far a sync is.

    Attributes:
        stage: "sending" or "receiving"; "done" at the end.
        pending: changes still to be decided.
        accepted, refused: changes decided in this sync.
        received, forgotten: memories received and forgotten.
    """

    stage: str
    pending: int
    accepted: int
    refused: int
    received: int
    forgotten: int


@dataclass(frozen=True, slots=True)
class RejectedChange:
    """A change that the service refused for good. It stays until it is cleared."""

    number: int
    change: PendingChange
    error: MemoryClientError


@dataclass(frozen=True, slots=True)
class SyncReport:
    """What a sync did.

    Attributes:
        accepted: how many changes were accepted, those included that an earlier, broken sync had brought.
        rejected: those that were refused in this sync, with why.
        conflicts: what the changes met, both values each (F7).
        received, forgotten: memories received and forgotten.
        interruptions: how often the stream broke.
    """

    accepted: int = 0
    rejected: tuple[RejectedChange, ...] = ()
    conflicts: tuple[t.Conflict, ...] = ()
    received: int = 0
    forgotten: int = 0
    interruptions: int = 0


@dataclass(slots=True)
class _Sent:
    """What is under way, oldest first, with its size."""

    changes: deque[tuple[Queued, int]] = field(default_factory=deque)
    size_bytes: int = 0

    def has_room(self, size: int) -> bool:
        return len(self.changes) < WINDOW_CHANGES and self.size_bytes + size <= WINDOW_BYTES

    def push(self, queued: Queued, size: int) -> None:
        self.changes.append((queued, size))
        self.size_bytes += size

    def pop(self) -> Queued:
        queued, size = self.changes.popleft()
        self.size_bytes -= size
        return queued


class Synchroniser:
    """One use of `OfflineDevice.sync`."""

    def __init__(
        self,
        client: Plumbing,
        file: DeviceFile,
        run: FileRunner,
        idle_seconds: float,
        on_progress: Callable[[SyncProgress], None] | None,
    ) -> None:
        self._client = client
        self._file = file
        self._run = run
        self._idle_seconds = idle_seconds
        self._on_progress = on_progress
        self._report = SyncReport()
        self._moved = False
        self._one_by_one = False

    async def __call__(self) -> SyncReport:
        """Sync, going on after every break for as long as each stream gets further or attempts are left."""
        caller = self._client._caller
        failures = 0
        while True:
            self._moved = False
            try:
                await self._once()
                return self._report
            except grpc.RpcError as failure:
                error = from_rpc_error(failure, self._client.target)
            except MemoryClientError as failure:
                error = failure
            if isinstance(error, OutOfRange) or error.reason == "CURSOR_INVALID":
                state: State = await self._run(self._file.state)
                if not state.cursor:
                    raise error
                # What happened since the cursor is no longer known piece by piece: read everything anew.
                await self._run(self._file.begin_whole)
                continue
            error = _explained(error)
            self._one_by_one = isinstance(error, EndedWhileSending) and not self._one_by_one
            if self._one_by_one:
                continue  # and learn from the next stream why this one ended
            failures = 1 if self._moved else failures + 1
            error.attempts = failures
            mendable = worth_retrying(error) or broken_off(error)
            if not mendable or failures >= caller.policy.attempts_max:
                raise error
            self._report = replace(self._report, interruptions=self._report.interruptions + 1)
            await self._client._wire.sleep(
                caller.policy.wait_seconds(failures, error.retry_after_seconds, caller.draw())
            )

    async def _once(self) -> None:
        state: State = await self._run(self._file.state)
        if not state.cursor and not state.whole:
            await self._run(self._file.begin_whole)
        stream = self._client._wire.stream(rpcs.SYNC, metadata=self._client._metadata)
        try:
            opening = sync.SyncOpen(user=state.user, device=state.device, cursor=state.cursor)
            await stream.send(sync.SyncRequest(open=opening))
            opened = (await self._receive(stream, "opened")).opened
            _check_opened(opened, state)
            await self._send_queue(stream)
            await stream.send(sync.SyncRequest(pull=sync.SyncPull(page_size=PAGE_SIZE)))
            await self._fetch(stream)
        finally:
            stream.cancel()

    async def _receive(self, stream: DeviceStream, expected: str) -> sync.SyncResponse:
        message = await stream.receive(self._idle_seconds)
        if message is None:
            raise Unavailable("the service ended the stream")
        if message.WhichOneof("message") != expected:
            raise MemoryClientError(f"the service sent {message.WhichOneof('message')} where {expected} was due")
        return message

    # ── The queue ───────────────────────────────────────────────────────────────────────────────────────────

    async def _send_queue(self, stream: DeviceStream) -> None:
        """Everything not acknowledged is sent, though the service may have it: it then answers as it did first.

        Dropping what its counter covers would be quicker, and would lose the changes of a device that came
        back from a backup and used the same counters for something else.
        """
        sent, last = _Sent(), 0
        waiting: deque[Queued] = deque()
        while True:
            if not waiting:
                waiting.extend(await self._run(self._file.queue, last, WINDOW_CHANGES))
            while waiting:
                message = sync.SyncRequest(change=waiting[0].message)
                size = message.ByteSize()
                if sent.changes and (self._one_by_one or not sent.has_room(size)):
                    break
                await stream.send(message)
                last = waiting[0].counter
                sent.push(waiting.popleft(), size)
            if not sent.changes:
                return
            ack = (await self._receive(stream, "ack")).ack
            await self._acknowledge(sent.pop(), ack)

    async def _acknowledge(self, queued: Queued, ack: sync.SyncAck) -> None:
        name = request_of(queued.message).dot
        if ack.dot != name:
            raise MemoryClientError(f"the service acknowledged change {ack.dot.counter} where {name.counter} was due")
        accepted = ack.WhichOneof("result") != "error"
        if not accepted and ack.error.reason == "REQUEST_ID_REUSED":
            # It was accepted under the name it had before the device began anew.
            accepted = True
        elif not accepted and ack.error.reason in _OUT_OF_STEP:
            raise from_item_error(ack.error, "")
        elif not accepted:
            change = described(queued)
            error = from_item_error(ack.error, request_of(queued.message).request_id)
            rejected = RejectedChange(0, change, error)
            self._report = replace(self._report, rejected=(*self._report.rejected, rejected))
        await self._run(_acknowledge, self._file, ack, accepted)
        self._moved = True
        if accepted:
            self._report = replace(
                self._report,
                accepted=self._report.accepted + 1,
                conflicts=(*self._report.conflicts, *_conflicts(ack)),
            )
        await self._tell("sending")

    # ── The copy ────────────────────────────────────────────────────────────────────────────────────────────

    async def _fetch(self, stream: DeviceStream) -> None:
        while True:
            page = (await self._receive(stream, "page")).page
            await self._run(self._file.store_page, page, now())
            self._moved = True
            self._report = replace(
                self._report,
                received=self._report.received + len(page.memories),
                forgotten=self._report.forgotten + len(page.forgotten_ids),
            )
            await self._tell("done" if page.done else "receiving")
            if page.done:
                return

    async def _tell(self, stage: str) -> None:
        if self._on_progress is None:
            return
        state: State = await self._run(self._file.state)
        report = self._report
        self._on_progress(
            SyncProgress(
                stage=stage,
                pending=state.counter - state.acknowledged,
                accepted=report.accepted,
                refused=len(report.rejected),
                received=report.received,
                forgotten=report.forgotten,
            )
        )


_OUT_OF_STEP: Final = frozenset({"DEVICE_COUNTER_REUSED", "DEVICE_COUNTER_GAP"})


def _acknowledge(file: DeviceFile, ack: sync.SyncAck, accepted: bool) -> None:
    file.acknowledge(ack, accepted=accepted)


def _check_opened(opened: sync.SyncOpened, state: State) -> None:
    if opened.counter > state.counter:
        raise DeviceOutOfStep(
            f"the service has {opened.counter} changes of {state.device!r}, this file knows of {state.counter}: the "
            "device was installed anew or came back from a backup; start a new incarnation, then sync again",
            reason="DEVICE_COUNTER_REUSED",
            metadata={"device": state.device, "known": str(state.counter), "accepted": str(opened.counter)},
        )
    if opened.counter < state.acknowledged:
        raise DeviceOutOfStep(
            f"the service has {opened.counter} changes of {state.device!r} but acknowledged {state.acknowledged}: it "
            "came back from a backup, or is another service; start a new incarnation to go on with it",
            reason="DEVICE_COUNTER_GAP",
            metadata={"device": state.device, "known": str(state.acknowledged), "accepted": str(opened.counter)},
        )


def _explained(error: MemoryClientError) -> MemoryClientError:
    if error.reason not in _OUT_OF_STEP or isinstance(error, DeviceOutOfStep):
        return error
    return DeviceOutOfStep(
        "the service has other changes under this device's numbers: the device was installed anew or came back from "
        "a backup, or a copy of its file is in use; start a new incarnation, then sync again",
        reason=error.reason,
        metadata=error.metadata,
    )


def _conflicts(ack: sync.SyncAck) -> tuple[t.Conflict, ...]:
    which = ack.WhichOneof("result")
    if which == "written":
        return decode.write_result(ack.written).conflicts
    if which == "corrected":
        return decode.write_result(ack.corrected).conflicts
    if which == "resolved":
        return decode.write_result(ack.resolved).conflicts
    if which == "rolled_back":
        return decode.rollback_result(ack.rolled_back).conflicts
    return ()


def not_while_offline() -> InvalidArgument:
    """There is no client to sync with."""
    return InvalidArgument("give the device a client to sync with", reason="FIELD_REQUIRED", field="client")
