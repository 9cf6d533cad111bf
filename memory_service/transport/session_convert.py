"""Between SessionService's messages and the values of sessions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memory_service.app.validation import check_list
from memory_service.domain import limits
from memory_service.domain.errors import InvalidInput, Reason
from memory_service.domain.memory import JsonValue
from memory_service.domain.session.failures import kind_of
from memory_service.domain.session.model import (
    CONSTRAINTS,
    INTENTS,
    SLOTS,
    TASKS,
    FieldChange,
    KeptTurn,
    SessionStatus,
    SessionView,
    StateBlock,
    StateField,
    TaskStatus,
    ToolStatus,
    Turn,
    TurnRole,
    TurnTag,
)
from memory_service.domain.vocabulary import Vocabulary
from memory_service.ports.sessions import SessionLine
from memory_service.transport.values import enum_in, inverse, json_in, json_out, time_in, time_out
from memory_service.v1 import session_service_pb2 as pb

_ROLES = {pb.TurnRole.Value(f"TURN_ROLE_{r.name}"): r for r in TurnRole}
_TOOL_STATUSES = {pb.ToolStatus.Value(f"TOOL_STATUS_{s.name}"): s for s in ToolStatus}
_TASK_STATUSES = {pb.TaskStatus.Value(f"TASK_STATUS_{s.name}"): s for s in TaskStatus}
_ROLES_OUT: Mapping[TurnRole, Any] = inverse(_ROLES)
_TOOL_STATUSES_OUT: Mapping[ToolStatus, Any] = inverse(_TOOL_STATUSES)
_TASK_STATUSES_OUT: Mapping[str, Any] = {s.value: number for number, s in _TASK_STATUSES.items()}
_TAGS_OUT: Mapping[TurnTag, Any] = {t: pb.TurnTag.Value(f"TURN_TAG_{t.name}") for t in TurnTag}
_STATUSES_OUT: Mapping[SessionStatus, Any] = {
    s: pb.SessionStatus.Value(f"SESSION_STATUS_{s.name}") for s in SessionStatus
}


def turn_in(message: pb.Turn, field: str) -> Turn:
    """A turn as its writer tells it.

    Raises:
        InvalidInput: FIELD_REQUIRED without a role.
    """
    role = enum_in(_ROLES, message.role, f"{field}.role")
    if role is None:
        raise InvalidInput(Reason.FIELD_REQUIRED, f"{field}.role must be given", field=f"{field}.role")
    return Turn(
        id=message.id,
        role=role,
        text=message.text,
        said_at=time_in(message.said_at, f"{field}.said_at") if message.HasField("said_at") else None,
        action=message.action,
        tool=message.tool,
        tool_status=enum_in(_TOOL_STATUSES, message.tool_status, f"{field}.tool_status"),
        feedback=message.feedback,
    )


def turn_out(kept: KeptTurn) -> pb.Turn:
    """Protobuf of a turn as kept. What most turns do not have is set only where it is there."""
    turn = kept.turn
    message = pb.Turn(
        id=turn.id,
        role=_ROLES_OUT[turn.role],
        text=turn.text,
        sequence=kept.sequence,
        accepted_at=time_out(kept.accepted_at),
        tokens=kept.tokens,
    )
    if kept.tags:
        message.tags.extend(tags_out(kept.tags))
    if turn.said_at is not None:
        message.said_at.CopyFrom(time_out(turn.said_at))  # type: ignore[arg-type]
    if turn.tool or turn.action or turn.feedback:
        message.tool, message.action, message.feedback = turn.tool, turn.action, turn.feedback
    if turn.tool_status is not None:
        message.tool_status = _TOOL_STATUSES_OUT[turn.tool_status]
    return message


def tags_out(tags: tuple[TurnTag, ...]) -> list[Any]:
    """Protobuf of tags."""
    return [_TAGS_OUT[tag] for tag in tags]


def changes_in(
    state: pb.SessionState, paths: list[str] | None, vocabulary: Vocabulary, field: str = "state"
) -> list[FieldChange]:
    """The changes that a state and a mask ask for; all that the state has when `paths` is None.

    Raises:
        InvalidInput: FIELD_TOO_LONG for too many fields, FIELD_INVALID for one given twice, UNKNOWN_PREDICATE for a
            constraint about a predicate that the vocabulary refuses.
    """
    given: dict[str, FieldChange] = {}
    count = len(state.slots) + len(state.constraints) + len(state.tasks)
    check_list(range(count), field, limits.FIELDS_AT_ONCE_MAX)
    check_list(paths or (), "update_mask", limits.FIELDS_AT_ONCE_MAX)
    changes = [FieldChange(SLOTS + s.name, json_in(s.value), s.answered_by) for s in state.slots]
    changes += [FieldChange(CONSTRAINTS + c.id, _constraint(c, vocabulary)) for c in state.constraints]
    changes += [FieldChange(TASKS + t.id, _task(t, f"{field}.tasks")) for t in state.tasks]
    if state.intents:
        changes.append(FieldChange(INTENTS, [{"name": i.name, "detail": i.detail} for i in state.intents]))
    for change in changes:
        if change.path in given:
            named = kind_of(change.path)
            raise InvalidInput(Reason.FIELD_INVALID, f"{named} names one field twice", field=named)
        given[change.path] = change
    if paths is None:
        return list(given.values())
    return [given.get(path, FieldChange(path, None, removed=True)) for path in paths]


def _constraint(message: pb.SessionConstraint, vocabulary: Vocabulary) -> JsonValue:
    has_object = message.HasField("object")
    if not message.text and not has_object:
        field = "state.constraints.text"
        raise InvalidInput(Reason.FIELD_REQUIRED, f"{field} or an object must be given", field=field)
    if message.predicate:
        vocabulary.resolve(message.predicate, "state.constraints.predicate")
    found: dict[str, JsonValue] = {"text": message.text, "predicate": message.predicate}
    return {**found, "object": json_in(message.object)} if has_object else found


def _task(message: pb.SessionTask, field: str) -> JsonValue:
    status = enum_in(_TASK_STATUSES, message.status, f"{field}.status") or TaskStatus.PENDING
    return {"text": message.text, "status": status.value}


def state_out(fields: Mapping[str, StateField]) -> pb.SessionState:
    """Protobuf of a session's fields."""
    state = pb.SessionState()
    for path, item in fields.items():
        value: Any = item.value
        if path == INTENTS:
            state.intents.extend(pb.Intent(name=i["name"], detail=i["detail"]) for i in value)
        elif path.startswith(SLOTS):
            state.slots.append(
                pb.SessionSlot(
                    name=path[len(SLOTS) :],
                    value=json_out(value),
                    answered_by=item.answered_by,
                    version=item.version,
                )
            )
        elif path.startswith(CONSTRAINTS):
            state.constraints.append(
                pb.SessionConstraint(
                    id=path[len(CONSTRAINTS) :],
                    text=value["text"],
                    predicate=value["predicate"],
                    object=json_out(value["object"]) if "object" in value else None,
                    version=item.version,
                )
            )
        else:
            status = _TASK_STATUSES_OUT[value["status"]]
            task = pb.SessionTask(id=path[len(TASKS) :], text=value["text"], status=status, version=item.version)
            state.tasks.append(task)
    return state


