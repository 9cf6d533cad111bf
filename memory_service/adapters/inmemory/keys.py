"""`KeyStore` in this process's memory."""

from __future__ import annotations

import secrets
import uuid
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from memory_service.adapters.inmemory.values import utc, utc_or_none
from memory_service.domain.errors import AlreadyExists, Reason
from memory_service.domain.ids import TenantId
from memory_service.ports.keys import ApiKey


class InMemoryKeyStore:
    """See `KeyStore`. `add` raises `AlreadyExists` for an id or digest that is there already."""

    def __init__(self) -> None:
        self._keys: dict[uuid.UUID, ApiKey] = {}
        self._ids_by_digest: dict[bytes, uuid.UUID] = {}
        self._secrets: dict[str, bytes] = {}

    async def add(self, key: ApiKey) -> None:
        """Store a new key."""
        if key.id in self._keys or key.digest in self._ids_by_digest:
            raise AlreadyExists(Reason.ALREADY_EXISTS, "the key exists already")
        self._keys[key.id] = replace(
            key,
            created_at=utc(key.created_at),
            expires_at=utc_or_none(key.expires_at),
            revoked_at=utc_or_none(key.revoked_at),
        )
        self._ids_by_digest[key.digest] = key.id

    async def find(self, digest: bytes) -> ApiKey | None:
        """The key with this digest."""
        key_id = self._ids_by_digest.get(digest)
        return None if key_id is None else self._keys[key_id]

    async def list(self, tenant: TenantId) -> Sequence[ApiKey]:
        """All keys of a tenant, oldest first."""
        keys = (key for key in self._keys.values() if key.tenant == tenant)
        return sorted(keys, key=lambda key: (key.created_at, key.id))

    async def revoke(self, tenant: TenantId, key_id: uuid.UUID, at: datetime) -> bool:
        """Revoke a key of a tenant; the first time stays."""
        key = self._keys.get(key_id)
        if key is None or key.tenant != tenant:
            return False
        if key.revoked_at is None:
            self._keys[key_id] = replace(key, revoked_at=utc(at))
        return True

    async def secret(self, name: str) -> bytes:
        """The 32 bytes kept under `name`, made on first use."""
        return self._secrets.setdefault(name, secrets.token_bytes(32))
