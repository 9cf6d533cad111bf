"""Values of one slot that did not see each other, and what becomes of them (F7, B1).

Every automatic policy picks by a total order over facts that travel with the value (its confidence, its dot), never
by arrival, so the outcome is the same for every order of delivery.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, TypeVar

from memory_service.domain.memory import MergePolicy
from memory_service.domain.vector_clock import Dot, VectorClock


class Standing(StrEnum):
    """What becomes of one sibling."""

    STAYS = "stays"
    YIELDS = "yields"
    CONTESTED = "contested"


class Sibling(Protocol):
    """What a policy may look at."""

    @property
    def confidence(self) -> float: ...

    @property
    def dot(self) -> Dot: ...


SiblingT = TypeVar("SiblingT", bound=Sibling)


@dataclass(frozen=True, slots=True)
class Value:
    """A sibling by its deciding facts."""

    confidence: float
    dot: Dot


def split_by_context(heads: Sequence[SiblingT], context: VectorClock) -> tuple[list[SiblingT], list[SiblingT]]:
    """Heads that a writer with `context` had seen, and those it had not: `(seen, concurrent)`."""
    seen = [head for head in heads if context.saw(head.dot)]
    concurrent = [head for head in heads if not context.saw(head.dot)]
    return seen, concurrent


def standings(policy: MergePolicy, siblings: Sequence[Sibling]) -> list[Standing]:
    """What becomes of each of several concurrent values, in their order.

    UNION keeps all; HIGHEST_CONFIDENCE keeps the greatest by (confidence, dot); CONFIRM contests all. For
    INTERSECTION the values are contested until they are merged, since a scalar has no intersection.
    """
    if len(siblings) < 2 or policy is MergePolicy.UNION:
        return [Standing.STAYS] * len(siblings)
    if policy is MergePolicy.HIGHEST_CONFIDENCE:
        winner = max(siblings, key=lambda s: (s.confidence, s.dot))
        return [Standing.STAYS if s is winner else Standing.YIELDS for s in siblings]
    return [Standing.CONTESTED] * len(siblings)
