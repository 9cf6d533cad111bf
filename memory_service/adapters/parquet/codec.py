"""Memories as a table: one row for each fragment, the head on the first of each memory."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from memory_service.domain.ids import MemoryId
from memory_service.domain.memory import NO_EVIDENCE
from memory_service.domain.records import Fragment, SearchRow
from memory_service.domain.retrieval.cold import best_cosines, chosen, word_scores
from memory_service.domain.retrieval.heads import decode_head, encode_head
from memory_service.ports.cold_store import ColdHit, ColdQuery

FORMAT = b"memory-service cold 1"
SCHEMA = pa.schema(
    [
        ("memory_id", pa.binary(16)),
        ("head", pa.binary()),  # null but on the first row of a memory
        ("content_version", pa.int32()),  # null for a memory without fragments
        ("ordinal", pa.int32()),
        ("present", pa.bool_()),  # a piece of the memory's newest text
        ("text", pa.string()),
        ("terms", pa.list_(pa.string())),
        ("model_id", pa.string()),
        ("vector", pa.binary()),  # float16, little endian
    ],
    metadata={b"format": FORMAT},
)
_COLUMN_PATHS = [name if name != "terms" else "terms.list.element" for name in SCHEMA.names]
_SEARCHED = ("memory_id", "content_version", "ordinal", "present", "text", "terms", "model_id", "vector")
_HALF = np.dtype("<f2")


def packed(rows: Sequence[SearchRow]) -> pa.Buffer:
    """A Parquet file of these memories."""
    columns: dict[str, list[object]] = {name: [] for name in SCHEMA.names}
    for row in rows:
        version = row.head.current
        head: bytes | None = encode_head(replace(row.head, current=replace(version, evidence=NO_EVIDENCE)))
        for piece in row.fragments or (None,):
            present = piece is not None and piece.content_version == version.content_version
            vector = None if piece is None or piece.vector is None else piece.vector.astype(_HALF).tobytes()
            values: tuple[object, ...] = (
                *(version.id.bytes, head),
                *((None, None) if piece is None else (piece.content_version, piece.ordinal)),
                present,
                *(("", [], "") if piece is None else (piece.text, list(piece.terms), piece.model_id)),
                vector,
            )
            for name, value in zip(SCHEMA.names, values, strict=True):
                columns[name].append(value)
            head = None
    out = pa.BufferOutputStream()
    # Statistics would repeat the least and greatest text in the clear of the footer.
    # Vectors do not compress, and unpacking them would be half of a search.
    pq.write_table(
        pa.table(columns, schema=SCHEMA),
        out,
        compression={name: "none" if name == "vector" else "zstd" for name in _COLUMN_PATHS},
        use_dictionary=["model_id"],
        write_statistics=False,
    )
    return out.getvalue()


def unpacked(data: pa.Buffer, ids: frozenset[MemoryId] | None) -> list[SearchRow]:
    """The memories of a file, those with these ids, in their order.

    Raises:
        ValueError: the file is not one of ours.
    """
    table = _table(data, None)
    if ids is not None:
        wanted = pa.array([i.bytes for i in ids], pa.binary(16))
        table = table.filter(pc.is_in(table["memory_id"], value_set=wanted))
    found: list[SearchRow] = []
    for _, group in groupby(table.to_pylist(), key=lambda row: row["memory_id"]):
        rows = list(group)
        pieces = tuple(_fragment(row) for row in rows if row["content_version"] is not None)
        found.append(SearchRow(decode_head(rows[0]["head"]), pieces))
    return found


def searched(data: pa.Buffer, query: ColdQuery) -> list[ColdHit]:
    """See `ColdStore.search`."""
    table = _table(data, list(_SEARCHED))
    if not pc.all(table["present"]).as_py():
        table = table.filter(table["present"])
    table = table.combine_chunks()
    if not len(table):
        return []
    encoded = table["memory_id"].combine_chunks().dictionary_encode()
    owners = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    memories = len(encoded.dictionary)
    words = _words(table, owners, memories, query)
    cosines = _cosines(table, owners, memories, query)
    places = chosen(cosines, words, query.limit)
    rows = table.filter(pa.array(np.isin(owners, places))).to_pylist()
    pieces: dict[bytes, list[Fragment]] = {}
    for row in rows:
        pieces.setdefault(row["memory_id"], []).append(_fragment(row))
    return [
        _hit(encoded.dictionary[place].as_py(), pieces, float(cosines[place]), float(words[place]))
        for place in places
    ]


def _hit(key: bytes, pieces: dict[bytes, list[Fragment]], cosine: float, words: float) -> ColdHit:
    return ColdHit(MemoryId(uuid.UUID(bytes=key)), pieces[key], cosine if np.isfinite(cosine) else None, words)


def _table(data: pa.Buffer, columns: list[str] | None) -> pa.Table:
    try:
        source = pq.ParquetFile(pa.BufferReader(data))
        if (source.schema_arrow.metadata or {}).get(b"format") != FORMAT:
            raise ValueError("not a file of cold storage in a format that is known")
        return source.read(columns)
    except pa.ArrowException as error:
        raise ValueError("a file of cold storage is damaged") from error


def _words(table: pa.Table, owners: NDArray[np.int64], memories: int, query: ColdQuery) -> NDArray[np.float64]:
    terms = list(dict.fromkeys(query.terms))
    if not terms:
        return np.zeros(memories)
    lists = table["terms"].combine_chunks()
    numbers = pc.index_in(lists.flatten(), value_set=pa.array(terms, pa.string()))
    hit = numbers.is_valid().to_numpy(zero_copy_only=False)
    parents = pc.list_parent_indices(lists).to_numpy(zero_copy_only=False)[hit]
    which = numbers.drop_null().to_numpy(zero_copy_only=False).astype(np.int64)
    return word_scores(owners[parents], which, memories, len(terms))


def _cosines(table: pa.Table, owners: NDArray[np.int64], memories: int, query: ColdQuery) -> NDArray[np.float64]:
    if query.vector is None:
        return best_cosines(owners[:0], np.zeros((0, 1), np.float32), np.zeros(1, np.float32), memories)
    mask = pc.and_(pc.equal(table["model_id"], query.model_id), pc.is_valid(table["vector"]))
    places = np.flatnonzero(mask.to_numpy())
    vectors = table["vector"].filter(mask).combine_chunks()
    width = len(query.vector) * _HALF.itemsize
    data = b"".join(_buffers(vectors))
    if len(data) != width * len(places):
        raise ValueError("vectors of one model differ in length")
    matrix = np.frombuffer(data, _HALF).reshape(len(places), len(query.vector)).astype(np.float32)
    return best_cosines(owners[places], matrix, query.vector, memories)


def _buffers(values: pa.BinaryArray) -> Iterator[bytes | memoryview]:
    """The bytes of an array without nulls, in order, without making an object of each value."""
    if not len(values):
        return
    _, offsets, data = values.buffers()
    ends = np.frombuffer(offsets, np.int32)[values.offset : values.offset + len(values) + 1]
    yield memoryview(data)[int(ends[0]) : int(ends[-1])]


def _fragment(row: dict[str, object]) -> Fragment:
    vector = row["vector"]
    key, terms = row["memory_id"], row["terms"]
    assert isinstance(key, bytes)
    assert isinstance(terms, list)
    return Fragment(
        memory_id=MemoryId(uuid.UUID(bytes=key)),
        content_version=int(str(row["content_version"])),
        ordinal=int(str(row["ordinal"])),
        text=str(row["text"]),
        terms=tuple(terms),
        model_id=str(row["model_id"]),
        vector=np.frombuffer(vector, _HALF).astype(np.float32) if isinstance(vector, bytes) else None,
    )
