"""Small ways to make records, and to compare what comes back with what went in."""

from __future__ import annotations

import dataclasses
import json
import uuid
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from enum import Enum

import numpy as np

from memory_service.domain.ids import DeviceId, MemoryId, OwnerKey, Revision, TenantId, UserId
from memory_service.domain.memory import (
    Kind,
    MemoryVersion,
    Provenance,
    Source,
    Status,
    Tier,
)
from memory_service.domain.vector_clock import Dot, VectorClock
from memory_service.ports.memory_store import (
    ChangeRecord,
    Changeset,
    Fragment,
    JournalEntry,
    JournalEvent,
    MemoryFilter,
    MemoryStore,
    OwnerState,
    StoredOutcome,
)

START = datetime(2026, 3, 1, 12, 0, 0, 123456, tzinfo=UTC)
SALT = bytes(range(32))
MODEL = "test:model:8:v1"
OTHER_MODEL = "test:other:8:v1"
DIMENSION = 8
EVERYTHING = MemoryFilter()


def new_owner() -> OwnerKey:
    """An owner that nobody has used yet."""
    return OwnerKey(TenantId(f"tenant-{uuid.uuid4()}"), UserId("user"))


def new_id() -> MemoryId:
    """A fresh memory id."""
    return MemoryId(uuid.uuid4())


def at(seconds: float) -> datetime:
    """`seconds` after the start of all tests."""
    return START + timedelta(seconds=seconds)


def version(memory_id: MemoryId, number: int = 1, **fields: object) -> MemoryVersion:
    """A plain version; `fields` override."""
    defaults: dict[str, object] = {
        "id": memory_id,
        "version": number,
        "content_version": number,
        "kind": Kind.FACT,
        "text": f"text {number}",
        "topic": "topic",
        "slot": "slot",
        "claim": "claim",
        "source": Source.EXPLICIT,
        "confidence": 0.95,
        "importance": 0.5,
        "support": 1,
        "tier": Tier.LONG_TERM,
        "status": Status.ACTIVE,
        "recorded_at": at(number),
        "dot": Dot(DeviceId("device"), number),
        "context": VectorClock(),
        "revision": Revision(number),
        "provenance": Provenance("actor"),
    }
    return MemoryVersion(**{**defaults, **fields})  # type: ignore[arg-type]


def vector(seed: int) -> np.ndarray:
    """A unit vector of DIMENSION, the same for the same seed."""
    values = np.random.default_rng(seed).normal(size=DIMENSION).astype(np.float32)
    return values / np.float32(np.linalg.norm(values))


def fragment(of: MemoryVersion, ordinal: int = 0, *, model_id: str = MODEL, seed: int | None = 1) -> Fragment:
    """A fragment of a version's text, without a vector when `seed` is None."""
    return Fragment(
        memory_id=of.id,
        content_version=of.content_version,
        ordinal=ordinal,
        text=f"{of.text} #{ordinal}",
        terms=("term", "term", str(ordinal)),
        model_id="" if seed is None else model_id,
        vector=None if seed is None else vector(seed),
    )


def entry(of: MemoryVersion, ordinal: int = 0, event: JournalEvent = JournalEvent.CREATED) -> JournalEntry:
    """A journal entry for a version."""
    return JournalEntry(
        revision=of.revision,
        ordinal=ordinal,
        event=event,
        memory_id=of.id,
        version=of.version,
        at=of.recorded_at,
        actor="actor",
        device="device",
        reason="because",
        before="active",
        after="active",
        details={"whole": 3, "part": 0.25, "word": "x", "yes": True},
    )


def outcome(dot: Dot, request_id: str, revision: int, **fields: object) -> StoredOutcome:
    """An outcome; `fields` override."""
    defaults: dict[str, object] = {
        "operation": "write",
        "request_id": request_id,
        "dot": dot,
        "payload_digest": bytes(32),
        "outcome": {"effects": [{"id": "x", "version": 1}], "revision": revision},
        "revision": Revision(revision),
        "at": at(revision),
    }
    return StoredOutcome(**{**defaults, **fields})  # type: ignore[arg-type]


def next_state(state: OwnerState, dot: Dot | None = None, **fields: object) -> OwnerState:
    """The state one change later."""
    clock = state.clock if dot is None else state.clock.including(dot)
    changed = dataclasses.replace(state, revision=Revision(state.revision + 1), clock=clock, salt=state.salt or SALT)
    return dataclasses.replace(changed, **fields)  # type: ignore[arg-type]


