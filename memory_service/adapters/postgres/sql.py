"""Every statement that the adapter sends, by name. `$1` is the owner in each that touches an owner's table.

`tests/postgres/test_statements.py` reads them all from `STATEMENTS`: it fails on one that does not name the
owner, and on one whose plan scans a table.
"""

from __future__ import annotations

import uuid

from memory_service.adapters.postgres.columns import USAGE_COLUMNS, VERSION_COLUMNS

STATEMENTS: dict[str, str] = {}
"""All statements with parameters, by name."""


def _statement(name: str, text: str) -> str:
    assert name not in STATEMENTS, name
    STATEMENTS[name] = text
    return text


def begin_change(owner: uuid.UUID) -> str:
    """Start a change of `owner`: one round trip. The setting ends with the transaction."""
    return f"BEGIN; SET LOCAL memory_service.owner = '{owner!s}'"


def begin_read(owner: uuid.UUID) -> str:
    """Start reading `owner` in one snapshot."""
    return f"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL memory_service.owner = '{owner!s}'"


COMMIT = "COMMIT"
ROLLBACK = "ROLLBACK"


def _unnest(alias: str, first: int, columns: tuple[tuple[str, str], ...]) -> str:
    """`unnest` of parallel parameter arrays as a table, from parameter `first`."""
    arrays = ", ".join(f"${first + i}::{wire}[]" for i, (_, wire) in enumerate(columns))
    return f"unnest({arrays}) AS {alias}({', '.join(name for name, _ in columns)})"


# The owner ------------------------------------------------------------------------------------------------

_STATE = "o.revision, o.clock, o.salt, o.memory_count, o.frozen_kinds"

STATE = _statement("state", f"SELECT {_STATE} FROM owners o WHERE o.owner = $1")
LOCK_STATE = _statement("lock_state", f"SELECT {_STATE} FROM owners o WHERE o.owner = $1 FOR UPDATE")
ADD_OWNER = _statement(
    "add_owner", "INSERT INTO owners (owner, tenant, user_id) SELECT $1, $2, $3 ON CONFLICT DO NOTHING"
)

# Heads and versions ---------------------------------------------------------------------------------------

_VERSION = ", ".join(f"v.{c.name}" for c in VERSION_COLUMNS)
_HEAD = ", ".join(f"m.{name}" for name in (*(c.name for c in VERSION_COLUMNS), *USAGE_COLUMNS, "created_at"))
_USAGE = ", ".join(f"m.{name}" for name in USAGE_COLUMNS)
_CURRENT = "m.status IN ('active', 'contested')"
_OLDEST_FIRST = "ORDER BY m.created_at, m.memory_id"

HEADS = _statement("heads", f"SELECT {_HEAD} FROM memories m WHERE m.owner = $1 AND m.memory_id = ANY($2::uuid[])")

HEADS_IN_SLOTS = _statement(
    "heads_in_slots",
    f"""SELECT {_HEAD} FROM memories m
    WHERE m.owner = $1 AND {_CURRENT} AND m.slot = ANY($2::text[])
      AND m.slot_hash = ANY(ARRAY(SELECT hashtextextended(s, 0) FROM unnest($2::text[]) s))
    {_OLDEST_FIRST}""",
)

HEADS_OF_CLAIMS = _statement(
    "heads_of_claims",
    f"""SELECT {_HEAD} FROM memories m
    WHERE m.owner = $1 AND {_CURRENT} AND m.claim = ANY($2::text[])
      AND m.claim_hash = ANY(ARRAY(SELECT hashtextextended(s, 0) FROM unnest($2::text[]) s))
    {_OLDEST_FIRST}""",
)

