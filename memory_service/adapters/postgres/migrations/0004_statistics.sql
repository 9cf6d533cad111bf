-- What the planner is to believe of every owner: that nearly all rows are theirs. It then looks for rows by more than
-- the owner, also in plans made while a table is small or empty and used when it has grown. ANALYZE keeps the given
-- number of owners. For the time before the first one each table is analysed with one row in it, which then goes (in
-- another transaction than the one that made the table, so that its size becomes unknown and not nought).

SET LOCAL search_path = memory_service, public;
SET LOCAL memory_service.owner = '00000000-0000-0000-0000-000000000000';

DO $$
DECLARE
    owned text;
    columns text;
    given text;
BEGIN
    FOREACH owned IN ARRAY ARRAY['devices', 'changes', 'memory_versions', 'memories', 'forgotten', 'fragments', 'links',
                                 'journal', 'tombstones', 'idempotency'] LOOP
        EXECUTE format('ALTER TABLE %I ALTER COLUMN owner SET (n_distinct = 1)', owned);
        SELECT string_agg(quote_ident(a.attname), ', ' ORDER BY a.attnum),
               string_agg(CASE format_type(a.atttypid, NULL)
                          WHEN 'uuid' THEN quote_literal('00000000-0000-0000-0000-000000000000')
                          WHEN 'json' THEN quote_literal('{}')
                          WHEN 'text[]' THEN quote_literal('{}')
                          WHEN 'timestamp with time zone' THEN quote_literal('epoch')
                          WHEN 'boolean' THEN 'false'
                          WHEN 'text' THEN quote_literal('')
                          WHEN 'bytea' THEN quote_literal('')
                          ELSE '0' END, ', ' ORDER BY a.attnum)
        INTO columns, given
        FROM pg_attribute a
        WHERE a.attrelid = owned::regclass AND a.attnum > 0 AND a.attnotnull AND a.attgenerated = '';
        EXECUTE format('INSERT INTO %I (%s) VALUES (%s)', owned, columns, given);
        EXECUTE format('ANALYZE %I', owned);
        EXECUTE format('TRUNCATE %I', owned);
    END LOOP;
END
$$;
