"""What a tenant decides for itself, through the API on real PostgreSQL: words, numbers, experiments, calibration."""

from __future__ import annotations

import asyncio
import contextlib
import time
import uuid
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from memory_service.adapters.embedded import EmbeddedStack
from memory_service.adapters.postgres.backend import PostgresBackend
from memory_service.adapters.postgres.settings import PostgresSettings
from memory_service.client import (
    Aborted,
    AlreadyExists,
    AsyncMemoryClient,
    FailedPrecondition,
    InvalidArgument,
    Kind,
    MemoryClientError,
    NotFound,
    PermissionDenied,
    UnknownPredicates,
    Variant,
)
from memory_service.domain.ids import MemoryId, OwnerKey, TenantId, UserId
from memory_service.ports.keys import Role
from tests.acceptance.service import ServiceProcess, serving
from tests.acceptance.world import first_key, make_keys, new_user
from tests.conftest import NewDatabase

DAY = 86_400.0
REFRESH_SECONDS_MAX = 1.0
"""`policy_refresh_seconds` as shipped."""


@contextlib.asynccontextmanager
async def tenant(
    service: ServiceProcess, role: Role = Role.ADMIN, name: str = ""
) -> AsyncIterator[AsyncMemoryClient]:
    """A client with a key of a tenant of its own; its `user` is the tenant's only one so far."""
    (key,) = await make_keys(service, (name or f"tenant-{uuid.uuid4()}", role, (), None))
    async with service.client(new_user(), key.secret) as client:
        yield client


@pytest.fixture
async def own(service: ServiceProcess) -> AsyncIterator[AsyncMemoryClient]:
    """An admin of a tenant that nobody else uses."""
    async with tenant(service) as client:
        yield client


async def refused(call: Any, error: type[MemoryClientError], reason: str, field: str = "") -> MemoryClientError:
    """Await a call that must fail so."""
    with pytest.raises(error) as caught:
        await call
    assert caught.value.reason == reason
    assert not field or caught.value.field == field
    return caught.value


# Vocabulary -------------------------------------------------------------------------------------------------


async def test_a_word_is_in_force_when_its_change_is_answered(own: AsyncMemoryClient):
    await refused(own.write(predicate="shoe size", object=42), InvalidArgument, "UNKNOWN_PREDICATE")
    kept = await own.put_predicate(
        "Shoe-Size",
        kind="profile",
        cardinality="one",
        tau=timedelta(days=400),
        aliases=["鞋码", "EU size", "shoe_size"],
    )
    assert (kept.name, kept.aliases, kept.merge.value) == ("shoe_size", ("鞋码", "EU size"), "confirm")
    first = await own.write(predicate="shoe size", object=42)
    assert first.memory is not None
    assert first.memory.kind is Kind.PROFILE
    second = await own.write(predicate="鞋码", object=43)
    assert [item.effect.value for item in second.affected] == ["superseded"]
    found = await own.recall("what is my EU size?")
    assert [m.memory.assertion.object for m in found if m.memory.assertion] == [43]
    words = await own.vocabulary()
    assert words.version == 1
    assert kept in words.predicates
    await own.put_predicate(
        "shoe_size", kind="profile", cardinality="one", tau=timedelta(days=400), aliases=["鞋码", "EU size"]
    )
    assert (await own.vocabulary()).version == 1, "what changes nothing is no version"


