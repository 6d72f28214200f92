-- Schema version 1: the first KV design (spec 001). One kv_store, written by every turn.
-- SQLite's INTEGER has 64 bits; DuckDB's has 32, so it is BIGINT here. Times are milliseconds since 1970.

CREATE TABLE workbench_meta (schema_version INTEGER NOT NULL);
INSERT INTO workbench_meta VALUES (1);

CREATE SEQUENCE instance_order;
CREATE SEQUENCE message_order;
CREATE SEQUENCE activity_order;

-- last_event_id is that of the current execution; it saves every claim a pass over the history.
CREATE TABLE instances (
    instance_id TEXT PRIMARY KEY,
    orchestration_name TEXT NOT NULL,
    orchestration_version TEXT NOT NULL,
    current_execution_id BIGINT NOT NULL,
    last_event_id BIGINT NOT NULL,
    parent_instance_id TEXT,
    custom_status TEXT,
    custom_status_version BIGINT NOT NULL DEFAULT 0,
    created_at_ms BIGINT NOT NULL,
    updated_at_ms BIGINT NOT NULL,
    created_order BIGINT NOT NULL DEFAULT nextval('instance_order')
);

CREATE TABLE executions (
    instance_id TEXT NOT NULL,
    execution_id BIGINT NOT NULL,
    status TEXT NOT NULL,
    output TEXT,
    started_at_ms BIGINT NOT NULL,
    completed_at_ms BIGINT,
    PRIMARY KEY (instance_id, execution_id)
);

CREATE TABLE history (
    instance_id TEXT NOT NULL,
    execution_id BIGINT NOT NULL,
    event_id BIGINT NOT NULL,
    event_type TEXT NOT NULL,
    event_data TEXT NOT NULL,
    turn BIGINT NOT NULL,
    refused BOOLEAN NOT NULL DEFAULT FALSE,
    PRIMARY KEY (instance_id, execution_id, event_id)
);

-- problem: why a row cannot be read; such a row is kept and never claimed.
CREATE TABLE orchestrator_queue (
    id BIGINT NOT NULL DEFAULT nextval('message_order'),
    instance_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    work_item TEXT NOT NULL,
    visible_at_ms BIGINT NOT NULL,
    enqueued_at_ms BIGINT NOT NULL,
    lock_token TEXT,
    attempt_count BIGINT NOT NULL DEFAULT 0,
    problem TEXT
);

CREATE TABLE worker_queue (
    id BIGINT NOT NULL DEFAULT nextval('activity_order'),
    instance_id TEXT NOT NULL,
    execution_id BIGINT NOT NULL,
    activity_id BIGINT NOT NULL,
    work_item TEXT NOT NULL,
    visible_at_ms BIGINT NOT NULL,
    enqueued_at_ms BIGINT NOT NULL,
    lock_token TEXT,
    locked_until_ms BIGINT,
    attempt_count BIGINT NOT NULL DEFAULT 0,
    problem TEXT
);

CREATE TABLE instance_locks (
    instance_id TEXT PRIMARY KEY,
    lock_token TEXT NOT NULL,
    locked_at_ms BIGINT NOT NULL,
    locked_until_ms BIGINT NOT NULL
);

CREATE TABLE kv_store (
    instance_id TEXT NOT NULL,
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    execution_id BIGINT NOT NULL,
    PRIMARY KEY (instance_id, key)
);

CREATE INDEX idx_kv_store_execution ON kv_store (instance_id, execution_id);
