"""The columns of a memory version and how Python values become parameters: one list for both directions."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime

from memory_service.domain.errors import InvalidInput, Reason
from memory_service.domain.evidence import Evidence
from memory_service.domain.memory import MemoryVersion
from memory_service.domain.vector_clock import VectorClock

_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
NO_EVIDENCE = "[]"
"""`evidence_text` of none."""


def json_text(value: object) -> str:
    """Compact JSON that reads back as the same value (Python writes the shortest text that does).

    Raises:
        InvalidInput: nested too deep, or a number that JSON cannot hold (NaN, infinity, over 4,300 digits).
    """
    try:
        return _ENCODER.encode(value)
    except RecursionError as error:
        raise InvalidInput(Reason.JSON_TOO_DEEP, "the JSON value is nested too deeply") from error
    except ValueError as error:
        raise InvalidInput(Reason.FIELD_INVALID, "the value cannot be written as JSON") from error


def clock_text(clock: VectorClock) -> str:
    """A clock as a JSON object of device to counter."""
    return _ENCODER.encode(dict(clock))


def evidence_text(evidence: Evidence) -> str:
    """Evidence as a JSON array of [device, counter, confidence, count]."""
    if not evidence:
        return NO_EVIDENCE
    return _ENCODER.encode([(a.device, a.counter, a.confidence, a.count) for a in evidence])


def array_literal(items: Iterable[str]) -> str:
    """`items` as the text of a PostgreSQL text[]; arrays of arrays cannot be ragged, so lists travel so."""
    return "{" + ",".join('"' + i.replace("\\", "\\\\").replace('"', '\\"') + '"' for i in items) + "}"


@dataclass(frozen=True, slots=True)
class Column:
    """A column of `memory_versions` and `memories`.

    Attributes:
        wire: type of one element of the parameter array that carries the column.
        cast: SQL cast from the wire type to the column's type, "" when they are one.
    """

    name: str
    wire: str
    get: Callable[[MemoryVersion], object]
    cast: str = ""


def _object(version: MemoryVersion) -> str | None:
    return None if version.assertion is None else json_text(version.assertion.object)


def _time(name: str) -> Column:
    def get(version: MemoryVersion) -> datetime | None:
        moment: datetime | None = getattr(version, name)
        return moment

    return Column(name, "timestamptz", get)


def _text(name: str) -> Column:
    def get(version: MemoryVersion) -> str:
        return str(getattr(version, name))

    return Column(name, "text", get)


def _origin(name: str) -> Column:
    def get(version: MemoryVersion) -> str:
        return str(getattr(version.provenance, name))

    return Column(name, "text", get)


VERSION_COLUMNS: tuple[Column, ...] = (
    Column("memory_id", "uuid", lambda v: v.id),
    Column("version", "int4", lambda v: v.version),
    Column("content_version", "int4", lambda v: v.content_version),
    *(_text(name) for name in ("kind", "text", "topic", "slot", "claim", "source")),
    Column("confidence", "float8", lambda v: v.confidence),
    Column("importance", "float8", lambda v: v.importance),
    Column("support", "int8", lambda v: v.support),
    _text("tier"),
    _text("status"),
    _time("recorded_at"),
    Column("dot_device", "text", lambda v: v.dot.device),
    Column("dot_counter", "int8", lambda v: v.dot.counter),
    Column("context", "text", lambda v: clock_text(v.context), "::json"),
    Column("revision", "int8", lambda v: v.revision),
    *(_origin(name) for name in ("actor", "device", "agent", "session", "process", "reference")),
    Column("subject", "text", lambda v: None if v.assertion is None else v.assertion.subject),
    Column("predicate", "text", lambda v: None if v.assertion is None else v.assertion.predicate),
    Column("object", "text", _object, "::json"),
    Column("tags", "text", lambda v: array_literal(v.tags), "::text[]"),
    _text("language"),
    *(_time(name) for name in ("valid_from", "valid_to", "expires_at", "said_at")),
    _text("visibility"),
    Column("pinned", "bool", lambda v: v.pinned),
    _text("reason"),
    Column("redacted", "bool", lambda v: v.redacted),
    Column("evidence", "text", lambda v: evidence_text(v.evidence), "::json"),
    Column("disputed", "bool", lambda v: v.disputed),
)
"""In the order in which `rows.version_of` reads them."""

USAGE_COLUMNS = ("access_count", "adopted_count", "last_access_at", "last_confirmed_at", "rejected_count")
