-- One owner's memories. Every table has the owner as the first column of its primary key and of every index,
-- so that row-level security has one column to stand on and the tables can be distributed by it.
--
-- There are no foreign keys: every row of an owner is written under the lock of its row in `owners`, and the
-- check would cost each inserted row a look-up. There is no vector index: search is exact within an owner.
-- JSON is `json`, not `jsonb`, because it must come back as it was (big integers, exponents, -0.0).

SET LOCAL search_path = memory_service, public;

CREATE TABLE owners (
    owner           uuid PRIMARY KEY,
    tenant          text NOT NULL,
    user_id         text NOT NULL,
    revision        bigint NOT NULL DEFAULT 0,
    clock           json NOT NULL DEFAULT '{}',
    salt            bytea NOT NULL DEFAULT '',
    memory_count    bigint NOT NULL DEFAULT 0,
    frozen_kinds    text[] NOT NULL DEFAULT '{}',
    pruned_revision bigint NOT NULL DEFAULT 0, -- rows of `changes` up to here were dropped
    settings        json NOT NULL DEFAULT '{}',
    created_at      timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 60);

-- Every device that ever wrote. One that comes back after it was retired is active again but keeps its last
-- retirement, by which contexts that hold the fold are read.
CREATE TABLE devices (
    owner           uuid NOT NULL,
    device          text NOT NULL,
    counter         bigint NOT NULL,
    last_seen       timestamptz,
    retired         boolean NOT NULL DEFAULT false,
    retired_counter bigint,
    retired_fold    bigint,
    PRIMARY KEY (owner, device)
) WITH (fillfactor = 60);
-- Without `last_seen`, which moves with every change: an index on it would take that update its cheap form.
CREATE INDEX devices_active ON devices (owner, device) WHERE NOT retired;

-- Who made which revision; what devices and watchers read on from. Pruned from its old end.
CREATE TABLE changes (
    owner     uuid NOT NULL,
    revision  bigint NOT NULL,
    device    text NOT NULL,
    counter   bigint NOT NULL,
    operation text NOT NULL,
    actor     text NOT NULL,
    agent     text NOT NULL,
    at        timestamptz NOT NULL,
    PRIMARY KEY (owner, revision)
);
CREATE UNIQUE INDEX changes_of_device ON changes (owner, device, counter);
CREATE INDEX changes_in_time ON changes (owner, at);

-- Every version ever.
CREATE TABLE memory_versions (
    owner           uuid NOT NULL,
    memory_id       uuid NOT NULL,
    version         integer NOT NULL,
    content_version integer NOT NULL,
    kind            text NOT NULL,
    text            text NOT NULL,
    topic           text NOT NULL,
    slot            text NOT NULL,
    claim           text NOT NULL,
    source          text NOT NULL,
    confidence      double precision NOT NULL,
    importance      double precision NOT NULL,
    support         bigint NOT NULL,
    tier            text NOT NULL,
    status          text NOT NULL,
    recorded_at     timestamptz NOT NULL,
    dot_device      text NOT NULL,
    dot_counter     bigint NOT NULL,
    context         json NOT NULL,
    revision        bigint NOT NULL,
    actor           text NOT NULL,
    device          text NOT NULL,
    agent           text NOT NULL,
    session         text NOT NULL,
    process         text NOT NULL,
    reference       text NOT NULL,
    subject         text,
    predicate       text,
    object          json,
    tags            text[] NOT NULL,
    language        text NOT NULL,
    valid_from      timestamptz,
    valid_to        timestamptz,
    expires_at      timestamptz,
    said_at         timestamptz,
    visibility      text NOT NULL,
    pinned          boolean NOT NULL,
    reason          text NOT NULL,
    redacted        boolean NOT NULL,
    evidence        json NOT NULL, -- [[device, counter, confidence, count], …]
    disputed        boolean NOT NULL,
    PRIMARY KEY (owner, memory_id, version)
);
CREATE INDEX memory_versions_of_revision ON memory_versions (owner, revision);

-- The newest version of each memory that is not forgotten, with its counters of use. `changed_revision` is the
-- owner's revision that last changed what a recall sees of it.
CREATE TABLE memories (
    LIKE memory_versions,
    created_at        timestamptz NOT NULL,
    changed_revision  bigint NOT NULL,
    access_count      bigint NOT NULL DEFAULT 0,
    adopted_count     bigint NOT NULL DEFAULT 0,
    last_access_at    timestamptz,
    last_confirmed_at timestamptz,
    slot_hash         bigint NOT NULL GENERATED ALWAYS AS (hashtextextended(slot, 0)) STORED,
    claim_hash        bigint NOT NULL GENERATED ALWAYS AS (hashtextextended(claim, 0)) STORED,
    PRIMARY KEY (owner, memory_id)
) WITH (fillfactor = 80);

-- `memory_id` is in no index but the primary key's, lest the planner look a memory up in one that is not ordered by it.
CREATE INDEX memories_in_order ON memories (owner, created_at);
CREATE INDEX memories_changed ON memories (owner, changed_revision);
-- Hashes, because a claim may be longer than what a B-tree entry holds; as columns, because below a row-level
-- policy an index on an expression is used only if its function is marked leakproof, and this one is not.
-- Neither is partial by status: the planner would read all it holds of an owner for anything that asks for a status.
CREATE INDEX memories_slot ON memories (owner, slot_hash);
CREATE INDEX memories_claim ON memories (owner, claim_hash);

