"""The content of every change as a request: what is asked, without who asks and what they had seen."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from memory_service.client import encode
from memory_service.client import types as t
from memory_service.client.errors import InvalidArgument
from memory_service.v1 import memory_service_pb2 as api


def write(text: str | None, fields: t.MemoryFields) -> api.WriteRequest:
    """A statement."""
    return api.WriteRequest(memory=encode.memory_input(text, fields))


def correct(
    memory_id: str | None,
    text: str | None,
    slot: t.Slot | tuple[str, str] | None,
    fields: t.MemoryFields,
    *,
    nature: t.CorrectionNature | str | None,
    changed_at: datetime | None,
    reason: str,
    etag: str,
    update_mask: Sequence[str] | None,
) -> api.CorrectRequest:
    """A correction of one memory or of a slot."""
    if (memory_id is None) == (slot is None):
        raise InvalidArgument("give either a memory id or a slot", reason="FIELD_REQUIRED", field="memory_id")
    where = as_slot(slot)
    if where is not None and "object" in fields:
        fields = t.MemoryFields(**{"subject": where.subject, "predicate": where.predicate, **fields})
    return api.CorrectRequest(
        memory_id=None if memory_id is None else encode.text(memory_id, "memory_id"),
        slot=None if where is None else encode.slot(where),
        memory=encode.memory_input(text, fields),
        update_mask=encode.update_mask(text, fields, update_mask),
        etag=encode.text(etag, "etag"),
        nature=encode.nature(nature),
        changed_at=encode.timestamp(changed_at, "changed_at"),
        reason=encode.text(reason, "reason"),
    )


def forget(
    ids: str | Sequence[str] | None,
    slot: t.Slot | tuple[str, str] | None,
    where: t.MemoryFilter | None,
    statement: str | t.Assertion | t.NewMemory | None,
    *,
    reason: str,
) -> api.ForgetRequest:
    """A Forget by id, slot, filter or statement."""
    if sum(target is not None for target in (ids, slot, where, statement)) != 1:
        raise InvalidArgument(
            "give ids, a slot, a filter or a statement: one of them", reason="FIELD_REQUIRED", field="target"
        )
    named = None if ids is None else encode.texts([ids] if isinstance(ids, str) else ids, "memories.ids")
    chosen = as_slot(slot)
    return api.ForgetRequest(
        memories=None if named is None else api.MemoryIds(ids=named),
        slot=None if chosen is None else encode.slot(chosen),
        filter=encode.memory_filter(where),
        statement=None if statement is None else encode.statement(statement, "statement"),
        reason=encode.text(reason, "reason"),
    )


def resolve(
    ids: Sequence[str],
    keep: str | None,
    merge: str | t.Assertion | t.NewMemory | None,
    *,
    dismiss: bool,
    reason: str,
) -> api.ResolveConflictRequest:
    """A decision between memories that contradict each other."""
    if (keep is not None) + (merge is not None) + dismiss != 1:
        raise InvalidArgument(
            "give keep, merge or dismiss: one of the three", reason="FIELD_REQUIRED", field="decision"
        )
    return api.ResolveConflictRequest(
        memory_ids=encode.texts(ids, "memory_ids"),
        keep=None if keep is None else encode.text(keep, "keep"),
        merge=None if merge is None else encode.statement(merge, "merge"),
        dismiss=dismiss or None,
        reason=encode.text(reason, "reason"),
    )


def as_slot(slot: t.Slot | tuple[str, str] | None) -> t.Slot | None:
    """A slot, which may have been given as (subject, predicate)."""
    return t.Slot(*slot) if isinstance(slot, tuple) else slot
