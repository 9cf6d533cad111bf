"""The port to whatever words what several memories say together (P11, S10)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class Summarizer(Protocol):
    """Makes one text of several that say the same. Never called while a request waits or an owner is locked."""

    async def merge_text(self, texts: Sequence[str], language: str) -> str | None:
        """One text for all of `texts` (best first, at least one), in `language` ("en", "zh", …).

        None when it has nothing better than the first of them: it is not asked again for these, is away, or has
        spent what it may. Never raises for what a model or a network does. The caller checks what it says.
        """
        ...
