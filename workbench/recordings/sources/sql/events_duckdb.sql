-- One row an event, the fields of its JSON as columns; a row that is no JSON keeps its id, type and text.

CREATE TEMP VIEW events AS
SELECT
    instance_id, execution_id, turn, event_id, event_type AS type,
    {number timestamp_ms of h} AS at_ms,
    {number source_event_id of h} AS source_event_id,
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
    {number fire_at_ms of h} AS fire_at_ms,
    {text instance} AS child_instance,
    coalesce({text kv_cleared} = 'true', FALSE) AS kv_cleared,
    strlen(event_data) AS bytes,
    instance_id || '@' || execution_id || '.' || turn || CASE WHEN event_type IN ({operations}) THEN '.' || row_number()
        OVER (PARTITION BY instance_id, execution_id, turn, event_type IN ({operations}) ORDER BY event_id)
    ELSE '' END AS moment,
    event_data AS json
FROM {file}.history h;
