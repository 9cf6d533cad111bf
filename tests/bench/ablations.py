"""What each part of recall is worth, and what age does to it, on a set of the evaluation form.

Run `python -m tests.bench.ablations SET.jsonl [--owners N] [--ages]`. The service's own analysis, embedding,
snapshots and ranking, without database, network and merging of duplicates: within a few thousandths of
`memory-service eval`, in a fraction of the time. Prints R@1, R@5, R@10, R@20, MRR, nDCG@10 of each variant.
"""

from __future__ import annotations

import argparse
import asyncio
import math
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from memory_service.adapters.embedders import DEFAULT_EMBEDDER, build_embedder
from memory_service.app.commands import Statement
from memory_service.app.drafts import Draft, Drafting
from memory_service.cli import dataset
from memory_service.cli.evaluation import Answer, figures
from memory_service.config import Settings
from memory_service.domain.errors import MemoryServiceError
from memory_service.domain.ids import DeviceId, MemoryId, Revision
from memory_service.domain.memory import MemoryHead, MemoryVersion, Provenance, Status, Tier, Usage
from memory_service.domain.ranking import DEFAULT_PROFILE, RELEVANCE_PROFILE, RankingProfile, rank
from memory_service.domain.records import SearchRow, SearchRows
from memory_service.domain.retrieval.candidates import dense_list, lexical_list, names_list, neighbour_places
from memory_service.domain.retrieval.columns import Floats
from memory_service.domain.retrieval.filters import current_rows
from memory_service.domain.retrieval.fusion import CandidateLists, FusionMethod
from memory_service.domain.retrieval.probe import probe, skeleton
from memory_service.domain.retrieval.slots import Aliases
from memory_service.domain.retrieval.snapshot import OwnerSnapshot
from memory_service.domain.text import analyse
from memory_service.domain.vector_clock import Dot, VectorClock
from memory_service.domain.vocabulary import Vocabulary
from memory_service.ports.embedder import Embedder

NOW = datetime(2026, 1, 1, tzinfo=UTC)
TEXT_CHARS = 16_000
_DAY = timedelta(days=1)
_VOCABULARY = Vocabulary.of()

Age = Callable[[float], tuple[datetime, Usage]]
"""When a memory was recorded and how it was used, by its place in time (0 the oldest, 1 the newest)."""


def _over(days: int, touched: int | None = None) -> Age:
    """Recorded evenly over the past `days`; last accessed so many days ago, or never."""

    def age(place: float) -> tuple[datetime, Usage]:
        recorded = NOW - days * (1 - place) * _DAY
        if touched is None:
            return recorded, Usage()
        return min(recorded, NOW - touched * _DAY), Usage(1, 0, NOW - touched * _DAY)

    return age


AGES: Mapping[str, Age] = {
    "all recorded today": lambda place: (NOW, Usage()),
    "over 2 years, all accessed 7 days ago": _over(730, 7),
    "over 2 years, all accessed 30 days ago": _over(730, 30),
    "over 2 years, all accessed 90 days ago": _over(730, 90),
    "over 90 days, never accessed": _over(90),
    "over 2 years, never accessed": _over(730),
    "use by chance (Zipf), all today": lambda place: (NOW, Usage(int(1 / (1e-3 + (place * 7919) % 1)), 0, NOW)),
}


def _fused(**changes: Any) -> RankingProfile:
    return replace(RELEVANCE_PROFILE, fusion=replace(RELEVANCE_PROFILE.fusion, **changes))


VARIANTS: Mapping[str, RankingProfile] = {
    "relevance as shipped": RELEVANCE_PROFILE,
    "without taking off function words": _fused(skeleton_share=0.0),
    "without taking off question memories": _fused(question_share=0.0),
    "without both": _fused(skeleton_share=0.0, question_share=0.0),
    "without neighbours": _fused(neighbour_weight=0.0),
    "without names": _fused(name_weight=0.0),
    "without words (vectors only)": _fused(lexical_weight=0.0, name_weight=0.0),
    "without vectors (words only)": _fused(dense_weight=0.0),
    "reciprocal rank fusion": _fused(method=FusionMethod.RRF),
}


BY_AGE: Mapping[str, RankingProfile] = {
    "relevance alone": RELEVANCE_PROFILE,
    "default": DEFAULT_PROFILE,
    "default, no freshness floor": replace(DEFAULT_PROFILE, freshness_floor=0.0),
}


@dataclass(frozen=True, slots=True)
class Asked:
    """One question, the snapshot it may see, and the vectors of it and its skeleton."""

    question: dataset.Question
    snapshot: OwnerSnapshot
    vector: Floats
    bare: Floats | None
    names: Sequence[str]


def _head(draft: Draft, number: int, recorded: datetime, usage: Usage) -> MemoryHead:
    version = MemoryVersion(
        id=MemoryId(uuid.UUID(int=number + 1)),
        version=1,
        content_version=1,
        kind=draft.kind,
        text=draft.text,
        topic=draft.topic,
        slot=draft.slot,
        claim=draft.claim,
        source=draft.source,
        confidence=draft.confidence,
        importance=draft.importance,
        support=1,
        tier=Tier.LONG_TERM,
        status=Status.ACTIVE,
        recorded_at=recorded,
        dot=Dot(DeviceId("bench"), number + 1),
        context=VectorClock({}),
        revision=Revision(number + 1),
        provenance=Provenance("bench", session=draft.statement.session, process=draft.statement.process),
        said_at=draft.statement.said_at,
    )
    return MemoryHead(version, usage, recorded)


