-- What tenants decide for themselves: vocabulary, parameter sets, experiments. As with keys, the application's role
-- has no right to the tables and can do what these functions do.

SET LOCAL search_path = memory_service, public;

CREATE TABLE policies (
    tenant   text NOT NULL,
    name     text NOT NULL,
    version  integer NOT NULL CHECK (version > 0),
    sequence bigint NOT NULL UNIQUE,
    content  text NOT NULL,
    actor    text NOT NULL,
    reason   text NOT NULL,
    at       timestamptz NOT NULL,
    PRIMARY KEY (tenant, name, version)
);

CREATE TABLE experiment_counts (
    tenant     text NOT NULL,
    experiment text NOT NULL,
    variant    text NOT NULL,
    measure    text NOT NULL,
    count      bigint NOT NULL,
    PRIMARY KEY (tenant, experiment, variant, measure)
);

-- False when this is not the version after the newest. One at a time over all tenants, so that sequence numbers
-- rise in the order of commits and no reader that goes by them misses one.
CREATE FUNCTION policy_add(of_tenant text, of_name text, new_version integer, content text, actor text, reason text,
                           at timestamptz, keep integer)
    RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = memory_service, pg_catalog, pg_temp
    AS $$
    BEGIN
        PERFORM pg_advisory_xact_lock(hashtextextended('memory_service.policies', 0));
        IF new_version <> 1 + coalesce((SELECT max(p.version) FROM policies p
                                        WHERE p.tenant = of_tenant AND p.name = of_name), 0) THEN
            RETURN false;
        END IF;
        INSERT INTO policies VALUES (of_tenant, of_name, new_version,
                                     1 + coalesce((SELECT max(p.sequence) FROM policies p), 0),
                                     content, actor, reason, at);
        DELETE FROM policies p WHERE p.tenant = of_tenant AND p.name = of_name AND p.version <= new_version - keep;
        RETURN true;
    END
    $$;

CREATE FUNCTION policy_version(of_tenant text, of_name text, of_version integer) RETURNS SETOF policies
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = memory_service, pg_catalog, pg_temp
    AS $$ SELECT * FROM policies WHERE tenant = of_tenant AND name = of_name AND version = of_version $$;

CREATE FUNCTION policy_history(of_tenant text, of_name text, before integer, at_most integer) RETURNS SETOF policies
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = memory_service, pg_catalog, pg_temp
    AS $$
        SELECT * FROM policies WHERE tenant = of_tenant AND name = of_name AND (before = 0 OR version < before)
        ORDER BY version DESC LIMIT at_most
    $$;

CREATE FUNCTION policies_after(after bigint, at_most integer) RETURNS SETOF policies
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = memory_service, pg_catalog, pg_temp
    AS $$
        SELECT p.* FROM policies p
        WHERE p.sequence > after
          AND NOT EXISTS (SELECT FROM policies n
                          WHERE n.tenant = p.tenant AND n.name = p.name AND n.version > p.version)
        ORDER BY p.sequence LIMIT at_most
    $$;

CREATE FUNCTION experiment_add(of_tenant text, of_experiment text, variants text[], measures text[], amounts bigint[])
    RETURNS void
    LANGUAGE sql SECURITY DEFINER SET search_path = memory_service, pg_catalog, pg_temp
    AS $$
        INSERT INTO experiment_counts AS c
        SELECT of_tenant, of_experiment, given.* FROM unnest(variants, measures, amounts) AS given
        ORDER BY 3, 4
        ON CONFLICT (tenant, experiment, variant, measure) DO UPDATE SET count = c.count + EXCLUDED.count
    $$;

CREATE FUNCTION experiment_totals(of_tenant text, of_experiment text)
    RETURNS TABLE (variant text, measure text, count bigint)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = memory_service, pg_catalog, pg_temp
    AS $$
        SELECT c.variant, c.measure, c.count FROM experiment_counts c
        WHERE c.tenant = of_tenant AND c.experiment = of_experiment
    $$;

