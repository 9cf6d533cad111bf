"""Streams over gRPC: one that awaits, one that blocks and never suspends (see `memory_service.client.wire`)."""

from __future__ import annotations

import asyncio
import queue
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Generic, TypeVar

import grpc
import grpc.aio
from google.protobuf.message import Message

from memory_service.client.errors import ClientClosed, Unavailable

Request = TypeVar("Request", bound=Message)
Response = TypeVar("Response", bound=Message)


class EndedWhileSending(Unavailable):
    """The stream ended in the middle of a send, for a reason that only shows when nothing is being sent."""


def _silent(seconds: float) -> Unavailable:
    return Unavailable(f"nothing was heard from the memory service for {seconds:g} s")


def _closed() -> ClientClosed:
    return ClientClosed("the client was closed during the call")


class AsyncStream(Generic[Request, Response]):
    """Over grpc.aio."""

    def __init__(self, call: Any, closed: Callable[[], bool]) -> None:
        self._call = call
        self._closed = closed

    async def send(self, request: Request) -> None:
        try:
            await self._guarded(self._call.write(request))
        except grpc.aio.AioRpcError as error:
            # The way grpc.aio says that the stream ended meanwhile; why it ended is lost.
            if error.code() is not grpc.StatusCode.INTERNAL:
                raise
            raise EndedWhileSending("the stream ended while something was being sent") from None

    async def done_sending(self) -> None:
        await self._guarded(self._call.done_writing())

    async def receive(self, idle_seconds: float) -> Response | None:
        try:
            async with asyncio.timeout(idle_seconds):
                message = await self._guarded(self._call.read())
        except TimeoutError:
            self._call.cancel()
            raise _silent(idle_seconds) from None
        if message is None or message is grpc.aio.EOF:
            return None
        response: Response = message
        return response

    async def _guarded(self, work: Any) -> Any:
        try:
            return await work
        except asyncio.InvalidStateError:
            return None  # it has ended; `receive` tells how
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and not task.cancelling():
                if self._closed():
                    raise _closed() from None
                raise Unavailable("the stream was broken off") from None
            raise

    def cancel(self) -> None:
        self._call.cancel()


class BlockingStream(Generic[Request, Response]):
    """Over gRPC's synchronous channel, which takes what is sent from an iterator on a thread of its own."""

    def __init__(self, opened: Any, metadata: Sequence[tuple[str, str]], closed: Callable[[], bool]) -> None:
        outbox: queue.SimpleQueue[Request | None] = queue.SimpleQueue()
        waiting: Iterator[Request | None] = iter(outbox.get, None)
        self._outbox = outbox
        self._closed = closed
        try:
            self._call = opened(waiting, metadata=tuple(metadata))
        except ValueError:  # the channel is closed
            raise _closed() from None
        self._watchdog = _Watchdog(self._call.cancel)

    async def send(self, request: Request) -> None:
        self._outbox.put(request)

    async def done_sending(self) -> None:
        self._outbox.put(None)

    async def receive(self, idle_seconds: float) -> Response | None:
        self._watchdog.arm(idle_seconds)
        try:
            response: Response = next(self._call)
        except StopIteration:
            return None
        except (grpc.RpcError, ValueError):
            if self._watchdog.bitten:
                raise _silent(idle_seconds) from None
            if self._closed():
                raise _closed() from None
            raise
        finally:
            self._watchdog.disarm()
        return response

    def cancel(self) -> None:
        self._outbox.put(None)
        self._watchdog.stop()
        self._call.cancel()

    def __del__(self) -> None:
        # A watch that is dropped, not closed, must not hold its thread and connection for ever.
        if hasattr(self, "_watchdog"):
            self.cancel()


class _Watchdog:
    """Calls `bite` when it is left armed for too long. One thread, begun when first armed."""

    def __init__(self, bite: Callable[[], object]) -> None:
        self.bitten = False
        self._bite = bite
        self._deadline: float | None = None
        self._stopped = False
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    def arm(self, seconds: float) -> None:
        with self._changed:
            self._deadline = time.monotonic() + seconds
            if self._thread is None:
                self._thread = threading.Thread(target=self._watch, name="memory-stream-watchdog", daemon=True)
                self._thread.start()
                return
            # The thread looks again when the deadline it knew has passed; a later one need not wake it.

    def disarm(self) -> None:
        with self._changed:
            self._deadline = None

    def stop(self) -> None:
        with self._changed:
            self._stopped = True
            self._changed.notify()

    def _watch(self) -> None:
        poll_seconds = 0.2
        with self._changed:
            while not self._stopped:
                if self._deadline is not None and time.monotonic() >= self._deadline:
                    self.bitten = self._stopped = True
                    break
                left = poll_seconds if self._deadline is None else self._deadline - time.monotonic()
                self._changed.wait(min(poll_seconds, max(0.0, left)))
            if not self.bitten:
                return
        self._bite()