def block_out(block: StateBlock | None) -> pb.StateBlock | None:
    """Protobuf of a state block; None for None."""
    if block is None:
        return None
    return pb.StateBlock(
        sequence=block.sequence,
        topic=block.topic,
        intent=block.intent,
        entities=block.entities,
        decisions=block.decisions,
        pending=block.pending,
        updated_at=time_out(block.updated_at),
        turn_ids=block.turn_ids,
    )


def session_out(view: SessionView) -> pb.Session:
    """Protobuf of a session."""
    return pb.Session(
        id=view.facts.id,
        status=_STATUSES_OUT[view.status],
        agent=view.facts.agent,
        started_at=time_out(view.facts.started_at),
        last_active_at=time_out(view.last_active_at),
        etag=view.etag,
        version=view.version,
        record_episodes=view.facts.record_episodes,
        turn_count=view.turn_count,
        state=state_out(view.fields),
        block=block_out(view.block),
        turns=[turn_out(kept) for kept in view.turns],
    )


def line_out(line: SessionLine) -> pb.SessionSummary:
    """Protobuf of a session in a list."""
    return pb.SessionSummary(
        id=line.facts.id,
        status=_STATUSES_OUT[line.status],
        agent=line.facts.agent,
        started_at=time_out(line.facts.started_at),
        last_active_at=time_out(line.last_active_at),
        turn_count=line.turn_count,
        topic=line.topic,
    )


def overwritten_out(item: StateField) -> pb.OverwrittenField:
    """Protobuf of what an update overwrote without having seen it."""
    return pb.OverwrittenField(path=item.path, value=json_out(item.value), device=item.device, version=item.version)
