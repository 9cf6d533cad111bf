"""The part of a deep recall that looks into the archive and into cold storage (P9).

What may answer is put beside the memories at hand, so that all are ranked by one measure. Hot archived memories
come first, then the owner's files, newest first, as far as time and bytes allow; a file says only which memories
to look at, and the memory store what they are now.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from memory_service.app.stages import Watch
from memory_service.domain.errors import Unavailable
from memory_service.domain.ids import OwnerKey
from memory_service.domain.memory import NO_EVIDENCE
from memory_service.domain.records import SearchRow, SearchRows
from memory_service.domain.retrieval.snapshot import OwnerSnapshot
from memory_service.domain.text import analyse_query
from memory_service.ports.cold_store import ColdFileGone, ColdHit, ColdQuery, ColdStore
from memory_service.ports.memory_store import MemoryStore

STAGE = "cold"
_AT_ONCE = 2
"""Files searched at the same time: each is in memory as a whole."""


@dataclass(frozen=True, slots=True)
class DeepSettings:
    """How far a deep recall looks.

    Attributes:
        archived_max: most hot archived memories, newest first.
        hits_max: most memories taken from cold storage by each measure.
        bytes_max: most bytes of files read in one recall.
        answer_seconds: time kept back for scoring and answering.
    """

    archived_max: int = 5_000
    hits_max: int = 100
    bytes_max: int = 256 << 20
    answer_seconds: float = 0.05


@dataclass(slots=True)
class _Haul:
    """What was found so far, and why it is not all."""

    rows: list[SearchRow] = field(default_factory=list)
    hits: list[tuple[str, ColdHit]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    partial: bool = False
    away: bool = False

    def miss(self, note: str) -> None:
        self.partial = True
        if note not in self.notes:
            self.notes.append(note)


@dataclass(frozen=True, slots=True)
class DeepSearch:
    """See the module."""

    store: MemoryStore
    cold: ColdStore
    settings: DeepSettings = field(default_factory=DeepSettings)

    async def widened(
        self,
        owner: OwnerKey,
        query: str,
        vector: NDArray[np.float32] | None,
        snapshot: OwnerSnapshot,
        watch: Watch,
        *,
        held_at: datetime | None = None,
    ) -> tuple[OwnerSnapshot, bool]:
        """A snapshot of its own with archived memories beside those of `snapshot`, and whether some are missing.

        Args:
            held_at: only those that held at this time (P10); None for all.

        Raises:
            Unavailable: the memory store is away. (Cold storage that is away only makes the answer partial.)
        """
        left = watch.left()
        if left is not None and left <= 2 * self.settings.answer_seconds:
            watch.skipped(STAGE, "no time left")
            watch.count("recall_degraded_total", cause=STAGE)
            return snapshot, True
        haul = _Haul()
        asked = ColdQuery(analyse_query(query), vector, snapshot.model_id, self.settings.hits_max)
        with watch.stage(STAGE) as notes:
            try:
                async with asyncio.timeout(None if left is None else left - 2 * self.settings.answer_seconds):
                    await self._archived(owner, snapshot, haul)
                    await self._cold(owner, asked, haul)
            except TimeoutError:
                haul.miss("time ran out")
            left = watch.left()
            try:
                async with asyncio.timeout(None if left is None else left - self.settings.answer_seconds):
                    haul.rows += await self._true(owner, _best(haul.hits, asked.limit))
            except TimeoutError:
                haul.miss("time ran out before the database had answered")
            rows = [row for row in haul.rows if row.head.id not in snapshot.row_of]
            if held_at is not None:
                rows = [row for row in rows if row.head.current.window.holds(held_at)]
            if rows:
                delta = SearchRows(snapshot.revision, snapshot.clock, rows)
                # On a copy: what a deep recall saw is not to stay in the snapshot that others use.
                snapshot = await asyncio.to_thread(lambda: snapshot.compacted().apply(delta))
            notes.append(f"{len(rows)} memories from the archive")
            notes += haul.notes
        if haul.partial:
            watch.count("recall_degraded_total", cause=STAGE)
        return snapshot, haul.partial

    async def _archived(self, owner: OwnerKey, snapshot: OwnerSnapshot, haul: _Haul) -> None:
        most = self.settings.archived_max
        haul.rows += await self.store.archived_rows(owner, snapshot.model_id, limit=most)
        if len(haul.rows) >= most:
            haul.miss(f"only the {most} newest of the archive")

    async def _cold(self, owner: OwnerKey, asked: ColdQuery, haul: _Haul) -> None:
        if not asked.terms and asked.vector is None:
            haul.notes.append("no query: cold storage is searched by one only")
            return
        files = [file.name for file in await self.store.cold_files(owner) if file.live]
        files.reverse()
        allowed = await self._allowed(owner, files, haul)
        for start in range(0, len(allowed), _AT_ONCE):
            some = allowed[start : start + _AT_ONCE]
            await asyncio.gather(*(self._search(owner, name, asked, haul) for name in some))
            if haul.away:
                break

    async def _allowed(self, owner: OwnerKey, files: Sequence[str], haul: _Haul) -> list[str]:
        """As many of the files, in order, as may be read."""
        allowed: list[str] = []
        spent = 0
        for name in files:
            try:
                spent += await self.cold.size(owner, name)
            except ColdFileGone:
                haul.miss("a file was replaced meanwhile")  # its memories are in a newer one
                continue
            except Unavailable:
                haul.miss("cold storage does not answer")
                break
            if spent > self.settings.bytes_max:
                haul.miss(f"only {len(allowed)} of {len(files)} files, for their size")
                break
            allowed.append(name)
        return allowed

    async def _search(self, owner: OwnerKey, name: str, asked: ColdQuery, haul: _Haul) -> None:
        try:
            haul.hits += [(name, hit) for hit in await self.cold.search(owner, name, asked)]
        except ColdFileGone:
            haul.miss("a file was replaced meanwhile")
        except Unavailable:
            haul.miss("cold storage does not answer")
            haul.away = True

    async def _true(self, owner: OwnerKey, hits: Sequence[tuple[str, ColdHit]]) -> list[SearchRow]:
        """What the store says of these memories now; those that are not (or no longer) in that file are left out."""
        by_file: dict[str, dict[object, ColdHit]] = {}
        for name, hit in hits:
            by_file.setdefault(name, {})[hit.memory_id] = hit
        rows: list[SearchRow] = []
        for name, found in by_file.items():
            heads = await self.store.cold_heads(owner, name, [hit.memory_id for hit in found.values()])
            rows += [
                SearchRow(replace(h, current=replace(h.current, evidence=NO_EVIDENCE)), found[h.id].fragments)
                for h in heads
            ]
        return rows


def _best(hits: Sequence[tuple[str, ColdHit]], limit: int) -> list[tuple[str, ColdHit]]:
    """The best of all files by each measure, each once."""
    by_meaning = [h for h in hits if h[1].cosine is not None]
    by_meaning = sorted(by_meaning, key=lambda h: -(h[1].cosine or 0.0))[:limit]
    by_words = sorted((h for h in hits if h[1].words > 0), key=lambda h: -h[1].words)[:limit]
    return list({(name, hit.memory_id): (name, hit) for name, hit in (*by_meaning, *by_words)}.values())