async def test_history_tells_who_and_why_and_a_roll_back_restores_the_words(own: AsyncMemoryClient):
    start = await own.vocabulary()
    await own.put_predicate("shoe_size", kind="fact", reason="for the shop")
    middle = await own.vocabulary()
    await own.put_predicate("shoe_size", kind="profile", never_decays=True)
    await own.remove_predicate("pet", replacement="family", reason="pets are family")
    now = await own.vocabulary()
    assert "pet" in next(word for word in now.predicates if word.name == "family").aliases
    history = await own.vocabulary_history()
    assert [one.version for one in history] == [3, 2, 1]
    assert [one.reason for one in history] == ["pets are family", "", "for the shop"]
    assert all(uuid.UUID(one.actor) for one in history)
    assert [one.version for one in await own.vocabulary_history(limit=1, before_version=3)] == [2]
    assert await own.rollback_vocabulary(1) == 4
    again = await own.vocabulary()
    assert (again.predicates, again.unknown) == (middle.predicates, middle.unknown)
    assert await own.rollback_vocabulary(0) == 5
    assert (await own.vocabulary()).predicates == start.predicates
    await refused(own.rollback_vocabulary(77), NotFound, "VERSION_NOT_FOUND", "version")


async def test_memories_are_never_left_with_a_word_nobody_knows(own: AsyncMemoryClient):
    await own.put_predicate("shoe_size", kind="profile", cardinality="one")
    for user, size in (("ann", 40), ("bob", 41), ("bob", 42)):
        await own.write(predicate="shoe_size", object=size, user=user)
    error = await refused(own.remove_predicate("shoe_size"), FailedPrecondition, "PREDICATE_IN_USE", "name")
    assert (error.metadata["memories"], error.metadata["users"]) == ("3", "2")
    await refused(own.rollback_vocabulary(0), FailedPrecondition, "PREDICATE_IN_USE")
    assert (await own.vocabulary()).version == 1, "a refused change changes nothing"
    assert await own.remove_predicate("shoe_size", replacement="attribute") == 2
    await own.write(predicate="shoe_size", object=44, user="ann")
    await own.remove_predicate("incident")  # nobody has one
    await refused(own.write(predicate="incident", object="fire"), InvalidArgument, "UNKNOWN_PREDICATE")


async def test_unknown_predicates_are_mapped_once_a_tenant_wants_it(own: AsyncMemoryClient):
    await own.set_unknown_predicates("map")
    written = await own.write(predicate="blood type", object="0+")
    assert written.memory is not None
    assert written.memory.assertion is not None
    assert written.memory.assertion.predicate == "blood_type"
    error = await refused(own.set_unknown_predicates("refuse"), FailedPrecondition, "PREDICATE_IN_USE")
    assert error.metadata["memories"] == "1"
    await refused(own.remove_predicate("attribute"), InvalidArgument, "FIELD_INVALID", "name")
    await own.put_predicate("blood_type", kind="fact", sensitive=True)
    await own.set_unknown_predicates("refuse")
    assert (await own.vocabulary()).unknown is UnknownPredicates.REFUSE


WRONG_WORDS: list[tuple[str, dict[str, Any], str, str]] = [
    ("", {}, "FIELD_REQUIRED", "predicate.name"),
    ("--", {}, "FIELD_INVALID", "predicate.name"),
    ("x" * 65, {}, "FIELD_TOO_LONG", "predicate.name"),
    ("a\0b", {}, "TEXT_NOT_STORABLE", "predicate.name"),
    ("size", {"tau": timedelta(0)}, "FIELD_OUT_OF_RANGE", "predicate.tau"),
    ("size", {"tau": timedelta(days=-1)}, "FIELD_OUT_OF_RANGE", "predicate.tau"),
    ("size", {"tau": timedelta(days=40_000)}, "FIELD_OUT_OF_RANGE", "predicate.tau"),
    ("size", {"aliases": [f"n{n}" for n in range(51)]}, "FIELD_TOO_LONG", "predicate.aliases"),
    ("size", {"aliases": ["fine", ""]}, "FIELD_REQUIRED", "predicate.aliases[1]"),
    ("size", {"aliases": ["Full Name"]}, "FIELD_INVALID", "predicate.aliases"),
    ("过敏", {}, "FIELD_INVALID", "predicate.name"),
    ("size", {"reason": "x" * 513}, "FIELD_TOO_LONG", "reason"),
    ("size", {"expected_version": -1}, "FIELD_OUT_OF_RANGE", "expected_version"),
]


