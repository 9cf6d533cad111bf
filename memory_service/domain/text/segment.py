"""Chinese word segmentation by the most probable path through a word-frequency dictionary.

The dictionary is the data file of the `jieba` package; its code is not used, because loading it installs a
stderr log handler and reads and writes a pickle-like cache in the shared temporary directory, which any
local user could replace. There is no model for unknown words: they fall into single characters, which makes
the cut of a phrase independent of its neighbours. The method is the textbook unigram (Viterbi) segmentation.
"""

from __future__ import annotations

import importlib.util
import threading
from functools import lru_cache
from math import log
from pathlib import Path
from typing import Final

from memory_service.domain.errors import InternalError, Reason

_CUT_CACHE_SIZE: Final = 8_192
_RUN_CHARS_MAX: Final = 512


class _Dictionary:
    """Log probabilities of words, and for each first character the longest word that starts with it."""

    def __init__(self, path: Path) -> None:
        # Three columns: word, count, part of speech.
        columns = path.read_text(encoding="utf-8").split()
        words, counts = columns[0::3], [int(count) or 1 for count in columns[1::3]]
        total = log(sum(counts))
        self.weight: dict[str, float] = {word: log(count) - total for word, count in zip(words, counts, strict=True)}
        longest: dict[str, int] = {}
        for word in words:
            if len(word) > longest.get(word[0], 0):
                longest[word[0]] = len(word)
        self.longest = longest
        self.unknown = -total

    def cut(self, run: str) -> list[str]:
        size = len(run)
        best = [0.0] * (size + 1)
        step = [1] * size
        weight, unknown = self.weight, self.unknown
        for start in range(size - 1, -1, -1):
            best_here, step_here = weight.get(run[start], unknown) + best[start + 1], 1
            for length in range(2, min(self.longest.get(run[start], 1), size - start) + 1):
                found = weight.get(run[start : start + length])
                if found is not None and found + best[start + length] > best_here:
                    best_here, step_here = found + best[start + length], length
            best[start], step[start] = best_here, step_here
        words, position = [], 0
        while position < size:
            words.append(run[position : position + step[position]])
            position += step[position]
        return words


_lock = threading.Lock()
_loaded: list[_Dictionary] = []


def _dictionary() -> _Dictionary:
    if not _loaded:
        with _lock:
            if not _loaded:
                spec = importlib.util.find_spec("jieba")
                if spec is None or spec.origin is None:
                    raise InternalError(Reason.INTERNAL, "the Chinese dictionary is not installed")
                _loaded.append(_Dictionary(Path(spec.origin).with_name("dict.txt")))
    return _loaded[0]


def warm_up() -> None:
    """Load the dictionary now (about half a second, once a process) instead of at the first Chinese text.

    Raises:
        InternalError: the dictionary package is missing.
    """
    _dictionary()


@lru_cache(maxsize=_CUT_CACHE_SIZE)
def _cut(run: str) -> tuple[str, ...]:
    return tuple(_dictionary().cut(run))


def cut_words(run: str) -> tuple[str, ...]:
    """The words of a run of Chinese characters, in order; joined again they give `run`.

    Loads the dictionary on first use. Safe from any thread.

    Raises:
        InternalError: the dictionary package is missing.
    """
    if len(run) <= _RUN_CHARS_MAX:
        return _cut(run)
    return tuple(
        word
        for start in range(0, len(run), _RUN_CHARS_MAX)
        for word in _dictionary().cut(run[start : start + _RUN_CHARS_MAX])
    )


def cut_for_search(run: str) -> list[str]:
    """As `cut_words`, each longer word preceded by the dictionary words of two and three characters in it."""
    weight = _dictionary().weight
    terms: list[str] = []
    for word in cut_words(run):
        for length in (2, 3):
            if len(word) > length:
                inner = (word[at : at + length] for at in range(len(word) - length + 1))
                terms.extend(part for part in inner if part in weight)
        terms.append(word)
    return terms
