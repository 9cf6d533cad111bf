"""Puts the use cases together over the backends. Only `server.py` and this module know both."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from importlib.metadata import version as package_version

import grpc

from memory_service.adapters.embedders.factory import build_embedder
from memory_service.adapters.embedders.openai import OpenAISettings
from memory_service.adapters.inmemory.backend import InMemoryBackend
from memory_service.adapters.inmemory.sessions import InMemorySessionStore
from memory_service.adapters.inmemory.shared_cache import InMemorySharedCache
from memory_service.adapters.llm import Budget, LlmSettings, OpenAISummarizer
from memory_service.adapters.parquet import FolderFiles, ParquetColdStore, files_of_uri
from memory_service.adapters.postgres.backend import PostgresBackend
from memory_service.adapters.prometheus.telemetry import PrometheusTelemetry
from memory_service.adapters.redis.sessions import RedisSessionStore
from memory_service.adapters.redis.settings import RedisSettings
from memory_service.adapters.redis.shared_cache import RedisSharedCache
from memory_service.adapters.tokenizers import load_tokenizers
from memory_service.adapters.wrappers.l1_snapshots import L1Settings, L1Snapshots
from memory_service.adapters.wrappers.l2_snapshots import L2Snapshots
from memory_service.adapters.wrappers.query_vectors import CachedQueryEmbedder
from memory_service.adapters.wrappers.store_snapshots import StoreSnapshots
from memory_service.adapters.wrappers.timed_embedder import TimedEmbedder
from memory_service.app.access_recorder import AccessRecorder
from memory_service.app.add_turns import AddTurns
from memory_service.app.archiving import Cap, Decay
from memory_service.app.cache_drops import CacheDrops
from memory_service.app.cold import ColdSettings, ColdStorage
from memory_service.app.consolidation import (
    Consolidation,
    ConsolidationSettings,
    Consolidator,
    Deduplication,
    FirstWording,
)
from memory_service.app.correct import Correct
from memory_service.app.deep import DeepSearch, DeepSettings
from memory_service.app.drafts import Drafting
from memory_service.app.experiments import Outcomes
from memory_service.app.feed import ChangeFeed
from memory_service.app.feedback import RecordFeedback
from memory_service.app.forget import Forget
from memory_service.app.get_context import DEFAULT_TOKENIZER, GetContext
from memory_service.app.jobs import JobRunner, JobWork
from memory_service.app.learning import Learning
from memory_service.app.move_words import MoveWords
from memory_service.app.policies import Policies, StartValues
from memory_service.app.policy_changes import PolicyChanges
from memory_service.app.preferences import Preferences
from memory_service.app.promotion import Promotion
from memory_service.app.reading import Reading
from memory_service.app.recall import Recall
from memory_service.app.rejudge import Rejudge
from memory_service.app.resolve import Resolve
from memory_service.app.review import Review, Reviews
from memory_service.app.revoke import Revoke
from memory_service.app.rollback import Rollback
from memory_service.app.schedule import Schedule, ScheduleSettings
from memory_service.app.service import Changes
from memory_service.app.session_blocks import RuleStateReader, Summaries
from memory_service.app.session_memos import Memos
from memory_service.app.sessions import Sessions
from memory_service.app.sync import Sync
from memory_service.app.tokens import Tokens
from memory_service.app.unmerge import Unmerge
from memory_service.app.upkeep import Upkeep
from memory_service.app.watch import Watch
from memory_service.app.write import Write
from memory_service.config import EmbedderName, Settings
from memory_service.domain.errors import InvalidInput, MemoryServiceError, Reason
from memory_service.domain.ids import Revision
from memory_service.domain.vocabulary import Vocabulary
from memory_service.jobs.backfill import Backfill
from memory_service.jobs.runner import Periodic
from memory_service.jobs.worker import Worker
from memory_service.ports.clock import Clock, Ids
from memory_service.ports.cold_store import ColdStore
from memory_service.ports.embedder import Embedder
from memory_service.ports.job_queue import WorkSettings
from memory_service.ports.sessions import SessionLimits
from memory_service.ports.snapshots import NO_REVISION
from memory_service.transport.admin_servicer import AdminServicer, ServerFacts
from memory_service.transport.changes import ChangeCalls
from memory_service.transport.identity import Authenticator
from memory_service.transport.job_calls import JobCalls
from memory_service.transport.memory_servicer import MemoryServicer, UseCases
from memory_service.transport.policy_calls import PolicyCases
from memory_service.transport.session_servicer import SessionCases, SessionServicer
from memory_service.transport.sync_servicer import SyncCases, SyncServicer
from memory_service.v1 import (
    admin_service_pb2_grpc,
    memory_service_pb2_grpc,
    session_service_pb2_grpc,
    sync_service_pb2_grpc,
)

_BACKFILL_SECONDS = 5.0
_DROPS_SECONDS = 1.0
_SESSION_SECONDS_MAX = 1.0
_EPISODES_SECONDS = 15.0
_PARTITIONS_SECONDS = 6 * 3600.0
_REPORT_SECONDS = 5.0
_LAST_NEWS_SECONDS_MAX = 1.0
"""At shutdown, time to tell other processes of the last commits. They find out by themselves as well."""


@dataclass(slots=True)
class Application:
    """Everything between the API and the backends of one process."""

    clock: Clock
    authenticator: Authenticator
    servicer: MemoryServicer
    admin: AdminServicer
    syncing: SyncServicer
    conversing: SessionServicer
    sessions: Sessions
    session_store: RedisSessionStore | InMemorySessionStore
    learning: Learning
    feed: ChangeFeed
    backend: PostgresBackend | InMemoryBackend
    cache: RedisSharedCache | InMemorySharedCache
    l1: L1Snapshots
    l2: L2Snapshots
    accesses: AccessRecorder
    outcomes: Outcomes
    changes: Changes
    upkeep: Upkeep
    summarizer: OpenAISummarizer | None
    schedule: Schedule
    jobs: tuple[Periodic | Worker, ...]

    def add_to(self, server: grpc.aio.Server) -> None:
        """Register the services."""
        memory_service_pb2_grpc.add_MemoryServiceServicer_to_server(self.servicer, server)
        admin_service_pb2_grpc.add_AdminServiceServicer_to_server(self.admin, server)
        sync_service_pb2_grpc.add_SyncServiceServicer_to_server(self.syncing, server)
        session_service_pb2_grpc.add_SessionServiceServicer_to_server(self.conversing, server)

    async def start_jobs(self) -> None:
        """Begin background work."""
        # The months to come are made now as well as from time to time: no server may be up at the turn of one.
        with contextlib.suppress(MemoryServiceError):
            await self.learning.prepare()
        for job in self.jobs:
            job.start()

    async def probe(self) -> Mapping[str, str]:
        """Whether the database answers; Redis away only slows the service down, so it is told, not failed."""
        try:
            await self.backend.memories.ping()
        except MemoryServiceError as error:
            return {"database": error.message}
        return {"database": ""}

    async def close(self) -> None:
        """End background work, write down what waits, and let connections go."""
        for job in self.jobs:
            await job.stop()
        await self.sessions.close()
        await self.accesses.flush()
        with contextlib.suppress(MemoryServiceError):
            await self.outcomes.flush()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self.l1.flushed(), _LAST_NEWS_SECONDS_MAX)
        await self.l1.close()
        await self.l2.close()
        if self.summarizer is not None:
            await self.summarizer.close()
        await self.cache.close()
        await self.session_store.close()


def make_embedder(settings: Settings) -> Embedder:
    """The embedder that the settings name; see `build_embedder` for the errors."""
    openai = None
    if settings.embedder is EmbedderName.OPENAI:
        openai = OpenAISettings(
            base_url=settings.openai_base_url,
            api_key=settings.openai_api_key.get_secret_value() if settings.openai_api_key else "",
            model=settings.openai_embedding_model,
            dimension=settings.openai_embedding_dimension,
        )
    return build_embedder(
        settings.embedder.value,
        cache_dir=settings.data_dir / "models",
        openai=openai,
        threads=settings.embedder_threads,
    )


async def build_application(
    settings: Settings,
    backend: PostgresBackend | InMemoryBackend,
    redis_url: str,
    embedder: Embedder,
    telemetry: PrometheusTelemetry,
    clock: Clock,
    ids: Ids,
) -> Application:
    """Wire the application over connected backends; without a `redis_url`, with a cache in this process."""
    embedder = TimedEmbedder(embedder, clock, telemetry)
    model = embedder.model
    store = backend.memories
    cache = RedisSharedCache(RedisSettings(url=redis_url), clock) if redis_url else InMemorySharedCache(clock)
    l2 = L2Snapshots(StoreSnapshots(store, model, clock, telemetry), store, cache, model, clock, telemetry)
    feed, memos = ChangeFeed(), Memos()

    def heard(owner_id: str, revision: Revision) -> None:
        feed.announce(owner_id, revision)
        if revision == NO_REVISION:  # another process forgot something
            memos.drop_owner(owner_id)

    l1 = L1Snapshots(
        l2,
        store,
        cache,
        model,
        clock,
        telemetry,
        L1Settings(bytes_max=settings.l1_bytes_max, staleness_seconds_max=settings.staleness_seconds_max),
        heard,
    )
    l1.start()
    vocabulary = Vocabulary.of(unknown=settings.unknown_predicates)
    start = StartValues(
        vocabulary,
        settings.parameters,
        {tenant: vocabulary.with_policies(own) for tenant, own in settings.merge_policies.items()},
    )
    policies = Policies(backend.policies, start, telemetry)
    await policies.refresh()
    changes = Changes(
        store=store,
        snapshots=l1,
        drafting=Drafting(embedder, telemetry),
        clock=clock,
        ids=ids,
        telemetry=telemetry,
        policies=policies,
    )
    outcomes = Outcomes(policies, backend.policies, telemetry)
    drops = CacheDrops(l1)
    tokens = Tokens(await backend.keys.secret("tokens"))
    accesses = AccessRecorder(store, telemetry, policies, on_write=l1.storing_accesses)
    queries = CachedQueryEmbedder(embedder, cache, telemetry)
    cold: ColdStore = backend.cold if isinstance(backend, InMemoryBackend) else cold_store(settings)
    summarizer = _summarizer(settings, clock, telemetry)
    recall = Recall(
        snapshots=l1,
        store=store,
        embedder=queries,
        accesses=accesses,
        clock=clock,
        telemetry=telemetry,
        policies=policies,
        archive=DeepSearch(store, cold, DeepSettings(bytes_max=settings.cold_read_bytes_max)),
    )
    write = Write(changes)
    session_store = _session_store(settings, redis_url, clock)
    calls = ChangeCalls(
        write_case=write,
        correct_case=Correct(changes),
        forget_case=Forget(changes, drops, session_store, memos),
        rollback_case=Rollback(changes),
        resolve_case=Resolve(changes),
        revoke_case=Revoke(changes),
        unmerge_case=Unmerge(changes),
        review_case=Review(changes),
        tokens=tokens,
        policies=policies,
        outcomes=outcomes,
    )
    syncing = SyncCases(
        changes=calls,
        sync=Sync(changes),
        watch=Watch(store, feed, clock),
        tokens=tokens,
        telemetry=telemetry,
    )
    cases = UseCases(
        changes=calls,
        reading=Reading(store, l1, tokens, clock),
        recall=recall,
        feedback=RecordFeedback(changes, accesses),
        tokens=tokens,
        policies=policies,
        outcomes=outcomes,
        reviews=Reviews(store, tokens, policies),
    )
    sessions = Sessions(
        store=session_store,
        snapshots=l1,
        memos=memos,
        tokens=tokens,
        clock=clock,
        ids=ids,
        telemetry=telemetry,
        records=settings.record_episodes,
        recorded_tenants=settings.record_episodes_of,
    )
    tokenizers = await asyncio.to_thread(load_tokenizers)
    reader = RuleStateReader()
    session_cases = SessionCases(
        sessions=sessions,
        add_turns=AddTurns(
            store=session_store,
            memos=sessions.memos,
            reader=reader,
            summaries=Summaries(session_store, reader, write, telemetry),
            episodes=backend.episodes,
            tokenizer=tokenizers[DEFAULT_TOKENIZER],
            clock=clock,
            telemetry=telemetry,
        ),
        context=GetContext(session_store, recall, policies, tokenizers, clock, telemetry),
        preferences=Preferences(l1, policies, clock),
        tokens=tokens,
        policies=policies,
    )
    learning = Learning(backend.episodes, backend.jobs, clock, telemetry)
    authenticator = Authenticator(backend.keys, clock, settings.key_cache_seconds)
    upkeep = Upkeep(
        (
            *(MoveWords(changes), *Decay.both(changes), Promotion(changes), Rejudge(changes), Cap(changes)),
            *_merging_steps(settings, changes, summarizer),
            ColdStorage(changes, cold, ColdSettings(hot=timedelta(days=settings.cold_after_days))),
        ),
        telemetry,
    )
    schedule = Schedule(
        upkeep,
        backend.upkeep,
        backend.jobs,
        clock,
        telemetry,
        ScheduleSettings(
            owners_per_look=settings.upkeep_owners_per_tick,
            # A little less than a tick: the next one must not come a moment too early.
            look_pace=timedelta(seconds=settings.upkeep_tick_seconds * 0.8),
        ),
    )
    facts = ServerFacts(package_version("memory-service"), model)
    telemetry.refresh_with(lambda: _set_gauges(backend, accesses, drops, telemetry))
    return Application(
        clock=clock,
        authenticator=authenticator,
        servicer=MemoryServicer(cases),
        syncing=SyncServicer(syncing),
        conversing=SessionServicer(session_cases),
        sessions=sessions,
        session_store=session_store,
        learning=learning,
        feed=feed,
        admin=AdminServicer(
            backend.keys,
            authenticator,
            clock,
            ids,
            facts,
            JobCalls(schedule, backend.jobs, clock),
            PolicyCases.of(PolicyChanges(policies, clock), store),
        ),
        backend=backend,
        cache=cache,
        l1=l1,
        l2=l2,
        accesses=accesses,
        changes=changes,
        outcomes=outcomes,
        upkeep=upkeep,
        summarizer=summarizer,
        schedule=schedule,
        jobs=(
            Periodic("access_flush", settings.access_flush_seconds, accesses.flush),
            Periodic("policy_refresh", settings.policy_refresh_seconds, policies.keep_fresh),
            Periodic("experiment_counts", settings.access_flush_seconds, outcomes.flush),
            Periodic("cache_drops", _DROPS_SECONDS, drops.retry),
            Periodic("partitions", _PARTITIONS_SECONDS, learning.prepare),
            Periodic("backfill", _BACKFILL_SECONDS, Backfill(store, l1, embedder, telemetry, clock).run_once),
            *(_work(settings, backend, schedule, learning, clock, ids, telemetry) if settings.worker else ()),
        ),
    )


def cold_store(settings: Settings) -> ParquetColdStore:
    """Cold storage where the settings say.

    Raises:
        InvalidInput: `cold_url` is not an address that is understood.
    """
    if settings.cold_url is None:
        return ParquetColdStore(FolderFiles(settings.data_dir / "cold"))
    try:
        return ParquetColdStore(files_of_uri(settings.cold_url.get_secret_value()))
    except ValueError as error:
        raise InvalidInput(Reason.FIELD_INVALID, f"MEMORY_SERVICE_COLD_URL {error}", field="cold_url") from error


def _summarizer(settings: Settings, clock: Clock, telemetry: PrometheusTelemetry) -> OpenAISummarizer | None:
    """What words merged memories, where a model is named for it."""
    if not settings.llm_base_url:
        return None
    key = settings.llm_api_key
    reached = LlmSettings(
        base_url=settings.llm_base_url,
        model=settings.llm_model,
        api_key=key.get_secret_value() if key else "",
        seconds_max=settings.llm_seconds_max,
        tries_max=settings.llm_tries_max,
    )
    return OpenAISummarizer(reached, Budget(clock, settings.llm_tokens_per_day_max), telemetry)


def _merging_steps(
    settings: Settings, changes: Changes, summarizer: OpenAISummarizer | None
) -> tuple[Consolidation, Deduplication]:
    """The steps that make one memory of several that say the same."""
    wanted = ConsolidationSettings(memories_min=settings.consolidation_memories_min)
    consolidator = Consolidator(changes, summarizer=summarizer or FirstWording(), settings=wanted)
    return Consolidation(consolidator), Deduplication(consolidator)


def _work(
    settings: Settings,
    backend: PostgresBackend | InMemoryBackend,
    schedule: Schedule,
    learning: Learning,
    clock: Clock,
    ids: Ids,
    telemetry: PrometheusTelemetry,
) -> tuple[Periodic | Worker, ...]:
    """What makes a process a worker: it takes jobs, keeps the schedule going and tells of itself."""
    work: dict[str, JobWork] = {**schedule.work(), learning.job: learning}
    runner = JobRunner(backend.jobs, work, clock, telemetry, ids.new())
    how = WorkSettings(settings.worker_jobs_max, settings.worker_takeover_seconds)
    return (
        Periodic("learning", _EPISODES_SECONDS, learning.tick),
        Periodic("upkeep_schedule", settings.upkeep_tick_seconds, schedule.tick),
        Periodic("worker_report", _REPORT_SECONDS, runner.report),
        Worker(backend.jobs, runner, how),
    )


def _session_store(settings: Settings, redis_url: str, clock: Clock) -> RedisSessionStore | InMemorySessionStore:
    bounds = SessionLimits(
        idle_seconds=settings.session_idle_seconds,
        block_seconds=settings.session_block_seconds,
        sessions_max=settings.sessions_per_owner_max,
    )
    if not redis_url:
        return InMemorySessionStore(clock, bounds)
    # Longer than the cache's: without the cache one goes on, without the session one fails.
    wait = _SESSION_SECONDS_MAX
    return RedisSessionStore(
        RedisSettings(redis_url, timeout_seconds=wait, transfer_timeout_seconds=wait), clock, bounds
    )


def _set_gauges(
    backend: PostgresBackend | InMemoryBackend,
    accesses: AccessRecorder,
    drops: CacheDrops,
    telemetry: PrometheusTelemetry,
) -> None:
    if isinstance(backend, PostgresBackend):
        stats = backend.pool_stats()
        telemetry.gauge("db_pool_size", stats.size)
        telemetry.gauge("db_pool_in_use", stats.size - stats.idle)
    telemetry.gauge("queue_depth", accesses.waiting, queue="accesses")
    telemetry.gauge("queue_depth", drops.waiting, queue="cache_drops")
