-- Roles and the schema. Roles belong to the whole cluster, so another database may have made them already, or
-- be making them at this moment.
--
-- memory_service_app  reads and writes, owns nothing, is bound by row-level security. The service connects as
--                     a login that is a member of it (or is it) and runs as this role.
-- memory_service_jobs owns the one function that looks across owners; nobody connects as it.
DO $$
DECLARE
    wanted text;
BEGIN
    FOREACH wanted IN ARRAY ARRAY['memory_service_app', 'memory_service_jobs'] LOOP
        BEGIN
            IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = wanted) THEN
                EXECUTE format('CREATE ROLE %I NOLOGIN NOSUPERUSER NOBYPASSRLS', wanted);
            END IF;
        EXCEPTION WHEN duplicate_object OR unique_violation THEN
            NULL;
        END;
        -- Whoever makes a role without being superuser administers it but may not yet act as it.
        IF NOT pg_has_role(CURRENT_USER, wanted, 'USAGE') THEN
            EXECUTE format('GRANT %I TO CURRENT_USER', wanted);
        END IF;
    END LOOP;
END
$$;

CREATE EXTENSION IF NOT EXISTS vector WITH SCHEMA public;

GRANT USAGE ON SCHEMA memory_service TO memory_service_app, memory_service_jobs;
GRANT SELECT ON memory_service.schema_migrations TO memory_service_app;
