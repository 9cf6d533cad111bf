"""Which text may be stored, and which texts count as the same."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_service.domain.errors import InvalidInput, Reason
from memory_service.domain.text import check_storable, normalise, same_text_key

any_text = st.text(max_size=200)
surrogates = st.characters(min_codepoint=0xD800, max_codepoint=0xDFFF, categories=["Cs"])
invisible = st.text(
    st.sampled_from(" \t\n\r\u3000\u200b\u200d\u2060\ufeff\u0301\u20dd\ufe0f\x07\x7f\u3164\u2800\u00ad")
)


def refused(text: str, limit: int = 100) -> InvalidInput:
    with pytest.raises(InvalidInput) as caught:
        check_storable(text, "memory.text", limit)
    assert caught.value.field == "memory.text"
    return caught.value


@pytest.mark.parametrize("text", ["a", "茶", "👍🏽", "  x  ", "नमस्ते", "e\u0301", "1", ".", "\ue000", "한"])
def test_visible_text_is_storable(text: str) -> None:
    check_storable(text, "memory.text", 100)


@given(st.text(max_size=20), st.text(max_size=20))
def test_nul_anywhere_is_not_storable(before: str, after: str) -> None:
    error = refused(before + "\x00" + after)
    assert error.reason is Reason.TEXT_NOT_STORABLE
    assert "NUL" in error.message


@given(
    st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]), max_size=20),
    surrogates,
    st.text(max_size=20),
)
def test_a_lone_surrogate_anywhere_is_not_storable(before: str, bad: str, after: str) -> None:
    error = refused(before + bad + after.replace("\x00", ""))
    assert error.reason is Reason.TEXT_NOT_STORABLE
    assert error.metadata == {"position": str(len(before))}


@given(invisible)
def test_text_nobody_can_see_is_required(text: str) -> None:
    assert refused(text, 10_000).reason is Reason.FIELD_REQUIRED


@given(st.text("茶é𠮷", min_size=1, max_size=50), st.integers(0, 60))
def test_length_is_counted_in_code_points(text: str, limit: int) -> None:
    if len(text) > limit:
        error = refused(text, limit)
        assert error.reason is Reason.FIELD_TOO_LONG
        assert error.metadata == {"limit": str(limit), "actual": str(len(text))}
        assert text not in error.message


@given(any_text)
def test_what_is_accepted_survives_utf8_and_has_no_nul(text: str) -> None:
    try:
        check_storable(text, "text", 1_000)
    except InvalidInput:
        return
    assert "\x00" not in text
    assert text.encode().decode() == text


@given(any_text)
def test_normalise_is_idempotent(text: str) -> None:
    assert normalise(normalise(text)) == normalise(text)


@given(any_text)
def test_same_text_key_is_idempotent(text: str) -> None:
    assert same_text_key(same_text_key(text)) == same_text_key(text)


WORDS = st.lists(
    st.sampled_from(["Tea", "coffee", "NOT", "never", "12", "3.5", "龙井", "不", "喝", "São", "naïve", "B3"]),
    min_size=1,
    max_size=8,
)


@given(WORDS, st.sampled_from([".", "!", " ", "...", "。", "！", "\u200b", "  \n"]), st.data())
def test_casing_punctuation_spacing_and_width_do_not_change_the_key(
    words: list[str], tail: str, data: st.DataObject
) -> None:
    plain = " ".join(words)
    gap = data.draw(st.sampled_from(["  ", "\t", "\u3000", ", ", " - ", "，", "\n"]))
    variant = gap.join(words) + tail
    wide = "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in plain.upper())
    assert same_text_key(variant) == same_text_key(plain)
    assert same_text_key(plain.swapcase()) == same_text_key(plain)
    assert same_text_key(wide) == same_text_key(plain)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The gate code is 4471.", "the gate code is  4471"),
        ("Don’t call before ten", "don't call before ten!"),
        ("我用 Python 写代码", "我用Python写代码。"),
        ("预算１２００元", "预算1200元"),
        ("It costs 1,200 euros", "it costs 1200 euros"),
        ("Straße 5", "STRASSE 5"),
    ],
)
def test_variants_of_one_sentence_share_a_key(one: str, other: str) -> None:
    assert same_text_key(one) == same_text_key(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("I eat nuts", "I don't eat nuts"),
        ("我吃花生", "我不吃花生"),
        ("port 5432", "port 5433"),
        ("version 1.5", "version 15"),
        ("at 3:30", "at 330"),
        ("it is -5 outside", "it is 5 outside"),
        ("he is now here", "he is nowhere"),
        ("20% off", "20 off"),
        ("$40", "40"),
        ("written in C++", "written in C"),
        ("written in C#", "written in C"),
        ("a_b.py", "a b.py"),
        ("👍", "👎"),
    ],
)
def test_different_claims_keep_different_keys(one: str, other: str) -> None:
    assert same_text_key(one) != same_text_key(other)


def test_both_scripts_of_chinese_and_both_widths_are_one() -> None:
    assert normalise("臺灣") == normalise("台湾") == "台湾"
    assert same_text_key("她的頭髮，是黑色的。") == same_text_key("她的头发是黑色的")
    assert normalise("ＡＢＣ　１") == "abc 1"
