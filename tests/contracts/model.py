"""A naive model of one owner: it keeps the whole log and answers by scanning it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

import numpy as np

from memory_service.domain.ids import MemoryId, Revision
from memory_service.domain.memory import NO_EVIDENCE, MemoryHead, MemoryVersion, Usage
from memory_service.ports.memory_store import (
    Changeset,
    Fragment,
    MemoryFilter,
    OwnerState,
    SearchRow,
    SearchRows,
)

CURRENT = ("active", "contested")


def rounded(vector: np.ndarray) -> np.ndarray:
    """A vector at half precision."""
    return vector.astype(np.float16).astype(np.float32)


class NaiveOwner:
    """What a correct store would tell, worked out the slow way."""

    def __init__(self, state: OwnerState) -> None:
        self.state = state
        self.versions: list[MemoryVersion] = []
        self.usage: dict[MemoryId, Usage] = {}
        self.forgotten: set[MemoryId] = set()
        self.pieces: dict[tuple[MemoryId, int, int], Fragment] = {}
        self.vectors: dict[tuple[MemoryId, int, int, str], np.ndarray] = {}

    def apply(self, change: Changeset) -> None:
        """Follow a committed changeset."""
        self.state = change.state
        self.versions += change.versions
        self.usage.update(change.usage)
        for fragment in change.fragments:
            key = (fragment.memory_id, fragment.content_version, fragment.ordinal)
            self.pieces[key] = dataclasses.replace(fragment, model_id="", vector=None)
            if fragment.vector is not None:
                self.vectors[(*key, fragment.model_id)] = rounded(fragment.vector)
        self.forgotten |= set(change.forgotten)

    def store_vectors(self, fragments: Sequence[Fragment], revision: Revision) -> None:
        """Follow vectors stored later, after which the store was at `revision`."""
        for fragment in fragments:
            if fragment.memory_id not in self.forgotten and fragment.vector is not None:
                key = (fragment.memory_id, fragment.content_version, fragment.ordinal, fragment.model_id)
                self.vectors[key] = rounded(fragment.vector)
        self.state = dataclasses.replace(self.state, revision=revision)

    def access(self, accesses: Mapping[MemoryId, tuple[int, datetime]]) -> None:
        """Follow recorded accesses."""
        for memory_id, (count, moment) in accesses.items():
            if memory_id in self.ids():
                old = self.usage.get(memory_id, Usage())
                times = [t for t in (old.last_access_at, moment) if t is not None]
                self.usage[memory_id] = dataclasses.replace(
                    old, access_count=old.access_count + count, last_access_at=max(times)
                )

    def ids(self) -> set[MemoryId]:
        """Memories that have a head."""
        return {v.id for v in self.versions} - self.forgotten

    def chain(self, memory_id: MemoryId) -> list[MemoryVersion]:
        """Versions of a memory, oldest first (unredacted)."""
        return sorted((v for v in self.versions if v.id == memory_id), key=lambda v: v.version)

    def head(self, memory_id: MemoryId, version: MemoryVersion | None = None) -> MemoryHead:
        """A memory's head."""
        chain = self.chain(memory_id)
        usage = self.usage.get(memory_id, Usage())
        return MemoryHead(version or chain[-1], usage, chain[0].recorded_at)

    def heads(self, match: Callable[[MemoryHead], bool] = lambda head: True) -> list[MemoryHead]:
        """Heads that match, by (created_at, id)."""
        heads = [self.head(memory_id) for memory_id in self.ids()]
        return sorted((h for h in heads if match(h)), key=lambda h: (h.created_at, h.id))

    def row(self, head: MemoryHead, model_id: str) -> SearchRow:
        """A head with its fragments."""
        fragments = []
        for key in sorted(k for k in self.pieces if k[:2] == (head.id, head.current.content_version)):
            vector = self.vectors.get((*key, model_id))
            fragments.append(
                dataclasses.replace(self.pieces[key], model_id="" if vector is None else model_id, vector=vector)
            )
        bare = dataclasses.replace(head.current, evidence=NO_EVIDENCE)
        return SearchRow(dataclasses.replace(head, current=bare), fragments)

    def search_rows(self, model_id: str) -> SearchRows:
        """What a fresh snapshot is built from."""
        heads = self.heads(lambda h: h.current.status in CURRENT and h.current.tier != "archive")
        rows = [self.row(head, model_id) for head in heads]
        return SearchRows(self.state.revision, self.state.clock, rows)

    def as_of(self, model_id: str, valid_at: datetime | None, recorded_at: datetime | None) -> list[SearchRow]:
        """Every row of an as-of answer, newest recorded first (ties by id, falling)."""
        rows = []
        for memory_id in self.ids():
            known = [v for v in self.chain(memory_id) if recorded_at is None or v.recorded_at <= recorded_at]
            if not known or known[-1].status in ("retracted", "yielded"):
                continue
            believed = known[-1]
            if believed.status in CURRENT if valid_at is None else holds(believed, valid_at):
                rows.append(self.row(self.head(memory_id, believed), model_id))
        return sorted(rows, key=lambda r: (r.head.current.recorded_at, r.head.id), reverse=True)

    def believed(self, recorded_at: datetime, match: Callable[[MemoryHead], bool]) -> list[MemoryHead]:
        """Every memory that is still there, as it was believed at a time, where that matches."""
        heads = []
        for memory_id in self.ids():
            known = [v for v in self.chain(memory_id) if v.recorded_at <= recorded_at]
            if known:
                heads.append(self.head(memory_id, known[-1]))
        return sorted((h for h in heads if match(h)), key=lambda h: (h.created_at, h.id))

    def waiting(self, model_id: str) -> list[Fragment]:
        """Fragments of heads without a vector of the model."""
        return [
            self.pieces[key]
            for head in self.heads()
            for key in sorted(self.pieces)
            if key[:2] == (head.id, head.current.content_version) and (*key, model_id) not in self.vectors
        ]


