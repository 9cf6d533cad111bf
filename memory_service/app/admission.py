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
from datetime import datetime, timedelta

from memory_service.app.commands import Affected, ChangeResult, Effect
from memory_service.app.drafts import Draft
from memory_service.app.fragmenting import WORDINGS_MAX
from memory_service.app.kinship import NO_KIN, Kin
from memory_service.app.restating import Restating
from memory_service.app.rivals import EXPLICIT, Rivals
from memory_service.app.settling import Settling, ruling_details
from memory_service.app.workspace import Authorship, Workspace, affected, provenance
from memory_service.domain.arbitration import Ruling, Verdict
from memory_service.domain.decay import DEFAULT_DECAY, DecayPolicy
from memory_service.domain.errors import FailedPrecondition, LimitExceeded, Reason
from memory_service.domain.evidence import ENTRIES_MAX, Evidence
from memory_service.domain.ids import MemoryId
from memory_service.domain.intervals import Window
from memory_service.domain.memory import (
    Cardinality,
    JsonValue,
    Kind,
    MemoryHead,
    MergePolicy,
    Relation,
    Source,
    Status,
    Tier,
    Visibility,
)
from memory_service.domain.parameters import Parameters
from memory_service.domain.records import ASSERTION_ORDINAL, Fragment, JournalEvent, Tombstone
from memory_service.domain.relations import StatementRelation
from memory_service.domain.siblings import Value, settle
from memory_service.ports.clock import Ids

_CONCURRENT = "concurrent: neither writer had seen the other"
_OWN = "own"
_FORGOTTEN = "what it says was forgotten, and its writer had not seen that"
RESTATED = "it is a guess, and says in other words what was forgotten"
_CLOCKS_APART = timedelta(minutes=5)
"""How far a writer's clock may be behind before what it says is taken to be said before a Forget."""


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
    """What a draft meets in its slot, in the stretch of time it speaks of."""

    window: Window
    replaced: list[tuple[MemoryHead, Ruling]] = field(default_factory=list)
    standing: list[tuple[MemoryHead, Evidence, Ruling | None]] = field(default_factory=list)

    @property
    def disputed(self) -> bool:
        """Whether arbitration could not decide for the draft."""
        return any(ruling is not None for _, _, ruling in self.standing)


