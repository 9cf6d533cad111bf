"""Everything kept of one owner, and how a change is written into it."""

from __future__ import annotations

import bisect
import copy
import json
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from memory_service.adapters.inmemory.cold import ColdFiles
from memory_service.adapters.inmemory.log import ChangeLog
from memory_service.adapters.inmemory.values import (
    half_precision,
    own_assertion,
    redacted,
    stored_at_utc,
    stored_usage,
    stored_version,
    utc,
)
from memory_service.domain.errors import InternalError, Reason
from memory_service.domain.ids import MemoryId, Revision
from memory_service.domain.memory import (
    CURRENT_STATUSES,
    NO_EVIDENCE,
    STANDING_STATUSES,
    Kind,
    MemoryHead,
    MemoryVersion,
    Relation,
    Tier,
    Usage,
)
from memory_service.domain.records import ASSERTION_ORDINAL
from memory_service.domain.reuse import Interval, bucket_of
from memory_service.domain.vector_clock import Dot, VectorClock
from memory_service.ports.memory_store import (
    Changed,
    Changeset,
    Fragment,
    JournalEntry,
    JournalEvent,
    Link,
    OwnerState,
    SearchRow,
    StoredOutcome,
    Tombstone,
    TombstoneScope,
)
from memory_service.ports.snapshots import NO_REVISION

_PageKey = tuple[datetime, MemoryId]


@dataclass
class _Piece:
    """One fragment's text and its vectors by model."""

    text: str
    terms: tuple[str, ...]
    vectors: dict[str, NDArray[np.float32]] = field(default_factory=dict)


@dataclass
class StoredMemory:
    """One memory: all its versions; `changed` is the revision that last changed what a recall sees of it."""

    id: MemoryId
    created_at: datetime
    versions: list[MemoryVersion] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    changed: Revision = NO_REVISION
    forgotten: bool = False
    cold: str = ""
    """The file of cold storage it lies in; "" while it is hot."""
    pieces: dict[int, dict[int, _Piece]] = field(default_factory=dict)

    @property
    def page_key(self) -> _PageKey:
        return (self.created_at, self.id)

    @property
    def searchable(self) -> bool:
        """Whether it belongs in a snapshot."""
        if self.forgotten:
            return False
        newest = self.versions[-1]
        return newest.status in CURRENT_STATUSES and newest.tier is not Tier.ARCHIVE

    def head(self, version: MemoryVersion | None = None) -> MemoryHead:
        """The head, or the memory as it was at `version`."""
        return MemoryHead(own_assertion(version or self.versions[-1]), self.usage, self.created_at, bool(self.cold))

    def row(self, model_id: str, version: MemoryVersion | None = None) -> SearchRow:
        """The head (or an older version), without its evidence, with the fragments of its text."""
        head = self.head(version)
        head = replace(head, cold=False)
        if head.current.evidence:
            head = replace(head, current=replace(head.current, evidence=NO_EVIDENCE))
        pieces = self.pieces.get(head.current.content_version, {})
        fragments = tuple(
            self._fragment(head.current.content_version, ordinal, piece, model_id)
            for ordinal, piece in sorted(pieces.items())
        )
        return SearchRow(head, fragments)

    def waiting(self, model_id: str) -> Iterator[Fragment]:
        """Fragments of the present text without a vector of the model."""
        if self.forgotten:
            return
        content_version = self.versions[-1].content_version
        for ordinal, piece in sorted(self.pieces.get(content_version, {}).items()):
            if model_id not in piece.vectors:
                yield self._fragment(content_version, ordinal, piece, "")

    @property
    def unembedded(self) -> bool:
        """Whether a fragment of the present text has no vector at all."""
        pieces = self.pieces.get(self.versions[-1].content_version, {}).values()
        return not self.forgotten and any(not piece.vectors for piece in pieces)

    def fragments(self, content_version: int) -> Iterator[Fragment]:
        """Fragments of one text; one for each model where several have a vector of it."""
        for ordinal, piece in sorted(self.pieces.get(content_version, {}).items()):
            for model_id in sorted(piece.vectors) or [""]:
                yield self._fragment(content_version, ordinal, piece, model_id)

    def all_fragments(self) -> Iterator[Fragment]:
        """Fragments of all texts, for each model."""
        for content_version in sorted(self.pieces):
            yield from self.fragments(content_version)

    def idle_since(self, moment: datetime) -> bool:
        """Whether it is archived and was neither changed nor used at or after a time."""
        newest = self.versions[-1]
        used = self.usage.last_access_at or newest.recorded_at
        return newest.tier is Tier.ARCHIVE and newest.recorded_at < moment and used < moment

    @property
    def reworded(self) -> bool:
        """Whether it is searched by other words than its own."""
        texts = {v.content_version: v.text for v in self.versions}
        whole = (p for v, p in self.pieces.items() if 0 in p and p[0].text == texts.get(v))
        return any(len(pieces.keys() - {ASSERTION_ORDINAL}) > 1 for pieces in whole)

    def _fragment(self, content_version: int, ordinal: int, piece: _Piece, model_id: str) -> Fragment:
        vector = piece.vectors.get(model_id)
        return Fragment(
            memory_id=self.id,
            content_version=content_version,
            ordinal=ordinal,
            text=piece.text,
            terms=piece.terms,
            model_id="" if vector is None else model_id,
            vector=vector,
        )


