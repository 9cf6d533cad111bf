-- The episodic log: what was said and done in sessions that record it, append-only (C1, C2).
--
-- An episode is named by its session and turn. The partition is that of the month in which the session began, which its
-- id tells for ever: however late a turn is sent again, it meets itself there.

SET LOCAL search_path = memory_service, public;

CREATE TABLE episodes (
    owner        uuid NOT NULL,
    started_at   timestamptz NOT NULL,   -- of the session
    session      uuid NOT NULL,
    turn_id      text NOT NULL,
    place        integer NOT NULL,       -- within the request that brought it
    recorded_at  timestamptz NOT NULL,
    said_at      timestamptz,
    actor        text NOT NULL,
    agent        text NOT NULL,
    credential   text NOT NULL,
    action       text NOT NULL,
    content      text NOT NULL,
    tool         text NOT NULL,
    tool_status  text NOT NULL,
    feedback     text NOT NULL,
    tags         text[] NOT NULL,
    reflected_at timestamptz,
    barred       boolean NOT NULL DEFAULT false,
    PRIMARY KEY (owner, started_at, session, turn_id)
) PARTITION BY RANGE (started_at);
CREATE INDEX episodes_waiting ON episodes (owner, started_at, session, recorded_at, place)
    WHERE reflected_at IS NULL AND NOT barred;

-- For times that no month was made for; nothing is ever refused for want of a partition.
CREATE TABLE episodes_other PARTITION OF episodes DEFAULT;

-- What is to be learned from: written in the transaction that adds episodes, so that none is forgotten.
CREATE TABLE learning_tasks (
    owner    uuid NOT NULL,
    session  uuid NOT NULL,
    started_at timestamptz NOT NULL,
    waiting  bigint NOT NULL,
    first_at timestamptz NOT NULL,
    due_at   timestamptz NOT NULL,
    urgent   boolean NOT NULL,
    PRIMARY KEY (owner, session)
);

DO $$
DECLARE
    owned text;
BEGIN
    FOREACH owned IN ARRAY ARRAY['episodes', 'episodes_other', 'learning_tasks'] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', owned);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', owned);
        EXECUTE format('CREATE POLICY one_owner ON %I TO PUBLIC
                        USING (owner = nullif(current_setting(''memory_service.owner'', true), '''')::uuid)
                        WITH CHECK (owner = nullif(current_setting(''memory_service.owner'', true), '''')::uuid)',
                       owned);
    END LOOP;
END
$$;
GRANT SELECT, INSERT ON episodes TO memory_service_app;
GRANT UPDATE (reflected_at, barred) ON episodes TO memory_service_app;
GRANT UPDATE (content, action, feedback) ON episodes TO memory_service_app; -- forgetting empties them
GRANT SELECT, INSERT, UPDATE, DELETE ON learning_tasks TO memory_service_app;

-- Makes the partitions from the month of `from_time` on, `months` of them, where they are missing; how many were made.
-- It runs as the owner of the tables, and makes nothing but them. A month for which rows already lie among the others
-- stays there.
CREATE FUNCTION episodes_prepare(from_time timestamptz, months integer) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = memory_service, pg_catalog, pg_temp
    AS $$
DECLARE
    first timestamptz;
    name text;
    made integer := 0;
BEGIN
    PERFORM pg_advisory_xact_lock(7233181634012049254);
    FOR ahead IN 0 .. least(months, 24) - 1 LOOP
        first := (date_trunc('month', from_time AT TIME ZONE 'UTC') + ahead * interval '1 month') AT TIME ZONE 'UTC';
        name := 'episodes_' || to_char(first AT TIME ZONE 'UTC', 'YYYYMM');
        CONTINUE WHEN to_regclass('memory_service.' || name) IS NOT NULL;
        BEGIN
            EXECUTE format('CREATE TABLE %I (LIKE episodes INCLUDING DEFAULTS INCLUDING CONSTRAINTS)', name);
            EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name);
            EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', name);
            EXECUTE format('CREATE POLICY one_owner ON %I TO PUBLIC
                            USING (owner = nullif(current_setting(''memory_service.owner'', true), '''')::uuid)
                            WITH CHECK (owner = nullif(current_setting(''memory_service.owner'', true), '''')::uuid)',
                           name);
            EXECUTE format('ALTER TABLE episodes ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', name, first,
                           (first AT TIME ZONE 'UTC' + interval '1 month') AT TIME ZONE 'UTC');
            made := made + 1;
        EXCEPTION WHEN check_violation OR duplicate_table THEN
            NULL; -- rows of that month lie among the others, or somebody else was faster
        END;
    END LOOP;
    RETURN made;
END
$$;
SELECT episodes_prepare(now() - interval '1 month', 5);
REVOKE ALL ON FUNCTION episodes_prepare(timestamptz, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION episodes_prepare(timestamptz, integer) TO memory_service_app;

-- The looks across owners: which sessions are due, and how much waits. They give identities and numbers, nothing else.
CREATE INDEX learning_tasks_due ON learning_tasks (owner, due_at);
CREATE FUNCTION learning_due(at_time timestamptz, at_most integer)
    RETURNS TABLE (tenant text, user_id text, session uuid, waiting bigint, first_at timestamptz, due_at timestamptz,
                   urgent boolean)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = memory_service, pg_catalog, pg_temp
    AS $$
        SELECT o.tenant, o.user_id, t.session, t.waiting, t.first_at, t.due_at, t.urgent
        FROM learning_tasks t JOIN owners o ON o.owner = t.owner
        WHERE t.due_at <= at_time
        ORDER BY t.urgent DESC, t.due_at, t.owner, t.session
        LIMIT at_most
    $$;
CREATE FUNCTION learning_backlog(at_time timestamptz)
    RETURNS TABLE (sessions bigint, episodes bigint, oldest_due_at timestamptz)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = memory_service, pg_catalog, pg_temp
    AS $$
        SELECT count(*), coalesce(sum(t.waiting), 0)::bigint, min(t.due_at) FILTER (WHERE t.due_at <= at_time)
        FROM learning_tasks t
    $$;
GRANT SELECT ON learning_tasks TO memory_service_jobs;
CREATE POLICY jobs ON learning_tasks FOR SELECT TO memory_service_jobs USING (true);
GRANT CREATE ON SCHEMA memory_service TO memory_service_jobs;
ALTER FUNCTION learning_due(timestamptz, integer) OWNER TO memory_service_jobs;
ALTER FUNCTION learning_backlog(timestamptz) OWNER TO memory_service_jobs;
REVOKE CREATE ON SCHEMA memory_service FROM memory_service_jobs;
SET LOCAL ROLE memory_service_jobs;
REVOKE ALL ON FUNCTION learning_due(timestamptz, integer), learning_backlog(timestamptz) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION learning_due(timestamptz, integer), learning_backlog(timestamptz) TO memory_service_app;
RESET ROLE;
