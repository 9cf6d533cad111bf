"""Finds the memories a Correct or Forget names."""

from __future__ import annotations

from memory_service.app.commands import SlotRef
from memory_service.domain.errors import Conflict, NotFound, Reason
from memory_service.domain.ids import MemoryId
from memory_service.domain.memory import MemoryHead
from memory_service.domain.slots import slot_of_assertion, slot_of_topic
from memory_service.domain.vocabulary import Vocabulary


def slot_key(slot: SlotRef, vocabulary: Vocabulary, field: str = "slot") -> str:
    """The stored key of a slot named by a caller (of shared memories).

    Raises:
        InvalidInput: UNKNOWN_PREDICATE when the vocabulary refuses the predicate.
    """
    if slot.topic:
        return slot_of_topic(slot.topic)
    return slot_of_assertion(slot.subject, vocabulary.resolve(slot.predicate, f"{field}.predicate").name)


def not_found(memory_id: MemoryId | None, field: str) -> NotFound:
    """The error for a memory this user does not have; the same whether it never was or is another's."""
    metadata = {"memory_id": str(memory_id)} if memory_id else {}
    return NotFound(Reason.MEMORY_NOT_FOUND, "there is no such memory", field=field, metadata=metadata)


def check_etag(head: MemoryHead, etag: str) -> None:
    """Refuse a change based on another version than the newest.

    Raises:
        Conflict: ETAG_MISMATCH; metadata `etag` is the present one.
    """
    if etag and etag != head.etag:
        raise Conflict(
            Reason.ETAG_MISMATCH,
            "the memory has changed since it was read",
            field="etag",
            metadata={"etag": head.etag},
        )
