"""Snapshots as bytes: what replicas hand one another through the shared cache (F9).

Layout: magic (4 bytes), format version (2, big endian), BLAKE2b-128 of the rest, header length (4), the
header as JSON, then the arrays one after another on 8-byte boundaries. No pickle: bytes from a shared cache
must never be able to run anything. Vectors travel as float16, which loses nothing (see `snapshot`). Only live
memories are packed, so nothing forgotten travels.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from memory_service.domain.ids import DeviceId, Revision
from memory_service.domain.memory import Kind, Source, Status, Tier
from memory_service.domain.retrieval.columns import Column, GrowTable, Interner
from memory_service.domain.retrieval.heads import HeadTable
from memory_service.domain.retrieval.lexical import LexicalIndex
from memory_service.domain.retrieval.probe import QuestionSum
from memory_service.domain.retrieval.rows import ROW_COLUMNS
from memory_service.domain.retrieval.slots import NameIndex
from memory_service.domain.retrieval.snapshot import OwnerSnapshot
from memory_service.domain.vector_clock import VectorClock

FORMAT_VERSION: Final = 7

_MAGIC: Final = b"MSNP"
_PREFIX: Final = struct.Struct(">4sH16sI")
_ALIGNMENT: Final = 8
# Codes in the columns are places in these enumerations, so a change of them is a change of the format.
_ENUMS: Final = {enum.__name__: [member.value for member in enum] for enum in (Kind, Source, Status, Tier)}


def pack(snapshot: OwnerSnapshot) -> bytes:
    """`snapshot` as bytes; dead rows are left out."""
    if snapshot.dead_count:
        snapshot = snapshot.compacted()
    blob, ends = snapshot.heads.packed(range(len(snapshot.live)))
    arrays: dict[str, Column] = {f"rows.{name}": snapshot.rows[name] for name in ROW_COLUMNS}
    arrays["vectors.row"] = snapshot.vectors["row"]
    arrays["vectors.vector"] = snapshot.vectors["vector"].astype(np.float16)
    arrays["questions"] = snapshot.questions.total
    tables = {"tags": snapshot.tags, "documents": snapshot.documents, "names": snapshot.names.terms}
    tables["pairs"] = snapshot.pairs
    for name, table in tables.items():
        arrays |= {f"{name}.{column}": table[column] for column in table.names}
    arrays |= {f"lexical.{name}": array for name, array in snapshot.lexical.arrays().items()}
    arrays |= {"name_sizes": snapshot.names.sizes, "head_ends": ends}
    arrays |= {"heads": np.frombuffer(blob, np.uint8), "live": snapshot.live}
    arrays["strings"] = _packed_strings(snapshot.strings)
    arrays["name_vocabulary"] = _packed_strings(snapshot.names.vocabulary)
    arrays["vocabulary"] = _packed_strings(snapshot.lexical.vocabulary)
    places, payload = _laid_out(arrays)
    header = json.dumps(
        {
            "revision": snapshot.revision,
            "clock": dict(snapshot.clock),
            "model_id": snapshot.model_id,
            "dimension": snapshot.dimension,
            "live_count": snapshot.lexical.live_count,
            "live_length": snapshot.lexical.live_length,
            "questions": snapshot.questions.count,
            "enums": _ENUMS,
            "arrays": places,
        }
    ).encode()
    header += b" " * (-(_PREFIX.size + len(header)) % _ALIGNMENT)
    body = b"".join((header, *payload))
    return b"".join((_PREFIX.pack(_MAGIC, FORMAT_VERSION, _digest(body), len(header)), body))


def _digest(body: bytes | memoryview) -> bytes:
    return hashlib.blake2b(body, digest_size=16).digest()


def _packed_strings(table: Interner) -> Column:
    return np.frombuffer(json.dumps(table.strings(), ensure_ascii=False).encode(), np.uint8)


def _laid_out(arrays: Mapping[str, Column]) -> tuple[dict[str, Any], list[bytes]]:
    """Where each array lies behind the header (dtype, shape, offset), and the bytes in order."""
    places: dict[str, Any] = {}
    parts: list[bytes] = []
    offset = 0
    for name, array in arrays.items():
        data = np.ascontiguousarray(array).tobytes()
        places[name] = [array.dtype.str, list(array.shape), offset]
        padding = -len(data) % _ALIGNMENT
        parts += [data, b"\0" * padding]
        offset += len(data) + padding
    return places, parts


def unpack(packed: bytes) -> OwnerSnapshot:
    """The snapshot that `pack` packed.

    Raises:
        ValueError: damaged, or packed by another version of the format.
    """
    if len(packed) < _PREFIX.size:
        raise ValueError("a packed snapshot is cut short")
    magic, version, digest, header_size = _PREFIX.unpack_from(packed)
    if magic != _MAGIC or version != FORMAT_VERSION:
        raise ValueError("not a packed snapshot of this format")
    body = memoryview(packed)[_PREFIX.size :]
    if _digest(body) != digest:
        raise ValueError("a packed snapshot is damaged")
    header = json.loads(bytes(body[:header_size]))
    if header["enums"] != _ENUMS:
        raise ValueError("a packed snapshot of another version")
    return _assembled(header, _Arrays(header["arrays"], body[header_size:]))


class _Arrays:
    """The arrays behind the header."""

    def __init__(self, places: Mapping[str, Any], body: memoryview) -> None:
        self._places, self._body = places, body

    def __getitem__(self, name: str) -> Column:
        dtype, shape, offset = self._places[name]
        count = int(np.prod(shape, dtype=np.int64))
        return np.frombuffer(self._body, np.dtype(dtype), count, offset).reshape(shape)

    def table(self, prefix: str) -> GrowTable:
        prefix += "."
        names = [name for name in self._places if name.startswith(prefix)]
        return GrowTable({name.removeprefix(prefix): self[name] for name in names})

    def strings(self, name: str) -> Interner:
        return Interner(json.loads(self[name].tobytes()))


def _assembled(header: Mapping[str, Any], arrays: _Arrays) -> OwnerSnapshot:
    vectors = {
        "row": arrays["vectors.row"],
        "vector": arrays["vectors.vector"].astype(np.float32),
    }
    counters = {DeviceId(device): int(counter) for device, counter in header["clock"].items()}
    lexical = LexicalIndex.restored(
        arrays.strings("vocabulary"),
        {name: arrays[f"lexical.{name}"] for name in LexicalIndex.ARRAYS},
        header["live_count"],
        header["live_length"],
    )
    rows = arrays.table("rows")
    return OwnerSnapshot(
        Revision(header["revision"]),
        VectorClock(counters),
        header["model_id"],
        header["dimension"],
        {
            "rows": rows,
            "vectors": GrowTable(vectors),
            "tags": arrays.table("tags"),
            "documents": arrays.table("documents"),
            "pairs": arrays.table("pairs"),
        },
        lexical,
        NameIndex(arrays.strings("name_vocabulary"), arrays.table("names"), arrays["name_sizes"]),
        arrays.strings("strings"),
        HeadTable([None] * len(rows), arrays["heads"].tobytes(), arrays["head_ends"]),
        arrays["live"],
        QuestionSum(arrays["questions"], header["questions"]),
    )


__all__ = ["FORMAT_VERSION", "pack", "unpack"]
