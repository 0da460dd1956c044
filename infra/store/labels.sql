-- Current labels: who has judged which pair, what that makes of it, and which pairs are to judge.
--
-- Macros, not views: they take a `CurrentLabels` or a `Selection` as a struct. A connection makes
-- them for itself, so that no store file holds any. A pair's votes count for the sets of labelling
-- rounds that were in use, the last used set first; each round is covered by an annotation that
-- rests on the same parts of a recipe, whichever recipe made it.

-- The pairs of a collection that its searches found, each once.
CREATE OR REPLACE TEMP MACRO candidate_pairs(labels) AS TABLE
    SELECT DISTINCT query_id, code_id FROM candidates
    SEMI JOIN (SELECT query_id FROM collection_queries WHERE collection = (labels).collection)
        USING (query_id)
    SEMI JOIN (SELECT code_id FROM collection_codes WHERE collection = (labels).collection)
        USING (code_id)
    WHERE list_contains((labels).search_ids, search_id);

-- One row a recipe, roles asked, set and round for which such annotations count.
CREATE OR REPLACE TEMP MACRO coverage(labels) AS TABLE
    SELECT item.recipe_id, item.roles_asked, item.number, item.round,
        len((labels).sets[item.number + 1]) AS rounds,
        (labels).sets[item.number + 1][item.round + 1] = item.recipe_id AS own
    FROM (SELECT unnest((labels).covered::STRUCT(
        recipe_id VARCHAR, roles_asked VARCHAR, number INTEGER, round INTEGER)[]) AS item);

-- One row a pair, set and round: of the annotations that cover it one that counts, first of all the
-- round's own.
CREATE OR REPLACE TEMP MACRO votes(labels) AS TABLE
    SELECT query_id, code_id, number, round, rounds, recipe_id, label,
        label IS NOT NULL AND list_contains((labels).support, support) AS counts
    FROM annotations SEMI JOIN candidate_pairs(labels) USING (query_id, code_id)
    JOIN coverage(labels) USING (recipe_id, roles_asked)
    WHERE status <> 'failed' AND (number = 0 OR NOT (labels).fresh_only)
    QUALIFY row_number() OVER (
        PARTITION BY query_id, code_id, number, round
        ORDER BY counts DESC, own DESC, annotated_at DESC, recipe_id) = 1;

-- One row a pair that somebody tried to judge: the first set of which more than half of the rounds
-- agree, else the first that is complete, else the first. The status is
--   labelled     there is a label with the support that is asked for
--   unsupported  there is one without
--   undecided    all rounds are finished, and no label has more than half of them
--   unfinished   a round is missing
--   failed       nothing but tries that failed, which are the votes then
-- `fresh`: the recipe in use has judged the pair; a label by a former recipe is fresh where that
-- one left the pair undecided.
CREATE OR REPLACE TEMP MACRO current_labels(labels) AS TABLE
    WITH counted AS (
        SELECT query_id, code_id, number, any_value(rounds) AS rounds,
            count(*) = any_value(rounds) AS is_complete,
            count(*) FILTER (label = 1) AS ones, count(*) FILTER (label = 0) AS zeros,
            CASE WHEN 2 * count(*) FILTER (counts AND label = 0) > any_value(rounds) THEN 0
                 WHEN 2 * count(*) FILTER (counts AND label = 1) > any_value(rounds) THEN 1
            END::DOUBLE AS relevance,
            list_sort(list({'round': round, 'recipe_id': recipe_id, 'label': label})) AS votes
        FROM votes(labels) GROUP BY query_id, code_id, number
    ), judged AS MATERIALIZED (
        SELECT *, bool_or(number = 0 AND (is_complete OR relevance IS NOT NULL))
            OVER (PARTITION BY query_id, code_id) AS fresh
        FROM counted
        QUALIFY row_number() OVER (
            PARTITION BY query_id, code_id
            ORDER BY CASE WHEN relevance IS NOT NULL THEN 0 WHEN is_complete THEN 1 ELSE 2 END,
                number) = 1
    )
    SELECT query_id, code_id, relevance, fresh, votes,
        CASE WHEN relevance IS NOT NULL THEN 'labelled'
             WHEN is_complete AND 2 * greatest(ones, zeros) > rounds THEN 'unsupported'
             WHEN is_complete THEN 'undecided'
             ELSE 'unfinished' END AS status,
        'agents:' || votes[1].recipe_id || CASE WHEN rounds > 1
            THEN ', majority of ' || rounds || ' rounds' ELSE '' END AS origin,
        CASE WHEN rounds > 1 THEN 'no label has more than half of ' || rounds || ' rounds: '
            || ones || ' say 1, ' || zeros || ' say 0, ' || rounds - ones - zeros || ' say neither'
            END AS disagreement
    FROM judged
    UNION ALL BY NAME
    SELECT query_id, code_id, 'failed' AS status, list(
        {'round': 0, 'recipe_id': recipe_id, 'label': label} ORDER BY annotated_at DESC) AS votes
    FROM annotations SEMI JOIN candidate_pairs(labels) USING (query_id, code_id)
    ANTI JOIN judged USING (query_id, code_id)
    WHERE list_contains(flatten((labels).sets), recipe_id) GROUP BY query_id, code_id;

