"""GetPreferences: what is remembered under a few predicates, in one look at the owner's snapshot (C1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from memory_service.app.policies import OwnerPolicies
from memory_service.app.validation import check_list, check_name
from memory_service.domain import limits
from memory_service.domain.errors import InvalidInput, Reason
from memory_service.domain.ids import OwnerKey, Revision
from memory_service.domain.memory import MemoryHead, Status
from memory_service.domain.records import MemoryFilter
from memory_service.domain.retrieval.filters import ahead_rows, current_rows, matching_rows
from memory_service.domain.vector_clock import VectorClock
from memory_service.ports.clock import Clock
from memory_service.ports.snapshots import Requirement, SnapshotSource


@dataclass(frozen=True, slots=True)
class PreferenceValue:
    """What holds under one predicate, oldest first."""

    predicate: str
    heads: tuple[MemoryHead, ...]

    @property
    def contested(self) -> bool:
        """Whether it is disputed."""
        return any(head.current.status is Status.CONTESTED for head in self.heads)


@dataclass(frozen=True, slots=True)
class FoundPreferences:
    """One value for each predicate asked for, and what the answer is based on."""

    values: tuple[PreferenceValue, ...]
    clock: VectorClock
    revision: Revision


@dataclass(frozen=True, slots=True)
class Preferences:
    """The use case."""

    snapshots: SnapshotSource
    policies: OwnerPolicies
    clock: Clock

    async def __call__(
        self,
        owner: OwnerKey,
        predicates: Sequence[str],
        *,
        agent: str = "",
        requirement: Requirement = Requirement(),  # noqa: B008 - immutable
    ) -> FoundPreferences:
        """The memories that hold now under each predicate.

        Raises:
            InvalidInput: no predicate, too many, or one that the vocabulary does not have.
        """
        check_name(agent, "agent")
        if not predicates:
            raise InvalidInput(Reason.FIELD_REQUIRED, "predicates must name at least one", field="predicates")
        check_list(predicates, "predicates", limits.PREDICATES_AT_ONCE_MAX)
        vocabulary = self.policies.of(owner).vocabulary
        names = [vocabulary.resolve(given, f"predicates[{place}]").name for place, given in enumerate(predicates)]
        snapshot = await self.snapshots.snapshot(owner, requirement)
        where = MemoryFilter(predicates=frozenset(names), visible_to_agent=agent)
        now = self.clock.now()
        holding = current_rows(snapshot, now) & ~ahead_rows(snapshot, now)
        rows = np.flatnonzero(matching_rows(snapshot, where) & holding)
        heads = [snapshot.head(int(row)) for row in rows]
        values = tuple(
            PreferenceValue(
                name, tuple(h for h in heads if h.current.assertion and h.current.assertion.predicate == name)
            )
            for name in names
        )
        return FoundPreferences(values, snapshot.clock, snapshot.revision)
