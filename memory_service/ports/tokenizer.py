"""The port to tokenizers: how many tokens of a model's window a text takes (S3)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol


class Tokenizer(Protocol):
    """Counts the tokens of one vocabulary.

    Contract: `count` is the true count for the vocabulary when `exact`, else an upper bound for every vocabulary.
    Texts that end in a line break and begin with a letter, a bracket or a quote add up: the count of several put
    together is the sum of theirs. Never raises, whatever the text.
    """

    @property
    def name(self) -> str:
        """Name of the vocabulary."""
        ...

    @property
    def exact(self) -> bool:
        """Whether counts are exact."""
        ...

    def count(self, text: str) -> int:
        """How many tokens."""
        ...


Tokenizers = Mapping[str, Tokenizer]
"""By name."""
