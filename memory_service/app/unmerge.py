"""Unmerge: undo a merge that the service made of memories that said the same (P11, E11)."""

from __future__ import annotations

from dataclasses import dataclass

from memory_service.app.commands import ChangeMeta, ChangeResult, Effect, UnmergeCommand
from memory_service.app.merging import Merging
from memory_service.app.replay import replayed, stored_outcome
from memory_service.app.service import Changes, for_writer
from memory_service.app.targets import check_etag, not_found
from memory_service.app.validation import check_meta, check_name
from memory_service.app.workspace import Workspace
from memory_service.domain import limits
from memory_service.domain.errors import Conflict, FailedPrecondition, Reason
from memory_service.domain.ids import OwnerKey
from memory_service.domain.memory import STANDING_STATUSES
from memory_service.domain.slots import payload_digest

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
        check_meta(meta)
        check_name(command.reason, "reason", limit=limits.REASON_CHARS_MAX)
        check_name(command.etag, "etag")
        async with self.changes.store.change(owner) as change:
            workspace = Workspace.of(change, self.changes.ids, owner)
            payload = [str(command.memory_id), command.etag, command.reason]
            digest = payload_digest(workspace.state.salt, _OPERATION, payload)
            known = await stored_outcome(workspace, _OPERATION, meta, digest)
            if known is not None:
                return for_writer(await replayed(workspace, known), meta)
            heads = await change.heads([command.memory_id])
            if not heads:
                raise not_found(command.memory_id, "memory_id")
            check_etag(heads[0], command.etag)
            by = await self.changes.author(workspace, meta)
            if not command.etag and not await workspace.state_seen(heads[0], by):
                raise Conflict(
                    Reason.ETAG_MISMATCH,
                    "the memory has changed since the context was read",
                    field="context",
                    metadata={"etag": heads[0].etag},
                )
            settling = self.changes.settling(workspace)
            merging = Merging(workspace, settling)
            found = await merging.find([command.memory_id])
            standing = heads[0].current.status in STANDING_STATUSES
            if not (found and found[0].absorbed and found[0].untouched and standing):
                raise FailedPrecondition(
                    Reason.MEMORY_NOT_CURRENT,
                    "the memory is not one that stands for others it was merged from",
                    field="memory_id",
                )
            workspace.advance(by, _OPERATION)
            touched = await merging.take_apart(found[0], by, command.reason or "unmerged")
            touched += settling.slots_of([source.current for source in found[0].absorbed], by)
            state = workspace.state
            head = workspace.heads[command.memory_id]
            result = ChangeResult(head, Effect.RETRACTED, tuple(touched[1:]), state.revision, state.clock, by.dot)
            workspace.answer(_OPERATION, by, digest, result)
            await self.changes.apply(workspace, by)
        self.changes.committed(owner, result.revision)
        return for_writer(result, meta)