def holds(version: MemoryVersion, moment: datetime) -> bool:
    """Whether a claim held at a moment."""
    begun = version.valid_from is None or version.valid_from <= moment
    ended = version.valid_to is not None and version.valid_to <= moment
    return begun and not ended


def matches(head: MemoryHead, where: MemoryFilter) -> bool:
    """A filter, read word by word."""
    v = head.current
    conditions: list[bool] = []
    for allowed, value in (
        (where.ids, v.id),
        (where.kinds, v.kind),
        (where.statuses, v.status),
        (where.tiers, v.tier),
        (where.sources, v.source),
        (where.topics, v.topic),
        (where.slots, v.slot),
        (where.subjects, v.assertion and v.assertion.subject),
        (where.predicates, v.assertion and v.assertion.predicate),
        (where.agents, v.provenance.agent),
        (where.devices, v.provenance.device),
        (where.sessions, v.provenance.session),
    ):
        if allowed:
            conditions.append(value in allowed)
    if where.tags_any:
        conditions.append(any(tag in where.tags_any for tag in v.tags))
    conditions.append(all(tag in v.tags for tag in where.tags_all))
    said = v.said_at or v.recorded_at
    if where.said_from:
        conditions.append(where.said_from <= said)
    if where.said_until:
        conditions.append(said < where.said_until)
    if where.valid_at:
        conditions.append(holds(v, where.valid_at))
    conditions.append(v.importance >= where.importance_min)
    conditions.append(v.confidence >= where.confidence_min)
    if where.visible_to_agent is not None and v.visibility == "private":
        conditions.append(v.provenance.agent == where.visible_to_agent)
    return all(conditions)


def compose(base: SearchRows, delta: SearchRows) -> SearchRows:
    """A base with a delta laid over it."""
    rows = {row.head.id: row for row in base.rows}
    for removed in delta.removed:
        rows.pop(removed, None)
    rows.update({row.head.id: row for row in delta.rows})
    ordered = sorted(rows.values(), key=lambda row: (row.head.created_at, row.head.id))
    return SearchRows(delta.revision, delta.clock, ordered)


def without_usage(rows: SearchRows) -> SearchRows:
    """Rows with their counters of use at zero: these change without a revision, so no delta tells of them."""
    plain_rows = [SearchRow(dataclasses.replace(row.head, usage=Usage()), row.fragments) for row in rows.rows]
    return dataclasses.replace(rows, rows=plain_rows)
