"""Traditional Chinese is read as Simplified Chinese is, by every reader, and nothing is lost on the way."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_service.domain import plurality, vocabulary
from memory_service.domain.fingerprint import fingerprint, restates
from memory_service.domain.relations import _preference_zh, _words, reading
from memory_service.domain.relations.bare import bare_wording
from memory_service.domain.relations.judging import judge
from memory_service.domain.relations.reading import read
from memory_service.domain.session.answers import is_answer
from memory_service.domain.session.arrival import tags_of
from memory_service.domain.session.block import advance, entities
from memory_service.domain.session.cues import SignalKind
from memory_service.domain.session.model import Turn, TurnRole, TurnTag
from memory_service.domain.session.signals import read as signals_of
from memory_service.domain.slots import slot_of_assertion
from memory_service.domain.text import (
    StatementKind,
    analyse,
    classify,
    find_times,
    normalise,
    polarity,
    same_text_key,
)
from memory_service.domain.text._traditional import SIMPLIFIED, TRADITIONAL
from memory_service.domain.text.ahead import asks_ahead
from memory_service.domain.text.asked import time_asked, without_time
from memory_service.domain.text.naming import other_names
from memory_service.domain.text.traditional import to_simplified
from memory_service.domain.vocabulary import Vocabulary

TESTS = Path(__file__).parents[1]
TAIPEI = ZoneInfo("Asia/Taipei")
SAID_AT = datetime(2026, 3, 4, 4, 0, tzinfo=UTC)  # a Wednesday noon in Taipei
SALT = bytes(range(32))
_NEAR = 0.6
"""A cosine as statements about one matter have it."""
INTO_TRADITIONAL = str.maketrans(SIMPLIFIED, TRADITIONAL)

UNSURE = "著乾徵畫鍊沈瞭藉覆甚彷祇"
BESIDE = "名作業业者隆坤清宮宫康盛角羽計计項项子阴陰默没沒望慰狼藉蓋盖回答麼么佛神"
unsure_text = st.text(st.sampled_from(UNSURE + BESIDE + "的看 a"), max_size=30)
han_text = st.text(st.characters(min_codepoint=0x3400, max_codepoint=0x9FFF), max_size=60)


def written_traditionally(text: str) -> str:
    """A Simplified text with Traditional characters: of each that has any, not always the one a writer would take."""
    return text.translate(INTO_TRADITIONAL)


def lines(name: str) -> Iterator[dict[str, object]]:
    for line in (TESTS / name).read_text(encoding="utf-8").splitlines():
        yield json.loads(line)


def turn(text: str, role: TurnRole = TurnRole.USER, name: str = "t") -> Turn:
    return Turn(id=name, role=role, text=text)


# ── The fold ────────────────────────────────────────────────────────────────────────────────────────────────────────


@given(st.one_of(st.text(max_size=100), han_text, unsure_text))
def test_places_stay_and_folding_twice_is_folding_once(text: str) -> None:
    folded = to_simplified(text)
    assert len(folded) == len(text)
    assert to_simplified(folded) == folded
    assert all(one == other or ord(one) >= 0x3400 for one, other in zip(text, folded, strict=True))


@given(st.one_of(st.text(max_size=100), han_text, unsure_text))
def test_keys_and_terms_of_both_scripts_are_one(text: str) -> None:
    assert normalise(normalise(text)) == normalise(text)
    assert same_text_key(to_simplified(text)) == same_text_key(text)
    assert analyse(to_simplified(text)) == analyse(text)


@given(st.text(st.characters(max_codepoint=0x2FFF), max_size=100))
def test_what_is_not_chinese_stays(text: str) -> None:
    assert to_simplified(text) is text


@pytest.mark.parametrize("file", ["session/dialogues.jsonl", "session/answers.jsonl", "evolution/pairs_own.jsonl"])
def test_simplified_text_stays(file: str) -> None:
    text = (TESTS / file).read_text(encoding="utf-8")
    assert to_simplified(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "著名作家的新著，著作等身，编著者不详",
        "乾隆皇帝扭转乾坤",
        "瞭望塔",
        "杯盘狼藉，聊以慰藉",
        "覆盖和颠覆",
        "沈先生在沈阳",
        "宫商角徵羽",
        "神祇",
        "彷徨",
        "甚至",
        "哪吒爱吃蒜薹",
        "皇后、公里、面条、干部、台阶、丑时、范围、几乎、松树、云彩、才能",
    ],
)
def test_characters_of_both_scripts_stay_where_simplified_chinese_has_them(text: str) -> None:
    assert to_simplified(text) == text


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("他看著書，帶著計畫", "他看着书，带着计划"),
        ("餅乾和乾淨的襪子", "饼干和干净的袜子"),
        ("一目瞭然，我瞭解", "一目了然，我了解"),
        ("找藉口", "找借口"),
        ("回覆與答覆", "回复与答复"),
        ("沈船、深沈", "沉船、深沉"),
        ("徵求意見", "征求意见"),
        ("甚麼是項鍊", "什么是项链"),
        ("畫畫的計畫", "画画的计划"),
        ("衞生間裏的枱面", "卫生间里的台面"),
        ("臺灣的颱風，妳說", "台湾的台风，你说"),
        ("頭髮發了，後面的麵", "头发发了，后面的面"),
    ],
)
def test_what_is_told_by_its_neighbours_and_by_region(text: str, folded: str) -> None:
    assert to_simplified(text) == folded


def test_the_table_leads_to_characters_that_stay() -> None:
    assert len(TRADITIONAL) == len(SIMPLIFIED) == len(set(TRADITIONAL))
    assert not set(TRADITIONAL) & set(SIMPLIFIED)
    assert to_simplified("".join(dict.fromkeys(SIMPLIFIED))) == "".join(dict.fromkeys(SIMPLIFIED))


@pytest.mark.parametrize("module", [plurality, vocabulary, reading, _words, _preference_zh])
def test_no_rule_waits_for_a_character_that_is_never_read(module: object) -> None:
    source = Path(str(module.__file__)).read_text(encoding="utf-8")  # type: ignore[attr-defined]
    assert to_simplified(source) == source


# ── Every reader on what the other tests know in Simplified Chinese ─────────────────────────────────────────────────


def test_sessions_are_read_alike_and_quoted_as_written() -> None:
    for dialogue in lines("session/dialogues.jsonl"):
        for said in dialogue["turns"]:  # type: ignore[attr-defined]
            text, role = said["text"], TurnRole(said["role"])
            plain, found = signals_of(turn(text, role)), signals_of(turn(written_traditionally(text), role))
            assert [one.kind for one in found] == [one.kind for one in plain]
            for one, other in zip(found, plain, strict=True):
                assert one.text == written_traditionally(other.text)
                assert one.subject == written_traditionally(other.subject)
            assert tags_of(turn(written_traditionally(text), role), []) == tags_of(turn(text, role), [])
            assert entities(written_traditionally(text)) == tuple(map(written_traditionally, entities(text)))


def test_answers_are_told_alike() -> None:
    for line in lines("session/answers.jsonl"):
        for text in map(str, line["texts"]):  # type: ignore[call-overload]
            assert is_answer(turn(written_traditionally(text))) == is_answer(turn(text))


def test_statements_are_read_alike() -> None:
    for line in lines("evolution/pairs_own.jsonl"):
        for text in map(str, (line["a"], line["b"])):
            other = written_traditionally(text)
            assert read(other) == read(text)
            assert bare_wording(other) == bare_wording(text)
            assert polarity(other) == polarity(text)
            assert classify(other, SAID_AT, TAIPEI) == classify(text, SAID_AT, TAIPEI)
            assert other_names(other) == other_names(text)


# ── Sentences as they are written in Taiwan and Hong Kong ───────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("text", "words", "start"),
    [
        ("下週三下午兩點半要去看牙醫", "下週三下午兩點半", "2026-03-11T14:30"),
        ("後天晚上跟國中同學吃飯", "後天晚上", "2026-03-06T18:00"),
        ("我三個禮拜前開始學畫畫", "三個禮拜前", "2026-02-11T00:00"),
        ("健身房明年一月起漲價", "明年一月", "2027-01-01T00:00"),
        ("今晚九點開會", "今晚九點", "2026-03-04T21:00"),
        ("3月8號要繳費", "3月8號", "2026-03-08T00:00"),
        ("兩個鐘頭後提醒我", "兩個鐘頭後", "2026-03-04T14:00"),
    ],
)
def test_times(text: str, words: str, start: str) -> None:
    span = find_times(text, SAID_AT, TAIPEI)[0]
    assert text[slice(*span.text_span)] == words
    assert span.start.astimezone(TAIPEI).isoformat().startswith(start)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("我喜歡吃苦瓜", StatementKind.PREFERENCE),
        ("這個禮拜我暫時吃素", StatementKind.TEMPORARY_PREFERENCE),
        ("我對花生過敏", StatementKind.CONSTRAINT),
        ("千萬別在郵件裡用驚嘆號", StatementKind.CONSTRAINT),
        ("下週三下午兩點要去面試", StatementKind.EVENT),
        ("嶼光的窗口是蔡小姐", StatementKind.FACT),
    ],
)
def test_kinds(text: str, kind: StatementKind) -> None:
    assert classify(text, SAID_AT, TAIPEI).kind is kind


@pytest.mark.parametrize(
    ("earlier", "later", "relation"),
    [
        ("跟客戶「禾川」的窗口是林經理。", "林經理離職了，禾川之後都找許副理。", "update"),
        ("我住在臺北。", "我搬到高雄了。", "update"),
        ("健身房月費一千兩百八。", "健身房月費調到一千四百八了。", "update"),
        ("我在台積電上班。", "我從台積電離職了。", "update"),
        ("我的車是白色的。", "更正一下，我的車是銀色的。", "update"),
        ("我喜歡喝紅茶。", "我不喜歡喝紅茶。", "opposite"),
        ("我對咖啡情有獨鍾。", "我很喜欢咖啡。", "paraphrase"),
        ("我的課是每週三晚上七點。", "我的课是每周三晚上七点。", "paraphrase"),
    ],
)
def test_relations(earlier: str, later: str, relation: str) -> None:
    assert judge(read(earlier), read(later), cosine=_NEAR).relation.value == relation


@pytest.mark.parametrize(
    ("taiwan", "mainland"),
    [
        ("我每天搭捷運去公司。", "我每天搭地铁去公司。"),
        ("公司的軟體授權三月到期。", "公司的软件授权三月到期。"),
        ("晚上我只坐計程車。", "晚上我只坐出租车。"),
        ("資料庫換成PostgreSQL了。", "数据库换成PostgreSQL了。"),
    ],
)
def test_words_of_taiwan_that_are_other_words_on_the_mainland(taiwan: str, mainland: str) -> None:
    assert read(taiwan).terms == read(mainland).terms
    assert restates(fingerprint(taiwan, SALT), fingerprint(mainland, SALT))


@pytest.mark.parametrize(
    ("forgotten", "again"),
    [
        ("我正在看心理醫生，每週四見陳醫生。", "用户每周四去见心理医生陈医生。"),
        ("我欠招商銀行三萬塊。", "用户在招商银行有30000元欠款。"),
        ("我弟弟阿远去年坐过牢。", "用戶的弟弟阿遠坐過牢。"),
        ("家裡保險櫃的密碼是 5528。", "用戶保險櫃密碼為5528"),
    ],
)
def test_what_was_forgotten_is_known_in_the_other_script(forgotten: str, again: str) -> None:
    assert restates(fingerprint(again, SALT), fingerprint(forgotten, SALT))


@pytest.mark.parametrize(
    ("text", "kind", "subject"),
    [
        ("我們聊聊搬家的計畫吧", SignalKind.TOPIC, "搬家的計畫"),
        ("能不能幫我寫一封道歉信？", SignalKind.INTENT, "寫一封道歉信"),
        ("那就訂週五下午的高鐵吧", SignalKind.DECISION, "那就訂週五下午的高鐵吧"),
        ("還沒決定要不要去", SignalKind.PENDING, "還沒決定要不要去"),
        ("報價單已經寄過了", SignalKind.DONE, "報價單已經寄過了"),
        ("沒錯", SignalKind.CONFIRMATION, "沒錯"),
        ("不用了，取消吧", SignalKind.WITHDRAWAL, "不用了，取消吧"),
    ],
)
def test_what_a_sentence_does_to_a_session(text: str, kind: SignalKind, subject: str) -> None:
    assert [(one.kind, one.subject) for one in signals_of(turn(text))] == [(kind, subject)]


def test_a_revised_decision_keeps_the_writers_script() -> None:
    said = [turn("決定訂週五下午三點的高鐵。", name="a"), turn("改成週六吧。", name="b")]
    block = advance(None, said, [], SAID_AT)
    assert block is not None
    assert block.decisions == ("決定訂週六下午三點的高鐵。",)


@given(st.text("不对了改成為週周六點点決决定訂订，。 \u2019'a", max_size=40))
def test_every_signal_quotes_its_sentence(text: str) -> None:
    for signal in signals_of(turn(text)):
        assert signal.subject in signal.text
        if signal.revised is not None:
            assert signal.revised.rest in signal.text.replace("\u2019", "'")


@pytest.mark.parametrize(
    ("text", "answers"),
    [("兩個人", True), ("里斯本吧，還不太確定", True), ("我還不知道", False), ("隨便", False), ("之後再說", False)],
)
def test_answers(text: str, answers: bool) -> None:
    assert is_answer(turn(text)) is answers


def test_corrections_praise_and_repeats_are_noticed() -> None:
    assert tags_of(turn("不對，你搞錯了"), []) == (TurnTag.CORRECTION,)
    assert tags_of(turn("太厲害了，幫了大忙"), []) == (TurnTag.PRAISE,)
    assert tags_of(turn("我剛才說過了"), []) == (TurnTag.REPEAT,)
    assert tags_of(turn("帮我订周五去高雄的车票"), [turn("幫我訂週五去高雄的車票", name="b")]) == (TurnTag.REPEAT,)


def test_questions_about_times_and_names() -> None:
    asked = time_asked("去年九月的健身房月費是多少？", SAID_AT, TAIPEI)
    assert asked is not None
    assert asked.words == "去年九月"
    rest = without_time("去年九月的健身房月費是多少？", asked.at, SAID_AT, TAIPEI)
    assert rest == "的健身房月費是多少？"
    assert asks_ahead("我們什麼時候去墾丁？")
    assert other_names("陳志明外號「阿明」") == other_names("陈志明外号「阿明」") == (("陈志明", "阿明"),)


def test_a_predicate_is_found_by_its_name_in_either_script() -> None:
    words = Vocabulary.of()
    known = words.find("预算")
    assert known is not None
    assert words.find("預算") is known
    assert words.resolve("預算", "p") is known
    assert slot_of_assertion("禾川專案", "進度表") == slot_of_assertion("禾川专案", "进度表")
