"""What is stacked around ports: the tiers of snapshots and the cache of query vectors."""

from memory_service.adapters.wrappers.l1_snapshots import L1Settings, L1Snapshots
from memory_service.adapters.wrappers.l2_snapshots import L2Snapshots
from memory_service.adapters.wrappers.query_vectors import CachedQueryEmbedder
from memory_service.adapters.wrappers.store_snapshots import StoreSnapshots

__all__ = ["CachedQueryEmbedder", "L1Settings", "L1Snapshots", "L2Snapshots", "StoreSnapshots"]
