"""Who calls: API keys, and which owner a request may name (B4)."""

from __future__ import annotations

import base64
import hashlib
import secrets
import uuid
from collections import OrderedDict
from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import datetime

from memory_service.app.validation import check_name
from memory_service.domain.errors import InvalidInput, PermissionDenied, Reason, Unauthenticated
from memory_service.domain.ids import OwnerKey, TenantId, UserId
from memory_service.ports.clock import Clock
from memory_service.ports.keys import ApiKey, KeyStore, Role

SECRET_PREFIX = "ms_"  # noqa: S105 - what secrets begin with, so that scanners can find leaked ones
_CACHED_MAX = 10_000
_INCLUDED: dict[Role, frozenset[Role]] = {
    Role.READER: frozenset({Role.READER}),
    Role.WRITER: frozenset({Role.READER, Role.WRITER}),
    Role.ADMIN: frozenset(Role),
}


def new_secret() -> str:
    """A key's secret: 256 random bits."""
    return SECRET_PREFIX + base64.urlsafe_b64encode(secrets.token_bytes(32)).rstrip(b"=").decode()


def digest_of(secret: str) -> bytes:
    """What is stored of a secret."""
    return hashlib.sha256(secret.encode()).digest()


def make_key(
    tenant: str,
    name: str,
    *,
    key_id: uuid.UUID,
    now: datetime,
    roles: frozenset[Role],
    users: Sequence[str] = (),
    expires_at: datetime | None = None,
) -> tuple[ApiKey, str]:
    """A new key and its secret."""
    secret = new_secret()
    key = ApiKey(
        id=key_id,
        tenant=TenantId(tenant),
        name=name,
        prefix=secret[:8],
        digest=digest_of(secret),
        roles=roles,
        users=frozenset(UserId(user) for user in users),
        created_at=now,
        expires_at=expires_at,
    )
    return key, secret


@dataclass(frozen=True, slots=True)
class Caller:
    """An authenticated caller."""

    key: ApiKey

    @property
    def actor(self) -> str:
        """How the caller appears in provenance."""
        return str(self.key.id)

    def require(self, role: Role) -> None:
        """Refuse a caller without `role`.

        Raises:
            PermissionDenied: ROLE_REQUIRED.
        """
        if not any(role in _INCLUDED[held] for held in self.key.roles):
            raise PermissionDenied(Reason.ROLE_REQUIRED, f"this needs the role {role}", metadata={"role": role.value})

    def owner(self, user: str) -> OwnerKey:
        """The owner a request is about: its tenant comes from the key alone.

        Raises:
            PermissionDenied: USER_NOT_ALLOWED. InvalidInput: FIELD_REQUIRED when no user is named and the key
                is not bound to exactly one.
        """
        allowed = self.key.users
        if not user:
            if len(allowed) != 1:
                raise InvalidInput(Reason.FIELD_REQUIRED, "user must be given", field="user")
            (user,) = allowed
        check_name(user, "user")
        if allowed and user not in allowed:
            raise PermissionDenied(Reason.USER_NOT_ALLOWED, "the key may not act for this user", field="user")
        return OwnerKey(self.key.tenant, UserId(user))


CALLER: ContextVar[Caller] = ContextVar("caller")
"""The caller of the request being served; set before any handler runs."""


@dataclass(slots=True)
class Authenticator:
    """Turns a credential into a caller, remembering known keys for a few seconds.

    `cache_seconds` bounds how long a key revoked on another replica still works here; unknown keys are not
    remembered, so a new key works at once.
    """

    keys: KeyStore
    clock: Clock
    cache_seconds: float
    _known: OrderedDict[bytes, tuple[float, ApiKey]] = field(default_factory=OrderedDict)

    async def authenticate(self, authorization: str | None) -> Caller:
        """The caller behind an `authorization` header.

        Raises:
            Unauthenticated: CREDENTIAL_MISSING, CREDENTIAL_INVALID (unknown or revoked) or CREDENTIAL_EXPIRED.
            Unavailable: when the key cannot be looked up now.
        """
        if not authorization:
            raise Unauthenticated(
                Reason.CREDENTIAL_MISSING, "send an API key as metadata `authorization: Bearer <key>`"
            )
        scheme, _, secret = authorization.partition(" ")
        if scheme.lower() != "bearer" or not secret.startswith(SECRET_PREFIX) or len(secret) > 128:
            raise Unauthenticated(Reason.CREDENTIAL_INVALID, "the API key is not one of this service")
        key = await self._find(digest_of(secret))
        if key is None or key.revoked_at is not None:
            raise Unauthenticated(Reason.CREDENTIAL_INVALID, "the API key is not known or was revoked")
        if key.expires_at is not None and key.expires_at <= self.clock.now():
            raise Unauthenticated(Reason.CREDENTIAL_EXPIRED, "the API key has expired")
        return Caller(key)

    async def _find(self, digest: bytes) -> ApiKey | None:
        now = self.clock.monotonic()
        known = self._known.get(digest)
        if known is not None and now - known[0] < self.cache_seconds:
            return known[1]
        key = await self.keys.find(digest)
        if key is None:
            self._known.pop(digest, None)
            return None
        self._known[digest] = (now, key)
        self._known.move_to_end(digest)
        while len(self._known) > _CACHED_MAX:
            self._known.popitem(last=False)
        return key

    def forget(self, key_id: uuid.UUID) -> None:
        """Drop what is remembered of a key that was just revoked."""
        for digest in [d for d, (_, key) in self._known.items() if key.id == key_id]:
            del self._known[digest]
