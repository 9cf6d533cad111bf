"""Gives memories the word that took the place of theirs (P3): a step of upkeep."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from memory_service.app.commands import ChangeMeta
from memory_service.app.service import Changes
from memory_service.app.workspace import Authorship, Workspace
from memory_service.domain.evidence import Evidence
from memory_service.domain.ids import OwnerKey
from memory_service.domain.memory import STANDING_STATUSES, MemoryHead, Relation, Status
from memory_service.domain.records import JournalEvent, MemoryFilter
from memory_service.domain.slots import audience, claim_of_assertion, slot_of_assertion
from memory_service.domain.vocabulary import Vocabulary, normalise_name

_AT_ONCE: Final = 200


@dataclass(frozen=True, slots=True)
class MoveWords:
    """Moves memories whose predicate became another name of a word into that word's slots.

    What two of them say alike becomes one; what then stands in a single-valued slot is settled by the word's merge
    policy. Every move is a version and in the journal.
    """

    changes: Changes

    @property
    def name(self) -> str:
        """See `UpkeepStep`."""
        return "vocabulary"

    @property
    def every(self) -> timedelta:
        """See `UpkeepStep`."""
        return timedelta(hours=1)

    async def __call__(self, owner: OwnerKey) -> int:
        """Move what is due, in batches of 200; how many memories were moved."""
        words = self.changes.vocabulary_of(owner)
        names = frozenset(
            normal
            for word in words.predicates.values()
            for alias in word.aliases
            if (normal := normalise_name(alias)) not in words.predicates
        )
        moved = 0
        while names:
            batch = await self._batch(owner, words, names)
            moved += batch
            if batch < _AT_ONCE:
                break
        return moved

    async def _batch(self, owner: OwnerKey, words: Vocabulary, names: frozenset[str]) -> int:
        async with self.changes.store.change(owner) as change:
            heads = await change.select(MemoryFilter(predicates=names), limit=_AT_ONCE)
            if not heads:
                return 0
            workspace = Workspace.of(change, self.changes.ids, owner)
            targets = [_target(head, words) for head in heads]
            slots = [head.current.slot for head in heads] + [slot for _, slot, _ in targets]
            await workspace.load(slots, [claim for _, _, claim in targets])
            workspace.adopt(heads)
            by = await self.changes.author(workspace, ChangeMeta(actor=self.name))
            revision = workspace.advance(by, self.name)
            moved = [self._move(workspace, h, t, by) for h, t in zip(heads, targets, strict=True)]
            self.changes.settling(workspace).slots_of([head.current for head in moved], by)
            await self.changes.apply(workspace, by)
        self.changes.committed(owner, revision)
        return len(heads)

    def _move(
        self, workspace: Workspace, head: MemoryHead, target: tuple[str, str, str], by: Authorship
    ) -> MemoryHead:
        predicate, slot, claim = target
        old = workspace.heads[head.id].current
        assert old.assertion is not None
        reason = f"its predicate is called {predicate} now"
        fields: dict[str, object] = {
            "assertion": type(old.assertion)(old.assertion.subject, predicate, old.assertion.object),
            "slot": slot,
            "claim": claim,
            "dot": old.dot,
            "context": old.context,
        }
        standing = old.status in STANDING_STATUSES
        same = next((h for h in workspace.with_claim(claim) if h.id != head.id), None) if standing else None
        if same is not None:
            both = Evidence.of({*same.current.evidence, *old.evidence})
            workspace.revise(
                same,
                by,
                reason,
                dot=same.current.dot,
                context=same.current.context,
                evidence=both,
                support=both.support or same.current.support,
                confidence=both.confidence if both else same.current.confidence,
            )
            workspace.link(head.id, Relation.MERGED_INTO, same.id)
            fields |= {"status": Status.SUPERSEDED, "evidence": Evidence(), "disputed": False}
        after = workspace.revise(workspace.heads[head.id], by, reason, **fields)
        event = JournalEvent.CORRECTED if same is None else JournalEvent.SUPERSEDED
        self.changes.settling(workspace).note(event, head, after, by, reason, {"predicate": predicate})
        return after


def _target(head: MemoryHead, words: Vocabulary) -> tuple[str, str, str]:
    """The predicate, slot and claim a memory is to have."""
    version = head.current
    assert version.assertion is not None
    word = words.find(version.assertion.predicate)
    assert word is not None
    who = audience(version.visibility, version.provenance.agent)
    slot = slot_of_assertion(version.assertion.subject, word.name, who)
    return word.name, slot, claim_of_assertion(slot, version.assertion.object)
