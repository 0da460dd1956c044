-- The longer statements of `benchmarks.py`, each behind a line with its name.

-- means
SELECT method, metric, avg(value) FROM scores JOIN evaluations USING (benchmark_id, method_key)
WHERE benchmark_id = $benchmark AND list_contains($methods, method_key)
    AND list_contains($metrics, metric)
GROUP BY method, method_key, metric ORDER BY list_position($methods, method_key), metric

-- means_by_language
SELECT language, count(*), metric, method, avg(value)
FROM scores JOIN evaluations USING (benchmark_id, method_key)
JOIN (SELECT DISTINCT query_id, language FROM answered) USING (query_id)
WHERE benchmark_id = $benchmark AND list_contains($methods, method_key)
GROUP BY language, metric, method, method_key
ORDER BY language, metric, list_position($methods, method_key)

-- means_by_matches
SELECT method, metric, matches, avg(value) AS value, count(*) AS queries
FROM scores JOIN evaluations USING (benchmark_id, method_key) JOIN groups USING (query_id)
WHERE benchmark_id = $benchmark AND list_contains($methods, method_key)
    AND list_contains($metrics, metric)
GROUP BY method, method_key, metric, matches
ORDER BY list_position($methods, method_key), metric, matches
