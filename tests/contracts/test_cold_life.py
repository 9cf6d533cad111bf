"""What becomes of a memory that lies in cold storage, through the use cases, on every store (P9, E15, F8, B9)."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from memory_service.adapters.parquet import FolderFiles, ParquetColdStore
from memory_service.app.access_recorder import AccessRecorder
from memory_service.app.cold import ColdSettings, ColdStorage
from memory_service.app.commands import (
    ChangeMeta,
    CorrectCommand,
    Effect,
    ForgetCommand,
    RevokeCommand,
    RollbackCommand,
    Statement,
)
from memory_service.app.deep import DeepSearch, DeepSettings
from memory_service.app.move_words import MoveWords
from memory_service.app.recall import Recall, RecallRequest, RecallResponse
from memory_service.app.revoke import Revoke
from memory_service.app.workspace import Workspace
from memory_service.domain.errors import InvalidInput, Reason, Unavailable
from memory_service.domain.ids import MemoryId, OwnerKey
from memory_service.domain.memory import Cardinality, Kind, MemoryHead, MergePolicy, Status, Tier, Visibility
from memory_service.domain.records import MemoryFilter
from memory_service.domain.vocabulary import Predicate
from memory_service.ports.memory_store import MemoryStore
from tests.app.harness import Silent, World
from tests.contracts.builders import new_owner, plain

KEY = ChangeMeta(actor="key")
MARK = "Zanzibar"


class Life:
    """One owner over one store and a folder of cold files."""

    def __init__(self, store: MemoryStore, folder: Path) -> None:
        self.folder = folder
        self.owner = new_owner()
        self.world = World(store=store)
        self.store = store
        self.cold = ParquetColdStore(FolderFiles(folder))
        self.step = ColdStorage(self.world.changes, self.cold)
        self.accesses = AccessRecorder(store, Silent())

    def recall_of(self, cold: object | None = None, **settings: object) -> Recall:
        world = self.world
        return Recall(
            snapshots=world.snapshots,
            store=self.store,
            embedder=world.embedder,
            accesses=self.accesses,
            clock=world.clock,
            telemetry=Silent(),
            archive=DeepSearch(self.store, cold or self.cold, DeepSettings(**settings)),  # type: ignore[arg-type]
        )

    async def ask(self, query: str, *, deep: bool = True, **given: object) -> RecallResponse:
        request = RecallRequest(owner=self.owner, query=query, deep=deep, **given)  # type: ignore[arg-type]
        return await self.recall_of()(request)

    async def say(self, text: str, **given: object) -> MemoryHead:
        result = await self.world.say(text, owner=self.owner, **given)  # type: ignore[arg-type]
        assert result.memory is not None
        return result.memory

    async def archive(self, *heads: MemoryHead) -> None:
        """Move memories to the archive, as the service's own step does."""
        changes = self.world.changes
        async with self.store.change(self.owner) as change:
            ws = Workspace.of(change, changes.ids, self.owner)
            by = await changes.author(ws, KEY)
            ws.advance(by, "archive")
            for head in await change.heads([h.id for h in heads]):
                changes.settling(ws).archive(head, by, "idle", {})
            await changes.apply(ws, by)

    async def freeze(self, *texts: str, **given: object) -> list[MemoryHead]:
        """Memories that are in cold storage."""
        heads = [await self.say(text, **given) for text in texts]
        await self.archive(*heads)
        self.world.clock.advance(timedelta(days=31))
        await self.step(self.owner)
        assert all([(await self.get(h.id)).cold for h in heads])
        return [await self.get(h.id) for h in heads]

    async def get(self, memory_id: MemoryId) -> MemoryHead:
        found = await self.store.get(self.owner, memory_id)
        assert found is not None
        return found

    async def forget(self, *ids: MemoryId) -> None:
        await self.world.forget(self.owner, ForgetCommand(ids=ids), KEY)

    def files(self) -> list[Path]:
        return sorted(self.folder.rglob("*.parquet"))

    def content(self) -> str:
        """Everything that any file holds: decoded, and as raw bytes."""
        told = []
        for path in self.files():
            told.append(str(pq.read_table(path).to_pydict()))
            told.append(path.read_bytes().decode("latin-1"))
        return "\n".join(told)


