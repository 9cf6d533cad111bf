"""From the database's rows to the domain's values. Read by position: this is the hot part of a load."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

import asyncpg
import numpy as np
from numpy.typing import NDArray

from memory_service.adapters.postgres.columns import NO_EVIDENCE, USAGE_COLUMNS, VERSION_COLUMNS
from memory_service.domain.evidence import Attestation, Evidence, Retirement
from memory_service.domain.ids import DeviceId, MemoryId, Revision, TenantId, UserId
from memory_service.domain.memory import (
    Assertion,
    Kind,
    MemoryHead,
    MemoryVersion,
    Provenance,
    Relation,
    Source,
    Status,
    Tier,
    Usage,
    Visibility,
)
from memory_service.domain.vector_clock import Dot, VectorClock
from memory_service.ports.keys import ApiKey, Role
from memory_service.ports.memory_store import (
    Changed,
    ChangeRecord,
    DeviceRecord,
    Fragment,
    JournalEntry,
    JournalEvent,
    Link,
    OwnerState,
    StoredOutcome,
    Tombstone,
    TombstoneScope,
)

Record = asyncpg.Record
Row = Sequence[Any]
"""A record of a statement in `sql.py`, read by position."""

_VERSION_WIDTH = len(VERSION_COLUMNS)
_HEAD_WIDTH = _VERSION_WIDTH + len(USAGE_COLUMNS) + 1
_CHANGED_HEAD_AT = 2
_DECODER = json.JSONDecoder()
_KINDS = {k.value: k for k in Kind}
_SOURCES = {s.value: s for s in Source}
_TIERS = {t.value: t for t in Tier}
_STATUSES = {s.value: s for s in Status}
_VISIBILITIES = {v.value: v for v in Visibility}
_NOTHING = Evidence()
_DIGEST_BYTES = 32
_HEADER_BYTES = 4
"""halfvec on the wire: two bytes of dimension, two unused, then big-endian float16 values."""


def halfvec_of(vector: NDArray[np.float32]) -> bytes:
    """A vector of shape (dimension,) in halfvec's wire form."""
    return len(vector).to_bytes(2, "big") + b"\0\0" + vector.astype(">f2").tobytes()


def pass_halfvec(wire: bytes | memoryview) -> bytes:
    """The codec, both ways: the driver carries the wire form, `fragments_of` converts many at once.

    (The driver would also take a numpy array inside a parameter array for a nested array.)
    """
    return bytes(wire)


