"""Upkeep: what was inferred and seen in enough conversations is no longer only observed (E3)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from memory_service.app.own_change import BATCH_MAX, own_change
from memory_service.app.review import needs_review
from memory_service.app.service import Changes
from memory_service.app.workspace import Authorship, Workspace
from memory_service.domain.ids import OwnerKey
from memory_service.domain.memory import Tier
from memory_service.domain.records import JournalEvent


@dataclass(frozen=True, slots=True)
class Promotion:
    """Makes candidates long-term that were stated in `promotion_sessions` distinct sessions.

    The sessions are those of the statements that stand behind the claim, so what a revoked writer said does not
    count, nor does one session however often it repeats itself, nor a statement that names no session.
    """

    changes: Changes
    name: str = "promotion"
    every: timedelta = timedelta(hours=1)

    async def __call__(self, owner: OwnerKey) -> int:
        """Promote what is due, in batches; see `UpkeepStep`."""
        promoted = 0
        while count := await own_change(self.changes, owner, self.name, self._stage):
            promoted += count
        return promoted

    async def _stage(self, workspace: Workspace, by: Authorship) -> int:
        needed = self.changes.parameters_of(workspace.owner).promotion_sessions
        words = self.changes.vocabulary_of(workspace.owner)
        waiting = {
            name for word in words.predicates.values() if word.sensitive for name in (word.name, *word.aliases)
        }
        observed = await workspace.change.observed(sessions_min=needed, limit=BATCH_MAX, except_about=waiting)
        # What is sensitive waits for a person, however often it is seen (P13).
        found = [(head, sessions) for head, sessions in observed if not needs_review(head, words)]
        if not found:
            return 0
        await workspace.load([head.current.slot for head, _ in found], [])
        workspace.adopt([head for head, _ in found])
        settling = self.changes.settling(workspace)
        for head, sessions in found:
            reason = f"seen in {sessions} conversations"
            after = settling.move(workspace.heads[head.id], Tier.LONG_TERM, by, reason)
            told = {"sessions": sessions, "promotion_sessions": needed}
            settling.note(JournalEvent.PROMOTED, head, after, by, reason, told)
        # What was held back as a guess now speaks for itself, or disputes what stands.
        settling.slots_of([head.current for head, _ in found], by)
        return len(found)
