"""Accesses are coalesced, bounded, and kept when they cannot be written."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from typing import cast

import pytest

from memory_service.app.access_recorder import AccessRecorder
from memory_service.domain.errors import Reason, Unavailable
from memory_service.domain.ids import MemoryId, OwnerKey, TenantId, UserId
from memory_service.ports.memory_store import MemoryStore
from tests.retrieval.builders import NOW, memory_id
from tests.retrieval.doubles import CountingTelemetry

A, B = (OwnerKey(TenantId("t"), UserId(user)) for user in "ab")
LATER = NOW + timedelta(minutes=1)


class Store:
    """Only `record_access`; fails for the owners in `away`."""

    def __init__(self) -> None:
        self.written: list[tuple[OwnerKey, dict[MemoryId, tuple[int, datetime]]]] = []
        self.away: set[OwnerKey] = set()
        self.gate: asyncio.Event | None = None

    async def record_access(
        self, owner: OwnerKey, accesses: Mapping[MemoryId, tuple[int, datetime]], predicates: Collection[str] = ()
    ) -> None:
        if self.gate is not None:
            await self.gate.wait()
        if owner in self.away:
            raise Unavailable(Reason.DATABASE_UNAVAILABLE, "away")
        self.written.append((owner, dict(accesses)))


def recorder(store: Store, entries_max: int = 100) -> tuple[AccessRecorder, CountingTelemetry]:
    telemetry = CountingTelemetry()
    return AccessRecorder(cast(MemoryStore, store), telemetry, entries_max=entries_max), telemetry


async def test_coalesces() -> None:
    store = Store()
    accesses, _ = recorder(store)
    accesses.record(A, [memory_id(1), memory_id(2)], LATER)
    accesses.record(A, [memory_id(1)], NOW)
    accesses.record(B, [memory_id(1)], NOW)
    assert accesses.waiting == 3
    assert await accesses.flush() == 0
    assert store.written == [
        (A, {memory_id(1): (2, LATER), memory_id(2): (1, LATER)}),
        (B, {memory_id(1): (1, NOW)}),
    ]
    assert accesses.waiting == 0
    await accesses.flush()
    assert len(store.written) == 2


async def test_failure_is_counted_and_kept() -> None:
    store = Store()
    store.away = {A}
    accesses, telemetry = recorder(store)
    accesses.record(A, [memory_id(1)], NOW)
    accesses.record(B, [memory_id(1)], NOW)
    assert await accesses.flush() == 1
    assert telemetry.counts["access_flush_failures_total"] == 1
    assert [owner for owner, _ in store.written] == [B]
    accesses.record(A, [memory_id(1)], LATER)
    store.away = set()
    assert await accesses.flush() == 0
    assert store.written[-1] == (A, {memory_id(1): (2, LATER)})


async def test_bounded() -> None:
    store = Store()
    accesses, telemetry = recorder(store, entries_max=2)
    accesses.record(A, [memory_id(n) for n in range(5)], NOW)
    accesses.record(A, [memory_id(0)], NOW)
    assert accesses.waiting == 2
    assert telemetry.counts["access_dropped_total"] == 3
    await accesses.flush()
    assert store.written == [(A, {memory_id(0): (2, NOW), memory_id(1): (1, NOW)})]


async def test_a_cancelled_flush_loses_nothing() -> None:
    store = Store()
    store.gate = asyncio.Event()
    accesses, _ = recorder(store)
    accesses.record(A, [memory_id(1)], NOW)
    accesses.record(B, [memory_id(1)], NOW)
    flushing = asyncio.create_task(accesses.flush())
    await asyncio.sleep(0)
    accesses.record(A, [memory_id(2)], NOW)
    flushing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await flushing
    assert accesses.waiting == 3
    store.gate.set()
    await accesses.flush()
    assert dict(store.written)[A] == {memory_id(1): (1, NOW), memory_id(2): (1, NOW)}


async def test_erased_owners_accesses_are_dropped() -> None:
    store = Store()
    accesses, _ = recorder(store)
    accesses.record(A, [memory_id(1)], NOW)
    accesses.record(B, [memory_id(1)], NOW)
    accesses.forget(A)
    await accesses.flush()
    assert [owner for owner, _ in store.written] == [B]
