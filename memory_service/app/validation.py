"""Checks of what callers send: each failure names its field and limit, and nothing has been changed yet."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import datetime
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np
from numpy.typing import NDArray

from memory_service.app.commands import ChangeMeta, SlotRef, Statement
from memory_service.domain import limits
from memory_service.domain.errors import InvalidInput, Reason
from memory_service.domain.memory import Assertion, JsonValue
from memory_service.domain.text import check_storable
from memory_service.domain.vector_clock import COUNTER_MAX, VectorClock

SERVER_DEVICE = "~server"
"""The actor that makes dots for callers without a device. Names beginning with `~` are the service's own."""


def check_name(value: str, field: str, *, required: bool = False, limit: int = limits.NAME_CHARS_MAX) -> None:
    """A short identifier-like string: storable, within `limit` characters, given when `required`."""
    if value:
        check_storable(value, field, limit)
    elif required:
        raise InvalidInput(Reason.FIELD_REQUIRED, f"{field} must be given", field=field)


def check_fraction(value: float | None, field: str) -> None:
    """A number within 0..1; None passes."""
    if value is not None and not (math.isfinite(value) and 0.0 <= value <= 1.0):
        raise InvalidInput(
            Reason.FIELD_OUT_OF_RANGE,
            f"{field} must lie between 0 and 1",
            field=field,
            metadata={"minimum": "0", "maximum": "1"},
        )


def check_count(value: int, field: str, *, minimum: int, maximum: int) -> None:
    """A whole number within a range."""
    if not minimum <= value <= maximum:
        raise InvalidInput(
            Reason.FIELD_OUT_OF_RANGE,
            f"{field} must lie between {minimum} and {maximum}",
            field=field,
            metadata={"minimum": str(minimum), "maximum": str(maximum), "actual": str(value)},
        )


def check_list(values: Sequence[object], field: str, maximum: int) -> None:
    """A list within its length limit."""
    if len(values) > maximum:
        raise InvalidInput(
            Reason.FIELD_TOO_LONG,
            f"{field} may list at most {maximum} values",
            field=field,
            metadata={"limit": str(maximum), "actual": str(len(values))},
        )


def check_time(value: datetime | None, field: str) -> None:
    """A time with a zone, within what the service stores; None passes."""
    if value is None:
        return
    if value.tzinfo is None:
        raise InvalidInput(Reason.FIELD_INVALID, f"{field} must carry a time zone", field=field)
    if not limits.TIME_MIN <= value <= limits.TIME_MAX:
        raise InvalidInput(
            Reason.TIME_OUT_OF_RANGE,
            f"{field} must lie between {limits.TIME_MIN.date()} and {limits.TIME_MAX.date()}",
            field=field,
        )


def check_order(first: datetime | None, last: datetime | None, names: tuple[str, str], field: str) -> None:
    """Two times of `field`, called `names`, in their order; one that is None passes."""
    if first and last and last < first:
        name = f"{field}.{names[1]}"
        raise InvalidInput(Reason.TIME_OUT_OF_RANGE, f"{name} must not lie before {names[0]}", field=name)


def time_zone(name: str, field: str) -> ZoneInfo:
    """The IANA zone of this name; UTC for ""."""
    try:
        return ZoneInfo(name or "UTC")
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise InvalidInput(
            Reason.FIELD_INVALID, f"{field} must be an IANA time zone such as Europe/Berlin", field=field
        ) from error


def check_vector(vector: NDArray[np.float32], dimension: int, field: str) -> NDArray[np.float32]:
    """A caller's vector scaled to unit length; shape (dimension,).

    Raises:
        InvalidInput: VECTOR_DIMENSION_MISMATCH for another length, VECTOR_INVALID for NaN, infinity or zero.
    """
    if vector.shape != (dimension,):
        raise InvalidInput(
            Reason.VECTOR_DIMENSION_MISMATCH,
            f"{field} must have {dimension} numbers, as the embedding model does",
            field=field,
            metadata={"expected": str(dimension), "actual": str(vector.size)},
        )
    wide = vector.astype(np.float64)
    length = float(np.linalg.norm(wide)) if np.isfinite(wide).all() else math.nan
    if not math.isfinite(length) or length < 1e-12:
        raise InvalidInput(Reason.VECTOR_INVALID, f"{field} must be finite and not zero", field=field)
    return (wide / length).astype(np.float32)


def check_json(value: JsonValue, field: str) -> None:
    """A JSON value within the depth and size limits, all of its strings storable, all numbers finite."""
    size = _check_json(value, field, depth=1)
    if size > limits.OBJECT_BYTES_MAX:
        raise InvalidInput(
            Reason.FIELD_TOO_LONG,
            f"{field} may take at most {limits.OBJECT_BYTES_MAX} bytes",
            field=field,
            metadata={"limit": str(limits.OBJECT_BYTES_MAX), "actual": str(size)},
        )


