"""What is acted on by wording: never two claims that share words, always what says that it changed (E2, E9)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_service.domain.relations import StatementRelation, judge, read
from memory_service.domain.relations.acting import sure

_ACTS = (StatementRelation.PARAPHRASE, StatementRelation.UPDATE, StatementRelation.OPPOSITE)
APART = [
    ("Take the pill before meals.", "Take the pill after meals."),
    ("Turn the heater on at night.", "Turn the heater off at night."),
    ("I owe Tom 50 euros.", "Tom owes me 50 euros."),
    ("我欠小王五十块", "小王欠我五十块"),
    ("小王打了小李", "小李打了小王"),
    ("I moved from Rome to Oslo.", "I moved from Oslo to Rome."),
    ("I was allergic to milk.", "I am allergic to milk."),
    ("I used to have a dog.", "I have a dog."),
    ("I think I'm allergic to nuts.", "I'm allergic to nuts."),
    ("我想养猫", "我养猫"),
    ("My score is -5.", "My score is 5."),
    ("Ana moved to Rome.", "Ben moved to Oslo."),
    ("We moved to Leeds in 2019.", "My best friend Ana moved to Rome."),
    ("We moved to Leeds in 2019.", "My meeting with Ana moved to Friday."),
    ("小李搬到北京了", "小王搬到上海了"),
    ("我搬到上海了", "我搬到三楼了"),
    ("我和小李的会改到三点", "我和小王的会改到四点"),
    ("I changed my bank to Monzo.", "I changed my phone to a Pixel."),
    ("I renamed my cat to Miso.", "I renamed my boat to Pearl."),
    ("My work phone is 555-1234.", "I switched my phone to a Pixel."),
    ("I take insulin every morning.", "I don't take insulin in the evening any more."),
    ("我每天早上打胰岛素", "我晚上不再打胰岛素了"),
    ("I can eat cooked onions.", "I can't eat raw onions any more."),
    ("I work at Google.", "I no longer work at the bakery on Saturdays."),
    ("I live alone.", "I no longer live in Berlin."),
    ("I'm learning Spanish.", "I stopped learning German."),
    ("I play football on Mondays.", "Paul stopped playing tennis on Mondays."),
    ("小李抽烟", "小王戒烟了"),
    ("I own a red bike.", "I sold my blue bike."),
    ("My doctor is Dr. Patel.", "My son's doctor is now Dr. Wong."),
    ("Record 2-32 code 74c9df6a", "Record 2-38 code ab2cd31e"),
    ("订单12的金额是156元。", "订单13的金额是169元。"),
    ("3号仓库的温度是18度。", "5号仓库的温度改到了20度。"),
    ("I'm allergic to peanuts.", "I'm not allergic to almonds."),
    ("I play tennis.", "I don't play golf."),
    ("I work at Google.", "I used to work at Meta."),
    ("fact number 3", "fact number 4"),
    ("note 1", "note 2"),
    ("waits 0", "waits 1"),
    ("The kitchen shelf holds mkr8695n3qo0t4x", "The kitchen shelf holds mkr8695n3qo0t9x"),
    ("I run on Tuesdays.", "I've got a cold, so no running this week."),
    ("The staging Postgres for Larkspur listens on port 5433.", "The staging Redis for Larkspur is on 6390."),
    ("The staging Postgres for Larkspur listens on 5433.", "The reporting Postgres for Larkspur listens on 5434."),
    ("天枢的网关监听 8431 端口。", "天璇项目的网关监听 8413 端口。"),
    ("蓝鲸项目4月10号上线。", "白鲸往后挪了，改到5月8号上线。"),
    ("西岭项目验收排在5月8日。", "刚跟甲方确认过，滨河项目4月24日验收。"),
    ("彩票中了五块，请同事吃了根烤肠。", "楼下彩票店换成了修脚店。"),
    ("Server alpha has 16 GB.", "Server beta has 32 GB."),
    ("User has a back injury.", "User prefers audio learning methods due to their back injury."),
    ("Tarn & Daughters: year end 31 March.", "Tarn Valley Joinery: year end 30 June."),
]
"""Pairs of which both hold, or nobody can tell: small words, roles, persons, things, scopes, entries of a list."""
TOGETHER = [
    (
        "My dentist is Dr Okafor.",
        "We ended up moving to the Norham practice, so my dentist is Dr Lindqvist now.",
    ),
    ("My gym's Ironside.", "I've switched gyms to Pulse, it's got a pool."),
    ("My rent is 1,150 a month.", "Letter from the landlord: rent goes up to 1,240 from the 1st of March."),
    ("Heron's budget is $86k.", "They've topped Heron up to $95k."),
    ("The cottage at Harrow Sands sleeps four.", "The cottage at Harrow Sands sleeps six."),
    ("I write everything in Vellum.", "Switched over to Draftpad for writing."),
    ("The user's sister Priya works as a vet.", "No, Priya's not a vet, she's a vet tech."),
    ("用户养了一只猫。", "怎么老给我推猫粮？我没养猫，那次是帮邻居喂了几天。"),
    ("用户公司的出差餐补是每天 120 元。", "用户公司的出差餐补是每天 150 元。"),
    ("用户公司的出差餐补是每天 150 元。", "问过财务了，出差餐补一天 120，没有 150 这一档。"),
    ("周老师的统计课在 302 教室。", "啊我打错了，统计课是 203，不是 302。"),
    ("砚湖的对接人是蒙经理。", "砚湖换对接人了，现在找姜工。"),
    ("我的目标体重定在70公斤。", "教练说太激进，目标改成74公斤。"),
    ("I like jazz.", "I love jazz."),
    ("My gym is Ironside.", "I've switched gyms from Ironside to Pulse."),
    ("I work as a nurse at Elm Hospital.", "I no longer work at Elm Hospital, I've moved to Birch Clinic."),
    ("The staging server runs on port 8080.", "We moved the staging server off 8080, it listens on 9090 now."),
    ("我的默认浏览器是火狐。", "我的默认浏览器换成Edge了。"),
    ("我在支付组上班。", "我从今天起不在支付组上班了，调到风控组。"),
    ("我家的猫吃三文鱼猫粮。", "我家的猫换成鸭肉猫粮了，不吃三文鱼的了。"),
    ("我住在海淀区。", "忘了说，二月二日起我就搬到通州区住了，不住海淀了。"),
    ("我的门禁码是 5521。", "门禁码换了，从今天起是 8830。"),
    ("工位电话是 6610。", "工位电话换成 6688 了。"),
    ("I run every morning before work.", "I no longer run in the mornings, my knee is done for."),
    ("I smoke.", "I no longer smoke."),
    ("I take insulin every morning.", "I don't take insulin any more."),
    ("The Harrow report is due on 1 March.", "The Harrow report deadline moved, it is due on 8 March now."),
]


FOUND = [
    json.loads(line) for line in (Path(__file__).parent / "apart.jsonl").read_text(encoding="utf-8").splitlines()
]
"""Pairs found by use, of which both hold; `kept` is false for those that wording does not tell apart yet."""


def acts(earlier: str, later: str, cosine: float | None) -> bool:
    one, other = read(earlier), read(later)
    judgement = judge(one, other, cosine=cosine)
    return judgement.relation in _ACTS and sure(judgement, one, other, cosine)


@pytest.mark.parametrize(("earlier", "later"), APART)
@pytest.mark.parametrize("cosine", [None, 0.45, 0.65, 0.85])
def test_what_only_shares_words_is_neither_merged_nor_replaced(earlier: str, later: str, cosine: float | None):
    assert not acts(earlier, later, cosine)


@pytest.mark.parametrize("pair", [pair for pair in FOUND if pair["kept"]], ids=lambda pair: pair["b"])
@pytest.mark.parametrize("cosine", [None, 0.45, 0.65, 0.85])
def test_what_was_told_of_another_thing_person_or_day_stays(pair: dict[str, Any], cosine: float | None):
    assert not acts(pair["a"], pair["b"], cosine)


def test_no_more_pairs_than_known_are_taken_for_one_another():
    assert sum(not pair["kept"] for pair in FOUND) <= 21


_MIXED = st.text(alphabet="0123456789零一二两三四五六七八九十百千万点半号月年元块:.,第周$% aTm的在", max_size=40)


@given(_MIXED, _MIXED)
def test_any_mixture_of_digits_and_numerals_is_read(earlier: str, later: str):
    """ "G101八点" is a train and an hour."""
    judge(read(earlier), read(later), cosine=0.6)


@pytest.mark.parametrize(("earlier", "later"), TOGETHER)
def test_what_says_the_same_or_that_it_changed_is_acted_on(earlier: str, later: str):
    assert acts(earlier, later, 0.65)
