"""How to reach Redis (or Valkey), what to keep there and how long to wait for it."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class RedisSettings:
    """Settings of the Redis backend; times in seconds.

    Attributes:
        url: `redis://`, `rediss://` or `unix://` address.
        key_prefix: first part of every key and channel; deployments that share a server differ in it.
        snapshot_ttl_seconds, vector_ttl_seconds: how long an entry is kept (F9).
        packed_bytes_max: a larger snapshot is not kept.
        connections_max: most connections of this process.
        timeout_seconds: longest wait for one small operation, connecting included.
        transfer_timeout_seconds: the same for reading or writing a snapshot.
        failures_max: failures in a row after which the server counts as away.
        away_seconds: while away, nothing is sent for so long; then one call tries again.
        heartbeat_seconds: a subscription that hears nothing for so long asks whether it is still connected, and
            counts as lost after the same time without an answer.
        reconnect_seconds_max: longest pause between attempts to subscribe again.
    """

    url: str = field(repr=False)
    key_prefix: str = "ms1"
    snapshot_ttl_seconds: float = 3600.0
    vector_ttl_seconds: float = 86400.0
    packed_bytes_max: int = 64 * 1024 * 1024
    connections_max: int = 32
    timeout_seconds: float = 0.1
    transfer_timeout_seconds: float = 0.5
    failures_max: int = 3
    away_seconds: float = 1.0
    heartbeat_seconds: float = 0.25
    reconnect_seconds_max: float = 1.0

    def __post_init__(self) -> None:
        """Raises ValueError for settings that cannot work."""
        for name in (
            "snapshot_ttl_seconds",
            "vector_ttl_seconds",
            "packed_bytes_max",
            "connections_max",
            "timeout_seconds",
            "transfer_timeout_seconds",
            "failures_max",
            "away_seconds",
            "heartbeat_seconds",
            "reconnect_seconds_max",
        ):
            if getattr(self, name) <= 0:
                raise ValueError(f"{name} must be positive")