@dataclass(slots=True)
class Admission:
    """Admits drafts into a workspace. All checks come before the first thing is staged.

    `similar` names memories of the draft's topic that speak so much alike that both cannot hold (E10); `kin` are
    those that the draft speaks of by its wording.
    """

    workspace: Workspace
    ids: Ids
    parameters: Parameters
    settling: Settling
    decay: DecayPolicy = DEFAULT_DECAY
    similar: frozenset[MemoryId] = frozenset()
    kin: Kin = NO_KIN

    def admit(self, draft: Draft, by: Authorship, terms: Terms = _ORDINARY) -> ChangeResult:
        """Stage what `draft` does and say what that is.

        Raises:
            FailedPrecondition: KIND_FROZEN when the user froze the draft's kind.
            LimitExceeded: QUOTA_EXCEEDED when the owner may have no more memories; metadata `limit`.
        """
        ws = self.workspace
        self._check_allowed(draft)
        suppressed = self._suppressed(draft, by)
        same = self._same(draft, by, terms)
        creates = not suppressed and same is None and terms.rewrites is None
        if creates:
            self._check_quota()
        ws.advance(by, terms.operation, created=int(creates))
        if suppressed and not by.explicit_context:
            # It names no context, so it cannot be told what it had seen and replaces nothing.
            return self._suppress(by, (), suppressed)
        encounter = self._meet(draft, by, terms, same)
        if suppressed:
            touched = self._replace_all(draft, encounter, None, by, terms)
            touched += self._weakened(encounter, by)
            if self._single(draft):
                touched += self.settling.slot(draft.slot, draft.merge, by)
            return self._suppress(by, touched, suppressed)
        return self._enter(draft, by, terms, same, encounter)

    @property
    def _rivals(self) -> Rivals:
        return Rivals(self.workspace, self.parameters, self.decay, self.similar, self.kin)

    def suppress(self, by: Authorship, operation: str, reason: str = _FORGOTTEN) -> ChangeResult:
        """Accept a change that remembers nothing, since what it is about was forgotten, or for another reason."""
        self.workspace.advance(by, operation)
        return self._suppress(by, (), reason)

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

    def _suppressed(self, draft: Draft, by: Authorship) -> str:
        """Why a tombstone stops this statement; "" when none does (B3, F7: remove wins).

        A writer that names its context must have seen the Forget. One that names none counts as having seen it
        only when the user says the thing anew; what was merely inferred or derived may come from before, and so does
        what the user said before (an import). What was made from a forgotten memory is as forgotten as what was made
        from it in time (F8). A guess is stopped in other words as well.
        """
        origins = self.workspace.origin_stones(draft.statement.derived_from)
        keys = ((draft.slot, draft.claim), *draft.former)
        stones = [*(stone for slot, claim in keys for stone in self.workspace.stones(slot, claim)), *origins]
        guess = draft.source not in EXPLICIT
        if by.explicit_context:
            if any(not by.knowledge.saw(stone.dot) for stone in stones):
                return _FORGOTTEN
            return (
                RESTATED if guess and any(not by.knowledge.saw(stone.dot) for stone in self._restated(draft)) else ""
            )
        relearnt = bool(self.workspace.with_claim(draft.claim))
        if origins or (not relearnt and any(guess or _said_before(draft, stone) for stone in stones)):
            return _FORGOTTEN
        return RESTATED if guess and not relearnt and self._restated(draft) else ""

    def _restated(self, draft: Draft) -> list[Tombstone]:
        return Restating(self.workspace).stones(draft.text, draft.assertion, draft.statement.agent)

    def _same(self, draft: Draft, by: Authorship, terms: Terms) -> MemoryHead | None:
        """The memory that says the same of the same time; what held at another time is another memory."""
        said = self._window(draft, None, by, terms)
        for head in self.workspace.with_claim(draft.claim):
            if head.id != _id(terms.rewrites) and said.overlaps(head.current.window):
                return head
        return None if draft.structured or terms.rewrites is not None else self.kin.same

    def _window(self, draft: Draft, same: MemoryHead | None, by: Authorship, terms: Terms) -> Window:
        """When the draft holds. What is said of the present without a beginning holds from when it is said.

        What was said before of the same claim keeps its own bounds where the draft names none: to say again what
        holds is not to cancel what was announced for later. A beginning read from the wording ("from today") does not
        move a known one forward, nor does a correction of another value.
        """
        start, end = draft.valid_from, draft.valid_to
        if same is not None:
            held, given = same.current.window, draft.statement
            earlier = start is not None and held.start is not None and held.start < start
            if terms.against:
                earlier = earlier or held.start is None
            if start is None or (earlier and (given.valid_from is None or terms.against)):
                start = held.start
            if end is None and not terms.against:
                end = held.end
        elif start is None and terms.rewrites is None and (end is None or end > by.now):
            start = self._began(draft, by)
        return Window(start, end)

    def _began(self, draft: Draft, by: Authorship) -> datetime:
        """When a value said without a beginning took its predecessor's place: when it was said.

        Unless the slot knows something said later than that (an import out of order): then when it is accepted.
        """
        said_at = draft.statement.said_at
        if said_at is None or said_at >= by.now:
            return by.now
        known = [h.current.said_at or h.current.recorded_at for h in self.workspace.in_slot(draft.slot)]
        return said_at if all(moment <= said_at for moment in known) else by.now

    # Meeting rivals ----------------------------------------------------------------------------------------

    def _meet(self, draft: Draft, by: Authorship, terms: Terms, same: MemoryHead | None) -> _Encounter:
        """Sort rivals into those replaced and those that stand, with the evidence that is left of them.

        A statement of the past only, which cannot replace a rival there, leaves the present as it is.
        """
        window = self._window(draft, same, by, terms)
        rivals = {h.id: h for h in (*terms.against, *self._rivals.of(draft, window, by.now))}
        if terms.rewrites is not None:
            rivals.pop(terms.rewrites.id, None)
        encounter = _Encounter(window)
        for rival in rivals.values():
            past = window.over(by.now) or rival.current.window.over(by.now)
            left = rival.current.evidence.unseen_by(by.knowledge)
            if past and (left or draft.source not in EXPLICIT):
                continue
            if left:
                encounter.standing.append((rival, left, None))
                continue
            if _tier(draft) is Tier.CANDIDATE and rival.current.tier is not Tier.CANDIDATE:
                # A guess is observed before it may replace anything (E3).
                encounter.standing.append((rival, rival.current.evidence, None))
                continue
            ruling = self._rivals.rule(draft, rival, same, by.now)
            if ruling.verdict is Verdict.REPLACE:
                encounter.replaced.append((rival, ruling))
            elif not past:
                encounter.standing.append((rival, rival.current.evidence, ruling))
        return encounter

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
        if own is None and (encounter.replaced or self._has_past(draft)):
            fixed["valid_from"] = encounter.window.start
        elif same is not None:
            fixed |= {"valid_from": encounter.window.start, "valid_to": encounter.window.end}
        head, effect = self._stage_own(draft, by, terms, same, fixed, reason)
        if any(piece.memory_id == rival.id for rival, _ in encounter.replaced for piece in self.kin.context[:1]):
            self._reword(head, self.kin.context)
        touched = self._replace_all(draft, encounter, head, by, terms)
        touched += self._rewrite_past(draft, head, encounter, by)
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
        if head.current.claim != draft.claim and draft.text not in self.kin.wordings:
            self._reword(after, draft.fragments(after.id, after.current.content_version))
        promoted = (old.tier, after.current.tier) == (Tier.CANDIDATE, Tier.LONG_TERM)
        event = JournalEvent.PROMOTED if promoted else JournalEvent.SUPPORTED
        if promoted:
            reason = f"said outright: {reason}"
        self.settling.note(JournalEvent.REACTIVATED if revived else event, head, after, by, reason, details)
        return after, Effect.REACTIVATED if revived else Effect.SUPPORTED

    def _reword(self, head: MemoryHead, pieces: Sequence[Fragment]) -> None:
        """Let the memory be found by other words too, up to a number of them."""
        ws, version = self.workspace, head.current.content_version
        staged = (piece.ordinal + 1 for piece in ws.staged_fragments(head.id, version))
        known = max(len(self.kin.wordings), *staged, 0)
        words = [piece for piece in pieces if piece.ordinal != ASSERTION_ORDINAL]
        more = words[: max(0, WORDINGS_MAX - known)]
        ws.reword(
            [
                replace(piece, memory_id=head.id, content_version=version, ordinal=known + place)
                for place, piece in enumerate(more)
            ]
        )

    def _has_past(self, draft: Draft) -> bool:
        """Whether the slot knows of values whose time ends: this one then began after them."""
        return self._single(draft) and any(
            not h.current.merged and h.current.window.end is not None and not h.current.window.empty
            for h in (*self.workspace.in_slot(draft.slot), *self.workspace.past_of(draft.slot))
        )

    def _replace_all(
        self, draft: Draft, encounter: _Encounter, winner: MemoryHead | None, by: Authorship, terms: Terms
    ) -> list[Affected]:
        return [
            item
            for rival, ruling in encounter.replaced
            for item in self._replace(draft, rival, winner, encounter.window, by, ruling, terms)
        ]

    def _replace(
        self,
        draft: Draft,
        rival: MemoryHead,
        winner: MemoryHead | None,
        window: Window,
        by: Authorship,
        ruling: Ruling,
        terms: Terms,
    ) -> list[Affected]:
        """Stage that `rival` does not hold while the winner does, or was never true (P10)."""
        reason = terms.reason or ruling.reason
        if terms.retracts or self._was_wrong(rival, draft):
            if winner is not None:
                self.workspace.link(winner.id, Relation.SUPERSEDES, rival.id)
            return [self.settling.retract(rival, by, reason)]
        if rival.id in self.kin.rivals and rival.current.kind is Kind.EVENT:
            window = Window()  # what was to happen then does not: it never holds, though it was so planned
        details = ruling_details(ruling) | ({"by": str(winner.id)} if winner else {})
        return self.settling.cut(rival, window, winner, by, reason, details)

    def _rewrite_past(self, draft: Draft, head: MemoryHead, encounter: _Encounter, by: Authorship) -> list[Affected]:
        """A statement that reaches back also limits values that were replaced since (they were loaded for it)."""
        if not self._single(draft) or draft.source not in EXPLICIT:
            return []
        window, replaced = encounter.window, {rival.id for rival, _ in encounter.replaced}
        reason = "told later: another value held then"
        return [
            item
            for old in self.workspace.past_of(draft.slot)
            if old.id not in replaced and old.current.claim != draft.claim
            if window.overlaps(old.current.window)
            for item in self.settling.cut(old, window, head, by, reason, {"by": str(head.id)})
        ]

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

    def _was_wrong(self, rival: MemoryHead, draft: Draft) -> bool:
        """Whether a replaced value was never true, as far as wording tells (P10).

        The user takes back what was said, or denies what was only guessed. A change makes the old value past instead.
        """
        if rival.id == self.kin.corrected:
            return True
        _, judgement = self.kin.rivals.get(rival.id, (rival, None))
        if judgement is None or judgement.relation is not StatementRelation.OPPOSITE:
            return False
        return draft.source in EXPLICIT and rival.current.tier is Tier.CANDIDATE

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
        self.workspace.restated += reason == RESTATED
        self.workspace.note(JournalEvent.SUPPRESSED, MemoryId(self.ids.new()), 0, by, reason)
        return self._result(None, Effect.SUPPRESSED, touched, by)

    def _reason(self, encounter: _Encounter, same: MemoryHead | None) -> str:
        rulings = [ruling for _, ruling in encounter.replaced]
        rulings += [ruling for _, _, ruling in encounter.standing if ruling is not None]
        if rulings:
            return "; ".join(dict.fromkeys(ruling.reason for ruling in rulings))
        if encounter.standing:
            return _CONCURRENT
        if same is None:
            return "new"
        if same.current.tier is not Tier.ARCHIVE and same.id == _id(self.kin.same):
            return "said in other words"
        return "mentioned again: back from the archive" if same.current.tier is Tier.ARCHIVE else "stated again"

    def _result(
        self, head: MemoryHead | None, effect: Effect, touched: Sequence[Affected], by: Authorship
    ) -> ChangeResult:
        state = self.workspace.state
        return ChangeResult(head, effect, tuple(touched), state.revision, state.clock, by.dot)


