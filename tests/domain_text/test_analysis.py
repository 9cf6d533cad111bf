"""Lexical terms."""

from __future__ import annotations

import io
import logging
import sys
import threading
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_service.domain.text import AnalysisOptions, analyse, analyse_query, cut_words, language_of
from memory_service.domain.text.segment import cut_for_search

any_text = st.text(st.characters(), max_size=300)
options = st.builds(
    AnalysisOptions,
    english_stop=st.booleans(),
    english_stem=st.booleans(),
    cjk_unigrams=st.booleans(),
    cjk_bigrams=st.booleans(),
    cjk_words=st.booleans(),
    cjk_stop=st.booleans(),
    wholes=st.booleans(),
    parts=st.booleans(),
    terms_max=st.integers(0, 50),
)


@given(any_text, options)
def test_any_text_gives_bounded_storable_terms(text: str, chosen: AnalysisOptions) -> None:
    terms = analyse(text, chosen)
    assert len(terms) <= chosen.terms_max
    assert all(0 < len(term) <= chosen.term_chars_max for term in terms)
    assert not any(char.isspace() for term in terms for char in term)


@given(any_text)
def test_a_query_finds_the_text_it_repeats(text: str) -> None:
    assert set(analyse_query(text)) == set(analyse(text))
    assert len(set(analyse_query(text))) == len(analyse_query(text))


@given(st.text(st.characters(categories=("L", "Nd")), min_size=1, max_size=30))
def test_letters_and_digits_always_leave_a_term(text: str) -> None:
    assert analyse(text)


@given(any_text)
def test_analysis_ignores_case_and_width(text: str) -> None:
    wide = "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in text)
    assert analyse(wide) == analyse(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The runners were running", {"runner", "run"}),
        ("db-07.internal:5433", {"db-07.internal:5433", "db-07.internal", "db", "07", "5433"}),
        ("saw ERR_CONN_4711 again", {"err_conn_4711", "err", "conn", "4711"}),
        ("upgraded to v2.3.1", {"v2.3.1", "2.3.1", "v2"}),
        ("due 2024-05-03", {"2024-05-03", "2024", "05", "03"}),
        ("due 2024/5/3", {"2024-05-03"}),
        ("二〇二四 2024年5月3日", {"2024-05-03", "2024"}),
        ("write to ada.l@example.org", {"ada.l@example.org", "example.org", "ada"}),
        ("ring +44 20 7946 0958", {"442079460958", "7946", "0958"}),
        ("in /etc/nginx/nginx.conf", {"etc/nginx/nginx.conf", "nginx.conf", "nginx", "conf"}),
        ("costs 12,500", {"12500"}),
        ("pi is 3.14", {"3.14"}),
        ("Marta's e-mail", {"marta", "email", "mail"}),
        ("O'Connor’s café", {"connor", "oconnor", "cafe"}),
        ("they won't and can't", {"they", "can"}),
        ("C++ and C#", {"c++", "c#"}),
        ("meet at 7pm", {"7pm", "7", "pm"}),
        ("我喜欢乌龙茶", {"乌", "乌龙", "龙茶", "喜欢"}),
        ("用Docker部署", {"docker", "部署", "用"}),
        ("コーヒーが好き", {"コー", "好き"}),
        ("हिन्दी किताब", {"हिन्दी", "किताब"}),
        ("Книги и чай", {"книги", "чай"}),
    ],
)
def test_terms(text: str, expected: set[str]) -> None:
    assert expected <= set(analyse(text)), analyse(text)


def test_stop_words_go_unless_nothing_else_is_there() -> None:
    assert analyse("the kettle is on the stove") == ["kettl", "stove"]
    assert analyse("To be or not to be") == ["to", "be", "or", "not", "to", "be"]
    assert "的" not in analyse("奶奶的毛衣")
    assert analyse("我的")


def test_repetition_and_order_are_kept_for_texts_only() -> None:
    assert analyse("tea, cake, tea") == ["tea", "cake", "tea"]
    assert analyse_query("tea, cake, tea") == ["tea", "cake"]


def test_options_choose_the_chinese_terms() -> None:
    base = AnalysisOptions(cjk_stop=False)
    assert analyse("乌龙茶", replace(base, cjk_bigrams=False)) == ["乌", "龙", "茶"]
    assert analyse("乌龙茶", replace(base, cjk_unigrams=False)) == ["乌龙", "龙茶"]
    assert "乌龙茶" in analyse("乌龙茶", replace(base, cjk_words=True))


@given(st.text(st.characters(min_codepoint=0x4E00, max_codepoint=0x9FFF), max_size=40))
def test_words_are_a_partition(run: str) -> None:
    assert "".join(cut_words(run)) == run
    assert set(cut_words(run)) <= set(cut_for_search(run))


def test_the_dictionary_loads_quietly_and_uses_no_other_code(monkeypatch: pytest.MonkeyPatch) -> None:
    stderr = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stderr)
    assert cut_words("奶奶在厨房") == ("奶奶", "在", "厨房")
    assert stderr.getvalue() == ""
    assert "jieba" not in sys.modules
    assert "jieba" not in logging.root.manager.loggerDict


def test_stemming_is_safe_from_threads() -> None:
    words = [f"connect{ending}{n}" for n in range(50) for ending in ("ing", "ed", "ions")]
    texts = [" ".join(f"walking running {word} flying tables" for word in words[i::4]) for i in range(4)]
    expected = [analyse(text) for text in texts]
    results: dict[int, list[str]] = {}

    def work(index: int) -> None:
        results[index] = analyse(texts[index])

    threads = [threading.Thread(target=work, args=(index,)) for index in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [results[index] for index in range(4)] == expected


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("I keep bees", "en"),
        ("我养蜜蜂", "zh"),
        ("我用Python和Rust写后端服务", "zh"),
        ("The restaurant 海底捞 is my first choice for dinner", "en"),
        ("コーヒーが好きです", "und"),
        ("Я люблю чай", "und"),
        ("12345 !!", "und"),
        ("", "und"),
    ],
)
def test_language_goes_by_script(text: str, language: str) -> None:
    assert language_of(text) == language
