"""Decides which memories cannot hold beside a statement, and what becomes of each (E2, E4, E5, E10)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from memory_service.app.drafts import TEMPORARY_KINDS, Draft
from memory_service.app.kinship import ANOTHER_VALUE, CONTRADICTED, Kin
from memory_service.app.workspace import Workspace
from memory_service.domain.arbitration import Ruling, Side, Verdict, arbitrate, readjudicate
from memory_service.domain.decay import DecayPolicy, last_said
from memory_service.domain.ids import MemoryId
from memory_service.domain.intervals import Window
from memory_service.domain.memory import Cardinality, Kind, MemoryHead, Source, Status, Tier
from memory_service.domain.parameters import Parameters
from memory_service.domain.relations import Judgement, StatementRelation

EXPLICIT = frozenset({Source.EXPLICIT, Source.EXPLICIT_CORRECTION})


@dataclass(frozen=True, slots=True)
class Rivals:
    """The rivals of a statement in a workspace; `similar` and `kin` as in `Admission`."""

    workspace: Workspace
    parameters: Parameters
    decay: DecayPolicy
    similar: frozenset[MemoryId]
    kin: Kin

    def of(self, draft: Draft, window: Window, now: datetime) -> list[MemoryHead]:
        """Standing memories of the draft's slot that claim something else and cannot hold beside it."""
        others = [h for h in self.workspace.in_slot(draft.slot) if h.current.claim != draft.claim]
        found = [head for head in others if not head.current.merged and self._competes(draft, head, window)]
        spoken_of = [h for h, judgement in self.kin.rivals.values() if self._meets(draft, h, judgement, window, now)]
        return [*found, *(head for head in spoken_of if head not in found)]

    def rule(self, draft: Draft, rival: MemoryHead, same: MemoryHead | None, now: datetime) -> Ruling:
        """What becomes of a rival whose evidence the writer had seen."""
        _, judgement = self.kin.rivals.get(rival.id, (rival, None))
        updates = judgement is not None and (
            judgement.relation is StatementRelation.UPDATE or rival.id == self.kin.corrected
        )
        if updates and judgement is not None and draft.source in EXPLICIT:
            # Who says that something changed corrects what was said before (E4).
            return Ruling(Verdict.REPLACE, f"explicit correction by its wording: {judgement.reason}")
        if not updates and draft.source is Source.INFERRED and rival.current.tier is Tier.CANDIDATE:
            # Neither was told; a guess does not decide against a guess (E3).
            return Ruling(Verdict.CONTEST, "two guesses that contradict each other wait for evidence")
        structural = judgement is not None and (judgement is CONTRADICTED or judgement.reason == ANOTHER_VALUE)
        by_wording = judgement is not None and not structural and not updates
        if by_wording and draft.source not in EXPLICIT and rival.current.source not in EXPLICIT:
            return Ruling(Verdict.CONTEST, "neither was told, and they contradict each other by their wording")
        if by_wording and rival.current.source in EXPLICIT and rival.current.tier is not Tier.CANDIDATE:
            # By wording alone they contradict each other, and nothing says which holds now.
            return Ruling(Verdict.CONTEST, "contradicts it by its wording")
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

    def _competes(self, draft: Draft, head: MemoryHead, window: Window) -> bool:
        """Whether both cannot hold: one-valued slot, overlapping times, neither an exception to the other."""
        if draft.cardinality is Cardinality.MANY and head.id not in self.similar:
            return False
        if draft.temporary != (head.current.kind in TEMPORARY_KINDS):
            return False
        return window.overlaps(head.current.window)

    def _meets(self, draft: Draft, head: MemoryHead, judgement: Judgement, window: Window, now: datetime) -> bool:
        """Whether a memory that the draft speaks of cannot hold beside it: an exception replaces no rule (E2)."""
        old = head.current
        if old.claim == draft.claim or old.merged:
            return False
        if head.id == self.kin.corrected:
            return True
        passing = draft.kind is Kind.TEMPORARY_PREFERENCE or draft.expires_at is not None
        if passing and old.kind not in TEMPORARY_KINDS:
            return False
        # The date of an event is what is claimed of it: another date contradicts it though the two do not overlap.
        dated = old.kind is Kind.EVENT and not old.window.over(now)
        told = judgement.relation is StatementRelation.UPDATE or draft.kind is Kind.EVENT
        return window.overlaps(old.window) or (dated and told)


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
