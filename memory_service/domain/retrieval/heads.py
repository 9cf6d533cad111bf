"""Memory heads by row: as objects, or as bytes that become objects when somebody asks for them.

A recall returns ten of a thousand memories, so a snapshot from the shared cache decodes only those. Heads to
search have no evidence (the stores leave it out of search rows): a recall reads confidence and support, and
whatever decides by evidence reads heads inside a change of the owner. `MemoryVersion.merged` says nothing of them.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, Final

import numpy as np

from memory_service.domain.ids import DeviceId, MemoryId, Revision
from memory_service.domain.memory import (
    Assertion,
    Kind,
    MemoryHead,
    MemoryVersion,
    Provenance,
    Source,
    Status,
    Tier,
    Usage,
    Visibility,
)
from memory_service.domain.retrieval.columns import Ints
from memory_service.domain.retrieval.times import from_microseconds, microseconds
from memory_service.domain.vector_clock import Dot, VectorClock

_OBJECT_BYTES: Final = 1_100
_CLOCK_ENTRY_BYTES: Final = 170
_STRING_BYTES: Final = 56


class HeadTable:
    """Heads by row number; None where a row is dead. Immutable, apart from decoding on demand."""

    __slots__ = ("_blob", "_ends", "_objects")

    def __init__(self, objects: Sequence[MemoryHead | None], blob: bytes = b"", ends: Ints | None = None) -> None:
        self._objects = list(objects)
        self._blob = blob
        self._ends = np.zeros(0, np.int64) if ends is None else ends

    def __len__(self) -> int:
        return len(self._objects)

    def __getitem__(self, row: int) -> MemoryHead:
        """The head of a live row.

        Raises:
            KeyError: the row is dead.
        """
        head = self._objects[row]
        if head is None:
            if row >= len(self._ends):
                raise KeyError(row)
            head = decode_head(self._packed(row))
            self._objects[row] = head
        return head

    def _packed(self, row: int) -> bytes:
        start = int(self._ends[row - 1]) if row else 0
        return self._blob[start : int(self._ends[row])]

    def extended(self, more: Iterable[MemoryHead], dead: Iterable[int]) -> HeadTable:
        """With heads appended and the dead rows' objects let go."""
        table = HeadTable([*self._objects, *more], self._blob, self._ends)
        for row in dead:
            table._objects[row] = None
        return table

    def replaced(self, heads: Iterable[tuple[int, MemoryHead]]) -> HeadTable:
        """With other heads in some rows."""
        table = HeadTable(self._objects, self._blob, self._ends)
        for row, head in heads:
            table._objects[row] = head
        return table

    def taken(self, rows: Iterable[int]) -> HeadTable:
        """The heads of these live rows, in this order; still packed ones are copied, not decoded."""
        objects: list[MemoryHead | None] = []
        packed: list[bytes] = []
        ends: list[int] = []
        size = 0
        for row in rows:
            head = self._objects[row]
            objects.append(head)
            if head is None:
                packed.append(self._packed(row))
                size += len(packed[-1])
            ends.append(size)
        return HeadTable(objects, b"".join(packed), np.asarray(ends, np.int64))

    def packed(self, rows: Iterable[int]) -> tuple[bytes, Ints]:
        """All these heads as bytes, with each one's end."""
        parts = []
        for row in rows:
            head = self._objects[row]
            parts.append(self._packed(row) if head is None else encode_head(head))
        return b"".join(parts), np.cumsum([len(part) for part in parts], dtype=np.int64)

    @property
    def packed_nbytes(self) -> int:
        """Bytes of what is still packed."""
        return len(self._blob) + self._ends.nbytes


def object_nbytes(head: MemoryHead) -> int:
    """About how many bytes a head takes as Python objects (CPython 3.11, 64 bit)."""
    current = head.current
    strings = (
        current.text,
        current.topic,
        current.slot,
        current.claim,
        current.reason,
        *current.tags,
        current.provenance.reference,
        current.provenance.session,
    )
    size = _OBJECT_BYTES + sum(string.__sizeof__() for string in strings)
    size += _CLOCK_ENTRY_BYTES * len(current.context)
    if current.assertion is not None:
        size += 4 * _STRING_BYTES + 2 * len(str(current.assertion.object))
    return size


def _time(at: datetime | None) -> int | None:
    return None if at is None else microseconds(at)


def _at(value: int | None) -> datetime | None:
    return None if value is None else from_microseconds(value)


def encode_head(head: MemoryHead) -> bytes:
    """A head as JSON in UTF-8: one array, fields in fixed order.

    `decode_head` gives an equal head, without its evidence if it had any.
    """
    v, u, p = head.current, head.usage, head.current.provenance
    statement = None if v.assertion is None else [v.assertion.subject, v.assertion.predicate, v.assertion.object]
    fields: list[Any] = [
        [v.id.hex, v.version, v.content_version, v.kind, v.text, v.topic, v.slot, v.claim, v.source],
        [v.confidence, v.importance, v.support, v.tier, v.status, microseconds(v.recorded_at)],
        [v.dot.device, v.dot.counter, dict(v.context), v.revision],
        [p.actor, p.device, p.agent, p.session, p.process, p.reference],
        statement,
        [
            list(v.tags),
            v.language,
            _time(v.valid_from),
            _time(v.valid_to),
            _time(v.expires_at),
            _time(v.said_at),
        ],
        [v.visibility, v.pinned, v.reason, v.redacted, v.disputed],
        [u.access_count, u.adopted_count, _time(u.last_access_at), _time(u.last_confirmed_at), u.rejected_count],
        _time(head.created_at),
    ]
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode()


def decode_head(packed: bytes) -> MemoryHead:
    """The head that `encode_head` packed.

    Raises:
        ValueError: not a packed head.
    """
    try:
        what, worth, cause, origin, statement, when, manner, usage, created = json.loads(packed)
        tags, language, valid_from, valid_to, expires, said = when
        visibility, pinned, reason, redacted, disputed = manner
        id_, version, content_version, kind, text, topic, slot, claim, source = what
        confidence, importance, support, tier, status, recorded = worth
        device, counter, context, revision = cause
        current = MemoryVersion(
            id=MemoryId(uuid.UUID(hex=id_)),
            version=version,
            content_version=content_version,
            kind=Kind(kind),
            text=text,
            topic=topic,
            slot=slot,
            claim=claim,
            source=Source(source),
            confidence=confidence,
            importance=importance,
            support=support,
            tier=Tier(tier),
            status=Status(status),
            recorded_at=from_microseconds(recorded),
            dot=Dot(DeviceId(device), counter),
            context=VectorClock(context),
            revision=Revision(revision),
            provenance=Provenance(*origin),
            assertion=None if statement is None else Assertion(*statement),
            tags=tuple(tags),
            language=language,
            valid_from=_at(valid_from),
            valid_to=_at(valid_to),
            expires_at=_at(expires),
            said_at=_at(said),
            visibility=Visibility(visibility),
            pinned=pinned,
            reason=reason,
            redacted=redacted,
            disputed=disputed,
        )
        used = Usage(usage[0], usage[1], _at(usage[2]), _at(usage[3]), usage[4])
        return MemoryHead(current, used, _at(created))
    except (TypeError, IndexError, KeyError) as error:
        raise ValueError("not a packed memory head") from error
