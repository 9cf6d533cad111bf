"""Whether a new value takes an old one's place (E4).

The writer of the new value has seen the old one; values that did not see each other are siblings (`siblings.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

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
    """

    verdict: Verdict
    reason: str
    stubbornness: float = 0.0
    needed: float = 0.0


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
    if source is Source.EXPLICIT_CORRECTION:
        return Ruling(Verdict.REPLACE, "explicit correction")
    if old_access_count > parameters.protected_accesses:
        return Ruling(Verdict.CONTEST, f"old value is protected: accessed {old_access_count} times")
    old = stubbornness(old_confidence, old_access_count, parameters)
    needed = parameters.replace_ratio * old
    if confidence > needed:
        return Ruling(Verdict.REPLACE, f"confidence {confidence:.2f} exceeds {needed:.2f}", old, needed)
    return Ruling(Verdict.CONTEST, f"confidence {confidence:.2f} does not exceed {needed:.2f}", old, needed)
