"""Statements that read, and those of no one owner. Those that write are in `sql_writing.py`."""

from __future__ import annotations

import uuid

from memory_service.adapters.postgres.columns import USAGE_COLUMNS, VERSION_COLUMNS
from memory_service.adapters.postgres.registry import statement


def begin_change(owner: uuid.UUID) -> str:
    """Start a change of `owner`: one round trip. The setting ends with the transaction."""
    return f"BEGIN; SET LOCAL memory_service.owner = '{owner!s}'"


def begin_known(owner: uuid.UUID, revision: int, xmin: int) -> str:
    """`begin_change`, and the lock of the owner's row if it is still this version of it (status `SELECT 1`)."""
    return f"{begin_change(owner)}; EXECUTE lock_known('{owner!s}', {revision:d}, '{xmin:d}')"


def begin_read(owner: uuid.UUID) -> str:
    """Start reading `owner` in one snapshot."""
    return f"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL memory_service.owner = '{owner!s}'"


COMMIT = "COMMIT"
ROLLBACK = "ROLLBACK"


# The owner ------------------------------------------------------------------------------------------------

_STATE = "o.revision, o.clock, o.salt, o.memory_count, o.frozen_kinds"

STATE = statement("state", f"SELECT {_STATE} FROM owners o WHERE o.owner = $1")
LOCK_STATE = statement(
    "lock_state", f"SELECT {_STATE}, o.xmin::text::int8 FROM owners o WHERE o.owner = $1 FOR UPDATE"
)
LOCK_KNOWN = statement(
    "lock_known", "SELECT FROM owners o WHERE o.owner = $1 AND o.revision = $2 AND o.xmin = $3 FOR UPDATE"
)
PREPARE_LOCK_KNOWN = f"PREPARE lock_known (uuid, int8, xid) AS {LOCK_KNOWN}"
LOCKED_KNOWN = "SELECT 1"
"""What PostgreSQL answers to `begin_known` when it found and locked that version."""

# Heads and versions ---------------------------------------------------------------------------------------

_VERSION = ", ".join(f"v.{c.name}" for c in VERSION_COLUMNS)
_HOT_HEAD = ", ".join(f"m.{name}" for name in (*(c.name for c in VERSION_COLUMNS), *USAGE_COLUMNS, "created_at"))
_HEAD = f"{_HOT_HEAD}, false AS cold"
_COLD_HEAD = ", ".join((_VERSION, *(f"c.{name}" for name in USAGE_COLUMNS), "c.created_at, true AS cold"))
_USAGE = ", ".join(f"m.{name}" for name in USAGE_COLUMNS)
# Rows to search carry no evidence: nothing is decided by them, and a snapshot would be a fifth larger.
_SEARCH_VERSION = _VERSION.replace("v.evidence", "'[]'")
_SEARCH_HEAD = _HOT_HEAD.replace("m.evidence", "'[]'")
_CURRENT = "m.status IN ('active', 'contested')"
_STANDING = "m.status IN ('active', 'contested', 'yielded')"
_COLD_STANDING = _STANDING.replace("m.", "v.")
_OLDEST_FIRST = "ORDER BY created_at, memory_id"
_COLD = """FROM cold_memories c CROSS JOIN LATERAL (
        SELECT * FROM memory_versions x
        WHERE x.owner = $1 AND x.memory_id = c.memory_id AND x.version = c.version OFFSET 0) v
    WHERE c.owner = $1 AND NOT c.gone"""
"""Memories in cold storage: what is said of them is their newest version, looked up one by one (so OFFSET 0)."""

HEADS = statement(
    "heads",
    f"""SELECT {_HEAD} FROM memories m WHERE m.owner = $1 AND m.memory_id = ANY($2::uuid[])
    UNION ALL SELECT {_COLD_HEAD} {_COLD} AND c.memory_id = ANY($2)""",
)