LIST_HEADS = _statement(
    "list_heads",
    f"""SELECT {_HEAD} FROM memories m
    WHERE m.owner = $1 AND (m.created_at, m.memory_id) > ($2::timestamptz, $3::uuid)
      AND ($5::uuid[] IS NULL OR m.memory_id = ANY($5))
      AND ($6::text[] IS NULL OR m.kind = ANY($6))
      AND ($7::text[] IS NULL OR m.status = ANY($7))
      AND ($8::text[] IS NULL OR m.tier = ANY($8))
      AND ($9::text[] IS NULL OR m.source = ANY($9))
      AND ($10::text[] IS NULL OR m.tags @> $10)
      AND ($11::text[] IS NULL OR m.tags && $11)
      AND ($12::text[] IS NULL OR m.topic = ANY($12))
      AND ($13::text[] IS NULL OR m.slot = ANY($13))
      AND ($14::text[] IS NULL OR m.subject = ANY($14))
      AND ($15::text[] IS NULL OR m.predicate = ANY($15))
      AND ($16::text[] IS NULL OR m.agent = ANY($16))
      AND ($17::text[] IS NULL OR m.device = ANY($17))
      AND ($18::text[] IS NULL OR m.session = ANY($18))
      AND ($19::timestamptz IS NULL OR coalesce(m.said_at, m.recorded_at) >= $19)
      AND ($20::timestamptz IS NULL OR coalesce(m.said_at, m.recorded_at) < $20)
      AND ($21::timestamptz IS NULL OR (m.valid_from IS NULL OR m.valid_from <= $21)
                                   AND (m.valid_to IS NULL OR m.valid_to > $21))
      AND m.importance >= $22 AND m.confidence >= $23
      AND ($24::text IS NULL OR m.visibility <> 'private' OR m.agent = $24)
    {_OLDEST_FIRST} LIMIT $4""",
)

VERSIONS = _statement(
    "versions",
    f"SELECT {_VERSION} FROM memory_versions v WHERE v.owner = $1 AND v.memory_id = $2 ORDER BY v.version",
)

# What goes with memories ----------------------------------------------------------------------------------

_OUTCOME = "i.operation, i.request_id, i.dot_device, i.dot_counter, i.payload_digest, i.outcome, i.revision, i.at"

OUTCOME_OF_REQUEST = _statement(
    "outcome_of_request",
    f"SELECT {_OUTCOME} FROM idempotency i WHERE i.owner = $1 AND i.request_id = $2 AND i.request_id <> ''",
)
OUTCOME_OF_DOT = _statement(
    "outcome_of_dot",
    f"SELECT {_OUTCOME} FROM idempotency i WHERE i.owner = $1 AND i.dot_device = $2 AND i.dot_counter = $3",
)
TOMBSTONES = _statement(
    "tombstones",
    """SELECT t.scope, t.digest, t.dot_device, t.dot_counter, t.context, t.at, t.revision
    FROM tombstones t WHERE t.owner = $1 AND t.digest = ANY($2::bytea[]) ORDER BY t.revision""",
)
LINKS = _statement(
    "links",
    """SELECT l.from_id, l.relation, l.to_id FROM links l WHERE l.owner = $1 AND l.from_id = $2
    UNION SELECT l.from_id, l.relation, l.to_id FROM links l WHERE l.owner = $1 AND l.to_id = $2
    ORDER BY 1, 2, 3""",
)
DERIVATIVES = _statement(
    "derivatives",
    """SELECT l.from_id FROM links l
    WHERE l.owner = $1 AND l.to_id = ANY($2::uuid[]) AND l.relation = 'derived_from'
    UNION SELECT l.to_id FROM links l
    WHERE l.owner = $1 AND l.from_id = ANY($2) AND l.relation = 'merged_into'""",
)
JOURNAL = _statement(
    "journal",
    """SELECT j.revision, j.ordinal, j.event, j.memory_id, j.version, j.at, j.actor, j.device, j.reason,
           j.before, j.after, j.details
    FROM journal j WHERE j.owner = $1 AND j.memory_id = $2 ORDER BY j.revision, j.ordinal""",
)

