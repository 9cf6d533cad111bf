"""The review queue through the API on real PostgreSQL (P13)."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from memory_service.client import (
    Aborted,
    AlreadyExists,
    AsyncMemoryClient,
    Effect,
    FailedPrecondition,
    NotFound,
    Review,
    Status,
    Tier,
)
from tests.acceptance.service import ServiceProcess
from tests.acceptance.world import new_user


@pytest.fixture
async def memory(service: ServiceProcess) -> AsyncIterator[AsyncMemoryClient]:
    """A client of a user nobody else has."""
    async with service.client(new_user()) as client:
        yield client


async def queue(memory: AsyncMemoryClient, page_size: int = 3) -> list[Review]:
    """Everything that waits, page by page."""
    found: list[Review] = []
    token = ""
    while True:
        page = await memory.reviews(page_size=page_size, page_token=token)
        found += page.reviews
        token = page.next_page_token
        if not token:
            return found


async def inferred(memory: AsyncMemoryClient, value: str, source: str = "inferred") -> str:
    """The id of a sensitive memory that nobody said outright."""
    written = await memory.write(predicate="health", object=value, source=source)
    assert written.memory is not None
    assert written.memory.tier is Tier.CANDIDATE
    return written.memory.id


async def test_what_is_sensitive_and_nobody_said_waits(memory: AsyncMemoryClient):
    await memory.write(predicate="health", object="asthma")
    await memory.write(predicate="pet", object="a cat", source="inferred")
    wanted = [await inferred(memory, f"symptom {n}", source) for n, source in enumerate(["inferred", "derived"] * 3)]
    waiting = await queue(memory)
    assert [one.memory.id for one in waiting] == wanted
    assert {one.cause.value for one in waiting} == {"sensitive"}


async def test_contested_memories_stand_in_the_same_queue_and_are_resolved(memory: AsyncMemoryClient):
    seen = (await memory.write(predicate="location", object="Lyon")).context
    one = await memory.write(predicate="location", object="Porto", context=seen)
    two = await memory.write(predicate="location", object="Gdansk", context=seen)
    health = await inferred(memory, "tired")
    assert one.memory is not None
    assert two.memory is not None
    waiting = await queue(memory, page_size=1)
    assert [(r.memory.id, r.cause.value) for r in waiting] == [
        (one.memory.id, "contested"),
        (two.memory.id, "contested"),
        (health, "sensitive"),
    ]
    with pytest.raises(FailedPrecondition) as caught:
        await memory.decide_review(one.memory.id, "accept")
    assert caught.value.reason == "REVIEW_NOT_WAITING"
    await memory.resolve_conflict([one.memory.id, two.memory.id], keep=two.memory.id)
    assert [one.memory.id for one in await queue(memory)] == [health]


async def test_accepting_makes_it_long_term_and_can_be_taken_back(memory: AsyncMemoryClient):
    waiting = await inferred(memory, "diabetes")
    accepted = await memory.decide_review(waiting, "accept", reason="asked the user")
    assert accepted.memory is not None
    assert (accepted.memory.tier, accepted.memory.status) == (Tier.LONG_TERM, Status.ACTIVE)
    assert await queue(memory) == []
    with pytest.raises(FailedPrecondition):
        await memory.decide_review(waiting, "accept")
    history = await memory.history(waiting)
    event = history.events[-1]
    assert (event.event, event.reason) == ("promoted", "asked the user")
    assert event.actor
    again = await memory.decide_review(waiting, "reopen")
    assert again.memory is not None
    assert again.memory.tier is Tier.CANDIDATE
    assert again.memory.confidence == 0.5
    assert [one.memory.id for one in await queue(memory)] == [waiting]


async def test_what_was_rejected_is_not_inferred_again_but_the_user_may_say_it(memory: AsyncMemoryClient):
    waiting = await inferred(memory, "diabetes")
    rejected = await memory.decide_review(waiting, "reject")
    assert rejected.memory is not None
    assert (rejected.effect, rejected.memory.status) == (Effect.RETRACTED, Status.RETRACTED)
    assert await queue(memory) == []
    for source in ("inferred", "derived"):
        again = await memory.write(predicate="health", object="Diabetes", source=source)
        assert again.effect is Effect.SUPPRESSED
        assert again.memory is None
    assert not list(await memory.recall("diabetes"))
    other = await memory.write(predicate="health", object="migraine", source="inferred")
    assert other.effect is Effect.CREATED
    said = await memory.write(predicate="health", object="diabetes")
    assert said.effect is Effect.CREATED
    supported = await memory.write(predicate="health", object="diabetes", source="inferred")
    assert supported.effect is Effect.SUPPORTED
    with pytest.raises(AlreadyExists):
        await memory.decide_review(waiting, "reopen")


async def test_a_rejection_can_be_taken_back(memory: AsyncMemoryClient):
    waiting = await inferred(memory, "diabetes")
    await memory.decide_review(waiting, "reject")
    again = await memory.decide_review(waiting, "reopen")
    assert again.memory is not None
    assert (again.memory.status, again.memory.tier) == (Status.ACTIVE, Tier.CANDIDATE)
    supported = await memory.write(predicate="health", object="diabetes", source="inferred")
    assert supported.effect is Effect.SUPPORTED


async def test_an_agent_is_not_shown_what_another_keeps_for_itself(memory: AsyncMemoryClient):
    await memory.write(predicate="health", object="tired", source="inferred", visibility="private", agent="nurse")
    assert len((await memory.reviews()).reviews) == 1
    assert len((await memory.reviews(agent="nurse")).reviews) == 1
    assert (await memory.reviews(agent="shop")).reviews == []


async def test_decisions_are_checked_and_safe_to_retry(memory: AsyncMemoryClient, service: ServiceProcess):
    waiting = await inferred(memory, "diabetes")
    with pytest.raises(Aborted):
        await memory.decide_review(waiting, "accept", etag="9-9")
    async with service.client(new_user()) as other:
        with pytest.raises(NotFound):
            await other.decide_review(waiting, "accept")
        assert await queue(other) == []
    first = await memory.decide_review(waiting, "accept", request_id="r1")
    second = await memory.decide_review(waiting, "accept", request_id="r1")
    assert second.replayed
    assert first.memory == second.memory
    said = await memory.write(predicate="health", object="asthma")
    assert said.memory is not None
    with pytest.raises(FailedPrecondition):
        await memory.decide_review(said.memory.id, "reopen")
