"""Changes that judge what others wrote: of what use a recall was, conflicts, writers to revoke."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from memory_service.client import decode, encode, requests, rpcs
from memory_service.client import types as t
from memory_service.client.errors import InvalidArgument
from memory_service.client.session_calls import SessionCalls
from memory_service.v1 import memory_service_pb2 as api


class Decisions(SessionCalls):
    """Base of `Core`; arguments common to all calls are told there."""

    async def resolve_conflict(
        self,
        ids: Sequence[str],
        *,
        keep: str | None = None,
        merge: str | t.Assertion | t.NewMemory | None = None,
        dismiss: bool = False,
        reason: str = "",
        user: str | None = None,
        request_id: str | None = None,
        dot: t.Dot | None = None,
        context: t.ContextArgument = t.KEPT,
        timeout_seconds: float | None = None,
    ) -> t.WriteResult:
        """Settle memories that contradict each other; give one of the three decisions.

        Args:
            ids: the memories in conflict as the decision saw them, at most 64.
            keep: the id of the one that is right; the others were never true.
            merge: a statement that takes the place of all of them.
            dismiss: none of them is right.

        A value that this writer had not seen is not touched: the answer's effect is then `CONTESTED`.
        """
        request = requests.resolve(ids, keep, merge, dismiss=dismiss, reason=reason)
        if request.HasField("merge"):
            self._sign(request.merge)
        made = await self._made(rpcs.RESOLVE, request, user, request_id, dot, context, timeout_seconds)
        return decode.write_result(made)

    async def unmerge(
        self,
        memory_id: str,
        *,
        etag: str = "",
        reason: str = "",
        user: str | None = None,
        request_id: str | None = None,
        dot: t.Dot | None = None,
        context: t.ContextArgument = t.KEPT,
        timeout_seconds: float | None = None,
    ) -> t.WriteResult:
        """Take a memory apart that the service merged from others: they are what they were before."""
        request = api.UnmergeRequest(
            memory_id=encode.text(memory_id, "memory_id"),
            etag=encode.text(etag, "etag"),
            reason=encode.text(reason, "reason"),
        )
        made = await self._made(rpcs.UNMERGE, request, user, request_id, dot, context, timeout_seconds)
        return decode.write_result(made)

    async def record_feedback(
        self,
        *,
        adopted: Sequence[str] = (),
        rejected: Sequence[str] = (),
        user: str | None = None,
        request_id: str | None = None,
        timeout_seconds: float | None = None,
    ) -> t.FeedbackResult:
        """Say which recalled memories were of use: they fade more slowly; the others sooner.

        Args:
            adopted, rejected: ids from a recall, each at most once; at most 200 of both together.

        Memories that are not there any more are named in the answer. Recalls follow within their usual staleness;
        give one the answer's `token` when it must see this at once.
        """
        both = ((api.RECALL_OUTCOME_ADOPTED, adopted), (api.RECALL_OUTCOME_REJECTED, rejected))
        named = [(outcome, encode.texts(ids, "items")) for outcome, ids in both]
        items = [api.MemoryFeedback(memory_id=i, outcome=outcome) for outcome, ids in named for i in ids]
        request = api.RecordFeedbackRequest(
            user=self._user(user), items=items, request_id=self._request_id(request_id)
        )
        return decode.feedback_result(await self._call(rpcs.FEEDBACK, request, timeout_seconds, request.request_id))

    async def revoke_writer(
        self,
        *,
        device: str = "",
        agent: str = "",
        actor: str = "",
        since: datetime | None = None,
        validate_only: bool = False,
        reason: str = "",
        user: str | None = None,
        request_id: str | None = None,
        dot: t.Dot | None = None,
        context: t.ContextArgument = t.KEPT,
        timeout_seconds: float | None = None,
    ) -> t.RevokeResult:
        """Undo everything that a writer changed since a time, and what was derived from it.

        Args:
            device, agent, actor: whose changes; all that are given must match. `actor` is a key's id.
            since: changes at or after this time, by the service's clock.
            validate_only: change nothing; the answer says what would be undone.

        The answer's `revision` names the revocation for `undo_revocation`.
        """
        if not (device or agent or actor):
            raise InvalidArgument("give a device, an agent or an actor", reason="FIELD_REQUIRED", field="writer")
        if since is None:
            raise InvalidArgument("say since when", reason="FIELD_REQUIRED", field="since")
        writer = api.Writer(
            device=encode.text(device, "writer.device"),
            agent=encode.text(agent, "writer.agent"),
            actor=encode.text(actor, "writer.actor"),
        )
        request = api.RevokeWriterRequest(writer=writer, since=encode.timestamp(since, "since"))
        request.validate_only, request.reason = validate_only, encode.text(reason, "reason")
        return await self._revoke(request, user, request_id, dot, context, timeout_seconds)

    async def undo_revocation(
        self,
        revision: int,
        *,
        validate_only: bool = False,
        reason: str = "",
        user: str | None = None,
        request_id: str | None = None,
        dot: t.Dot | None = None,
        context: t.ContextArgument = t.KEPT,
        timeout_seconds: float | None = None,
    ) -> t.RevokeResult:
        """Take a revocation back, named by the `revision` of its answer. This may be undone in turn."""
        request = api.RevokeWriterRequest(undo_revision=encode.integer(revision, "undo_revision", 2**64 - 1))
        request.validate_only, request.reason = validate_only, encode.text(reason, "reason")
        return await self._revoke(request, user, request_id, dot, context, timeout_seconds)

    async def _revoke(
        self,
        request: api.RevokeWriterRequest,
        user: str | None,
        request_id: str | None,
        dot: t.Dot | None,
        context: t.ContextArgument,
        timeout_seconds: float | None,
    ) -> t.RevokeResult:
        owner = self._user(user)
        if request.validate_only:
            request.user = owner
            return decode.revoke_result(await self._call(rpcs.REVOKE_WRITER, request, timeout_seconds))
        made = await self._made(rpcs.REVOKE_WRITER, request, user, request_id, dot, context, timeout_seconds)
        return decode.revoke_result(made)