# Fragments and search rows --------------------------------------------------------------------------------

_FRAGMENT = "f.memory_id, f.content_version, f.ordinal, f.text, f.terms, f.model_id, f.embedding"
_FRAGMENT_OF_MODEL = (
    "f.memory_id, f.content_version, f.ordinal, f.text, f.terms, "
    "CASE WHEN f.model_id = $2 THEN f.model_id ELSE '' END, CASE WHEN f.model_id = $2 THEN f.embedding END"
)
_SEARCHABLE = f"{_CURRENT} AND m.tier <> 'archive'"
_OF_HEAD = "f.owner = $1 AND f.memory_id = m.memory_id AND f.content_version = m.content_version"

FRAGMENTS = _statement(
    "fragments",
    f"""SELECT {_FRAGMENT} FROM fragments f
    WHERE f.owner = $1 AND f.memory_id = $2 AND f.content_version = $3 ORDER BY f.ordinal, f.model_id""",
)
# Whole snapshots come unsorted: their rows are wide, and the database would sort them on disk.
SEARCH_HEADS = _statement("search_heads", f"SELECT {_HEAD} FROM memories m WHERE m.owner = $1 AND {_SEARCHABLE}")
SEARCH_FRAGMENTS = _statement(
    "search_fragments",
    f"""SELECT {_FRAGMENT_OF_MODEL} FROM memories m JOIN fragments f ON {_OF_HEAD}
    WHERE m.owner = $1 AND {_SEARCHABLE}""",
)
DELTA_HEADS = _statement(
    "delta_heads",
    f"""SELECT {_HEAD} FROM memories m
    WHERE m.owner = $1 AND m.changed_revision > $2 AND {_SEARCHABLE}""",
)
DELTA_REMOVED = _statement(
    "delta_removed",
    f"""SELECT m.memory_id FROM memories m
    WHERE m.owner = $1 AND m.changed_revision > $2 AND NOT ({_SEARCHABLE})
    UNION ALL SELECT g.memory_id FROM forgotten g WHERE g.owner = $1 AND g.revision > $2""",
)
AS_OF_VERSIONS = _statement(
    "as_of_versions",
    f"""SELECT {_VERSION}, {_USAGE}, m.created_at
    FROM (SELECT DISTINCT ON (x.memory_id) x.* FROM memory_versions x
          WHERE x.owner = $1 AND ($3::timestamptz IS NULL OR x.recorded_at <= $3)
          ORDER BY x.memory_id, x.version DESC) v
    JOIN memories m ON m.owner = $1 AND m.memory_id = v.memory_id
    WHERE NOT v.redacted AND v.status <> 'retracted'
      AND CASE WHEN $2::timestamptz IS NULL THEN v.status IN ('active', 'contested')
               ELSE (v.valid_from IS NULL OR v.valid_from <= $2)
                    AND (v.valid_to IS NULL OR v.valid_to > $2) END
    ORDER BY v.recorded_at DESC, v.memory_id DESC LIMIT $4""",
)
FRAGMENTS_OF = _statement(
    "fragments_of",
    f"""SELECT {_FRAGMENT_OF_MODEL} FROM unnest($3::uuid[], $4::int4[]) AS k(memory_id, content_version)
    JOIN fragments f ON f.owner = $1 AND f.memory_id = k.memory_id
                    AND f.content_version = k.content_version""",
)
WAITING_FRAGMENTS = _statement(
    "waiting_fragments",
    f"""SELECT DISTINCT ON (m.created_at, m.memory_id, f.ordinal)
           f.memory_id, f.content_version, f.ordinal, f.text, f.terms, '', NULL::halfvec
    FROM memories m JOIN fragments f ON {_OF_HEAD}
    WHERE m.owner = $1 AND NOT EXISTS (
        SELECT FROM fragments d WHERE d.owner = $1 AND d.memory_id = f.memory_id AND d.ordinal = f.ordinal
               AND d.content_version = f.content_version AND d.model_id = $2)
    ORDER BY m.created_at, m.memory_id, f.ordinal LIMIT $3""",
)

