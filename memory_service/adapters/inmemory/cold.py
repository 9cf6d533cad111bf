"""Which memories of one owner lie in which file of cold storage, and which are gone from them."""

from __future__ import annotations

from collections.abc import Collection

from memory_service.domain.ids import MemoryId
from memory_service.ports.memory_store import ColdFile


class ColdFiles:
    """The files of one owner. Nothing here awaits."""

    def __init__(self) -> None:
        self._gone: dict[str, dict[MemoryId, bool]] = {}

    def put(self, file: str, memory_id: MemoryId, *, gone: bool) -> None:
        """A file holds a memory, which may be gone already."""
        self._gone.setdefault(file, {})[memory_id] = gone

    def drop(self, file: str, memory_id: MemoryId) -> None:
        """A memory is gone from a file, which holds it still."""
        self._gone[file][memory_id] = True

    def move(self, old: str, new: str, without: Collection[MemoryId]) -> list[MemoryId]:
        """What a file holds, but for some, is in another one."""
        held = self._gone.get(old, {})
        moved = [memory_id for memory_id in held if memory_id not in without]
        for memory_id in moved:
            self._gone.setdefault(new, {})[memory_id] = held.pop(memory_id)
        self._tidy(old)
        return moved

    def remove(self, file: str) -> None:
        """Forget what is gone from a file."""
        held = self._gone.get(file, {})
        self._gone[file] = {memory_id: False for memory_id, gone in held.items() if not gone}
        self._tidy(file)

    def _tidy(self, file: str) -> None:
        if not self._gone.get(file):
            self._gone.pop(file, None)

    def all(self) -> list[ColdFile]:
        """By name."""
        return [
            ColdFile(
                name,
                sum(not gone for gone in held.values()),
                tuple(sorted(memory_id for memory_id, gone in held.items() if gone)),
            )
            for name, held in sorted(self._gone.items())
        ]
