"""Whether a guess says in other words what was forgotten, and whether the user has told it since (B3).

What the user tells after a Forget counts, and so does what is guessed of that afterwards: a guess that is as near to
something told since as to what was forgotten is a guess of the former.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from memory_service.app.rivals import EXPLICIT
from memory_service.app.workspace import Workspace
from memory_service.domain.fingerprint import Stated, fingerprint, restates, shared_weight, unpack
from memory_service.domain.memory import STANDING_STATUSES, Assertion, MemoryHead, MemoryVersion, Visibility
from memory_service.domain.records import MemoryFilter, Tombstone
from memory_service.domain.slots import render_assertion

TOLD_MAX: Final = 500
"""Memories told since a Forget that a guess is compared with, the oldest first."""
_WORDINGS_MAX: Final = 2_000
"""Newest fingerprints of an owner that count."""
WORDINGS_KEPT_MAX: Final = 16
"""Wordings of one forgotten memory that leave a fingerprint."""
_SENTENCE_RE: Final = re.compile(r"(?<=[.!?])\s+|(?<=[。！？；])|\n+")
_WHOLE_SENTENCES_MAX: Final = 2


def sayings(text: str, assertion: Assertion | None) -> list[str]:
    """What a statement says, each by itself: its text and its assertion.

    A long text (a summary) is judged by the sentence: it would share three words with anything.
    """
    sentences = [part for part in _SENTENCE_RE.split(text) if part.strip()]
    said = [text] if len(sentences) <= _WHOLE_SENTENCES_MAX else sentences
    if assertion is not None:
        said.append(render_assertion(assertion))
    return [one for one in dict.fromkeys(said) if one]


@dataclass(frozen=True, slots=True)
class Restating:
    """Compares guesses with what an owner had forgotten."""

    workspace: Workspace

    async def load(self, text: str, assertion: Assertion | None) -> None:
        """Fetch what the judgement of a statement needs: the fingerprints, and where one fits what was told since."""
        if self.workspace.wordings is None:
            change = self.workspace.change
            stones = await change.forgotten_wordings(limit=_WORDINGS_MAX) if self.workspace.state.revision else ()
            self.workspace.wordings = [(stone, dict(unpack(stone.digest))) for stone in stones]
        fitting = [stone for stone, _, _ in self._fitting(text, assertion)]
        if fitting:
            where = MemoryFilter(
                statuses=STANDING_STATUSES, sources=EXPLICIT, said_from=min(stone.at for stone in fitting)
            )
            self.workspace.told = list(await self.workspace.change.select(where, limit=TOLD_MAX))

    def stones(self, text: str, assertion: Assertion | None, agent: str) -> list[Tombstone]:
        """The tombstones of what a statement says again, in whatever words; `load` has been called for it."""
        fitting = self._fitting(text, assertion)
        if not fitting:
            return []
        told = [fingerprint(head.current.text, self._salt) for head in self._told(agent)]
        return [
            stone
            for stone, stated, forgotten in fitting
            if not any(_as_near(stated, again, forgotten) for again in told)
        ]

    @property
    def _salt(self) -> bytes:
        return self.workspace.state.salt

    def _fitting(self, text: str, assertion: Assertion | None) -> list[tuple[Tombstone, Stated, dict[int, int]]]:
        if not self.workspace.wordings:
            return []
        said = [fingerprint(one, self._salt) for one in sayings(text, assertion)]
        return [
            (stone, stated, forgotten)
            for stone, forgotten in self.workspace.wordings
            for stated in said
            if restates(stated, forgotten)
        ]

    def _told(self, agent: str) -> Iterable[MemoryHead]:
        """What the user told since that the agent may see (C14: no other's private ones), staged here or not."""
        heads = {head.id: head for head in self.workspace.told} | self.workspace.heads
        for head in heads.values():
            version = head.current
            told = version.source in EXPLICIT and version.status in STANDING_STATUSES
            seen = version.visibility is Visibility.SHARED or version.provenance.agent == agent
            if told and seen and not self.workspace.is_forgotten(head.id):
                yield head


def said_by(versions: Iterable[MemoryVersion]) -> Sequence[str]:
    """The wordings by which versions of a forgotten memory are known again, at most 16, the present one first."""
    found: dict[str, None] = {}
    for version in versions:
        found[version.text] = None
        if version.assertion is not None:
            found[render_assertion(version.assertion)] = None
    return [text for text in found if text][:WORDINGS_KEPT_MAX]


def _as_near(stated: Stated, told: Stated, forgotten: dict[int, int]) -> bool:
    """Whether a statement is as near to what was told as to what was forgotten."""
    return restates(stated, told) and shared_weight(stated, told) >= shared_weight(stated, forgotten)
