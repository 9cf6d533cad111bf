"""AdminService over gRPC: the keys and policies of the caller's tenant, and facts about the server."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Any

from memory_service.app.validation import check_list, check_name
from memory_service.domain import limits
from memory_service.domain.errors import InvalidInput, NotFound, Reason
from memory_service.ports.clock import Clock, Ids
from memory_service.ports.embedder import EmbeddingModel
from memory_service.ports.keys import ApiKey, KeyStore, Role
from memory_service.transport.identity import CALLER, Authenticator, make_key
from memory_service.transport.job_calls import JobCalls
from memory_service.transport.policy_calls import PolicyCalls, PolicyCases, admin
from memory_service.transport.values import enum_in, inverse, time_in, time_out
from memory_service.v1 import admin_service_pb2 as api

_ROLES = {api.Role.Value(f"ROLE_{role.name}"): role for role in Role}
_ROLES_OUT = inverse(_ROLES)


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """What GetServerInfo tells."""

    version: str
    model: EmbeddingModel


class AdminServicer(PolicyCalls):
    """See `admin_service.proto` for what each call means."""

    def __init__(
        self,
        keys: KeyStore,
        authenticator: Authenticator,
        clock: Clock,
        ids: Ids,
        facts: ServerFacts,
        jobs: JobCalls,
        policies: PolicyCases,
    ) -> None:
        self._keys = keys
        self._authenticator = authenticator
        self._clock = clock
        self._ids = ids
        self._facts = facts
        self._policies = policies
        self._jobs = jobs

    async def CreateKey(self, request: api.CreateKeyRequest, context: Any) -> api.CreateKeyResponse:
        caller = admin()
        check_name(request.name, "name", required=True, limit=128)
        check_list(request.users, "users", limits.FILTER_VALUES_MAX)
        for index, user in enumerate(request.users):
            check_name(user, f"users[{index}]", required=True)
        roles = frozenset(role for number in request.roles if (role := enum_in(_ROLES, number, "roles")) is not None)
        if not roles:
            raise InvalidInput(Reason.FIELD_REQUIRED, "roles must name at least one role", field="roles")
        now = self._clock.now()
        expires_at = time_in(request.expires_at, "expires_at") if request.HasField("expires_at") else None
        if expires_at is not None and expires_at <= now:
            raise InvalidInput(Reason.TIME_OUT_OF_RANGE, "expires_at must lie in the future", field="expires_at")
        key, secret = make_key(
            caller.key.tenant,
            request.name,
            key_id=self._ids.new(),
            now=now,
            roles=roles,
            users=request.users,
            expires_at=expires_at,
        )
        await self._keys.add(key)
        return api.CreateKeyResponse(key=_key_out(key), secret=secret)

    async def ListKeys(self, request: api.ListKeysRequest, context: Any) -> api.ListKeysResponse:
        caller = admin()
        return api.ListKeysResponse(keys=[_key_out(key) for key in await self._keys.list(caller.key.tenant)])

    async def RevokeKey(self, request: api.RevokeKeyRequest, context: Any) -> api.RevokeKeyResponse:
        caller = admin()
        check_name(request.id, "id", required=True)
        try:
            key_id = uuid.UUID(request.id)
        except ValueError as error:
            raise InvalidInput(Reason.FIELD_INVALID, "id must be a UUID", field="id") from error
        if not await self._keys.revoke(caller.key.tenant, key_id, self._clock.now()):
            raise NotFound(Reason.KEY_NOT_FOUND, "the tenant has no such key", field="id")
        self._authenticator.forget(key_id)
        return api.RevokeKeyResponse()

    async def GetServerInfo(self, request: api.GetServerInfoRequest, context: Any) -> api.GetServerInfoResponse:
        CALLER.get().require(Role.READER)
        return api.GetServerInfoResponse(
            version=self._facts.version,
            embedding_model=self._facts.model.id,
            embedding_dimension=self._facts.model.dimension,
            limits=limits.as_mapping(),
            now=time_out(self._clock.now()),
        )

    async def ListJobs(self, request: api.ListJobsRequest, context: Any) -> api.ListJobsResponse:
        admin()
        return await self._jobs.list_jobs()

    async def RunUpkeep(self, request: api.RunUpkeepRequest, context: Any) -> api.RunUpkeepResponse:
        return await self._jobs.run_upkeep(admin(), request)

    async def ListFailedJobs(self, request: api.ListFailedJobsRequest, context: Any) -> api.ListFailedJobsResponse:
        return await self._jobs.list_failed(admin(), request)

    async def RequeueJobs(self, request: api.RequeueJobsRequest, context: Any) -> api.RequeueJobsResponse:
        return await self._jobs.requeue(admin(), request)


def _key_out(key: ApiKey) -> api.ApiKey:
    return api.ApiKey(
        id=str(key.id),
        tenant=key.tenant,
        name=key.name,
        prefix=key.prefix,
        roles=[_ROLES_OUT[role] for role in sorted(key.roles)],  # type: ignore[misc]
        users=sorted(key.users),
        created_at=time_out(key.created_at),
        expires_at=time_out(key.expires_at),
        revoked_at=time_out(key.revoked_at),
    )
