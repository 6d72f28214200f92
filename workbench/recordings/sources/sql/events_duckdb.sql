-- One row an event, the fields of its JSON as columns; a row that is no JSON keeps its id, type and text.

CREATE TEMP VIEW events AS
SELECT
    instance_id, execution_id, turn, event_id, event_type AS type,
    {fields},
    coalesce({text kv_cleared} = 'true', FALSE) AS kv_cleared,
    strlen(event_data) AS bytes,
    instance_id || '@' || execution_id || '.' || turn || CASE WHEN event_type IN ({operations}) THEN '.' || row_number()
        OVER (PARTITION BY instance_id, execution_id, turn, event_type IN ({operations}) ORDER BY event_id)
    ELSE '' END AS moment,
    event_data AS json
FROM {file}.history h;
