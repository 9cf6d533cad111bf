"""Backends in this process's memory: real ones (the contract suites hold them), only not durable."""

from memory_service.adapters.inmemory.backend import InMemoryBackend
from memory_service.adapters.inmemory.clock import ManualClock, RandomIds, SeededIds, SystemClock
from memory_service.adapters.inmemory.job_queue import InMemoryJobQueue, InMemoryUpkeepPlan
from memory_service.adapters.inmemory.keys import InMemoryKeyStore
from memory_service.adapters.inmemory.memory_store import InMemoryMemoryStore
from memory_service.adapters.inmemory.policies import InMemoryPolicyStore
from memory_service.adapters.inmemory.shared_cache import InMemorySharedCache

__all__ = [
    "InMemoryBackend",
    "InMemoryJobQueue",
    "InMemoryKeyStore",
    "InMemoryMemoryStore",
    "InMemoryPolicyStore",
    "InMemorySharedCache",
    "InMemoryUpkeepPlan",
    "ManualClock",
    "RandomIds",
    "SeededIds",
    "SystemClock",
]
