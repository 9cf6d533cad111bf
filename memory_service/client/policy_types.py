"""What a tenant decides for itself, as values: vocabulary, parameters, experiments, calibration and reviews."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from memory_service.client.values import Memory
from memory_service.client.words import Kind


class Cardinality(StrEnum):
    """How many values of a slot may hold at once. `UNKNOWN` of any of these only comes back, from a newer server."""

    UNKNOWN = "unknown"
    ONE = "one"
    MANY = "many"


class MergePolicy(StrEnum):
    """What becomes of concurrent values of one slot."""

    UNKNOWN = "unknown"
    UNION = "union"
    INTERSECTION = "intersection"
    HIGHEST_CONFIDENCE = "highest_confidence"
    CONFIRM = "confirm"


class Sensitivity(StrEnum):
    """Whether what was inferred or derived waits for a person."""

    UNKNOWN = "unknown"
    NORMAL = "normal"
    SENSITIVE = "sensitive"


class UnknownPredicates(StrEnum):
    """What happens to a predicate that is not in the vocabulary."""

    UNKNOWN = "unknown"
    REFUSE = "refuse"
    MAP = "map"


class Variant(StrEnum):
    """A side of an experiment."""

    UNKNOWN = "unknown"
    CONTROL = "control"
    TREATMENT = "treatment"


class ReviewCause(StrEnum):
    """Why a memory waits: sensitive ones are accepted or rejected, contested ones resolved."""

    UNKNOWN = "unknown"
    SENSITIVE = "sensitive"
    CONTESTED = "contested"


class ReviewDecision(StrEnum):
    """What a person decided; REOPEN takes an earlier decision back."""

    UNKNOWN = "unknown"
    ACCEPT = "accept"
    REJECT = "reject"
    REOPEN = "reopen"


@dataclass(frozen=True, slots=True)
class Predicate:
    """One word of a vocabulary.

    Attributes:
        tau: how fast it fades, when its kind's is not to hold; with `never_decays` it does not fade.
    """

    name: str
    kind: Kind
    cardinality: Cardinality
    merge: MergePolicy
    tau: timedelta | None = None
    never_decays: bool = False
    aliases: tuple[str, ...] = ()
    sensitivity: Sensitivity = Sensitivity.NORMAL


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The words in force; version 0 is what the service starts with."""

    predicates: Sequence[Predicate]
    unknown: UnknownPredicates
    version: int


@dataclass(frozen=True, slots=True)
class PolicyVersion:
    """Who made a version, when and why; `values` of a parameter set."""

    version: int
    actor: str
    reason: str
    at: datetime
    values: Mapping[str, float] | None = None


@dataclass(frozen=True, slots=True)
class Parameter:
    """One tunable number, with what a set has for it."""

    name: str
    value: float
    default: float
    minimum: float
    maximum: float
    whole: bool
    purpose: str
    requirement: str


@dataclass(frozen=True, slots=True)
class Parameters:
    """A parameter set, and the names of all sets with their versions."""

    parameters: Sequence[Parameter]
    version: int
    sets: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Experiment:
    """Two parameter sets side by side, and what was counted on each side."""

    name: str
    control: str
    treatment: str
    share: float
    started_at: datetime
    stopped_at: datetime | None
    counts: Mapping[Variant, Mapping[str, int]]


@dataclass(frozen=True, slots=True)
class Calibration:
    """The intervals between uses of one kind, or of one predicate of it, and the tau they suggest.

    Attributes:
        tau: in force; None never fades.
        enough: whether there are enough intervals to go by.
        counts: where a range begins, and how many intervals lie in it.
    """

    kind: Kind
    predicate: str
    intervals: int
    dominant: timedelta
    suggested_tau: timedelta
    tau: timedelta | None
    enough: bool
    counts: Sequence[tuple[timedelta, int]]


@dataclass(frozen=True, slots=True)
class Review:
    """One memory that waits for a person."""

    memory: Memory
    cause: ReviewCause


@dataclass(frozen=True, slots=True)
class ReviewPage:
    """Some of what waits; an empty token ends the list."""

    reviews: Sequence[Review]
    next_page_token: str
