-- Uses of predicates count memories in cold storage too (P3, P9), and what waits for its vector is found by an index
-- of what waits, instead of by a look at every owner.

SET LOCAL search_path = memory_service, public;

-- Empty while nothing waits. (By the vector, not by the model's name '': writers that look for one piece must not be led to
-- read all that waits.)
CREATE INDEX fragments_unembedded ON fragments (owner, memory_id, content_version, ordinal)
    WHERE embedding IS NULL;
DROP INDEX fragments_waiting;

GRANT SELECT (embedding) ON fragments TO memory_service_jobs;
GRANT SELECT (owner, memory_id, version, predicate) ON memory_versions TO memory_service_jobs;
GRANT SELECT (owner, memory_id, version, gone) ON cold_memories TO memory_service_jobs;
CREATE POLICY jobs ON memory_versions FOR SELECT TO memory_service_jobs USING (true);
CREATE POLICY jobs ON cold_memories FOR SELECT TO memory_service_jobs USING (true);

GRANT CREATE ON SCHEMA memory_service TO memory_service_jobs;
SET LOCAL ROLE memory_service_jobs;

CREATE OR REPLACE FUNCTION predicate_uses(of_tenant text, names text[], others boolean, at_most integer)
    RETURNS TABLE (uses bigint, users bigint)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = memory_service, pg_catalog, pg_temp
    AS $$
        SELECT count(*), count(DISTINCT found.owner)
        FROM (
            SELECT o.owner FROM owners o JOIN memories m ON m.owner = o.owner
            WHERE o.tenant = of_tenant AND m.predicate IS NOT NULL AND (m.predicate = ANY (names)) <> others
            UNION ALL
            SELECT o.owner FROM owners o JOIN cold_memories c ON c.owner = o.owner AND NOT c.gone
            JOIN memory_versions v ON v.owner = o.owner AND v.memory_id = c.memory_id AND v.version = c.version
            WHERE o.tenant = of_tenant AND v.predicate IS NOT NULL AND (v.predicate = ANY (names)) <> others
            LIMIT at_most
        ) found
    $$;

-- Owners with fragments that have no vector at all: they came while the model was away.
CREATE OR REPLACE FUNCTION owners_waiting(wanted_model text, at_most integer)
    RETURNS TABLE (tenant text, user_id text)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = memory_service, pg_catalog, pg_temp
    AS $$
        SELECT o.tenant, o.user_id
        FROM (
            SELECT DISTINCT f.owner
            FROM fragments f
            JOIN memories m ON m.owner = f.owner AND m.memory_id = f.memory_id
                           AND m.content_version = f.content_version
            WHERE f.embedding IS NULL AND NOT EXISTS (
                SELECT FROM fragments d
                WHERE d.owner = f.owner AND d.memory_id = f.memory_id AND d.content_version = f.content_version
                  AND d.ordinal = f.ordinal AND d.model_id = wanted_model
            )
            LIMIT at_most
        ) w JOIN owners o ON o.owner = w.owner
    $$;

-- The next owners in order, and which of them have fragments without a vector of a model: after a change of the model
-- that is many, and no index tells.
CREATE FUNCTION owners_behind(wanted_model text, after_owner uuid, at_most integer)
    RETURNS TABLE (owner uuid, tenant text, user_id text, behind boolean)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = memory_service, pg_catalog, pg_temp
    AS $$
        SELECT o.owner, o.tenant, o.user_id, EXISTS (
            SELECT FROM memories m
            JOIN fragments f ON f.owner = o.owner AND f.memory_id = m.memory_id
                            AND f.content_version = m.content_version
            WHERE m.owner = o.owner
              AND NOT EXISTS (
                SELECT FROM fragments d
                WHERE d.owner = o.owner AND d.memory_id = f.memory_id AND d.content_version = f.content_version
                  AND d.ordinal = f.ordinal AND d.model_id = wanted_model
            )
        )
        FROM (
            SELECT n.owner, n.tenant, n.user_id FROM owners n
            WHERE n.owner > after_owner ORDER BY n.owner LIMIT at_most
        ) o
        ORDER BY o.owner
    $$;
REVOKE ALL ON FUNCTION owners_behind(text, uuid, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION owners_behind(text, uuid, integer) TO memory_service_app;
RESET ROLE;
REVOKE CREATE ON SCHEMA memory_service FROM memory_service_jobs;