@pytest.mark.parametrize(("name", "fields", "reason", "field"), WRONG_WORDS)
async def test_wrong_words_are_refused_by_field(
    own: AsyncMemoryClient, name: str, fields: dict[str, Any], reason: str, field: str
):
    await refused(own.put_predicate(name, **{"kind": "fact", **fields}), InvalidArgument, reason, field)
    assert (await own.vocabulary()).version == 0


async def test_a_change_based_on_an_older_version_is_refused(own: AsyncMemoryClient):
    await own.put_predicate("one", kind="fact")
    await own.put_predicate("two", kind="fact", expected_version=1)
    error = await refused(
        own.put_predicate("three", kind="fact", expected_version=1), Aborted, "ETAG_MISMATCH", "expected_version"
    )
    assert error.metadata["version"] == "2"
    await own.put_predicate("two", kind="fact", expected_version=1)  # a retry of what was done is answered


async def test_changes_at_once_that_name_no_version_are_all_made(own: AsyncMemoryClient):
    names = {f"many_{n}" for n in range(40)}
    await asyncio.gather(*(own.put_predicate(name, kind="fact") for name in names))
    words = await own.vocabulary()
    assert names <= {word.name for word in words.predicates}
    assert words.version == 40


async def test_only_an_admin_decides_and_only_for_its_own_tenant(service: ServiceProcess, own: AsyncMemoryClient):
    await own.put_predicate("shoe_size", kind="fact")
    calls: list[Callable[[AsyncMemoryClient], Any]] = [
        lambda c: c.vocabulary(),
        lambda c: c.put_predicate("x", kind="fact"),
        lambda c: c.remove_predicate("pet"),
        lambda c: c.set_unknown_predicates("map"),
        lambda c: c.vocabulary_history(),
        lambda c: c.rollback_vocabulary(0),
        lambda c: c.parameters(),
        lambda c: c.set_parameters({"replace_ratio": 2}),
        lambda c: c.parameter_history(),
        lambda c: c.rollback_parameters(0),
        lambda c: c.start_experiment("e", "t", share=0.5),
        lambda c: c.stop_experiment("e"),
        lambda c: c.experiments(),
        lambda c: c.calibration(),
    ]
    async with tenant(service, Role.WRITER) as writer:
        for call in calls:
            error = await refused(call(writer), PermissionDenied, "ROLE_REQUIRED")
            assert error.metadata["role"] == "admin"
    async with tenant(service) as other:
        assert (await other.vocabulary()).version == 0
        assert await other.vocabulary_history() == []
        await refused(other.write(predicate="shoe_size", object=42), InvalidArgument, "UNKNOWN_PREDICATE")


async def test_every_replica_follows_and_nothing_acknowledged_is_lost(
    stack: EmbeddedStack, new_database: NewDatabase, data_dir: Path
):
    async with new_database() as dsn:
        env = {"MEMORY_SERVICE_DATABASE_URL": dsn, "MEMORY_SERVICE_REDIS_URL": stack.redis_url}
        key = await first_key(dsn)
        async with serving(data_dir / "a", env) as one, serving(data_dir / "b", env) as two:
            async with one.client("ann", key) as here, two.client("ann", key) as there:
                await there.vocabulary()
                await here.put_predicate("shoe_size", kind="fact")
                began = time.monotonic()
                while (await there.vocabulary()).version == 0:
                    assert time.monotonic() - began < REFRESH_SECONDS_MAX + 10.0
                    await asyncio.sleep(0.02)
                await there.write(predicate="shoe_size", object=42)
                # A change on the replica that had not made the last one goes on from it.
                await there.put_predicate("hat_size", kind="fact", expected_version=1)
            await one.kill9()
            await one.start()
            async with one.client("ann", key) as here:
                assert (await here.vocabulary()).version == 2
                await here.write(predicate="hat_size", object=58)


