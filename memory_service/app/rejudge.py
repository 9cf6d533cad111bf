"""Upkeep: what is contested is judged again after a time, with the evidence there is by then (E5)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta

from memory_service.app.own_change import own_change
from memory_service.app.rivals import side_of
from memory_service.app.service import Changes
from memory_service.app.settling import Settling, ruling_details
from memory_service.app.workspace import Authorship, Workspace
from memory_service.domain.arbitration import Ruling, readjudicate
from memory_service.domain.decay import last_said
from memory_service.domain.evidence import Evidence
from memory_service.domain.ids import MemoryId, OwnerKey
from memory_service.domain.memory import Cardinality, MemoryHead, Relation, Status, Tier
from memory_service.domain.records import JournalEvent
from memory_service.domain.retention import Retention

_DUE_MAX = 50
"""Contested memories looked at in one commit, each with those it is contested with."""
_GROUP_MAX = 500
"""Most memories read along with them."""


@dataclass(frozen=True, slots=True)
class Rejudge:
    """Ends disputes that can be decided, and keeps those that cannot from piling up.

    Due is what is contested and has not changed for `contested_days`. Where arbitration had disputed the values, E4
    is asked once more (`readjudicate`); what only a person may decide (concurrent values under `confirm`) is left to
    a person. What stays undecided is put off for another `contested_days`, and once nobody has said any of it for
    `contested_archive_days` all of it goes to the archive as it is: contested, found by a list of that status, and
    back when it is mentioned again.
    """

    changes: Changes
    name: str = "contested"
    every: timedelta = timedelta(days=1)

    async def __call__(self, owner: OwnerKey) -> int:
        """Judge what is due, in batches; see `UpkeepStep`. Whatever was looked at is not due any more."""
        changed = 0
        while count := await own_change(self.changes, owner, self.name, self._stage):
            changed += count
        return changed

    async def _stage(self, workspace: Workspace, by: Authorship) -> int:
        wait = timedelta(days=self.changes.parameters_of(workspace.owner).contested_days)
        due = await workspace.change.contested(unchanged_since=by.now - wait, limit=_DUE_MAX)
        if not due:
            return 0
        groups = await self._groups(workspace, due)
        judge = _Judge(self.changes, workspace, self.changes.settling(workspace), by)
        for group in groups:
            judge.decide(group)
        judge.settling.slots_of([head.current for group in groups for head in group], by)
        for head in due:
            judge.put_off(head)
        looked_at = {head.id: head.current.version for head in (*due, *(h for group in groups for h in group))}
        return sum(workspace.heads[i].current.version != version for i, version in looked_at.items())

    async def _groups(self, workspace: Workspace, due: Sequence[MemoryHead]) -> list[list[MemoryHead]]:
        """The memories due, each with all that it is contested with, directly or through others."""
        joined: defaultdict[MemoryId, set[MemoryId]] = defaultdict(set)
        workspace.adopt(due)
        seen, frontier = {head.id for head in due}, [head.id for head in due]
        while frontier and len(seen) <= _GROUP_MAX:
            for link in await workspace.change.linked(frontier, Relation.CONTRADICTS):
                joined[link.from_id].add(link.to_id)
                joined[link.to_id].add(link.from_id)
            frontier = [i for i in dict.fromkeys(i for old in frontier for i in joined[old]) if i not in seen]
            seen.update(frontier)
            workspace.adopt(await workspace.change.heads(frontier))
            # Only what is itself contested leads on to others.
            frontier = [i for i in frontier if _contested(workspace, i)]
        await workspace.load([workspace.heads[i].current.slot for i in seen if i in workspace.heads], [])
        for head in due:
            if self._single_valued(workspace, head):
                rivals = [h.id for h in workspace.in_slot(head.current.slot) if h.current.status is Status.CONTESTED]
                for rival in rivals:
                    joined[head.id].add(rival)
                    joined[rival].add(head.id)
        return _components(workspace, [head.id for head in due], joined)

    def _single_valued(self, workspace: Workspace, head: MemoryHead) -> bool:
        claim = head.current.assertion
        predicate = self.changes.vocabulary_of(workspace.owner).find(claim.predicate) if claim else None
        return predicate is not None and predicate.cardinality is Cardinality.ONE


def _contested(workspace: Workspace, memory_id: MemoryId) -> bool:
    head = workspace.heads.get(memory_id)
    return head is not None and head.current.status is Status.CONTESTED


def _components(
    workspace: Workspace, starts: Iterable[MemoryId], joined: dict[MemoryId, set[MemoryId]]
) -> list[list[MemoryHead]]:
    """Contested memories that hang together, in a stable order."""
    done: set[MemoryId] = set()
    groups: list[list[MemoryHead]] = []
    for start in starts:
        if start in done:
            continue
        group, waiting = [], [start]
        done.add(start)
        while waiting:
            current = waiting.pop()
            group.append(workspace.heads[current])
            fresh = [i for i in joined.get(current, ()) if i not in done and _contested(workspace, i)]
            done.update(fresh)
            waiting += sorted(fresh)
        groups.append(sorted(group, key=lambda head: head.id))
    return groups


@dataclass(slots=True)
class _Judge:
    """Stages what becomes of each group, in one workspace."""

    changes: Changes
    workspace: Workspace
    settling: Settling
    by: Authorship

    @property
    def _retention(self) -> Retention:
        return self.changes.retention_of(self.workspace.owner)

    def decide(self, group: Sequence[MemoryHead]) -> None:
        """Let the winner of a dispute stand, or archive a dispute that nobody has cared for."""
        if len(group) == 1:
            self.settling.release(group, self.by)
            return
        parameters, decay = self._retention.decay.parameters, self._retention.decay
        if any(head.current.disputed for head in group):
            verdict = readjudicate([side_of(head, decay, self.by.now) for head in group], parameters)
            if verdict is not None:
                place, ruling = verdict
                self._win(group[place], [h for index, h in enumerate(group) if index != place], ruling)
                return
        patience = timedelta(days=parameters.contested_archive_days)
        if max(map(last_said, group)) <= self.by.now - patience:
            reason = f"undecided, and not mentioned for {parameters.contested_archive_days:g} days: kept for review"
            told = {"contested_archive_days": parameters.contested_archive_days, "values": len(group)}
            for head in group:
                if head.current.tier is not Tier.ARCHIVE and not self._retention.lasts(head):
                    self.settling.archive(head, self.by, reason, told)

    def _win(self, winner: MemoryHead, losers: Sequence[MemoryHead], ruling: Ruling) -> None:
        begins = max(filter(None, (winner.current.valid_from, winner.created_at)), default=self.by.now)
        replaces = [head for head in losers if last_said(head) <= last_said(winner)]
        for loser in losers:
            if loser in replaces:
                self._supersede(loser, winner, ruling)
            else:  # it was said later, and did not hold
                self.settling.retract(loser, self.by, ruling.reason)
        old = winner.current
        after = self.workspace.revise(
            winner,
            self.by,
            ruling.reason,
            dot=old.dot,
            context=old.context,
            status=Status.ACTIVE,
            disputed=False,
            valid_from=begins if replaces and old.valid_from is None else old.valid_from,
        )
        told = ruling_details(ruling) | {"over": losers[0].id.hex if len(losers) == 1 else len(losers)}
        self.settling.note(JournalEvent.RESOLVED, winner, after, self.by, ruling.reason, told)

    def _supersede(self, loser: MemoryHead, winner: MemoryHead, ruling: Ruling) -> None:
        """True until the winner was first said (P10)."""
        old = loser.current
        ends = winner.current.valid_from or winner.created_at or self.by.now
        ends = min(end for end in (ends, old.valid_to) if end is not None)
        if old.valid_from is not None:
            ends = max(ends, old.valid_from)
        after = self.workspace.revise(
            loser,
            self.by,
            ruling.reason,
            dot=old.dot,
            context=old.context,
            status=Status.SUPERSEDED,
            valid_to=ends,
            evidence=Evidence(),
            disputed=False,
        )
        self.workspace.link(winner.id, Relation.SUPERSEDES, loser.id)
        told = ruling_details(ruling) | {"by": str(winner.id)}
        self.settling.note(JournalEvent.SUPERSEDED, loser, after, self.by, ruling.reason, told)

    def put_off(self, due: MemoryHead) -> None:
        """Stage that a memory was looked at, unless it was changed: it is due again after as long once more."""
        head = self.workspace.heads[due.id]
        if head.current.version != due.current.version:
            return
        days = self._retention.decay.parameters.contested_days
        reason = f"judged again and undecided; looked at again after {days:g} days"
        old = head.current
        after = self.workspace.revise(head, self.by, reason, dot=old.dot, context=old.context)
        self.settling.note(JournalEvent.CONTESTED, head, after, self.by, reason, {"contested_days": days})
