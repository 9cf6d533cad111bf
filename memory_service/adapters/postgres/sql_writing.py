"""Statements that write."""

from __future__ import annotations

from collections.abc import Callable

from memory_service.adapters.postgres.columns import USAGE_COLUMNS, VERSION_COLUMNS
from memory_service.adapters.postgres.registry import statement

ADD_OWNER = statement(
    "add_owner", "INSERT INTO owners (owner, tenant, user_id) SELECT $1, $2, $3 ON CONFLICT DO NOTHING"
)

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
    ("rejected_count", "int8"),
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
CHANGE_COLUMNS = (
    ("revision", "int8"),
    ("device", "text"),
    ("counter", "int8"),
    ("operation", "text"),
    ("actor", "text"),
    ("agent", "text"),
    ("at", "timestamptz"),
)
DEVICE_COLUMNS = (
    ("device", "text"),
    ("counter", "int8"),
    ("last_seen", "timestamptz"),
    ("retired", "bool"),
    ("retired_counter", "int8"),
    ("retired_fold", "int8"),
)
LINK_COLUMNS = (("from_id", "uuid"), ("relation", "text"), ("to_id", "uuid"))
TOMBSTONE_COLUMNS = (
    ("digest", "bytea"),
    ("scope", "text"),
    ("dot_device", "text"),
    ("dot_counter", "int8"),
    ("context", "json"),
    ("at", "timestamptz"),
    ("revision", "int8"),
    ("claims", "bytea"),
)
USAGE_WRITTEN_COLUMNS = (
    ("memory_id", "uuid"),
    ("has_usage", "bool"),
    ("access_count", "int8"),
    ("adopted_count", "int8"),
    ("last_access_at", "timestamptz"),
    ("last_confirmed_at", "timestamptz"),
    ("rejected_count", "int8"),
)


Columns = tuple[tuple[str, str], ...]
"""Names and wire types."""
Source = Callable[[str, int, Columns], str]
"""From an alias, the number of the first parameter and columns, to what stands behind FROM."""


def _unnest(alias: str, first: int, columns: Columns) -> str:
    """`unnest` of parallel parameter arrays as a table, from parameter `first`."""
    arrays = ", ".join(f"${first + i}::{wire}[]" for i, (_, wire) in enumerate(columns))
    return f"unnest({arrays}) AS {alias}({_names(columns)})"


def _one(alias: str, first: int, columns: Columns) -> str:
    """One row of parameters as a table, from parameter `first`; the planner makes it vanish."""
    values = ", ".join(f"${first + i}::{wire}" for i, (_, wire) in enumerate(columns))
    return f"(VALUES ({values})) AS {alias}({_names(columns)})"


def _names(columns: Columns) -> str:
    return ", ".join(name for name, _ in columns)


def _insert(table: str, alias: str, first: int, columns: Columns, tail: str = "", source: Source = _unnest) -> str:
    values = ", ".join(f"{alias}.{name}" for name, _ in columns)
    rows = source(alias, first, columns)
    return f"INSERT INTO {table} (owner, {_names(columns)}) SELECT $1, {values} FROM {rows} {tail}"


WRITE_GROUPS: tuple[Columns, ...] = (
    WRITTEN_COLUMNS,
    FRAGMENT_COLUMNS,
    JOURNAL_COLUMNS,
    OUTCOME_COLUMNS,
    CHANGE_COLUMNS,
    DEVICE_COLUMNS,
)
"""What follows the owner's state in the parameters of `WRITE` and `WRITE_ONE`."""


