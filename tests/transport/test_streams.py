"""Streams whose caller is gone: that is its doing, and no error of the service."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from types import SimpleNamespace
from typing import Any, cast

import grpc
from structlog.testing import capture_logs

from memory_service.adapters.inmemory.clock import ManualClock
from memory_service.transport.interceptors.calls import CallInterceptor
from tests.app.harness import START


class Anybody:
    """Lets everyone in."""

    async def authenticate(self, authorization: str | None) -> None: ...


class Counting:
    """Telemetry that keeps the codes."""

    def __init__(self) -> None:
        self.codes: list[str] = []

    def count(self, name: str, amount: int = 1, **labels: str) -> None:
        self.codes.append(labels["code"])

    def observe(self, name: str, seconds: float, **labels: str) -> None: ...
    def gauge(self, name: str, value: float, **labels: str) -> None: ...


class Gone:
    """A context whose connection was cut: what gRPC says to every write then."""

    def __init__(self) -> None:
        self.aborted: list[Any] = []

    async def write(self, message: Any) -> None:
        raise grpc.aio.InternalError('Failed "execute_batch"')

    async def abort_with_status(self, status: Any) -> None:
        self.aborted.append(status.code)


async def stream(told: Callable[[Any, Any], AsyncIterator[str]]) -> tuple[list[str], list[Any], list[str]]:
    """Codes counted, codes answered, and errors logged, of a stream whose connection was cut."""
    telemetry, context = Counting(), Gone()
    interceptor = CallInterceptor(
        cast("Any", Anybody()), cast("Any", telemetry), ManualClock(START), concurrent_max=4
    )
    handler = SimpleNamespace(
        request_deserializer=bytes, response_serializer=bytes, unary_stream=told, stream_stream=None, unary_unary=None
    )

    async def continuation(_: Any) -> Any:
        return handler

    details = SimpleNamespace(method="/memory_service.v1.SyncService/Watch", invocation_metadata=())
    wrapped = await interceptor.intercept_service(continuation, cast("Any", details))
    with capture_logs() as lines:
        await wrapped.unary_stream(b"", context)
    return telemetry.codes, context.aborted, [line["event"] for line in lines if line["log_level"] == "error"]


async def test_a_stream_whose_connection_was_cut_is_no_unexpected_error() -> None:
    async def told(request: Any, context: Any) -> AsyncIterator[str]:
        yield "one"

    assert await stream(told) == (["DEADLINE_EXCEEDED"], [grpc.StatusCode.DEADLINE_EXCEEDED], [])


async def test_an_error_of_our_own_in_a_stream_still_is_one() -> None:
    async def told(request: Any, context: Any) -> AsyncIterator[str]:
        if not request:
            raise ZeroDivisionError
        yield ""

    assert await stream(told) == (["INTERNAL"], [grpc.StatusCode.INTERNAL], ["unexpected error"])
