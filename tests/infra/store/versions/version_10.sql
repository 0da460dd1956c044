-- The artifact store's one schema. A stage owns its tables and reads only those above its own.
--
-- There are no foreign keys: DuckDB checks them so eagerly that a collection could not be replaced
-- inside one transaction. Keys and CHECKs hold, and every stage writes parents before children.

CREATE TABLE meta (
    schema_version INTEGER NOT NULL,
    store_id       VARCHAR NOT NULL
);

-- collect: collections, queries, codes and source labels -------------------------------------------

CREATE TABLE collections (
    collection   VARCHAR PRIMARY KEY,
    fingerprint  VARCHAR NOT NULL,       -- of everything that the source read
    source       VARCHAR NOT NULL,
    licence      VARCHAR NOT NULL,
    revision     VARCHAR NOT NULL,
    location     VARCHAR NOT NULL,
    for_agents   BOOLEAN NOT NULL,       -- whether the agents annotate its pairs
    collected_at TIMESTAMPTZ NOT NULL DEFAULT now()
);

CREATE TABLE collection_inputs (         -- what a collection was read from
    collection VARCHAR PRIMARY KEY,
    stamp      VARCHAR NOT NULL,         -- of files, settings and program; equal: not read again
    content    VARCHAR NOT NULL,         -- digest of all that was read; '': by an older version
    queries    BIGINT NOT NULL,
    codes      BIGINT NOT NULL,
    labels     BIGINT NOT NULL
);

CREATE TABLE dropped (
    collection VARCHAR NOT NULL,
    rule       VARCHAR NOT NULL,
    items      BIGINT NOT NULL CHECK (items >= 0),
    PRIMARY KEY (collection, rule)
);

CREATE TABLE queries (
    query_id VARCHAR PRIMARY KEY,        -- hash of the normalised text
    text     VARCHAR NOT NULL CHECK (length(text) > 0)
);

CREATE TABLE codes (
    code_id VARCHAR PRIMARY KEY,         -- hash of the normalised text
    text    VARCHAR NOT NULL CHECK (length(text) > 0)
);

CREATE TABLE collection_queries (
    collection VARCHAR NOT NULL,
    position   INTEGER NOT NULL,         -- the source's order, which "the first 20 queries" means
    query_id   VARCHAR NOT NULL,
    origin     VARCHAR NOT NULL,
    split      VARCHAR NOT NULL DEFAULT '',
    PRIMARY KEY (collection, query_id)
);

CREATE TABLE collection_codes (
    collection    VARCHAR NOT NULL,
    position      INTEGER NOT NULL,
    code_id       VARCHAR NOT NULL,
    name          VARCHAR NOT NULL,
    module        VARCHAR NOT NULL,
    first_line    INTEGER NOT NULL,
    last_line     INTEGER NOT NULL,
    documentation VARCHAR NOT NULL,
    parameters    VARCHAR[] NOT NULL,
    origin        VARCHAR NOT NULL,
    source        VARCHAR NOT NULL DEFAULT '',
    language      VARCHAR NOT NULL DEFAULT '',
    licence       VARCHAR NOT NULL DEFAULT '',  -- '': the whole source's
    url           VARCHAR NOT NULL DEFAULT '',
    split         VARCHAR NOT NULL DEFAULT '',
    PRIMARY KEY (collection, code_id)
);

CREATE TABLE collection_sources (        -- of collections put together from several
    collection VARCHAR NOT NULL,
    position   INTEGER NOT NULL,
    name       VARCHAR NOT NULL,
    licence    VARCHAR NOT NULL,
    revision   VARCHAR NOT NULL,
    location   VARCHAR NOT NULL,
    PRIMARY KEY (collection, position)
);

CREATE TABLE source_labels (             -- labels that came with a source
    collection VARCHAR NOT NULL,
    origin     VARCHAR NOT NULL,
    query_id   VARCHAR NOT NULL,
    code_id    VARCHAR NOT NULL,
    relevance  DOUBLE NOT NULL,
    demo       BOOLEAN NOT NULL,
    PRIMARY KEY (collection, origin, query_id, code_id)
);

-- embed: files of vectors, which themselves say whose vectors they have ----------------------------

CREATE TABLE vector_files (
    encoder_key VARCHAR NOT NULL,        -- hash of the encoder's specification
    kind        VARCHAR NOT NULL CHECK (kind IN ('query', 'code')),
    file        VARCHAR NOT NULL,        -- relative to the folder of vectors
    items       INTEGER NOT NULL CHECK (items >= 0),
    dimension   INTEGER,                 -- NULL: written by an older version
    recorded_at TIMESTAMPTZ NOT NULL DEFAULT now(),
    PRIMARY KEY (encoder_key, kind, file)
);

-- candidates --------------------------------------------------------------------------------------

CREATE TABLE searches (
    search_id  VARCHAR PRIMARY KEY,      -- of codes, encoders and top_k, or of a benchmark and pairs
    collection VARCHAR NOT NULL,
    encoders   VARCHAR[] NOT NULL,
    top_k      INTEGER NOT NULL CHECK (top_k >= 1),
    pool       BOOLEAN NOT NULL,         -- whether it adds unjudged results to a benchmark's pool
    created_at TIMESTAMPTZ NOT NULL DEFAULT now()
);

CREATE TABLE candidates (
    search_id  VARCHAR NOT NULL,
    query_id   VARCHAR NOT NULL,
    code_id    VARCHAR NOT NULL,
    rank       INTEGER NOT NULL CHECK (rank >= 1),
    similarity DOUBLE NOT NULL,
    by_encoder JSON NOT NULL,             -- encoder → cosine
    PRIMARY KEY (search_id, query_id, code_id)
);