def change(dot: Dot, revision: int, **fields: object) -> ChangeRecord:
    """The record of a change; `fields` override."""
    defaults: dict[str, object] = {"operation": "write", "actor": "actor", "agent": "agent", "at": at(revision)}
    return ChangeRecord(Revision(revision), dot, **{**defaults, **fields})  # type: ignore[arg-type]


async def commit(store: MemoryStore, owner: OwnerKey, build: Callable[[OwnerState], Changeset]) -> Revision:
    """Apply what `build` makes of the state; the new revision."""
    async with store.change(owner) as change:
        changeset = build(change.state)
        await change.apply(changeset)
    return changeset.state.revision


async def write(store: MemoryStore, owner: OwnerKey, *versions: MemoryVersion, **fields: object) -> Revision:
    """Commit versions with one fragment each (unless given), stamped with the revision they get."""

    def build(state: OwnerState) -> Changeset:
        after = next_state(state)
        stamped = [dataclasses.replace(v, revision=after.revision) for v in versions]
        extra: dict[str, object] = {"fragments": [fragment(v) for v in stamped], **fields}
        return Changeset(state=after, versions=stamped, **extra)  # type: ignore[arg-type]

    return await commit(store, owner, build)


def plain(value: object) -> object:
    """A value as nested tuples that compare by content: JSON by value, vectors by bits, times in UTC."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, datetime):
        assert value.utcoffset() == timedelta(), f"{value!r} is not in UTC"
        return value.isoformat()
    if isinstance(value, np.ndarray):
        assert value.dtype == np.float32
        return (value.shape, value.tobytes())
    if dataclasses.is_dataclass(value):
        return tuple(
            (f.name, json_plain(getattr(value, f.name)) if f.name in {"object", "outcome", "details"}
             else plain(getattr(value, f.name)))
            for f in dataclasses.fields(value)
        )  # fmt: skip
    if isinstance(value, Mapping):
        return tuple(sorted((str(key), plain(item)) for key, item in value.items()))
    if isinstance(value, (set, frozenset)):
        return tuple(sorted(map(repr, map(plain, value))))
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        return tuple(plain(item) for item in value)
    return value


def json_plain(value: object) -> object:
    """JSON by value: booleans apart from numbers, numbers by what they are worth, arrays in order."""
    if isinstance(value, Mapping):
        return ("object", tuple(sorted((key, json_plain(item)) for key, item in value.items())))
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ("array", tuple(json_plain(item) for item in value))
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return json.dumps(value)
    return ("number", value)


async def dump(store: MemoryStore, owner: OwnerKey, ids: Sequence[MemoryId]) -> dict[str, object]:
    """Everything that the reading methods tell of an owner and of these memories."""
    told: dict[str, object] = {
        "state": plain(await store.state(owner)),
        "list": plain(await store.list(owner, EVERYTHING, limit=1000)),
        "rows": plain(await store.search_rows(owner, MODEL)),
        "delta": plain(await store.search_rows_since(owner, MODEL, Revision(0))),
        "as_of": plain(await store.search_rows_as_of(owner, MODEL, valid_at=at(5), recorded_at=None, limit=1000)),
        "as_of_recorded": plain(
            await store.search_rows_as_of(owner, MODEL, valid_at=None, recorded_at=at(10**6), limit=1000)
        ),
        "waiting": plain(await store.waiting_fragments(owner, OTHER_MODEL, limit=1000)),
    }
    for memory_id in ids:
        told[f"get {memory_id}"] = plain(await store.get(owner, memory_id))
        told[f"links {memory_id}"] = plain(await store.links(owner, memory_id))
        told[f"history {memory_id}"] = plain(await store.history(owner, memory_id))
        told[f"journal {memory_id}"] = plain(await store.journal(owner, memory_id))
        async with store.change(owner) as change:
            told[f"heads {memory_id}"] = plain(await change.heads([memory_id]))
            told[f"versions {memory_id}"] = plain(await change.versions(memory_id))
            for content_version in range(1, 6):
                told[f"fragments {memory_id} {content_version}"] = plain(
                    await change.fragments(memory_id, content_version)
                )
    return told
