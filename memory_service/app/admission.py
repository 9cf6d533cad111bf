"""Decides what one statement does to an owner's memories (E2, E4, E8, E10, E15; F7; B1, B3, B8).

forgotten before? ── yes, and the writer had not seen that ──► suppressed
same claim there? ── yes ──► supported (from the archive: reactivated)
same slot, one value at a time?
    values the writer had not seen ──► siblings: the predicate's merge policy
    values the writer had seen     ──► arbitration: replace, or both contested
otherwise ──► created beside what is there
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from memory_service.app.commands import Affected, ChangeResult, Effect
from memory_service.app.drafts import TEMPORARY_KINDS, Draft
from memory_service.app.workspace import Authorship, Workspace, affected, provenance
from memory_service.domain.arbitration import Ruling, Verdict, arbitrate
from memory_service.domain.errors import FailedPrecondition, LimitExceeded, Reason
from memory_service.domain.ids import MemoryId
from memory_service.domain.memory import Cardinality, MemoryHead, Relation, Source, Status, Tier, Visibility
from memory_service.domain.parameters import Parameters
from memory_service.domain.records import JournalEvent
from memory_service.domain.siblings import Standing, Value, standings
from memory_service.ports.clock import Ids

_EXPLICIT = frozenset({Source.EXPLICIT, Source.EXPLICIT_CORRECTION})


@dataclass(slots=True)
class Admission:
    """Admits drafts into a workspace. All checks come before the first thing is staged."""

    workspace: Workspace
    ids: Ids
    parameters: Parameters
    similar: frozenset[MemoryId] = frozenset()

    def admit(self, draft: Draft, by: Authorship) -> ChangeResult:
        """Stage what `draft` does and say what that is.

        `similar` names memories of the draft's topic that speak so much alike that both cannot hold (E10).

        Raises:
            FailedPrecondition: KIND_FROZEN when the user froze the draft's kind.
            LimitExceeded: QUOTA_EXCEEDED when the owner may have no more memories; metadata `limit`.
        """
        ws = self.workspace
        self._check_allowed(draft)
        if self._suppressed(draft, by):
            return self._suppress(by)
        same = ws.with_claim(draft.claim)
        if same and draft.source is not Source.EXPLICIT_CORRECTION:
            return self._support(same[0], draft, by)
        rivals = self.rivals_of(draft)
        if same:
            return self._settle_on(same[0], rivals, draft, by)
        if ws.state.memory_count >= self.parameters.memories_max:
            raise LimitExceeded(
                Reason.QUOTA_EXCEEDED,
                f"the user has {ws.state.memory_count} memories, the most allowed",
                metadata={"limit": str(self.parameters.memories_max)},
            )
        return self.add(draft, rivals, by)

    def rivals_of(self, draft: Draft) -> list[MemoryHead]:
        """Current memories of the draft's slot that claim something else and cannot hold beside it."""
        others = [h for h in self.workspace.in_slot(draft.slot) if h.current.claim != draft.claim]
        return [head for head in others if self._competes(draft, head)]

    # Checks ------------------------------------------------------------------------------------------------

    def _check_allowed(self, draft: Draft) -> None:
        if draft.kind in self.workspace.state.frozen_kinds:
            raise FailedPrecondition(
                Reason.KIND_FROZEN, f"the user has frozen memories of kind {draft.kind}", field="memory.kind"
            )

    def _suppressed(self, draft: Draft, by: Authorship) -> bool:
        """Whether a tombstone stops this statement (B3, F7: remove wins).

        A writer that names its context must have seen the Forget. One that names none counts as having seen it
        only when the user says the thing anew; what was merely inferred or derived may come from before. What
        was made from a forgotten memory is as forgotten as what was made from it in time (F8).
        """
        origins = self.workspace.origin_stones(draft.statement.derived_from)
        stones = [*self.workspace.stones(draft.slot, draft.claim), *origins]
        if by.explicit_context:
            return any(not by.context.saw(stone.dot) for stone in stones)
        return bool(origins) or (bool(stones) and draft.source not in _EXPLICIT)

    def _competes(self, draft: Draft, head: MemoryHead) -> bool:
        """Whether both cannot hold: one-valued slot, overlapping times, neither an exception to the other."""
        if draft.cardinality is Cardinality.MANY and head.id not in self.similar:
            return False
        old = head.current
        if draft.temporary != (old.kind in TEMPORARY_KINDS):
            return False
        return overlap((draft.valid_from, draft.valid_to), (old.valid_from, old.valid_to))

    # Outcomes ----------------------------------------------------------------------------------------------

    def _suppress(self, by: Authorship) -> ChangeResult:
        ws = self.workspace
        ws.advance(by.dot)
        memory_id = MemoryId(self.ids.new())
        reason = "what it says was forgotten, and its writer had not seen that"
        ws.note(JournalEvent.SUPPRESSED, memory_id, 0, by, reason)
        return self._result(None, Effect.SUPPRESSED, (), by)

    def _support(self, head: MemoryHead, draft: Draft, by: Authorship) -> ChangeResult:
        """The same claim again: one more support, never a second memory (E9)."""
        ws = self.workspace
        ws.advance(by.dot)
        old = head.current
        revived = old.tier is Tier.ARCHIVE
        discount = self.parameters.reactivation_discount if revived else 1.0
        reason = "stated again" if not revived else f"mentioned again: back from the archive, confidence x {discount}"
        supported = ws.revise(
            head,
            by,
            reason,
            support=old.support + 1,
            confidence=max(old.confidence * discount, draft.confidence if not revived else 0.0),
            tier=Tier.LONG_TERM if revived or draft.source in _EXPLICIT else old.tier,
            importance=max(old.importance, draft.importance),
            tags=tuple(dict.fromkeys((*old.tags, *draft.statement.tags))),
            expires_at=_later(old.expires_at, draft.expires_at),
            pinned=old.pinned or draft.statement.pinned,
            provenance=provenance(draft, by),
        )
        supported = ws.use(supported, replace(supported.usage, last_confirmed_at=by.now))
        event = JournalEvent.REACTIVATED if revived else JournalEvent.SUPPORTED
        ws.note(
            event,
            head.id,
            supported.current.version,
            by,
            reason,
            before=old.tier.value,
            after=supported.current.tier.value,
            details={"support": supported.current.support, "confidence": supported.current.confidence},
        )
        effect = Effect.REACTIVATED if revived else Effect.SUPPORTED
        return self._result(supported, effect, (), by)

    def _settle_on(
        self, head: MemoryHead, rivals: Sequence[MemoryHead], draft: Draft, by: Authorship
    ) -> ChangeResult:
        """The user corrects to a value that is already there: it stands alone, its rivals were wrong."""
        ws = self.workspace
        ws.advance(by.dot)
        reason = "confirmed by explicit correction"
        settled = ws.revise(
            head,
            by,
            reason,
            support=head.current.support + 1,
            status=Status.ACTIVE,
            tier=Tier.LONG_TERM,
            source=Source.EXPLICIT_CORRECTION,
            confidence=max(head.current.confidence, draft.confidence),
            provenance=provenance(draft, by),
        )
        ws.note(JournalEvent.SUPPORTED, head.id, settled.current.version, by, reason)
        touched = [self.supersede(rival, settled, draft, by, reason) for rival in rivals]
        return self._result(settled, Effect.SUPPORTED, touched, by)

    def add(self, draft: Draft, rivals: Sequence[MemoryHead], by: Authorship) -> ChangeResult:
        """A claim that is not there yet, beside, instead of, or against its rivals."""
        ws = self.workspace
        ws.advance(by.dot, created=1)
        concurrent = [h for h in rivals if not by.context.saw(h.current.dot)]
        seen = [h for h in rivals if by.context.saw(h.current.dot)]
        rulings = {h.id: self._rule(draft, h) for h in seen}
        contested_by = [h for h in seen if rulings[h.id].verdict is Verdict.CONTEST]
        replaced = [h for h in seen if rulings[h.id].verdict is Verdict.REPLACE]
        own, fates = self._siblings(draft, concurrent, by)
        yields = own is Standing.YIELDS
        contested = own is Standing.CONTESTED or (bool(contested_by) and not yields)
        closing = self._closing(draft, by.now)
        fixed: dict[str, object] = {"tier": Tier.CANDIDATE if draft.source is Source.INFERRED else Tier.LONG_TERM}
        if yields:
            fixed |= {"status": Status.SUPERSEDED, "valid_to": draft.valid_to or by.now}
        elif contested:
            fixed["status"] = Status.CONTESTED
        if replaced and draft.valid_from is None:
            fixed["valid_from"] = closing
        reason = self._why_added(rulings.values(), concurrent, own)
        head = ws.create(MemoryId(self.ids.new()), draft, by, reason, **fixed)
        ws.note(JournalEvent.CREATED, head.id, 1, by, reason, after=head.current.status.value)
        ruled = [(rival, rulings[rival.id]) for rival in replaced]
        touched = [self.supersede(rival, head, draft, by, ruling.reason, ruling) for rival, ruling in ruled]
        if not yields:
            disputed = [(rival, rulings[rival.id]) for rival in contested_by]
            touched += [self._contest(rival, head, by, ruling.reason, ruling) for rival, ruling in disputed]
        for rival, fate in zip(concurrent, fates, strict=True):
            touched += self._settle_sibling(rival, head, draft, by, fate)
        effect = Effect.OBSOLETE if yields else Effect.CONTESTED if contested else Effect.CREATED
        return self._result(head, effect, touched, by)

    def _rule(self, draft: Draft, head: MemoryHead) -> Ruling:
        return arbitrate(
            source=draft.source,
            confidence=draft.confidence,
            old_confidence=head.current.confidence,
            old_access_count=head.usage.access_count,
            parameters=self.parameters,
        )

    def _siblings(
        self, draft: Draft, concurrent: Sequence[MemoryHead], by: Authorship
    ) -> tuple[Standing, list[Standing]]:
        if not concurrent:
            return Standing.STAYS, []
        values = [Value(h.current.confidence, h.current.dot) for h in concurrent]
        own, *others = standings(draft.merge, [Value(draft.confidence, by.dot), *values])
        return own, others

    def _settle_sibling(
        self, rival: MemoryHead, head: MemoryHead, draft: Draft, by: Authorship, fate: Standing
    ) -> list[Affected]:
        if fate is Standing.YIELDS:
            return [self.supersede(rival, head, draft, by, "concurrent; the other value is more certain")]
        if fate is Standing.CONTESTED:
            return [self._contest(rival, head, by, "concurrent: neither writer had seen the other")]
        return []

    def supersede(
        self,
        rival: MemoryHead,
        winner: MemoryHead,
        draft: Draft,
        by: Authorship,
        reason: str,
        ruling: Ruling | None = None,
    ) -> Affected:
        """Stage that `rival` was true until the winner began to hold, and no longer is (P10)."""
        ws = self.workspace
        closing = self._closing(draft, by.now)
        old = rival.current
        if old.valid_from is not None:
            closing = max(closing, old.valid_from)
        ends = min(closing, old.valid_to) if old.valid_to is not None else closing
        status = Status.SUPERSEDED if closing <= by.now else old.status
        after = ws.revise(rival, by, reason, status=status, valid_to=ends)
        ws.link(winner.id, Relation.SUPERSEDES, rival.id)
        ws.note(
            JournalEvent.SUPERSEDED,
            rival.id,
            after.current.version,
            by,
            reason,
            before=old.status.value,
            after=status.value,
            details=_ruling_details(ruling) | {"by": str(winner.id)},
        )
        return affected(after, Effect.SUPERSEDED, reason)

    def _contest(
        self, rival: MemoryHead, head: MemoryHead, by: Authorship, reason: str, ruling: Ruling | None = None
    ) -> Affected:
        ws = self.workspace
        ws.link(head.id, Relation.CONTRADICTS, rival.id)
        before = rival.current.status
        after = ws.revise(rival, by, reason, status=Status.CONTESTED, dot=rival.current.dot)
        ws.note(
            JournalEvent.CONTESTED,
            rival.id,
            after.current.version,
            by,
            reason,
            before=before.value,
            after=Status.CONTESTED.value,
            details=_ruling_details(ruling) | {"with": str(head.id)},
        )
        return affected(after, Effect.CONTESTED, reason)

    @staticmethod
    def _closing(draft: Draft, now: datetime) -> datetime:
        """When the old value ceased to hold: when the new one began, by its writer's word, else now."""
        return draft.valid_from or now

    @staticmethod
    def _why_added(rulings: Iterable[Ruling], concurrent: Sequence[MemoryHead], own: Standing) -> str:
        if own is Standing.YIELDS:
            return "concurrent; another value is more certain"
        if concurrent and own is Standing.CONTESTED:
            return "concurrent: neither writer had seen the other"
        reasons = [ruling.reason for ruling in rulings]
        return "; ".join(dict.fromkeys(reasons)) or "new"

    def _result(
        self, head: MemoryHead | None, effect: Effect, touched: Sequence[Affected], by: Authorship
    ) -> ChangeResult:
        state = self.workspace.state
        return ChangeResult(head, effect, tuple(touched), state.revision, state.clock, by.dot)


def overlap(a: tuple[datetime | None, datetime | None], b: tuple[datetime | None, datetime | None]) -> bool:
    """Whether two half-open intervals share a moment; None is unbounded."""
    (a_from, a_to), (b_from, b_to) = a, b
    starts_before_b_ends = a_from is None or b_to is None or a_from < b_to
    ends_after_b_starts = a_to is None or b_from is None or b_from < a_to
    return starts_before_b_ends and ends_after_b_starts


def visible_to(head: MemoryHead, agent: str) -> bool:
    """Whether an agent may see a memory (C14)."""
    version = head.current
    return version.visibility is Visibility.SHARED or version.provenance.agent == agent


def _later(a: datetime | None, b: datetime | None) -> datetime | None:
    return None if a is None or b is None else max(a, b)


def _ruling_details(ruling: Ruling | None) -> dict[str, str | int | float | bool]:
    if ruling is None:
        return {}
    return {"stubbornness": round(ruling.stubbornness, 4), "needed": round(ruling.needed, 4)}
