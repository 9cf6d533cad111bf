"""What the rules make of dialogues (S1, S2, S10), of arriving turns (C2) and of answers (F4)."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_service.domain.session.answers import is_answer
from memory_service.domain.session.arrival import tags_of
from memory_service.domain.session.block import ITEMS_MAX, TURN_IDS_MAX, advance, summary_of
from memory_service.domain.session.budget import WindowBudget
from memory_service.domain.session.model import StateBlock, ToolStatus, Turn, TurnRole, TurnTag
from memory_service.domain.session.signals import read

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
DIALOGUES = [
    json.loads(line) for line in (Path(__file__).parent / "dialogues.jsonl").read_text(encoding="utf-8").splitlines()
]


def said(text: str, role: TurnRole = TurnRole.USER, name: str = "t") -> Turn:
    return Turn(id=name, role=role, text=text)


def conversation(*texts: str) -> list[Turn]:
    """Turns of user and assistant in turn."""
    roles = (TurnRole.USER, TurnRole.ASSISTANT)
    return [said(text, roles[n % 2], f"t{n}") for n, text in enumerate(texts)]


def counted(dialogues: Sequence[dict[str, Any]]) -> Counter[str]:
    """Signals found that are labelled, found that are not, and labelled that are not found."""
    counts: Counter[str] = Counter()
    for dialogue in dialogues:
        for turn in dialogue["turns"]:
            found = {s.kind.value for s in read(said(turn["text"], TurnRole(turn["role"])))}
            labelled = set(turn["signals"])
            counts["right"] += len(found & labelled)
            counts["wrong"] += len(found - labelled)
            counts["missed"] += len(labelled - found)
    return counts


def test_there_are_enough_dialogues_of_each_kind():
    assert len(DIALOGUES) >= 60
    assert abs(sum(d["language"] == "zh" for d in DIALOGUES) - len(DIALOGUES) / 2) < 2
    assert sum(d["split"] == "holdout" for d in DIALOGUES) >= 0.3 * len(DIALOGUES)


@pytest.mark.parametrize("split", ["dev", "holdout"])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_changes_of_state_are_found_and_nothing_else(split: str, language: str):
    counts = counted([d for d in DIALOGUES if (d["split"], d["language"]) == (split, language)])
    precision = counts["right"] / (counts["right"] + counts["wrong"])
    recall = counts["right"] / (counts["right"] + counts["missed"])
    print(f"{language} {split}: precision {precision:.3f}, recall {recall:.3f} of {counts['right']} signals")
    assert precision >= 0.9
    assert recall >= 0.8


def standing(dialogue: dict[str, Any]) -> StateBlock:
    """What a dialogue comes to, turn by turn."""
    block = StateBlock()
    before: list[Turn] = []
    for number, labelled in enumerate(dialogue["turns"]):
        turn = said(labelled["text"], TurnRole(labelled["role"]), f"t{number}")
        block = advance(block, [turn], before, NOW) or block
        before.append(turn)
    return block


@pytest.mark.parametrize("split", ["dev", "holdout"])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_what_was_revised_stands_no_longer(split: str, language: str):
    """Of the dialogues that label what stands at their end: as many items as labelled, and each of them found."""
    chosen = [d for d in DIALOGUES if "state" in d and (d["split"], d["language"]) == (split, language)]
    right = found = labelled = 0
    for dialogue in chosen:
        block = standing(dialogue)
        for column, items in (("decisions", block.decisions), ("pending", block.pending)):
            wanted = dialogue["state"][column]
            hits = sum(any(word in item for item in items) for word in wanted)
            right, found, labelled = right + hits, found + len(items), labelled + len(wanted)
            if hits < len(wanted) or len(items) > len(wanted):
                print(f"{dialogue['id']} {column}: {items}, wanted {wanted}")
    print(f"{language} {split}: {right} of {found} items right, {labelled} labelled")
    assert right >= 0.9 * found
    assert right >= 0.8 * labelled


@pytest.mark.parametrize("dialogue", DIALOGUES, ids=lambda d: d["id"])
def test_turns_without_signals_leave_the_block_alone(dialogue: dict[str, Any]):
    block: StateBlock | None = None
    before: list[Turn] = []
    for number, labelled in enumerate(dialogue["turns"]):
        turn = said(labelled["text"], TurnRole(labelled["role"]), f"t{number}")
        after = advance(block, [turn], before, NOW)
        if not read(turn):
            assert after is None
        if after is not None:
            assert after.sequence == (block.sequence if block else 0) + 1
            assert after.turn_ids[-1] == turn.id
            block = after
        before.append(turn)


def test_a_conversation_comes_to_its_state():
    turns = conversation(
        "Help me book a flight to Lisbon.",
        "Shall I book the 9 am flight?",
        "Yes please. Remind me to pack my passport.",
        "Done with the booking.",
        "I've packed the passport. Let's talk about the hotel.",
    )
    block = advance(None, turns, (), NOW)
    assert block is not None
    assert (block.topic, block.intent, block.pending) == ("the hotel", "", ())
    assert block.decisions == ("Shall I book the 9 am flight? → yes",)
    assert "Lisbon" in block.entities


def test_a_chinese_conversation_comes_to_its_state():
    turns = conversation(
        "帮我订去上海的票。", "九点的可以吗？", "可以。别忘了开发票。", "好。", "换个话题，聊聊晚餐。"
    )
    block = advance(None, turns, (), NOW)
    assert block is not None
    assert (block.topic, block.decisions, block.pending) == ("晚餐", ("九点的可以吗？ → 是",), ("别忘了开发票。",))


def test_a_confirmation_needs_a_proposal():
    assert advance(None, conversation("Yes."), (), NOW) is None
    assert advance(None, [said("Yes.")], [said("The sky is blue.", TurnRole.ASSISTANT)], NOW) is None
    assert advance(None, [said("Yes.")], [said("Shall I order it?", TurnRole.ASSISTANT)], NOW) is not None


@given(st.lists(st.sampled_from([t["text"] for d in DIALOGUES for t in d["turns"]]), max_size=60))
def test_a_block_stays_bounded_whatever_is_said(texts: list[str]):
    block: StateBlock | None = None
    for number, text in enumerate(texts):
        turn = said(f"{text} {number}", name=f"t{number}")
        block = advance(block, [turn], (), NOW) or block
    if block is not None:
        assert max(len(block.decisions), len(block.pending)) <= ITEMS_MAX
        assert len(block.turn_ids) <= TURN_IDS_MAX
        assert all(len(item) <= 240 for item in (*block.decisions, *block.pending, block.topic, block.intent))


@given(st.text(max_size=300))
def test_any_text_can_be_read(text: str):
    turn = said(text)
    read(turn)
    is_answer(turn)
    tags_of(turn, [turn])


def test_a_summary_says_what_the_blocks_say_once():
    blocks = [
        StateBlock(sequence=n, topic=f"topic {n % 2}", decisions=(f"take {n // 2}",), pending=(f"open {n}",))
        for n in range(4)
    ]
    text = summary_of(blocks)
    assert text == "Topics: topic 0; topic 1\nDecided: take 0; take 1\nOpen: open 3"
    assert summary_of([StateBlock(topic="旅行", decisions=("坐火车",))]) == "话题：旅行\n决定：坐火车"


@pytest.mark.parametrize(
    ("text", "answers"),
    [
        ("Lisbon, please.", True),
        ("Next Friday at nine", True),
        ("No.", True),
        ("42", True),
        ("里斯本", True),
        ("下周五九点吧。", True),
        ("不要辣的。", True),
        ("Which ones are there?", False),
        ("I don't know yet.", False),
        ("I'll tell you later", False),
        ("not sure", False),
        ("If it rains, Lisbon", False),
        ("有哪些选择？", False),
        ("不知道", False),
        ("以后再说吧", False),
        ("还没想好。", False),
        ("...", False),
    ],
)
def test_only_an_actual_answer_answers(text: str, answers: bool):
    assert is_answer(said(text)) is answers
    assert not is_answer(said(text, TurnRole.ASSISTANT))


@pytest.mark.parametrize(
    ("text", "tags"),
    [
        ("No, I meant the other one.", [TurnTag.CORRECTION]),
        ("That's wrong, my flight is on Monday.", [TurnTag.CORRECTION]),
        ("不对，我说的是周一。", [TurnTag.CORRECTION]),
        ("你弄错了", [TurnTag.CORRECTION]),
        ("Perfect, well done!", [TurnTag.PRAISE]),
        ("太好了，正是我想要的", [TurnTag.PRAISE]),
        ("That is not very helpful.", []),
        ("I already told you that.", [TurnTag.REPEAT]),
        ("我刚才说过了", [TurnTag.REPEAT]),
        ("What is the capital of Peru?", []),
        ("明天几点开会", []),
    ],
)
def test_turns_are_tagged_when_they_arrive(text: str, tags: list[TurnTag]):
    assert list(tags_of(said(text), ())) == tags


def test_a_question_asked_again_and_a_tool_that_failed_are_noticed():
    before = conversation("How do I reset the router password?", "Hold the button.")
    assert tags_of(said("how do I reset the router password"), before) == (TurnTag.REPEAT,)
    assert tags_of(said("How do I reset the alarm code?"), before) == ()
    assert tags_of(said("ok"), conversation("ok")) == ()
    failed = Turn(id="t", role=TurnRole.TOOL, text="", tool="search", tool_status=ToolStatus.FAILED)
    assert tags_of(failed, ()) == (TurnTag.TOOL_FAILURE,)
    assert tags_of(said("That's wrong.", TurnRole.ASSISTANT), ()) == ()


@given(st.integers(1, 10_000_000))
def test_a_budget_is_never_over(window: int):
    budget = WindowBudget.of(window)
    assert budget.short_term + budget.recalled <= budget.everything <= 0.6 * window
    assert budget.short_term <= 0.4 * window
    assert budget.recalled <= 0.2 * window


@pytest.mark.parametrize(
    ("texts", "decisions"),
    [
        (("We decided to go in May.", "Actually no, June"), ("We decided to go in June.",)),
        (("We decided to go in May.", "Actually, June."), ("We decided to go in June.",)),
        (("We decided to go in May.", "No, wait. June."), ("We decided to go in June.",)),
        (("Let's do Thursday.", "scrap that, let's do Friday"), ("Let's do Friday.",)),
        (("Let's book the 9 am train.", "Sorry, make it 10 am."), ("Let's book the 10 am train.",)),
        (("Let's book two rooms.", "Three rooms, actually."), ("Let's book Three rooms.",)),
        (("We'll take the train.", "Actually we'd rather drive."), ("Actually we'd rather drive.",)),
        (
            ("We agreed on Rome.", "Change of plans: we're going to Naples."),
            ("Change of plans: we're going to Naples.",),
        ),
        (("Let's use Kafka.", "Not Kafka, Redis."), ("Not Kafka, Redis.",)),
        (("Let's use Kafka.", "We'll take the blue logo.", "Use Redis instead of Kafka."), None),
        (("我们决定周四开会", "不对，改成周五"), ("我们决定周五开会",)),
        (("就订九点的票", "改十点"), ("就订十点的票",)),
        (("我决定买红色的", "还是蓝色的吧"), ("还是蓝色的吧",)),
        (("我决定去青岛", "算了，不去了"), ()),
        (("I've decided to paint the hall white.", "On reflection, cream."), ("On reflection, cream.",)),
        (("I decided to join the gym.", "I won't join the gym after all."), ()),
        (("我选第二个方案。", "不不，第三个。"), ("我选第三个方案。",)),
        (("那就去杭州。", "换苏州吧。"), ("换苏州吧。",)),
        (("我决定买那辆二手车。", "我不想买了。"), ()),
        (("Let's go to Rome in May.", "We're not going to Rome after all."), ()),
        (("Let's go with the 2 pm slot.", "Forget it."), ()),
    ],
)
def test_a_decision_is_replaced_or_withdrawn(texts: tuple[str, ...], decisions: tuple[str, ...] | None):
    block = standing({"turns": [{"role": "user", "text": text} for text in texts]})
    assert block.decisions == (decisions if decisions is not None else ("We'll take the blue logo.", texts[-1]))


@pytest.mark.parametrize(
    ("texts", "pending"),
    [
        (("Remind me to call mum", "Never mind."), ()),
        (("Remind me to call mum", "No need to call mum any more."), ()),
        (("Remind me to call mum", "I've called mum."), ()),
        (("Remind me to call Ann on Monday.", "Make it Tuesday."), ("Remind me to call Ann on Tuesday.",)),
        (("提醒我买牛奶", "牛奶不用买了"), ()),
        (("提醒我买牛奶", "牛奶买好了"), ()),
        (("别忘了周一给安娜打电话", "改到周二吧"), ("别忘了周二给安娜打电话",)),
        # What is said of something else leaves it alone, and so does "never mind" long after.
        (("Remind me to call mum", "Cancel the gym."), ("Remind me to call mum",)),
        (("Remind me to call mum", "Never mind the noise."), ("Remind me to call mum",)),
        (("提醒我买牛奶", "雨不下了"), ("提醒我买牛奶",)),
        (("提醒我买牛奶", "打印机卡纸，被我拆开修好了。"), ("提醒我买牛奶",)),
        (("Remind me to call mum", "My neighbour's roof has been fixed at last."), ("Remind me to call mum",)),
        (("Remind me to call mum", "Done."), ()),
        (
            ("Remind me to call mum", "So?", "And?", "Or?", "Hm?", "Eh?", "Oh?", "Ah?", "Never mind."),
            ("Remind me to call mum",),
        ),
        (("Remind me to call mum", "Should I scrap that?"), ("Remind me to call mum",)),
        (("Remind me to call mum", "If I scrap that, who calls?"), ("Remind me to call mum",)),
    ],
)
def test_an_open_item_leaves_when_it_is_done_or_off_and_only_then(texts: tuple[str, ...], pending: tuple[str, ...]):
    block: StateBlock | None = None
    turns = [said(text, name=f"t{number}") for number, text in enumerate(texts)]
    for number, turn in enumerate(turns):
        block = advance(block, [turn], turns[max(0, number - 6) : number], NOW) or block
    assert block is not None
    assert block.pending == pending


def test_a_name_that_only_the_withdrawn_decision_had_is_no_longer_what_it_is_about():
    block = standing({"turns": [{"role": "user", "text": t} for t in ("We decided to fly to Rome.", "Scrap that.")]})
    assert (block.decisions, block.entities) == ((), ())


def test_the_assistant_revises_nothing():
    turns = conversation("We decided on May.", "Actually no, June.")
    block = advance(None, turns, (), NOW)
    assert block is not None
    assert block.decisions == ("We decided on May.",)


def test_a_summary_does_not_say_what_was_withdrawn_since():
    blocks = [
        StateBlock(sequence=1, decisions=("fly in May",)),
        StateBlock(sequence=2, decisions=("fly in May", "take the bus")),
        StateBlock(sequence=3, decisions=("take the bus", "fly in June"), withdrawn=("fly in May",)),
    ]
    assert summary_of(blocks) == "Decided: take the bus; fly in June"


def test_a_summary_keeps_what_only_had_no_more_room_and_what_was_decided_again():
    full = tuple(f"take {number}" for number in range(ITEMS_MAX))
    blocks = [
        StateBlock(sequence=1, decisions=full),
        StateBlock(sequence=2, decisions=(*full[1:], "take the last"), withdrawn=("take the last",)),
    ]
    assert summary_of(blocks) == f"Decided: {'; '.join((*full, 'take the last'))}"


def test_a_block_tells_what_it_took_back_and_the_next_one_no_longer():
    turns = [
        said(t, name=f"t{n}")
        for n, t in enumerate(("We decided on May.", "Actually no, June.", "Remind me to pack."))
    ]
    first = advance(None, turns[:1], (), NOW)
    second = advance(first, turns[1:2], turns[:1], NOW)
    third = advance(second, turns[2:], turns[:2], NOW)
    assert [b.withdrawn for b in (first, second, third) if b] == [(), ("We decided on May.",), ()]


@given(st.lists(st.sampled_from([t["text"] for d in DIALOGUES for t in d["turns"]]), max_size=20))
def test_the_same_turns_come_to_the_same_state_in_one_batch_and_one_by_one(texts: list[str]):
    turns = [said(text, name=f"t{number}") for number, text in enumerate(texts)]
    at_once = advance(None, turns, (), NOW) or StateBlock()
    block: StateBlock | None = None
    for number, turn in enumerate(turns):
        block = advance(block, [turn], turns[:number], NOW) or block
    one_by_one = block or StateBlock()
    assert (at_once.decisions, at_once.pending) == (one_by_one.decisions, one_by_one.pending)