# Parameters -------------------------------------------------------------------------------------------------


async def test_a_number_is_in_force_when_its_change_is_answered(own: AsyncMemoryClient):
    listed = await own.parameters()
    assert listed.version == 0
    by_name = {one.name: one for one in listed.parameters}
    assert (by_name["replace_ratio"].value, by_name["replace_ratio"].requirement) == (1.2, "E4")
    before = await own.write("I may move to Porto some day", source="inferred")
    assert await own.set_parameters({"confidence.inferred": 0.4, "tau_seconds.fact": 5 * DAY}, reason="tried") == 1
    after = await own.write("I may move to Gdansk some day", source="inferred")
    assert before.memory is not None
    assert after.memory is not None
    assert (before.memory.confidence, after.memory.confidence) == (0.5, 0.4)
    assert await own.set_parameters(reset=["confidence.inferred"]) == 2
    history = await own.parameter_history()
    assert [one.values for one in history] == [
        {"tau_seconds.fact": 5 * DAY},
        {"confidence.inferred": 0.4, "tau_seconds.fact": 5 * DAY},
    ]
    assert await own.rollback_parameters(1) == 3
    assert (await own.parameter_history(limit=1))[0].values == history[1].values
    assert await own.rollback_parameters(0) == 4
    assert all(one.value == one.default for one in (await own.parameters()).parameters)


async def test_ranking_weights_change_the_scores(own: AsyncMemoryClient):
    await own.write("The parcel stands behind the green door")

    async def score() -> float:
        found = await own.recall("where is the parcel?", read_only=True)
        return next(iter(found)).score

    before = await score()
    await own.set_parameters({"ranking.semantic_weight": 0, "ranking.importance_weight": 0, "ranking.tier_bonus": 0})
    assert 0 < await score() <= 0.3 < before


@pytest.mark.parametrize(
    ("values", "reason", "field"),
    [
        ({"no_such": 1}, "UNKNOWN_PARAMETER", "values"),
        ({"replace_ratio": 0.5}, "FIELD_OUT_OF_RANGE", "values.replace_ratio"),
        ({"replace_ratio": float("nan")}, "FIELD_OUT_OF_RANGE", "values.replace_ratio"),
        ({"tau_seconds.fact": 0}, "FIELD_OUT_OF_RANGE", "values.tau_seconds.fact"),
        ({"tau_seconds.fact": -1}, "FIELD_OUT_OF_RANGE", "values.tau_seconds.fact"),
        ({"stubborn_accesses": 2.5}, "FIELD_INVALID", "values.stubborn_accesses"),
        ({f"ranking.{n}_weight": 0 for n in ("semantic", "freshness", "importance")}, "FIELD_INVALID", ""),
        ({"memories_max": 10**9}, "UNKNOWN_PARAMETER", "values"),
    ],
)
async def test_wrong_numbers_are_refused(own: AsyncMemoryClient, values: dict[str, float], reason: str, field: str):
    await refused(own.set_parameters(values), InvalidArgument, reason, field)
    await refused(own.set_parameters(reset=["no_such"]), InvalidArgument, "UNKNOWN_PARAMETER")
    assert (await own.parameters()).version == 0


# Experiments ------------------------------------------------------------------------------------------------


