"""The registry of tunable numbers (C15): every one with its bounds, its default and what it is for.

A tenant keeps parameter sets: numbers by name that differ from the defaults. What a set makes of the rules is
computed here, once for each set, never in a request.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import isfinite
from types import MappingProxyType
from typing import Final

from memory_service.domain import limits
from memory_service.domain.decay import DEFAULT_TAU_SECONDS, DecayPolicy
from memory_service.domain.errors import InvalidInput, Reason
from memory_service.domain.memory import Kind, Source
from memory_service.domain.parameters import Parameters
from memory_service.domain.ranking import DEFAULT_PROFILE, PROFILES, Quota, RankingProfile

Values = Mapping[str, float]

_CONFIDENCE: Final = "confidence."
_TAU: Final = "tau_seconds."
_RANKING: Final = "ranking."
_QUOTA: Final = "ranking.quota_"
_FUSION: Final = "ranking.fusion."
_TAU_MIN: Final = 60.0
_TAU_MAX: Final = limits.TAU_DAYS_MAX * 86_400.0


@dataclass(frozen=True, slots=True)
class ParameterSpec:
    """One tunable number.

    Attributes:
        whole: whether it counts something.
        minimum, maximum: what it may be, both included.
        requirement: the row of the requirements it belongs to.
    """

    name: str
    default: float
    minimum: float
    maximum: float
    purpose: str
    requirement: str
    whole: bool = False

    def checked(self, value: float, field: str) -> float:
        """The value, when it may be one.

        Raises:
            InvalidInput: FIELD_OUT_OF_RANGE outside the bounds, FIELD_INVALID for a part of a count.
        """
        if not isfinite(value) or not self.minimum <= value <= self.maximum:
            raise InvalidInput(
                Reason.FIELD_OUT_OF_RANGE,
                f"{self.name} must lie between {self.minimum:g} and {self.maximum:g}",
                field=field,
                metadata={"minimum": f"{self.minimum:g}", "maximum": f"{self.maximum:g}"},
            )
        if self.whole and value != int(value):
            raise InvalidInput(Reason.FIELD_INVALID, f"{self.name} must be a whole number", field=field)
        return value


_DEFAULTS: Final = Parameters()
FIXED_FIELDS: Final = frozenset({"confidence_by_source", "tau_hours", "memories_max", "active_devices_max"})
"""Fields of `Parameters` without an entry of their own: confidences and taus have one each, the operator sets the
rest."""


def _rule(
    name: str, minimum: float, maximum: float, requirement: str, purpose: str, *, whole: bool = False
) -> ParameterSpec:
    """A field of `Parameters`."""
    default = float(getattr(_DEFAULTS, name))
    return ParameterSpec(name, default, minimum, maximum, purpose, requirement, whole)


def _weight(name: str, minimum: float, maximum: float, requirement: str, purpose: str) -> ParameterSpec:
    """A field of the default ranking profile."""
    value = getattr(DEFAULT_PROFILE, name)
    return ParameterSpec(
        f"{_RANKING}{name}", float(value), minimum, maximum, purpose, requirement, whole=isinstance(value, int)
    )


def _fusion(name: str, minimum: float, maximum: float, requirement: str, purpose: str) -> ParameterSpec:
    default = float(getattr(DEFAULT_PROFILE.fusion, name))
    return ParameterSpec(f"{_FUSION}{name}", default, minimum, maximum, purpose, requirement)


def _specs() -> tuple[ParameterSpec, ...]:
    quota = Quota()
    return (
        _rule("replace_ratio", 1, 10, "E4", "A new value replaces when its confidence exceeds this x stubbornness."),
        _rule("stubborn_accesses", 1, 1000, "E4", "Accesses that make a value as stubborn as sure.", whole=True),
        _rule("protected_accesses", 0, 100_000, "E4", "Above this, only a correction replaces.", whole=True),
        _rule("reactivation_discount", 0.01, 1, "E15", "What is left of the confidence of what comes back."),
        _rule("extracted_confidence_min", 0, 1, "P4", "Extracted assertions given less confidence are refused."),
        _rule("access_gain", 0, 10, "E1", "How much recalls slow the fading."),
        _rule("adopted_gain", 0, 10, "E1", "How much recalls that were of use slow the fading."),
        _rule("stretch_max", 1, 100, "E1", "Most that use slows the fading."),
        _rule("rejected_factor", 0.01, 1, "C10", "What a recall of no use leaves of the strength."),
        _rule("archive_strength_min", 0.001, 0.99, "E6", "Memories weaker than this are archived."),
        _rule("archive_unused_days", 0.01, 36_500, "E6", "Memories unused for longer are archived."),
        _rule("restated_confidence", 0.01, 1, "S8", "What is left of what a newer statement restates; S8: 0.3."),
        _rule("observed_days", 0.01, 36_500, "E3", "Guesses that nobody confirmed or recalled are archived."),
        _rule("weak_days", 0.01, 36_500, "S9", "Memories of little confidence, never recalled, are archived."),
        _rule("weak_confidence", 0, 1, "S9", "Confidence that is not little."),
        _rule("activity_half_life_days", 0.01, 36_500, "C10", "Half-life of a card's activity, and a period."),
        _rule("activity_min", 0.01, 100, "C10", "Activity below which a card is idle."),
        _rule("activity_periods", 0, 1000, "C10", "Idle periods after which a card is archived.", whole=True),
        _rule("promotion_sessions", 1, 1000, "E3", "Conversations that make a guess long-term.", whole=True),
        _rule("contested_days", 0.01, 36_500, "E5", "Time after which a dispute is judged again."),
        _rule("contested_archive_days", 0.01, 36_500, "E5", "Time after which an undecided one is archived."),
        _rule("cards_max", 0, 100_000, "C11", "Most cards of one user; 0 keeps all.", whole=True),
        *(
            ParameterSpec(
                f"{_CONFIDENCE}{source.value}",
                _DEFAULTS.confidence_by_source[source],
                0,
                1,
                f"Confidence of what is {source.value.replace('_', ' ')}, when its writer gives none.",
                "E8",
            )
            for source in Source
        ),
        *(
            ParameterSpec(
                f"{_TAU}{kind.value}",
                DEFAULT_TAU_SECONDS[kind],
                _TAU_MIN,
                _TAU_MAX,
                f"tau of a {kind.value.replace('_', ' ')}, in seconds; a predicate's own goes before it.",
                "E1",
            )
            for kind in Kind
        ),
        _weight("semantic_weight", 0, 10, "E12", "Share of relevance in the score of the default profile."),
        _weight("freshness_weight", 0, 10, "E12", "Share of freshness in the score."),
        _weight("importance_weight", 0, 10, "E12", "Share of importance in the score."),
        _weight("freshness_floor", 0, 1, "E12", "Freshness of what has faded entirely, in answers to a query."),
        _weight("tier_bonus", 0, 10, "E16", "What a long-term memory gets on top, times its relevance."),
        _weight("over_fetch", 1, 50, "C7", "How many times the limit is scored."),
        ParameterSpec(f"{_QUOTA}share", quota.share, 0, 1, "Places kept for lasting long-term memories.", "E16"),
        ParameterSpec(
            f"{_QUOTA}relevance_min",
            quota.relevance_min,
            0,
            1,
            "Least relevance for a kept place, of the best.",
            "E16",
        ),
        _fusion("rrf_k", 1, 1000, "P6", "k of reciprocal rank fusion, in every profile that uses it."),
    )


SPECS: Final[Mapping[str, ParameterSpec]] = MappingProxyType({spec.name: spec for spec in _specs()})
"""The registry, by name."""


def checked_values(values: Values, field: str = "values") -> dict[str, float]:
    """The values of a set, in the order of the registry.

    Raises:
        InvalidInput: UNKNOWN_PARAMETER, FIELD_OUT_OF_RANGE or FIELD_INVALID, naming the parameter.
    """
    for name, value in values.items():
        spec = SPECS.get(name)
        if spec is None:
            raise InvalidInput(
                Reason.UNKNOWN_PARAMETER,
                f"{field} names a parameter that does not exist",
                field=field,
                metadata={"known": ", ".join(SPECS)},
            )
        spec.checked(value, f"{field}.{name}")
    weights = ("semantic_weight", "freshness_weight", "importance_weight")
    if not any(values.get(f"{_RANKING}{name}", getattr(DEFAULT_PROFILE, name)) for name in weights):
        raise InvalidInput(
            Reason.FIELD_INVALID, "one weight of the ranking must be more than zero", field=f"{field}.ranking"
        )
    return {name: float(values[name]) for name in SPECS if name in values}


def parameters_with(base: Parameters, values: Values) -> Parameters:
    """The rules' parameters under a set."""
    fields = {
        name: int(value) if SPECS[name].whole else value
        for name, value in values.items()
        if name in Parameters.__dataclass_fields__
    }
    confidence = {
        source: values.get(f"{_CONFIDENCE}{source.value}", known)
        for source, known in base.confidence_by_source.items()
    }
    tau_hours = {kind: values[f"{_TAU}{kind.value}"] / 3600 for kind in Kind if f"{_TAU}{kind.value}" in values}
    return replace(
        base,
        confidence_by_source=MappingProxyType(confidence),
        tau_hours=MappingProxyType({**base.tau_hours, **tau_hours}),
        **fields,  # type: ignore[arg-type]
    )


