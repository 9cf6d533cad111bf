"""How to reach PostgreSQL and how long to wait for it."""

from __future__ import annotations

from dataclasses import dataclass, field

APP_ROLE = "memory_service_app"
"""The role made by the migrations: it owns no table, so row-level security binds it."""


@dataclass(frozen=True, slots=True)
class PostgresSettings:
    """Settings of the PostgreSQL backend; times in seconds.

    Attributes:
        dsn: `postgresql://` address. Its user must be `app_role` or a member of it.
        pool_min, pool_max: connections kept open / at most open by this process.
        acquire_timeout: longest wait for a connection of the pool.
        connect_timeout: longest wait for a new connection.
        statement_timeout: longest single statement.
        lock_timeout: longest wait for another change of the same owner.
        idle_in_transaction_timeout: PostgreSQL ends a change that does nothing for so long.
        app_role: role to run as; "" runs as the dsn's own user, which must not be able to pass by row-level
            security (`PostgresBackend.connect` refuses it otherwise).
    """

    dsn: str = field(repr=False)
    pool_min: int = 2
    pool_max: int = 10
    acquire_timeout: float = 5.0
    connect_timeout: float = 5.0
    statement_timeout: float = 10.0
    lock_timeout: float = 5.0
    idle_in_transaction_timeout: float = 15.0
    app_role: str = APP_ROLE

    def __post_init__(self) -> None:
        """Raises ValueError for settings that cannot work."""
        if not 0 <= self.pool_min <= self.pool_max or self.pool_max < 1:
            raise ValueError("pool_min must lie in 0..pool_max, and pool_max must be at least 1")
        for name in (
            "acquire_timeout",
            "connect_timeout",
            "statement_timeout",
            "lock_timeout",
            "idle_in_transaction_timeout",
        ):
            if getattr(self, name) <= 0:
                raise ValueError(f"{name} must be positive")
