"""Decides what one statement does to an owner's memories (E2, E4, E8, E10, E15; F7; B1, B3, B8).

forgotten, and the writer had not seen that ──► suppressed (what it replaces is replaced all the same)
values of the slot that cannot hold beside it:
    what the writer had seen of their evidence goes; what it had not seen stays, and they are siblings
    nothing stays: arbitration, replace or both disputed
same claim there ──► supported (from the archive: reactivated); else created
then the values that stand are settled: the predicate's merge policy decides which speaks
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from memory_service.app.commands import Affected, ChangeResult, Effect
from memory_service.app.drafts import TEMPORARY_KINDS, Draft
from memory_service.app.settling import Settling, ruling_details
from memory_service.app.workspace import Authorship, Workspace, affected, provenance
from memory_service.domain.arbitration import Ruling, Side, Verdict, arbitrate, readjudicate
from memory_service.domain.decay import DEFAULT_DECAY, DecayPolicy, last_said
from memory_service.domain.errors import FailedPrecondition, LimitExceeded, Reason
from memory_service.domain.evidence import ENTRIES_MAX, Evidence
from memory_service.domain.ids import MemoryId
from memory_service.domain.memory import (
    Cardinality,
    JsonValue,
    MemoryHead,
    MergePolicy,
    Relation,
    Source,
    Status,
    Tier,
    Visibility,
)
from memory_service.domain.parameters import Parameters
from memory_service.domain.records import JournalEvent
from memory_service.domain.siblings import Value, settle
from memory_service.ports.clock import Ids

EXPLICIT = frozenset({Source.EXPLICIT, Source.EXPLICIT_CORRECTION})
_CONCURRENT = "concurrent: neither writer had seen the other"
_OWN = "own"
_FORGOTTEN = "what it says was forgotten, and its writer had not seen that"


@dataclass(frozen=True, slots=True)
class Terms:
    """How a draft enters, where that is not the ordinary way.

    Attributes:
        rewrites: the memory whose content it replaces (Correct); None makes or supports one.
        against: memories it is set against beside those of its slot.
        retracts: values it replaces were never true, instead of true until now.
    """

    rewrites: MemoryHead | None = None
    against: Sequence[MemoryHead] = ()
    retracts: bool = False
    reason: str = ""
    operation: str = "write"


_ORDINARY = Terms()


@dataclass(slots=True)
class _Encounter:
    """What a draft meets in its slot."""

    replaced: list[tuple[MemoryHead, Ruling]] = field(default_factory=list)
    standing: list[tuple[MemoryHead, Evidence, Ruling | None]] = field(default_factory=list)

    @property
    def disputed(self) -> bool:
        """Whether arbitration could not decide for the draft."""
        return any(ruling is not None for _, _, ruling in self.standing)


@dataclass(slots=True)
class Admission:
    """Admits drafts into a workspace. All checks come before the first thing is staged.

    `similar` names memories of the draft's topic that speak so much alike that both cannot hold (E10).
    """

    workspace: Workspace
    ids: Ids
    parameters: Parameters
    settling: Settling
    decay: DecayPolicy = DEFAULT_DECAY
    similar: frozenset[MemoryId] = frozenset()

    def admit(self, draft: Draft, by: Authorship, terms: Terms = _ORDINARY) -> ChangeResult:
        """Stage what `draft` does and say what that is.

        Raises:
            FailedPrecondition: KIND_FROZEN when the user froze the draft's kind.
            LimitExceeded: QUOTA_EXCEEDED when the owner may have no more memories; metadata `limit`.
        """
        ws = self.workspace
        self._check_allowed(draft)
        suppressed = self._suppressed(draft, by)
        same = next((h for h in ws.with_claim(draft.claim) if h.id != _id(terms.rewrites)), None)
        creates = not suppressed and same is None and terms.rewrites is None
        if creates:
            self._check_quota()
        ws.advance(by, terms.operation, created=int(creates))
        if suppressed and not by.explicit_context:
            # It names no context, so it cannot be told what it had seen and replaces nothing.
            return self._suppress(by, ())
        encounter = self._meet(draft, by, terms, same)
        if suppressed:
            touched = [self._replace(rival, None, draft, by, ruling, terms) for rival, ruling in encounter.replaced]
            touched += self._weakened(encounter, by)
            if self._single(draft):
                touched += self.settling.slot(draft.slot, draft.merge, by)
            return self._suppress(by, touched)
        return self._enter(draft, by, terms, same, encounter)

    def suppress(self, by: Authorship, operation: str, reason: str = _FORGOTTEN) -> ChangeResult:
        """Accept a change that remembers nothing, since what it is about was forgotten (or for another reason)."""
        self.workspace.advance(by, operation)
        return self._suppress(by, (), reason)

    def rivals_of(self, draft: Draft, now: datetime) -> list[MemoryHead]:
        """Standing memories of the draft's slot that claim something else and cannot hold beside it."""
        others = [h for h in self.workspace.in_slot(draft.slot) if h.current.claim != draft.claim]
        return [head for head in others if not head.current.merged and self._competes(draft, head, now)]

    # Checks ------------------------------------------------------------------------------------------------

    def _check_allowed(self, draft: Draft) -> None:
        if draft.kind in self.workspace.state.frozen_kinds:
            raise FailedPrecondition(
                Reason.KIND_FROZEN, f"the user has frozen memories of kind {draft.kind}", field="memory.kind"
            )

    def _check_quota(self) -> None:
        if self.workspace.state.memory_count >= self.parameters.memories_max:
            raise LimitExceeded(
                Reason.QUOTA_EXCEEDED,
                f"the user has {self.workspace.state.memory_count} memories, the most allowed",
                metadata={"limit": str(self.parameters.memories_max)},
            )

    def _suppressed(self, draft: Draft, by: Authorship) -> bool:
        """Whether a tombstone stops this statement (B3, F7: remove wins).

        A writer that names its context must have seen the Forget. One that names none counts as having seen it
        only when the user says the thing anew; what was merely inferred or derived may come from before. What
        was made from a forgotten memory is as forgotten as what was made from it in time (F8).
        """
        origins = self.workspace.origin_stones(draft.statement.derived_from)
        keys = ((draft.slot, draft.claim), *draft.former)
        stones = [*(stone for slot, claim in keys for stone in self.workspace.stones(slot, claim)), *origins]
        if by.explicit_context:
            return any(not by.knowledge.saw(stone.dot) for stone in stones)
        relearnt = bool(self.workspace.with_claim(draft.claim))
        return bool(origins) or (bool(stones) and draft.source not in EXPLICIT and not relearnt)

    def _competes(self, draft: Draft, head: MemoryHead, now: datetime) -> bool:
        """Whether both cannot hold: one-valued slot, overlapping times, neither an exception to the other."""
        if draft.cardinality is Cardinality.MANY and head.id not in self.similar:
            return False
        old = head.current
        if draft.temporary != (old.kind in TEMPORARY_KINDS):
            return False
        if any(end is not None and end <= now for end in (draft.valid_to, old.valid_to)):
            return False  # one of them is told of the past only
        return overlap((draft.valid_from, draft.valid_to), (old.valid_from, old.valid_to))

    # Meeting rivals ----------------------------------------------------------------------------------------

    def _meet(self, draft: Draft, by: Authorship, terms: Terms, same: MemoryHead | None) -> _Encounter:
        """Sort rivals into those replaced and those that stand, with the evidence that is left of them."""
        rivals = {h.id: h for h in (*terms.against, *self.rivals_of(draft, by.now))}
        if terms.rewrites is not None:
            rivals.pop(terms.rewrites.id, None)
        encounter = _Encounter()
        for rival in rivals.values():
            left = rival.current.evidence.unseen_by(by.knowledge)
            if left:
                encounter.standing.append((rival, left, None))
                continue
            if _tier(draft) is Tier.CANDIDATE and rival.current.tier is not Tier.CANDIDATE:
                # A guess is observed before it may replace anything (E3).
                encounter.standing.append((rival, rival.current.evidence, None))
                continue
            ruling = self._rule(draft, rival, same, by.now)
            if ruling.verdict is Verdict.REPLACE:
                encounter.replaced.append((rival, ruling))
            else:
                encounter.standing.append((rival, rival.current.evidence, ruling))
        return encounter

    def _rule(self, draft: Draft, rival: MemoryHead, same: MemoryHead | None, now: datetime) -> Ruling:
        ruling = arbitrate(
            source=draft.source,
            confidence=draft.confidence,
            old_confidence=rival.current.confidence,
            old_access_count=rival.usage.access_count,
            parameters=self.parameters,
        )
        disputed = [h for h in (same, rival) if h is not None and h.current.status is Status.CONTESTED]
        if same is None or len(disputed) < 2 or ruling.verdict is Verdict.REPLACE:
            return ruling
        # New evidence in a dispute: what was said again now weighs with all that stands behind it (E5).
        said = replace(side_of(same, self.decay, now), support=same.current.support + 1, strength=1.0, said_at=now)
        again = readjudicate([said, side_of(rival, self.decay, now)], self.parameters)
        return again[1] if again is not None and again[0] == 0 else ruling

    def _enter(
        self, draft: Draft, by: Authorship, terms: Terms, same: MemoryHead | None, encounter: _Encounter
    ) -> ChangeResult:
        ws = self.workspace
        own = same or terms.rewrites
        evidence = same.current.evidence if same else Evidence()
        evidence = evidence.attested(by.dot, self._confidence(draft, same))
        if len(evidence.attestations) > ENTRIES_MAX:
            evidence = evidence.compacted(by.retired)
        forced = bool(terms.against) and bool(encounter.standing) and not self._single(draft)
        disputed = encounter.disputed or forced or (same is not None and same.current.disputed)
        observed = _tier(draft, own) is Tier.CANDIDATE
        values = [Value(_OWN, evidence, disputed, draft.assertion.object if draft.assertion else None, observed)]
        values += [
            Value(
                str(h.id),
                left,
                h.current.disputed or forced or ruling is not None,
                _object(h),
                h.current.tier is Tier.CANDIDATE,
            )
            for h, left, ruling in encounter.standing
        ]
        settlement = settle(self._policy(draft), values)
        alone = len(values) == 1
        status, disputed = settlement.status[_OWN], disputed and not alone
        reason = terms.reason or self._reason(encounter, same)
        fixed: dict[str, object] = {
            "status": status,
            "disputed": disputed,
            "evidence": evidence,
            "support": evidence.support,
            "confidence": evidence.confidence,
        }
        if encounter.replaced and draft.valid_from is None and own is None:
            fixed["valid_from"] = by.now
        head, effect = self._stage_own(draft, by, terms, same, fixed, reason)
        touched = [self._replace(rival, head, draft, by, ruling, terms) for rival, ruling in encounter.replaced]
        if same is not None and terms.rewrites is not None:
            touched.append(self._merge_away(terms.rewrites, head, by, reason))
        for rival, left, ruling in encounter.standing:
            touched += self._stand(rival, left, settlement.status[str(rival.id)], head, by, ruling, forced)
        touched += self.settling.merged(draft.slot, settlement.merged, head, by)
        touched += self._met(encounter, touched)
        shown = {Status.CONTESTED: Effect.CONTESTED, Status.YIELDED: Effect.YIELDED}.get(status, effect)
        return self._result(ws.heads[head.id], shown, touched, by)

    def _policy(self, draft: Draft) -> MergePolicy:
        return draft.merge if self._single(draft) else MergePolicy.CONFIRM

    @staticmethod
    def _single(draft: Draft) -> bool:
        return draft.structured and draft.cardinality is Cardinality.ONE

    def _confidence(self, draft: Draft, same: MemoryHead | None) -> float:
        """What this statement adds: its own confidence, or a discount of the old one from the archive (E15)."""
        if same is not None and same.current.tier is Tier.ARCHIVE:
            return same.current.confidence * self.parameters.reactivation_discount
        return draft.confidence

    # Staging -----------------------------------------------------------------------------------------------

    def _stage_own(
        self,
        draft: Draft,
        by: Authorship,
        terms: Terms,
        same: MemoryHead | None,
        fixed: dict[str, object],
        reason: str,
    ) -> tuple[MemoryHead, Effect]:
        if same is not None:
            return self._support(same, draft, by, fixed, reason)
        if terms.rewrites is not None:
            old = terms.rewrites
            head = self.workspace.rewrite(old, draft, by, reason, tier=Tier.LONG_TERM, **fixed)
            self.settling.note(JournalEvent.CORRECTED, old, head, by, reason, {"old_version": old.current.version})
            return head, Effect.UPDATED
        head = self.workspace.create(MemoryId(self.ids.new()), draft, by, reason, tier=_tier(draft), **fixed)
        self.settling.note(JournalEvent.CREATED, None, head, by, reason)
        return head, Effect.CREATED

    def _support(
        self, head: MemoryHead, draft: Draft, by: Authorship, fixed: dict[str, object], reason: str
    ) -> tuple[MemoryHead, Effect]:
        """The same claim again: one more support, never a second memory (E9)."""
        ws = self.workspace
        old, usage = head.current, head.usage
        revived = old.tier is Tier.ARCHIVE
        details: dict[str, str | int | float | bool] = {}
        if revived:
            discounted = self.parameters.reactivation_discount * old.confidence
            evidence = Evidence.of(replace(a, confidence=min(a.confidence, discounted)) for a in _evidence(fixed))
            fixed = {**fixed, "evidence": evidence, "confidence": evidence.confidence}
            details["reactivation_discount"] = self.parameters.reactivation_discount
            usage = replace(usage, rejected_count=min(usage.rejected_count, usage.adopted_count))
        corrected = draft.source is Source.EXPLICIT_CORRECTION
        after = ws.revise(
            head,
            by,
            reason,
            tier=_tier(draft, head),
            source=draft.source if corrected else old.source,
            importance=max(old.importance, draft.importance),
            tags=tuple(dict.fromkeys((*old.tags, *draft.statement.tags))),
            expires_at=_later(old.expires_at, draft.expires_at),
            pinned=old.pinned or draft.statement.pinned,
            provenance=provenance(draft, by),
            **fixed,
        )
        confirmed = max(filter(None, (usage.last_confirmed_at, by.now)))  # the clock may have gone back
        after = ws.use(after, replace(usage, last_confirmed_at=confirmed))
        promoted = (old.tier, after.current.tier) == (Tier.CANDIDATE, Tier.LONG_TERM)
        event = JournalEvent.PROMOTED if promoted else JournalEvent.SUPPORTED
        if promoted:
            reason = f"said outright: {reason}"
        self.settling.note(JournalEvent.REACTIVATED if revived else event, head, after, by, reason, details)
        return after, Effect.REACTIVATED if revived else Effect.SUPPORTED

    def _replace(
        self,
        rival: MemoryHead,
        winner: MemoryHead | None,
        draft: Draft,
        by: Authorship,
        ruling: Ruling,
        terms: Terms,
    ) -> Affected:
        """Stage that `rival` no longer stands: true until the winner began to hold, or never true (P10)."""
        ws = self.workspace
        reason = terms.reason or ruling.reason
        if winner is not None:
            ws.link(winner.id, Relation.SUPERSEDES, rival.id)
        if terms.retracts:
            return self.settling.retract(rival, by, reason)
        closing = draft.valid_from or by.now
        old = rival.current
        if old.valid_from is not None:
            closing = max(closing, old.valid_from)
        ends = min(closing, old.valid_to) if old.valid_to is not None else closing
        gone = closing <= by.now
        # A change of state keeps the name and the context of the statement: whose value this was.
        changes: dict[str, object] = {"valid_to": ends, "dot": old.dot, "context": old.context}
        if gone:
            changes |= {"status": Status.SUPERSEDED, "evidence": Evidence(), "disputed": False}
        after = ws.revise(rival, by, reason, **changes)
        details = ruling_details(ruling) | ({"by": str(winner.id)} if winner else {})
        self.settling.note(JournalEvent.SUPERSEDED, rival, after, by, reason, details)
        return affected(after, Effect.SUPERSEDED, reason)

    def _stand(
        self,
        rival: MemoryHead,
        left: Evidence,
        status: Status,
        head: MemoryHead,
        by: Authorship,
        ruling: Ruling | None,
        forced: bool,
    ) -> list[Affected]:
        """Stage what the encounter leaves of a rival that stands."""
        if status is Status.CONTESTED:
            self.workspace.link(head.id, Relation.CONTRADICTS, rival.id)
        disputed = rival.current.disputed or forced or ruling is not None
        reason = ruling.reason if ruling else _CONCURRENT
        return self.settling.show(
            rival, status, by, reason, evidence=left, disputed=disputed, ruling=ruling, other=head.id
        )

    def _met(self, encounter: _Encounter, touched: Sequence[Affected]) -> list[Affected]:
        """The values it met that stay as they were: the writer is told of each, changed or not (F7)."""
        told = {item.memory_id for item in touched}
        effects = {Status.CONTESTED: Effect.CONTESTED, Status.YIELDED: Effect.YIELDED}
        heads = [self.workspace.heads[rival.id] for rival, _, _ in encounter.standing if rival.id not in told]
        return [
            affected(head, effects.get(head.current.status, Effect.UPDATED), "stands beside it as before")
            for head in heads
        ]

    def _weakened(self, encounter: _Encounter, by: Authorship) -> list[Affected]:
        """Stage what a suppressed statement leaves of the rivals it had seen in part."""
        return [
            item
            for rival, left, ruling in encounter.standing
            if ruling is None
            for item in self.settling.show(rival, rival.current.status, by, _CONCURRENT, evidence=left)
        ]

    def _merge_away(self, old: MemoryHead, into: MemoryHead, by: Authorship, reason: str) -> Affected:
        """The corrected value is already remembered: that memory carries it, the old one was wrong."""
        self.workspace.link(old.id, Relation.MERGED_INTO, into.id)
        return self.settling.retract(old, by, reason)

    def _suppress(self, by: Authorship, touched: Sequence[Affected], reason: str = _FORGOTTEN) -> ChangeResult:
        self.workspace.note(JournalEvent.SUPPRESSED, MemoryId(self.ids.new()), 0, by, reason)
        return self._result(None, Effect.SUPPRESSED, touched, by)

    @staticmethod
    def _reason(encounter: _Encounter, same: MemoryHead | None) -> str:
        rulings = [ruling for _, ruling in encounter.replaced]
        rulings += [ruling for _, _, ruling in encounter.standing if ruling is not None]
        if rulings:
            return "; ".join(dict.fromkeys(ruling.reason for ruling in rulings))
        if encounter.standing:
            return _CONCURRENT
        if same is None:
            return "new"
        return "mentioned again: back from the archive" if same.current.tier is Tier.ARCHIVE else "stated again"

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


