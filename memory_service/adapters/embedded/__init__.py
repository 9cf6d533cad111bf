"""PostgreSQL with pgvector, and Valkey, pip-installed and run by the service itself: the default."""

from memory_service.adapters.embedded.errors import DataDirectoryInUse, EmbeddedStartFailed
from memory_service.adapters.embedded.servers import EmbeddedServers, EmbeddedStack, EmbeddedStatus, running_stack
from memory_service.adapters.embedded.temporary import TemporaryStack

__all__ = [
    "DataDirectoryInUse",
    "EmbeddedServers",
    "EmbeddedStack",
    "EmbeddedStartFailed",
    "EmbeddedStatus",
    "TemporaryStack",
    "running_stack",
]
