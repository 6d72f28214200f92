-- One row an event, the fields of its JSON as columns; a row that is no JSON keeps its id, type and text.
-- {text name} is a field as text; {turn} is the stored number, or a count of the boundaries that order and times show
-- (see recordings/turns.py).

CREATE TEMP VIEW events AS
SELECT
    instance_id, execution_id, turn, event_id, type, at_ms,
    CASE WHEN valid THEN json_extract(event_data, '$.source_event_id') END AS source_event_id,
    {text name} AS name,
    {text version} AS version,
    {text input} AS input,
    {text result} AS result,
    {text data} AS data,
    {text output} AS output,
    {text details} AS details,
    {text reason} AS reason,
    {text key} AS key,
    {text value} AS value,
    {text status} AS custom_status,
    CASE WHEN valid THEN CAST(json_extract(event_data, '$.fire_at_ms') AS INTEGER) END AS fire_at_ms,
    {text instance} AS child_instance,
    CASE WHEN valid THEN coalesce(json_extract(event_data, '$.kv_cleared'), 0) = 1 ELSE 0 END AS kv_cleared,
    length(CAST(event_data AS BLOB)) AS bytes,
    event_data AS json
FROM (
    SELECT instance_id, execution_id, event_id, type, at_ms, valid, event_data, {turn} AS turn
    FROM (
        SELECT
            *,
            lag(arrives) OVER known_before AS arrived_before,
            lag(at_ms) OVER known_before AS before_ms
        FROM (
            SELECT
                *,
                event_type AS type,
                event_type IN ({known}) AS known,
                event_type IN ({arrivals}) AS arrives,
                json_valid(event_data) AS valid,
                CASE WHEN json_valid(event_data) THEN CAST(json_extract(event_data, '$.timestamp_ms') AS INTEGER) END
                    AS at_ms
            FROM {file}.history
        )
        WINDOW known_before AS (PARTITION BY instance_id, execution_id, event_type IN ({known}) ORDER BY event_id)
    )
);
