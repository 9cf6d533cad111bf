"""The errors of working memory, said once for every backend."""

from __future__ import annotations

from memory_service.domain.errors import Conflict, FailedPrecondition, InvalidInput, LimitExceeded, NotFound, Reason


def session_not_found() -> NotFound:
    """This owner has no such session now."""
    message = "there is no such session, or it is gone: begin another"
    return NotFound(Reason.SESSION_NOT_FOUND, message, field="session_id")


def session_ended() -> FailedPrecondition:
    """The session has ended, so nothing of it changes any more."""
    return FailedPrecondition(Reason.SESSION_ENDED, "the session has ended", field="session_id")


def request_id_reused() -> Conflict:
    """A session was begun under this request id, and another one was asked for."""
    return Conflict(Reason.REQUEST_ID_REUSED, "request_id was used for another request", field="request_id")


def etag_mismatch(version: int) -> Conflict:
    """A field changed since the etag was read."""
    return Conflict(
        Reason.ETAG_MISMATCH,
        "the session changed since it was read",
        field="etag",
        metadata={"etag": f"s{version}"},
    )


def unseen_version(version: int) -> InvalidInput:
    """The version said to have been seen is none that the session had so far."""
    return InvalidInput(
        Reason.FIELD_OUT_OF_RANGE,
        f"seen_version must be at most {version}, the session's present version",
        field="seen_version",
        metadata={"limit": str(version)},
    )


def kind_of(path: str) -> str:
    """What kind of field a path is of, as a request names it: errors repeat no names of the caller's."""
    return f"state.{path.partition('.')[0]}"


def not_answered(path: str) -> FailedPrecondition:
    """A slot was to be filled from something that is no answer (F4)."""
    field = f"{kind_of(path)}.answered_by"
    return FailedPrecondition(
        Reason.SLOT_NOT_ANSWERED,
        f"{field} must be a turn of the session in which the user answers",
        field=field,
    )


def too_many_fields(limit: int) -> LimitExceeded:
    """The session holds as many slots, constraints and tasks as it may."""
    return LimitExceeded(
        Reason.QUOTA_EXCEEDED, f"a session may hold at most {limit} fields", metadata={"limit": str(limit)}
    )


def too_many_sessions(limit: int) -> LimitExceeded:
    """The owner has as many sessions as allowed."""
    return LimitExceeded(
        Reason.QUOTA_EXCEEDED, f"a user may have at most {limit} sessions", metadata={"limit": str(limit)}
    )
