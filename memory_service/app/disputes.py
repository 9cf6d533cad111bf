"""Who contradicts whom: the other sides of disputes outside single-valued slots (E5)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from memory_service.app.workspace import Workspace
from memory_service.domain.ids import MemoryId
from memory_service.domain.memory import STANDING_STATUSES, MemoryHead, Relation, Status
from memory_service.domain.records import Link

_LOOKUP_MAX = 500


async def opponents(workspace: Workspace, heads: Iterable[MemoryHead]) -> list[MemoryHead]:
    """The standing memories that contradict these contested ones."""
    ids = {head.id for head in heads if head.current.status is Status.CONTESTED}
    others = {i for pair in await _pairs(workspace, list(ids)) for i in (pair.from_id, pair.to_id)} - ids
    await _load(workspace, others)
    return [workspace.heads[i] for i in sorted(others, key=str) if _standing(workspace.heads.get(i))]


async def left_alone(workspace: Workspace, gone: Iterable[MemoryId]) -> list[MemoryHead]:
    """Memories that only these, which no longer stand, contradicted."""
    lost = set(gone)
    if not lost:
        return []
    partners = {i for pair in await _pairs(workspace, list(lost)) for i in (pair.from_id, pair.to_id)} - lost
    if not partners:
        return []
    await _load(workspace, partners)
    standing = {i for i in partners if _standing(workspace.heads.get(i))}
    still = set()
    for pair in await _pairs(workspace, list(standing)):
        for one, other in ((pair.from_id, pair.to_id), (pair.to_id, pair.from_id)):
            if one in standing and other not in lost:
                await _load(workspace, [other])
                if _standing(workspace.heads.get(other)):
                    still.add(one)
    return [workspace.heads[i] for i in sorted(standing - still, key=str)]


async def _load(workspace: Workspace, ids: Iterable[MemoryId]) -> None:
    missing = [i for i in ids if i not in workspace.heads]
    if missing:
        workspace.adopt(await workspace.change.heads(missing))


async def _pairs(workspace: Workspace, ids: Sequence[MemoryId]) -> list[Link]:
    """Who contradicts whom among these memories and theirs, as committed and as staged."""
    found = workspace.staged_links(ids, Relation.CONTRADICTS)
    for start in range(0, len(ids), _LOOKUP_MAX):
        found += await workspace.change.linked(ids[start : start + _LOOKUP_MAX], Relation.CONTRADICTS)
    return found


def _standing(head: MemoryHead | None) -> bool:
    return head is not None and head.current.status in STANDING_STATUSES
