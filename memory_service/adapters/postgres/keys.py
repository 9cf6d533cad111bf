"""`KeyStore` on PostgreSQL, through functions that are all the application's role may do with keys."""

from __future__ import annotations

import secrets
import uuid
from collections.abc import Sequence
from datetime import datetime

from memory_service.adapters.postgres import rows, sql
from memory_service.adapters.postgres.session import Database
from memory_service.domain.errors import AlreadyExists, Reason
from memory_service.domain.ids import TenantId
from memory_service.ports.keys import ApiKey

_SECRET_BYTES = 32


class PostgresKeyStore:
    """See `KeyStore`. `add` raises `AlreadyExists` for an id or digest that is there already."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, key: ApiKey) -> None:
        """Store a new key."""
        found = await self._database.fetch(
            sql.KEY_ADD,
            key.id,
            key.tenant,
            key.name,
            key.prefix,
            key.digest,
            sorted(key.roles),
            sorted(key.users),
            key.created_at,
            key.expires_at,
            key.revoked_at,
            repeatable=False,
        )
        if not found[0][0]:
            raise AlreadyExists(Reason.ALREADY_EXISTS, "the key exists already")

    async def find(self, digest: bytes) -> ApiKey | None:
        """The key with this digest."""
        found = await self._database.fetch(sql.KEY_FIND, digest)
        return rows.key_of(tuple(found[0])) if found else None

    async def list(self, tenant: TenantId) -> Sequence[ApiKey]:
        """All keys of a tenant, oldest first."""
        return [rows.key_of(tuple(row)) for row in await self._database.fetch(sql.KEY_LIST, tenant)]

    async def revoke(self, tenant: TenantId, key_id: uuid.UUID, at: datetime) -> bool:
        """Revoke a key of a tenant; the first time stays."""
        found = await self._database.fetch(sql.KEY_REVOKE, tenant, key_id, at)
        return bool(found[0][0])

    async def secret(self, name: str) -> bytes:
        """The 32 bytes kept under `name`, made on first use; one winner when several make it at once."""
        found = await self._database.fetch(sql.SECRET, name, secrets.token_bytes(_SECRET_BYTES))
        return bytes(found[0][0])
