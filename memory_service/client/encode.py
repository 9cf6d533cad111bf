"""From the client's values to protobuf messages, refusing what would be changed on the way.

What the server can judge is left to it. Checked here is only what protobuf would mangle or refuse with an
error of its own: naive datetimes, whole numbers beyond 2^53, text that is not Unicode, unknown words.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import cast

from google.protobuf.duration_pb2 import Duration
from google.protobuf.field_mask_pb2 import FieldMask
from google.protobuf.internal.enum_type_wrapper import EnumTypeWrapper
from google.protobuf.struct_pb2 import NULL_VALUE, ListValue, Struct, Value
from google.protobuf.timestamp_pb2 import Timestamp

from memory_service.client import types as t
from memory_service.client.errors import InvalidArgument
from memory_service.v1 import admin_service_pb2 as admin
from memory_service.v1 import memory_service_pb2 as api
from memory_service.v1 import types_pb2 as pb

EXACT_INTEGER_MAX = 2**53
"""Largest whole number of which, and of all smaller ones, a double keeps every digit."""

JSON_DEPTH_MAX = 64
"""Deeper values are refused here, before Python's own recursion limit; the server's limit is lower."""

SECONDS_MAX = 366 * 86_400.0
"""Longest time a call may be given."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_INT32_MAX, _INT64_MAX, _UINT64_MAX = 2**31 - 1, 2**63 - 1, 2**64 - 1


def refuse(field: str, message: str, reason: str = "FIELD_INVALID") -> InvalidArgument:
    """The refusal of a value, to be raised."""
    return InvalidArgument(f"{field}: {message}", reason=reason, field=field)


def text(value: str, field: str) -> str:
    """Text as it may be sent: valid Unicode."""
    if not isinstance(value, str):
        raise refuse(field, f"must be text, not {type(value).__name__}")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise refuse(field, "holds a lone surrogate", "TEXT_NOT_STORABLE") from None
    return value


def texts(values: Iterable[str], field: str) -> list[str]:
    """Several texts. One text given in place of a list is a mistake, not a list of letters."""
    if isinstance(values, str):
        raise refuse(field, "must be a list of texts, not one text")
    if not isinstance(values, Iterable):
        raise refuse(field, f"must be a list of texts, not {type(values).__name__}")
    return [text(value, f"{field}[{index}]") for index, value in enumerate(values)]


def integer(value: int, field: str, maximum: int = _INT32_MAX) -> int:
    """A whole number that fits the field; whether it makes sense is the server's to say."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise refuse(field, f"must be a whole number, not {type(value).__name__}")
    minimum = 0 if maximum == _UINT64_MAX else -maximum - 1
    if not minimum <= value <= maximum:
        raise refuse(field, f"must lie between {minimum} and {maximum}", "FIELD_OUT_OF_RANGE")
    return value


def timestamp(value: datetime | None, field: str) -> Timestamp | None:
    """An aware datetime to the microsecond, None when absent."""
    if value is None:
        return None
    if not isinstance(value, datetime):
        raise refuse(field, f"must be a datetime, not {type(value).__name__}")
    if value.utcoffset() is None:
        raise refuse(
            field,
            "has no time zone; give an aware datetime, e.g. datetime.now(UTC) or value.astimezone()",
        )
    since = value - _EPOCH
    return Timestamp(seconds=since // timedelta(seconds=1), nanos=(since % timedelta(seconds=1)).microseconds * 1000)


def number(wrapper: EnumTypeWrapper, prefix: str, kind: type[StrEnum], word: str, field: str) -> int:
    """The wire number of a word such as `Kind.EVENT` or "event"."""
    try:
        member = kind(word)
        return int(wrapper.Value(f"{prefix}_{member.name}"))
    except ValueError:
        known = ", ".join(member.value for member in kind if member.value != "unknown")
        raise refuse(field, f"{word!r} is none of: {known}") from None


def json_value(value: object, field: str, depth: int = 0) -> Value:
    """Any JSON value, provided that it comes out as it went in.

    Raises:
        InvalidArgument: a whole number beyond 2^53 (it would be rounded), a number that is not finite, a key
            or value of another type, lone surrogates, or nesting deeper than 64.
    """
    if depth > JSON_DEPTH_MAX:
        raise refuse(field, f"is nested more than {JSON_DEPTH_MAX} deep", "JSON_TOO_DEEP")
    if value is None:
        return Value(null_value=NULL_VALUE)
    if isinstance(value, bool):
        return Value(bool_value=value)
    if isinstance(value, int):
        if abs(value) > EXACT_INTEGER_MAX:
            raise refuse(
                field,
                "is a whole number beyond 2^53, which JSON numbers do not keep exactly; send it as text",
                "FIELD_OUT_OF_RANGE",
            )
        return Value(number_value=value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise refuse(field, "is not a finite number")
        return Value(number_value=value)
    if isinstance(value, str):
        return Value(string_value=text(value, field))
    if isinstance(value, Mapping):
        fields = {}
        for name, item in value.items():
            fields[text(name, f"{field} key")] = json_value(item, f"{field}.{name}", depth + 1)
        return Value(struct_value=Struct(fields=fields))
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
        items = [json_value(item, f"{field}[{index}]", depth + 1) for index, item in enumerate(value)]
        return Value(list_value=ListValue(values=items))
    raise refuse(field, f"{type(value).__name__} is not a JSON value")


def context(value: t.Context | None) -> pb.VectorClock | None:
    """A causal context; None stays absent, which is not the same as an empty one."""
    if value is None:
        return None
    counters = {
        text(device, "context"): integer(count, f"context.{device}", _UINT64_MAX)
        for device, count in value.counters.items()
    }
    return pb.VectorClock(counters=counters)


def dot(value: t.Dot | None, device: str) -> pb.Dot | None:
    """The explicit dot, else the client's device with counter 0 (numbered by the server), else nothing."""
    if value is not None:
        return pb.Dot(
            device=text(value.device, "dot.device"),
            counter=integer(value.counter, "dot.counter", _UINT64_MAX),
        )
    return pb.Dot(device=device) if device else None


