-- The longer statements of `people.py`, each behind a line with its name.

-- said
-- One row a person and sampled item: what the person said last.
SELECT sample_id, samples.collection, samples.kind, scale,
    coalesce(body ->> 'drawn', '') AS drawn,
    coalesce(body ->> 'criterion', 'exact') AS criterion, query_id, code_id, relevance
FROM votes JOIN samples ON origin = 'sample:' || sample_id
JOIN sample_items USING (sample_id, query_id, code_id)
QUALIFY row_number() OVER (
    PARTITION BY sample_id, annotator, query_id, code_id ORDER BY phase = 'revised' DESC) = 1

-- final_labels
SELECT sample_id, collection, drawn, scale, criterion, query_id, code_id, count(*) AS people,
    CASE WHEN 2 * count(*) FILTER (relevance > 0) > count(*)
            THEN avg(relevance) FILTER (relevance > 0)
        WHEN 2 * count(*) FILTER (relevance > 0) < count(*) THEN 0 END AS relevance
FROM said WHERE kind = 'pairs' AND relevance IS NOT NULL
GROUP BY ALL ORDER BY sample_id, query_id, code_id

-- figures
SELECT * FROM (
    SELECT count(*) AS preferences, count(*) FILTER (relevance > 0) AS preferred
    FROM said WHERE kind = 'preference' AND relevance IS NOT NULL
), (
    SELECT count(*) FILTER (program = '') AS timed_without_program,
        avg(minutes) FILTER (program = '') AS minutes_without_program,
        count(*) FILTER (program <> '') AS timed_with_program,
        avg(minutes) FILTER (program <> '') AS minutes_with_program
    FROM votes
    WHERE starts_with(origin, 'sample:') AND phase = 'blind' AND minutes IS NOT NULL
)
