"""Preferences in free wordings: one key for one preference, never one for two (E9, P11)."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_service.cli.relation_pairs import read_pairs
from memory_service.domain.relations import StatementRelation, judge, read
from memory_service.domain.relations.acting import sure
from memory_service.domain.relations.bare import bare_wording
from memory_service.domain.relations.preference import CHARS_MAX, opposed, preference

HERE = Path(__file__).parent


def _lines(name: str) -> list[dict[str, str]]:
    return [json.loads(line) for line in (HERE / name).read_text("utf-8").splitlines()]


LISTS = [json.loads(line) for line in (HERE / "preferences.jsonl").read_text("utf-8").splitlines()]
"""Each one preference in thirty or more wordings, said by different people as it were."""
APART = _lines("pairs_apart.jsonl")
"""Pairs that share most words, or a construction, and state two things."""
DEVELOPMENT_MIN = 0.97
HOLDOUT_MIN = 0.75
COSINES = st.none() | st.floats(-1, 1)

LIKING = (
    "I like {}",
    "I really love {}.",
    "The user loves {}",
    "I'm very fond of {}!",
    "I'm a huge fan of {}",
    "I'm really into {}",
    "I have a soft spot for {}",
    "I can't get enough of {}",
    "I never get tired of {}",
    "Honestly, I just adore {}",
)
DISLIKING = (
    "I don't like {}",
    "I hate {}.",
    "The user dislikes {}",
    "I can't stand {}!",
    "I'm not a big fan of {}",
    "I'm not into {}",
    "I don't care for {}",
    "I have never liked {}",
    "To be honest, I'm not fond of {} at all",
)
THINGS = (
    "tea",
    "green tea",
    "tea with milk",
    "tea without milk",
    "tea before meals",
    "tea after meals",
    "tea in winter",
    "tea at 5",
    "tea at 6",
    "two cups of tea",
    "three cups of tea",
    "tea that is not hot",
    "tea that is hot",
    "old teapots",
    "trips to Rome",
    "trips from Rome",
    "walks with Tom",
    "walks without Tom",
    "watching chess",
    "playing chess",
    "chess",
    "wooden chairs",
    "metal chairs",
    "eating alone",
    "drinking alone",
    "all fish",
    "all fish except tuna",
    "some fish",
)
LIKING_ZH = (
    "我喜欢{}",
    "我特别爱{}。",
    "用户很喜欢{}",
    "我对{}情有独钟",
    "{}是我的心头好",
    "我是{}爱好者",
    "{}让我很开心",
    "我真的很喜爱{}啊",
    "我一直钟爱{}",
    "我离不开{}",
)
DISLIKING_ZH = (
    "我不喜欢{}",
    "我讨厌{}。",
    "用户很讨厌{}",
    "{}不是我的菜",
    "我受不了{}",
    "我一点都不喜欢{}",
    "我对{}很反感",
    "{}我不喜欢",
)
THINGS_ZH = (
    "茶",
    "绿茶",
    "加奶的茶",
    "没加奶的茶",
    "饭前散步",
    "饭后散步",
    "冬天游泳",
    "夏天游泳",
    "十楼的房间",
    "九楼的房间",
    "爬山",
    "木头椅子",
    "铁椅子",
    "看下棋",
    "下棋",
    "去上海的火车",
    "从上海来的火车",
    "两个人的旅行",
    "三个人的旅行",
    "一个人吃饭",
)
IN = {
    "en": ((LIKING, DISLIKING), THINGS),
    "zh": ((LIKING_ZH, DISLIKING_ZH), THINGS_ZH),
}


def _recall(part: str) -> float:
    """Share of the wordings that fall on the commonest key of their list, over all lists."""
    found = wanted = 0
    for one in LISTS:
        if one["part"] == part:
            keys = Counter(bare_wording(wording) for wording in one["wordings"])
            found += keys.most_common(1)[0][1]
            wanted += len(one["wordings"])
    return found / wanted


@pytest.mark.parametrize(("part", "least"), [("development", DEVELOPMENT_MIN), ("holdout", HOLDOUT_MIN)])
def test_most_free_wordings_of_a_preference_have_one_key(part: str, least: float) -> None:
    assert _recall(part) >= least


def test_the_lists_are_what_the_figures_say_of_them() -> None:
    for part in ("development", "holdout"):
        of = [one for one in LISTS if one["part"] == part]
        assert sorted(one["language"] for one in of) == ["en"] * 3 + ["zh"] * 3
        assert all(len(set(one["wordings"])) >= 30 for one in of)
    assert len(APART) >= 150
    assert sum(pair["language"] == "zh" for pair in APART) >= 75


def test_two_preferences_share_no_key() -> None:
    of = [{bare_wording(wording) for wording in one["wordings"]} for one in LISTS]
    assert sum(map(len, of)) == len(set().union(*of))


@pytest.mark.parametrize("pair", APART, ids=lambda pair: f"{pair['a']} / {pair['b']}")
@pytest.mark.parametrize("cosine", [None, 0.7, 0.97])
def test_what_says_two_things_is_never_one(pair: dict[str, str], cosine: float | None) -> None:
    for a, b in ((pair["a"], pair["b"]), (pair["b"], pair["a"])):
        earlier, later = read(a), read(b)
        assert bare_wording(a) != bare_wording(b)
        judgement = judge(earlier, later, cosine=cosine)
        assert judgement.relation is not StatementRelation.PARAPHRASE or not sure(judgement, earlier, later, cosine)


def test_only_paraphrases_of_the_labelled_pairs_share_a_key() -> None:
    one = [
        pair
        for pair in read_pairs(HERE / "pairs_own.jsonl")
        if bare_wording(pair.earlier) == bare_wording(pair.later)
    ]
    assert one
    assert {label for pair in one for label in pair.wanted} == {"paraphrase"}


@given(st.data(), st.sampled_from(sorted(IN)))
def test_the_construction_does_not_count_and_every_word_of_the_thing_does(data: st.DataObject, language: str) -> None:
    sides, things = IN[language]
    (of_one, of_other) = (data.draw(st.sampled_from([0, 1])) for _ in range(2))
    one, other = (data.draw(st.sampled_from(sides[side])) for side in (of_one, of_other))
    thing, another = (data.draw(st.sampled_from(things)) for _ in range(2))
    first, second = preference(one.format(thing)), preference(other.format(another))
    assert first is not None
    assert second is not None
    assert (first.key == second.key) == (thing == another and of_one == of_other)
    assert opposed(first.key, second.key) == (thing == another and of_one != of_other)


@given(st.data(), st.sampled_from(sorted(IN)), COSINES)
def test_a_liking_and_a_dislike_of_one_thing_are_a_conflict(
    data: st.DataObject, language: str, cosine: float | None
) -> None:
    sides, things = IN[language]
    thing = data.draw(st.sampled_from(things))
    texts = [data.draw(st.sampled_from(side)).format(thing) for side in sides]
    one, other = (read(text) for text in data.draw(st.permutations(texts)))
    judgement = judge(one, other, cosine=cosine)
    assert judgement.relation in (StatementRelation.OPPOSITE, StatementRelation.UPDATE)
    assert sure(judgement, one, other, cosine)


@given(st.text(max_size=2 * CHARS_MAX) | st.sampled_from([w for one in LISTS for w in one["wordings"]]))
def test_reading_a_preference_is_total(text: str) -> None:
    found = preference(text)
    assert found == preference(text)
    assert bare_wording(text)
    if found is not None:
        assert found.what
        assert found.key == bare_wording(text)
        assert preference(text.upper() + "!") in (found, None)


@pytest.mark.parametrize(
    "text",
    [
        "I'd like green tea",
        "I liked green tea",
        "I used to like green tea",
        "Do I like green tea?",
        "I like it",
        "My sister likes green tea",
        "Maybe I like green tea",
        "I don't just like green tea",
        "I don't mind green tea",
        "I don't hate green tea",
        '"I like green tea"',
        "I like green tea, but only in winter",
        "I like",
        "I no longer like green tea",
        "Tom was my favourite",
        "The parcel is not for me",
        "I like you",
        "I love Anna",
        "I'm a huge fan",
        "It's a song that I love",
        "The talk is long and it makes me happy",
        "但是我最喜欢的是茶",
        "我想喝绿茶",
        "我以前喜欢绿茶",
        "我喜欢过绿茶",
        "我喜欢上绿茶了",
        "我喜欢绿茶吗？",
        "我妹妹喜欢绿茶",
        "我可能喜欢绿茶",
        "我不讨厌绿茶",
        "我不再喜欢绿茶",
        "我喜欢这个",
        "我爱你",
        "我爱人喜欢绿茶",
        "我爱妈妈",
        "小王说我喜欢绿茶",
        "“我喜欢绿茶”",
        "我喜欢",
    ],
)
def test_what_states_no_preference_of_the_speaker_is_none(text: str) -> None:
    assert preference(text) is None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("I like dogs", "I'm a dog lover"),
        ("I like to swim", "Swimming makes me happy"),
        ("I love drinking green tea", "Green tea is my thing"),
        ("我喜欢喝绿茶", "绿茶是我的菜"),
        ("我爱吃鱼", "我是鱼控"),
        ("My favourite is tea", "I like tea best"),
        ("My favourite drink is tea", "Tea is my favourite drink"),
        ("茶是我的最爱", "我最喜欢喝茶"),
        ("我最喜欢的饮料是茶", "茶是我最喜欢的饮料"),
        ("I prefer tea to coffee", "Between coffee and tea I choose tea"),
        ("比起咖啡我更喜欢茶", "茶和咖啡我选茶"),
        ("Anna loves tea", "Anna really likes the tea"),
    ],
)
def test_one_claim_has_one_key(one: str, other: str) -> None:
    assert bare_wording(one) == bare_wording(other)


def test_a_favourite_is_no_liking_and_its_update_leaves_the_liking_alone() -> None:
    for liked, favourite, later in (
        ("I like tea", "Tea is my favourite", "Coffee is my favourite now"),
        ("我喜欢茶", "茶是我的最爱", "我现在最爱咖啡"),
    ):
        assert bare_wording(liked) != bare_wording(favourite)
        judgement = judge(read(liked), read(later), cosine=0.6)
        assert judgement.relation in (StatementRelation.DIFFERENT, StatementRelation.REFINEMENT)


@pytest.mark.parametrize(
    ("one", "other", "conflict"),
    [
        ("I prefer tea to coffee", "Between tea and coffee I choose coffee", True),
        ("比起咖啡我更喜欢茶", "茶和咖啡我选咖啡", True),
        ("Tea is my favourite", "Tea isn't my thing", True),
        ("茶是我的最爱", "我受不了茶", True),
        ("I prefer tea to coffee", "I don't like tea", False),
        ("Tea is my favourite", "I like tea", False),
        ("I like tea", "I hate coffee", False),
        ("I like tea in winter", "I hate tea in summer", False),
        ("I prefer tea to coffee", "I prefer tea to cocoa", False),
    ],
)
def test_what_cannot_both_be_had_is_a_conflict(one: str, other: str, conflict: bool) -> None:
    assert opposed(bare_wording(one), bare_wording(other)) == conflict
    assert opposed(bare_wording(other), bare_wording(one)) == conflict
