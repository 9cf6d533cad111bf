"""A memory is found by the words of its assertion, whatever words it came with (C8)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_service.domain.memory import Assertion, JsonValue
from memory_service.domain.records import ASSERTION_ORDINAL, Fragment, SearchRow
from memory_service.domain.retrieval.candidates import lexical_list
from memory_service.domain.retrieval.documents import documents_of
from memory_service.domain.retrieval.fusion import Fusion
from memory_service.domain.retrieval.snapshot import OwnerSnapshot
from memory_service.domain.text import analyse
from tests.retrieval.builders import DIMENSION, MODEL, head, row, rows

ASSERTED: list[tuple[str, Assertion, str]] = [
    ("Fine, let's keep track: 87 kilos this morning.", Assertion("user", "weight", "87 kg"), "What's my weight?"),
    ("调薪下来了，到手两万一。", Assertion("user", "月收入", "21000元"), "我的月收入是多少？"),
    ("She went up a grade.", Assertion("Priya", "job_title", "vet tech"), "What is the job title of Priya?"),
    (
        "Now it has a tail.",
        Assertion("build", "runs_on", {"os": "Debian", "cores": 4}),
        "Does the build run on Debian?",
    ),
]


@pytest.mark.parametrize(("text", "assertion", "question"), ASSERTED)
def test_a_question_in_the_words_of_the_assertion_finds_it(text: str, assertion: Assertion, question: str) -> None:
    plain = head(1, text)
    asserted = head(2, text, assertion=assertion)
    snapshot = OwnerSnapshot.build(rows(row(plain), row(asserted)), MODEL, DIMENSION)
    scores, _ = lexical_list(snapshot, np.arange(2), analyse(question), Fusion())
    assert scores[snapshot.row_of[asserted.id]] > scores[snapshot.row_of[plain.id]]


@given(
    st.lists(st.sampled_from(["tea", "port", "茶", "87"]), max_size=6),
    st.sampled_from(["user", "Priya", ""]),
    st.sampled_from(["weight", "tech_stack", "体重"]),
    st.one_of(st.none(), st.integers(0, 99), st.sampled_from(["tea", "87 kg"]), st.just({"a": [1.5, True]})),
    st.integers(1, 3),
)
def test_every_word_of_text_and_assertion_is_counted_and_no_piece_is_lost(
    words: list[str], subject: str, predicate: str, value: JsonValue, pieces: int
) -> None:
    one = head(1, " ".join(words), assertion=Assertion(subject, predicate, value))
    texts = [Fragment(one.id, 1, place, " ".join(words), tuple(words)) for place in range(pieces)]
    asserted = Fragment(one.id, 1, ASSERTION_ORDINAL, "rendered", ())
    documents = documents_of(SearchRow(one, [asserted, *texts]))
    assert len(documents) == (pieces if words else 1)
    assert list(documents[0])[: len(words)] == words
    assert set(analyse(predicate.replace("_", " "))) <= set(documents[0])
    if subject == "Priya":
        assert "priya" in documents[0]
    elif subject == "user":
        assert "user" not in documents[0]
    assert all(list(other) == words for other in documents[1:])
