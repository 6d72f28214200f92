-- Schema version 3: the delta design (spec 000). kv_store is the state at the last execution boundary, kv_delta
-- what the running execution wrote since; a row without value is a tombstone.

CREATE TABLE kv_delta (
    instance_id TEXT NOT NULL,
    key TEXT NOT NULL,
    value TEXT,
    last_updated_at_ms BIGINT NOT NULL,
    PRIMARY KEY (instance_id, key)
);

CREATE TABLE kv_store_new (
    instance_id TEXT NOT NULL,
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    last_updated_at_ms BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (instance_id, key)
);

INSERT INTO kv_store_new (instance_id, key, value, last_updated_at_ms)
    SELECT instance_id, key, value, last_updated_at_ms FROM kv_store;

DROP TABLE kv_store;  -- and its index with it
ALTER TABLE kv_store_new RENAME TO kv_store;

UPDATE workbench_meta SET schema_version = 3;
