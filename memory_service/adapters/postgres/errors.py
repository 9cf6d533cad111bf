"""One table from what PostgreSQL and its driver raise to the service's errors.

Driver text stays in the log (without statement parameters); callers get one of our own sentences.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import asyncpg

from memory_service.domain.errors import (
    DeadlineExceeded,
    InternalError,
    InvalidInput,
    LimitExceeded,
    MemoryServiceError,
    Reason,
    Unavailable,
)

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Answer:
    error: type[MemoryServiceError]
    reason: Reason
    message: str


_AWAY = _Answer(Unavailable, Reason.DATABASE_UNAVAILABLE, "the database is not available")
_BUSY = _Answer(Unavailable, Reason.OVERLOADED, "the database is too busy for this request")
_LATE = _Answer(DeadlineExceeded, Reason.DEADLINE_EXCEEDED, "a database statement ran out of time")
_FULL = _Answer(LimitExceeded, Reason.STORAGE_FULL, "the database cannot store more")
_TEXT = _Answer(InvalidInput, Reason.TEXT_NOT_STORABLE, "text holds a character that cannot be stored")
_BUG = _Answer(InternalError, Reason.INTERNAL, "the database refused a statement")

BY_SQLSTATE: dict[str, _Answer] = {
    "22021": _TEXT,  # character not in repertoire: NUL
    "22P05": _TEXT,  # untranslatable character
    "25006": _AWAY,  # read-only transaction: we reached a standby
    "25P03": _AWAY,  # idle in transaction for too long
    "25P04": _LATE,  # transaction time-out
    "40001": _BUSY,  # serialization failure
    "40P01": _BUSY,  # deadlock detected
    "53100": _FULL,  # disk full
    "53200": _BUSY,  # out of memory
    "53300": _AWAY,  # too many connections
    "53400": _BUSY,  # configuration limit exceeded
    "55P03": _BUSY,  # lock time-out
    "57014": _LATE,  # statement time-out
    "57P01": _AWAY,  # admin shutdown
    "57P02": _AWAY,  # crash shutdown
    "57P03": _AWAY,  # cannot connect now
    "57P05": _AWAY,  # idle session time-out
}
"""By SQLSTATE; see PostgreSQL's manual, appendix A."""

BY_SQLSTATE_CLASS: dict[str, _Answer] = {
    "08": _AWAY,  # connection exceptions
    "28": _AWAY,  # the database does not accept our login
    "3D": _AWAY,  # no such database
    "58": _AWAY,  # the server's own input/output errors
}
"""By the first two characters, where the whole state has no row."""


DRIVER_ERRORS = (asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError, OSError, RuntimeError)
"""Everything the driver raises by design, and what the event loop raises through it: uvloop answers a write to a
connection that has just been closed with a RuntimeError. TimeoutError and ConnectionError are OSErrors."""


def _answer_for(error: BaseException) -> _Answer:
    if isinstance(error.__cause__, UnicodeEncodeError) or isinstance(error, UnicodeEncodeError):
        return _TEXT  # a lone surrogate: refused before it is sent
    if isinstance(error, asyncpg.PostgresError):
        state = str(error.sqlstate or "")
        return BY_SQLSTATE.get(state) or BY_SQLSTATE_CLASS.get(state[:2]) or _BUG
    # InternalClientError: "another operation is in progress" on a connection that nobody else uses, because
    # PostgreSQL's farewell has been read and the end of the stream has not.
    if isinstance(error, OSError | asyncpg.InternalClientError):
        return _AWAY
    # What the driver says by itself about a connection that is gone or a pool that closes.
    text = str(error)
    gone = "closed" in text or "closing" in text or "released" in text
    return _AWAY if isinstance(error, asyncpg.InterfaceError | RuntimeError) and gone else _BUG


def translated_error(error: Exception) -> MemoryServiceError:
    """The service's error for `error`, logged by type and SQLSTATE only (its text may hold values)."""
    if isinstance(error, MemoryServiceError):
        return error
    answer = _answer_for(error)
    level = logging.ERROR if answer is _BUG else logging.WARNING
    state = str(getattr(error, "sqlstate", "") or "")
    where = {
        "sqlstate": state,
        "table": str(getattr(error, "table_name", "") or ""),
        "constraint": str(getattr(error, "constraint_name", "") or ""),
    }
    logger.log(level, "database error %s %s", type(error).__name__, state, extra=where)
    return answer.error(answer.reason, answer.message)


@contextmanager
def translated() -> Iterator[None]:
    """Raise what the driver raises inside as the service's errors, chained. Wrap driver calls only."""
    try:
        yield
    except (*DRIVER_ERRORS, UnicodeEncodeError) as error:
        raise translated_error(error) from error


def connection_is_gone(error: BaseException) -> bool:
    """Whether `error` says that a connection had died, so that another one may be tried."""
    gone = isinstance(error, DRIVER_ERRORS) and _answer_for(error) is _AWAY
    return gone and not isinstance(error, TimeoutError)
