"""Telemetry as Prometheus metrics. Every metric is declared here, with its help and its labels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import structlog
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.metrics import MetricWrapperBase

_log = structlog.get_logger("memory_service.telemetry")

PREFIX = "memory_service_"
_FAST = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric: its name without the prefix, what it tells, and its labels, all from closed sets (B10)."""

    name: str
    help: str
    labels: tuple[str, ...] = ()


COUNTERS = (
    Metric("rpc_requests_total", "Requests answered, by call and status code.", ("rpc", "code")),
    Metric("writes_total", "Statements accepted, by what they did.", ("effect",)),
    Metric("memories_forgotten_total", "Memories forgotten."),
    Metric("sync_changes_total", "Queued changes of devices that were decided, by outcome.", ("outcome",)),
    Metric("recall_degraded_total", "Recalls answered without a stage, by what was missing.", ("cause",)),
    Metric("snapshot_requests_total", "Owner snapshots asked for, by tier and result.", ("tier", "result")),
    Metric("snapshot_evictions_total", "Owner snapshots let go for want of room.", ("tier",)),
    Metric("snapshot_puts_total", "Owner snapshots offered to the shared cache, by result.", ("result",)),
    Metric("snapshot_news_total", "News of changes exchanged between processes, by result.", ("result",)),
    Metric("query_vector_requests_total", "Vectors of queries asked for, by tier and result.", ("tier", "result")),
    Metric("access_dropped_total", "Use counts dropped because too many were waiting."),
    Metric("access_flush_failures_total", "Failed attempts to write use counts down, by reason.", ("reason",)),
    Metric("embed_deferred_total", "Fragments stored without a vector because the model was away."),
    Metric("embed_backfilled_total", "Fragments given their vector later."),
    Metric("feedback_total", "Recalled memories that were of use or not, as callers said.", ("outcome",)),
    Metric(
        "restatements_suppressed_total",
        "Guesses not remembered because they say in other words what was forgotten.",
    ),
    Metric("extracted_refused_total", "Extracted assertions refused for too little confidence."),
    Metric("upkeep_changes_total", "Memories changed by the service itself, by step of upkeep.", ("step",)),
    Metric("merges_total", "Groups of memories that say the same, by what became of them.", ("outcome",)),
    Metric("summarizer_calls_total", "Calls to the model that words merged memories, by outcome.", ("outcome",)),
    Metric("merge_texts_total", "Wordings a model made for merged memories, by outcome.", ("outcome",)),
    Metric("cold_memories_total", "Memories that came into or left files of cold storage.", ("moved",)),
    Metric("cold_orphans_total", "Files of cold storage that nothing referred to and that were removed."),
    Metric("cold_files_missing_total", "Files of cold storage found missing, each time upkeep looked."),
    Metric("sessions_created_total", "Sessions begun."),
    Metric("session_turns_total", "Turns given to sessions, new ones and ones sent again.", ("result",)),
    Metric(
        "session_rereads_total", "Times turns were read again, since the session was not where it was thought to be."
    ),
    Metric(
        "session_blocks_total", "State blocks made, and handed over to long-term memory, by outcome.", ("outcome",)
    ),
    Metric("session_overwritten_total", "Fields of sessions set over a value that their writer had not seen."),
    Metric(
        "session_prewarm_failures_total",
        "Owners that could not be loaded when a session began, by reason.",
        ("reason",),
    ),
    Metric(
        "session_forget_failures_total",
        "Sessions that forgotten turns could not be taken out of, by reason.",
        ("reason",),
    ),
    Metric("context_degraded_total", "Contexts answered without a part, by the part.", ("cause",)),
    Metric("episodes_recorded_total", "Episodes written to the log."),
    Metric("episode_tags_total", "What was noticed about recorded turns when they arrived.", ("tag",)),
    Metric("episode_learning_failures_total", "Sessions that could not be learned from, for now."),
    Metric("episodes_reflected_total", "Episodes that were learned from."),
    Metric("policy_refresh_failures_total", "Failed looks for changed vocabularies and parameters.", ("reason",)),
    Metric("variant_events_total", "What happened, by side of an experiment.", ("variant", "event")),
    Metric("upkeep_owners_looked_at_total", "Owners looked at for what may be due."),
    Metric("upkeep_owners_planned_total", "Owners found new or changed, and planned anew."),
    Metric(
        "job_runs_total",
        "Background runs, by job and outcome (done, changed, nothing_due, retried, given_up).",
        ("job", "outcome"),
    ),
)
HISTOGRAMS = (
    Metric("rpc_duration_seconds", "Time to answer a request, by call.", ("rpc",)),
    Metric("recall_stage_seconds", "Time of each stage of a recall.", ("stage",)),
    Metric("snapshot_load_seconds", "Time to load an owner snapshot, by tier.", ("tier",)),
    Metric("embed_seconds", "Time of one call to the embedding model."),
    Metric("job_seconds", "Time of one run of a job.", ("job",)),
)
GAUGES = (
    Metric("ready", "Whether the server is ready: 1 or 0."),
    Metric("db_pool_size", "Open connections to PostgreSQL."),
    Metric("db_pool_in_use", "Connections to PostgreSQL that are working."),
    Metric("queue_depth", "Work waiting in this process, by queue.", ("queue",)),
    Metric("episodes_waiting", "Episodes that are still to be learned from."),
    Metric("episode_sessions_waiting", "Sessions with episodes that are still to be learned from."),
    Metric("episode_lag_seconds", "How long ago the oldest learning that waits was due."),
    Metric("job_queue_depth", "Jobs of the deployment that wait, as a worker saw them last.", ("job",)),
    Metric("job_running", "Jobs of the deployment that run.", ("job",)),
    Metric("job_given_up", "Jobs of the deployment kept that failed for good.", ("job",)),
    Metric("job_oldest_seconds", "How long the oldest waiting job has waited.", ("job",)),
    Metric("snapshot_cache_bytes", "Memory taken by owner snapshots.", ("tier",)),
    Metric("snapshot_cache_owners", "Owners at hand in this process.", ("tier",)),
    Metric("query_vector_cache_entries", "Vectors of queries at hand in this process."),
)