def _write(source: Source) -> str:
    """The whole of an ordinary change in one statement (one round trip, one plan, whatever its size)."""
    starts = [7 + sum(map(len, WRITE_GROUPS[:place])) for place in range(len(WRITE_GROUPS))]
    versions, fragments, journal, outcomes, changes, devices = starts
    names = [c.name for c in VERSION_COLUMNS]
    values = ", ".join(f"v.{c.name}{c.cast}" for c in VERSION_COLUMNS)
    sets = ", ".join(f"{c.name} = v.{c.name}{c.cast}" for c in VERSION_COLUMNS[1:])
    usage = ", ".join(USAGE_COLUMNS)
    usage_values = ", ".join(f"v.{name}" for name in USAGE_COLUMNS)
    usage_sets = ", ".join(
        f"{name} = CASE WHEN v.has_usage THEN v.{name} ELSE m.{name} END" for name in USAGE_COLUMNS
    )
    given = source("v", versions, WRITTEN_COLUMNS)
    return f"""WITH state AS (UPDATE owners o SET revision = $2, clock = $3, salt = $4, memory_count = $5,
              frozen_kinds = $6 WHERE o.owner = $1),
    kept AS (INSERT INTO memory_versions (owner, {", ".join(names)}) SELECT $1, {values} FROM {given}),
    added AS (INSERT INTO memories (owner, {", ".join(names)}, created_at, changed_revision, {usage})
              SELECT $1, {values}, v.created_at, $2, {usage_values} FROM {given} WHERE v.is_head AND v.follows = 0
              RETURNING 1),
    moved AS (UPDATE memories m SET {sets}, changed_revision = $2, {usage_sets} FROM {given}
              WHERE m.owner = $1 AND m.memory_id = v.memory_id AND m.version = v.follows AND v.is_head
              RETURNING 1),
    pieces AS (INSERT INTO fragments (owner, {_names(FRAGMENT_COLUMNS)})
               SELECT $1, f.memory_id, f.content_version, f.ordinal, f.model_id, f.text, f.terms::text[],
                      f.embedding
               FROM {source("f", fragments, FRAGMENT_COLUMNS)}
               ON CONFLICT (owner, memory_id, content_version, ordinal, model_id)
               DO UPDATE SET text = EXCLUDED.text, terms = EXCLUDED.terms, embedding = EXCLUDED.embedding),
    events AS ({_insert("journal", "j", journal, JOURNAL_COLUMNS, source=source)}),
    answers AS ({_insert("idempotency", "a", outcomes, OUTCOME_COLUMNS, source=source)}),
    made AS ({_insert("changes", "c", changes, CHANGE_COLUMNS, source=source)}),
    seen AS (INSERT INTO devices AS d (owner, device, counter, last_seen, retired, retired_counter, retired_fold)
             SELECT $1, e.device, e.counter, e.last_seen, e.retired, e.retired_counter, e.retired_fold
             FROM {source("e", devices, DEVICE_COLUMNS)}
             ON CONFLICT (owner, device) DO UPDATE
             SET counter = EXCLUDED.counter, last_seen = greatest(d.last_seen, EXCLUDED.last_seen),
                 retired = EXCLUDED.retired,
                 retired_counter = coalesce(EXCLUDED.retired_counter, d.retired_counter),
                 retired_fold = coalesce(EXCLUDED.retired_fold, d.retired_fold))
    SELECT (SELECT count(*) FROM added) + (SELECT count(*) FROM moved),
           pg_current_xact_id()::text::int8 & 4294967295"""


WRITE = statement("write", _write(_unnest))
"""Answers how many heads it wrote, and the transaction as rows name it.

Parameters after the state are arrays, one for each column.
"""
WRITE_ONE = statement("write_one", _write(_one))
"""`WRITE` for one record of each group, the most common change: arrays of one cost both ends a third more."""

