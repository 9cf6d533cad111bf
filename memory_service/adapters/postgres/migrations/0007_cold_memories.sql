-- Memories that left the hot tables for cold storage (P9). The text stays in `memory_versions`; what is searched
-- (fragments and vectors) is in a Parquet file, and this row says in which. One commit moves a memory either way.
--
-- A row that is `gone` no longer stands for a memory: it was forgotten or is hot again. It stays until the file
-- has been rewritten without it, and names nothing but the memory's id.

SET LOCAL search_path = memory_service, public;

CREATE TABLE cold_memories (
    owner             uuid NOT NULL,
    file              text NOT NULL,
    memory_id         uuid NOT NULL,
    gone              boolean NOT NULL,
    version           integer NOT NULL,
    slot_hash         bigint NOT NULL, -- 0 once gone
    claim_hash        bigint NOT NULL, -- 0 once gone
    created_at        timestamptz NOT NULL,
    changed_revision  bigint NOT NULL,
    access_count      bigint NOT NULL,
    adopted_count     bigint NOT NULL,
    last_access_at    timestamptz,
    last_confirmed_at timestamptz,
    rejected_count    bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (owner, file, memory_id)
);
CREATE UNIQUE INDEX cold_memories_by_id ON cold_memories (owner, memory_id) WHERE NOT gone;
CREATE INDEX cold_memories_in_order ON cold_memories (owner, created_at) WHERE NOT gone;
CREATE INDEX cold_memories_changed ON cold_memories (owner, changed_revision) WHERE NOT gone;
CREATE INDEX cold_memories_slot ON cold_memories (owner, slot_hash) WHERE NOT gone;
CREATE INDEX cold_memories_claim ON cold_memories (owner, claim_hash) WHERE NOT gone;
-- The archive is looked through for what has been idle, and by deep recalls.
CREATE INDEX memories_archived ON memories (owner, created_at) WHERE tier = 'archive';

ALTER TABLE cold_memories ENABLE ROW LEVEL SECURITY;
ALTER TABLE cold_memories FORCE ROW LEVEL SECURITY;
CREATE POLICY one_owner ON cold_memories TO PUBLIC
    USING (owner = nullif(current_setting('memory_service.owner', true), '')::uuid)
    WITH CHECK (owner = nullif(current_setting('memory_service.owner', true), '')::uuid);
GRANT SELECT, INSERT, UPDATE, DELETE ON cold_memories TO memory_service_app;
