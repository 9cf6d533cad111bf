"""ResolveConflict: a person's decision between contradicting values, itself a causal change (F7, P13, B1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from memory_service.app.admission import Terms
from memory_service.app.commands import Affected, ChangeMeta, ChangeResult, Effect, ResolveCommand
from memory_service.app.drafts import Draft
from memory_service.app.replay import replayed, stored_outcome
from memory_service.app.service import Changes, for_writer, statement_payload
from memory_service.app.targets import not_found
from memory_service.app.validation import check_list, check_meta, check_name
from memory_service.app.workspace import Authorship, Workspace
from memory_service.domain import limits
from memory_service.domain.errors import Conflict, FailedPrecondition, InvalidInput, Reason
from memory_service.domain.ids import OwnerKey
from memory_service.domain.memory import STANDING_STATUSES, MemoryHead, Source, Status, Tier
from memory_service.domain.records import JournalEvent
from memory_service.domain.slots import payload_digest

_OPERATION = "resolve"


@dataclass(frozen=True, slots=True)
class Resolve:
    """Settles what is contested."""

    changes: Changes

    async def __call__(self, owner: OwnerKey, command: ResolveCommand, meta: ChangeMeta) -> ChangeResult:
        """Keep one of the memories named, put a new statement in their place, or dismiss all of them.

        Those not kept are retracted. A value the writer had not seen is not touched: it stays, contested with
        what was decided.

        Raises:
            InvalidInput: unless two or more memories (one to dismiss) and exactly one decision are given.
            NotFound: MEMORY_NOT_FOUND. FailedPrecondition: MEMORY_NOT_CURRENT for one that no longer stands.
            Conflict: ETAG_MISMATCH when a memory named says more than the writer's context had seen.
        """
        self._check(command, meta)
        draft = None
        if command.merge is not None:
            decided = replace(command.merge, source=Source.EXPLICIT_CORRECTION)
            draft = await self.changes.drafting_of(owner).draft(decided, self.changes.clock.now(), "merge")
        async with self.changes.store.change(owner) as change:
            workspace = Workspace.of(change, self.changes.ids, owner)
            digest = payload_digest(workspace.state.salt, _OPERATION, _payload(command))
            known = await stored_outcome(workspace, _OPERATION, meta, digest)
            if known is not None:
                return for_writer(await replayed(workspace, known), meta)
            heads = await self._find(workspace, command)
            slots = [head.current.slot for head in heads] + ([draft.slot] if draft else [])
            await workspace.load(slots, [draft.claim] if draft else [])
            workspace.adopt(heads)
            by = await self.changes.author(workspace, meta)
            self._check_seen(heads, by)
            result = self._decide(workspace, heads, draft, command, by)
            workspace.answer(_OPERATION, by, digest, result)
            await self.changes.apply(workspace, by)
        self.changes.committed(owner, result.revision)
        return for_writer(result, meta)

    def _check(self, command: ResolveCommand, meta: ChangeMeta) -> None:
        check_meta(meta)
        check_name(command.reason, "reason", limit=limits.REASON_CHARS_MAX)
        check_list(command.ids, "memory_ids", limits.RESOLVE_IDS_MAX)
        decisions = [command.keep is not None, command.merge is not None, command.dismiss]
        if sum(decisions) != 1:
            raise InvalidInput(Reason.FIELD_REQUIRED, "give exactly one of keep, merge and dismiss", field="decision")
        if len(set(command.ids)) < (1 if command.dismiss else 2):
            raise InvalidInput(
                Reason.FIELD_REQUIRED, "memory_ids must name the memories in conflict", field="memory_ids"
            )
        if command.keep is not None and command.keep not in command.ids:
            raise InvalidInput(Reason.FIELD_INVALID, "keep must be one of memory_ids", field="keep")

    async def _find(self, workspace: Workspace, command: ResolveCommand) -> list[MemoryHead]:
        found = {head.id: head for head in await workspace.change.heads(list(dict.fromkeys(command.ids)))}
        for memory_id in command.ids:
            if memory_id not in found:
                raise not_found(memory_id, "memory_ids")
            if found[memory_id].current.status not in STANDING_STATUSES:
                raise FailedPrecondition(
                    Reason.MEMORY_NOT_CURRENT,
                    f"a memory named is {found[memory_id].current.status}",
                    field="memory_ids",
                    metadata={"memory_id": str(memory_id)},
                )
        return list(found.values())

    def _check_seen(self, heads: Sequence[MemoryHead], by: Authorship) -> None:
        for head in heads:
            if not head.current.evidence.wholly_seen_by(by.knowledge):
                raise Conflict(
                    Reason.ETAG_MISMATCH,
                    "a memory named has been stated again since the context was read",
                    field="context",
                    metadata={"memory_id": str(head.id), "etag": head.etag},
                )

    def _decide(
        self,
        workspace: Workspace,
        heads: Sequence[MemoryHead],
        draft: Draft | None,
        command: ResolveCommand,
        by: Authorship,
    ) -> ChangeResult:
        settling = self.changes.settling(workspace)
        reason = command.reason or "decided by a person"
        if draft is not None:
            terms = Terms(against=heads, retracts=True, reason=reason, operation=_OPERATION)
            return self.changes.admission(workspace).admit(draft, by, terms)
        workspace.advance(by, _OPERATION)
        kept = next((head for head in heads if head.id == command.keep), None)
        touched: list[Affected] = [settling.retract(head, by, reason) for head in heads if head.id != command.keep]
        if kept is not None:
            before = kept
            evidence = kept.current.evidence.attested(by.dot, self._certainty(workspace.owner))
            kept = workspace.revise(
                kept,
                by,
                reason,
                status=Status.ACTIVE,
                tier=Tier.LONG_TERM,
                disputed=False,
                evidence=evidence,
                support=evidence.support,
                confidence=evidence.confidence,
            )
            settling.note(JournalEvent.RESOLVED, before, kept, by, reason)
        touched += settling.slots_of([head.current for head in heads], by)
        state = workspace.state
        after = workspace.heads[kept.id] if kept is not None else None
        effect = Effect.UPDATED if after is not None else Effect.RETRACTED
        if after is not None and after.current.status is Status.CONTESTED:
            effect = Effect.CONTESTED
        return ChangeResult(after, effect, tuple(touched), state.revision, state.clock, by.dot)

    def _certainty(self, owner: OwnerKey) -> float:
        return self.changes.parameters_of(owner).confidence_by_source[Source.EXPLICIT_CORRECTION]


def _payload(command: ResolveCommand) -> dict[str, object]:
    return {
        "ids": sorted(str(i) for i in command.ids),
        "keep": command.keep,
        "merge": statement_payload(command.merge) if command.merge else None,
        "dismiss": command.dismiss,
        "reason": command.reason,
    }