WRITE_LINKS = statement("write_links", _insert("links", "l", 2, LINK_COLUMNS, "ON CONFLICT DO NOTHING"))
WRITE_TOMBSTONES = statement(
    "write_tombstones", _insert("tombstones", "t", 2, TOMBSTONE_COLUMNS, "ON CONFLICT DO NOTHING")
)
WRITE_USAGE = statement(
    "write_usage",
    f"""WITH touched AS (UPDATE memories m SET changed_revision = $2, {
        ", ".join(f"{name} = CASE WHEN u.has_usage THEN u.{name} ELSE m.{name} END" for name in USAGE_COLUMNS)
    }
    FROM {_unnest("u", 3, USAGE_WRITTEN_COLUMNS)} WHERE m.owner = $1 AND m.memory_id = u.memory_id RETURNING 1)
    SELECT count(*) FROM touched""",
)
"""Answers how many heads it wrote."""
FORGET = statement(
    "forget",
    """WITH heads AS (DELETE FROM memories m WHERE m.owner = $1 AND m.memory_id = ANY($2::uuid[])),
    pieces AS (DELETE FROM fragments f WHERE f.owner = $1 AND f.memory_id = ANY($2)),
    frozen AS (UPDATE cold_memories c SET gone = true, slot_hash = 0, claim_hash = 0
               WHERE c.owner = $1 AND c.memory_id = ANY($2) AND NOT c.gone),
    from_links AS (DELETE FROM links l WHERE l.owner = $1 AND (l.from_id = ANY($2) OR l.to_id = ANY($2))),
    emptied AS (UPDATE memory_versions v
                SET text = '', subject = NULL, predicate = NULL, object = NULL, topic = '', slot = '',
                    claim = '', tags = '{}', reference = '', reason = '', evidence = '[]', redacted = true
                WHERE v.owner = $1 AND v.memory_id = ANY($2) RETURNING v.memory_id),
    reasons AS (UPDATE journal j SET reason = ''
                WHERE j.owner = $1 AND j.memory_id = ANY($2) AND j.event <> 'forgotten' AND j.reason <> ''),
    gone AS (INSERT INTO forgotten AS g (owner, memory_id, revision)
             SELECT $1, e.memory_id, $3 FROM (SELECT DISTINCT memory_id FROM emptied) e
             ON CONFLICT (owner, memory_id) DO NOTHING)
    SELECT count(DISTINCT memory_id) FROM emptied""",
)
"""Answers how many of the memories ever existed."""
UNSAY = statement(
    "unsay",
    """DELETE FROM fragments f USING unnest($2::uuid[], $3::text[]) AS u(memory_id, text)
    WHERE f.owner = $1 AND f.memory_id = u.memory_id AND f.text = u.text""",
)
RECORD_ACCESS = statement(
    "record_access",
    """WITH cold AS (UPDATE cold_memories c SET access_count = c.access_count + a.count,
                                              last_access_at = greatest(c.last_access_at, a.at)
                 FROM unnest($2::uuid[], $3::int8[], $4::timestamptz[]) AS a(memory_id, count, at)
                 WHERE c.owner = $1 AND c.memory_id = a.memory_id AND NOT c.gone)
    UPDATE memories m SET access_count = m.access_count + a.count,
                          last_access_at = greatest(m.last_access_at, a.at)
    FROM unnest($2::uuid[], $3::int8[], $4::timestamptz[]) AS a(memory_id, count, at)
    WHERE m.owner = $1 AND m.memory_id = a.memory_id""",
)
_KEPT_COLUMNS = ("created_at", "changed_revision", *USAGE_COLUMNS)
_KEPT_OR_NOTHING = ", ".join(
    f"coalesce(k.{name}, 0)" if name.endswith(("_count", "_revision")) else f"k.{name}" for name in _KEPT_COLUMNS[1:]
)
FREEZE = statement(
    "freeze",
    f"""WITH moved AS (
        DELETE FROM memories m USING unnest($3::uuid[], $4::int4[]) AS g(memory_id, version)
        WHERE m.owner = $1 AND m.memory_id = g.memory_id AND m.version = g.version AND m.tier = 'archive'
        RETURNING m.memory_id, m.slot_hash, m.claim_hash, {", ".join(f"m.{name}" for name in _KEPT_COLUMNS)}),
    pieces AS (DELETE FROM fragments f WHERE f.owner = $1 AND f.memory_id = ANY(ARRAY(SELECT memory_id FROM moved))),
    stubs AS (INSERT INTO cold_memories (owner, file, memory_id, gone, version, slot_hash, claim_hash,
                                         {", ".join(_KEPT_COLUMNS)})
              SELECT $1, $2, g.memory_id, k.memory_id IS NULL, g.version, coalesce(k.slot_hash, 0),
                     coalesce(k.claim_hash, 0), coalesce(k.created_at, 'epoch'), {_KEPT_OR_NOTHING}
              FROM unnest($3::uuid[], $4::int4[]) AS g(memory_id, version)
              LEFT JOIN moved k ON k.memory_id = g.memory_id)
    SELECT memory_id FROM moved""",
)
"""What the file holds but does not move is gone at once, so that it is taken out of the file again."""
THAW = statement(
    "thaw",
    f"""WITH back AS (
        UPDATE cold_memories c SET gone = true, slot_hash = 0, claim_hash = 0
        WHERE c.owner = $1 AND c.memory_id = ANY($2::uuid[]) AND NOT c.gone RETURNING c.*),
    hot AS (INSERT INTO memories (owner, {", ".join(c.name for c in VERSION_COLUMNS)}, {", ".join(_KEPT_COLUMNS)})
            SELECT $1, {", ".join(f"v.{c.name}" for c in VERSION_COLUMNS)},
                   {", ".join(f"b.{name}" for name in _KEPT_COLUMNS)}
            FROM back b JOIN memory_versions v
              ON v.owner = $1 AND v.memory_id = b.memory_id AND v.version = b.version
            RETURNING 1)
    SELECT count(*) FROM hot""",
)
"""Answers how many heads came back."""
REFILE = statement(
    "refile",
    """WITH moved AS (UPDATE cold_memories c SET file = $3
                   WHERE c.owner = $1 AND c.file = $2 AND NOT (c.memory_id = ANY($4::uuid[])) RETURNING 1)
    SELECT count(*) FROM moved""",
)
UNFILE = statement("unfile", "DELETE FROM cold_memories c WHERE c.owner = $1 AND c.file = $2 AND c.gone")
STORE_VECTORS = statement(
    "store_vectors",
    """WITH stored AS (
        INSERT INTO fragments AS s
               (owner, memory_id, content_version, ordinal, model_id, text, terms, embedding)
        SELECT DISTINCT ON (k.memory_id, k.content_version, k.ordinal, k.model_id)
               $1, k.memory_id, k.content_version, k.ordinal, k.model_id, f.text, f.terms, k.embedding
        FROM unnest($2::uuid[], $3::int4[], $4::int4[], $5::text[], $6::text[], $7::halfvec[])
             AS k(memory_id, content_version, ordinal, text, model_id, embedding)
        JOIN fragments f ON f.owner = $1 AND f.memory_id = k.memory_id
             AND f.content_version = k.content_version AND f.ordinal = k.ordinal AND f.text = k.text
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
PRUNE_LOG = statement(
    "prune_log",
    """WITH gone AS (DELETE FROM changes c WHERE c.owner = $1 AND c.revision <= $2)
    UPDATE owners o SET pruned_revision = greatest(o.pruned_revision, least($2, o.revision)) WHERE o.owner = $1""",
)
