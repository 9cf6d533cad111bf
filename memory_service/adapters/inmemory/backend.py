"""What a composition root makes of the stores in this process's memory; see `PostgresBackend` for PostgreSQL's."""

from __future__ import annotations

from memory_service.adapters.inmemory.cold_store import InMemoryColdStore
from memory_service.adapters.inmemory.keys import InMemoryKeyStore
from memory_service.adapters.inmemory.memory_store import InMemoryMemoryStore
from memory_service.adapters.inmemory.policies import InMemoryPolicyStore


class InMemoryBackend:
    """The stores live as long as it, and no longer: for simulations and tests."""

    def __init__(self) -> None:
        self.memories = InMemoryMemoryStore()
        self.keys = InMemoryKeyStore()
        self.policies = InMemoryPolicyStore(self.memories)
        self.cold = InMemoryColdStore()
        self.jobs, self.upkeep = self.memories.jobs, self.memories.upkeep
        self.episodes = self.memories.episodes

    async def close(self) -> None:
        """Let go; there is nothing to close."""
