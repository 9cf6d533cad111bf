"""Watching a user's memories: events and checkpoints, over as many streams as it takes."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Self

import grpc
from google.protobuf.duration_pb2 import Duration

from memory_service.client import decode, encode, rpcs
from memory_service.client import types as t
from memory_service.client.errors import MemoryClientError, ResourceExhausted, Unavailable
from memory_service.client.failures import from_rpc_error
from memory_service.client.plumbing import Plumbing
from memory_service.client.retry import broken_off, worth_retrying
from memory_service.client.wire import Stream, drive
from memory_service.v1 import sync_service_pb2 as sync

CHECKPOINT_SECONDS = 10.0

MISSED_CHECKPOINTS_MAX = 3
"""A stream that is silent for this many checkpoints is dead, whatever the network says."""

Told = t.WatchEvent | t.WatchCheckpoint
Interruption = Callable[[MemoryClientError], None]


@dataclass(slots=True)
class _Place:
    """How far the caller has been told.

    The events of one change share a cursor that resumes after all of them, so it is safe only once something
    with another cursor has come. Until then the one before is kept, and on a new stream what was told already
    is left out: `told` counts the events of the unfinished change, `again` those met on the present stream.
    """

    safe: str
    unfinished: str = ""
    told: Counter[tuple[str, str, int]] = field(default_factory=Counter)
    again: Counter[tuple[str, str, int]] = field(default_factory=Counter)

    def reopen(self) -> None:
        self.again.clear()

    def finish(self, cursor: str) -> None:
        """Everything up to `cursor` has been told."""
        self.safe, self.unfinished = cursor, ""
        self.told.clear()
        self.again.clear()

    def take(self, event: t.WatchEvent) -> t.WatchEvent | None:
        """The event as the caller is to see it; None when it was told already."""
        if event.cursor != self.unfinished:
            if self.unfinished:
                self.safe = self.unfinished
            self.unfinished = event.cursor
            self.told.clear()
            self.again.clear()
        name = (event.memory_id, event.event.event, event.event.version)
        self.again[name] += 1
        if self.again[name] <= self.told[name]:
            return None
        self.told[name] += 1
        return replace(event, cursor=self.safe)


class Watcher:
    """The logic of a watch, as coroutines; `AsyncWatch` and `Watch` are what callers hold."""

    def __init__(
        self,
        client: Plumbing,
        request: sync.WatchRequest,
        timeout_seconds: float,
        checkpoint_seconds: float,
        on_interruption: Interruption | None,
    ) -> None:
        self._client = client
        self._request = request
        self._timeout_seconds = timeout_seconds
        self._idle_seconds = MISSED_CHECKPOINTS_MAX * checkpoint_seconds + timeout_seconds
        self._on_interruption = on_interruption
        self._place = _Place(request.cursor)
        self._stream: Stream[sync.WatchRequest, sync.WatchResponse] | None = None
        self._failures = 0
        self._heard = False
        self._opening = True
        self._began = 0.0
        self._closed = False

    @property
    def cursor(self) -> str:
        """Resumes after everything that is known to be complete; "" when nothing is yet."""
        return self._place.safe

    async def next(self) -> Told | None:
        """What happens next; None once closed. Raises every error that waiting cannot mend."""
        while not self._closed:
            try:
                message = await self._receive()
            except grpc.RpcError as failure:
                await self._interrupted(from_rpc_error(failure, self._client.target))
                continue
            except Unavailable as error:
                await self._interrupted(error)
                continue
            if message is None:
                await self._interrupted(Unavailable("the service ended the stream"))
                continue
            resumed, self._failures, self._heard = self._heard and self._opening, 0, True
            self._opening = False
            told = decode.watched(message)
            if isinstance(told, t.WatchCheckpoint):
                if resumed and told.cursor == self._place.safe:
                    continue  # where the new stream begins, which says nothing of the unfinished change
                self._place.finish(told.cursor)
                return told
            found = self._place.take(told) if told is not None else None
            if found is not None:
                return found
        return None

    async def _receive(self) -> sync.WatchResponse | None:
        if not self._began:
            self._began = time.monotonic()
        if self._stream is None:
            request = sync.WatchRequest()
            request.CopyFrom(self._request)
            # Without any safe place (the very first change broke off) that change's own cursor loses least.
            request.cursor = self._place.safe or ("" if request.from_start else self._place.unfinished)
            if request.cursor:
                request.from_start = False
            self._place.reopen()
            self._opening = True
            self._stream = self._client._wire.stream(rpcs.WATCH, metadata=self._client._metadata)
            await self._stream.send(request)
            await self._stream.done_sending()
        return await self._stream.receive(self._idle_seconds)

    async def _interrupted(self, error: MemoryClientError) -> None:
        """Wait before the next stream, or raise."""
        self._drop()
        if self._closed:
            return
        self._failures += 1
        error.attempts = self._failures
        caller = self._client._caller
        too_slow = isinstance(error, ResourceExhausted) and error.reason == "WATCHER_TOO_SLOW"
        mendable = worth_retrying(error) or too_slow
        if broken_off(error):
            mendable = self._failures < caller.policy.attempts_max
        if not mendable:
            raise error
        wait = caller.policy.wait_seconds(self._failures, error.retry_after_seconds, caller.draw())
        # A service that was never reached is probably not there; one that was will come back.
        gives_up = self._began + self._timeout_seconds
        if not self._heard and time.monotonic() + wait >= gives_up:
            raise error
        if self._on_interruption is not None:
            self._on_interruption(error)
        await self._client._wire.sleep(wait)

    def _drop(self) -> None:
        if self._stream is not None:
            self._stream.cancel()
            self._stream = None

    def close(self) -> None:
        """End it."""
        self._closed = True
        self._drop()


def watcher(
    client: Plumbing,
    *,
    cursor: str | None,
    from_start: bool,
    events: Sequence[str],
    kinds: Sequence[t.Kind | str],
    checkpoint_seconds: float,
    on_interruption: Interruption | None,
    agent: str | None,
    user: str | None,
    timeout_seconds: float | None,
) -> Watcher:
    """A watch that has not begun; see `AsyncMemoryClient.watch`."""
    interval = Duration()
    interval.FromMilliseconds(round(encode.seconds(checkpoint_seconds, "checkpoint_seconds") * 1000))
    request = sync.WatchRequest(
        user=client._user(user),
        cursor=encode.text(cursor or "", "cursor"),
        from_start=from_start and not cursor,
        events=encode.texts(events, "events"),
        kinds=[encode.kind_number(word, "kinds") for word in kinds],
        checkpoint_interval=interval,
        agent=client._agent(agent),
    )
    limit = client.timeout_seconds if timeout_seconds is None else encode.seconds(timeout_seconds)
    return Watcher(client, request, limit, checkpoint_seconds, on_interruption)


class AsyncWatch:
    """An asynchronous iterator of `WatchEvent` and `WatchCheckpoint`, and a context manager that ends it."""

    def __init__(self, inner: Watcher) -> None:
        self._inner = inner

    @property
    def cursor(self) -> str:
        """Resumes after everything that is known to be complete; "" when nothing is yet."""
        return self._inner.cursor

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Told:
        told = await self._inner.next()
        if told is None:
            raise StopAsyncIteration
        return told

    async def aclose(self) -> None:
        """End the watch."""
        self._inner.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exception: object) -> None:
        self._inner.close()


class Watch:
    """An iterator of `WatchEvent` and `WatchCheckpoint` that blocks, and a context manager that ends it.

    `close` may be called from another thread; the iteration then ends.
    """

    def __init__(self, inner: Watcher) -> None:
        self._inner = inner

    @property
    def cursor(self) -> str:
        """Resumes after everything that is known to be complete; "" when nothing is yet."""
        return self._inner.cursor

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Told:
        told = drive(self._inner.next())
        if told is None:
            raise StopIteration
        return told

    def close(self) -> None:
        """End the watch."""
        self._inner.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()
