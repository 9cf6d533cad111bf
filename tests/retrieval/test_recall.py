"""Recall end to end over the in-memory store: two languages, filters, deadlines, the past, use counts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import numpy as np
import pytest

from memory_service.adapters.embedders.hashing import HASH_MODEL, HashEncoder
from memory_service.adapters.inmemory import InMemoryMemoryStore, ManualClock
from memory_service.app.access_recorder import AccessRecorder
from memory_service.app.policies import STARTING_POLICIES, FixedPolicies
from memory_service.app.recall import Recall, RecallRequest, RecallResponse
from memory_service.domain.errors import DeadlineExceeded, InvalidInput, Reason
from memory_service.domain.ids import OwnerKey, TenantId, UserId
from memory_service.domain.memory import (
    Assertion,
    Kind,
    MemoryHead,
    Provenance,
    Status,
    Tier,
    Usage,
    Visibility,
)
from memory_service.domain.ranking import PROFILES
from memory_service.domain.records import MemoryFilter
from memory_service.domain.retrieval.fusion import Fusion
from memory_service.domain.standing import Standing
from memory_service.domain.vector_clock import Dot
from tests.retrieval.builders import NOW, head, memory_id
from tests.retrieval.doubles import CountingTelemetry, FreshSnapshots, HashEmbedder, keep

OWNER = OwnerKey(TenantId("t"), UserId("u"))
_DAY = timedelta(days=1)

TEXTS = [
    "The user prefers green tea over coffee in the afternoon",
    "The staging database listens on port 5433 at db-07.internal",
    "用户对花生过敏，点餐时要避开",
    "用户喜欢在周末去西湖边跑步",
    "The quarterly report goes to Maria every first Monday",
    "会议纪要要用表格的格式发给李雷",
]


@dataclass
class World:
    store: InMemoryMemoryStore
    clock: ManualClock
    embedder: HashEmbedder
    snapshots: FreshSnapshots
    telemetry: CountingTelemetry
    accesses: AccessRecorder
    recall: Recall

    async def ask(self, query: str = "", **changes: Any) -> RecallResponse:
        return await self.recall(RecallRequest(owner=OWNER, query=query, **changes))

    async def keep(self, *heads: MemoryHead) -> None:
        await keep(self.store, OWNER, *heads)


@pytest.fixture
def world() -> World:
    store, clock = InMemoryMemoryStore(), ManualClock(NOW)
    embedder, telemetry = HashEmbedder(), CountingTelemetry()
    snapshots, accesses = FreshSnapshots(store), AccessRecorder(store, telemetry)
    recall = Recall(snapshots, store, embedder, accesses, clock, telemetry)
    return World(store, clock, embedder, snapshots, telemetry, accesses, recall)


def texts(response: RecallResponse) -> list[str]:
    return [m.head.current.text for m in response.memories]


async def fill(world: World) -> None:
    await world.keep(*(head(n, text) for n, text in enumerate(TEXTS)))


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("which tea does the user like?", 0),
        ("db-07.internal", 1),
        ("5433", 1),
        ("对什么过敏", 2),
        ("周末去哪里跑步", 3),
        ("who gets the quarterly report", 4),
        ("会议纪要发给谁", 5),
    ],
)
async def test_finds_in_both_languages(world: World, query: str, expected: int) -> None:
    await fill(world)
    response = await world.ask(query)
    assert texts(response)[0] == TEXTS[expected]
    assert not response.degraded
    assert len(response.memories) == response.matched == response.searched == len(TEXTS)
    best = response.memories[0]
    assert best.score.semantic == max(m.score.semantic for m in response.memories)
    assert best.why
    assert best.score.cosine_rank == 1 or best.score.bm25_rank == 1


async def test_answer_carries_clock_revision_and_stages(world: World) -> None:
    await fill(world)
    response = await world.ask("tea")
    state = await world.store.state(OWNER)
    assert (response.revision, response.clock) == (state.revision, state.clock)
    ran = {stage.name for stage in response.stages if stage.ran}
    assert ran == {"snapshot", "embed", "filter", "vector", "lexical", "names", "score", "answer"}
    assert {stage for name, stage in world.telemetry.observed if name == "recall_stage_seconds"} == ran


async def test_nobody_home(world: World) -> None:
    response = await world.ask("tea")
    assert (response.memories, response.context_block, response.revision) == ((), "", 0)


async def test_no_match_still_returns_by_score(world: World) -> None:
    await world.keep(*(head(n, f"memory number {n}") for n in range(5)))
    assert len((await world.ask("xyzzy", limit=3)).memories) == 3
    world.embedder.away = True
    assert len((await world.ask("xyzzy", limit=3)).memories) == 3


async def test_empty_query_lists_what_the_filter_lets_through_by_score(world: World) -> None:
    await world.keep(
        head(1, "old", recorded_at=NOW - 300 * _DAY),
        head(2, "used", usage=Usage(9, 0, NOW)),
        head(3, "task", kind=Kind.TASK),
    )
    response = await world.ask(where=MemoryFilter(kinds=frozenset({Kind.FACT})))
    assert texts(response) == ["used", "old"]
    assert world.embedder.asked == []


async def test_filters_come_before_scoring(world: World) -> None:
    await world.keep(*(head(n, f"tea {n}", tags=("work",) if n % 2 else ()) for n in range(10)))
    response = await world.ask("tea", where=MemoryFilter(tags_all=frozenset({"work"})), limit=10)
    assert len(response.memories) == response.matched == 5
    assert response.searched == 10


async def test_what_is_not_about_now_is_left_out(world: World) -> None:
    await world.keep(
        head(1, "tea now"),
        head(2, "tea expired", expires_at=NOW),
        head(3, "tea never", valid_from=NOW + _DAY, valid_to=NOW + _DAY),
        head(4, "tea before", valid_to=NOW),
    )
    assert texts(await world.ask("tea")) == ["tea now"]
    await world.keep(
        head(5, "tea party next week", kind=Kind.EVENT, valid_from=NOW + 9 * _DAY, valid_to=NOW + 10 * _DAY),
        head(6, "tea party of last week", kind=Kind.EVENT, valid_to=NOW - 7 * _DAY),
        head(7, "tea party long past", kind=Kind.EVENT, expires_at=NOW),
    )
    assert set(texts(await world.ask("tea party"))) >= {"tea party next week", "tea party of last week"}
    assert "tea party long past" not in texts(await world.ask("tea party"))
    about_yesterday = MemoryFilter(valid_at=NOW - _DAY)
    assert set(texts(await world.ask("tea", where=about_yesterday))) == {"tea now", "tea before"}


AHEAD = [
    ("The cottage sleeps six.", "We've got the cottage from the 15th of August.", "When are we at the cottage?"),
    ("民宿能住六个人。", "八月十五号起民宿归我们住。", "我们什么时候住民宿？"),
    ("The pool closes at nine.", "The pool is ours for a week.", "Is the pool ours next week?"),
]


@pytest.mark.parametrize(("holding", "coming", "question"), AHEAD)
async def test_what_lies_ahead_is_found_before_it_begins_and_says_so(
    world: World, holding: str, coming: str, question: str
) -> None:
    begins, ends = NOW + 5 * _DAY, NOW + 12 * _DAY
    await world.keep(head(1, holding), head(2, coming, valid_from=begins, valid_to=ends))
    answer = await world.ask(question)
    stand = {m.head.current.text: m.standing for m in answer.memories}
    assert stand == {holding: Standing.CURRENT, coming: Standing.UPCOMING}
    assert ("not yet, from" in answer.context_block) or ("尚未开始, 从" in answer.context_block)
    during = await world.ask(question, as_of_valid=begins + _DAY)
    assert {m.head.current.text: m.standing for m in during.memories}[coming] is Standing.CURRENT
    world.clock.advance(13 * _DAY)
    assert texts(await world.ask(question)) == [holding], "what is over is no more ahead"


@pytest.mark.parametrize("question", ["Where does the user live?", "", "用户住在哪里"])
async def test_what_will_hold_stands_behind_what_holds(world: World, question: str) -> None:
    slot = "shared\x1fa\x1fuser\x1flocation"
    await world.keep(
        head(1, "The user lives in Oslo 用户住在奥斯陆", slot=slot, assertion=Assertion("user", "location", "Oslo")),
        head(
            2,
            "The user will live in Lisbon, where the user does live then 用户住在里斯本",
            slot=slot,
            assertion=Assertion("user", "location", "Lisbon"),
            valid_from=NOW + 30 * _DAY,
            importance=1.0,
        ),
    )
    answer = await world.ask(question)
    assert [m.standing for m in answer.memories] == [Standing.CURRENT, Standing.UPCOMING]
    world.clock.advance(31 * _DAY)
    assert {m.standing for m in (await world.ask(question)).memories} == {Standing.CURRENT}


NAMED = [
    (
        "The payroll migration has a code name now, Osprey.",
        "Ulla is the tech lead on the payroll migration.",
        "Osprey is written in Rust.",
        "Who is the tech lead of Osprey?",
        "What is the payroll migration written in?",
    ),
    (
        "My dentist is Rosalind Achterberg. Everyone calls her Roz.",
        "Rosalind wants the forms signed in advance.",
        "Roz has moved to the second floor.",
        "What does Roz want signed?",
        "Which floor is Rosalind Achterberg on?",
    ),
    (
        "我们的供应商是澄江电子材料有限公司，简称澄江。",
        "澄江电子材料有限公司的付款周期是四十五天。",
        "澄江的对接人是蒙经理。",
        "澄江多少天付款？",
        "澄江电子材料有限公司的对接人是谁？",
    ),
]


@pytest.mark.parametrize(("naming", "long", "short", "by_short", "by_long"), NAMED)
async def test_what_is_said_under_one_name_is_found_by_another(
    world: World, naming: str, long: str, short: str, by_short: str, by_long: str
) -> None:
    await world.keep(
        head(1, naming), head(2, long), head(3, short), head(4, "The bus was late."), head(5, "公交晚点。")
    )
    assert texts(await world.ask(by_short))[0] == long
    assert texts(await world.ask(by_long))[0] == short
    off = replace(PROFILES["default"], fusion=Fusion(dense_weight=0.0))
    world.recall = replace(
        world.recall, policies=FixedPolicies(replace(STARTING_POLICIES.policy, profiles={"off": off}))
    )
    assert texts(await world.ask(by_short, profile="off"))[0] == long, "by words alone"
    assert texts(await world.ask(by_long, profile="off"))[0] == short, "by words alone"


async def test_who_is_so_called_is_told_by_who_says_so(world: World) -> None:
    naming, short = "We call the old station wagon Bertha.", "Bertha needs new tyres."
    await world.keep(head(1, naming), head(2, short))
    assert texts(await world.ask("What do we call the station wagon?"))[0] == naming
    assert texts(await world.ask("What does Bertha need?"))[0] == short


async def test_a_name_told_to_one_agent_or_no_longer_known_finds_nothing_for_others(world: World) -> None:
    naming, told = "The payroll migration has a code name now, Osprey.", "Ulla leads the payroll migration."
    private = head(1, naming, visibility=Visibility.PRIVATE, provenance=Provenance("key", agent="a1"))
    await world.keep(private, head(2, told), head(3, "Nobody leads."))

    async def words(agent: str) -> float | None:
        answer = await world.ask("Osprey leads?", agent=agent)
        return next(m.score.bm25 for m in answer.memories if m.head.current.text == told)

    known, unknown = await words("a1"), await words("a2")
    assert known is not None
    assert unknown is not None
    assert known > unknown
    gone = replace(private, current=replace(private.current, version=2, status=Status.SUPERSEDED))
    await world.keep(gone)
    assert await words("a1") == await words("a2")


async def test_contested_are_returned_and_marked(world: World) -> None:
    await world.keep(head(1, "lives in Paris", status=Status.CONTESTED), head(2, "lives by the sea"))
    response = await world.ask("where does the user live? lives")
    assert {m.head.current.text: m.contested for m in response.memories} == {
        "lives in Paris": True,
        "lives by the sea": False,
    }
    assert response.context_block.index("Uncertain") < response.context_block.index("Paris")


async def test_private_memories_of_other_agents_stay_hidden(world: World) -> None:
    planner = Provenance("k", agent="planner")
    private = head(2, "tea private", visibility=Visibility.PRIVATE, provenance=planner)
    await world.keep(head(1, "tea shared"), private)
    assert set(texts(await world.ask("tea", agent="planner"))) == {"tea shared", "tea private"}
    for agent in ("", "writer"):
        sneaky = MemoryFilter(visible_to_agent="planner")
        assert texts(await world.ask("tea", agent=agent, where=sneaky)) == ["tea shared"]


async def test_a_predicate_is_found_by_its_name_and_by_an_alias(world: World) -> None:
    await world.keep(
        head(1, "nothing in common", assertion=Assertion("user", "location", "x")),
        *(head(n, f"filler {n}", assertion=Assertion("user", "role", n)) for n in range(2, 9)),
    )
    world.embedder.away = True
    for query in ("location", "在哪个城市"):
        first = (await world.ask(query)).memories[0]
        assert first.head.id == memory_id(1)
        assert first.score.names_rank == 1
        assert "is about what the question names" in first.why


async def test_callers_vector(world: World) -> None:
    await fill(world)
    vector = HashEncoder().encode([TEXTS[3]])[0] * 7
    response = await world.ask(vector=vector)
    assert texts(response)[0] == TEXTS[3]
    assert response.memories[0].score.cosine == pytest.approx(1.0, abs=1e-3), "taken as it is, nothing taken off"
    assert world.embedder.asked == []


async def test_query_and_skeleton_are_embedded_in_one_call(world: World) -> None:
    await fill(world)
    await world.ask("which tea does the user like?")
    assert world.embedder.calls == [["which tea does the user like?", "which does the ?"]]
    world.embedder.calls.clear()
    await world.ask("5433")
    await world.ask("what is it?")
    assert world.embedder.calls == [["5433"], ["what is it?"]], "nothing, or everything, would be left"


async def test_while_the_memories_are_read_the_query_goes_ahead(world: World) -> None:
    await fill(world)
    world.snapshots.slow = 3
    response = await world.ask("which tea does the user like?")
    assert texts(response)[0] == TEXTS[0]
    first, second = world.embedder.calls
    assert first == ["which tea does the user like?"]
    assert second == [*first, "which does the ?"], "the first of them is in the cache by now"


async def test_a_slow_embedder_is_not_asked_to_adjust_when_time_is_short(world: World) -> None:
    await fill(world)
    world.recall.pace.took(0.2)
    response = await world.ask("which tea does the user like?", deadline_seconds=0.3)
    assert world.embedder.calls == [["which tea does the user like?"]]
    assert not response.degraded
    assert "no time to adjust" in next(stage.note for stage in response.stages if stage.name == "embed")
    await world.ask("which tea does the user like?", deadline_seconds=0.5)
    assert len(world.embedder.calls[-1]) == 2


async def test_a_query_known_by_vector_is_answered_though_its_skeleton_is_not(world: World) -> None:
    await fill(world)
    known = "which tea does the user like?"
    world.embedder.known = {known}
    world.embedder.away = True
    response = await world.ask(known)
    assert not response.degraded
    assert response.memories[0].score.cosine is not None
    assert "not adjusted" in next(stage.note for stage in response.stages if stage.name == "embed")


async def test_question_memories_do_not_crowd_out_the_answer(world: World) -> None:
    asked = [head(n, f"Who gets the quarterly report number {n}? Do you know?") for n in range(20)]
    await world.keep(*asked, head(20, "Maria gets the quarterly figures"))
    probing = "Who gets the quarterly figures?"
    plain = replace(PROFILES["relevance"], fusion=Fusion(question_share=0.0, lexical_weight=0.0, name_weight=0.0))
    adjusted = replace(plain, fusion=replace(plain.fusion, question_share=0.7))
    policy = replace(STARTING_POLICIES.policy, profiles={"plain": plain, "adjusted": adjusted})
    world.recall = replace(world.recall, policies=FixedPolicies(policy))
    gaps = {}
    for profile in ("plain", "adjusted"):
        found = {
            m.head.id: m.score.cosine or 0.0 for m in (await world.ask(probing, profile=profile, limit=30)).memories
        }
        gaps[profile] = found[memory_id(20)] - max(found[memory_id(n)] for n in range(20))
    assert gaps["adjusted"] > gaps["plain"]


@pytest.mark.parametrize(
    ("changes", "reason", "field"),
    [
        ({"vector": np.ones(3, np.float32)}, Reason.VECTOR_DIMENSION_MISMATCH, "query_embedding"),
        ({"vector": np.zeros(HASH_MODEL.dimension, np.float32)}, Reason.VECTOR_INVALID, "query_embedding"),
        ({"vector": np.full(HASH_MODEL.dimension, np.nan, np.float32)}, Reason.VECTOR_INVALID, "query_embedding"),
        ({"limit": 0}, Reason.FIELD_OUT_OF_RANGE, "limit"),
        ({"limit": 201}, Reason.FIELD_OUT_OF_RANGE, "limit"),
        ({"token_budget": -1}, Reason.FIELD_OUT_OF_RANGE, "token_budget"),
        ({"profile": "nope"}, Reason.FIELD_INVALID, "profile"),
        ({"query": "a\x00b"}, Reason.TEXT_NOT_STORABLE, "query"),
        ({"query": "a" * 8_193}, Reason.FIELD_TOO_LONG, "query"),
        ({"as_of_valid": NOW.replace(tzinfo=None)}, Reason.FIELD_INVALID, "as_of_valid"),
        ({"agent": "a" * 300}, Reason.FIELD_TOO_LONG, "agent"),
        ({"where": MemoryFilter(importance_min=2.0)}, Reason.FIELD_OUT_OF_RANGE, "filter.importance_min"),
    ],
)
async def test_bad_requests_name_their_field(
    world: World, changes: dict[str, Any], reason: Reason, field: str
) -> None:
    with pytest.raises(InvalidInput) as caught:
        await world.ask(**changes)
    assert (caught.value.reason, caught.value.field) == (reason, field)


def stuck(world: World) -> None:
    world.embedder.stuck = True


def away(world: World) -> None:
    world.embedder.away = True


@pytest.mark.parametrize(
    ("spoil", "deadline", "note"),
    [
        (away, None, "the embedder is away"),
        (stuck, 0.03, "the embedder took too long"),
        (lambda world: None, 0.004, "no time left"),
    ],
)
async def test_without_vectors_the_answer_is_lexical_and_says_so(
    world: World, spoil: Callable[[World], None], deadline: float | None, note: str
) -> None:
    await fill(world)
    spoil(world)
    response = await world.ask("quarterly report 茶", deadline_seconds=deadline)
    assert texts(response)[0] == TEXTS[4]
    assert response.degraded
    assert len(response.memories) == len(TEXTS)
    stages = {stage.name: stage for stage in response.stages}
    assert stages["embed"].note == note
    assert not stages["vector"].ran
    assert world.telemetry.counts["recall_degraded_total"] == 1


async def test_vectors_of_another_model_are_not_compared(world: World) -> None:
    await fill(world)
    world.snapshots.model_id = "older:model"
    response = await world.ask("quarterly report")
    assert texts(response)[0] == TEXTS[4]
    assert response.degraded
    assert all(m.score.cosine is None for m in response.memories)


async def test_no_time_for_the_memories_themselves_is_an_error(world: World) -> None:
    with pytest.raises(DeadlineExceeded):
        await world.ask("tea", deadline_seconds=0.0)
    world.snapshots.stuck = True
    with pytest.raises(DeadlineExceeded):
        await world.ask("tea", deadline_seconds=0.02)


async def test_recall_of_the_past(world: World) -> None:
    vim = head(1, "The editor in use is vim", recorded_at=NOW - 90 * _DAY, valid_from=NOW - 90 * _DAY)
    await world.keep(vim)
    ended = replace(
        vim.current,
        version=2,
        status=Status.SUPERSEDED,
        recorded_at=NOW - 30 * _DAY,
        valid_to=NOW - 30 * _DAY,
        dot=Dot(vim.current.dot.device, 9),
    )
    helix = head(2, "The editor in use is helix", recorded_at=NOW - 30 * _DAY, valid_from=NOW - 30 * _DAY)
    await world.keep(replace(vim, current=ended), helix)
    editor = "which editor?"
    assert texts(await world.ask(editor)) == ["The editor in use is helix"]
    assert texts(await world.ask(editor, as_of_valid=NOW - 60 * _DAY)) == ["The editor in use is vim"]
    assert texts(await world.ask(editor, as_of_recorded=NOW - 60 * _DAY)) == ["The editor in use is vim"]
    assert texts(await world.ask(editor, as_of_recorded=NOW - 91 * _DAY)) == []
    past = await world.ask(editor, as_of_valid=NOW - 60 * _DAY)
    assert "As of 2025-12-31" in past.context_block
    await world.accesses.flush()
    assert {h.usage.access_count for h in await heads_of(world)} == {1, 0}, "only the recall about now counts"


async def heads_of(world: World) -> list[MemoryHead]:
    return list((await world.store.list(OWNER, MemoryFilter(), limit=100)).heads)


async def test_only_what_is_returned_counts_as_used(world: World) -> None:
    await fill(world)
    before = (await world.store.state(OWNER)).revision
    await world.ask("green tea", limit=1, reinforce=False)
    assert world.accesses.waiting == 0
    world.clock.advance(_DAY)
    await world.ask("green tea", limit=1)
    await world.accesses.flush()
    usage = {h.current.text: h.usage for h in await heads_of(world)}
    assert usage[TEXTS[0]] == Usage(access_count=1, last_access_at=NOW + _DAY)
    assert [u.access_count for u in usage.values()].count(0) == len(TEXTS) - 1
    assert (await world.store.state(OWNER)).revision == before


async def test_token_budget_cuts_the_block_not_the_list(world: World) -> None:
    await fill(world)
    response = await world.ask("tea", token_budget=70)
    assert len(response.memories) == len(TEXTS)
    inside = [m.head.current.text for m in response.memories if m.in_context]
    assert 0 < len(inside) < len(TEXTS)
    assert response.tokens is not None
    assert response.tokens <= 70
    assert all((m.head.current.text in response.context_block) == m.in_context for m in response.memories)


async def test_adopted_profile_ranks_by_product(world: World) -> None:
    await world.keep(
        head(1, "green tea", usage=Usage(0, 50), tier=Tier.LONG_TERM),
        head(2, "green tea!", confidence=0.4),
        head(3, "other"),
    )
    response = await world.ask("green tea", profile="adopted")
    assert texts(response) == ["green tea", "green tea!", "other"]
    assert response.memories[0].score.support > 1.3


async def test_reciprocal_rank_fusion_is_a_profile(world: World) -> None:
    await fill(world)
    response = await world.ask("green tea 茶", profile="rrf")
    assert texts(response)[0] == TEXTS[0]
    for memory in response.memories:
        score = memory.score
        found = [rank for rank in (score.cosine_rank, score.bm25_rank) if rank is not None]
        assert score.rrf == pytest.approx(sum(1 / (60 + rank) for rank in found))
        assert score.semantic == pytest.approx(score.rrf / (2 / 61), abs=2e-6)


async def test_large_owners_are_scored_off_the_event_loop(world: World) -> None:
    await fill(world)
    slim = replace(world.recall, settings=replace(world.recall.settings, thread_memories_min=1))
    response = await slim(RecallRequest(owner=OWNER, query="green tea"))
    assert texts(response)[0] == TEXTS[0]
