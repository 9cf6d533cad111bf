"""Collects which memories recalls returned, and writes the counts later and together (E1, E12)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Final

from memory_service.app.policies import STARTING_POLICIES, OwnerPolicies
from memory_service.domain.errors import MemoryServiceError
from memory_service.domain.ids import MemoryId, OwnerKey
from memory_service.ports.memory_store import MemoryStore
from memory_service.ports.telemetry import Telemetry

Accesses = Mapping[MemoryId, tuple[int, datetime]]

_ENTRIES_MAX: Final = 100_000


class AccessRecorder:
    """A bounded buffer of accesses by owner and memory, so that a recall never waits for a write.

    Accesses are counters of use, not history: they make no version and no revision. What a crash or a full
    buffer loses is counted where it can be, and costs a little freshness of the memories concerned.

    Args:
        policies: under which predicates re-use is counted (E1b).
        entries_max: most (owner, memory) pairs held; accesses beyond are dropped and counted.
        on_write: told the owner before each write; what it returns is told the accesses once they are written, so
            that this process's snapshots can follow.
    """

    def __init__(
        self,
        store: MemoryStore,
        telemetry: Telemetry,
        policies: OwnerPolicies = STARTING_POLICIES,
        *,
        entries_max: int = _ENTRIES_MAX,
        on_write: Callable[[OwnerKey], Callable[[Accesses], None]] | None = None,
    ) -> None:
        self._store, self._telemetry, self._policies = store, telemetry, policies
        self._entries_max, self._on_write = entries_max, on_write
        self._waiting: dict[OwnerKey, dict[MemoryId, tuple[int, datetime]]] = {}
        self._entries = 0
        self._flushing = asyncio.Lock()

    @property
    def waiting(self) -> int:
        """(owner, memory) pairs that are not yet written."""
        return self._entries

    def record(self, owner: OwnerKey, ids: Iterable[MemoryId], at: datetime) -> None:
        """Note one access of each memory. Never blocks, never raises."""
        for id_ in ids:
            self._add(owner, id_, 1, at)

    def _add(self, owner: OwnerKey, id_: MemoryId, times: int, at: datetime) -> None:
        waiting = self._waiting.get(owner)
        known = waiting.get(id_) if waiting is not None else None
        if known is None and self._entries >= self._entries_max:
            self._telemetry.count("access_dropped_total", times)
            return
        if waiting is None:
            waiting = self._waiting[owner] = {}
        if known is None:
            self._entries += 1
            waiting[id_] = (times, at)
        else:
            waiting[id_] = (known[0] + times, max(known[1], at))

    async def flush(self) -> int:
        """Write what waits, owner by owner; called by a background task and at shutdown.

        What could not be written is counted and kept for the next time, as far as there is room.

        Returns:
            How many owners' accesses could not be written.
        """
        async with self._flushing:
            taken, self._waiting, self._entries = self._waiting, {}, 0
            failed = 0
            try:
                while taken:
                    owner, accesses = next(iter(taken.items()))
                    failed += not await self._write(owner, accesses)
                    del taken[owner]
            finally:
                # Cancelled half way: what is left goes back. (The owner in flight may be counted twice.)
                for owner, accesses in taken.items():
                    self._put_back(owner, accesses)
            return failed

    async def settle(self, owner: OwnerKey) -> None:
        """Write what waits for one owner, so that what is written next of its use comes after it."""
        async with self._flushing:
            accesses = self._waiting.pop(owner, None)
            if accesses:
                self._entries -= len(accesses)
                await self._write(owner, accesses)

    async def _write(self, owner: OwnerKey, accesses: Accesses) -> bool:
        written = None if self._on_write is None else self._on_write(owner)
        try:
            await self._store.record_access(owner, accesses, self._policies.of(owner).vocabulary.predicates)
        except MemoryServiceError as error:
            self._telemetry.count("access_flush_failures_total", reason=error.reason.value)
            self._put_back(owner, accesses)
            return False
        if written is not None:
            written(accesses)
        return True

    def _put_back(self, owner: OwnerKey, accesses: Accesses) -> None:
        for id_, (times, at) in accesses.items():
            self._add(owner, id_, times, at)

    def forget(self, owner: OwnerKey) -> None:
        """Drop what waits for an owner whose memories are erased."""
        self._entries -= len(self._waiting.pop(owner, {}))