REVOKE ALL ON FUNCTION policy_add(text, text, integer, text, text, text, timestamptz, integer),
    policy_version(text, text, integer), policy_history(text, text, integer, integer),
    policies_after(bigint, integer), experiment_add(text, text, text[], text[], bigint[]),
    experiment_totals(text, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION policy_add(text, text, integer, text, text, text, timestamptz, integer),
    policy_version(text, text, integer), policy_history(text, text, integer, integer),
    policies_after(bigint, integer), experiment_add(text, text, text[], text[], bigint[]),
    experiment_totals(text, text) TO memory_service_app;

-- The second look across owners: how many memories of a tenant have some predicates. It gives two numbers.
CREATE FUNCTION predicate_uses(of_tenant text, names text[], others boolean, at_most integer)
    RETURNS TABLE (uses bigint, users bigint)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = memory_service, pg_catalog, pg_temp
    AS $$
        SELECT count(*), count(DISTINCT found.owner)
        FROM (
            SELECT o.owner FROM owners o JOIN memories m ON m.owner = o.owner
            WHERE o.tenant = of_tenant AND m.predicate IS NOT NULL AND (m.predicate = ANY (names)) <> others
            LIMIT at_most
        ) found
    $$;
GRANT SELECT (predicate) ON memories TO memory_service_jobs;
GRANT CREATE ON SCHEMA memory_service TO memory_service_jobs;
ALTER FUNCTION predicate_uses(text, text[], boolean, integer) OWNER TO memory_service_jobs;
REVOKE CREATE ON SCHEMA memory_service FROM memory_service_jobs;
SET LOCAL ROLE memory_service_jobs;
REVOKE ALL ON FUNCTION predicate_uses(text, text[], boolean, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION predicate_uses(text, text[], boolean, integer) TO memory_service_app;
RESET ROLE;

-- How long memories lay unused before they were recalled again (E1b): counts of intervals in buckets that double
-- every two steps, for each kind and each predicate of the vocabulary ('' for the rest). Nothing of what a memory says.
CREATE TABLE reuse_intervals (
    owner     uuid NOT NULL,
    kind      text NOT NULL,
    predicate text NOT NULL,
    bucket    integer NOT NULL,
    count     bigint NOT NULL,
    PRIMARY KEY (owner, kind, predicate, bucket)
) WITH (fillfactor = 60);
ALTER TABLE reuse_intervals ENABLE ROW LEVEL SECURITY;
ALTER TABLE reuse_intervals FORCE ROW LEVEL SECURITY;
CREATE POLICY one_owner ON reuse_intervals TO PUBLIC
    USING (owner = nullif(current_setting('memory_service.owner', true), '')::uuid)
    WITH CHECK (owner = nullif(current_setting('memory_service.owner', true), '')::uuid);
GRANT SELECT, INSERT, UPDATE, DELETE ON reuse_intervals TO memory_service_app;

-- The third look across owners: a tenant's intervals together.
CREATE POLICY jobs ON reuse_intervals FOR SELECT TO memory_service_jobs USING (true);
GRANT SELECT ON reuse_intervals TO memory_service_jobs;
CREATE FUNCTION tenant_intervals(of_tenant text)
    RETURNS TABLE (kind text, predicate text, bucket integer, count bigint)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = memory_service, pg_catalog, pg_temp
    AS $$
        SELECT i.kind, i.predicate, i.bucket, sum(i.count)::bigint
        FROM owners o JOIN reuse_intervals i ON i.owner = o.owner
        WHERE o.tenant = of_tenant GROUP BY 1, 2, 3
    $$;
GRANT CREATE ON SCHEMA memory_service TO memory_service_jobs;
ALTER FUNCTION tenant_intervals(text) OWNER TO memory_service_jobs;
REVOKE CREATE ON SCHEMA memory_service FROM memory_service_jobs;
SET LOCAL ROLE memory_service_jobs;
REVOKE ALL ON FUNCTION tenant_intervals(text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION tenant_intervals(text) TO memory_service_app;
RESET ROLE;
