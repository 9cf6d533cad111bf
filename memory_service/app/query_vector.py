"""From a question to the vector that its owner's memories are compared with, in the time there is (B7)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from memory_service.app.stages import Watch
from memory_service.domain.errors import Unavailable
from memory_service.domain.retrieval.fusion import Fusion
from memory_service.domain.retrieval.probe import probe, skeleton
from memory_service.domain.retrieval.snapshot import OwnerSnapshot
from memory_service.ports.clock import Clock
from memory_service.ports.embedder import Embedder, FloatMatrix


@dataclass(frozen=True, slots=True)
class Embedded:
    """The query's vector, or why there is none; `failed` when there should have been one.

    `others` are the vectors of its other phrasings: each finds what it would if it had been asked.
    """

    vector: NDArray[np.float32] | None
    note: str = ""
    failed: bool = False
    cause: str = ""
    others: tuple[NDArray[np.float32], ...] = ()


class Pace:
    """How long the embedder takes of late: the longest call, forgotten by a tenth with each call."""

    __slots__ = ("seconds",)

    def __init__(self) -> None:
        self.seconds = 0.0

    def took(self, seconds: float) -> None:
        """A call took so long."""
        self.seconds = max(seconds, 0.9 * self.seconds)


@dataclass(frozen=True, slots=True)
class QueryVector:
    """Embeds queries and adjusts them.

    Attributes:
        embed_seconds_min: less time than this left, and the query is not embedded.
        answer_seconds: time kept back for everything after the embedding.
    """

    embedder: Embedder
    clock: Clock
    embed_seconds_min: float
    answer_seconds: float
    pace: Pace = field(default_factory=Pace)

    async def vector(
        self,
        query: str,
        snapshot: OwnerSnapshot,
        fusion: Fusion,
        ahead: asyncio.Task[FloatMatrix] | None,
        watch: Watch,
        phrasings: Sequence[str] = (),
    ) -> Embedded:
        """The vector to compare memories with, or why there is none.

        Args:
            ahead: the embedding of the query alone, when it is under way.
            phrasings: the query with other names in it, embedded as far as there is time for that.
        """
        left = watch.left()
        allowed = None if left is None else left - self.answer_seconds
        if allowed is not None and allowed < self.embed_seconds_min:
            watch.skipped("embed", "no time left")
            return Embedded(None, "no time left", failed=True, cause="deadline")
        with watch.stage("embed") as notes:
            try:
                async with asyncio.timeout(allowed):
                    own, *others = await self._probes([query, *phrasings], snapshot, fusion, ahead, allowed, notes)
                    return Embedded(own, others=tuple(others))
            except TimeoutError:
                embedded = Embedded(None, "the embedder took too long", failed=True, cause="deadline")
            except Unavailable:
                embedded = Embedded(None, "the embedder is away", failed=True, cause="embedder")
            notes.append(embedded.note)
            return embedded

    async def _probes(
        self,
        queries: Sequence[str],
        snapshot: OwnerSnapshot,
        fusion: Fusion,
        ahead: asyncio.Task[FloatMatrix] | None,
        allowed: float | None,
        notes: list[str],
    ) -> list[NDArray[np.float32]]:
        """The query's vector, and those of its phrasings, freed of what only makes them questions.

        Without the time for that only the query's, as it is.
        """
        query = queries[0]
        bare = skeleton(query, snapshot.lexical) if fusion.skeleton_share else ""
        if (bare or len(queries) > 1) and allowed is not None and allowed < 2 * self.pace.seconds:
            notes.append("no time to adjust the query")
            bare, queries = "", queries[:1]
        if ahead is not None:
            # Else the model might be asked twice for what is under way.
            await ahead
        started = self.clock.monotonic()
        try:
            vectors = await self.embedder.embed([*queries, bare] if bare else list(queries))
        except Unavailable:
            if not bare and len(queries) == 1:
                raise
            # The query alone may be in the cache.
            notes.append("the query is not adjusted: the embedder is away")
            bare, queries = "", queries[:1]
            vectors = await self.embedder.embed([query])
        self.pace.took(self.clock.monotonic() - started)
        return [
            probe(
                vector,
                vectors[len(queries)] if bare else None,
                snapshot.questions,
                skeleton_share=fusion.skeleton_share,
                question_share=fusion.question_share,
            )
            for vector in vectors[: len(queries)]
        ]
