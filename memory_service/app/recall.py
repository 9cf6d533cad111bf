"""Recall: the memories that matter for a question, ranked, explained and ready to paste (E12, E13, P6, B6, B7).

filter → candidate lists (vector, BM25, names) → fusion → profile → places by kind → context block.
Everything after the vector of the query is exact and in memory; nothing is approximated and nothing is cut before
it was compared. When time or the embedder is missing, the answer is lexical and says so.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final, NoReturn

import numpy as np
from numpy.typing import NDArray

from memory_service.app.access_recorder import AccessRecorder
from memory_service.app.context_block import TokenEstimate, build_context_block, estimate_tokens
from memory_service.app.deep import DeepSearch
from memory_service.app.policies import STARTING_POLICIES, OwnerPolicies
from memory_service.app.query_vector import Embedded, Pace, QueryVector
from memory_service.app.reading import AsOf, Shown, check_as_of, check_filter, standings
from memory_service.app.stages import Stage, Watch
from memory_service.app.validation import check_count, check_name, check_vector, time_zone
from memory_service.domain import limits
from memory_service.domain.errors import DeadlineExceeded, InvalidInput, Reason
from memory_service.domain.ids import MemoryId, OwnerKey, Revision
from memory_service.domain.memory import MemoryHead, Status, Tier
from memory_service.domain.ranking import Combination, Ranked, RankingProfile, ScoreBreakdown, rank
from memory_service.domain.records import MemoryFilter
from memory_service.domain.retrieval.candidates import dense_list, lexical_list, names_list, neighbour_places
from memory_service.domain.retrieval.columns import Floats, Ints, Mask
from memory_service.domain.retrieval.dense import NO_VECTOR
from memory_service.domain.retrieval.filters import current_rows, matching_rows, timely_rows, unexpired_rows
from memory_service.domain.retrieval.fusion import CandidateLists
from memory_service.domain.retrieval.other_names import NAMING_SHARE, NamedList, Phrasing, named_list
from memory_service.domain.retrieval.slots import Aliases
from memory_service.domain.retrieval.snapshot import OwnerSnapshot
from memory_service.domain.retrieval.timing import presence, timing
from memory_service.domain.standing import Standing, standing_at
from memory_service.domain.text import analyse, check_storable
from memory_service.domain.text.ahead import asks_ahead
from memory_service.domain.text.asked import AskedTime, time_asked, times_asked, without_time
from memory_service.domain.vector_clock import VectorClock
from memory_service.ports.clock import Clock
from memory_service.ports.embedder import Embedder, FloatMatrix
from memory_service.ports.memory_store import MemoryStore
from memory_service.ports.snapshots import Requirement, SnapshotSource
from memory_service.ports.telemetry import Telemetry

TOKEN_BUDGET_MAX: Final = 1_000_000

_FRESH: Final = 0.9
_EVERYTHING: Final = MemoryFilter()


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallRequest:
    """What is asked.

    Attributes:
        query: the question; empty lists what the filter lets through, by score.
        vector: the caller's own vector of the question, shape (dimension,); needs no length of 1, and is taken as
            it is: nothing is known of its making, so nothing is taken off it.
        where: which memories may be found; its `visible_to_agent` is set from `agent`.
        token_budget: most tokens the context block may take, None for no limit. The list of memories is not cut.
        as_of_valid, as_of_recorded: what held at, what was believed at, this time instead of now (P10, B9).
        deadline_seconds: time left to answer in, None for no limit.
        agent: the agent that asks; other agents' private memories stay hidden (C14).
        reinforce: count the memories returned as used (E1). A recall of the past never counts.
        with_block: make the context block; whoever makes one of its own leaves it out.
        deep: search the archive and cold storage too (P9), for what is believed now: not with `as_of_recorded`.
        resolve_time: take a past time that the query names, read in `time_zone` against now, as `as_of_valid`.
            With either time given nothing is read from the query.
        time_zone: IANA name, UTC when empty.
    """

    owner: OwnerKey
    query: str = ""
    vector: NDArray[np.float32] | None = None
    where: MemoryFilter = field(default_factory=MemoryFilter)
    limit: int = limits.RECALL_LIMIT_DEFAULT
    token_budget: int | None = None
    requirement: Requirement = field(default_factory=Requirement)
    as_of_valid: datetime | None = None
    as_of_recorded: datetime | None = None
    profile: str = "default"
    deadline_seconds: float | None = None
    agent: str = ""
    reinforce: bool = True
    with_block: bool = True
    deep: bool = False
    resolve_time: bool = False
    time_zone: str = ""

    @property
    def times(self) -> AsOf:
        """Both times asked about."""
        return AsOf(self.as_of_valid, self.as_of_recorded)

    @property
    def as_of(self) -> datetime | None:
        """The time the answer is about; None for now."""
        return self.as_of_valid or self.as_of_recorded


@dataclass(frozen=True, slots=True)
class RecalledMemory:
    """A memory found, and why.

    Attributes:
        contested: never to be presented as certain (E5).
        in_context: whether the context block has it; False only for want of tokens.
        why: short reasons for a person.
        standing: what it is at the time that was asked about; an appointment that is over is `past`.
        successor: the memory that took its place since, for answers about the past.
    """

    head: MemoryHead
    score: ScoreBreakdown
    contested: bool
    in_context: bool
    why: tuple[str, ...]
    standing: Standing = Standing.CURRENT
    successor: MemoryId | None = None


@dataclass(frozen=True, slots=True)
class RecallResponse:
    """The answer.

    Attributes:
        memories: best first; never fewer than min(limit, matched).
        context_block: see `context_block`; empty when there is nothing to say.
        tokens: estimated tokens of the block; None when there was no budget for them.
        clock: everything the answer is based on: the causal context of a change made because of it (B1).
        revision: the owner's revision the answer is of.
        degraded: a stage was left out for lack of time or of a backend.
        matched: how many memories the filter lets through.
        searched: how many there were to filter.
        as_of_valid: the time in the world that the answer is about; None for now.
        as_of_words: the words of the query that named it, "" when it did not.
    """

    memories: tuple[RecalledMemory, ...]
    context_block: str
    tokens: int | None
    clock: VectorClock
    revision: Revision
    stages: tuple[Stage, ...]
    degraded: bool
    matched: int
    searched: int
    as_of_valid: datetime | None = None
    as_of_words: str = ""


@dataclass(frozen=True, slots=True)
class RecallSettings:
    """How a recall uses its time.

    Attributes:
        embed_seconds_min: less time than this left, and the query is not embedded.
        answer_seconds: time kept back for everything after the embedding.
        as_of_memories_max: most versions a recall of the past looks at, newest recorded first.
        thread_memories_min: from this many memories on, scoring leaves the event loop.
    """

    embed_seconds_min: float = 0.002
    answer_seconds: float = 0.005
    as_of_memories_max: int = 20_000
    thread_memories_min: int = 10_000
    estimate_tokens: TokenEstimate = estimate_tokens


@dataclass(frozen=True, slots=True)
class _Found:
    matched: int
    ranked: Sequence[Ranked]
    degraded: bool


@dataclass(frozen=True, slots=True)
class Recall:
    """The use case. `policies` tell the owner's ranking profiles and its predicates' other names."""

    snapshots: SnapshotSource
    store: MemoryStore
    embedder: Embedder
    accesses: AccessRecorder
    clock: Clock
    telemetry: Telemetry
    policies: OwnerPolicies = STARTING_POLICIES
    settings: RecallSettings = field(default_factory=RecallSettings)
    pace: Pace = field(default_factory=Pace)
    archive: DeepSearch | None = None

    @property
    def _queries(self) -> QueryVector:
        settings = self.settings
        return QueryVector(self.embedder, self.clock, settings.embed_seconds_min, settings.answer_seconds, self.pace)

    async def __call__(self, request: RecallRequest) -> RecallResponse:
        """Answer a request.

        Raises:
            InvalidInput: FIELD_OUT_OF_RANGE, FIELD_INVALID, FIELD_TOO_LONG, TEXT_NOT_STORABLE, TIME_OUT_OF_RANGE,
                VECTOR_DIMENSION_MISMATCH or VECTOR_INVALID, naming the field.
            DeadlineExceeded: the memories themselves could not be had in time.
            Unavailable: the store is away. (An embedder that is away only degrades the answer.)
        """
        policy = self.policies.of(request.owner)
        request, profile = self._checked(request, policy.profiles)
        request, asked = self._timed(request)
        watch = Watch(self.clock, self.telemetry, request.deadline_seconds)
        now = request.as_of or self.clock.now()
        snapshot, phrasings, embedded = await self._gathered(request, profile, now, watch)
        degraded = request.deep and self.archive is None
        if request.deep and self.archive is not None:
            snapshot, degraded = await self.archive.widened(
                request.owner, request.query, embedded.vector, snapshot, watch, held_at=request.as_of_valid
            )
        model_id = self.embedder.model.id
        search = _Search(snapshot, request, profile, policy.aliases, embedded, phrasings, model_id, now, watch)
        if len(snapshot.live) >= self.settings.thread_memories_min:
            found = await asyncio.to_thread(search.run)
        else:
            found = search.run()
        found = replace(found, degraded=found.degraded or degraded)
        shown = await self._shown(snapshot, request, found, now)
        response = self._answer(snapshot, request, found, shown, watch)
        if asked is not None:
            response = replace(response, as_of_words=asked.words)
        if request.reinforce and request.as_of is None:
            self.accesses.record(request.owner, (m.head.id for m in response.memories), self.clock.now())
        return response

    def _checked(
        self, request: RecallRequest, profiles: Mapping[str, RankingProfile]
    ) -> tuple[RecallRequest, RankingProfile]:
        if request.query.strip():
            check_storable(request.query, "query", limits.QUERY_CHARS_MAX)
        check_count(request.limit, "limit", minimum=1, maximum=limits.RECALL_LIMIT_MAX)
        if request.token_budget is not None:
            check_count(request.token_budget, "token_budget", minimum=1, maximum=TOKEN_BUDGET_MAX)
        if request.where != _EVERYTHING:
            check_filter(request.where)
        check_as_of(request.times)
        time_zone(request.time_zone, "time_zone")
        if request.deep and request.as_of_recorded is not None:
            message = "deep looks for what is believed now, not with as_of_recorded"
            raise InvalidInput(Reason.FIELD_INVALID, message, field="deep")
        check_name(request.agent, "agent")
        profile = profiles.get(request.profile)
        if profile is None:
            raise InvalidInput(
                Reason.FIELD_INVALID,
                "profile is not the name of a ranking profile",
                field="profile",
                metadata={"known": ", ".join(sorted(profiles))},
            )
        if request.deadline_seconds is not None and request.deadline_seconds <= 0:
            _out_of_time()
        vector = request.vector
        if vector is not None:
            vector = check_vector(np.asarray(vector, np.float32), self.embedder.model.dimension, "query_embedding")
        where = replace(request.where, visible_to_agent=request.agent)
        return replace(request, where=where, vector=vector), profile

    def _timed(self, request: RecallRequest) -> tuple[RecallRequest, AskedTime | None]:
        """The request with the past time that its query names, where it asked for that and gave none.

        What is answered about a time is looked for without the query's words for it.
        """
        now, zone = self.clock.now(), time_zone(request.time_zone, "time_zone")
        asked = None
        if request.resolve_time and not request.times.given and request.where.valid_at is None:
            asked = time_asked(request.query, now, zone)
            request = request if asked is None else replace(request, as_of_valid=asked.at)
        if request.as_of_valid is not None:
            request = replace(request, query=without_time(request.query, request.as_of_valid, now, zone))
        return request, asked

    async def _shown(
        self, snapshot: OwnerSnapshot, request: RecallRequest, found: _Found, now: datetime
    ) -> list[Shown]:
        """What each memory found is at the time asked about; of the present, without asking the store."""
        heads = [snapshot.head(ranked.row) for ranked in found.ranked]
        if request.times.given:
            return await standings(self.store, request.owner, heads, request.times, now)
        return [Shown(head, standing_at(head.current, now)) for head in heads]

    async def _gathered(
        self, request: RecallRequest, profile: RankingProfile, now: datetime, watch: Watch
    ) -> tuple[OwnerSnapshot, list[Phrasing], Embedded]:
        """The snapshot, the query's other phrasings, and its vector as adjusted to the snapshot (see `probe`).

        The query's skeleton depends on the snapshot. When that is at hand, query and skeleton go to the embedder
        together; while it is being read, the query goes ahead alone, and comes from the cache when both are asked.
        """
        if request.vector is not None or not request.query.strip():
            note = "the caller's vector" if request.vector is not None else "no query"
            watch.skipped("embed", note)
            snapshot = await self._snapshot(request, watch)
            return snapshot, phrasings_of(snapshot, request, now), Embedded(request.vector, note)
        reading = asyncio.create_task(self._snapshot(request, watch))
        ahead: asyncio.Task[FloatMatrix] | None = None
        try:
            await asyncio.sleep(0)
            if not reading.done():
                ahead = asyncio.create_task(self.embedder.embed([request.query]))
            snapshot = await reading
            phrasings = phrasings_of(snapshot, request, now)
            others = [phrasing.text for phrasing in phrasings]
            embedded = await self._queries.vector(request.query, snapshot, profile.fusion, ahead, watch, others)
            return snapshot, phrasings, embedded
        finally:
            tasks = [reading] if ahead is None else [reading, ahead]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _snapshot(self, request: RecallRequest, watch: Watch) -> OwnerSnapshot:
        with watch.stage("snapshot") as notes:
            try:
                async with asyncio.timeout(watch.left()):
                    if request.as_of is None:
                        return await self.snapshots.snapshot(request.owner, request.requirement)
                    return await self._past(request, notes)
            except TimeoutError:
                _out_of_time()

    async def _past(self, request: RecallRequest, notes: list[str]) -> OwnerSnapshot:
        model, most = self.embedder.model, self.settings.as_of_memories_max
        rows = await self.store.search_rows_as_of(
            request.owner,
            model.id,
            valid_at=request.as_of_valid,
            recorded_at=request.as_of_recorded,
            limit=most,
        )
        if len(rows.rows) >= most:
            notes.append(f"only the {most} versions recorded last")
        return await asyncio.to_thread(OwnerSnapshot.build, rows, model.id, model.dimension)

    def _answer(
        self,
        snapshot: OwnerSnapshot,
        request: RecallRequest,
        found: _Found,
        shown: Sequence[Shown],
        watch: Watch,
    ) -> RecallResponse:
        with watch.stage("answer"):
            heads = [one.head for one in shown]
            block = build_context_block(
                heads if request.with_block else (),
                standings=[one.standing for one in shown] if request.with_block else (),
                query=request.query,
                as_of=request.as_of,
                token_budget=request.token_budget,
                estimate=self.settings.estimate_tokens,
            )
            included = frozenset(block.included)
            memories = tuple(
                RecalledMemory(
                    head,
                    ranked.score,
                    head.current.status is Status.CONTESTED,
                    place in included,
                    tuple(_reasons(head, ranked)),
                    one.standing,
                    one.successor,
                )
                for place, (head, one, ranked) in enumerate(zip(heads, shown, found.ranked, strict=True))
            )
        return RecallResponse(
            memories,
            block.text,
            block.tokens,
            snapshot.clock,
            snapshot.revision,
            tuple(watch.stages),
            found.degraded,
            found.matched,
            len(snapshot),
            request.as_of_valid,
        )


@dataclass(frozen=True, slots=True)
class _Search:
    """Filtering, listing, fusing and scoring over one snapshot: pure computing, no I/O."""

    snapshot: OwnerSnapshot
    request: RecallRequest
    profile: RankingProfile
    aliases: Aliases
    embedded: Embedded
    phrasings: Sequence[Phrasing]
    model_id: str
    now: datetime
    watch: Watch

    def run(self) -> _Found:
        with self.watch.stage("filter"):
            rows = np.flatnonzero(self._eligible())
        lists = self._lexical(rows, self._dense(rows))
        with self.watch.stage("score"):
            ranked = rank(
                self.snapshot,
                rows,
                lists,
                now=self.now,
                limit=self.request.limit,
                profile=self.profile,
                timing=self._factors(rows, lists.naming),
            )
        return _Found(len(rows), ranked, self._degraded())

    def _eligible(self) -> Mask:
        where = self.request.where
        matching = matching_rows(self.snapshot, where)
        if self.request.as_of is None:
            archived = self.request.deep
            return matching & current_rows(self.snapshot, self.now, valid_at=where.valid_at, archived=archived)
        # The store chose by what was believed then, and held then; archived memories are part of the past.
        return matching & timely_rows(self.snapshot, self.now) & unexpired_rows(self.snapshot, self.now)

    def _by_words(self, rows: Ints, terms: Sequence[str]) -> NamedList:
        """BM25 of each row, by every name of what the question is about."""

        def bm25(wanted: Sequence[str]) -> tuple[Floats, float]:
            return lexical_list(self.snapshot, rows, wanted, self.profile.fusion)

        if not self.phrasings:
            return NamedList(*bm25(terms))
        texts = {row: self.snapshot.head(row).current.text for one in self.phrasings for row in one.rows}
        return named_list(self.request.query, self.phrasings, rows, bm25, texts)

    def _factors(self, rows: Ints, naming: frozenset[int]) -> Floats | None:
        """What counts of each row's score: for its time, and for only saying what something is called."""
        factors = self._timing(rows)
        if not naming:
            return factors
        only_names = np.where(np.isin(rows, list(naming)), NAMING_SHARE, 1.0)
        return only_names if factors is None else factors * only_names

    def _timing(self, rows: Ints) -> Floats | None:
        """How well each row fits the time the question is about; a profile that multiplies has no say in it."""
        query = self.request.query
        if self.profile.combination is Combination.PRODUCT:
            return None
        if not query.strip():
            return presence(self.snapshot, rows, self.now)
        zone = time_zone(self.request.time_zone, "time_zone") if self.request.time_zone else None
        asked = times_asked(query, self.now, zone)
        return timing(self.snapshot, rows, asked, self.now, ahead=asks_ahead(query))

    def _dense(self, rows: Ints) -> CandidateLists:
        vector = self.embedded.vector
        if vector is None or not self.profile.fusion.dense_weight:
            self.watch.skipped("vector", self.embedded.note)
            return CandidateLists()
        if self._foreign:
            self.watch.skipped("vector", "the memories are indexed under another embedding model")
            return CandidateLists()
        with self.watch.stage("vector") as notes:
            cosine = dense_list(self.snapshot, rows, vector)
            for other in self.embedded.others:
                cosine = np.maximum(cosine, dense_list(self.snapshot, rows, other))
            waiting = int(np.count_nonzero(cosine == NO_VECTOR))
            if waiting:
                notes.append(f"{waiting} memories wait for their vectors")
        return CandidateLists(cosine=cosine)

    def _lexical(self, rows: Ints, lists: CandidateLists) -> CandidateLists:
        if not self.request.query.strip():
            self.watch.skipped("lexical", "no query")
            self.watch.skipped("names", "no query")
            return lists
        fusion = self.profile.fusion
        with self.watch.stage("lexical"):
            terms = analyse(self.request.query)
            found = self._by_words(rows, terms)
        with self.watch.stage("names"):
            names = names_list(self.snapshot, rows, terms, self.aliases)
        lists = replace(lists, bm25=found.scores, bm25_strong=found.strong, names=names, naming=found.naming)
        if fusion.neighbour_weight:
            before, after = neighbour_places(self.snapshot, rows)
            lists = replace(lists, before=before, after=after)
        return lists

    @property
    def _foreign(self) -> bool:
        return self.snapshot.model_id != self.model_id

    def _degraded(self) -> bool:
        if self.embedded.failed:
            self.watch.count("recall_degraded_total", cause=self.embedded.cause)
        elif self.embedded.vector is not None and self._foreign:
            self.watch.count("recall_degraded_total", cause="model")
        else:
            return False
        return True


