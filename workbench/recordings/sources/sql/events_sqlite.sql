-- One row an event, the fields of its JSON as columns; a row that is no JSON keeps its id, type and text.
-- {text name} and {number name of row} are fields of the JSON. {turn} is the stored number, or a count of the
-- boundaries that order and times show (see recordings/turns.py). Turns are counted over narrow rows in the order of the
-- primary key, without a sort; the wide text is fetched only for the rows that a query keeps.

CREATE TEMP VIEW events AS
SELECT
    n.instance_id, n.execution_id, n.turn, n.event_id, n.type,
    {fields},
    CASE WHEN json_valid(event_data) THEN coalesce(json_extract(event_data, '$.kv_cleared'), 0) = 1 ELSE 0 END
        AS kv_cleared,
    length(CAST(event_data AS BLOB)) AS bytes,
    n.instance_id || '@' || n.execution_id || '.' || n.turn || CASE WHEN n.type IN ({operations}) THEN '.' || (
        SELECT count(*) FROM {file}.history x
        WHERE x.instance_id = n.instance_id AND x.execution_id = n.execution_id
          AND x.event_id BETWEEN n.turn_begins AND n.event_id AND x.event_type IN ({operations})
    ) ELSE '' END AS moment,
    event_data AS json
FROM (
    SELECT
        place, instance_id, execution_id, event_id, type,
        {turn} AS turn,
        coalesce(max(CASE WHEN begins THEN event_id END) OVER so_far, 0) AS turn_begins
    FROM (
        SELECT
            h.rowid AS place, h.instance_id, h.execution_id, h.event_id, h.event_type AS type,
            {stored_turn} AS stored_turn,
            {begins} AS begins
        FROM {file}.history h
        LEFT JOIN {file}.history p
          ON p.instance_id = h.instance_id AND p.execution_id = h.execution_id AND p.event_id = h.event_id - 1
        ORDER BY h.instance_id, h.execution_id, h.event_id
    )
    WINDOW so_far AS (PARTITION BY instance_id, execution_id ORDER BY event_id)
) n
JOIN {file}.history h ON h.rowid = n.place;
