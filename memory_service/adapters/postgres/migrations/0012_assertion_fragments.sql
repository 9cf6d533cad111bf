-- A memory is searched by its assertion beside its text: a piece of ordinal -1, without terms, since snapshots take
-- those from the memory itself. What was stored before gets one that waits for its vector; the backfill makes it.
SET LOCAL search_path = memory_service, public;

-- The migrating login owns the tables, but while row-level security is forced it would see no owner's rows. It is
-- forced again before anybody else can see the tables.
ALTER TABLE memories NO FORCE ROW LEVEL SECURITY;
ALTER TABLE fragments NO FORCE ROW LEVEL SECURITY;

INSERT INTO fragments (owner, memory_id, content_version, ordinal, model_id, text, terms)
SELECT a.owner, a.memory_id, a.content_version, -1, '', a.piece, '{}'
FROM (
    SELECT m.owner, m.memory_id, m.content_version, m.text,
           left(m.subject || ' ' || replace(m.predicate, '_', ' ') || ': '
                || CASE json_typeof(m.object) WHEN 'string' THEN m.object #>> '{}' ELSE m.object::text END, 750) AS piece
    FROM memories m
    WHERE m.subject IS NOT NULL AND m.predicate IS NOT NULL AND m.object IS NOT NULL AND NOT m.redacted
) a
WHERE a.piece <> left(a.text, 750)
ON CONFLICT DO NOTHING;

ALTER TABLE memories FORCE ROW LEVEL SECURITY;
ALTER TABLE fragments FORCE ROW LEVEL SECURITY;
