"""The service with its clock in our hands: the real application behind its real API, where months take seconds.

Evaluations and simulations run in it. Nothing is left out but what only wall time would do: in place of the jobs'
schedule, a `Journey` runs the upkeep of everyone on board, day by day.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

import grpc

from memory_service.adapters.embedded import TemporaryStack
from memory_service.adapters.inmemory.backend import InMemoryBackend
from memory_service.adapters.inmemory.clock import ManualClock, RandomIds
from memory_service.adapters.postgres.backend import PostgresBackend
from memory_service.adapters.postgres.migrate import migrate
from memory_service.adapters.postgres.settings import PostgresSettings
from memory_service.adapters.prometheus.telemetry import PrometheusTelemetry
from memory_service.config import Settings
from memory_service.domain import limits
from memory_service.domain.ids import OwnerKey, TenantId, UserId
from memory_service.ports.embedder import Embedder
from memory_service.ports.keys import Role
from memory_service.transport.identity import make_key
from memory_service.transport.interceptors.calls import CallInterceptor
from memory_service.wiring import Application, build_application, make_embedder

__all__ = ["DAY", "Journey", "TimeMachine", "opened", "time_machine"]

DAY: Final = timedelta(days=1)
_UPKEEP_GAP_MIN: Final = timedelta(hours=1)
_UPKEEP_AT_ONCE: Final = 8


@dataclass(frozen=True, slots=True)
class TimeMachine:
    """A serving application whose time moves only when told.

    Attributes:
        target, key: where it answers, and an admin key of its tenant.
    """

    application: Application
    clock: ManualClock
    tenant: str
    target: str
    key: str

    def owner(self, user: str) -> OwnerKey:
        """The owner that is called `user` over the API."""
        return OwnerKey(TenantId(self.tenant), UserId(user))

    def move(self, to: datetime) -> None:
        """Make it `to`, and do nothing else; a time that is past already moves nothing."""
        self.clock.advance(max(to - self.clock.now(), timedelta()))

    async def keep_up(self, due: Mapping[str, Sequence[str]]) -> int:
        """Write down what was used, and run the named upkeep steps for each user; how many memories that changed."""
        await self.application.accesses.flush()
        at_once = asyncio.Semaphore(_UPKEEP_AT_ONCE)

        async def run(user: str, names: Sequence[str]) -> int:
            async with at_once:
                return sum((await self.application.upkeep.run(self.owner(user), *names)).values())

        return sum(await asyncio.gather(*(run(user, names) for user, names in due.items() if names)))


class Journey:
    """Moves through time and keeps up the memories of everyone on board, as the schedule of jobs would.

    At each `every` (a day) everyone's steps that are due by their own interval run; before somebody acts, all steps
    of theirs, unless theirs ran less than an hour ago.
    """

    def __init__(self, machine: TimeMachine, every: timedelta = DAY) -> None:
        self._machine = machine
        self._every = every
        self._next = machine.clock.now() + every
        self._ran: dict[str, dict[str, datetime]] = {}
        self._intervals = {step.name: step.every for step in machine.application.upkeep.steps}

    def leave(self, user: str) -> None:
        """Keep up this user's memories no more."""
        self._ran.pop(user, None)

    async def to(self, at: datetime, user: str) -> int:
        """Be at `at`, where `user` is about to act; how many memories upkeep changed on the way."""
        machine, changed = self._machine, 0
        while self._next < at:
            machine.move(self._next)
            changed += await self._run(
                {
                    other: [name for name, interval in self._intervals.items() if self._next - ran[name] >= interval]
                    for other, ran in self._ran.items()
                }
            )
            self._next += self._every
        machine.move(at)
        ran = self._ran.setdefault(user, dict.fromkeys(self._intervals, at))
        return changed + await self._run({user: [name for name in ran if at - ran[name] >= _UPKEEP_GAP_MIN]})

    async def _run(self, due: Mapping[str, Sequence[str]]) -> int:
        for user, names in due.items():
            self._ran[user].update(dict.fromkeys(names, self._machine.clock.now()))
        return await self._machine.keep_up(due)


@contextlib.asynccontextmanager
async def time_machine(
    start: datetime,
    settings: Settings | None = None,
    embedder: Embedder | None = None,
    *,
    in_memory: bool = False,
) -> AsyncIterator[TimeMachine]:
    """A service of one's own at `start`, on databases that are gone afterwards.

    Args:
        settings: what the service is to be like; addresses and databases in it are not used.
        embedder: shared with others and left open; the one of the settings when None.
        in_memory: without databases, in this process's memory.

    Raises:
        Unavailable: when the databases do not come up, or the embedding model is not installed.
    """
    settings = settings or Settings()
    async with contextlib.AsyncExitStack() as stack:
        database_url = redis_url = ""
        if not in_memory:
            running = await stack.enter_async_context(TemporaryStack())
            database_url, redis_url = running.database_url, running.redis_url
            await migrate(database_url)
        yield await stack.enter_async_context(opened(start, database_url, redis_url, settings, embedder))


@contextlib.asynccontextmanager
async def opened(
    start: datetime,
    database_url: str = "",
    redis_url: str = "",
    settings: Settings | None = None,
    embedder: Embedder | None = None,
) -> AsyncIterator[TimeMachine]:
    """As `time_machine`, on a migrated database that is there; in this process's memory without one."""
    settings = settings or Settings()
    clock, telemetry, ids = ManualClock(start), PrometheusTelemetry(), RandomIds()
    async with contextlib.AsyncExitStack() as stack:
        backend: PostgresBackend | InMemoryBackend = InMemoryBackend()
        if database_url:
            role = settings.database_app_role
            backend = await PostgresBackend.connect(PostgresSettings(dsn=database_url, app_role=role))
        stack.push_async_callback(backend.close)
        if embedder is None:
            embedder = make_embedder(settings)
            stack.push_async_callback(embedder.close)
        application = await build_application(settings, backend, redis_url, embedder, telemetry, clock, ids)
        stack.push_async_callback(application.close)
        key, secret = make_key(
            settings.tenant, "time machine", key_id=ids.new(), now=clock.now(), roles=frozenset({Role.ADMIN})
        )
        await backend.keys.add(key)
        target = await stack.enter_async_context(_serving(application, telemetry, clock))
        yield TimeMachine(application, clock, settings.tenant, target, secret)


@contextlib.asynccontextmanager
async def _serving(
    application: Application, telemetry: PrometheusTelemetry, clock: ManualClock
) -> AsyncIterator[str]:
    interceptor = CallInterceptor(application.authenticator, telemetry, clock, concurrent_max=64)
    server = grpc.aio.server(
        interceptors=[interceptor],
        options=[("grpc.max_receive_message_length", limits.MESSAGE_BYTES_MAX), ("grpc.so_reuseport", 0)],
    )
    application.add_to(server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        application.feed.close()
        await server.stop(None)
