"""Consolidation and de-duplication: memories that say the same become one (P11, S9, C5).

Memories are compared outside the owner's lock. Each group is then merged in one commit of its own, which first
makes sure that none of its members has changed since: a writer that came between is never overruled, and a
process killed at any point leaves whole merges only. What is left is found again the next time.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import numpy as np
from numpy.typing import NDArray

from memory_service.app.commands import ChangeMeta
from memory_service.app.merging import Merging
from memory_service.app.own_change import ACTOR
from memory_service.app.service import Changes
from memory_service.app.workspace import Workspace
from memory_service.domain.ids import MemoryId, OwnerKey
from memory_service.domain.memory import MemoryHead, Relation, Status
from memory_service.domain.merging import (
    Piece,
    SameClaim,
    alike,
    best_wording,
    faithful,
    mergeable,
    same_claim,
    wording_key,
)
from memory_service.domain.records import SearchRow
from memory_service.domain.relations.acting import MERGE_COSINE_MIN
from memory_service.ports.embedder import EmbeddingModel
from memory_service.ports.summarizer import Summarizer

_OPERATION = "consolidate"
_LOOKUP_MAX = 500
_COMPARED_MAX = 2_000
"""Newest memories of one slot that are compared with one another."""
_DEDUPLICATED_MAX = 20_000
"""Newest memories of an owner that de-duplication compares."""
_BLOCK = 1_024


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
    same: SameClaim = same_claim
    summarizer: Summarizer = field(default_factory=FirstWording)
    settings: ConsolidationSettings = field(default_factory=ConsolidationSettings)

    async def run(self, owner: OwnerKey, *, across: bool, minimum: int) -> int:
        """Merge what says the same, within slots or `across` them; how many memories were absorbed."""
        model = self.changes.drafting.embedder.model
        now = self.changes.clock.now()
        rows = await self.changes.store.search_rows(owner, model.id)
        near = _near_cosine(model)
        parts = await asyncio.to_thread(_parts, rows.rows, model.id, near, now, across)
        members = [piece.head.id for part in parts for piece in part]
        if not members:
            return 0
        merges, apart = await self._past(owner, members)
        groups = await asyncio.to_thread(self._groups, parts, model, minimum, merges, apart)
        absorbed = 0
        for group in groups[: self.settings.merges_max]:
            absorbed += await self._merge(owner, group)
        return absorbed

    def _groups(
        self,
        parts: Sequence[Sequence[Piece]],
        model: EmbeddingModel,
        minimum: int,
        merges: frozenset[MemoryId],
        apart: dict[MemoryId, set[MemoryId]],
    ) -> list[list[MemoryHead]]:
        nothing: set[MemoryId] = set()
        near = _near_cosine(model)

        def same(a: MemoryHead, b: MemoryHead, cosine: float | None) -> bool:
            separated = apart.get(a.id, nothing) & apart.get(b.id, nothing)
            return not separated and self.same(a, b, cosine if model.judges_claims else None)

        return [
            group
            for part in parts
            for group in alike(part, same=same, near_cosine=near, minimum=minimum, merges=merges)
        ]

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


def _near_cosine(model: EmbeddingModel) -> float:
    """How near two memories must be to be compared: what the judge takes, where it knows the model's scale."""
    return min(model.same_cosine, MERGE_COSINE_MIN) if model.judges_claims else model.same_cosine


def _parts(
    rows: Sequence[SearchRow], model_id: str, near_cosine: float, now: datetime, across: bool
) -> list[list[Piece]]:
    """Memories that might say the same, two or more each: those of a slot, or those that are near one another."""
    pieces = [Piece(row.head, _vector(row, model_id)) for row in rows if mergeable(row.head, now)]
    if across:
        return _near(pieces[-_DEDUPLICATED_MAX:], near_cosine)
    slots: defaultdict[str, list[Piece]] = defaultdict(list)
    for piece in pieces:
        slots[piece.head.current.slot].append(piece)
    return [part[-_COMPARED_MAX:] for slot, part in slots.items() if slot and len(part) > 1]


def _near(pieces: Sequence[Piece], near_cosine: float) -> list[list[Piece]]:
    """Connected parts of the graph that joins equal wordings and near vectors; one memory alone is left out."""
    parent = list(range(len(pieces)))

    def root(place: int) -> int:
        while parent[place] != place:
            parent[place] = parent[parent[place]]
            place = parent[place]
        return place

    first_of: dict[str, int] = {}
    for place, piece in enumerate(pieces):
        parent[root(place)] = root(first_of.setdefault(wording_key(piece.head.current), place))
    with_vector = [place for place, piece in enumerate(pieces) if piece.vector is not None]
    if with_vector:
        matrix = np.stack([vector for piece in pieces if (vector := piece.vector) is not None])
        for start in range(0, len(matrix), _BLOCK):
            near = np.argwhere(matrix[start : start + _BLOCK] @ matrix[start:].T >= near_cosine)
            for a, b in near[near[:, 0] < near[:, 1]] + start:
                parent[root(with_vector[int(a)])] = root(with_vector[int(b)])
    parts: defaultdict[int, list[Piece]] = defaultdict(list)
    for place, piece in enumerate(pieces):
        parts[root(place)].append(piece)
    return [part[-_COMPARED_MAX:] for part in parts.values() if len(part) > 1]


def _vector(row: SearchRow, model_id: str) -> NDArray[np.float32] | None:
    """The mean of a memory's vectors, scaled to length 1; None without one of this model."""
    vectors = [f.vector for f in row.fragments if f.vector is not None and f.model_id == model_id]
    if not vectors:
        return None
    mean: NDArray[np.float32] = np.mean(np.stack(vectors), axis=0, dtype=np.float32)
    length = float(np.linalg.norm(mean))
    if not length:
        return None
    scaled: NDArray[np.float32] = mean / np.float32(length)
    return scaled


def _slices(ids: Iterable[MemoryId]) -> list[list[MemoryId]]:
    """The ids in lists that one statement takes."""
    named = list(ids)
    return [named[start : start + _LOOKUP_MAX] for start in range(0, len(named), _LOOKUP_MAX)]
