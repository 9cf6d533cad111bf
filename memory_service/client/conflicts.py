"""What a device is shown when its change meets another's: both values, who, when, and which clock (F7)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from memory_service.client.values import Context, Dot, JsonValue, Memory, Slot
from memory_service.client.words import Effect, Status

CONFLICTING = frozenset({Effect.CONTESTED, Effect.YIELDED, Effect.SUPERSEDED})
"""Effects on other memories that their writers will want to hear of."""


@dataclass(frozen=True, slots=True)
class Side:
    """One value in a conflict.

    Attributes:
        value: the structured value, or the text of a statement without one.
        device, agent, actor: who said it; `actor` is the id of a key.
        said_at, created_at: when it was said, as its writer tells, and when the service first accepted the memory.
        dot: the change that said it. context: what its writer had seen then.
    """

    memory_id: str
    value: JsonValue
    text: str
    status: Status
    device: str
    agent: str
    actor: str
    said_at: datetime | None
    created_at: datetime | None
    dot: Dot | None
    context: Context

    @classmethod
    def of(cls, memory: Memory) -> Side:
        """The value that a memory holds."""
        return cls(
            memory_id=memory.id,
            value=memory.text if memory.assertion is None else memory.assertion.object,
            text=memory.text,
            status=memory.status,
            device=memory.provenance.device or (memory.dot.device if memory.dot else ""),
            agent=memory.provenance.agent,
            actor=memory.provenance.actor,
            said_at=memory.said_at,
            created_at=memory.created_at,
            dot=memory.dot,
            context=memory.context,
        )


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two values that met. `effect` is what became of `memory_id`; a side is None when it is not known."""

    effect: Effect
    memory_id: str
    mine: Side | None
    other: Side | None
    reason: str


@dataclass(frozen=True, slots=True)
class ContestedSlot:
    """Everything that is said of a slot about which memories disagree."""

    slot: Slot
    sides: tuple[Side, ...]


def contested_slots(memories: Iterable[Memory]) -> tuple[ContestedSlot, ...]:
    """The contested memories among these, by slot, in the order in which their slots come first."""
    groups: dict[Slot, list[Side]] = {}
    for memory in memories:
        if memory.status is Status.CONTESTED:
            groups.setdefault(slot_of(memory), []).append(Side.of(memory))
    return tuple(ContestedSlot(slot, tuple(sides)) for slot, sides in groups.items())


def slot_of(memory: Memory) -> Slot:
    """What a memory is about."""
    if memory.assertion is not None:
        return Slot(memory.assertion.subject, memory.assertion.predicate)
    return Slot(topic=memory.topic)