HEADS_IN_SLOTS = statement(
    "heads_in_slots",
    f"""SELECT {_HEAD} FROM memories m
    WHERE m.owner = $1 AND {_STANDING} AND m.slot = ANY($2::text[])
      AND m.slot_hash = ANY(ARRAY(SELECT hashtextextended(s, 0) FROM unnest($2::text[]) s))
    UNION ALL SELECT {_COLD_HEAD} {_COLD} AND {_COLD_STANDING} AND v.slot = ANY($2)
      AND c.slot_hash = ANY(ARRAY(SELECT hashtextextended(s, 0) FROM unnest($2) s))
    {_OLDEST_FIRST}""",
)

_OF_CLAIMS = """m.claim = ANY($2::text[])
      AND m.claim_hash = ANY(ARRAY(SELECT hashtextextended(s, 0) FROM unnest($2::text[]) s))"""
_COLD_OF_CLAIMS = _OF_CLAIMS.replace("m.claim_hash", "c.claim_hash").replace("m.claim", "v.claim")
HEADS_OF_CLAIMS = statement(
    "heads_of_claims",
    f"""SELECT {_HEAD} FROM memories m WHERE m.owner = $1 AND {_STANDING} AND {_OF_CLAIMS}
    UNION ALL SELECT {_COLD_HEAD} {_COLD} AND {_COLD_STANDING} AND {_COLD_OF_CLAIMS} {_OLDEST_FIRST}""",
)
ALL_HEADS_OF_CLAIMS = statement(
    "all_heads_of_claims",
    f"""SELECT {_HEAD} FROM memories m WHERE m.owner = $1 AND {_OF_CLAIMS}
    UNION ALL SELECT {_COLD_HEAD} {_COLD} AND {_COLD_OF_CLAIMS} {_OLDEST_FIRST}""",
)


def _matching(row: str) -> str:
    """A `MemoryFilter` on the version columns of `row`; the parameters are those of `list_parameters`."""
    return f"""($5::uuid[] IS NULL OR {row}.memory_id = ANY($5))
      AND ($6::text[] IS NULL OR {row}.kind = ANY($6))
      AND ($7::text[] IS NULL OR {row}.status = ANY($7))
      AND ($8::text[] IS NULL OR {row}.tier = ANY($8))
      AND ($9::text[] IS NULL OR {row}.source = ANY($9))
      AND ($10::text[] IS NULL OR {row}.tags @> $10)
      AND ($11::text[] IS NULL OR {row}.tags && $11)
      AND ($12::text[] IS NULL OR {row}.topic = ANY($12))
      AND ($13::text[] IS NULL OR {row}.slot = ANY($13))
      AND ($14::text[] IS NULL OR {row}.subject = ANY($14))
      AND ($15::text[] IS NULL OR {row}.predicate = ANY($15))
      AND ($16::text[] IS NULL OR {row}.agent = ANY($16))
      AND ($17::text[] IS NULL OR {row}.device = ANY($17))
      AND ($18::text[] IS NULL OR {row}.session = ANY($18))
      AND ($19::timestamptz IS NULL OR coalesce({row}.said_at, {row}.recorded_at) >= $19)
      AND ($20::timestamptz IS NULL OR coalesce({row}.said_at, {row}.recorded_at) < $20)
      AND ($21::timestamptz IS NULL OR ({row}.valid_from IS NULL OR {row}.valid_from <= $21)
                                   AND ({row}.valid_to IS NULL OR {row}.valid_to > $21))
      AND {row}.importance >= $22 AND {row}.confidence >= $23
      AND ($24::text IS NULL OR {row}.visibility <> 'private' OR {row}.agent = $24)"""


