"""BM25 over an inverted index in arrays, kept up to date as memories come and go.

Postings are appended in order of arrival. The older ones are also held sorted by term (the inverted part);
the short tail behind them is scanned whole, and is folded into the inverted part once it has grown. Dead
documents stay in the postings until the snapshot is compacted, but never count in a document frequency, the
number of documents or the average length: those are exact over live ones. A document is a fragment; a memory
scores as its best one, so that a long text is found by the passage that answers.
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
STRONG_TERMS: Final = 4

_TAIL_MIN: Final = 4_096
_TAIL_SHARE: Final = 0.25
_RADIX_MAX: Final = 2**16


@dataclass(frozen=True, slots=True)
class _Inverted:
    """Postings sorted by term: those of term t lie at starts[t] … starts[t + 1]."""

    size: int
    starts: Ints
    documents: Column
    counts: Column

    @classmethod
    def of(cls, postings: GrowTable, vocabulary_size: int) -> _Inverted:
        terms = postings["term"]
        # NumPy sorts 16-bit integers by radix, several times faster.
        order = np.argsort(terms.astype(np.uint16) if vocabulary_size <= _RADIX_MAX else terms, kind="stable")
        counts = np.bincount(postings["term"], minlength=vocabulary_size)
        starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
        return cls(len(postings), starts, postings["document"][order], postings["count"][order])

    @property
    def nbytes(self) -> int:
        return int(self.starts.nbytes + self.documents.nbytes + self.counts.nbytes)


@dataclass(frozen=True, slots=True)
class LexicalScores:
    """BM25 of every document (0 for no match), and what counts as much for this query.

    `strong` is the sum of weight * idf over the query's `STRONG_TERMS` heaviest terms, terms nobody uses included:
    about what a document gets that has these once each.
    """

    scores: Floats
    strong: float


class LexicalIndex:
    """The postings of one snapshot. Immutable; `extended` shares what it can with its predecessor."""

    ARRAYS: ClassVar = ("term", "document", "count", "starts", "documents", "counts", "size", "frequencies")
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
        stale = inverted is None or len(postings) - inverted.size > max(_TAIL_MIN, _TAIL_SHARE * inverted.size)
        self._inverted = _Inverted.of(postings, len(vocabulary)) if inverted is None or stale else inverted

    @classmethod
    def empty(cls) -> LexicalIndex:
        """An index of nothing."""
        columns = {name: np.zeros(0, np.int32) for name in ("term", "document", "count")}
        return cls(Interner(), GrowTable(columns), np.zeros(0, np.int64), 0, 0)

    def arrays(self) -> dict[str, Column]:
        """The index as arrays, named as in `ARRAYS`, for `restored`."""
        columns = {name: self.postings[name] for name in self.postings.names}
        inverted = self._inverted
        sizes = np.asarray([inverted.size], np.int64)
        more = {
            "starts": inverted.starts,
            "documents": inverted.documents,
            "counts": inverted.counts,
            "size": sizes,
        }
        return {**columns, **more, "frequencies": self.frequencies}

    @classmethod
    def restored(
        cls, vocabulary: Interner, arrays: Mapping[str, Column], live_count: int, live_length: int
    ) -> LexicalIndex:
        """The index that gave these arrays."""
        postings = GrowTable({name: arrays[name] for name in ("term", "document", "count")})
        size, starts = int(arrays["size"][0]), arrays["starts"]
        inverted = _Inverted(size, starts, arrays["documents"], arrays["counts"])
        return cls(vocabulary, postings, arrays["frequencies"], live_count, live_length, inverted)

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return self.vocabulary.nbytes + self.postings.nbytes + self.frequencies.nbytes + self._inverted.nbytes

    def extended(
        self, first: int, documents: Sequence[Sequence[str]], dead: Sequence[slice], dead_lengths: Ints
    ) -> tuple[LexicalIndex, Ints]:
        """With documents first, first + 1 … appended, and others dead.

        Args:
            documents: terms of each document, with repetition.
            dead: where the postings of each dying document lie.
            dead_lengths: how many terms each of those has.

        Returns:
            The index, and for each new document the end of its postings.
        """
        terms: list[int] = []
        owners: list[int] = []
        counts: list[int] = []
        ends: list[int] = []
        add = self.vocabulary.add
        for number, document in enumerate(documents, first):
            tally = Counter(document)
            terms.extend(map(add, tally))
            owners.extend([number] * len(tally))
            counts.extend(tally.values())
            ends.append(len(self.postings) + len(terms))
        frequencies = np.zeros(max(len(self.vocabulary), len(self.frequencies)), np.int64)
        frequencies[: len(self.frequencies)] = self.frequencies
        for place in dead:
            frequencies[self.postings["term"][place]] -= 1
        frequencies += np.bincount(np.asarray(terms, np.int64), minlength=len(frequencies))
        columns = {"term": np.asarray(terms), "document": np.asarray(owners), "count": np.asarray(counts)}
        index = LexicalIndex(
            self.vocabulary,
            self.postings.extended(columns),
            frequencies,
            self.live_count + len(documents) - len(dead),
            self.live_length + sum(map(len, documents)) - int(dead_lengths.sum()),
            self._inverted,
        )
        return index, np.asarray(ends, np.int64)

    def frequency(self, term: str) -> int:
        """How many live documents have the term."""
        number = self.vocabulary.find(term)
        return int(self.frequencies[number]) if 0 <= number < len(self.frequencies) else 0

    def idf(self, terms: Ints) -> Floats:
        """ln(1 + (N - df + 0.5) / (df + 0.5)) of known terms (never negative)."""
        frequency = self.frequencies[terms]
        result: Floats = np.log1p((self.live_count - frequency + 0.5) / (frequency + 0.5))
        return result

    def scores(
        self, terms: Sequence[str], lengths: Column, *, k1: float = K1, b: float = B, repeats: float = 0.0
    ) -> LexicalScores:
        """BM25 of all documents for a query; dead documents get meaningless values.

        Args:
            terms: the query's terms; a term that comes n times weighs n ** `repeats`.
            lengths: number of terms in each document, shape (documents,).
        """
        tally = Counter(terms)
        importance = np.fromiter(tally.values(), np.float64, len(tally)) ** repeats
        numbers = np.fromiter(map(self.vocabulary.find, tally), np.int64, len(tally))
        # A term that only a younger snapshot knows is as unheard of here as one that nobody knows.
        known = (numbers >= 0) & (numbers < len(self.frequencies))
        unseen = importance[~known] * float(np.log1p((self.live_count + 0.5) / 0.5))
        numbers = numbers[known]
        weights = self.idf(numbers) * importance[known]
        strong = float(np.sort(np.concatenate([weights, unseen]))[-STRONG_TERMS:].sum())
        documents, counts, weight = self._matching(numbers, weights)
        if len(documents) == 0:
            return LexicalScores(np.zeros(len(lengths)), strong)
        average = self.live_length / self.live_count if self.live_count else 1.0
        norm = k1 * (1 - b + b * lengths[documents] / (average or 1.0))
        parts = weight * counts * (k1 + 1) / (counts + norm)
        # Summing in another order moves the last bits; rounding keeps equal documents equal on all replicas.
        return LexicalScores(np.round(np.bincount(documents, parts, minlength=len(lengths)), 9), strong)

    def _matching(self, numbers: Ints, weights: Floats) -> tuple[Column, Column, Floats]:
        """Documents, term counts and term weights of every posting of these terms."""
        inverted = self._inverted
        # Terms younger than the inverted part are only in the tail.
        old = numbers[numbers + 1 < len(inverted.starts)]
        places = [slice(inverted.starts[n], inverted.starts[n + 1]) for n in old]
        documents = [inverted.documents[place] for place in places]
        counts = [inverted.counts[place] for place in places]
        weight = [np.repeat(weights[numbers + 1 < len(inverted.starts)], [len(part) for part in documents])]
        if len(self.postings) > inverted.size and len(numbers):
            by_term = np.zeros(len(self.vocabulary))
            by_term[numbers] = weights
            tail = by_term[self.postings["term"][inverted.size :]]
            hits = np.flatnonzero(tail)
            documents.append(self.postings["document"][inverted.size :][hits])
            counts.append(self.postings["count"][inverted.size :][hits])
            weight.append(tail[hits])
        if not documents:
            nothing = np.zeros(0, np.int32)
            return nothing, nothing, np.zeros(0)
        return np.concatenate(documents), np.concatenate(counts), np.concatenate(weight)

    def compacted(self, live: Mask, places: Ints) -> LexicalIndex:
        """An index of its own with only live documents' postings and terms.

        Args:
            live: which documents live, shape (documents,).
            places: the new number of each live document, shape (documents,).
        """
        postings = self.postings.taken(live[self.postings["document"]])
        used = np.flatnonzero(self.frequencies)
        renumbered = np.zeros(len(self.frequencies), np.int32)
        renumbered[used] = np.arange(len(used))
        terms = renumbered[postings["term"]]
        vocabulary = Interner(self.vocabulary.string(int(number)) for number in used)
        columns = {
            "term": terms,
            "document": places[postings["document"]].astype(np.int32),
            "count": np.array(postings["count"]),
        }
        frequencies = np.bincount(terms, minlength=len(vocabulary))
        return LexicalIndex(vocabulary, GrowTable(columns), frequencies, self.live_count, self.live_length)
