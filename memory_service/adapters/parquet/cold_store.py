"""`ColdStore` in Parquet files: one for each owner and batch, in a folder named by the owner's digest."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from typing import TypeVar

from memory_service.adapters.parquet.codec import packed, searched, unpacked
from memory_service.adapters.parquet.files import Files
from memory_service.domain.errors import Reason, Unavailable
from memory_service.domain.ids import MemoryId, OwnerKey
from memory_service.domain.records import SearchRow
from memory_service.ports.cold_store import ColdFileGone, ColdHit, ColdQuery

_SUFFIX = ".parquet"
_T = TypeVar("_T")


class ParquetColdStore:
    """See `ColdStore`."""

    def __init__(self, files: Files) -> None:
        self._files = files

    async def put(self, owner: OwnerKey, name: str, rows: Sequence[SearchRow]) -> int:
        """Keep these memories as one file; its size in bytes."""

        def write() -> int:
            data = packed(rows)
            self._files.write(_path(owner, name), data)
            return int(data.size)

        return await _in_thread(write)

    async def names(self, owner: OwnerKey) -> Sequence[str]:
        """The names of an owner's files, in order."""
        found = await _in_thread(lambda: self._files.names(_folder(owner)))
        return [name.removesuffix(_SUFFIX) for name in found if name.endswith(_SUFFIX)]

    async def size(self, owner: OwnerKey, name: str) -> int:
        """A file's size in bytes."""
        return await _in_thread(lambda: self._files.size(_path(owner, name)))

    async def read(self, owner: OwnerKey, name: str, ids: Collection[MemoryId] | None = None) -> Sequence[SearchRow]:
        """The memories of a file (those with these ids), as they were put, in their order."""
        wanted = None if ids is None else frozenset(ids)
        return await _in_thread(lambda: unpacked(self._files.read(_path(owner, name)), wanted))

    async def search(self, owner: OwnerKey, name: str, query: ColdQuery) -> Sequence[ColdHit]:
        """The best memories of a file by meaning, and the best by words, each once."""
        return await _in_thread(lambda: searched(self._files.read(_path(owner, name)), query))

    async def remove(self, owner: OwnerKey, name: str) -> None:
        """Remove a file; nothing happens when it is not there."""
        await _in_thread(lambda: self._files.remove(_path(owner, name)))


def _folder(owner: OwnerKey) -> str:
    digest = owner.id.hex
    return f"{digest[:2]}/{digest}"


def _path(owner: OwnerKey, name: str) -> str:
    return f"{_folder(owner)}/{name}{_SUFFIX}"


async def _in_thread(work: Callable[[], _T]) -> _T:
    """Run in a thread, with every failure as one that the port knows; what it says names no path."""
    try:
        return await asyncio.to_thread(work)
    except FileNotFoundError as error:
        raise ColdFileGone from error
    except (OSError, ValueError) as error:
        raise Unavailable(Reason.COLD_STORAGE_UNAVAILABLE, "cold storage does not answer, or not sensibly") from error