def slot(value: t.Slot, field: str = "slot") -> pb.Slot:
    """A slot."""
    return pb.Slot(
        subject=text(value.subject, f"{field}.subject"),
        predicate=text(value.predicate, f"{field}.predicate"),
        topic=text(value.topic, f"{field}.topic"),
    )


_TEXT_FIELDS = ("topic", "time_zone", "agent", "session", "process", "reference")
_TIME_FIELDS = ("valid_from", "valid_to", "expires_at", "said_at")
_ASSERTION_FIELDS = ("subject", "predicate", "object")


def memory_input(statement: str | None, fields: t.MemoryFields, where: str = "memory") -> pb.MemoryInput:
    """What a writer wants remembered. A predicate without a subject is about the user."""
    unknown = set(fields) - set(t.MemoryFields.__annotations__)
    if unknown:
        raise TypeError(f"unknown fields of a memory: {', '.join(sorted(unknown))}")
    given = cast("dict[str, object]", fields)
    message = pb.MemoryInput(
        text=text(statement or "", f"{where}.text"),
        tags=texts(fields.get("tags", ()), f"{where}.tags"),
        derived_from=texts(fields.get("derived_from", ()), f"{where}.derived_from"),
        pinned=bool(fields.get("pinned", False)),
        **{name: text(cast("str", given[name]), f"{where}.{name}") for name in _TEXT_FIELDS if name in given},  # type: ignore[arg-type]
        **{name: timestamp(cast("datetime", given.get(name)), f"{where}.{name}") for name in _TIME_FIELDS},  # type: ignore[arg-type]
    )
    if any(name in given for name in _ASSERTION_FIELDS):
        message.assertion.CopyFrom(_assertion(fields, where))
    _set_words(message, fields, where)
    for name in ("confidence", "importance"):
        if name in given:
            setattr(message, name, real(given[name], f"{where}.{name}"))
    message.embedding.extend(vector(fields.get("embedding", ()), f"{where}.embedding"))
    return message


def statement(value: str | t.Assertion | t.NewMemory, where: str) -> pb.MemoryInput:
    """A statement given as text, as subject, predicate and object, or in full."""
    if isinstance(value, t.Assertion):
        fields = t.MemoryFields(subject=value.subject, predicate=value.predicate, object=value.object)
        return memory_input(None, fields, where)
    if isinstance(value, t.NewMemory):
        return memory_input(value.text, value.fields, where)
    return memory_input(text(value, f"{where}.text"), t.MemoryFields(), where)


def _assertion(fields: t.MemoryFields, where: str) -> pb.Assertion:
    predicate = text(fields.get("predicate", ""), f"{where}.assertion.predicate")
    subject = fields.get("subject", "user" if predicate else "")
    value = json_value(fields["object"], f"{where}.assertion.object") if "object" in fields else None
    return pb.Assertion(subject=text(subject, f"{where}.assertion.subject"), predicate=predicate, object=value)


def _set_words(message: pb.MemoryInput, fields: t.MemoryFields, where: str) -> None:
    if "kind" in fields:
        message.kind = kind_number(fields["kind"], f"{where}.kind")
    if "source" in fields:
        message.source = source_number(fields["source"], f"{where}.source")
    if "visibility" in fields:
        word = fields["visibility"]
        message.visibility = cast(
            "pb.Visibility", number(pb.Visibility, "VISIBILITY", t.Visibility, word, f"{where}.visibility")
        )


def kind_number(word: str, field: str) -> pb.Kind:
    """The wire number of a kind."""
    return cast("pb.Kind", number(pb.Kind, "KIND", t.Kind, word, field))


def source_number(word: str, field: str) -> pb.Source:
    """The wire number of a source."""
    return cast("pb.Source", number(pb.Source, "SOURCE", t.Source, word, field))


def role_number(word: str, field: str) -> admin.Role:
    """The wire number of a role."""
    return cast("admin.Role", number(admin.Role, "ROLE", t.Role, word, field))


