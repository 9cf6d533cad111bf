"""How wrong requests are written down: what is sent, and what is said of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from google.protobuf import struct_pb2, timestamp_pb2
from google.protobuf.message import Message

from memory_service.adapters.embedders.hashing import HASH_MODEL
from memory_service.v1 import memory_service_pb2 as api
from memory_service.v1 import types_pb2 as pb

MARK = "quokka"
"""In every wrong text, and nowhere else: it must be in no message and no log."""
DIMENSION = HASH_MODEL.dimension
MAX = 2**63 - 1
NOBODYS = "6b2f6f1e-3c3e-4a55-9d0a-0f5e4c1b7a99"
"""An id of nothing."""


@dataclass(frozen=True, slots=True)
class Known:
    """One user's memories, which every wrong request is about."""

    user: str
    memory: pb.Memory
    token: str
    page_token: str
    context: pb.VectorClock
    session: str = ""


def assertion(predicate: str, value: object, subject: str = "user") -> pb.Assertion:
    return pb.Assertion(subject=subject, predicate=predicate, object=json(value))


def json(value: object) -> struct_pb2.Value:
    if isinstance(value, str):
        return struct_pb2.Value(string_value=value)
    if isinstance(value, float):
        return struct_pb2.Value(number_value=value)
    if isinstance(value, list):
        return struct_pb2.Value(list_value=struct_pb2.ListValue(values=[json(item) for item in value]))
    assert isinstance(value, dict)
    fields = {key: json(item) for key, item in value.items()}
    return struct_pb2.Value(struct_value=struct_pb2.Struct(fields=fields))


def nested(depth: int) -> list[object]:
    value: list[object] = [MARK]
    for _ in range(depth - 1):
        value = [value]
    return value


def at(seconds: int, nanos: int = 0) -> timestamp_pb2.Timestamp:
    return timestamp_pb2.Timestamp(seconds=seconds, nanos=nanos)


YEAR_0 = at(-62_167_219_200 - 86_400 * 400)
NEVER = at(10**12)
Build = Callable[[Known], Message]


@dataclass(frozen=True, slots=True)
class Wrong:
    """A wrong request and what is said of it; `field` is what the error names."""

    name: str
    rpc: str
    build: Build
    reason: str
    field: str
    code: str = "INVALID_ARGUMENT"


def write(name: str, reason: str, field: str, **given: object) -> Wrong:
    """A Write of a wrong statement."""
    statement = {"text": f"{MARK} text", **given}
    return Wrong(
        name,
        "Write",
        lambda k: api.WriteRequest(user=k.user, memory=pb.MemoryInput(**statement)),  # type: ignore[arg-type]
        reason,
        field,
    )


def change(name: str, reason: str, field: str, code: str = "INVALID_ARGUMENT", **given: object) -> Wrong:
    """A Write of a good statement under wrong names or contexts."""
    return Wrong(
        name,
        "Write",
        lambda k: api.WriteRequest(
            user=k.user,
            memory=pb.MemoryInput(text=f"{MARK} text"),
            **{key: value(k) if callable(value) else value for key, value in given.items()},  # type: ignore[arg-type]
        ),
        reason,
        field,
        code,
    )


def recall(name: str, reason: str, field: str, **given: object) -> Wrong:
    """A wrong Recall."""
    return Wrong(
        name,
        "Recall",
        lambda k: api.RecallRequest(user=k.user, **{"query": MARK, **given}),  # type: ignore[arg-type]
        reason,
        field,
    )


def listing(name: str, reason: str, field: str, **given: object) -> Wrong:
    """A wrong ListMemories."""
    return Wrong(name, "ListMemories", lambda k: api.ListMemoriesRequest(user=k.user, **given), reason, field)  # type: ignore[arg-type]


def correct(name: str, why: str, where: str, code: str = "INVALID_ARGUMENT", **given: object) -> Wrong:
    """A wrong Correct of the known memory."""

    def build(k: Known) -> Message:
        request: dict[str, object] = {"memory_id": k.memory.id, "memory": pb.MemoryInput(text=f"{MARK} text")}
        return api.CorrectRequest(user=k.user, **{n: v for n, v in (request | given).items() if v is not None})  # type: ignore[arg-type]

    return Wrong(name, "Correct", build, why, where, code)


def forget(name: str, why: str, where: str, code: str = "INVALID_ARGUMENT", **given: object) -> Wrong:
    """A wrong Forget."""
    return Wrong(name, "Forget", lambda k: api.ForgetRequest(user=k.user, **given), why, where, code)  # type: ignore[arg-type]


def feedback(name: str, why: str, where: str, *items: tuple[str, int]) -> Wrong:
    def request(k: Known) -> Message:
        told = [api.MemoryFeedback(memory_id=i or k.memory.id, outcome=n) for i, n in items]  # type: ignore[arg-type]
        return api.RecordFeedbackRequest(user=k.user, items=told)

    return Wrong(name, "RecordFeedback", request, why, where)


def by_id(rpc: str, value: str, reason: str, code: str = "INVALID_ARGUMENT") -> Wrong:
    """A memory id that is none."""
    kinds: dict[str, Any] = {
        "GetMemory": api.GetMemoryRequest,
        "GetHistory": api.GetHistoryRequest,
        "Rollback": api.RollbackRequest,
        "Unmerge": api.UnmergeRequest,
    }
    extra = {"version": 1} if rpc == "Rollback" else {}
    return Wrong(
        f"{rpc} of id {value[:12]!r}",
        rpc,
        lambda k: kinds[rpc](user=k.user, memory_id=value, **extra),
        reason,
        "memory_id",
        code,
    )


def user(name: str, value: str, reason: str) -> Wrong:
    """A user that cannot be one."""
    return Wrong(f"user: {name}", "Prewarm", lambda _: api.PrewarmRequest(user=value), reason, "user")