# Writing --------------------------------------------------------------------------------------------------

WRITTEN_COLUMNS = (
    *((c.name, c.wire) for c in VERSION_COLUMNS),
    ("is_head", "bool"),  # the newest version of its memory in the change
    ("follows", "int4"),  # version of the head before the change, 0 when the memory is new
    ("created_at", "timestamptz"),
    ("has_usage", "bool"),
    ("access_count", "int8"),
    ("adopted_count", "int8"),
    ("last_access_at", "timestamptz"),
    ("last_confirmed_at", "timestamptz"),
)
FRAGMENT_COLUMNS = (
    ("memory_id", "uuid"),
    ("content_version", "int4"),
    ("ordinal", "int4"),
    ("model_id", "text"),
    ("text", "text"),
    ("terms", "text"),
    ("embedding", "halfvec"),
)
JOURNAL_COLUMNS = (
    ("revision", "int8"),
    ("ordinal", "int4"),
    ("event", "text"),
    ("memory_id", "uuid"),
    ("version", "int4"),
    ("at", "timestamptz"),
    ("actor", "text"),
    ("device", "text"),
    ("reason", "text"),
    ("before", "text"),
    ("after", "text"),
    ("details", "json"),
)
OUTCOME_COLUMNS = (
    ("dot_device", "text"),
    ("dot_counter", "int8"),
    ("request_id", "text"),
    ("operation", "text"),
    ("payload_digest", "bytea"),
    ("outcome", "json"),
    ("revision", "int8"),
    ("at", "timestamptz"),
)
DEVICE_COLUMNS = (("device", "text"), ("counter", "int8"), ("last_seen", "timestamptz"))
LINK_COLUMNS = (("from_id", "uuid"), ("relation", "text"), ("to_id", "uuid"))
TOMBSTONE_COLUMNS = (
    ("digest", "bytea"),
    ("scope", "text"),
    ("dot_device", "text"),
    ("dot_counter", "int8"),
    ("context", "json"),
    ("at", "timestamptz"),
    ("revision", "int8"),
)
USAGE_WRITTEN_COLUMNS = (
    ("memory_id", "uuid"),
    ("has_usage", "bool"),
    ("access_count", "int8"),
    ("adopted_count", "int8"),
    ("last_access_at", "timestamptz"),
    ("last_confirmed_at", "timestamptz"),
)


def _insert(table: str, alias: str, first: int, columns: tuple[tuple[str, str], ...], tail: str = "") -> str:
    names = ", ".join(name for name, _ in columns)
    values = ", ".join(f"{alias}.{name}" for name, _ in columns)
    source = _unnest(alias, first, columns)
    return f"INSERT INTO {table} (owner, {names}) SELECT $1, {values} FROM {source} {tail}"


def _numbered(*groups: tuple[tuple[str, str], ...], first: int) -> list[int]:
    """First parameter number of each group of arrays."""
    starts = [first]
    for group in groups[:-1]:
        starts.append(starts[-1] + len(group))
    return starts