async def test_two_sets_run_side_by_side_with_counts_apart(service: ServiceProcess, own: AsyncMemoryClient):
    await own.set_parameters({"confidence.inferred": 0.42}, name="careful")
    await refused(own.start_experiment("trial", "nothing", share=0.5), InvalidArgument, "FIELD_INVALID", "treatment")
    await refused(own.start_experiment("trial", "careful", share=0), InvalidArgument, "FIELD_OUT_OF_RANGE", "share")
    await own.start_experiment("trial", "careful", share=0.5)
    await refused(own.start_experiment("more", "careful", share=0.5), FailedPrecondition, "EXPERIMENT_RUNNING")
    await refused(own.set_parameters({"replace_ratio": 2}, name="careful"), FailedPrecondition, "EXPERIMENT_RUNNING")

    async def confidence(user: str) -> float:
        written = await own.write("I may like tea", source="inferred", user=user)
        await own.recall("tea", user=user)
        assert written.memory is not None
        return written.memory.confidence

    users = [f"user-{n}" for n in range(40)]
    first = {user: await confidence(user) for user in users}
    assert set(first.values()) == {0.5, 0.42}
    treated = [user for user, value in first.items() if value == 0.42]
    assert 8 <= len(treated) <= 32
    await own.correct(slot=("user", "location"), object="Porto", user=treated[0])

    async def counted() -> dict[Variant, dict[str, int]]:
        (running,) = await own.experiments()
        return {side: dict(counts) for side, counts in running.counts.items()}

    await until(counted, lambda c: c[Variant.TREATMENT]["correction"] == 1)
    counts = await counted()
    assert counts[Variant.TREATMENT]["write"] == counts[Variant.TREATMENT]["recall"] == len(treated)
    assert counts[Variant.CONTROL]["write"] == 40 - len(treated)
    assert counts[Variant.CONTROL]["correction"] == 0
    _, metrics = await service.page("/metrics")
    assert 'memory_service_variant_events_total{event="write",variant="treatment"}' in metrics

    stopped = await own.stop_experiment("trial")
    assert stopped.stopped_at is not None
    assert (await own.stop_experiment("trial")).stopped_at == stopped.stopped_at
    later = await own.write("I may like coffee", source="inferred", user=treated[0])
    assert later.memory is not None
    assert later.memory.confidence == 0.5
    await refused(own.start_experiment("trial", "careful", share=0.5), AlreadyExists, "ALREADY_EXISTS", "name")
    await refused(own.stop_experiment("never"), NotFound, "EXPERIMENT_NOT_FOUND", "name")


async def until(read: Callable[[], Any], holds: Callable[[Any], bool], seconds: float = 10.0) -> None:
    """Wait for figures that are written down a moment later."""
    deadline = time.monotonic() + seconds
    while not holds(value := await read()):
        assert time.monotonic() < deadline, value
        await asyncio.sleep(0.05)


# Calibration ------------------------------------------------------------------------------------------------


async def test_calibration_finds_the_rhythm_and_applies_it_on_request(service: ServiceProcess):
    name = f"tenant-{uuid.uuid4()}"
    async with tenant(service, name=name) as own:
        assert await own.calibration() == []
        written = await own.write(predicate="location", object="Porto", user="ann")
        assert written.memory is not None
        owner, memory_id = OwnerKey(TenantId(name), UserId("ann")), MemoryId(uuid.UUID(written.memory.id))
        backend = await PostgresBackend.connect(PostgresSettings(dsn=service.stack().database_url, pool_min=0))
        try:
            moment = datetime.now(UTC)
            for _ in range(41):
                moment += timedelta(days=10)
                await backend.memories.record_access(owner, {memory_id: (2, moment)}, ["location"])
        finally:
            await backend.close()
        kind, predicate = await own.calibration()
        assert (kind.kind, kind.predicate, predicate.predicate) == (Kind.PROFILE, "", "location")
        assert kind.intervals == 40
        assert kind.enough
        assert kind.dominant / timedelta(days=10) == pytest.approx(1, rel=0.2)
        assert kind.suggested_tau / kind.dominant == pytest.approx(1.4)
        assert kind.tau == timedelta(days=90)
        assert sum(count for _, count in kind.counts) == 40
        assert await own.calibration("bob") == []
        assert await own.calibration("ann") == [kind, predicate]
        await own.set_parameters({"tau_seconds.profile": kind.suggested_tau.total_seconds()})
        assert (await own.calibration())[0].tau == kind.suggested_tau
