"""Snapshots: deltas equal rebuilds, nothing older changes, packing loses nothing."""

from __future__ import annotations

import math
import sys
import threading
import tracemalloc
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from memory_service.domain.evidence import Attestation, Evidence
from memory_service.domain.ids import DeviceId, MemoryId
from memory_service.domain.memory import Assertion, MemoryHead, Usage
from memory_service.domain.records import Fragment, SearchRow, SearchRows
from memory_service.domain.retrieval.candidates import dense_list, lexical_list, names_list
from memory_service.domain.retrieval.dense import NO_VECTOR, cosines
from memory_service.domain.retrieval.documents import documents_of
from memory_service.domain.retrieval.fusion import Fusion
from memory_service.domain.retrieval.heads import decode_head, encode_head
from memory_service.domain.retrieval.other_names import names_in
from memory_service.domain.retrieval.probe import asks
from memory_service.domain.retrieval.snapshot import OwnerSnapshot
from tests.retrieval.builders import (
    DIMENSION,
    MODEL,
    NOW,
    WORDS,
    head,
    heads,
    memory_id,
    random_unit,
    row,
    rows,
    search_rows,
)


def build(of: SearchRows) -> OwnerSnapshot:
    return OwnerSnapshot.build(of, MODEL, DIMENSION)


def naive_bm25(
    query: dict[str, float], world: dict[MemoryId, SearchRow], k1: float, b: float
) -> dict[MemoryId, float]:
    """By the definition: fragments are documents, the first one with the assertion's words; a memory is its best."""
    documents = [terms for r in world.values() for terms in documents_of(r)]
    average = sum(map(len, documents)) / len(documents)

    def score(document: Sequence[str]) -> float:
        count, total = Counter(document), 0.0
        for term, weight in query.items():
            frequency = sum(term in other for other in documents)
            idf = math.log(1 + (len(documents) - frequency + 0.5) / (frequency + 0.5))
            norm = k1 * (1 - b + b * len(document) / (average or 1))
            total += weight * idf * count[term] * (k1 + 1) / (count[term] + norm) if count[term] else 0.0
        return total

    return {id_: max(map(score, documents_of(r)), default=0.0) for id_, r in world.items()}


def by_id(snapshot: OwnerSnapshot, values: NDArray[np.float64]) -> dict[MemoryId, float]:
    return {id_: float(values[place]) for id_, place in snapshot.row_of.items()}


def mean_of(fragments: Sequence[Fragment]) -> NDArray[np.float64] | None:
    """By the definition: the mean direction of the fragments' vectors, as float16."""
    vectors = [f.vector.astype(np.float16).astype(np.float64) for f in fragments if f.vector is not None]
    if not vectors:
        return None
    total = np.asarray([math.fsum(values) for values in zip(*vectors, strict=True)])
    mean = total / math.sqrt(math.fsum(total**2)) if len(vectors) > 1 else total
    return mean.astype(np.float16).astype(np.float64)


def live_pairs(snapshot: OwnerSnapshot) -> list[tuple[int, int]]:
    pairs = zip(snapshot.pairs["row"].tolist(), snapshot.pairs["one"].tolist(), strict=True)
    return [(row, one) for row, one in pairs if snapshot.live[row]]


def check_is(snapshot: OwnerSnapshot, world: dict[MemoryId, SearchRow]) -> None:
    """The snapshot searches exactly this world, against naive implementations; what is kept up to date is exact."""
    assert len(snapshot) == len(world)
    assert {h.id: h for h in snapshot.memories()} == {id_: r.head for id_, r in world.items()}
    query = ["tea", "茶", "5432", "unheard", "tea"]
    lexical = snapshot.lexical.scores(query, snapshot.documents["length"], k1=1.2, b=0.6, repeats=0.5)
    if world:
        expected = naive_bm25({"tea": 2**0.5, "茶": 1, "5432": 1, "unheard": 1}, world, 1.2, 0.6)
        best = snapshot.best_of_documents(lexical.scores)
        assert by_id(snapshot, best) == pytest.approx(expected, abs=1e-8)
    rows_by_pair = [(snapshot.heads[r].id, snapshot.strings.string(a)) for r, a in live_pairs(snapshot)]
    told = [(id_, one) for id_, r in world.items() for one, _ in names_in(r.head.current)]
    assert sorted(rows_by_pair) == sorted(told)
    probe = random_unit(5)
    found = by_id(snapshot, cosines(snapshot, probe))
    for id_, r in world.items():
        mean = mean_of(r.fragments)
        assert found[id_] == pytest.approx(NO_VECTOR if mean is None else math.fsum(mean * probe), abs=2e-6)
    asking = [v for r in world.values() if asks(r.head.current.text) and (v := mean_of(r.fragments)) is not None]
    assert snapshot.questions.count == len(asking)
    assert snapshot.questions.total.tolist() == [int(sum(v[k] for v in asking) * 2**24) for k in range(DIMENSION)]


