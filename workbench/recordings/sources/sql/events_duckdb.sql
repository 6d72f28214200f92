-- One row an event, the fields of its JSON as columns; a row that is no JSON keeps its id, type and text.

CREATE TEMP VIEW events AS
SELECT
    instance_id, execution_id, turn, event_id, event_type AS type,
    try_cast(found ->> '$.timestamp_ms' AS BIGINT) AS at_ms,
    try_cast(found ->> '$.source_event_id' AS BIGINT) AS source_event_id,
    found ->> '$.name' AS name,
    found ->> '$.version' AS version,
    found ->> '$.input' AS input,
    found ->> '$.result' AS result,
    found ->> '$.data' AS data,
    found ->> '$.output' AS output,
    found ->> '$.details' AS details,
    found ->> '$.reason' AS reason,
    found ->> '$.key' AS key,
    found ->> '$.value' AS value,
    found ->> '$.status' AS custom_status,
    try_cast(found ->> '$.fire_at_ms' AS BIGINT) AS fire_at_ms,
    found ->> '$.instance' AS child_instance,
    coalesce(found ->> '$.kv_cleared' = 'true', FALSE) AS kv_cleared,
    strlen(event_data) AS bytes,
    event_data AS json
FROM (
    SELECT *, CASE WHEN json_valid(event_data) THEN event_data::JSON END AS found FROM {file}.history
);
