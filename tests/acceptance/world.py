"""Tenants, users, keys and what they hold: what the tests try to reach, and whether it is as it was."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from memory_service.adapters.postgres.backend import PostgresBackend
from memory_service.adapters.postgres.settings import PostgresSettings
from memory_service.ports.keys import Role
from memory_service.transport.identity import make_key
from memory_service.v1 import memory_service_pb2 as api
from memory_service.v1 import types_pb2 as pb
from tests.acceptance.raw import Raw
from tests.acceptance.service import ServiceProcess

EVERY_STATUS = (pb.STATUS_ACTIVE, pb.STATUS_CONTESTED, pb.STATUS_SUPERSEDED, pb.STATUS_RETRACTED)


def new_user(name: str = "user") -> str:
    """A user nobody else in this run has."""
    return f"{name}-{uuid.uuid4().hex[:12]}"


@dataclass(frozen=True, slots=True)
class Key:
    """A key of a tenant, made behind the API's back."""

    id: uuid.UUID
    secret: str


async def make_keys(service: ServiceProcess, *wanted: tuple[str, Role, Sequence[str], timedelta | None]) -> list[Key]:
    """Keys by (tenant, role, users, time until they expire), put straight into the running database."""
    return await _make_keys(service.stack().database_url, wanted)


async def first_key(dsn: str) -> str:
    """An admin's key in a database that no embedded service made one in."""
    (key,) = await _make_keys(dsn, [("default", Role.ADMIN, (), None)])
    return key.secret


async def _make_keys(dsn: str, wanted: Sequence[tuple[str, Role, Sequence[str], timedelta | None]]) -> list[Key]:
    backend = await PostgresBackend.connect(PostgresSettings(dsn=dsn, pool_min=0))
    try:
        made = []
        now = datetime.now(UTC)
        for tenant, role, users, lives in wanted:
            key, secret = make_key(
                tenant,
                "acceptance",
                key_id=uuid.uuid4(),
                now=now - timedelta(days=1),
                roles=frozenset({role}),
                users=users,
                expires_at=None if lives is None else now + lives,
            )
            await backend.keys.add(key)
            made.append(Key(key.id, secret))
        return made
    finally:
        await backend.close()


async def state_of(raw: Raw, user: str) -> tuple[str, bytes, list[bytes]]:
    """Everything an owner has: its revision (as a token), its clock, and each memory of any status, byte by byte."""
    recall = api.RecallRequest(user=user, read_only=True, consistency=pb.Consistency(fully_consistent=True))
    answer = await raw.call("Recall", recall)
    listed: list[bytes] = []
    token = ""
    while True:
        page = await raw.call(
            "ListMemories",
            api.ListMemoriesRequest(
                user=user, filter=pb.MemoryFilter(statuses=EVERY_STATUS), page_size=500, page_token=token
            ),
        )
        listed += [memory.SerializeToString(deterministic=True) for memory in page.memories]
        token = page.next_page_token
        if not token:
            return answer.token, answer.context.SerializeToString(deterministic=True), listed
