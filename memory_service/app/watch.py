"""Watch: every state change of an owner's memories in commit order, resumable, without gaps (F7, E21).

The cursor is the owner's revision. Revisions are given out under the owner's lock and committed in order, so what is
read after a cursor is complete: a sequence number drawn before commit would not be.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

from memory_service.app.admission import visible_to
from memory_service.app.feed import ChangeFeed
from memory_service.domain.ids import MemoryId, OwnerKey, Revision
from memory_service.domain.memory import Kind, MemoryHead
from memory_service.domain.records import JournalEntry, JournalEvent, MemoryFilter
from memory_service.ports.clock import Clock
from memory_service.ports.memory_store import MemoryStore

_CHANGES_AT_ONCE = 200
_POLL_SECONDS_MAX = 2.0
"""News of other processes can be lost; this bounds how late a watcher hears of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchCommand:
    """What to tell of.

    Attributes:
        after: the revision to go on from; None is now.
        events, kinds: only these; all when empty.
        checkpoint_seconds: how often to say where the watch stands when nothing happens.
        agent: other agents' private memories are left out.
    """

    owner: OwnerKey
    after: Revision | None = None
    events: frozenset[JournalEvent] = frozenset()
    kinds: frozenset[Kind] = frozenset()
    checkpoint_seconds: float = 10.0
    agent: str = ""


@dataclass(frozen=True, slots=True)
class Seen:
    """One state change, with the memory as it stands when it is told; None when it is gone."""

    entry: JournalEntry
    head: MemoryHead | None


@dataclass(frozen=True, slots=True)
class Told:
    """All that is told of the changes up to `revision`; nothing for a checkpoint."""

    revision: Revision
    seen: Sequence[Seen]


@dataclass(frozen=True, slots=True)
class Watch:
    """Follows one owner."""

    store: MemoryStore
    feed: ChangeFeed
    clock: Clock

    async def __call__(self, command: WatchCommand) -> AsyncIterator[Told]:
        """Batches in order of revision, and checkpoints, until the caller stops.

        Raises:
            OutOfRange: CURSOR_TOO_OLD when changes after the cursor were pruned.
            Unavailable: the store is away, or the server shuts down.
        """
        owner = command.owner
        after = command.after
        if after is None:
            after = (await self.store.state(owner)).revision
        yield Told(after, ())
        told_at = self.clock.monotonic()
        while True:
            changes = await self.store.changes_since(owner, after, limit=_CHANGES_AT_ONCE)
            if not changes:
                due = told_at + command.checkpoint_seconds - self.clock.monotonic()
                if due <= 0:
                    yield Told(after, ())
                    told_at = self.clock.monotonic()
                    continue
                await self.feed.wait(owner, min(due, _POLL_SECONDS_MAX))
                continue
            until = changes[-1].revision
            entries = await self.store.journal_since(owner, after, until)
            by_revision: dict[Revision, list[Seen]] = {change.revision: [] for change in changes}
            for seen in await self._seen(command, entries):
                by_revision.setdefault(seen.entry.revision, []).append(seen)
            for revision in sorted(by_revision):
                after = revision
                if by_revision[revision]:
                    yield Told(revision, by_revision[revision])
                    told_at = self.clock.monotonic()

    async def _seen(self, command: WatchCommand, entries: Sequence[JournalEntry]) -> list[Seen]:
        wanted = [e for e in entries if not command.events or e.event in command.events]
        heads = await self._heads(command.owner, {entry.memory_id for entry in wanted})
        found = []
        for entry in wanted:
            head = heads.get(entry.memory_id)
            if head is not None and command.kinds and head.current.kind not in command.kinds:
                continue
            if head is not None and command.agent and not visible_to(head, command.agent):
                continue
            found.append(Seen(entry, head))
        return found

    async def _heads(self, owner: OwnerKey, ids: set[MemoryId]) -> dict[MemoryId, MemoryHead]:
        if not ids:
            return {}
        page = await self.store.list(owner, MemoryFilter(ids=frozenset(ids)), limit=len(ids))
        return {head.id: head for head in page.heads}
