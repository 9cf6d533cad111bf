"""Statements, names and contexts that Write refuses."""

from __future__ import annotations

import math

from memory_service.v1 import types_pb2 as pb
from tests.acceptance.wrong import (
    DIMENSION,
    MARK,
    MAX,
    NEVER,
    NOBODYS,
    YEAR_0,
    Wrong,
    assertion,
    at,
    change,
    nested,
    recall,
    write,
)

WRONG_WRITES: list[Wrong] = [
    # Text
    write("no text", "FIELD_REQUIRED", "memory.text", text=""),
    write("only spaces", "FIELD_REQUIRED", "memory.text", text=" \t\n\u3000"),
    write("text too long", "FIELD_TOO_LONG", "memory.text", text="x" * 16_385),
    write("NUL in text", "TEXT_NOT_STORABLE", "memory.text", text=f"{MARK}\0"),
    write("NUL in topic", "TEXT_NOT_STORABLE", "memory.topic", topic=f"{MARK}\0"),
    write("NUL in tag", "TEXT_NOT_STORABLE", "memory.tags[1]", tags=["fine", f"{MARK}\0"]),
    write("empty tag", "FIELD_REQUIRED", "memory.tags[0]", tags=[""]),
    write("long tag", "FIELD_TOO_LONG", "memory.tags[0]", tags=["t" * 129]),
    write("33 tags", "FIELD_TOO_LONG", "memory.tags", tags=[f"tag{i}" for i in range(33)]),
    write("long topic", "FIELD_TOO_LONG", "memory.topic", topic="t" * 257),
    write("NUL in session", "TEXT_NOT_STORABLE", "memory.session", session=f"{MARK}\0"),
    write("long agent", "FIELD_TOO_LONG", "memory.agent", agent="a" * 257),
    write(
        "257 origins",
        "FIELD_TOO_LONG",
        "memory.derived_from",
        derived_from=[NOBODYS] * 257,
    ),
    write("origin that is no id", "FIELD_INVALID", "memory.derived_from", derived_from=[f"{MARK}-id"]),
    # Assertions
    write("unknown predicate", "UNKNOWN_PREDICATE", "memory.assertion.predicate", assertion=assertion(MARK, "x")),
    write("no predicate", "FIELD_REQUIRED", "memory.assertion.predicate", assertion=assertion("", MARK)),
    write("no subject", "FIELD_REQUIRED", "memory.assertion.subject", assertion=assertion("pet", MARK, "")),
    write(
        "no object", "FIELD_REQUIRED", "memory.assertion.object", assertion=pb.Assertion(subject="a", predicate="pet")
    ),
    write("empty object", "FIELD_REQUIRED", "memory.assertion.object", assertion=assertion("pet", "")),
    write("17 deep", "JSON_TOO_DEEP", "memory.assertion.object", assertion=assertion("pet", nested(17))),
    write("90 deep", "JSON_TOO_DEEP", "memory.assertion.object", assertion=assertion("pet", nested(45))),
    write(
        "NUL in object",
        "TEXT_NOT_STORABLE",
        "memory.assertion.object",
        assertion=assertion("pet", {"a": f"{MARK}\0"}),
    ),
    write(
        "NUL in object key", "TEXT_NOT_STORABLE", "memory.assertion.object", assertion=assertion("pet", {"\0": MARK})
    ),
    write("NaN in object", "FIELD_INVALID", "memory.assertion.object", assertion=assertion("pet", [math.nan])),
    write("infinity in object", "FIELD_INVALID", "memory.assertion.object", assertion=assertion("pet", [math.inf])),
    write("large object", "FIELD_TOO_LONG", "memory.assertion.object", assertion=assertion("pet", [MARK * 100] * 40)),
    write("wide object", "FIELD_TOO_LONG", "memory.assertion.object", assertion=assertion("pet", [0.5] * 20_000)),
    # Enums and numbers
    write("unknown kind", "UNKNOWN_KIND", "memory.kind", kind=77),
    write("negative kind", "UNKNOWN_KIND", "memory.kind", kind=-1),
    write("unknown source", "FIELD_INVALID", "memory.source", source=99),
    write("unknown visibility", "FIELD_INVALID", "memory.visibility", visibility=9),
    write("confidence above 1", "FIELD_OUT_OF_RANGE", "memory.confidence", confidence=1.01),
    write("confidence not a number", "FIELD_OUT_OF_RANGE", "memory.confidence", confidence=math.nan),
    write("importance below 0", "FIELD_OUT_OF_RANGE", "memory.importance", importance=-0.1),
    # Times
    write("year 0", "TIME_OUT_OF_RANGE", "memory.valid_from", valid_from=YEAR_0),
    write("year 33658", "TIME_OUT_OF_RANGE", "memory.expires_at", expires_at=NEVER),
    write("end of time", "TIME_OUT_OF_RANGE", "memory.said_at", said_at=at(MAX)),
    write("beginning of time", "TIME_OUT_OF_RANGE", "memory.said_at", said_at=at(-MAX - 1)),
    write("negative nanos", "TIME_OUT_OF_RANGE", "memory.valid_to", valid_to=at(5, -1)),
    write("a second of nanos", "TIME_OUT_OF_RANGE", "memory.valid_to", valid_to=at(5, 10**9)),
    write("first day", "TIME_OUT_OF_RANGE", "memory.valid_from", valid_from=at(-62_135_596_800)),
    write("ends before it begins", "TIME_OUT_OF_RANGE", "memory.valid_to", valid_from=at(10), valid_to=at(9)),
    write("no zone", "FIELD_INVALID", "memory.time_zone", time_zone=f"Mars/{MARK}"),
    write("zone by path", "FIELD_INVALID", "memory.time_zone", time_zone="../../../etc/passwd"),
    write("zone by absolute path", "FIELD_INVALID", "memory.time_zone", time_zone="/etc/localtime"),
    write("zone that is a folder", "FIELD_INVALID", "memory.time_zone", time_zone="Europe"),
    write("NUL in zone", "FIELD_INVALID", "memory.time_zone", time_zone="UTC\0"),
    write("endless zone", "FIELD_INVALID", "memory.time_zone", time_zone="A" * 5_000),
    # Vectors
    write("short vector", "VECTOR_DIMENSION_MISMATCH", "memory.embedding", embedding=[1.0, 2.0]),
    write("long vector", "VECTOR_DIMENSION_MISMATCH", "memory.embedding", embedding=[1.0] * (DIMENSION + 1)),
    write("zero vector", "VECTOR_INVALID", "memory.embedding", embedding=[0.0] * DIMENSION),
    write("NaN in vector", "VECTOR_INVALID", "memory.embedding", embedding=[math.nan] + [1.0] * (DIMENSION - 1)),
    write("infinity in vector", "VECTOR_INVALID", "memory.embedding", embedding=[math.inf] + [1.0] * (DIMENSION - 1)),
    recall("short query vector", "VECTOR_DIMENSION_MISMATCH", "query_embedding", query_embedding=[1.0]),
    recall("zero query vector", "VECTOR_INVALID", "query_embedding", query_embedding=[0.0] * DIMENSION),
    # Names and causality
    change("long request id", "FIELD_TOO_LONG", "request_id", request_id="r" * 129),
    change("NUL in request id", "TEXT_NOT_STORABLE", "request_id", request_id="r\0"),
    change("request id of another request", "REQUEST_ID_REUSED", "request_id", "ABORTED", request_id="one"),
    change(
        "dot of another change",
        "DEVICE_COUNTER_REUSED",
        "dot.counter",
        "ABORTED",
        dot=pb.Dot(device="phone", counter=1),
    ),
    change(
        "a gap", "DEVICE_COUNTER_GAP", "dot.counter", "FAILED_PRECONDITION", dot=pb.Dot(device="phone", counter=4)
    ),
    change(
        "a gap at once",
        "DEVICE_COUNTER_GAP",
        "dot.counter",
        "FAILED_PRECONDITION",
        dot=pb.Dot(device="new", counter=2),
    ),
    change(
        "counter of the end",
        "DEVICE_COUNTER_GAP",
        "dot.counter",
        "FAILED_PRECONDITION",
        dot=pb.Dot(device="d", counter=MAX),
    ),
    change("counter past 63 bits", "FIELD_OUT_OF_RANGE", "dot.counter", dot=pb.Dot(device="phone", counter=MAX + 1)),
    change("counter of 64 bits", "FIELD_OUT_OF_RANGE", "dot.counter", dot=pb.Dot(device="phone", counter=2**64 - 1)),
    change("counter of nobody", "FIELD_REQUIRED", "dot.device", dot=pb.Dot(counter=1)),
    change("a device of the service", "FIELD_INVALID", "dot.device", dot=pb.Dot(device="~server", counter=1)),
    change("long device", "FIELD_TOO_LONG", "dot.device", dot=pb.Dot(device="d" * 257)),
    change("NUL in device", "TEXT_NOT_STORABLE", "dot.device", dot=pb.Dot(device="d\0")),
    change(
        "5,000 devices",
        "CLOCK_TOO_LARGE",
        "context",
        context=pb.VectorClock(counters={f"d{i}": 1 for i in range(5_000)}),
    ),
    change(
        "clock past 63 bits", "FIELD_OUT_OF_RANGE", "context.counters", context=pb.VectorClock(counters={"d": 2**63})
    ),
    change(
        "nameless device in clock", "FIELD_REQUIRED", "context.counters", context=pb.VectorClock(counters={"": 1})
    ),
    change("NUL in clock", "TEXT_NOT_STORABLE", "context.counters", context=pb.VectorClock(counters={"d\0": 1})),
    change(
        "context from the future",
        "CONTEXT_FROM_FUTURE",
        "context",
        "FAILED_PRECONDITION",
        context=pb.VectorClock(counters={"phone": 99}),
    ),
]
