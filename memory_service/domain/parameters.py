"""The numbers of the rules, in one place (C15). Defaults are those of the requirements named beside them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from memory_service.domain.memory import Kind, Source

_CONFIDENCE_BY_SOURCE: Mapping[Source, float] = MappingProxyType(
    {
        Source.EXPLICIT: 0.95,
        Source.EXPLICIT_CORRECTION: 0.95,
        Source.DERIVED: 0.75,
        Source.INFERRED: 0.5,
    }
)


@dataclass(frozen=True, slots=True)
class Parameters:
    """Parameters of the write path and of a memory's life (docs/evolution.md). Those in days may be fractions.

    Attributes:
        confidence_by_source: confidence of a statement whose writer gives none (E8).
        replace_ratio: a new value replaces when its confidence exceeds this times the old one's stubbornness (E4).
        stubborn_accesses: accesses at which an old value's stubbornness equals its confidence (E4).
        protected_accesses: an old value accessed more often is replaced by explicit correction only (E4).
        reactivation_discount: factor on the confidence of an archived memory mentioned again (E15).
        extracted_confidence_min: an extracted assertion (derived or inferred) whose writer itself gives it less
            confidence is refused and counted (P4). 0: none is, since E8 lets a single inference be as low as 0.4.
        tau_hours: tau by kind where it is to be another than E1's (see `decay`), > 0.
        access_gain, adopted_gain, stretch_max: how use slows decay: tau is multiplied by 1 + access_gain *
            ln(1 + accesses) + adopted_gain * ln(1 + adopted recalls), at most `stretch_max` (spaced repetition).
        rejected_factor: what each rejected recall beyond the adopted ones leaves of the strength, 0..1.
        archive_strength_min: a memory weaker than this is archived (E6).
        archive_unused_days: so is one that nobody used, confirmed or changed for so long (E6).
        weak_days, weak_confidence: so is one of less confidence that was never recalled, earlier (S9).
        restated_confidence: what is left of the confidence of a statement that a newer one restates with more detail;
            1 leaves it as it is, S8's policy is 0.3.
        observed_days: so is a candidate of that kind that was inferred once only (E3).
        activity_half_life_days, activity_min, activity_periods: so is a card whose activity, 0..100, was below
            the minimum for so many half-lives (C10).
        promotion_sessions: conversations in which a candidate must have been said to become long-term (E3).
        contested_days: what is contested is judged again after this long without new evidence (E5).
        contested_archive_days: what could not be decided is archived, contested as it is, after this long
            without anybody saying any of it (E5).
        cards_max: most cards kept out of the archive for one owner; 0 keeps all (C11).
        memories_max: most memories one owner may have.
        active_devices_max: devices the owner's clock names; beyond, the least recently seen are folded away.
    """

    confidence_by_source: Mapping[Source, float] = field(default_factory=lambda: _CONFIDENCE_BY_SOURCE)
    replace_ratio: float = 1.2
    stubborn_accesses: int = 3
    protected_accesses: int = 5
    reactivation_discount: float = 0.8
    extracted_confidence_min: float = 0.0
    tau_hours: Mapping[Kind, float] = field(default_factory=dict)
    access_gain: float = 0.1
    adopted_gain: float = 0.5
    stretch_max: float = 4.0
    rejected_factor: float = 0.7
    archive_strength_min: float = 0.05
    archive_unused_days: float = 180.0
    weak_days: float = 90.0
    observed_days: float = 30.0
    restated_confidence: float = 1.0
    weak_confidence: float = 0.6
    activity_half_life_days: float = 30.0
    activity_min: float = 20.0
    activity_periods: int = 3
    promotion_sessions: int = 3
    contested_days: float = 14.0
    contested_archive_days: float = 90.0
    cards_max: int = 300
    memories_max: int = 200_000
    active_devices_max: int = 128