@st.composite
def histories(draw: st.DrawFn) -> tuple[SearchRows, list[SearchRows]]:
    """A first state and up to six deltas that add, change and remove."""
    first = draw(st.integers(0, 6).flatmap(lambda n: search_rows(range(n))))
    deltas = []
    for revision in range(2, 2 + draw(st.integers(0, 6))):
        changed = sorted(draw(st.sets(st.integers(0, 9), max_size=4)))
        removed = [memory_id(n) for n in draw(st.sets(st.integers(0, 9), max_size=3)) if n not in changed]
        deltas.append(replace(draw(search_rows(changed, revision)), removed=removed))
    return first, deltas


@given(histories())
@settings(max_examples=40, deadline=None)
def test_delta_equals_rebuild_and_leaves_older_snapshots_alone(
    history: tuple[SearchRows, list[SearchRows]],
) -> None:
    first, deltas = history
    world = {r.head.id: r for r in first.rows}
    states = [(build(first), dict(world))]
    for delta in deltas:
        for id_ in delta.removed:
            world.pop(id_, None)
        world |= {r.head.id: r for r in delta.rows}
        states.append((states[-1][0].apply(delta), dict(world)))
        assert states[-1][0].revision == delta.revision
        assert states[-1][0].clock == delta.clock
    for snapshot, expected in states:
        check_is(snapshot, expected)
        check_is(snapshot.compacted(), expected)
        check_is(OwnerSnapshot.unpack(snapshot.pack()), expected)


@given(histories(), st.integers(0, 5))
@settings(max_examples=30, deadline=None)
def test_two_successors_of_one_snapshot_do_not_see_each_other(
    history: tuple[SearchRows, list[SearchRows]], seed: int
) -> None:
    first, deltas = history
    parent = build(first).apply(rows(row(head(20, "green tea"), random_unit(seed)), revision=1))
    world = {r.head.id: r for r in first.rows} | {memory_id(20): row(head(20, "green tea"), random_unit(seed))}
    children = [(parent.apply(replace(delta, removed=())), delta) for delta in deltas]
    for child, delta in children:
        check_is(child, world | {r.head.id: r for r in delta.rows})
    check_is(parent, world)


@given(heads())
@settings(max_examples=100, deadline=None)
def test_packed_head_comes_back_equal(of: MemoryHead) -> None:
    assert decode_head(encode_head(of)) == of


def test_packed_head_keeps_exact_values() -> None:
    of = head(3, 'naïve 茶 \U0001f375 \\ " \n', assertion=Assertion("u", "p", [2**70, 0.1, None, {"k": "v"}]))
    assert decode_head(encode_head(of)) == of


def test_packed_head_leaves_its_evidence_behind_and_keeps_the_rest() -> None:
    of = head(3, "tea")
    disputed = replace(of, current=replace(of.current, disputed=True))
    evident = replace(
        disputed, current=replace(disputed.current, evidence=Evidence((Attestation(DeviceId("d"), 1, 0.5),)))
    )
    found = decode_head(encode_head(evident))
    assert found == disputed
    assert found.etag == evident.etag


def test_unpacked_snapshot_takes_deltas_and_packs_again() -> None:
    snapshot = build(rows(*(row(head(n, WORDS[n]), random_unit(n)) for n in range(5))))
    again = OwnerSnapshot.unpack(snapshot.pack())
    delta = rows(row(head(2, "tea tea"), random_unit(9)), revision=2, removed=[memory_id(0)])
    world = {memory_id(n): row(head(n, WORDS[n]), random_unit(n)) for n in range(1, 5)}
    world[memory_id(2)] = row(head(2, "tea tea"), random_unit(9))
    check_is(again.apply(delta), world)
    check_is(OwnerSnapshot.unpack(again.apply(delta).pack()), world)
    check_is(again, {memory_id(n): row(head(n, WORDS[n]), random_unit(n)) for n in range(5)})


@pytest.mark.parametrize("at", [0, 5, 10, 30, 200, -1])
def test_damage_is_noticed(at: int) -> None:
    packed = bytearray(build(rows(row(head(1, "tea"), random_unit(1)))).pack())
    packed[at] ^= 1
    with pytest.raises(ValueError, match="packed snapshot"):
        OwnerSnapshot.unpack(bytes(packed))


@pytest.mark.parametrize("size", [0, 3, 20, 400])
def test_cut_short_is_noticed(size: int) -> None:
    packed = build(rows(row(head(1, "tea"), random_unit(1)))).pack()
    with pytest.raises(ValueError, match="packed snapshot"):
        OwnerSnapshot.unpack(packed[:size])


