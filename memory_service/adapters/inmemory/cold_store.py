"""`ColdStore` in this process's memory: for tests and simulations."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np

from memory_service.adapters.inmemory.values import half_precision
from memory_service.domain.ids import MemoryId, OwnerKey
from memory_service.domain.memory import NO_EVIDENCE
from memory_service.domain.records import Fragment, SearchRow
from memory_service.domain.retrieval.cold import best_cosines, chosen, word_scores
from memory_service.ports.cold_store import ColdFileGone, ColdHit, ColdQuery


class InMemoryColdStore:
    """See `ColdStore`. Lost with the process."""

    def __init__(self) -> None:
        self._files: dict[tuple[OwnerKey, str], tuple[SearchRow, ...]] = {}

    async def put(self, owner: OwnerKey, name: str, rows: Sequence[SearchRow]) -> int:
        """Keep these memories as one file; the bytes of their texts."""
        self._files[owner, name] = tuple(_kept(row) for row in rows)
        return await self.size(owner, name)

    async def names(self, owner: OwnerKey) -> Sequence[str]:
        """The names of an owner's files, in order."""
        return sorted(name for of, name in self._files if of == owner)

    async def size(self, owner: OwnerKey, name: str) -> int:
        """The bytes of a file's texts."""
        return sum(len(f.text.encode()) for row in self._rows(owner, name) for f in row.fragments)

    async def read(self, owner: OwnerKey, name: str, ids: Collection[MemoryId] | None = None) -> Sequence[SearchRow]:
        """The memories of a file (those with these ids), as they were put, in their order."""
        return [row for row in self._rows(owner, name) if ids is None or row.head.id in ids]

    async def search(self, owner: OwnerKey, name: str, query: ColdQuery) -> Sequence[ColdHit]:
        """The best memories of a file by meaning, and the best by words, each once."""
        rows = [replace(row, fragments=_present(row)) for row in self._rows(owner, name)]
        rows = [row for row in rows if row.fragments]
        terms = {term: number for number, term in enumerate(dict.fromkeys(query.terms))}
        has = [(n, terms[t]) for n, row in enumerate(rows) for f in row.fragments for t in f.terms if t in terms]
        pairs = np.asarray(has, np.int64).reshape(-1, 2)
        words = word_scores(pairs[:, 0], pairs[:, 1], len(rows), len(terms))
        near = [
            (number, f.vector)
            for number, row in enumerate(rows)
            for f in row.fragments
            if query.vector is not None and f.vector is not None and f.model_id == query.model_id
        ]
        owners = np.asarray([number for number, _ in near], np.int64)
        vectors = np.stack([vector for _, vector in near]) if near else np.zeros((0, 1), np.float32)
        asked = query.vector if query.vector is not None else np.zeros(1, np.float32)
        cosines = best_cosines(owners, vectors, asked, len(rows))
        return [
            ColdHit(
                rows[place].head.id,
                rows[place].fragments,
                float(cosines[place]) if np.isfinite(cosines[place]) else None,
                float(words[place]),
            )
            for place in chosen(cosines, words, query.limit)
        ]

    async def remove(self, owner: OwnerKey, name: str) -> None:
        """Remove a file; nothing happens when it is not there."""
        self._files.pop((owner, name), None)

    def _rows(self, owner: OwnerKey, name: str) -> Sequence[SearchRow]:
        if (owner, name) not in self._files:
            raise ColdFileGone
        return self._files[owner, name]


def _kept(row: SearchRow) -> SearchRow:
    head = replace(row.head, current=replace(row.head.current, evidence=NO_EVIDENCE))
    pieces = [f if f.vector is None else replace(f, vector=half_precision(f.vector)) for f in row.fragments]
    return SearchRow(head, tuple(pieces))


def _present(row: SearchRow) -> tuple[Fragment, ...]:
    return tuple(f for f in row.fragments if f.content_version == row.head.current.content_version)
