"""Write and BatchWrite: remember statements durably, once, in causal order (P1, P2, E10, B2, B8)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from memory_service.app.commands import BatchItem, ChangeMeta, ChangeResult, Effect, Statement
from memory_service.app.disputes import left_alone
from memory_service.app.drafts import Draft
from memory_service.app.group_commit import GroupCommit
from memory_service.app.kinship import NO_KIN, Kin, Nearby, settled_in, takes_part
from memory_service.app.replay import replayed, stored_outcome
from memory_service.app.restating import Restating
from memory_service.app.review import was_rejected
from memory_service.app.rivals import EXPLICIT
from memory_service.app.service import Changes, for_writer, statement_payload
from memory_service.app.session_stones import SessionStones
from memory_service.app.targets import not_found
from memory_service.app.validation import check_list, check_meta
from memory_service.app.workspace import Authorship, Workspace
from memory_service.domain import limits
from memory_service.domain.errors import DeadlineExceeded, InternalError, MemoryServiceError, Unavailable
from memory_service.domain.evidence import Evidence
from memory_service.domain.ids import MemoryId, OwnerKey
from memory_service.domain.memory import STANDING_STATUSES, Relation, Status
from memory_service.domain.records import Fragment
from memory_service.domain.slots import payload_digest
from memory_service.domain.vector_clock import VectorClock

_OPERATION = "write"
_REJECTED = "a person rejected it in review"
_COMPARED_MAX = 16
"""Newest memories of a topic whose vectors a new statement is compared with."""


@dataclass(slots=True)
class Write:
    """Remembers statements of one owner. Callers that come at the same time share a commit."""

    changes: Changes
    _group: GroupCommit[tuple[Draft, ChangeMeta], ChangeResult] = field(init=False)

    def __post_init__(self) -> None:
        self._group = GroupCommit(self._commit_group)

    async def one(self, owner: OwnerKey, statement: Statement, meta: ChangeMeta) -> ChangeResult:
        """Remember one statement; durable when it returns.

        Raises:
            InvalidInput: for a field that breaks its limit, an unknown predicate or an unusable vector.
            Conflict, FailedPrecondition: for a reused name, a gap in a device's numbers, a context from the
                future or a frozen kind.
            LimitExceeded: for a full quota or disk. Unavailable: when the database is away.
        """
        check_meta(meta)
        draft = await self.changes.drafting_of(owner).draft(statement, self.changes.clock.now())
        return await self._group.join(owner, (draft, meta))

    async def _commit_group(
        self, owner: OwnerKey, items: Sequence[tuple[Draft, ChangeMeta]]
    ) -> Sequence[ChangeResult | MemoryServiceError]:
        return await self._commit(owner, [draft for draft, _ in items], [meta for _, meta in items])

    async def batch(
        self,
        owner: OwnerKey,
        items: Sequence[BatchItem],
        *,
        actor: str,
        context: VectorClock | None,
        positions: Sequence[int] | None = None,
    ) -> list[ChangeResult | MemoryServiceError]:
        """Remember statements in order, in one commit.

        `positions` are the items' places in the caller's list, for error fields, where some were left out.

        An item that is refused fails alone, with its error in its place; the others are remembered together.
        A failure of the store fails all of them.

        Raises:
            InvalidInput: FIELD_TOO_LONG for more than 500 items; also for an unusable context.
        """
        check_list(items, "items", limits.BATCH_ITEMS_MAX)
        check_meta(ChangeMeta(actor=actor, context=context))
        metas = [
            ChangeMeta(
                actor=actor,
                request_id=item.request_id,
                agent=item.statement.agent,
                device=item.device,
                counter=item.counter,
                context=item.context if item.context is not None else context,
            )
            for item in items
        ]
        places = list(positions if positions is not None else range(len(items)))
        fields = [f"items[{place}].memory" for place in places]
        drafts = await self.changes.drafting_of(owner).draft_all(
            [item.statement for item in items], self.changes.clock.now(), fields
        )
        for index, meta in enumerate(metas):
            try:
                check_meta(meta, f"items[{places[index]}].")
            except MemoryServiceError as error:
                drafts[index] = error
        return await self._commit(owner, drafts, metas)

    async def _commit(
        self, owner: OwnerKey, drafts: Sequence[Draft | MemoryServiceError], metas: Sequence[ChangeMeta]
    ) -> list[ChangeResult | MemoryServiceError]:
        accepted = [draft for draft in drafts if isinstance(draft, Draft)]
        if not accepted:
            return [draft for draft in drafts if isinstance(draft, MemoryServiceError)]
        pairs = zip(drafts, metas, strict=True)
        compared = [d if isinstance(d, Draft) and takes_part(d, meta) else None for d, meta in pairs]
        nearby = await self.changes.kinship().nearby(owner, compared)
        results: list[ChangeResult | MemoryServiceError] = []
        async with self.changes.store.change(owner) as change:
            workspace = Workspace.of(change, self.changes.ids, owner)
            authors: list[Authorship] = []
            keys = [(d.slot, d.claim) for d in accepted] + [key for d in accepted for key in d.former]
            await workspace.load([slot for slot, _ in keys], [claim for _, claim in keys])
            await workspace.load_past(d.slot for d in accepted if d.reaches_back)
            for draft, meta, near in zip(drafts, metas, nearby, strict=True):
                if isinstance(draft, MemoryServiceError):
                    results.append(draft)
                    continue
                try:
                    results.append(await self._admit(workspace, draft, meta, near, authors))
                except (Unavailable, DeadlineExceeded, InternalError):
                    raise  # the store or a rule failed: nothing is decided about this item or any other
                except MemoryServiceError as error:
                    results.append(error)
            if workspace.dirty:
                await self.changes.apply(workspace, *authors)
        if workspace.dirty:
            self.changes.committed(owner, workspace.state.revision)
            self.changes.count_restated(workspace)
        for result in results:
            if isinstance(result, ChangeResult) and not result.replayed:
                self.changes.telemetry.count("writes_total", effect=result.effect.value)
        return results

    async def _admit(
        self, workspace: Workspace, draft: Draft, meta: ChangeMeta, near: Nearby, authors: list[Authorship]
    ) -> ChangeResult:
        digest = payload_digest(workspace.state.salt, _OPERATION, statement_payload(draft.statement))
        known = await stored_outcome(workspace, _OPERATION, meta, digest)
        if known is not None:
            return for_writer(await replayed(workspace, known), meta)
        unknown = await workspace.load_origins(draft.statement.derived_from)
        if unknown:
            raise not_found(unknown[0], f"{draft.field}.derived_from")
        by = await self.changes.author(workspace, meta)
        if draft.source not in EXPLICIT:
            await Restating(workspace).load(draft.text, draft.assertion)
        similar = await self._similar(workspace, draft)
        if await self._of_forgotten_turns(workspace, draft):
            result = self.changes.admission(workspace).suppress(by, _OPERATION)
        elif await self._rejected(workspace, draft):
            result = self.changes.admission(workspace, similar).suppress(by, _OPERATION, _REJECTED)
        else:
            kin = NO_KIN
            if takes_part(draft, meta):
                kin = await self.changes.kinship().kin(workspace, draft, near)
                draft = settled_in(draft, kin)
            result = self.changes.admission(workspace, similar, kin).admit(draft, by)
            await self._release(workspace, kin, by)
            if result.memory is not None and result.effect is Effect.CREATED:
                self._reweigh(workspace, kin, by, result.memory.id)
        workspace.answer(_OPERATION, by, digest, result)
        authors.append(by)
        return for_writer(result, meta)

    @staticmethod
    async def _of_forgotten_turns(workspace: Workspace, draft: Draft) -> bool:
        """Whether it was made of a session's state that was read before a part of it was forgotten (B3)."""
        origin = draft.statement.made_of
        if origin is None:
            return False
        return (await SessionStones.of(workspace, origin.session)).stop(origin)

    async def _rejected(self, workspace: Workspace, draft: Draft) -> bool:
        """Whether a person said of the same claim that it is wrong, and the user has not said it since (P13)."""
        if not draft.sensitive or draft.source in EXPLICIT or workspace.with_claim(draft.claim):
            return False
        heads = await workspace.change.heads_of_claims([draft.claim], standing_only=False)
        return any(was_rejected(head) for head in heads)

    async def _release(self, workspace: Workspace, kin: Kin, by: Authorship) -> None:
        """Stage that what only a value now replaced contradicted stands undisputed again (E5)."""
        contested = [i for i, (head, _) in kin.rivals.items() if head.current.status is Status.CONTESTED]
        gone = [i for i in contested if workspace.heads[i].current.status not in STANDING_STATUSES]
        self.changes.settling(workspace).release(await left_alone(workspace, gone), by)

    def _reweigh(self, workspace: Workspace, kin: Kin, by: Authorship, newer: MemoryId) -> None:
        """Stage that what the statement restates in more detail stays with less weight (S8, a policy)."""
        left = self.changes.parameters_of(workspace.owner).restated_confidence
        for head in kin.narrowed if left < 1 else ():
            head = workspace.heads.get(head.id, head)
            old = head.current
            if old.status is not Status.ACTIVE:
                continue
            evidence = Evidence.of(replace(a, confidence=a.confidence * left) for a in old.evidence)
            workspace.revise(
                head,
                by,
                "a newer statement restates it in more detail",
                dot=old.dot,
                context=old.context,
                evidence=evidence,
                confidence=old.confidence * left,
            )
            workspace.link(newer, Relation.SUPPORTS, head.id)

    async def _similar(self, workspace: Workspace, draft: Draft) -> frozenset[MemoryId]:
        """Memories of the topic the writer named that say almost the same, by the model's own measure (E10)."""
        if draft.structured or not draft.topic_given or draft.vectors is None:
            return frozenset()
        model = self.changes.drafting.embedder.model
        found: set[MemoryId] = set()
        for head in workspace.in_slot(draft.slot)[-_COMPARED_MAX:]:
            pieces: Sequence[Fragment] = workspace.staged_fragments(head.id, head.current.content_version)
            if not pieces:
                pieces = await workspace.change.fragments(head.id, head.current.content_version)
            vectors = [p.vector for p in pieces if p.vector is not None and p.model_id == model.id]
            if vectors and float(np.max(np.stack(vectors) @ draft.vectors.T)) >= model.same_cosine:
                found.add(head.id)
        return frozenset(found)
