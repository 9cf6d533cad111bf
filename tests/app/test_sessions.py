"""The use cases of sessions on backends in memory: what the API of a real server shows only by chance."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest

from memory_service.adapters.inmemory.episodes import InMemoryEpisodeLog
from memory_service.adapters.inmemory.job_queue import InMemoryJobQueue
from memory_service.adapters.inmemory.sessions import InMemorySessionStore
from memory_service.adapters.tokenizers import load_tokenizers
from memory_service.app.access_recorder import AccessRecorder
from memory_service.app.add_turns import AddTurns
from memory_service.app.commands import ChangeMeta, ForgetCommand, Statement
from memory_service.app.get_context import ContextRequest, GetContext
from memory_service.app.jobs import JobRunner
from memory_service.app.learning import Learning
from memory_service.app.recall import Recall, RecallRequest
from memory_service.app.session_blocks import RuleStateReader, Summaries
from memory_service.app.session_memos import Memos
from memory_service.app.sessions import Sessions
from memory_service.domain.errors import Conflict, DeadlineExceeded, Reason, Unavailable
from memory_service.domain.ids import OwnerKey, TenantId, UserId
from memory_service.domain.memory import Kind
from memory_service.domain.session.model import FieldChange, SessionId, SessionStatus, Turn, TurnRole, TurnTag
from memory_service.ports.episodes import Episode, LearningTask
from memory_service.ports.job_queue import Done, Job, Retry
from memory_service.ports.sessions import SessionLimits
from tests.app.harness import ALICE, BOB, Silent, World

TOKENIZERS = load_tokenizers()


class Away(InMemoryEpisodeLog):
    """A log that can be away."""

    away = False

    async def append(self, owner: OwnerKey, episodes: Sequence[Episode], **given: Any) -> int:
        if self.away:
            raise Unavailable(Reason.DATABASE_UNAVAILABLE, "away")
        return await super().append(owner, episodes, **given)


class Told(Silent):
    """Telemetry that keeps what it is told."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self.gauges: dict[str, float] = {}

    def count(self, name: str, amount: int = 1, **labels: str) -> None:
        key = ":".join((name, *labels.values()))
        self.counts[key] = self.counts.get(key, 0) + amount

    def gauge(self, name: str, value: float, **labels: str) -> None:
        self.gauges[name] = value


class Talks:
    """Sessions of a world; `replica` is another process on the same backends."""

    def __init__(self, world: World | None = None, **bounds: Any) -> None:
        self.world = world or World()
        self.store = InMemorySessionStore(self.world.clock, SessionLimits(**bounds))
        self.jobs = InMemoryJobQueue(self.world.clock)
        self.log = Away(self.jobs)
        self.told = Told()
        self.sessions, self.add = self.replica()
        world = self.world
        self.recall = Recall(
            snapshots=world.snapshots,
            store=world.store,
            embedder=world.embedder,
            accesses=AccessRecorder(world.store, Silent()),
            clock=world.clock,
            telemetry=Silent(),
            policies=world.policies,
        )
        self.context = GetContext(self.store, self.recall, world.policies, TOKENIZERS, world.clock, self.told)

    def replica(self) -> tuple[Sessions, AddTurns]:
        world, memos, reader = self.world, Memos(), RuleStateReader()
        sessions = Sessions(
            store=self.store,
            snapshots=world.snapshots,
            memos=memos,
            tokens=world.tokens,
            clock=world.clock,
            ids=world.ids,
            telemetry=self.told,
            recorded_tenants={"recorded": True},
        )
        add = AddTurns(
            store=self.store,
            memos=memos,
            reader=reader,
            summaries=Summaries(self.store, reader, world.write, self.told),
            episodes=self.log,
            tokenizer=TOKENIZERS["o200k_base"],
            clock=world.clock,
            telemetry=self.told,
        )
        return sessions, add

    async def begin(self, owner: OwnerKey = ALICE, **given: Any) -> SessionId:
        return (await self.sessions.create(owner, **given)).facts.id

    async def ask(self, session: str, query: str = "", owner: OwnerKey = ALICE, **given: Any):
        recall = RecallRequest(
            owner=owner, query=query, with_block=False, deadline_seconds=given.pop("deadline", None)
        )
        return await self.context(ContextRequest(session=session, recall=recall, **given))


