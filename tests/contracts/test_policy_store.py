"""Policy store contract: versions of documents, what they would orphan, counts of experiments, re-use intervals."""

from __future__ import annotations

import asyncio
import dataclasses
import uuid

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_service.domain import limits
from memory_service.domain.ids import OwnerKey, TenantId, UserId
from memory_service.domain.memory import Assertion, Kind, Status, Tier, Usage
from memory_service.domain.policy import Measure, PolicyDocument, Variant
from memory_service.domain.records import Changeset, OwnerState
from memory_service.domain.reuse import SHORTEST_SECONDS, Interval, bucket_of, bucket_seconds
from memory_service.ports.memory_store import MemoryStore
from memory_service.ports.policy_store import PolicyStore
from tests.contracts import builders as make
from tests.contracts import strategies


def new_tenant() -> TenantId:
    return TenantId(f"tenant-{uuid.uuid4()}")


def document(tenant: TenantId, version: int = 1, **fields: object) -> PolicyDocument:
    """A version of a document; `fields` override."""
    given = PolicyDocument(tenant, "vocabulary", version, f'{{"n": {version}}}', "key", "why", make.at(version))
    return dataclasses.replace(given, **fields)  # type: ignore[arg-type]


async def newest(policies: PolicyStore) -> int:
    """The highest sequence number there is."""
    sequence = 0
    while found := await policies.newest_after(sequence, limit=50):
        sequence = found[-1].sequence
    return sequence


@settings(max_examples=30)
@given(
    content=strategies.texts,
    name=strategies.texts,
    actor=strategies.texts,
    reason=strategies.texts,
    at=strategies.times,
)
async def test_versions_round_trip(policies: PolicyStore, content, name, actor, reason, at):
    tenant = new_tenant()
    wanted = document(tenant, name=name, content=content, actor=actor, reason=reason, at=at)
    assert await policies.add(wanted)
    found = await policies.version(tenant, name, 1)
    assert found is not None
    assert found.sequence > 0
    utc = make.START.tzinfo
    assert dataclasses.replace(found, sequence=0) == dataclasses.replace(wanted, at=at.astimezone(utc))
    assert list(await policies.history(tenant, name, limit=5)) == [found]


async def test_only_the_next_version_is_stored(policies: PolicyStore):
    tenant = new_tenant()
    assert not await policies.add(document(tenant, 2))
    assert await policies.add(document(tenant, 1))
    for version in (1, 3):
        assert not await policies.add(document(tenant, version, content="other"))
    assert await policies.add(document(tenant, 2))
    history = await policies.history(tenant, "vocabulary", limit=10)
    assert [d.version for d in history] == [2, 1]
    assert [d.version for d in await policies.history(tenant, "vocabulary", limit=10, before=2)] == [1]
    assert [d.version for d in await policies.history(tenant, "vocabulary", limit=1)] == [2]
    assert await policies.version(tenant, "vocabulary", 3) is None
    assert await policies.version(tenant, "other", 1) is None
    assert await policies.history(new_tenant(), "vocabulary", limit=10) == []


async def test_of_many_that_change_at_once_one_wins(policies: PolicyStore):
    tenant = new_tenant()
    won = await asyncio.gather(*(policies.add(document(tenant, content=str(n))) for n in range(8)))
    assert sum(won) == 1
    (kept,) = await policies.history(tenant, "vocabulary", limit=10)
    assert kept.content == str(won.index(True))


async def test_a_reader_that_goes_by_sequence_numbers_misses_nothing(policies: PolicyStore):
    start = await newest(policies)
    tenants = [new_tenant() for _ in range(6)]
    for version in (1, 2):
        await asyncio.gather(*(policies.add(document(tenant, version)) for tenant in tenants))
    await policies.add(document(tenants[0], 1, name="parameters/default"))
    found: list[PolicyDocument] = []
    sequence = start
    while page := await policies.newest_after(sequence, limit=2):
        assert len(page) <= 2
        found += page
        sequence = page[-1].sequence
    assert [d.sequence for d in found] == sorted(d.sequence for d in found)
    mine = {(d.tenant, d.name): d.version for d in found if d.tenant in tenants}
    wanted = {(tenant, "vocabulary"): 2 for tenant in tenants} | {(tenants[0], "parameters/default"): 1}
    assert mine == wanted


