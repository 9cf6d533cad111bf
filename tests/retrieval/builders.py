"""Small worlds of memories for the retrieval tests."""

from __future__ import annotations

import random
import uuid
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from memory_service.domain.ids import DeviceId, MemoryId, Revision
from memory_service.domain.memory import (
    Assertion,
    Kind,
    MemoryHead,
    MemoryVersion,
    Provenance,
    Source,
    Status,
    Tier,
    Usage,
    Visibility,
)
from memory_service.domain.records import Fragment, SearchRow, SearchRows
from memory_service.domain.text.analysis import analyse
from memory_service.domain.vector_clock import Dot, VectorClock

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
MODEL = "test:model"
DIMENSION = 8


def memory_id(number: int) -> MemoryId:
    return MemoryId(uuid.UUID(int=(number + 1) * 0x9E3779B97F4A7C15F39CC0605CEDC835 % 2**128))


def head(number: int = 0, text: str = "a memory", *, usage: Usage | None = None, **changes: Any) -> MemoryHead:
    """A plain long-term fact said and recorded at NOW, with the given changes."""
    version = MemoryVersion(
        id=memory_id(number),
        version=1,
        content_version=1,
        kind=Kind.FACT,
        text=text,
        topic="",
        slot="",
        claim="",
        source=Source.EXPLICIT,
        confidence=0.95,
        importance=0.5,
        support=1,
        tier=Tier.LONG_TERM,
        status=Status.ACTIVE,
        recorded_at=NOW,
        dot=Dot(DeviceId("server"), number + 1),
        context=VectorClock({DeviceId("server"): number}),
        revision=Revision(number + 1),
        provenance=Provenance(actor="key"),
    )
    return MemoryHead(replace(version, **changes), usage or Usage(), NOW)


def unit(vector: Sequence[float] | NDArray[Any]) -> NDArray[np.float32]:
    array = np.asarray(vector, np.float64)
    return (array / np.linalg.norm(array)).astype(np.float32)


def random_unit(seed: int, dimension: int = DIMENSION) -> NDArray[np.float32]:
    return unit(np.random.default_rng(seed).normal(size=dimension))


def row(of: MemoryHead, *vectors: NDArray[np.float32] | None, terms: Sequence[str] | None = None) -> SearchRow:
    """A search row with one fragment for each vector, the terms being split among them."""
    words = list(analyse(of.current.text) if terms is None else terms)
    pieces = vectors or (None,)
    share = -(-len(words) // len(pieces))
    fragments = [
        Fragment(
            of.id,
            of.current.content_version,
            place,
            of.current.text,
            tuple(words[place * share : (place + 1) * share]),
            "" if vector is None else MODEL,
            vector,
        )
        for place, vector in enumerate(pieces)
    ]
    return SearchRow(of, fragments)


def rows(*of: SearchRow, revision: int = 1, removed: Sequence[MemoryId] = ()) -> SearchRows:
    return SearchRows(Revision(revision), VectorClock({DeviceId("d"): revision}), of, removed)


WORDS = [
    "tea",
    "coffee",
    "green",
    "office",
    "port",
    "5432",
    "茶",
    "咖啡",
    "user",
    "likes",
    "who?",
    "哪里？",
    "We call it. The van aka Bertha.",
]
_NAMES = ["", "user", "tech_stack", "food", "茶", "work travel"]
_TIMES = [None, *(NOW + timedelta(days=days) for days in (-400, -30, -1, 0, 1, 30))]


@st.composite
def heads(draw: st.DrawFn, number: int = 0) -> MemoryHead:
    """Any memory, over small sets of values so that filters meet them."""
    name, time = st.sampled_from(_NAMES), st.sampled_from(_TIMES)
    agent = st.sampled_from(["", "a1", "a2"])
    assertion = st.builds(Assertion, name, name, st.sampled_from([1, "x", None, {"a": [1.5, True]}]))
    return head(
        number,
        " ".join(draw(st.lists(st.sampled_from(WORDS), max_size=6))),
        usage=draw(st.builds(Usage, st.integers(0, 9), st.integers(0, 3), time, time, st.integers(0, 5))),
        kind=draw(st.sampled_from(Kind)),
        topic=draw(name),
        slot=draw(name),
        source=draw(st.sampled_from(Source)),
        confidence=draw(st.sampled_from([0.0, 0.3, 0.5, 1.0])),
        importance=draw(st.sampled_from([0.0, 0.3, 0.5, 1.0])),
        tier=draw(st.sampled_from(Tier)),
        status=draw(st.sampled_from(Status)),
        recorded_at=draw(time) or NOW,
        provenance=Provenance(
            "key", draw(agent), draw(agent), draw(agent), draw(st.sampled_from(["p", "conversation"])), "r"
        ),
        assertion=draw(st.none() | assertion),
        tags=tuple(draw(st.lists(name.filter(bool), unique=True, max_size=3))),
        valid_from=draw(time),
        valid_to=draw(time),
        expires_at=draw(time),
        said_at=draw(time),
        visibility=draw(st.sampled_from(Visibility)),
        pinned=draw(st.booleans()),
    )


@st.composite
def search_rows(draw: st.DrawFn, numbers: Sequence[int], revision: int = 1) -> SearchRows:
    """A row for each number, with none, one or several vectors."""
    made = []
    for number in numbers:
        count = draw(st.integers(0, 3))
        vectors = [random_unit(draw(st.integers(0, 99))) for _ in range(count)]
        made.append(row(draw(heads(number)), *vectors))
    return rows(*made, revision=revision)


def shuffled(of: SearchRows, seed: int) -> SearchRows:
    order = list(of.rows)
    random.Random(seed).shuffle(order)
    return replace(of, rows=order)