def _bug(message: str) -> InternalError:
    return InternalError(Reason.INTERNAL, message)


class OwnerData:
    """One owner's memories. Nothing here awaits, so every method is atomic for the event loop."""

    def __init__(self) -> None:
        self.state = OwnerState(Revision(0), VectorClock(), b"")
        self._memories: dict[MemoryId, StoredMemory] = {}
        self._order: list[_PageKey] = []
        self._slots: defaultdict[str, set[MemoryId]] = defaultdict(set)
        self._claims: defaultdict[str, set[MemoryId]] = defaultdict(set)
        self._links: set[Link] = set()
        self.log = ChangeLog()
        self._journal: defaultdict[MemoryId, list[JournalEntry]] = defaultdict(list)
        self._tombstones: defaultdict[bytes, list[Tombstone]] = defaultdict(list)
        self._by_request: dict[str, StoredOutcome] = {}
        self._by_dot: dict[Dot, StoredOutcome] = {}
        self.cold = ColdFiles()
        self._intervals: Counter[tuple[Kind, str, int]] = Counter()

    # Reading -----------------------------------------------------------------------------------------------

    def memory(self, memory_id: MemoryId) -> StoredMemory | None:
        """The memory that has a head, None when it never existed or was forgotten."""
        memory = self._memories.get(memory_id)
        return None if memory is None or memory.forgotten else memory

    def in_order(self, after: _PageKey | None = None) -> Iterator[StoredMemory]:
        """Memories with a head, by (created_at, id), strictly after `after`."""
        start = 0 if after is None else bisect.bisect_right(self._order, after)
        for _, memory_id in self._order[start:]:
            yield self._memories[memory_id]

    def in_slots(self, slots: Iterable[str]) -> list[MemoryHead]:
        """Heads of current status in these slots, oldest first."""
        return self._heads_by(self._slots, slots, standing_only=True)

    def of_claims(self, claims: Iterable[str], *, standing_only: bool) -> list[MemoryHead]:
        """Heads with these claims, oldest first."""
        return self._heads_by(self._claims, claims, standing_only=standing_only)

    def _heads_by(
        self, index: Mapping[str, set[MemoryId]], keys: Iterable[str], *, standing_only: bool
    ) -> list[MemoryHead]:
        found = {memory_id for key in set(keys) for memory_id in index.get(key, ())}
        memories = sorted((self._memories[i] for i in found), key=lambda memory: memory.page_key)
        return [m.head() for m in memories if not standing_only or m.versions[-1].status in STANDING_STATUSES]

    def versions(self, memory_id: MemoryId) -> list[MemoryVersion]:
        """All versions, oldest first."""
        memory = self._memories.get(memory_id)
        return [] if memory is None else [own_assertion(version) for version in memory.versions]

    def sessions(self, head: MemoryHead) -> int:
        """In how many distinct sessions the statements were made that stand behind a memory."""
        dots = {attestation.dot for attestation in head.current.evidence}
        versions = self._memories[head.id].versions
        return len({v.provenance.session for v in versions if v.dot in dots} - {""})

    def changed_since(self, revision: Revision) -> Iterator[StoredMemory]:
        """Memories changed after `revision`, forgotten ones included, by (created_at, id)."""
        changed = [memory for memory in self._memories.values() if memory.changed > revision]
        return iter(sorted(changed, key=lambda memory: memory.page_key))

    def links(self, memory_id: MemoryId) -> list[Link]:
        """Links from and to a memory, in a stable order."""
        touching = (link for link in self._links if memory_id in (link.from_id, link.to_id))
        return sorted(touching, key=lambda link: (link.from_id, link.relation, link.to_id))

    def linked(self, ids: Iterable[MemoryId], relation: Relation) -> list[Link]:
        """Links of this relation from or to any of `ids`, in a stable order."""
        wanted = set(ids)
        found = (k for k in self._links if k.relation is relation and (k.from_id in wanted or k.to_id in wanted))
        return sorted(found, key=lambda link: (link.from_id, link.to_id))

    def versions_at(self, revisions: Iterable[Revision]) -> list[MemoryVersion]:
        """Versions of these revisions, of memories that have a head, by (revision, id, version)."""
        wanted = set(revisions)
        alive = (self._memories[memory_id] for _, memory_id in self._order)
        found = [own_assertion(v) for memory in alive for v in memory.versions if v.revision in wanted]
        return sorted(found, key=lambda v: (v.revision, v.id, v.version))

    def changed(self, after: tuple[Revision, MemoryId] | None, limit: int) -> list[Changed]:
        """Memories by (revision that last changed them, id), strictly after `after`."""
        keys = sorted((memory.changed, memory.id) for memory in self._memories.values())
        start = 0 if after is None else bisect.bisect_right(keys, after)
        heads = ((revision, self._memories[memory_id]) for revision, memory_id in keys[start : start + limit])
        return [Changed(revision, m.id, None if m.forgotten else m.head()) for revision, m in heads]

    def derivatives(self, ids: Iterable[MemoryId]) -> list[MemoryId]:
        """Sources of DERIVED_FROM links to `ids` and targets of MERGED_INTO links from them."""
        wanted = set(ids)
        derived = {k.from_id for k in self._links if k.relation is Relation.DERIVED_FROM and k.to_id in wanted}
        merged = {k.to_id for k in self._links if k.relation is Relation.MERGED_INTO and k.from_id in wanted}
        return sorted(derived | merged)

    def journal(self, memory_id: MemoryId) -> list[JournalEntry]:
        """Journal entries of a memory, oldest first."""
        return _told(self._journal.get(memory_id, ()))

    def journal_since(self, after: Revision, until: Revision) -> list[JournalEntry]:
        """Journal entries of revisions after `after` up to `until`; `OutOfRange` when changes were dropped."""
        self.log.require(after)
        return _told(e for entries in self._journal.values() for e in entries if after < e.revision <= until)

    def tombstones(self, digests: Iterable[bytes]) -> list[Tombstone]:
        """Tombstones with these digests."""
        return [stone for digest in dict.fromkeys(digests) for stone in self._tombstones.get(digest, ())]

    def forgotten_wordings(self) -> list[Tombstone]:
        """Tombstones of wordings, newest first."""
        stones = (stone for found in self._tombstones.values() for stone in found)
        wordings = [stone for stone in stones if stone.scope is TombstoneScope.WORDING]
        return sorted(wordings, key=lambda stone: stone.revision, reverse=True)

    def outcome_of_request(self, request_id: str) -> StoredOutcome | None:
        """The stored outcome of a request id."""
        return _copied(self._by_request.get(request_id))

    def outcome_of_dot(self, dot: Dot) -> StoredOutcome | None:
        """The stored outcome of a dot."""
        return _copied(self._by_dot.get(dot))

    # Writing -----------------------------------------------------------------------------------------------

    def check(self, changeset: Changeset) -> None:
        """Raise `InternalError` for a changeset that `write` could not take whole; changes nothing."""
        if changeset.state.revision <= self.state.revision:
            raise _bug("a change must raise the owner's revision")
        expected: dict[MemoryId, int] = {}
        for version in changeset.versions:
            memory = self._memories.get(version.id)
            if memory is not None and memory.forgotten:
                raise _bug("a forgotten memory takes no new version")
            last = expected.get(version.id, len(memory.versions) if memory else 0)
            if version.version != last + 1:
                raise _bug("versions of a memory must follow each other without gap")
            expected[version.id] = version.version
        for memory_id in changeset.thawed:
            cold = self.memory(memory_id)
            if cold is None or not cold.cold:
                raise _bug("a change brings a memory back that is not in cold storage")
        for named in (
            *(fragment.memory_id for fragment in changeset.fragments),
            *(memory_id for memory_id, _ in changeset.unsaid),
            *changeset.usage,
            *changeset.forgotten,
        ):
            if named not in self._memories and named not in expected:
                raise _bug("a change names a memory that does not exist")
        self._check_outcomes(changeset.outcomes)

    def _check_outcomes(self, outcomes: Sequence[StoredOutcome]) -> None:
        dots = [outcome.dot for outcome in outcomes]
        requests = [outcome.request_id for outcome in outcomes if outcome.request_id]
        if len(set(dots)) < len(dots) or any(dot in self._by_dot for dot in dots):
            raise _bug("a dot has one outcome")
        if len(set(requests)) < len(requests) or any(r in self._by_request for r in requests):
            raise _bug("a request has one outcome")

    def write(self, changeset: Changeset) -> None:
        """Write a changeset that `prepared` made and `check` let pass."""
        revision = changeset.state.revision
        for memory_id in changeset.thawed:
            self._thaw(self._memories[memory_id])
        for version in changeset.versions:
            self._append(version, revision)
        for memory_id, usage in changeset.usage.items():
            self._memories[memory_id].usage = usage
            self._memories[memory_id].changed = revision
        for fragment in changeset.fragments:
            self._put_fragment(fragment, revision)
        for memory_id, text in changeset.unsaid:
            self._unsay(self._memories[memory_id], text, revision)
        self._links.update(changeset.links)
        for entry in changeset.journal:
            self._journal[entry.memory_id].append(entry)
        for stone in changeset.tombstones:
            self._tombstones[stone.digest].append(stone)
        for memory_id in changeset.forgotten:
            self._forget(self._memories[memory_id], revision)
        for outcome in changeset.outcomes:
            self._by_dot[outcome.dot] = outcome
            if outcome.request_id:
                self._by_request[outcome.request_id] = outcome
        self.log.write(self.state, changeset)
        self.state = changeset.state

    def _append(self, version: MemoryVersion, revision: Revision) -> None:
        memory = self._memories.get(version.id)
        if memory is None:
            memory = StoredMemory(version.id, version.recorded_at)
            self._memories[version.id] = memory
            bisect.insort(self._order, memory.page_key)
        else:
            self._unindex(memory)
        memory.versions.append(version)
        memory.changed = revision
        self._slots[version.slot].add(version.id)
        self._claims[version.claim].add(version.id)

    def _unindex(self, memory: StoredMemory) -> None:
        newest = memory.versions[-1]
        for index, key in ((self._slots, newest.slot), (self._claims, newest.claim)):
            index[key].discard(memory.id)
            if not index[key]:
                del index[key]

    def _put_fragment(self, fragment: Fragment, revision: Revision) -> None:
        memory = self._memories[fragment.memory_id]
        pieces = memory.pieces.setdefault(fragment.content_version, {})
        piece = pieces.setdefault(fragment.ordinal, _Piece(fragment.text, fragment.terms))
        piece.text, piece.terms = fragment.text, fragment.terms
        if fragment.vector is not None:
            piece.vectors[fragment.model_id] = fragment.vector
        memory.changed = revision

    @staticmethod
    def _unsay(memory: StoredMemory, text: str, revision: Revision) -> None:
        for pieces in memory.pieces.values():
            for ordinal in [number for number, piece in pieces.items() if piece.text == text]:
                del pieces[ordinal]
        memory.changed = revision

    def _forget(self, memory: StoredMemory, revision: Revision) -> None:
        self._journal[memory.id] = [
            entry if entry.event is JournalEvent.FORGOTTEN else replace(entry, reason="")
            for entry in self._journal[memory.id]
        ]
        if memory.forgotten:
            return
        self._unindex(memory)
        position = bisect.bisect_left(self._order, memory.page_key)
        del self._order[position]
        memory.forgotten = True
        memory.changed = revision
        memory.versions = [redacted(version) for version in memory.versions]
        memory.usage = Usage()
        memory.pieces.clear()
        self._thaw(memory)
        self._links = {link for link in self._links if memory.id not in (link.from_id, link.to_id)}

    def _thaw(self, memory: StoredMemory) -> None:
        if memory.cold:
            self.cold.drop(memory.cold, memory.id)
            memory.cold = ""

    def freeze(self, file: str, versions: Mapping[MemoryId, int]) -> list[MemoryId]:
        """See `MemoryStore.freeze`."""
        moved: list[MemoryId] = []
        for memory_id, version in versions.items():
            memory = self.memory(memory_id)
            newest = memory.versions[-1] if memory is not None and not memory.cold else None
            if memory is None or newest is None or newest.version != version or newest.tier is not Tier.ARCHIVE:
                self.cold.put(file, memory_id, gone=True)
                continue
            memory.pieces.clear()
            memory.cold = file
            self.cold.put(file, memory_id, gone=False)
            moved.append(memory_id)
        return moved

    def refile(self, old: str, new: str, without: Sequence[MemoryId]) -> int:
        """See `MemoryStore.refile`."""
        moved = self.cold.move(old, new, without)
        for memory_id in moved:
            memory = self.memory(memory_id)
            if memory is not None and memory.cold == old:
                memory.cold = new
        return len(moved)

    def record_access(self, memory_id: MemoryId, count: int, at: datetime, predicates: Collection[str]) -> None:
        """Add `count` accesses, the last of them at `at`; the interval counts under a predicate of `predicates`."""
        memory = self.memory(memory_id)
        if memory is None:
            return
        before = memory.usage.last_access_at
        bucket = None if before is None else bucket_of((utc(at) - before).total_seconds())
        if bucket is not None:
            current = memory.head().current
            predicate = current.assertion.predicate if current.assertion else ""
            self._intervals[current.kind, predicate if predicate in predicates else "", bucket] += 1
        latest = utc(at) if before is None else max(before, utc(at))
        memory.usage = replace(memory.usage, access_count=memory.usage.access_count + count, last_access_at=latest)

    def intervals(self) -> list[Interval]:
        """How long memories lay unused before they were recalled again."""
        return [Interval(*key, count) for key, count in self._intervals.items()]

    def store_vectors(self, fragments: Iterable[Fragment]) -> None:
        """Keep vectors of fragments that still exist, under the next revision; no change when none does."""
        kept: list[tuple[StoredMemory, _Piece, Fragment, NDArray[np.float32]]] = []
        for fragment in fragments:
            memory = self.memory(fragment.memory_id)
            pieces = {} if memory is None else memory.pieces.get(fragment.content_version, {})
            piece = pieces.get(fragment.ordinal)
            if (
                memory is not None
                and piece is not None
                and piece.text == fragment.text
                and fragment.vector is not None
            ):
                kept.append((memory, piece, fragment, half_precision(fragment.vector)))
        if not kept:
            return
        revision = Revision(self.state.revision + 1)
        for memory, piece, fragment, vector in kept:
            piece.vectors[fragment.model_id] = vector
            memory.changed = revision
        self.state = replace(self.state, revision=revision)


