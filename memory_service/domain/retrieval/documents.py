"""What of a memory BM25 counts: its pieces, the words of its assertion with the first of them (C8).

"87 kilos this morning" does not say that it is a weight; its assertion does, and a question asks by that name. The
words are taken from the memory itself, so they are there for every memory, whenever it was stored.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

from memory_service.domain.memory import Assertion
from memory_service.domain.records import SearchRow
from memory_service.domain.slots import SELF, render_value
from memory_service.domain.text.analysis import analyse


def documents_of(row: SearchRow) -> list[Sequence[str]]:
    """The terms of each document of a memory, with repetition.

    Pieces without terms are none, unless they are all there is of the text.
    """
    documents: list[Sequence[str]] = [f.terms for f in row.fragments if f.terms or f.ordinal == 0]
    assertion = row.head.current.assertion
    if assertion is not None and documents:
        own = documents[0]
        known = set(own)
        documents[0] = (*own, *(term for term in dict.fromkeys(_asserted(assertion)) if term not in known))
    return documents


def _asserted(assertion: Assertion) -> Iterator[str]:
    """The terms of subject, predicate and value; the user, whom everything is about, is no word of it."""
    if assertion.subject != SELF:
        yield from _named(assertion.subject)
    yield from _named(assertion.predicate.replace("_", " "))
    yield from analyse(render_value(assertion.object))


@lru_cache(maxsize=65_536)
def _named(name: str) -> tuple[str, ...]:
    """The terms of a name; memories share most of theirs."""
    return tuple(analyse(name))
