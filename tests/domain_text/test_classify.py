"""Kind, lifetime, topic and polarity of statements."""

from __future__ import annotations

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_service.domain.text import StatementKind, classify, polarity, topic_of

BERLIN = ZoneInfo("Europe/Berlin")
THURSDAY = datetime(2026, 9, 10, 9, tzinfo=BERLIN)
K = StatementKind


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("I always take my coffee black.", K.PREFERENCE),
        ("I prefer aisle seats", K.PREFERENCE),
        ("She hates cilantro", K.PREFERENCE),
        ("I never eat breakfast", K.PREFERENCE),
        ("I usually work from the library", K.PREFERENCE),
        ("我喜欢吃辣", K.PREFERENCE),
        ("我从来不吃早饭", K.PREFERENCE),
        ("我一般坐地铁上班", K.PREFERENCE),
        ("回邮件请用英文", K.PREFERENCE),
        ("I'm allergic to penicillin", K.CONSTRAINT),
        ("Never call me before nine", K.CONSTRAINT),
        ("Please don't share my address", K.CONSTRAINT),
        ("我对青霉素过敏", K.CONSTRAINT),
        ("不要给我打电话", K.CONSTRAINT),
        ("My name is Imre", K.PROFILE),
        ("I live in Tartu", K.PROFILE),
        ("I work as a piano tuner", K.PROFILE),
        ("我叫阿木", K.PROFILE),
        ("我在一家书店工作", K.PROFILE),
        ("The router is in the cellar", K.FACT),
        ("I'm not allergic to penicillin", K.FACT),
        ("Choir rehearsal is every Tuesday at 7", K.FACT),
        ("路由器在地下室", K.FACT),
        ("我每天早上跑步", K.FACT),
        ("Do I like mushrooms?", K.FACT),
        ("If I lived by the sea I'd love sailing", K.FACT),
        ("我是不是喜欢蘑菇？", K.FACT),
        ("From Monday I take the early shift", K.FACT),
        ("从下周一起我上早班", K.FACT),
        ("My son's birthday is on 4 December", K.FACT),
        ("I broke my wrist yesterday", K.EVENT),
        ("昨天我把手腕摔伤了", K.EVENT),
        ("I signed the lease today", K.EVENT),
        ("2025-02-11 went climbing with Noor", K.EVENT),
        ("To deploy: build the image, push it, restart the pods", K.PROCEDURE),
        ("发布流程：先打标签，再构建镜像，最后重启服务", K.PROCEDURE),
    ],
)
def test_standing_statements(text: str, kind: StatementKind) -> None:
    found = classify(text, THURSDAY, BERLIN)
    assert (found.kind, found.standing, found.expires_after_hint) == (kind, True, None), found.cues


@pytest.mark.parametrize(
    ("text", "kind", "days"),
    [
        ("Dentist tomorrow at ten", K.EVENT, 2),
        ("Meeting Ilse next Friday at 3", K.EVENT, 9),
        ("I have to hand in the form on Monday", K.EVENT, 5),
        ("The tiler is coming this Saturday", K.EVENT, 3),
        ("Rent is due by the 20th", K.EVENT, 11),
        ("今晚八点看话剧", K.EVENT, 1),
        ("下周五下午三点面试", K.EVENT, 9),
        ("后天我要去取护照", K.EVENT, 3),
        ("I'd like soup tonight", K.TEMPORARY_PREFERENCE, 2),
        ("Just this once, make it decaf", K.TEMPORARY_PREFERENCE, 1),
        ("Please answer in Spanish for now", K.TEMPORARY_PREFERENCE, 14),
        ("今晚想吃面", K.TEMPORARY_PREFERENCE, 2),
        ("这次换成豆浆", K.TEMPORARY_PREFERENCE, 1),
        ("I'm staying at my cousin's for now", K.CONTEXT, 14),
        ("I'm on a train right now", K.CONTEXT, 2),
        ("暂时住在表哥家", K.CONTEXT, 14),
        ("我这会儿在火车上", K.CONTEXT, 2),
        ("This week I'm in Graz for work", K.CONTEXT, 4),
        ("Remind me to water the ferns", K.TASK, 7),
        ("I need to renew my passport", K.TASK, 7),
        ("记得给绿萝浇水", K.TASK, 7),
    ],
)
def test_what_lapses_by_itself(text: str, kind: StatementKind, days: int) -> None:
    found = classify(text, THURSDAY, BERLIN)
    assert (found.kind, found.standing) == (kind, False), found.cues
    assert found.expires_after_hint is not None
    assert timedelta() < found.expires_after_hint <= timedelta(days=days)


