-- The longer statements of `candidates.py`, each behind a line with its name.

-- unjudged
WITH judged AS (
    SELECT DISTINCT query_id, code_id FROM annotations WHERE status <> 'failed'
), found AS (
    SELECT query_id, count(*) AS pairs, count(judged.code_id) AS judged
    FROM candidates SEMI JOIN (
        SELECT query_id FROM collection_queries WHERE collection = ?
    ) USING (query_id)
    LEFT JOIN judged USING (query_id, code_id) WHERE search_id = ? GROUP BY query_id
)
SELECT coalesce(sum(pairs - judged), 0)::BIGINT, count(*) FILTER (judged = 0) FROM found

-- searches_by_collection
-- A search names only the first of the collections over the same codes; to the others belong those
-- of their queries and codes.
WITH found AS (
    SELECT collection, search_id FROM searches
    UNION
    SELECT collection, search_id
    FROM candidates JOIN collection_queries USING (query_id)
    SEMI JOIN collection_codes USING (collection, code_id)
)
SELECT found.collection, list(search_id ORDER BY created_at, search_id)
FROM found JOIN searches USING (search_id)
GROUP BY found.collection ORDER BY min((created_at, search_id)), found.collection

-- pairs
SELECT query_id, code_id FROM candidates
JOIN (SELECT query_id, position FROM collection_queries WHERE collection = $collection)
    USING (query_id)
SEMI JOIN (SELECT code_id FROM collection_codes WHERE collection = $collection) USING (code_id)
WHERE list_contains($searches, search_id) GROUP BY ALL
ORDER BY any_value(position), min(rank), code_id