def turn(name: str, text: str, role: TurnRole = TurnRole.USER) -> Turn:
    return Turn(id=name, role=role, text=text)


async def test_replicas_that_take_turns_read_each_others_state() -> None:
    talks = Talks()
    session = await talks.begin()
    replicas = [talks.add, talks.replica()[1], talks.replica()[1]]
    for n in range(12):
        text = "Yes." if n % 2 else f"Shall I take plan {n}?"
        role = TurnRole.USER if n % 2 else TurnRole.ASSISTANT
        await replicas[n % 3](ALICE, session, [turn(f"t{n}", text, role)], actor="k")
    found = await talks.sessions.get(ALICE, session, turns=200)
    assert found.block is not None
    assert found.block.decisions == tuple(f"Shall I take plan {n}? → yes" for n in range(0, 12, 2))
    assert [kept.sequence for kept in found.turns] == list(range(1, 13))


async def test_replicas_at_once_lose_nothing() -> None:
    talks = Talks()
    session = await talks.begin()
    replicas = [talks.replica()[1] for _ in range(4)]

    async def writer(number: int) -> None:
        for n in range(10):
            said = turn(f"{number}-{n}", f"We decided to take plan {number}-{n}.")
            await replicas[number](ALICE, session, [said], actor="k")

    await asyncio.gather(*map(writer, range(4)))
    found = await talks.sessions.get(ALICE, session, turns=200)
    assert {k.turn.id for k in found.turns} == {f"{w}-{n}" for w in range(4) for n in range(10)}
    assert found.block is not None
    assert found.block.sequence == 40


async def test_a_turn_whose_logging_failed_is_logged_when_it_is_sent_again() -> None:
    talks = Talks()
    session = await talks.begin(record_episodes=True)
    said = turn("t", "That's wrong, I meant Monday.")
    talks.log.away = True
    with pytest.raises(Unavailable):
        await talks.add(ALICE, session, [said], actor="k")
    talks.log.away = False
    again = await talks.add(ALICE, session, [said], actor="k")
    assert (again.duplicates, again.recorded) == (("t",), True)
    (episode,) = await talks.log.waiting(ALICE, session, limit=9)
    assert (episode.content, episode.tags, episode.credential) == (said.text, (TurnTag.CORRECTION,), "k")
    (task,) = await talks.log.due(talks.world.clock.now(), limit=9)
    assert task.urgent


async def test_whether_turns_are_logged_is_the_sessions_word_then_the_tenants() -> None:
    talks = Talks()
    tenant = OwnerKey(TenantId("recorded"), UserId("u"))
    for owner, asked, recorded in ((ALICE, None, False), (tenant, None, True), (tenant, False, False)):
        view = await talks.sessions.create(owner, record_episodes=asked)
        assert view.facts.record_episodes is recorded


async def test_blocks_that_could_not_be_summarised_are_summarised_later() -> None:
    talks = Talks()
    session = await talks.begin()
    write = talks.world.write

    class Broken:
        async def one(self, *_: object) -> None:
            raise Unavailable(Reason.DATABASE_UNAVAILABLE, "away")

    object.__setattr__(talks.add.summaries, "write", Broken())
    for n in range(22):
        await talks.add(ALICE, session, [turn(f"t{n}", f"We decided on town {n}.")], actor="k")
    assert talks.told.counts["session_blocks_total:summary_failed"] == 2
    assert len(await talks.store.blocks(ALICE, session)) == 22
    object.__setattr__(talks.add.summaries, "write", write)
    await talks.add(ALICE, session, [turn("last", "We decided on the last town.")], actor="k")
    assert [b.sequence for b in await talks.store.blocks(ALICE, session)] == list(range(11, 24))
    rows = await talks.world.store.search_rows(ALICE, talks.world.embedder.model.id)
    assert [row.head.current.kind for row in rows.rows] == [Kind.SUMMARY]


