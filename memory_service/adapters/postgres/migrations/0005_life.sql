-- What the service finds by itself, as time passes: recalls that were of no use, and the few memories that wait for a
-- promotion or a decision. The indexes are small, since few memories are candidates or contested at a time.

SET LOCAL search_path = memory_service, public;

ALTER TABLE memories ADD COLUMN rejected_count bigint NOT NULL DEFAULT 0;

CREATE INDEX memories_observed ON memories (owner, created_at) WHERE tier = 'candidate';
CREATE INDEX memories_contested ON memories (owner, recorded_at) WHERE status = 'contested';
