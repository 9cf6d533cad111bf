"""Every failure the service can answer with, as one closed hierarchy.

    MemoryServiceError
    ├── InvalidInput           the caller's request is wrong (INVALID_ARGUMENT)
    ├── NotFound               what it names does not exist for this owner (NOT_FOUND)
    ├── AlreadyExists          it would make a second of something unique (ALREADY_EXISTS)
    ├── Conflict               somebody else changed it, or causality forbids it (ABORTED)
    ├── FailedPrecondition     the state does not allow it (FAILED_PRECONDITION)
    ├── OutOfRange             a cursor points before what is kept (OUT_OF_RANGE)
    ├── LimitExceeded          a quota or rate is used up (RESOURCE_EXHAUSTED)
    ├── Unauthenticated        no credential, or one we do not know (UNAUTHENTICATED)
    ├── PermissionDenied       a known caller may not do this (PERMISSION_DENIED)
    ├── Unavailable            a backend is away; retry (UNAVAILABLE)
    └── DeadlineExceeded       the caller's time ran out (DEADLINE_EXCEEDED)

Each error carries one `Reason` (mirrored by `ErrorReason` in `proto/memory_service/v1/error_reason.proto`),
the field it is about (when there is one) and string metadata. Messages name fields and limits; they never
carry memory text or driver text.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum


class Reason(StrEnum):
    """Why a request failed. The closed list; a new one is added here and in `error_reason.proto` together."""

    # INVALID_ARGUMENT
    FIELD_REQUIRED = "FIELD_REQUIRED"
    FIELD_TOO_LONG = "FIELD_TOO_LONG"
    FIELD_OUT_OF_RANGE = "FIELD_OUT_OF_RANGE"
    FIELD_INVALID = "FIELD_INVALID"
    TEXT_NOT_STORABLE = "TEXT_NOT_STORABLE"
    JSON_TOO_DEEP = "JSON_TOO_DEEP"
    UNKNOWN_KIND = "UNKNOWN_KIND"
    UNKNOWN_PREDICATE = "UNKNOWN_PREDICATE"
    UNKNOWN_PARAMETER = "UNKNOWN_PARAMETER"
    TIME_OUT_OF_RANGE = "TIME_OUT_OF_RANGE"
    PAGE_TOKEN_INVALID = "PAGE_TOKEN_INVALID"
    CONSISTENCY_TOKEN_INVALID = "CONSISTENCY_TOKEN_INVALID"
    CURSOR_INVALID = "CURSOR_INVALID"
    CLOCK_TOO_LARGE = "CLOCK_TOO_LARGE"
    VECTOR_DIMENSION_MISMATCH = "VECTOR_DIMENSION_MISMATCH"
    VECTOR_INVALID = "VECTOR_INVALID"
    # NOT_FOUND / ALREADY_EXISTS
    MEMORY_NOT_FOUND = "MEMORY_NOT_FOUND"
    VERSION_NOT_FOUND = "VERSION_NOT_FOUND"
    KEY_NOT_FOUND = "KEY_NOT_FOUND"
    SESSION_NOT_FOUND = "SESSION_NOT_FOUND"
    EXPERIMENT_NOT_FOUND = "EXPERIMENT_NOT_FOUND"
    ALREADY_EXISTS = "ALREADY_EXISTS"
    # ABORTED
    ETAG_MISMATCH = "ETAG_MISMATCH"
    DEVICE_COUNTER_REUSED = "DEVICE_COUNTER_REUSED"
    REQUEST_ID_REUSED = "REQUEST_ID_REUSED"
    # FAILED_PRECONDITION
    DEVICE_COUNTER_GAP = "DEVICE_COUNTER_GAP"
    CONTEXT_FROM_FUTURE = "CONTEXT_FROM_FUTURE"
    MEMORY_FORGOTTEN = "MEMORY_FORGOTTEN"
    MEMORY_NOT_CURRENT = "MEMORY_NOT_CURRENT"
    KIND_FROZEN = "KIND_FROZEN"
    PREDICATE_IN_USE = "PREDICATE_IN_USE"
    EXPERIMENT_RUNNING = "EXPERIMENT_RUNNING"
    REVIEW_NOT_WAITING = "REVIEW_NOT_WAITING"
    SCHEMA_UNKNOWN = "SCHEMA_UNKNOWN"
    SESSION_ENDED = "SESSION_ENDED"
    SLOT_NOT_ANSWERED = "SLOT_NOT_ANSWERED"
    # OUT_OF_RANGE
    CURSOR_TOO_OLD = "CURSOR_TOO_OLD"
    # RESOURCE_EXHAUSTED
    QUOTA_EXCEEDED = "QUOTA_EXCEEDED"
    RATE_LIMITED = "RATE_LIMITED"
    STORAGE_FULL = "STORAGE_FULL"
    WATCHER_TOO_SLOW = "WATCHER_TOO_SLOW"
    # UNAUTHENTICATED / PERMISSION_DENIED
    CREDENTIAL_MISSING = "CREDENTIAL_MISSING"
    CREDENTIAL_INVALID = "CREDENTIAL_INVALID"
    CREDENTIAL_EXPIRED = "CREDENTIAL_EXPIRED"
    USER_NOT_ALLOWED = "USER_NOT_ALLOWED"
    ROLE_REQUIRED = "ROLE_REQUIRED"
    # UNAVAILABLE / DEADLINE_EXCEEDED / INTERNAL
    DATABASE_UNAVAILABLE = "DATABASE_UNAVAILABLE"
    REDIS_UNAVAILABLE = "REDIS_UNAVAILABLE"
    EMBEDDER_UNAVAILABLE = "EMBEDDER_UNAVAILABLE"
    COLD_STORAGE_UNAVAILABLE = "COLD_STORAGE_UNAVAILABLE"
    OVERLOADED = "OVERLOADED"
    SHUTTING_DOWN = "SHUTTING_DOWN"
    DEADLINE_EXCEEDED = "DEADLINE_EXCEEDED"
    INTERNAL = "INTERNAL"


class MemoryServiceError(Exception):
    """Base of every error the service answers with.

    Args:
        reason: the machine-readable cause.
        message: one sentence for a person, naming the field and the limit.
        field: dotted path of the request field at fault, "" when none is.
        metadata: string facts a client may act on (limits, expected counters, current etags).
    """

    def __init__(
        self, reason: Reason, message: str, *, field: str = "", metadata: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.field = field
        self.metadata: dict[str, str] = dict(metadata or {})


class InvalidInput(MemoryServiceError):
    """The request is wrong; sending it again unchanged cannot succeed."""


class NotFound(MemoryServiceError):
    """What the request names does not exist for this owner."""


class AlreadyExists(MemoryServiceError):
    """The request would make a second of something unique."""


class Conflict(MemoryServiceError):
    """A concurrent change, a stale etag or a reused dot: read again, then decide."""


class FailedPrecondition(MemoryServiceError):
    """The state does not allow the request; it may later."""


class OutOfRange(MemoryServiceError):
    """A cursor points before what is kept."""


class LimitExceeded(MemoryServiceError):
    """A quota, rate or disk is used up."""


class Unauthenticated(MemoryServiceError):
    """No credential, or one the service does not accept."""


class PermissionDenied(MemoryServiceError):
    """The caller is known and may not do this."""


class Unavailable(MemoryServiceError):
    """A backend is away for now; the same request may be retried."""


class DeadlineExceeded(MemoryServiceError):
    """The caller's time ran out before the work was done."""


class InternalError(MemoryServiceError):
    """A bug of ours. The message is generic; the log has the cause."""
