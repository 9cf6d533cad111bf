"""The filter predicate and its vectorised twin agree, and both mean what they say."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_service.domain.memory import (
    Assertion,
    Kind,
    MemoryHead,
    Provenance,
    Source,
    Status,
    Tier,
    Visibility,
)
from memory_service.domain.records import MemoryFilter
from memory_service.domain.retrieval.filters import current_rows, is_current, matches, matching_rows
from memory_service.domain.retrieval.snapshot import OwnerSnapshot
from tests.retrieval.builders import DIMENSION, MODEL, NOW, head, heads, memory_id, row, rows

_DAY = timedelta(days=1)
_names = st.frozensets(st.sampled_from(["", "user", "food", "茶", "nobody"]), max_size=2)
_agents = st.frozensets(st.sampled_from(["", "a1", "a9"]), max_size=2)
_times = st.none() | st.sampled_from([NOW + days * _DAY for days in (-400, -30, -1, 0, 1, 30)])
_floors = st.sampled_from([0.0, 0.3, 0.5])


def some(values: Any, size: int = 3) -> st.SearchStrategy[frozenset[Any]]:
    return st.just(frozenset()) | st.frozensets(st.sampled_from(values), max_size=size)


FILTERS = st.builds(
    MemoryFilter,
    ids=some([memory_id(n) for n in range(12)], 6),
    kinds=some(Kind, 5),
    statuses=some(Status),
    tiers=some(Tier),
    sources=some(Source),
    tags_all=some(["food", "茶", "none"], 1),
    tags_any=some(["food", "茶", "none"], 2),
    topics=_names,
    slots=_names,
    subjects=_names,
    predicates=_names,
    agents=_agents,
    devices=_agents,
    sessions=_agents,
    said_from=_times,
    said_until=_times,
    valid_at=_times,
    importance_min=_floors,
    confidence_min=_floors,
    visible_to_agent=st.sampled_from([None, "", "a1", "a9"]),
)
# One condition at a time as well, since ten conditions together hardly ever match.
SINGLE = st.sampled_from(
    ["ids", "kinds", "statuses", "tags_any", "topics", "subjects", "agents", "said_from", "valid_at"]
)


@given(st.lists(heads(), min_size=1, max_size=10), FILTERS, SINGLE, st.data())
@settings(max_examples=80, deadline=None)
def test_twins_agree(made: list[MemoryHead], where: MemoryFilter, field: str, data: st.DataObject) -> None:
    from dataclasses import replace

    world = [replace(h, current=replace(h.current, id=memory_id(n))) for n, h in enumerate(made)]
    snapshot = OwnerSnapshot.build(rows(*map(row, world)), MODEL, DIMENSION)
    gone = data.draw(st.booleans())
    if gone:
        snapshot = snapshot.apply(rows(revision=2, removed=[memory_id(0)]))
    living = world[1:] if gone else world
    for condition in (where, MemoryFilter(**{field: getattr(where, field)})):
        mask = matching_rows(snapshot, condition)
        found = {snapshot.head(int(place)).id for place in mask.nonzero()[0]}
        assert found == {h.id for h in living if matches(h, condition)}
    now = current_rows(snapshot, NOW)
    assert {snapshot.head(int(place)).id for place in now.nonzero()[0]} == {
        h.id for h in living if is_current(h, NOW)
    }


@pytest.mark.parametrize(
    ("changes", "where"),
    [
        ({"kind": Kind.TASK}, MemoryFilter(kinds=frozenset({Kind.FACT}))),
        ({"tags": ("a",)}, MemoryFilter(tags_all=frozenset({"a", "b"}))),
        ({"tags": ("a",)}, MemoryFilter(tags_any=frozenset({"b", "c"}))),
        ({}, MemoryFilter(subjects=frozenset({"user"}))),
        ({"assertion": Assertion("user", "role", 1)}, MemoryFilter(predicates=frozenset({"goal"}))),
        ({"provenance": Provenance("k", session="s1")}, MemoryFilter(sessions=frozenset({"s2"}))),
        ({"said_at": NOW}, MemoryFilter(said_until=NOW)),
        ({"said_at": NOW - _DAY}, MemoryFilter(said_from=NOW)),
        ({"valid_to": NOW}, MemoryFilter(valid_at=NOW)),
        ({"valid_from": NOW + _DAY}, MemoryFilter(valid_at=NOW)),
        ({"importance": 0.2}, MemoryFilter(importance_min=0.21)),
        (
            {"visibility": Visibility.PRIVATE, "provenance": Provenance("k", agent="mine")},
            MemoryFilter(visible_to_agent="yours"),
        ),
    ],
)
def test_what_a_filter_leaves_out(changes: dict[str, Any], where: MemoryFilter) -> None:
    assert not matches(head(1, **changes), where)
    assert matches(head(1, **changes), MemoryFilter())


@pytest.mark.parametrize(
    ("changes", "where"),
    [
        ({"tags": ("a", "b")}, MemoryFilter(tags_all=frozenset({"a", "b"}))),
        ({"said_at": NOW}, MemoryFilter(said_from=NOW, said_until=NOW + _DAY)),
        ({"said_at": None}, MemoryFilter(said_from=NOW, said_until=NOW + _DAY)),
        ({"valid_from": NOW, "valid_to": NOW + _DAY}, MemoryFilter(valid_at=NOW)),
        ({"importance": 0.2}, MemoryFilter(importance_min=0.2)),
        (
            {"visibility": Visibility.PRIVATE, "provenance": Provenance("k", agent="mine")},
            MemoryFilter(visible_to_agent="mine"),
        ),
    ],
)
def test_what_a_filter_lets_through(changes: dict[str, Any], where: MemoryFilter) -> None:
    assert matches(head(1, **changes), where)


@pytest.mark.parametrize(
    "changes",
    [
        {"expires_at": NOW},
        {"valid_to": NOW},
        {"valid_from": NOW + _DAY, "valid_to": NOW + _DAY},
        {"status": Status.SUPERSEDED},
        {"status": Status.RETRACTED},
        {"tier": Tier.ARCHIVE},
    ],
)
def test_what_is_not_current(changes: dict[str, Any]) -> None:
    assert not is_current(head(1, **changes), NOW)
    assert is_current(head(1, status=Status.CONTESTED), NOW)
    assert is_current(head(1, valid_from=NOW + _DAY), NOW), "what lies ahead is told as such"
