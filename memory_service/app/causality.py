"""Numbers a change within its device and finds what its writer had seen (F7, B1, B2)."""

from __future__ import annotations

from collections.abc import Mapping

from memory_service.app.commands import ChangeMeta
from memory_service.app.validation import SERVER_DEVICE
from memory_service.domain.errors import Conflict, FailedPrecondition, Reason
from memory_service.domain.evidence import Retirement
from memory_service.domain.ids import DeviceId
from memory_service.domain.vector_clock import Dot, VectorClock


def next_dot(clock: VectorClock, meta: ChangeMeta, retired: Mapping[DeviceId, Retirement]) -> Dot:
    """The dot of a new change.

    Raises:
        Conflict: DEVICE_COUNTER_REUSED when the device's number is already taken (replays were found before).
        FailedPrecondition: DEVICE_COUNTER_GAP when the device skipped numbers; metadata `expected`.
    """
    device = DeviceId(meta.device or SERVER_DEVICE)
    expected = _known(clock, device, retired) + 1
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


def seen_by(clock: VectorClock, meta: ChangeMeta, dot: Dot, retired: Mapping[DeviceId, Retirement]) -> VectorClock:
    """What the writer had seen: its context and its own earlier changes; everything, when it names no context.

    Raises:
        FailedPrecondition: CONTEXT_FROM_FUTURE when the context holds changes never accepted here.
    """
    if meta.context is None:
        return clock
    for device, counter in meta.context.items():
        if counter > _known(clock, device, retired):
            raise FailedPrecondition(
                Reason.CONTEXT_FROM_FUTURE,
                "the context holds changes that were never accepted here",
                field="context",
                metadata={"device": device},
            )
    if not meta.device:
        # The server's actor is shared by all callers without a device: it has not seen what each of them saw.
        return meta.context
    return meta.context.merge(VectorClock({dot.device: dot.counter - 1}))


def _known(clock: VectorClock, device: DeviceId, retired: Mapping[DeviceId, Retirement]) -> int:
    """How many changes of the device were accepted, though it may have been folded away since."""
    gone = retired.get(device)
    return max(clock.counter(device), gone.counter if gone else 0)


def context_after(clock: VectorClock, meta: ChangeMeta, dot: Dot) -> VectorClock:
    """What the writer may say it has seen, once it has its answer.

    A device that named its context has seen that and its own change, and no more: telling it the whole clock
    would let its next change silently replace values it never read.
    """
    if meta.context is None or not meta.device:
        return clock
    return meta.context.merge(VectorClock({dot.device: dot.counter}))
