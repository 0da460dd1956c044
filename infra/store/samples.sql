-- The longer statements of `samples.py`, each behind a line with its name.

-- pairs
SELECT query_id, code_id FROM candidate_pairs($labels)

-- queries
SELECT query_id, code_id FROM current_labels WHERE status IN ('labelled', 'undecided')

-- disagreement
SELECT query_id, code_id FROM annotations JOIN coverage($labels) USING (recipe_id, roles_asked)
SEMI JOIN candidate_pairs($labels) USING (query_id, code_id)
WHERE status <> 'failed' GROUP BY ALL HAVING count(DISTINCT label) > 1

-- undecided
SELECT query_id, code_id FROM current_labels WHERE status = 'undecided'

-- judged
SELECT query_id, code_id, relevance::INTEGER, arg_min(support, round)
FROM current_labels AS standing
JOIN sample_items USING (query_id, code_id) JOIN supporting_annotations USING (query_id, code_id)
JOIN annotations AS given USING (query_id, code_id, recipe_id)
WHERE sample_id = ? AND standing.status = 'labelled' AND given.label = relevance
GROUP BY ALL

-- samples
SELECT sample_id, collection, kind, scale, drawn_at::VARCHAR AS drawn_at,
    (SELECT count(*) FROM sample_items AS i WHERE i.sample_id = samples.sample_id) AS items
FROM samples ORDER BY samples.drawn_at DESC, sample_id

-- progress
SELECT given.annotator, positions, count(*) FILTER (phase = 'blind') AS blind,
    count(*) FILTER (phase = 'revised') AS revised
FROM sample_annotators AS given LEFT JOIN (
    SELECT sample_id, annotator, phase, position
    FROM votes JOIN sample_items USING (query_id, code_id) WHERE origin = 'sample:' || sample_id
) AS said ON given.sample_id = said.sample_id AND given.annotator = said.annotator
    AND list_contains(positions, position)
WHERE given.sample_id = ? GROUP BY ALL ORDER BY given.annotator

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
SELECT decided.*, q.query_id IS NOT NULL AND c.code_id IS NOT NULL AS is_collected FROM (
    SELECT sample_id, collection, drawn, scale, criterion, query_id, code_id, count(*) AS people,
        CASE WHEN 2 * count(*) FILTER (relevance > 0) > count(*)
                THEN avg(relevance) FILTER (relevance > 0)
            WHEN 2 * count(*) FILTER (relevance > 0) < count(*) THEN 0 END AS relevance
    FROM said WHERE kind = 'pairs' AND relevance IS NOT NULL GROUP BY ALL
) AS decided
LEFT JOIN collection_queries AS q USING (collection, query_id)
LEFT JOIN collection_codes AS c USING (collection, code_id)
ORDER BY sample_id, query_id, code_id

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
