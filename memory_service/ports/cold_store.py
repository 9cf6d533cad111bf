"""The port to cold storage: files of memories that have been idle for long (P9).

Contract, for every backend (held by the suite in `tests/contracts/`):

* **A file is whole or absent.** `put` returns once the file survives kill -9 and, where the backend can, a loss
  of power; one that was not finished is not there. A file never changes; it is replaced under another name.
* **One owner.** A file is found only with the owner it was put for. No path or name tells a tenant or a user.
* **Values** come back as they were put, heads without their evidence, vectors in half precision (float16).
* **What is in a file need not be true.** It may have been forgotten since: the memory store decides.
* **Errors.** `Unavailable(COLD_STORAGE_UNAVAILABLE)` when the backend is away, out of room or holds something
  unreadable; `ColdFileGone` for a file that is not there. Never blocks the event loop.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from memory_service.domain.ids import MemoryId, OwnerKey
from memory_service.domain.records import Fragment, SearchRow


class ColdFileGone(Exception):
    """There is no such file (any more)."""


@dataclass(frozen=True, slots=True)
class ColdQuery:
    """What is looked for.

    Attributes:
        terms: lexical terms of the question.
        vector: its unit vector of shape (dimension,), None to compare words alone.
        model_id: the model of the vector.
        limit: most memories by each of the two measures.
    """

    terms: Sequence[str]
    vector: NDArray[np.float32] | None
    model_id: str
    limit: int


@dataclass(frozen=True, slots=True)
class ColdHit:
    """A memory that may answer, with the fragments of its present text.

    Attributes:
        cosine: greatest cosine of its fragments, -1..1; None when there was nothing to compare.
        words: sum of the inverse document frequencies of the terms it shares, from 0.
    """

    memory_id: MemoryId
    fragments: Sequence[Fragment]
    cosine: float | None
    words: float


class ColdStore(Protocol):
    """Files of all owners; see the module's contract."""

    async def put(self, owner: OwnerKey, name: str, rows: Sequence[SearchRow]) -> int:
        """Keep these memories, with all their fragments, as one file; its size in bytes."""
        ...

    async def names(self, owner: OwnerKey) -> Sequence[str]:
        """The names of an owner's files, in order."""
        ...

    async def size(self, owner: OwnerKey, name: str) -> int:
        """A file's size in bytes."""
        ...

    async def read(self, owner: OwnerKey, name: str, ids: Collection[MemoryId] | None = None) -> Sequence[SearchRow]:
        """The memories of a file (those with these ids), as they were put, in their order."""
        ...

    async def search(self, owner: OwnerKey, name: str, query: ColdQuery) -> Sequence[ColdHit]:
        """The best `query.limit` memories of a file by meaning, and the best by words, each once."""
        ...

    async def remove(self, owner: OwnerKey, name: str) -> None:
        """Remove a file; nothing happens when it is not there."""
        ...