LIST_HEADS = statement(
    "list_heads",
    f"""(SELECT {_HEAD} FROM memories m
    WHERE m.owner = $1 AND (m.created_at, m.memory_id) > ($2::timestamptz, $3::uuid) AND {_matching("m")}
    {_OLDEST_FIRST} LIMIT $4)
    UNION ALL
    (SELECT {_COLD_HEAD} {_COLD} AND (c.created_at, c.memory_id) > ($2, $3) AND {_matching("v")}
    ORDER BY c.created_at, c.memory_id LIMIT $4)
    {_OLDEST_FIRST} LIMIT $4""",
)
_BELIEVED = """CROSS JOIN LATERAL (
        SELECT x.* FROM memory_versions x
        WHERE x.owner = $1 AND x.memory_id = k.memory_id AND x.recorded_at <= $25
        ORDER BY x.version DESC LIMIT 1) v"""
LIST_BELIEVED = statement(
    "list_believed",
    f"""(SELECT {_VERSION}, {_USAGE}, m.created_at, false AS cold
    FROM memories m {_BELIEVED.replace("k.", "m.")}
    WHERE m.owner = $1 AND (m.created_at, m.memory_id) > ($2::timestamptz, $3::uuid) AND NOT v.redacted
      AND {_matching("v")}
    ORDER BY m.created_at, m.memory_id LIMIT $4)
    UNION ALL
    (SELECT {_COLD_HEAD}
    FROM cold_memories c {_BELIEVED.replace("k.", "c.")}
    WHERE c.owner = $1 AND NOT c.gone AND (c.created_at, c.memory_id) > ($2, $3) AND NOT v.redacted
      AND {_matching("v")}
    ORDER BY c.created_at, c.memory_id LIMIT $4)
    {_OLDEST_FIRST} LIMIT $4""",
)
"""Of each memory that is still there, the version believed at `$25`."""

# What time overtakes, what is observed and what is contested lies in the hot tables: only the archive goes cold.
IDLE_HEADS = statement(
    "idle_heads",
    f"""SELECT {_HEAD} FROM memories m
    JOIN unnest($5::text[], $6::timestamptz[]) AS k(kind, since) ON k.kind = m.kind
    LEFT JOIN unnest($7::text[], $8::timestamptz[]) AS p(predicate, since) ON p.predicate = m.predicate
    WHERE m.owner = $1 AND (m.created_at, m.memory_id) > ($2::timestamptz, $3::uuid)
      AND ({_CURRENT} AND m.tier <> 'archive' OR m.status = 'yielded' AND m.tier = 'candidate') AND NOT m.pinned
      AND (m.predicate IS NULL OR m.predicate <> ALL ($9::text[]))
      AND (greatest(m.last_access_at, m.last_confirmed_at, m.recorded_at) <= coalesce(p.since, k.since)
           OR m.access_count = 0 AND m.confidence < $11
              AND greatest(m.last_access_at, m.last_confirmed_at, m.recorded_at) <= $10
           OR m.expires_at <= $12 OR m.rejected_count > m.adopted_count)
    {_OLDEST_FIRST} LIMIT $4""",
)
OBSERVED_HEADS = statement(
    "observed_heads",
    f"""SELECT {_HEAD}, s.sessions FROM memories m
    CROSS JOIN LATERAL (
        SELECT count(DISTINCT v.session) AS sessions FROM memory_versions v
        WHERE v.owner = $1 AND v.memory_id = m.memory_id AND v.session <> ''
          AND EXISTS (SELECT FROM json_array_elements(m.evidence) e
                      WHERE e ->> 0 = v.dot_device AND (e ->> 1)::int8 = v.dot_counter)) s
    WHERE m.owner = $1 AND m.tier = 'candidate' AND {_STANDING} AND s.sessions >= $2
      AND coalesce(m.predicate, m.topic) <> ALL ($4::text[])
    {_OLDEST_FIRST} LIMIT $3""",
)
CONTESTED_HEADS = statement(
    "contested_heads",
    f"""SELECT {_HEAD} FROM memories m
    WHERE m.owner = $1 AND m.status = 'contested' AND m.tier <> 'archive' AND m.recorded_at <= $2
    ORDER BY m.recorded_at, m.memory_id LIMIT $3""",
)

VERSIONS = statement(
    "versions",
    f"SELECT {_VERSION} FROM memory_versions v WHERE v.owner = $1 AND v.memory_id = $2 ORDER BY v.version",
)