async def test_a_summary_made_twice_is_one_memory() -> None:
    talks = Talks()
    session = await talks.begin()
    for n in range(20):
        await talks.add(ALICE, session, [turn(f"t{n}", f"We decided on town {n}.")], actor="k")
    dropped = talks.store.drop_blocks

    async def killed(*_: object) -> None:
        raise Unavailable(Reason.REDIS_UNAVAILABLE, "killed in between")

    talks.store.drop_blocks = killed  # type: ignore[method-assign, assignment]
    await talks.add(ALICE, session, [turn("t20", "We decided on town 20.")], actor="k")
    talks.store.drop_blocks = dropped  # type: ignore[method-assign]
    await talks.add(ALICE, session, [turn("t21", "We decided on town 21.")], actor="k")
    rows = await talks.world.store.search_rows(ALICE, talks.world.embedder.model.id)
    assert len(rows.rows) == 1
    assert len(await talks.store.blocks(ALICE, session)) == 12


async def test_what_is_forgotten_goes_from_the_summaries_of_its_session() -> None:
    talks = Talks()
    world = talks.world
    session, same, other = [await talks.begin() for _ in range(3)]
    for one, what in ((session, "town"), (same, "town"), (other, "island")):
        for n in range(22):
            await talks.add(ALICE, one, [turn(f"t{n}", f"We decided on {what} {n}.")], actor="k")
    said = Statement(text="Alice decided on town 3.", session=session, reference="t3")
    memory = (await world.write.one(ALICE, said, ChangeMeta(actor="k"))).memory
    assert memory is not None
    gone = await world.forget(ALICE, ForgetCommand(ids=(memory.id,)), ChangeMeta(actor="k"))
    assert len(gone.ids) == 2
    rows = await world.store.search_rows(ALICE, world.embedder.model.id)
    assert [row.head.current.provenance.session for row in rows.rows] == [other]


@pytest.mark.parametrize("away", [False, True])
async def test_a_forgotten_turn_leaves_its_session(away: bool) -> None:
    talks = Talks()
    world = talks.world
    object.__setattr__(world.forget, "sessions", talks.store)
    session = await talks.begin()
    await talks.add(ALICE, session, [turn("a", "We decided on Rome."), turn("b", "My PIN is 4711.")], actor="k")
    await talks.add(ALICE, session, [turn("c", "We decided on the PIN 4711.")], actor="k")
    said = Statement(text="Alice's PIN is 4711.", session=session, reference="b")
    same = Statement(text="Alice decided on PIN 4711.", session=session, reference="c")
    written = [await world.write.one(ALICE, what, ChangeMeta(actor="k")) for what in (said, same)]
    talks.store.away = away
    ids = tuple(result.memory.id for result in written if result.memory)
    await world.forget(ALICE, ForgetCommand(ids=ids), ChangeMeta(actor="k"))
    talks.store.away = False
    found = await talks.ask(session, "which town?")
    assert ("4711" in found.block) is away
    assert "Rome" in found.block  # the turn, if not the state
    await talks.add(ALICE, session, [turn("c", "We decided on the PIN 4711."), turn("d", "Yes.")], actor="k")
    assert ("4711" in (await talks.ask(session, "which town?")).block) is away


async def test_forgetting_a_summary_leaves_the_others_of_its_session() -> None:
    talks = Talks()
    world = talks.world
    session = await talks.begin()
    for n in range(34):
        await talks.add(ALICE, session, [turn(f"t{n}", f"We decided on town {n}.")], actor="k")
    rows = (await world.store.search_rows(ALICE, world.embedder.model.id)).rows
    assert len(rows) == 2
    gone = await world.forget(ALICE, ForgetCommand(ids=(rows[0].head.id,)), ChangeMeta(actor="k"))
    assert gone.ids == [rows[0].head.id]


