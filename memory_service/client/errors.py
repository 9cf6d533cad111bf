"""Every failure a call can end with, as one hierarchy.

    MemoryClientError
    ├── InvalidArgument        the request is wrong; also raised before anything is sent (a ValueError too)
    ├── NotFound               no such memory, version or key for this user
    ├── AlreadyExists          it would make a second of something unique
    ├── Aborted                a stale etag, or a reused dot or request id: read again, then decide
    ├── FailedPrecondition     the state does not allow it: forgotten, not current, a gap in the counters
    ├── OutOfRange             a cursor points before what is kept
    ├── ResourceExhausted      a quota, rate or disk is used up; `retry_after_seconds` says when to try again
    ├── Unauthenticated        no key, or one the service does not accept
    ├── PermissionDenied       the key may not do this, or not for this user
    ├── Unavailable            the service or one of its backends is away; retries did not help
    ├── DeadlineExceeded       the time allowed ran out (a TimeoutError too)
    ├── Unimplemented          the server does not know the call: it is older than this client
    ├── Internal               a fault of the service
    ├── ClientClosed           the client was closed
    └── DeviceError            the file of an offline device cannot be used
        ├── DeviceFileLocked     another process has it open
        ├── DeviceFileCorrupt    it is damaged, or not such a file; nothing was changed
        └── DeviceOutOfStep      the service knows another history of this device: start a new incarnation

`reason` is a name of `ErrorReason` (`proto/memory_service/v1/error_reason.proto`) without its prefix, or ""
when the failure did not come from the service itself (a refused connection, say). No message, attribute or
`repr` contains the key or a memory's text.
"""

from __future__ import annotations

from collections.abc import Mapping


class MemoryClientError(Exception):
    """Base of every error of the client.

    Attributes:
        reason: why, for a program; "" when the service did not say.
        message: why, for a person.
        field: dotted path of the request field at fault, "" when none is.
        metadata: string facts to act on (limits, expected counters, current etags).
        request_id: the request id the change was sent with, "" for a read. After an `Unavailable` or a
            `DeadlineExceeded` the outcome is not known; calling again with the same id settles it.
        attempts: how often it was sent.
    """

    def __init__(
        self,
        message: str,
        *,
        reason: str = "",
        field: str = "",
        metadata: Mapping[str, str] | None = None,
        request_id: str = "",
        attempts: int = 0,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.reason = reason
        self.field = field
        self.metadata: dict[str, str] = dict(metadata or {})
        self.request_id = request_id
        self.attempts = attempts

    def __str__(self) -> str:
        parts = [self.message]
        if self.field and self.field not in self.message:
            parts.append(f"field: {self.field}")
        if self.reason:
            parts.append(self.reason)
        return parts[0] if len(parts) == 1 else f"{parts[0]} ({', '.join(parts[1:])})"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"

    @property
    def retry_after_seconds(self) -> float | None:
        """How long the service asks to wait, None when it does not say."""
        stated = self.metadata.get("retry_after_ms", "")
        try:
            return max(0.0, float(stated) / 1000.0) if stated else None
        except ValueError:
            return None


class InvalidArgument(MemoryClientError, ValueError):
    """The request is wrong; sending it again unchanged cannot succeed."""


class NotFound(MemoryClientError):
    """What the request names does not exist for this user."""


class AlreadyExists(MemoryClientError):
    """The request would make a second of something unique."""


class Aborted(MemoryClientError):
    """A concurrent change, a stale etag, a reused dot or request id: read again, then decide."""


class FailedPrecondition(MemoryClientError):
    """The state does not allow the request; it may later."""


class OutOfRange(MemoryClientError):
    """A cursor points before what is kept."""


class ResourceExhausted(MemoryClientError):
    """A quota, rate or disk is used up."""


class Unauthenticated(MemoryClientError):
    """No key, or one the service does not accept."""


class PermissionDenied(MemoryClientError):
    """The key is known and may not do this."""


class Unavailable(MemoryClientError):
    """The service, or a backend of it, is away, and retrying for as long as allowed did not help."""


class DeadlineExceeded(MemoryClientError, TimeoutError):
    """The time allowed ran out before an answer came."""


class Unimplemented(MemoryClientError):
    """The server does not know the call."""


class Internal(MemoryClientError):
    """A fault of the service; its log has the cause."""


class ClientClosed(MemoryClientError):
    """The client was closed before or during the call."""


class DeviceError(MemoryClientError):
    """The file of an offline device cannot be used; what it holds is as it was."""


class DeviceFileLocked(DeviceError):
    """Another process, or another `OfflineDevice` of this one, has the file open."""


class DeviceFileCorrupt(DeviceError):
    """The file is damaged, or is not the file of an offline device. It is left as it is."""


class DeviceOutOfStep(DeviceError):
    """The service knows changes of this device that its file does not, or the other way round.

    So the device was installed anew under its old name, or its file (or the service) came back from a backup.
    `OfflineDevice.new_incarnation` goes on under a fresh name; nothing queued is lost.
    """
