"""The third list of candidates: memories whose subject, predicate, topic or tag the query names.

A name counts as mentioned when the query has all of its terms. What many memories share says little, so a
mentioned name weighs its idf over memories, times its number of terms.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Final

import numpy as np

from memory_service.domain.retrieval.columns import ABSENT, Column, Floats, GrowTable, Interner, Ints, Mask
from memory_service.domain.text.analysis import analyse
from memory_service.domain.vocabulary import Vocabulary

_NOT_ANALYSED: Final = -1
NAME_FIELDS: Final = ("subject", "predicate", "topic")


class NameIndex:
    """Terms of the names in use. Immutable.

    Attributes:
        vocabulary: the terms of names.
        terms: (name, term) pairs, each name's distinct terms; numbers of the snapshot's string table and of
            `vocabulary`.
        sizes: number of distinct terms by name, -1 for strings that are no names.
    """

    __slots__ = ("sizes", "terms", "vocabulary")

    def __init__(self, vocabulary: Interner, terms: GrowTable, sizes: Ints) -> None:
        self.vocabulary, self.terms, self.sizes = vocabulary, terms, sizes

    @classmethod
    def empty(cls) -> NameIndex:
        """An index of no names."""
        columns = {"name": np.zeros(0, np.int32), "term": np.zeros(0, np.int32)}
        return cls(Interner(), GrowTable(columns), np.zeros(0, np.int64))

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return self.vocabulary.nbytes + self.terms.nbytes + self.sizes.nbytes

    def extended(self, names: Iterable[int], strings: Interner) -> NameIndex:
        """With these names' terms, where they are not yet known."""
        sizes = np.full(max(len(strings), len(self.sizes)), _NOT_ANALYSED, np.int64)
        sizes[: len(self.sizes)] = self.sizes
        owners: list[int] = []
        terms: list[int] = []
        for name in names:
            if name == ABSENT or sizes[name] != _NOT_ANALYSED:
                continue
            terms_of_name = dict.fromkeys(analyse(_words(strings.string(name))))
            numbers = [self.vocabulary.add(term) for term in terms_of_name]
            sizes[name] = len(numbers)
            owners.extend([name] * len(numbers))
            terms.extend(numbers)
        table = self.terms.extended({"name": np.asarray(owners), "term": np.asarray(terms)})
        return NameIndex(self.vocabulary, table, sizes)

    def mentioned(self, query: Iterable[str]) -> Mask:
        """Which strings the query (its terms) names, shape (strings known here,)."""
        size = len(self.vocabulary)
        asked = np.zeros(size, np.bool_)
        # Another thread may be adding terms of a younger snapshot meanwhile; they are no names here.
        asked[[number for number in map(self.vocabulary.find, query) if 0 <= number < size]] = True
        met = self.terms["name"][asked[self.terms["term"]]]
        found = np.bincount(met, minlength=len(self.sizes)) == self.sizes
        result: Mask = found & (self.sizes > 0)
        return result


class Aliases:
    """Which predicates a query names by another of their names (C8); a Chinese alias finds an English predicate."""

    __slots__ = ("_by_term",)

    def __init__(self, vocabulary: Vocabulary) -> None:
        named: dict[frozenset[str], set[str]] = {}
        for predicate in vocabulary.predicates.values():
            for name in (predicate.name, *predicate.aliases):
                named.setdefault(_terms(name), set()).add(predicate.name)
        named.pop(frozenset(), None)
        # Under one of a name's terms each: a query looks at few names, however many a tenant has.
        self._by_term: dict[str, list[tuple[int, frozenset[str], list[str]]]] = {}
        for place, (terms, predicates) in enumerate(named.items()):
            self._by_term.setdefault(min(terms), []).append((place, terms, sorted(predicates)))

    def named(self, query: Iterable[str]) -> list[str]:
        """The predicates that the query (its terms) names."""
        asked = frozenset(query)
        met = [one for term in asked for one in self._by_term.get(term, ()) if one[1] <= asked]
        return [predicate for _, _, predicates in sorted(met, key=lambda one: one[0]) for predicate in predicates]


@lru_cache(maxsize=65_536)
def _terms(name: str) -> frozenset[str]:
    """The terms of a predicate's name; tenants share most of theirs."""
    return frozenset(analyse(_words(name)))


def _words(name: str) -> str:
    """`tech_stack` and `user:home` are words joined by marks that a query would not write."""
    return name.replace("_", " ").replace(":", " ")


def name_scores(mentioned: Mask, sizes: Ints, columns: Iterable[Column], tags: GrowTable, live: Mask) -> Floats:
    """How much of what each memory is about the query names; 0 for nothing.

    Args:
        mentioned, sizes: by string number.
        columns: string numbers of each row's subject, predicate, topic (ABSENT for none), shape (rows,).
        tags: (row, tag) pairs.
        live: which rows live.
    """
    rows = len(live)
    score = np.zeros(rows)
    if not mentioned.any():
        return score
    count = int(np.count_nonzero(live))
    # One more place, so that ABSENT (-1) reads "not mentioned".
    padded = np.append(mentioned, False)
    for column in columns:
        hits = np.flatnonzero(padded[column] & live)
        _add(score, hits, column[hits], sizes, count)
    hits = np.flatnonzero(padded[tags["tag"]] & live[tags["row"]])
    _add(score, tags["row"][hits], tags["tag"][hits], sizes, count)
    return np.round(score, 9)


def _add(score: Floats, rows: Column, names: Column, sizes: Ints, count: int) -> None:
    if len(rows) == 0:
        return
    users = np.bincount(names)[names]
    np.add.at(score, rows, sizes[names] * np.log1p((count - users + 0.5) / (users + 0.5)))
