"""The composition root: the one place that knows every backend.

Starts in an order that keeps a half-started server harmless: pages for operators first (live, not ready), then
databases, with retries that say which one is away, then the API. Stops in the reverse order: not ready, no new
requests, drain, background work, connections, embedded servers.
"""

from __future__ import annotations

import asyncio
import signal
import socket
import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass, field
from typing import TypeVar

import grpc
import structlog
import uvicorn
import uvloop
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_health.v1._async import HealthServicer
from grpc_reflection.v1alpha import reflection

from memory_service import logs
from memory_service.adapters.embedded import EmbeddedServers
from memory_service.adapters.inmemory.clock import RandomIds, SystemClock
from memory_service.adapters.postgres.backend import PostgresBackend
from memory_service.adapters.postgres.migrate import migrate as apply_migrations
from memory_service.adapters.postgres.settings import PostgresSettings
from memory_service.adapters.prometheus.telemetry import PrometheusTelemetry
from memory_service.app.feed import ChangeFeed
from memory_service.bootstrap import FirstKey
from memory_service.config import Settings
from memory_service.domain import limits
from memory_service.domain.errors import MemoryServiceError, Unavailable
from memory_service.temporary import temporary
from memory_service.transport.interceptors.calls import CallInterceptor
from memory_service.transport.ops import OpsSources, ops_app
from memory_service.v1 import admin_service_pb2, memory_service_pb2, session_service_pb2, sync_service_pb2
from memory_service.wiring import Application, build_application, make_embedder

__all__ = ["Readiness", "Server", "migrate", "run", "temporary"]

_log = structlog.get_logger("memory_service.server")
_SERVICES = tuple(
    f"memory_service.v1.{name}" for name in ("MemoryService", "SyncService", "SessionService", "AdminService")
)
_RETRY_SECONDS_FIRST = 0.5
_RETRY_SECONDS_MAX = 10.0
_REFUSALS_AT_ONCE = 256
_CLOSE_SECONDS = 0.2
"""For the last answers to leave, once nothing is being worked on."""
ResultT = TypeVar("ResultT")


@dataclass(slots=True)
class Readiness:
    """What keeps the server from being ready, by part; "" once a part is."""

    problems: dict[str, str] = field(default_factory=lambda: {"start": "starting"})
    probe: Callable[[], Awaitable[Mapping[str, str]]] | None = None

    async def checks(self) -> Mapping[str, str]:
        """Every check with "" or its problem."""
        if self.probe is None or any(self.problems.values()):
            return dict(self.problems)
        return {**self.problems, **await self.probe()}


