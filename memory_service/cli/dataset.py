"""Reads the evaluation form (one JSON object a line) and plain JSONL of statements.

The evaluation form has three sorts of lines:

* `{"type": "set", "name", "language"[, "unit"], …}` once, first; with the unit "turn" or "message" its memories are
  turns of conversations as they were said, and are written as such (process "conversation");
* `{"type": "memory", "owner", "id", "text", "session", "order"[, "time"][, "role"]}`;
* `{"type": "question", "owner", "id", "text", "category", "evidence": [ids], "answerable"`
  `[, "visible_before_order"][, "newer", "older"]}`: only memories with a smaller order may be seen.

A plain line is `{"text": …}` with, if wanted, `user`, `request_id` and any field of a write by its name.
Sets are made elsewhere: what else their lines have is passed over.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from memory_service.cli.form import DatasetError, Form, parsed

CONVERSATION = "conversation"
"""What a writer gives as `process` of a turn of a conversation; recall then counts the turns around it."""

_TURN_UNITS = frozenset({"turn", "message"})


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


def read_lines(lines: Iterable[str]) -> Iterator[tuple[int, Form]]:
    """Line number and object of every line that is not blank."""
    for number, line in enumerate(lines, start=1):
        if line.strip():
            yield number, parsed(line, f"line {number}")


def read_set(lines: Iterable[str], *, owners_max: int | None = None) -> EvalSet:
    """A set of the evaluation form; of only the first `owners_max` owners if given.

    Raises:
        DatasetError: naming the line; also for a set without anything.
    """
    made = EvalSet()
    for _, line in read_lines(lines):
        kind = line.any("type")
        if kind == "set":
            made.name, made.language = line.name("name", ""), line.name("language", "")
            made.process = process_of(line)
            continue
        if kind not in ("memory", "question"):
            raise line.wrong("type", "one of set, memory, question")
        name = line.name("owner")
        if name not in made.owners and owners_max is not None and len(made.owners) >= owners_max:
            continue
        owner = made.owners.setdefault(name, Owner())
        if kind == "memory":
            owner.memories.append(_memory(line))
        else:
            owner.questions.append(_question(line))
    if not made.owners:
        raise DatasetError("there is no memory and no question in it")
    for owner in made.owners.values():
        owner.memories.sort(key=lambda memory: memory.order)
    return made


def process_of(line: Form) -> str:
    """The process that made a set's memories, by its `set` line: "conversation" for turns as they were said."""
    return CONVERSATION if line.name("unit", "") in _TURN_UNITS else ""


def statement(line: Form, process: str = "") -> Statement | None:
    """The statement of one line of either form; None for a line that says nothing to remember.

    Args:
        process: of a memory of the evaluation form.

    Raises:
        DatasetError: naming the line.
    """
    kind = line.name("type", "")
    if kind in ("set", "question"):
        return None
    if kind == "memory":
        memory = _memory(line)
        fields: dict[str, Any] = {"session": memory.session, "reference": memory.id}
        if memory.time is not None:
            fields["said_at"] = memory.time
        if process:
            fields["process"] = process
        return Statement(memory.owner, memory.text, fields)
    return _plain(line)


_TIMES = ("valid_from", "valid_to", "expires_at", "said_at")


def _plain(line: Form) -> Statement:
    from memory_service.client.types import MemoryFields

    known = set(MemoryFields.__annotations__)
    line.only(known | {"user", "text", "request_id", "time", "id", "type"})
    fields = {name: item for name, item in line.items() if name in known}
    fields |= {name: line.time(name, zone=False) for name in _TIMES if line.given(name)}
    if line.given("time"):
        fields.setdefault("said_at", line.time("time", zone=False))
    if line.given("id"):
        fields.setdefault("reference", line.name("id"))
    user = line.name("user", "") if line.given("user") else None
    return Statement(user, line.text("text", ""), fields, line.name("request_id", ""))


def parts(text: str, limit: int) -> Sequence[str]:
    """A text in pieces of at most `limit` characters, cut at the last line or space where there is one."""
    pieces = []
    while len(text) > limit:
        cut = max(text.rfind("\n", limit // 2, limit), text.rfind(" ", limit // 2, limit))
        cut = limit if cut <= 0 else cut
        pieces.append(text[:cut])
        text = text[cut:].lstrip()
    return [*pieces, text]


def _memory(line: Form) -> EvalMemory:
    return EvalMemory(
        owner=line.name("owner"),
        id=line.name("id"),
        text=line.text("text"),
        session=line.name("session", ""),
        order=line.whole("order", 0),
        time=line.time("time", zone=False) if line.given("time") else None,
    )


def _question(line: Form) -> Question:
    before = "visible_before_order"
    return Question(
        owner=line.name("owner"),
        id=line.name("id"),
        text=line.text("text"),
        category=line.name("category", ""),
        evidence=line.names("evidence"),
        answerable=line.flag("answerable", True),
        visible_before_order=line.whole(before) if line.given(before) else None,
        newer=line.names("newer"),
        older=line.names("older"),
    )
