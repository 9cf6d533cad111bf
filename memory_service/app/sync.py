"""Sync: what a device needs to come together with the service after working offline (B11, F7)."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from memory_service.app.admission import visible_to
from memory_service.app.commands import ChangeMeta, ChangeResult, Effect
from memory_service.app.service import Changes
from memory_service.app.validation import check_context, check_name
from memory_service.app.workspace import Workspace
from memory_service.domain.errors import (
    AlreadyExists,
    Conflict,
    FailedPrecondition,
    InvalidInput,
    LimitExceeded,
    MemoryServiceError,
    NotFound,
    PermissionDenied,
    Reason,
)
from memory_service.domain.ids import DeviceId, MemoryId, OwnerKey, Revision
from memory_service.domain.memory import MemoryHead
from memory_service.domain.slots import payload_digest
from memory_service.domain.vector_clock import Dot, VectorClock

VOID = "void"
_LAST_ID = MemoryId(uuid.UUID(int=2**128 - 1))
_FINAL = (AlreadyExists, FailedPrecondition, InvalidInput, LimitExceeded, NotFound, PermissionDenied, Conflict)
_NOT_FINAL = frozenset(
    {
        Reason.DEVICE_COUNTER_GAP,
        Reason.DEVICE_COUNTER_REUSED,
        Reason.CONTEXT_FROM_FUTURE,
        Reason.SCHEMA_UNKNOWN,
        Reason.STORAGE_FULL,
        Reason.RATE_LIMITED,
    }
)
Position = tuple[Revision, MemoryId]


def is_final(error: MemoryServiceError) -> bool:
    """Whether sending the change again can never help, so that its counter is used up."""
    return isinstance(error, _FINAL) and error.reason not in _NOT_FINAL


@dataclass(frozen=True, slots=True)
class Opened:
    """Where the service stands for a device.

    Attributes:
        counter: the device's highest accepted change.
        start: where the first page begins; None is from the start.
    """

    counter: int
    clock: VectorClock
    start: Position | None


@dataclass(frozen=True, slots=True)
class SyncPage:
    """Part of what a device lacks; `clock` is what it has once it stored a last page."""

    heads: Sequence[MemoryHead]
    forgotten: Sequence[MemoryId]
    end: Position | None
    done: bool
    clock: VectorClock


@dataclass(frozen=True, slots=True)
class Sync:
    """The steps of a sync; the stream that strings them together is in the transport."""

    changes: Changes

    async def open(
        self, owner: OwnerKey, device: str, position: Position | None, clock: VectorClock | None
    ) -> Opened:
        """Begin: what the service has of the device, and where its reading starts."""
        check_name(device, "open.device", required=True)
        check_context(clock, "open.clock")
        store = self.changes.store
        state = await store.state(owner)
        counter = state.clock.counter(DeviceId(device))
        if counter == 0 and state.revision:
            counter = await self._retired_counter(owner, device)
        if position is None and clock is not None and len(clock):
            first = await store.first_unseen(owner, clock)
            position = (Revision(first - 1), _LAST_ID)
        return Opened(counter, state.clock, position)

    async def _retired_counter(self, owner: OwnerKey, device: str) -> int:
        async with self.changes.store.change(owner) as change:
            known = (await change.devices([DeviceId(device)])).get(DeviceId(device))
            return known.counter if known else 0

    async def page(self, owner: OwnerKey, after: Position | None, limit: int, agent: str) -> SyncPage:
        """The next page of memories that changed, in an order that a change moves to the end.

        Other agents' private memories are left out (C14).
        """
        # Read first: what the page holds is then at least as new as the clock it may end with.
        state = await self.changes.store.state(owner)
        changed = await self.changes.store.changed(owner, after, limit=limit)
        end = (changed[-1].revision, changed[-1].memory_id) if changed else after
        return SyncPage(
            heads=[item.head for item in changed if item.head is not None and visible_to(item.head, agent)],
            forgotten=[item.memory_id for item in changed if item.head is None],
            end=end,
            done=len(changed) < limit,
            clock=state.clock,
        )

    async def void(
        self, owner: OwnerKey, meta: ChangeMeta, payload: bytes, error: MemoryServiceError
    ) -> MemoryServiceError:
        """Use up the counter of a change that was refused for good, durably; the error it was refused with.

        Raises what numbering a change raises: a gap, a reused counter or a context from the future.
        """
        async with self.changes.store.change(owner) as change:
            workspace = Workspace.of(change, self.changes.ids, owner)
            digest = payload_digest(workspace.state.salt, VOID, payload.hex())
            by = await self.changes.author(workspace, meta)
            workspace.advance(by, VOID)
            state = workspace.state
            empty = ChangeResult(None, Effect.SUPPRESSED, (), state.revision, state.clock, by.dot)
            told = {"error": type(error).__name__, "reason": error.reason.value, "message": error.message}
            extra = {**told, "field": error.field, "metadata": error.metadata}
            workspace.answer(VOID, by, digest, empty, extra=extra)
            await self.changes.apply(workspace, by)
        self.changes.committed(owner, state.revision)
        return error

    async def voided(self, owner: OwnerKey, dot: Dot, payload: bytes) -> MemoryServiceError | None:
        """The error a change was refused with before, when it is the same change."""
        async with self.changes.store.change(owner) as change:
            outcome = await change.outcome_of_dot(dot)
            if outcome is None or outcome.operation != VOID:
                return None
            if outcome.payload_digest != payload_digest(change.state.salt, VOID, payload.hex()):
                return None
        told = outcome.outcome
        kinds = {kind.__name__: kind for kind in _FINAL}
        metadata = cast("Mapping[str, str]", told["metadata"])
        return kinds[str(told["error"])](
            Reason(str(told["reason"])), str(told["message"]), field=str(told["field"]), metadata=metadata
        )