-- One row a candidate of a selection: why it is to be judged in a labelling round (NULL: it is
-- fresh), whether that is due, and what judged it last.
CREATE OR REPLACE TEMP MACRO candidates_by_reason(selection) AS TABLE
    WITH selected AS (
        -- The queries of a pool have no position: their ids put them in an order by chance, in which
        -- those that a budget reaches stand for all.
        SELECT query_id, CASE WHEN (selection).search_id = '' THEN 0 ELSE position END AS position
        FROM collection_queries
        WHERE collection = (selection).labels.collection AND ((selection).drawn IS NULL
            OR query_id IN (SELECT unnest((selection).drawn::VARCHAR[])))
    ), found AS (
        SELECT query_id, code_id, min(rank) AS rank,
            min(rank) FILTER (search_id = (selection).search_id) AS own
        FROM candidates SEMI JOIN selected USING (query_id)
        WHERE list_contains((selection).labels.search_ids, search_id) GROUP BY query_id, code_id
    ), judged AS (
        SELECT query_id, code_id,
            coalesce(bool_or(fresh), false) AS fresh,
            coalesce(bool_or(fresh IS NOT NULL), false) AS former,
            count(DISTINCT label) FILTER (fresh IS NOT NULL) AS labels,
            max(tries) FILTER (failed) AS tries,
            max(annotated_at) FILTER (failed) AS failed_at,
            arg_max(recipe_id, annotated_at) FILTER (fresh IS NOT NULL) AS recipe_id,
            arg_max(roles_asked, annotated_at) FILTER (fresh IS NOT NULL) AS roles_asked
        FROM (
            SELECT a.*, c.fresh,
                a.recipe_id = (selection).recipe_id AND status = 'failed' AS failed
            FROM annotations AS a LEFT JOIN (
                SELECT recipe_id, roles_asked, min(number) = 0 AS fresh FROM coverage((selection).labels)
                WHERE number = 0 OR round = (selection).labelling_round - 1 GROUP BY recipe_id, roles_asked
            ) AS c ON a.recipe_id = c.recipe_id AND a.roles_asked = c.roles_asked AND a.status <> 'failed'
        ) GROUP BY query_id, code_id
    ), own_codes AS (
        SELECT code_id FROM collection_codes WHERE collection = (selection).labels.collection
    ), known AS (
        SELECT DISTINCT query_id FROM candidates
        SEMI JOIN (SELECT search_id FROM searches WHERE NOT pool AND (
            collection = (selection).labels.collection
            OR search_id IN (  -- it names the first of the collections that share it
                SELECT search_id FROM candidates SEMI JOIN selected USING (query_id)
                SEMI JOIN own_codes USING (code_id)))) USING (search_id)
        SEMI JOIN (SELECT query_id, code_id FROM annotations WHERE status <> 'failed'
            AND recipe_id IN (SELECT rounds[(selection).labelling_round] FROM recipe_uses
                WHERE collection = (selection).labels.collection)) USING (query_id, code_id)
        WHERE search_id <> (selection).search_id
    )
    SELECT position, rank, query_id, code_id, judged.recipe_id, judged.roles_asked,
        own_codes.code_id IS NOT NULL AS readable,
        CASE
            WHEN judged.fresh THEN NULL
            WHEN tries IS NOT NULL THEN 'failed'
            WHEN labels > 1 THEN 'disagreement'
            WHEN judged.former THEN 'outdated'
            WHEN found.own IS NULL THEN 'requested'
            WHEN known.query_id IS NULL THEN 'new_queries'
            ELSE 'new_codes'
        END AS reason,
        judged.fresh OR tries IS NULL OR (
            tries < (selection).retries.max_tries
            AND (failed_at > now() OR failed_at + to_seconds(
                CASE WHEN tries < 2 THEN 0 ELSE least((selection).retries.longest_s,
                    (selection).retries.after_s * power(2, least(tries, 60) - 2)) END) <= now())
        ) AS due
    FROM found JOIN selected USING (query_id)
    LEFT JOIN judged USING (query_id, code_id)
    LEFT JOIN known USING (query_id)
    LEFT JOIN own_codes USING (code_id);