# What goes with memories ----------------------------------------------------------------------------------

_OUTCOME = "i.operation, i.request_id, i.dot_device, i.dot_counter, i.payload_digest, i.outcome, i.revision, i.at"

OUTCOME_OF_REQUEST = statement(
    "outcome_of_request",
    f"SELECT {_OUTCOME} FROM idempotency i WHERE i.owner = $1 AND i.request_id = $2 AND i.request_id <> ''",
)
OUTCOME_OF_DOT = statement(
    "outcome_of_dot",
    f"SELECT {_OUTCOME} FROM idempotency i WHERE i.owner = $1 AND i.dot_device = $2 AND i.dot_counter = $3",
)
TOMBSTONES = statement(
    "tombstones",
    """SELECT t.scope, t.digest, t.dot_device, t.dot_counter, t.context, t.at, t.revision, t.claims
    FROM tombstones t WHERE t.owner = $1 AND t.digest = ANY($2::bytea[]) ORDER BY t.revision""",
)
WORDINGS = statement(
    "wordings",
    """SELECT t.scope, t.digest, t.dot_device, t.dot_counter, t.context, t.at, t.revision, t.claims
    FROM tombstones t WHERE t.owner = $1 AND t.scope = 'wording' ORDER BY t.revision DESC LIMIT $2""",
)
LINKS = statement(
    "links",
    """SELECT l.from_id, l.relation, l.to_id FROM links l WHERE l.owner = $1 AND l.from_id = $2
    UNION SELECT l.from_id, l.relation, l.to_id FROM links l WHERE l.owner = $1 AND l.to_id = $2
    ORDER BY 1, 2, 3""",
)
DERIVATIVES = statement(
    "derivatives",
    """SELECT l.from_id FROM links l
    WHERE l.owner = $1 AND l.to_id = ANY($2::uuid[]) AND l.relation = 'derived_from'
    UNION SELECT l.to_id FROM links l
    WHERE l.owner = $1 AND l.from_id = ANY($2) AND l.relation = 'merged_into'""",
)
LINKED = statement(
    "linked",
    """SELECT l.from_id, l.relation, l.to_id FROM links l
    WHERE l.owner = $1 AND l.from_id = ANY($2::uuid[]) AND l.relation = $3
    UNION SELECT l.from_id, l.relation, l.to_id FROM links l
    WHERE l.owner = $1 AND l.to_id = ANY($2) AND l.relation = $3
    ORDER BY 1, 3""",
)
SUCCESSORS = statement(
    "successors",
    f"""SELECT DISTINCT ON (l.to_id) l.to_id, l.from_id
    FROM links l CROSS JOIN LATERAL (
        SELECT m.status, m.created_at FROM memories m WHERE m.owner = $1 AND m.memory_id = l.from_id
        UNION ALL SELECT v.status, c.created_at {_COLD} AND c.memory_id = l.from_id) s
    WHERE l.owner = $1 AND l.to_id = ANY($2::uuid[]) AND l.relation = 'supersedes' AND s.status <> 'retracted'
      AND ($3::timestamptz IS NULL OR s.created_at <= $3)
    ORDER BY l.to_id, s.created_at DESC, l.from_id DESC""",
)
_ENTRY = """j.revision, j.ordinal, j.event, j.memory_id, j.version, j.at, j.actor, j.device, j.reason,
           j.before, j.after, j.details"""
JOURNAL = statement(
    "journal",
    f"""SELECT {_ENTRY}
    FROM journal j WHERE j.owner = $1 AND j.memory_id = $2 ORDER BY j.revision, j.ordinal""",
)

# The log of changes ---------------------------------------------------------------------------------------

_CHANGE = "c.revision, c.device, c.counter, c.operation, c.actor, c.agent, c.at"
_DEVICE = "d.device, d.counter, d.last_seen, d.retired_counter, d.retired_fold"

