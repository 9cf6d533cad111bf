"""The port to what tenants have decided: versions of documents, what they would orphan, and counts of experiments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from memory_service.domain.ids import TenantId
from memory_service.domain.policy import Measure, PolicyDocument, Variant
from memory_service.domain.reuse import Interval

Counts = Mapping[tuple[Variant, Measure], int]


@dataclass(frozen=True, slots=True)
class PredicateUses:
    """How many memories have some predicates, and of how many users; `more` when counting stopped at the limit."""

    memories: int
    users: int
    more: bool = False


class PolicyStore(Protocol):
    """Stores documents of tenants.

    Contract: a version, once added, is durable and never changes; versions of one document are 1, 2, 3 …; the
    newest `POLICY_VERSIONS_MAX` are kept. Sequence numbers rise in the order in which versions become visible, so
    whoever has read everything up to one misses nothing by asking for what comes after it. Same errors as
    `MemoryStore`.
    """

    async def add(self, document: PolicyDocument) -> bool:
        """Store the next version of a document; False, and nothing is stored, when it is not the next one."""
        ...

    async def version(self, tenant: TenantId, name: str, version: int) -> PolicyDocument | None:
        """One version, None when there is none (any more)."""
        ...

    async def history(self, tenant: TenantId, name: str, *, limit: int, before: int = 0) -> Sequence[PolicyDocument]:
        """Up to `limit` versions, newest first; with `before`, those older than it."""
        ...

    async def newest_after(self, sequence: int, *, limit: int) -> Sequence[PolicyDocument]:
        """Newest versions of documents of all tenants with a higher sequence number, in its order."""
        ...

    async def uses(
        self, tenant: TenantId, predicates: Sequence[str], *, others: bool = False, limit: int
    ) -> PredicateUses:
        """How many of the tenant's memories have one of these predicates (`others`: have another); counts to `limit`.

        Forgotten memories do not count; superseded and archived ones do: they can be rolled back to.
        """
        ...

    async def tally(self, tenant: TenantId, experiment: str, counts: Counts) -> None:
        """Add to the counts of an experiment."""
        ...

    async def tallies(self, tenant: TenantId, experiment: str) -> Counts:
        """The counts of an experiment so far."""
        ...

    async def intervals(self, tenant: TenantId) -> Sequence[Interval]:
        """The re-use intervals of all of a tenant's memories, of each kind, predicate and bucket once."""
        ...
