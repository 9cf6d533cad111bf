"""Opaque tokens: signed, so that a forged or foreign one is refused instead of believed."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import struct
import uuid
from dataclasses import dataclass
from datetime import UTC, datetime

from memory_service.domain.errors import InvalidInput, Reason
from memory_service.domain.ids import MemoryId, OwnerKey, Revision

_MAC_BYTES = 12
_CHARS_MAX = 512


@dataclass(frozen=True, slots=True)
class Tokens:
    """Makes and reads consistency tokens and page tokens. `secret` is 32 bytes shared by all replicas."""

    secret: bytes

    def consistency(self, owner: OwnerKey, revision: Revision) -> str:
        """A token by which a read can ask to include everything up to `revision` (B2)."""
        return self._seal(b"c", owner, struct.pack(">Q", revision))

    def revision(self, owner: OwnerKey, token: str, field: str) -> Revision:
        """The revision a consistency token names.

        Raises:
            InvalidInput: CONSISTENCY_TOKEN_INVALID unless this deployment issued it for this owner.
        """
        body = self._open(b"c", owner, token)
        if body is None or len(body) != 8:
            raise InvalidInput(Reason.CONSISTENCY_TOKEN_INVALID, f"{field} was not issued for this user", field=field)
        (revision,) = struct.unpack(">Q", body)
        return Revision(revision)

    def page(self, owner: OwnerKey, query: str, after: tuple[datetime, MemoryId]) -> str:
        """A token for the page after `after` of the list that `query` describes (AIP-158)."""
        created_at, memory_id = after
        body = json.dumps([created_at.isoformat(), str(memory_id), _short(query)]).encode()
        return self._seal(b"p", owner, body)

    def after(self, owner: OwnerKey, query: str, token: str, field: str) -> tuple[datetime, MemoryId]:
        """The place a page token names.

        Raises:
            InvalidInput: PAGE_TOKEN_INVALID unless it was issued for this owner and this very list.
        """
        body = self._open(b"p", owner, token)
        if body is not None:
            created_at, memory_id, described = json.loads(body)
            if described == _short(query):
                return datetime.fromisoformat(created_at).astimezone(UTC), MemoryId(uuid.UUID(memory_id))
        raise InvalidInput(Reason.PAGE_TOKEN_INVALID, f"{field} was not issued for this request", field=field)

    def cursor(self, owner: OwnerKey, purpose: str, revision: Revision, memory_id: MemoryId | None = None) -> str:
        """A place in an owner's changes, for Watch (`w`) or Sync (`s`)."""
        tail = memory_id.bytes if memory_id else b""
        return self._seal(purpose.encode(), owner, struct.pack(">Q", revision) + tail)

    def place(self, owner: OwnerKey, purpose: str, cursor: str, field: str) -> tuple[Revision, MemoryId | None]:
        """The place a cursor names.

        Raises:
            InvalidInput: CURSOR_INVALID unless this deployment issued it for this owner and purpose.
        """
        body = self._open(purpose.encode(), owner, cursor)
        if body is None or len(body) not in (8, 24):
            raise InvalidInput(Reason.CURSOR_INVALID, f"{field} was not issued for this user", field=field)
        (revision,) = struct.unpack(">Q", body[:8])
        memory_id = MemoryId(uuid.UUID(bytes=body[8:])) if len(body) == 24 else None
        return Revision(revision), memory_id

    def session_page(self, owner: OwnerKey, after: str) -> str:
        """A token for the page of sessions after this one."""
        return self._seal(b"n", owner, after.encode())

    def session_after(self, owner: OwnerKey, token: str, field: str) -> str:
        """The session that a token of `session_page` names.

        Raises:
            InvalidInput: PAGE_TOKEN_INVALID unless this deployment issued it for this owner.
        """
        body = self._open(b"n", owner, token)
        if body is None:
            raise InvalidInput(Reason.PAGE_TOKEN_INVALID, f"{field} was not issued for this request", field=field)
        return body.decode()

    def _seal(self, purpose: bytes, owner: OwnerKey, body: bytes) -> str:
        return base64.urlsafe_b64encode(self._mac(purpose, owner, body) + body).rstrip(b"=").decode()

    def _open(self, purpose: bytes, owner: OwnerKey, token: str) -> bytes | None:
        if len(token) > _CHARS_MAX:
            return None
        try:
            raw = base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True)
        except (binascii.Error, ValueError):
            return None
        mac, body = raw[:_MAC_BYTES], raw[_MAC_BYTES:]
        return body if hmac.compare_digest(mac, self._mac(purpose, owner, body)) else None

    def _mac(self, purpose: bytes, owner: OwnerKey, body: bytes) -> bytes:
        message = purpose + owner.id.bytes + body
        return hmac.new(self.secret, message, hashlib.sha256).digest()[:_MAC_BYTES]


def _short(query: str) -> str:
    return hashlib.blake2b(query.encode(), digest_size=9).hexdigest()