def default_of(spec: ParameterSpec, base: Parameters) -> float:
    """What a parameter is without a set: as the service is set up, else as it ships."""
    if spec.name in Parameters.__dataclass_fields__:
        return float(getattr(base, spec.name))
    if spec.name.startswith(_CONFIDENCE):
        return base.confidence_by_source[Source(spec.name.removeprefix(_CONFIDENCE))]
    if spec.name.startswith(_TAU):
        hours = base.tau_hours.get(Kind(spec.name.removeprefix(_TAU)))
        return spec.default if hours is None else hours * 3600
    return spec.default


def profiles_under(values: Values, decay: DecayPolicy) -> Mapping[str, RankingProfile]:
    """The ranking profiles under a set: its weights are the default profile's, the rest is everyone's."""
    return MappingProxyType({name: _profile(profile, values, decay) for name, profile in PROFILES.items()})


def _profile(profile: RankingProfile, values: Values, decay: DecayPolicy) -> RankingProfile:
    rrf_k = values.get(f"{_FUSION}rrf_k", profile.fusion.rrf_k)
    changed = replace(profile, decay=decay, fusion=replace(profile.fusion, rrf_k=rrf_k))
    if profile.name != DEFAULT_PROFILE.name:
        return changed
    weights = {
        name.removeprefix(_RANKING): int(value) if SPECS[name].whole else value
        for name, value in values.items()
        if name.removeprefix(_RANKING) in RankingProfile.__dataclass_fields__
    }
    share, least = values.get(f"{_QUOTA}share"), values.get(f"{_QUOTA}relevance_min")
    quotas = tuple(
        replace(
            quota,
            share=quota.share if share is None else share,
            relevance_min=quota.relevance_min if least is None else least,
        )
        for quota in profile.quotas
    )
    return replace(changed, quotas=quotas, **weights)  # type: ignore[arg-type]
