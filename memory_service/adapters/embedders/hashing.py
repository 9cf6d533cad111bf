"""`hash`: feature hashing without a model, for tests and for machines with nothing else.

Words and their 3- and 4-grams (alphabetic scripts) or characters and pairs (CJK) are hashed with a sign into
1,024 places and weighted by 1 + ln(count) (Weinberger et al. 2009, "Feature hashing for large scale multitask
learning"). It finds shared wording and nothing else. Loading: none, 5 MB; 2,000 conversation turns a second.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache

import numpy as np

from memory_service.adapters.embedders.runtime import unit_rows
from memory_service.adapters.embedders.text import cjk_characters
from memory_service.ports.embedder import EmbeddingModel, FloatMatrix

HASH_MODEL = EmbeddingModel(id="local:hash:1024:v1", dimension=1024, same_cosine=0.85, batch_size_max=256)

_WORD = re.compile(r"[a-z0-9_]+|[^\W_a-z0-9]+|[^\w\s]")
_COMMON_TEXT = """
a an the is are was were be been do does did to of in on at for and or not it its this that they their he she
his her i me my we our you your with by as from there can could will would what which who how when where why
"""
_COMMON = frozenset(_COMMON_TEXT.split())
_GRAM_SIZES = (3, 4)
_WORD_CHARS_MAX = 64


class HashEncoder:
    """Turns texts into hashed features."""

    def encode(self, texts: Sequence[str]) -> FloatMatrix:
        """Unit vectors; a text without any feature gets one vector of its own kind."""
        out = np.zeros((len(texts), HASH_MODEL.dimension), np.float32)
        for row, text in enumerate(texts):
            weight_of: dict[str, float] = {}
            count: Counter[str] = Counter()
            for feature, weight in _features(text):
                weight_of[feature] = weight
                count[feature] += 1
            for feature, times in count.items():
                place, sign = _place(feature)
                out[row, place] += sign * weight_of[feature] * (1 + math.log(times))
            if not out[row].any():  # nothing to read, or features that cancel each other exactly
                out[row, _place("empty")[0]] = 1.0
        return unit_rows(out)


def _features(text: str) -> Iterator[tuple[str, float]]:
    cjk = cjk_characters()
    for match in _WORD.finditer(text.lower()):
        word = match.group()[:_WORD_CHARS_MAX]
        if cjk.search(word):
            yield from (("c" + char, 0.6) for char in word)
            yield from (("p" + word[i : i + 2], 1.5) for i in range(len(word) - 1))
        elif not word[0].isalnum() and word[0] != "_":
            yield "s" + word, 0.3
        else:
            weight = 0.25 if word in _COMMON else 1.0
            yield "w" + word, 1.5 * weight
            framed = f"^{word}$"
            for size in _GRAM_SIZES:
                for i in range(len(framed) - size + 1):
                    yield "g" + framed[i : i + size], 0.45 * weight


@lru_cache(maxsize=200_000)
def _place(feature: str) -> tuple[int, float]:
    value = int.from_bytes(hashlib.blake2b(feature.encode(), digest_size=8).digest(), "little")
    return value % HASH_MODEL.dimension, 1.0 if value >> 63 else -1.0
