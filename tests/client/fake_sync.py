"""The parts of the scripted service that concern devices: decisions, revocations, Sync and Watch."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from memory_service.v1 import memory_service_pb2 as api
from memory_service.v1 import sync_service_pb2 as sync
from memory_service.v1 import sync_service_pb2_grpc as sync_grpc
from memory_service.v1 import types_pb2 as pb
from tests.client.sync_model import ModelError, Session, SyncModel


@dataclass
class BreakAfter:
    """Ends a stream after so many messages to the caller: with an error, or as if all were said when None."""

    messages: int
    failure: Any = None


@dataclass
class Silent:
    """Says nothing more after so many messages, and does not end either."""

    messages: int


class DeviceFake(sync_grpc.SyncServiceServicer):
    """Mixed into `FakeServer`, which has `store`, `script` and `_serve`."""

    store: Any
    script: Any
    _serve: Callable[..., Any]
    _written: Callable[..., Any]
    _accept: Callable[..., Any]
    _get: Callable[..., Any]

    def __init__(self) -> None:
        self.models: dict[str, SyncModel] = defaultdict(SyncModel)
        self.journal: list[sync.WatchEvent] = []
        self.revoked: dict[int, list[pb.Memory]] = {}

    # ── Decisions ───────────────────────────────────────────────────────────────────────────────────────────

    def ResolveConflict(self, request, context):
        def work():
            heads = self.store.memories[request.user]
            named = [self._get(request.user, one, context) for one in request.memory_ids]
            answer = api.ResolveConflictResponse(effect=api.EFFECT_RETRACTED)
            if request.HasField("merge"):
                written = self._written(request.user, request.merge)
                answer.memory.CopyFrom(written.memory)
                answer.effect = written.effect
            elif request.keep:
                heads[request.keep].status = pb.STATUS_ACTIVE
                answer.memory.CopyFrom(heads[request.keep])
                answer.effect = api.EFFECT_UPDATED
            for memory in named:
                if memory.id != request.keep:
                    memory.status = pb.STATUS_RETRACTED
                    answer.affected.add(memory_id=memory.id, effect=api.EFFECT_RETRACTED, memory=memory)
            return self._finished(request, answer)

        return self._serve("ResolveConflict", request, context, work)

    def RevokeWriter(self, request, context):
        def work():
            heads = self.store.memories[request.user]
            if request.WhichOneof("what") == "undo_revision":
                touched = self.revoked.get(request.undo_revision, [])
                effect = api.EFFECT_REACTIVATED
            else:
                agent = request.writer.agent
                touched = [one for one in heads.values() if agent and one.provenance.agent == agent]
                effect = api.EFFECT_RETRACTED
            answer = api.RevokeWriterResponse(changes=len(touched))
            for memory in touched:
                answer.affected.add(memory_id=memory.id, effect=effect, memory=memory)
            if request.validate_only:
                return answer
            for memory in touched:
                heads.pop(memory.id, None)
                if effect == api.EFFECT_REACTIVATED:
                    heads[memory.id] = memory
            answer = self._finished(request, answer)
            answer.revision = self.store.clock[request.user]
            self.revoked[answer.revision] = touched
            return answer

        return self._serve("RevokeWriter", request, context, work)

    def _finished(self, request, answer):
        answer.dot.CopyFrom(self._accept(request.user))
        answer.token = self.store.token(request.user)
        answer.context.CopyFrom(self.store.now(request.user))
        return answer

    # ── Streams ─────────────────────────────────────────────────────────────────────────────────────────────

    def _stream(self, method: str, context: Any, messages: Iterator[Any]) -> Iterator[Any]:
        steps = self.script[f"{method} stream"]
        step = steps.popleft() if steps else None
        sent = 0
        while True:
            if isinstance(step, BreakAfter) and sent >= step.messages:
                if step.failure is not None:
                    step.failure.abort(context)
                return
            if isinstance(step, Silent) and sent >= step.messages:
                give_up = time.monotonic() + 10
                while context.is_active() and time.monotonic() < give_up:
                    time.sleep(0.005)
                return
            try:
                message = next(messages)
            except StopIteration:
                return
            except ModelError as error:
                context.abort(error.code, error.reason)
                return  # abort has raised
            yield message
            sent += 1

    def Sync(self, request_iterator, context):
        def answers() -> Iterator[sync.SyncResponse]:
            session: Session | None = None
            for request in request_iterator:
                if session is None:
                    self._serve("Sync", request.open, context, lambda: None)
                    session = Session(self.models[request.open.user])
                yield from session.feed(request)

        yield from self._stream("Sync", context, answers())

    def tell(self, revision: int, *names: str, event: str = "created") -> None:
        """Something happened to these memories in one change."""
        for name in names:
            told = sync.WatchEvent(cursor=str(revision), memory_id=name)
            told.event.event, told.event.version = event, 1
            told.event.at.FromDatetime(datetime(2026, 1, 1, tzinfo=UTC))
            told.memory.CopyFrom(pb.Memory(id=name, text=f"text of {name}", status=pb.STATUS_ACTIVE))
            self.journal.append(told)

    def Watch(self, request, context):
        def answers() -> Iterator[sync.WatchResponse]:
            self._serve("Watch", request, context, lambda: None)
            newest = max((int(told.cursor) for told in self.journal), default=0)
            after = int(request.cursor) if request.cursor else 0 if request.from_start else newest
            told = [one for one in self.journal if int(one.cursor) <= after]
            yield sync.WatchResponse(checkpoint=sync.WatchCheckpoint(cursor=str(after)))
            interval = request.checkpoint_interval.ToTimedelta().total_seconds()
            quiet_since = time.monotonic()
            place = len(told)
            while context.is_active():
                if place < len(self.journal):
                    event = self.journal[place]
                    place, after = place + 1, int(event.cursor)
                    if not request.events or event.event.event in request.events:
                        yield sync.WatchResponse(event=event)
                    quiet_since = time.monotonic()
                elif time.monotonic() - quiet_since >= interval:
                    quiet_since = time.monotonic()
                    yield sync.WatchResponse(checkpoint=sync.WatchCheckpoint(cursor=str(after)))
                else:
                    time.sleep(0.005)

        yield from self._stream("Watch", context, answers())
