"""Traditional Chinese through the use cases: found from either script, changed, forgotten, shown as written."""

from __future__ import annotations

import pytest

from memory_service.app.commands import ChangeResult
from memory_service.app.recall import RecallRequest
from memory_service.domain.ids import MemoryId
from memory_service.domain.memory import Assertion, Source, Status
from tests.app.harness import ALICE, World
from tests.app.test_sessions import Talks, turn


def memory_of(result: ChangeResult) -> MemoryId:
    assert result.memory is not None
    return result.memory.current.id


async def found(talks: Talks, query: str) -> list[str]:
    answer = await talks.recall(RecallRequest(owner=ALICE, query=query, with_block=True))
    return [item.head.current.text for item in answer.memories]


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("陽臺的鑰匙放在鞋櫃裡。", "阳台的钥匙放在哪里？"),
        ("阳台的钥匙放在鞋柜里。", "陽臺的鑰匙放在哪裡？"),
        ("報價單要寄給嶼光的蔡小姐。", "报价单寄给谁？"),
        ("我的护照号码写在蓝色笔记本上。", "護照號碼寫在哪？"),
    ],
)
async def test_a_question_in_one_script_finds_what_is_said_in_the_other(text: str, query: str) -> None:
    talks = Talks()
    for other in ("昨天的麵很鹹。", "今天天气不错。", "公車又遲到了。"):
        await talks.world.say(other)
    await talks.world.say(text)
    assert (await found(talks, query))[0] == text


async def test_what_is_stored_and_shown_is_as_it_was_written() -> None:
    talks = Talks()
    text = "跟客戶「禾川」的窗口是林經理，乾脆找他。"
    said = await talks.world.say(text)
    head = await talks.world.get(memory_of(said))
    assert head.current.text == text
    answer = await talks.recall(RecallRequest(owner=ALICE, query="禾川的窗口", with_block=True))
    assert text in answer.context_block


async def test_one_claim_in_both_scripts_is_one_memory() -> None:
    world = World()
    first = await world.say("我對花生過敏。")
    again = await world.say("我对花生过敏")
    assert memory_of(again) == memory_of(first)
    assert await world.current() == ["我對花生過敏。"]


async def test_a_change_takes_the_place_of_the_old_value() -> None:
    world = World()
    old = await world.say("健身房月費一千兩百八。")
    await world.say("健身房月費調到一千四百八了。")
    assert (await world.get(memory_of(old))).current.status is Status.SUPERSEDED


async def test_what_was_forgotten_does_not_come_back_in_the_other_script() -> None:
    world = World()
    said = await world.say("我欠招商銀行三萬塊。")
    await world.erase(memory_of(said))
    await world.say("用户在招商银行有30000元欠款。", source=Source.INFERRED)
    assert await world.current() == []


async def test_a_slot_is_one_in_both_scripts() -> None:
    world = World()
    for subject, value in (("禾川專案", "一萬"), ("禾川专案", "两万")):
        await world.say(assertion=Assertion(subject, "預算", value))
    values = [(row.current.assertion.predicate, row.current.assertion.object) for row in await heads(world)]
    assert values == [("budget", "两万")]


async def heads(world: World):
    rows = await world.store.search_rows(ALICE, world.embedder.model.id)
    return [row.head for row in rows.rows if row.head.current.status is Status.ACTIVE]


async def test_a_session_keeps_the_writers_script() -> None:
    talks = Talks()
    session = await talks.begin()
    await talks.add(
        ALICE,
        session,
        [turn("a", "我們聊聊搬家的計畫吧。決定訂週五下午的卡車。"), turn("b", "改成週六吧。")],
        actor="k",
    )
    (block,) = await talks.store.blocks(ALICE, session)
    assert block.topic == "搬家的計畫"
    assert block.decisions == ("決定訂週六下午的卡車。",)
