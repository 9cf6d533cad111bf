"""Forget: remove memories with everything kept of their content, and keep them from coming back (F8, B3, C12)."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import cast

from memory_service.app.cache_drops import CacheDrops
from memory_service.app.causality import context_after
from memory_service.app.commands import ChangeMeta, ChangeResult, Effect, ForgetCommand, ForgetResult, SlotRef
from memory_service.app.replay import clock_of, stored_outcome
from memory_service.app.service import Changes
from memory_service.app.targets import not_found, slot_key
from memory_service.app.validation import check_list, check_meta, check_name, check_slot
from memory_service.app.workspace import Authorship, Workspace
from memory_service.domain import limits
from memory_service.domain.errors import InvalidInput, Reason
from memory_service.domain.ids import MemoryId, OwnerKey, Revision
from memory_service.domain.memory import MemoryHead
from memory_service.domain.records import JournalEvent, MemoryFilter, StoredOutcome, TombstoneScope
from memory_service.domain.slots import payload_digest, same_slot
from memory_service.domain.text import normalise

_OPERATION = "forget"
_LOOKUP_MAX = 500


@dataclass(frozen=True, slots=True)
class Forget:
    """Forgets memories by id, by slot or by filter."""

    changes: Changes
    drops: CacheDrops

    async def __call__(self, owner: OwnerKey, command: ForgetCommand, meta: ChangeMeta) -> ForgetResult:
        """Forget what the command names and what was derived from it, in one commit.

        When it returns, rows, vectors and this process's copies are gone (those in the shared cache too, or
        as soon as it answers again), earlier versions hold no content, and tombstones stop a late or repeated
        statement of the same from coming back. A concurrent edit of a forgotten memory does not save it: remove
        wins.

        Raises:
            InvalidInput: unless exactly one target is given and it names something.
            NotFound: MEMORY_NOT_FOUND when one of the ids never was this user's. Ids forgotten before are
                passed over.
        """
        where = self._check(command, meta)
        result = await self._commit(owner, command, meta, where)
        if not command.validate_only:
            # A retry too: the caches may not have heard of the first one.
            self.changes.committed(owner, result.revision)
            await self.drops.drop(owner)
        if not command.validate_only and not result.replayed:
            self.changes.telemetry.count("memories_forgotten_total", len(result.ids))
        return result

    async def _commit(
        self, owner: OwnerKey, command: ForgetCommand, meta: ChangeMeta, where: MemoryFilter | None
    ) -> ForgetResult:
        async with self.changes.store.change(owner) as change:
            workspace = Workspace.of(change, self.changes.ids)
            digest = payload_digest(workspace.state.salt, _OPERATION, _payload(command))
            known = None
            if not command.validate_only:
                known = await stored_outcome(workspace, _OPERATION, meta, digest)
            if known is not None:
                return _replayed(known, meta)
            heads = await self._targets(workspace, command, where)
            if command.validate_only:
                preview = tuple(heads[: limits.PREVIEW_MEMORIES_MAX])
                state = workspace.state
                return ForgetResult([h.id for h in heads], preview, state.revision, state.clock, None)
            by = self.changes.author(workspace, meta)
            result = await self._forget(workspace, heads, command, by, digest)
            await change.apply(workspace.changeset())
        return result

    def _check(self, command: ForgetCommand, meta: ChangeMeta) -> MemoryFilter | None:
        check_meta(meta)
        check_name(command.reason, "reason", limit=limits.REASON_CHARS_MAX)
        given = [bool(command.ids), command.slot is not None, command.where is not None]
        if sum(given) != 1:
            raise InvalidInput(
                Reason.FIELD_REQUIRED, "give exactly one of memories, slot and filter", field="memories"
            )
        check_list(command.ids, "memories.ids", limits.FORGET_IDS_MAX)
        if command.slot is not None:
            check_slot(command.slot)
        if command.where is not None and command.where == MemoryFilter():
            raise InvalidInput(Reason.FIELD_REQUIRED, "filter needs at least one condition", field="filter")
        return command.where

    async def _targets(
        self, workspace: Workspace, command: ForgetCommand, where: MemoryFilter | None
    ) -> list[MemoryHead]:
        change = workspace.change
        if command.ids:
            heads = list(await change.heads(list(dict.fromkeys(command.ids))))
            await self._check_known(workspace, command.ids, heads)
        else:
            if command.slot is not None:
                heads = await self._of_slot(workspace, command.slot)
            else:
                assert where is not None
                heads = list(await change.select(where, limit=self.changes.parameters.memories_max))
        return await self._with_derived(workspace, heads)

    async def _of_slot(self, workspace: Workspace, slot: SlotRef) -> list[MemoryHead]:
        """What is remembered of a slot, by everybody and by each agent for itself."""
        key = slot_key(slot, self.changes.vocabulary)
        most = self.changes.parameters.memories_max
        shared = await workspace.change.select(MemoryFilter(slots=frozenset({key})), limit=most)
        found = {head.id: head for head in shared}
        if slot.topic:
            # Topics are stored as they were spelt.
            spellings = {slot.topic, normalise(slot.topic), *(head.current.topic for head in shared)}
            kin = MemoryFilter(topics=frozenset(spellings))
        else:
            predicate = self.changes.vocabulary.resolve(slot.predicate, "slot.predicate").name
            kin = MemoryFilter(predicates=frozenset({predicate}))
        for head in await workspace.change.select(kin, limit=most):
            if same_slot(head.current.slot, key):
                found[head.id] = head
        return list(found.values())

    async def _check_known(self, workspace: Workspace, ids: Sequence[MemoryId], heads: Sequence[MemoryHead]) -> None:
        missing = [i for i in dict.fromkeys(ids) if i not in {head.id for head in heads}]
        if not missing:
            return
        digests = {workspace.digest(TombstoneScope.MEMORY, str(i)): i for i in missing}
        stones = await workspace.change.tombstones(list(digests)) if workspace.state.salt else ()
        forgotten = {digests[stone.digest] for stone in stones}
        for memory_id in missing:
            if memory_id not in forgotten:
                raise not_found(memory_id, "memories.ids")

    async def _with_derived(self, workspace: Workspace, heads: Sequence[MemoryHead]) -> list[MemoryHead]:
        """`heads` and everything derived from them, however far (F8)."""
        found = {head.id: head for head in heads}
        frontier = list(found)
        while frontier:
            derived: list[MemoryId] = []
            for start in range(0, len(frontier), _LOOKUP_MAX):
                derived += await workspace.change.derivatives(frontier[start : start + _LOOKUP_MAX])
            fresh = [i for i in dict.fromkeys(derived) if i not in found]
            frontier = []
            for start in range(0, len(fresh), _LOOKUP_MAX):
                for head in await workspace.change.heads(fresh[start : start + _LOOKUP_MAX]):
                    found[head.id] = head
                    frontier.append(head.id)
        return list(found.values())

    async def _forget(
        self,
        workspace: Workspace,
        heads: Sequence[MemoryHead],
        command: ForgetCommand,
        by: Authorship,
        digest: bytes,
    ) -> ForgetResult:
        workspace.advance(by.dot)
        reason = command.reason or "forgotten on request"
        if command.slot is not None:
            key = slot_key(command.slot, self.changes.vocabulary)
            private = {head.current.slot for head in heads if same_slot(head.current.slot, key)}
            for slot in sorted({key} | private):
                workspace.tombstone(TombstoneScope.SLOT, slot, by)
        for head in heads:
            workspace.tombstone(TombstoneScope.MEMORY, str(head.id), by)
            for claim in await _claims(workspace, head):
                workspace.tombstone(TombstoneScope.CLAIM, claim, by)
            workspace.note(
                JournalEvent.FORGOTTEN,
                head.id,
                head.current.version,
                by,
                reason,
                before=head.current.status.value,
            )
            workspace.forget(head)
        ids = [head.id for head in heads]
        state = workspace.state
        _remember_answer(workspace, by, digest, ids)
        clock = context_after(state.clock, by.meta, by.dot)
        return ForgetResult(ids, (), state.revision, clock, by.dot)


async def _claims(workspace: Workspace, head: MemoryHead) -> Iterable[str]:
    """Every claim the memory ever made: a late repetition of an earlier one must not come back either."""
    claims = {head.current.claim}
    if head.current.version > 1:
        claims |= {version.claim for version in await workspace.change.versions(head.id)}
    return sorted(claim for claim in claims if claim)


def _remember_answer(workspace: Workspace, by: Authorship, digest: bytes, ids: Sequence[MemoryId]) -> None:
    state = workspace.state
    result = ChangeResult(None, Effect.FORGOTTEN, (), state.revision, state.clock, by.dot)
    workspace.answer(_OPERATION, by, digest, result, extra={"forgotten": [str(i) for i in ids]})


def _replayed(known: StoredOutcome, meta: ChangeMeta) -> ForgetResult:
    outcome = known.outcome
    ids = [MemoryId(uuid.UUID(str(i))) for i in cast("Sequence[str]", outcome["forgotten"])]
    clock = context_after(clock_of(outcome), meta, known.dot)
    return ForgetResult(ids, (), Revision(int(known.revision)), clock, known.dot, replayed=True)


def _payload(command: ForgetCommand) -> dict[str, object]:
    slot, where = command.slot, command.where
    names = MemoryFilter.__dataclass_fields__
    return {
        "ids": sorted(str(i) for i in command.ids),
        "slot": [slot.subject, slot.predicate, slot.topic] if slot else None,
        "where": {name: getattr(where, name) for name in names} if where else None,
    }
