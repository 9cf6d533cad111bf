"""Consolidation and de-duplication: memories that say the same become one (P11, S9, C5).

Memories are grouped outside the owner's lock. Each group is then merged in one commit of its own, which first
makes sure that none of its members has changed since: a writer that came between is never overruled, and a
process killed at any point leaves whole merges only. What is left is found again the next time.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from memory_service.app.commands import ChangeMeta
from memory_service.app.merging import Merging
from memory_service.app.own_change import ACTOR
from memory_service.app.service import Changes
from memory_service.app.workspace import Workspace
from memory_service.domain.ids import MemoryId, OwnerKey
from memory_service.domain.memory import MemoryHead, Relation, Status
from memory_service.domain.merging import alike, best_wording, faithful, mergeable, same_claims
from memory_service.domain.records import SearchRow
from memory_service.ports.summarizer import Summarizer

_OPERATION = "consolidate"
_LOOKUP_MAX = 500
_ACROSS_MAX = 20_000
"""Newest memories of an owner that de-duplication looks through."""


class FirstWording:
    """The summarizer without a model: the best of the wordings there are, to the letter."""

    async def merge_text(self, texts: Sequence[str], language: str) -> str | None:  # noqa: ARG002 (the port)
        """None: nothing is better than the first of them."""
        return None


@dataclass(frozen=True, slots=True)
class ConsolidationSettings:
    """What is worth merging.

    Attributes:
        memories_min: fewest memories of a slot or topic that are merged into one (P11); a merge takes single
            memories that say the same later.
        merges_max: most merges of one run for one owner; the rest is done by the next run.
    """

    memories_min: int = 3
    merges_max: int = 1_000


@dataclass(frozen=True, slots=True)
class Consolidator:
    """Merges groups, one commit each; what the two steps share."""

    changes: Changes
    summarizer: Summarizer = field(default_factory=FirstWording)
    settings: ConsolidationSettings = field(default_factory=ConsolidationSettings)

    async def run(self, owner: OwnerKey, *, across: bool, minimum: int) -> int:
        """Merge what says the same, within slots or `across` them; how many memories were absorbed."""
        model = self.changes.drafting.embedder.model
        now = self.changes.clock.now()
        rows = (await self.changes.store.search_rows(owner, model.id)).rows
        same = await asyncio.to_thread(_same, rows, now, across)
        if not same:
            return 0
        merges, apart = await self._past(owner, [head.id for heads in same for head in heads])
        groups = [group for heads in same for group in alike(heads, minimum, merges, apart)]
        absorbed = 0
        for group in groups[: self.settings.merges_max]:
            absorbed += await self._merge(owner, group)
        return absorbed

    async def _past(
        self, owner: OwnerKey, members: Sequence[MemoryId]
    ) -> tuple[frozenset[MemoryId], dict[MemoryId, set[MemoryId]]]:
        """Which memories are merges, and for each the undone merges that it was part of."""
        there = set(members)
        merges: set[MemoryId] = set()
        joined: defaultdict[MemoryId, set[MemoryId]] = defaultdict(set)
        async with self.changes.store.change(owner) as change:
            for some in _slices(members):
                for link in await change.linked(some, Relation.MERGED_INTO):
                    if link.to_id in there:
                        merges.add(link.to_id)
                    if link.from_id in there:
                        joined[link.from_id].add(link.to_id)
            undone: set[MemoryId] = set()
            for some in _slices({i for into in joined.values() for i in into}):
                undone |= {h.id for h in await change.heads(some) if h.current.status is Status.RETRACTED}
        return frozenset(merges), {member: into & undone for member, into in joined.items() if into & undone}

    async def _merge(self, owner: OwnerKey, group: Sequence[MemoryHead]) -> int:
        """Merge one group in one commit, unless one of it changed; how many memories were absorbed."""
        text = await self._wording(group)
        versions = {head.id: head.current.version for head in group}
        changes = self.changes
        async with changes.store.change(owner) as change:
            workspace = Workspace.of(change, changes.ids, owner)
            heads = sorted(
                await change.heads(list(versions)), key=lambda h: (h.created_at or h.current.recorded_at, h.id)
            )
            unchanged = {head.id: head.current.version for head in heads} == versions
            room = workspace.state.memory_count < changes.parameters_of(owner).memories_max
            at_odds = await change.linked(list(versions), Relation.CONTRADICTS)
            quarrel = any(link.from_id in versions and link.to_id in versions for link in at_odds)
            now = changes.clock.now()
            if not (
                unchanged and room and not quarrel and all(h.current.evidence and mergeable(h, now) for h in heads)
            ):
                changes.telemetry.count("merges_total", outcome="left")
                return 0
            workspace.adopt(heads)
            by = await changes.author(workspace, ChangeMeta(actor=ACTOR))
            workspace.advance(by, _OPERATION)
            merging = Merging(workspace, changes.settling(workspace))
            await merging.merge(heads, MemoryId(changes.ids.new()), text, by)
            await changes.apply(workspace, by)
        changes.committed(owner, workspace.state.revision)
        changes.telemetry.count("merges_total", outcome="merged")
        return len(heads)

    async def _wording(self, group: Sequence[MemoryHead]) -> str:
        """A model's wording for all of a group if it says no more than they do; "" for the best of theirs."""
        best = best_wording(group)
        if any(head.current.assertion is not None for head in group):
            return ""
        texts = [best.current.text, *(h.current.text for h in group if h.id != best.id)]
        made = await self.summarizer.merge_text(list(dict.fromkeys(texts)), best.current.language)
        if made is None or made.strip() in texts:
            return ""
        usable = faithful(made, texts)
        self.changes.telemetry.count("merge_texts_total", outcome="model" if usable else "refused")
        return made.strip() if usable else ""


@dataclass(frozen=True, slots=True)
class Consolidation:
    """The daily step: three or more of one slot or topic (P11)."""

    consolidator: Consolidator
    name: str = "consolidation"
    every: timedelta = timedelta(days=1)

    async def __call__(self, owner: OwnerKey) -> int:
        """See `UpkeepStep`; how many memories were absorbed."""
        return await self.consolidator.run(owner, across=False, minimum=self.consolidator.settings.memories_min)


@dataclass(frozen=True, slots=True)
class Deduplication:
    """The weekly step: two or more that say the same, wherever they ended up (S9).

    Such are: what one agent keeps for itself and all know, and one statement under two topics.
    """

    consolidator: Consolidator
    name: str = "deduplication"
    every: timedelta = timedelta(days=7)

    async def __call__(self, owner: OwnerKey) -> int:
        """See `UpkeepStep`; how many memories were absorbed."""
        return await self.consolidator.run(owner, across=True, minimum=2)


def _same(rows: Sequence[SearchRow], now: datetime, across: bool) -> list[list[MemoryHead]]:
    """Memories that say the same, two or more each and oldest first: within each slot, or all of the owner's."""
    heads = [row.head for row in rows if mergeable(row.head, now)]
    if across:
        return same_claims(heads[-_ACROSS_MAX:])
    slots: defaultdict[str, list[MemoryHead]] = defaultdict(list)
    for head in heads:
        slots[head.current.slot].append(head)
    return [found for slot, part in slots.items() if slot for found in same_claims(part)]


def _slices(ids: Iterable[MemoryId]) -> list[list[MemoryId]]:
    """The ids in lists that one statement takes."""
    named = list(ids)
    return [named[start : start + _LOOKUP_MAX] for start in range(0, len(named), _LOOKUP_MAX)]
