"""The port to API keys: who may call, as whom."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from memory_service.domain.ids import TenantId, UserId


class Role(StrEnum):
    """What a key may do. `writer` includes `reader`; `admin` includes both and manages keys of its tenant."""

    READER = "reader"
    WRITER = "writer"
    ADMIN = "admin"


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A credential as stored: its secret only as a digest.

    Attributes:
        prefix: first characters of the secret, shown so that people can tell keys apart.
        digest: SHA-256 of the whole secret (the secret is 256 random bits, so no slow hash is needed).
        users: the users it may act for; empty means any user of its tenant.
    """

    id: uuid.UUID
    tenant: TenantId
    name: str
    prefix: str
    digest: bytes
    roles: frozenset[Role]
    users: frozenset[UserId]
    created_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None


class KeyStore(Protocol):
    """Stores API keys.

    Contract: `find` is by digest over all tenants, since the key itself is what tells the tenant; `list` and
    `revoke` touch one tenant only. Same errors as `MemoryStore`.
    """

    async def add(self, key: ApiKey) -> None:
        """Store a new key."""
        ...

    async def find(self, digest: bytes) -> ApiKey | None:
        """The key with this digest, revoked and expired ones included; None when there is none."""
        ...

    async def list(self, tenant: TenantId) -> Sequence[ApiKey]:
        """All keys of a tenant, oldest first."""
        ...

    async def revoke(self, tenant: TenantId, key_id: uuid.UUID, at: datetime) -> bool:
        """Revoke a key; False when the tenant has no such key. Revoking twice keeps the first time."""
        ...

    async def secret(self, name: str) -> bytes:
        """A 32-byte random secret of the whole deployment by name, made on first use (signs page tokens)."""
        ...
