"""A service that syncs, as small as it can be: one user's memories, dots, refusals, pages. No network, no clock.

`Session.feed` takes one message of a device and gives the answers; the fake server puts it behind gRPC, and
`ModelWire` behind the client's own wire, where any message can be the last of its stream.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

import grpc

from memory_service.client.core import Core
from memory_service.client.plumbing import ClientOptions
from memory_service.client.retry import RetryPolicy
from memory_service.v1 import memory_service_pb2 as api
from memory_service.v1 import sync_service_pb2 as sync
from memory_service.v1 import types_pb2 as pb

REFUSED = "refuse me"


@dataclass
class ModelError(Exception):
    """Ends a stream."""

    code: grpc.StatusCode
    reason: str


@dataclass
class SyncModel:
    """What the service holds."""

    accepted: dict[str, list[tuple[bytes, sync.SyncAck]]] = field(default_factory=dict)
    requests: dict[str, tuple[str, int]] = field(default_factory=dict)
    memories: dict[str, pb.Memory] = field(default_factory=dict)
    changed: dict[str, int] = field(default_factory=dict)
    revision: int = 0
    oldest_cursor: int = 0
    page_size: int = 2
    made: list[str] = field(default_factory=list)
    """Texts of statements as they were accepted; a text twice here was made twice."""

    def clock(self) -> pb.VectorClock:
        return pb.VectorClock(counters={device: len(done) for device, done in self.accepted.items()})

    def texts(self) -> list[str]:
        return sorted(memory.text for memory in self.memories.values())

    # ── Changes ─────────────────────────────────────────────────────────────────────────────────────────────

    def decide(self, device: str, change: sync.SyncChange) -> sync.SyncAck:
        request = getattr(change, change.WhichOneof("change"))
        payload = change.SerializeToString(deterministic=True)
        done = self.accepted.setdefault(device, [])
        counter = request.dot.counter
        assert request.dot.device == device
        if 1 <= counter <= len(done):
            if done[counter - 1][0] != payload:
                raise ModelError(grpc.StatusCode.ABORTED, "DEVICE_COUNTER_REUSED")
            again = sync.SyncAck()
            again.CopyFrom(done[counter - 1][1])
            which = again.WhichOneof("result")
            if which != "error":
                getattr(again, which).replayed = True
            return again
        if counter != len(done) + 1:
            raise ModelError(grpc.StatusCode.FAILED_PRECONDITION, "DEVICE_COUNTER_GAP")
        known = self.clock().counters
        assert all(known[name] >= count for name, count in request.context.counters.items()), "CONTEXT_FROM_FUTURE"
        self.revision += 1
        if request.request_id in self.requests:
            error = api.ItemError(code=10, reason="REQUEST_ID_REUSED", message="used")
            ack = sync.SyncAck(dot=request.dot, error=error)
        else:
            ack = self._apply(request, change.WhichOneof("change"))
            if ack.WhichOneof("result") != "error":
                self.requests[request.request_id] = (device, counter)
        done.append((payload, ack))
        return ack

    def _apply(self, request: Any, which: str) -> sync.SyncAck:
        dot = request.dot
        if which == "write":
            if request.memory.text == REFUSED:
                error = api.ItemError(code=3, reason="FIELD_INVALID", message="no", field="memory.text")
                return sync.SyncAck(dot=dot, error=error)
            return sync.SyncAck(dot=dot, written=self._write(request))
        if which == "correct":
            if request.memory_id not in self.memories:
                return sync.SyncAck(dot=dot, error=api.ItemError(code=5, reason="MEMORY_NOT_FOUND", message="none"))
            memory = self.memories[request.memory_id]
            memory.text = request.memory.text
            memory.version += 1
            self.put(memory)
            answer = api.CorrectResponse(memory=memory, effect=api.EFFECT_UPDATED, dot=dot)
            return sync.SyncAck(dot=dot, corrected=answer)
        if which == "forget":
            gone = list(request.memories.ids)
            gone += [
                m.id for m in self.memories.values() if request.statement.text and m.text == request.statement.text
            ]
            gone = [one for one in gone if one in self.memories]
            for memory_id in gone:
                self.drop(memory_id)
            return sync.SyncAck(dot=dot, forgotten=api.ForgetResponse(memory_ids=gone, dot=dot))
        for memory_id in request.memory_ids:
            memory = self.memories[memory_id]
            memory.status = pb.STATUS_ACTIVE if memory_id == request.keep else pb.STATUS_RETRACTED
            self.put(memory)
        kept = self.memories.get(request.keep)
        return sync.SyncAck(dot=dot, resolved=api.ResolveConflictResponse(memory=kept, dot=dot))

    def _write(self, request: api.WriteRequest) -> api.WriteResponse:
        given, dot = request.memory, request.dot
        self.made.append(given.text)
        memory = pb.Memory(id=f"{dot.device}-{dot.counter}", version=1, text=given.text, status=pb.STATUS_ACTIVE)
        memory.dot.CopyFrom(dot)
        memory.context.CopyFrom(request.context)
        memory.provenance.device = dot.device
        answer = api.WriteResponse(effect=api.EFFECT_CREATED, dot=dot)
        if given.HasField("assertion"):
            memory.assertion.CopyFrom(given.assertion)
            for other in self.memories.values():
                if other.assertion.predicate != given.assertion.predicate or other.status != pb.STATUS_ACTIVE:
                    continue
                seen = request.context.counters[other.dot.device] >= other.dot.counter
                other.status = pb.STATUS_SUPERSEDED if seen else pb.STATUS_CONTESTED
                memory.status = memory.status if seen else pb.STATUS_CONTESTED
                self.put(other)
                effect = api.EFFECT_SUPERSEDED if seen else api.EFFECT_CONTESTED
                answer.affected.add(memory_id=other.id, effect=effect, memory=other)
                answer.effect = answer.effect if seen else api.EFFECT_CONTESTED
        answer.memory.CopyFrom(memory)
        self.put(memory)
        return answer

    def put(self, memory: pb.Memory) -> None:
        self.memories[memory.id] = memory
        self._moved(memory.id)

    def drop(self, memory_id: str) -> None:
        del self.memories[memory_id]
        self._moved(memory_id)

    def _moved(self, memory_id: str) -> None:
        self.revision += 1
        self.changed[memory_id] = self.revision

    # ── Pages ───────────────────────────────────────────────────────────────────────────────────────────────

    def page(self, after: int) -> sync.SyncPage:
        lacking = sorted((revision, one) for one, revision in self.changed.items() if revision > after)
        part = lacking[: self.page_size]
        page = sync.SyncPage(cursor=str(part[-1][0] if part else after), done=len(part) == len(lacking))
        for _, one in part:
            if one in self.memories:
                page.memories.append(self.memories[one])
            else:
                page.forgotten_ids.append(one)
        if page.done:
            page.clock.CopyFrom(self.clock())
        return page


@dataclass
class Session:
    """One stream."""

    model: SyncModel
    device: str = ""
    after: int = 0

    def feed(self, request: sync.SyncRequest) -> list[sync.SyncResponse]:
        which = request.WhichOneof("message")
        if which == "open":
            self.device, self.after = request.open.device, int(request.open.cursor or 0)
            if request.open.cursor and self.after < self.model.oldest_cursor:
                raise ModelError(grpc.StatusCode.OUT_OF_RANGE, "CURSOR_TOO_OLD")
            counter = len(self.model.accepted.get(self.device, []))
            return [sync.SyncResponse(opened=sync.SyncOpened(counter=counter, clock=self.model.clock()))]
        if which == "change":
            return [sync.SyncResponse(ack=self.model.decide(self.device, request.change))]
        pages = []
        while True:
            page = self.model.page(self.after)
            self.after = int(page.cursor)
            pages.append(sync.SyncResponse(page=page))
            if page.done:
                return pages


class Broken(grpc.RpcError):
    """A call that ended."""

    def __init__(self, code: grpc.StatusCode, metadata: tuple[tuple[str, bytes], ...] = ()) -> None:
        super().__init__(code)
        self._code, self._metadata = code, metadata

    def code(self) -> grpc.StatusCode:
        return self._code

    def details(self) -> str:
        return "broken"

    def trailing_metadata(self) -> Any:
        return self._metadata


@dataclass
class ModelWire:
    """The client's wire, straight into a model. `broken` numbers the messages (over all streams, from 0, in
    either direction) at which a stream breaks; what was sent before has been decided."""

    model: SyncModel
    broken: set[int] = field(default_factory=set)
    messages: int = 0
    streams: int = 0
    slept: list[float] = field(default_factory=list)

    def count(self) -> None:
        self.messages += 1
        if self.messages - 1 in self.broken:
            raise Broken(grpc.StatusCode.UNAVAILABLE)

    def stream(self, rpc: Any, *, metadata: Any) -> Any:
        self.streams += 1
        return _ModelStream(self, Session(self.model))

    async def unary(self, *args: Any, **kwargs: Any) -> Any:
        raise AssertionError("not in the model")

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)

    def start(self, work: Coroutine[Any, Any, Any]) -> Any:
        raise AssertionError("not in the model")

    async def close(self) -> None:
        pass


@dataclass
class _ModelStream:
    wire: ModelWire
    session: Session
    answers: deque[sync.SyncResponse] = field(default_factory=deque)

    async def send(self, request: sync.SyncRequest) -> None:
        self.wire.count()
        try:
            self.answers.extend(self.session.feed(request))
        except ModelError as error:
            raise Broken(error.code, details_of(error)) from None

    async def done_sending(self) -> None:
        pass

    async def receive(self, idle_seconds: float) -> sync.SyncResponse | None:
        self.wire.count()
        return self.answers.popleft() if self.answers else None

    def cancel(self) -> None:
        self.answers.clear()


def details_of(error: ModelError) -> tuple[tuple[str, bytes], ...]:
    """`google.rpc.Status` with the reason, as it travels."""
    from google.protobuf.any_pb2 import Any as AnyMessage
    from google.rpc import error_details_pb2, status_pb2

    box = AnyMessage()
    box.Pack(error_details_pb2.ErrorInfo(reason=error.reason, domain="memory-service"))
    status = status_pb2.Status(code=error.code.value[0], message="model", details=[box])
    return (("grpc-status-details-bin", status.SerializeToString()),)


class ModelClient:
    """Enough of a `MemoryClient` for a `BlockingOfflineDevice`."""

    def __init__(self, wire: ModelWire, make: Callable[..., Core] = Core) -> None:
        options = ClientOptions("model:1", "ms_test_key", user="ann", retry=RetryPolicy(attempts_max=4))
        self._core = make(options, lambda *_: wire)