PRUNED = statement("pruned", "SELECT o.pruned_revision FROM owners o WHERE o.owner = $1")
"""Changes up to this revision are gone."""
CHANGES_SINCE = statement(
    "changes_since",
    f"SELECT {_CHANGE} FROM changes c WHERE c.owner = $1 AND c.revision > $2 ORDER BY c.revision LIMIT $3",
)
CHANGES_AT = statement(
    "changes_at",
    f"SELECT {_CHANGE} FROM changes c WHERE c.owner = $1 AND c.revision = ANY($2::int8[]) ORDER BY c.revision",
)
CHANGES_BY = statement(
    "changes_by",
    f"""SELECT {_CHANGE} FROM changes c
    WHERE c.owner = $1 AND c.at >= $2 AND ($3::text = '' OR c.device = $3) AND ($4::text = '' OR c.agent = $4)
      AND ($5::text = '' OR c.actor = $5)
    ORDER BY c.revision""",
)
JOURNAL_SINCE = statement(
    "journal_since",
    f"""SELECT {_ENTRY}
    FROM journal j WHERE j.owner = $1 AND j.revision > $2 AND j.revision <= $3 ORDER BY j.revision, j.ordinal""",
)
CHANGED = statement(
    "changed",
    f"""SELECT k.revision, k.memory_id AS changed_id, h.*
    FROM (SELECT * FROM (
            (SELECT h.changed_revision AS revision, h.memory_id FROM memories h
             WHERE h.owner = $1 AND (h.changed_revision, h.memory_id) > ($2::int8, $3::uuid)
             ORDER BY h.changed_revision, h.memory_id LIMIT $4)
            UNION ALL
            (SELECT g.revision, g.memory_id FROM forgotten g
             WHERE g.owner = $1 AND (g.revision, g.memory_id) > ($2, $3)
             ORDER BY g.revision, g.memory_id LIMIT $4)
            UNION ALL
            (SELECT d.changed_revision, d.memory_id FROM cold_memories d
             WHERE d.owner = $1 AND NOT d.gone AND (d.changed_revision, d.memory_id) > ($2, $3)
             ORDER BY d.changed_revision, d.memory_id LIMIT $4)) all_kinds
          ORDER BY 1, 2 LIMIT $4) k
    LEFT JOIN LATERAL (SELECT {_HEAD} FROM memories m WHERE m.owner = $1 AND m.memory_id = k.memory_id
                       UNION ALL SELECT {_COLD_HEAD} {_COLD} AND c.memory_id = k.memory_id) h ON true
    ORDER BY 1, 2""",
)
"""The columns of the head are null for a memory that was forgotten."""
VERSIONS_AT = statement(
    "versions_at",
    f"""SELECT {_VERSION} FROM memory_versions v
    WHERE v.owner = $1 AND v.revision = ANY($2::int8[])
      AND (EXISTS (SELECT FROM memories m WHERE m.owner = $1 AND m.memory_id = v.memory_id)
           OR EXISTS (SELECT FROM cold_memories c
                      WHERE c.owner = $1 AND c.memory_id = v.memory_id AND NOT c.gone))
    ORDER BY v.revision, v.memory_id, v.version""",
)
DEVICES = statement("devices", f"SELECT {_DEVICE} FROM devices d WHERE d.owner = $1 AND d.device = ANY($2::text[])")
IDLE_DEVICES = statement(
    "idle_devices",
    f"""SELECT {_DEVICE} FROM devices d WHERE d.owner = $1 AND NOT d.retired AND d.device <> $3
    ORDER BY d.last_seen NULLS FIRST, d.device COLLATE "C" LIMIT $2""",
)
FIRST_UNSEEN = statement(
    "first_unseen",
    """SELECT min(u.revision)
    FROM (SELECT d.device, d.counter,
                 greatest(k.counter, CASE WHEN d.retired_fold <= $4 THEN d.retired_counter END, 0) AS seen
          FROM devices d LEFT JOIN unnest($2::text[], $3::int8[]) AS k(device, counter) ON k.device = d.device
          WHERE d.owner = $1) s
    CROSS JOIN LATERAL (SELECT c.revision FROM changes c
                        WHERE c.owner = $1 AND c.device = s.device AND c.counter > s.seen
                        ORDER BY c.counter LIMIT 1) u
    WHERE s.counter > s.seen""",
)
"""`$2`, `$3`: a clock; `$4`: its counter of folds. A device's revisions rise with its counters."""

