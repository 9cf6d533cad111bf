"""From a failed gRPC call to one of the client's errors."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, cast

import grpc

from memory_service.client.errors import (
    Aborted,
    AlreadyExists,
    DeadlineExceeded,
    FailedPrecondition,
    Internal,
    InvalidArgument,
    MemoryClientError,
    NotFound,
    OutOfRange,
    PermissionDenied,
    ResourceExhausted,
    Unauthenticated,
    Unavailable,
    Unimplemented,
)
from memory_service.v1 import memory_service_pb2 as api

ERROR_DOMAIN = "memory-service"

_CLASSES: Final[dict[str, type[MemoryClientError]]] = {
    "INVALID_ARGUMENT": InvalidArgument,
    "NOT_FOUND": NotFound,
    "ALREADY_EXISTS": AlreadyExists,
    "ABORTED": Aborted,
    "FAILED_PRECONDITION": FailedPrecondition,
    "OUT_OF_RANGE": OutOfRange,
    "RESOURCE_EXHAUSTED": ResourceExhausted,
    "UNAUTHENTICATED": Unauthenticated,
    "PERMISSION_DENIED": PermissionDenied,
    "UNAVAILABLE": Unavailable,
    # The other side gave the call up (a server that stops does that); our own caller's cancellation never
    # comes here.
    "CANCELLED": Unavailable,
    "DEADLINE_EXCEEDED": DeadlineExceeded,
    "UNIMPLEMENTED": Unimplemented,
}

_CODE_NAMES: Final = {code.value[0]: code.name for code in grpc.StatusCode}


def from_rpc_error(error: grpc.RpcError, target: str) -> MemoryClientError:
    """The client's error for a failed call; details of the service are taken from `google.rpc.Status`."""
    code = error.code().name
    message = str(error.details() or "")
    reason, field, metadata = _details(error)
    if not reason and code == "DEADLINE_EXCEEDED":
        message = f"no answer from {target} in the time allowed"
    elif not reason and code in ("UNAVAILABLE", "CANCELLED"):
        message = f"cannot reach the memory service at {target}: {message}"
    elif not message:
        message = f"the call failed with {code}"
    return _CLASSES.get(code, Internal)(message, reason=reason, field=field, metadata=metadata)


def from_item_error(item: api.ItemError, request_id: str) -> MemoryClientError:
    """The client's error for one refused item of a batch."""
    kind = _CLASSES.get(_CODE_NAMES.get(item.code, ""), Internal)
    return kind(
        item.message,
        reason=item.reason,
        field=item.field,
        metadata=item.metadata,
        request_id=request_id,
        attempts=1,
    )


def _details(error: grpc.RpcError) -> tuple[str, str, dict[str, str]]:
    """Reason, field and metadata; empty where the service gave none."""
    packed = _packed_status(error)
    if packed is None:
        return "", "", {}
    # Imported here: only failures need them, and a command line starts faster without.
    from google.protobuf.message import DecodeError
    from google.rpc import error_details_pb2, status_pb2

    reason, field, metadata = "", "", dict[str, str]()
    try:
        status = status_pb2.Status.FromString(packed)
        for detail in status.details:
            info = error_details_pb2.ErrorInfo()
            bad = error_details_pb2.BadRequest()
            retry = error_details_pb2.RetryInfo()
            if detail.Is(info.DESCRIPTOR) and detail.Unpack(info) and info.domain == ERROR_DOMAIN:
                reason = info.reason
                metadata.update(info.metadata)
            elif detail.Is(bad.DESCRIPTOR) and detail.Unpack(bad) and bad.field_violations:
                field = bad.field_violations[0].field
            elif detail.Is(retry.DESCRIPTOR) and detail.Unpack(retry):
                metadata.setdefault("retry_after_ms", str(retry.retry_delay.ToMilliseconds()))
    except DecodeError:  # a proxy's own idea of details; the code and message still stand
        return "", "", {}
    return reason, field or metadata.get("field", ""), metadata


def _packed_status(error: grpc.RpcError) -> bytes | None:
    trailing = cast("Iterable[tuple[str, str | bytes]]", error.trailing_metadata() or ())
    for name, value in trailing:
        if name == "grpc-status-details-bin" and isinstance(value, bytes):
            return value
    return None
