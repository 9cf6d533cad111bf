"""`PolicyStore` on PostgreSQL, through functions that are all the application's role may do with policies."""

from __future__ import annotations

from collections.abc import Sequence

import asyncpg

from memory_service.adapters.postgres import sql_policies as sql
from memory_service.adapters.postgres.session import Database
from memory_service.domain import limits
from memory_service.domain.ids import TenantId
from memory_service.domain.memory import Kind
from memory_service.domain.policy import Measure, PolicyDocument, Variant
from memory_service.domain.reuse import Interval
from memory_service.ports.policy_store import Counts, PredicateUses


class PostgresPolicyStore:
    """See `PolicyStore`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, document: PolicyDocument) -> bool:
        """Store the next version of a document."""
        found = await self._database.fetch(
            sql.POLICY_ADD,
            document.tenant,
            document.name,
            document.version,
            document.content,
            document.actor,
            document.reason,
            document.at,
            limits.POLICY_VERSIONS_MAX,
            repeatable=False,
        )
        return bool(found[0][0])

    async def version(self, tenant: TenantId, name: str, version: int) -> PolicyDocument | None:
        """One version, None when there is none."""
        found = await self._database.fetch(sql.POLICY_VERSION, tenant, name, version)
        return _document(found[0]) if found else None

    async def history(self, tenant: TenantId, name: str, *, limit: int, before: int = 0) -> Sequence[PolicyDocument]:
        """Up to `limit` versions, newest first."""
        found = await self._database.fetch(sql.POLICY_HISTORY, tenant, name, before, limit)
        return [_document(row) for row in found]

    async def newest_after(self, sequence: int, *, limit: int) -> Sequence[PolicyDocument]:
        """Newest versions of documents of all tenants with a higher sequence number."""
        return [_document(row) for row in await self._database.fetch(sql.POLICIES_AFTER, sequence, limit)]

    async def uses(
        self, tenant: TenantId, predicates: Sequence[str], *, others: bool = False, limit: int
    ) -> PredicateUses:
        """How many of the tenant's memories have one of these predicates."""
        found = await self._database.fetch(sql.PREDICATE_USES, tenant, list(predicates), others, limit + 1)
        memories = int(found[0]["uses"])
        return PredicateUses(min(memories, limit), int(found[0]["users"]), memories > limit)

    async def tally(self, tenant: TenantId, experiment: str, counts: Counts) -> None:
        """Add to the counts of an experiment."""
        if not counts:
            return
        await self._database.fetch(
            sql.EXPERIMENT_ADD,
            tenant,
            experiment,
            [variant.value for variant, _ in counts],
            [measure.value for _, measure in counts],
            list(counts.values()),
            repeatable=False,
        )

    async def tallies(self, tenant: TenantId, experiment: str) -> Counts:
        """The counts of an experiment so far."""
        found = await self._database.fetch(sql.EXPERIMENT_TOTALS, tenant, experiment)
        return {(Variant(row["variant"]), Measure(row["measure"])): int(row["count"]) for row in found}

    async def intervals(self, tenant: TenantId) -> Sequence[Interval]:
        """The re-use intervals of all of a tenant's memories."""
        return intervals_of(await self._database.fetch(sql.TENANT_INTERVALS, tenant))


def intervals_of(found: Sequence[asyncpg.Record]) -> list[Interval]:
    """Rows of kind, predicate, bucket and count."""
    return [Interval(Kind(row["kind"]), row["predicate"], row["bucket"], row["count"]) for row in found]


def _document(row: asyncpg.Record) -> PolicyDocument:
    return PolicyDocument(
        tenant=TenantId(row["tenant"]),
        name=row["name"],
        version=row["version"],
        content=row["content"],
        actor=row["actor"],
        reason=row["reason"],
        at=row["at"],
        sequence=row["sequence"],
    )
