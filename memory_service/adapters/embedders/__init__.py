"""Embedders: what turns text into vectors. `build_embedder` is the way in; the rest is private."""

from memory_service.adapters.embedders.batching import BatchingEmbedder
from memory_service.adapters.embedders.factory import DEFAULT_EMBEDDER, EMBEDDER_NAMES, build_embedder
from memory_service.adapters.embedders.openai import OpenAIEmbedder, OpenAISettings

__all__ = [
    "DEFAULT_EMBEDDER",
    "EMBEDDER_NAMES",
    "BatchingEmbedder",
    "OpenAIEmbedder",
    "OpenAISettings",
    "build_embedder",
]
