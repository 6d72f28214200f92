-- Schema version 2: version 1 plus the time of each key's last write; the per-turn model ends here.
-- Keys that version 1 wrote have no time and get 0.

DROP INDEX idx_kv_store_execution;  -- DuckDB alters no table that has one
ALTER TABLE kv_store ADD COLUMN last_updated_at_ms BIGINT DEFAULT 0;
ALTER TABLE kv_store ALTER COLUMN last_updated_at_ms SET NOT NULL;
CREATE INDEX idx_kv_store_execution ON kv_store (instance_id, execution_id);

UPDATE workbench_meta SET schema_version = 2;