def real(value: object, field: str) -> float:
    """A number; whether it makes sense is the server's to say."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise refuse(field, f"must be a number, not {type(value).__name__}")
    try:
        return float(value)
    except OverflowError:
        raise refuse(field, "is too large a number", "FIELD_OUT_OF_RANGE") from None


def seconds(value: object, field: str = "timeout_seconds") -> float:
    """A time to wait, in seconds: up to a year; none is left of one that is not more than zero."""
    given = real(value, field)
    if not given <= SECONDS_MAX:
        raise refuse(field, f"must be at most {SECONDS_MAX:.0f} seconds", "FIELD_OUT_OF_RANGE")
    return given


def duration(value: timedelta, field: str) -> Duration:
    """A length of time."""
    if not isinstance(value, timedelta):
        raise refuse(field, f"must be a timedelta, not {type(value).__name__}")
    made = Duration()
    try:
        made.FromTimedelta(value)
    except ValueError:
        raise refuse(field, "is too long a time", "FIELD_OUT_OF_RANGE") from None
    return made


def vector(values: Sequence[float], field: str) -> list[float]:
    """A vector as plain floats; numpy arrays are fine. Length and finiteness are the server's to judge."""
    try:
        return [float(value) for value in values]
    except (TypeError, ValueError, OverflowError):
        raise refuse(field, "must be a list of numbers", "VECTOR_INVALID") from None


def memory_filter(where: t.MemoryFilter | None, field: str = "filter") -> pb.MemoryFilter | None:
    """A filter; None stays absent."""
    if where is None:
        return None
    tiers = [number(pb.Tier, "TIER", t.Tier, word, f"{field}.tiers") for word in where.tiers]
    statuses = [number(pb.Status, "STATUS", t.Status, word, f"{field}.statuses") for word in where.statuses]
    names = (
        "tags_all",
        "tags_any",
        "topics",
        "subjects",
        "predicates",
        "agents",
        "devices",
        "sessions",
        "ids",
    )
    lists = {name: texts(getattr(where, name), f"{field}.{name}") for name in names}
    return pb.MemoryFilter(
        kinds=[kind_number(word, f"{field}.kinds") for word in where.kinds],
        statuses=cast("list[pb.Status]", statuses),
        tiers=cast("list[pb.Tier]", tiers),
        sources=[source_number(word, f"{field}.sources") for word in where.sources],
        slots=[slot(one, f"{field}.slots[{index}]") for index, one in enumerate(where.slots)],
        said_from=timestamp(where.said_from, f"{field}.said_from"),
        said_until=timestamp(where.said_until, f"{field}.said_until"),
        importance_min=real(where.importance_min, f"{field}.importance_min"),
        confidence_min=real(where.confidence_min, f"{field}.confidence_min"),
        **lists,
    )


def consistency(value: t.Consistency | None) -> pb.Consistency | None:
    """How new the data must be; None stays absent."""
    if value is None:
        return None
    if value.requirement == "at_least_as_fresh":
        return pb.Consistency(at_least_as_fresh=text(value.token, "consistency.at_least_as_fresh"))
    if value.requirement == "fully_consistent":
        return pb.Consistency(fully_consistent=True)
    return pb.Consistency(minimize_latency=True)


def nature(value: t.CorrectionNature | str | None) -> api.CorrectionNature:
    """What was wrong with the old value."""
    if value is None:
        return api.CORRECTION_NATURE_UNSPECIFIED
    wrapper, kind = api.CorrectionNature, t.CorrectionNature
    return cast("api.CorrectionNature", number(wrapper, "CORRECTION_NATURE", kind, value, "nature"))


_MASKABLE = frozenset(
    {
        "text",
        "assertion",
        "kind",
        "topic",
        "tags",
        "source",
        "confidence",
        "importance",
        "valid_from",
        "valid_to",
        "expires_at",
        "said_at",
        "visibility",
        "pinned",
    }
)
"""Fields of a memory that a correction may change; the others only say where the new version came from."""


def update_mask(statement: str | None, fields: t.MemoryFields, given: Sequence[str] | None) -> FieldMask | None:
    """Which fields a correction takes.

    Without a mask the server takes every field that is set, and cannot tell "empty" from "not given". So one
    is sent when the caller names it, or when a value given is the empty one (no tags, not pinned, no end).
    """
    if given is not None:
        return FieldMask(paths=texts(given, "update_mask"))
    values: dict[str, object] = {
        name: value for name, value in fields.items() if name not in _ASSERTION_FIELDS and name in _MASKABLE
    }
    if statement is not None:
        values["text"] = statement
    if not any(_is_empty(value) for value in values.values()):
        return None
    structured = {"assertion"} if any(name in fields for name in _ASSERTION_FIELDS) else set()
    return FieldMask(paths=sorted(values.keys() | structured))


def _is_empty(value: object) -> bool:
    if value is None or value == "" or value == 0:  # False is 0 too
        return True
    return isinstance(value, Sequence) and not len(value)
