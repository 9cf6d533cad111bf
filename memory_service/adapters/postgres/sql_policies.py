"""The statements of policies, experiments and re-use intervals."""

from __future__ import annotations

from memory_service.adapters.postgres.registry import statement
from memory_service.domain.reuse import BUCKETS, SHORTEST_SECONDS

POLICY_ADD = statement("policy_add", "SELECT policy_add($1, $2, $3, $4, $5, $6, $7, $8)")
POLICY_VERSION = statement("policy_version", "SELECT * FROM policy_version($1, $2, $3)")
POLICY_HISTORY = statement("policy_history", "SELECT * FROM policy_history($1, $2, $3, $4)")
POLICIES_AFTER = statement("policies_after", "SELECT * FROM policies_after($1, $2)")
PREDICATE_USES = statement("predicate_uses", "SELECT u.uses, u.users FROM predicate_uses($1, $2, $3, $4) u")
EXPERIMENT_ADD = statement("experiment_add", "SELECT experiment_add($1, $2, $3, $4, $5)")
EXPERIMENT_TOTALS = statement("experiment_totals", "SELECT * FROM experiment_totals($1, $2)")
TENANT_INTERVALS = statement("tenant_intervals", "SELECT * FROM tenant_intervals($1)")

INTERVALS = statement(
    "intervals", "SELECT i.kind, i.predicate, i.bucket, i.count FROM reuse_intervals i WHERE i.owner = $1"
)
RECORD_INTERVALS = statement(
    "record_intervals",
    f"""INSERT INTO reuse_intervals AS r (owner, kind, predicate, bucket, count)
    SELECT $1, u.kind, u.predicate,
           least(floor(2 * ln(u.seconds / {SHORTEST_SECONDS}) / ln(2.0)), {BUCKETS - 1}), count(*)
    FROM (SELECT h.kind, CASE WHEN h.predicate = ANY($4::text[]) THEN h.predicate ELSE '' END AS predicate,
                 extract(epoch FROM a.at - h.last_access_at)::float8 AS seconds
          FROM unnest($2::uuid[], $3::timestamptz[]) AS a(memory_id, at) CROSS JOIN LATERAL (
              SELECT m.kind, m.predicate, m.last_access_at FROM memories m
              WHERE m.owner = $1 AND m.memory_id = a.memory_id
              UNION ALL SELECT v.kind, v.predicate, c.last_access_at FROM cold_memories c
              JOIN memory_versions v ON v.owner = $1 AND v.memory_id = c.memory_id AND v.version = c.version
              WHERE c.owner = $1 AND c.memory_id = a.memory_id AND NOT c.gone) h) u
    WHERE u.seconds >= {SHORTEST_SECONDS}
    GROUP BY 2, 3, 4
    ON CONFLICT (owner, kind, predicate, bucket) DO UPDATE SET count = r.count + EXCLUDED.count""",
)
"""Before `RECORD_ACCESS`, in its transaction: what was accessed at `$3` and before that at its last access."""
