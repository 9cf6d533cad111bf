"""Brings a database to the schema of this release: plain SQL files, in order of name, each once.

A file runs in one transaction, unless its first line is `-- migrate: no-transaction` (for CREATE INDEX
CONCURRENTLY); such a file holds one statement that can be run again after a failure. What was applied is kept
with a checksum, so that an edited file or a database of a newer release is noticed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import asyncpg

from memory_service.adapters.postgres.errors import translated
from memory_service.domain.errors import FailedPrecondition, Reason

_PACKAGE = "memory_service.adapters.postgres"
_NO_TRANSACTION = "-- migrate: no-transaction"
_ADVISORY_LOCK = 0x6D656D6F7279
"""Held while migrating, so that several starting at once take turns ("memory" in ASCII)."""
_CONNECT_SECONDS_MAX = 10.0
_TURN_SECONDS_MAX = 120
_LOCK_SECONDS_MAX = 5
_STATEMENT_SECONDS_MAX = 600
_BOOTSTRAP = """
CREATE SCHEMA IF NOT EXISTS memory_service;
CREATE TABLE IF NOT EXISTS memory_service.schema_migrations (
    name       text PRIMARY KEY,
    checksum   text NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT now()
)"""


@dataclass(frozen=True, slots=True)
class Migration:
    """One file."""

    name: str
    text: str

    @property
    def checksum(self) -> str:
        """SHA-256 of the text, in hex; line ends as in the repository."""
        return hashlib.sha256(self.text.replace("\r\n", "\n").encode()).hexdigest()

    @property
    def in_transaction(self) -> bool:
        """Whether it runs inside a transaction."""
        return not self.text.startswith(_NO_TRANSACTION)


@cache
def migrations() -> tuple[Migration, ...]:
    """The files of this release, in order."""
    found = [f for f in files(_PACKAGE).joinpath("migrations").iterdir() if f.name.endswith(".sql")]
    return tuple(Migration(f.name, f.read_text("utf-8")) for f in sorted(found, key=lambda f: f.name))


@dataclass(frozen=True, slots=True)
class SchemaState:
    """How a database's schema stands to this release.

    Attributes:
        applied: names that were applied and are as we know them.
        pending: names that are still to be applied.
        unknown: names applied that this release does not have (the database is newer).
        changed: names whose text was another when they were applied.
    """

    applied: tuple[str, ...]
    pending: tuple[str, ...]
    unknown: tuple[str, ...]
    changed: tuple[str, ...]

    @classmethod
    def of(cls, checksums: Mapping[str, str]) -> SchemaState:
        """Compare what was applied (name to checksum) with this release."""
        known = {m.name: m.checksum for m in migrations()}
        return cls(
            applied=tuple(n for n in known if checksums.get(n) == known[n]),
            pending=tuple(n for n in known if n not in checksums),
            unknown=tuple(sorted(n for n in checksums if n not in known)),
            changed=tuple(n for n in known if n in checksums and checksums[n] != known[n]),
        )

    @property
    def is_known(self) -> bool:
        """Whether this release can serve on it."""
        return not (self.pending or self.unknown or self.changed)

    def require_known(self) -> None:
        """Raise `FailedPrecondition(SCHEMA_UNKNOWN)` unless this release can serve on it."""
        self.require_migratable()
        if self.pending:
            raise FailedPrecondition(
                Reason.SCHEMA_UNKNOWN,
                "the database's schema is older than this release: run `memory-service migrate`",
                metadata={"pending": ",".join(self.pending)},
            )

    def require_migratable(self) -> None:
        """Raise `FailedPrecondition(SCHEMA_UNKNOWN)` for a schema that this release cannot migrate."""
        if self.unknown or self.changed:
            raise FailedPrecondition(
                Reason.SCHEMA_UNKNOWN,
                "the database's schema is newer than this release or was changed by hand",
                metadata={"unknown": ",".join(self.unknown), "changed": ",".join(self.changed)},
            )


async def _connect(dsn: str) -> Any:
    settings = {"application_name": "memory-service migrate", "search_path": "public"}
    return await asyncpg.connect(dsn, timeout=_CONNECT_SECONDS_MAX, server_settings=settings)


async def _read_state(connection: Any) -> SchemaState:
    if await connection.fetchval("SELECT to_regclass('memory_service.schema_migrations')") is None:
        return SchemaState.of({})
    applied = await connection.fetch("SELECT name, checksum FROM memory_service.schema_migrations")
    return SchemaState.of({row["name"]: row["checksum"] for row in applied})


async def schema_state(dsn: str) -> SchemaState:
    """How the database's schema stands to this release. Raises `Unavailable` when it does not answer."""
    with translated():
        connection = await _connect(dsn)
        try:
            return await _read_state(connection)
        finally:
            connection.terminate()


async def migrate(dsn: str, *, on_progress: Callable[[str], None] = lambda _: None) -> list[str]:
    """Apply what is pending and give its names.

    Args:
        dsn: a user that may create schemas, extensions and roles; it becomes the tables' owner, so it should
            not be the one that the service runs as.
        on_progress: told each name before it is applied.

    Raises:
        FailedPrecondition: SCHEMA_UNKNOWN, the schema is newer than this release or was changed, or the login
            lacks a right.
        Unavailable: the database does not answer, or somebody else holds a lock for too long.
    """
    with translated():
        connection = await _connect(dsn)
        try:
            await connection.execute(f"SET lock_timeout = '{_TURN_SECONDS_MAX}s'; SET statement_timeout = 0")
            await connection.execute("SELECT pg_advisory_lock($1)", _ADVISORY_LOCK)
            await connection.execute(f"SET lock_timeout = '{_LOCK_SECONDS_MAX}s'")
            await connection.execute(f"SET statement_timeout = '{_STATEMENT_SECONDS_MAX}s'")
            state = await _read_state(connection)
            state.require_migratable()
            for migration in migrations():
                if migration.name in state.pending:
                    on_progress(migration.name)
                    await _apply(connection, migration)
            return list(state.pending)
        except asyncpg.InsufficientPrivilegeError as error:
            raise FailedPrecondition(
                Reason.SCHEMA_UNKNOWN,
                "the login may not do what migrating needs: create a schema, two roles (once in a cluster) and, "
                "unless it is there already, the extension vector",
            ) from error
        finally:
            connection.terminate()  # ends the session, and the advisory lock with it


async def _apply(connection: Any, migration: Migration) -> None:
    keep = "INSERT INTO memory_service.schema_migrations (name, checksum) VALUES ($1, $2)"
    if not migration.in_transaction:
        await connection.execute(migration.text)
        await connection.execute(keep, migration.name, migration.checksum)
        return
    async with connection.transaction():
        await connection.execute(_BOOTSTRAP)
        await connection.execute(migration.text)
        await connection.execute(keep, migration.name, migration.checksum)
