"""Arbitrary values that the store must keep, and random histories of an owner."""

from __future__ import annotations

import dataclasses
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from hypothesis import strategies as st

from memory_service.domain.evidence import Attestation, Evidence
from memory_service.domain.ids import DeviceId, MemoryId, OwnerKey, Revision
from memory_service.domain.memory import (
    Assertion,
    Kind,
    MemoryVersion,
    Provenance,
    Source,
    Status,
    Tier,
    Usage,
    Visibility,
)
from memory_service.domain.vector_clock import COUNTER_MAX, Dot, VectorClock
from memory_service.ports.memory_store import Changeset, Fragment, MemoryStore, OwnerState
from tests.contracts import builders as make
from tests.contracts.model import NaiveOwner

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=30)
numbers = st.integers(-(2**80), 2**80) | st.floats(allow_nan=False, allow_infinity=False)
json_values = st.recursive(
    st.none() | st.booleans() | numbers | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
zones = st.sampled_from([UTC, ZoneInfo("America/Denver"), ZoneInfo("Asia/Shanghai"), ZoneInfo("Asia/Kathmandu")])
earliest, latest = (datetime(year, 1, 1, tzinfo=UTC).replace(tzinfo=None) for year in (1000, 9000))
times = st.datetimes(earliest, latest, timezones=zones)
dots = st.builds(Dot, texts.map(DeviceId), st.integers(1, COUNTER_MAX))
clocks = st.dictionaries(texts.map(DeviceId), st.integers(0, COUNTER_MAX), max_size=4).map(VectorClock)
unit = st.floats(0, 1)
attestations = st.builds(
    Attestation, texts.map(DeviceId), st.integers(1, COUNTER_MAX), unit, st.integers(1, 2**31 - 1)
)
evidence = st.lists(attestations, max_size=3).map(Evidence.of)

arbitrary_versions = st.builds(
    MemoryVersion,
    id=st.uuids().map(MemoryId),
    version=st.just(1),
    content_version=st.just(1),
    kind=st.sampled_from(Kind),
    text=texts,
    topic=texts,
    slot=texts,
    claim=texts,
    source=st.sampled_from(Source),
    confidence=unit,
    importance=unit,
    support=st.integers(1, 2**31 - 1),
    tier=st.sampled_from(Tier),
    status=st.sampled_from(Status),
    recorded_at=times,
    dot=dots,
    context=clocks,
    revision=st.just(Revision(1)),
    provenance=st.builds(Provenance, *[texts] * 6),
    assertion=st.none() | st.builds(Assertion, texts, texts, json_values),
    tags=st.lists(texts, max_size=4, unique=True).map(tuple),
    language=st.sampled_from(["und", "en", "zh"]),
    valid_from=st.none() | times,
    valid_to=st.none() | times,
    expires_at=st.none() | times,
    said_at=st.none() | times,
    visibility=st.sampled_from(Visibility),
    pinned=st.booleans(),
    reason=texts,
    redacted=st.just(False),
    evidence=evidence,
    disputed=st.booleans(),
)

words = st.sampled_from(["a", "b", "c"])
seconds = st.integers(0, 9).map(make.at)

small_versions = st.builds(
    make.version,
    st.uuids().map(MemoryId),
    kind=st.sampled_from([Kind.FACT, Kind.EVENT, Kind.PREFERENCE]),
    topic=words,
    slot=words,
    claim=words,
    source=st.sampled_from([Source.EXPLICIT, Source.INFERRED]),
    confidence=st.sampled_from([0.25, 0.5, 0.75]),
    importance=st.sampled_from([0.25, 0.5, 0.75]),
    tier=st.sampled_from(Tier),
    status=st.sampled_from(Status),
    provenance=st.builds(Provenance, st.just("actor"), words, words, words),
    assertion=st.none() | st.builds(Assertion, words, words, st.integers(0, 3)),
    tags=st.lists(words, max_size=3, unique=True).map(tuple),
    valid_from=st.none() | seconds,
    valid_to=st.none() | seconds,
    said_at=st.none() | seconds,
    visibility=st.sampled_from(Visibility),
    evidence=st.just(Evidence((Attestation(DeviceId("d"), 1, 0.5),))) | st.just(Evidence()),
)
"""Versions whose fields take few values, so that filters both hit and miss."""

step_kinds = st.sampled_from(["new", "new", "update", "update", "state", "forget", "vectors", "access", "usage"])
step = st.tuples(step_kinds, small_versions, st.integers(0, 99))
steps = st.lists(step, max_size=14)
"""A history in short: what to do, with which values, to which memory (modulo how many there are)."""


class History:
    """Runs steps on a store and on the naive model side by side."""

    def __init__(self, store: MemoryStore, owner: OwnerKey) -> None:
        self.store = store
        self.owner = owner
        self.model = NaiveOwner(OwnerState(Revision(0), VectorClock(), b""))
        self.time = 0

    async def run(self, step: tuple[str, MemoryVersion, int]) -> None:
        """One step; those about existing memories are passed over while there are none."""
        kind, values, choice = step
        self.time += 1
        alive = [head.id for head in self.model.heads()]
        if kind == "new" or not alive:
            # The id is drawn; a repeated draw would be a second first version.
            fresh = dataclasses.replace(values, id=MemoryId(uuid.uuid4()), recorded_at=make.at(self.time))
            await self._commit(lambda state: self._with_fragments(fresh, choice))
            return
        chosen = alive[choice % len(alive)]
        last = self.model.chain(chosen)[-1]
        number = last.version + 1
        if kind == "update":
            following = dataclasses.replace(
                values, id=chosen, version=number, content_version=number, recorded_at=make.at(self.time)
            )
            await self._commit(lambda state: self._with_fragments(following, choice))
        elif kind == "state":
            following = dataclasses.replace(
                last, version=number, status=values.status, tier=values.tier, recorded_at=make.at(self.time)
            )
            await self._commit(lambda state: {"versions": [following]})
        elif kind == "forget":
            await self._commit(lambda state: {"forgotten": [chosen]})
        elif kind == "usage":
            usage = Usage(choice, choice // 2, make.at(self.time), make.at(self.time + 1), choice % 5)
            await self._commit(lambda state: {"usage": {chosen: usage}})
        elif kind == "vectors":
            await self._vectors(choice)
        else:
            accesses = {chosen: (1 + choice % 3, make.at(choice)), make.new_id(): (1, make.at(1))}
            await self.store.record_access(self.owner, accesses)
            self.model.access(accesses)

    def _with_fragments(self, version: MemoryVersion, choice: int) -> dict[str, object]:
        return {
            "versions": [version],
            "fragments": [
                make.fragment(version, ordinal, seed=None if (choice + ordinal) % 3 == 0 else choice + ordinal)
                for ordinal in range(choice % 3)
            ],
        }

    async def _commit(self, build: Callable[[OwnerState], dict[str, object]]) -> None:
        async with self.store.change(self.owner) as change:
            assert make.plain(change.state) == make.plain(self.model.state)
            after = make.next_state(change.state, Dot(DeviceId("d"), change.state.clock.counter(DeviceId("d")) + 1))
            fields = build(change.state)
            versions = [
                dataclasses.replace(v, revision=after.revision, dot=Dot(DeviceId("d"), after.revision))
                for v in fields.pop("versions", [])  # type: ignore[attr-defined]
            ]
            changeset = Changeset(state=after, versions=versions, **fields)  # type: ignore[arg-type]
            await change.apply(changeset)
        self.model.apply(changeset)

    async def _vectors(self, choice: int) -> None:
        model_id = make.MODEL if choice % 2 else make.OTHER_MODEL
        waiting = await self.store.waiting_fragments(self.owner, model_id, limit=1 + choice % 4)
        made: list[Fragment] = [
            dataclasses.replace(f, model_id=model_id, vector=make.vector(choice + i)) for i, f in enumerate(waiting)
        ]
        await self.store.store_vectors(self.owner, made)
        after = (await self.store.state(self.owner)).revision
        assert after > self.model.state.revision or not made
        self.model.store_vectors(made, after)