def phrasings_of(snapshot: OwnerSnapshot, request: RecallRequest, now: datetime) -> list[Phrasing]:
    """The query with other names in it, as memories tell them that whoever asks may see and that hold (C8, C14)."""
    if not snapshot.other_names or not request.query.strip():
        return []
    usable = matching_rows(snapshot, MemoryFilter(visible_to_agent=request.agent))
    if request.as_of is None:
        usable &= current_rows(snapshot, now)
    return snapshot.other_names.phrasings(request.query, usable)


def _out_of_time() -> NoReturn:
    raise DeadlineExceeded(Reason.DEADLINE_EXCEEDED, "the time given for this recall ran out")


def _reasons(head: MemoryHead, ranked: Ranked) -> Iterator[str]:
    """Why a memory is in the answer, for a person."""
    score = ranked.score
    if score.cosine is not None:
        yield f"number {score.cosine_rank} in meaning"
    if score.bm25 is not None:
        yield f"number {score.bm25_rank} in shared words"
    if score.names is not None:
        yield "is about what the question names"
    if ranked.reserved:
        yield f"has a place kept for long-term {head.current.kind.value.replace('_', ' ')} memories"
    if head.usage.access_count:
        yield f"used {head.usage.access_count} times before"
    if score.strength >= _FRESH:
        yield "recent"
    if head.current.status is Status.CONTESTED:
        yield "contested"
    if head.current.tier is Tier.ARCHIVE:
        yield "from cold storage" if head.cold else "from the archive"


__all__ = [
    "TOKEN_BUDGET_MAX",
    "Recall",
    "RecallRequest",
    "RecallResponse",
    "RecallSettings",
    "RecalledMemory",
    "Stage",
]
