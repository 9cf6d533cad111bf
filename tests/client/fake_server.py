"""A scripted memory service: real gRPC on a real port, a toy of a memory behind it.

It keeps what the client relies on (request ids, tokens, contexts, pages, reasons) and can be told to fail in a
given way at a given call.
"""

from __future__ import annotations

import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import grpc
from google.protobuf.any_pb2 import Any as AnyMessage
from google.rpc import error_details_pb2, status_pb2
from grpc_status import rpc_status

from memory_service.v1 import admin_service_pb2 as admin
from memory_service.v1 import admin_service_pb2_grpc as admin_grpc
from memory_service.v1 import memory_service_pb2 as api
from memory_service.v1 import memory_service_pb2_grpc as api_grpc
from memory_service.v1 import sync_service_pb2_grpc as sync_grpc
from memory_service.v1 import types_pb2 as pb
from tests.client.fake_sync import DeviceFake

KEY = "ms_test_0123456789"


@dataclass
class Fail:
    """Answer a call with an error, before or after doing what was asked."""

    code: grpc.StatusCode = grpc.StatusCode.UNAVAILABLE
    reason: str = ""
    message: str = "scripted failure"
    at_field: str = ""
    metadata: dict[str, str] = field(default_factory=dict)
    after_commit: bool = False
    retry_info_seconds: float = 0.0

    def abort(self, context: grpc.ServicerContext) -> None:
        details = []
        if self.reason:
            info = error_details_pb2.ErrorInfo(reason=self.reason, domain="memory-service", metadata=self.metadata)
            details.append(info)
        if self.at_field:
            violation = error_details_pb2.BadRequest.FieldViolation(field=self.at_field, description=self.message)
            details.append(error_details_pb2.BadRequest(field_violations=[violation]))
        if self.retry_info_seconds:
            retry = error_details_pb2.RetryInfo()
            retry.retry_delay.FromMilliseconds(int(self.retry_info_seconds * 1000))
            details.append(retry)
        packed = []
        for detail in details:
            box = AnyMessage()
            box.Pack(detail)
            packed.append(box)
        status = status_pb2.Status(code=self.code.value[0], message=self.message, details=packed)
        context.abort_with_status(rpc_status.to_status(status))


@dataclass
class Hang:
    """Do not answer until the caller gives up; do what was asked first if told so."""

    after_commit: bool = False


@dataclass
class Crash:
    """Do what was asked, then break the connection without an answer."""


@dataclass
class Call:
    """One call as it arrived."""

    method: str
    request: Any
    metadata: dict[str, str]
    seconds_left: float | None


@dataclass
class Store:
    """What survives a crash of the server."""

    memories: dict[str, dict[str, pb.Memory]] = field(default_factory=lambda: defaultdict(dict))
    versions: dict[str, list[pb.Memory]] = field(default_factory=lambda: defaultdict(list))
    answers: dict[tuple[str, str], Any] = field(default_factory=dict)
    clock: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    keys: dict[str, admin.ApiKey] = field(default_factory=dict)
    changes: int = 0

    def now(self, user: str) -> pb.VectorClock:
        return pb.VectorClock(counters={"server": self.clock[user]} if self.clock[user] else {})

    def token(self, user: str) -> str:
        return f"{user}@{self.clock[user]}"


