"""From change requests to use cases and back to responses: shared by the unary calls and by Sync."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar

from memory_service.app.commands import (
    ChangeResult,
    CorrectCommand,
    Effect,
    ForgetCommand,
    ForgetResult,
    Nature,
    ResolveCommand,
    RevokeCommand,
    RevokeResult,
    RollbackCommand,
    UnmergeCommand,
)
from memory_service.app.correct import Correct
from memory_service.app.experiments import Outcomes
from memory_service.app.forget import Forget
from memory_service.app.policies import OwnerPolicies
from memory_service.app.reading import check_filter, parse_memory_id
from memory_service.app.resolve import Resolve
from memory_service.app.review import Decision, Review, ReviewCommand
from memory_service.app.revoke import Revoke
from memory_service.app.rollback import Rollback
from memory_service.app.tokens import Tokens
from memory_service.app.unmerge import Unmerge
from memory_service.app.validation import check_list
from memory_service.app.write import Write
from memory_service.domain import limits
from memory_service.domain.errors import InvalidInput, MemoryServiceError, Reason
from memory_service.domain.ids import OwnerKey, Revision
from memory_service.domain.policy import Measure
from memory_service.transport.convert import (
    affected_out,
    effect_out,
    filter_in,
    head_out,
    meta_in,
    slot_in,
    statement_in,
)
from memory_service.transport.errors import code_of
from memory_service.transport.values import clock_out, counter_in, dot_out, enum_in, time_in
from memory_service.v1 import memory_service_pb2 as api

_NATURES = {
    api.CORRECTION_NATURE_UNSPECIFIED: Nature.WRONG,
    api.CORRECTION_NATURE_WRONG: Nature.WRONG,
    api.CORRECTION_NATURE_OUTDATED: Nature.OUTDATED,
}
AnswerT = TypeVar(
    "AnswerT",
    api.WriteResponse,
    api.CorrectResponse,
    api.RollbackResponse,
    api.ResolveConflictResponse,
    api.DecideReviewResponse,
    api.UnmergeResponse,
)
_DECISIONS = {api.ReviewDecision.Value(f"REVIEW_DECISION_{decision.name}"): decision for decision in Decision}


@dataclass(frozen=True, slots=True)
class ChangeCalls:
    """Runs one change request of an owner on behalf of a credential (`actor`)."""

    write_case: Write
    correct_case: Correct
    forget_case: Forget
    rollback_case: Rollback
    resolve_case: Resolve
    revoke_case: Revoke
    review_case: Review
    unmerge_case: Unmerge
    tokens: Tokens
    policies: OwnerPolicies
    outcomes: Outcomes

    async def write(self, owner: OwnerKey, request: api.WriteRequest, actor: str) -> api.WriteResponse:
        """See `Write`."""
        meta = meta_in(request, actor, request.memory.agent)
        result = await self.write_case.one(owner, statement_in(request.memory), meta)
        return self.answer(api.WriteResponse, owner, result)

    async def correct(self, owner: OwnerKey, request: api.CorrectRequest, actor: str) -> api.CorrectResponse:
        """See `Correct`."""
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
        result = await self.correct_case(owner, command, meta_in(request, actor, request.memory.agent))
        return self.answer(api.CorrectResponse, owner, result)

    async def forget(self, owner: OwnerKey, request: api.ForgetRequest, actor: str) -> api.ForgetResponse:
        """See `Forget`."""
        target = request.WhichOneof("target")
        ids: tuple[Any, ...] = ()
        if target == "memories":
            check_list(request.memories.ids, "memories.ids", limits.FORGET_IDS_MAX)
            ids = tuple(parse_memory_id(i, "memories.ids") for i in request.memories.ids)
        where = None
        if target == "filter":
            where = filter_in(request.filter, self.policies.of(owner).vocabulary)
            check_filter(where)
        command = ForgetCommand(
            ids=ids,
            slot=slot_in(request.slot) if target == "slot" else None,
            says=statement_in(request.statement, "statement") if target == "statement" else None,
            where=where,
            validate_only=request.validate_only,
            reason=request.reason,
        )
        return self._forgotten(owner, await self.forget_case(owner, command, meta_in(request, actor)))

    async def rollback(self, owner: OwnerKey, request: api.RollbackRequest, actor: str) -> api.RollbackResponse:
        """See `Rollback`."""
        command = RollbackCommand(
            memory_id=parse_memory_id(request.memory_id, "memory_id"),
            version=counter_in(request.version, "version"),
            etag=request.etag,
            reason=request.reason,
        )
        result = await self.rollback_case(owner, command, meta_in(request, actor))
        return self.answer(api.RollbackResponse, owner, result)

    async def unmerge(self, owner: OwnerKey, request: api.UnmergeRequest, actor: str) -> api.UnmergeResponse:
        """See `Unmerge`."""
        command = UnmergeCommand(
            memory_id=parse_memory_id(request.memory_id, "memory_id"), etag=request.etag, reason=request.reason
        )
        result = await self.unmerge_case(owner, command, meta_in(request, actor))
        return self.answer(api.UnmergeResponse, owner, result)

    async def resolve(
        self, owner: OwnerKey, request: api.ResolveConflictRequest, actor: str
    ) -> api.ResolveConflictResponse:
        """See `Resolve`."""
        check_list(request.memory_ids, "memory_ids", limits.RESOLVE_IDS_MAX)
        decision = request.WhichOneof("decision")
        command = ResolveCommand(
            ids=tuple(parse_memory_id(i, "memory_ids") for i in request.memory_ids),
            keep=parse_memory_id(request.keep, "keep") if decision == "keep" else None,
            merge=statement_in(request.merge, "merge") if decision == "merge" else None,
            dismiss=decision == "dismiss" and request.dismiss,
            reason=request.reason,
        )
        result = await self.resolve_case(owner, command, meta_in(request, actor))
        return self.answer(api.ResolveConflictResponse, owner, result)

    async def review(self, owner: OwnerKey, request: api.DecideReviewRequest, actor: str) -> api.DecideReviewResponse:
        """See `Review`."""
        decision = enum_in(_DECISIONS, request.decision, "decision")
        if decision is None:
            raise InvalidInput(Reason.FIELD_REQUIRED, "decision must be given", field="decision")
        command = ReviewCommand(
            memory_id=parse_memory_id(request.memory_id, "memory_id"),
            decision=decision,
            etag=request.etag,
            reason=request.reason,
        )
        result = await self.review_case(owner, command, meta_in(request, actor))
        return self.answer(api.DecideReviewResponse, owner, result)

    async def revoke(self, owner: OwnerKey, request: api.RevokeWriterRequest, actor: str) -> api.RevokeWriterResponse:
        """See `Revoke`."""
        undo = request.WhichOneof("what") == "undo_revision"
        command = RevokeCommand(
            device=request.writer.device,
            agent=request.writer.agent,
            actor=request.writer.actor,
            since=time_in(request.since, "since") if request.HasField("since") else None,
            undo=Revision(counter_in(request.undo_revision, "undo_revision")) if undo else None,
            validate_only=request.validate_only,
            reason=request.reason,
        )
        return self._revoked(owner, await self.revoke_case(owner, command, meta_in(request, actor)))

    def answer(self, kind: type[AnswerT], owner: OwnerKey, result: ChangeResult) -> AnswerT:
        """The response of a change, of the type the call answers with."""
        response = kind(
            memory=head_out(result.memory) if result.memory else None,
            affected=[affected_out(item) for item in result.affected],
            token=self.tokens.consistency(owner, result.revision),
            context=clock_out(result.clock),
            dot=dot_out(result.dot),
            replayed=result.replayed,
        )
        if not isinstance(response, api.RollbackResponse):
            response.effect = effect_out(result.effect)
        if not result.replayed:
            self._note(kind, owner, result)
        return response

    def _note(self, kind: type[Any], owner: OwnerKey, result: ChangeResult) -> None:
        """Count what the change was for the side of the experiment that the owner is on."""
        measure = {api.WriteResponse: Measure.WRITE, api.CorrectResponse: Measure.CORRECTION}.get(kind)
        if measure is not None:
            self.outcomes.note(owner, measure)
        if Effect.CONTESTED in (result.effect, *(item.effect for item in result.affected)):
            self.outcomes.note(owner, Measure.CONTESTED)

    def _forgotten(self, owner: OwnerKey, result: ForgetResult) -> api.ForgetResponse:
        return api.ForgetResponse(
            forgotten_count=len(result.ids),
            memory_ids=[str(i) for i in result.ids],
            preview=[head_out(head) for head in result.preview],
            token=self.tokens.consistency(owner, result.revision),
            context=clock_out(result.clock),
            dot=dot_out(result.dot),
            replayed=result.replayed,
        )

    def _revoked(self, owner: OwnerKey, result: RevokeResult) -> api.RevokeWriterResponse:
        return api.RevokeWriterResponse(
            changes=result.changes,
            affected=[affected_out(item) for item in result.affected],
            revision=result.revision if result.dot else 0,
            token=self.tokens.consistency(owner, result.revision),
            context=clock_out(result.clock),
            dot=dot_out(result.dot),
            replayed=result.replayed,
        )


def item_error(error: MemoryServiceError) -> api.ItemError:
    """Why one of several was refused."""
    return api.ItemError(
        code=code_of(error),
        reason=error.reason.value,
        message=error.message,
        field=error.field,
        metadata=error.metadata,
    )