def _check_json(value: JsonValue, field: str, depth: int) -> int:
    if depth > limits.OBJECT_DEPTH_MAX:
        raise InvalidInput(
            Reason.JSON_TOO_DEEP,
            f"{field} may be nested at most {limits.OBJECT_DEPTH_MAX} deep",
            field=field,
            metadata={"limit": str(limits.OBJECT_DEPTH_MAX)},
        )
    if isinstance(value, str):
        if value:
            check_storable(value, field, limits.OBJECT_BYTES_MAX)
        return len(value.encode()) + 2
    if isinstance(value, Mapping):
        total = 2
        for key, item in value.items():
            total += _check_json(key, field, depth) + _check_json(item, field, depth + 1) + 2
        return total
    if isinstance(value, Sequence):
        return 2 + sum(_check_json(item, field, depth + 1) + 1 for item in value)
    if isinstance(value, float) and not math.isfinite(value):
        raise InvalidInput(Reason.FIELD_INVALID, f"{field} must hold finite numbers", field=field)
    return len(repr(value))


def check_assertion(assertion: Assertion, field: str) -> None:
    """A structured statement: subject and predicate given, value present and within limits."""
    check_name(assertion.subject, f"{field}.subject", required=True)
    check_name(assertion.predicate, f"{field}.predicate", required=True, limit=limits.PREDICATE_CHARS_MAX)
    if assertion.object is None or assertion.object in ("", [], {}):
        raise InvalidInput(Reason.FIELD_REQUIRED, f"{field}.object must be given", field=f"{field}.object")
    check_json(assertion.object, f"{field}.object")


def check_statement(statement: Statement, field: str = "memory", *, partial: bool = False) -> None:
    """Everything about a statement that needs no state. `partial` allows neither text nor assertion (Correct)."""
    if statement.text:
        check_storable(statement.text, f"{field}.text", limits.TEXT_CHARS_MAX)
    elif statement.assertion is None and not partial:
        raise InvalidInput(
            Reason.FIELD_REQUIRED, f"{field}.text or {field}.assertion must be given", field=f"{field}.text"
        )
    if statement.assertion is not None:
        check_assertion(statement.assertion, f"{field}.assertion")
    check_name(statement.topic, f"{field}.topic", limit=limits.TOPIC_CHARS_MAX)
    check_list(statement.tags, f"{field}.tags", limits.TAGS_MAX)
    for index, tag in enumerate(statement.tags):
        check_name(tag, f"{field}.tags[{index}]", required=True, limit=limits.TAG_CHARS_MAX)
    check_fraction(statement.confidence, f"{field}.confidence")
    check_fraction(statement.importance, f"{field}.importance")
    for name in ("valid_from", "valid_to", "expires_at", "said_at"):
        check_time(getattr(statement, name), f"{field}.{name}")
    check_order(statement.valid_from, statement.valid_to, ("valid_from", "valid_to"), field)
    time_zone(statement.time_zone, f"{field}.time_zone")
    for name in ("agent", "session", "process", "reference"):
        check_name(getattr(statement, name), f"{field}.{name}")
    check_list(statement.derived_from, f"{field}.derived_from", limits.DERIVED_FROM_MAX)


def check_context(context: VectorClock | None, field: str = "context") -> None:
    """A causal context that names no more devices than allowed."""
    if context is None:
        return
    if len(context) > limits.CLOCK_DEVICES_MAX:
        raise InvalidInput(
            Reason.CLOCK_TOO_LARGE,
            f"{field} may name at most {limits.CLOCK_DEVICES_MAX} devices",
            field=field,
            metadata={"limit": str(limits.CLOCK_DEVICES_MAX), "actual": str(len(context))},
        )
    for device in context:
        if device != SERVER_DEVICE:
            check_name(device, f"{field}.counters", required=True)


def check_meta(meta: ChangeMeta, field_prefix: str = "") -> None:
    """Names for retries, the dot and the context of a change."""
    check_name(meta.request_id, f"{field_prefix}request_id", limit=limits.REQUEST_ID_CHARS_MAX)
    check_name(meta.device, f"{field_prefix}dot.device")
    if meta.device.startswith("~"):
        raise InvalidInput(
            Reason.FIELD_INVALID,
            "device names that begin with ~ belong to the service",
            field=f"{field_prefix}dot.device",
        )
    check_count(meta.counter, f"{field_prefix}dot.counter", minimum=0, maximum=COUNTER_MAX)
    if meta.counter and not meta.device:
        raise InvalidInput(Reason.FIELD_REQUIRED, "a counter needs its device", field=f"{field_prefix}dot.device")
    check_context(meta.context)


def check_slot(slot: SlotRef, field: str = "slot") -> None:
    """A slot named by subject and predicate, or by topic, not both."""
    check_name(slot.subject, f"{field}.subject")
    check_name(slot.predicate, f"{field}.predicate", limit=limits.PREDICATE_CHARS_MAX)
    check_name(slot.topic, f"{field}.topic", limit=limits.TOPIC_CHARS_MAX)
    structured = bool(slot.subject or slot.predicate)
    if structured == bool(slot.topic) or (structured and not (slot.subject and slot.predicate)):
        raise InvalidInput(
            Reason.FIELD_INVALID, f"{field} needs subject and predicate, or a topic alone", field=field
        )