-- annotate: annotations with their evidence -------------------------------------------------------
--
-- Evidence has no primary keys: to write their index took a second of each commit at 400,000
-- annotations. `infra.store.annotation_writer` alone writes it, and keeps each pair once.

CREATE TABLE recipes (
    recipe_id  VARCHAR PRIMARY KEY,      -- hash of everything that could change a label
    body       JSON NOT NULL,
    demo       BOOLEAN NOT NULL,
    created_at TIMESTAMPTZ NOT NULL DEFAULT now()
);

CREATE TABLE recipe_uses (               -- when a run last used a recipe on a collection's pairs
    collection VARCHAR NOT NULL,
    rounds     VARCHAR[] NOT NULL,       -- recipes of all labelling rounds of the run, in order
    used_at    TIMESTAMPTZ NOT NULL      -- later than of any use before, whatever the clock says
);

CREATE TABLE annotations (
    query_id     VARCHAR NOT NULL,
    code_id      VARCHAR NOT NULL,
    recipe_id    VARCHAR NOT NULL,
    status       VARCHAR NOT NULL CHECK (status IN ('labelled', 'undecided', 'failed')),
    label        TINYINT CHECK (label IN (0, 1)),
    decided_by   VARCHAR,
    path         VARCHAR NOT NULL,       -- the path through Algorithm 1
    reason       VARCHAR NOT NULL,
    demo         BOOLEAN NOT NULL,
    grade        VARCHAR NOT NULL CHECK (
        grade IN ('screened', 'valid_oracle', 'void_oracle', 'ungated', 'undecided')),
    judgements   INTEGER NOT NULL CHECK (judgements >= 0),
    agreeing     INTEGER NOT NULL CHECK (agreeing BETWEEN 0 AND judgements),
    seconds      DOUBLE NOT NULL,
    annotated_at TIMESTAMPTZ NOT NULL DEFAULT now(),
    met          VARCHAR DEFAULT '',     -- what the label depends on: agents met, 'box' if one ran
    tries        INTEGER DEFAULT 1,      -- how often the pair was judged under this recipe
    CHECK ((status = 'labelled') = (label IS NOT NULL))
);

CREATE TABLE llm_calls (
    query_id          VARCHAR NOT NULL,
    code_id           VARCHAR NOT NULL,
    recipe_id         VARCHAR NOT NULL,
    ordinal           INTEGER NOT NULL,
    role              VARCHAR NOT NULL,
    attempt           INTEGER NOT NULL,
    model             VARCHAR NOT NULL,
    prompt_digest     VARCHAR NOT NULL,
    status            VARCHAR NOT NULL,
    reply             VARCHAR NOT NULL,
    error             VARCHAR NOT NULL,
    prompt_tokens     BIGINT,            -- NULL: the provider did not say
    completion_tokens BIGINT,
    cost_usd          DOUBLE,            -- NULL: unknown, which is not 0
    seconds           DOUBLE NOT NULL,
    cached            BOOLEAN NOT NULL
);

CREATE TABLE executions (
    query_id         VARCHAR NOT NULL,
    code_id          VARCHAR NOT NULL,
    recipe_id        VARCHAR NOT NULL,
    ordinal          INTEGER NOT NULL,
    round            INTEGER NOT NULL,
    program          VARCHAR NOT NULL,
    requirements     VARCHAR[] NOT NULL,
    outcome          VARCHAR NOT NULL,
    error_type       VARCHAR NOT NULL,
    message          VARCHAR NOT NULL,
    missing_module   VARCHAR NOT NULL,
    seconds          DOUBLE NOT NULL,
    peak_memory_mb   DOUBLE,
    stdout           VARCHAR NOT NULL,
    stderr           VARCHAR NOT NULL,
    tests_run        INTEGER NOT NULL,
    asserts_executed INTEGER NOT NULL,
    target_calls     INTEGER NOT NULL,
    oracle           JSON,               -- the gates' report; NULL: not checked
    details          JSON                -- outcomes of tests, and repairs; NULL: by an older version
);

-- re-annotation -----------------------------------------------------------------------------------

CREATE TABLE plans (                     -- what each annotation run was to do, and who agreed
    plan_id    VARCHAR PRIMARY KEY,
    collection VARCHAR NOT NULL,
    recipe_id  VARCHAR NOT NULL,
    body       JSON NOT NULL,            -- pairs by reason, tokens, money, minutes, with intervals
    decision   VARCHAR NOT NULL CHECK (
        decision IN ('waiting', 'approved', 'declined', 'unasked')),
    decided_by VARCHAR NOT NULL DEFAULT '',
    planned_at TIMESTAMPTZ NOT NULL DEFAULT now()
);

CREATE TABLE audits (                    -- pairs judged again to see whether labels are stable
    audit_id        VARCHAR PRIMARY KEY,
    collection      VARCHAR NOT NULL,
    recipe_id       VARCHAR NOT NULL,    -- whose labels were audited
    audit_recipe_id VARCHAR NOT NULL,    -- that judged them again
    pairs           INTEGER NOT NULL CHECK (pairs >= 0),
    alpha           DOUBLE,              -- Krippendorff's; NULL: not defined for these labels
    low             DOUBLE,              -- its 95% interval
    high            DOUBLE,
    audited_at      TIMESTAMPTZ NOT NULL DEFAULT now()
);

CREATE TABLE controls (                  -- what was changed while a run went on; the last row holds
    ordinal INTEGER PRIMARY KEY,
    control VARCHAR NOT NULL CHECK (
        control IN ('paused', 'in_flight', 'requests_per_minute', 'budget_usd')),
    value   JSON NOT NULL,               -- null: as the settings have it
    set_by  VARCHAR NOT NULL,
    set_at  TIMESTAMPTZ NOT NULL DEFAULT now()
);

