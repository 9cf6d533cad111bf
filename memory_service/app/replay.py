"""Answers a retry with the first answer (B2)."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import cast

from memory_service.app.commands import Affected, ChangeMeta, ChangeResult, Effect
from memory_service.app.workspace import Workspace
from memory_service.domain.errors import Conflict, Reason
from memory_service.domain.ids import DeviceId, MemoryId, Revision
from memory_service.domain.memory import MemoryHead
from memory_service.domain.records import StoredOutcome
from memory_service.domain.vector_clock import Dot, VectorClock


async def stored_outcome(
    workspace: Workspace, operation: str, meta: ChangeMeta, payload_digest: bytes
) -> StoredOutcome | None:
    """The answer already given to this request, by its request id or its dot; None when it is new.

    Raises:
        Conflict: REQUEST_ID_REUSED or DEVICE_COUNTER_REUSED when the name was used for something else.
    """
    dot = Dot(DeviceId(meta.device), meta.counter) if meta.counter else None
    found = workspace.staged_outcome(meta.request_id, dot)
    change = workspace.change
    if found is None and meta.request_id and workspace.state.revision:
        found = await change.outcome_of_request(meta.request_id)
    if found is None and dot is not None and workspace.state.revision:
        found = await change.outcome_of_dot(dot)
    if found is None:
        return None
    same = found.operation == operation and found.payload_digest == payload_digest
    if same and (dot is None or found.dot == dot):
        return found
    if meta.request_id and found.request_id == meta.request_id:
        raise Conflict(Reason.REQUEST_ID_REUSED, "request_id was used for another request", field="request_id")
    raise Conflict(
        Reason.DEVICE_COUNTER_REUSED,
        "the device used this counter for another change",
        field="dot.counter",
        metadata={"expected": str(workspace.state.clock.counter(DeviceId(meta.device)) + 1)},
    )


async def replayed(workspace: Workspace, outcome: StoredOutcome) -> ChangeResult:
    """The first answer, rebuilt from the versions it named. Content forgotten since then stays forgotten."""
    data = outcome.outcome
    named = cast("Sequence[object] | None", data["memory"])
    memory = None
    if named is not None:
        memory = await _version(workspace, MemoryId(uuid.UUID(str(named[0]))), int(str(named[1])))
    touched: list[Affected] = []
    for item in cast("Sequence[Sequence[object]]", data["affected"]):
        memory_id, version, effect, reason = item
        key = MemoryId(uuid.UUID(str(memory_id)))
        head = await _version(workspace, key, int(str(version))) if version else None
        touched.append(Affected(key, Effect(str(effect)), head, str(reason)))
    return ChangeResult(
        memory=memory,
        effect=Effect(str(data["effect"])),
        affected=tuple(touched),
        revision=Revision(int(str(data["revision"]))),
        clock=clock_of(data),
        dot=outcome.dot,
        replayed=True,
    )


def clock_of(outcome: Mapping[str, object]) -> VectorClock:
    """The owner's clock that an answer was given with."""
    clock = cast("Mapping[str, int]", outcome["clock"])
    return VectorClock({DeviceId(device): int(counter) for device, counter in clock.items()})


async def _version(workspace: Workspace, memory_id: MemoryId, number: int) -> MemoryHead | None:
    staged = workspace.heads.get(memory_id)
    if staged is not None and staged.current.version == number:
        return staged
    versions = await workspace.change.versions(memory_id)
    for version in versions:
        if version.version == number:
            return MemoryHead(version, created_at=versions[0].recorded_at)
    return None
