-- The statements by which `browsing.py` indexes pairs, each behind a line with its name.

-- judged
CREATE TABLE memory.judged (
    collection VARCHAR, query_id VARCHAR, code_id VARCHAR, status VARCHAR, label DOUBLE,
    recipe_id VARCHAR, disagreement VARCHAR);

-- current_labels
INSERT INTO memory.judged
SELECT $labels.collection, query_id, code_id, status, relevance, votes[1].recipe_id,
    if(disagreement IS NULL, '', 'rounds')
FROM current_labels($labels) ANTI JOIN memory.judged USING (query_id, code_id);

-- other_recipes
-- By recipes that no collection's labels rest on, such as those of annotators that were compared.
INSERT INTO memory.judged SELECT '', query_id, code_id, status, label, recipe_id, ''
FROM annotations ANTI JOIN memory.judged USING (query_id, code_id)
QUALIFY row_number() OVER (PARTITION BY query_id, code_id
    ORDER BY status = 'failed', annotated_at DESC, recipe_id) = 1;

-- labels_of_sources
-- Labels that came with a source.
INSERT INTO memory.judged SELECT collection, query_id, code_id,
    if(max(relevance) IS NULL, 'undecided', 'labelled'), max(relevance), '', ''
FROM votes ANTI JOIN memory.judged USING (query_id, code_id) WHERE annotator = ''
GROUP BY collection, query_id, code_id
QUALIFY row_number() OVER (PARTITION BY query_id, code_id ORDER BY collection) = 1;

-- unjudged
-- Candidates that nobody has judged.
INSERT INTO memory.judged
SELECT any_value(searches.collection), query_id, code_id, 'unjudged', NULL, '', ''
FROM candidates JOIN searches USING (search_id)
ANTI JOIN memory.judged USING (query_id, code_id) GROUP BY query_id, code_id;

-- pairs
CREATE TABLE memory.pairs AS
WITH places AS (
    SELECT query_id, min(position) AS position FROM collection_queries GROUP BY query_id
), ranks AS (
    SELECT query_id, code_id, min(rank) AS rank, max(similarity) AS similarity
    FROM candidates GROUP BY query_id, code_id
), costs AS (
    SELECT query_id, code_id, recipe_id, sum(cost_usd) AS cost FROM llm_calls GROUP BY ALL
), several AS (
    SELECT query_id, code_id FROM annotations WHERE label IS NOT NULL
    GROUP BY query_id, code_id HAVING count(DISTINCT label) > 1
), models AS (
    SELECT recipe_id, coalesce(body->>'$.model.model', '') AS model FROM recipes
), languages AS (
    SELECT code_id, max(language) AS language FROM collection_codes
    WHERE language <> '' GROUP BY code_id
)
SELECT row_number() OVER (ORDER BY position, query_id, rank, code_id) AS number,
    query_id, code_id, j.collection, j.status, j.label, j.recipe_id AS recipe,
    CASE WHEN j.label IS NULL THEN '' ELSE printf('%g', j.label) END AS grade,
    rank, similarity,
    CASE WHEN several.query_id IS NULL THEN j.disagreement
         WHEN j.disagreement = '' THEN 'recipes' ELSE j.disagreement END AS disagreement,
    coalesce(a.support, '') AS support, coalesce(a.path, '') AS path, a.seconds, costs.cost,
    coalesce(model, '') AS model, coalesce(language, 'unnamed') AS language,
    queries.text AS query, left(split_part(codes.text, chr(10), 1), $title) AS title,
    queries.rowid AS query_row, codes.rowid AS code_row
FROM memory.judged AS j
JOIN queries USING (query_id) JOIN codes USING (code_id)
LEFT JOIN places USING (query_id) LEFT JOIN ranks USING (query_id, code_id)
LEFT JOIN annotations AS a USING (query_id, code_id, recipe_id)
LEFT JOIN costs USING (query_id, code_id, recipe_id)
LEFT JOIN several USING (query_id, code_id)
LEFT JOIN models USING (recipe_id) LEFT JOIN languages USING (code_id)
ORDER BY number;