-- generate ----------------------------------------------------------------------------------------

CREATE TABLE generated_codes (           -- codes that a model wrote for queries without a match
    collection VARCHAR NOT NULL,
    query_id   VARCHAR NOT NULL,
    ordinal    INTEGER NOT NULL CHECK (ordinal >= 0),  -- among the answers to the query
    code_id    VARCHAR NOT NULL,
    model      VARCHAR NOT NULL,
    recipe_id  VARCHAR NOT NULL,         -- of the agents that verified it
    status     VARCHAR NOT NULL CHECK (status IN ('verified', 'refused')),
    reason     VARCHAR NOT NULL,
    edited     BOOLEAN NOT NULL,         -- whether a person changed the code
    calls      JSON NOT NULL,            -- the model calls that wrote it
    written_at TIMESTAMPTZ NOT NULL DEFAULT now(),
    PRIMARY KEY (collection, query_id, ordinal)
);

CREATE TABLE confirmations (             -- what people say of these
    collection   VARCHAR NOT NULL,
    query_id     VARCHAR NOT NULL,
    ordinal      INTEGER NOT NULL,
    person       VARCHAR NOT NULL,
    confirmed    BOOLEAN NOT NULL,
    notes        VARCHAR NOT NULL,
    confirmed_at TIMESTAMPTZ NOT NULL DEFAULT now(),
    PRIMARY KEY (collection, query_id, ordinal, person)
);

-- publish and evaluate ----------------------------------------------------------------------------

CREATE TABLE benchmarks (
    benchmark_id VARCHAR PRIMARY KEY,    -- hash of the exported files
    name         VARCHAR NOT NULL,
    collection   VARCHAR NOT NULL,
    label_origin VARCHAR NOT NULL,
    demo         BOOLEAN NOT NULL,
    folder       VARCHAR NOT NULL,
    published_at TIMESTAMPTZ NOT NULL DEFAULT now()
);

CREATE TABLE exports (                   -- what the files of an exported folder were made from
    folder       VARCHAR PRIMARY KEY,
    benchmark_id VARCHAR NOT NULL,
    stamp        VARCHAR NOT NULL,       -- digest of all that the export depends on
    files        VARCHAR NOT NULL        -- digest of the files' sizes and times
);

CREATE TABLE evaluations (
    benchmark_id VARCHAR NOT NULL,
    method       VARCHAR NOT NULL,
    method_key   VARCHAR NOT NULL,       -- hash of the method and of the depth of its rankings
    depth        INTEGER NOT NULL,
    seconds      DOUBLE NOT NULL,
    evaluated_at TIMESTAMPTZ NOT NULL DEFAULT now(),
    PRIMARY KEY (benchmark_id, method_key)
);

CREATE TABLE scores (
    benchmark_id VARCHAR NOT NULL,
    method_key   VARCHAR NOT NULL,
    metric       VARCHAR NOT NULL,       -- with its variant
    query_id     VARCHAR NOT NULL,
    value        DOUBLE NOT NULL,
    PRIMARY KEY (benchmark_id, method_key, metric, query_id)
);

-- estimates of scores without labels, and studies of such estimates ------------------------------

CREATE TABLE estimations (
    estimation_id VARCHAR PRIMARY KEY,   -- hash of all that the figures depend on
    kind          VARCHAR NOT NULL,      -- what the figures are, such as 'estimate'
    train         VARCHAR NOT NULL,      -- name of the training pairs
    test          VARCHAR NOT NULL,      -- name of the queries
    method        VARCHAR NOT NULL,
    method_key    VARCHAR NOT NULL,
    body          JSON NOT NULL,
    computed_at   TIMESTAMPTZ NOT NULL DEFAULT now()
);

-- runs of stages --------------------------------------------------------------------------------

CREATE TABLE stage_runs (
    collection VARCHAR NOT NULL,
    stage      VARCHAR NOT NULL,
    items      BIGINT NOT NULL,          -- items newly processed; runs without any are not stored
    seconds    DOUBLE NOT NULL,
    ended_at   TIMESTAMPTZ NOT NULL DEFAULT now(),
    codes      BIGINT,                   -- that each item was compared with; NULL: none, or unknown
    cores      INTEGER,                  -- of the machine or cluster; NULL: by an older version
    gpus       INTEGER,
    peak_memory_mb DOUBLE                -- of the flow's process until then
);

