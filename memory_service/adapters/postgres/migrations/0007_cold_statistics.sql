-- As in 0004, in a transaction of its own: a plan made before the first rows arrive must not be one that scans.

SET LOCAL search_path = memory_service, public;
SET LOCAL memory_service.owner = '00000000-0000-0000-0000-000000000000';

ALTER TABLE cold_memories ALTER COLUMN owner SET (n_distinct = 1);
INSERT INTO cold_memories VALUES ('00000000-0000-0000-0000-000000000000', '',
    '00000000-0000-0000-0000-000000000000', false, 0, 0, 0, 'epoch', 0, 0, 0);
ANALYZE cold_memories;
TRUNCATE cold_memories;