def _write() -> str:
    """The whole of an ordinary change in one statement (one round trip, one plan, whatever its size)."""
    versions, fragments, journal, outcomes, devices = _numbered(
        WRITTEN_COLUMNS, FRAGMENT_COLUMNS, JOURNAL_COLUMNS, OUTCOME_COLUMNS, DEVICE_COLUMNS, first=7
    )
    names = [c.name for c in VERSION_COLUMNS]
    values = ", ".join(f"v.{c.name}{c.cast}" for c in VERSION_COLUMNS)
    sets = ", ".join(f"{c.name} = v.{c.name}{c.cast}" for c in VERSION_COLUMNS[1:])
    usage = ", ".join(USAGE_COLUMNS)
    usage_values = ", ".join(f"v.{name}" for name in USAGE_COLUMNS)
    usage_sets = ", ".join(
        f"{name} = CASE WHEN v.has_usage THEN v.{name} ELSE m.{name} END" for name in USAGE_COLUMNS
    )
    fragment_names = ", ".join(name for name, _ in FRAGMENT_COLUMNS)
    return f"""WITH v AS MATERIALIZED (SELECT * FROM {_unnest("u", versions, WRITTEN_COLUMNS)}),
    state AS (UPDATE owners o SET revision = $2, clock = $3, salt = $4, memory_count = $5, frozen_kinds = $6
              WHERE o.owner = $1),
    kept AS (INSERT INTO memory_versions (owner, {", ".join(names)}) SELECT $1, {values} FROM v),
    added AS (INSERT INTO memories (owner, {", ".join(names)}, created_at, changed_revision, {usage})
              SELECT $1, {values}, v.created_at, $2, {usage_values} FROM v WHERE v.is_head AND v.follows = 0
              RETURNING 1),
    moved AS (UPDATE memories m SET {sets}, changed_revision = $2, {usage_sets}
              FROM v WHERE m.owner = $1 AND m.memory_id = v.memory_id AND m.version = v.follows AND v.is_head
              RETURNING 1),
    pieces AS (INSERT INTO fragments (owner, {fragment_names})
               SELECT $1, f.memory_id, f.content_version, f.ordinal, f.model_id, f.text, f.terms::text[],
                      f.embedding
               FROM {_unnest("f", fragments, FRAGMENT_COLUMNS)}
               ON CONFLICT (owner, memory_id, content_version, ordinal, model_id)
               DO UPDATE SET text = EXCLUDED.text, terms = EXCLUDED.terms, embedding = EXCLUDED.embedding),
    events AS ({_insert("journal", "j", journal, JOURNAL_COLUMNS)}),
    answers AS ({_insert("idempotency", "a", outcomes, OUTCOME_COLUMNS)}),
    seen AS (INSERT INTO devices AS d (owner, device, counter, last_seen)
             SELECT $1, e.device, e.counter, e.last_seen FROM {_unnest("e", devices, DEVICE_COLUMNS)}
             ON CONFLICT (owner, device) DO UPDATE
             SET counter = EXCLUDED.counter, last_seen = greatest(d.last_seen, EXCLUDED.last_seen))
    SELECT (SELECT count(*) FROM added) + (SELECT count(*) FROM moved)"""


WRITE = _statement("write", _write())
"""Answers how many heads it wrote."""