class FakeServer(DeviceFake, api_grpc.MemoryServiceServicer, admin_grpc.AdminServiceServicer):
    """Listens on 127.0.0.1 with a port of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.store = Store()
        self.calls: list[Call] = []
        self.script: dict[str, deque[Any]] = defaultdict(deque)
        self.refuse_text: str | None = None
        self.arrived = threading.Event()
        self._lock = threading.RLock()
        self.port = 0
        self._server: Any = None
        self.start()

    @property
    def target(self) -> str:
        return f"127.0.0.1:{self.port}"

    def start(self) -> None:
        self._server = grpc.server(ThreadPoolExecutor(8), options=[("grpc.so_reuseport", 0)])
        api_grpc.add_MemoryServiceServicer_to_server(self, self._server)
        admin_grpc.add_AdminServiceServicer_to_server(self, self._server)
        sync_grpc.add_SyncServiceServicer_to_server(self, self._server)
        self.port = self._server.add_insecure_port(f"127.0.0.1:{self.port}")
        self._server.start()

    def stop(self) -> None:
        self._server.stop(None).wait()

    def crash(self) -> None:
        """Break every connection and come back on the same port, as after a kill -9."""
        self.stop()
        self.start()

    def next(self, method: str, *steps: Any) -> None:
        """What the next calls of a method meet; None lets one through."""
        self.script[method].extend(steps)

    def of(self, method: str) -> list[Any]:
        """The requests of a method, in order of arrival."""
        return [call.request for call in self.calls if call.method == method]

    # ── One call ────────────────────────────────────────────────────────────────────────────────────────────

    def _serve(self, method: str, request: Any, context: grpc.ServicerContext, work: Callable[[], Any]) -> Any:
        metadata = {str(name): str(value) for name, value in context.invocation_metadata()}
        with self._lock:
            left = context.time_remaining()
            self.calls.append(Call(method, request, metadata, left))
            self.arrived.set()
            step = self.script[method].popleft() if self.script[method] else None
        if metadata.get("authorization") != f"Bearer {KEY}":
            Fail(grpc.StatusCode.UNAUTHENTICATED, "CREDENTIAL_INVALID", "unknown key").abort(context)
        if isinstance(step, Fail) and not step.after_commit:
            step.abort(context)
        if isinstance(step, Hang) and not step.after_commit:
            self._hang(context)
        answer = self._once(method, request, work)
        if isinstance(step, Fail):
            step.abort(context)
        if isinstance(step, Hang):
            self._hang(context)
        if isinstance(step, Crash):
            threading.Thread(target=self.crash).start()
            self._hang(context)
        return answer

    def _hang(self, context: grpc.ServicerContext) -> None:
        give_up = time.monotonic() + 10
        while context.is_active() and time.monotonic() < give_up:
            time.sleep(0.005)
        context.abort(grpc.StatusCode.CANCELLED, "hung")

    def _once(self, method: str, request: Any, work: Callable[[], Any]) -> Any:
        with self._lock:
            identity = getattr(request, "request_id", "")
            if not identity:
                return work()
            place = (request.user, identity)
            if place in self.store.answers:
                answer = type(self.store.answers[place])()
                answer.CopyFrom(self.store.answers[place])
                answer.replayed = True
                return answer
            answer = work()
            self.store.answers[place] = answer
            return answer

    # ── The toy memory ──────────────────────────────────────────────────────────────────────────────────────

    def _accept(self, user: str) -> pb.Dot:
        self.store.clock[user] += 1
        self.store.changes += 1
        return pb.Dot(device="server", counter=self.store.clock[user])

    def _written(self, user: str, given: pb.MemoryInput) -> api.WriteResponse:
        heads = self.store.memories[user]
        for head in heads.values():
            if given.text and head.text == given.text:
                head.support += 1
                return self._answer(user, head, api.EFFECT_SUPPORTED, self._accept(user))
        dot = self._accept(user)
        memory = pb.Memory(id=f"{user}-m{self.store.changes}", version=1, text=given.text, topic=given.topic)
        memory.kind = given.kind or pb.KIND_FACT
        memory.status, memory.tier, memory.support = pb.STATUS_ACTIVE, pb.TIER_LONG_TERM, 1
        memory.source = given.source or pb.SOURCE_EXPLICIT
        memory.confidence, memory.importance = given.confidence or 0.95, given.importance
        memory.tags.extend(given.tags)
        if given.HasField("assertion"):
            memory.assertion.CopyFrom(given.assertion)
            memory.text = memory.text or f"{given.assertion.predicate}: {given.assertion.object}"
        memory.provenance.CopyFrom(
            pb.Provenance(actor="key-1", agent=given.agent, session=given.session, reference=given.reference)
        )
        memory.dot.CopyFrom(dot)
        memory.recorded_at.FromDatetime(datetime(2026, 1, 1, tzinfo=UTC))
        memory.created_at.FromDatetime(datetime(2026, 1, 1, tzinfo=UTC))
        if given.HasField("said_at"):
            memory.said_at.CopyFrom(given.said_at)
        memory.etag = f"1-{self.store.changes}"
        heads[memory.id] = memory
        self._keep_version(memory)
        return self._answer(user, memory, api.EFFECT_CREATED, dot)

    def _keep_version(self, memory: pb.Memory) -> None:
        copy = pb.Memory()
        copy.CopyFrom(memory)
        self.store.versions[memory.id].append(copy)

    def _answer(self, user: str, memory: pb.Memory, effect: Any, dot: pb.Dot) -> api.WriteResponse:
        return api.WriteResponse(
            memory=memory, effect=effect, token=self.store.token(user), context=self.store.now(user), dot=dot
        )

    def _get(self, user: str, memory_id: str, context: grpc.ServicerContext) -> pb.Memory:
        memory = self.store.memories[user].get(memory_id)
        if memory is None:
            Fail(grpc.StatusCode.NOT_FOUND, "MEMORY_NOT_FOUND", "this user has no such memory").abort(context)
        assert memory is not None
        return memory

    def Write(self, request, context):
        if not request.memory.text and not request.memory.HasField("assertion"):
            Fail(
                grpc.StatusCode.INVALID_ARGUMENT, "FIELD_REQUIRED", "give text or an assertion", "memory.text"
            ).abort(context)
        work = lambda: self._written(request.user, request.memory)  # noqa: E731
        return self._serve("Write", request, context, work)

    def BatchWrite(self, request, context):
        def work():
            response = api.BatchWriteResponse()
            for item in request.items:
                if self.refuse_text is not None and self.refuse_text in item.memory.text:
                    error = api.ItemError(code=3, reason="FIELD_INVALID", message="refused", field="memory.text")
                    response.results.append(api.BatchWriteResult(error=error))
                    continue
                one = api.WriteRequest(user=request.user, memory=item.memory, request_id=item.request_id)

                def remember(one: api.WriteRequest = one) -> api.WriteResponse:
                    return self._written(request.user, one.memory)

                written = self._once("Write", one, remember)
                result = api.BatchWriteResult(written=written)
                result.written.ClearField("token")
                result.written.ClearField("context")
                response.results.append(result)
            response.token = self.store.token(request.user)
            response.context.CopyFrom(self.store.now(request.user))
            return response

        return self._serve("BatchWrite", request, context, work)

    def Recall(self, request, context):
        def work():
            words = set(request.query.lower().split())
            found = []
            for head in self.store.memories[request.user].values():
                shared = len(words & set(head.text.lower().split()))
                if shared or not words:
                    found.append((shared, head))
            found.sort(key=lambda pair: -pair[0])
            response = api.RecallResponse(
                token=self.store.token(request.user),
                context=self.store.now(request.user),
                candidates=len(found),
            )
            for shared, head in found[: request.limit or 10]:
                response.memories.append(
                    api.RecalledMemory(
                        memory=head,
                        score=shared / (len(words) or 1),
                        why=f"{shared} words in common",
                        breakdown=api.ScoreBreakdown(bm25=shared, lexical_rank=1),
                    )
                )
            stage = api.RecallStage(name="words", ran=True)
            stage.duration.FromMilliseconds(3)
            response.stages.append(stage)
            response.context_block = "\n".join(f"- {one.memory.text}" for one in response.memories)
            return response

        return self._serve("Recall", request, context, work)

    def RecordFeedback(self, request, context):
        def work():
            heads = self.store.memories[request.user]
            there = [item for item in request.items if item.memory_id in heads]
            for item in there:
                if item.outcome == api.RECALL_OUTCOME_ADOPTED:
                    heads[item.memory_id].adopted_count += 1
                else:
                    heads[item.memory_id].rejected_count += 1
            missing = [item.memory_id for item in request.items if item.memory_id not in heads]
            token = self.store.token(request.user)
            return api.RecordFeedbackResponse(recorded=len(there), missing_ids=missing, token=token)

        return self._serve("RecordFeedback", request, context, work)

    def Correct(self, request, context):
        def work():
            if request.WhichOneof("target") == "slot":
                return self._slot_corrected(request)
            memory = self._get(request.user, request.memory_id, context)
            if request.etag and request.etag != memory.etag:
                Fail(grpc.StatusCode.ABORTED, "ETAG_MISMATCH", "changed", metadata={"etag": memory.etag}).abort(
                    context
                )
            return self._next_version(request.user, memory, request.memory.text, request.reason)

        return self._serve("Correct", request, context, work)

    def _slot_corrected(self, request):
        written = self._written(request.user, request.memory)
        return self._as_correction(written)

    def _as_correction(self, written):
        return api.CorrectResponse(
            memory=written.memory,
            effect=written.effect,
            token=written.token,
            context=written.context,
            dot=written.dot,
        )

    def _next_version(self, user, memory, text, reason):
        dot = self._accept(user)
        memory.version += 1
        memory.text, memory.reason = text or memory.text, reason
        memory.etag = f"{memory.version}-{self.store.changes}"
        memory.dot.CopyFrom(dot)
        self._keep_version(memory)
        return self._as_correction(self._answer(user, memory, api.EFFECT_UPDATED, dot))

    def Forget(self, request, context):
        def work():
            heads = self.store.memories[request.user]
            target = request.WhichOneof("target")
            if target == "memories":
                ids = [one for one in request.memories.ids if one in heads]
            elif target == "slot":
                ids = [head.id for head in heads.values() if head.assertion.predicate == request.slot.predicate]
            elif target == "statement":
                ids = [head.id for head in heads.values() if head.text == request.statement.text]
            else:
                wanted = set(request.filter.tags_any)
                ids = [head.id for head in heads.values() if wanted & set(head.tags)]
            response = api.ForgetResponse(forgotten_count=len(ids), memory_ids=ids)
            if request.validate_only:
                response.preview.extend(heads[one] for one in ids)
                return response
            for one in ids:
                del heads[one]
            response.dot.CopyFrom(self._accept(request.user))
            response.token = self.store.token(request.user)
            response.context.CopyFrom(self.store.now(request.user))
            return response

        return self._serve("Forget", request, context, work)

    def GetMemory(self, request, context):
        def work():
            memory = self._get(request.user, request.memory_id, context)
            return api.GetMemoryResponse(memory=memory, context=self.store.now(request.user))

        return self._serve("GetMemory", request, context, work)

    def ListMemories(self, request, context):
        def work():
            heads = list(self.store.memories[request.user].values())
            start, size = int(request.page_token or 0), request.page_size or 50
            page = heads[start : start + size]
            following = str(start + size) if start + size < len(heads) else ""
            return api.ListMemoriesResponse(memories=page, next_page_token=following)

        return self._serve("ListMemories", request, context, work)

    def GetHistory(self, request, context):
        def work():
            self._get(request.user, request.memory_id, context)
            response = api.GetHistoryResponse(versions=self.store.versions[request.memory_id])
            for version in response.versions:
                event = response.events.add(
                    event="created" if version.version == 1 else "corrected",
                    version=version.version,
                    actor="key-1",
                    reason=version.reason,
                )
                event.at.CopyFrom(version.recorded_at)
            return response

        return self._serve("GetHistory", request, context, work)

    def Rollback(self, request, context):
        def work():
            memory = self._get(request.user, request.memory_id, context)
            old = self.store.versions[request.memory_id][request.version - 1]
            corrected = self._next_version(request.user, memory, old.text, request.reason)
            return api.RollbackResponse(
                memory=corrected.memory,
                token=corrected.token,
                context=corrected.context,
                dot=corrected.dot,
            )

        return self._serve("Rollback", request, context, work)

    def Prewarm(self, request, context):
        def work():
            count = len(self.store.memories[request.user])
            return api.PrewarmResponse(memories=count, token=self.store.token(request.user))

        return self._serve("Prewarm", request, context, work)

    # ── Administration ──────────────────────────────────────────────────────────────────────────────────────

    def CreateKey(self, request, context):
        def work():
            key = admin.ApiKey(
                id=f"k{len(self.store.keys) + 1}",
                tenant="default",
                name=request.name,
                prefix="ms_ab",
                roles=request.roles,
                users=request.users,
            )
            key.created_at.FromDatetime(datetime(2026, 1, 1, tzinfo=UTC))
            self.store.keys[key.id] = key
            return admin.CreateKeyResponse(key=key, secret="ms_secret_of_" + key.id)

        return self._serve("CreateKey", request, context, work)

    def ListKeys(self, request, context):
        return self._serve(
            "ListKeys", request, context, lambda: admin.ListKeysResponse(keys=self.store.keys.values())
        )

    def RevokeKey(self, request, context):
        def work():
            if request.id not in self.store.keys:
                Fail(grpc.StatusCode.NOT_FOUND, "KEY_NOT_FOUND", "no such key").abort(context)
            self.store.keys[request.id].revoked_at.FromDatetime(datetime(2026, 1, 2, tzinfo=UTC))
            return admin.RevokeKeyResponse()

        return self._serve("RevokeKey", request, context, work)

    def GetServerInfo(self, request, context):
        def work():
            response = admin.GetServerInfoResponse(
                version="9.9.9",
                embedding_model="local:hash:256:v1",
                embedding_dimension=256,
                limits={"text_characters_max": 16384},
            )
            response.now.FromDatetime(datetime.now(UTC))
            return response

        return self._serve("GetServerInfo", request, context, work)

    def ListJobs(self, request, context):
        def work():
            decay = admin.JobKind(
                name="upkeep.decay", due=3, waiting=2, running=1, failed=1, runs_done=1234, changed=56
            )
            decay.every.FromSeconds(3600)
            decay.oldest_waiting.FromSeconds(90)
            decay.last_run_at.FromDatetime(datetime(2026, 1, 1, 11, 59, tzinfo=UTC))
            decay.next_due_at.FromDatetime(datetime(2026, 1, 1, 13, 30, tzinfo=UTC))
            learn = admin.JobKind(name="learn")
            response = admin.ListJobsResponse(jobs=[decay, learn], workers=2)
            response.now.FromDatetime(datetime(2026, 1, 1, 12, tzinfo=UTC))
            return response

        return self._serve("ListJobs", request, context, work)

    def RunUpkeep(self, request, context):
        def work():
            runs = [admin.StepRun(step=step, changed=len(request.user)) for step in request.steps or ["decay"]]
            if "broken" in request.steps:
                runs.append(admin.StepRun(step="broken", error_reason="INTERNAL", error_message="it broke"))
            return admin.RunUpkeepResponse(runs=runs)

        return self._serve("RunUpkeep", request, context, work)

    def ListFailedJobs(self, request, context):
        def work():
            jobs = [admin.FailedJob(id=n, name="upkeep.decay", user="alice", reason="INTERNAL") for n in (9, 2**40)]
            for job in jobs:
                job.failed_at.FromDatetime(datetime(2026, 1, 1, tzinfo=UTC))
            return admin.ListFailedJobsResponse(jobs=jobs[: request.page_size])

        return self._serve("ListFailedJobs", request, context, work)

    def RequeueJobs(self, request, context):
        return self._serve(
            "RequeueJobs", request, context, lambda: admin.RequeueJobsResponse(requeued=len(request.ids))
        )