class World:
    """A set's memories, drafted and embedded once, to be arranged and asked in many ways."""

    def __init__(self, data: dataset.EvalSet, embedder: Embedder) -> None:
        self._data, self._embedder = data, embedder
        self._drafts: dict[str, list[Draft]] = {}
        self._vectors: dict[str, Floats] = {}

    async def load(self) -> None:
        """Draft and embed everything."""
        silent: Any = None
        drafting = Drafting(self._embedder, silent)
        for name, owner in self._data.owners.items():
            made: list[Draft] = []
            for start in range(0, len(owner.memories), 64):
                some = owner.memories[start : start + 64]
                statements = [
                    Statement(text=m.text[:TEXT_CHARS], session=m.session, said_at=m.time, process=self._data.process)
                    for m in some
                ]
                for draft in await drafting.draft_all(statements, NOW, ["memory"] * len(some)):
                    if isinstance(draft, MemoryServiceError):
                        raise draft
                    made.append(draft)
            self._drafts[name] = made

    async def _embedded(self, texts: Sequence[str]) -> list[Floats]:
        missing = list(dict.fromkeys(text for text in texts if text not in self._vectors))
        for start in range(0, len(missing), 64):
            some = missing[start : start + 64]
            self._vectors.update(zip(some, await self._embedder.embed(some), strict=True))
        return [self._vectors[text] for text in texts]

    async def asked(self, name: str, age: Age) -> list[Asked]:
        """Every question of an owner with what it may see."""
        owner, drafts = self._data.owners[name], self._drafts[name]
        rows = []
        for number, draft in enumerate(drafts):
            head = _head(draft, number, *age((number + 1) / len(drafts)))
            rows.append(SearchRow(head, draft.fragments(head.id, 1)))
        model = self._embedder.model
        snapshot = OwnerSnapshot.build(SearchRows(Revision(1), VectorClock({}), (), ()), model.id, model.dimension)
        seen: list[tuple[dataset.Question, OwnerSnapshot]] = []
        loaded = 0
        for question in sorted(owner.questions, key=_horizon):
            end = loaded
            while end < len(rows) and owner.memories[end].order < _horizon(question):
                end += 1
            if end > loaded:
                snapshot = snapshot.apply(SearchRows(Revision(end + 1), VectorClock({}), rows[loaded:end], ()))
                loaded = end
            seen.append((question, snapshot))
        bare = [skeleton(question.text, held.lexical) for question, held in seen]
        vectors = await self._embedded([question.text for question, _ in seen])
        bared = await self._embedded([text or " " for text in bare])
        ids = [memory.id for memory in owner.memories]
        return [
            Asked(question, held, vector, other if text else None, ids)
            for (question, held), vector, other, text in zip(seen, vectors, bared, bare, strict=True)
        ]


def _horizon(question: dataset.Question) -> float:
    return math.inf if question.visible_before_order is None else question.visible_before_order


def answer(asked: Asked, profile: RankingProfile, aliases: Aliases, limit: int) -> Answer:
    """One question answered as `Recall` does."""
    snapshot, fusion = asked.snapshot, profile.fusion
    rows = np.flatnonzero(current_rows(snapshot, NOW))
    shares = {"skeleton_share": fusion.skeleton_share, "question_share": fusion.question_share}
    vector = probe(asked.vector.astype(np.float32), asked.bare, snapshot.questions, **shares)  # type: ignore[arg-type]
    terms = analyse(asked.question.text)
    bm25, strong = lexical_list(snapshot, rows, terms, fusion)
    before, after = neighbour_places(snapshot, rows)
    names = names_list(snapshot, rows, terms, aliases)
    lists = CandidateLists(dense_list(snapshot, rows, vector), bm25, names, before, after, strong)
    found = rank(snapshot, rows, lists, now=NOW, limit=limit, profile=profile)
    places = [frozenset([asked.names[snapshot.head(one.row).id.int - 1]]) for one in found]
    q = asked.question
    return Answer(
        q.id, q.category, q.answerable, q.evidence, places, found[0].score.final if found else 0.0, q.newer, q.older
    )


def _line(label: str, report: Mapping[str, Any]) -> str:
    values = [*report["recall_at"].values(), report["mrr"], report["ndcg_at_10"]]
    newer = f"  newer first {report['updates']['newer_first']:.3f}" if "updates" in report else ""
    return f"{label:42}" + " ".join(f"{value:.3f}" for value in values) + newer


async def measure(file: Path, owners: int | None, *, ages: bool, cache_dir: Path) -> None:
    """Print the figures."""
    with file.open(encoding="utf-8") as lines:
        data = dataset.read_set(lines, owners_max=owners)
    embedder = build_embedder(DEFAULT_EMBEDDER, cache_dir=cache_dir, openai=None, threads=1)
    world, aliases = World(data, embedder), Aliases(_VOCABULARY)
    await world.load()

    for label, age in AGES.items():
        asked = [one for name in data.owners for one in await world.asked(name, age)]
        if ages:
            print(label)
        for name, profile in (BY_AGE if ages else VARIANTS).items():
            report = figures([answer(one, profile, aliases, 20) for one in asked])
            print(_line(f"  {name}" if ages else name, report), flush=True)
        if not ages:
            break
    await embedder.close()


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--owners", type=int)
    parser.add_argument("--ages", action="store_true", help="what age and use do to the order")
    given = parser.parse_args()
    asyncio.run(measure(given.file, given.owners, ages=given.ages, cache_dir=Settings().data_dir / "models"))


if __name__ == "__main__":
    main()