# Fragments and search rows --------------------------------------------------------------------------------

_FRAGMENT = "f.memory_id, f.content_version, f.ordinal, f.text, f.terms, f.model_id, f.embedding"
_FRAGMENT_OF_MODEL = (
    "f.memory_id, f.content_version, f.ordinal, f.text, f.terms, "
    "CASE WHEN f.model_id = $2 THEN f.model_id ELSE '' END, CASE WHEN f.model_id = $2 THEN f.embedding END"
)
_SEARCHABLE = f"{_CURRENT} AND m.tier <> 'archive'"
_OF_HEAD = "f.owner = $1 AND f.memory_id = m.memory_id AND f.content_version = m.content_version"

FRAGMENTS = statement(
    "fragments",
    f"""SELECT {_FRAGMENT} FROM fragments f
    WHERE f.owner = $1 AND f.memory_id = $2 AND f.content_version = $3 ORDER BY f.ordinal, f.model_id""",
)
# Whole snapshots come unsorted: their rows are wide, and the database would sort them on disk.
SEARCH_HEADS = statement(
    "search_heads", f"SELECT {_SEARCH_HEAD} FROM memories m WHERE m.owner = $1 AND {_SEARCHABLE}"
)
SEARCH_FRAGMENTS = statement(
    "search_fragments",
    f"""SELECT {_FRAGMENT_OF_MODEL} FROM memories m JOIN fragments f ON {_OF_HEAD}
    WHERE m.owner = $1 AND {_SEARCHABLE}""",
)
DELTA_HEADS = statement(
    "delta_heads",
    f"""SELECT {_SEARCH_HEAD} FROM memories m
    WHERE m.owner = $1 AND m.changed_revision > $2 AND {_SEARCHABLE}""",
)
DELTA_REMOVED = statement(
    "delta_removed",
    f"""SELECT m.memory_id FROM memories m
    WHERE m.owner = $1 AND m.changed_revision > $2 AND NOT ({_SEARCHABLE})
    UNION ALL SELECT c.memory_id FROM cold_memories c
    WHERE c.owner = $1 AND NOT c.gone AND c.changed_revision > $2
    UNION ALL SELECT g.memory_id FROM forgotten g WHERE g.owner = $1 AND g.revision > $2""",
)
AS_OF_VERSIONS = statement(
    "as_of_versions",
    f"""SELECT {_SEARCH_VERSION}, {_USAGE}, m.created_at
    FROM (SELECT DISTINCT ON (x.memory_id) x.* FROM memory_versions x
          WHERE x.owner = $1 AND ($3::timestamptz IS NULL OR x.recorded_at <= $3)
          ORDER BY x.memory_id, x.version DESC) v
    JOIN memories m ON m.owner = $1 AND m.memory_id = v.memory_id
    WHERE NOT v.redacted AND v.status NOT IN ('retracted', 'yielded')
      AND CASE WHEN $2::timestamptz IS NULL THEN v.status IN ('active', 'contested')
               ELSE (v.valid_from IS NULL OR v.valid_from <= $2)
                    AND (v.valid_to IS NULL OR v.valid_to > $2) END
    ORDER BY v.recorded_at DESC, v.memory_id DESC LIMIT $4""",
)
FRAGMENTS_OF = statement(
    "fragments_of",
    f"""SELECT {_FRAGMENT_OF_MODEL} FROM unnest($3::uuid[], $4::int4[]) AS k(memory_id, content_version)
    JOIN fragments f ON f.owner = $1 AND f.memory_id = k.memory_id
                    AND f.content_version = k.content_version""",
)
WAITING_FRAGMENTS = statement(
    "waiting_fragments",
    f"""SELECT DISTINCT ON (m.created_at, m.memory_id, f.ordinal)
           f.memory_id, f.content_version, f.ordinal, f.text, f.terms, '', NULL::halfvec
    FROM memories m JOIN fragments f ON {_OF_HEAD}
    WHERE m.owner = $1 AND NOT EXISTS (
        SELECT FROM fragments d WHERE d.owner = $1 AND d.memory_id = f.memory_id AND d.ordinal = f.ordinal
               AND d.content_version = f.content_version AND d.model_id = $2)
    ORDER BY m.created_at, m.memory_id, f.ordinal LIMIT $3""",
)