-- Which memories were forgotten at which revision, for deltas of snapshots and for devices that catch up.
CREATE TABLE forgotten (
    owner     uuid NOT NULL,
    memory_id uuid NOT NULL,
    revision  bigint NOT NULL,
    PRIMARY KEY (owner, memory_id)
);
CREATE INDEX forgotten_since ON forgotten (owner, revision);

-- Pieces of text as they are searched. A row of model '' waits for its vector; each model has its own row.
CREATE TABLE fragments (
    owner           uuid NOT NULL,
    memory_id       uuid NOT NULL,
    content_version integer NOT NULL,
    ordinal         integer NOT NULL,
    model_id        text NOT NULL,
    text            text NOT NULL,
    terms           text[] NOT NULL,
    embedding       halfvec,
    PRIMARY KEY (owner, memory_id, content_version, ordinal, model_id)
);
CREATE INDEX fragments_waiting ON fragments (owner) WHERE embedding IS NULL;

CREATE TABLE links (
    owner    uuid NOT NULL,
    from_id  uuid NOT NULL,
    relation text NOT NULL,
    to_id    uuid NOT NULL,
    PRIMARY KEY (owner, from_id, relation, to_id)
);
CREATE INDEX links_to ON links (owner, to_id);

CREATE TABLE journal (
    owner     uuid NOT NULL,
    revision  bigint NOT NULL,
    ordinal   integer NOT NULL,
    event     text NOT NULL,
    memory_id uuid NOT NULL,
    version   integer NOT NULL,
    at        timestamptz NOT NULL,
    actor     text NOT NULL,
    device    text NOT NULL,
    reason    text NOT NULL,
    before    text NOT NULL,
    after     text NOT NULL,
    details   json NOT NULL,
    PRIMARY KEY (owner, revision, ordinal)
);
CREATE INDEX journal_of_memory ON journal (owner, memory_id, revision, ordinal);

CREATE TABLE tombstones (
    owner       uuid NOT NULL,
    digest      bytea NOT NULL,
    scope       text NOT NULL,
    dot_device  text NOT NULL,
    dot_counter bigint NOT NULL,
    context     json NOT NULL,
    at          timestamptz NOT NULL,
    revision    bigint NOT NULL,
    claims      bytea NOT NULL DEFAULT '', -- 32 bytes each
    PRIMARY KEY (owner, digest, scope, dot_device, dot_counter)
);

CREATE TABLE idempotency (
    owner          uuid NOT NULL,
    dot_device     text NOT NULL,
    dot_counter    bigint NOT NULL,
    request_id     text NOT NULL,
    operation      text NOT NULL,
    payload_digest bytea NOT NULL,
    outcome        json NOT NULL,
    revision       bigint NOT NULL,
    at             timestamptz NOT NULL,
    PRIMARY KEY (owner, dot_device, dot_counter)
);
CREATE UNIQUE INDEX idempotency_request ON idempotency (owner, request_id) WHERE request_id <> '';

-- Row-level security. `nullif`: a setting made with SET LOCAL reads as '' after its transaction, not as absent.
DO $$
DECLARE
    owned text;
BEGIN
    FOREACH owned IN ARRAY ARRAY['owners', 'devices', 'changes', 'memory_versions', 'memories', 'forgotten',
                                 'fragments', 'links', 'journal', 'tombstones', 'idempotency'] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', owned);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', owned);
        EXECUTE format('CREATE POLICY one_owner ON %I TO PUBLIC
                        USING (owner = nullif(current_setting(''memory_service.owner'', true), '''')::uuid)
                        WITH CHECK (owner = nullif(current_setting(''memory_service.owner'', true), '''')::uuid)',
                       owned);
    END LOOP;
END
$$;

GRANT SELECT, INSERT ON memory_versions, forgotten, journal, tombstones TO memory_service_app;
GRANT UPDATE ON memory_versions, forgotten TO memory_service_app;
GRANT UPDATE (reason) ON journal TO memory_service_app; -- a reason may hold text, so forgetting empties it
GRANT SELECT, INSERT, DELETE ON changes TO memory_service_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON owners, devices, memories, fragments, links, idempotency
    TO memory_service_app;

-- The only look across owners: which of them have fragments that wait. It gives identities, nothing else.
CREATE FUNCTION owners_waiting(wanted_model text, at_most integer)
    RETURNS TABLE (tenant text, user_id text)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = memory_service, pg_catalog, pg_temp
    AS $$
        SELECT o.tenant, o.user_id
        FROM owners o
        WHERE EXISTS (
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
        LIMIT at_most
    $$;
GRANT SELECT (owner, tenant, user_id) ON owners TO memory_service_jobs;
GRANT SELECT (owner, memory_id, content_version) ON memories TO memory_service_jobs;
GRANT SELECT (owner, memory_id, content_version, ordinal, model_id) ON fragments TO memory_service_jobs;
CREATE POLICY jobs ON owners FOR SELECT TO memory_service_jobs USING (true);
CREATE POLICY jobs ON memories FOR SELECT TO memory_service_jobs USING (true);
CREATE POLICY jobs ON fragments FOR SELECT TO memory_service_jobs USING (true);
-- Whoever is to own a function needs CREATE on its schema at that moment only.
GRANT CREATE ON SCHEMA memory_service TO memory_service_jobs;
ALTER FUNCTION owners_waiting(text, integer) OWNER TO memory_service_jobs;
REVOKE CREATE ON SCHEMA memory_service FROM memory_service_jobs;
SET LOCAL ROLE memory_service_jobs;
REVOKE ALL ON FUNCTION owners_waiting(text, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION owners_waiting(text, integer) TO memory_service_app;
RESET ROLE;
