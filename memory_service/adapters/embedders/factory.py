"""From a name in the settings to an embedder."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from memory_service.adapters.embedders.e5 import E5_MODEL, E5_USE_MODEL, E5_WEIGHTS, E5UseEncoder, load_e5
from memory_service.adapters.embedders.hashing import HASH_MODEL, HashEncoder
from memory_service.adapters.embedders.local import Encoder, LocalEmbedder
from memory_service.adapters.embedders.minilm import (
    MINILM_MODEL,
    MINILM_VOCABULARY,
    MINILM_WEIGHTS,
    load_minilm,
)
from memory_service.adapters.embedders.openai import OpenAIEmbedder, OpenAISettings
from memory_service.adapters.embedders.use import USE_MODEL, USE_TOKENIZER, USE_WEIGHTS, load_use
from memory_service.adapters.embedders.weights import WeightFile, unavailable
from memory_service.ports.embedder import Embedder, EmbeddingModel


@dataclass(frozen=True, slots=True)
class _Local:
    """A local model: what it makes, what it needs, how it is loaded from a cache directory."""

    model: EmbeddingModel
    needs: tuple[WeightFile, ...]
    load: Callable[[Path], Encoder]


_LOCAL: Mapping[str, _Local] = {
    "use": _Local(USE_MODEL, (USE_WEIGHTS, USE_TOKENIZER), lambda _: load_use()),
    "e5": _Local(E5_MODEL, (E5_WEIGHTS,), load_e5),
    "e5-use": _Local(
        E5_USE_MODEL,
        (E5_WEIGHTS, USE_WEIGHTS, USE_TOKENIZER),
        lambda cache_dir: E5UseEncoder(load_e5(cache_dir), load_use()),
    ),
    "minilm": _Local(MINILM_MODEL, (MINILM_WEIGHTS, MINILM_VOCABULARY), lambda _: load_minilm()),
    "hash": _Local(HASH_MODEL, (), lambda _: HashEncoder()),
}

#: Every name `build_embedder` knows.
EMBEDDER_NAMES: tuple[str, ...] = (*_LOCAL, "openai")

#: Chosen by measured quality and cost; see docs/evaluation.md.
DEFAULT_EMBEDDER = "use"


def build_embedder(name: str, *, cache_dir: Path, openai: OpenAISettings | None, threads: int) -> Embedder:
    """Make the embedder called `name`; its model is loaded at the first use.

    Args:
        name: one of `EMBEDDER_NAMES`.
        cache_dir: where a converted model is kept (made when missing).
        openai: needed by ``openai``, ignored otherwise.
        threads: batches a local model computes at the same time.

    Raises:
        ValueError: an unknown name, or ``openai`` without its settings.
        Unavailable: EMBEDDER_UNAVAILABLE when a package with the model's weights is not installed.
    """
    if name == "openai":
        if openai is None:
            raise ValueError("the embedder `openai` needs its settings")
        return OpenAIEmbedder(openai)
    local = _LOCAL.get(name)
    if local is None:
        raise ValueError(f"unknown embedder; the names are {', '.join(EMBEDDER_NAMES)}")
    for file in local.needs:
        if not file.is_installed():
            raise unavailable(f"the embedder `{name}` needs a package that is not installed: {file.requirement}")
    return LocalEmbedder(local.model, lambda: local.load(cache_dir), threads=threads)
