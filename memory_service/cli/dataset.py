"""Reads the evaluation form (one JSON object a line) and plain JSONL of statements.

The evaluation form has three sorts of lines:

* `{"type": "set", "name", "language"[, "unit"], …}` once, first; with the unit "turn" or "message" its memories are
  turns of conversations as they were said, and are written as such (process "conversation");
* `{"type": "memory", "owner", "id", "text", "session", "order"[, "time"][, "role"]}`;
* `{"type": "question", "owner", "id", "text", "category", "evidence": [ids], "answerable"`
  `[, "visible_before_order"][, "newer", "older"]}`: only memories with a smaller order may be seen.

A plain line is `{"text": …}` with, if wanted, `user`, `request_id` and any field of a write by its name.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

CONVERSATION = "conversation"
"""What a writer gives as `process` of a turn of a conversation; recall then counts the turns around it."""

_TURN_UNITS = frozenset({"turn", "message"})


class DatasetError(ValueError):
    """A line that cannot be read; the message has its number."""


@dataclass(frozen=True, slots=True)
class EvalMemory:
    """One memory of the evaluation form; `time` is aware, or None."""

    owner: str
    id: str
    text: str
    session: str
    order: int
    time: datetime | None


@dataclass(frozen=True, slots=True)
class Question:
    """One question. `visible_before_order` None: it may see everything of its owner."""

    owner: str
    id: str
    text: str
    category: str
    evidence: frozenset[str]
    answerable: bool
    visible_before_order: int | None = None
    newer: frozenset[str] = frozenset()
    older: frozenset[str] = frozenset()


@dataclass(slots=True)
class Owner:
    """One owner's part of a set; memories in order."""

    memories: list[EvalMemory] = field(default_factory=list)
    questions: list[Question] = field(default_factory=list)


@dataclass(slots=True)
class EvalSet:
    """A whole set."""

    name: str = ""
    language: str = ""
    process: str = ""
    owners: dict[str, Owner] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement to load: whose, what, and the fields of a write."""

    user: str | None
    text: str
    fields: Mapping[str, Any]
    request_id: str = ""


def read_lines(lines: Iterable[str]) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Line number and object of every line that is not blank."""
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except ValueError as error:
            raise DatasetError(f"line {number} is not JSON: {error}") from None
        if not isinstance(value, dict):
            raise DatasetError(f"line {number} is not a JSON object")
        yield number, value


def read_set(lines: Iterable[str], *, owners_max: int | None = None) -> EvalSet:
    """A set of the evaluation form; of only the first `owners_max` owners if given.

    Raises:
        DatasetError: naming the line.
    """
    made = EvalSet()
    for number, value in read_lines(lines):
        kind = value.get("type")
        if kind == "set":
            made.name, made.language = str(value.get("name", "")), str(value.get("language", ""))
            made.process = process_of(value)
            continue
        if kind not in ("memory", "question"):
            raise DatasetError(f"line {number}: type {kind!r} is none of set, memory, question")
        name = _text(value, "owner", number)
        if name not in made.owners and owners_max is not None and len(made.owners) >= owners_max:
            continue
        owner = made.owners.setdefault(name, Owner())
        if kind == "memory":
            owner.memories.append(_memory(value, number))
        else:
            owner.questions.append(_question(value, number))
    for owner in made.owners.values():
        owner.memories.sort(key=lambda memory: memory.order)
    return made


def process_of(value: Mapping[str, Any]) -> str:
    """The process that made a set's memories, by its `set` line: "conversation" for turns as they were said."""
    return CONVERSATION if value.get("unit") in _TURN_UNITS else ""


def statement(value: Mapping[str, Any], number: int, process: str = "") -> Statement | None:
    """The statement of one line of either form; None for a line that says nothing to remember.

    Args:
        process: of a memory of the evaluation form.

    Raises:
        DatasetError: naming the line.
    """
    if value.get("type") in ("set", "question"):
        return None
    if value.get("type") == "memory":
        memory = _memory(value, number)
        fields: dict[str, Any] = {"session": memory.session, "reference": memory.id}
        if memory.time is not None:
            fields["said_at"] = memory.time
        if process:
            fields["process"] = process
        return Statement(memory.owner, memory.text, fields)
    return _plain(value, number)


def _plain(value: Mapping[str, Any], number: int) -> Statement:
    from memory_service.client.types import MemoryFields

    known = set(MemoryFields.__annotations__)
    fields = {name: item for name, item in value.items() if name in known}
    unknown = set(value) - known - {"user", "text", "request_id", "time", "id", "type"}
    if unknown:
        raise DatasetError(f"line {number}: unknown fields: {', '.join(sorted(unknown))}")
    for name in ("valid_from", "valid_to", "expires_at", "said_at"):
        if name in fields:
            fields[name] = _time(fields[name], number)
    if "time" in value:
        fields.setdefault("said_at", _time(value["time"], number))
    if "id" in value:
        fields.setdefault("reference", str(value["id"]))
    user = value.get("user")
    return Statement(
        None if user is None else str(user),
        str(value.get("text", "")),
        fields,
        str(value.get("request_id", "")),
    )


def parts(text: str, limit: int) -> Sequence[str]:
    """A text in pieces of at most `limit` characters, cut at the last line or space where there is one."""
    pieces = []
    while len(text) > limit:
        cut = max(text.rfind("\n", limit // 2, limit), text.rfind(" ", limit // 2, limit))
        cut = limit if cut <= 0 else cut
        pieces.append(text[:cut])
        text = text[cut:].lstrip()
    return [*pieces, text]


def _memory(value: Mapping[str, Any], number: int) -> EvalMemory:
    return EvalMemory(
        owner=_text(value, "owner", number),
        id=_text(value, "id", number),
        text=_text(value, "text", number),
        session=str(value.get("session", "")),
        order=int(value.get("order", 0)),
        time=_time(value["time"], number) if value.get("time") else None,
    )


def _question(value: Mapping[str, Any], number: int) -> Question:
    before = value.get("visible_before_order")
    return Question(
        owner=_text(value, "owner", number),
        id=_text(value, "id", number),
        text=_text(value, "text", number),
        category=str(value.get("category", "")),
        evidence=_ids(value, "evidence"),
        answerable=bool(value.get("answerable", True)),
        visible_before_order=None if before is None else int(before),
        newer=_ids(value, "newer"),
        older=_ids(value, "older"),
    )


def _ids(value: Mapping[str, Any], name: str) -> frozenset[str]:
    given = value.get(name) or []
    return frozenset([given] if isinstance(given, str) else (str(item) for item in given))


def _text(value: Mapping[str, Any], name: str, number: int) -> str:
    found = value.get(name)
    if not isinstance(found, str) or not found:
        raise DatasetError(f"line {number}: {name} must be given as text")
    return found


def _time(text: object, number: int) -> datetime:
    try:
        time = datetime.fromisoformat(str(text))
    except ValueError:
        raise DatasetError(f"line {number}: {text!r} is not a time in ISO 8601") from None
    return time.replace(tzinfo=UTC) if time.tzinfo is None else time
