"""Statements that give a thing another name, and those that only look so (C8)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_service.domain.text.naming import NAME_CHARS_MAX, PAIRS_MAX, other_names

GIVEN: list[tuple[str, set[tuple[str, str]]]] = [
    (
        "My dentist is Rosalind Achterberg. Everybody calls her Roz.",
        {("Rosalind Achterberg", "Roz"), ("dentist", "Roz")},
    ),
    ("The payroll migration has a code name now, Osprey.", {("payroll migration", "Osprey")}),
    ("The code name for the payroll migration is Osprey.", {("payroll migration", "Osprey")}),
    ("We call the old station wagon Bertha.", {("old station wagon", "Bertha")}),
    ("Osprey is what we call the payroll migration.", {("payroll migration", "Osprey")}),
    ("Our tutor Benedikt goes by Ben.", {("tutor", "Ben"), ("Benedikt", "Ben")}),
    ("Katarzyna, or Kasia for short, starts on Monday.", {("Katarzyna", "Kasia")}),
    ("Kasia is short for Katarzyna.", {("Kasia", "Katarzyna")}),
    ("The monitoring stack, also known as Argus, runs in Oslo.", {("monitoring stack", "Argus")}),
    ("Robert aka Bobby leads the choir.", {("Robert", "Bobby")}),
    ("When I say the Burrow I mean 12 Fern Close.", {("12 Fern Close", "Burrow")}),
    ("The service everyone calls the Hydra is really auth-proxy.", {("auth-proxy", "Hydra")}),
    ("The Continuous Review Board (CRB) meets on Mondays.", {("Continuous Review Board", "CRB")}),
    ("我儿子大名周知远，小名豆豆。", {("儿子", "周知远"), ("儿子", "豆豆"), ("周知远", "豆豆")}),
    ("我们的供应商是澄江电子材料有限公司，简称澄江。", {("供应商", "澄江"), ("澄江电子材料有限公司", "澄江")}),
    ("新支付平台的代号是“海燕”。", {("新支付平台", "海燕")}),
    ("“海燕”就是新支付平台，内部都这么叫。", {("新支付平台", "海燕")}),
    ("我奶奶叫林玉芬，大家都叫她阿芬婆。", {("奶奶", "阿芬婆"), ("林玉芬", "阿芬婆")}),
    ("海燕是新支付平台的代号。", {("新支付平台", "海燕")}),
]
NONE = [
    "I called the bank in Lisbon about the card.",
    "She called me on Monday.",
    "We live in Lisbon (Portugal).",
    "That means Tuesday is free.",
    "They say it will rain.",
    "The call with Osprey is at ten.",
    "那一个叫稳。",
    "朋友叫我去吃饭。",
    "新来的同事管我叫老师。",
    "你叫什么名字？",
    "他就是不想去。",
]


@pytest.mark.parametrize(("text", "pairs"), GIVEN)
def test_the_names_that_a_statement_gives(text: str, pairs: set[tuple[str, str]]) -> None:
    folded = {frozenset(pair) for pair in pairs}
    assert {frozenset(pair) for pair in other_names(text)} >= folded


@pytest.mark.parametrize("text", NONE)
def test_what_only_looks_as_if_it_gave_a_name(text: str) -> None:
    assert other_names(text) == ()


PIECES = [
    *(
        "We call",
        "Bertha",
        "the",
        "van",
        ",",
        ".",
        "aka",
        "for short",
        "goes by",
        "is",
        "(",
        ")",
        "code name",
        "means",
    ),
    *("“", "”", "叫", "小名", "就是", "她", "，", "。", "管", "我们的", "\n"),
]


@given(st.lists(st.sampled_from([*PIECES, "A" * 70]), max_size=40))
def test_any_text_gives_few_distinct_names(words: list[str]) -> None:
    pairs = [*other_names(" ".join(words)), *other_names("".join(words))]
    assert len(pairs) <= 2 * PAIRS_MAX
    for one, other in pairs:
        assert one.casefold() != other.casefold()
        assert 2 <= len(one) <= NAME_CHARS_MAX
        assert 2 <= len(other) <= NAME_CHARS_MAX
        assert one.strip() == one
        assert other.strip() == other