async def test_a_request_id_stands_for_one_request() -> None:
    talks = Talks()
    asked: dict[str, Any] = {"agent": "a", "changes": [FieldChange("tasks.t", {"text": "x"})], "request_id": "r"}
    session = await talks.begin(**asked)
    assert await talks.begin(**asked) == session
    for other in ({"agent": "b"}, {"record_episodes": True}, {"changes": ()}):
        with pytest.raises(Conflict) as caught:
            await talks.begin(**asked | other)
        assert caught.value.reason is Reason.REQUEST_ID_REUSED


async def test_beginning_a_session_warms_the_users_memories() -> None:
    talks = Talks()
    asked: list[OwnerKey] = []
    inner = talks.world.snapshots.snapshot

    async def snapshot(owner: OwnerKey, requirement: Any):
        asked.append(owner)
        return await inner(owner, requirement)

    talks.world.snapshots.snapshot = snapshot  # type: ignore[method-assign]
    await talks.begin()
    await asyncio.gather(*talks.sessions._warming)
    assert asked == [ALICE]


async def test_a_context_asks_the_store_once_while_memories_are_recalled() -> None:
    talks = Talks()
    session = await talks.begin()
    await talks.world.say("my bicycle is blue")
    asked: list[str] = []
    both = asyncio.Barrier(2)
    read, snapshot = talks.store.read, talks.world.snapshots.snapshot

    async def reading(*given: Any, **named: Any):
        asked.append("session")
        await both.wait()
        return await read(*given, **named)

    async def loading(owner: OwnerKey, requirement: Any):
        asked.append("memories")
        await both.wait()
        return await snapshot(owner, requirement)

    talks.store.read = reading  # type: ignore[method-assign]
    talks.world.snapshots.snapshot = loading  # type: ignore[method-assign]
    async with asyncio.timeout(20):  # each waits for the other
        await talks.ask(session, "bicycle")
    assert sorted(asked) == ["memories", "session"]


async def test_a_context_without_memories_has_the_session_and_says_so() -> None:
    talks = Talks()
    session = await talks.begin()
    await talks.add(ALICE, session, [turn("t", "We decided on the red one.")], actor="k")

    async def away(*_: object):
        raise Unavailable(Reason.DATABASE_UNAVAILABLE, "away")

    talks.world.snapshots.snapshot = away  # type: ignore[method-assign, assignment]
    found = await talks.ask(session, "which one?")
    assert found.missing == ("memories: DATABASE_UNAVAILABLE",)
    assert (found.degraded, found.answer) == (True, None)
    assert "red one" in found.block
    assert talks.told.counts["context_degraded_total:memories"] == 1
    talks.store.away = True
    with pytest.raises(Unavailable):
        await talks.ask(session, "which one?")


@pytest.mark.parametrize("window", [60, 100, 150, 200, 300, 500, 1_000, 4_000])
@pytest.mark.parametrize("tokenizer", ["o200k_base", "bytes"])
async def test_a_constraint_is_shown_cut_or_counted(window: int, tokenizer: str) -> None:
    talks = Talks()
    await talks.world.say("I prefer aisle seats on flights")
    rules = {
        "a": f"a window seat on flights this time, {'with a view, ' * 60}please",
        "b": "no meetings before ten, 上午十点之前不要安排会议",
    }
    changes = [FieldChange(f"constraints.{name}", {"text": text, "predicate": ""}) for name, text in rules.items()]
    session = await talks.begin(changes=changes)
    await talks.add(ALICE, session, [turn("t", "Let us talk about Rome.")], actor="k")
    found = await talks.ask(session, "which seats on flights?", window_tokens=window, tokenizer=tokenizer)
    lines = [line for line in found.block.splitlines() if line.startswith("Only in this session")]
    assert len(lines) + found.prompt.constraints_left_out == len(rules)
    assert found.prompt.tokens <= 0.4 * window
    shown = [text for name, text in rules.items() if name in found.prompt.constraints]
    for line, text in zip(lines, shown, strict=True):
        said = json.loads(line.partition(": ")[2].partition(" (instead")[0])
        assert said == text or (said.endswith("…") and text.startswith(said[:-1]))
    if found.prompt.constraints_left_out:
        assert "Topic:" not in found.block
    (memory,) = found.memories
    assert memory.overridden_by == ("a" if "a" in found.prompt.constraints else "")
    if window == 4_000 and tokenizer == "o200k_base":
        assert "…" not in found.block


