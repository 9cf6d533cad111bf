"""How calls travel. The client's logic is written once, as coroutines over a `Wire`.

`AsyncWire` is grpc.aio. `BlockingWire` has the same methods, which never suspend: a coroutine over it runs
from start to end in one step (`drive`), so the synchronous client needs neither an event loop nor a copy of
the code.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine, Generator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

import grpc
import grpc.aio
from google.protobuf.message import Message

from memory_service.client.errors import ClientClosed
from memory_service.client.streams import AsyncStream, BlockingStream

Request = TypeVar("Request", bound=Message)
Response = TypeVar("Response", bound=Message)
Result = TypeVar("Result")

Metadata = Sequence[tuple[str, str]]

THREADS_MAX = 16
"""Concurrent batches of one blocking client."""

MESSAGE_BYTES_MAX = 64 * 2**20
"""Largest answer taken in: a Forget names every id, a page may hold 500 long texts."""

_OPTIONS: tuple[tuple[str, str | int], ...] = (
    # Retries are the client's own, which knows what is safe and how long it may take.
    ("grpc.enable_retries", 0),
    # A service that comes back is noticed in a tenth of a second, not after gRPC's default of one and more.
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 2_000),
    ("grpc.max_receive_message_length", MESSAGE_BYTES_MAX),
)


@dataclass(frozen=True, slots=True)
class Tls:
    """PEM contents (not paths). Roots are gRPC's own when None; the other two are for mutual TLS."""

    root_certificates: bytes | None = None
    private_key: bytes | None = field(default=None, repr=False)
    certificate_chain: bytes | None = None

    def credentials(self) -> grpc.ChannelCredentials:
        """As gRPC takes them."""
        return grpc.ssl_channel_credentials(self.root_certificates, self.private_key, self.certificate_chain)


@dataclass(frozen=True)
class Rpc(Generic[Request, Response]):
    """One call of the API.

    Attributes:
        path: "/package.Service/Method".
        safe: whether sending it twice does no harm: it reads, or it carries a request id.
    """

    path: str
    response: type[Response]
    safe: bool = True


