"""What a judgement is."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class StatementRelation(StrEnum):
    """How a later statement of one speaker relates to an earlier one (E9, E10)."""

    PARAPHRASE = "paraphrase"
    """The same claim: nothing in one is missing in the other. The only one that may be merged."""
    OPPOSITE = "opposite"
    """Both cannot hold, and nothing says that something changed."""
    UPDATE = "update"
    """The later one says that the earlier one held and holds no more."""
    REFINEMENT = "refinement"
    """The later one adds to the earlier one or narrows it, and keeps it true."""
    DIFFERENT = "different"
    """Both hold on their own, however alike they sound."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """Attributes:
    relation: the relation judged.
    certainty: how sure, 0 to 1; the share the rules give it against the other four, 1 for equal texts.
    reason: names of what weighed most, or of the rule that decided; never a word of the statements.
    """

    relation: StatementRelation
    certainty: float
    reason: str
