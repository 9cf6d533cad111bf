"""The step that moves what has been idle in the archive to cold storage, and takes out of it what must go (P9, F8).

A file is written before anything refers to it, and removed only after nothing does. Whatever is killed in between
leaves a file too many, never a memory too few: such a file is swept once it is too old to be in the making.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from memory_service.app.service import Changes
from memory_service.domain.ids import OwnerKey
from memory_service.domain.records import ColdFile, Fragment, SearchRow
from memory_service.ports.cold_store import ColdFileGone, ColdStore

_STAMP = "%Y%m%dT%H%M%SZ"
_MAKING = timedelta(minutes=10)
"""Longest time from the name of a file to its being referred to."""
_ORPHANED = timedelta(hours=1)
"""A file this old that nothing refers to is not in the making: nobody will."""


@dataclass(frozen=True, slots=True)
class ColdSettings:
    """What goes to cold storage.

    Attributes:
        hot: how long an archived memory stays hot after it was last changed or used (P9).
        batch_memories_max: most memories of one file.
        files_max: most files made in one run for one owner.
    """

    hot: timedelta = timedelta(days=30)
    batch_memories_max: int = 5_000
    files_max: int = 20


@dataclass(frozen=True, slots=True)
class ColdStorage:
    """The step. What was forgotten leaves its file with the next run, so it runs often."""

    changes: Changes
    cold: ColdStore
    settings: ColdSettings = field(default_factory=ColdSettings)
    name: str = "cold"
    every: timedelta = timedelta(hours=1)

    async def __call__(self, owner: OwnerKey) -> int:
        """Purge, sweep, then move; how many memories moved or left a file."""
        purged = 0
        for file in await self.changes.store.cold_files(owner):
            if file.gone:
                purged += await self._purge(owner, file)
        await self._sweep(owner)
        return purged + await self._freeze(owner)

    # Out of the hot tables ---------------------------------------------------------------------------------

    async def _freeze(self, owner: OwnerKey) -> int:
        """Move what is idle, a file at a time: first the file, then the rows, in one commit."""
        store, settings = self.changes.store, self.settings
        moved = 0
        for _ in range(settings.files_max):
            idle_since = self.changes.clock.now() - settings.hot
            idle = await store.freezable(owner, idle_since, limit=settings.batch_memories_max)
            # What waits for its vectors waits for them here: nobody would make them there.
            rows = [row for row in idle if not any(f.vector is None for f in row.fragments)]
            if not rows:
                break
            name = await self._put(owner, rows)
            if name is None:
                break
            gone = await store.freeze(owner, name, {row.head.id: row.head.current.version for row in rows})
            moved += len(gone)
            self.changes.telemetry.count("cold_memories_total", len(gone), moved="in")
            if len(gone) < len(idle):
                break  # somebody else is at it, or changed some; the next run sees what is left
        return moved

    async def _put(self, owner: OwnerKey, rows: Sequence[SearchRow]) -> str | None:
        """The name of a new file of these memories; None when it took too long to be sure that nobody sweeps it."""
        began = self.changes.clock.now()
        name = f"{began.astimezone(UTC).strftime(_STAMP)}-{self.changes.ids.new().hex}"
        await self.cold.put(owner, name, rows)
        if self.changes.clock.now() - began > _MAKING:
            await self.cold.remove(owner, name)
            return None
        return name

    # Out of the files --------------------------------------------------------------------------------------

    async def _purge(self, owner: OwnerKey, file: ColdFile) -> int:
        """Write a file anew without what is gone from it, and remove the old one; how many memories left."""
        store = self.changes.store
        try:
            rows: Sequence[SearchRow] = await self.cold.read(owner, file.name)
        except ColdFileGone:
            rows = ()
            if file.live:
                # Somebody else replaces it right now, or it was lost; the store's texts are not.
                return 0
        gone = set(file.gone)
        await self._give_back(owner, [row for row in rows if row.head.id in gone])
        kept = [row for row in rows if row.head.id not in gone]
        if kept:
            name = await self._put(owner, kept)
            if name is None:
                return 0
            if not await store.refile(owner, file.name, name, without=file.gone):
                await self.cold.remove(owner, name)  # somebody else was faster
                return 0
        await self.cold.remove(owner, file.name)
        await store.unfile(owner, file.name)
        self.changes.telemetry.count("cold_memories_total", len(gone), moved="out")
        return len(gone)

    async def _give_back(self, owner: OwnerKey, rows: Sequence[SearchRow]) -> None:
        """Give memories that are hot again the vectors they had, where their pieces are the same.

        Those of another model are made anew, as if there were none. The store passes over what was forgotten.
        """
        vectors: list[Fragment] = []
        model = self.changes.drafting.embedder.model
        async with self.changes.store.change(owner) as change:
            for row in rows:
                for content_version in {f.content_version for f in row.fragments}:
                    now = await change.fragments(row.head.id, content_version)
                    same = {(content_version, piece.ordinal, piece.text) for piece in now}
                    vectors += [
                        f
                        for f in row.fragments
                        if f.vector is not None
                        and f.model_id == model.id
                        and (f.content_version, f.ordinal, f.text) in same
                    ]
        if vectors:
            await self.changes.store.store_vectors(owner, vectors)
            self.changes.committed(owner, (await self.changes.store.state(owner)).revision)

    async def _sweep(self, owner: OwnerKey) -> None:
        """Remove files that nothing refers to and nobody can still be making; count those that are missing."""
        before = {file.name for file in await self.changes.store.cold_files(owner)}
        names = set(await self.cold.names(owner))
        if not before and not names:
            return
        after = {file.name for file in await self.changes.store.cold_files(owner)}
        now = self.changes.clock.now()
        for name in sorted(names - before - after):
            made = _made(name)
            if made is not None and now - made > _ORPHANED:
                await self.cold.remove(owner, name)
                self.changes.telemetry.count("cold_orphans_total")
        missing = (before & after) - names
        if missing:
            self.changes.telemetry.count("cold_files_missing_total", len(missing))


def _made(name: str) -> datetime | None:
    """When a file got its name; None for a name that is not ours."""
    try:
        return datetime.strptime(name.partition("-")[0], _STAMP).replace(tzinfo=UTC)
    except ValueError:
        return None
