"""Statements of the episodic log."""

from __future__ import annotations

from memory_service.adapters.postgres.registry import statement

EPISODE_COLUMNS = (
    ("turn_id", "text"),
    ("place", "int4"),
    ("recorded_at", "timestamptz"),
    ("said_at", "timestamptz"),
    ("actor", "text"),
    ("agent", "text"),
    ("credential", "text"),
    ("action", "text"),
    ("content", "text"),
    ("tool", "text"),
    ("tool_status", "text"),
    ("feedback", "text"),
    ("tags", "text"),
)
_NAMES = ", ".join(name for name, _ in EPISODE_COLUMNS)
_ARRAYS = ", ".join(f"${place}::{wire}[]" for place, (_, wire) in enumerate(EPISODE_COLUMNS, start=8))
_VALUES = ", ".join("g.tags::text[]" if name == "tags" else f"g.{name}" for name, _ in EPISODE_COLUMNS)
_FEWER_WAITING = """moved AS (
        UPDATE learning_tasks t SET waiting = t.waiting - fewer.number FROM fewer
        WHERE t.owner = $1 AND t.session = $3 AND t.waiting > fewer.number),
    gone AS (
        DELETE FROM learning_tasks t USING fewer
        WHERE t.owner = $1 AND t.session = $3 AND t.waiting <= fewer.number)"""
"""The steps by which `fewer.number` turns of a session ($3) no longer wait for learning; at none its task ends."""

APPEND_EPISODES = statement(
    "append_episodes",
    f"""WITH added AS (
        INSERT INTO episodes (owner, started_at, session, {_NAMES})
        SELECT $1, $2, $3, {_VALUES}
        FROM unnest({_ARRAYS}) AS g({_NAMES})
        ORDER BY g.turn_id
        ON CONFLICT DO NOTHING RETURNING tags),
    task AS (
        INSERT INTO learning_tasks AS t (owner, session, started_at, waiting, first_at, due_at, urgent)
        SELECT $1, $3, $2, n.waiting, $4::timestamptz,
               CASE WHEN n.urgent OR n.waiting >= $6::int8 THEN $4::timestamptz ELSE $5::timestamptz END, n.urgent
        FROM (SELECT count(*) AS waiting, coalesce(bool_or(a.tags && $7::text[]), false) AS urgent FROM added a) n
        WHERE n.waiting > 0
        ON CONFLICT (owner, session) DO UPDATE
        SET waiting = t.waiting + EXCLUDED.waiting,
            urgent = t.urgent OR EXCLUDED.urgent,
            due_at = CASE WHEN t.urgent OR EXCLUDED.urgent OR t.waiting + EXCLUDED.waiting >= $6::int8
                          THEN least(t.due_at, $4::timestamptz) ELSE greatest(t.due_at, $5::timestamptz) END)
    SELECT count(*) FROM added""",
)
"""Answers how many were new. Parameters: owner, session's start, session, now, when due, due at how many, tags that
make it urgent; then an array for each column."""
EPISODES_WAITING = statement(
    "episodes_waiting",
    """SELECT e.turn_id, e.recorded_at, e.said_at, e.actor, e.agent, e.credential, e.action, e.content, e.tool,
           e.tool_status, e.feedback, e.tags
    FROM episodes e
    WHERE e.owner = $1 AND e.started_at = $2 AND e.session = $3 AND e.reflected_at IS NULL AND NOT e.barred
    ORDER BY e.recorded_at, e.place LIMIT $4""",
)
EPISODES_REFLECTED = statement(
    "episodes_reflected",
    f"""WITH done AS (
        UPDATE episodes e SET reflected_at = $5
        WHERE e.owner = $1 AND e.started_at = $2 AND e.session = $3 AND e.turn_id = ANY($4::text[])
          AND e.reflected_at IS NULL RETURNING e.barred),
    fewer AS (SELECT count(*) FILTER (WHERE NOT d.barred) AS number FROM done d),
    {_FEWER_WAITING}
    SELECT number FROM fewer""",
)
EPISODES_BAR = statement(
    "episodes_bar",
    f"""WITH barred AS (
        UPDATE episodes e SET barred = true
        WHERE e.owner = $1 AND e.started_at = $2 AND e.session = $3 AND e.turn_id = ANY($4::text[]) AND NOT e.barred
        RETURNING e.reflected_at),
    fewer AS (SELECT count(*) FILTER (WHERE b.reflected_at IS NULL) AS number, count(*) AS barred FROM barred b),
    {_FEWER_WAITING}
    SELECT barred FROM fewer""",
)
EPISODE_SOURCES = statement(
    "episode_sources",
    """SELECT DISTINCT v.session, v.reference FROM memory_versions v
    WHERE v.owner = $1 AND v.memory_id = ANY($2::uuid[]) AND v.session <> '' AND v.reference <> ''
    ORDER BY v.session, v.reference""",
)
"""What memories name as their source; to be asked before forgetting empties it."""
EPISODES_BAR_AHEAD = statement(
    "episodes_bar_ahead",
    """INSERT INTO episodes (owner, started_at, session, turn_id, place, recorded_at, actor, agent, credential,
                             action, content, tool, tool_status, feedback, tags, barred)
    SELECT $1, $2, $3, g.turn_id, 0, now(), '', '', '', '', '', '', '', '', '{}', true
    FROM unnest($4::text[]) AS g(turn_id) ORDER BY g.turn_id
    ON CONFLICT DO NOTHING""",
)
"""Bars turns that are not in the log: they may be on their way into it, and then meet this.

Waits for an append of the same turn that is under way; `EPISODES_FORGET`, after it, sees what that committed.
"""
EPISODES_FORGET = statement(
    "episodes_forget",
    f"""WITH emptied AS (
        UPDATE episodes e SET barred = true, content = '', action = '', feedback = ''
        WHERE e.owner = $1 AND e.started_at = $2 AND e.session = $3 AND e.turn_id = ANY($4::text[])
          AND NOT e.barred RETURNING e.reflected_at),
    fewer AS (SELECT count(*) FILTER (WHERE b.reflected_at IS NULL) AS number FROM emptied b),
    {_FEWER_WAITING}
    UPDATE episodes o SET content = '', action = '', feedback = ''
    WHERE o.owner = $1 AND o.started_at = $2 AND o.session = $3 AND o.turn_id = ANY($4::text[]) AND o.barred""",
)
"""Bars and empties episodes of one session; those that were barred before are emptied as well."""
LEARNING_TASK = statement(
    "learning_task",
    "SELECT t.waiting, t.first_at, t.due_at, t.urgent FROM learning_tasks t WHERE t.owner = $1 AND t.session = $2",
)
LEARNING_DUE = statement("learning_due", "SELECT * FROM learning_due($1, $2)")
LEARNING_BACKLOG = statement("learning_backlog", "SELECT * FROM learning_backlog($1)")
EPISODES_PREPARE = statement("episodes_prepare", "SELECT episodes_prepare($1, $2)")
