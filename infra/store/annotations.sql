-- The longer statements of `annotations.py`, each behind a line with its name.

-- insert
-- The recipe tells the labelling round; a pair with a known answer is a gold question.
INSERT INTO annotations BY NAME SELECT incoming.*, replicate, CASE
    WHEN (query_id, code_id) IN (SELECT (query_id, code_id) FROM votes WHERE kind = 'gold')
        THEN 'gold'
    WHEN replicate > 1 THEN 'replicate' ELSE 'first' END AS kind
FROM incoming LEFT JOIN (
    SELECT recipe_id, (body->>'$.round')::INTEGER AS labelling_round FROM recipes
) USING (recipe_id), LATERAL (SELECT coalesce(labelling_round, 1) AS replicate)

-- stored
SELECT query_id, code_id, recipe_id, CASE WHEN status = 'failed' THEN tries ELSE 0 END
FROM annotations SEMI JOIN incoming_keys USING (query_id, code_id, recipe_id)

-- paid
SELECT query_id, code_id, recipe_id, list(prompt_digest)
FROM llm_calls SEMI JOIN deleted USING (query_id, code_id, recipe_id)
WHERE NOT cached AND status IN ('ok', 'unreadable') GROUP BY ALL

-- named
SELECT query_id, code_id, recipe_id
FROM annotations JOIN queries USING (query_id) JOIN codes USING (code_id)
WHERE CASE WHEN regexp_full_match($1, 'q[0-9a-f]+') THEN starts_with(query_id, $1)
    ELSE contains(lower(queries.text), lower($1)) END
AND CASE WHEN regexp_full_match($2, 'c[0-9a-f]+') THEN starts_with(code_id, $2)
    ELSE contains(lower(codes.text), lower($2)) END
ORDER BY query_id, code_id, annotated_at DESC, annotations.rowid DESC

-- neighbours
WITH places AS (
    SELECT query_id, min(position) AS position FROM collection_queries GROUP BY query_id
), ranks AS (
    SELECT query_id, code_id, min(rank) AS rank FROM candidates GROUP BY query_id, code_id
)
SELECT before, after FROM (
    SELECT query_id, code_id, lag([query_id, code_id]) OVER w AS before,
        lead([query_id, code_id]) OVER w AS after
    FROM (SELECT DISTINCT query_id, code_id FROM annotations)
    LEFT JOIN places USING (query_id) LEFT JOIN ranks USING (query_id, code_id)
    WINDOW w AS (ORDER BY position, query_id, rank, code_id)
) WHERE query_id = ? AND code_id = ?
