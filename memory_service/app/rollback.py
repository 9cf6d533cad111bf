"""Rollback: make an earlier version of a memory current again, as a new version (E11)."""

from __future__ import annotations

from dataclasses import dataclass

from memory_service.app.commands import Affected, ChangeMeta, ChangeResult, Effect, RollbackCommand
from memory_service.app.one_memory import change_one
from memory_service.app.restating import Restating
from memory_service.app.rivals import EXPLICIT
from memory_service.app.service import Changes
from memory_service.app.validation import check_count
from memory_service.app.workspace import Authorship, Workspace
from memory_service.domain.errors import AlreadyExists, NotFound, Reason
from memory_service.domain.evidence import Evidence
from memory_service.domain.ids import OwnerKey
from memory_service.domain.memory import Cardinality, MemoryHead, MemoryVersion, Status, Tier
from memory_service.domain.records import JournalEvent
from memory_service.domain.vector_clock import COUNTER_MAX

_OPERATION = "rollback"
RESTORED = (
    "kind",
    "text",
    "topic",
    "slot",
    "claim",
    "assertion",
    "source",
    "confidence",
    "importance",
    "tags",
    "language",
    "valid_from",
    "valid_to",
    "expires_at",
    "said_at",
    "visibility",
    "pinned",
    "content_version",
)
"""Fields a roll-back takes from the old version; counts of use and of support stay as they are."""


@dataclass(frozen=True, slots=True)
class Rollback:
    """Brings an earlier version back."""

    changes: Changes

    async def __call__(self, owner: OwnerKey, command: RollbackCommand, meta: ChangeMeta) -> ChangeResult:
        """Make `command.version` current again; values that stand in its slot instead are retracted.

        Raises:
            NotFound: MEMORY_NOT_FOUND, or VERSION_NOT_FOUND for a version that never was, was redacted, or says what
                was forgotten since.
            Conflict: ETAG_MISMATCH when the memory changed since the etag or the context was read.
            AlreadyExists: when another memory already makes the old version's claim.
        """
        check_count(command.version, "version", minimum=1, maximum=COUNTER_MAX)

        async def stage(workspace: Workspace, head: MemoryHead, by: Authorship) -> ChangeResult:
            old = await self._find(workspace, command, head)
            await workspace.load([old.slot, head.current.slot], [old.claim])
            workspace.adopt([head])
            if workspace.forgotten_since(old) or await _restated_since(workspace, old):
                raise _without_content(command, head)
            return self._roll_back(workspace, head, old, command, by)

        return await change_one(
            self.changes, owner, command, meta, operation=_OPERATION, more=[command.version], stage=stage
        )

    async def _find(self, workspace: Workspace, command: RollbackCommand, head: MemoryHead) -> MemoryVersion:
        for version in await workspace.change.versions(command.memory_id):
            if version.version == command.version and not version.redacted:
                return version
        raise _without_content(command, head)

    def _roll_back(
        self,
        workspace: Workspace,
        head: MemoryHead,
        old: MemoryVersion,
        command: RollbackCommand,
        by: Authorship,
    ) -> ChangeResult:
        same = [other for other in workspace.with_claim(old.claim) if other.id != head.id]
        if same:
            raise AlreadyExists(
                Reason.ALREADY_EXISTS,
                "another memory already says what that version says",
                field="version",
                metadata={"memory_id": str(same[0].id)},
            )
        workspace.advance(by, _OPERATION)
        settling = self.changes.settling(workspace)
        reason = command.reason or f"rolled back to version {old.version}"
        restored = {name: getattr(old, name) for name in RESTORED}
        evidence = Evidence().attested(by.dot, old.confidence)
        rivals = self._rivals(workspace, head, old)
        after = workspace.revise(
            head, by, reason, status=Status.ACTIVE, tier=Tier.LONG_TERM, evidence=evidence, disputed=False, **restored
        )
        settling.note(JournalEvent.ROLLED_BACK, head, after, by, reason, {"to_version": old.version})
        touched: list[Affected] = []
        for rival in rivals:
            left = rival.current.evidence.unseen_by(by.knowledge)
            if left:
                touched += settling.show(rival, rival.current.status, by, reason, evidence=left)
            else:
                touched.append(settling.retract(rival, by, reason))
        touched += settling.slots_of([old, head.current], by)
        state = workspace.state
        after = workspace.heads[head.id]
        return ChangeResult(after, Effect.UPDATED, tuple(touched), state.revision, state.clock, by.dot)

    def _rivals(self, workspace: Workspace, head: MemoryHead, old: MemoryVersion) -> list[MemoryHead]:
        predicate = (
            self.changes.vocabulary_of(workspace.owner).find(old.assertion.predicate) if old.assertion else None
        )
        if predicate is None or predicate.cardinality is Cardinality.MANY:
            return []
        others = [h for h in workspace.in_slot(old.slot) if h.id != head.id]
        return [h for h in others if old.window.overlaps(h.current.window)]


async def _restated_since(workspace: Workspace, old: MemoryVersion) -> bool:
    """Whether a version was a guess of what was forgotten after it was made, in other words (B3)."""
    if old.source in EXPLICIT:
        return False
    restating = Restating(workspace)
    await restating.load(old.text, old.assertion)
    stones = restating.stones(old.text, old.assertion, old.provenance.agent)
    return any(stone.revision > old.revision for stone in stones)


def _without_content(command: RollbackCommand, head: MemoryHead) -> NotFound:
    return NotFound(
        Reason.VERSION_NOT_FOUND,
        f"the memory has no version {command.version} with content",
        field="version",
        metadata={"newest": str(head.current.version)},
    )
