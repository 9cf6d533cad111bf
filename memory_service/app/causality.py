"""Numbers a change within its device and finds what its writer had seen (F7, B1, B2)."""

from __future__ import annotations

from memory_service.app.commands import ChangeMeta
from memory_service.app.validation import SERVER_DEVICE
from memory_service.domain import limits
from memory_service.domain.errors import Conflict, FailedPrecondition, LimitExceeded, Reason
from memory_service.domain.ids import DeviceId
from memory_service.domain.vector_clock import Dot, VectorClock

DEVICES_MAX = limits.CLOCK_DEVICES_MAX - 1
"""Devices of one user beside the service's own: every context that the service gives may be given back to it."""


def next_dot(clock: VectorClock, meta: ChangeMeta) -> Dot:
    """The dot of a new change.

    Raises:
        Conflict: DEVICE_COUNTER_REUSED when the device's number is already taken (replays were found before).
        FailedPrecondition: DEVICE_COUNTER_GAP when the device skipped numbers; metadata `expected`.
        LimitExceeded: QUOTA_EXCEEDED when it would be one device too many for a context that is sent back.
    """
    device = DeviceId(meta.device or SERVER_DEVICE)
    if meta.device and len(clock) - (SERVER_DEVICE in clock) >= DEVICES_MAX and device not in clock:
        raise LimitExceeded(
            Reason.QUOTA_EXCEEDED,
            f"the user has {DEVICES_MAX} devices, the most allowed: write under one of them, or without a device",
            field="dot.device",
            metadata={"limit": str(DEVICES_MAX)},
        )
    expected = clock.counter(device) + 1
    if meta.counter == 0 or meta.counter == expected:
        return Dot(device, expected)
    metadata = {"expected": str(expected), "actual": str(meta.counter)}
    if meta.counter < expected:
        raise Conflict(
            Reason.DEVICE_COUNTER_REUSED,
            f"the device's next counter is {expected}",
            field="dot.counter",
            metadata=metadata,
        )
    raise FailedPrecondition(
        Reason.DEVICE_COUNTER_GAP,
        f"the device's next counter is {expected}: send the changes before it first",
        field="dot.counter",
        metadata=metadata,
    )


def seen_by(clock: VectorClock, meta: ChangeMeta, dot: Dot) -> VectorClock:
    """What the writer had seen: its context and its own earlier changes; everything, when it names no context.

    Raises:
        FailedPrecondition: CONTEXT_FROM_FUTURE when the context holds changes never accepted here.
    """
    if meta.context is None:
        return clock
    if not clock.descends(meta.context):
        ahead = next(d for d, c in meta.context.items() if clock.counter(d) < c)
        raise FailedPrecondition(
            Reason.CONTEXT_FROM_FUTURE,
            "the context holds changes that were never accepted here",
            field="context",
            metadata={"device": ahead},
        )
    if not meta.device:
        # The server's actor is shared by all callers without a device: it has not seen what each of them saw.
        return meta.context
    return meta.context.merge(VectorClock({dot.device: dot.counter - 1}))


def context_after(clock: VectorClock, meta: ChangeMeta, dot: Dot) -> VectorClock:
    """What the writer may say it has seen, once it has its answer.

    A device that named its context has seen that and its own change, and no more: telling it the whole clock
    would let its next change silently replace values it never read.
    """
    if meta.context is None or not meta.device:
        return clock
    return meta.context.merge(VectorClock({dot.device: dot.counter}))