WRITE_LINKS = _statement("write_links", _insert("links", "l", 2, LINK_COLUMNS, "ON CONFLICT DO NOTHING"))
WRITE_TOMBSTONES = _statement(
    "write_tombstones", _insert("tombstones", "t", 2, TOMBSTONE_COLUMNS, "ON CONFLICT DO NOTHING")
)
WRITE_USAGE = _statement(
    "write_usage",
    f"""WITH touched AS (UPDATE memories m SET changed_revision = $2, {
        ", ".join(f"{name} = CASE WHEN u.has_usage THEN u.{name} ELSE m.{name} END" for name in USAGE_COLUMNS)
    }
    FROM {_unnest("u", 3, USAGE_WRITTEN_COLUMNS)} WHERE m.owner = $1 AND m.memory_id = u.memory_id RETURNING 1)
    SELECT count(*) FROM touched""",
)
"""Answers how many heads it wrote."""
FORGET = _statement(
    "forget",
    """WITH heads AS (DELETE FROM memories m WHERE m.owner = $1 AND m.memory_id = ANY($2::uuid[])),
    pieces AS (DELETE FROM fragments f WHERE f.owner = $1 AND f.memory_id = ANY($2)),
    from_links AS (DELETE FROM links l WHERE l.owner = $1 AND (l.from_id = ANY($2) OR l.to_id = ANY($2))),
    emptied AS (UPDATE memory_versions v
                SET text = '', subject = NULL, predicate = NULL, object = NULL, topic = '', slot = '',
                    claim = '', tags = '{}', reference = '', reason = '', redacted = true
                WHERE v.owner = $1 AND v.memory_id = ANY($2) RETURNING v.memory_id),
    hushed AS (UPDATE journal j SET reason = ''
               WHERE j.owner = $1 AND j.memory_id = ANY($2) AND j.revision < $3),
    gone AS (INSERT INTO forgotten AS g (owner, memory_id, revision)
             SELECT $1, e.memory_id, $3 FROM (SELECT DISTINCT memory_id FROM emptied) e
             ON CONFLICT (owner, memory_id) DO NOTHING)
    SELECT count(DISTINCT memory_id) FROM emptied""",
)
"""Answers how many of the memories ever existed."""
RECORD_ACCESS = _statement(
    "record_access",
    """UPDATE memories m SET access_count = m.access_count + a.count,
                           last_access_at = greatest(m.last_access_at, a.at)
    FROM unnest($2::uuid[], $3::int8[], $4::timestamptz[]) AS a(memory_id, count, at)
    WHERE m.owner = $1 AND m.memory_id = a.memory_id""",
)
STORE_VECTORS = _statement(
    "store_vectors",
    """WITH stored AS (
        INSERT INTO fragments AS s
               (owner, memory_id, content_version, ordinal, model_id, text, terms, embedding)
        SELECT DISTINCT ON (k.memory_id, k.content_version, k.ordinal, k.model_id)
               $1, k.memory_id, k.content_version, k.ordinal, k.model_id, f.text, f.terms, k.embedding
        FROM unnest($2::uuid[], $3::int4[], $4::int4[], $5::text[], $6::halfvec[])
             AS k(memory_id, content_version, ordinal, model_id, embedding)
        JOIN fragments f ON f.owner = $1 AND f.memory_id = k.memory_id
             AND f.content_version = k.content_version AND f.ordinal = k.ordinal
        ON CONFLICT (owner, memory_id, content_version, ordinal, model_id)
        DO UPDATE SET embedding = EXCLUDED.embedding
        RETURNING s.memory_id, s.content_version, s.ordinal),
    waited AS (DELETE FROM fragments w USING stored
               WHERE w.owner = $1 AND w.memory_id = stored.memory_id AND w.ordinal = stored.ordinal
                 AND w.content_version = stored.content_version AND w.model_id = ''),
    raised AS (UPDATE owners o SET revision = o.revision + 1
               WHERE o.owner = $1 AND EXISTS (SELECT FROM stored) RETURNING o.revision)
    UPDATE memories m SET changed_revision = raised.revision FROM raised
    WHERE m.owner = $1 AND m.memory_id IN (SELECT memory_id FROM stored)""",
)

# Not of one owner -----------------------------------------------------------------------------------------

OWNERS_WAITING = _statement("owners_waiting", "SELECT w.tenant, w.user_id FROM owners_waiting($1, $2) w")
KEY_ADD = _statement("key_add", "SELECT key_add($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)")
KEY_FIND = _statement("key_find", "SELECT * FROM key_find($1)")
KEY_LIST = _statement("key_list", "SELECT * FROM key_list($1)")
KEY_REVOKE = _statement("key_revoke", "SELECT key_revoke($1, $2, $3)")
SECRET = _statement("secret", "SELECT secret_get($1, $2)")
SCHEMA = _statement("schema", "SELECT s.name, s.checksum FROM schema_migrations s ORDER BY s.name")
ROLE = _statement(
    "role",
    """SELECT r.rolsuper OR r.rolbypassrls AS above_rls, n.nspname AS vector_schema,
           to_regnamespace('memory_service') IS NOT NULL AS migrated
    FROM pg_roles r, pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace
    WHERE r.rolname = CURRENT_USER AND e.extname = 'vector'""",
)
