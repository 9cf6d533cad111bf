"""What every `EpisodeLog` promises; see `ports/episodes.py`."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from memory_service.adapters.inmemory import InMemoryMemoryStore
from memory_service.app.add_turns import learn_job
from memory_service.domain.session.model import SessionId, ToolStatus, TurnRole, TurnTag, session_id
from memory_service.ports.episodes import Episode, EpisodeLog
from memory_service.ports.job_queue import JobQueue
from memory_service.ports.memory_store import MemoryStore
from tests.app.harness import World
from tests.contracts import builders as make

if TYPE_CHECKING:
    from tests.conftest import NewDatabase

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
LATER = NOW + timedelta(minutes=30)


@pytest.fixture(params=["inmemory", "postgres"])
async def backend(
    request: pytest.FixtureRequest, new_database: NewDatabase
) -> AsyncIterator[tuple[EpisodeLog, JobQueue, MemoryStore]]:
    """Each backend in turn, empty: the log, the queue that an append fills, and the memories."""
    if request.param == "inmemory":
        memories = InMemoryMemoryStore()
        yield memories.episodes, memories.jobs, memories
        return
    from memory_service.adapters.postgres import PostgresBackend, PostgresSettings

    async with new_database() as dsn:
        postgres = await PostgresBackend.connect(PostgresSettings(dsn=dsn))
        try:
            yield postgres.episodes, postgres.jobs, postgres.memories
        finally:
            await postgres.close()


@pytest.fixture
async def log(backend: tuple[EpisodeLog, JobQueue, MemoryStore]) -> EpisodeLog:
    """The log alone."""
    return backend[0]


def new_session(at: datetime = NOW) -> SessionId:
    return session_id(at, uuid.uuid4())


def episode(session: SessionId, name: str, **given: Any) -> Episode:
    about: dict[str, Any] = {"recorded_at": NOW, "actor": TurnRole.USER, "content": f"says {name}", **given}
    return Episode(session=session, turn_id=name, **about)


async def append(log: EpisodeLog, owner: Any, *episodes: Episode, count: int = 50, now: datetime = NOW) -> int:
    return await log.append(owner, episodes, due_at=now + timedelta(minutes=30), due_count=count, now=now)


async def test_episodes_come_back_as_they_were(log: EpisodeLog):
    owner, session = make.new_owner(), new_session()
    whole = episode(
        session,
        "t",
        actor=TurnRole.TOOL,
        content='"带" \\ {x},\u2028',
        said_at=NOW - timedelta(microseconds=1),
        agent="a",
        credential="k",
        action="search",
        tool="flights",
        tool_status=ToolStatus.FAILED,
        feedback="f",
        tags=(TurnTag.TOOL_FAILURE, TurnTag.REPEAT),
    )
    assert await append(log, owner, whole, episode(session, "u")) == 2
    assert list(await log.waiting(owner, session, limit=9)) == [whole, episode(session, "u")]
    assert [e.turn_id for e in await log.waiting(owner, session, limit=1)] == ["t"]


async def test_a_turn_is_logged_once_whoever_sends_it_how_often(log: EpisodeLog):
    owner, session = make.new_owner(), new_session()
    offers = [[episode(session, name) for name in names] for names in ("abc", "cba", "bcd", "dab")]
    added = await asyncio.gather(*(append(log, owner, *offer) for offer in offers))
    assert sum(added) == 4
    assert sorted(e.turn_id for e in await log.waiting(owner, session, limit=99)) == list("abcd")
    (task,) = await log.due(NOW + timedelta(days=1), limit=9)
    assert (task.owner, task.session, task.waiting) == (owner, session, 4)


@pytest.mark.parametrize("year", [1999, 2026, 2031])
async def test_any_month_can_be_logged(log: EpisodeLog, year: int):
    owner, session = make.new_owner(), new_session(datetime(year, 2, 28, 23, 59, 59, 999_000, tzinfo=UTC))
    await log.prepare(datetime(year, 2, 1, tzinfo=UTC))
    assert await append(log, owner, episode(session, "t")) == 1
    assert await append(log, owner, episode(session, "t")) == 0
    assert await log.prepare(datetime(year, 2, 1, tzinfo=UTC)) == 0


async def test_an_owner_has_its_own_episodes(log: EpisodeLog):
    owner, other, session = make.new_owner(), make.new_owner(), new_session()
    await append(log, owner, episode(session, "t"))
    assert await log.waiting(other, session, limit=9) == []
    assert await log.bar(other, session, ["t"]) == 0
    await log.reflected(other, session, ["t"], NOW)
    assert await append(log, other, episode(session, "t", content="mine")) == 1
    assert [e.content for e in await log.waiting(owner, session, limit=9)] == ["says t"]


async def test_a_barred_episode_is_never_read_again(log: EpisodeLog):
    owner, session = make.new_owner(), new_session()
    await append(log, owner, *(episode(session, name) for name in "abc"))
    assert await log.bar(owner, session, ["a", "c", "unknown"]) == 2
    assert await log.bar(owner, session, ["a"]) == 0
    assert [e.turn_id for e in await log.waiting(owner, session, limit=9)] == ["b"]
    assert await append(log, owner, episode(session, "a")) == 0
    assert [e.turn_id for e in await log.waiting(owner, session, limit=9)] == ["b"]
    assert [t.waiting for t in await log.due(LATER, limit=9)] == [1]
    await log.bar(owner, session, ["b"])
    assert await log.due(LATER, limit=9) == []


async def test_a_task_is_due_after_a_while_when_enough_wait_or_at_a_correction(log: EpisodeLog):
    owner, quiet, many, urgent = make.new_owner(), new_session(), new_session(), new_session()
    await append(log, owner, episode(quiet, "t"))
    await append(log, owner, *(episode(many, f"t{n}") for n in range(3)), count=3)
    await append(log, owner, episode(urgent, "t", tags=(TurnTag.CORRECTION,)))
    assert [task.session for task in await log.due(NOW, limit=9)] == [urgent, many]
    ahead = NOW + timedelta(minutes=20)
    await append(log, owner, episode(quiet, "u"), now=ahead)
    assert quiet not in [task.session for task in await log.due(LATER, limit=9)]
    tasks = await log.due(ahead + timedelta(minutes=30), limit=9)
    assert [(t.session, t.waiting, t.first_at, t.urgent) for t in tasks][-1] == (quiet, 2, NOW, False)
    assert len(await log.due(ahead + timedelta(days=1), limit=2)) == 2


async def test_a_task_is_done_when_all_was_reflected_on(log: EpisodeLog):
    owner, session = make.new_owner(), new_session()
    await append(log, owner, *(episode(session, name) for name in "abc"))
    backlog = await log.backlog(NOW)
    assert (backlog.sessions, backlog.episodes, backlog.oldest_due_at) == (1, 3, None)
    await log.reflected(owner, session, ["a", "b", "a"], NOW)
    await log.reflected(owner, session, ["a"], NOW)
    backlog = await log.backlog(LATER)
    assert (backlog.sessions, backlog.episodes, backlog.oldest_due_at) == (1, 1, LATER)
    await log.reflected(owner, session, ["c"], NOW)
    assert (await log.backlog(LATER)).sessions == 0
    assert await log.waiting(owner, session, limit=9) == []


async def test_the_job_that_learns_comes_with_the_episodes(backend: tuple[EpisodeLog, JobQueue, MemoryStore]):
    log, jobs, _ = backend
    owner, session, other = make.new_owner(), new_session(), new_session()

    async def said(of: SessionId, name: str) -> None:
        job = learn_job(of, timedelta(minutes=30), urgent=False)
        await log.append(owner, [episode(of, name)], due_at=LATER, due_count=50, now=NOW, job=job)

    async def waiting() -> int:
        return sum(state.waiting for state in await jobs.states() if state.name == "learn")

    await said(session, "a")
    assert await waiting() == 1
    await said(session, "a")
    await said(session, "b")
    assert await waiting() == 1
    await said(other, "a")
    assert await waiting() == 2
    assert await log.task(owner, new_session()) is None
    task = await log.task(owner, session)
    assert task is not None
    assert (task.waiting, task.due_at, task.urgent) == (2, LATER, False)


async def test_forgetting_a_memory_bars_the_episodes_it_came_from(backend: tuple[EpisodeLog, JobQueue, MemoryStore]):
    log, _, memories = backend
    owner, session, other = make.new_owner(), new_session(), new_session()
    world = World(store=memories)
    for of in (session, other):
        await append(log, owner, *(episode(of, name) for name in "abc"))
    kept = await world.say("I like tea", owner, session=session, reference="b")
    again = await world.say("I like tea", owner, session=session, reference="c")
    await world.say("I like coffee", owner, session=session, reference="a")
    await world.say("I like milk", owner, session="not a session of ours", reference="b")
    assert kept.memory is not None
    assert again.memory is not None
    assert again.memory.id == kept.memory.id
    await world.erase(kept.memory.id, owner=owner)
    assert [e.turn_id for e in await log.waiting(owner, session, limit=9)] == ["a"]
    assert len(await log.waiting(owner, other, limit=9)) == 3
    task = await log.task(owner, session)
    assert task is not None
    assert task.waiting == 1
    assert await append(log, owner, episode(session, "b")) == 0
    assert [e.turn_id for e in await log.waiting(owner, session, limit=9)] == ["a"]
