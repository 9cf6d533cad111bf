"""Neighbours in a conversation, and names that a query mentions."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import numpy as np

from memory_service.domain.ids import Revision
from memory_service.domain.memory import Assertion, MemoryHead, Provenance
from memory_service.domain.retrieval.candidates import names_list, neighbour_places
from memory_service.domain.retrieval.rows import CONVERSATION
from memory_service.domain.retrieval.slots import Aliases
from memory_service.domain.retrieval.snapshot import OwnerSnapshot
from memory_service.domain.text import analyse
from memory_service.domain.vocabulary import Vocabulary
from tests.retrieval.builders import DIMENSION, MODEL, NOW, head, memory_id, row, rows


def turn(
    number: int, session: str = "s", minutes: int | None = 0, process: str = CONVERSATION, **changes: Any
) -> MemoryHead:
    said = None if minutes is None else NOW + timedelta(minutes=minutes)
    origin = Provenance("k", session=session, process=process)
    return head(number, f"turn {number}", said_at=said, provenance=origin, **{"revision": Revision(1), **changes})


def snapshot_of(*of: MemoryHead) -> OwnerSnapshot:
    return OwnerSnapshot.build(rows(*map(row, of)), MODEL, DIMENSION)


def test_neighbours_are_the_turns_just_before_and_after() -> None:
    world = [turn(0, minutes=20), turn(1, minutes=0), turn(2, minutes=10), turn(3, "other", minutes=5)]
    before, after = neighbour_places(snapshot_of(*world), np.arange(4))
    assert before.tolist() == [2, -1, 1, -1]
    assert after.tolist() == [-1, 2, 0, -1]
    before, after = neighbour_places(snapshot_of(*world), np.asarray([0, 1]))
    assert (before.tolist(), after.tolist()) == ([-1, -1], [-1, -1]), "what the filter hides lends nothing"


def test_turns_of_one_time_stand_in_the_order_they_were_written() -> None:
    world = [turn(n, revision=Revision(9 - n)) for n in range(3)]
    before, after = neighbour_places(snapshot_of(*world), np.arange(3))
    assert (before.tolist(), after.tolist()) == ([1, 2, -1], [-1, 0, 1])


def test_turns_without_a_time_stand_where_they_were_recorded() -> None:
    world = [turn(n, minutes=None, revision=Revision(n + 1)) for n in range(2)]
    before, after = neighbour_places(snapshot_of(*world), np.arange(2))
    assert (before.tolist(), after.tolist()) == ([-1, 0], [1, -1])


def test_statements_and_distant_turns_have_no_neighbours() -> None:
    statement = Assertion("user", "role", "cook")
    for pair in (
        [turn(0), turn(1, assertion=statement)],
        [turn(0), turn(1, process="")],
        [turn(0), turn(1, process="notes")],
        [turn(0), turn(1, minutes=31)],
        [turn(0, ""), turn(1, "")],
    ):
        before, after = neighbour_places(snapshot_of(*pair), np.arange(2))
        assert (before.tolist(), after.tolist()) == ([-1, -1], [-1, -1])


def test_names_count_when_the_query_has_all_their_words_and_more_when_rare() -> None:
    snapshot = snapshot_of(
        head(0, topic="green tea"),
        head(1, tags=("tea",)),
        head(2, assertion=Assertion("user", "tech_stack", "x")),
        head(3, assertion=Assertion("user", "role", "x")),
        head(4, assertion=Assertion("anna", "role", "x")),
    )

    def scores(query: str) -> list[float]:
        return names_list(snapshot, np.arange(5), analyse(query), Aliases(Vocabulary.of())).tolist()

    green = scores("who drinks green tea")
    assert green[0] > green[1] > 0
    assert green[2:] == [0, 0, 0]
    assert [score > 0 for score in scores("tea")] == [False, True, False, False, False]
    assert [score > 0 for score in scores("our tech stack")] == [False, False, True, False, False]
    roles = scores("anna's job title")
    assert roles[4] > roles[3] > 0
    gone = snapshot.apply(rows(revision=2, removed=[memory_id(4)]))
    assert names_list(gone, np.arange(4), analyse("anna")).tolist() == [0, 0, 0, 0]
