-- What a query over a source finds, the same for every kind of source. A moment is an address that a stepper's
-- `goto` takes.

CREATE TEMP VIEW instances AS
SELECT
    i.instance_id,
    i.orchestration_name AS orchestration,
    i.orchestration_version AS version,
    e.status,
    (SELECT count(*) FROM {file}.executions x WHERE x.instance_id = i.instance_id) AS executions,
    (SELECT count(*) FROM {file}.history h WHERE h.instance_id = i.instance_id) AS events,
    e.output,
    {custom_status} AS custom_status,
    {parent_instance_id} AS parent_instance
FROM {file}.instances i
LEFT JOIN {file}.executions e ON e.instance_id = i.instance_id AND e.execution_id = i.current_execution_id;

CREATE TEMP VIEW executions AS
SELECT
    x.instance_id,
    x.execution_id,
    x.status,
    x.output,
    count(e.event_id) AS events,
    coalesce(max(e.turn), 0) AS turns,
    min(e.at_ms) AS started_at_ms,
    max(e.at_ms) AS last_event_at_ms
FROM {file}.executions x
LEFT JOIN events e ON e.instance_id = x.instance_id AND e.execution_id = x.execution_id
GROUP BY x.instance_id, x.execution_id, x.status, x.output;

-- idle_ms: from the last event of the turn before to this one's first.
CREATE TEMP VIEW turns AS
SELECT
    *,
    started_at_ms - lag(ended_at_ms) OVER (PARTITION BY instance_id ORDER BY execution_id, turn) AS idle_ms,
    instance_id || '@' || execution_id || '.' || turn AS moment
FROM (
    SELECT
        instance_id, execution_id, turn,
        min(event_id) AS first_event_id,
        max(event_id) AS last_event_id,
        sum(CASE WHEN type IN ({arrivals}) THEN 1 ELSE 0 END) AS arrivals,
        sum(CASE WHEN type IN ({operations}) THEN 1 ELSE 0 END) AS operations,
        max(CASE WHEN type IN ({endings}) THEN type END) AS ending,
        min(at_ms) AS started_at_ms,
        max(at_ms) AS ended_at_ms,
        sum(bytes) AS bytes
    FROM events
    GROUP BY instance_id, execution_id, turn
);

-- What the code did, in order. Of activities, timers and sub-orchestrations, `answered_by` is the event that completed
-- them, NULL while they are outstanding.
CREATE TEMP VIEW operations AS
SELECT
    o.instance_id, o.execution_id, o.turn, o.event_id, o.type, o.name, o.key, o.value, o.input, o.version,
    o.child_instance, o.custom_status, o.fire_at_ms, o.at_ms, o.answered_by, {number timestamp_ms of a} - o.at_ms AS waited_ms, o.moment
FROM (
    SELECT *, (
        SELECT min(a.event_id) FROM {file}.history a
        WHERE a.instance_id = e.instance_id AND a.execution_id = e.execution_id AND a.event_id > e.event_id
          AND a.event_type IN ({completions}) AND {number source_event_id of a} = e.event_id
    ) AS answered_by
    FROM events e WHERE type IN ({operations})
) o
LEFT JOIN {file}.history a
  ON a.instance_id = o.instance_id AND a.execution_id = o.execution_id AND a.event_id = o.answered_by;

-- What woke the code or reached it: `text` is the input, result, data or reason that came with it.
CREATE TEMP VIEW arrivals AS
SELECT
    instance_id, execution_id, turn, event_id, type, name, source_event_id,
    coalesce(result, data, input, reason) AS text,
    details, at_ms, moment
FROM events WHERE type IN ({arrivals});

-- Every write and clear of a key; one that clears all keys has no key.
CREATE TEMP VIEW kv_writes AS
SELECT
    instance_id, execution_id, turn, event_id, type, key, value, {bytes_of_value} AS value_bytes, at_ms, moment
FROM events WHERE type IN ({kv_events});

-- The keys that hold a value after each turn, as the events here tell it: what a client reads there.
CREATE TEMP VIEW kv_by_turn AS
WITH
    written AS (SELECT DISTINCT instance_id, key FROM events WHERE type = 'KeyValueSet'),
    changed AS (
        SELECT instance_id, execution_id, turn, event_id, key, value FROM events
        WHERE type IN ('KeyValueSet', 'KeyValueCleared')
        UNION ALL
        SELECT e.instance_id, e.execution_id, e.turn, e.event_id, w.key, NULL
        FROM events e JOIN written w ON w.instance_id = e.instance_id
        WHERE e.type = 'KeyValuesCleared' OR (e.type = 'OrchestrationStarted' AND e.kv_cleared)
    ),
    last_in_turn AS (
        SELECT *, row_number() OVER (
            PARTITION BY instance_id, key, execution_id, turn ORDER BY event_id DESC
        ) AS from_last
        FROM changed
    ),
    spans AS (
        SELECT
            instance_id, key, value, execution_id, turn,
            lead(execution_id) OVER by_turn AS until_execution,
            lead(turn) OVER by_turn AS until_turn
        FROM last_in_turn WHERE from_last = 1
        WINDOW by_turn AS (PARTITION BY instance_id, key ORDER BY execution_id, turn)
    )
SELECT
    t.instance_id, t.execution_id, t.turn, s.key, s.value, {bytes_of_value} AS value_bytes,
    s.instance_id || '@' || s.execution_id || '.' || s.turn AS set_at,
    t.instance_id || '@' || t.execution_id || '.' || t.turn AS moment
FROM (SELECT DISTINCT instance_id, execution_id, turn FROM events) t
JOIN spans s ON s.instance_id = t.instance_id
WHERE s.value IS NOT NULL
  AND (t.execution_id > s.execution_id OR (t.execution_id = s.execution_id AND t.turn >= s.turn))
  AND (
    s.until_execution IS NULL
    OR t.execution_id < s.until_execution
    OR (t.execution_id = s.until_execution AND t.turn < s.until_turn)
  );
