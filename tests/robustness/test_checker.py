"""The checker finds what is wrong: a true history is changed in one way each, and it must say so."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from memory_service.client import Context, Kind, Memory, Source, Status, Tier, Visibility
from memory_service.client.values import Assertion, Provenance
from memory_service.domain.vector_clock import Dot
from tests.robustness.checker import Database, End, Findings, check
from tests.robustness.history import History, effective
from tests.robustness.model import TEXT, Act, expect

USER = "ann"


def act(device: str, counter: int, kind: str, claim: tuple[str, str, str], **seen: int) -> Act:
    return Act(Dot(device, counter), seen, kind, claim, 0.9 if kind == "assert" else 0.0)  # type: ignore[arg-type]


def memory(
    memory_id: str, claim: tuple[str, str, str], *, status: Status = Status.ACTIVE, support: int = 1
) -> Memory:
    subject, predicate, value = claim
    said = None if predicate == TEXT else Assertion(subject, predicate, value)
    return Memory(
        memory_id, 1, "", Kind.FACT, value, said, "", (), Source.EXPLICIT, 0.9, 0.5, support, Tier.LONG_TERM, status,
        None, None, None, None, None, None, Provenance(), None, Context(), Visibility.SHARED, False, 0, 0, None, "en",
        "", False,
    )  # fmt: skip


OSLO, ROME = ("friend", "location", "mkoslox"), ("friend", "location", "mkromex")
TEA, GONE = ("", TEXT, "likes mkteax"), ("", TEXT, "likes mkgonex")


def true_story() -> tuple[History, End]:
    """Two siblings, a statement made twice, and one that was forgotten."""
    history = History()
    history.acts[USER] = [
        act("a", 1, "assert", OSLO),
        act("b", 1, "assert", ROME),
        act("a", 2, "assert", TEA, a=1),
        act("b", 2, "assert", TEA, b=1),
        act("a", 3, "assert", GONE, a=2),
        act("b", 3, "forget_claim", GONE, a=3, b=2),
    ]
    rows = [(n + 1, a.dot.device, a.dot.counter, "write") for n, a in enumerate(history.acts[USER])]
    memories = [
        memory("1", OSLO, status=Status.CONTESTED),
        memory("2", ROME, status=Status.CONTESTED),
        memory("3", TEA, support=2),
    ]
    journal = [("1", "created", 1), ("2", "created", 1), ("3", "created", 1)]
    database = Database(6, {"a": 3, "b": 3}, rows, journal)
    return history, End(
        USER, memories, frozenset({"1", "2", "3"}), database, {}, {"phone": list(memories)}, list(journal)
    )


def found(change: Callable[[History, End], Any] | None = None, kept: frozenset[str] = frozenset()) -> Findings:
    history, end = true_story()
    if change is not None:
        change(history, end)
    return check(history, [end], kept)


def test_a_true_history_is_clean():
    assert found().problems == []


def drop(end: End) -> None:
    end.memories = end.memories[:2]
    end.recalled = frozenset({"1", "2"})
    end.replicas = {}


def row(end: End, **fields: Any) -> None:
    end.database = replace(end.database, **fields)


@pytest.mark.parametrize(
    ("sort", "change"),
    [
        ("lost", lambda h, e: drop(e)),
        ("lost", lambda h, e: setattr(e, "memories", [*e.memories[:2], memory("3", TEA, support=1)])),
        ("duplicates", lambda h, e: setattr(e, "memories", [*e.memories[:2], memory("3", TEA, support=3)])),
        ("duplicates", lambda h, e: setattr(e, "memories", [*e.memories, memory("4", TEA, support=2)])),
        ("divergent", lambda h, e: setattr(e, "memories", [memory("1", OSLO), *e.memories[1:]])),
        ("invented", lambda h, e: setattr(e, "memories", [*e.memories, memory("4", ("", TEXT, "nobody said"))])),
        ("returned", lambda h, e: setattr(e, "memories", [*e.memories, memory("4", GONE)])),
        ("divergent", lambda h, e: setattr(e, "recalled", frozenset({"1", "2"}))),
        ("divergent", lambda h, e: setattr(e, "replicas", {"phone": e.memories[:2]})),
        ("divergent", lambda h, e: setattr(e, "watched", e.watched[:2])),
        ("divergent", lambda h, e: setattr(e, "watched", [*e.watched, e.watched[0]])),
        ("divergent", lambda h, e: setattr(e, "watched", [e.watched[1], e.watched[0], e.watched[2]])),
        ("other", lambda h, e: row(e, revision=7)),
        ("other", lambda h, e: row(e, clock={"a": 3, "b": 2})),
        ("lost", lambda h, e: row(e, changes=e.database.changes[:-1], revision=5)),
        ("duplicates", lambda h, e: row(e, changes=[*e.database.changes, (7, "a", 4, "write")], revision=7)),
        ("other", lambda h, e: h.problem("a token was not honoured")),
        ("other", lambda h, e: h.maybe[f"missed {USER}"].add(TEA[2])),
        ("lost", lambda h, e: h.version(USER, "a", "9", 1, "an account")),
    ],
)
def test_one_thing_wrong_is_found(sort: str, change: Callable[[History, End], Any]):
    findings = found(change)
    assert getattr(findings, sort) >= 1, findings
    assert not findings.clean


def test_traces_of_what_was_forgotten_are_found():
    findings = found(kept=frozenset({"mkgonex", "mkteax"}))
    assert findings.returned == 1
    assert "mkgonex" in findings.problems[0]


def test_what_nobody_heard_of_may_be_there_once_or_not():
    def sent(history: History, end: End) -> None:
        history.maybe[USER].add("lost letter")

    assert found(sent).clean

    def arrived(history: History, end: End, support: int = 1) -> None:
        sent(history, end)
        end.memories = [*end.memories, memory("4", ("", TEXT, "lost letter"), support=support)]
        end.recalled = frozenset({"1", "2", "3", "4"})
        end.replicas = {}
        row(
            end,
            revision=7,
            changes=[*end.database.changes, (7, "~server", 1, "write")],
            clock={"a": 3, "b": 3, "~server": 1},
        )

    assert found(arrived).clean
    assert found(lambda h, e: arrived(h, e, 2)).duplicates == 1


def test_the_model_lets_a_late_write_rest_and_a_later_one_speak():
    late = [act("a", 1, "assert", GONE), act("b", 1, "forget_claim", GONE), act("c", 1, "assert", GONE)]
    assert expect(late).heads == set()
    assert expect(late).forgotten == {GONE[2]}
    anew = [*late, act("c", 2, "assert", GONE, a=1, b=1, c=1)]
    assert [head[4] for head in expect(anew).heads] == [1]
    assert expect(anew).forgotten == set()


def test_what_a_writer_had_seen_without_a_context_is_all_before_it():
    assert effective(None, {"a": 4, "~server": 9}, "~server", 9) == {"a": 4, "~server": 8}
    assert effective({"a": 2}, {"a": 2, "b": 5}, "b", 5) == {"a": 2, "b": 4}
    assert effective({"a": 2}, {"a": 3, "~server": 5}, "~server", 5) == {"a": 2}


def test_a_history_makes_its_folder(tmp_path: Path):
    history = History(path=tmp_path / "not" / "yet" / "history.jsonl")
    history.note("phone", "ask", claim=["location"])
    history.close()
    assert '"what": "ask"' in (tmp_path / "not/yet/history.jsonl").read_text(encoding="utf-8")