def _tier(draft: Draft, own: MemoryHead | None = None) -> Tier:
    """Where a memory stands after a statement of it: what was only ever inferred is observed first (E3), what is
    sensitive and nobody said outright waits (P13)."""
    if own is None:
        waits = draft.sensitive and draft.source is Source.DERIVED
        return Tier.CANDIDATE if waits or draft.source is Source.INFERRED else Tier.LONG_TERM
    if draft.source in EXPLICIT:
        return Tier.LONG_TERM
    if own.current.tier is Tier.ARCHIVE:
        return Tier.CANDIDATE if draft.sensitive or own.current.source is Source.INFERRED else Tier.LONG_TERM
    return own.current.tier


def side_of(head: MemoryHead, decay: DecayPolicy, now: datetime) -> Side:
    """A contested memory as arbitration weighs it again (E5)."""
    version = head.current
    return Side(
        confidence=version.confidence,
        support=max(version.support, 1),
        strength=decay.strength(head, now),
        access_count=head.usage.access_count,
        said_at=last_said(head),
        observed=version.tier is Tier.CANDIDATE,
    )


def _id(head: MemoryHead | None) -> MemoryId | None:
    return head.id if head else None


def _object(head: MemoryHead) -> JsonValue:
    assertion = head.current.assertion
    return assertion.object if assertion else None


def _evidence(fixed: dict[str, object]) -> Evidence:
    evidence = fixed["evidence"]
    assert isinstance(evidence, Evidence)
    return evidence
