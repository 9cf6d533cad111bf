"""SessionService over gRPC: thin handlers, one use case each."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from memory_service.app.add_turns import AddTurns
from memory_service.app.get_context import DEFAULT_TOKENIZER, ContextRequest, ContextResponse, GetContext
from memory_service.app.policies import OwnerPolicies
from memory_service.app.preferences import Preferences
from memory_service.app.recall import RecallRequest
from memory_service.app.sessions import Sessions
from memory_service.app.tokens import Tokens
from memory_service.app.validation import check_list
from memory_service.domain import limits
from memory_service.domain.errors import InvalidInput, Reason
from memory_service.domain.ids import OwnerKey
from memory_service.ports.keys import Role
from memory_service.transport.convert import filter_in, head_out, recalled_out, stage_out
from memory_service.transport.memory_servicer import authorised, requirement_in
from memory_service.transport.session_convert import (
    block_out,
    changes_in,
    line_out,
    overwritten_out,
    session_out,
    tags_out,
    turn_in,
)
from memory_service.transport.values import clock_out
from memory_service.v1 import session_service_pb2 as pb
from memory_service.v1 import session_service_pb2_grpc as pb_grpc

_TURNS_DEFAULT = 20


@dataclass(frozen=True, slots=True)
class SessionCases:
    """What the servicer calls."""

    sessions: Sessions
    add_turns: AddTurns
    context: GetContext
    preferences: Preferences
    tokens: Tokens
    policies: OwnerPolicies


class SessionServicer(pb_grpc.SessionServiceServicer):
    """See `session_service.proto` for what each call means."""

    def __init__(self, cases: SessionCases) -> None:
        self._cases = cases

    async def CreateSession(self, request: pb.CreateSessionRequest, context: Any) -> pb.CreateSessionResponse:
        _, owner = authorised(request, Role.WRITER)
        view = await self._cases.sessions.create(
            owner,
            agent=request.agent,
            record_episodes=request.record_episodes if request.HasField("record_episodes") else None,
            changes=changes_in(request.state, None, self._cases.policies.of(owner).vocabulary),
            request_id=request.request_id,
        )
        return pb.CreateSessionResponse(session=session_out(view))

    async def GetSession(self, request: pb.GetSessionRequest, context: Any) -> pb.GetSessionResponse:
        _, owner = authorised(request, Role.READER)
        turns = request.turns if request.HasField("turns") else _TURNS_DEFAULT
        view = await self._cases.sessions.get(owner, request.session_id, turns=turns)
        return pb.GetSessionResponse(session=session_out(view))

    async def ListSessions(self, request: pb.ListSessionsRequest, context: Any) -> pb.ListSessionsResponse:
        _, owner = authorised(request, Role.READER)
        page = await self._cases.sessions.list(owner, page_size=request.page_size, page_token=request.page_token)
        return pb.ListSessionsResponse(
            sessions=[line_out(line) for line in page.lines], next_page_token=page.next_token
        )

    async def AppendTurns(self, request: pb.AppendTurnsRequest, context: Any) -> pb.AppendTurnsResponse:
        caller, owner = authorised(request, Role.WRITER)
        check_list(request.turns, "turns", limits.TURNS_AT_ONCE_MAX)
        turns = [turn_in(message, f"turns[{place}]") for place, message in enumerate(request.turns)]
        added = await self._cases.add_turns(owner, request.session_id, turns, actor=caller.actor)
        return pb.AppendTurnsResponse(
            duplicates=added.duplicates,
            turn_count=added.turn_count,
            block=block_out(added.block),
            notices=[
                pb.TurnNotice(turn_id=turn.id, tags=tags_out(tags))
                for turn, tags in zip(turns, added.tags, strict=True)
            ],
            recorded=added.recorded,
        )

    async def UpdateSession(self, request: pb.UpdateSessionRequest, context: Any) -> pb.UpdateSessionResponse:
        _, owner = authorised(request, Role.WRITER)
        paths = list(request.update_mask.paths) if request.HasField("update_mask") else None
        updated = await self._cases.sessions.update(
            owner,
            request.session_id,
            changes_in(request.state, paths, self._cases.policies.of(owner).vocabulary),
            etag=request.etag,
            seen_version=request.seen_version if request.HasField("seen_version") else None,
            device=request.device,
        )
        return pb.UpdateSessionResponse(
            etag=f"s{updated.version}",
            version=updated.version,
            overwritten=[overwritten_out(item) for item in updated.overwritten],
        )

    async def EndSession(self, request: pb.EndSessionRequest, context: Any) -> pb.EndSessionResponse:
        _, owner = authorised(request, Role.WRITER)
        return pb.EndSessionResponse(session=session_out(await self._cases.sessions.end(owner, request.session_id)))

    async def GetContext(self, request: pb.GetContextRequest, context: Any) -> pb.GetContextResponse:
        _, owner = authorised(request, Role.READER)
        for name in ("window_tokens", "limit"):
            if getattr(request, name) < 0:
                raise InvalidInput(Reason.FIELD_OUT_OF_RANGE, f"{name} must not be negative", field=name)
        asked = ContextRequest(
            session=request.session_id,
            recall=RecallRequest(
                owner=owner,
                query=request.query,
                where=filter_in(request.filter, self._cases.policies.of(owner).vocabulary),
                limit=request.limit or limits.RECALL_LIMIT_DEFAULT,
                requirement=requirement_in(self._cases.tokens, owner, request.consistency),
                profile=request.profile or "default",
                deadline_seconds=context.time_remaining(),
                agent=request.agent,
                reinforce=not request.read_only,
                with_block=False,
            ),
            window_tokens=request.window_tokens or limits.WINDOW_TOKENS_DEFAULT,
            tokenizer=request.tokenizer or DEFAULT_TOKENIZER,
        )
        return self._context_out(owner, await self._cases.context(asked))

    def _context_out(self, owner: OwnerKey, answer: ContextResponse) -> pb.GetContextResponse:
        tokens, found = answer.tokens, answer.answer
        response = pb.GetContextResponse(
            block=answer.block,
            session=session_out(replace(answer.session, turns=answer.prompt.turns)) if answer.session else None,
            memories=[
                pb.ContextMemory(
                    recalled=recalled_out(memory.recalled),
                    in_block=memory.in_block,
                    overridden_by=memory.overridden_by,
                )
                for memory in answer.memories
            ],
            tokens=pb.TokenUse(
                short_term=tokens.short_term,
                recalled=tokens.recalled,
                total=tokens.total,
                budget=tokens.budget,
                tokenizer=tokens.tokenizer,
                exact=tokens.exact,
            ),
            turns_left_out=answer.prompt.left_out,
            constraints_left_out=answer.prompt.constraints_left_out,
            degraded=answer.degraded,
            missing=answer.missing,
        )
        if found is not None:
            response.context.CopyFrom(clock_out(found.clock))
            response.token = self._cases.tokens.consistency(owner, found.revision)
            response.stages.extend(stage_out(stage) for stage in found.stages)
        return response

    async def GetPreferences(self, request: pb.GetPreferencesRequest, context: Any) -> pb.GetPreferencesResponse:
        _, owner = authorised(request, Role.READER)
        found = await self._cases.preferences(
            owner,
            list(request.predicates),
            agent=request.agent,
            requirement=requirement_in(self._cases.tokens, owner, request.consistency),
        )
        return pb.GetPreferencesResponse(
            values=[
                pb.PreferenceValue(
                    predicate=value.predicate,
                    memories=[head_out(head) for head in value.heads],
                    contested=value.contested,
                )
                for value in found.values
            ],
            context=clock_out(found.clock),
            token=self._cases.tokens.consistency(owner, found.revision),
        )