-- exported
INSERT INTO queries SELECT query_id, text FROM given_queries;
INSERT INTO codes SELECT code_id, text FROM given_codes;
INSERT INTO collection_queries BY NAME
    SELECT '' AS collection, query_id, origin, row_number() OVER () AS position
    FROM given_queries;
INSERT INTO collection_codes BY NAME
    SELECT '' AS collection, * EXCLUDE (text), row_number() OVER () AS position
    FROM given_codes;
INSERT INTO recipes BY NAME SELECT recipe_id, body::JSON AS body FROM given_recipes;

-- exported_evidence
INSERT INTO annotations BY NAME
    SELECT * EXCLUDE (calls, executions), '' AS roles_asked, 1 AS tries FROM part;
INSERT INTO llm_calls BY NAME
    SELECT query_id, code_id, recipe_id, unnest(range(len(calls))) AS ordinal,
        unnest(calls, max_depth := 2)
    FROM part;
INSERT INTO executions BY NAME
    SELECT * EXCLUDE (tests, repairs, beside), json_object(
        'tests', coalesce(tests, '[]')::JSON, 'repairs', coalesce(repairs, '[]')::JSON,
        'beside', coalesce(beside, '')) AS details
    FROM (SELECT query_id, code_id, recipe_id, unnest(range(len(executions))) AS ordinal,
        unnest(executions, max_depth := 2) FROM part);

-- exported_labels
INSERT INTO memory.judged
SELECT $name, query_id, code_id, 'labelled', relevance,
    regexp_extract(origin, '^agents:([^,]+)', 1), ''
FROM given_labels
UNION ALL SELECT $name, query_id, code_id, 'undecided', NULL, coalesce(
    (SELECT max(recipe_id) FROM annotations AS a
     WHERE a.query_id = u.query_id AND a.code_id = u.code_id), ''), ''
FROM given_undecided AS u;

-- matches
SELECT matches, count(*) FROM (
    SELECT (count(*) FILTER (label > 0))::BIGINT AS matches FROM memory.pairs
    WHERE label IS NOT NULL GROUP BY query_id
) GROUP BY matches ORDER BY matches;

-- ranks
SELECT rank, count(*) AS labelled, (count(*) FILTER (label > 0))::BIGINT AS matches
FROM memory.pairs WHERE label IS NOT NULL AND rank IS NOT NULL GROUP BY rank ORDER BY rank;

-- bases
SELECT support, path, count(*) AS judgements FROM memory.pairs
WHERE support <> '' GROUP BY support, path ORDER BY judgements DESC, support, path;

-- scored_methods
SELECT benchmark_id, coalesce(name, benchmark_id) AS benchmark, method, method_key, metric,
    avg(value) AS mean, count(*) AS queries,
    nullif(1.96 * stddev_samp(value) / sqrt(count(*)), 0) AS half
FROM scores JOIN evaluations USING (benchmark_id, method_key)
LEFT JOIN benchmarks USING (benchmark_id)
GROUP BY ALL ORDER BY benchmark, benchmark_id, metric, mean DESC

-- scores_of_queries
WITH scored AS (
    SELECT query_id, value, method_key FROM scores
    WHERE benchmark_id = $benchmark AND metric = $metric
)
SELECT query_id, coalesce(text, query_id) AS query, a.value, b.value AS other,
    query_id IN (SELECT query_id FROM memory.shown_queries) AS has_pairs
FROM (SELECT query_id, value FROM scored WHERE method_key = $method) AS a
LEFT JOIN (SELECT query_id, value FROM scored WHERE method_key = $other) AS b USING (query_id)
LEFT JOIN queries USING (query_id)
ORDER BY if($ascending, 1, -1) * (a.value - coalesce(b.value, 0)), query_id LIMIT $limit
