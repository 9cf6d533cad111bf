"""The backends that the contract suites run on."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from memory_service.adapters.inmemory import InMemoryKeyStore, InMemoryMemoryStore, InMemoryPolicyStore
from memory_service.ports.episodes import EpisodeLog
from memory_service.ports.job_queue import JobQueue
from memory_service.ports.keys import KeyStore
from memory_service.ports.memory_store import MemoryStore
from memory_service.ports.policy_store import PolicyStore
from memory_service.ports.upkeep_plan import UpkeepPlan
from tests.conftest import _database

if TYPE_CHECKING:
    from memory_service.adapters.embedded import EmbeddedStack


@dataclass(frozen=True)
class Backend:
    """One backend under test."""

    name: str
    memories: MemoryStore
    keys: KeyStore
    policies: PolicyStore
    jobs: JobQueue
    upkeep: UpkeepPlan
    episodes: EpisodeLog


@pytest.fixture(scope="session")
def inmemory_backend() -> Backend:
    """The backend in this process's memory."""
    memories = InMemoryMemoryStore()
    policies = InMemoryPolicyStore(memories)
    return Backend(
        "inmemory", memories, InMemoryKeyStore(), policies, memories.jobs, memories.upkeep, memories.episodes
    )


@pytest.fixture(scope="session")
async def postgres_backend(stack: EmbeddedStack, database_template: str) -> AsyncIterator[Backend]:
    """PostgreSQL in a database of its own."""
    from memory_service.adapters.postgres import PostgresBackend, PostgresSettings

    async with _database(stack.database_url, database_template) as dsn:
        postgres = await PostgresBackend.connect(PostgresSettings(dsn=dsn))
        try:
            yield Backend(
                "postgres",
                postgres.memories,
                postgres.keys,
                postgres.policies,
                postgres.jobs,
                postgres.upkeep,
                postgres.episodes,
            )
        finally:
            await postgres.close()


@pytest.fixture(scope="session", params=["inmemory", "postgres"])
def backend(request: pytest.FixtureRequest) -> Backend:
    """Each backend in turn, shared by all tests of a worker; a test makes owners of its own."""
    chosen: Backend = request.getfixturevalue(f"{request.param}_backend")
    return chosen


@pytest.fixture
def store(backend: Backend) -> MemoryStore:
    """The memory store under test."""
    return backend.memories


@pytest.fixture
def keys(backend: Backend) -> KeyStore:
    """The key store under test."""
    return backend.keys


@pytest.fixture
def policies(backend: Backend) -> PolicyStore:
    """The policy store under test."""
    return backend.policies


@pytest.fixture
def queue(backend: Backend) -> JobQueue:
    """The job queue under test."""
    return backend.jobs


@pytest.fixture
def plan(backend: Backend) -> UpkeepPlan:
    """The plan of upkeep under test."""
    return backend.upkeep
