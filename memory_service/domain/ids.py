"""Distinct types for values that could be confused, and how an owner is identified."""

from __future__ import annotations

import hashlib
import uuid
from dataclasses import dataclass
from functools import cached_property
from typing import NewType

TenantId = NewType("TenantId", str)
UserId = NewType("UserId", str)
DeviceId = NewType("DeviceId", str)
MemoryId = NewType("MemoryId", uuid.UUID)
Revision = NewType("Revision", int)
"""How many changes an owner has accepted; 0 before the first."""


@dataclass(frozen=True)
class OwnerKey:
    """Whose memories: one user of one tenant. Everything stored belongs to exactly one owner."""

    tenant: TenantId
    user: UserId

    @cached_property
    def id(self) -> uuid.UUID:
        """The 128-bit id that is the first column of every table.

        Derived (BLAKE2b over length-prefixed fields) instead of looked up, so no request needs a read to find
        it and two replicas can never race to create it. Length prefixes keep ("ab","c") and ("a","bc") apart.
        """
        digest = hashlib.blake2b(digest_size=16, person=b"ms-owner-v1")
        for part in (self.tenant, self.user):
            encoded = part.encode()
            digest.update(len(encoded).to_bytes(4, "big"))
            digest.update(encoded)
        return uuid.UUID(bytes=digest.digest())
