"""Fingerprints of forgotten wordings: they know a restatement, and name no word (B3)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_service.domain.fingerprint import fingerprint, pack, restates, unpack

_SALT = bytes(range(32))

RESTATED = [
    ("I was diagnosed with ADHD last spring and take Elvanse.", "The user takes Elvanse for ADHD."),
    ("My therapist is Dr Okafor, we meet on Mondays.", "User meets therapist Dr Okafor every Monday."),
    ("We are twelve thousand pounds in debt to Meridian Bank.", "The user owes Meridian Bank 12,000 pounds."),
    ("The door code of the studio is 7741.", "Studio entry code: 7741"),
    ("I'm secretly planning to leave Harlow & Finch in May.", "The user plans to leave Harlow in May."),
    ("My brother Tomas is in rehab near Leeds.", "The user has a brother, Tomas, in rehab in Leeds."),
    ("我正在看心理医生，每周四见陈医生。", "用户每周四去见心理医生陈医生。"),
    ("我欠招商银行三万块。", "用户在招商银行有30000元欠款。"),
    ("我弟弟阿远去年坐过牢。", "用户的弟弟阿远坐过牢。"),
    ("我偷偷报了北岸的夜校，学焊接。", "用户在北岸夜校学焊接。"),
    ("家里保险柜的密码是 5528。", "用户保险柜密码为5528"),
]
UNRELATED = [
    ("My therapist is Dr Okafor, we meet on Mondays.", "The user plays football on Mondays."),
    ("I was diagnosed with ADHD last spring.", "The user planted tulips last spring."),
    ("The door code of the studio is 7741.", "The studio has a red door."),
    ("My brother Tomas is in rehab near Leeds.", "The user's brother likes chess."),
    ("I love coffee at Blue Finch with Anna.", "The user drinks coffee."),
    ("我正在看心理医生，每周四见陈医生。", "用户每周四打羽毛球。"),
    ("我弟弟阿远去年坐过牢。", "用户的弟弟在学画画。"),
    ("我欠招商银行三万块。", "用户去银行换了零钱。"),
    ("家里保险柜的密码是 5528。", "用户家里的猫叫橘子。"),
]


@pytest.mark.parametrize(("forgotten", "again"), RESTATED)
def test_a_restatement_is_known(forgotten: str, again: str):
    assert restates(fingerprint(again, _SALT), fingerprint(forgotten, _SALT))


@pytest.mark.parametrize(("forgotten", "other"), UNRELATED)
def test_what_only_shares_a_word_is_not_stopped(forgotten: str, other: str):
    assert not restates(fingerprint(other, _SALT), fingerprint(forgotten, _SALT))


@given(st.text(max_size=300), st.binary(min_size=1, max_size=64))
def test_packing_loses_nothing_and_any_text_has_one(text: str, salt: bytes):
    buckets = fingerprint(text, salt)
    assert unpack(pack(buckets)) == buckets
    assert len(buckets) <= 48


def test_a_fingerprint_does_not_say_which_word_was_meant():
    """Every bucket is shared by many words, so knowing the salt and the buckets names none of them."""
    words = [
        f"{a}{b}{c}" for a in "bcdfg" for b in ("anter", "ollim", "urvex", "eprat") for c in map(str, range(1000))
    ]
    meant = fingerprint(words[7], _SALT).keys()
    sharing = [word for word in words if fingerprint(word, _SALT).keys() & meant]
    assert len(sharing) >= 10


@pytest.mark.parametrize(
    "wordings",
    [
        ["I weigh 94 kilos.", "User's weight: 94 kg.", "用户体重94公斤。", "我的体重是九十四公斤"],
        ["My salary is 18k.", "The user earns 18,000.", "我月薪一万八。", "用户工资18000元。"],
        ["I'm pregnant.", "The user is pregnant.", "我怀孕了。", "用户已怀孕。"],
        ["We're getting divorced.", "The user is going through a divorce.", "用户正在离婚。"],
        ["My PIN is 77 41.", "用户的密码：7741"],
    ],
)
def test_all_wordings_of_a_matter_leave_one_and_the_same_trace(wordings: list[str]):
    """So the trace cannot tell which of them was meant: it says less than a trace of the words would."""
    buckets = {frozenset(fingerprint(text, _SALT)) for text in wordings}
    assert len(buckets) == 1


@given(st.integers(13, 999), st.sampled_from(["I weigh {} kilos.", "The rent is {} euros.", "用户体重{}公斤。"]))
def test_a_number_is_no_longer_alone_in_its_bucket_than_it_was(number: int, text: str):
    """Numbers have little entropy: what is kept of one is its bucket and that it is a name or a number, no more."""
    found = fingerprint(text.format(number), _SALT)
    assert max(found.values()) == 2
    alike = fingerprint("My friend is Anselm.", _SALT)
    assert max(alike.values()) == 2, "a name weighs the same, so the weight does not tell the two apart"


def test_another_salt_gives_another_fingerprint():
    text = "My brother Tomas is in rehab near Leeds."
    assert fingerprint(text, _SALT) != fingerprint(text, bytes(32))
