-- The statements by which `votes.py` takes votes in, each behind a line with its name.

-- incoming
CREATE TEMP TABLE incoming_votes AS
SELECT * REPLACE (coalesce(place, '') AS place, coalesce(kind, 'person') AS kind,
    coalesce(annotator, '') AS annotator, coalesce(phase, 'blind') AS phase,
    coalesce(notes, []) AS notes, coalesce(program, '') AS program)
FROM (SELECT '' AS place, '' AS kind, '' AS annotator, '' AS phase, []::VARCHAR[] AS notes,
          NULL::DOUBLE AS minutes, '' AS program, NULL::JSON AS execution WHERE false
      UNION ALL BY NAME FROM incoming)

-- faults
WITH stored AS (
    SELECT origin, annotator, query_id, code_id, count(*) FILTER (phase = 'blind') AS blind,
        count(*) FILTER (phase = 'revised') AS revised,
        any_value(relevance) FILTER (phase = 'blind') AS said
    FROM votes WHERE collection = ? GROUP BY ALL
)
SELECT if(place = '', fault, place || ': ' || fault) FROM (
    SELECT i.rowid AS row, place,
        if(annotator = '', 'nobody', '''' || annotator || '''') AS voter, CASE
        WHEN query_id NOT IN (SELECT query_id FROM queries)
            THEN 'the store holds no query ' || query_id
        WHEN code_id NOT IN (SELECT code_id FROM codes)
            THEN 'the store holds no code ' || code_id
        WHEN NOT (relevance >= 0 AND isfinite(relevance))
            THEN 'relevance ' || relevance || ': it must be a number from 0'
        WHEN row_number() OVER (
            PARTITION BY origin, annotator, query_id, code_id, phase ORDER BY i.rowid) > 1
            THEN voter || ' votes twice on query ' || query_id || ' and code ' || code_id
        WHEN phase = 'blind' AND revised > 0 AND said IS DISTINCT FROM relevance
            THEN voter || ' has seen the evidence: the blind label stands, and another is a '
                || 'revised one'
        WHEN phase = 'revised' AND coalesce(blind, 0) = 0 AND count(*) FILTER (phase = 'blind')
            OVER (PARTITION BY origin, annotator, query_id, code_id) = 0
            THEN voter || ' revises a label that was not given blind'
        END AS fault
    FROM incoming_votes AS i LEFT JOIN stored USING (origin, annotator, query_id, code_id)
) WHERE fault IS NOT NULL ORDER BY row LIMIT ?

-- replaced
DELETE FROM votes USING incoming_votes AS i
WHERE votes.collection = ? AND votes.origin = i.origin AND votes.annotator = i.annotator
AND votes.query_id = i.query_id AND votes.code_id = i.code_id AND votes.phase = i.phase
