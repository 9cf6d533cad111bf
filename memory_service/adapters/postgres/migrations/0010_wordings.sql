-- Fingerprints of forgotten wordings, newest first: what is inferred again is compared with them (B3).
SET LOCAL search_path = memory_service, public;

CREATE INDEX tombstones_wordings ON tombstones (owner, revision) WHERE scope = 'wording';
