"""What SessionService refuses."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime
from typing import Any

from google.protobuf import field_mask_pb2

from memory_service.domain.session.model import session_id
from memory_service.v1 import session_service_pb2 as api
from tests.acceptance.wrong import MARK, NEVER, Wrong, json

UNKNOWN: Any = 55
GONE = str(session_id(datetime(2026, 1, 1, tzinfo=UTC), uuid.UUID(int=5)))
"""The id of a session that nobody has."""


def turns(name: str, reason: str, field: str, *given: dict[str, Any], count: int = 1) -> Wrong:
    """AppendTurns of a wrong turn."""
    made = [api.Turn(**{"id": MARK, "role": api.TURN_ROLE_USER, "text": MARK, **turn}) for turn in given * count]
    return Wrong(
        name,
        "AppendTurns",
        lambda k: api.AppendTurnsRequest(user=k.user, session_id=k.session, turns=made),
        reason,
        field,
    )


def update(name: str, reason: str, field: str, code: str = "INVALID_ARGUMENT", **given: Any) -> Wrong:
    """UpdateSession with a wrong field."""
    paths = given.pop("paths", None)
    others = {key: given.pop(key) for key in ("etag", "seen_version", "device") if key in given}
    mask = None if paths is None else field_mask_pb2.FieldMask(paths=paths)
    state = api.SessionState(**given)
    return Wrong(
        name,
        "UpdateSession",
        lambda k: api.UpdateSessionRequest(
            user=k.user, session_id=k.session, state=state, update_mask=mask, **others
        ),
        reason,
        field,
        code,
    )


def context(name: str, reason: str, field: str, **given: Any) -> Wrong:
    """A wrong GetContext."""
    return Wrong(
        name,
        "GetContext",
        lambda k: api.GetContextRequest(**{"user": k.user, "session_id": k.session, "query": MARK, **given}),
        reason,
        field,
    )


def session(rpc: str, request: Any, name: str, value: str, reason: str, code: str = "NOT_FOUND") -> Wrong:
    """A session id that names none."""
    return Wrong(
        f"session id: {name}", rpc, lambda k: request(user=k.user, session_id=value), reason, "session_id", code
    )


def slot(name: str = MARK, value: object = MARK, answered_by: str = "said") -> api.SessionSlot:
    return api.SessionSlot(name=name, value=json(value), answered_by=answered_by)


def deep(levels: int) -> object:
    value: object = MARK
    for _ in range(levels):
        value = [value]
    return value


WRONG_SESSIONS: list[Wrong] = [
    *(
        session(rpc, request, name, value, reason, code)
        for rpc, request in (("GetSession", api.GetSessionRequest), ("EndSession", api.EndSessionRequest))
        for name, value, reason, code in (
            ("empty", "", "FIELD_REQUIRED", "INVALID_ARGUMENT"),
            ("words", MARK, "SESSION_NOT_FOUND", "NOT_FOUND"),
            ("of nobody", GONE, "SESSION_NOT_FOUND", "NOT_FOUND"),
            ("upper case", GONE.upper(), "SESSION_NOT_FOUND", "NOT_FOUND"),
            ("long", "x" * 300, "FIELD_TOO_LONG", "INVALID_ARGUMENT"),
            ("NUL", f"{MARK}\0", "TEXT_NOT_STORABLE", "INVALID_ARGUMENT"),
        )
    ),
    Wrong(
        "201 turns",
        "GetSession",
        lambda k: api.GetSessionRequest(user=k.user, session_id=k.session, turns=201),
        "FIELD_OUT_OF_RANGE",
        "turns",
    ),
    Wrong(
        "a page of 501",
        "ListSessions",
        lambda k: api.ListSessionsRequest(user=k.user, page_size=501),
        "FIELD_OUT_OF_RANGE",
        "page_size",
    ),
    Wrong(
        "a forged page token",
        "ListSessions",
        lambda k: api.ListSessionsRequest(user=k.user, page_token=MARK),
        "PAGE_TOKEN_INVALID",
        "page_token",
    ),
    Wrong(
        "a page of memories",
        "ListSessions",
        lambda k: api.ListSessionsRequest(user=k.user, page_token=k.page_token),
        "PAGE_TOKEN_INVALID",
        "page_token",
    ),
    Wrong(
        "slots before anybody answered",
        "CreateSession",
        lambda k: api.CreateSessionRequest(user=k.user, state=api.SessionState(slots=[slot()])),
        "FIELD_INVALID",
        "state.slots",
    ),
    Wrong(
        "a long agent",
        "CreateSession",
        lambda k: api.CreateSessionRequest(user=k.user, agent="a" * 257),
        "FIELD_TOO_LONG",
        "agent",
    ),
    turns("no turn", "FIELD_REQUIRED", "turns", count=0),
    turns("101 turns", "FIELD_TOO_LONG", "turns", {}, count=101),
    turns("two turns of one id", "FIELD_INVALID", "turns[1].id", {}, {}),
    turns("a turn without id", "FIELD_REQUIRED", "turns[0].id", {"id": ""}),
    turns("a turn with a long id", "FIELD_TOO_LONG", "turns[0].id", {"id": "i" * 129}),
    turns("a turn of nobody", "FIELD_REQUIRED", "turns[0].role", {"role": 0}),
    turns("a turn of an unknown role", "FIELD_INVALID", "turns[0].role", {"role": UNKNOWN}),
    turns("an empty turn", "FIELD_REQUIRED", "turns[0].text", {"text": ""}),
    turns("a turn of nothing visible", "FIELD_REQUIRED", "turns[0].text", {"text": "\u200b \n"}),
    turns("a turn of 1 MB", "FIELD_TOO_LONG", "turns[0].text", {"text": MARK * 174_763}),
    turns("a turn with NUL", "TEXT_NOT_STORABLE", "turns[0].text", {"text": f"{MARK}\0"}),
    turns("a turn of year 33658", "TIME_OUT_OF_RANGE", "turns[0].said_at", {"said_at": NEVER}),
    turns("a long feedback", "FIELD_TOO_LONG", "turns[0].feedback", {"feedback": "f" * 513}),
    turns("an unknown tool status", "FIELD_INVALID", "turns[0].tool_status", {"tool_status": UNKNOWN}),
    update("nothing", "FIELD_REQUIRED", "update_mask"),
    update("an empty mask", "FIELD_REQUIRED", "update_mask", paths=[]),
    update("an unknown field", "FIELD_INVALID", "update_mask", paths=[MARK]),
    update("a field without name", "FIELD_INVALID", "update_mask", paths=["slots."]),
    update("the whole of the slots", "FIELD_INVALID", "update_mask", paths=["slots"]),
    update("a field named twice", "FIELD_INVALID", "update_mask", paths=["tasks.a", "tasks.a"]),
    update("a field given twice", "FIELD_INVALID", "state.slots", slots=[slot(), slot()]),
    update("65 fields", "FIELD_TOO_LONG", "state", slots=[slot(f"s{n}") for n in range(65)]),
    update("a slot path 50 deep", "FIELD_TOO_LONG", "state.slots", slots=[slot(".".join("x" * 50))]),
    update("a slot path with a hole", "FIELD_INVALID", "update_mask", slots=[slot("a..b")]),
    update("a long slot name", "FIELD_TOO_LONG", "update_mask", slots=[slot("x" * 257)]),
    update("a slot nobody answered", "FIELD_REQUIRED", "state.slots.answered_by", slots=[slot(answered_by="")]),
    update(
        "a slot from a turn that is not there",
        "SLOT_NOT_ANSWERED",
        "state.slots.answered_by",
        "FAILED_PRECONDITION",
        slots=[slot(answered_by=MARK)],
    ),
    update(
        "a slot from a question",
        "SLOT_NOT_ANSWERED",
        "state.slots.answered_by",
        "FAILED_PRECONDITION",
        slots=[slot(answered_by="asked")],
    ),
    update("a value 17 deep", "JSON_TOO_DEEP", "state.slots", slots=[slot(value=deep(17))]),
    update("a value of 5 KB", "FIELD_TOO_LONG", "state.slots", slots=[slot(value="v" * 5_000)]),
    update(
        "a constraint about nothing",
        "UNKNOWN_PREDICATE",
        "state.constraints.predicate",
        constraints=[api.SessionConstraint(id="c", text="x", predicate="!?")],
    ),
    update("an aim without a name", "FIELD_REQUIRED", "state.intents.name", intents=[api.Intent(detail="x")]),
    update("six intents", "FIELD_TOO_LONG", "state.intents", intents=[api.Intent(name=str(n)) for n in range(6)]),
    update(
        "a constraint that says nothing",
        "FIELD_REQUIRED",
        "state.constraints.text",
        constraints=[api.SessionConstraint(id=MARK)],
    ),
    update(
        "a task of unknown status",
        "FIELD_INVALID",
        "state.tasks.status",
        tasks=[api.SessionTask(id="t", text=MARK, status=UNKNOWN)],
    ),
    update("no etag", "FIELD_INVALID", "etag", paths=["tasks.a"], etag=MARK),
    update("another's etag", "ETAG_MISMATCH", "etag", "ABORTED", paths=["tasks.a"], etag="s999"),
    update(
        "a version of the far future", "FIELD_OUT_OF_RANGE", "seen_version", paths=["tasks.a"], seen_version=2**63
    ),
    context("a negative window", "FIELD_OUT_OF_RANGE", "window_tokens", window_tokens=-1),
    context("an endless window", "FIELD_OUT_OF_RANGE", "window_tokens", window_tokens=2**31 - 1),
    context("an unknown tokenizer", "FIELD_INVALID", "tokenizer", tokenizer=MARK),
    context("an unknown profile", "FIELD_INVALID", "profile", profile=MARK),
    context("a negative limit", "FIELD_OUT_OF_RANGE", "limit", limit=-1),
    context("a long query", "FIELD_TOO_LONG", "query", query="q" * 8_193),
    Wrong(
        "no predicate",
        "GetPreferences",
        lambda k: api.GetPreferencesRequest(user=k.user),
        "FIELD_REQUIRED",
        "predicates",
    ),
    Wrong(
        "65 predicates",
        "GetPreferences",
        lambda k: api.GetPreferencesRequest(user=k.user, predicates=["location"] * 65),
        "FIELD_TOO_LONG",
        "predicates",
    ),
    Wrong(
        "an unknown predicate",
        "GetPreferences",
        lambda k: api.GetPreferencesRequest(user=k.user, predicates=["location", MARK]),
        "UNKNOWN_PREDICATE",
        "predicates[1]",
    ),
]
