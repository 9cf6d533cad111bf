"""Statements on the queue and on the plan of upkeep. Those that pgqueuer sends itself are not here."""

from __future__ import annotations

from pgqueuer.adapters.persistence.qb import QueryQueueBuilder
from pgqueuer.domain.settings import DBSettings, Durability
from pgqueuer.domain.types import Channel

from memory_service.adapters.postgres.registry import statement

# Every name is given, so that PGQUEUER_… in the environment of a process cannot move it to other tables.
NAMES = DBSettings(
    prefix="",
    db_schema="memory_service",
    channel=Channel("memory_service_jobs"),
    function="fn_pgqueuer_changed",
    statistics_table="pgqueuer_statistics",
    queue_status_type="pgqueuer_status",
    queue_table="pgqueuer",
    queue_table_log="pgqueuer_log",
    trigger="tg_pgqueuer_changed",
    schedules_table="pgqueuer_schedules",
    durability=Durability.durable,
)
"""Where pgqueuer's tables are; as migration 0006 makes them."""

BEGIN = "BEGIN"
ENQUEUE = statement("jobs_enqueue", QueryQueueBuilder(settings=NAMES).build_enqueue_query("skip"))
WAITING = statement(
    "jobs_waiting",
    """SELECT count(*) FROM (
        SELECT FROM pgqueuer q WHERE q.status = 'queued' AND q.entrypoint = ANY($1::text[]) LIMIT $2) w""",
)
STATES = statement(
    "jobs_states",
    """SELECT q.entrypoint, count(*) FILTER (WHERE q.status = 'queued') AS waiting,
           count(*) FILTER (WHERE q.status = 'picked') AS running,
           count(*) FILTER (WHERE q.status = 'failed') AS given_up,
           extract(epoch FROM now() - min(q.created) FILTER (WHERE q.status = 'queued'))::float8 AS oldest_seconds
    FROM pgqueuer q GROUP BY q.entrypoint ORDER BY q.entrypoint""",
)
GIVEN_UP = statement(
    "jobs_given_up",
    """SELECT q.id, q.entrypoint, q.headers->>'tenant' AS tenant, q.headers->>'user' AS user_id,
           q.attempts, q.updated,
           coalesce((SELECT l.traceback->>'exception_message' FROM pgqueuer_log l WHERE l.job_id = q.id
                     ORDER BY l.created DESC, l.id DESC LIMIT 1), '') AS reason
    FROM pgqueuer q WHERE q.status = 'failed' AND q.headers->>'tenant' = $1 ORDER BY q.id DESC LIMIT $2""",
)
REPLACE_GIVEN_UP = statement(
    "jobs_replace_given_up",
    """DELETE FROM pgqueuer q USING pgqueuer newer
    WHERE newer.id = $1 AND q.status = 'failed' AND q.dedupe_key = newer.dedupe_key AND q.id <> newer.id""",
)
REQUEUE = statement(
    "jobs_requeue",
    """WITH wanted AS (
        SELECT q.id, EXISTS (SELECT FROM pgqueuer o WHERE o.dedupe_key = q.dedupe_key
                             AND o.status IN ('queued', 'picked')) AS superseded
        FROM pgqueuer q WHERE q.id = ANY($1::int8[]) AND q.status = 'failed' AND q.headers->>'tenant' = $2
        FOR UPDATE),
    dropped AS (DELETE FROM pgqueuer d USING wanted w WHERE d.id = w.id AND w.superseded),
    again AS (UPDATE pgqueuer a SET status = 'queued', execute_after = now(), updated = now(), attempts = 0
              FROM wanted w WHERE a.id = w.id AND NOT w.superseded)
    SELECT count(*) FROM wanted""",
)
WAKE = statement(
    "jobs_wake",
    """SELECT pg_notify($1, json_build_object('channel', $1::text, 'operation', 'update', 'sent_at', now(),
                                             'table', 'pgqueuer', 'type', 'table_changed_event')::text)""",
)
REPORT = statement(
    "jobs_report",
    """WITH seen AS (
        INSERT INTO job_workers AS w (id, started_at, seen_at) VALUES ($1, $2, $3)
        ON CONFLICT (id) DO UPDATE SET seen_at = EXCLUDED.seen_at),
    stale AS (DELETE FROM job_workers w WHERE w.id <> $1 AND w.seen_at < $3 - interval '1 day')
    INSERT INTO job_totals AS t (name, done, changed, retried, given_up, last_run_at)
    SELECT * FROM unnest($4::text[], $5::int8[], $6::int8[], $7::int8[], $8::int8[], $9::timestamptz[])
    ON CONFLICT (name) DO UPDATE SET done = t.done + EXCLUDED.done, changed = t.changed + EXCLUDED.changed,
        retried = t.retried + EXCLUDED.retried, given_up = t.given_up + EXCLUDED.given_up,
        last_run_at = greatest(t.last_run_at, EXCLUDED.last_run_at)""",
)
PRUNE = statement(
    "jobs_prune",
    """WITH told AS (
        DELETE FROM pgqueuer_log l WHERE l.id IN (
            SELECT o.id FROM pgqueuer_log o WHERE o.created < now() - $1::interval ORDER BY o.created LIMIT $3)),
    kept AS (
        DELETE FROM pgqueuer q WHERE q.id IN (
            SELECT o.id FROM pgqueuer o WHERE o.status = 'failed' AND o.updated < now() - $2::interval
            ORDER BY o.id LIMIT $3))
    SELECT 1""",
)
TOTALS = statement(
    "jobs_totals",
    "SELECT t.name, t.done, t.changed, t.retried, t.given_up, t.last_run_at FROM job_totals t ORDER BY t.name",
)
WORKERS = statement("jobs_workers", "SELECT count(*) FROM job_workers w WHERE w.seen_at >= $1")

LOOK = statement("upkeep_look", "SELECT l.looked, l.planned FROM upkeep_plan($1, $2, $3, $4, $5, $6) l")
CLAIM = statement(
    "upkeep_claimed", "SELECT c.owner_id, c.tenant, c.user_id, c.step FROM upkeep_claim($1, $2, $3, $4, $5) c"
)
RAN = statement("upkeep_was_run", "SELECT upkeep_ran($1, $2, $3, $4, $5, $6, $7)")
DUE = statement("upkeep_is_due", "SELECT d.step, d.due, d.next_due_at FROM upkeep_overview($1, $2, $3) d")