@pytest.fixture
def life(store: MemoryStore, tmp_path: Path) -> Life:
    return Life(store, tmp_path / "cold")


def texts(response: RecallResponse) -> list[str]:
    return [m.head.current.text for m in response.memories]


async def test_what_is_idle_for_thirty_days_in_the_archive_goes_to_a_file(life: Life):
    head = await life.say(f"I lived in {MARK}")
    stays = await life.say("I like tea")
    await life.archive(head)
    life.world.clock.advance(timedelta(days=29))
    assert await life.step(life.owner) == 0
    before = await life.get(head.id)
    life.world.clock.advance(timedelta(days=2))
    assert await life.step(life.owner) == 1
    assert await life.step(life.owner) == 0
    assert await life.get(head.id) == dataclasses.replace(before, cold=True)
    assert not (await life.get(stays.id)).cold
    assert MARK in life.content()
    assert len(life.files()) == 1


async def test_only_a_deep_recall_finds_the_archive_and_says_so(life: Life):
    (cold,) = await life.freeze(f"I lived in {MARK} as a child")
    warm = await life.say(f"I worked in {MARK} as a cook")
    await life.archive(warm)
    hot = await life.say(f"I fly to {MARK} often")
    shallow = await life.ask(MARK, deep=False)
    assert texts(shallow) == [hot.current.text]
    deep = await life.ask(MARK)
    assert set(texts(deep)) == {hot.current.text, warm.current.text, cold.current.text}
    assert not deep.degraded
    why = {m.head.id: m.why for m in deep.memories}
    assert "from cold storage" in why[cold.id]
    assert "from the archive" in why[warm.id]
    assert not {"from cold storage", "from the archive"} & set(why[hot.id])
    tiers = {m.head.id: (m.head.current.tier, m.head.cold) for m in deep.memories}
    assert tiers[cold.id] == (Tier.ARCHIVE, True)
    assert [s.name for s in deep.stages if s.name == "cold"] == ["cold"]
    assert texts(await life.ask(MARK, deep=False)) == [hot.current.text]


async def test_what_is_searched_by_other_words_too_stays_in_the_archive(life: Life):
    """A file could neither give those words back nor lose one at once when it is forgotten."""
    head = await life.say("I like green tea")
    assert (await life.say("I really love the green tea")).id == head.id
    await life.archive(head)
    life.world.clock.advance(timedelta(days=31))
    assert await life.step(life.owner) == 0
    for words in ("I like green tea", "I really love the green tea"):
        assert texts(await life.ask(words)) == [head.current.text]
    plain = await life.freeze(f"I lived in {MARK}")
    assert plain[0].cold


async def test_a_list_of_what_was_believed_has_cold_memories(life: Life):
    (cold,) = await life.freeze(f"I lived in {MARK}")
    page = await life.store.list(life.owner, MemoryFilter(), limit=9, recorded_at=cold.current.recorded_at)
    assert [(h.id, h.cold, h.current.version) for h in page.heads] == [(cold.id, True, cold.current.version)]


async def test_a_filter_and_an_agents_secrets_hold_in_the_archive_too(life: Life):
    await life.freeze(f"private {MARK}", agent="one", visibility=Visibility.PRIVATE)
    await life.freeze(f"tagged {MARK}", tags=("x",))
    assert texts(await life.ask(MARK, agent="two")) == [f"tagged {MARK}"]
    assert set(texts(await life.ask(MARK, agent="one"))) == {f"tagged {MARK}", f"private {MARK}"}
    assert texts(await life.ask(MARK, agent="one", where=MemoryFilter(tags_all=frozenset({"x"})))) == [
        f"tagged {MARK}"
    ]


