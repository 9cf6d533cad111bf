"""BM25 over an inverted index in arrays, kept up to date as memories come and go.

Postings are appended in order of arrival. The older ones are also held sorted by term (the inverted part);
the short tail behind them is scanned whole, and is folded into the inverted part once it has grown. Dead
memories stay in the postings until the snapshot is compacted, but never count in a document frequency, the
number of documents or the average length: those are exact over live memories. A document is a whole memory,
all of its fragments together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

import numpy as np

from memory_service.domain.retrieval.columns import Column, Floats, GrowTable, Interner, Ints, Mask

K1: Final = 1.5
B: Final = 0.75

_TAIL_MIN: Final = 4_096
_TAIL_SHARE: Final = 0.25


@dataclass(frozen=True, slots=True)
class _Inverted:
    """Postings sorted by term: those of term t lie at starts[t] … starts[t + 1]."""

    size: int
    starts: Ints
    rows: Column
    counts: Column

    @classmethod
    def of(cls, postings: GrowTable, vocabulary_size: int) -> _Inverted:
        order = np.argsort(postings["term"], kind="stable")
        counts = np.bincount(postings["term"], minlength=vocabulary_size)
        starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
        return cls(len(postings), starts, postings["row"][order], postings["count"][order])

    @property
    def nbytes(self) -> int:
        return int(self.starts.nbytes + self.rows.nbytes + self.counts.nbytes)


@dataclass(frozen=True, slots=True)
class LexicalScores:
    """BM25 of every row (0 for no match), and the most that this query's terms could give.

    `ideal` is the sum of idf * (k1 + 1) over the query's terms, terms nobody uses included.
    """

    scores: Floats
    ideal: float


class LexicalIndex:
    """The postings of one snapshot. Immutable; `extended` shares what it can with its predecessor."""

    ARRAYS: ClassVar = ("term", "row", "count", "starts", "rows", "counts", "size", "frequencies")
    __slots__ = ("_inverted", "frequencies", "live_count", "live_length", "postings", "vocabulary")

    def __init__(
        self,
        vocabulary: Interner,
        postings: GrowTable,
        frequencies: Ints,
        live_count: int,
        live_length: int,
        inverted: _Inverted | None = None,
    ) -> None:
        self.vocabulary, self.postings = vocabulary, postings
        self.frequencies, self.live_count, self.live_length = frequencies, live_count, live_length
        stale = inverted is None or len(postings) - inverted.size > max(
            _TAIL_MIN, _TAIL_SHARE * inverted.size
        )
        self._inverted = _Inverted.of(postings, len(vocabulary)) if inverted is None or stale else inverted

    @classmethod
    def empty(cls) -> LexicalIndex:
        """An index of nothing."""
        columns = {
            "term": np.zeros(0, np.int32),
            "row": np.zeros(0, np.int32),
            "count": np.zeros(0, np.int32),
        }
        return cls(Interner(), GrowTable(columns), np.zeros(0, np.int64), 0, 0)

    def arrays(self) -> dict[str, Column]:
        """The index as arrays, named as in `ARRAYS`, for `restored`."""
        columns = {name: self.postings[name] for name in self.postings.names}
        inverted = self._inverted
        sizes = np.asarray([inverted.size], np.int64)
        more = {"starts": inverted.starts, "rows": inverted.rows, "counts": inverted.counts, "size": sizes}
        return {**columns, **more, "frequencies": self.frequencies}

    @classmethod
    def restored(
        cls, vocabulary: Interner, arrays: Mapping[str, Column], live_count: int, live_length: int
    ) -> LexicalIndex:
        """The index that gave these arrays."""
        postings = GrowTable({name: arrays[name] for name in ("term", "row", "count")})
        inverted = _Inverted(int(arrays["size"][0]), arrays["starts"], arrays["rows"], arrays["counts"])
        return cls(vocabulary, postings, arrays["frequencies"], live_count, live_length, inverted)

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return self.vocabulary.nbytes + self.postings.nbytes + self.frequencies.nbytes + self._inverted.nbytes

    def extended(
        self, first_row: int, documents: Sequence[Sequence[str]], dead: Sequence[slice], dead_length: int
    ) -> tuple[LexicalIndex, Ints]:
        """With documents appended as rows first_row, first_row + 1 …, and others dead.

        Args:
            documents: terms of each document, with repetition.
            dead: where the postings of each dying row lie.
            dead_length: sum of their lengths in terms.

        Returns:
            The index, and for each document the end of its postings.
        """
        terms: list[int] = []
        rows: list[int] = []
        counts: list[int] = []
        ends: list[int] = []
        add = self.vocabulary.add
        for row, document in enumerate(documents, first_row):
            for term, count in Counter(document).items():
                terms.append(add(term))
                rows.append(row)
                counts.append(count)
            ends.append(len(self.postings) + len(terms))
        frequencies = np.zeros(max(len(self.vocabulary), len(self.frequencies)), np.int64)
        frequencies[: len(self.frequencies)] = self.frequencies
        for place in dead:
            frequencies[self.postings["term"][place]] -= 1
        frequencies += np.bincount(np.asarray(terms, np.int64), minlength=len(frequencies))
        postings = self.postings.extended(
            {"term": np.asarray(terms), "row": np.asarray(rows), "count": np.asarray(counts)}
        )
        index = LexicalIndex(
            self.vocabulary,
            postings,
            frequencies,
            self.live_count + len(documents) - len(dead),
            self.live_length + sum(map(len, documents)) - dead_length,
            self._inverted,
        )
        return index, np.asarray(ends, np.int64)

    def numbers(self, terms: Sequence[str]) -> Ints:
        """The numbers of those terms that this snapshot's vocabulary has, in order."""
        known = len(self.frequencies)
        found = (self.vocabulary.find(term) for term in terms)
        return np.asarray([number for number in found if 0 <= number < known], np.int64)

    def idf(self, terms: Ints) -> Floats:
        """ln(1 + (N - df + 0.5) / (df + 0.5)) of known terms (never negative)."""
        frequency = self.frequencies[terms]
        result: Floats = np.log1p((self.live_count - frequency + 0.5) / (frequency + 0.5))
        return result

    def scores(self, terms: Sequence[str], lengths: Column, *, k1: float = K1, b: float = B) -> LexicalScores:
        """BM25 of all rows for a query's distinct terms; dead rows get meaningless values.

        Args:
            lengths: terms in each row's document, shape (rows,).
        """
        numbers = self.numbers(terms)
        weights = self.idf(numbers)
        unseen = (len(terms) - len(numbers)) * float(np.log1p((self.live_count + 0.5) / 0.5))
        ideal = (k1 + 1) * (float(weights.sum()) + unseen)
        rows, counts, weight = self._matching(numbers, weights)
        if len(rows) == 0:
            return LexicalScores(np.zeros(len(lengths)), ideal)
        average = self.live_length / self.live_count if self.live_count else 1.0
        norm = k1 * (1 - b + b * lengths[rows] / (average or 1.0))
        parts = weight * counts * (k1 + 1) / (counts + norm)
        # Summing in another order moves the last bits; rounding keeps equal documents equal on all replicas.
        return LexicalScores(np.round(np.bincount(rows, parts, minlength=len(lengths)), 9), ideal)

    def _matching(self, numbers: Ints, weights: Floats) -> tuple[Column, Column, Floats]:
        """Rows, term counts and term weights of every posting of these terms."""
        inverted = self._inverted
        rows: list[Column] = []
        counts: list[Column] = []
        sizes: list[int] = []
        for number in numbers:
            if number + 1 < len(inverted.starts):
                place = slice(inverted.starts[number], inverted.starts[number + 1])
                rows.append(inverted.rows[place])
                counts.append(inverted.counts[place])
                sizes.append(len(rows[-1]))
            else:
                sizes.append(0)
        weight = [np.repeat(weights, sizes)]
        if len(self.postings) > inverted.size and len(numbers):
            by_term = np.zeros(len(self.vocabulary))
            by_term[numbers] = weights
            tail = by_term[self.postings["term"][inverted.size :]]
            hits = np.flatnonzero(tail)
            rows.append(self.postings["row"][inverted.size :][hits])
            counts.append(self.postings["count"][inverted.size :][hits])
            weight.append(tail[hits])
        if not rows:
            nothing = np.zeros(0, np.int32)
            return nothing, nothing, np.zeros(0)
        return np.concatenate(rows), np.concatenate(counts), np.concatenate(weight)

    def compacted(self, live: Mask, places: Ints) -> LexicalIndex:
        """An index of its own with only live rows' postings and terms.

        Args:
            live: which rows live, shape (rows,).
            places: the new number of each live row, shape (rows,).
        """
        kept = live[self.postings["row"]]
        postings = self.postings.taken(kept)
        used, terms = np.unique(postings["term"], return_inverse=True)
        vocabulary = Interner(self.vocabulary.string(int(number)) for number in used)
        columns = {"term": terms.astype(np.int32), "row": places[postings["row"]].astype(np.int32)}
        table = GrowTable({**columns, "count": np.array(postings["count"])})
        frequencies = np.bincount(terms, minlength=len(vocabulary))
        return LexicalIndex(vocabulary, table, frequencies, self.live_count, self.live_length)