INSERT INTO annotations VALUES ('q0089966edde1fd91233f1906d60072d5', 'c914fc8daacabfc9ddeee0921f724f8dd', 'b4b196049e132264e1f3', 'labelled', 1, 'arbiter', 'unclear_passed', 'as scripted', false, 'ungated', 1, 1, 0.8451753050030675, '2026-11-22 16:33:22.481814+00', 'arbiter,box,screener,writer', 1);
INSERT INTO annotations VALUES ('q0aaf114029678277a653d791d729ab1a', 'c61f77cc39cb0434608e4109bdab4803d', 'b4b196049e132264e1f3', 'labelled', 0, 'screener', 'clear_non_match', 'as scripted', false, 'screened', 1, 1, 0.1304923339994275, '2026-11-22 16:33:21.258670+00', 'screener', 1);
INSERT INTO annotations VALUES ('q1646cef938eb9cf135487e68058f66bd', 'cccbac7a4592d055759bcfb8d314c19b7', 'b4b196049e132264e1f3', 'failed', NULL, NULL, 'model_unavailable', 'openai/scripted gave no reply in 2 tries (500: litellm.InternalServerError: InternalServerError: OpenAIException - {"error": {"message": "scripted", "type": "scripted"}})', false, 'undecided', 0, 0, 0.23713658100314206, '2026-11-22 16:33:22.481814+00', 'screener', 1);
INSERT INTO annotations VALUES ('q8c467e4eb08c933af9d79f603b802ca1', 'cd3fd922ce8887e21541003b59920fed0', 'b4b196049e132264e1f3', 'labelled', 1, 'screener', 'clear_match', 'as scripted', false, 'screened', 1, 1, 2.946593277003558, '2026-11-22 16:33:21.258670+00', 'screener', 1);
INSERT INTO annotations VALUES ('qa1f6847f29316a189e181bafe05c452a', 'c6ccfb8cb753315836bd9c7037af4d506', 'b4b196049e132264e1f3', 'undecided', NULL, NULL, 'unreadable_reply', 'openai/scripted as screener gave no readable reply in 2 attempts: the reply is no JSON object with the fields reason, verdict', false, 'undecided', 0, 0, 0.1356685339997057, '2026-11-22 16:33:21.258670+00', 'screener', 1);
INSERT INTO annotations VALUES ('qc8e97ae16af2fbbaca93256efb52cfa7', 'c2fa36acfda818a96f6eddda0543bb9cd', 'b4b196049e132264e1f3', 'labelled', 0, 'arbiter', 'unclear_failed_assertion', 'as scripted', false, 'ungated', 1, 1, 0.9189870190020883, '2026-11-22 16:33:22.481814+00', 'arbiter,box,screener,writer', 1);
INSERT INTO audits VALUES ('a', 'jsonl', 'b4b196049e132264e1f3', 'b4b196049e132264e1f3', 6, 0.9, 0.8, 1.0, '2026-11-21 10:00:00.000000+00');
INSERT INTO benchmarks VALUES ('9bb5119a97c846d15337', 'jsonl-agents', 'jsonl', 'agents:b4b196049e132264e1f3', false, '/data/out/jsonl-agents', '2026-11-22 16:33:23.537719+00');
INSERT INTO benchmarks VALUES ('f538dc2e436fe24426a6', 'jsonl', 'jsonl', 'people:jsonl', false, '/data/out/jsonl', '2026-11-22 16:33:23.064170+00');
INSERT INTO candidates VALUES ('64ed6f1d0751396addfb', 'q0089966edde1fd91233f1906d60072d5', 'c914fc8daacabfc9ddeee0921f724f8dd', 1, 0.8230158772974911, '{"minilm":0.8230158772974911}');
INSERT INTO candidates VALUES ('64ed6f1d0751396addfb', 'q0aaf114029678277a653d791d729ab1a', 'c61f77cc39cb0434608e4109bdab4803d', 1, 0.7624569116599886, '{"minilm":0.7624569116599886}');
INSERT INTO candidates VALUES ('64ed6f1d0751396addfb', 'q1646cef938eb9cf135487e68058f66bd', 'cccbac7a4592d055759bcfb8d314c19b7', 1, 0.8059125534084506, '{"minilm":0.8059125534084506}');
INSERT INTO candidates VALUES ('64ed6f1d0751396addfb', 'q8c467e4eb08c933af9d79f603b802ca1', 'cd3fd922ce8887e21541003b59920fed0', 1, 0.8076313957767759, '{"minilm":0.8076313957767759}');
INSERT INTO candidates VALUES ('64ed6f1d0751396addfb', 'qa1f6847f29316a189e181bafe05c452a', 'c6ccfb8cb753315836bd9c7037af4d506', 1, 0.8099069339751459, '{"minilm":0.8099069339751459}');
INSERT INTO candidates VALUES ('64ed6f1d0751396addfb', 'qc8e97ae16af2fbbaca93256efb52cfa7', 'c2fa36acfda818a96f6eddda0543bb9cd', 1, 0.7038142860275887, '{"minilm":0.7038142860275887}');
INSERT INTO candidates VALUES ('pool', 'q8c467e4eb08c933af9d79f603b802ca1', 'c2fa36acfda818a96f6eddda0543bb9cd', 1, 0.5, '{"bm25": 0.5}');
INSERT INTO codes VALUES ('c2fa36acfda818a96f6eddda0543bb9cd', 'def fahrenheit_to_celsius(degrees):
    """Temperature conversion."""
    return degrees - 32');
INSERT INTO codes VALUES ('c61f77cc39cb0434608e4109bdab4803d', 'def multiply_matrices(a, b):
    """Multiply two matrices... or rather one."""
    return a');
INSERT INTO codes VALUES ('c6ccfb8cb753315836bd9c7037af4d506', 'def parse_date(text):
    """Parse a date from text."""
    return date(text)');
INSERT INTO codes VALUES ('c914fc8daacabfc9ddeee0921f724f8dd', 'def sum_of_squares(numbers):
    """Sum the squares of a list of numbers."""
    return sum(n * n for n in numbers)');
INSERT INTO codes VALUES ('cccbac7a4592d055759bcfb8d314c19b7', 'def flatten(nested):
    """Flatten a nested list."""
    return [item for part in nested for item in part]');
INSERT INTO codes VALUES ('cd3fd922ce8887e21541003b59920fed0', 'def reverse_string(text):
    """Reverse the characters of a string."""
    return text[::-1]');
INSERT INTO collection_codes VALUES ('jsonl', 0, 'cd3fd922ce8887e21541003b59920fed0', 'reverse_string', '', 0, 0, 'Reverse the characters of a string.', ['text'], 'codes.jsonl:1', '', '', '', '', '');
INSERT INTO collection_codes VALUES ('jsonl', 1, 'c61f77cc39cb0434608e4109bdab4803d', 'multiply_matrices', '', 0, 0, 'Multiply two matrices... or rather one.', ['a', 'b'], 'codes.jsonl:2', '', '', '', '', '');
INSERT INTO collection_codes VALUES ('jsonl', 2, 'c914fc8daacabfc9ddeee0921f724f8dd', 'sum_of_squares', '', 0, 0, 'Sum the squares of a list of numbers.', ['numbers'], 'codes.jsonl:3', '', '', '', '', '');
INSERT INTO collection_codes VALUES ('jsonl', 3, 'c2fa36acfda818a96f6eddda0543bb9cd', 'fahrenheit_to_celsius', '', 0, 0, 'Temperature conversion.', ['degrees'], 'codes.jsonl:4', '', '', '', '', '');
INSERT INTO collection_codes VALUES ('jsonl', 4, 'c6ccfb8cb753315836bd9c7037af4d506', 'parse_date', '', 0, 0, 'Parse a date from text.', ['text'], 'codes.jsonl:5', '', '', '', '', '');
INSERT INTO collection_codes VALUES ('jsonl', 5, 'cccbac7a4592d055759bcfb8d314c19b7', 'flatten', '', 0, 0, 'Flatten a nested list.', ['nested'], 'codes.jsonl:6', '', '', '', '', '');
INSERT INTO collection_inputs VALUES ('jsonl', '93a2f1a350365ac36adc', '7b18fc7e0244a090e0bb', 6, 6, 6);
INSERT INTO collection_queries VALUES ('jsonl', 0, 'q8c467e4eb08c933af9d79f603b802ca1', 'queries.jsonl:1', '');
INSERT INTO collection_queries VALUES ('jsonl', 1, 'q0aaf114029678277a653d791d729ab1a', 'queries.jsonl:2', '');
INSERT INTO collection_queries VALUES ('jsonl', 2, 'q0089966edde1fd91233f1906d60072d5', 'queries.jsonl:3', '');
INSERT INTO collection_queries VALUES ('jsonl', 3, 'qc8e97ae16af2fbbaca93256efb52cfa7', 'queries.jsonl:4', '');
INSERT INTO collection_queries VALUES ('jsonl', 4, 'qa1f6847f29316a189e181bafe05c452a', 'queries.jsonl:5', '');
INSERT INTO collection_queries VALUES ('jsonl', 5, 'q1646cef938eb9cf135487e68058f66bd', 'queries.jsonl:6', '');
INSERT INTO collection_sources VALUES ('jsonl', 0, 'jsonl', 'MIT', '1', '/data/source');
INSERT INTO collections VALUES ('jsonl', '698c3e2b177427f1734d', 'jsonl', 'unknown', 'unknown', '/data/source', true, '2026-11-22 16:33:00.024943+00');
INSERT INTO confirmations VALUES ('jsonl', 'q8c467e4eb08c933af9d79f603b802ca1', 0, 'first reader', true, 'it''s right', '2026-11-21 11:00:00.000000+00');
INSERT INTO controls VALUES (0, 'in_flight', '8', 'first reader', '2026-11-21 10:00:00.000000+00');
INSERT INTO dropped VALUES ('jsonl', 'too short', 3);
INSERT INTO estimations VALUES ('e', 'estimate', 'train', 'test', 'minilm', 'key', '{"mean": 0.5}', '2026-11-21 12:00:00.000000+00');
INSERT INTO evaluations VALUES ('9bb5119a97c846d15337', 'bag-of-words', '93e829ddfc1bf09c4815', 10, 0.004022413995699026, '2026-11-22 16:33:25.221011+00');
INSERT INTO evaluations VALUES ('9bb5119a97c846d15337', 'bm25', '78e0d33f8c3a784bfbaf', 10, 0.004874121004831977, '2026-11-22 16:33:25.353693+00');
INSERT INTO evaluations VALUES ('9bb5119a97c846d15337', 'bow-sklearn', 'b01c0297ca5c118c375c', 10, 0.004090325004654005, '2026-11-22 16:33:25.490977+00');
INSERT INTO evaluations VALUES ('9bb5119a97c846d15337', 'lucene', '0b20dd7b401936f2ab4a', 10, 0.004891486998531036, '2026-11-22 16:33:25.637822+00');
INSERT INTO evaluations VALUES ('9bb5119a97c846d15337', 'minilm', '5704800a8f9aedfa3d45', 10, 0.06850231499993242, '2026-11-22 16:33:26.124440+00');
INSERT INTO evaluations VALUES ('9bb5119a97c846d15337', 'tf-idf', 'b1fc77aa6fbce7d0df4f', 10, 0.0058630619969335385, '2026-11-22 16:33:25.771816+00');
INSERT INTO evaluations VALUES ('f538dc2e436fe24426a6', 'bag-of-words', '93e829ddfc1bf09c4815', 10, 0.07996500800072681, '2026-11-22 16:33:23.843487+00');
INSERT INTO evaluations VALUES ('f538dc2e436fe24426a6', 'bm25', '78e0d33f8c3a784bfbaf', 10, 0.00975605400162749, '2026-11-22 16:33:24.047004+00');
INSERT INTO evaluations VALUES ('f538dc2e436fe24426a6', 'bow-sklearn', 'b01c0297ca5c118c375c', 10, 0.01158981100161327, '2026-11-22 16:33:24.318420+00');
INSERT INTO evaluations VALUES ('f538dc2e436fe24426a6', 'lucene', '0b20dd7b401936f2ab4a', 10, 0.03996155799541157, '2026-11-22 16:33:24.554250+00');
INSERT INTO evaluations VALUES ('f538dc2e436fe24426a6', 'minilm', '5704800a8f9aedfa3d45', 10, 0.0643086569980369, '2026-11-22 16:33:25.065307+00');
INSERT INTO evaluations VALUES ('f538dc2e436fe24426a6', 'tf-idf', 'b1fc77aa6fbce7d0df4f', 10, 0.011303601000690833, '2026-11-22 16:33:24.735560+00');
INSERT INTO executions VALUES ('q0089966edde1fd91233f1906d60072d5', 'c914fc8daacabfc9ddeee0921f724f8dd', 'b4b196049e132264e1f3', 0, 0, 'from target import sum_of_squares

def test_it():
    assert sum_of_squares([1, 2]) == 5
', [], 'passed', '', '', '', 0.0066596570031833835, 12.26171875, '', '', 1, 1, 1, NULL, '{"tests": [{"name": "test_it", "outcome": "passed"}], "repairs": []}');
INSERT INTO executions VALUES ('qc8e97ae16af2fbbaca93256efb52cfa7', 'c2fa36acfda818a96f6eddda0543bb9cd', 'b4b196049e132264e1f3', 0, 0, 'from target import fahrenheit_to_celsius

def test_it():
    assert fahrenheit_to_celsius(212) == 100
', [], 'assertion_failed', 'AssertionError', 'AssertionError (line 4: assert fahrenheit_to_celsius(212) == 100)', '', 0.021778749003715347, 12.33984375, '', 'Traceback (most recent call last):
  File "program.py", line 4, in test_it
    assert fahrenheit_to_celsius(212) == 100
           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
AssertionError
', 1, 1, 1, NULL, '{"tests": [{"name": "test_it", "outcome": "assertion_failed", "error_type": "AssertionError", "message": "AssertionError (line 4: assert fahrenheit_to_celsius(212) == 100)", "traceback": "Traceback (most recent call last):\n  File \"program.py\", line 4, in test_it\n    assert fahrenheit_to_celsius(212) == 100\n           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^\nAssertionError\n"}], "repairs": []}');
INSERT INTO exports VALUES ('/data/out/jsonl', 'f538dc2e436fe24426a6', '94b3a720a30572d6e305', '049bbf3d0588e1cb89b2');
INSERT INTO exports VALUES ('/data/out/jsonl-agents', '9bb5119a97c846d15337', '7895cf7474a79aee245d', 'f2dc2b6c9178f88ed7b1');
INSERT INTO generated_codes VALUES ('jsonl', 'q8c467e4eb08c933af9d79f603b802ca1', 0, 'cd3fd922ce8887e21541003b59920fed0', 'openai/scripted', 'b4b196049e132264e1f3', 'verified', 'as scripted', false, '[]', '2026-11-21 10:00:00.000000+00');
INSERT INTO llm_calls VALUES ('q0089966edde1fd91233f1906d60072d5', 'c914fc8daacabfc9ddeee0921f724f8dd', 'b4b196049e132264e1f3', 0, 'screener', 1, 'openai/scripted', 'a97902812db72fd92b6c', 'ok', '{"reason": "as scripted", "verdict": "unclear"}', '', 167, 5, NULL, 0.008663978995173238, false);
INSERT INTO llm_calls VALUES ('q0089966edde1fd91233f1906d60072d5', 'c914fc8daacabfc9ddeee0921f724f8dd', 'b4b196049e132264e1f3', 1, 'writer', 1, 'openai/scripted', 'a6084f640e89ff0c9a6d', 'ok', '{"reading": "as scripted", "program": "from target import sum_of_squares\n\ndef test_it():\n    assert sum_of_squares([1, 2]) == 5\n"}', '', 293, 14, NULL, 0.0033083110029110685, false);
INSERT INTO llm_calls VALUES ('q0089966edde1fd91233f1906d60072d5', 'c914fc8daacabfc9ddeee0921f724f8dd', 'b4b196049e132264e1f3', 2, 'arbiter', 1, 'openai/scripted', 'e1a9de8eafb4ef9d69bd', 'ok', '{"reason": "as scripted", "verdict": "answers"}', '', 327, 5, NULL, 0.0033109350042650476, false);
INSERT INTO llm_calls VALUES ('q0aaf114029678277a653d791d729ab1a', 'c61f77cc39cb0434608e4109bdab4803d', 'b4b196049e132264e1f3', 0, 'screener', 1, 'openai/scripted', 'fa88ea048fd596c2c962', 'ok', '{"reason": "as scripted", "verdict": "clear_non_match"}', '', 154, 5, NULL, 0.00933103200077312, false);
INSERT INTO llm_calls VALUES ('q1646cef938eb9cf135487e68058f66bd', 'cccbac7a4592d055759bcfb8d314c19b7', 'b4b196049e132264e1f3', 0, 'screener', 1, 'openai/scripted', '7ada5be93f6250c4c313', 'unavailable', '', 'litellm.InternalServerError: InternalServerError: OpenAIException - {"error": {"message": "scripted", "type": "scripted"}}', NULL, NULL, NULL, 0.0, false);
INSERT INTO llm_calls VALUES ('q8c467e4eb08c933af9d79f603b802ca1', 'cd3fd922ce8887e21541003b59920fed0', 'b4b196049e132264e1f3', 0, 'screener', 1, 'openai/scripted', '5d6acaaca8d87ed9d37f', 'ok', '{"reason": "as scripted", "verdict": "clear_match"}', '', 156, 5, NULL, 0.014636443003837485, false);
INSERT INTO llm_calls VALUES ('qa1f6847f29316a189e181bafe05c452a', 'c6ccfb8cb753315836bd9c7037af4d506', 'b4b196049e132264e1f3', 0, 'screener', 1, 'openai/scripted', '5cb2200631a603a73169', 'unreadable', 'I would rather talk about the weather.', 'the reply is no JSON object with the fields reason, verdict', 154, 7, NULL, 0.0075888390056206845, false);
INSERT INTO llm_calls VALUES ('qa1f6847f29316a189e181bafe05c452a', 'c6ccfb8cb753315836bd9c7037af4d506', 'b4b196049e132264e1f3', 1, 'screener', 2, 'openai/scripted', '9194584548a020beaa9c', 'unreadable', 'I would rather talk about the weather.', 'the reply is no JSON object with the fields reason, verdict', 185, 7, NULL, 0.0020184319946565665, false);
INSERT INTO llm_calls VALUES ('qc8e97ae16af2fbbaca93256efb52cfa7', 'c2fa36acfda818a96f6eddda0543bb9cd', 'b4b196049e132264e1f3', 0, 'screener', 1, 'openai/scripted', 'd901a8920972dc0b3a13', 'ok', '{"reason": "as scripted", "verdict": "unclear"}', '', 152, 5, NULL, 0.008115763004752807, false);
INSERT INTO llm_calls VALUES ('qc8e97ae16af2fbbaca93256efb52cfa7', 'c2fa36acfda818a96f6eddda0543bb9cd', 'b4b196049e132264e1f3', 1, 'writer', 1, 'openai/scripted', '06a5d11595a371da1a75', 'ok', '{"reading": "as scripted", "program": "from target import fahrenheit_to_celsius\n\ndef test_it():\n    assert fahrenheit_to_celsius(212) == 100\n"}', '', 278, 13, NULL, 0.0025367639973410405, false);
INSERT INTO llm_calls VALUES ('qc8e97ae16af2fbbaca93256efb52cfa7', 'c2fa36acfda818a96f6eddda0543bb9cd', 'b4b196049e132264e1f3', 2, 'arbiter', 1, 'openai/scripted', '3022330dc99462e518ca', 'ok', '{"reason": "as scripted", "verdict": "does_not_answer"}', '', 360, 5, NULL, 0.020567576997564174, false);
INSERT INTO meta VALUES (10, 'b2e5abf4f9db4f3f852f88fcc34c6ae3');
INSERT INTO plans VALUES ('p', 'jsonl', 'b4b196049e132264e1f3', '{"pairs": 6}', 'approved', 'first reader', '2026-11-21 10:00:00.000000+00');
INSERT INTO queries VALUES ('q0089966edde1fd91233f1906d60072d5', 'sum of the squares of a list of numbers');
INSERT INTO queries VALUES ('q0aaf114029678277a653d791d729ab1a', 'multiply two matrices');
INSERT INTO queries VALUES ('q1646cef938eb9cf135487e68058f66bd', 'flatten a nested list');
INSERT INTO queries VALUES ('q8c467e4eb08c933af9d79f603b802ca1', 'reverse the characters of a string');
INSERT INTO queries VALUES ('qa1f6847f29316a189e181bafe05c452a', 'parse a date from text');
INSERT INTO queries VALUES ('qc8e97ae16af2fbbaca93256efb52cfa7', 'fahrenheit to celsius temperature');
INSERT INTO recipe_uses VALUES ('jsonl', ['b4b196049e132264e1f3'], '2026-11-22 16:33:12.384231+00');
INSERT INTO recipes VALUES ('b4b196049e132264e1f3', '{"algorithm": "cosqa-plus-5", "configuration": "paper", "gates": null, "limits": {"command_timeout_s": 30.0, "cpus": 1.0, "memory_mb": 512, "output_kb": 64, "processes": 64, "runtime": null, "timeout_s": 10.0, "tmp_mb": 64}, "max_try_time": 2, "model": {"max_code_characters": 12000, "max_field_characters": null, "max_tokens": 2048, "model": "openai/scripted", "temperature": 0.0}, "model_file": null, "prompts": {"arbiter": "add61ba1f7356236fc55", "command_fixer": "bc43b219a1ed7df1d5af", "screener": "ecdf76a670f8a0dee2b6", "writer": "dc671d490b3ac83d6a34"}, "sandbox": "Docker 20.10.24+dfsg1, image cosqa-sandbox:3 sha256:4bb423b4f4befb1f55bb47b21005e5a84cd44472a10816b4fedf623df0c994c7", "scaffolding": false}', false, '2026-11-22 16:33:12.384230+00');
INSERT INTO scores VALUES ('9bb5119a97c846d15337', '0b20dd7b401936f2ab4a', 'Answered@5', 'q0089966edde1fd91233f', 1.0);
INSERT INTO scores VALUES ('9bb5119a97c846d15337', '0b20dd7b401936f2ab4a', 'Answered@5', 'q8c467e4eb08c933af9d7', 1.0);
INSERT INTO scores VALUES ('9bb5119a97c846d15337', '0b20dd7b401936f2ab4a', 'MAP', 'q0089966edde1fd91233f', 1.0);
INSERT INTO scores VALUES ('9bb5119a97c846d15337', '0b20dd7b401936f2ab4a', 'MAP', 'q8c467e4eb08c933af9d7', 1.0);
INSERT INTO scores VALUES ('9bb5119a97c846d15337', '0b20dd7b401936f2ab4a', 'MMRR', 'q0089966edde1fd91233f', 1.0);
INSERT INTO scores VALUES ('9bb5119a97c846d15337', '0b20dd7b401936f2ab4a', 'MMRR', 'q8c467e4eb08c933af9d7', 1.0);
INSERT INTO scores VALUES ('9bb5119a97c846d15337', '0b20dd7b401936f2ab4a', 'MRR', 'q0089966edde1fd91233f', 1.0);
INSERT INTO scores VALUES ('9bb5119a97c846d15337', '0b20dd7b401936f2ab4a', 'MRR', 'q8c467e4eb08c933af9d7', 1.0);
INSERT INTO scores VALUES ('9bb5119a97c846d15337', '0b20dd7b401936f2ab4a', 'NDCG@10', 'q0089966edde1fd91233f', 1.0);
INSERT INTO scores VALUES ('9bb5119a97c846d15337', '0b20dd7b401936f2ab4a', 'NDCG@10', 'q8c467e4eb08c933af9d7', 1.0);
INSERT INTO scores VALUES ('9bb5119a97c846d15337', '0b20dd7b401936f2ab4a', 'Recall@1', 'q0089966edde1fd91233f', 1.0);
INSERT INTO scores VALUES ('9bb5119a97c846d15337', '0b20dd7b401936f2ab4a', 'Recall@1', 'q8c467e4eb08c933af9d7', 1.0);
INSERT INTO searches VALUES ('64ed6f1d0751396addfb', 'jsonl', ['minilm'], 1, false, '2026-11-22 16:33:12.083264+00');
INSERT INTO searches VALUES ('pool', 'jsonl', ['bm25'], 10, true, '2026-11-21 10:00:00.000000+00');
INSERT INTO source_labels VALUES ('jsonl', 'people:jsonl', 'q0089966edde1fd91233f1906d60072d5', 'c914fc8daacabfc9ddeee0921f724f8dd', 1.0, false);
INSERT INTO source_labels VALUES ('jsonl', 'people:jsonl', 'q0aaf114029678277a653d791d729ab1a', 'c61f77cc39cb0434608e4109bdab4803d', 1.0, false);
INSERT INTO source_labels VALUES ('jsonl', 'people:jsonl', 'q1646cef938eb9cf135487e68058f66bd', 'cccbac7a4592d055759bcfb8d314c19b7', 1.0, false);
INSERT INTO source_labels VALUES ('jsonl', 'people:jsonl', 'q8c467e4eb08c933af9d79f603b802ca1', 'cd3fd922ce8887e21541003b59920fed0', 1.0, false);
INSERT INTO source_labels VALUES ('jsonl', 'people:jsonl', 'qa1f6847f29316a189e181bafe05c452a', 'c6ccfb8cb753315836bd9c7037af4d506', 1.0, false);
INSERT INTO source_labels VALUES ('jsonl', 'people:jsonl', 'qc8e97ae16af2fbbaca93256efb52cfa7', 'c2fa36acfda818a96f6eddda0543bb9cd', 1.0, false);
INSERT INTO stage_runs VALUES ('jsonl', 'annotate', 6, 9.758338749998074, '2026-11-22 16:33:22.522428+00', NULL, 2, 0, 317.243392);
INSERT INTO stage_runs VALUES ('jsonl', 'collect', 12, 0.09640803499496542, '2026-11-22 16:33:00.120642+00', NULL, 2, 0, 276.00896);
INSERT INTO stage_runs VALUES ('jsonl', 'embed with minilm', 12, 8.891610598002444, '2026-11-22 16:33:11.914927+00', NULL, 2, 0, 308.895744);
INSERT INTO stage_runs VALUES ('jsonl', 'evaluate bag-of-words', 6, 0.004022413995699026, '2026-11-22 16:33:25.193540+00', 6, 2, 0, 352.260096);
INSERT INTO stage_runs VALUES ('jsonl', 'evaluate bag-of-words', 6, 0.07996500800072681, '2026-11-22 16:33:23.815512+00', 6, 2, 0, 332.980224);
INSERT INTO stage_runs VALUES ('jsonl', 'evaluate bm25', 6, 0.004874121004831977, '2026-11-22 16:33:25.326311+00', 6, 2, 0, 352.587776);
INSERT INTO stage_runs VALUES ('jsonl', 'evaluate bm25', 6, 0.00975605400162749, '2026-11-22 16:33:24.004004+00', 6, 2, 0, 345.010176);
INSERT INTO stage_runs VALUES ('jsonl', 'evaluate bow-sklearn', 6, 0.004090325004654005, '2026-11-22 16:33:25.462915+00', 6, 2, 0, 352.587776);
INSERT INTO stage_runs VALUES ('jsonl', 'evaluate bow-sklearn', 6, 0.01158981100161327, '2026-11-22 16:33:24.264137+00', 6, 2, 0, 350.752768);
INSERT INTO stage_runs VALUES ('jsonl', 'evaluate lucene', 6, 0.004891486998531036, '2026-11-22 16:33:25.611071+00', 6, 2, 0, 354.05824);
INSERT INTO stage_runs VALUES ('jsonl', 'evaluate lucene', 6, 0.03996155799541157, '2026-11-22 16:33:24.507918+00', 6, 2, 0, 350.752768);
INSERT INTO stage_runs VALUES ('jsonl', 'evaluate minilm', 6, 0.0643086569980369, '2026-11-22 16:33:25.037004+00', 6, 2, 0, 352.03072);
INSERT INTO vector_files VALUES ('eff971f48e7b2f367d9e', 'code', 'minilm-eff971f48e7b2f367d9e/code-1276c7d8bc6290738a01.arrow', 6, 384, '2026-11-22 16:33:11.870480+00');
INSERT INTO vector_files VALUES ('eff971f48e7b2f367d9e', 'query', 'minilm-eff971f48e7b2f367d9e/query-f457fb9f52e344478212.arrow', 6, 384, '2026-11-22 16:33:11.271494+00');
