"""Connections and transactions: who gets one, and what an interrupted one leaves behind (nothing)."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any

import asyncpg

from memory_service.adapters.postgres import rows, sql, sql_jobs
from memory_service.adapters.postgres.errors import DRIVER_ERRORS, connection_is_gone, translated, translated_error
from memory_service.adapters.postgres.known_states import KnownState
from memory_service.adapters.postgres.registry import STATEMENTS
from memory_service.adapters.postgres.settings import PostgresSettings
from memory_service.domain.errors import FailedPrecondition, InternalError, Reason, Unavailable

Rows = Callable[..., Awaitable[Sequence[asyncpg.Record]]]
"""From a statement and its parameters to all its rows."""
_CLEANUP_SECONDS_MAX = 5.0
_CLIENT_MARGIN_SECONDS = 5.0
"""The client gives up on a statement this long after the server should have: the server is gone then."""


@dataclass(frozen=True, slots=True)
class PoolStats:
    """Connections of this process: open, of those idle, and the most there may be."""

    size: int
    idle: int
    limit: int


class Session:
    """A connection inside a transaction of one owner; adds the owner as `$1`, translates errors.

    `is_known`: the owner's row is locked and is the version that `Database.change` was told of.
    """

    __slots__ = ("_connection", "_owner", "is_known")

    def __init__(self, connection: Any, owner: uuid.UUID, *, is_known: bool = False) -> None:
        self._connection = connection
        self._owner = owner
        self.is_known = is_known

    async def rows(self, statement: str, *parameters: object) -> Sequence[asyncpg.Record]:
        """All rows."""
        with translated():
            found: list[asyncpg.Record] = await self._connection.fetch(statement, self._owner, *parameters)
        return found

    async def row(self, statement: str, *parameters: object) -> asyncpg.Record | None:
        """The first row."""
        with translated():
            found: asyncpg.Record | None = await self._connection.fetchrow(statement, self._owner, *parameters)
        return found

    async def only_row(self, statement: str, *parameters: object) -> asyncpg.Record:
        """The row of a statement that always gives one."""
        row = await self.row(statement, *parameters)
        if row is None:
            raise InternalError(Reason.INTERNAL, "a statement that gives a row gave none")
        return row

    async def value(self, statement: str, *parameters: object) -> Any:
        """The first column of the first row."""
        with translated():
            return await self._connection.fetchval(statement, self._owner, *parameters)

    async def ownerless(self, statement: str, *parameters: object) -> None:
        """Run a statement that is of no one owner, for its effect in this transaction."""
        with translated():
            await self._connection.fetchval(statement, *parameters)

    async def run(self, statement: str, *parameters: object) -> None:
        """Run for its effect."""
        with translated():
            # fetchval and not execute: execute does not use the cache of prepared statements.
            await self._connection.fetchval(statement, self._owner, *parameters)


async def _keep_session(_: object) -> None:
    """Nothing to reset when a connection returns.

    Every transaction has ended by then, settings are made with SET LOCAL only, and the adapter takes no
    session locks, cursors or LISTENs, so the driver's reset would be a round trip for nothing.
    """


class Database:
    """The pool, with the rules of use. Made by `open_database`."""

    def __init__(self, settings: PostgresSettings, pool: Any) -> None:
        self._settings = settings
        self._pool = pool
        self._cleanups: set[asyncio.Task[None]] = set()
        self.epoch = 0
        """Counts lost connections: another database may answer to the same address after one."""

    def stats(self) -> PoolStats:
        """How the pool stands."""
        return PoolStats(self._pool.get_size(), self._pool.get_idle_size(), self._pool.get_max_size())

    async def close(self) -> None:
        """Close all connections; those in use are waited for a moment, then cut."""
        for cleanup in list(self._cleanups):
            await asyncio.wait([cleanup], timeout=_CLEANUP_SECONDS_MAX)
        try:
            await asyncio.wait_for(self._pool.close(), _CLEANUP_SECONDS_MAX)
        except TimeoutError:
            self._pool.terminate()

    @asynccontextmanager
    async def change(self, owner: uuid.UUID, known: KnownState | None = None) -> AsyncIterator[Session]:
        """A transaction that commits when left normally and leaves no trace otherwise.

        With a known state it also locks the owner's row, in the same round trip, if that is the newest one.

        A connection lost during COMMIT is `Unavailable`: it may have been committed; a retry with the same
        request id finds out.
        """
        epoch = self.epoch
        begin = sql.begin_change(owner)
        if known is not None:
            begin = sql.begin_known(owner, known.state.revision, known.xmin)
        async with self._transaction(begin) as (connection, answer):
            yield Session(connection, owner, is_known=answer == sql.LOCKED_KNOWN and epoch == self.epoch)

    @asynccontextmanager
    async def reading(self, owner: uuid.UUID) -> AsyncIterator[Session]:
        """A read-only transaction that sees one snapshot."""
        async with self._transaction(sql.begin_read(owner)) as (connection, _):
            yield Session(connection, owner)

    @asynccontextmanager
    async def _transaction(self, begin: str) -> AsyncIterator[tuple[Any, str]]:
        """A connection, and what PostgreSQL answered to the last statement of `begin`."""
        connection, answer = await self._begin(begin)
        try:
            yield connection, answer
            await self._commit(connection)
        except BaseException:
            await self._abandon(connection)
            raise
        # Nothing to undo any more: a cancellation from here on comes after the commit.
        await self._release(connection)

    async def _begin(self, begin: str) -> tuple[Any, str]:
        """A connection in a transaction; one that turns out dead is replaced once (nothing was sent yet)."""
        try:
            return await self._begin_once(begin)
        except Unavailable as error:
            cause = error.__cause__
            if cause is None or not connection_is_gone(cause):
                raise
        await self._renew()
        return await self._begin_once(begin)

    async def _renew(self) -> None:
        """Let all connections be replaced."""
        self.epoch += 1
        await self._pool.expire_connections()

    async def _begin_once(self, begin: str) -> tuple[Any, str]:
        with translated():
            connection = await self._pool.acquire(timeout=self._settings.acquire_timeout)
        try:
            with translated():
                answer = str(await connection.execute(begin))
        except BaseException:
            await self._abandon(connection)
            raise
        return connection, answer

    @staticmethod
    async def _commit(connection: Any) -> None:
        with translated():
            answer = await connection.execute(sql.COMMIT)
        if answer != "COMMIT":
            # PostgreSQL answers ROLLBACK to the COMMIT of a transaction in which a statement had failed.
            raise InternalError(Reason.INTERNAL, "the change was rolled back after an error inside it")

    async def _abandon(self, connection: Any) -> None:
        """Roll back and give the connection back, even when cancelled (again) meanwhile."""
        cleanup = asyncio.create_task(self._roll_back(connection))
        self._cleanups.add(cleanup)
        cleanup.add_done_callback(self._cleanups.discard)
        await asyncio.shield(cleanup)

    async def _roll_back(self, connection: Any) -> None:
        try:
            await connection.execute(sql.ROLLBACK, timeout=_CLEANUP_SECONDS_MAX)
        except DRIVER_ERRORS:
            self._cut(connection)
        else:
            await self._release(connection)

    async def _release(self, connection: Any) -> None:
        """Give back a connection whose transaction has ended; one that died meanwhile is no failure any more."""
        try:
            await self._pool.release(connection, timeout=_CLEANUP_SECONDS_MAX)
        except DRIVER_ERRORS:
            self._cut(connection)

    def _cut(self, connection: Any) -> None:
        """End a connection at once; PostgreSQL rolls back what it had begun."""
        self.epoch += 1
        with suppress(asyncpg.InterfaceError):  # the pool has taken a dead one back by itself
            connection.terminate()

    @asynccontextmanager
    async def together(self) -> AsyncIterator[Rows]:
        """A transaction for statements that are of no one owner; gives what runs them."""
        async with self._transaction(sql_jobs.BEGIN) as (connection, _):

            async def rows(statement: str, *parameters: object) -> Sequence[asyncpg.Record]:
                with translated():
                    found: list[asyncpg.Record] = await connection.fetch(statement, *parameters)
                return found

            yield rows

    async def fetch(self, statement: str, *parameters: object, repeatable: bool = True) -> Sequence[asyncpg.Record]:
        """Rows of a statement that is of no one owner, in a transaction of its own.

        A `repeatable` one is tried once more, on another connection, when the first had died.
        """
        with translated():
            try:
                return await self._fetch_once(statement, parameters)
            except DRIVER_ERRORS as error:
                if not (repeatable and connection_is_gone(error)):
                    raise
            await self._renew()
            return await self._fetch_once(statement, parameters)

    async def _fetch_once(self, statement: str, parameters: tuple[object, ...]) -> Sequence[asyncpg.Record]:
        async with self._pool.acquire(timeout=self._settings.acquire_timeout) as connection:
            found: list[asyncpg.Record] = await connection.fetch(statement, *parameters)
            return found


def _server_settings(settings: PostgresSettings) -> dict[str, str]:
    def milliseconds(seconds: float) -> str:
        return str(max(1, round(seconds * 1000)))

    chosen = {
        "application_name": "memory-service",
        "search_path": "memory_service, public",
        "timezone": "UTC",
        "jit": "off",  # compiling takes longer than any statement here runs
        # Every statement names an owner and has an index for it: planned once per connection, and never as a scan
        # of a table, not even when it is planned while the table is empty and used when it has grown.
        "plan_cache_mode": "force_generic_plan",
        "enable_seqscan": "off",
        # Rows read and not wanted are what a plan must avoid (a hundred times the default).
        "cpu_tuple_cost": "1",
        "statement_timeout": milliseconds(settings.statement_timeout),
        "lock_timeout": milliseconds(settings.lock_timeout),
        "idle_in_transaction_session_timeout": milliseconds(settings.idle_in_transaction_timeout),
    }
    # As a start-up parameter the role is what RESET ROLE and RESET ALL go back to.
    return {**chosen, "role": settings.app_role} if settings.app_role else chosen


async def open_database(settings: PostgresSettings) -> Database:
    """Connect.

    Raises:
        Unavailable: PostgreSQL does not answer or does not accept us.
        FailedPrecondition: SCHEMA_UNKNOWN, pgvector is missing (not migrated) or the role can pass by
            row-level security.
    """
    address: dict[str, Any] = {"dsn": settings.dsn, "server_settings": _server_settings(settings)}
    with translated():
        vector_schema = await _vector_schema(address, settings.connect_timeout)

    async def prepare(connection: Any) -> None:
        await connection.set_type_codec(
            "halfvec",
            schema=vector_schema,
            format="binary",
            encoder=rows.pass_halfvec,
            decoder=rows.pass_halfvec,
        )
        with suppress(asyncpg.UndefinedTableError):  # a schema that `PostgresBackend.connect` will refuse
            await connection.execute(sql.PREPARE_LOCK_KNOWN)

    try:
        pool = await asyncpg.create_pool(
            **address,
            min_size=settings.pool_min,
            max_size=settings.pool_max,
            timeout=settings.connect_timeout,
            command_timeout=settings.statement_timeout + _CLIENT_MARGIN_SECONDS,
            max_cacheable_statement_size=0,
            max_cached_statement_lifetime=0,
            statement_cache_size=2 * len(STATEMENTS),
            init=prepare,
            reset=_keep_session,
        )
    except DRIVER_ERRORS as error:
        raise translated_error(error) from error
    return Database(settings, pool)


async def _vector_schema(address: dict[str, Any], timeout: float) -> str:
    try:
        connection: Any = await asyncpg.connect(**address, timeout=timeout)
    except asyncpg.InvalidParameterValueError as error:
        raise FailedPrecondition(
            Reason.SCHEMA_UNKNOWN, "the database role of the service does not exist: migrate first"
        ) from error
    except asyncpg.InsufficientPrivilegeError as error:
        raise FailedPrecondition(
            Reason.SCHEMA_UNKNOWN, "the database login is not a member of the role of the service: grant it"
        ) from error
    try:
        row = await connection.fetchrow(sql.ROLE)
    finally:
        connection.terminate()
    if row is None:
        raise FailedPrecondition(Reason.SCHEMA_UNKNOWN, "the database has no pgvector: migrate first")
    if not row["migrated"]:
        raise FailedPrecondition(Reason.SCHEMA_UNKNOWN, "the database has no schema: migrate first")
    if row["above_rls"]:
        raise FailedPrecondition(
            Reason.SCHEMA_UNKNOWN, "the database role may pass by row-level security: choose another app_role"
        )
    return str(row["vector_schema"])
