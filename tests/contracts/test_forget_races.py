"""A Forget that comes at the worst moment of work that reads first and writes later (B3, S10, C12, F8, P9, P11).

Each path reads content, works for a while without the owner's lock, and writes what it read or made of it. The Forget
is injected in between, by a fake of what the path waits for. Whatever happens, what was forgotten is nowhere
afterwards: not in memories, their history or what they are searched by, not in files, caches, sessions or the log of
episodes.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memory_service.adapters.inmemory.sessions import InMemorySessionStore
from memory_service.adapters.inmemory.shared_cache import InMemorySharedCache
from memory_service.adapters.parquet import FolderFiles, ParquetColdStore
from memory_service.adapters.tokenizers import load_tokenizers
from memory_service.adapters.wrappers.l1_snapshots import L1Snapshots
from memory_service.adapters.wrappers.l2_snapshots import L2Snapshots
from memory_service.adapters.wrappers.store_snapshots import StoreSnapshots
from memory_service.app.add_turns import AddTurns
from memory_service.app.cache_drops import CacheDrops
from memory_service.app.cold import ColdStorage
from memory_service.app.commands import ChangeMeta, ForgetCommand
from memory_service.app.consolidation import Consolidator, Deduplication
from memory_service.app.forget import Forget
from memory_service.app.session_blocks import RuleStateReader, Summaries
from memory_service.app.session_memos import Memos
from memory_service.app.sessions import Sessions
from memory_service.app.workspace import Workspace
from memory_service.domain.ids import MemoryId
from memory_service.domain.memory import MemoryHead, Relation, Status
from memory_service.domain.records import JournalEvent, MemoryFilter
from memory_service.domain.session.model import SessionId, Turn, TurnRole
from memory_service.jobs.backfill import Backfill
from memory_service.ports.embedder import Embedder, FloatMatrix
from memory_service.ports.episodes import EpisodeLog
from memory_service.ports.memory_store import MemoryStore
from memory_service.ports.sessions import SessionLimits
from memory_service.ports.snapshots import Requirement
from tests.app.harness import Silent, World, device
from tests.app.test_consolidation import Measured
from tests.contracts.builders import new_owner
from tests.contracts.conftest import Backend

KEY = ChangeMeta(actor="key")
MARK = "Zanzibar"
TOKENIZER = load_tokenizers()["o200k_base"]
Injected = Callable[[], Awaitable[None]]


class Once:
    """What is injected happens the first time only."""

    def __init__(self, what: Injected) -> None:
        self.what, self.done = what, False

    async def __call__(self) -> None:
        if not self.done:
            self.done = True
            await self.what()


def after(of: object, name: str, inject: Injected) -> None:
    """Let something happen after each call: what was read is on its way to be written."""
    call = getattr(of, name)

    async def wrapped(*given: Any, **named: Any) -> Any:
        answer = await call(*given, **named)
        await inject()
        return answer

    setattr(of, name, wrapped)


def before(of: object, name: str, inject: Injected) -> None:
    """Let something happen before each call."""
    call = getattr(of, name)

    async def wrapped(*given: Any, **named: Any) -> Any:
        await inject()
        return await call(*given, **named)

    setattr(of, name, wrapped)


class Scene:
    """One owner on a store, with sessions, cold files and a log."""

    def __init__(self, store: MemoryStore, episodes: EpisodeLog, folder: Path) -> None:
        self.world = World(store=store)
        self.store, self.episodes, self.owner = store, episodes, new_owner()
        self.cold = ParquetColdStore(FolderFiles(folder))
        self.sessions = InMemorySessionStore(self.world.clock, SessionLimits())
        self.memos = Memos()
        self.reader = RuleStateReader()
        self.forget = Forget(self.world.changes, CacheDrops(self.world.snapshots), self.sessions, self.memos)
        self.forgotten: list[MemoryId] = []

    # Doing -------------------------------------------------------------------------------------------------

    async def say(self, text: str, meta: ChangeMeta | None = None, **given: Any) -> MemoryHead:
        result = await self.world.say(text, self.owner, meta, **given)
        assert result.memory is not None
        return result.memory

    def erasing(self, *ids: MemoryId) -> Once:
        """A Forget of these memories, to be injected."""

        async def erase() -> None:
            await self.forget(self.owner, ForgetCommand(ids=ids), KEY)
            self.forgotten += ids

        return Once(erase)

    async def begin(self, *, record: bool = False) -> SessionId:
        world = self.world
        sessions = Sessions(
            store=self.sessions,
            snapshots=world.snapshots,
            memos=self.memos,
            tokens=world.tokens,
            clock=world.clock,
            ids=world.ids,
            telemetry=Silent(),
        )
        return (await sessions.create(self.owner, record_episodes=record)).facts.id

    @property
    def add(self) -> AddTurns:
        return AddTurns(
            store=self.sessions,
            memos=self.memos,
            reader=self.reader,
            summaries=Summaries(self.sessions, self.reader, self.world.write, Silent()),
            episodes=self.episodes,
            tokenizer=TOKENIZER,
            clock=self.world.clock,
            telemetry=Silent(),
        )

    async def tell(self, session: SessionId, name: str, text: str) -> None:
        await self.add(self.owner, session, [Turn(id=name, role=TurnRole.USER, text=text)], actor="key")

    async def talk(self, session: SessionId, first: int, last: int) -> None:
        for number in range(first, last):
            await self.tell(session, f"t{number}", f"We decided on town {number}.")

    async def archive(self, *heads: MemoryHead) -> None:
        changes = self.world.changes
        async with self.store.change(self.owner) as change:
            ws = Workspace.of(change, changes.ids, self.owner)
            by = await changes.author(ws, KEY)
            ws.advance(by, "archive")
            for head in await change.heads([h.id for h in heads]):
                changes.settling(ws).archive(head, by, "idle", {})
            await changes.apply(ws, by)
        self.world.clock.advance(timedelta(days=31))

    async def freeze(self) -> None:
        await ColdStorage(self.world.changes, self.cold)(self.owner)

    # Looking -----------------------------------------------------------------------------------------------

    async def held(self) -> str:
        """All that is kept of the owner, anywhere."""
        store, owner = self.store, self.owner
        told: list[object] = []
        every = MemoryFilter(statuses=frozenset(Status))
        heads = (await store.list(owner, every, limit=500)).heads
        async with store.change(owner) as change:
            for head in heads:
                for version in await change.versions(head.id):
                    told += [version.text, *await change.fragments(head.id, version.content_version)]
        for memory_id in (*[h.id for h in heads], *self.forgotten):
            told += [v.text for v in await store.history(owner, memory_id)]
            told += await store.journal(owner, memory_id)
        told += [await self.cold.read(owner, name) for name in await self.cold.names(owner)]
        page = await self.sessions.list(owner, after=None, limit=50)
        for session in (line.facts.id for line in page.lines):
            told += await self.sessions.blocks(owner, session)
            told.append(await self.sessions.read(owner, session, turns=50, touch=False, now=self.world.clock.now()))
            told.append(self.memos.get(owner, session))
            told += await self.episodes.waiting(owner, session, limit=500)
        return "\n".join(map(repr, told))


@pytest.fixture
def scene(backend: Backend, tmp_path: Path) -> Scene:
    return Scene(backend.memories, backend.episodes, tmp_path / "cold")


# Summaries of sessions (S10) -------------------------------------------------------------------------------


async def summaries_of(scene: Scene) -> list[str]:
    page = await scene.store.list(scene.owner, MemoryFilter(), limit=100)
    return [head.current.text for head in page.heads]


async def test_a_summary_that_was_being_worded_does_not_bring_back_what_is_forgotten(scene: Scene):
    session = await scene.begin()
    await scene.talk(session, 0, 3)
    await scene.tell(session, "secret", f"We decided on {MARK}.")
    memory = await scene.say(f"The user goes to {MARK} in May", session=session, reference="secret")
    await scene.talk(session, 3, 19)
    after(scene.reader, "summarise", scene.erasing(memory.id))
    await scene.talk(session, 19, 21)
    assert scene.forgotten
    assert MARK not in await scene.held()
    assert await summaries_of(scene) == []
    await scene.talk(session, 21, 45)
    assert MARK not in await scene.held()
    assert len(await summaries_of(scene)) == 1  # what came after is summarised as ever


async def test_a_summary_is_refused_while_the_session_was_not_told_of_the_forgetting(scene: Scene):
    """Working memory was away when the memory was forgotten: its blocks, and the turn, still say it."""
    session = await scene.begin()
    await scene.tell(session, "secret", f"We decided on {MARK}.")
    memory = await scene.say(f"The user goes to {MARK} in May", session=session, reference="secret")
    await scene.talk(session, 0, 19)
    scene.sessions.away = True
    await scene.erasing(memory.id)()
    scene.sessions.away = False
    assert MARK in await scene.held()
    await scene.talk(session, 19, 21)
    assert MARK not in await scene.held()
    assert await summaries_of(scene) == []


async def test_a_turn_that_comes_after_it_was_forgotten_is_not_summarised(scene: Scene):
    session = await scene.begin(record=True)
    memory = await scene.say(f"The user goes to {MARK} in May", session=session, reference="secret")
    await scene.erasing(memory.id)()
    await scene.tell(session, "secret", f"We decided on {MARK}.")
    assert await scene.episodes.waiting(scene.owner, session, limit=9) == []
    await scene.talk(session, 0, 20)
    assert MARK not in await scene.held()
    assert await summaries_of(scene) == []


async def test_forgetting_in_one_session_leaves_the_summary_of_another(scene: Scene):
    session, other = await scene.begin(), await scene.begin()
    memory = await scene.say(f"The user goes to {MARK} in May", session=other, reference="secret")
    await scene.talk(session, 0, 20)
    after(scene.reader, "summarise", scene.erasing(memory.id))
    await scene.talk(session, 20, 21)
    assert scene.forgotten
    assert len(await summaries_of(scene)) == 1


# The state of a session, and the log of episodes (F4, C2) ---------------------------------------------------


async def test_a_turn_read_against_the_state_before_is_read_again(scene: Scene):
    session = await scene.begin()
    await scene.tell(session, "secret", f"Shall we go to {MARK}?")
    memory = await scene.say(f"The user goes to {MARK} in May", session=session, reference="secret")
    after(scene.reader, "advance", scene.erasing(memory.id))
    await scene.tell(session, "next", "We decided on Rome.")
    assert scene.forgotten
    assert MARK not in await scene.held()


async def test_a_turn_on_its_way_into_the_log_does_not_get_there(scene: Scene):
    session = await scene.begin(record=True)
    memory = await scene.say(f"The user goes to {MARK} in May", session=session, reference="secret")
    after(scene.sessions, "append", scene.erasing(memory.id))
    scene.memos.drop(scene.owner, session)
    await scene.tell(session, "other", "We decided on Rome.")
    await scene.tell(session, "secret", f"I was in {MARK}.")
    assert scene.forgotten
    waiting = await scene.episodes.waiting(scene.owner, session, limit=9)
    assert [episode.turn_id for episode in waiting] == ["other"]
    task = await scene.episodes.task(scene.owner, session)
    assert task is not None
    assert task.waiting == 1


# Merges (P11) ----------------------------------------------------------------------------------------------


async def test_a_merge_that_was_being_worded_is_not_made(scene: Scene):
    world = scene.world
    ids = []
    for phone, text in (("one", f"I like {MARK} green tea"), ("two", f"I really love {MARK} green tea")):
        world.clock.advance(timedelta(hours=1))
        ids.append((await scene.say(text, device(phone, seen={}))).id)

    class Model:
        async def merge_text(self, texts: Sequence[str], language: str) -> str | None:
            await erase()
            return f"I like and love {MARK} green tea"

    erase = scene.erasing(*ids)
    drafting = replace(world.changes.drafting, embedder=Measured(world.embedder, -1.0))
    step = Deduplication(Consolidator(replace(world.changes, drafting=drafting), summarizer=Model()))
    assert await step(scene.owner) == 0
    assert scene.forgotten
    assert MARK not in await scene.held()


# Cold storage (P9) -----------------------------------------------------------------------------------------


async def test_what_is_forgotten_while_its_file_is_written_leaves_it(scene: Scene):
    heads = [await scene.say(f"I lived in {MARK}"), await scene.say("I lived in Rome")]
    await scene.archive(*heads)
    before(scene.cold, "put", scene.erasing(heads[0].id))
    await scene.freeze()
    assert scene.forgotten
    await scene.freeze()
    assert MARK not in await scene.held()
    left = await scene.store.get(scene.owner, heads[1].id)
    assert left is not None
    assert left.cold


async def test_what_is_forgotten_while_its_file_is_written_anew_leaves_it(scene: Scene):
    texts = (f"I lived in {MARK}", "I lived in Rome", "I lived in Paris")
    heads = [await scene.say(text) for text in texts]
    await scene.archive(*heads)
    await scene.freeze()
    await scene.erasing(heads[1].id)()
    before(scene.cold, "put", scene.erasing(heads[0].id))
    await scene.freeze()
    assert len(scene.forgotten) == 2
    await scene.freeze()
    assert MARK not in await scene.held()
    assert "Paris" in await scene.held()


async def test_vectors_of_a_file_are_not_given_back_to_what_is_forgotten_meanwhile(scene: Scene):
    head = await scene.say(f"I lived in {MARK}")
    await scene.archive(head)
    await scene.freeze()
    await scene.say(f"I lived in {MARK}")  # it comes back
    after(scene.cold, "read", scene.erasing(head.id))
    await scene.freeze()
    assert scene.forgotten
    assert MARK not in await scene.held()


# Vectors made later ----------------------------------------------------------------------------------------


class Slow:
    """An embedder that lets something happen while it works."""

    def __init__(self, inner: Embedder, meanwhile: Injected) -> None:
        self.inner, self.meanwhile, self.model = inner, meanwhile, inner.model

    async def embed(self, texts: Sequence[str]) -> FloatMatrix:
        vectors = await self.inner.embed(texts)
        await self.meanwhile()
        return vectors

    async def close(self) -> None: ...


async def piece_of(scene: Scene, memory_id: MemoryId, ordinal: int) -> Any:
    async with scene.store.change(scene.owner) as change:
        pieces = await change.fragments(memory_id, 1)
    return next((piece for piece in pieces if piece.ordinal == ordinal), None)


async def test_a_vector_on_its_way_is_not_given_to_other_words_in_its_place(scene: Scene):
    """A memory is searched by the words of the one it replaced; these go, and others take their place."""
    world, owner = scene.world, scene.owner
    old, new = await scene.say(f"The office is in {MARK}"), await scene.say("The office is in Rome")
    async with scene.store.change(owner) as change:
        ws = Workspace.of(change, world.ids, owner)
        ws.adopt(await change.heads([old.id, new.id]))
        by = await world.changes.author(ws, KEY)
        ws.advance(by, "test")
        first = ws.heads[old.id]
        last = ws.revise(first, by, "corrected", status=Status.SUPERSEDED)
        world.changes.settling(ws).note(JournalEvent.SUPERSEDED, first, last, by, "corrected")
        ws.link(new.id, Relation.SUPERSEDES, old.id)
        (piece,) = await change.fragments(old.id, 1)
        ws.reword([replace(piece, memory_id=new.id, ordinal=1, model_id="", vector=None)])
        await world.changes.apply(ws, by)

    async def erase_and_reword() -> None:
        await scene.erasing(old.id)()
        async with scene.store.change(owner) as change:
            ws = Workspace.of(change, world.ids, owner)
            ws.adopt(await change.heads([new.id]))
            by = await world.changes.author(ws, KEY)
            ws.advance(by, "test")
            ws.reword([replace(piece, memory_id=new.id, ordinal=1, text="Via Appia", model_id="", vector=None)])
            await world.changes.apply(ws, by)

    embedder = Slow(world.embedder, Once(erase_and_reword))
    backfill = Backfill(scene.store, world.snapshots, embedder, Silent(), world.clock)
    await backfill._owner(owner, embedder.model.id)
    assert MARK not in await scene.held()
    assert (await piece_of(scene, new.id, 1)).vector is None
    await backfill._owner(owner, embedder.model.id)
    kept = (await piece_of(scene, new.id, 1)).vector
    (right,) = await world.embedder.embed(["Via Appia"])
    assert np.allclose(kept, right, atol=1e-2)


# Caches (F9) -----------------------------------------------------------------------------------------------


@asynccontextmanager
async def caches(scene: Scene, store: Any) -> AsyncIterator[tuple[L1Snapshots, L2Snapshots, InMemorySharedCache]]:
    world = scene.world
    cache, model = InMemorySharedCache(world.clock), world.embedder.model
    plain = StoreSnapshots(store, model, world.clock, Silent())
    l2 = L2Snapshots(plain, store, cache, model, world.clock, Silent())
    l1 = L1Snapshots(l2, store, cache, model, world.clock, Silent())
    l1.start()
    try:
        yield l1, l2, cache
    finally:
        await l1.close()
        await l2.close()


async def test_a_snapshot_that_was_being_read_is_kept_by_no_cache(scene: Scene):
    head = await scene.say(f"I lived in {MARK}")

    class Reading:
        """The store; what it read is on its way when the Forget comes."""

        def __getattr__(self, name: str) -> Any:
            return getattr(scene.store, name)

        async def search_rows(self, *given: Any) -> Any:
            rows = await scene.store.search_rows(*given)
            await erase()
            return rows

    async with caches(scene, Reading()) as (l1, l2, cache):
        forget = Forget(scene.world.changes, CacheDrops(l1))

        async def erased() -> None:
            await forget(scene.owner, ForgetCommand(ids=(head.id,)), KEY)
            scene.forgotten.append(head.id)

        erase = Once(erased)
        snapshot = await l1.snapshot(scene.owner, Requirement())
        await l2.settle()
        assert scene.forgotten
        assert MARK not in repr([snapshot.head(row).current.text for row in range(len(snapshot))])
        kept = await cache.get_snapshot(scene.owner, scene.world.embedder.model.id)
        assert kept is None or MARK.encode() not in kept[1]