class Wire(Protocol):
    """What the client's logic needs of the world."""

    async def unary(
        self, rpc: Rpc[Request, Response], request: Request, *, timeout: float, metadata: Metadata
    ) -> Response:
        """One attempt. Raises grpc.RpcError, or ClientClosed."""
        ...

    def stream(self, rpc: Rpc[Request, Response], *, metadata: Metadata) -> Stream[Request, Response]:
        """Open a stream, which lasts until either side ends it. Raises ClientClosed."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        ...

    def start(self, work: Coroutine[Any, Any, Result]) -> Handle[Result]:
        """Begin work beside this one; awaiting the handle gives its result."""
        ...

    async def close(self) -> None:
        """Close the connection; calls under way end with ClientClosed. May be called twice."""
        ...


class Stream(Protocol, Generic[Request, Response]):  # type: ignore[misc]  # invariance is of no use here
    """A call of many messages either way; `memory_service.client.streams` has both sorts."""

    async def send(self, request: Request) -> None:
        """Send one message. To a stream that has ended it does nothing: `receive` says why it ended."""
        ...

    async def done_sending(self) -> None:
        """Nothing more will be sent."""
        ...

    async def receive(self, idle_seconds: float) -> Response | None:
        """The next message, None at the end. Raises grpc.RpcError, ClientClosed, or Unavailable when nothing
        came for `idle_seconds`."""
        ...

    def cancel(self) -> None:
        """End it. May be called at any time, and again."""
        ...


class Handle(Protocol, Generic[Result]):  # type: ignore[misc]  # invariance is of no use to anybody here
    """Work begun by `Wire.start`."""

    def __await__(self) -> Generator[Any, None, Result]: ...

    def cancel(self) -> bool:
        """Ask it to stop; whether it may."""
        ...


def _serialised(message: Message) -> bytes:
    # `Message.SerializeToString` itself is abstract: every message has its own.
    return message.SerializeToString()


def _user_agent(version: str) -> tuple[str, str]:
    return ("grpc.primary_user_agent", f"memory-service-python/{version}")


class AsyncWire:
    """Over grpc.aio. The channel is made at the first call, inside the loop that makes it."""

    def __init__(self, target: str, tls: Tls | None, version: str) -> None:
        self._target = target
        self._tls = tls
        self._options = (*_OPTIONS, _user_agent(version))
        self._channel: grpc.aio.Channel | None = None
        self._calls: dict[str, Any] = {}
        self._closed = False

    async def unary(
        self, rpc: Rpc[Request, Response], request: Request, *, timeout: float, metadata: Metadata
    ) -> Response:
        if self._closed:
            raise ClientClosed("the client is closed")
        call = self._calls.get(rpc.path)
        if call is None:
            call = self._open().unary_unary(
                rpc.path,
                request_serializer=type(request).SerializeToString,
                response_deserializer=rpc.response.FromString,
            )
            self._calls[rpc.path] = call
        try:
            response: Response = await call(request, timeout=timeout, metadata=tuple(metadata))
        except asyncio.CancelledError:
            task = asyncio.current_task()
            # `_closed` may have changed while this call waited, which a type checker does not see.
            if getattr(self, "_closed") and task is not None and not task.cancelling():  # noqa: B009
                raise ClientClosed("the client was closed during the call") from None
            raise
        return response

    def stream(self, rpc: Rpc[Request, Response], *, metadata: Metadata) -> Stream[Request, Response]:
        if self._closed:
            raise ClientClosed("the client is closed")
        opened = self._open().stream_stream(
            rpc.path,
            request_serializer=_serialised,
            response_deserializer=rpc.response.FromString,
        )
        return AsyncStream(opened(metadata=tuple(metadata)), lambda: self._closed)

    def _open(self) -> grpc.aio.Channel:
        if self._channel is None:
            if self._tls is None:
                self._channel = grpc.aio.insecure_channel(self._target, options=self._options)
            else:
                credentials = self._tls.credentials()
                self._channel = grpc.aio.secure_channel(self._target, credentials, options=self._options)
        return self._channel

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def start(self, work: Coroutine[Any, Any, Result]) -> Handle[Result]:
        return asyncio.create_task(work)

    async def close(self) -> None:
        self._closed = True
        if self._channel is not None:
            await self._channel.close()
            self._channel = None
            self._calls.clear()


class BlockingWire:
    """Over gRPC's synchronous channel. Its coroutines never suspend; run them with `drive`."""

    def __init__(self, target: str, tls: Tls | None, version: str) -> None:
        options = (*_OPTIONS, _user_agent(version))
        self._channel = (
            grpc.insecure_channel(target, options=options)
            if tls is None
            else grpc.secure_channel(target, tls.credentials(), options=options)
        )
        self._threads: ThreadPoolExecutor | None = None
        self._calls: dict[str, Any] = {}
        self._closed = False

    async def unary(
        self, rpc: Rpc[Request, Response], request: Request, *, timeout: float, metadata: Metadata
    ) -> Response:
        if self._closed:
            raise ClientClosed("the client is closed")
        call = self._calls.get(rpc.path)
        if call is None:
            call = self._channel.unary_unary(
                rpc.path,
                request_serializer=type(request).SerializeToString,
                response_deserializer=rpc.response.FromString,
            )
            self._calls[rpc.path] = call
        try:
            response: Response = call(request, timeout=timeout, metadata=tuple(metadata))
        except (grpc.RpcError, ValueError):
            # A closed channel answers CANCELLED, or ValueError to a call begun later.
            if getattr(self, "_closed"):  # noqa: B009 - as above
                raise ClientClosed("the client was closed during the call") from None
            raise
        return response

    def stream(self, rpc: Rpc[Request, Response], *, metadata: Metadata) -> Stream[Request, Response]:
        if self._closed:
            raise ClientClosed("the client is closed")
        opened = self._channel.stream_stream(
            rpc.path,
            request_serializer=_serialised,
            response_deserializer=rpc.response.FromString,
        )
        return BlockingStream(opened, metadata, lambda: self._closed)

    async def sleep(self, seconds: float) -> None:
        time.sleep(seconds)  # noqa: ASYNC251 - this wire blocks its caller by design

    def start(self, work: Coroutine[Any, Any, Result]) -> Handle[Result]:
        if self._threads is None:
            self._threads = ThreadPoolExecutor(THREADS_MAX, thread_name_prefix="memory-client")
        return _Begun(self._threads.submit(drive, work))

    async def close(self) -> None:
        self._closed = True
        self._channel.close()
        if self._threads is not None:
            self._threads.shutdown(wait=True)


@dataclass(frozen=True, slots=True)
class _Begun(Generic[Result]):
    future: Future[Result]

    def __await__(self) -> Generator[Any, None, Result]:
        yield from ()  # makes this a generator, which is what `await` asks for, that never suspends
        return self.future.result()

    def cancel(self) -> bool:
        return self.future.cancel()


def drive(work: Coroutine[Any, Any, Result]) -> Result:
    """Run a coroutine that never suspends, and give its result."""
    try:
        work.send(None)
    except StopIteration as done:
        result: Result = done.value
        return result
    work.close()
    raise AssertionError("a coroutine over BlockingWire suspended")
