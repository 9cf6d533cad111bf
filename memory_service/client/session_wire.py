"""Sessions between the client's values and protobuf messages."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence

from google.protobuf.field_mask_pb2 import FieldMask

from memory_service.client import decode, encode
from memory_service.client import session_values as s
from memory_service.client.errors import InvalidArgument
from memory_service.v1 import session_service_pb2 as pb

_status = decode.words(pb.SessionStatus, "SESSION_STATUS", s.SessionStatus)
_role = decode.words(pb.TurnRole, "TURN_ROLE", s.TurnRole)
_tool_status = decode.words(pb.ToolStatus, "TOOL_STATUS", s.ToolStatus)
_tag = decode.words(pb.TurnTag, "TURN_TAG", s.TurnTag)
_task_status = decode.words(pb.TaskStatus, "TASK_STATUS", s.TaskStatus)

Slots = Mapping[str, s.SlotAnswer | tuple[object, str]]
Constraints = Mapping[str, s.SessionConstraint | str]
Tasks = Mapping[str, s.SessionTask | str]


def turn_out(value: s.Turn, field: str) -> pb.Turn:
    """A turn to be added; it gets an id when it has none."""
    status = value.tool_status
    return pb.Turn(
        id=encode.text(value.id, f"{field}.id") or uuid.uuid4().hex,
        role=pb.TurnRole.Name(encode.number(pb.TurnRole, "TURN_ROLE", s.TurnRole, value.role, f"{field}.role")),
        text=encode.text(value.text, f"{field}.text"),
        said_at=encode.timestamp(value.said_at, f"{field}.said_at"),
        action=encode.text(value.action, f"{field}.action"),
        tool=encode.text(value.tool, f"{field}.tool"),
        tool_status=pb.ToolStatus.Name(
            encode.number(pb.ToolStatus, "TOOL_STATUS", s.ToolStatus, status, f"{field}.tool_status")
        )
        if status and status != s.ToolStatus.UNKNOWN
        else None,
        feedback=encode.text(value.feedback, f"{field}.feedback"),
    )


def state_out(
    intents: Sequence[s.Intent | str] | None,
    slots: Slots | None,
    constraints: Constraints | None,
    tasks: Tasks | None,
) -> pb.SessionState:
    """Fields to be set."""
    state = pb.SessionState()
    for intent in intents or ():
        given = s.Intent(intent) if isinstance(intent, str) else intent
        state.intents.append(
            pb.Intent(name=encode.text(given.name, "intents"), detail=encode.text(given.detail, "intents"))
        )
    for name, answer in (slots or {}).items():
        value, by = (answer.value, answer.answered_by) if isinstance(answer, s.SlotAnswer) else answer
        field = f"slots.{name}"
        state.slots.append(
            pb.SessionSlot(
                name=encode.text(name, "slots"),
                value=encode.json_value(value, field),
                answered_by=encode.text(by, f"{field}.answered_by"),
            )
        )
    for id_, rule in (constraints or {}).items():
        kept = s.SessionConstraint(rule) if isinstance(rule, str) else rule
        field = f"constraints.{id_}"
        state.constraints.append(
            pb.SessionConstraint(
                id=encode.text(id_, "constraints"),
                text=encode.text(kept.text, field),
                predicate=encode.text(kept.predicate, field),
                object=None if kept.object is None else encode.json_value(kept.object, field),
            )
        )
    for id_, task in (tasks or {}).items():
        todo = s.SessionTask(task) if isinstance(task, str) else task
        status = encode.number(pb.TaskStatus, "TASK_STATUS", s.TaskStatus, todo.status, f"tasks.{id_}.status")
        text = encode.text(todo.text, f"tasks.{id_}")
        named = pb.TaskStatus.Name(status)
        state.tasks.append(pb.SessionTask(id=encode.text(id_, "tasks"), text=text, status=named))
    return state


def mask_of(state: pb.SessionState, remove: Sequence[str], *, no_intents: bool) -> FieldMask:
    """All that the state has, and what is to be removed.

    Raises:
        InvalidArgument: there is nothing to change.
    """
    paths = [f"slots.{item.name}" for item in state.slots]
    paths += [f"constraints.{item.id}" for item in state.constraints]
    paths += [f"tasks.{item.id}" for item in state.tasks]
    if state.intents or no_intents:
        paths.append("intents")
    paths += encode.texts(remove, "remove")
    if not paths:
        raise InvalidArgument("nothing is to be changed", reason="FIELD_REQUIRED", field="update_mask")
    return FieldMask(paths=paths)


def block(value: pb.StateBlock) -> s.StateBlock:
    """A state block."""
    return s.StateBlock(
        value.sequence,
        value.topic,
        value.intent,
        tuple(value.entities),
        tuple(value.decisions),
        tuple(value.pending),
        decode.timestamp(value.updated_at) if value.HasField("updated_at") else None,
        tuple(value.turn_ids),
    )


def _turn(value: pb.Turn) -> s.Turn:
    return s.Turn(
        _role(value.role),
        value.text,
        value.id,
        decode.timestamp(value.said_at) if value.HasField("said_at") else None,
        value.action,
        value.tool,
        _tool_status(value.tool_status) if value.tool_status else "",
        value.feedback,
        value.sequence,
        decode.timestamp(value.accepted_at) if value.HasField("accepted_at") else None,
        tuple(_tag(tag) for tag in value.tags),
        value.tokens,
    )


def session(value: pb.Session) -> s.Session:
    """A session."""
    state = value.state
    return s.Session(
        value.id,
        _status(value.status),
        value.agent,
        decode.timestamp(value.started_at),
        decode.timestamp(value.last_active_at),
        value.etag,
        value.version,
        value.record_episodes,
        value.turn_count,
        tuple(s.Intent(i.name, i.detail) for i in state.intents),
        {x.name: s.SlotAnswer(decode.json_value(x.value), x.answered_by, x.version) for x in state.slots},
        {
            c.id: s.SessionConstraint(
                c.text, c.predicate, decode.json_value(c.object) if c.HasField("object") else None, c.version
            )
            for c in state.constraints
        },
        {t.id: s.SessionTask(t.text, _task_status(t.status), t.version) for t in state.tasks},
        block(value.block) if value.HasField("block") else None,
        tuple(_turn(turn) for turn in value.turns),
    )


def session_page(value: pb.ListSessionsResponse) -> s.SessionPage:
    """A page of sessions."""
    lines = tuple(
        s.SessionSummary(
            line.id,
            _status(line.status),
            line.agent,
            decode.timestamp(line.started_at),
            decode.timestamp(line.last_active_at),
            line.turn_count,
            line.topic,
        )
        for line in value.sessions
    )
    return s.SessionPage(lines, value.next_page_token)


def append_result(value: pb.AppendTurnsResponse, turn_ids: Sequence[str]) -> s.AppendResult:
    """What adding turns did."""
    return s.AppendResult(
        tuple(turn_ids),
        tuple(value.duplicates),
        value.turn_count,
        block(value.block) if value.HasField("block") else None,
        {notice.turn_id: tuple(_tag(tag) for tag in notice.tags) for notice in value.notices},
        value.recorded,
    )


def update_result(value: pb.UpdateSessionResponse) -> s.UpdateResult:
    """What changing fields did."""
    overwritten = tuple(
        s.OverwrittenField(item.path, decode.json_value(item.value), item.device, item.version)
        for item in value.overwritten
    )
    return s.UpdateResult(value.etag, value.version, overwritten)


def session_context(value: pb.GetContextResponse) -> s.SessionContext:
    """A context."""
    tokens = value.tokens
    return s.SessionContext(
        value.block,
        session(value.session) if value.HasField("session") else None,
        tuple(
            s.ContextMemory(decode.recalled(item.recalled), item.in_block, item.overridden_by)
            for item in value.memories
        ),
        s.TokenUse(tokens.short_term, tokens.recalled, tokens.total, tokens.budget, tokens.tokenizer, tokens.exact),
        value.turns_left_out,
        value.degraded,
        tuple(value.missing),
        decode.context(value.context),
        value.token,
        tuple(decode.stage(stage) for stage in value.stages),
        value.constraints_left_out,
    )


def preferences(value: pb.GetPreferencesResponse) -> dict[str, s.Preference]:
    """What is remembered, by predicate."""
    return {
        item.predicate: s.Preference(item.predicate, tuple(decode.memory(m) for m in item.memories), item.contested)
        for item in value.values
    }
