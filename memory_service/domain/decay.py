"""How strength fades with time since last use (E1, P7): `strength = exp(-dt / tau)`.

tau is the time after which a memory that nobody touched has 1/e of its strength; its half-life is tau ln 2.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from math import exp, inf, log
from types import MappingProxyType
from typing import Final

from memory_service.domain.memory import Kind, MemoryHead
from memory_service.domain.vocabulary import Vocabulary

_HOUR: Final = 3600.0
_DAY: Final = 24 * _HOUR

NEVER: Final = inf
"""tau of what does not fade, e.g. an allergy."""

DEFAULT_TAU_SECONDS: Final[Mapping[Kind, float]] = MappingProxyType(
    {
        Kind.CONTEXT: 48 * _HOUR,
        Kind.TASK: 7 * _DAY,
        Kind.TEMPORARY_PREFERENCE: 14 * _DAY,
        # Ours: an event is talked of for about a month; its window, not its fading, takes it out of recalls.
        Kind.EVENT: 30 * _DAY,
        Kind.PREFERENCE: 90 * _DAY,
        Kind.PROFILE: 90 * _DAY,
        # Ours: a constraint is a preference that binds.
        Kind.CONSTRAINT: 90 * _DAY,
        Kind.FACT: 180 * _DAY,
        # Ours: how something is done, and what many memories came to, keep as long as facts do.
        Kind.PROCEDURE: 180 * _DAY,
        Kind.SUMMARY: 180 * _DAY,
    }
)
"""tau by kind: E1's figures, and where it gives none the ones marked as ours."""


@dataclass(frozen=True)
class DecayPolicy:
    """tau by kind, overridden by predicate (seconds, > 0; `NEVER` for what does not fade).

    Raises:
        ValueError: a tau that is not positive, or a kind without one.
    """

    by_kind: Mapping[Kind, float] = field(default_factory=lambda: DEFAULT_TAU_SECONDS)
    by_predicate: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if set(self.by_kind) != set(Kind):
            raise ValueError("a tau is needed for every kind")
        if not all(tau > 0 for tau in (*self.by_kind.values(), *self.by_predicate.values())):
            raise ValueError("tau must be positive")

    @classmethod
    def of(cls, vocabulary: Vocabulary) -> DecayPolicy:
        """The default by kind, with what the vocabulary's predicates override."""
        overrides = {}
        for predicate in vocabulary.predicates.values():
            if not predicate.decays:
                overrides[predicate.name] = NEVER
            elif predicate.tau is not None:
                overrides[predicate.name] = predicate.tau.total_seconds()
        return cls(by_predicate=overrides)

    def tau_seconds(self, kind: Kind, predicate: str = "") -> float:
        """tau of a memory of this kind and predicate."""
        return self.by_predicate.get(predicate, self.by_kind[kind])

    def strength(self, head: MemoryHead, now: datetime) -> float:
        """The head's strength at `now`, 0..1. A pinned memory never decays."""
        if head.current.pinned:
            return 1.0
        assertion = head.current.assertion
        tau = self.tau_seconds(head.current.kind, assertion.predicate if assertion else "")
        return strength((now - last_touch(head)).total_seconds(), tau)


DEFAULT_DECAY: Final = DecayPolicy()


def strength(seconds: float, tau_seconds: float, initial: float = 1.0) -> float:
    """`initial * exp(-seconds / tau_seconds)`; time that runs backwards counts as none."""
    return initial * exp(-max(seconds, 0.0) / tau_seconds)


def half_life_seconds(tau_seconds: float) -> float:
    """tau ln 2: the time in which strength halves."""
    return tau_seconds * 0.6931471805599453


def last_touch(head: MemoryHead) -> datetime:
    """What decay counts from: the latest of last access, last confirmation and recording of this version.

    A corrected memory is as fresh as the correction, though nobody has recalled it since.
    """
    usage = head.usage
    times = (usage.last_access_at, usage.last_confirmed_at, head.current.recorded_at)
    return max(time for time in times if time is not None)


def until_strength(threshold: float, tau_seconds: float) -> timedelta | None:
    """How long an untouched memory stays at or above `threshold` (0 < threshold <= 1); None for ever."""
    return None if tau_seconds == NEVER else timedelta(seconds=-log(threshold) * tau_seconds)