async def test_a_cold_memory_gets_the_word_that_took_the_place_of_its_own(life: Life):
    """And says the same again under the new word: it comes back, it is not made a second time (E15, P3)."""
    words = life.world.vocabulary.having(Predicate("shoe_size", Kind.PROFILE, Cardinality.ONE, MergePolicy.CONFIRM))
    old = World(store=life.store, vocabulary=words)
    said = await old.state("shoe_size", 42, owner=life.owner)
    assert said.memory is not None
    await life.archive(said.memory)
    life.world.clock.advance(timedelta(days=31))
    await life.step(life.owner)
    assert (await life.get(said.memory.id)).cold
    new = World(store=life.store, vocabulary=words.without("shoe_size", "attribute"))
    new.clock.advance(timedelta(days=31))
    assert await MoveWords(new.changes)(life.owner) == 1
    assertion = (await life.get(said.memory.id)).current.assertion
    assert assertion is not None
    assert assertion.predicate == "attribute"
    again = await new.state("attribute", 42, owner=life.owner)
    assert again.memory is not None
    assert (again.memory.id, again.effect) == (said.memory.id, Effect.REACTIVATED)


@pytest.mark.parametrize("text", ["I like green tea", "我喜欢喝绿茶"])
@pytest.mark.parametrize("cold", [True, False])
async def test_what_is_said_again_comes_back_under_its_own_id_less_certain(life: Life, text: str, cold: bool):
    head = await life.say(text)
    await life.archive(head)
    if cold:
        life.world.clock.advance(timedelta(days=31))
        await life.step(life.owner)
    assert (await life.get(head.id)).cold is cold
    again = await life.say(text)
    assert again.id == head.id
    assert again.current.tier is Tier.LONG_TERM
    assert again.current.confidence == pytest.approx(0.95 * 0.8)
    assert (again.cold, again.created_at) == (False, head.created_at)
    assert [v.version for v in await life.store.history(life.owner, head.id)] == [1, 2, 3]
    rows = (await life.store.search_rows(life.owner, life.world.embedder.model.id)).rows
    assert [r.head.id for r in rows] == [head.id]
    assert [f.text for f in rows[0].fragments] == [text]


async def test_the_vectors_it_had_come_back_and_it_leaves_the_file(life: Life):
    (head,) = await life.freeze(
        f"I lived in {MARK}", vector=np.eye(life.world.embedder.model.dimension, dtype=np.float32)[0]
    )
    model = life.world.embedder.model.id
    await life.say(f"I lived in {MARK}", vector=np.eye(life.world.embedder.model.dimension, dtype=np.float32)[0])
    assert len(await life.store.waiting_fragments(life.owner, model, limit=9)) == 1
    assert await life.step(life.owner) == 1
    (row,) = (await life.store.search_rows(life.owner, model)).rows
    assert row.head.id == head.id
    assert row.fragments[0].vector is not None
    assert row.fragments[0].vector[0] == 1.0
    assert life.files() == []
    assert list(await life.store.cold_files(life.owner)) == []


async def test_forget_reaches_cold_memories_at_once_and_their_bytes_with_the_next_run(life: Life):
    """The proof reads the files: before, what was forgotten is in them; after, nothing of it is."""
    gone, stays = await life.freeze(f"I lived in {MARK}", "I lived in Timbuktu")
    assert MARK in life.content()
    await life.forget(gone.id)
    assert texts(await life.ask(f"{MARK} Timbuktu lived")) == [stays.current.text]
    assert await life.store.get(life.owner, gone.id) is None
    assert all(v.text == "" for v in await life.store.history(life.owner, gone.id))
    assert MARK in life.content()
    assert await life.step(life.owner) == 1
    assert MARK not in life.content()
    assert str(gone.id.bytes) not in life.content()
    assert "Timbuktu" in life.content()
    assert texts(await life.ask("Timbuktu")) == [stays.current.text]
    await life.forget(stays.id)
    assert await life.step(life.owner) == 1
    assert life.files() == []
    assert await life.step(life.owner) == 0