def test_packing_leaves_out_what_is_gone() -> None:
    secret = row(head(0, "zanzibar", topic="madagascar", tags=("mauritius",)), random_unit(0), terms=["zanzibar"])
    others = [row(head(n, "tea"), random_unit(n)) for n in range(1, 9)]
    snapshot = build(rows(secret, *others)).apply(rows(revision=2, removed=[memory_id(0)]))
    for word in (b"zanzibar", b"madagascar", b"mauritius"):
        assert word in build(rows(secret, *others)).pack()
        assert word not in snapshot.pack()


def test_many_changes_compact_and_stay_right() -> None:
    snapshot = build(rows(*(row(head(n, "tea"), random_unit(n)) for n in range(40))))
    world = {memory_id(n): row(head(n, "tea"), random_unit(n)) for n in range(40)}
    for step in range(200):
        changed = row(head(step % 40, WORDS[step % len(WORDS)]), random_unit(step))
        snapshot = snapshot.apply(rows(changed, revision=2 + step))
        world[changed.head.id] = changed
    check_is(snapshot, world)
    assert len(snapshot.live) < 80


def test_older_delta_is_no_news() -> None:
    snapshot = build(rows(row(head(1)), revision=5))
    assert snapshot.apply(rows(revision=4, removed=[memory_id(1)])) is snapshot


def test_vectors_of_other_models_are_not_searched() -> None:
    strange = replace(row(head(1, "tea"), random_unit(1)).fragments[0], model_id="other")
    snapshot = build(rows(SearchRow(head(1, "tea"), [strange])))
    assert cosines(snapshot, random_unit(1)).tolist() == [NO_VECTOR]


def test_wrong_dimension_is_a_bug_that_shows() -> None:
    with pytest.raises(ValueError, match="shape"):
        build(rows(row(head(1), random_unit(1, DIMENSION + 1))))


def test_usage_moves_without_a_revision() -> None:
    snapshot = build(rows(row(head(1, usage=Usage(2, 0, NOW))), row(head(2))))
    later = NOW + timedelta(hours=1)
    used = snapshot.with_usage({memory_id(1): (3, later), memory_id(7): (1, later)})
    assert used.head(used.row_of[memory_id(1)]).usage == Usage(5, 0, later)
    assert used.rows["access_count"].tolist() == [5, 0]
    assert used.revision == snapshot.revision
    assert snapshot.head(0).usage == Usage(2, 0, NOW)
    assert snapshot.rows["access_count"].tolist() == [2, 0]


def test_gathering_few_rows_gives_the_same_cosines() -> None:
    snapshot = build(rows(*(row(head(n), *(random_unit(n + k) for k in range(n % 3))) for n in range(60))))
    wanted = np.zeros(60, np.bool_)
    wanted[[3, 4, 5, 40]] = True
    probe = random_unit(77)
    assert cosines(snapshot, probe, wanted)[wanted].tolist() == cosines(snapshot, probe)[wanted].tolist()


def test_size_estimate_is_honest() -> None:
    source = [(n, " ".join(WORDS[(n + k) % 10] for k in range(12)), [random_unit(n, 64)]) for n in range(400)]

    def build_it() -> OwnerSnapshot:
        made = rows(*(row(head(n, f"{n} {text}"), *vectors) for n, text, vectors in source))
        return OwnerSnapshot.build(made, MODEL, 64)

    build_it()  # the analyser's caches are not the snapshot's
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    snapshot = build_it()
    snapshot.row_of  # noqa: B018
    held = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert sys.getsizeof(snapshot) < snapshot.nbytes
    assert 0.8 * held < snapshot.nbytes < 1.6 * held


def test_older_snapshots_answer_the_same_while_another_thread_extends() -> None:
    """Names and terms that only younger snapshots know arrive between any two steps of a search."""
    snapshot = build(rows(*(row(head(n, f"tea {n}", topic="green tea"), random_unit(n)) for n in range(50))))
    rows_ = np.arange(50)
    query = ["tea", "3", *(f"new{n}" for n in range(60))]
    stop = threading.Event()

    def extend() -> None:
        newest, number = snapshot, 100
        while not stop.is_set():
            fresh = head(number, f"new{number % 60} tea", topic=f"new{number % 60}", tags=(f"tag{number}",))
            newest, number = newest.apply(rows(row(fresh, random_unit(number)), revision=number)), number + 1

    def answer() -> tuple[list[float], list[float], list[float]]:
        lexical = lexical_list(snapshot, rows_, query, Fusion())
        return (
            lexical[0].tolist(),
            names_list(snapshot, rows_, query).tolist(),
            dense_list(snapshot, rows_, random_unit(7)).tolist(),
        )

    expected = answer()
    thread = threading.Thread(target=extend)
    thread.start()
    try:
        assert all(answer() == expected for _ in range(300))
    finally:
        stop.set()
        thread.join()
