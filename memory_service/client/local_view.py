"""What an offline device shows: its copy of the memories, with its own queued changes laid over it.

This is a preview. What the queued changes really do is decided by the service, which may know more.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from google.protobuf.json_format import MessageToDict

from memory_service.client import decode
from memory_service.client import types as t
from memory_service.client.device_file import Queued, request_of
from memory_service.v1 import memory_service_pb2 as api
from memory_service.v1 import sync_service_pb2 as sync
from memory_service.v1 import types_pb2 as pb

STANDING = (t.Status.ACTIVE, t.Status.CONTESTED)

_WORD = re.compile(r"[^\W_]+")
_HAN = re.compile(r"[\u3400-\u9fff\uf900-\ufaff]")


@dataclass(frozen=True, slots=True)
class PendingChange:
    """A change that waits to be sent.

    Attributes:
        operation: write, correct, forget, resolve or rollback.
        text: what it says, "" when it says nothing.
        memory_ids: the memories it names.
        made_at: by this device's clock.
    """

    dot: t.Dot
    operation: str
    text: str
    memory_ids: tuple[str, ...]
    context: t.Context
    made_at: datetime


@dataclass(frozen=True, slots=True)
class LocalMemory:
    """A memory as this device knows it.

    Attributes:
        memory: as the service last told it; None for a statement that was not sent yet.
        text: what it says, a queued correction included.
        pending: the queued change that made or changed it.
    """

    memory: t.Memory | None
    text: str
    pending: t.Dot | None = None


def described(queued: Queued) -> PendingChange:
    """A queued change for a person."""
    request = request_of(queued.message)
    said, ids = "", tuple[str, ...]()
    if isinstance(request, api.WriteRequest):
        said = said_by(request.memory)
    elif isinstance(request, api.CorrectRequest):
        said, ids = said_by(request.memory), (request.memory_id,) if request.memory_id else ()
    elif isinstance(request, api.ForgetRequest):
        said, ids = said_by(request.statement), tuple(request.memories.ids)
    elif isinstance(request, api.ResolveConflictRequest):
        said, ids = said_by(request.merge), tuple(request.memory_ids)
    elif isinstance(request, api.RollbackRequest):
        ids = (request.memory_id,)
    name = t.Dot(request.dot.device, request.dot.counter)
    operation = queued.message.WhichOneof("change") or ""
    return PendingChange(name, operation, said, ids, decode.context(request.context), queued.made_at)


def said_by(memory: pb.MemoryInput | pb.Memory) -> str:
    """What a statement says, as text."""
    if memory.text or not memory.HasField("assertion"):
        return memory.text
    said = memory.assertion
    value = json.dumps(decode.json_value(said.object), ensure_ascii=False)
    return f"{said.subject} {said.predicate} {value}"


def view(memories: Iterable[pb.Memory], queue: Sequence[Queued], statuses: Sequence[t.Status]) -> list[LocalMemory]:
    """The copy with the queue laid over it: newest first, what is queued before everything else."""
    known: dict[str, tuple[pb.Memory, LocalMemory]] = {}
    for message in memories:
        memory = decode.memory(message)
        if memory.status in statuses:
            known[memory.id] = (message, LocalMemory(memory, said_by(message)))
    written: list[tuple[pb.MemoryInput, LocalMemory]] = []
    for queued in queue:
        _lay_over(queued.message, known, written)
    old = sorted((one for _, one in known.values()), key=_newest, reverse=True)
    return [*(one for _, one in reversed(written)), *old]


def _newest(one: LocalMemory) -> tuple[bool, float]:
    recorded = one.memory.recorded_at if one.memory is not None else None
    return one.pending is not None, recorded.timestamp() if recorded is not None else 0.0


def _lay_over(
    change: sync.SyncChange,
    known: dict[str, tuple[pb.Memory, LocalMemory]],
    written: list[tuple[pb.MemoryInput, LocalMemory]],
) -> None:
    request = request_of(change)
    name = t.Dot(request.dot.device, request.dot.counter)
    if isinstance(request, api.WriteRequest):
        written.append((request.memory, LocalMemory(None, said_by(request.memory), name)))
    elif isinstance(request, api.CorrectRequest):
        _correct(request, name, known, written)
    elif isinstance(request, api.ResolveConflictRequest):
        for memory_id in request.memory_ids:
            if memory_id != request.keep:
                known.pop(memory_id, None)
        if request.HasField("merge"):
            written.append((request.merge, LocalMemory(None, said_by(request.merge), name)))
    elif isinstance(request, api.ForgetRequest):
        for memory_id in [one for one, (memory, _) in known.items() if _meant(request, memory)]:
            del known[memory_id]
        written[:] = [(memory, shown) for memory, shown in written if not _meant(request, memory)]


def _correct(
    request: api.CorrectRequest,
    name: t.Dot,
    known: dict[str, tuple[pb.Memory, LocalMemory]],
    written: list[tuple[pb.MemoryInput, LocalMemory]],
) -> None:
    said = said_by(request.memory)
    if request.WhichOneof("target") == "slot":
        for memory_id in [one for one, (memory, _) in known.items() if _in_slot(memory, request.slot)]:
            del known[memory_id]
        written[:] = [(memory, shown) for memory, shown in written if not _in_slot(memory, request.slot)]
        written.append((request.memory, LocalMemory(None, said, name)))
    elif request.memory_id in known:
        memory, shown = known[request.memory_id]
        known[request.memory_id] = (memory, replace(shown, text=said or shown.text, pending=name))


def _meant(request: api.ForgetRequest, memory: pb.Memory | pb.MemoryInput) -> bool:
    target = request.WhichOneof("target")
    if target == "memories":
        return isinstance(memory, pb.Memory) and memory.id in request.memories.ids
    if target == "slot":
        return _in_slot(memory, request.slot)
    if target == "statement":
        said = request.statement
        if said.HasField("assertion"):
            return memory.HasField("assertion") and MessageToDict(memory.assertion) == MessageToDict(said.assertion)
        return _plain(memory.text) == _plain(said.text)
    return False  # a filter is the service's to judge


def _in_slot(memory: pb.Memory | pb.MemoryInput, slot: pb.Slot) -> bool:
    if slot.topic:
        return memory.topic == slot.topic
    said = memory.assertion
    return memory.HasField("assertion") and (said.subject, said.predicate) == (slot.subject or "user", slot.predicate)


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())


def terms(text: str) -> set[str]:
    """Words; of Chinese, single characters and pairs."""
    found: set[str] = set()
    for word in _WORD.findall(text.casefold()):
        if _HAN.search(word):
            found.update(word)
            found.update(word[index : index + 2] for index in range(len(word) - 1))
        else:
            found.add(word)
    return found


def search(shown: Sequence[LocalMemory], text: str, limit: int) -> list[LocalMemory]:
    """Those that share words with the text, most of them first; in the given order when equal."""
    wanted = terms(text)
    if not wanted:
        return list(shown[:limit])
    ranked = []
    for place, one in enumerate(shown):
        words = one.text
        if one.memory is not None:
            words = " ".join((words, one.memory.topic, *one.memory.tags))
        shared = len(wanted & terms(words))
        if shared:
            ranked.append((-shared, place, one))
    return [one for _, _, one in sorted(ranked, key=lambda item: item[:2])[:limit]]
