"""Sessions as the bytes that Redis keeps: compact JSON. Times are microseconds since 1970."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from memory_service.domain.session.model import (
    FieldChange,
    KeptTurn,
    SessionFacts,
    SessionId,
    StateBlock,
    StateField,
    ToolStatus,
    Turn,
    TurnRole,
    TurnTag,
)

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
VERSION_DIGITS = 16
SEQUENCE_DIGITS = 10
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False).encode


def micros(value: datetime | None) -> int | None:
    """Microseconds since 1970; None for None."""
    return None if value is None else (value - _EPOCH) // _MICROSECOND


def millis(value: datetime) -> int:
    """Milliseconds since 1970, which Lua's numbers hold exactly."""
    return (value - _EPOCH) // timedelta(milliseconds=1)


def time_of(value: int | None) -> datetime | None:
    """The time of microseconds since 1970; None for None."""
    return None if value is None else _EPOCH + timedelta(microseconds=value)


def _instant(value: int) -> datetime:
    return _EPOCH + timedelta(microseconds=value)


def instant_of_millis(value: bytes | int) -> datetime:
    """The time of milliseconds since 1970."""
    return _EPOCH + timedelta(milliseconds=int(value))


def facts_bytes(facts: SessionFacts) -> bytes:
    """The facts of a session."""
    return _encode(
        [facts.id, micros(facts.started_at), facts.agent, facts.record_episodes, facts.request_id]
    ).encode()


def facts_of(data: bytes) -> SessionFacts:
    """The facts of `facts_bytes`."""
    id_, started, agent, recorded, request = json.loads(data)
    return SessionFacts(
        id=SessionId(id_), started_at=_instant(started), agent=agent, record_episodes=recorded, request_id=request
    )


def turn_bytes(kept: KeptTurn) -> bytes:
    """A turn, without its number, which its place in the list tells."""
    turn = kept.turn
    return _encode(
        [
            turn.id,
            turn.role,
            turn.text,
            micros(turn.said_at),
            turn.action,
            turn.tool,
            turn.tool_status or "",
            turn.feedback,
            micros(kept.accepted_at),
            kept.tags,
            kept.tokens,
            int(kept.answers),
        ]
    ).encode()


_ROLES = {role.value: role for role in TurnRole}
_TAGS = {tag.value: tag for tag in TurnTag}


def _turn(record: list[Any], sequence: int) -> KeptTurn:
    """The turn of `turn_bytes`, read as JSON."""
    id_, role, text, said, action, tool, status, feedback, accepted, tags, tokens, answers = record
    turn = Turn(
        id=id_,
        role=_ROLES[role],
        text=text,
        said_at=time_of(said),
        action=action,
        tool=tool,
        tool_status=ToolStatus(status) if status else None,
        feedback=feedback,
    )
    return KeptTurn(turn, _instant(accepted), tuple(_TAGS[t] for t in tags), tokens, bool(answers), sequence)


def joined_turns(data: bytes, turn_count: int) -> tuple[KeptTurn, ...]:
    """The newest turns of a session that had `turn_count` in all, oldest first, from their JSON joined by commas."""
    records = json.loads(b"[%b]" % data)
    first = turn_count - len(records) + 1
    return tuple(_turn(record, first + place) for place, record in enumerate(records))


def turns_of(data: Sequence[bytes], turn_count: int) -> tuple[KeptTurn, ...]:
    """The same from each one's JSON."""
    return joined_turns(b",".join(data), turn_count)


def block_bytes(block: StateBlock) -> bytes:
    """A block after its sequence in digits of one width."""
    return f"{block.sequence:0{SEQUENCE_DIGITS}d}{block_body(block)}".encode()


def block_body(block: StateBlock) -> str:
    """A block without its sequence."""
    return _encode(
        [
            block.topic,
            block.intent,
            block.entities,
            block.decisions,
            block.pending,
            micros(block.updated_at),
            block.turn_ids,
            block.forgot_at,
            block.withdrawn,
        ]
    )


def block_of(data: bytes | None) -> StateBlock | None:
    """The block of `block_bytes`; None for None."""
    if data is None:
        return None
    topic, intent, entities, decisions, pending, updated, turn_ids, *rest = json.loads(data[SEQUENCE_DIGITS:])
    return StateBlock(
        sequence=int(data[:SEQUENCE_DIGITS]),
        topic=topic,
        intent=intent,
        entities=tuple(entities),
        decisions=tuple(decisions),
        pending=tuple(pending),
        updated_at=time_of(updated),
        turn_ids=tuple(turn_ids),
        # A block of an earlier release has neither.
        forgot_at=rest[0] if rest else 0,
        withdrawn=tuple(rest[1]) if len(rest) > 1 else (),
    )


def field_bytes(change: FieldChange, device: str) -> bytes:
    """A field's value and who set it; empty for one to be removed."""
    if change.removed:
        return b""
    return _encode([change.value, device, change.answered_by]).encode()


def field_of(path: bytes, data: bytes) -> StateField:
    """The field of `field_bytes` after the digits of its version."""
    value, device, answered_by = json.loads(data[VERSION_DIGITS:])
    return StateField(path.decode(), value, int(data[:VERSION_DIGITS]), device, answered_by)


def fields_of(flat: Sequence[bytes]) -> dict[str, StateField]:
    """Fields by path, in order of path, from the names and values of the hash in turn."""
    pairs: list[tuple[Any, Any]] = sorted(zip(flat[::2], flat[1::2], strict=True))
    found = (field_of(path, data) for path, data in pairs if path != b"_b")
    return {item.path: item for item in found}