async def test_forgetting_by_words_and_by_filter_finds_cold_memories(life: Life):
    one, two = await life.freeze("I like green tea", "I like opera", tags=("x",))
    says = ForgetCommand(says=Statement(text="I like green tea"))
    assert (await life.world.forget(life.owner, says, KEY)).ids == [one.id]
    where = ForgetCommand(where=MemoryFilter(tags_all=frozenset({"x"})))
    assert (await life.world.forget(life.owner, where, KEY)).ids == [two.id]
    again = await life.say("I like opera", source=None)
    assert again.id != two.id


async def test_corrections_rollbacks_and_revocations_bring_a_cold_memory_back_first(life: Life):
    since = life.world.clock.now()
    meta = ChangeMeta(actor="key", device="stolen")
    (one,) = await life.freeze("I like green tea")
    result = await life.world.rollback(life.owner, RollbackCommand(memory_id=one.id, version=1), KEY)
    assert result.memory is not None
    assert (result.memory.cold, result.memory.current.tier) == (False, Tier.LONG_TERM)
    (two,) = await life.freeze("I like opera", meta=meta)
    await Revoke(life.world.changes)(life.owner, RevokeCommand(device="stolen", since=since), KEY)
    revoked = await life.get(two.id)
    assert (revoked.cold, revoked.current.status) == (False, Status.RETRACTED)
    (three,) = await life.freeze("I like chess")
    corrected = await life.world.correct(
        life.owner, CorrectCommand(memory_id=three.id, statement=Statement(text="I like go")), KEY
    )
    assert corrected.memory is not None
    assert not corrected.memory.cold
    assert await life.step(life.owner) == 1
    assert "chess" not in life.content()


async def test_a_new_value_replaces_a_cold_one_of_its_slot(life: Life):
    world = life.world
    first = await world.state("residence", "Berlin", owner=life.owner)
    assert first.memory is not None
    await life.archive(first.memory)
    world.clock.advance(timedelta(days=31))
    assert await life.step(life.owner) == 1
    await world.state("residence", "Paris", owner=life.owner)
    old = await life.get(first.memory.id)
    assert (old.cold, old.current.status) == (False, Status.SUPERSEDED)


class Killed(BaseException):
    """As kill -9: nothing may handle it."""


class Fragile:
    """Cold storage or store that dies before or after one of its calls."""

    def __init__(self, inner: object, deadly: int, after: bool) -> None:
        self.inner, self.left, self.after = inner, deadly, after

    def __getattr__(self, name: str) -> object:
        found = getattr(self.inner, name)

        async def call(*args: object, **given: object) -> object:
            self.left -= 1
            if self.left == 0 and not self.after:
                raise Killed
            result = await found(*args, **given)
            if self.left == 0:
                raise Killed
            return result

        return found if name == "change" else call


async def state_of(life: Life, ids: Sequence[MemoryId]) -> object:
    return [plain(dataclasses.replace(await life.get(i), cold=False)) for i in ids]


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("deadly", range(1, 18))
async def test_killed_between_any_two_steps_nothing_is_lost_or_doubled(life: Life, deadly: int, after: bool):
    """Freezing and purging, killed before or after each call to the store or the files; then once more."""
    heads = [await life.say(f"I lived in {MARK} number {n}") for n in range(4)]
    ids = [h.id for h in heads]
    await life.archive(*heads[:2])
    life.world.clock.advance(timedelta(days=31))
    await life.step(life.owner)
    await life.forget(ids[0])
    await life.say(heads[1].current.text)
    await life.archive(*heads[1:])
    life.world.clock.advance(timedelta(days=31))
    before = await state_of(life, ids[1:])
    calls = Fragile(life.store, deadly, after)
    files = Fragile(life.cold, deadly, after)
    for store, cold in ((calls, life.cold), (life.store, files)):
        changes = dataclasses.replace(life.world.changes, store=store)  # type: ignore[arg-type]
        with contextlib.suppress(Killed):
            await ColdStorage(changes, cold, ColdSettings(batch_memories_max=2))(life.owner)  # type: ignore[arg-type]
        found = texts(await life.ask(f"{MARK} number", limit=50))
        assert len(found) == len(set(found))
    for _ in range(3):
        await life.step(life.owner)
    life.world.clock.advance(timedelta(hours=2))
    await life.step(life.owner)  # sweeps what nothing refers to
    assert await state_of(life, ids[1:]) == before
    assert sorted(texts(await life.ask(f"{MARK} number", limit=50))) == sorted(h.current.text for h in heads[1:])
    assert "number 0" not in life.content()
    known = {f.name for f in await life.store.cold_files(life.owner)}
    assert {p.stem for p in life.files()} == known