async def test_a_part_that_is_late_is_left_out_and_named() -> None:
    talks = Talks()
    session = await talks.begin()
    await talks.world.say("my bicycle is blue")
    found = await talks.ask(session, "bicycle", deadline=0.0)
    assert found.missing == ("memories: DEADLINE_EXCEEDED",)

    async def slow(*_: object, **__: object) -> None:
        await asyncio.sleep(30)

    talks.store.read = slow  # type: ignore[method-assign, assignment]
    with pytest.raises(DeadlineExceeded):
        await talks.ask(session, "bicycle", deadline=0.0)
    found = await talks.ask(session, "bicycle", deadline=0.3)
    assert found.missing == ("session: DEADLINE_EXCEEDED",)
    assert "bicycle" in found.block


@pytest.mark.parametrize("query", ["bicycle", ""])
async def test_a_database_that_hangs_and_cannot_be_cancelled_is_not_waited_for(query: str) -> None:
    talks = Talks()
    session = await talks.begin()
    await talks.add(ALICE, session, [turn("t", "We decided on the red one.")], actor="k")
    released = asyncio.Event()

    async def hung(*_: object, **__: object) -> None:
        while not released.is_set():
            try:
                await released.wait()
            except asyncio.CancelledError:
                continue

    talks.world.snapshots.snapshot = hung  # type: ignore[method-assign, assignment]
    try:
        async with asyncio.timeout(20):
            found = await talks.ask(session, query, deadline=0.2)
        assert not released.is_set()
        assert found.missing == ("memories: DEADLINE_EXCEEDED",)
        assert "red one" in found.block
    finally:
        released.set()


async def test_without_a_query_the_last_thing_the_user_said_is_asked() -> None:
    talks = Talks()
    await talks.world.say("my bicycle is blue")
    await talks.world.say("the oven is broken")
    session = await talks.begin()
    await talks.add(
        ALICE,
        session,
        [turn("a", "what about my bicycle?"), turn("b", "Let me see.", TurnRole.ASSISTANT)],
        actor="k",
    )
    found = await talks.ask(session)
    assert found.memories[0].recalled.head.current.text == "my bicycle is blue"


@pytest.mark.parametrize(
    ("said", "query", "remembered", "language"),
    [
        ("我想订一张去大理的票，靠窗", "", "My seat is by the window.", "zh"),
        ("我想订一张去大理的票，靠窗", "window seat", "My seat is by the window.", "zh"),
        ("I want a window seat to Dali", "", "我的座位靠窗", "en"),
        ("I want a window seat to Dali", "靠窗 window", "我的座位靠窗 window", "en"),
        ("我想订一张去大理的票\n42", "", "window 42", "zh"),
        ("42", "靠窗的票", "My seat is by the window.", "zh"),
        ("42", "42", "我的座位靠窗 42", "zh"),
        ("42", "42", "My seat is 42.", "en"),
    ],
)
async def test_a_context_is_in_one_language(said: str, query: str, remembered: str, language: str) -> None:
    """Its labels are in the language of the conversation, those of the session and of the memories alike."""
    talks = Talks()
    await talks.world.say(remembered)
    session = await talks.begin()
    texts = said.split("\n")
    await talks.add(ALICE, session, [turn(f"t{n}", text) for n, text in enumerate(texts)], actor="k")
    fields = [FieldChange("tasks.one", {"text": "x", "status": "running"})]
    await talks.sessions.update(ALICE, session, fields)
    context = await talks.ask(session, query)
    lines = context.block.splitlines()
    chinese = [line for line in lines if line.startswith(("本次对话", "关于用户", "任务 [进行中]"))]
    english = [
        line for line in lines if line.startswith(("This conversation", "What is remembered", "Task [running]"))
    ]
    assert (len(chinese), len(english)) == ((3, 0) if language == "zh" else (0, 3)), context.block


