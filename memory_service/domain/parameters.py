"""The numbers of the rules, in one place (C15). Defaults are those of the requirements named beside them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from memory_service.domain.memory import Source

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
    """Parameters of the write path.

    Attributes:
        confidence_by_source: confidence of a statement whose writer gives none (E8).
        replace_ratio: a new value replaces when its confidence exceeds this times the old one's stubbornness (E4).
        stubborn_accesses: accesses at which an old value's stubbornness equals its confidence (E4).
        protected_accesses: an old value accessed more often is replaced by explicit correction only (E4).
        reactivation_discount: factor on the confidence of an archived memory mentioned again (E15).
        memories_max: most memories one owner may have.
        active_devices_max: devices the owner's clock names; beyond, the least recently seen are folded away.
    """

    confidence_by_source: Mapping[Source, float] = field(default_factory=lambda: _CONFIDENCE_BY_SOURCE)
    replace_ratio: float = 1.2
    stubborn_accesses: int = 3
    protected_accesses: int = 5
    reactivation_discount: float = 0.8
    memories_max: int = 200_000
    active_devices_max: int = 128