def _vectors_of(encoded: Sequence[bytes]) -> list[NDArray[np.float32]]:
    """float32 vectors of halfvec wire forms; those of equal length share one array (and one conversion)."""
    if not encoded:
        return []
    if len({len(item) for item in encoded}) > 1:
        return [vector for item in encoded for vector in _vectors_of([item])]
    flat = np.frombuffer(b"".join(encoded), dtype=">f2").reshape(len(encoded), -1)
    matrix = flat[:, _HEADER_BYTES // 2 :].astype(np.float32)
    matrix.setflags(write=False)
    return list(matrix)


def _utc(moment: datetime | None) -> datetime | None:
    """The driver gives the ends of time without a zone."""
    return moment if moment is None or moment.tzinfo is not None else moment.replace(tzinfo=UTC)


@lru_cache(maxsize=4_096)
def clock_of(text: str) -> VectorClock:
    """A clock from its JSON. Cached: what one request or batch wrote had seen the same."""
    return VectorClock(json.loads(text))


def _json_of(text: str) -> Any:
    """A value from JSON that `columns.json_text` wrote (no space around it)."""
    return _DECODER.raw_decode(text)[0]


def evidence_of(text: str) -> Evidence:
    """Evidence from what `columns.evidence_text` wrote; attestations are stored in order."""
    if text == NO_EVIDENCE:
        return _NOTHING
    return Evidence(tuple(Attestation(*fields) for fields in json.loads(text)))


def state_of(row: Row) -> OwnerState:
    """An owner's state from the columns of `sql.STATE`."""
    revision, clock, salt, memory_count, frozen_kinds = row
    return OwnerState(
        Revision(revision), clock_of(clock), salt, memory_count, frozenset(Kind(k) for k in frozen_kinds)
    )


def version_of(row: Row) -> MemoryVersion:
    """A version from values in the order of `VERSION_COLUMNS`."""
    (
        memory_id, version, content_version, kind, text, topic, slot, claim, source, confidence, importance,
        support, tier, status, recorded_at, dot_device, dot_counter, context, revision,
        actor, device, agent, session, process, reference, subject, predicate, value,
        tags, language, valid_from, valid_to, expires_at, said_at, visibility, pinned, reason, redacted,
        evidence, disputed,
    ) = row  # fmt: skip
    return MemoryVersion(
        id=memory_id,
        version=version,
        content_version=content_version,
        kind=_KINDS[kind],
        text=text,
        topic=topic,
        slot=slot,
        claim=claim,
        source=_SOURCES[source],
        confidence=confidence,
        importance=importance,
        support=support,
        tier=_TIERS[tier],
        status=_STATUSES[status],
        recorded_at=recorded_at if recorded_at.tzinfo else recorded_at.replace(tzinfo=UTC),
        dot=Dot(dot_device, dot_counter),
        context=clock_of(context),
        revision=revision,
        provenance=Provenance(actor, device, agent, session, process, reference),
        assertion=None if predicate is None else Assertion(subject, predicate, _json_of(value)),
        tags=tuple(tags),
        language=language,
        valid_from=_utc(valid_from),
        valid_to=_utc(valid_to),
        expires_at=_utc(expires_at),
        said_at=_utc(said_at),
        visibility=_VISIBILITIES[visibility],
        pinned=pinned,
        reason=reason,
        redacted=redacted,
        evidence=evidence_of(evidence),
        disputed=disputed,
    )


def head_of(record: Record) -> MemoryHead:
    """A head from version columns, usage columns and created_at."""
    return _head(tuple(record))


def _head(row: Row) -> MemoryHead:
    accesses, adopted, last_access_at, last_confirmed_at, rejected, created_at = row[_VERSION_WIDTH:_HEAD_WIDTH]
    usage = Usage(accesses, adopted, _utc(last_access_at), _utc(last_confirmed_at), rejected)
    # Rows to search come without the last column: nothing cold is among them.
    cold = len(row) > _HEAD_WIDTH and row[_HEAD_WIDTH]
    return MemoryHead(version_of(row[:_VERSION_WIDTH]), usage, _utc(created_at), cold)


def fragments_of(records: Sequence[Record]) -> list[Fragment]:
    """Fragments from rows of the columns of `sql.FRAGMENTS`, in their order."""
    vectors = iter(_vectors_of([row[6] for row in records if row[6] is not None]))
    return [
        Fragment(
            memory_id=row[0],
            content_version=row[1],
            ordinal=row[2],
            text=row[3],
            terms=tuple(row[4]),
            model_id=row[5],
            vector=None if row[6] is None else next(vectors),
        )
        for row in records
    ]


def without_waiting_twins(fragments: Sequence[Fragment]) -> list[Fragment]:
    """Leave out fragments that wait when the same piece has a vector; one memory's, in order of ordinal."""
    if len(fragments) < 2:
        return list(fragments)
    by_piece: dict[int, list[Fragment]] = {}
    for fragment in fragments:
        by_piece.setdefault(fragment.ordinal, []).append(fragment)
    return [
        fragment
        for ordinal in sorted(by_piece)
        for fragment in ([f for f in by_piece[ordinal] if f.vector is not None] or by_piece[ordinal][:1])
    ]


def outcome_of(row: Row) -> StoredOutcome:
    """A stored outcome from the columns of `sql.OUTCOME_OF_DOT`."""
    operation, request_id, device, counter, digest, outcome, revision, at = row
    return StoredOutcome(
        operation=operation,
        request_id=request_id,
        dot=Dot(DeviceId(device), counter),
        payload_digest=digest,
        outcome=_json_of(outcome),
        revision=Revision(revision),
        at=at,
    )


def tombstone_of(row: Row) -> Tombstone:
    """A tombstone from the columns of `sql.TOMBSTONES`."""
    scope, digest, device, counter, context, at, revision, claims = row
    return Tombstone(
        TombstoneScope(scope),
        digest,
        Dot(DeviceId(device), counter),
        clock_of(context),
        at,
        Revision(revision),
        tuple(claims[i : i + _DIGEST_BYTES] for i in range(0, len(claims), _DIGEST_BYTES)),
    )


def change_of(row: Row) -> ChangeRecord:
    """A change from the columns of `sql.CHANGES_SINCE`."""
    revision, device, counter, operation, actor, agent, at = row
    return ChangeRecord(Revision(revision), Dot(DeviceId(device), counter), operation, actor, agent, at)


def changed_of(record: Record) -> Changed:
    """A memory that changed, from the columns of `sql.CHANGED`."""
    row = tuple(record)
    head = None if row[_CHANGED_HEAD_AT] is None else _head(row[_CHANGED_HEAD_AT:])
    return Changed(Revision(row[0]), MemoryId(row[1]), head)


def device_of(row: Row) -> DeviceRecord:
    """A device from the columns of `sql.DEVICES`."""
    device, counter, last_seen, retired_counter, fold = row
    retirement = None if fold is None else Retirement(retired_counter, fold)
    return DeviceRecord(DeviceId(device), counter, _utc(last_seen), retirement)


def link_of(row: Row) -> Link:
    """A link from (from_id, relation, to_id)."""
    return Link(MemoryId(row[0]), Relation(row[1]), MemoryId(row[2]))


def journal_entry_of(row: Row) -> JournalEntry:
    """A journal entry from the columns of `sql.JOURNAL`."""
    revision, ordinal, event, memory_id, version, at, actor, device, reason, before, after, details = row
    return JournalEntry(
        revision=Revision(revision),
        ordinal=ordinal,
        event=JournalEvent(event),
        memory_id=MemoryId(memory_id),
        version=version,
        at=at,
        actor=actor,
        device=device,
        reason=reason,
        before=before,
        after=after,
        details=_json_of(details),
    )


def key_of(row: Row) -> ApiKey:
    """An API key from the columns of `api_keys`."""
    key_id, tenant, name, prefix, digest, roles, users, created_at, expires_at, revoked_at = row
    return ApiKey(
        id=key_id,
        tenant=TenantId(tenant),
        name=name,
        prefix=prefix,
        digest=digest,
        roles=frozenset(Role(role) for role in roles),
        users=frozenset(UserId(user) for user in users),
        created_at=created_at,
        expires_at=_utc(expires_at),
        revoked_at=_utc(revoked_at),
    )