class Server:
    """One process, serving unless `worker_only`. `start`, then `stop`; `settings` decide everything."""

    def __init__(
        self, settings: Settings, say: Callable[[str], None] = lambda _: None, *, worker_only: bool = False
    ) -> None:
        self.settings = settings
        self.worker_only = worker_only
        self._say = say
        self._stack = AsyncExitStack()
        self._readiness = Readiness()
        self.telemetry = PrometheusTelemetry()
        self.target = ""
        self.ops_target = ""
        self.first_key = ""
        self._health = HealthServicer()
        self._grpc: grpc.aio.Server | None = None
        self._interceptor: CallInterceptor | None = None
        self._feed: ChangeFeed | None = None

    async def start(self) -> None:
        """Bring everything up; returns when the API answers.

        Raises:
            MemoryServiceError: when something is wrong that waiting does not mend.
            OSError: when an address cannot be bound.
        """
        try:
            await self._start_ops()
            database_url, redis_url = await self._start_embedded()
            if self.settings.migrates:
                await self._retrying("PostgreSQL", lambda: self._migrate(database_url))
            backend = await self._retrying("PostgreSQL", lambda: self._connect(database_url))
            self._stack.push_async_callback(backend.close)
            embedder = make_embedder(self.settings)
            self._stack.push_async_callback(embedder.close)
            application = await build_application(
                self.settings, backend, redis_url, embedder, self.telemetry, SystemClock(), RandomIds()
            )
            self._stack.push_async_callback(application.close)
            await self._retrying("the embedding model", lambda: embedder.embed(["warm up"]))
            if not self.worker_only:
                await self._serve_api(application, backend)
            await application.start_jobs()
            self._readiness.probe = application.probe
            self._readiness.problems["start"] = ""
            self.telemetry.gauge("ready", 1)
            await self._set_health(health_pb2.HealthCheckResponse.SERVING)
        except BaseException:
            await self.stop()
            raise

    async def _serve_api(self, application: Application, backend: PostgresBackend) -> None:
        if self.settings.embedded_database:
            keeper = FirstKey(self.settings.data_dir, self.settings.tenant, backend.keys)
            self.first_key = await keeper.ensure(SystemClock().now(), RandomIds().new())
        await self._start_grpc(application)
        if self.settings.embedded_database:
            FirstKey.publish(self.settings.data_dir, self.target, self.first_key, self.settings.tenant)

    async def stop(self) -> None:
        """Drain and leave nothing running. Idempotent."""
        self._readiness.problems["start"] = "shutting down"
        self.telemetry.gauge("ready", 0)
        await self._stack.aclose()

    # Parts -------------------------------------------------------------------------------------------------

    async def _start_ops(self) -> None:
        host, port = _split(self.settings.ops_listen)
        app = ops_app(OpsSources(self.telemetry.exposition, self._readiness.checks))
        config = uvicorn.Config(app, host=host, port=port, log_config=None, access_log=False, lifespan="off")
        server = _QuietServer(config)
        listening = _bind(host, port)
        self.ops_target = f"{host}:{listening.getsockname()[1]}"
        task = asyncio.create_task(server.serve([listening]), name="ops")

        async def end() -> None:
            server.should_exit = True
            await asyncio.gather(task, return_exceptions=True)
            listening.close()

        self._stack.push_async_callback(end)

    async def _start_embedded(self) -> tuple[str, str]:
        settings = self.settings
        database_url = settings.database_url.get_secret_value() if settings.database_url else ""
        redis_url = settings.redis_url.get_secret_value() if settings.redis_url else ""
        if database_url and redis_url:
            return database_url, redis_url
        servers = EmbeddedServers(
            settings.data_dir,
            on_progress=self._say,
            with_postgres=settings.embedded_database,
            with_valkey=settings.embedded_redis,
        )
        # Registered first, so that a start that is interrupted half-way is undone as well.
        self._stack.push_async_callback(servers.stop)
        running = await servers.start()
        return database_url or running.database_url, redis_url or running.redis_url

    async def _migrate(self, database_url: str) -> None:
        own = self.settings.migration_database_url
        applied = await apply_migrations(own.get_secret_value() if own else database_url, on_progress=self._say)
        if applied:
            _log.info("migrations applied", names=applied)

    async def _connect(self, database_url: str) -> PostgresBackend:
        settings = self.settings
        return await PostgresBackend.connect(
            PostgresSettings(
                dsn=database_url,
                pool_max=settings.database_pool_max,
                acquire_timeout=settings.database_acquire_seconds_max,
                statement_timeout=settings.statement_seconds_max,
                app_role=settings.database_app_role,
            )
        )

    async def _start_grpc(self, application: Application) -> None:
        settings = self.settings
        self._interceptor = CallInterceptor(
            application.authenticator,
            self.telemetry,
            application.clock,
            concurrent_max=settings.concurrent_rpcs_max,
            slow_seconds_max=settings.watcher_seconds_max,
        )
        server = grpc.aio.server(
            interceptors=[self._interceptor],
            # The interceptor refuses with a reason and lets health checks pass; this is for a flood of refusals.
            maximum_concurrent_rpcs=2 * settings.concurrent_rpcs_max + _REFUSALS_AT_ONCE,
            options=[
                ("grpc.max_receive_message_length", limits.MESSAGE_BYTES_MAX),
                ("grpc.max_send_message_length", limits.MESSAGE_BYTES_MAX * 4),
                ("grpc.so_reuseport", 0),
            ],
        )
        application.add_to(server)
        self._feed = application.feed
        health_pb2_grpc.add_HealthServicer_to_server(self._health, server)
        names = [
            memory_service_pb2.DESCRIPTOR.services_by_name["MemoryService"].full_name,
            admin_service_pb2.DESCRIPTOR.services_by_name["AdminService"].full_name,
            session_service_pb2.DESCRIPTOR.services_by_name["SessionService"].full_name,
            sync_service_pb2.DESCRIPTOR.services_by_name["SyncService"].full_name,
            health_pb2.DESCRIPTOR.services_by_name["Health"].full_name,
            reflection.SERVICE_NAME,
        ]
        reflection.enable_server_reflection(names, server)
        host, _ = _split(settings.listen)
        port = self._bind_grpc(server)
        self.target = f"{host}:{port}"
        await server.start()
        self._grpc = server
        self._stack.push_async_callback(self._drain)

    def _bind_grpc(self, server: grpc.aio.Server) -> int:
        settings = self.settings
        try:
            if settings.tls_certificate and settings.tls_key:
                pair = (settings.tls_key.read_bytes(), settings.tls_certificate.read_bytes())
                return int(server.add_secure_port(settings.listen, grpc.ssl_server_credentials([pair])))
            return int(server.add_insecure_port(settings.listen))
        except RuntimeError as error:
            raise OSError(f"cannot listen on {settings.listen}: is another server there? set PORT") from error

    async def _drain(self) -> None:
        """Refuse new requests by word while open ones end; then close, which streams of health do not hold up.

        gRPC's own grace comes last: what arrives during it is cancelled, which tells a caller nothing.
        """
        await self._set_health(health_pb2.HealthCheckResponse.NOT_SERVING)
        if self._interceptor is not None:
            draining = asyncio.create_task(self._interceptor.drain(self.settings.drain_seconds_max))
            if self._feed is not None:
                # Watches never end by themselves, and would hold up the drain.
                self._feed.close()
            await draining
        if self._grpc is not None:
            await self._grpc.stop(_CLOSE_SECONDS)

    async def _set_health(self, status: int) -> None:
        for name in ("", *_SERVICES):
            await self._health.set(name, status)

    async def _retrying(self, what: str, attempt: Callable[[], Awaitable[ResultT]]) -> ResultT:
        """Try until it works; only an absence is waited for, anything else is an error to report."""
        seconds = _RETRY_SECONDS_FIRST
        while True:
            try:
                result = await attempt()
            except Unavailable as error:
                self._readiness.problems["start"] = f"waiting for {what}: {error.message}"
                _log.warning("waiting", what=what, reason=error.reason.value, retry_seconds=seconds)
                self._say(f"waiting for {what}: {error.message}; next try in {seconds:g} s")
                await asyncio.sleep(seconds)
                seconds = min(seconds * 2, _RETRY_SECONDS_MAX)
            else:
                self._readiness.problems["start"] = "starting"
                return result


