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
