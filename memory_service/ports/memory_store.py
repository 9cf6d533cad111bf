"""The port to long-term memory: one owner at a time, all of a change or nothing of it.

Contract, for every backend (held by the suite in `tests/contracts/`):

* **Serial per owner.** `change(owner)` gives exclusive use of that owner's memories until it is left; other
  owners never wait for it. Reads inside it see the newest committed state.
* **All or nothing, then durable.** Leaving `change` normally commits what `apply` was given; leaving it with
  an exception, a cancellation or a crash leaves no trace. Once it has been left normally the change survives
  kill -9 of any process (for the durable backends).
* **Work that follows** (`Changeset.jobs`) is in the backend's `JobQueue` when, and only when, the change is
  committed.
* **One apply.** `apply` is called at most once in a change. Its revision is `state.revision + 1` for a change
  or greater when several are committed together; readers see revisions in order, without gaps.
* **One owner.** No method returns, counts or changes anything of another owner, whatever ids it is given.
* **Errors.** `Unavailable(DATABASE_UNAVAILABLE)` when the backend is away or out of connections,
  `LimitExceeded(STORAGE_FULL)` when it cannot store more, `DeadlineExceeded` when a statement ran out of
  time. Driver errors never leave the adapter. An unknown owner is not an error: it is empty at revision 0.
* **Values** come back equal to what was stored: text to the code point, JSON to the value (integers beyond
  2^53 and floats included), times to the microsecond in UTC, vectors to half precision (float16).
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from memory_service.domain.ids import DeviceId, MemoryId, OwnerKey, Revision
from memory_service.domain.memory import MemoryHead, MemoryVersion, Relation
from memory_service.domain.records import (
    ChangeRecord,
    Changeset,
    ColdFile,
    DeviceRecord,
    Fragment,
    JobRequest,
    JournalEntry,
    JournalEvent,
    Link,
    MemoryFilter,
    OwnerState,
    SearchRow,
    SearchRows,
    StoredOutcome,
    Tombstone,
    TombstoneScope,
)
from memory_service.domain.retention import Idle
from memory_service.domain.reuse import Interval
from memory_service.domain.vector_clock import Dot, VectorClock

__all__ = [
    "ChangeRecord",
    "Changed",
    "Changeset",
    "ColdFile",
    "DeviceRecord",
    "Fragment",
    "Idle",
    "JobRequest",
    "JournalEntry",
    "JournalEvent",
    "Link",
    "MemoryFilter",
    "MemoryStore",
    "OwnerChange",
    "OwnerState",
    "OwnersBehind",
    "Page",
    "SearchRow",
    "SearchRows",
    "StoredOutcome",
    "Tombstone",
    "TombstoneScope",
    "Writer",
]


@dataclass(frozen=True, slots=True)
class Writer:
    """Whose changes: those with this device, this agent and this credential, where given (B9)."""

    device: str = ""
    agent: str = ""
    actor: str = ""


@dataclass(frozen=True, slots=True)
class Changed:
    """A memory as it stands after `revision` changed it; `head` is None when it was forgotten."""

    revision: Revision
    memory_id: MemoryId
    head: MemoryHead | None


@dataclass(frozen=True, slots=True)
class Page:
    """One page of heads in order of (created_at, id); `after` is the last key of the page before."""

    heads: Sequence[MemoryHead]
    next_after: tuple[datetime, MemoryId] | None


@dataclass(frozen=True, slots=True)
class OwnersBehind:
    """Of `looked` owners those that have something to embed; `next_after` is None behind the last of all owners."""

    owners: Sequence[OwnerKey]
    looked: int
    next_after: uuid.UUID | None


class OwnerChange(Protocol):
    """Exclusive use of one owner's memories; see the module's contract."""

    @property
    def state(self) -> OwnerState:
        """The owner's state at the start of the change."""
        ...

    async def outcome_of_request(self, request_id: str) -> StoredOutcome | None:
        """The answer already given to this request id, if any."""
        ...

    async def outcome_of_dot(self, dot: Dot) -> StoredOutcome | None:
        """The answer already given to this dot, if any."""
        ...

    async def heads_in_slots(self, slots: Sequence[str]) -> Sequence[MemoryHead]:
        """Heads of standing status (active, contested, yielded) in these slots, any tier, oldest first."""
        ...

    async def heads_of_claims(self, claims: Sequence[str], *, standing_only: bool = True) -> Sequence[MemoryHead]:
        """Heads of these claims, any tier, oldest first; of standing status unless `standing_only` is False."""
        ...

    async def heads(self, ids: Sequence[MemoryId]) -> Sequence[MemoryHead]:
        """The heads with these ids that exist, any status, in no particular order."""
        ...

    async def select(self, where: MemoryFilter, *, limit: int) -> Sequence[MemoryHead]:
        """Up to `limit` heads that match, oldest first."""
        ...

    async def versions(self, memory_id: MemoryId) -> Sequence[MemoryVersion]:
        """Every version of a memory, oldest first; empty when there is none."""
        ...

    async def tombstones(self, digests: Sequence[bytes]) -> Sequence[Tombstone]:
        """Tombstones with one of these digests."""
        ...

    async def forgotten_wordings(self, *, limit: int) -> Sequence[Tombstone]:
        """Tombstones of scope WORDING, newest first, at most `limit`."""
        ...

    async def fragments(self, memory_id: MemoryId, content_version: int) -> Sequence[Fragment]:
        """Fragments stored for one text of a memory, in order."""
        ...

    async def derivatives(self, ids: Sequence[MemoryId]) -> Sequence[MemoryId]:
        """Memories that stand in `derived_from` or whose sources were merged from any of `ids`, one step away.

        That is: every `from_id` of a DERIVED_FROM link to one of `ids`, and every `to_id` of a MERGED_INTO link
        from one of `ids`.
        """
        ...

    async def linked(self, ids: Sequence[MemoryId], relation: Relation) -> Sequence[Link]:
        """Links of this relation from or to any of `ids`, each once."""
        ...

    async def devices(self, names: Sequence[DeviceId]) -> Mapping[DeviceId, DeviceRecord]:
        """What is known of these devices, retired ones included; devices never heard of are left out."""
        ...

    async def idle_devices(self, *, limit: int) -> Sequence[DeviceRecord]:
        """Devices that are not retired, least recently seen first (never seen before all), then by name."""
        ...

    async def changes_by(self, writer: Writer, since: datetime) -> Sequence[ChangeRecord]:
        """Changes that a writer made at or after `since`, oldest first."""
        ...

    async def changes_at(self, revisions: Sequence[Revision]) -> Sequence[ChangeRecord]:
        """The changes that made these revisions, oldest first."""
        ...

    async def versions_at(self, revisions: Sequence[Revision]) -> Sequence[MemoryVersion]:
        """Versions made by these revisions, of memories that still have a head, by (revision, id, version)."""
        ...

    async def observed(
        self, *, sessions_min: int, limit: int, except_about: Collection[str] = ()
    ) -> Sequence[tuple[MemoryHead, int]]:
        """Standing candidates stated in at least `sessions_min` distinct sessions, with how many; oldest first.

        Those whose predicate (or topic, without one) is in `except_about` are left out.
        A session counts when a statement made in it is among the memory's evidence; no session at all does not.
        """
        ...

    async def contested(self, *, unchanged_since: datetime, limit: int) -> Sequence[MemoryHead]:
        """Contested heads out of the archive, recorded at or before `unchanged_since`, by (recorded_at, id)."""
        ...

    async def apply(self, changeset: Changeset) -> None:
        """Stage the change; it is committed when the context is left."""
        ...


