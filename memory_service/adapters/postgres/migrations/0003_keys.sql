-- API keys and the deployment's secrets. The application's role has no right to the tables: it can do what these
-- functions do and no more, so it cannot read all digests or list another tenant's keys by a slip in a WHERE.

SET LOCAL search_path = memory_service, public;

CREATE TABLE api_keys (
    id         uuid PRIMARY KEY,
    tenant     text NOT NULL,
    name       text NOT NULL,
    prefix     text NOT NULL,
    digest     bytea NOT NULL UNIQUE,
    roles      text[] NOT NULL,
    users      text[] NOT NULL,
    created_at timestamptz NOT NULL,
    expires_at timestamptz,
    revoked_at timestamptz
);
CREATE INDEX api_keys_of_tenant ON api_keys (tenant, created_at);

CREATE TABLE secrets (
    name  text PRIMARY KEY,
    value bytea NOT NULL CHECK (octet_length(value) = 32)
);

-- False when the id or the digest is there already.
CREATE FUNCTION key_add(id uuid, tenant text, name text, prefix text, digest bytea, roles text[], users text[],
                        created_at timestamptz, expires_at timestamptz, revoked_at timestamptz)
    RETURNS boolean
    LANGUAGE sql SECURITY DEFINER SET search_path = memory_service, pg_catalog, pg_temp
    AS $$
        WITH added AS (
            INSERT INTO api_keys VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
            ON CONFLICT DO NOTHING RETURNING 1
        )
        SELECT EXISTS (SELECT FROM added)
    $$;

CREATE FUNCTION key_find(wanted bytea) RETURNS SETOF api_keys
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = memory_service, pg_catalog, pg_temp
    AS $$ SELECT * FROM api_keys WHERE digest = wanted $$;

CREATE FUNCTION key_list(of_tenant text) RETURNS SETOF api_keys
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = memory_service, pg_catalog, pg_temp
    AS $$ SELECT * FROM api_keys WHERE tenant = of_tenant ORDER BY created_at, id $$;

-- False when the tenant has no such key. The first time of a revocation stays.
CREATE FUNCTION key_revoke(of_tenant text, key_id uuid, at timestamptz) RETURNS boolean
    LANGUAGE sql SECURITY DEFINER SET search_path = memory_service, pg_catalog, pg_temp
    AS $$
        WITH revoked AS (
            UPDATE api_keys SET revoked_at = coalesce(revoked_at, at) WHERE tenant = of_tenant AND id = key_id
            RETURNING 1
        )
        SELECT EXISTS (SELECT FROM revoked)
    $$;

-- The secret of this name; `fresh` becomes it when there is none. The update that changes nothing makes the
-- statement see a row that another transaction has just inserted.
CREATE FUNCTION secret_get(of_name text, fresh bytea) RETURNS bytea
    LANGUAGE sql SECURITY DEFINER SET search_path = memory_service, pg_catalog, pg_temp
    AS $$
        INSERT INTO secrets AS s VALUES (of_name, fresh)
        ON CONFLICT (name) DO UPDATE SET value = s.value RETURNING value
    $$;

REVOKE ALL ON FUNCTION key_add(uuid, text, text, text, bytea, text[], text[], timestamptz, timestamptz, timestamptz),
    key_find(bytea), key_list(text), key_revoke(text, uuid, timestamptz), secret_get(text, bytea) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION
    key_add(uuid, text, text, text, bytea, text[], text[], timestamptz, timestamptz, timestamptz),
    key_find(bytea), key_list(text), key_revoke(text, uuid, timestamptz), secret_get(text, bytea)
    TO memory_service_app;
