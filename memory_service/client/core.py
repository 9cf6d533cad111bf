"""The client's logic, written once: `AsyncMemoryClient` and `MemoryClient` differ in the wire below it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from datetime import datetime
from typing import Unpack

from memory_service.client import decode, encode, requests, rpcs
from memory_service.client import types as t
from memory_service.client.batches import BatchProgress, BatchWriter, WriteOutcome
from memory_service.client.decisions import Decisions
from memory_service.client.errors import InvalidArgument
from memory_service.client.policies import PolicyCalls
from memory_service.v1 import admin_service_pb2 as admin
from memory_service.v1 import memory_service_pb2 as api

BATCH_SIZE = 100


class Core(PolicyCalls, Decisions):
    """Every call of the API as a coroutine. Arguments common to all of them:

    Args:
        user: whose memory; the client's `user` when None. May stay empty when the key is bound to one user.
        timeout_seconds: overall deadline, retries and waits included; the client's when None.
        context: for a change, what its writer had seen. `KEPT` is what this client has seen of the user, a
            `Context` is taken as given, and None means everything the server has when it accepts the change.
        request_id: made by the client when None, so that sending a change again is harmless. Give your own to
            make your own repetition harmless too.
        dot: the device's own number for the change; with a `device` and no dot the server numbers it.

    All of them raise only `MemoryClientError` and its subclasses (and TypeError for unknown arguments).
    """

    # ── Changes ─────────────────────────────────────────────────────────────────────────────────────────────

    async def write(
        self,
        text: str | None = None,
        *,
        user: str | None = None,
        request_id: str | None = None,
        dot: t.Dot | None = None,
        context: t.ContextArgument = None,
        timeout_seconds: float | None = None,
        **fields: Unpack[t.MemoryFields],
    ) -> t.WriteResult:
        """Remember one statement: as text, as subject, predicate and object, or both.

        `fields` are those of `MemoryFields`: subject ("user" when only a predicate is given), predicate,
        object (any JSON), kind, topic, tags, source, confidence, importance, valid_from, valid_to,
        expires_at, said_at, time_zone, visibility, pinned, embedding, agent, session, process, reference,
        derived_from.

        The context is None by default: a statement made now is newer than whatever the service holds. A
        device that comes back with statements made offline gives the context it had when they were made
        (`causal_context`), so that what others said meanwhile is not silently replaced.
        """
        request = requests.write(text, fields)
        self._sign(request.memory)
        response = await self._made(rpcs.WRITE, request, user, request_id, dot, context, timeout_seconds)
        return decode.write_result(response)

    async def write_many(
        self,
        items: Iterable[t.NewMemory | str],
        *,
        user: str | None = None,
        batch_size: int = BATCH_SIZE,
        concurrency: int = 2,
        on_progress: Callable[[BatchProgress], None] | None = None,
        context: t.Context | None = None,
        timeout_seconds: float | None = None,
    ) -> Sequence[WriteOutcome]:
        """Remember many statements, in batches; one outcome for each, in order.

        A refused item does not stop the others: its outcome carries the error. A batch that fails as a whole
        (the service stays away, the key is refused) ends the call with that error once the batches under way
        are done; what `on_progress` was told of is remembered. Statements of one user are accepted in the
        order given; up to `concurrency` batches of different users travel at once. `timeout_seconds` is for
        each batch (60 s by default). `items` is read as it is needed, so it may be long.
        """
        if not 1 <= encode.integer(batch_size, "batch_size") <= 500:
            raise InvalidArgument(
                "batch_size must lie between 1 and 500", reason="FIELD_OUT_OF_RANGE", field="batch_size"
            )
        writer = BatchWriter(
            prepare=lambda item: self._batch_item(item, user),
            send=lambda owner, batch: self._send_batch(owner, batch, context, timeout_seconds),
            start=self._wire.start,
            batch_size=batch_size,
            concurrency=max(1, encode.integer(concurrency, "concurrency")),
            on_progress=on_progress,
        )
        return await writer.run(items)

    async def correct(
        self,
        memory_id: str | None = None,
        text: str | None = None,
        *,
        slot: t.Slot | tuple[str, str] | None = None,
        nature: t.CorrectionNature | str | None = None,
        changed_at: datetime | None = None,
        reason: str = "",
        etag: str = "",
        update_mask: Sequence[str] | None = None,
        user: str | None = None,
        request_id: str | None = None,
        dot: t.Dot | None = None,
        context: t.ContextArgument = t.KEPT,
        timeout_seconds: float | None = None,
        **fields: Unpack[t.MemoryFields],
    ) -> t.WriteResult:
        """Change what one memory says, or give a slot (subject, predicate) another value.

        Only what is given changes; an empty value (no tags, `pinned=False`, `valid_to=None`) empties it.
        `nature` says whether the old value was "wrong" (never true; the default) or "outdated" (true until
        `changed_at`, or until now). With `etag` the change is refused (`Aborted`) if the memory has changed.
        """
        request = requests.correct(
            memory_id,
            text,
            slot,
            fields,
            nature=nature,
            changed_at=changed_at,
            reason=reason,
            etag=etag,
            update_mask=update_mask,
        )
        response = await self._made(rpcs.CORRECT, request, user, request_id, dot, context, timeout_seconds)
        return decode.write_result(response)

    async def forget(
        self,
        ids: str | Sequence[str] | None = None,
        *,
        slot: t.Slot | tuple[str, str] | None = None,
        where: t.MemoryFilter | None = None,
        statement: str | t.Assertion | t.NewMemory | None = None,
        validate_only: bool = False,
        reason: str = "",
        user: str | None = None,
        request_id: str | None = None,
        dot: t.Dot | None = None,
        context: t.ContextArgument = t.KEPT,
        timeout_seconds: float | None = None,
    ) -> t.ForgetResult:
        """Forget memories by id, everything of a slot, all that match a filter, or whatever says a statement.

        Give one of the four. A statement is for a writer that never heard the memory's id.
        With `validate_only` nothing changes and the answer says what would be forgotten.
        """
        owner = self._user(user)
        request = requests.forget(ids, slot, where, statement, reason=reason)
        if validate_only:
            request.user, request.validate_only = owner, True
            seen = encode.context(self._context(owner, context))
            if seen is not None:
                request.context.CopyFrom(seen)
            return decode.forget_result(await self._call(rpcs.FORGET, request, timeout_seconds))
        made = await self._made(rpcs.FORGET, request, user, request_id, dot, context, timeout_seconds)
        return decode.forget_result(made)

    async def rollback(
        self,
        memory_id: str,
        version: int,
        *,
        etag: str = "",
        reason: str = "",
        user: str | None = None,
        request_id: str | None = None,
        dot: t.Dot | None = None,
        context: t.ContextArgument = t.KEPT,
        timeout_seconds: float | None = None,
    ) -> t.WriteResult:
        """Make an earlier version of a memory current again, as a new version."""
        request = api.RollbackRequest(
            memory_id=encode.text(memory_id, "memory_id"),
            version=encode.integer(version, "version", 2**64 - 1),
            etag=encode.text(etag, "etag"),
            reason=encode.text(reason, "reason"),
        )
        response = await self._made(rpcs.ROLLBACK, request, user, request_id, dot, context, timeout_seconds)
        return decode.rollback_result(response)

    # ── Reads ───────────────────────────────────────────────────────────────────────────────────────────────

    async def recall(
        self,
        query: str = "",
        *,
        limit: int = 10,
        where: t.MemoryFilter | None = None,
        consistency: t.Consistency | None = None,
        as_of_valid: datetime | None = None,
        as_of_recorded: datetime | None = None,
        profile: str = "",
        token_budget: int = 0,
        read_only: bool = False,
        query_embedding: Sequence[float] = (),
        resolve_time: bool = False,
        time_zone: str = "",
        deep: bool = False,
        agent: str | None = None,
        user: str | None = None,
        timeout_seconds: float | None = None,
    ) -> t.RecallResult:
        """Find what matters for a question.

        Without `consistency` the recall sees every change this client made (and nothing older than what it
        read before), whichever replica answers. What it returns becomes part of this client's context.

        Args:
            limit: how many at most, 1 to 200.
            as_of_valid: what held in the world at this time, instead of now.
            as_of_recorded: what was believed at this time, instead of now.
            token_budget: tokens the context block may take; unlimited when 0.
            read_only: leave no trace in use counts.
            query_embedding: the question's vector, made by the service when empty.
            resolve_time: take a past time that the query names ("three months ago") as `as_of_valid`; the answer says
                which it took. Nothing is taken when an as-of time is given.
            time_zone: zone of whoever asks, for `resolve_time`; UTC when empty.
            deep: search the archive and cold storage too; slower, and not with `as_of_recorded`.
            agent: who asks (its private memories included); the client's agent when None.
        """
        owner = self._user(user)
        chosen = consistency or self._causality.consistency(owner)
        request = api.RecallRequest(
            user=owner,
            query=encode.text(query, "query"),
            query_embedding=encode.vector(query_embedding, "query_embedding"),
            filter=encode.memory_filter(where),
            limit=encode.integer(limit, "limit"),
            token_budget=encode.integer(token_budget, "token_budget"),
            consistency=encode.consistency(chosen),
            as_of_valid=encode.timestamp(as_of_valid, "as_of_valid"),
            as_of_recorded=encode.timestamp(as_of_recorded, "as_of_recorded"),
            profile=encode.text(profile, "profile"),
            agent=self._agent(agent),
            read_only=read_only,
            resolve_time=resolve_time,
            time_zone=encode.text(time_zone, "time_zone"),
            deep=deep,
        )
        began = self._causality.begin()
        response = await self._call(rpcs.RECALL, request, timeout_seconds)
        result = decode.recall_result(response)
        if as_of_recorded is None:  # a look at the past shows less than the present context claims
            full = chosen is not None and chosen.requirement == "fully_consistent"
            self._causality.learn_read(owner, began=began, token=result.token, context=result.context, full=full)
        return result

    async def get(
        self,
        memory_id: str,
        *,
        as_of_valid: datetime | None = None,
        as_of_recorded: datetime | None = None,
        agent: str | None = None,
        user: str | None = None,
        timeout_seconds: float | None = None,
    ) -> t.MemoryDetail:
        """Read one memory and what it is joined to: as it stands, or as it was believed at `as_of_recorded`.

        Its `standing` is what it is now, or in the world at `as_of_valid`. Raises NotFound when this user has no such
        memory, had none then, or it did not hold yet.
        """
        request = api.GetMemoryRequest(
            user=self._user(user),
            memory_id=encode.text(memory_id, "memory_id"),
            agent=self._agent(agent),
            as_of_valid=encode.timestamp(as_of_valid, "as_of_valid"),
            as_of_recorded=encode.timestamp(as_of_recorded, "as_of_recorded"),
        )
        return decode.memory_detail(await self._call(rpcs.GET, request, timeout_seconds))

    async def list_page(
        self,
        *,
        where: t.MemoryFilter | None = None,
        page_size: int = 0,
        page_token: str = "",
        as_of_valid: datetime | None = None,
        as_of_recorded: datetime | None = None,
        agent: str | None = None,
        user: str | None = None,
        timeout_seconds: float | None = None,
    ) -> t.MemoryPage:
        """Read one page of memories in order of creation; current ones unless the filter names a status.

        With `as_of_valid` those that held in the world then, with `as_of_recorded` as they were believed then.
        """
        request = api.ListMemoriesRequest(
            user=self._user(user),
            filter=encode.memory_filter(where),
            page_size=encode.integer(page_size, "page_size"),
            page_token=encode.text(page_token, "page_token"),
            agent=self._agent(agent),
            as_of_valid=encode.timestamp(as_of_valid, "as_of_valid"),
            as_of_recorded=encode.timestamp(as_of_recorded, "as_of_recorded"),
        )
        return decode.memory_page(await self._call(rpcs.LIST, request, timeout_seconds))

    async def _iterate(
        self,
        *,
        where: t.MemoryFilter | None = None,
        page_size: int = 0,
        as_of_valid: datetime | None = None,
        as_of_recorded: datetime | None = None,
        agent: str | None = None,
        user: str | None = None,
        timeout_seconds: float | None = None,
    ) -> AsyncIterator[t.Memory]:
        """All memories in order of creation, page by page; `timeout_seconds` is for each page."""
        token = ""
        while True:
            page = await self.list_page(
                where=where,
                page_size=page_size,
                page_token=token,
                as_of_valid=as_of_valid,
                as_of_recorded=as_of_recorded,
                agent=agent,
                user=user,
                timeout_seconds=timeout_seconds,
            )
            for memory in page.memories:
                yield memory
            token = page.next_page_token
            if not token:
                return

    async def history(
        self, memory_id: str, *, user: str | None = None, timeout_seconds: float | None = None
    ) -> t.History:
        """Read every version and state change of one memory, oldest first."""
        request = api.GetHistoryRequest(user=self._user(user), memory_id=encode.text(memory_id, "memory_id"))
        return decode.history(await self._call(rpcs.HISTORY, request, timeout_seconds))

    async def prewarm(self, *, user: str | None = None, timeout_seconds: float | None = None) -> t.PrewarmResult:
        """Load a user's memories into the cache, e.g. at login."""
        request = api.PrewarmRequest(user=self._user(user))
        response = await self._call(rpcs.PREWARM, request, timeout_seconds)
        return t.PrewarmResult(response.memories, response.token)

    # ── Administration ──────────────────────────────────────────────────────────────────────────────────────

    async def server_info(self, *, timeout_seconds: float | None = None) -> t.ServerInfo:
        """Version, embedding model, limits and clock of the server."""
        response = await self._call(rpcs.SERVER_INFO, admin.GetServerInfoRequest(), timeout_seconds)
        return decode.server_info(response)

    async def create_key(
        self,
        name: str,
        *,
        roles: Sequence[t.Role | str] = (t.Role.WRITER,),
        users: Sequence[str] = (),
        expires_at: datetime | None = None,
        timeout_seconds: float | None = None,
    ) -> t.NewApiKey:
        """Make an API key of the caller's tenant. Not sent again when the answer is lost; see `list_keys`."""
        request = admin.CreateKeyRequest(
            name=encode.text(name, "name"),
            roles=[encode.role_number(role, "roles") for role in roles],
            users=encode.texts(users, "users"),
            expires_at=encode.timestamp(expires_at, "expires_at"),
        )
        response = await self._call(rpcs.CREATE_KEY, request, timeout_seconds)
        return t.NewApiKey(decode.api_key(response.key), response.secret)

    async def list_keys(self, *, timeout_seconds: float | None = None) -> Sequence[t.ApiKey]:
        """The tenant's keys, oldest first, revoked ones included."""
        response = await self._call(rpcs.LIST_KEYS, admin.ListKeysRequest(), timeout_seconds)
        return [decode.api_key(key) for key in response.keys]

    async def revoke_key(self, key_id: str, *, timeout_seconds: float | None = None) -> None:
        """Revoke a key; requests with it fail from then on."""
        request = admin.RevokeKeyRequest(id=encode.text(key_id, "id"))
        await self._call(rpcs.REVOKE_KEY, request, timeout_seconds)

    async def list_jobs(self, *, timeout_seconds: float | None = None) -> t.JobsView:
        """The background work of the whole deployment, by kind of job."""
        response = await self._call(rpcs.LIST_JOBS, admin.ListJobsRequest(), timeout_seconds)
        return decode.jobs_view(response)

    async def run_upkeep(
        self, *steps: str, user: str | None = None, timeout_seconds: float | None = None
    ) -> Sequence[t.StepRun]:
        """Run these steps of upkeep (all without names) for one user now; what each did, in order."""
        request = admin.RunUpkeepRequest(user=self._user(user), steps=encode.texts(steps, "steps"))
        response = await self._call(rpcs.RUN_UPKEEP, request, timeout_seconds)
        return [decode.step_run(run) for run in response.runs]

    async def list_failed_jobs(
        self, *, limit: int = 100, timeout_seconds: float | None = None
    ) -> Sequence[t.FailedJob]:
        """Jobs of the tenant's users that failed for good, newest first; `limit` up to 500."""
        request = admin.ListFailedJobsRequest(page_size=encode.integer(limit, "limit"))
        response = await self._call(rpcs.LIST_FAILED_JOBS, request, timeout_seconds)
        return [decode.failed_job(job) for job in response.jobs]

    async def requeue_jobs(self, ids: Sequence[int], *, timeout_seconds: float | None = None) -> int:
        """Let jobs that failed for good be tried again; how many of these, at most 500, were such jobs."""
        request = admin.RequeueJobsRequest(ids=[encode.integer(number, "ids", 2**63 - 1) for number in ids])
        response = await self._call(rpcs.REQUEUE_JOBS, request, timeout_seconds)
        return response.requeued
