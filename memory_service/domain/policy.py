"""What a tenant has decided for itself: its vocabulary (P3), its parameter sets and its experiment (C15).

Each is a document with numbered versions. Version 0 is what the service starts with; every change, a roll-back
included, is the next version.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final

from memory_service.domain import limits
from memory_service.domain.decay import DecayPolicy
from memory_service.domain.errors import InvalidInput, Reason
from memory_service.domain.ids import TenantId
from memory_service.domain.memory import Cardinality, Kind, MergePolicy
from memory_service.domain.parameters import Parameters
from memory_service.domain.ranking import RankingProfile
from memory_service.domain.retrieval.slots import Aliases
from memory_service.domain.tuning import Values, parameters_with, profiles_under
from memory_service.domain.vocabulary import Predicate, Sensitivity, UnknownPredicates, Vocabulary

VOCABULARY: Final = "vocabulary"
EXPERIMENT: Final = "experiment"
_SET_PREFIX: Final = "parameters/"
DEFAULT_SET: Final = "default"
"""The parameter set of every owner that no experiment gives another."""


def set_document(name: str) -> str:
    """The document that holds a parameter set."""
    return f"{_SET_PREFIX}{name}"


def set_of_document(document: str) -> str | None:
    """The parameter set that a document holds; None for other documents."""
    return document.removeprefix(_SET_PREFIX) if document.startswith(_SET_PREFIX) else None


class Variant(StrEnum):
    """Which side of an experiment an owner is on."""

    NONE = "none"
    CONTROL = "control"
    TREATMENT = "treatment"


class Measure(StrEnum):
    """What is counted for each side of an experiment (E20)."""

    WRITE = "write"
    RECALL = "recall"
    RECALLED = "recalled"
    CORRECTION = "correction"
    CONTESTED = "contested"
    ADOPTED = "adopted"
    REJECTED = "rejected"


@dataclass(frozen=True, slots=True)
class PolicyDocument:
    """One version of a document.

    Attributes:
        sequence: its place among all versions of all tenants, in the order of commits; 0 before it is stored.
        content: JSON.
    """

    tenant: TenantId
    name: str
    version: int
    content: str
    actor: str
    reason: str
    at: datetime
    sequence: int = 0


@dataclass(frozen=True, slots=True)
class Experiment:
    """Two parameter sets side by side.

    Attributes:
        share: of the owners that get the treatment, 0..1.
    """

    name: str
    control: str
    treatment: str
    share: float
    started_at: datetime
    stopped_at: datetime | None = None

    @property
    def running(self) -> bool:
        """Whether owners are on its sides now."""
        return self.stopped_at is None

    def variant_of(self, user: str) -> Variant:
        """The side a user is on: the same on every replica, and independent of other experiments."""
        digest = hashlib.blake2b(f"{self.name}\x00{user}".encode(), digest_size=8).digest()
        place = int.from_bytes(digest, "big") / 2**64
        return Variant.TREATMENT if place < self.share else Variant.CONTROL


@dataclass(frozen=True, slots=True)
class OwnerPolicy:
    """Everything that is decided for one owner, ready to use."""

    vocabulary: Vocabulary
    parameters: Parameters
    decay: DecayPolicy
    profiles: Mapping[str, RankingProfile]
    aliases: Aliases
    variant: Variant = Variant.NONE
    experiment: str = ""

    @classmethod
    def of(
        cls,
        vocabulary: Vocabulary,
        parameters: Parameters,
        values: Values,
        variant: Variant = Variant.NONE,
        experiment: str = "",
        *,
        aliases: Aliases | None = None,
    ) -> OwnerPolicy:
        """What a vocabulary (with its `aliases`, when they are at hand) and a parameter set come to."""
        tuned = parameters_with(parameters, values)
        decay = DecayPolicy.of(vocabulary, tuned)
        return cls(
            vocabulary=vocabulary,
            parameters=tuned,
            decay=decay,
            profiles=profiles_under(values, decay),
            aliases=aliases or Aliases(vocabulary),
            variant=variant,
            experiment=experiment,
        )


# Documents as JSON ------------------------------------------------------------------------------------------


def vocabulary_text(vocabulary: Vocabulary) -> str:
    """A vocabulary as it is stored."""
    words = [
        {
            "name": word.name,
            "kind": word.kind.value,
            "cardinality": word.cardinality.value,
            "merge": word.merge.value,
            "tau_seconds": None if word.tau is None else word.tau.total_seconds(),
            "decays": word.decays,
            "aliases": list(word.aliases),
            "sensitivity": word.sensitivity.value,
            "formerly": list(word.formerly),
        }
        for word in sorted(vocabulary.predicates.values(), key=lambda word: word.name)
    ]
    return _text({"unknown": vocabulary.unknown.value, "predicates": words}, "predicate")


def vocabulary_of(text: str) -> Vocabulary:
    """The vocabulary that `vocabulary_text` stored."""
    content = json.loads(text)
    words = (
        Predicate(
            name=word["name"],
            kind=Kind(word["kind"]),
            cardinality=Cardinality(word["cardinality"]),
            merge=MergePolicy(word["merge"]),
            tau=None if word["tau_seconds"] is None else timedelta(seconds=word["tau_seconds"]),
            decays=word["decays"],
            aliases=tuple(word["aliases"]),
            sensitivity=Sensitivity(word["sensitivity"]),
            formerly=tuple(word["formerly"]),
        )
        for word in content["predicates"]
    )
    return Vocabulary.of(words, UnknownPredicates(content["unknown"]))


def values_text(values: Values) -> str:
    """A parameter set as it is stored."""
    return _text({"values": dict(values)}, "values")


def values_of(text: str) -> dict[str, float]:
    """The parameter set that `values_text` stored."""
    return {str(name): float(value) for name, value in json.loads(text)["values"].items()}


def experiment_text(experiment: Experiment) -> str:
    """An experiment as it is stored."""
    content = {
        "name": experiment.name,
        "control": experiment.control,
        "treatment": experiment.treatment,
        "share": experiment.share,
        "started_at": experiment.started_at.isoformat(),
        "stopped_at": None if experiment.stopped_at is None else experiment.stopped_at.isoformat(),
    }
    return _text(content, "name")


def experiment_of(text: str) -> Experiment:
    """The experiment that `experiment_text` stored."""
    content = json.loads(text)
    stopped = content["stopped_at"]
    return Experiment(
        name=content["name"],
        control=content["control"],
        treatment=content["treatment"],
        share=content["share"],
        started_at=datetime.fromisoformat(content["started_at"]),
        stopped_at=None if stopped is None else datetime.fromisoformat(stopped),
    )


def _text(content: Mapping[str, Any], field: str) -> str:
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    size = len(text.encode())
    if size > limits.POLICY_BYTES_MAX:
        raise InvalidInput(
            Reason.FIELD_TOO_LONG,
            f"all of it may take at most {limits.POLICY_BYTES_MAX} bytes",
            field=field,
            metadata={"limit": str(limits.POLICY_BYTES_MAX), "actual": str(size)},
        )
    return text
