"""Many statements, sent in batches: in order for each user, several users at once."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from memory_service.client import decode
from memory_service.client.errors import InvalidArgument, MemoryClientError
from memory_service.client.failures import from_item_error
from memory_service.client.types import NewMemory, WriteResult
from memory_service.client.wire import Handle
from memory_service.v1 import memory_service_pb2 as api

BATCH_BYTES_MAX = 2 * 2**20
"""Half of gRPC's default limit for a message, so that long texts make smaller batches, not errors."""

BUFFERED_BATCHES_PER_LANE = 4
"""How many batches' worth of statements may wait for their batch to fill, for each concurrent one."""

Sender = Callable[[str, Sequence[api.BatchWriteItem]], Coroutine[Any, Any, api.BatchWriteResponse]]
Preparer = Callable[[NewMemory | str], tuple[str, NewMemory, api.BatchWriteItem]]
Starter = Callable[[Coroutine[Any, Any, api.BatchWriteResponse]], Handle[api.BatchWriteResponse]]


@dataclass(frozen=True, slots=True)
class WriteOutcome:
    """What became of one statement: `result`, or `error` when it was refused. `item` has its request id."""

    item: NewMemory
    result: WriteResult | None = None
    error: MemoryClientError | None = None


@dataclass(frozen=True, slots=True)
class BatchProgress:
    """Told after every batch.

    Attributes:
        user: whose batch it was.
        outcomes: those of this batch, in order.
        written, refused: how many so far, over all batches.
    """

    user: str
    outcomes: Sequence[WriteOutcome]
    written: int
    refused: int


@dataclass(slots=True)
class _Batch:
    places: list[int] = field(default_factory=list)
    items: list[NewMemory] = field(default_factory=list)
    messages: list[api.BatchWriteItem] = field(default_factory=list)
    size_bytes: int = 0

    def add(self, place: int, item: NewMemory, message: api.BatchWriteItem) -> None:
        self.places.append(place)
        self.items.append(item)
        self.messages.append(message)
        self.size_bytes += message.ByteSize()


@dataclass(slots=True)
class BatchWriter:
    """One use of `write_many`.

    At most one batch of a user is under way, so a user's statements are accepted in the order given.
    """

    prepare: Preparer
    send: Sender
    start: Starter
    batch_size: int
    concurrency: int
    on_progress: Callable[[BatchProgress], None] | None
    _waiting: dict[str, _Batch] = field(default_factory=dict)
    _under_way: dict[str, tuple[_Batch, Handle[api.BatchWriteResponse]]] = field(default_factory=dict)
    _outcomes: dict[int, WriteOutcome] = field(default_factory=dict)
    _buffered: int = 0
    _written: int = 0
    _refused: int = 0

    async def run(self, items: Iterable[NewMemory | str]) -> Sequence[WriteOutcome]:
        """Send everything; see `Core.write_many`."""
        try:
            for place, item in enumerate(items):
                await self._take(place, item)
            for user in [*self._waiting]:
                await self._dispatch(user)
        except Exception:
            await self._finish(raising=False)
            raise
        except BaseException:  # cancelled or interrupted: leave at once
            for _, handle in self._under_way.values():
                handle.cancel()
            raise
        await self._finish(raising=True)
        return [self._outcomes[place] for place in sorted(self._outcomes)]

    async def _take(self, place: int, item: NewMemory | str) -> None:
        try:
            user, memory, message = self.prepare(item)
        except InvalidArgument as error:
            refused = NewMemory(item) if isinstance(item, str) else item
            self._record(refused.user or "", [(place, WriteOutcome(refused, error=error))])
            return
        waiting = self._waiting.setdefault(user, _Batch())
        if waiting.items and waiting.size_bytes + message.ByteSize() > BATCH_BYTES_MAX:
            await self._dispatch(user)
            waiting = self._waiting.setdefault(user, _Batch())
        waiting.add(place, memory, message)
        self._buffered += 1
        if len(waiting.items) >= self.batch_size:
            await self._dispatch(user)
        elif self._buffered >= self.batch_size * self.concurrency * BUFFERED_BATCHES_PER_LANE:
            await self._dispatch(max(self._waiting, key=lambda name: len(self._waiting[name].items)))

    async def _dispatch(self, user: str) -> None:
        if user in self._under_way:
            await self._settle(user)
        while len(self._under_way) >= self.concurrency:
            await self._settle(next(iter(self._under_way)))
        batch = self._waiting.pop(user)
        self._buffered -= len(batch.items)
        self._under_way[user] = (batch, self.start(self.send(user, batch.messages)))

    async def _settle(self, user: str) -> None:
        batch, handle = self._under_way.pop(user)
        response = await handle
        if len(response.results) != len(batch.items):
            raise MemoryClientError("the server answered for another number of statements than were sent")
        outcomes = [
            _outcome(item, result, response) for item, result in zip(batch.items, response.results, strict=True)
        ]
        self._record(user, [*zip(batch.places, outcomes, strict=True)])

    def _record(self, user: str, outcomes: Sequence[tuple[int, WriteOutcome]]) -> None:
        self._outcomes.update(outcomes)
        refused = sum(outcome.error is not None for _, outcome in outcomes)
        self._refused += refused
        self._written += len(outcomes) - refused
        if self.on_progress is not None:
            told = [outcome for _, outcome in outcomes]
            self.on_progress(BatchProgress(user, told, self._written, self._refused))

    async def _finish(self, *, raising: bool) -> None:
        """Wait for every batch under way; then raise the first failure, unless one is being raised."""
        first: MemoryClientError | None = None
        while self._under_way:
            try:
                await self._settle(next(iter(self._under_way)))
            except MemoryClientError as error:
                first = first or error
        if raising and first is not None:
            raise first


def _outcome(item: NewMemory, result: api.BatchWriteResult, response: api.BatchWriteResponse) -> WriteOutcome:
    if result.WhichOneof("result") == "error":
        return WriteOutcome(item, error=from_item_error(result.error, item.request_id))
    written = result.written
    # A written item's token and context are those of its batch.
    written.token = written.token or response.token
    if not written.HasField("context"):
        written.context.CopyFrom(response.context)
    return WriteOutcome(item, result=decode.write_result(written))