class PrometheusTelemetry:
    """Telemetry over one registry. An unknown name is logged once and dropped: a metric never breaks a call."""

    def __init__(
        self,
        counters: tuple[Metric, ...] = COUNTERS,
        histograms: tuple[Metric, ...] = HISTOGRAMS,
        gauges: tuple[Metric, ...] = GAUGES,
    ) -> None:
        self.registry = CollectorRegistry()
        self._metrics: dict[str, MetricWrapperBase] = {}
        self._refreshers: list[Callable[[], None]] = []
        self._unknown: set[str] = set()
        for metric in counters:
            self._metrics[metric.name] = Counter(
                PREFIX + metric.name, metric.help, metric.labels, registry=self.registry
            )
        for metric in histograms:
            self._metrics[metric.name] = Histogram(
                PREFIX + metric.name, metric.help, metric.labels, registry=self.registry, buckets=_FAST
            )
        for metric in gauges:
            self._metrics[metric.name] = Gauge(
                PREFIX + metric.name, metric.help, metric.labels, registry=self.registry
            )

    def count(self, name: str, amount: int = 1, **labels: str) -> None:
        """Add to a counter."""
        metric = self._find(name)
        if isinstance(metric, Counter):
            (metric.labels(**labels) if labels else metric).inc(amount)

    def observe(self, name: str, seconds: float, **labels: str) -> None:
        """Record a duration."""
        metric = self._find(name)
        if isinstance(metric, Histogram):
            (metric.labels(**labels) if labels else metric).observe(seconds)

    def gauge(self, name: str, value: float, **labels: str) -> None:
        """Set a gauge."""
        metric = self._find(name)
        if isinstance(metric, Gauge):
            (metric.labels(**labels) if labels else metric).set(value)

    def refresh_with(self, refresher: Callable[[], None]) -> None:
        """Call `refresher`, which sets gauges, whenever metrics are scraped."""
        self._refreshers.append(refresher)

    def exposition(self) -> bytes:
        """The metrics in Prometheus' text format."""
        for refresher in self._refreshers:
            refresher()
        return generate_latest(self.registry)

    def _find(self, name: str) -> MetricWrapperBase | None:
        found = self._metrics.get(name)
        if found is None and name not in self._unknown:
            self._unknown.add(name)
            _log.error("undeclared metric", name=name)
        return found
