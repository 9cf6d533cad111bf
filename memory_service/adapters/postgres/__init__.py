"""Long-term memory and API keys on PostgreSQL with pgvector (asyncpg)."""

from memory_service.adapters.postgres.backend import PostgresBackend
from memory_service.adapters.postgres.keys import PostgresKeyStore
from memory_service.adapters.postgres.memory_store import PostgresMemoryStore
from memory_service.adapters.postgres.migrate import SchemaState, migrate, schema_state
from memory_service.adapters.postgres.session import PoolStats
from memory_service.adapters.postgres.settings import APP_ROLE, PostgresSettings

__all__ = [
    "APP_ROLE",
    "PoolStats",
    "PostgresBackend",
    "PostgresKeyStore",
    "PostgresMemoryStore",
    "PostgresSettings",
    "SchemaState",
    "migrate",
    "schema_state",
]
