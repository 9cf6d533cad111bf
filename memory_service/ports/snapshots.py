"""The ports of the hot recall path: owner snapshots (L1), the shared cache (L2) and news of changes (F9)."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from memory_service.domain.ids import OwnerKey, Revision

if TYPE_CHECKING:
    from memory_service.domain.retrieval.snapshot import OwnerSnapshot


NO_REVISION = Revision(0)


class Freshness(StrEnum):
    """How new a recall's data must be."""

    MINIMIZE_LATENCY = "minimize_latency"
    AT_LEAST_AS_FRESH = "at_least_as_fresh"
    FULLY_CONSISTENT = "fully_consistent"


@dataclass(frozen=True, slots=True)
class Requirement:
    """`revision` counts only with AT_LEAST_AS_FRESH."""

    freshness: Freshness = Freshness.MINIMIZE_LATENCY
    revision: Revision = NO_REVISION


class SnapshotSource(Protocol):
    """Gives searchable snapshots of owners.

    Contract: the snapshot's revision satisfies the requirement: at least the token's revision; at least the
    revision committed when the call began, for FULLY_CONSISTENT; for MINIMIZE_LATENCY at most the configured
    staleness behind. Callers treat a snapshot as immutable. Failures of a cache are never failures of the
    call; failures of the store are.
    """

    async def snapshot(self, owner: OwnerKey, requirement: Requirement) -> OwnerSnapshot:
        """A snapshot that satisfies `requirement`."""
        ...

    def committed(self, owner: OwnerKey, revision: Revision) -> None:
        """Told after each commit of this process, so that its own readers see it at once."""
        ...

    async def dropped(self, owner: OwnerKey) -> None:
        """Told after a Forget committed: no copy older than it may stay in any cache when this returns."""
        ...


class SharedCache(Protocol):
    """L2: what replicas share. Everything in it can be lost at any time.

    Contract: every method raises `Unavailable(REDIS_UNAVAILABLE)` when the cache is away; callers carry on
    without. Keys carry what the value depends on, so a stale value cannot be read; all keys of one owner
    share a hash tag and have a time to live.
    """

    async def get_snapshot(self, owner: OwnerKey, model_id: str) -> tuple[Revision, bytes] | None:
        """The packed snapshot and its revision."""
        ...

    async def put_snapshot(self, owner: OwnerKey, model_id: str, revision: Revision, packed: bytes) -> None:
        """Keep a packed snapshot unless a newer one is there."""
        ...

    async def drop_owner(self, owner: OwnerKey, revision: Revision) -> None:
        """Remove everything kept of this owner, and keep out snapshots older than `revision` from now on.

        The revision (that of the Forget) stays as a marker for a snapshot's time to live at least: a load
        that began before the Forget and ends after it cannot put the forgotten content back.
        """
        ...

    async def get_vector(self, model_id: str, text_digest: bytes) -> NDArray[np.float32] | None:
        """The vector of a query seen before; shape (dimension,)."""
        ...

    async def put_vector(self, model_id: str, text_digest: bytes, vector: NDArray[np.float32]) -> None:
        """Keep a query's vector."""
        ...

    async def publish(self, owner: OwnerKey, revision: Revision) -> None:
        """Tell other processes that `owner` is at `revision` now; NO_REVISION: drop every copy of it."""
        ...

    def changes(self) -> AsyncGenerator[Sequence[tuple[str, Revision]] | None, None]:
        """News as (owner id, revision) batches, in the order published.

        None: the subscription is lost, or a message; everything may have changed, and until the next batch
        nothing is being heard. A batch, an empty one too: the subscription is live, and everything published
        before the batch was sent has been given. An empty batch comes once subscribed and at every heartbeat.
        Never ends by itself and never raises for a lost connection; it reconnects. The reader closes it.
        """
        ...

    async def ping(self) -> None:
        """Raise `Unavailable` unless the cache answers."""
        ...
