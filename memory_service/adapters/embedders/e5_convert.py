"""Turns the carrier's 4-bit file of multilingual-e5-small into an ONNX graph and a SentencePiece model.

The carrier's own engine is native code that overflows its heap on some texts, so its weights are read here
and run by onnxruntime. The 4-bit blocks are kept as they are (only re-packed), so nothing is lost: vectors
agree with the original's to a cosine of 0.9999. Takes about two seconds and needs `onnx`; the result is kept.

The file, little endian: 8 bytes of magic; seven int32 (hidden, layers, heads, feed-forward, vocabulary,
positions, token types); float32 epsilon and 4 bytes of padding; five int32 (pieces, bos, eos, pad, unk);
uint64 length of the piece text; uint32 offsets (pieces + 1); float32 scores; piece text; int32 entries and
uint32 bytes of the character folding table (each entry: uint32 code point, uint8 count, uint32s); int32
tensors (each: uint16 name length, name, uint8 type, uint32 count, uint64 offset from the file's start, uint64
bytes).
"""

from __future__ import annotations

import importlib
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memory_service.adapters.embedders.weights import unavailable

_BLOCK = 32
_BLOCK_TYPE = np.dtype([("scale", "<f2"), ("nibbles", "u1", _BLOCK // 2)])
_MICROSOFT = "com.microsoft"

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class E5File:
    """The carrier's file, parsed: `tensors` holds raw bytes by name, `folding` the text of a code point."""

    hidden: int
    layers: int
    heads: int
    feed_forward: int
    vocabulary: int
    epsilon: float
    pieces: list[str]
    scores: NDArray[np.float32]
    folding: dict[int, str]
    tensors: dict[str, bytes]

    def floats(self, name: str) -> NDArray[np.float32]:
        """A tensor stored as float32, flat."""
        return np.frombuffer(self.tensors[name], "<f4")


class _Cursor:
    """Reads a buffer from front to back."""

    def __init__(self, data: bytes, at: int) -> None:
        self.data = data
        self.at = at

    def take(self, layout: str) -> tuple[Any, ...]:
        values = struct.unpack_from("<" + layout, self.data, self.at)
        self.at += struct.calcsize("<" + layout)
        return values

    def array(self, dtype: str, count: int) -> Array:
        values = np.frombuffer(self.data, dtype, count, self.at)
        self.at += values.nbytes
        return values

    def blob(self, size: int) -> bytes:
        self.at += size
        return self.data[self.at - size : self.at]


def read_e5(path: Path) -> E5File:
    """Parse the carrier's file (verified before, so that the layout is known to hold)."""
    data = path.read_bytes()
    cursor = _Cursor(data, 8)
    hidden, layers, heads, feed_forward, vocabulary, _positions, _types = cursor.take("7i")
    epsilon, _padding = cursor.take("fi")
    count, *_special = cursor.take("5i")
    (text_bytes,) = cursor.take("Q")
    offsets = cursor.array("<u4", count + 1)
    scores = cursor.array("<f4", count)
    text = cursor.blob(text_bytes)
    pieces = [text[offsets[i] : offsets[i + 1]].decode() for i in range(count)]
    entries, table_bytes = cursor.take("iI")
    table = _Cursor(cursor.blob(table_bytes), 0)
    folding: dict[int, str] = {}
    for _ in range(entries):
        code, length = table.take("IB")
        folding[code] = "".join(map(chr, table.take(f"{length}I")))
    tensors: dict[str, bytes] = {}
    (tensor_count,) = cursor.take("i")
    for _ in range(tensor_count):
        (name_length,) = cursor.take("H")
        name = cursor.blob(name_length).decode()
        _type, _count, start, size = cursor.take("BIQQ")
        tensors[name] = data[start : start + size]
    return E5File(
        hidden, layers, heads, feed_forward, vocabulary, max(epsilon, 1e-12), pieces, scores, folding, tensors
    )


def write_tokenizer(file: E5File, path: Path) -> None:
    """Write the SentencePiece (unigram) model; text is folded before, so it normalises nothing itself."""
    try:
        schema: Any = importlib.import_module("sentencepiece.sentencepiece_model_pb2")
    except ImportError as error:
        raise unavailable("preparing the model needs sentencepiece and protobuf") from error
    model = schema.ModelProto()
    kind = schema.ModelProto.SentencePiece
    for number, (piece, score) in enumerate(zip(file.pieces, file.scores, strict=True)):
        entry = model.pieces.add()
        entry.piece, entry.score = piece, float(score)
        if number == 3:
            entry.type = kind.UNKNOWN
        else:
            entry.type = kind.CONTROL if number < 3 or piece == "<mask>" else kind.NORMAL
    trainer, normalizer = model.trainer_spec, model.normalizer_spec
    trainer.model_type = schema.TrainerSpec.UNIGRAM
    trainer.bos_id, trainer.pad_id, trainer.eos_id, trainer.unk_id = 0, 1, 2, 3
    normalizer.name = "identity"
    normalizer.add_dummy_prefix = normalizer.escape_whitespaces = True
    normalizer.remove_extra_whitespaces = False
    path.write_bytes(model.SerializeToString(deterministic=True))


def write_graph(file: E5File, path: Path) -> None:
    """Write the encoder: piece numbers and mask in, mean-pooled unit vectors out."""
    _Graph(file).write(path)


def _repack(raw: bytes, rows: int, columns: int) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
    """4-bit blocks of 32 (halves side by side) as onnxruntime wants them: neighbours in one byte, low first.

    Returns:
        bytes of shape (rows, columns / 32, 16) and scales of shape (rows, columns / 32); the zero point is 8.
    """
    blocks = np.frombuffer(raw, _BLOCK_TYPE)
    values = np.concatenate([blocks["nibbles"] & 15, blocks["nibbles"] >> 4], axis=1)
    packed = (values[:, 0::2] | (values[:, 1::2] << 4)).astype(np.uint8)
    per_row = columns // _BLOCK
    return packed.reshape(rows, per_row, _BLOCK // 2), blocks["scale"].astype(np.float32).reshape(rows, per_row)


class _Graph:
    """Builds the BERT-shaped encoder node by node."""

    def __init__(self, file: E5File) -> None:
        try:
            import onnx
            from onnx import helper, numpy_helper
        except ImportError as error:
            raise unavailable("preparing the model needs onnx (only once)") from error
        self._onnx, self._helper, self._numpy_helper = onnx, helper, numpy_helper
        self._file = file
        self._nodes: list[Any] = []
        self._constants: dict[str, Any] = {}

    def write(self, path: Path) -> None:
        """Build the graph and save it."""
        x = self._embed()
        mask = self._node("Cast", ["attention_mask"], to=self._onnx.TensorProto.INT32)
        for layer in range(self._file.layers):
            x = self._layer(f"l{layer}", x, mask)
        self._pool(x)
        whole = self._onnx.TensorProto.INT64
        make = self._helper.make_tensor_value_info
        graph = self._helper.make_graph(
            self._nodes,
            "multilingual-e5-small-q4",
            [make("input_ids", whole, ["B", "L"]), make("attention_mask", whole, ["B", "L"])],
            [make("embedding", self._onnx.TensorProto.FLOAT, ["B", self._file.hidden])],
            list(self._constants.values()),
        )
        opsets = [self._helper.make_opsetid("", 20), self._helper.make_opsetid(_MICROSOFT, 1)]
        self._onnx.save(self._helper.make_model(graph, opset_imports=opsets, ir_version=9), str(path))

    def _constant(self, name: str, value: Array) -> str:
        if name not in self._constants:
            self._constants[name] = self._numpy_helper.from_array(np.ascontiguousarray(value), name)
        return name

    def _integers(self, name: str, *values: int) -> str:
        return self._constant(name, np.array(values, np.int64))

    def _node(self, kind: str, inputs: list[str], *, domain: str = "", **attributes: Any) -> str:
        return self._split_node(kind, inputs, 1, domain=domain, **attributes)[0]

    def _split_node(self, kind: str, inputs: list[str], outputs: int, **attributes: Any) -> list[str]:
        label = f"{kind}_{len(self._nodes)}"
        names = [f"{label}_{i}" for i in range(outputs)]
        self._nodes.append(self._helper.make_node(kind, inputs, names, name=label, **attributes))
        return names

    def _embed(self) -> str:
        file = self._file
        packed, scales = _repack(file.tensors["emb.word"], file.vocabulary, file.hidden)
        table = self._constant("word.bytes", packed.reshape(file.vocabulary, -1))
        words = self._node(
            "GatherBlockQuantized",
            [table, "input_ids", self._constant("word.scales", scales)],
            domain=_MICROSOFT,
            block_size=_BLOCK,
            bits=4,
            gather_axis=0,
            quantize_axis=1,
        )
        places = file.floats("emb.pos").reshape(-1, file.hidden) + file.floats("emb.type")[: file.hidden]
        shape = self._node("Shape", ["input_ids"])
        length = self._node("Slice", [shape, self._integers("one", 1), self._integers("two", 2)])
        zero = self._integers("zero", 0)
        position = self._node("Slice", [self._constant("places", places), zero, length, zero])
        return self._norm("emb.ln", self._node("Add", [words, position]))

    def _norm(self, name: str, x: str) -> str:
        gain = self._constant(name + ".gain", self._file.floats(name + ".w"))
        shift = self._constant(name + ".shift", self._file.floats(name + ".b"))
        return self._node("LayerNormalization", [x, gain, shift], axis=-1, epsilon=float(self._file.epsilon))

    def _linear(self, x: str, names: list[str], rows: int, columns: int) -> str:
        """x @ W.T + b; several matrices of the same shape become one product."""
        parts = [_repack(self._file.tensors[f"{name}.w"], rows, columns) for name in names]
        weight = self._constant(names[0] + ".bytes", np.concatenate([part[0] for part in parts]))
        scales = self._constant(names[0] + ".scales", np.concatenate([part[1] for part in parts]))
        bias = np.concatenate([self._file.floats(f"{name}.b") for name in names])
        product = self._node(
            "MatMulNBits",
            [x, weight, scales],
            domain=_MICROSOFT,
            K=columns,
            N=rows * len(names),
            bits=4,
            block_size=_BLOCK,
            accuracy_level=4,
        )
        return self._node("Add", [product, self._constant(names[0] + ".bias", bias)])

    def _layer(self, name: str, x: str, mask: str) -> str:
        file, hidden, wide = self._file, self._file.hidden, self._file.feed_forward
        joined = self._linear(x, [f"{name}.{part}" for part in "qkv"], hidden, hidden)
        sizes = self._integers("thirds", hidden, hidden, hidden)
        query, key, value = self._split_node("Split", [joined, sizes], 3, axis=2)
        attended = self._node(
            "MultiHeadAttention", [query, key, value, "", mask], domain=_MICROSOFT, num_heads=file.heads
        )
        x = self._norm(f"{name}.aln", self._node("Add", [x, self._linear(attended, [f"{name}.ao"], hidden, hidden)]))
        inner = self._node("Gelu", [self._linear(x, [f"{name}.fi"], wide, hidden)])
        return self._norm(f"{name}.oln", self._node("Add", [x, self._linear(inner, [f"{name}.fo"], hidden, wide)]))

    def _pool(self, x: str) -> None:
        weights = self._node(
            "Unsqueeze",
            [
                self._node("Cast", ["attention_mask"], to=self._onnx.TensorProto.FLOAT),
                self._integers("two", 2),
            ],
        )
        axis = self._integers("one", 1)
        total = self._node("ReduceSum", [self._node("Mul", [x, weights]), axis], keepdims=0)
        mean = self._node("Div", [total, self._node("ReduceSum", [weights, axis], keepdims=0)])
        self._nodes.append(
            self._helper.make_node("LpNormalization", [mean], ["embedding"], name="unit", axis=-1, p=2)
        )
