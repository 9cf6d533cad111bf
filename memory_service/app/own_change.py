"""A change that the service makes by itself: committed, journalled and announced like anybody's (see `upkeep`)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from memory_service.app.commands import ChangeMeta
from memory_service.app.service import Changes
from memory_service.app.workspace import Authorship, Workspace
from memory_service.domain.ids import OwnerKey

ACTOR = "~service"
"""Who did it, in journals and logs of changes; no credential has this id."""
BATCH_MAX = 200
"""Memories changed in one commit: other writers of the owner wait for no longer."""


async def own_change(
    changes: Changes,
    owner: OwnerKey,
    operation: str,
    stage: Callable[[Workspace, Authorship], Awaitable[int]],
) -> int:
    """Commit what `stage` stages while the owner is locked; nothing, and no revision, when it answers 0.

    `stage` reads what it changes in the workspace's change, and so never acts on what another worker has changed.
    """
    async with changes.store.change(owner) as change:
        if not change.state.revision:
            return 0
        workspace = Workspace.of(change, changes.ids, owner)
        by = await changes.author(workspace, ChangeMeta(actor=ACTOR))
        workspace.advance(by, operation)
        count = await stage(workspace, by)
        if not count:
            return 0
        await changes.apply(workspace, by)
    changes.committed(owner, workspace.state.revision)
    return count
