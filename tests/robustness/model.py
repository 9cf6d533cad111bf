"""A naive model of where accepted changes must end: it looks at all of them at once, never at an order of arrival.

Exact for what the traffic does. Each claim has one memory at a time, and what decides is only who had seen what:
a value stands unless a change that had seen it replaced it, or a Forget that it had not seen hits it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from memory_service.domain.evidence import Evidence
from memory_service.domain.ids import DeviceId
from memory_service.domain.memory import MergePolicy
from memory_service.domain.siblings import Value, settle
from memory_service.domain.vector_clock import Dot

TEXT = "text"
"""The predicate of free text, in this model."""

ONE_VALUE: Mapping[str, MergePolicy] = {
    "location": MergePolicy.CONFIRM,
    "employer": MergePolicy.CONFIRM,
    "favorite": MergePolicy.HIGHEST_CONFIDENCE,
    "editor": MergePolicy.HIGHEST_CONFIDENCE,
}
MANY_VALUES = ("pet", "availability")
CORRECTED = ("location", "favorite")
"""Slots that are corrected and forgotten as slots; in all others a memory says one thing for life."""

Claim = tuple[str, str, str]
"""Subject, predicate, value. For free text ("", TEXT, the text)."""


@dataclass(frozen=True, slots=True)
class Act:
    """An accepted change.

    Attributes:
        context: what its writer had seen, itself not included.
        kind: assert, resolve, forget_claim, forget_slot, or nothing for what the model need not know.
        claim: of forget_slot only subject and predicate count.
        drops: the claims a resolution decided against.
        revision: the owner's, where the answer told it.
    """

    dot: Dot
    context: Mapping[str, int]
    kind: str
    claim: Claim = ("", "", "")
    confidence: float = 0.0
    drops: frozenset[Claim] = frozenset()

    def saw(self, other: Act) -> bool:
        return self.context.get(other.dot.device, 0) >= other.dot.counter


Head = tuple[str, str, str, str, int, float]
"""Subject, predicate, value, status, support, confidence."""


@dataclass(slots=True)
class Expected:
    """What must stand, what must be gone without a trace, and what may be either.

    Attributes:
        forgotten: values that every mention of was forgotten: found nowhere.
    """

    heads: set[Head] = field(default_factory=set)
    forgotten: set[str] = field(default_factory=set)


def expect(acts: Iterable[Act]) -> Expected:
    """Where these changes end."""
    by_slot: dict[tuple[str, str], list[Act]] = defaultdict(list)
    for act in acts:
        if act.kind != "nothing":
            by_slot[_slot(act.claim)].append(act)
    expected = Expected()
    for (_, predicate), mine in by_slot.items():
        _expect_slot(expected, predicate, mine)
    return expected


def _slot(claim: Claim) -> tuple[str, str]:
    # Texts have nothing to do with one another: each is a slot of its own.
    return (claim[2] if claim[1] == TEXT else claim[0]), claim[1]


def _expect_slot(expected: Expected, predicate: str, mine: list[Act]) -> None:
    forgets = [act for act in mine if act.kind.startswith("forget")]
    asserting = [act for act in mine if not act.kind.startswith("forget")]
    alive: dict[Claim, list[Act]] = defaultdict(list)
    replacing = asserting if predicate in ONE_VALUE else []
    for act in asserting:
        hit = [f for f in forgets if f.kind == "forget_slot" or f.claim == act.claim]
        if any(not act.saw(forget) for forget in hit):
            continue
        if not any(_takes_away(other, act) for other in replacing):
            alive[act.claim].append(act)
    evidence = {claim: _evidence(group) for claim, group in alive.items()}
    status = {claim[2]: "active" for claim in evidence}
    if predicate in ONE_VALUE:
        values = [Value(claim[2], proof) for claim, proof in evidence.items()]
        status = {key: shown.value for key, shown in settle(ONE_VALUE[predicate], values).status.items()}
    for claim, proof in evidence.items():
        expected.heads.add((*claim, status[claim[2]], proof.support, round(proof.confidence, 6)))
    said: dict[Claim, list[Act]] = defaultdict(list)
    for act in asserting:
        said[act.claim].append(act)
    for claim, group in said.items():
        hit = [f for f in forgets if f.kind == "forget_slot" or f.claim == claim]
        if hit and all(any(not act.saw(forget) for forget in hit) for act in group):
            expected.forgotten.add(claim[2])


def _takes_away(other: Act, act: Act) -> bool:
    if not other.saw(act):
        return False
    if other.kind == "resolve":
        return act.claim in other.drops
    return other.claim != act.claim


def _evidence(group: list[Act]) -> Evidence:
    evidence = Evidence()
    for act in group:
        evidence = evidence.attested(Dot(DeviceId(act.dot.device), act.dot.counter), act.confidence)
    return evidence
