"""The lists of candidates for one query, each over the same eligible rows of one snapshot."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from memory_service.domain.retrieval.columns import ABSENT, Floats, Ints
from memory_service.domain.retrieval.dense import GATHER_SHARE, cosines
from memory_service.domain.retrieval.fusion import Fusion
from memory_service.domain.retrieval.slots import NAME_FIELDS, Aliases, name_scores
from memory_service.domain.retrieval.snapshot import OwnerSnapshot


def dense_list(snapshot: OwnerSnapshot, rows: Ints, query: NDArray[np.float32]) -> Floats:
    """Cosine of each of `rows`, NO_VECTOR for those without a vector; shape (len(rows),).

    Args:
        query: unit vector of the snapshot's model, shape (dimension,).
    """
    wanted = None
    if len(rows) < GATHER_SHARE * len(snapshot.live):
        wanted = np.zeros(len(snapshot.live), np.bool_)
        wanted[rows] = True
    return cosines(snapshot, query, wanted)[rows]


def lexical_list(snapshot: OwnerSnapshot, rows: Ints, terms: Sequence[str], fusion: Fusion) -> tuple[Floats, float]:
    """BM25 of each of `rows`, 0 for no match, shape (len(rows),); and what is much (`LexicalScores.strong`).

    Frequencies are over all live memories, not over `rows`: a filter does not make a word rarer.
    """
    found = snapshot.lexical.scores(
        terms,
        snapshot.documents["length"],
        k1=fusion.bm25_k1,
        b=fusion.bm25_b,
        repeats=fusion.bm25_repeats,
    )
    return snapshot.best_of_documents(found.scores)[rows], found.strong


def names_list(snapshot: OwnerSnapshot, rows: Ints, terms: Sequence[str], aliases: Aliases | None = None) -> Floats:
    """Weight of the subject, predicate, topic and tags of each of `rows` that the query mentions; 0 for none."""
    mentioned = snapshot.names.mentioned(terms)
    for predicate in aliases.named(terms) if aliases is not None else ():
        number = snapshot.strings.find(predicate)
        if 0 <= number < len(mentioned) and snapshot.names.sizes[number] > 0:
            mentioned[number] = True
    columns = [snapshot.rows[field] for field in NAME_FIELDS]
    return name_scores(mentioned, snapshot.names.sizes, columns, snapshot.tags, snapshot.live)[rows]


def neighbour_places(snapshot: OwnerSnapshot, rows: Ints) -> tuple[Ints, Ints]:
    """Where in `rows` the session's neighbours of each are, before and after; -1 for none among them."""
    places = np.full(len(snapshot.live) + 1, ABSENT, np.int64)
    places[rows] = np.arange(len(rows))
    before, after = snapshot.session_neighbours
    return places[before[rows]], places[after[rows]]