async def test_two_workers_on_one_owner_lose_and_double_nothing(life: Life):
    heads = [await life.say(f"I lived in {MARK} number {n}") for n in range(6)]
    await life.archive(*heads)
    life.world.clock.advance(timedelta(days=31))
    step = ColdStorage(life.world.changes, life.cold, ColdSettings(batch_memories_max=2))
    await asyncio.gather(*(step(life.owner) for _ in range(3)))
    await life.step(life.owner)
    await life.forget(heads[0].id)
    await asyncio.gather(*(step(life.owner) for _ in range(3)))
    for _ in range(3):
        await life.step(life.owner)
    assert sorted(texts(await life.ask(f"{MARK} number", limit=50))) == sorted(h.current.text for h in heads[1:])
    assert "number 0" not in life.content()


async def test_a_file_that_others_may_be_making_is_not_swept(life: Life):
    await life.freeze("I like opera")
    head = await life.say("I like chess")
    row = (await life.store.search_rows(life.owner, life.world.embedder.model.id)).rows[-1]
    assert row.head.id == head.id
    name = f"{life.world.clock.now():%Y%m%dT%H%M%SZ}-{'0' * 32}"
    await life.cold.put(life.owner, name, [row])
    await life.step(life.owner)
    assert name in await life.cold.names(life.owner)
    life.world.clock.advance(timedelta(hours=2))
    await life.step(life.owner)
    assert name not in await life.cold.names(life.owner)
    assert len(life.files()) == 1


async def test_a_lost_file_is_counted_and_its_memories_are_still_read_and_come_back(life: Life):
    lost, also = await life.freeze("I lived in Oslo", "I lived in Riga")
    for path in life.files():
        path.unlink()
    counted: list[tuple[str, int]] = []

    class Counting(Silent):
        def count(self, name: str, amount: int = 1, **labels: str) -> None:
            counted.append((name, amount))

    await life.say("I lived in Oslo")
    changes = dataclasses.replace(life.world.changes, telemetry=Counting())
    await ColdStorage(changes, life.cold)(life.owner)
    assert ("cold_files_missing_total", 1) in counted
    assert not (await life.get(lost.id)).cold
    assert (await life.get(also.id)).current.text == "I lived in Riga"
    answer = await life.ask("Oslo Riga lived")
    assert texts(answer) == ["I lived in Oslo"]
    assert answer.degraded
    await life.forget(also.id)
    await ColdStorage(changes, life.cold)(life.owner)
    assert list(await life.store.cold_files(life.owner)) == []


class Away:
    """Cold storage that does not answer."""

    def __getattr__(self, name: str) -> object:
        async def call(*args: object, **given: object) -> object:
            raise Unavailable(Reason.COLD_STORAGE_UNAVAILABLE, "away")

        return call


async def test_a_deep_recall_without_cold_storage_answers_and_says_so(life: Life):
    await life.freeze(f"I lived in {MARK}")
    hot = await life.say(f"I fly to {MARK}")
    request = RecallRequest(owner=life.owner, query=MARK, deep=True)
    answer = await life.recall_of(Away())(request)
    assert texts(answer) == [hot.current.text]
    assert answer.degraded
    (note,) = [s.note for s in answer.stages if s.name == "cold"]
    assert "does not answer" in note