def visible_to(head: MemoryHead, agent: str) -> bool:
    """Whether an agent may see a memory (C14)."""
    version = head.current
    return version.visibility is Visibility.SHARED or version.provenance.agent == agent


def _said_before(draft: Draft, stone: Tombstone) -> bool:
    """Whether the user said it before it was forgotten, by the writer's word."""
    said_at = draft.statement.said_at
    # A correction is made now, though it keeps when the corrected was said.
    told = draft.source is Source.EXPLICIT
    return told and said_at is not None and said_at < stone.at - _CLOCKS_APART


def _later(a: datetime | None, b: datetime | None) -> datetime | None:
    return None if a is None or b is None else max(a, b)


def _tier(draft: Draft, own: MemoryHead | None = None) -> Tier:
    """Where a memory stands after a statement: what was only inferred is observed (E3), the sensitive waits (P13)."""
    if own is None:
        waits = draft.sensitive and draft.source is Source.DERIVED
        return Tier.CANDIDATE if waits or draft.source is Source.INFERRED else Tier.LONG_TERM
    if draft.source in EXPLICIT:
        return Tier.LONG_TERM
    if own.current.tier is Tier.ARCHIVE:
        return Tier.CANDIDATE if draft.sensitive or own.current.source is Source.INFERRED else Tier.LONG_TERM
    return own.current.tier


def _id(head: MemoryHead | None) -> MemoryId | None:
    return head.id if head else None


def _object(head: MemoryHead) -> JsonValue:
    assertion = head.current.assertion
    return assertion.object if assertion else None


def _evidence(fixed: dict[str, object]) -> Evidence:
    evidence = fixed["evidence"]
    assert isinstance(evidence, Evidence)
    return evidence