async def test_using_a_session_keeps_it_and_looking_at_it_does_not() -> None:
    talks = Talks()
    session = await talks.begin()
    clock = talks.world.clock
    for _ in range(3):
        clock.advance(timedelta(minutes=20))
        await talks.ask(session, "hello")
    assert (await talks.sessions.get(ALICE, session, turns=1)).status is SessionStatus.ACTIVE
    clock.advance(timedelta(minutes=20))
    assert (await talks.sessions.get(ALICE, session, turns=1)).status is SessionStatus.ACTIVE
    clock.advance(timedelta(minutes=20))
    assert (await talks.sessions.get(ALICE, session, turns=1)).status is SessionStatus.RELEASED


async def test_a_released_session_goes_on_with_its_state() -> None:
    talks = Talks()
    session = await talks.begin()
    await talks.add(ALICE, session, [turn("a", "We decided on the red one.")], actor="k")
    await talks.sessions.update(ALICE, session, [FieldChange("tasks.t", {"text": "x", "status": "pending"})])
    talks.world.clock.advance(timedelta(hours=2))
    found = await talks.ask(session, "which one?")
    assert "red one" in found.block
    assert "Task" not in found.block
    added = await talks.add(ALICE, session, [turn("b", "We also decided on the blue one.")], actor="k")
    assert added.block is not None
    assert len(added.block.decisions) == 2


async def test_what_was_learned_from_is_not_given_again() -> None:
    talks = Talks()
    session = await talks.begin(record_episodes=True)
    quiet = await talks.begin(BOB, record_episodes=True)
    await talks.add(ALICE, session, [turn(f"t{n}", f"hello {n}") for n in range(3)], actor="k")
    await talks.add(ALICE, session, [turn("c", "No, that's wrong.")], actor="k")
    await talks.add(BOB, quiet, [turn("t", "hello")], actor="k")
    await talks.log.bar(ALICE, session, ["t1"])
    learned: list[tuple[OwnerKey, list[str]]] = []
    fails = True

    async def learn(task: LearningTask, episodes: Sequence[Episode]) -> None:
        if fails:
            raise Unavailable(Reason.OVERLOADED, "not now")
        learned.append((task.owner, [e.turn_id for e in episodes]))

    clock = talks.world.clock
    queued = {job.name: job.waiting for job in await talks.jobs.states()}
    assert queued == {"learn": 3}  # one for each session, and one that hurries because of the correction
    idle = Learning(talks.log, talks.jobs, clock, talks.told)
    clock.advance(timedelta(minutes=5))
    assert await idle.tick() == 0
    assert talks.told.gauges == {
        "episodes_waiting": 4,
        "episode_sessions_waiting": 2,
        "episode_lag_seconds": 300,
    }
    learning = Learning(talks.log, talks.jobs, clock, talks.told, learn)
    runner = JobRunner(talks.jobs, {"learn": learning}, clock, talks.told, talks.world.ids.new())

    async def run(owner: OwnerKey, of: SessionId) -> object:
        return await runner.run(Job(1, "learn", owner, {"session": of}, 0))

    assert isinstance(await run(ALICE, session), Retry)
    fails = False
    assert isinstance(await run(BOB, quiet), Done)
    assert learned == []
    assert isinstance(await run(ALICE, session), Done)
    assert learned == [(ALICE, ["t0", "t2", "c"])]
    assert isinstance(await run(ALICE, session), Done)
    clock.advance(timedelta(minutes=26))
    assert await learning.tick() == 1
    assert await learning.tick() == 0
    assert isinstance(await run(BOB, quiet), Done)
    assert learned[1:] == [(BOB, ["t"])]
    await learning.tick()
    assert talks.told.gauges["episodes_waiting"] == 0
