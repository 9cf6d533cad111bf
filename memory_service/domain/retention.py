"""Which memories time alone moves to the archive, and a cheap filter that finds all that could be (E6, S9, C10)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from math import log2
from typing import Final

from memory_service.domain.decay import NEVER, DecayPolicy, last_touch, until_strength
from memory_service.domain.memory import CURRENT_STATUSES, Kind, MemoryHead, Source, Status, Tier
from memory_service.domain.retrieval.rows import CONVERSATION

SHORT_KINDS: Final = frozenset({Kind.CONTEXT, Kind.TASK, Kind.TEMPORARY_PREFERENCE, Kind.EVENT})
"""Kinds that are looked at hourly (E14); the others daily."""
CARD_KINDS: Final = frozenset({Kind.PREFERENCE, Kind.PROFILE, Kind.CONSTRAINT, Kind.PROCEDURE})
"""Kinds of semantic cards (C1), to which C10 and C11 apply."""

_SLACK = timedelta(seconds=1)
_LONGEST = timedelta(days=36_500)
"""What takes a century to be due is not looked for."""

Details = Mapping[str, str | int | float | bool]


@dataclass(frozen=True, slots=True)
class Idle:
    """Memories that time may have overtaken: in use, not pinned, and meeting one of the conditions.

    In use is what stands out of the archive. A settled value that yields to another of its slot is left out: it
    cannot be recalled, and is to speak again when the other goes.

    Attributes:
        untouched: of this kind, and last touched (used, confirmed or changed) at or before this time. Only memories
            of kinds named here are meant at all.
        untouched_predicates: the same by predicate, in place of the kind's time.
        lasting: predicates that are left out.
        weak_since: never recalled, of less confidence than `weak_confidence`, last touched at or before this.
        expired_by: its time to expire is at or before this.

    A memory whose rejections outnumber its adoptions meets the conditions as well.
    """

    untouched: Mapping[Kind, datetime]
    untouched_predicates: Mapping[str, datetime]
    lasting: frozenset[str]
    weak_since: datetime
    weak_confidence: float
    expired_by: datetime

    def holds(self, head: MemoryHead) -> bool:
        """Whether a memory is one of those; what stores must find."""
        version, usage = head.current, head.usage
        predicate = version.assertion.predicate if version.assertion else ""
        if version.pinned or not _in_use(head):
            return False
        if version.kind not in self.untouched or predicate in self.lasting:
            return False
        touched = last_touch(head)
        weak = usage.access_count == 0 and version.confidence < self.weak_confidence
        return (
            touched <= self.untouched_predicates.get(predicate, self.untouched[version.kind])
            or (weak and touched <= self.weak_since)
            or (version.expires_at is not None and version.expires_at <= self.expired_by)
            or usage.rejected_count > usage.adopted_count
        )


@dataclass(frozen=True, slots=True)
class Overdue:
    """Why a memory goes to the archive, with the numbers and the parameters that decided it."""

    reason: str
    details: Details = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Retention:
    """The rules of the archive; all numbers are in `decay.parameters`."""

    decay: DecayPolicy

    def overdue(self, head: MemoryHead, now: datetime) -> Overdue | None:
        """Why time has overtaken a memory; None for one that stays: pinned, never fading, or still in use."""
        version, usage, p = head.current, head.usage, self.decay.parameters
        if not _in_use(head):
            return None
        tau = self.decay.tau_of(head)
        if tau == NEVER:
            return None
        strength = self.decay.strength(head, now)
        unused = now - last_touch(head)
        told: dict[str, str | int | float | bool] = {
            "strength": round(strength, 4),
            "tau_days": round(tau / 86_400, 4),
            "unused_days": round(unused / timedelta(days=1), 2),
            "accesses": usage.access_count,
        }
        if version.expires_at is not None and version.expires_at <= now:
            return Overdue("its time is over", told | {"expired_at": version.expires_at.isoformat()})
        if strength < p.archive_strength_min:
            limit = {"archive_strength_min": p.archive_strength_min}
            return Overdue(f"strength {strength:.3f} is below {p.archive_strength_min:g}", told | limit)
        if unused > timedelta(days=p.archive_unused_days):
            limit = {"archive_unused_days": p.archive_unused_days}
            return Overdue(f"unused for {p.archive_unused_days:g} days", told | limit)
        weak = usage.access_count == 0 and version.confidence < p.weak_confidence
        once = version.tier is Tier.CANDIDATE and version.support <= 1 and version.status is not Status.CONTESTED
        if weak and once and unused > timedelta(days=p.observed_days):
            limit = {"observed_days": p.observed_days, "weak_confidence": p.weak_confidence}
            return Overdue(f"inferred once, and not recalled in {p.observed_days:g} days", told | limit)
        if weak and unused > timedelta(days=p.weak_days):
            limit = {"weak_days": p.weak_days, "weak_confidence": p.weak_confidence}
            return Overdue(f"little confidence, and never recalled in {p.weak_days:g} days", told | limit)
        if is_card(head) and self.decay.inactive(head, now):
            limit = {"activity_min": p.activity_min, "activity_half_life_days": p.activity_half_life_days}
            told |= {"activity": round(self.decay.activity(head, now), 2), "activity_periods": p.activity_periods}
            return Overdue(f"activity below {p.activity_min:g} for {p.activity_periods} periods", told | limit)
        return None

    def idle(self, kinds: Collection[Kind], now: datetime) -> Idle:
        """A filter that every memory of these kinds passes which is `overdue` at `now`, and few others."""
        p = self.decay.parameters
        kept = {kind: self._soonest(tau, kind) for kind, tau in self.decay.by_kind.items() if kind in kinds}
        by_predicate = {name: tau for name, tau in self.decay.by_predicate.items() if tau != NEVER}
        # A predicate's memory may be of any kind, so the soonest rule of all kinds counts.
        named = {name: min(self._soonest(tau, kind) for kind in kinds) for name, tau in by_predicate.items()}
        return Idle(
            untouched={kind: now - age for kind, age in kept.items()},
            untouched_predicates={name: now - age for name, age in named.items()},
            lasting=frozenset(name for name, tau in self.decay.by_predicate.items() if tau == NEVER),
            weak_since=now - _age(min(p.weak_days, p.observed_days)),
            weak_confidence=p.weak_confidence,
            expired_by=now,
        )

    def _soonest(self, tau: float, kind: Kind) -> timedelta:
        """The age at which an unused memory that nobody rejected may be overdue; use only makes it later."""
        p = self.decay.parameters
        ages = [_age(p.archive_unused_days)]
        fades = until_strength(p.archive_strength_min, tau) if tau < _LONGEST.total_seconds() else None
        if fades is not None:
            ages.append(fades - _SLACK)
        if kind in CARD_KINDS:
            half_lives = max(log2(100.0 / p.activity_min), 0.0) + p.activity_periods
            ages.append(_age(p.activity_half_life_days * half_lives))
        return min(*ages, _LONGEST)

    def worth(self, head: MemoryHead, now: datetime) -> float:
        """What a card is worth keeping for, when there are too many (C11): strength x confidence x support."""
        return self.decay.strength(head, now) * head.current.confidence * _support(head)

    def lasts(self, head: MemoryHead) -> bool:
        """Whether nothing but a person ends it: pinned, or of a predicate that never fades."""
        return self.decay.tau_of(head) == NEVER


def is_card(head: MemoryHead) -> bool:
    """Whether a memory is a semantic card (C1): of such a kind, and not a sentence as it was said in a conversation.

    Such a sentence names its session, has no structure, and is told by nobody but the user; or its writer says that
    it is a turn. Many turns read as preferences or the like, and none of them is a card.
    """
    version, origin = head.current, head.current.provenance
    said = version.assertion is None and version.source is Source.EXPLICIT and bool(origin.session)
    return version.kind in CARD_KINDS and origin.process != CONVERSATION and not said


def _in_use(head: MemoryHead) -> bool:
    version = head.current
    if version.status is Status.YIELDED:
        return version.tier is Tier.CANDIDATE
    return version.status in CURRENT_STATUSES and version.tier is not Tier.ARCHIVE


def _support(head: MemoryHead) -> float:
    return 1.0 + log2(max(head.current.support, 1) + head.usage.adopted_count)


def _age(days: float) -> timedelta:
    return min(timedelta(days=min(days, _LONGEST.days)), _LONGEST) - _SLACK
