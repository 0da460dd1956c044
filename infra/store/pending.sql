-- The longer statements of `pending.py`, each behind a line with its name.

-- counts
SELECT count(*), count(*) FILTER (reason IS NULL),
    count(*) FILTER (reason IS NOT NULL AND NOT readable) FROM classified

-- groups
SELECT reason, due, coalesce(recipe_id, ''), coalesce(roles_asked, ''), count(*) FROM classified
WHERE reason IS NOT NULL AND readable GROUP BY ALL ORDER BY ALL

-- keys
SELECT query_id, code_id, reason FROM (
    SELECT c.*, row_number() OVER (
        PARTITION BY reason ORDER BY position, query_id, rank, code_id
    ) AS place FROM classified AS c WHERE due AND readable
) JOIN taken USING (reason) WHERE place <= most ORDER BY list_position(?, reason), place

-- spending
SELECT reason, count(*) AS taken, count(judged.code_id) AS judged,
    CASE WHEN coalesce(sum(unpriced), 0) = 0 THEN coalesce(sum(usd), 0) END AS usd
FROM taken LEFT JOIN (
    SELECT query_id, code_id FROM annotations
    WHERE recipe_id = $recipe AND annotated_at >= $since
) AS judged USING (query_id, code_id)
LEFT JOIN (
    SELECT query_id, code_id, sum(cost_usd) AS usd, count(*) - count(cost_usd) AS unpriced
    FROM llm_calls WHERE recipe_id = $recipe AND NOT cached GROUP BY ALL
) AS calls ON calls.query_id = judged.query_id AND calls.code_id = judged.code_id
GROUP BY reason ORDER BY reason