class MemoryStore(Protocol):
    """Long-term memory of all owners; see the module's contract."""

    def change(self, owner: OwnerKey) -> AbstractAsyncContextManager[OwnerChange]:
        """Exclusive use of `owner`'s memories for one commit."""
        ...

    async def state(self, owner: OwnerKey) -> OwnerState:
        """The committed state; revision 0 and an empty salt for an owner without history."""
        ...

    async def get(self, owner: OwnerKey, memory_id: MemoryId) -> MemoryHead | None:
        """The head, whatever its status; None when there is none."""
        ...

    async def links(self, owner: OwnerKey, memory_id: MemoryId) -> Sequence[Link]:
        """Links from and to a memory."""
        ...

    async def list(
        self,
        owner: OwnerKey,
        where: MemoryFilter,
        *,
        limit: int,
        after: tuple[datetime, MemoryId] | None = None,
        recorded_at: datetime | None = None,
    ) -> Page:
        """Heads that match, in (created_at, id) order, at most `limit`, strictly after `after`.

        With `recorded_at` each memory is taken, matched and returned as the newest version recorded no later; those
        that had none then are left out, and so are forgotten ones.
        """
        ...

    async def successors(
        self, owner: OwnerKey, ids: Sequence[MemoryId], recorded_at: datetime | None = None
    ) -> Mapping[MemoryId, MemoryId]:
        """Which memory took the place of each of these; those that nothing replaced are left out.

        Of several the one created last (then the greatest id) counts, of those created no later than `recorded_at`
        and not retracted since.
        """
        ...

    async def idle(
        self, owner: OwnerKey, where: Idle, *, limit: int, after: tuple[datetime, MemoryId] | None = None
    ) -> Page:
        """Heads for which `where.holds`, in (created_at, id) order, at most `limit`, strictly after `after`."""
        ...

    async def history(self, owner: OwnerKey, memory_id: MemoryId) -> Sequence[MemoryVersion]:
        """Every version of a memory, oldest first, redacted ones included; empty when it never existed."""
        ...

    async def journal(self, owner: OwnerKey, memory_id: MemoryId) -> Sequence[JournalEntry]:
        """The state changes of one memory, oldest first."""
        ...

    async def search_rows(self, owner: OwnerKey, model_id: str) -> SearchRows:
        """All current memories (status active or contested, tier not archive) with their fragments.

        Fragments of `model_id` carry their vector; fragments without a vector of that model carry None.
        """
        ...

    async def search_rows_since(self, owner: OwnerKey, model_id: str, revision: Revision) -> SearchRows:
        """What changed after `revision`: rows changed and still current, ids that are no longer."""
        ...

    async def search_rows_as_of(
        self,
        owner: OwnerKey,
        model_id: str,
        *,
        valid_at: datetime | None,
        recorded_at: datetime | None,
        limit: int,
    ) -> SearchRows:
        """Versions believed at `recorded_at` (newest when None) that held at `valid_at` (any when None).

        Of each memory the newest version with `recorded_at` not after the given one is taken; retracted,
        yielded and redacted ones are left out; superseded ones are kept, since they may have held at `valid_at`; with
        `valid_at` None only current statuses are kept. At most `limit` rows, newest recorded first.
        """
        ...

    async def changes_since(self, owner: OwnerKey, revision: Revision, *, limit: int) -> Sequence[ChangeRecord]:
        """The first `limit` changes after `revision`, in order of revision.

        Raises:
            OutOfRange: CURSOR_TOO_OLD when changes after `revision` were pruned; metadata `oldest`.
        """
        ...

    async def journal_since(self, owner: OwnerKey, after: Revision, until: Revision) -> Sequence[JournalEntry]:
        """Journal entries of the revisions after `after` up to and including `until`, in (revision, ordinal) order.

        Raises:
            OutOfRange: CURSOR_TOO_OLD as `changes_since`.
        """
        ...

    async def changed(
        self, owner: OwnerKey, after: tuple[Revision, MemoryId] | None, *, limit: int
    ) -> Sequence[Changed]:
        """Memories by (revision that last changed what is recalled of them, id), strictly after `after`.

        Every status; a forgotten one has no head. What pages miss because a memory changed meanwhile comes in a
        later page, since it moves behind them.
        """
        ...

    async def first_unseen(self, owner: OwnerKey, clock: VectorClock) -> Revision:
        """The oldest revision whose change `clock` does not hold; one past the newest when it holds all.

        Changes that were pruned count as unseen unless the clock holds everything the owner's clock holds.
        """
        ...

    async def prune_log(self, owner: OwnerKey, upto: Revision) -> None:
        """Drop the records of changes up to a revision, and remember that they are gone. Journals stay."""
        ...

    async def record_access(
        self,
        owner: OwnerKey,
        accesses: Mapping[MemoryId, tuple[int, datetime]],
        predicates: Collection[str] = (),
    ) -> None:
        """Add to access counts, move last access forward; unknown ids are passed over. Makes no version.

        The time since the last access is counted as a re-use interval (E1b), under its predicate when it is one
        of `predicates` (a word that a user made up is nothing to keep in a statistic).
        """
        ...

    async def intervals(self, owner: OwnerKey) -> Sequence[Interval]:
        """The owner's re-use intervals, of each kind, predicate and bucket once."""
        ...

    async def waiting_fragments(self, owner: OwnerKey, model_id: str, *, limit: int) -> Sequence[Fragment]:
        """Fragments of heads that have no vector of `model_id` yet."""
        ...

    async def store_vectors(self, owner: OwnerKey, fragments: Sequence[Fragment]) -> None:
        """Store vectors made later; fragments that are gone, or have another text in their place, are passed over.

        Moves the owner's memories into the next delta by raising the owner's revision.
        """
        ...

    async def owners_with_waiting_fragments(self, model_id: str, *, limit: int) -> Sequence[OwnerKey]:
        """Owners that have fragments of heads without any vector (and none of `model_id`).

        Costs as much as waits, whatever the number of owners: it is asked every few seconds.
        """
        ...

    async def owners_behind(self, model_id: str, *, after: uuid.UUID | None, limit: int) -> OwnersBehind:
        """Which of the next `limit` owners after `after`, by id, have fragments without a vector of `model_id`."""
        ...

    # Cold storage (P9). A memory that lies there has a head like any other (`MemoryHead.cold`), a place in its slot
    # and under its claim, and all its versions; it has no fragments, and no search finds it. The following move
    # nothing that is recalled and so raise no revision.

    async def archived_rows(self, owner: OwnerKey, model_id: str, *, limit: int) -> Sequence[SearchRow]:
        """Archived memories of current status that are hot, newest first, as rows to search."""
        ...

    async def freezable(self, owner: OwnerKey, idle_since: datetime, *, limit: int) -> Sequence[SearchRow]:
        """Hot archived memories neither changed nor used at or after `idle_since`, oldest first.

        Each with all its fragments: of every text and every model.
        """
        ...

    async def freeze(self, owner: OwnerKey, file: str, versions: Mapping[MemoryId, int]) -> Sequence[MemoryId]:
        """Move memories to a file that holds them already; those that were moved.

        Only those that are archived and at these versions are moved: their fragments go. The others are noted as
        gone from the file, so that it is written anew without them.
        """
        ...

    async def cold_files(self, owner: OwnerKey) -> Sequence[ColdFile]:
        """The files of an owner, by name."""
        ...

    async def cold_heads(self, owner: OwnerKey, file: str, ids: Sequence[MemoryId]) -> Sequence[MemoryHead]:
        """The heads of those of these memories that lie in a file, in no particular order."""
        ...

    async def refile(self, owner: OwnerKey, old: str, new: str, *, without: Sequence[MemoryId]) -> int:
        """Say that what was in file `old`, but for `without`, is in `new` now; how many memories that names."""
        ...

    async def unfile(self, owner: OwnerKey, file: str) -> None:
        """Forget what is gone from a file that is no more."""
        ...

    async def ping(self) -> None:
        """Raise `Unavailable` unless the backend answers and its schema is the one we know."""
        ...
