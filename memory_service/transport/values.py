"""Between protobuf's basic values and Python's: times, JSON, clocks, enums."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from google.protobuf import struct_pb2
from google.protobuf.timestamp_pb2 import Timestamp

from memory_service.domain.errors import InvalidInput, Reason
from memory_service.domain.ids import DeviceId
from memory_service.domain.memory import JsonValue, Kind, Relation, Source, Status, Tier, Visibility
from memory_service.domain.standing import Standing
from memory_service.domain.vector_clock import COUNTER_MAX, Dot, VectorClock
from memory_service.v1 import types_pb2 as pb

EnumT = TypeVar("EnumT")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

KINDS = {pb.Kind.Value(f"KIND_{k.name}"): k for k in Kind}
SOURCES = {pb.Source.Value(f"SOURCE_{s.name}"): s for s in Source}
TIERS = {pb.Tier.Value(f"TIER_{t.name}"): t for t in Tier}
STATUSES = {pb.Status.Value(f"STATUS_{s.name}"): s for s in Status}
VISIBILITIES = {pb.Visibility.Value(f"VISIBILITY_{v.name}"): v for v in Visibility}
STANDINGS = {pb.Standing.Value(f"STANDING_{s.name}"): s for s in Standing}
RELATIONS = {pb.Relation.Value(f"RELATION_{r.name}"): r for r in Relation}


def inverse(table: Mapping[int, EnumT]) -> dict[EnumT, int]:
    """The table from domain values to protobuf numbers."""
    return {value: number for number, value in table.items()}


def enum_in(table: Mapping[int, EnumT], number: int, field: str) -> EnumT | None:
    """The domain value of an enum number; None for UNSPECIFIED.

    Raises:
        InvalidInput: UNKNOWN_KIND, or FIELD_INVALID for other enums, when the number is not known.
    """
    if number == 0:
        return None
    found = table.get(number)
    if found is None:
        reason = Reason.UNKNOWN_KIND if table is KINDS else Reason.FIELD_INVALID
        raise InvalidInput(reason, f"{field} has no value {number}", field=field, metadata={"actual": str(number)})
    return found


def enums_in(table: Mapping[int, EnumT], numbers: Sequence[int], field: str) -> frozenset[EnumT]:
    """The domain values of a list of enum numbers, UNSPECIFIED left out."""
    found = (enum_in(table, number, field) for number in numbers)
    return frozenset(value for value in found if value is not None)


def time_in(message: Timestamp, field: str) -> datetime:
    """A time in UTC, to the microsecond.

    Raises:
        InvalidInput: TIME_OUT_OF_RANGE when it is not a time that Python and PostgreSQL hold.
    """
    try:
        if not 0 <= message.nanos < 1_000_000_000:
            raise ValueError("nanos out of range")
        return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(
            seconds=message.seconds, microseconds=message.nanos // 1000
        )
    except (ValueError, OverflowError) as error:
        raise InvalidInput(
            Reason.TIME_OUT_OF_RANGE, f"{field} is not a time between year 1 and 9999", field=field
        ) from error


def time_out(value: datetime | None) -> Timestamp | None:
    """A protobuf time; None for None."""
    if value is None:
        return None
    # By hand: protobuf's own way through the calendar takes several times as long, and an answer has hundreds.
    since = value - _EPOCH
    return Timestamp(seconds=since.days * 86_400 + since.seconds, nanos=since.microseconds * 1_000)


def json_in(value: struct_pb2.Value) -> JsonValue:
    """JSON from protobuf. Whole numbers become integers: protobuf has only doubles."""
    which = value.WhichOneof("kind")
    if which == "number_value":
        number = value.number_value
        return int(number) if number.is_integer() and abs(number) <= 2**53 else number
    if which == "string_value":
        return value.string_value
    if which == "bool_value":
        return value.bool_value
    if which == "struct_value":
        return {key: json_in(item) for key, item in value.struct_value.fields.items()}
    if which == "list_value":
        return [json_in(item) for item in value.list_value.values]
    return None


def json_out(value: JsonValue) -> struct_pb2.Value:
    """Protobuf from JSON."""
    if value is None:
        return struct_pb2.Value(null_value=struct_pb2.NULL_VALUE)
    if isinstance(value, bool):
        return struct_pb2.Value(bool_value=value)
    if isinstance(value, str):
        return struct_pb2.Value(string_value=value)
    if isinstance(value, int | float):
        return struct_pb2.Value(number_value=float(value))
    if isinstance(value, Mapping):
        fields = {key: json_out(item) for key, item in value.items()}
        return struct_pb2.Value(struct_value=struct_pb2.Struct(fields=fields))
    return struct_pb2.Value(list_value=struct_pb2.ListValue(values=[json_out(item) for item in value]))


def counter_in(value: int, field: str) -> int:
    """A change number that the store holds.

    Raises:
        InvalidInput: FIELD_OUT_OF_RANGE above 2^63 - 1.
    """
    if value > COUNTER_MAX:
        raise InvalidInput(
            Reason.FIELD_OUT_OF_RANGE,
            f"{field} must be at most {COUNTER_MAX}",
            field=field,
            metadata={"minimum": "0", "maximum": str(COUNTER_MAX)},
        )
    return value


def clock_in(message: pb.VectorClock, field: str = "context") -> VectorClock:
    """A vector clock; its size is checked by the use case."""
    return VectorClock(
        {DeviceId(device): counter_in(counter, f"{field}.counters") for device, counter in message.counters.items()}
    )


def clock_out(clock: VectorClock) -> pb.VectorClock:
    """Protobuf of a vector clock."""
    return pb.VectorClock(counters={str(device): counter for device, counter in clock.items()})


def dot_out(dot: Dot | None) -> pb.Dot | None:
    """Protobuf of a dot; None for None."""
    return pb.Dot(device=dot.device, counter=dot.counter) if dot else None
