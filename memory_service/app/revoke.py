"""RevokeWriter: undo everything a device or agent wrote since a time, and what was derived from it (B9)."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import cast

from memory_service.app.causality import context_after
from memory_service.app.commands import Affected, ChangeMeta, ChangeResult, Effect, RevokeCommand, RevokeResult
from memory_service.app.merging import WHOLE, Merging
from memory_service.app.replay import clock_of, stored_outcome
from memory_service.app.service import Changes
from memory_service.app.settling import Settling
from memory_service.app.sync import VOID
from memory_service.app.validation import check_meta, check_name, check_time
from memory_service.app.workspace import Authorship, Workspace, affected
from memory_service.domain import limits
from memory_service.domain.errors import FailedPrecondition, InvalidInput, LimitExceeded, Reason
from memory_service.domain.evidence import Evidence
from memory_service.domain.ids import MemoryId, OwnerKey, Revision
from memory_service.domain.memory import STANDING_STATUSES, MemoryHead, MemoryVersion, Status
from memory_service.domain.records import ChangeRecord, JournalEvent, StoredOutcome
from memory_service.domain.slots import payload_digest
from memory_service.domain.vector_clock import Dot
from memory_service.ports.memory_store import Writer

_OPERATION = "revoke"
_LOOKUP_MAX = 500


@dataclass(frozen=True, slots=True)
class Revoke:
    """Undoes one writer's changes; the revocation can be undone itself."""

    changes: Changes

    async def __call__(self, owner: OwnerKey, command: RevokeCommand, meta: ChangeMeta) -> RevokeResult:
        """Undo, in one commit, or with `validate_only` say what that would do.

        A memory that nobody else touched since becomes what it was before, or retracted if the writer made it;
        one that others touched loses only the writer's statements. What was derived from a retracted memory is
        retracted with it. What the writer forgot stays forgotten.

        Raises:
            InvalidInput: unless a writer and a time, or a revocation to take back, are named.
            FailedPrecondition: MEMORY_NOT_CURRENT when `undo` names no revocation.
            LimitExceeded: QUOTA_EXCEEDED for more changes than one revocation may undo.
        """
        self._check(command, meta)
        async with self.changes.store.change(owner) as change:
            workspace = Workspace.of(change, self.changes.ids, owner)
            digest = payload_digest(workspace.state.salt, _OPERATION, _payload(command))
            known = None if command.validate_only else await stored_outcome(workspace, _OPERATION, meta, digest)
            if known is not None:
                return _replayed(known, meta)
            by = await self.changes.author(workspace, meta)
            undone = await self._changes(workspace, command)
            workspace.advance(by, _OPERATION)
            touched = await self._undo(workspace, undone, command, by)
            state = workspace.state
            if command.validate_only:
                return RevokeResult(len(undone), touched, change.state.revision, change.state.clock, None)
            answer = ChangeResult(None, Effect.UPDATED, tuple(touched), state.revision, state.clock, by.dot)
            workspace.answer(_OPERATION, by, digest, answer, extra={"changes": len(undone)})
            await self.changes.apply(workspace, by)
        self.changes.committed(owner, state.revision)
        clock = context_after(state.clock, meta, by.dot)
        return RevokeResult(len(undone), touched, state.revision, clock, by.dot)

    def _check(self, command: RevokeCommand, meta: ChangeMeta) -> None:
        check_meta(meta)
        for name in ("device", "agent", "actor"):
            check_name(getattr(command, name), f"writer.{name}")
        check_name(command.reason, "reason", limit=limits.REASON_CHARS_MAX)
        check_time(command.since, "since")
        named = bool(command.device or command.agent or command.actor)
        if named == (command.undo is not None):
            raise InvalidInput(
                Reason.FIELD_REQUIRED, "name a writer to revoke, or a revocation to undo", field="writer"
            )
        if named and command.since is None:
            raise InvalidInput(Reason.FIELD_REQUIRED, "since must be given", field="since")

    async def _changes(self, workspace: Workspace, command: RevokeCommand) -> list[ChangeRecord]:
        change = workspace.change
        if command.undo is not None:
            found = [c for c in await change.changes_at([command.undo]) if c.operation == _OPERATION]
            if not found:
                raise FailedPrecondition(
                    Reason.MEMORY_NOT_CURRENT, "there is no such revocation", field="undo_revision"
                )
            return found
        assert command.since is not None
        writer = Writer(command.device, command.agent, command.actor)
        records = [c for c in await change.changes_by(writer, command.since) if c.operation not in (_OPERATION, VOID)]
        if len(records) > limits.REVOKE_CHANGES_MAX:
            raise LimitExceeded(
                Reason.QUOTA_EXCEEDED,
                f"the writer made {len(records)} changes; revoke from a later time first",
                field="since",
                metadata={"limit": str(limits.REVOKE_CHANGES_MAX)},
            )
        return records

    async def _undo(
        self, workspace: Workspace, undone: Sequence[ChangeRecord], command: RevokeCommand, by: Authorship
    ) -> list[Affected]:
        settling = self.changes.settling(workspace)
        revisions = {record.revision for record in undone}
        dots = {record.dot for record in undone}
        reason = command.reason or ("revocation taken back" if command.undo else "its writer was revoked")
        heads = await self._touched(workspace, revisions)
        await workspace.load([head.current.slot for head in heads], [])
        workspace.adopt(heads)
        touched: list[Affected] = []
        for merge in await Merging(workspace, settling).merges_of([head.id for head in heads]):
            if merge.untouched and merge.head.current.status in STANDING_STATUSES:
                touched += await Merging(workspace, settling).take_apart(merge, by, reason)
        heads = [workspace.heads[head.id] for head in heads]
        retracted: list[MemoryId] = []
        about: list[MemoryVersion] = []
        befores = [await self._before(workspace, head, revisions) for head in heads]
        earlier = [before for before in befores if before is not None]
        await workspace.load([before.slot for before in earlier], [before.claim for before in earlier])
        for head, before in zip(heads, befores, strict=True):
            about.append(head.current)
            item = self._restore(workspace, settling, head, before, revisions, dots, by, reason)
            if item is not None:
                touched.append(item)
                if item.effect is Effect.RETRACTED:
                    retracted.append(head.id)
                elif item.head is not None:
                    about.append(item.head.current)
        touched += await self._retract_derived(workspace, settling, retracted, by, reason)
        slots = [version.slot for version in about]
        await workspace.load(slots, [])
        touched += settling.slots_of(about, by)
        return touched

    async def _touched(self, workspace: Workspace, revisions: Iterable[Revision]) -> list[MemoryHead]:
        ids: dict[MemoryId, None] = {}
        ordered = sorted(revisions)
        for start in range(0, len(ordered), _LOOKUP_MAX):
            for version in await workspace.change.versions_at(ordered[start : start + _LOOKUP_MAX]):
                ids[version.id] = None
        heads: list[MemoryHead] = []
        named = list(ids)
        for start in range(0, len(named), _LOOKUP_MAX):
            heads += await workspace.change.heads(named[start : start + _LOOKUP_MAX])
        return sorted(heads, key=lambda head: (head.created_at or head.current.recorded_at, head.id))

    async def _before(self, workspace: Workspace, head: MemoryHead, revisions: set[Revision]) -> MemoryVersion | None:
        """The newest version that none of the undone changes made, from before the first of them."""
        versions = await workspace.change.versions(head.id)
        before: MemoryVersion | None = None
        for version in versions:
            if version.revision in revisions:
                return before
            before = version
        return before

    def _restore(
        self,
        workspace: Workspace,
        settling: Settling,
        head: MemoryHead,
        before: MemoryVersion | None,
        revisions: set[Revision],
        dots: set[Dot],
        by: Authorship,
        reason: str,
    ) -> Affected | None:
        current = head.current
        left = current.evidence.without(dots)
        if current.revision in revisions:
            if before is None or before.redacted or workspace.forgotten_since(before):
                return settling.retract(head, by, reason) if current.status is not Status.RETRACTED else None
            fields = {name: getattr(before, name) for name in WHOLE}
            if current.claim == before.claim:
                # Others may have said it too between the undone changes; theirs stay.
                evidence = Evidence.of({*before.evidence, *left})
                fields |= {"evidence": evidence, "support": evidence.support or before.support}
            after = workspace.revise(head, by, reason, dot=before.dot, **fields)
            settling.note(JournalEvent.ROLLED_BACK, head, after, by, reason, {"to_version": before.version})
            return affected(after, Effect.UPDATED, reason)
        if left == current.evidence or current.status not in STANDING_STATUSES:
            return None
        if not left:
            return settling.retract(head, by, reason)
        changes = settling.show(head, current.status, by, reason, evidence=left)
        return changes[0] if changes else affected(workspace.heads[head.id], Effect.UPDATED, reason)

    async def _retract_derived(
        self, workspace: Workspace, settling: Settling, gone: Sequence[MemoryId], by: Authorship, reason: str
    ) -> list[Affected]:
        touched: list[Affected] = []
        seen, frontier = set(gone), list(gone)
        while frontier:
            derived: list[MemoryId] = []
            for start in range(0, len(frontier), _LOOKUP_MAX):
                derived += await workspace.change.derivatives(frontier[start : start + _LOOKUP_MAX])
            fresh = [i for i in dict.fromkeys(derived) if i not in seen]
            seen.update(fresh)
            frontier = []
            for start in range(0, len(fresh), _LOOKUP_MAX):
                workspace.adopt(await workspace.change.heads(fresh[start : start + _LOOKUP_MAX]))
            for memory_id in fresh:
                head = workspace.heads.get(memory_id)
                if head is not None and head.current.status in STANDING_STATUSES:
                    touched.append(settling.retract(head, by, f"derived from what was revoked: {reason}"[:512]))
                    frontier.append(memory_id)
        return touched


def _replayed(known: StoredOutcome, meta: ChangeMeta) -> RevokeResult:
    outcome = known.outcome
    touched = [
        Affected(MemoryId(uuid.UUID(str(i))), Effect(str(effect)), None, str(reason))
        for i, _, effect, reason in cast("Sequence[tuple[str, int, str, str]]", outcome["affected"])
    ]
    clock = context_after(clock_of(outcome), meta, known.dot)
    return RevokeResult(
        int(str(outcome["changes"])), touched, Revision(known.revision), clock, known.dot, replayed=True
    )


def _payload(command: RevokeCommand) -> dict[str, object]:
    return {
        "writer": [command.device, command.agent, command.actor],
        "since": command.since,
        "undo": command.undo,
        "reason": command.reason,
    }