def prepared(changeset: Changeset) -> Changeset:
    """`changeset` as it will be kept: nothing shared with the caller, times in UTC, vectors rounded."""
    return Changeset(
        state=changeset.state,
        versions=[stored_version(version) for version in changeset.versions],
        usage={memory_id: stored_usage(usage) for memory_id, usage in changeset.usage.items()},
        fragments=[
            replace(
                fragment,
                terms=tuple(fragment.terms),
                vector=None if fragment.vector is None else half_precision(fragment.vector),
            )
            for fragment in changeset.fragments
        ],
        links=list(changeset.links),
        journal=[replace(stored_at_utc(e), details=dict(e.details)) for e in changeset.journal],
        tombstones=[stored_at_utc(stone) for stone in changeset.tombstones],
        forgotten=list(changeset.forgotten),
        unsaid=list(changeset.unsaid),
        outcomes=[replace(stored_at_utc(o), outcome=copy.deepcopy(dict(o.outcome))) for o in changeset.outcomes],
        changes=[stored_at_utc(change) for change in changeset.changes],
        retired=dict(changeset.retired),
        thawed=list(changeset.thawed),
        jobs=[replace(request, data=json.loads(json.dumps(dict(request.data)))) for request in changeset.jobs],
    )


def _told(entries: Iterable[JournalEntry]) -> list[JournalEntry]:
    """Copies, in order."""
    ordered = sorted(entries, key=lambda entry: (entry.revision, entry.ordinal))
    return [replace(entry, details=dict(entry.details)) for entry in ordered]


def _copied(outcome: StoredOutcome | None) -> StoredOutcome | None:
    return None if outcome is None else replace(outcome, outcome=copy.deepcopy(dict(outcome.outcome)))
