"""`PolicyStore` in this process's memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from memory_service.adapters.inmemory.memory_store import InMemoryMemoryStore
from memory_service.adapters.inmemory.values import utc
from memory_service.domain import limits
from memory_service.domain.ids import OwnerKey, TenantId
from memory_service.domain.policy import Measure, PolicyDocument, Variant
from memory_service.domain.reuse import Interval
from memory_service.ports.policy_store import Counts, PredicateUses


class InMemoryPolicyStore:
    """See `PolicyStore`. `memories` is where the tenants' memories are."""

    def __init__(self, memories: InMemoryMemoryStore) -> None:
        self._memories = memories
        self._documents: dict[tuple[TenantId, str], list[PolicyDocument]] = {}
        self._counts: dict[tuple[TenantId, str], dict[tuple[Variant, Measure], int]] = {}
        self._sequence = 0

    async def add(self, document: PolicyDocument) -> bool:
        """Store the next version of a document."""
        versions = self._documents.setdefault((document.tenant, document.name), [])
        if document.version != (versions[-1].version if versions else 0) + 1:
            return False
        self._sequence += 1
        versions.append(replace(document, at=utc(document.at), sequence=self._sequence))
        del versions[: -limits.POLICY_VERSIONS_MAX]
        return True

    async def version(self, tenant: TenantId, name: str, version: int) -> PolicyDocument | None:
        """One version, None when there is none."""
        return next((d for d in self._documents.get((tenant, name), ()) if d.version == version), None)

    async def history(self, tenant: TenantId, name: str, *, limit: int, before: int = 0) -> Sequence[PolicyDocument]:
        """Up to `limit` versions, newest first."""
        versions = reversed(self._documents.get((tenant, name), []))
        return [document for document in versions if not before or document.version < before][:limit]

    async def newest_after(self, sequence: int, *, limit: int) -> Sequence[PolicyDocument]:
        """Newest versions of documents of all tenants with a higher sequence number."""
        newest = (versions[-1] for versions in self._documents.values() if versions)
        return sorted((d for d in newest if d.sequence > sequence), key=lambda d: d.sequence)[:limit]

    async def uses(
        self, tenant: TenantId, predicates: Sequence[str], *, others: bool = False, limit: int
    ) -> PredicateUses:
        """How many of the tenant's memories have one of these predicates."""
        names, memories = frozenset(predicates), 0
        users: set[OwnerKey] = set()
        for owner, predicate in self._memories.predicates(tenant):
            if (predicate in names) != others:
                if memories == limit:
                    return PredicateUses(memories, len(users), more=True)
                memories += 1
                users.add(owner)
        return PredicateUses(memories, len(users))

    async def tally(self, tenant: TenantId, experiment: str, counts: Counts) -> None:
        """Add to the counts of an experiment."""
        known = self._counts.setdefault((tenant, experiment), {})
        for key, amount in counts.items():
            known[key] = known.get(key, 0) + amount

    async def tallies(self, tenant: TenantId, experiment: str) -> Counts:
        """The counts of an experiment so far."""
        return dict(self._counts.get((tenant, experiment), {}))

    async def intervals(self, tenant: TenantId) -> Sequence[Interval]:
        """The re-use intervals of all of a tenant's memories."""
        return self._memories.tenant_intervals(tenant)
