"""What every call goes through: an id, a caller, a status, a measurement and one log line without content."""

from __future__ import annotations

import asyncio
import contextlib
import re
import uuid
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from typing import Any

import grpc
import structlog
from google.protobuf.message import DecodeError
from grpc_status import rpc_status

from memory_service.domain.errors import (
    DeadlineExceeded,
    InternalError,
    InvalidInput,
    LimitExceeded,
    MemoryServiceError,
    Reason,
    Unavailable,
)
from memory_service.ports.clock import Clock
from memory_service.ports.telemetry import Telemetry
from memory_service.transport.errors import code_of, status_of
from memory_service.transport.identity import CALLER, Authenticator

_log = structlog.get_logger("memory_service.rpc")
_Context = grpc.aio.ServicerContext[Any, Any]
_FIRST_MESSAGE_SECONDS_MAX = 1.0
_REQUEST_ID = re.compile(r"^[A-Za-z0-9._:-]{1,128}$")
_OPEN_SERVICES = ("/grpc.health.v1.", "/grpc.reflection.")
"""Services that need no key: they tell nothing of anybody."""


class CallInterceptor(grpc.aio.ServerInterceptor):
    """Wraps every unary handler of our services; see the module."""

    def __init__(
        self,
        authenticator: Authenticator,
        telemetry: Telemetry,
        clock: Clock,
        *,
        concurrent_max: int,
        slow_seconds_max: float = 30.0,
    ) -> None:
        self._concurrent_max = concurrent_max
        self._slow_seconds_max = slow_seconds_max
        self._authenticator = authenticator
        self._telemetry = telemetry
        self._clock = clock
        self._draining = False
        self._in_flight = 0
        self._idle = asyncio.Event()
        self._idle.set()

    async def drain(self, seconds_max: float) -> None:
        """Refuse requests from now on, and wait until none is being worked on, or for so long."""
        self._draining = True
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._idle.wait(), seconds_max)

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[Any]],
        details: grpc.HandlerCallDetails,
    ) -> Any:
        handler = await continuation(details)
        if handler is None or details.method.startswith(_OPEN_SERVICES):
            return handler
        metadata = {key: value for key, value in details.invocation_metadata or () if isinstance(value, str)}
        rpc = details.method.rsplit("/", 1)[-1]
        read, write = handler.request_deserializer, handler.response_serializer

        # Messages are read by us and after authentication: gRPC answers one it cannot read with a Python error.
        async def unary(message: bytes, context: _Context) -> Any:
            return await self._guarded(
                rpc, metadata, context, lambda: handler.unary_unary(_read(read, message), context)
            )

        async def stream_out(message: bytes, context: _Context) -> None:
            await self._guarded(
                rpc,
                metadata,
                context,
                lambda: self._sent(handler.unary_stream(_read(read, message), context), metadata, context),
            )

        async def stream_both(messages: AsyncIterator[bytes], context: _Context) -> None:
            read_all = (_read(read, message) async for message in messages)
            await self._guarded(
                rpc,
                metadata,
                context,
                lambda: self._sent(handler.stream_stream(read_all, context), metadata, context),
                before_refusal=lambda: _first_of(messages),
            )

        if handler.unary_stream:
            return grpc.unary_stream_rpc_method_handler(stream_out, response_serializer=write)
        if handler.stream_stream:
            return grpc.stream_stream_rpc_method_handler(stream_both, response_serializer=write)
        return grpc.unary_unary_rpc_method_handler(unary, response_serializer=write)

    async def _sent(self, responses: AsyncGenerator[Any, None], metadata: dict[str, str], context: _Context) -> None:
        """Send a stream's responses as they come; a caller that does not take them in time is cut off.

        The key is looked at again before each, so that a stream does not outlive it.
        """
        async with aclosing(responses):
            async for response in responses:
                await self._authenticator.authenticate(metadata.get("authorization"))
                try:
                    async with asyncio.timeout(self._slow_seconds_max):
                        await context.write(response)
                except TimeoutError as error:
                    raise LimitExceeded(
                        Reason.WATCHER_TOO_SLOW,
                        f"a message was not taken within {self._slow_seconds_max:g} seconds",
                    ) from error
                except grpc.aio.InternalError as error:  # the connection was cut with the message under way
                    raise DeadlineExceeded(Reason.DEADLINE_EXCEEDED, "the caller went away") from error

    async def _guarded(  # noqa: RET503 - abort_with_status always raises
        self,
        rpc: str,
        metadata: dict[str, str],
        context: _Context,
        work: Callable[[], Awaitable[Any]],
        before_refusal: Callable[[], Awaitable[None]] | None = None,
    ) -> Any:
        started = self._clock.monotonic()
        request_id = _request_id(metadata.get("x-request-id", ""))
        error: MemoryServiceError | None = None
        begun = False
        self._in_flight += 1
        self._idle.clear()
        structlog.contextvars.bind_contextvars(request_id=request_id)
        try:
            if self._draining:
                raise Unavailable(Reason.SHUTTING_DOWN, "this server is shutting down")
            if self._in_flight > self._concurrent_max:
                raise Unavailable(Reason.OVERLOADED, "this server has more requests than it works on at once")
            CALLER.set(await self._authenticator.authenticate(metadata.get("authorization")))
            begun = True
            return await work()
        except MemoryServiceError as raised:
            error = raised
        except asyncio.CancelledError:
            error = DeadlineExceeded(Reason.DEADLINE_EXCEEDED, "the caller went away")
            raise
        except Exception:  # noqa: BLE001 - the last line of defence: logged, counted, answered as INTERNAL
            _log.exception("unexpected error", rpc=rpc)
            error = InternalError(Reason.INTERNAL, "an internal error; the log has its cause under the request id")
        finally:
            self._in_flight -= 1
            if not self._in_flight:
                self._idle.set()
            self._report(rpc, self._clock.monotonic() - started, error)
            structlog.contextvars.unbind_contextvars("request_id")
        if before_refusal is not None and not begun:
            await before_refusal()
        await context.abort_with_status(rpc_status.to_status(status_of(error, request_id)))

    def _report(self, rpc: str, seconds: float, error: MemoryServiceError | None) -> None:
        code = "OK" if error is None else _code_name(code_of(error))
        self._telemetry.count("rpc_requests_total", rpc=rpc, code=code)
        self._telemetry.observe("rpc_duration_seconds", seconds, rpc=rpc)
        reason = {} if error is None else {"reason": error.reason.value, "field": error.field}
        level = "info" if error is None or code not in ("INTERNAL", "UNAVAILABLE") else "warning"
        getattr(_log, "debug" if error is None else level)(
            "rpc", rpc=rpc, code=code, seconds=round(seconds, 6), **reason
        )


async def _first_of(messages: AsyncIterator[bytes]) -> None:
    """Let a caller get its first message off before its stream is refused.

    A Python client whose write meets the end of the stream reports that instead of the refusal.
    """
    with contextlib.suppress(TimeoutError, StopAsyncIteration):
        async with asyncio.timeout(_FIRST_MESSAGE_SECONDS_MAX):
            await anext(messages)


def _read(deserialize: Callable[[bytes], Any], message: bytes) -> Any:
    """The request of these bytes; protobuf does not say which field it could not read."""
    try:
        return deserialize(message)
    except DecodeError as error:
        said = str(error)
        if "UTF-8" in said:
            raise InvalidInput(Reason.TEXT_NOT_STORABLE, "the request holds text that is not Unicode") from error
        if "Depth" in said:
            raise InvalidInput(Reason.JSON_TOO_DEEP, "the request is nested too deeply to be read") from error
        raise InvalidInput(Reason.FIELD_INVALID, "the request is not a message of this API") from error


def _request_id(given: str) -> str:
    return given if _REQUEST_ID.match(given) else uuid.uuid4().hex


def _code_name(code: int) -> str:
    return next(c.name for c in grpc.StatusCode if c.value[0] == code)
