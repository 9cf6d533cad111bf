"""Joins concurrent calls into batches: many recalls at once cost one pass of the model, not many."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from memory_service.domain.errors import MemoryServiceError, Reason, Unavailable
from memory_service.ports.embedder import Embedder, EmbeddingModel, FloatMatrix


@dataclass(eq=False, slots=True)
class _Call:
    """One caller's request: its texts, how many were handed out and came back, and where the answer goes."""

    texts: Sequence[str]
    answer: asyncio.Future[FloatMatrix]
    rows: FloatMatrix
    taken: int = 0
    done: int = 0


@dataclass(slots=True)
class _Batch:
    """Texts of several calls; `parts` says which rows belong to whom: (call, first text, past the last)."""

    texts: list[str] = field(default_factory=list)
    parts: list[tuple[_Call, int, int]] = field(default_factory=list)


class BatchingEmbedder:
    """An `Embedder` around another one.

    While a batch is being computed, arriving calls wait and go together into the next; nothing waits for a
    timer, so a lone call is as fast as without this wrapper. Calls share a batch evenly: a recall of one text
    passes by an import of ten thousand. A caller that goes away takes nothing from the others.
    """

    def __init__(self, inner: Embedder, *, lanes: int = 1, texts_waiting_max: int = 20_000) -> None:
        """
        Args:
            inner: makes the vectors; closed together with this.
            lanes: batches under way at the same time, at least 1.
            texts_waiting_max: texts that may wait; a call beyond it is refused at once.
        """
        if lanes < 1:
            raise ValueError("lanes must be at least 1")
        self._inner = inner
        self._lanes = lanes
        self._texts_waiting_max = texts_waiting_max
        self._queue: deque[_Call] = deque()
        self._waiting = 0
        self._running: set[asyncio.Task[None]] = set()
        self._closed = False

    @property
    def model(self) -> EmbeddingModel:
        """The inner embedder's model."""
        return self._inner.model

    @property
    def texts_waiting(self) -> int:
        """Texts that no batch has taken yet (for the queue-depth metric)."""
        return self._waiting

    async def embed(self, texts: Sequence[str]) -> FloatMatrix:
        """Embed `texts`; see the port.

        Raises:
            Unavailable: EMBEDDER_UNAVAILABLE from the model, OVERLOADED when too much is waiting already,
                SHUTTING_DOWN after `close`.
        """
        if self._closed:
            raise _closed()
        rows = np.empty((len(texts), self.model.dimension), np.float32)
        if not texts:
            return rows
        # A call larger than the limit passes when nothing else waits: otherwise it could never be served.
        if self._waiting and self._waiting + len(texts) > self._texts_waiting_max:
            raise Unavailable(
                Reason.OVERLOADED,
                "too many texts are waiting to be embedded",
                metadata={"texts_waiting_max": str(self._texts_waiting_max)},
            )
        call = _Call(texts, asyncio.get_running_loop().create_future(), rows)
        self._queue.append(call)
        self._waiting += len(texts)
        self._start()
        try:
            return await call.answer
        finally:
            self._forget(call)

    async def close(self) -> None:
        """Refuse what waits, let running batches end, close the inner embedder. Idempotent."""
        self._closed = True
        while self._queue:
            call = self._queue[0]
            if not call.answer.done():
                call.answer.set_exception(_closed())
            self._forget(call)
        if self._running:
            await asyncio.wait(self._running)
        await self._inner.close()

    def _start(self) -> None:
        while self._queue and len(self._running) < self._lanes:
            task = asyncio.get_running_loop().create_task(self._run(self._take()))
            self._running.add(task)
            task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._running.discard(task)
        if not self._closed:
            self._start()

    def _take(self) -> _Batch:
        """The next batch: the waiting calls in turn, each with an even share, again until it is full."""
        batch = _Batch()
        room = self.model.batch_size_max
        while room and self._queue:
            share = max(1, room // len(self._queue))
            for _ in range(min(len(self._queue), room)):
                call = self._queue.popleft()
                count = min(share, room, len(call.texts) - call.taken)
                batch.texts.extend(call.texts[call.taken : call.taken + count])
                batch.parts.append((call, call.taken, call.taken + count))
                call.taken += count
                room -= count
                self._waiting -= count
                if call.taken < len(call.texts):
                    self._queue.append(call)
                if not room:
                    break
        return batch

    async def _run(self, batch: _Batch) -> None:
        try:
            vectors = await self._inner.embed(batch.texts)
        except asyncio.CancelledError:
            self._fail(batch, _closed())
            raise
        except Exception as error:  # noqa: BLE001 - handed to every caller of the batch, where it is raised
            self._fail(batch, error)
            return
        at = 0
        for call, first, last in batch.parts:
            call.rows[first:last] = vectors[at : at + last - first]
            at += last - first
            call.done += last - first
            if call.done == len(call.texts) and not call.answer.done():
                call.answer.set_result(call.rows)

    def _fail(self, batch: _Batch, error: Exception) -> None:
        for call in dict.fromkeys(call for call, _, _ in batch.parts):
            if not call.answer.done():
                call.answer.set_exception(_own_copy(error))
            self._forget(call)

    def _forget(self, call: _Call) -> None:
        """Take a finished, failed or abandoned call's remaining texts out of the queue."""
        if call.taken < len(call.texts):
            self._waiting -= len(call.texts) - call.taken
            call.taken = len(call.texts)
            self._queue.remove(call)


def _closed() -> Unavailable:
    return Unavailable(Reason.SHUTTING_DOWN, "the embedder is closed")


def _own_copy(error: Exception) -> Exception:
    """A separate object for each caller: raising one object in several tasks mixes their tracebacks."""
    if not isinstance(error, MemoryServiceError):
        return error
    copy = type(error)(error.reason, error.message, field=error.field, metadata=error.metadata)
    copy.__cause__ = error
    return copy
