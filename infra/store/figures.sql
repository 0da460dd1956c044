-- The longer statements of `figures.py`, each behind a line with its name.

-- cost
-- Of pairs that nobody has judged the tries that failed are among them. Cached replies cost nothing;
-- the cost is unknown if that of one reply is for which something was paid.
WITH tries AS (
    SELECT query_id, code_id, unnest(votes, recursive := true) FROM current_labels
)
SELECT count(*) AS calls, count(*) FILTER (cached) AS cached_calls,
    coalesce(sum(prompt_tokens), 0)::BIGINT AS prompt_tokens,
    coalesce(sum(completion_tokens), 0)::BIGINT AS completion_tokens,
    CASE WHEN bool_or(NOT cached AND cost_usd IS NULL AND status IN ('ok', 'unreadable'))
        THEN NULL ELSE coalesce(sum(cost_usd) FILTER (NOT cached), 0) END AS cost_usd,
    coalesce(sum(seconds), 0) AS model_seconds,
    (SELECT coalesce(sum(seconds), 0)
     FROM annotations SEMI JOIN tries USING (query_id, code_id, recipe_id)) AS pair_seconds
FROM llm_calls SEMI JOIN tries USING (query_id, code_id, recipe_id)

-- recent_replies
WITH recent AS (
    SELECT query_id, code_id, recipe_id FROM annotations SEMI JOIN (
        SELECT recipe_id FROM recipes WHERE body->>'$.model.model' = $model
        AND body->>'$.configuration' = $configuration
    ) USING (recipe_id) WHERE status <> 'failed' ORDER BY annotated_at DESC LIMIT 500
)
SELECT (SELECT count(*) FROM recent) AS pairs, list(DISTINCT prompt_digest) AS keys
FROM llm_calls SEMI JOIN recent USING (query_id, code_id, recipe_id)

-- pair_means
WITH shared AS (
    SELECT query_id, code_id, recipe_id, prompt_tokens, seconds,
        prompt_tokens + coalesce(completion_tokens, 0) AS tokens,
        prompt_tokens * $sent_usd + coalesce(completion_tokens, 0) * $received_usd AS usd,
        1 / count(*) OVER (PARTITION BY recipe_id, role, prompt_digest, attempt) AS share
    FROM llm_calls SEMI JOIN (
        SELECT recipe_id FROM recipes WHERE body->>'$.model.model' = $model
        AND body->>'$.configuration' = $configuration
    ) USING (recipe_id)
    WHERE status <> 'refused'
), called AS (
    SELECT query_id, code_id, recipe_id, sum(share * tokens) AS tokens,
        sum(share * usd) AS usd, sum(share * seconds) AS seconds
    FROM shared GROUP BY query_id, code_id, recipe_id HAVING count(*) = count(prompt_tokens)
)
SELECT count(*) AS pairs, {figures} FROM (
    SELECT tokens, usd, greatest(a.seconds, called.seconds) AS seconds
    FROM annotations AS a JOIN called USING (query_id, code_id, recipe_id)
    WHERE status <> 'failed'
)

-- matches
SELECT matches, count(*) FROM (
    SELECT (count(*) FILTER (relevance > 0))::BIGINT AS matches FROM current_labels
    WHERE relevance IS NOT NULL GROUP BY query_id
) GROUP BY matches ORDER BY matches

-- ranks
SELECT rank, count(*) AS labelled, (count(*) FILTER (relevance > 0))::BIGINT AS matches
FROM current_labels JOIN (
    SELECT query_id, code_id, min(rank) AS rank FROM candidates
    WHERE list_contains($searches::VARCHAR[], search_id)
        AND ($drawn IS NULL OR query_id IN (SELECT unnest($drawn::VARCHAR[])))
    GROUP BY query_id, code_id
) USING (query_id, code_id)
WHERE relevance IS NOT NULL GROUP BY rank ORDER BY rank

-- bases
SELECT support, path, count(*) AS judgements
FROM annotations SEMI JOIN supporting_annotations USING (query_id, code_id, recipe_id)
GROUP BY support, path ORDER BY judgements DESC, support, path

-- replies
SELECT role, model, count(DISTINCT prompt_digest) AS replies,
    count(DISTINCT prompt_digest) FILTER (status = 'unreadable') AS unreadable
FROM llm_calls WHERE list_contains($recipes, recipe_id) AND status IN ('ok', 'unreadable')
GROUP BY role, model ORDER BY role, model

-- readings
-- A pair's first reading, and what its run says: the label, or the other one where it was overruled.
SELECT count(*) AS tested, count(*) FILTER (
    (verdict = 'clear_match') <> ((label = 1) = (support = 'valid_oracle'))
) AS contradicted FROM (
    SELECT query_id, code_id, recipe_id, regexp_extract(
        reply, '"verdict"\s*:\s*"(clear_match|clear_non_match)"', 1) AS verdict
    FROM llm_calls
    WHERE list_contains($recipes, recipe_id) AND role = $reader AND status = 'ok'
    QUALIFY row_number() OVER (PARTITION BY query_id, code_id, recipe_id ORDER BY ordinal) = 1
) JOIN annotations USING (query_id, code_id, recipe_id)
WHERE verdict <> '' AND support IN ('valid_oracle', 'overruled')

-- pair_costs
WITH pairs AS (
    SELECT query_id, code_id, recipe_id, seconds AS taken,
        CASE WHEN starts_with(path, 'clear_') THEN 'clear'
             WHEN starts_with(path, 'unclear_') THEN 'unclear'
             WHEN starts_with(path, 'claims_') THEN 'by claims' ELSE 'other' END AS kind
    FROM annotations SEMI JOIN supporting_annotations USING (query_id, code_id, recipe_id)
), shares AS (
    SELECT *, CASE WHEN list_contains($of_queries::VARCHAR[], role) THEN 1 / count(*) OVER (
        PARTITION BY recipe_id, role, prompt_digest, attempt) ELSE 1 END AS share
    FROM llm_calls SEMI JOIN supporting_annotations USING (query_id, code_id, recipe_id)
), calls AS (
    SELECT query_id, code_id, recipe_id, sum(share * seconds) AS seconds,
        sum(share * cost_usd) AS dollars, count(*) - count(cost_usd) AS unpriced
    FROM shares GROUP BY query_id, code_id, recipe_id
), runs AS (
    SELECT query_id, code_id, recipe_id, sum(seconds) AS seconds
    FROM executions SEMI JOIN supporting_annotations USING (query_id, code_id, recipe_id)
    GROUP BY query_id, code_id, recipe_id
)
SELECT kind, count(*) AS pairs,
    sum(greatest(taken, coalesce(calls.seconds, 0) + coalesce(runs.seconds, 0))) AS seconds,
    CASE WHEN coalesce(sum(unpriced), 0) > 0 THEN NULL ELSE coalesce(sum(dollars), 0) END AS dollars
FROM pairs LEFT JOIN calls USING (query_id, code_id, recipe_id)
LEFT JOIN runs USING (query_id, code_id, recipe_id) GROUP BY kind ORDER BY kind

-- programs
WITH latest AS (
    SELECT program, outcome FROM executions SEMI JOIN supporting_annotations USING (query_id, code_id, recipe_id)
    QUALIFY row_number() OVER (PARTITION BY query_id, code_id, recipe_id ORDER BY ordinal DESC) = 1
)
SELECT count(*) AS programs,
    coalesce(sum(len(regexp_extract_all(program, $test_case))), 0)::BIGINT AS tests,
    count(*) FILTER (list_contains($executed::VARCHAR[], outcome)) AS executed
FROM latest
