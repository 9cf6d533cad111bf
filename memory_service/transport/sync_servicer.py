"""SyncService over gRPC: a device's stream of queued changes and pages, and the stream of state changes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from memory_service.app.commands import BatchItem, ChangeMeta, ChangeResult
from memory_service.app.sync import Position, Sync, is_final
from memory_service.app.tokens import Tokens
from memory_service.app.validation import check_count, check_list, check_name
from memory_service.app.watch import Told, Watch, WatchCommand
from memory_service.domain import limits
from memory_service.domain.errors import InvalidInput, MemoryServiceError, Reason
from memory_service.domain.ids import DeviceId, OwnerKey, Revision
from memory_service.domain.records import JournalEvent
from memory_service.domain.vector_clock import Dot
from memory_service.ports.keys import Role
from memory_service.ports.telemetry import Telemetry
from memory_service.transport.changes import ChangeCalls, item_error
from memory_service.transport.convert import event_out, head_out, meta_in, statement_in
from memory_service.transport.identity import Caller
from memory_service.transport.memory_servicer import authorised
from memory_service.transport.values import KINDS, clock_in, clock_out, dot_out, enums_in
from memory_service.v1 import memory_service_pb2 as api
from memory_service.v1 import sync_service_pb2 as pb
from memory_service.v1 import sync_service_pb2_grpc as pb_grpc

_PAGE_DEFAULT = 200
_WRITES_AT_ONCE = 100
"""Queued statements committed together: one durable commit for many, each acknowledged after it."""
_RECEIVED_MAX = 256
_CHECKPOINT_SECONDS_DEFAULT = 10.0
_CHECKPOINT_SECONDS_MIN = 1.0
_CHECKPOINT_SECONDS_MAX = 3600.0


@dataclass(frozen=True, slots=True)
class SyncCases:
    """What the servicer calls."""

    changes: ChangeCalls
    sync: Sync
    watch: Watch
    tokens: Tokens
    telemetry: Telemetry


@dataclass(slots=True)
class _Stream:
    """One device's stream after it opened."""

    caller: Caller
    owner: OwnerKey
    user: str
    device: str
    agent: str
    position: Position | None