def run(settings: Settings, *, worker_only: bool = False) -> int:
    """Serve until SIGINT or SIGTERM; the exit code: 0 after an orderly stop, 1 when it could not start."""
    logs.configure(settings.log_level, settings.log_format)
    return uvloop.run(_serve(settings, worker_only=worker_only))


async def _serve(settings: Settings, *, worker_only: bool) -> int:
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopping.set)
    server = Server(settings, say=_say, worker_only=worker_only)
    starting = asyncio.create_task(server.start())
    waiting = asyncio.create_task(stopping.wait())
    await asyncio.wait({starting, waiting}, return_when=asyncio.FIRST_COMPLETED)
    if not starting.done():
        starting.cancel()
        await asyncio.gather(starting, return_exceptions=True)
        waiting.cancel()
        return 0
    try:
        starting.result()
    except (MemoryServiceError, OSError) as error:
        waiting.cancel()
        _say(f"memory-service cannot start: {error}")
        _log.error("cannot start", error=type(error).__name__)
        return 1
    _announce(server)
    await waiting
    _say("stopping: waiting for open " + ("jobs" if worker_only else "requests"))
    await server.stop()
    _say("stopped")
    return 0


def _announce(server: Server) -> None:
    settings = server.settings
    where = settings.data_dir.resolve() if settings.embedded_database or settings.embedded_redis else None
    if server.worker_only:
        _say(f"working on jobs: metrics and health on http://{server.ops_target}")
        return
    _say(f"ready: gRPC on {server.target}, metrics and health on http://{server.ops_target}")
    if where is not None:
        _say(f"data: {where}")
    if server.first_key:
        _say(f"key: in {where}/credentials.json; the CLI and SDK on this machine find it there")
    _say(
        'try: .venv/bin/memory-service write "I moved to Lisbon in May"'
        ' && .venv/bin/memory-service recall "where do I live?"'
    )


def migrate(settings: Settings) -> int:
    """Apply migrations to the configured database; the exit code."""
    logs.configure(settings.log_level, settings.log_format)
    return asyncio.run(_migrate(settings))


async def _migrate(settings: Settings) -> int:
    own = settings.migration_database_url or settings.database_url
    servers = None if own else EmbeddedServers(settings.data_dir, on_progress=_say, with_valkey=False)
    try:
        url = own.get_secret_value() if own else ""
        if servers is not None:
            url = (await servers.start()).database_url
        applied = await apply_migrations(url, on_progress=_say)
        _say(f"applied {len(applied)} migration(s)" if applied else "the schema is up to date")
    except MemoryServiceError as error:
        _say(f"cannot migrate: {error}")
        return 1
    finally:
        if servers is not None:
            await servers.stop()
    return 0


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def _split(address: str) -> tuple[str, int]:
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit():
        raise OSError(f"{address!r} is not an address of the form HOST:PORT")
    return host.strip("[]"), int(port)


def _bind(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except OSError as error:
        listening.close()
        raise OSError(f"cannot listen on {host}:{port}: is another server there? set OPS_PORT") from error
    listening.listen(128)
    return listening


class _QuietServer(uvicorn.Server):
    """Leaves signals to the process: uvicorn's own handling would end the server before it has drained."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture nothing."""
        yield