@pytest.mark.parametrize(
    "text",
    [
        "I love sea swimming. I'm at the doctor's right now.",
        "我最爱吃饺子，最近在学包粽子",
        "I usually cycle, but today I'm walking",
        "Saturday is laundry day",
        "周六带孩子去游泳",
        "We moved here last spring and settled in",
        "I recently joined the rowing club",
        "I currently work at the post office",
        " ".join(["We talked at length about the garden and the shed and the fence."] * 6) + " See you tomorrow.",
    ],
)
def test_nothing_lasting_is_let_lapse(text: str) -> None:
    assert classify(text, THURSDAY, BERLIN).standing


def test_expiry_is_the_end_of_the_local_day_of_the_last_time() -> None:
    found = classify("Boiler service tomorrow at 8 am", THURSDAY, BERLIN)
    assert found.expires_after_hint == datetime(2026, 9, 12, tzinfo=BERLIN) - THURSDAY
    undated = classify("Boiler service tomorrow at 8 am")
    assert not undated.standing
    assert undated.expires_after_hint is not None
    assert undated.expires_after_hint >= timedelta(days=1)


@given(st.text(max_size=200))
def test_any_text_is_classified_consistently(text: str) -> None:
    found = classify(text, THURSDAY, BERLIN)
    assert found == classify(text, THURSDAY, BERLIN)
    assert found.standing == (found.expires_after_hint is None)
    if any(char.isalnum() for char in text):
        assert found.topic


@given(st.lists(st.sampled_from(["tea", "garden", "violin", "walks", "乌龙茶", "Graz"]), min_size=1, unique=True))
def test_topics_ignore_casing_order_and_function_words(words: list[str]) -> None:
    topic = topic_of(" ".join(words))
    assert topic_of("The " + " and the ".join(reversed(words)).upper() + "!") == topic
    assert topic_of("I really like " + ", ".join(words)) == topic
    assert topic_of("the user doesn't like " + ", ".join(words)) == topic


@given(
    st.sets(st.integers(100, 999), min_size=1, max_size=12), st.sets(st.integers(100, 999), min_size=1, max_size=12)
)
def test_topics_never_join_statements_of_different_content(one: set[int], other: set[int]) -> None:
    same = topic_of(" ".join(map(str, one))) == topic_of(" ".join(map(str, other)))
    assert same == (one == other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("I like green tea", "Green tea: I don't like it"),
        ("I always drink green tea", "i drink GREEN tea"),
        ("我喜欢喝咖啡", "咖啡我不喜欢喝"),
        ("用户喜欢喝咖啡", "我很喜欢喝咖啡"),
        ("I'm allergic to pollen", "I am not allergic to pollen"),
    ],
)
def test_one_topic(one: str, other: str) -> None:
    assert topic_of(one) == topic_of(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Lunch with Ada on Tuesday", "Lunch with Ada on Friday"),
        ("I like green tea", "I like black tea"),
        ("我喜欢喝咖啡", "我喜欢喝红茶"),
        ("My desk is on floor 3", "My desk is on floor 4"),
    ],
)
def test_two_topics(one: str, other: str) -> None:
    assert topic_of(one) != topic_of(other)


def test_a_liking_and_a_fact_of_the_same_words_are_two_topics() -> None:
    assert classify("I like chess").topic == "preference: chess"
    assert classify("chess").topic == "chess"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I eat meat", "+"),
        ("I don't eat meat", "-"),
        ("I no longer eat meat", "-"),
        ("I hate meat", "-"),
        ("I don't hate meat", "+"),
        ("Not only do I eat meat, I love it", "+"),
        ("I can't live without meat", "+"),
        ("I gave up smoking", "-"),
        ("我吃肉", "+"),
        ("我不吃肉", "-"),
        ("我讨厌吃肉", "-"),
        ("这家店不错", "+"),
        ("我不得不吃肉", "+"),
        ("我戒烟了", "-"),
        ("我戒了烟", "-"),
        ("特别爱吃肉", "+"),
    ],
)
def test_polarity(text: str, expected: str) -> None:
    assert polarity(text) == expected
