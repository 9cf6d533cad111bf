"""What the composition root makes: the pool and the stores on it."""

from __future__ import annotations

from memory_service.adapters.postgres import sql
from memory_service.adapters.postgres.episodes import PostgresEpisodeLog
from memory_service.adapters.postgres.gate import OwnerGate
from memory_service.adapters.postgres.job_queue import PostgresJobQueue, PostgresUpkeepPlan
from memory_service.adapters.postgres.keys import PostgresKeyStore
from memory_service.adapters.postgres.memory_store import PostgresMemoryStore
from memory_service.adapters.postgres.migrate import SchemaState
from memory_service.adapters.postgres.policies import PostgresPolicyStore
from memory_service.adapters.postgres.session import Database, PoolStats, open_database
from memory_service.adapters.postgres.settings import PostgresSettings
from memory_service.domain.errors import MemoryServiceError


class PostgresBackend:
    """Owns the pool; the stores live as long as it."""

    def __init__(self, settings: PostgresSettings, database: Database) -> None:
        self._database = database
        self.memories = PostgresMemoryStore(database, OwnerGate(settings.lock_timeout))
        self.keys = PostgresKeyStore(database)
        self.episodes = PostgresEpisodeLog(database)
        self.policies = PostgresPolicyStore(database)
        self.jobs = PostgresJobQueue(settings, database)
        self.upkeep = PostgresUpkeepPlan(database)

    @classmethod
    async def connect(cls, settings: PostgresSettings) -> PostgresBackend:
        """Connect to a migrated database.

        Raises:
            Unavailable: PostgreSQL does not answer or does not accept us.
            FailedPrecondition: SCHEMA_UNKNOWN, the schema is older, newer or changed, or the role unsafe.
        """
        database = await open_database(settings)
        try:
            applied = await database.fetch(sql.SCHEMA)
            SchemaState.of({row["name"]: row["checksum"] for row in applied}).require_known()
        except MemoryServiceError:
            await database.close()
            raise
        return cls(settings, database)

    def pool_stats(self) -> PoolStats:
        """How the pool stands."""
        return self._database.stats()

    async def close(self) -> None:
        """Close every connection."""
        await self._database.close()
