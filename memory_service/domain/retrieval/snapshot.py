"""One owner's current memories, arranged for search: a matrix of vectors, columns, postings (F9, B6).

A snapshot never changes. `apply` gives a new one that shares its arrays with the old one and appends behind
them; memories that changed or left are masked out, and once a quarter of the rows is dead all is copied
compactly. Vectors are held as float32 (NumPy has no fast float16 product) with float16 values, which is what
the store keeps, so that a snapshot gives the same scores whether it was built, extended or unpacked.

A memory has one vector: the mean of its fragments', scaled to length 1. On long texts that finds as much as the
vector of the whole text, and four points more than the best fragment's (docs/evaluation.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from memory_service.domain.ids import MemoryId, Revision
from memory_service.domain.memory import MemoryHead
from memory_service.domain.records import Fragment, SearchRow, SearchRows
from memory_service.domain.retrieval.columns import (
    ABSENT,
    Column,
    Floats,
    GrowTable,
    Interner,
    Ints,
    Mask,
)
from memory_service.domain.retrieval.documents import documents_of
from memory_service.domain.retrieval.heads import HeadTable
from memory_service.domain.retrieval.lexical import LexicalIndex
from memory_service.domain.retrieval.other_names import OtherNames, empty_table, pair_columns
from memory_service.domain.retrieval.probe import QuestionSum, asks
from memory_service.domain.retrieval.rows import ROW_COLUMNS, STRING_COLUMNS, row_columns, row_ids
from memory_service.domain.retrieval.slots import NAME_FIELDS, NameIndex
from memory_service.domain.retrieval.times import microseconds
from memory_service.domain.vector_clock import VectorClock

_DEAD_MIN: Final = 32
_DEAD_SHARE: Final = 0.25
_ID_ENTRY_BYTES: Final = 200
_TURN_GAP_MICROSECONDS: Final = 30 * 60 * 1_000_000
_TINY_LENGTH: Final = 1e-3
_KEPT: Final = ("row_of", "dead_count", "document_starts", "session_neighbours", "other_names")


class OwnerSnapshot:
    """See the module. Rows are numbered in order of arrival; `live` tells which of them count.

    Attributes:
        revision, clock: the owner's at this snapshot.
        model_id, dimension: of the vectors; vectors of another model must not be compared with them.
        rows: the columns in `ROW_COLUMNS`.
        documents: what BM25 counts: columns `row` (ascending), `length` (in terms), `postings_end`.
        vectors: columns `row` (ascending) and `vector` (float32, shape (memories, dimension)), only of
            memories that have a vector of the model.
        questions: the vectors of live memories that ask something.
        tags: columns `row` and `tag`.
        pairs: of other names; columns `row`, `one` and `other` (see `other_names`).
        strings: the strings that the string columns and tags number.
        live: shape (rows,).
    """

    def __init__(
        self,
        revision: Revision,
        clock: VectorClock,
        model_id: str,
        dimension: int,
        tables: Mapping[str, GrowTable],
        lexical: LexicalIndex,
        names: NameIndex,
        strings: Interner,
        heads: HeadTable,
        live: Mask,
        questions: QuestionSum,
    ) -> None:
        self.revision, self.clock, self.model_id, self.dimension = revision, clock, model_id, dimension
        self.rows, self.vectors, self.tags = tables["rows"], tables["vectors"], tables["tags"]
        self.documents, self.pairs = tables["documents"], tables["pairs"]
        self.lexical, self.names, self.strings, self.heads, self.live = lexical, names, strings, heads, live
        self.live.flags.writeable = False
        self.questions = questions

    @classmethod
    def build(cls, rows: SearchRows, model_id: str, dimension: int) -> OwnerSnapshot:
        """The snapshot of these rows.

        Fragments of other models, and those that wait for their vector, are searched by their terms only.

        Raises:
            ValueError: a vector of this model has another dimension (a bug of whoever stored it).
        """
        return cls._empty(rows.revision, rows.clock, model_id, dimension)._appended(rows, ())

    @classmethod
    def _empty(cls, revision: Revision, clock: VectorClock, model_id: str, dimension: int) -> OwnerSnapshot:
        tables = {
            "rows": GrowTable({name: np.zeros(0, dtype) for name, dtype in ROW_COLUMNS.items()}),
            "vectors": GrowTable({"row": np.zeros(0, np.int32), "vector": np.zeros((0, dimension), np.float32)}),
            "tags": GrowTable({"row": np.zeros(0, np.int32), "tag": np.zeros(0, np.int32)}),
            "pairs": empty_table(),
            "documents": GrowTable(
                {
                    "row": np.zeros(0, np.int32),
                    "length": np.zeros(0, np.int32),
                    "postings_end": np.zeros(0, np.int64),
                }
            ),
        }
        return cls(
            revision,
            clock,
            model_id,
            dimension,
            tables,
            LexicalIndex.empty(),
            NameIndex.empty(),
            Interner(),
            HeadTable(()),
            np.zeros(0, np.bool_),
            QuestionSum.empty(dimension),
        )

    def apply(self, delta: SearchRows) -> OwnerSnapshot:
        """The snapshot after a delta: its rows added or put in place of older ones, its `removed` gone.

        Cheap: it copies masks and counters, not vectors or texts. A delta older than this snapshot is no
        news and gives this snapshot back.
        """
        if delta.revision < self.revision:
            return self
        leaving = {*delta.removed, *(row.head.id for row in delta.rows)}
        dead = [row for row in map(self.row_of.get, leaving) if row is not None]
        snapshot = self._appended(delta, sorted(dead))
        count = len(snapshot.live)
        if snapshot.dead_count > max(_DEAD_MIN, _DEAD_SHARE * count):
            return snapshot.compacted()
        return snapshot

    def _appended(self, delta: SearchRows, dead: Sequence[int]) -> OwnerSnapshot:
        first = len(self.rows)
        heads = [row.head for row in delta.rows]
        columns = row_columns(heads, self.strings)
        texts = [documents_of(row) for row in delta.rows]
        columns["documents_end"] = len(self.documents) + np.cumsum([len(some) for some in texts], dtype=np.int64)
        lexical, documents = self._with_documents(texts, first, dead)
        tagged = [(row, self.strings.add(tag)) for row, h in enumerate(heads, first) for tag in h.current.tags]
        tag_columns = np.asarray(tagged, np.int32).reshape(-1, 2)
        names = np.concatenate([*(columns[field] for field in NAME_FIELDS), tag_columns[:, 1]])
        live = np.ones(first + len(heads), np.bool_)
        live[:first] = self.live
        live[list(dead)] = False
        vectors = self._vector_columns(delta.rows, first)
        snapshot = OwnerSnapshot(
            delta.revision,
            delta.clock,
            self.model_id,
            self.dimension,
            {
                "rows": self.rows.extended(columns),
                "vectors": self.vectors.extended(vectors),
                "tags": self.tags.extended({"row": tag_columns[:, 0], "tag": tag_columns[:, 1]}),
                "documents": documents,
                "pairs": self.pairs.extended(pair_columns((h.current for h in heads), first, self.strings)),
            },
            lexical,
            self.names.extended(np.unique(names).tolist(), self.strings),
            self.strings,
            self.heads.extended(heads, dead),
            live,
            self.questions.changed(_asking(vectors, heads, first), self._asking_vectors(dead)),
        )
        row_of = dict(self.row_of)
        for id_ in delta.removed:
            row_of.pop(id_, None)
        row_of.update((head.id, row) for row, head in enumerate(heads, first))
        snapshot.row_of = row_of
        return snapshot

    def _with_documents(
        self, texts: Sequence[Sequence[Sequence[str]]], first: int, dead: Sequence[int]
    ) -> tuple[LexicalIndex, GrowTable]:
        """With each new memory's documents, those of the rows in `dead` gone."""
        owners = [number for number, some in enumerate(texts, first) for _ in some]
        documents = [terms for some in texts for terms in some]
        dying = [number for row in dead for number in self._documents_of(row)]
        ends = self.documents["postings_end"]
        lexical, new_ends = self.lexical.extended(
            len(self.documents),
            documents,
            [slice(int(ends[number - 1]) if number else 0, int(ends[number])) for number in dying],
            self.documents["length"][dying],
        )
        columns = {"row": np.asarray(owners), "length": np.asarray([len(terms) for terms in documents])}
        return lexical, self.documents.extended({**columns, "postings_end": new_ends})

    def _documents_of(self, row: int) -> range:
        ends = self.rows["documents_end"]
        return range(int(ends[row - 1]) if row else 0, int(ends[row]))

    def _vector_columns(self, rows: Sequence[SearchRow], first: int) -> dict[str, Column]:
        owners: list[int] = []
        vectors: list[NDArray[np.float16]] = []
        for number, row in enumerate(rows, first):
            found = [vector for f in row.fragments if (vector := self._vector_of(f)) is not None]
            if found:
                owners.append(number)
                vectors.append(_mean_vector(found))
        if not vectors:
            return {"row": np.zeros(0, np.int32), "vector": np.zeros((0, self.dimension), np.float32)}
        return {"row": np.asarray(owners, np.int32), "vector": np.stack(vectors).astype(np.float32)}

    def _asking_vectors(self, rows: Sequence[int]) -> NDArray[np.float32]:
        """The vectors of those of the live `rows` that ask something and have one."""
        owners = self.vectors["row"]
        asking = np.asarray([row for row in rows if asks(self.heads[row].current.text)], np.int64)
        places = np.searchsorted(owners, asking)
        has_one = np.searchsorted(owners, asking, side="right") > places
        found: NDArray[np.float32] = self.vectors["vector"][places[has_one]]
        return found

    def _vector_of(self, fragment: Fragment) -> NDArray[np.float16] | None:
        if fragment.vector is None or fragment.model_id != self.model_id:
            return None
        if fragment.vector.shape != (self.dimension,):
            raise ValueError(f"a vector of {self.model_id} has shape {fragment.vector.shape}")
        return fragment.vector.astype(np.float16)

    def with_usage(
        self, accesses: Mapping[MemoryId, tuple[int, datetime]], *, seen: OwnerSnapshot | None = None
    ) -> OwnerSnapshot:
        """This snapshot after these accesses (how many, when last), counted as the store counts them.

        Accesses do not raise the revision, so no delta brings them; unknown ids are passed over.

        Args:
            seen: a snapshot from before the accesses were stored. What this one read since may have them already:
                only memories that still are, and are used, as they were then get theirs.
        """
        known = [
            (self.row_of[id_], times, at)
            for id_, (times, at) in accesses.items()
            if id_ in self.row_of and (seen is None or self._untouched(id_, seen))
        ]
        if not known:
            return self
        counts, last = np.array(self.rows["access_count"]), np.array(self.rows["accessed_at"])
        heads: list[tuple[int, MemoryHead]] = []
        for row, times, at in known:
            counts[row] += times
            last[row] = max(int(last[row]), microseconds(at))
            head = self.heads[row]
            newest = max(filter(None, (head.usage.last_access_at, at)))
            usage = replace(head.usage, access_count=head.usage.access_count + times, last_access_at=newest)
            heads.append((row, replace(head, usage=usage)))
        rows = self.rows.replaced("access_count", counts).replaced("accessed_at", last)
        return self._with(rows=rows, heads=self.heads.replaced(heads))

    def _untouched(self, id_: MemoryId, since: OwnerSnapshot) -> bool:
        here, there = self.row_of[id_], since.row_of.get(id_)
        return there is not None and all(
            self.rows[name][here] == since.rows[name][there] for name in ("revision", "access_count")
        )

    def _with(self, *, rows: GrowTable, heads: HeadTable) -> OwnerSnapshot:
        tables = {"rows": rows, "vectors": self.vectors, "tags": self.tags, "documents": self.documents}
        tables["pairs"] = self.pairs
        changed = OwnerSnapshot(
            self.revision,
            self.clock,
            self.model_id,
            self.dimension,
            tables,
            self.lexical,
            self.names,
            self.strings,
            heads,
            self.live,
            self.questions,
        )
        # Whatever was computed of columns that stay as they are still holds.
        changed.__dict__.update({name: self.__dict__[name] for name in _KEPT if name in self.__dict__})
        return changed

    def compacted(self) -> OwnerSnapshot:
        """The same memories without dead rows, and without any string or term that only they used."""
        kept = np.flatnonzero(self.live)
        places = np.full(len(self.live), ABSENT, np.int64)
        places[kept] = np.arange(len(kept))
        lexical, documents = self._compacted_documents(places)
        columns = {name: self.rows[name][kept] for name in self.rows.names}
        columns["documents_end"] = np.cumsum(np.diff(self.rows["documents_end"], prepend=0)[kept])
        tags = self.tags.taken(self.live[self.tags["row"]])
        vectors = self.vectors.taken(self.live[self.vectors["row"]])
        pairs = self.pairs.taken(self.live[self.pairs["row"]])
        named = (tags["tag"], pairs["one"], pairs["other"])
        used = np.unique(np.concatenate([*named, *(columns[name] for name in STRING_COLUMNS)]))
        used = used[used != ABSENT]
        numbers = np.full(len(self.strings) + 1, ABSENT, np.int32)
        numbers[used] = np.arange(len(used))
        for name in STRING_COLUMNS:
            columns[name] = numbers[columns[name]]
        strings = Interner(self.strings.string(int(number)) for number in used)
        tags = tags.replaced("tag", numbers[tags["tag"]])
        for name in ("one", "other"):
            pairs = pairs.replaced(name, numbers[pairs[name]])
        names = np.unique(np.concatenate([tags["tag"], *(columns[name] for name in NAME_FIELDS)]))
        return OwnerSnapshot(
            self.revision,
            self.clock,
            self.model_id,
            self.dimension,
            {
                "rows": GrowTable(columns),
                "vectors": _renumbered(vectors, places),
                "tags": _renumbered(tags, places),
                "documents": documents,
                "pairs": _renumbered(pairs, places),
            },
            lexical,
            NameIndex.empty().extended(names.tolist(), strings),
            strings,
            self.heads.taken(kept.tolist()),
            np.ones(len(kept), np.bool_),
            self.questions,
        )

    def _compacted_documents(self, places: Ints) -> tuple[LexicalIndex, GrowTable]:
        live = self.live[self.documents["row"]]
        numbers = np.where(live, np.cumsum(live) - 1, ABSENT)
        sizes = np.diff(self.documents["postings_end"], prepend=0)[live]
        documents = self.documents.taken(live).replaced("postings_end", np.cumsum(sizes))
        return self.lexical.compacted(live, numbers), _renumbered(documents, places)

    def pack(self) -> bytes:
        """The snapshot as bytes for the shared cache; see `packing`."""
        from memory_service.domain.retrieval.packing import pack

        return pack(self)

    @classmethod
    def unpack(cls, packed: bytes) -> OwnerSnapshot:
        """The snapshot that was packed.

        Raises:
            ValueError: damaged, or packed by another version of the format.
        """
        from memory_service.domain.retrieval.packing import unpack

        return unpack(packed)

    def __len__(self) -> int:
        """Number of memories."""
        return len(self.live) - self.dead_count

    @cached_property
    def dead_count(self) -> int:
        """Rows that no longer count."""
        return int(len(self.live) - np.count_nonzero(self.live))

    @cached_property
    def row_of(self) -> Mapping[MemoryId, int]:
        """The live row of each memory."""
        ids = [MemoryId(id_) for id_ in row_ids(self.rows, np.flatnonzero(self.live))]
        return dict(zip(ids, np.flatnonzero(self.live).tolist(), strict=True))

    def head(self, row: int) -> MemoryHead:
        """The memory in a live row."""
        return self.heads[row]

    def memories(self) -> Iterable[MemoryHead]:
        """All memories, oldest row first."""
        return (self.heads[row] for row in np.flatnonzero(self.live).tolist())

    @cached_property
    def document_starts(self) -> tuple[Ints, Ints]:
        """Rows that have documents, ascending, and where each one's documents begin."""
        owners = self.documents["row"]
        starts = np.flatnonzero(np.diff(owners, prepend=-1))
        return owners[starts].astype(np.int64), starts

    def best_of_documents(self, scores: Floats) -> Floats:
        """The best document's score of each row, 0 for rows without documents; shape (rows,).

        Args:
            scores: shape (documents,).
        """
        rows, starts = self.document_starts
        if len(rows) == len(scores) == len(self.live):
            return scores
        best = np.zeros(len(self.live))
        if len(rows):
            best[rows] = np.maximum.reduceat(scores, starts)
        return best

    @cached_property
    def session_neighbours(self) -> tuple[Ints, Ints]:
        """The rows said just before and just after each row in its session, ABSENT for none; shape (rows,).

        Only turns of one conversation, at most half an hour apart, have neighbours: memories that their writer
        marked as such (`rows.is_turn`). Statements drawn from conversations stand for themselves.
        """
        before = np.full(len(self.live), ABSENT, np.int64)
        after = np.full(len(self.live), ABSENT, np.int64)
        rows = np.flatnonzero(self.live & self.rows["turn"])
        keys = ("id_low", "id_high", "revision", "created_at", "said_at", "session")
        rows = rows[np.lexsort([self.rows[key][rows] for key in keys])]
        sessions, times = self.rows["session"][rows], self.rows["said_at"][rows]
        joined = (sessions[1:] == sessions[:-1]) & (times[1:] - times[:-1] <= _TURN_GAP_MICROSECONDS)
        after[rows[:-1][joined]] = rows[1:][joined]
        before[rows[1:][joined]] = rows[:-1][joined]
        return before, after

    @cached_property
    def other_names(self) -> OtherNames:
        """What is called by several names (C8)."""
        return OtherNames(self.pairs, self.strings, self.live)

    @cached_property
    def nbytes(self) -> int:
        """About how many bytes this snapshot keeps alive, Python objects included (a little high).

        Heads that are still packed count as both bytes and objects, since recalls will make objects of them.
        """
        tables = (self.rows, self.vectors, self.tags, self.documents, self.pairs)
        arrays = sum(table.nbytes for table in tables) + self.live.nbytes
        objects = int(self.rows["head_bytes"][self.live].sum()) + self.heads.packed_nbytes
        index = self.lexical.nbytes + self.names.nbytes + self.strings.nbytes
        return arrays + objects + index + self.questions.total.nbytes + _ID_ENTRY_BYTES * len(self)


def _mean_vector(vectors: Sequence[NDArray[np.float16]]) -> NDArray[np.float16]:
    """The mean direction of a memory's fragments; the first one's when they cancel out."""
    if len(vectors) > 1:
        total = np.sum(np.stack(vectors).astype(np.float64), axis=0)
        length = float(np.sqrt(total @ total))
        if length > _TINY_LENGTH:
            mean: NDArray[np.float16] = (total / length).astype(np.float16)
            return mean
    return vectors[0]


def _asking(vectors: Mapping[str, Column], heads: Sequence[MemoryHead], first: int) -> NDArray[np.float32]:
    """Those of the new vectors whose memories ask something; `heads` are rows first, first + 1 …"""
    wanted = [place for place, row in enumerate(vectors["row"].tolist()) if asks(heads[row - first].current.text)]
    found: NDArray[np.float32] = vectors["vector"][wanted]
    return found


def _renumbered(table: GrowTable, places: Ints) -> GrowTable:
    return table.replaced("row", places[table["row"]].astype(np.int32))
