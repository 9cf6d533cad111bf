"""MemoryService over gRPC: thin handlers, one use case each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from memory_service.app.commands import (
    BatchItem,
    ChangeMeta,
    ChangeResult,
)
from memory_service.app.experiments import Outcomes
from memory_service.app.feedback import Outcome, RecordFeedback
from memory_service.app.policies import OwnerPolicies
from memory_service.app.reading import AsOf, Reading, parse_memory_id
from memory_service.app.recall import Recall, RecallRequest, RecallResponse
from memory_service.app.review import Cause, Reviews
from memory_service.app.tokens import Tokens
from memory_service.app.validation import check_list
from memory_service.domain import limits
from memory_service.domain.errors import InvalidInput, MemoryServiceError, Reason
from memory_service.domain.ids import MemoryId, OwnerKey
from memory_service.domain.policy import Measure
from memory_service.ports.keys import Role
from memory_service.ports.snapshots import Freshness, Requirement
from memory_service.transport.changes import ChangeCalls, item_error
from memory_service.transport.convert import (
    event_out,
    filter_in,
    head_out,
    link_out,
    recalled_out,
    shown_out,
    stage_out,
    statement_in,
    version_out,
)
from memory_service.transport.identity import CALLER, Caller
from memory_service.transport.values import clock_in, clock_out, counter_in, time_in, time_out
from memory_service.v1 import memory_service_pb2 as api
from memory_service.v1 import memory_service_pb2_grpc as api_grpc
from memory_service.v1 import types_pb2 as pb

_CAUSES_OUT = {cause: api.ReviewCause.Value(f"REVIEW_CAUSE_{cause.name}") for cause in Cause}


@dataclass(frozen=True, slots=True)
class UseCases:
    """What the servicer calls."""

    changes: ChangeCalls
    reading: Reading
    recall: Recall
    feedback: RecordFeedback
    tokens: Tokens
    policies: OwnerPolicies
    outcomes: Outcomes
    reviews: Reviews


class MemoryServicer(api_grpc.MemoryServiceServicer):
    """See `memory_service.proto` for what each call means."""

    def __init__(self, cases: UseCases) -> None:
        self._cases = cases

    async def Write(self, request: api.WriteRequest, context: Any) -> api.WriteResponse:
        caller, owner = authorised(request, Role.WRITER)
        return await self._cases.changes.write(owner, request, caller.actor)

    async def BatchWrite(self, request: api.BatchWriteRequest, context: Any) -> api.BatchWriteResponse:
        caller, owner = authorised(request, Role.WRITER)
        check_list(request.items, "items", limits.BATCH_ITEMS_MAX)
        seen = clock_in(request.context) if request.HasField("context") else None
        results: list[ChangeResult | MemoryServiceError | None] = [None] * len(request.items)
        items: list[tuple[int, BatchItem]] = []
        for index, message in enumerate(request.items):
            try:
                items.append((index, _item_in(message, index)))
            except MemoryServiceError as error:
                results[index] = error
        outcomes = await self._cases.changes.write_case.batch(
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
        _, owner = authorised(request, Role.READER)
        if request.limit < 0 or request.token_budget < 0:
            name = "limit" if request.limit < 0 else "token_budget"
            raise InvalidInput(Reason.FIELD_OUT_OF_RANGE, f"{name} must not be negative", field=name)
        times = _times_in(request)
        embedding = request.query_embedding
        asked = RecallRequest(
            owner=owner,
            query=request.query,
            vector=np.fromiter(embedding, np.float32, len(embedding)) if embedding else None,
            where=filter_in(request.filter, self._cases.policies.of(owner).vocabulary),
            limit=request.limit or limits.RECALL_LIMIT_DEFAULT,
            token_budget=request.token_budget or None,
            requirement=requirement_in(self._cases.tokens, owner, request.consistency),
            as_of_valid=times.valid,
            as_of_recorded=times.recorded,
            profile=request.profile or "default",
            deadline_seconds=context.time_remaining(),
            agent=request.agent,
            reinforce=not request.read_only,
            resolve_time=request.resolve_time,
            time_zone=request.time_zone,
            deep=request.deep,
        )
        answer = await self._cases.recall(asked)
        self._cases.outcomes.note(owner, Measure.RECALL)
        self._cases.outcomes.note(owner, Measure.RECALLED, len(answer.memories))
        return self._recalled(owner, answer)

    def _recalled(self, owner: OwnerKey, response: RecallResponse) -> api.RecallResponse:
        return api.RecallResponse(
            memories=[recalled_out(memory) for memory in response.memories],
            context_block=response.context_block,
            context=clock_out(response.clock),
            token=self._cases.tokens.consistency(owner, response.revision),
            stages=[stage_out(stage) for stage in response.stages],
            degraded=response.degraded,
            candidates=response.matched,
            as_of_valid=time_out(response.as_of_valid),
            as_of_words=response.as_of_words,
        )

    async def Correct(self, request: api.CorrectRequest, context: Any) -> api.CorrectResponse:
        caller, owner = authorised(request, Role.WRITER)
        return await self._cases.changes.correct(owner, request, caller.actor)

    async def Forget(self, request: api.ForgetRequest, context: Any) -> api.ForgetResponse:
        caller, owner = authorised(request, Role.WRITER)
        return await self._cases.changes.forget(owner, request, caller.actor)

    async def Rollback(self, request: api.RollbackRequest, context: Any) -> api.RollbackResponse:
        caller, owner = authorised(request, Role.WRITER)
        return await self._cases.changes.rollback(owner, request, caller.actor)

    async def Unmerge(self, request: api.UnmergeRequest, context: Any) -> api.UnmergeResponse:
        caller, owner = authorised(request, Role.WRITER)
        return await self._cases.changes.unmerge(owner, request, caller.actor)

    async def ResolveConflict(self, request: api.ResolveConflictRequest, context: Any) -> api.ResolveConflictResponse:
        caller, owner = authorised(request, Role.WRITER)
        return await self._cases.changes.resolve(owner, request, caller.actor)

    async def ListReviews(self, request: api.ListReviewsRequest, context: Any) -> api.ListReviewsResponse:
        _, owner = authorised(request, Role.READER)
        page = await self._cases.reviews(owner, request.page_size, request.page_token, request.agent)
        return api.ListReviewsResponse(
            reviews=[
                api.Review(memory=head_out(head), cause=_CAUSES_OUT[cause])  # type: ignore[arg-type]
                for head, cause in page.items
            ],
            next_page_token=page.next_token,
        )

    async def DecideReview(self, request: api.DecideReviewRequest, context: Any) -> api.DecideReviewResponse:
        caller, owner = authorised(request, Role.WRITER)
        return await self._cases.changes.review(owner, request, caller.actor)

    async def RevokeWriter(self, request: api.RevokeWriterRequest, context: Any) -> api.RevokeWriterResponse:
        caller, owner = authorised(request, Role.WRITER)
        return await self._cases.changes.revoke(owner, request, caller.actor)

    async def GetMemory(self, request: api.GetMemoryRequest, context: Any) -> api.GetMemoryResponse:
        _, owner = authorised(request, Role.READER)
        memory_id = parse_memory_id(request.memory_id, "memory_id")
        found = await self._cases.reading.get(owner, memory_id, request.agent, _times_in(request))
        return api.GetMemoryResponse(
            memory=shown_out(found.shown), links=[link_out(x) for x in found.links], context=clock_out(found.clock)
        )

    async def ListMemories(self, request: api.ListMemoriesRequest, context: Any) -> api.ListMemoriesResponse:
        _, owner = authorised(request, Role.READER)
        page = await self._cases.reading.list(
            owner,
            filter_in(request.filter, self._cases.policies.of(owner).vocabulary),
            page_size=request.page_size,
            page_token=request.page_token,
            agent=request.agent,
            as_of=_times_in(request),
        )
        return api.ListMemoriesResponse(
            memories=[shown_out(shown) for shown in page.memories], next_page_token=page.next_token
        )

    async def GetHistory(self, request: api.GetHistoryRequest, context: Any) -> api.GetHistoryResponse:
        _, owner = authorised(request, Role.READER)
        past = await self._cases.reading.history(owner, parse_memory_id(request.memory_id, "memory_id"))
        return api.GetHistoryResponse(
            versions=[version_out(version) for version in past.versions],
            events=[event_out(entry) for entry in past.events],
            links=[link_out(link) for link in past.links],
        )

    async def RecordFeedback(self, request: api.RecordFeedbackRequest, context: Any) -> api.RecordFeedbackResponse:
        caller, owner = authorised(request, Role.WRITER)
        check_list(request.items, "items", limits.FEEDBACK_ITEMS_MAX)
        items = [_feedback_in(message, index) for index, message in enumerate(request.items)]
        meta = ChangeMeta(actor=caller.actor, request_id=request.request_id)
        result = await self._cases.feedback(owner, items, meta)
        if not result.replayed:
            for outcome, measure in ((Outcome.ADOPTED, Measure.ADOPTED), (Outcome.REJECTED, Measure.REJECTED)):
                told = sum(1 for memory_id, said in items if said is outcome and memory_id not in result.missing)
                self._cases.outcomes.note(owner, measure, told)
        return api.RecordFeedbackResponse(
            recorded=result.recorded,
            missing_ids=[str(i) for i in result.missing],
            token=self._cases.tokens.consistency(owner, result.revision),
            replayed=result.replayed,
        )

    async def Prewarm(self, request: api.PrewarmRequest, context: Any) -> api.PrewarmResponse:
        _, owner = authorised(request, Role.READER)
        count, revision = await self._cases.reading.prewarm(owner)
        return api.PrewarmResponse(memories=count, token=self._cases.tokens.consistency(owner, revision))

    def _batch_result(
        self, owner: OwnerKey, result: ChangeResult | MemoryServiceError | None
    ) -> api.BatchWriteResult:
        if isinstance(result, ChangeResult):
            written = self._cases.changes.answer(api.WriteResponse, owner, result)
            written.ClearField("context")
            return api.BatchWriteResult(written=written)
        assert result is not None
        return api.BatchWriteResult(error=item_error(result))


_OUTCOMES = {api.RECALL_OUTCOME_ADOPTED: Outcome.ADOPTED, api.RECALL_OUTCOME_REJECTED: Outcome.REJECTED}


def _feedback_in(message: api.MemoryFeedback, index: int) -> tuple[MemoryId, Outcome]:
    field = f"items[{index}].outcome"
    outcome = _OUTCOMES.get(message.outcome)
    if outcome is None:
        raise InvalidInput(Reason.FIELD_REQUIRED, f"{field} must be adopted or rejected", field=field)
    return parse_memory_id(message.memory_id, f"items[{index}].memory_id"), outcome


def authorised(request: Any, role: Role) -> tuple[Caller, OwnerKey]:
    """The caller and the owner a request is about, when the caller has the role."""
    caller = CALLER.get()
    caller.require(role)
    return caller, caller.owner(request.user)


def requirement_in(tokens: Tokens, owner: OwnerKey, message: pb.Consistency) -> Requirement:
    """How new the data of a read must be."""
    which = message.WhichOneof("requirement")
    if which == "at_least_as_fresh":
        field = "consistency.at_least_as_fresh"
        revision = tokens.revision(owner, message.at_least_as_fresh, field)
        return Requirement(Freshness.AT_LEAST_AS_FRESH, revision)
    if which == "fully_consistent" and message.fully_consistent:
        return Requirement(Freshness.FULLY_CONSISTENT)
    return Requirement()


def _times_in(request: Any) -> AsOf:
    """The times a read is about, from any request with `as_of_valid` and `as_of_recorded`."""
    has = request.HasField
    return AsOf(
        time_in(request.as_of_valid, "as_of_valid") if has("as_of_valid") else None,
        time_in(request.as_of_recorded, "as_of_recorded") if has("as_of_recorded") else None,
    )


def _item_in(message: api.BatchWriteItem, index: int) -> BatchItem:
    return BatchItem(
        statement=statement_in(message.memory, f"items[{index}].memory"),
        request_id=message.request_id,
        device=message.dot.device,
        counter=counter_in(message.dot.counter, f"items[{index}].dot.counter"),
    )
