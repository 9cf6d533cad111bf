"""kill -9 of PostgreSQL while many write: what was acknowledged is there afterwards, and the pool recovers.

On a cluster of its own, so it is also where roles are made from nothing by logins without special powers.
"""

from __future__ import annotations

import asyncio
import os
import signal

import pytest

from memory_service.adapters.embedded import TemporaryStack
from memory_service.adapters.postgres import APP_ROLE, PostgresBackend, migrate
from memory_service.domain.errors import FailedPrecondition, Unavailable
from memory_service.domain.ids import MemoryId, OwnerKey
from tests.contracts import builders as make
from tests.postgres.fixtures import connected, make_postgres_store, postgres_backend

WRITERS = 6
KILLS = 2
ACKNOWLEDGED_BETWEEN_KILLS = 40
PATIENCE_SECONDS = 60


class Writers:
    """Writers that go on whatever happens, and remember what was acknowledged."""

    def __init__(self, backend: PostgresBackend) -> None:
        self._backend = backend
        self.acknowledged: list[tuple[OwnerKey, MemoryId]] = []
        self.refused = 0
        self._another = asyncio.Event()

    async def run(self) -> None:
        """Write until cancelled."""
        owner = make.new_owner()
        while True:
            version = make.version(make.new_id())
            try:
                await make.write(self._backend.memories, owner, version)
            except Unavailable:
                self.refused += 1
                await asyncio.sleep(0.02)
            else:
                self.acknowledged.append((owner, version.id))
                self._another.set()

    async def until(self, count: int) -> None:
        """Return when so many writes have been acknowledged."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while len(self.acknowledged) < count:
                self._another.clear()
                await self._another.wait()


async def deployed_by_ordinary_logins(superuser: str) -> str:
    """Migrate as a login that is no superuser; the DSN of another that is only granted the service's role."""
    deployer, service = (superuser.replace("postgres@", f"{login}@", 1) for login in ("deployer", "service"))
    async with connected(superuser) as connection:
        database = await connection.fetchval("SELECT current_database()")
        await connection.execute("CREATE ROLE deployer LOGIN CREATEROLE; CREATE ROLE service LOGIN")
        with pytest.raises(FailedPrecondition, match="may not do what migrating needs"):
            await migrate(deployer)
        await connection.execute(f"ALTER DATABASE {database} OWNER TO deployer")
        await connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
    await migrate(deployer)
    with pytest.raises(FailedPrecondition, match="not a member"):
        await make_postgres_store(service)
    async with connected(deployer) as connection:
        await connection.execute(f"GRANT {APP_ROLE} TO service")
    return service


async def test_kill_9_loses_nothing_acknowledged_and_the_pool_recovers_by_itself():
    async with TemporaryStack(durable=True) as temporary_stack:
        service = await deployed_by_ordinary_logins(temporary_stack.database_url)
        async with postgres_backend(service, acquire_timeout=2.0) as backend:
            writers = Writers(backend)
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(writers.run()) for _ in range(WRITERS)]
                for _ in range(KILLS):
                    await writers.until(len(writers.acknowledged) + ACKNOWLEDGED_BETWEEN_KILLS)
                    postmaster = temporary_stack.data_dir / "postgres" / "postmaster.pid"
                    os.kill(int(postmaster.read_text().split()[0]), signal.SIGKILL)
                await writers.until(len(writers.acknowledged) + ACKNOWLEDGED_BETWEEN_KILLS)
                for task in tasks:
                    task.cancel()
            assert writers.refused > 0
            for owner in {owner for owner, _ in writers.acknowledged}:
                page = await backend.memories.list(owner, make.EVERYTHING, limit=10_000)
                written = {memory_id for o, memory_id in writers.acknowledged if o == owner}
                assert written <= {head.id for head in page.heads}
                state = await backend.memories.state(owner)
                assert state.revision == len(page.heads)  # nothing half written either
