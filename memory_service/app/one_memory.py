"""The frame of a decision about one memory: asked once, of the version its author had read, in one commit."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from memory_service.app.commands import ChangeMeta, ChangeResult
from memory_service.app.replay import replayed, stored_outcome
from memory_service.app.service import Changes, for_writer
from memory_service.app.targets import check_etag, not_found
from memory_service.app.validation import check_meta, check_name
from memory_service.app.workspace import Authorship, Workspace
from memory_service.domain import limits
from memory_service.domain.errors import Conflict, Reason
from memory_service.domain.ids import MemoryId, OwnerKey
from memory_service.domain.memory import MemoryHead
from memory_service.domain.slots import payload_digest


class OneMemory(Protocol):
    """A command about one memory. `etag`: the version its author had read, "" to be told by the context."""

    @property
    def memory_id(self) -> MemoryId:
        """Which."""
        ...

    @property
    def etag(self) -> str:
        """See the class."""
        ...

    @property
    def reason(self) -> str:
        """Why, in its author's words."""
        ...


Stage = Callable[[Workspace, MemoryHead, Authorship], Awaitable[ChangeResult]]
"""Stages a decision about a memory and says what came of it."""


async def change_one(
    changes: Changes,
    owner: OwnerKey,
    command: OneMemory,
    meta: ChangeMeta,
    *,
    operation: str,
    more: Sequence[object] = (),
    stage: Stage,
) -> ChangeResult:
    """Commit what `stage` stages, or answer as before when this was asked before.

    Args:
        more: what the command says beside memory, etag and reason, to tell retries from other requests.

    Raises:
        NotFound: MEMORY_NOT_FOUND.
        Conflict: ETAG_MISMATCH when the memory changed since the etag, or without one the context, was read.
    """
    check_meta(meta)
    check_name(command.reason, "reason", limit=limits.REASON_CHARS_MAX)
    check_name(command.etag, "etag")
    async with changes.store.change(owner) as change:
        workspace = Workspace.of(change, changes.ids, owner)
        payload = [str(command.memory_id), *more, command.etag, command.reason]
        digest = payload_digest(workspace.state.salt, operation, payload)
        known = await stored_outcome(workspace, operation, meta, digest)
        if known is not None:
            return for_writer(await replayed(workspace, known), meta)
        heads = await change.heads([command.memory_id])
        if not heads:
            raise not_found(command.memory_id, "memory_id")
        (head,) = heads
        check_etag(head, command.etag)
        by = await changes.author(workspace, meta)
        if not command.etag and not await workspace.state_seen(head, by):
            raise Conflict(
                Reason.ETAG_MISMATCH,
                "the memory has changed since the context was read",
                field="context",
                metadata={"etag": head.etag},
            )
        result = await stage(workspace, head, by)
        workspace.answer(operation, by, digest, result)
        await changes.apply(workspace, by)
    changes.committed(owner, result.revision)
    return for_writer(result, meta)