async def test_old_versions_go(policies: PolicyStore, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(limits, "POLICY_VERSIONS_MAX", 3)
    tenant = new_tenant()
    for version in range(1, 6):
        assert await policies.add(document(tenant, version))
    assert [d.version for d in await policies.history(tenant, "vocabulary", limit=10)] == [5, 4, 3]
    assert await policies.version(tenant, "vocabulary", 2) is None


async def hold(store: MemoryStore, tenant: TenantId, user: str, *predicates: str) -> OwnerKey:
    """Memories with these predicates, of one user."""
    owner = OwnerKey(tenant, UserId(user))
    versions = [
        make.version(make.new_id(), assertion=Assertion("user", predicate, "x"), status=status)
        for predicate, status in zip(predicates, [Status.ACTIVE, Status.SUPERSEDED] * 9, strict=False)
    ]
    await make.write(store, owner, *versions, make.version(make.new_id()))
    return owner


async def test_uses_are_counted_over_a_tenants_users_and_no_others(store: MemoryStore, policies: PolicyStore):
    tenant = new_tenant()
    await hold(store, tenant, "ann", "shoe_size", "shoe_size", "pet")
    await hold(store, tenant, "bob", "shoe_size")
    await hold(store, new_tenant(), "ann", "shoe_size")
    uses = await policies.uses(tenant, ["shoe_size", "nothing"], limit=10)
    assert (uses.memories, uses.users, uses.more) == (3, 2, False)
    others = await policies.uses(tenant, ["shoe_size"], others=True, limit=10)
    assert (others.memories, others.users) == (1, 1)
    capped = await policies.uses(tenant, ["shoe_size"], limit=2)
    assert (capped.memories, capped.more) == (2, True)
    none = await policies.uses(tenant, ["hat_size"], limit=10)
    assert (none.memories, none.users, none.more) == (0, 0, False)


async def test_uses_count_what_lies_in_the_archive_and_in_cold_storage(store: MemoryStore, policies: PolicyStore):
    tenant = new_tenant()
    owner = OwnerKey(tenant, UserId("ann"))
    heads = [
        make.version(make.new_id(), assertion=Assertion("user", predicate, "x"), tier=Tier.ARCHIVE)
        for predicate in ("shoe_size", "shoe_size", "pet")
    ]
    await make.write(store, owner, *heads)
    assert len(await store.freeze(owner, "file", {head.id: 1 for head in heads[1:]})) == 2
    uses = await policies.uses(tenant, ["shoe_size"], limit=10)
    assert (uses.memories, uses.users, uses.more) == (2, 1, False)
    others = await policies.uses(tenant, ["shoe_size"], others=True, limit=10)
    assert (others.memories, others.users) == (1, 1)
    assert (await policies.uses(tenant, ["shoe_size", "pet"], limit=2)).more

    def forget(state: OwnerState) -> Changeset:
        return Changeset(state=make.next_state(state), forgotten=[heads[1].id])

    await make.commit(store, owner, forget)
    assert (await policies.uses(tenant, ["shoe_size"], limit=10)).memories == 1


async def test_counts_add_up_apart(policies: PolicyStore):
    tenant = new_tenant()
    control, treatment = (Variant.CONTROL, Measure.RECALL), (Variant.TREATMENT, Measure.WRITE)
    await asyncio.gather(*(policies.tally(tenant, "slow", {control: 2, treatment: 1}) for _ in range(5)))
    await policies.tally(tenant, "fast", {control: 7})
    await policies.tally(tenant, "slow", {})
    assert await policies.tallies(tenant, "slow") == {control: 10, treatment: 5}
    assert await policies.tallies(tenant, "fast") == {control: 7}
    assert await policies.tallies(new_tenant(), "slow") == {}


@settings(max_examples=25, deadline=None)
@given(gaps=st.lists(st.floats(0, 400 * 86_400), min_size=1, max_size=8))
async def test_intervals_fall_into_the_buckets_that_the_domain_says(
    store: MemoryStore, policies: PolicyStore, gaps: list[float]
):
    tenant, moment = new_tenant(), 0.0
    owner = OwnerKey(tenant, UserId("ann"))
    memory = make.version(make.new_id(), kind=Kind.FACT, assertion=Assertion("user", "pet", "cat"))
    await make.write(store, owner, memory, usage={memory.id: Usage(0, 0, make.at(0), None)})
    expected: dict[int, int] = {}
    for gap in gaps:
        gap = round(gap) + 0.5  # never on the edge of a bucket, where the last bit would decide
        moment += gap
        await store.record_access(owner, {memory.id: (3, make.at(moment))}, ["pet"])
        bucket = bucket_of(gap)
        if bucket is not None:
            expected[bucket] = expected.get(bucket, 0) + 1
    wanted = {Interval(Kind.FACT, "pet", bucket, count) for bucket, count in expected.items()}
    assert set(await store.intervals(owner)) == wanted
    assert set(await policies.intervals(tenant)) == wanted


async def test_a_word_outside_the_vocabulary_is_kept_in_no_statistic(store: MemoryStore, policies: PolicyStore):
    tenant = new_tenant()
    for owner in (OwnerKey(tenant, UserId("ann")), OwnerKey(tenant, UserId("bob"))):
        memory = make.version(make.new_id(), kind=Kind.FACT, assertion=Assertion("user", "my_secret", "x"))
        await make.write(store, owner, memory, usage={memory.id: Usage(0, 0, make.at(0), None)})
        await store.record_access(owner, {memory.id: (1, make.at(bucket_seconds(4.5)))}, ["pet"])
        await store.record_access(owner, {memory.id: (1, make.at(bucket_seconds(4.5) + SHORTEST_SECONDS / 2))})
    assert list(await policies.intervals(tenant)) == [Interval(Kind.FACT, "", 4, 2)]
