"""Values survive the way to the server and back."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from enum import StrEnum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_service.client import InvalidArgument, decode, encode
from memory_service.client import types as t
from memory_service.v1 import admin_service_pb2 as admin
from memory_service.v1 import memory_service_pb2 as api
from memory_service.v1 import types_pb2 as pb

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | texts
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)


@given(json_values)
def test_json_comes_back_equal(value: Any) -> None:
    assert decode.json_value(encode.json_value(value, "object")) == value


def test_json_keeps_its_types() -> None:
    value = decode.json_value(encode.json_value([1, 1.5, True, None, "1", 2**53], "object"))
    assert isinstance(value, list)
    assert [type(item) for item in value] == [int, float, bool, type(None), str, int]


@given(st.integers(2**53 + 1, 2**80), st.booleans())
def test_numbers_that_would_change_are_refused(value: int, negative: bool) -> None:
    with pytest.raises(InvalidArgument, match="2\\^53"):
        encode.json_value(-value if negative else value, "object")


def test_deep_json_is_refused_without_exhausting_the_stack() -> None:
    value: Any = 1
    for _ in range(100_000):
        value = [value]
    with pytest.raises(InvalidArgument) as caught:
        encode.json_value(value, "object")
    assert caught.value.reason == "JSON_TOO_DEEP"


zones = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))


@given(st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30), timezones=zones))  # noqa: DTZ001
def test_times_come_back_to_the_microsecond_in_utc(value: datetime) -> None:
    sent = encode.timestamp(value, "said_at")
    assert sent is not None
    assert 0 <= sent.nanos < 10**9
    back = decode.timestamp(sent)
    assert back == value
    assert back.tzinfo is UTC


@pytest.mark.parametrize(
    ("wrapper", "prefix", "kind"),
    [
        (pb.Kind, "KIND", t.Kind),
        (pb.Source, "SOURCE", t.Source),
        (pb.Tier, "TIER", t.Tier),
        (pb.Status, "STATUS", t.Status),
        (pb.Visibility, "VISIBILITY", t.Visibility),
        (pb.Relation, "RELATION", t.Relation),
        (api.Effect, "EFFECT", t.Effect),
        (api.CorrectionNature, "CORRECTION_NATURE", t.CorrectionNature),
        (admin.Role, "ROLE", t.Role),
    ],
)
def test_words_are_those_of_the_api(wrapper: Any, prefix: str, kind: type[StrEnum]) -> None:
    api_words = {name.removeprefix(prefix + "_").lower() for name, _ in wrapper.items()} - {"unspecified"}
    assert {member.value for member in kind} - {"unknown"} == api_words


def test_a_word_of_a_newer_server_is_unknown_not_an_error() -> None:
    memory = decode.memory(pb.Memory(kind=99, status=pb.STATUS_ACTIVE))  # type: ignore[arg-type]
    assert (memory.kind, memory.status) == (t.Kind.UNKNOWN, t.Status.ACTIVE)


def test_every_field_of_the_api_is_covered() -> None:
    """A field added to the API must be added here too."""
    assert {field.name for field in pb.Memory.DESCRIPTOR.fields} == set(t.Memory.__dataclass_fields__)
    given = set(t.MemoryFields.__annotations__) - {"subject", "predicate", "object"} | {"text", "assertion"}
    assert {field.name for field in pb.MemoryInput.DESCRIPTOR.fields} == given
    assert {field.name for field in pb.MemoryFilter.DESCRIPTOR.fields} == set(t.MemoryFilter.__dataclass_fields__)
    assert {field.name for field in api.ScoreBreakdown.DESCRIPTOR.fields} == set(
        t.ScoreBreakdown.__dataclass_fields__
    )
    assert {field.name for field in api.RecallResponse.DESCRIPTOR.fields} == set(t.RecallResult.__dataclass_fields__)
    assert {field.name for field in admin.ApiKey.DESCRIPTOR.fields} == set(t.ApiKey.__dataclass_fields__)