# The archive and cold storage ------------------------------------------------------------------------------

ARCHIVED_HEADS = statement(
    "archived_heads",
    f"""SELECT {_SEARCH_HEAD} FROM memories m WHERE m.owner = $1 AND m.tier = 'archive' AND {_CURRENT}
    ORDER BY m.created_at DESC LIMIT $2""",
)
FREEZABLE = statement(
    "freezable",
    f"""SELECT {_HEAD} FROM memories m
    WHERE m.owner = $1 AND m.tier = 'archive' AND m.recorded_at < $2
      AND coalesce(m.last_access_at, m.recorded_at) < $2
      AND NOT EXISTS (
        SELECT FROM fragments f
        JOIN fragments w ON w.owner = $1 AND w.memory_id = f.memory_id AND w.content_version = f.content_version
                        AND w.ordinal = 0
        JOIN memory_versions v ON v.owner = $1 AND v.memory_id = f.memory_id AND v.version = f.content_version
        WHERE f.owner = $1 AND f.memory_id = m.memory_id AND f.ordinal > 0 AND w.text = v.text)
    {_OLDEST_FIRST} LIMIT $3""",
)
"""What is searched by other words than its own stays: a file could neither give them back nor lose one at once."""
FRAGMENTS_OF_MEMORIES = statement(
    "fragments_of_memories",
    f"""SELECT {_FRAGMENT} FROM fragments f WHERE f.owner = $1 AND f.memory_id = ANY($2::uuid[])
    ORDER BY f.content_version, f.ordinal, f.model_id""",
)
COLD_FILES = statement(
    "cold_files",
    """SELECT c.file, count(*) FILTER (WHERE NOT c.gone), array_agg(c.memory_id) FILTER (WHERE c.gone)
    FROM cold_memories c WHERE c.owner = $1 GROUP BY c.file ORDER BY c.file""",
)
COLD_HEADS = statement("cold_heads", f"SELECT {_COLD_HEAD} {_COLD} AND c.file = $2 AND c.memory_id = ANY($3::uuid[])")

# Not of one owner -----------------------------------------------------------------------------------------

OWNERS_WAITING = statement("owners_waiting", "SELECT w.tenant, w.user_id FROM owners_waiting($1, $2) w")
OWNERS_BEHIND = statement("owners_behind", "SELECT w.* FROM owners_behind($1, $2, $3) w")
KEY_ADD = statement("key_add", "SELECT key_add($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)")
KEY_FIND = statement("key_find", "SELECT * FROM key_find($1)")
KEY_LIST = statement("key_list", "SELECT * FROM key_list($1)")
KEY_REVOKE = statement("key_revoke", "SELECT key_revoke($1, $2, $3)")
SECRET = statement("secret", "SELECT secret_get($1, $2)")
SCHEMA = statement("schema", "SELECT s.name, s.checksum FROM schema_migrations s ORDER BY s.name")
ROLE = statement(
    "role",
    """SELECT r.rolsuper OR r.rolbypassrls AS above_rls, n.nspname AS vector_schema,
           to_regnamespace('memory_service') IS NOT NULL AS migrated
    FROM pg_roles r, pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace
    WHERE r.rolname = CURRENT_USER AND e.extname = 'vector'""",
)