class SyncServicer(pb_grpc.SyncServiceServicer):
    """See `sync_service.proto` for what each call means."""

    def __init__(self, cases: SyncCases) -> None:
        self._cases = cases

    async def Sync(self, request_iterator: AsyncIterator[pb.SyncRequest], context: Any) -> Any:
        stream: _Stream | None = None
        async for batch in _gathered(request_iterator):
            for message in batch:
                kind = message.WhichOneof("message")
                if stream is None or kind == "open":
                    stream, opened = await self._open(stream, message)
                    yield pb.SyncResponse(opened=opened)
                elif kind == "pull":
                    async for page in self._pages(stream, message.pull):
                        yield pb.SyncResponse(page=page)
                elif kind is None:
                    raise InvalidInput(Reason.FIELD_REQUIRED, "a message of Sync must not be empty", field="message")
            changes = [m.change for m in batch if m.WhichOneof("message") == "change"]
            if changes and stream is not None:
                async for ack in self._changes(stream, changes):
                    yield pb.SyncResponse(ack=ack)

    async def _open(self, stream: _Stream | None, message: pb.SyncRequest) -> tuple[_Stream, pb.SyncOpened]:
        if stream is not None or message.WhichOneof("message") != "open":
            raise InvalidInput(Reason.FIELD_INVALID, "a sync opens once, and before anything else", field="open")
        request = message.open
        caller, owner = authorised(request, Role.WRITER)
        position: Position | None = None
        if request.cursor:
            revision, memory_id = self._cases.tokens.place(owner, "s", request.cursor, "open.cursor")
            if memory_id is None:
                raise InvalidInput(Reason.CURSOR_INVALID, "the cursor is not one of Sync", field="open.cursor")
            position = (revision, memory_id)
        clock = clock_in(request.clock, "open.clock") if request.HasField("clock") else None
        check_name(request.agent, "open.agent")
        opened = await self._cases.sync.open(owner, request.device, position, clock)
        stream = _Stream(caller, owner, request.user, request.device, request.agent, opened.start)
        return stream, pb.SyncOpened(counter=opened.counter, clock=clock_out(opened.clock))

    # Changes -----------------------------------------------------------------------------------------------

    async def _changes(self, stream: _Stream, changes: list[pb.SyncChange]) -> AsyncIterator[pb.SyncAck]:
        """Acknowledge changes in order, each after its commit; statements in a row are committed together."""
        start = 0
        while start < len(changes):
            stop = start
            while stop < len(changes) and changes[stop].WhichOneof("change") == "write":
                stop += 1
            if stop - start > 1:
                acks = await self._writes(stream, changes[start:stop])
            else:
                acks = [await self._one(stream, changes[start])]
            for ack in acks:
                outcome = "refused" if ack.HasField("error") else "done"
                self._cases.telemetry.count("sync_changes_total", outcome=outcome)
                yield ack
            start += len(acks)

    async def _writes(self, stream: _Stream, changes: list[pb.SyncChange]) -> list[pb.SyncAck]:
        """Acks of the first of these statements, up to and including the first that is refused."""
        items: list[BatchItem] = []
        for change in changes:
            try:
                self._check(stream, change.write)
                meta = meta_in(change.write, stream.caller.actor)
                items.append(
                    BatchItem(
                        statement=statement_in(change.write.memory),
                        request_id=meta.request_id,
                        device=meta.device,
                        counter=meta.counter,
                        context=meta.context,
                    )
                )
            except MemoryServiceError:
                break
        if len(items) < 2:
            return [await self._one(stream, changes[0])]
        results = await self._cases.changes.write_case.batch(
            stream.owner, items, actor=stream.caller.actor, context=None
        )
        acks: list[pb.SyncAck] = []
        for change, result in zip(changes, results, strict=False):
            if not isinstance(result, ChangeResult):
                # Refused or not yet possible: settled one by one, which decides whether that is final.
                return acks or [await self._one(stream, change)]
            answer = self._cases.changes.answer(api.WriteResponse, stream.owner, result)
            acks.append(pb.SyncAck(dot=dot_out(result.dot), written=answer))
        return acks

    async def _one(self, stream: _Stream, change: pb.SyncChange) -> pb.SyncAck:
        kind = change.WhichOneof("change")
        if kind is None:
            raise InvalidInput(Reason.FIELD_REQUIRED, "a change must not be empty", field="change")
        request = getattr(change, kind)
        self._check(stream, request)
        dot = Dot(DeviceId(stream.device), request.dot.counter)
        payload = change.SerializeToString(deterministic=True)
        try:
            return await self._run(stream, kind, request, dot)
        except MemoryServiceError as error:
            final = is_final(error)
            if not final and error.reason is not Reason.DEVICE_COUNTER_REUSED:
                raise
            # Refused before, and the answer was lost: its counter is used up, and it gets the first answer.
            refused = await self._cases.sync.voided(stream.owner, dot, payload)
            if refused is None:
                if not final:
                    raise
                meta = ChangeMeta(actor=stream.caller.actor, device=stream.device, counter=dot.counter)
                refused = await self._cases.sync.void(stream.owner, meta, payload, error)
            return pb.SyncAck(dot=dot_out(dot), error=item_error(refused))

    async def _run(self, stream: _Stream, kind: str, request: Any, dot: Dot) -> pb.SyncAck:
        calls = self._cases.changes
        steps: dict[str, tuple[str, Callable[..., Awaitable[Any]]]] = {
            "write": ("written", calls.write),
            "correct": ("corrected", calls.correct),
            "forget": ("forgotten", calls.forget),
            "resolve": ("resolved", calls.resolve),
            "rollback": ("rolled_back", calls.rollback),
        }
        result, call = steps[kind]
        answer = await call(stream.owner, request, stream.caller.actor)
        return pb.SyncAck(dot=dot_out(dot), **{result: answer})

    def _check(self, stream: _Stream, request: Any) -> None:
        if request.user and request.user != stream.user:
            raise InvalidInput(Reason.FIELD_INVALID, "user must be that of the open message", field="change.user")
        if request.dot.device != stream.device or not request.dot.counter:
            raise InvalidInput(
                Reason.FIELD_INVALID, "dot must name the opened device and its counter", field="change.dot"
            )
        if not request.HasField("context"):
            raise InvalidInput(
                Reason.FIELD_REQUIRED, "a queued change must carry the context it was made in", field="change.context"
            )
        if getattr(request, "validate_only", False):
            raise InvalidInput(
                Reason.FIELD_INVALID, "a queued change cannot be a preview", field="change.validate_only"
            )

    # Pages -------------------------------------------------------------------------------------------------

    async def _pages(self, stream: _Stream, pull: pb.SyncPull) -> AsyncIterator[pb.SyncPage]:
        check_count(pull.page_size, "pull.page_size", minimum=0, maximum=limits.PAGE_SIZE_MAX)
        limit = pull.page_size or _PAGE_DEFAULT
        while True:
            page = await self._cases.sync.page(stream.owner, stream.position, limit, stream.agent)
            stream.position = page.end
            end = page.end or (Revision(0), None)
            cursor = self._cases.tokens.cursor(stream.owner, "s", *end) if page.end else ""
            yield pb.SyncPage(
                memories=[head_out(head) for head in page.heads],
                forgotten_ids=[str(i) for i in page.forgotten],
                cursor=cursor,
                done=page.done,
                clock=clock_out(page.clock) if page.done else None,
            )
            if page.done:
                return

    # Watching ----------------------------------------------------------------------------------------------

    async def Watch(self, request: pb.WatchRequest, context: Any) -> Any:
        _, owner = authorised(request, Role.READER)
        async for told in self._cases.watch(self._watch_command(owner, request)):
            for response in self._told(owner, told):
                yield response

    def _watch_command(self, owner: OwnerKey, request: pb.WatchRequest) -> WatchCommand:
        check_name(request.agent, "agent")
        check_list(request.events, "events", len(JournalEvent))
        events = set()
        for event in request.events:
            try:
                events.add(JournalEvent(event))
            except ValueError as error:
                known = ", ".join(e.value for e in JournalEvent)
                raise InvalidInput(
                    Reason.FIELD_INVALID, "events names no such event", field="events", metadata={"known": known}
                ) from error
        seconds = _CHECKPOINT_SECONDS_DEFAULT
        if request.HasField("checkpoint_interval"):
            seconds = request.checkpoint_interval.seconds + request.checkpoint_interval.nanos / 1e9
            if not _CHECKPOINT_SECONDS_MIN <= seconds <= _CHECKPOINT_SECONDS_MAX:
                raise InvalidInput(
                    Reason.FIELD_OUT_OF_RANGE,
                    "checkpoint_interval must lie between a second and an hour",
                    field="checkpoint_interval",
                    metadata={"minimum": "1", "maximum": "3600"},
                )
        after: Revision | None = Revision(0) if request.from_start else None
        if request.cursor:
            after, _ = self._cases.tokens.place(owner, "w", request.cursor, "cursor")
        return WatchCommand(
            owner=owner,
            after=after,
            events=frozenset(events),
            kinds=enums_in(KINDS, request.kinds, "kinds"),
            checkpoint_seconds=seconds,
            agent=request.agent,
        )

    def _told(self, owner: OwnerKey, told: Told) -> list[pb.WatchResponse]:
        cursor = self._cases.tokens.cursor(owner, "w", told.revision)
        if not told.seen:
            return [pb.WatchResponse(checkpoint=pb.WatchCheckpoint(cursor=cursor))]
        return [
            pb.WatchResponse(
                event=pb.WatchEvent(
                    cursor=cursor,
                    memory_id=str(seen.entry.memory_id),
                    event=event_out(seen.entry),
                    memory=head_out(seen.head) if seen.head else None,
                )
            )
            for seen in told.seen
        ]


async def _gathered(messages: AsyncIterator[pb.SyncRequest]) -> AsyncIterator[list[pb.SyncRequest]]:
    """What has arrived, in order: as much as is there at once, never mixing changes with anything else."""
    received: asyncio.Queue[pb.SyncRequest | None] = asyncio.Queue(_RECEIVED_MAX)

    async def receive() -> None:
        try:
            async for message in messages:
                await received.put(message)
        finally:
            await received.put(None)

    receiver = asyncio.create_task(receive())
    try:
        pending: pb.SyncRequest | None = None
        while True:
            first = pending if pending is not None else await received.get()
            pending = None
            if first is None:
                await receiver
                return
            batch = [first]
            while _is_change(batch[-1]) and len(batch) < _WRITES_AT_ONCE and not received.empty():
                following = received.get_nowait()
                if following is None or not _is_change(following):
                    yield batch
                    batch = []
                    pending = following
                    break
                batch.append(following)
            if batch:
                yield batch
            elif pending is None:
                await receiver
                return
    finally:
        receiver.cancel()
        await asyncio.gather(receiver, return_exceptions=True)


def _is_change(message: pb.SyncRequest) -> bool:
    return bool(message.WhichOneof("message") == "change")
