"""The first key of an embedded deployment, kept in the data folder for the CLI and the SDK of this machine."""

from __future__ import annotations

import json
import os
import uuid
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from memory_service.ports.keys import KeyStore, Role
from memory_service.transport.identity import digest_of, make_key

CREDENTIALS_FILE = "credentials.json"


@dataclass(frozen=True, slots=True)
class FirstKey:
    """Makes the key once and finds it again."""

    data_dir: Path
    tenant: str
    keys: KeyStore

    async def ensure(self, now: datetime, key_id: uuid.UUID) -> str:
        """The secret of a working admin key; a new one when the folder has none or it no longer works."""
        secret = read(self.data_dir).get("key", "")
        if secret:
            known = await self.keys.find(digest_of(secret))
            if known is not None and known.revoked_at is None and known.tenant == self.tenant:
                return secret
        key, secret = make_key(self.tenant, "first key", key_id=key_id, now=now, roles=frozenset({Role.ADMIN}))
        await self.keys.add(key)
        return secret

    @staticmethod
    def publish(data_dir: Path, target: str, secret: str, tenant: str) -> None:
        """Write the file by which clients on this machine find the server; readable by its owner only."""
        path = data_dir / CREDENTIALS_FILE
        temporary = path.with_suffix(".tmp")
        body = json.dumps({"target": target, "key": secret, "tenant": tenant}, indent=2) + "\n"
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(body)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)


def read(data_dir: Path) -> dict[str, str]:
    """The credentials file's content; empty when there is none."""
    path = data_dir / CREDENTIALS_FILE
    if not path.exists():
        return {}
    content = json.loads(path.read_text(encoding="utf-8"))
    return {str(name): str(value) for name, value in content.items()}
