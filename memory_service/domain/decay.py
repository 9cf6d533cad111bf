"""How strength fades with time since last use (E1, P7): `strength = s * exp(-dt / (tau * stretch))`.

tau is the time after which a memory that nobody used has 1/e of its strength; its half-life is tau ln 2. Use slows
the fading (`stretch`, from 1 up: what was recalled, and more so what was adopted, fades more slowly, as in spaced
repetition), rejected recalls lower it (`s`, from 1 down). Nothing is stored but counters and times of use.

C10's activity is the same model seen with one half-life for all kinds: see `DecayPolicy.activity`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from math import exp, inf, log, log1p
from types import MappingProxyType
from typing import Final

from memory_service.domain.memory import Kind, MemoryHead, Usage
from memory_service.domain.parameters import Parameters
from memory_service.domain.vocabulary import Vocabulary

_HOUR: Final = 3600.0
_DAY: Final = 24 * _HOUR
_LN_2: Final = 0.6931471805599453

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
    """tau by kind, overridden by predicate (seconds, > 0; `NEVER` for what does not fade), and what use does to it.

    Raises:
        ValueError: a tau that is not positive, or a kind without one.
    """

    by_kind: Mapping[Kind, float] = field(default_factory=lambda: DEFAULT_TAU_SECONDS)
    by_predicate: Mapping[str, float] = field(default_factory=dict)
    parameters: Parameters = field(default_factory=Parameters)

    def __post_init__(self) -> None:
        if set(self.by_kind) != set(Kind):
            raise ValueError("a tau is needed for every kind")
        if not all(tau > 0 for tau in (*self.by_kind.values(), *self.by_predicate.values())):
            raise ValueError("tau must be positive")

    @classmethod
    def of(cls, vocabulary: Vocabulary, parameters: Parameters | None = None) -> DecayPolicy:
        """tau by kind (E1's where the parameters give none), with what the vocabulary's predicates override."""
        parameters = parameters or Parameters()
        overrides = {}
        for predicate in vocabulary.predicates.values():
            if not predicate.decays:
                overrides[predicate.name] = NEVER
            elif predicate.tau is not None:
                overrides[predicate.name] = predicate.tau.total_seconds()
        given = {kind: hours * _HOUR for kind, hours in parameters.tau_hours.items()}
        return cls({**DEFAULT_TAU_SECONDS, **given}, overrides, parameters)

    def tau_seconds(self, kind: Kind, predicate: str = "") -> float:
        """tau of a memory of this kind and predicate."""
        return self.by_predicate.get(predicate, self.by_kind[kind])

    def tau_of(self, head: MemoryHead) -> float:
        """tau of a memory, use left aside (seconds); `NEVER` for a pinned one."""
        if head.current.pinned:
            return NEVER
        assertion = head.current.assertion
        return self.tau_seconds(head.current.kind, assertion.predicate if assertion else "")

    def stretch(self, usage: Usage) -> float:
        """By how much use slows fading, from 1 to `stretch_max`."""
        p = self.parameters
        gained = p.access_gain * log1p(usage.access_count) + p.adopted_gain * log1p(usage.adopted_count)
        return min(1.0 + gained, p.stretch_max)

    def initial(self, usage: Usage) -> float:
        """The strength right after a use, 0..1: lowered by each rejection that no adoption made up for."""
        rejections = max(usage.rejected_count - usage.adopted_count, 0)
        factor: float = self.parameters.rejected_factor**rejections
        return factor

    def strength(self, head: MemoryHead, now: datetime) -> float:
        """The head's strength at `now`, 0..1. What is pinned or never decays keeps 1, whatever is said of it."""
        tau = self.tau_of(head)
        if tau == NEVER:
            return 1.0
        seconds = (now - last_touch(head)).total_seconds()
        return strength(seconds, tau * self.stretch(head.usage), self.initial(head.usage))

    def activity(self, head: MemoryHead, now: datetime) -> float:
        """C10's view of the same model, 0..100: as `strength`, but with one half-life whatever the kind."""
        if self.tau_of(head) == NEVER:
            return 100.0
        tau = self.parameters.activity_half_life_days * _DAY / _LN_2
        seconds = (now - last_touch(head)).total_seconds()
        return 100.0 * strength(seconds, tau * self.stretch(head.usage), self.initial(head.usage))

    def inactive(self, head: MemoryHead, now: datetime) -> bool:
        """Whether activity has been below the minimum for the last `activity_periods` half-lives (C10).

        Between uses activity only falls, so it is enough to look at where that time began.
        """
        p = self.parameters
        since = now - timedelta(days=p.activity_half_life_days * p.activity_periods)
        return last_touch(head) <= since and self.activity(head, since) < p.activity_min


DEFAULT_DECAY: Final = DecayPolicy()


def strength(seconds: float, tau_seconds: float, initial: float = 1.0) -> float:
    """`initial * exp(-seconds / tau_seconds)`; time that runs backwards counts as none."""
    return initial * exp(-max(seconds, 0.0) / tau_seconds)


def half_life_seconds(tau_seconds: float) -> float:
    """tau ln 2: the time in which strength halves."""
    return tau_seconds * _LN_2


def last_touch(head: MemoryHead) -> datetime:
    """What decay counts from: the latest of last access, last confirmation and recording of this version.

    A corrected memory is as fresh as the correction, though nobody has recalled it since.
    """
    usage = head.usage
    times = (usage.last_access_at, usage.last_confirmed_at, head.current.recorded_at)
    return max(time for time in times if time is not None)


def last_said(head: MemoryHead) -> datetime:
    """When what a memory claims was last stated."""
    return head.usage.last_confirmed_at or head.created_at or head.current.recorded_at


def until_strength(threshold: float, tau_seconds: float) -> timedelta | None:
    """How long an untouched memory stays at or above `threshold` (0 < threshold <= 1); None for ever."""
    return None if tau_seconds == NEVER else timedelta(seconds=-log(threshold) * tau_seconds)
