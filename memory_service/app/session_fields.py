"""Checks of what callers put into a session: each failure names its field and limit."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from memory_service.app.validation import check_json, check_list, check_name, check_time
from memory_service.domain import limits
from memory_service.domain.errors import InvalidInput, Reason
from memory_service.domain.memory import JsonValue
from memory_service.domain.session.failures import kind_of
from memory_service.domain.session.model import CONSTRAINTS, INTENTS, SLOTS, TASKS, FieldChange, Turn, TurnRole
from memory_service.domain.text import check_storable


def check_turns(turns: Sequence[Turn], field: str = "turns") -> None:
    """Turns that may be added together: at least one, each whole, ids different."""
    if not turns:
        raise InvalidInput(Reason.FIELD_REQUIRED, f"{field} must name at least one turn", field=field)
    check_list(turns, field, limits.TURNS_AT_ONCE_MAX)
    seen: set[str] = set()
    for place, turn in enumerate(turns):
        own = f"{field}[{place}]"
        check_name(turn.id, f"{own}.id", required=True, limit=limits.TURN_ID_CHARS_MAX)
        if turn.id in seen:
            raise InvalidInput(Reason.FIELD_INVALID, f"{own}.id is used twice in one request", field=f"{own}.id")
        seen.add(turn.id)
        if turn.text or turn.role is not TurnRole.TOOL:
            check_storable(turn.text, f"{own}.text", limits.TEXT_CHARS_MAX)
        check_time(turn.said_at, f"{own}.said_at")
        for name in ("action", "tool"):
            check_name(getattr(turn, name), f"{own}.{name}")
        check_name(turn.feedback, f"{own}.feedback", limit=limits.REASON_CHARS_MAX)


def check_changes(changes: Sequence[FieldChange], field: str = "state") -> None:
    """Changes of fields: known paths, each once, values within their limits, slots with the turn that answered."""
    if not changes:
        raise InvalidInput(Reason.FIELD_REQUIRED, "nothing is to be changed", field="update_mask")
    check_list(changes, field, limits.FIELDS_AT_ONCE_MAX)
    seen: set[str] = set()
    for change in changes:
        path = change.path
        check_name(path, "update_mask", required=True, limit=limits.FIELD_PATH_CHARS_MAX)
        if path in seen:
            raise InvalidInput(Reason.FIELD_INVALID, "update_mask names a field twice", field="update_mask")
        seen.add(path)
        _check_path(path)
        if change.removed:
            continue
        named = kind_of(path)
        if path == INTENTS:
            _check_intents(change.value)
        if path.startswith(SLOTS):
            check_name(change.answered_by, f"{named}.answered_by", required=True, limit=limits.TURN_ID_CHARS_MAX)
        check_json(change.value, named)
        size = len(json.dumps(change.value, ensure_ascii=False).encode())
        if size > limits.FIELD_BYTES_MAX:
            raise InvalidInput(
                Reason.FIELD_TOO_LONG,
                f"one of {named} may take at most {limits.FIELD_BYTES_MAX} bytes",
                field=named,
                metadata={"limit": str(limits.FIELD_BYTES_MAX), "actual": str(size)},
            )


def _check_path(path: str) -> None:
    if path == INTENTS:
        return
    prefix = next((prefix for prefix in (SLOTS, CONSTRAINTS, TASKS) if path.startswith(prefix)), "")
    name = path[len(prefix) :]
    if not prefix or not name or (prefix == SLOTS and not all(name.split("."))):
        raise InvalidInput(
            Reason.FIELD_INVALID,
            "a field is intents, slots.NAME, constraints.ID or tasks.ID",
            field="update_mask",
        )
    depth = name.count(".") + 1
    if prefix == SLOTS and depth > limits.SLOT_DEPTH_MAX:
        raise InvalidInput(
            Reason.FIELD_TOO_LONG,
            f"the path of a slot may have at most {limits.SLOT_DEPTH_MAX} parts",
            field="state.slots",
            metadata={"limit": str(limits.SLOT_DEPTH_MAX), "actual": str(depth)},
        )


def _check_intents(value: JsonValue) -> None:
    assert isinstance(value, Sequence)
    if len(value) > limits.INTENT_DEPTH_MAX:
        raise InvalidInput(
            Reason.FIELD_TOO_LONG,
            f"the stack of intents may be at most {limits.INTENT_DEPTH_MAX} deep",
            field="state.intents",
            metadata={"limit": str(limits.INTENT_DEPTH_MAX), "actual": str(len(value))},
        )
    for intent in value:
        name = intent.get("name") if isinstance(intent, Mapping) else intent
        if not isinstance(name, str) or not name.strip():
            field = "state.intents.name"
            raise InvalidInput(Reason.FIELD_REQUIRED, f"{field} must be given", field=field)


def version_of(etag: str) -> int | None:
    """The version an etag names, None for "".

    Raises:
        InvalidInput: FIELD_INVALID for what is no etag of a session.
    """
    if not etag:
        return None
    digits = etag[1:]
    if etag[0] != "s" or not digits.isascii() or not digits.isdigit() or len(digits) > 15:
        raise InvalidInput(Reason.FIELD_INVALID, "etag is not one of a session", field="etag")
    return int(digits)
