"""Unmerge: undo a merge that the service made of memories that said the same (P11, E11)."""

from __future__ import annotations

from dataclasses import dataclass

from memory_service.app.commands import ChangeMeta, ChangeResult, Effect, UnmergeCommand
from memory_service.app.merging import Merging
from memory_service.app.one_memory import change_one
from memory_service.app.service import Changes
from memory_service.app.workspace import Authorship, Workspace
from memory_service.domain.errors import FailedPrecondition, Reason
from memory_service.domain.ids import OwnerKey
from memory_service.domain.memory import STANDING_STATUSES, MemoryHead

_OPERATION = "unmerge"


@dataclass(frozen=True, slots=True)
class Unmerge:
    """Takes a merged memory apart."""

    changes: Changes

    async def __call__(self, owner: OwnerKey, command: UnmergeCommand, meta: ChangeMeta) -> ChangeResult:
        """Make what a memory was merged from what it was before; the memory itself no longer stands.

        The same memories are not merged again by the service. What was stated of the merged memory since goes to
        the one whose wording it took; what later values replaced stays replaced.

        Raises:
            NotFound: MEMORY_NOT_FOUND.
            FailedPrecondition: MEMORY_NOT_CURRENT when it is no merge, or no longer stands as it was made.
            Conflict: ETAG_MISMATCH when the memory changed since the etag or the context was read.
        """

        async def stage(workspace: Workspace, head: MemoryHead, by: Authorship) -> ChangeResult:
            settling = self.changes.settling(workspace)
            merging = Merging(workspace, settling)
            found = await merging.find([command.memory_id])
            standing = head.current.status in STANDING_STATUSES
            if not (found and found[0].absorbed and found[0].untouched and standing):
                raise FailedPrecondition(
                    Reason.MEMORY_NOT_CURRENT,
                    "the memory is not one that stands for others it was merged from",
                    field="memory_id",
                )
            workspace.advance(by, _OPERATION)
            touched = await merging.take_apart(found[0], by, command.reason or "unmerged")
            touched += settling.slots_of([source.current for source in found[0].absorbed], by)
            state, after = workspace.state, workspace.heads[command.memory_id]
            return ChangeResult(after, Effect.RETRACTED, tuple(touched[1:]), state.revision, state.clock, by.dot)

        return await change_one(self.changes, owner, command, meta, operation=_OPERATION, stage=stage)
