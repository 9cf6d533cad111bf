"""Arguments of every public method that are not what they must be: refused by name, in both clients."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_service.client import (
    AsyncMemoryClient,
    ClientClosed,
    InvalidArgument,
    MemoryClient,
    MemoryClientError,
    MemoryFilter,
    NewMemory,
    Slot,
)
from memory_service.client import session_values as s
from memory_service.client import types as t
from memory_service.client.core import Core

METHODS = sorted(
    name for name, method in inspect.getmembers(Core, inspect.iscoroutinefunction) if not name.startswith("_")
)
GIVEN: dict[str, Any] = {"turns": [s.Turn("user", "hello")], "treatment": "a", "share": 0.5, "kind": "fact"}
"""Arguments that are right, where a text is not."""
MEMORY_FIELDS = sorted(t.MemoryFields.__annotations__)

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from([0, -1, 7, 2**31, 2**63, 2**64, -(2**64), 10**400]),
    st.sampled_from([0.5, float("nan"), float("inf"), -1e308]),
    st.sampled_from(["", "x", "\ud800", "a" * 300, "slots.city", "user"]),
    st.sampled_from([b"x", object(), int, ..., timedelta(days=1), timedelta.max, timedelta.min, 1j]),
    st.sampled_from([datetime(2026, 1, 1), datetime.max.replace(tzinfo=UTC), datetime.min.replace(tzinfo=UTC)]),  # noqa: DTZ001
)
records = st.one_of(
    st.builds(
        MemoryFilter, kinds=scalars, tags_all=scalars, slots=scalars, importance_min=scalars, said_from=scalars
    ),
    st.builds(Slot, scalars, scalars, scalars),
    st.builds(NewMemory, scalars, st.dictionaries(st.sampled_from([*MEMORY_FIELDS, "colour"]), scalars, max_size=3)),
    st.builds(t.Assertion, scalars, scalars, scalars),
    st.builds(t.Dot, scalars, scalars),
    st.builds(t.Context, scalars),
    st.builds(t.Consistency, scalars, scalars),
    st.builds(s.Turn, scalars, scalars, scalars, scalars, tool_status=scalars),
    st.builds(s.SlotAnswer, scalars, scalars),
    st.builds(s.SessionTask, scalars, scalars),
    st.builds(s.SessionConstraint, scalars, scalars, scalars),
    st.builds(s.Intent, scalars, scalars),
)
odd = st.recursive(
    scalars | records,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.dictionaries(st.sampled_from(["x", "city", 5]), inner, max_size=2)
    ),
    max_leaves=4,
)


def parameters(name: str) -> list[inspect.Parameter]:
    return [p for p in inspect.signature(getattr(Core, name)).parameters.values() if p.name != "self"]


@st.composite
def arguments(draw: st.DrawFn, name: str) -> dict[str, Any]:
    """Arguments of a method, any of them wrong; those it must have are there."""
    made: dict[str, Any] = {}
    for parameter in parameters(name):
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            made |= draw(st.dictionaries(st.sampled_from(MEMORY_FIELDS), odd, max_size=2))
        elif parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            made["*"] = draw(st.lists(odd, max_size=2))
        elif draw(st.integers(0, 3)) == 0:
            made[parameter.name] = draw(odd)
        elif parameter.default is inspect.Parameter.empty:
            made[parameter.name] = GIVEN.get(parameter.name, "x")
    return made


def told(call: Callable[[], Any]) -> MemoryClientError | None:
    """What a call raised. (A client that is closed says so once all is right with a request.)"""
    try:
        call()
    except MemoryClientError as error:
        return error
    return None


@pytest.fixture(scope="module")
def blocking() -> MemoryClient:
    client = MemoryClient("127.0.0.1:1", "key", user="ann")
    client.close()
    return client


@pytest.mark.parametrize("name", METHODS)
@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_whatever_is_given_only_the_clients_errors_come_out(blocking: MemoryClient, name: str, data: st.DataObject):
    given_ = data.draw(arguments(name))
    rest = given_.pop("*", ())
    error = told(lambda: getattr(blocking, name)(*rest, **given_))
    assert isinstance(error, InvalidArgument | ClientClosed) or name == "write_many" or "timeout_seconds" in given_
    if isinstance(error, InvalidArgument):
        assert error.field
        assert error.reason


WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("recall", {"limit": "ten"}, "limit"),
    ("recall", {"limit": 2**31}, "limit"),
    ("recall", {"deep": "no"}, "deep"),
    ("recall", {"where": {"kinds": ["fact"]}}, "filter"),
    ("recall", {"where": MemoryFilter(kinds=5)}, "filter.kinds"),  # type: ignore[arg-type]
    ("recall", {"consistency": "full"}, "consistency"),
    ("recall", {"timeout_seconds": "5"}, "timeout_seconds"),
    ("recall", {"timeout_seconds": float("nan")}, "timeout_seconds"),
    ("write", {"text": "x", "pinned": "yes"}, "memory.pinned"),
    ("write", {"text": "x", "confidence": 10**400}, "memory.confidence"),
    ("write", {"text": "x", "tags": 5}, "memory.tags"),
    ("write", {"text": "x", "dot": ("phone", 3)}, "dot"),
    ("write", {"text": "x", "context": {"phone": 3}}, "context"),
    ("forget", {"ids": 5}, "ids"),
    ("forget", {"ids": ["x"], "validate_only": "false"}, "validate_only"),
    ("resolve_conflict", {"ids": ["x"], "dismiss": "false"}, "dismiss"),
    ("correct", {"slot": ("user",), "text": "x"}, "slot"),
    ("put_predicate", {"name": "x", "kind": "fact", "tau": 5}, "tau"),
    ("put_predicate", {"name": "x", "kind": "fact", "tau": timedelta.max}, None),  # type: ignore[list-item]
    ("set_parameters", {"values": {"replace_ratio": "2"}}, "values.replace_ratio"),
    ("set_parameters", {"values": [("replace_ratio", 2)]}, "values"),
    ("start_experiment", {"name": "x", "treatment": "y", "share": "half"}, "share"),
    ("append_turns", {"session_id": "x", "turns": ["hello"]}, "turns[0]"),
    ("append_turns", {"session_id": "x", "turns": s.Turn("user", "hello")}, "turns"),
    ("update_session", {"session_id": "x", "slots": {"city": "Rome"}}, "slots.city"),
    ("create_session", {"record_episodes": "no"}, "record_episodes"),
    ("create_key", {"name": "x", "roles": 5}, "roles"),
    ("requeue_jobs", {"ids": ["one"]}, "ids[0]"),
    ("write_many", {"items": ["x"], "batch_size": "all"}, "batch_size"),
    ("write_many", {"items": ["x"], "on_progress": 5}, "on_progress"),
]


@pytest.mark.parametrize(("name", "given_", "field"), WRONG)
def test_a_wrong_argument_is_named(blocking: MemoryClient, name: str, given_: dict[str, Any], field: str | None):
    async def asked() -> MemoryClientError | None:
        client = AsyncMemoryClient("127.0.0.1:1", "key", user="ann")
        await client.close()
        try:
            await getattr(client, name)(**given_)
        except MemoryClientError as error:
            return error
        return None

    for error in (told(lambda: getattr(blocking, name)(**given_)), asyncio.run(asked())):
        if field is None:
            continue  # as long as it is one of the client's
        assert isinstance(error, InvalidArgument), error
        assert error.field == field


def test_what_is_no_argument_is_a_mistake_in_the_program(blocking: MemoryClient):
    with pytest.raises(TypeError):
        blocking.recall(colour="red")  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        blocking.write("x", colour="red")  # type: ignore[call-arg]


def test_iterables_are_left_to_be_read_once(blocking: MemoryClient):
    """Generators and arrays are fine wherever lists are."""
    import numpy as np

    assert isinstance(told(lambda: blocking.recall("x", query_embedding=np.ones(3))), ClientClosed)  # type: ignore[arg-type]
    assert isinstance(told(lambda: blocking.forget(i for i in ["a"])), ClientClosed)  # type: ignore[arg-type]
    assert isinstance(told(lambda: blocking.write("x", tags={"a", "b"})), ClientClosed)  # type: ignore[arg-type]


@pytest.mark.parametrize(("name", "value"), [("user", 5), ("timeout_seconds", "5"), ("device", None)])
def test_a_client_is_made_of_what_it_must_be(name: str, value: Any):
    with pytest.raises(InvalidArgument) as caught:
        MemoryClient("127.0.0.1:1", "key", **{name: value})
    assert caught.value.field == name
