"""Access to native libraries: loaded late, held to the threads we were given.

Heavy imports (onnxruntime, sentencepiece) happen here and only when a model is really loaded.
"""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from memory_service.adapters.embedders.weights import unavailable
from memory_service.ports.embedder import FloatMatrix

_EXTRA = "memory-service[local-embedder]"


class Tokenizer(Protocol):
    """Text to piece numbers, without begin and end marks. Safe to call from several threads."""

    def encode(self, text: str) -> list[int]:
        """Piece numbers of `text`; may be empty."""
        ...


class SentencePieceTokenizer:
    """A SentencePiece model run by the sentencepiece library (ten times the speed of pure Python)."""

    def __init__(self, *, file: Path) -> None:
        try:
            import sentencepiece
        except ImportError as error:
            raise unavailable(f"the local model needs sentencepiece: install {_EXTRA}") from error
        self._processor = sentencepiece.SentencePieceProcessor(model_file=str(file))

    def encode(self, text: str) -> list[int]:
        """Piece numbers of `text`."""
        ids: list[int] = self._processor.encode(text, out_type=int)
        return ids


class OnnxModel:
    """An ONNX graph on onnxruntime's CPU provider; one thread a call, so that calls run side by side."""

    def __init__(self, file: Path) -> None:
        try:
            import onnxruntime
        except ImportError as error:
            raise unavailable(f"the local model needs onnxruntime: install {_EXTRA}") from error
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        options.enable_cpu_mem_arena = False  # the arena never gives memory back after one long batch
        self._session: Any = onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])

    def run(self, inputs: dict[str, NDArray[np.int64]]) -> FloatMatrix:
        """The graph's first output."""
        result: FloatMatrix = self._session.run(None, inputs)[0]
        return result


def limit_blas_threads() -> None:
    """Hold numpy's own OpenBLAS to one thread in this process; does nothing with another BLAS.

    The matrices here are small: a second BLAS thread gains nothing and spins against the pool's own threads.
    The usual environment variable only works before numpy is imported, which is long past.
    """
    folder = Path(np.__file__).parent.parent / "numpy.libs"
    for library in folder.glob("*openblas*"):
        try:
            handle = ctypes.CDLL(str(library))
        except OSError:
            continue
        for symbol in ("scipy_openblas_set_num_threads64_", "scipy_openblas_set_num_threads"):
            function = getattr(handle, symbol, None)
            if function is not None:
                function(ctypes.c_int(1))
                break


def unit_rows(matrix: FloatMatrix) -> FloatMatrix:
    """Rows scaled to L2 norm 1, computed in double precision.

    Raises:
        Unavailable: EMBEDDER_UNAVAILABLE when a row is zero or not finite: never a vector nobody made.
    """
    wide = matrix.astype(np.float64)
    norms = np.linalg.norm(wide, axis=1, keepdims=True)
    if not np.isfinite(norms).all() or (norms < 1e-12).any():
        raise unavailable("the model made a vector that is zero or not finite")
    result: FloatMatrix = (wide / norms).astype(np.float32)
    return result
