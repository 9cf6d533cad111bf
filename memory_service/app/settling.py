"""Brings the values that stand in a slot into the state its merge policy gives them (F7)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from memory_service.app.commands import Affected, Effect
from memory_service.app.drafts import TEMPORARY_KINDS
from memory_service.app.fragmenting import waiting_fragments
from memory_service.app.workspace import Authorship, Workspace, affected
from memory_service.domain.arbitration import Ruling
from memory_service.domain.evidence import Evidence
from memory_service.domain.ids import MemoryId
from memory_service.domain.intervals import Window, concurrent
from memory_service.domain.memory import (
    Assertion,
    Cardinality,
    JsonValue,
    MemoryHead,
    MemoryVersion,
    MergePolicy,
    Relation,
    Source,
    Status,
    Tier,
)
from memory_service.domain.records import Fragment, JournalEvent
from memory_service.domain.siblings import Value, settle
from memory_service.domain.slots import claim_of_assertion, render_assertion
from memory_service.domain.text import analyse
from memory_service.domain.vocabulary import Vocabulary
from memory_service.ports.clock import Ids

_EFFECTS = {
    Status.CONTESTED: Effect.CONTESTED,
    Status.YIELDED: Effect.YIELDED,
    Status.ACTIVE: Effect.UPDATED,
}
_EVENTS = {Status.CONTESTED: JournalEvent.CONTESTED, Status.YIELDED: JournalEvent.YIELDED}
_ALONE = "no other value stands against it now"


@dataclass(slots=True)
class Settling:
    """Stages changes of state. It never changes what is claimed, except the value merged from siblings."""

    workspace: Workspace
    ids: Ids
    vocabulary: Vocabulary

    def show(
        self,
        head: MemoryHead,
        status: Status,
        by: Authorship,
        reason: str,
        *,
        evidence: Evidence | None = None,
        disputed: bool | None = None,
        ruling: Ruling | None = None,
        other: MemoryId | None = None,
    ) -> list[Affected]:
        """Stage a standing memory's state and evidence; nothing when they are as they were.

        The version keeps the dot of the statement: being contested is not stating anything.
        """
        old = head.current
        evidence = old.evidence if evidence is None else evidence
        disputed = old.disputed if disputed is None else disputed
        if (old.status, old.evidence, old.disputed) == (status, evidence, disputed):
            return []
        after = self.workspace.revise(
            head,
            by,
            reason,
            dot=old.dot,
            context=old.context,
            status=status,
            evidence=evidence,
            disputed=disputed,
            support=evidence.support or old.support,
            confidence=evidence.confidence if evidence else old.confidence,
        )
        if old.status is status:
            return []
        details = ruling_details(ruling) | ({"with": str(other)} if other else {})
        self.note(_EVENTS.get(status, JournalEvent.RESOLVED), head, after, by, reason, details)
        return [affected(after, _EFFECTS[status], reason)]

    def retract(self, head: MemoryHead, by: Authorship, reason: str) -> Affected:
        """Stage that a memory was never true."""
        old = head.current
        after = self.workspace.revise(
            head,
            by,
            reason,
            dot=old.dot,
            context=old.context,
            status=Status.RETRACTED,
            evidence=Evidence(),
            disputed=False,
        )
        self.note(JournalEvent.RETRACTED, head, after, by, reason)
        return affected(after, Effect.RETRACTED, reason)

    def cut(
        self,
        head: MemoryHead,
        window: Window,
        winner: MemoryHead | None,
        by: Authorship,
        reason: str,
        details: Mapping[str, str | int | float | bool],
    ) -> list[Affected]:
        """Stage that a memory does not hold during `window`, in which `winner` does (P10).

        Of what is left before and after, the part that holds now or later keeps the memory and its standing; another
        part becomes a memory of its own. Where nothing is left for now or later, the memory is superseded.
        """
        ws, old = self.workspace, head.current
        before, after = old.window.without(window)
        if old.window in (before, after) and winner is None:
            return []
        # A change of state keeps the name and the context of the statement: whose value this was.
        kept = {"dot": old.dot, "context": old.context}
        if after is not None and (before is None or before.over(by.now)):
            left = ws.revise(head, by, reason, valid_from=after.start, valid_to=after.end, **kept)
            self.note(JournalEvent.CORRECTED, head, left, by, reason, details)
            touched = [affected(left, Effect.UPDATED, reason)]
            if before is not None:
                ended = replace(old, status=Status.SUPERSEDED, evidence=Evidence(), disputed=False)
                touched.append(self._piece(ended, before, winner, by, reason))
            return touched
        ends = before.end if before is not None else old.valid_from or window.start or by.now
        changes: dict[str, object] = {"valid_to": ends, **kept}
        if before is None or before.over(by.now):
            changes |= {"status": Status.SUPERSEDED, "evidence": Evidence(), "disputed": False}
        if before is None and (old.valid_from or window.start):
            changes["valid_from"] = ends
        left = ws.revise(head, by, reason, **changes)
        if winner is not None:
            ws.link(winner.id, Relation.SUPERSEDES, head.id)
        self.note(JournalEvent.SUPERSEDED, head, left, by, reason, details)
        touched = [affected(left, Effect.SUPERSEDED, reason)]
        if after is not None:
            touched.append(self._piece(old, after, None, by, reason))
        return touched

    def _piece(
        self, old: MemoryVersion, window: Window, winner: MemoryHead | None, by: Authorship, reason: str
    ) -> Affected:
        """Stage a memory that holds what `old` says in another stretch of time."""
        ws = self.workspace
        version = replace(
            old,
            id=MemoryId(self.ids.new()),
            version=1,
            content_version=1,
            valid_from=window.start,
            valid_to=window.end,
            recorded_at=by.now,
            revision=ws.state.revision,
            reason=reason,
        )
        # Its vectors are made by the backfill job: no model may run while the owner is locked.
        head = ws.create_version(version, waiting_fragments(version.id, 1, old.text, old.assertion), by)
        ws.link(head.id, Relation.DERIVED_FROM, old.id)
        if winner is not None:
            ws.link(winner.id, Relation.SUPERSEDES, head.id)
        self.note(JournalEvent.CREATED, None, head, by, reason)
        return affected(head, Effect.CREATED, reason)

    def archive(
        self, head: MemoryHead, by: Authorship, reason: str, details: Mapping[str, str | int | float | bool]
    ) -> None:
        """Stage that a memory goes to the archive, as it is (E6): out of recall, its content and history kept."""
        after = self.move(head, Tier.ARCHIVE, by, reason)
        self.note(JournalEvent.ARCHIVED, head, after, by, reason, details)

    def move(self, head: MemoryHead, tier: Tier, by: Authorship, reason: str) -> MemoryHead:
        """Stage that a memory changes its tier and nothing else; the caller notes why."""
        old = head.current
        return self.workspace.revise(head, by, reason, tier=tier, dot=old.dot, context=old.context)

    def slot(self, slot: str, merge: MergePolicy, by: Authorship) -> list[Affected]:
        """Settle a single-valued slot anew after some of its values went; the slot has been loaded."""
        standing = [head for head in self.workspace.in_slot(slot) if not head.current.merged]
        touched: list[Affected] = []
        for temporary in (False, True):
            alike = [head for head in standing if (head.current.kind in TEMPORARY_KINDS) is temporary]
            # Values that hold at different times do not stand against each other; the last of them speaks for now.
            for group in concurrent(alike, lambda head: head.current.window):
                settlement = settle(merge, [_value(head) for head in group])
                for head in group:
                    status = settlement.status[str(head.id)]
                    disputed = head.current.disputed and len(group) > 1
                    touched += self.show(head, status, by, _ALONE, disputed=disputed)
                if not temporary and not all(head.current.window.over(by.now) for head in group):
                    touched += self.merged(slot, settlement.merged, group[0], by)
        if not any(head.current.kind not in TEMPORARY_KINDS for head in standing):
            touched += self.merged(slot, None, None, by)
        return touched

    def slots_of(self, versions: Iterable[MemoryVersion], by: Authorship) -> list[Affected]:
        """Settle the single-valued slots that these versions were about."""
        policies: dict[str, MergePolicy] = {}
        for version in versions:
            predicate = self.vocabulary.find(version.assertion.predicate) if version.assertion else None
            if predicate is not None and predicate.cardinality is Cardinality.ONE:
                policies[version.slot] = predicate.merge
        return [item for slot, merge in policies.items() for item in self.slot(slot, merge, by)]

    def release(self, heads: Sequence[MemoryHead], by: Authorship) -> list[Affected]:
        """Stage that disputed memories, outside single-valued slots, stand undisputed again."""
        return [
            item
            for head in heads
            if head.current.status is Status.CONTESTED
            for item in self.show(head, Status.ACTIVE, by, _ALONE, disputed=False)
        ]

    def merged(self, slot: str, value: JsonValue, like: MemoryHead | None, by: Authorship) -> list[Affected]:
        """Stage the memory that speaks for merged siblings, or its end when nothing is merged any more."""
        ws = self.workspace
        old = [head for head in ws.in_slot(slot) if head.current.merged]
        claim = claim_of_assertion(slot, value) if value else ""
        touched: list[Affected] = []
        for head in old:
            if head.current.claim == claim:
                return touched + self._revive(head, by)
            after = ws.revise(head, by, "its siblings changed", status=Status.SUPERSEDED, valid_to=by.now)
            self.note(JournalEvent.SUPERSEDED, head, after, by, "its siblings changed")
            touched.append(affected(after, Effect.SUPERSEDED, "its siblings changed"))
        assertion = like.current.assertion if like else None
        if not value or like is None or assertion is None:
            return touched
        siblings = [head for head in ws.in_slot(slot) if not head.current.merged]
        for head in siblings:
            if head.current.claim == claim:
                return touched + self.show(head, Status.ACTIVE, by, "says what the siblings make together")
        touched.append(self._make_merged(like, Assertion(assertion.subject, assertion.predicate, value), claim, by))
        return touched

    def _revive(self, head: MemoryHead, by: Authorship) -> list[Affected]:
        """Stage that what speaks for siblings is back from the archive, now that one of them was stated again."""
        if head.current.tier is not Tier.ARCHIVE:
            return []
        reason = "its siblings were stated again"
        after = self.move(head, Tier.LONG_TERM, by, reason)
        self.note(JournalEvent.REACTIVATED, head, after, by, reason)
        return [affected(after, Effect.REACTIVATED, reason)]

    def _make_merged(self, like: MemoryHead, assertion: Assertion, claim: str, by: Authorship) -> Affected:
        ws = self.workspace
        siblings = [h for h in ws.in_slot(like.current.slot) if not h.current.merged]
        text = render_assertion(assertion)
        observed = all(h.current.tier is Tier.CANDIDATE for h in siblings)
        version = replace(
            like.current,
            id=MemoryId(self.ids.new()),
            version=1,
            content_version=1,
            text=text,
            claim=claim,
            assertion=assertion,
            source=Source.DERIVED,
            tier=Tier.CANDIDATE if observed else Tier.LONG_TERM,
            support=sum(h.current.support for h in siblings),
            confidence=min(h.current.confidence for h in siblings),
            status=Status.ACTIVE,
            evidence=Evidence(),
            disputed=False,
            recorded_at=by.now,
            dot=by.dot,
            context=by.context,
            revision=ws.state.revision,
            reason="merged from concurrent values",
            redacted=False,
        )
        # Its vector is made by the backfill job: no model may run while the owner is locked.
        fragment = Fragment(version.id, 1, 0, text, tuple(analyse(text)))
        head = ws.create_version(version, [fragment], by)
        for sibling in siblings:
            ws.link(head.id, Relation.DERIVED_FROM, sibling.id)
        self.note(JournalEvent.CREATED, None, head, by, version.reason)
        return affected(head, Effect.CREATED, version.reason)

    def note(
        self,
        event: JournalEvent,
        before: MemoryHead | None,
        after: MemoryHead,
        by: Authorship,
        reason: str,
        details: Mapping[str, str | int | float | bool] | None = None,
    ) -> None:
        """Stage the journal entry of a change of state, with the evidence that stands behind the claim."""
        evidence = {"support": after.current.support, "confidence": round(after.current.confidence, 4)}
        self.workspace.note(
            event,
            after.id,
            after.current.version,
            by,
            reason,
            before=before.current.status.value if before else "",
            after=after.current.status.value,
            details=evidence | dict(details or {}),
        )


def ruling_details(ruling: Ruling | None) -> dict[str, str | int | float | bool]:
    """The numbers of an arbitration and the parameters in force, for the journal."""
    if ruling is None:
        return {}
    return {
        "stubbornness": round(ruling.stubbornness, 4),
        "needed": round(ruling.needed, 4),
        **ruling.in_force,
    }


def _value(head: MemoryHead) -> Value:
    version = head.current
    return Value(
        str(head.id),
        version.evidence,
        version.disputed,
        version.assertion.object if version.assertion else None,
        version.tier is Tier.CANDIDATE,
    )
