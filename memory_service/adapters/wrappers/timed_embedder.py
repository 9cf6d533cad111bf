"""Times every call to the embedding model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from memory_service.ports.clock import Clock
from memory_service.ports.embedder import Embedder, EmbeddingModel, FloatMatrix
from memory_service.ports.telemetry import Telemetry


@dataclass(frozen=True, slots=True)
class TimedEmbedder:
    """`Embedder` that reports how long each call took, failed ones included."""

    inner: Embedder
    clock: Clock
    telemetry: Telemetry

    @property
    def model(self) -> EmbeddingModel:
        """The model behind it."""
        return self.inner.model

    async def embed(self, texts: Sequence[str]) -> FloatMatrix:
        """Embed `texts`; shape (len(texts), dimension)."""
        started = self.clock.monotonic()
        try:
            return await self.inner.embed(texts)
        finally:
            self.telemetry.observe("embed_seconds", self.clock.monotonic() - started)

    async def close(self) -> None:
        """Close the model behind it."""
        await self.inner.close()
