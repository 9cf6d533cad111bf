"""Whether a new value takes an old one's place (E4).

The writer of the new value has seen the old one; values that did not see each other are siblings (`siblings.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from math import log2

from memory_service.domain.memory import Source
from memory_service.domain.parameters import Parameters


class Verdict(StrEnum):
    """The outcome of an arbitration."""

    REPLACE = "replace"
    CONTEST = "contest"


@dataclass(frozen=True, slots=True)
class Ruling:
    """A verdict with what decided it.

    Attributes:
        stubbornness: `confidence_old * min(1, access_count / 3)`, 0..1.
        needed: the confidence the new value had to exceed.
        in_force: the parameters that decided it, by name.
    """

    verdict: Verdict
    reason: str
    stubbornness: float = 0.0
    needed: float = 0.0
    in_force: Mapping[str, float] = field(default_factory=dict)


def stubbornness(confidence: float, access_count: int, parameters: Parameters) -> float:
    """How hard an old value is to replace: its confidence, in full once it was accessed often enough (E4)."""
    return confidence * min(1.0, access_count / parameters.stubborn_accesses)


def arbitrate(
    *,
    source: Source,
    confidence: float,
    old_confidence: float,
    old_access_count: int,
    parameters: Parameters,
) -> Ruling:
    """Decide replace or contest exactly as E4 says; confidences are 0..1."""
    in_force = _in_force(parameters)
    if source is Source.EXPLICIT_CORRECTION:
        return Ruling(Verdict.REPLACE, "explicit correction")
    if old_access_count > parameters.protected_accesses:
        reason = f"old value is protected: accessed {old_access_count} times"
        return Ruling(Verdict.CONTEST, reason, in_force=in_force)
    old = stubbornness(old_confidence, old_access_count, parameters)
    needed = parameters.replace_ratio * old
    if confidence > needed:
        reason = f"confidence {confidence:.2f} exceeds {needed:.2f}"
        return Ruling(Verdict.REPLACE, reason, old, needed, in_force)
    reason = f"confidence {confidence:.2f} does not exceed {needed:.2f}"
    return Ruling(Verdict.CONTEST, reason, old, needed, in_force)


def _in_force(parameters: Parameters) -> dict[str, float]:
    names = ("replace_ratio", "stubborn_accesses", "protected_accesses")
    return {name: getattr(parameters, name) for name in names}


@dataclass(frozen=True, slots=True)
class Side:
    """One of several values that contest each other.

    Attributes:
        confidence, strength: 0..1, as of now.
        support: statements behind it, from 1.
        said_at: when it was last stated.
        observed: it was inferred and nobody confirmed it (E3).
    """

    confidence: float
    support: int
    strength: float
    access_count: int
    said_at: datetime
    observed: bool = False

    @property
    def weight(self) -> float:
        """Confidence, times what stands behind it, times what time has left of it; 1 is one fresh certainty."""
        return self.confidence * log2(1 + self.support) * self.strength


def readjudicate(sides: Sequence[Side], parameters: Parameters) -> tuple[int, Ruling] | None:
    """E4 once more between values that contest each other, with the evidence there is by now (E5).

    One side replaces another when its weight exceeds E4's ratio times the other's stubbornness, which counts the
    other's weight in place of its confidence; a value accessed more than the protected number of times is replaced by
    explicit correction only, and one that is still observed replaces nothing that is not. The side that replaces all
    others wins; of several, the one that was said last.

    Returns:
        The winner's place and the ruling over the hardest of the others; None when no side wins.
    """
    winners: list[tuple[datetime, int, Ruling]] = []  # places negated: of those said at once the first in the list
    for place, side in enumerate(sides):
        others = [other for index, other in enumerate(sides) if index != place]
        if not others or any(other.access_count > parameters.protected_accesses for other in others):
            continue
        if side.observed and not all(other.observed for other in others):
            continue
        old = max(stubbornness(other.weight, other.access_count, parameters) for other in others)
        needed = parameters.replace_ratio * old
        if side.weight > needed:
            reason = f"judged again: weight {side.weight:.2f} exceeds {needed:.2f}"
            winners.append(
                (side.said_at, -place, Ruling(Verdict.REPLACE, reason, old, needed, _in_force(parameters)))
            )
    if not winners:
        return None
    _, place, ruling = max(winners, key=lambda winner: winner[:2])
    return -place, ruling
