"""From the service's errors to gRPC's: one table, google.rpc details, no driver text."""

from __future__ import annotations

from google.protobuf import any_pb2
from google.rpc import code_pb2, error_details_pb2, status_pb2

from memory_service.domain import errors
from memory_service.domain.errors import MemoryServiceError, Reason

DOMAIN = "memory-service"

CODES: dict[type[MemoryServiceError], int] = {
    errors.InvalidInput: code_pb2.INVALID_ARGUMENT,
    errors.NotFound: code_pb2.NOT_FOUND,
    errors.AlreadyExists: code_pb2.ALREADY_EXISTS,
    errors.Conflict: code_pb2.ABORTED,
    errors.FailedPrecondition: code_pb2.FAILED_PRECONDITION,
    errors.OutOfRange: code_pb2.OUT_OF_RANGE,
    errors.LimitExceeded: code_pb2.RESOURCE_EXHAUSTED,
    errors.Unauthenticated: code_pb2.UNAUTHENTICATED,
    errors.PermissionDenied: code_pb2.PERMISSION_DENIED,
    errors.Unavailable: code_pb2.UNAVAILABLE,
    errors.DeadlineExceeded: code_pb2.DEADLINE_EXCEEDED,
    errors.InternalError: code_pb2.INTERNAL,
}

RETRY_SECONDS = 0.2
"""Advice to clients when a backend is away."""


def code_of(error: MemoryServiceError) -> int:
    """google.rpc.Code of an error."""
    return int(CODES.get(type(error), code_pb2.INTERNAL))


def status_of(error: MemoryServiceError, request_id: str) -> status_pb2.Status:
    """The rich status of an error: ErrorInfo always, BadRequest when a field is at fault, RetryInfo when
    trying again later helps."""
    code = code_of(error)
    metadata = {**error.metadata, "request_id": request_id}
    if error.field:
        metadata.setdefault("field", error.field)
    details = [error_details_pb2.ErrorInfo(reason=error.reason.value, domain=DOMAIN, metadata=metadata)]
    packed = [_pack(details[0])]
    if error.field:
        violation = error_details_pb2.BadRequest.FieldViolation(
            field=error.field, description=error.message, reason=error.reason.value
        )
        packed.append(_pack(error_details_pb2.BadRequest(field_violations=[violation])))
    if code == code_pb2.UNAVAILABLE or error.reason is Reason.RATE_LIMITED:
        retry = error_details_pb2.RetryInfo()
        retry.retry_delay.FromMilliseconds(int(RETRY_SECONDS * 1000))
        packed.append(_pack(retry))
    return status_pb2.Status(code=code, message=error.message, details=packed)


def _pack(
    message: error_details_pb2.ErrorInfo | error_details_pb2.BadRequest | error_details_pb2.RetryInfo,
) -> any_pb2.Any:
    packed = any_pb2.Any()
    packed.Pack(message)
    return packed
