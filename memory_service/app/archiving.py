"""Upkeep: what time or number moves to the archive (E1, E6, E14, E17, S9, C10, C11)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from memory_service.app.own_change import BATCH_MAX, own_change
from memory_service.app.service import Changes
from memory_service.app.workspace import Authorship, Workspace
from memory_service.domain.ids import MemoryId, OwnerKey
from memory_service.domain.memory import CURRENT_STATUSES, Kind, MemoryHead, Tier
from memory_service.domain.records import MemoryFilter
from memory_service.domain.retention import CARD_KINDS, SHORT_KINDS, Retention, is_card

_PAGE = 500
_KEPT = frozenset({Tier.CANDIDATE, Tier.LONG_TERM})


@dataclass(frozen=True, slots=True)
class Decay:
    """Archives the memories of some kinds that time has overtaken; see `Retention.overdue`."""

    changes: Changes
    kinds: frozenset[Kind]
    name: str
    every: timedelta

    @classmethod
    def both(cls, changes: Changes) -> tuple[Decay, Decay]:
        """E14's two: short-term kinds hourly, the others daily."""
        long = frozenset(Kind) - SHORT_KINDS
        return (
            cls(changes, SHORT_KINDS, "decay_short_term", timedelta(hours=1)),
            cls(changes, long, "decay_long_term", timedelta(days=1)),
        )

    async def __call__(self, owner: OwnerKey) -> int:
        """Archive what is due, in batches; see `UpkeepStep`."""
        retention, now = self.changes.retention_of(owner), self.changes.clock.now()
        where = retention.idle(self.kinds, now)
        archived, after = 0, None
        while True:
            page = await self.changes.store.idle(owner, where, limit=_PAGE, after=after)
            due = [head.id for head in page.heads if retention.overdue(head, now)]
            archived += await self._archive(owner, due, retention)
            after = page.next_after
            if after is None:
                return archived

    async def _archive(self, owner: OwnerKey, due: Sequence[MemoryId], retention: Retention) -> int:
        async def stage(workspace: Workspace, by: Authorship) -> int:
            settling, count = self.changes.settling(workspace), 0
            for head in await workspace.change.heads(batch):
                why = retention.overdue(head, by.now)
                if why is not None:  # nobody used, pinned or archived it meanwhile
                    settling.archive(head, by, why.reason, why.details)
                    count += 1
            return count

        archived = 0
        for start in range(0, len(due), BATCH_MAX):
            batch = due[start : start + BATCH_MAX]
            archived += await own_change(self.changes, owner, self.name, stage)
        return archived


@dataclass(frozen=True, slots=True)
class Cap:
    """Archives the weakest cards of an owner who has more than `cards_max` (C11).

    Cards are preferences, profile, constraints and procedures, stated or observed. Sentences of a conversation as
    they were said are none (see `retention.is_card`), nor are facts and events, so that an import of a long
    conversation stays whole. What is pinned or never fades counts, and stays.
    """

    changes: Changes
    name: str = "cap"
    every: timedelta = timedelta(days=1)

    async def __call__(self, owner: OwnerKey) -> int:
        """Archive down to the cap, in batches; see `UpkeepStep`."""
        limit = self.changes.parameters_of(owner).cards_max
        if not limit:
            return 0
        retention, now = self.changes.retention_of(owner), self.changes.clock.now()
        worths: list[tuple[float, datetime, MemoryId]] = []
        count, after = 0, None
        while True:
            page = await self.changes.store.list(owner, _CARDS, limit=_PAGE, after=after)
            cards = [head for head in page.heads if is_card(head)]
            count += len(cards)
            worths += [_ranked(head, retention, now) for head in cards if not retention.lasts(head)]
            after = page.next_after
            if after is None:
                break
        weakest = sorted(worths)[: max(count - limit, 0)]
        return await self._archive(owner, {memory_id: worth for worth, _, memory_id in weakest}, count, limit)

    async def _archive(self, owner: OwnerKey, weakest: dict[MemoryId, float], count: int, limit: int) -> int:
        async def stage(workspace: Workspace, by: Authorship) -> int:
            settling, staged = self.changes.settling(workspace), 0
            for head in await workspace.change.heads(batch):
                version = head.current
                if version.tier in _KEPT and version.status in CURRENT_STATUSES and not version.pinned:
                    told = {"cards": count, "cards_max": limit, "worth": round(weakest[head.id], 4)}
                    settling.archive(head, by, f"the weakest of more than {limit} cards", told)
                    staged += 1
            return staged

        archived, ids = 0, list(weakest)
        for start in range(0, len(ids), BATCH_MAX):
            batch = ids[start : start + BATCH_MAX]
            archived += await own_change(self.changes, owner, self.name, stage)
        return archived


_CARDS = MemoryFilter(kinds=CARD_KINDS, statuses=CURRENT_STATUSES, tiers=_KEPT)


def _ranked(head: MemoryHead, retention: Retention, now: datetime) -> tuple[float, datetime, MemoryId]:
    return retention.worth(head, now), head.created_at or head.current.recorded_at, head.id
