"""MemoryService over gRPC: thin handlers, one use case each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from memory_service.app.commands import (
    BatchItem,
    ChangeResult,
    CorrectCommand,
    ForgetCommand,
    Nature,
    RollbackCommand,
)
from memory_service.app.correct import Correct
from memory_service.app.forget import Forget
from memory_service.app.reading import Reading, check_filter, parse_memory_id
from memory_service.app.recall import Recall, RecallRequest, RecallResponse
from memory_service.app.rollback import Rollback
from memory_service.app.tokens import Tokens
from memory_service.app.validation import check_list
from memory_service.app.write import Write
from memory_service.domain import limits
from memory_service.domain.errors import InvalidInput, MemoryServiceError, Reason
from memory_service.domain.ids import OwnerKey
from memory_service.domain.vocabulary import Vocabulary
from memory_service.ports.keys import Role
from memory_service.ports.snapshots import Freshness, Requirement
from memory_service.transport.convert import (
    affected_out,
    effect_out,
    event_out,
    filter_in,
    head_out,
    link_out,
    meta_in,
    recalled_out,
    slot_in,
    stage_out,
    statement_in,
    version_out,
)
from memory_service.transport.errors import code_of
from memory_service.transport.identity import CALLER, Caller
from memory_service.transport.values import clock_in, clock_out, counter_in, dot_out, time_in
from memory_service.v1 import memory_service_pb2 as api
from memory_service.v1 import memory_service_pb2_grpc as api_grpc
from memory_service.v1 import types_pb2 as pb

_NATURES = {
    api.CORRECTION_NATURE_UNSPECIFIED: Nature.WRONG,
    api.CORRECTION_NATURE_WRONG: Nature.WRONG,
    api.CORRECTION_NATURE_OUTDATED: Nature.OUTDATED,
}


@dataclass(frozen=True, slots=True)
class UseCases:
    """What the servicer calls."""

    write: Write
    correct: Correct
    forget: Forget
    rollback: Rollback
    reading: Reading
    recall: Recall
    tokens: Tokens
    vocabulary: Vocabulary


class MemoryServicer(api_grpc.MemoryServiceServicer):
    """See `memory_service.proto` for what each call means."""

    def __init__(self, cases: UseCases) -> None:
        self._cases = cases

    async def Write(self, request: api.WriteRequest, context: Any) -> api.WriteResponse:
        caller, owner = _authorised(request, Role.WRITER)
        result = await self._cases.write.one(owner, statement_in(request.memory), meta_in(request, caller.actor))
        return self._written(owner, result)

    async def BatchWrite(self, request: api.BatchWriteRequest, context: Any) -> api.BatchWriteResponse:
        caller, owner = _authorised(request, Role.WRITER)
        check_list(request.items, "items", limits.BATCH_ITEMS_MAX)
        seen = clock_in(request.context) if request.HasField("context") else None
        results: list[ChangeResult | MemoryServiceError | None] = [None] * len(request.items)
        items: list[tuple[int, BatchItem]] = []
        for index, message in enumerate(request.items):
            try:
                items.append((index, _item_in(message, index)))
            except MemoryServiceError as error:
                results[index] = error
        outcomes = await self._cases.write.batch(
            owner, [item for _, item in items], actor=caller.actor, context=seen, positions=[i for i, _ in items]
        )
        for (index, _), outcome in zip(items, outcomes, strict=True):
            results[index] = outcome
        response = api.BatchWriteResponse()
        done = [r for r in results if isinstance(r, ChangeResult)]
        for result in results:
            response.results.append(self._batch_result(owner, result))
        if done:
            newest = max(done, key=lambda r: r.revision)
            response.token = self._cases.tokens.consistency(owner, newest.revision)
            response.context.CopyFrom(clock_out(newest.clock))
        return response

    async def Recall(self, request: api.RecallRequest, context: Any) -> api.RecallResponse:
        _, owner = _authorised(request, Role.READER)
        if request.limit < 0 or request.token_budget < 0:
            name = "limit" if request.limit < 0 else "token_budget"
            raise InvalidInput(Reason.FIELD_OUT_OF_RANGE, f"{name} must not be negative", field=name)
        has = request.HasField
        embedding = request.query_embedding
        asked = RecallRequest(
            owner=owner,
            query=request.query,
            vector=np.fromiter(embedding, np.float32, len(embedding)) if embedding else None,
            where=filter_in(request.filter, self._cases.vocabulary),
            limit=request.limit or limits.RECALL_LIMIT_DEFAULT,
            token_budget=request.token_budget or None,
            requirement=self._requirement(owner, request.consistency),
            as_of_valid=time_in(request.as_of_valid, "as_of_valid") if has("as_of_valid") else None,
            as_of_recorded=time_in(request.as_of_recorded, "as_of_recorded") if has("as_of_recorded") else None,
            profile=request.profile or "default",
            deadline_seconds=context.time_remaining(),
            agent=request.agent,
            reinforce=not request.read_only,
        )
        return self._recalled(owner, await self._cases.recall(asked))

    def _requirement(self, owner: OwnerKey, message: pb.Consistency) -> Requirement:
        which = message.WhichOneof("requirement")
        if which == "at_least_as_fresh":
            field = "consistency.at_least_as_fresh"
            revision = self._cases.tokens.revision(owner, message.at_least_as_fresh, field)
            return Requirement(Freshness.AT_LEAST_AS_FRESH, revision)
        if which == "fully_consistent" and message.fully_consistent:
            return Requirement(Freshness.FULLY_CONSISTENT)
        return Requirement()

    def _recalled(self, owner: OwnerKey, response: RecallResponse) -> api.RecallResponse:
        return api.RecallResponse(
            memories=[recalled_out(memory) for memory in response.memories],
            context_block=response.context_block,
            context=clock_out(response.clock),
            token=self._cases.tokens.consistency(owner, response.revision),
            stages=[stage_out(stage) for stage in response.stages],
            degraded=response.degraded,
            candidates=response.matched,
        )

    async def Correct(self, request: api.CorrectRequest, context: Any) -> api.CorrectResponse:
        caller, owner = _authorised(request, Role.WRITER)
        nature = _NATURES.get(request.nature)
        if nature is None:
            raise InvalidInput(Reason.FIELD_INVALID, "nature is not known", field="nature")
        target = request.WhichOneof("target")
        command = CorrectCommand(
            statement=statement_in(request.memory),
            memory_id=parse_memory_id(request.memory_id, "memory_id") if target == "memory_id" else None,
            slot=slot_in(request.slot) if target == "slot" else None,
            fields=frozenset(request.update_mask.paths),
            etag=request.etag,
            nature=nature,
            changed_at=time_in(request.changed_at, "changed_at") if request.HasField("changed_at") else None,
            reason=request.reason,
        )
        result = await self._cases.correct(owner, command, meta_in(request, caller.actor))
        written = self._written(owner, result)
        return api.CorrectResponse(
            memory=written.memory if written.HasField("memory") else None,
            effect=written.effect,
            affected=written.affected,
            token=written.token,
            context=written.context,
            dot=written.dot,
            replayed=written.replayed,
        )

    async def Forget(self, request: api.ForgetRequest, context: Any) -> api.ForgetResponse:
        caller, owner = _authorised(request, Role.WRITER)
        target = request.WhichOneof("target")
        ids: tuple[Any, ...] = ()
        if target == "memories":
            check_list(request.memories.ids, "memories.ids", limits.FORGET_IDS_MAX)
            ids = tuple(parse_memory_id(i, "memories.ids") for i in request.memories.ids)
        where = None
        if target == "filter":
            where = filter_in(request.filter, self._cases.vocabulary)
            check_filter(where)
        command = ForgetCommand(
            ids=ids,
            slot=slot_in(request.slot) if target == "slot" else None,
            where=where,
            validate_only=request.validate_only,
            reason=request.reason,
        )
        result = await self._cases.forget(owner, command, meta_in(request, caller.actor))
        return api.ForgetResponse(
            forgotten_count=len(result.ids),
            memory_ids=[str(i) for i in result.ids],
            preview=[head_out(head) for head in result.preview],
            token=self._cases.tokens.consistency(owner, result.revision),
            context=clock_out(result.clock),
            dot=dot_out(result.dot),
            replayed=result.replayed,
        )

    async def Rollback(self, request: api.RollbackRequest, context: Any) -> api.RollbackResponse:
        caller, owner = _authorised(request, Role.WRITER)
        command = RollbackCommand(
            memory_id=parse_memory_id(request.memory_id, "memory_id"),
            version=counter_in(request.version, "version"),
            etag=request.etag,
            reason=request.reason,
        )
        result = await self._cases.rollback(owner, command, meta_in(request, caller.actor))
        written = self._written(owner, result)
        return api.RollbackResponse(
            memory=written.memory if written.HasField("memory") else None,
            affected=written.affected,
            token=written.token,
            context=written.context,
            dot=written.dot,
            replayed=written.replayed,
        )

    async def GetMemory(self, request: api.GetMemoryRequest, context: Any) -> api.GetMemoryResponse:
        _, owner = _authorised(request, Role.READER)
        memory_id = parse_memory_id(request.memory_id, "memory_id")
        found = await self._cases.reading.get(owner, memory_id, request.agent)
        return api.GetMemoryResponse(
            memory=head_out(found.head), links=[link_out(x) for x in found.links], context=clock_out(found.clock)
        )

    async def ListMemories(self, request: api.ListMemoriesRequest, context: Any) -> api.ListMemoriesResponse:
        _, owner = _authorised(request, Role.READER)
        page = await self._cases.reading.list(
            owner,
            filter_in(request.filter, self._cases.vocabulary),
            page_size=request.page_size,
            page_token=request.page_token,
            agent=request.agent,
        )
        return api.ListMemoriesResponse(
            memories=[head_out(head) for head in page.heads], next_page_token=page.next_token
        )

    async def GetHistory(self, request: api.GetHistoryRequest, context: Any) -> api.GetHistoryResponse:
        _, owner = _authorised(request, Role.READER)
        past = await self._cases.reading.history(owner, parse_memory_id(request.memory_id, "memory_id"))
        return api.GetHistoryResponse(
            versions=[version_out(version) for version in past.versions],
            events=[event_out(entry) for entry in past.events],
            links=[link_out(link) for link in past.links],
        )

    async def Prewarm(self, request: api.PrewarmRequest, context: Any) -> api.PrewarmResponse:
        _, owner = _authorised(request, Role.READER)
        count, revision = await self._cases.reading.prewarm(owner)
        return api.PrewarmResponse(memories=count, token=self._cases.tokens.consistency(owner, revision))

    def _written(self, owner: OwnerKey, result: ChangeResult) -> api.WriteResponse:
        return api.WriteResponse(
            memory=head_out(result.memory) if result.memory else None,
            effect=effect_out(result.effect),
            affected=[affected_out(item) for item in result.affected],
            token=self._cases.tokens.consistency(owner, result.revision),
            context=clock_out(result.clock),
            dot=dot_out(result.dot),
            replayed=result.replayed,
        )

    def _batch_result(
        self, owner: OwnerKey, result: ChangeResult | MemoryServiceError | None
    ) -> api.BatchWriteResult:
        if isinstance(result, ChangeResult):
            written = self._written(owner, result)
            written.ClearField("context")
            return api.BatchWriteResult(written=written)
        assert result is not None
        error = api.ItemError(
            code=code_of(result),
            reason=result.reason.value,
            message=result.message,
            field=result.field,
            metadata=result.metadata,
        )
        return api.BatchWriteResult(error=error)


def _authorised(request: Any, role: Role) -> tuple[Caller, OwnerKey]:
    caller = CALLER.get()
    caller.require(role)
    return caller, caller.owner(request.user)


def _item_in(message: api.BatchWriteItem, index: int) -> BatchItem:
    return BatchItem(
        statement=statement_in(message.memory, f"items[{index}].memory"),
        request_id=message.request_id,
        device=message.dot.device,
        counter=counter_in(message.dot.counter, f"items[{index}].dot.counter"),
    )