async def test_a_deep_recall_reads_no_more_bytes_than_it_may(life: Life):
    await life.freeze(f"I lived in {MARK}")
    await life.freeze(f"I worked in {MARK}")
    size = await life.cold.size(life.owner, (await life.store.cold_files(life.owner))[-1].name)
    answer = await life.recall_of(bytes_max=size)(RecallRequest(owner=life.owner, query=MARK, deep=True))
    assert texts(answer) == [f"I worked in {MARK}"]  # the newest file first
    assert answer.degraded


async def test_a_deep_recall_without_time_answers_from_what_is_hot(life: Life):
    await life.freeze(f"I lived in {MARK}")
    hot = await life.say(f"I fly to {MARK}")
    request = RecallRequest(owner=life.owner, query=MARK, deep=True, deadline_seconds=50)
    answer = await life.recall_of(answer_seconds=100)(request)
    assert texts(answer) == [hot.current.text]
    assert answer.degraded
    (stage,) = [s for s in answer.stages if s.name == "cold"]
    assert (stage.ran, stage.note) == (False, "no time left")


async def test_what_was_found_before_time_ran_out_is_used(life: Life):
    await life.freeze(f"I lived in {MARK}")
    await life.freeze(f"I worked in {MARK}")

    class Slow:
        """Cold storage that answers for its newest file, and then never again."""

        asked = 0

        def __getattr__(self, name: str) -> object:
            return getattr(life.cold, name)

        async def search(self, *arguments: object) -> object:
            self.asked += 1
            if self.asked > 1:
                await asyncio.Event().wait()
            return await life.cold.search(*arguments)  # type: ignore[arg-type]

    request = RecallRequest(owner=life.owner, query=MARK, deep=True, deadline_seconds=5)
    answer = await life.recall_of(Slow(), answer_seconds=1.5)(request)
    assert texts(answer) == [f"I worked in {MARK}"]
    assert answer.degraded
    (note,) = [s.note for s in answer.stages if s.name == "cold"]
    assert "time ran out" in note


async def test_deep_is_about_what_is_believed_now(life: Life):
    with pytest.raises(InvalidInput) as caught:
        await life.ask(MARK, as_of_recorded=life.world.clock.now())
    assert caught.value.field == "deep"


async def test_what_held_long_ago_is_found_in_the_archive(life: Life):
    now = life.world.clock.now()
    year = timedelta(days=365)
    await life.freeze(f"I worked in {MARK}", valid_from=now - 3 * year, valid_to=now - 2 * year)
    await life.freeze(f"I retired from {MARK}", valid_from=now - 2 * year)
    then, since = now - 2.5 * year, now - year
    assert texts(await life.ask(MARK, as_of_valid=then)) == [f"I worked in {MARK}"]
    assert texts(await life.ask(MARK, as_of_valid=since)) == [f"I retired from {MARK}"]
    assert texts(await life.ask(MARK, as_of_valid=then, deep=False)) == []


async def test_a_deep_recall_without_a_question_lists_the_archive(life: Life):
    head = await life.say("I like chess")
    await life.archive(head)
    assert texts(await life.ask("")) == ["I like chess"]


async def test_a_use_of_a_cold_memory_is_counted_and_leaves_it_where_it_is(life: Life):
    (head,) = await life.freeze(f"I lived in {MARK}")
    await life.ask(MARK)
    await life.accesses.flush()
    after = await life.get(head.id)
    assert (after.cold, after.usage.access_count) == (True, 1)


async def test_one_owner_never_reads_anothers_files(life: Life):
    await life.freeze(f"I lived in {MARK}")
    stranger = OwnerKey(life.owner.tenant, type(life.owner.user)("stranger"))
    answer = await life.recall_of()(RecallRequest(owner=stranger, query=MARK, deep=True))
    assert texts(answer) == []
