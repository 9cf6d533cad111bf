"""A model of this machine behind the `Embedder` port: loaded late, run in a bounded pool, results checked."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

import numpy as np

from memory_service.adapters.embedders.text import clean_text
from memory_service.adapters.embedders.weights import unavailable
from memory_service.domain.errors import MemoryServiceError, Reason, Unavailable
from memory_service.domain.text.traditional import to_simplified
from memory_service.ports.embedder import EmbeddingModel, FloatMatrix


class Encoder(Protocol):
    """A loaded model: computes in the calling thread and may be called from several at once."""

    def encode(self, texts: Sequence[str]) -> FloatMatrix:
        """Unit vectors of cleaned texts (at least one), in their order."""
        ...


class LocalEmbedder:
    """Runs an `Encoder` in threads.

    The encoder is loaded at the first call (or `load`), once, in a thread. A load that fails is tried again
    by the next call, since a missing package or a full disk may be put right meanwhile.
    """

    def __init__(self, model: EmbeddingModel, loader: Callable[[], Encoder], *, threads: int) -> None:
        """`threads`: how many batches are computed at the same time, at least 1."""
        if threads < 1:
            raise ValueError("threads must be at least 1")
        self._model = model
        self._loader = loader
        self._encoder: Encoder | None = None
        self._loading = threading.Lock()
        self._threads = threads
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="embed")
        self._closed = False

    @property
    def model(self) -> EmbeddingModel:
        """The model whose vectors this embedder makes."""
        return self._model

    async def load(self) -> None:
        """Load the model now rather than at the first text (seconds; see the model's module).

        Raises:
            Unavailable: EMBEDDER_UNAVAILABLE when packages or weights are missing or not the pinned ones.
        """
        self._check_open()
        await asyncio.get_running_loop().run_in_executor(self._pool, self._loaded)

    async def embed(self, texts: Sequence[str]) -> FloatMatrix:
        """Embed `texts`; float32, shape (len(texts), dimension). See the port for the contract."""
        self._check_open()
        if not texts:
            return np.empty((0, self._model.dimension), np.float32)
        size = self._model.batch_size_max
        slots = asyncio.Semaphore(self._threads)
        loop = asyncio.get_running_loop()

        async def one(batch: Sequence[str]) -> FloatMatrix:
            async with slots:  # a huge request queues here, not in the pool, so that others get a turn
                self._check_open()
                return await loop.run_in_executor(self._pool, self._compute, batch)

        tasks = [asyncio.ensure_future(one(texts[i : i + size])) for i in range(0, len(texts), size)]
        try:
            return np.concatenate(await asyncio.gather(*tasks))
        finally:  # after a failure nobody wants the rest
            for task in tasks:
                task.cancel()

    async def close(self) -> None:
        """Wait for the batches being computed, then end the threads. Idempotent."""
        self._closed = True
        await asyncio.to_thread(self._pool.shutdown, wait=True, cancel_futures=True)
        self._encoder = None

    def _check_open(self) -> None:
        if self._closed:
            raise Unavailable(Reason.SHUTTING_DOWN, "the embedder is closed")

    def _loaded(self) -> Encoder:
        with self._loading:
            if self._encoder is None:
                self._encoder = self._loader()
            return self._encoder

    def _compute(self, texts: Sequence[str]) -> FloatMatrix:
        try:
            vectors = self._loaded().encode([to_simplified(clean_text(text)) for text in texts])
        except MemoryServiceError:
            raise
        except Exception as error:  # native runtimes raise classes of their own; the text must not be quoted
            raise unavailable(f"the local model failed: {type(error).__name__}") from error
        expected = (len(texts), self._model.dimension)
        if vectors.shape != expected or not np.isfinite(vectors).all():
            raise unavailable("the local model gave vectors of a wrong shape or not finite")
        return vectors
