-- The artifact store's one schema. A stage owns its tables and reads only those above its own.
--
-- There are no foreign keys: DuckDB checks them so eagerly that a collection could not be replaced
-- inside one transaction. Keys and CHECKs hold, and every stage writes parents before children.

CREATE TABLE meta (
    schema_version INTEGER NOT NULL,
    store_id       VARCHAR NOT NULL
);

-- collect: what went in ---------------------------------------------------------------------------

CREATE TABLE collections (
    collection   VARCHAR PRIMARY KEY,
    fingerprint  VARCHAR NOT NULL,       -- of everything that the source read
    source       VARCHAR NOT NULL,
    licence      VARCHAR NOT NULL,
    revision     VARCHAR NOT NULL,
    location     VARCHAR NOT NULL,
    for_agents   BOOLEAN NOT NULL,       -- whether its pairs are to be judged
    collected_at TIMESTAMPTZ NOT NULL DEFAULT now()
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
    PRIMARY KEY (collection, code_id)
);

CREATE TABLE source_labels (             -- labels that came with a source, by people or by its form
    collection VARCHAR NOT NULL,
    origin     VARCHAR NOT NULL,
    query_id   VARCHAR NOT NULL,
    code_id    VARCHAR NOT NULL,
    relevance  DOUBLE NOT NULL,
    demo       BOOLEAN NOT NULL,
    PRIMARY KEY (collection, origin, query_id, code_id)
);

-- embed: vectors live in Parquet files; the store knows which file holds what ------------------------

CREATE TABLE vectors (
    encoder_key VARCHAR NOT NULL,        -- hash of the encoder's specification
    kind        VARCHAR NOT NULL CHECK (kind IN ('query', 'code')),
    item_id     VARCHAR NOT NULL,
    file        VARCHAR NOT NULL,        -- relative to the folder of vectors
    PRIMARY KEY (encoder_key, kind, item_id)
);

-- candidates --------------------------------------------------------------------------------------

CREATE TABLE searches (
    search_id  VARCHAR PRIMARY KEY,      -- hash of the codes, the encoders' keys and top_k
    collection VARCHAR NOT NULL,
    encoders   VARCHAR[] NOT NULL,
    top_k      INTEGER NOT NULL CHECK (top_k >= 1),
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

-- annotate: verdicts with their evidence ----------------------------------------------------------

CREATE TABLE recipes (
    recipe_id  VARCHAR PRIMARY KEY,      -- hash of everything that could change a label
    body       JSON NOT NULL,
    demo       BOOLEAN NOT NULL,
    created_at TIMESTAMPTZ NOT NULL DEFAULT now()
);

CREATE TABLE annotations (
    query_id     VARCHAR NOT NULL,
    code_id      VARCHAR NOT NULL,
    recipe_id    VARCHAR NOT NULL,
    status       VARCHAR NOT NULL CHECK (status IN ('labelled', 'undecided', 'failed')),
    label        TINYINT CHECK (label IN (0, 1)),
    decided_by   VARCHAR,
    path         VARCHAR NOT NULL,       -- the way through Algorithm 1
    reason       VARCHAR NOT NULL,
    demo         BOOLEAN NOT NULL,
    grade        VARCHAR NOT NULL CHECK (
        grade IN ('screened', 'valid_oracle', 'void_oracle', 'ungated', 'undecided')),
    judgements   INTEGER NOT NULL CHECK (judgements >= 0),
    agreeing     INTEGER NOT NULL CHECK (agreeing BETWEEN 0 AND judgements),
    seconds      DOUBLE NOT NULL,
    annotated_at TIMESTAMPTZ NOT NULL DEFAULT now(),
    PRIMARY KEY (query_id, code_id, recipe_id),
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
    cached            BOOLEAN NOT NULL,
    PRIMARY KEY (query_id, code_id, recipe_id, ordinal)
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
    oracle           JSON,               -- what the gates found; NULL: none inspected it
    PRIMARY KEY (query_id, code_id, recipe_id, ordinal)
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

-- what ran ------------------------------------------------------------------------------------------

CREATE TABLE stage_runs (
    collection VARCHAR NOT NULL,
    stage      VARCHAR NOT NULL,
    items      BIGINT NOT NULL,          -- pieces of new work done; runs without any are not kept
    seconds    DOUBLE NOT NULL,
    ended_at   TIMESTAMPTZ NOT NULL DEFAULT now()
);

-- rows --

INSERT INTO annotations VALUES ('q0089966edde1fd91233f', 'c914fc8daacabfc9ddeee', 'b3940b36ecf874b06ab5', 'labelled', 1, 'arbiter', 'unclear_passed', 'as scripted', false, 'ungated', 1, 1, 3.610714286005532, '2026-11-22 16:35:06.248171+00');
INSERT INTO annotations VALUES ('q0aaf114029678277a653', 'c61f77cc39cb0434608e4', 'b3940b36ecf874b06ab5', 'labelled', 0, 'screener', 'clear_non_match', 'as scripted', false, 'screened', 1, 1, 2.7957159139987198, '2026-11-22 16:35:05.054888+00');
INSERT INTO annotations VALUES ('q1646cef938eb9cf13548', 'cccbac7a4592d055759bc', 'b3940b36ecf874b06ab5', 'failed', NULL, NULL, 'model_unavailable', 'openai/scripted gave no reply in 2 tries (500: litellm.InternalServerError: InternalServerError: OpenAIException - scripted)', false, 'undecided', 0, 0, 0.23310687099728966, '2026-11-22 16:35:05.637096+00');
INSERT INTO annotations VALUES ('q8c467e4eb08c933af9d7', 'cd3fd922ce8887e215410', 'b3940b36ecf874b06ab5', 'labelled', 1, 'screener', 'clear_match', 'as scripted', false, 'screened', 1, 1, 2.7904815470028552, '2026-11-22 16:35:05.054888+00');
INSERT INTO annotations VALUES ('qa1f6847f29316a189e18', 'c6ccfb8cb753315836bd9', 'b3940b36ecf874b06ab5', 'undecided', NULL, NULL, 'unreadable_reply', 'openai/scripted as screener gave no readable reply in 2 attempts: the reply is no JSON object with the fields reason, verdict', false, 'undecided', 0, 0, 0.1483134149966645, '2026-11-22 16:35:05.637096+00');
INSERT INTO annotations VALUES ('qc8e97ae16af2fbbaca93', 'c2fa36acfda818a96f6ed', 'b3940b36ecf874b06ab5', 'labelled', 0, 'arbiter', 'unclear_failed_assertion', 'as scripted', false, 'ungated', 1, 1, 3.5754104270017706, '2026-11-22 16:35:06.248171+00');
INSERT INTO benchmarks VALUES ('2fcc7b6c5024f27fe4eb', 'jsonl', 'jsonl', 'people:jsonl', false, '/data/out/jsonl', '2026-11-22 16:35:10.159508+00');
INSERT INTO benchmarks VALUES ('aeb26d9654457a36f10c', 'jsonl-agents', 'jsonl', 'agents:b3940b36ecf874b06ab5', false, '/data/out/jsonl-agents', '2026-11-22 16:35:10.510815+00');
INSERT INTO candidates VALUES ('64ed6f1d0751396addfb', 'q0089966edde1fd91233f', 'c914fc8daacabfc9ddeee', 1, 0.8230158432351995, '{"minilm": 0.8230158432351995}');
INSERT INTO candidates VALUES ('64ed6f1d0751396addfb', 'q0aaf114029678277a653', 'c61f77cc39cb0434608e4', 1, 0.7624570171304328, '{"minilm": 0.7624570171304328}');
INSERT INTO candidates VALUES ('64ed6f1d0751396addfb', 'q1646cef938eb9cf13548', 'cccbac7a4592d055759bc', 1, 0.8059124618949567, '{"minilm": 0.8059124618949567}');
INSERT INTO candidates VALUES ('64ed6f1d0751396addfb', 'q8c467e4eb08c933af9d7', 'cd3fd922ce8887e215410', 1, 0.807631420928996, '{"minilm": 0.807631420928996}');
INSERT INTO candidates VALUES ('64ed6f1d0751396addfb', 'qa1f6847f29316a189e18', 'c6ccfb8cb753315836bd9', 1, 0.8099067781241748, '{"minilm": 0.8099067781241748}');
INSERT INTO candidates VALUES ('64ed6f1d0751396addfb', 'qc8e97ae16af2fbbaca93', 'c2fa36acfda818a96f6ed', 1, 0.7038142955221023, '{"minilm": 0.7038142955221023}');
INSERT INTO codes VALUES ('c2fa36acfda818a96f6ed', 'def fahrenheit_to_celsius(degrees):
    """Temperature conversion."""
    return degrees - 32');
INSERT INTO codes VALUES ('c61f77cc39cb0434608e4', 'def multiply_matrices(a, b):
    """Multiply two matrices... or rather one."""
    return a');
INSERT INTO codes VALUES ('c6ccfb8cb753315836bd9', 'def parse_date(text):
    """Parse a date from text."""
    return date(text)');
INSERT INTO codes VALUES ('c914fc8daacabfc9ddeee', 'def sum_of_squares(numbers):
    """Sum the squares of a list of numbers."""
    return sum(n * n for n in numbers)');
INSERT INTO codes VALUES ('cccbac7a4592d055759bc', 'def flatten(nested):
    """Flatten a nested list."""
    return [item for part in nested for item in part]');
INSERT INTO codes VALUES ('cd3fd922ce8887e215410', 'def reverse_string(text):
    """Reverse the characters of a string."""
    return text[::-1]');
INSERT INTO collections VALUES ('jsonl', '84c039e912d41092ef8c', 'jsonl', 'unknown', 'unknown', '/data/source', true, '2026-11-22 16:34:49.773582+00');
INSERT INTO collection_codes VALUES ('jsonl', 0, 'cd3fd922ce8887e215410', 'reverse_string', '', 0, 0, 'Reverse the characters of a string.', ['text'], 'codes.jsonl:1');
INSERT INTO collection_codes VALUES ('jsonl', 1, 'c61f77cc39cb0434608e4', 'multiply_matrices', '', 0, 0, 'Multiply two matrices... or rather one.', ['a', 'b'], 'codes.jsonl:2');
INSERT INTO collection_codes VALUES ('jsonl', 2, 'c914fc8daacabfc9ddeee', 'sum_of_squares', '', 0, 0, 'Sum the squares of a list of numbers.', ['numbers'], 'codes.jsonl:3');
INSERT INTO collection_codes VALUES ('jsonl', 3, 'c2fa36acfda818a96f6ed', 'fahrenheit_to_celsius', '', 0, 0, 'Temperature conversion.', ['degrees'], 'codes.jsonl:4');
INSERT INTO collection_codes VALUES ('jsonl', 4, 'c6ccfb8cb753315836bd9', 'parse_date', '', 0, 0, 'Parse a date from text.', ['text'], 'codes.jsonl:5');
INSERT INTO collection_codes VALUES ('jsonl', 5, 'cccbac7a4592d055759bc', 'flatten', '', 0, 0, 'Flatten a nested list.', ['nested'], 'codes.jsonl:6');
INSERT INTO collection_queries VALUES ('jsonl', 0, 'q8c467e4eb08c933af9d7', 'queries.jsonl:1');
INSERT INTO collection_queries VALUES ('jsonl', 1, 'q0aaf114029678277a653', 'queries.jsonl:2');
INSERT INTO collection_queries VALUES ('jsonl', 2, 'q0089966edde1fd91233f', 'queries.jsonl:3');
INSERT INTO collection_queries VALUES ('jsonl', 3, 'qc8e97ae16af2fbbaca93', 'queries.jsonl:4');
INSERT INTO collection_queries VALUES ('jsonl', 4, 'qa1f6847f29316a189e18', 'queries.jsonl:5');
INSERT INTO collection_queries VALUES ('jsonl', 5, 'q1646cef938eb9cf13548', 'queries.jsonl:6');
INSERT INTO evaluations VALUES ('2fcc7b6c5024f27fe4eb', 'bag-of-words', '93e829ddfc1bf09c4815', 10, 0.10599153100338299, '2026-11-22 16:35:11.808878+00');
INSERT INTO evaluations VALUES ('2fcc7b6c5024f27fe4eb', 'bm25', '78e0d33f8c3a784bfbaf', 10, 0.07846379499824252, '2026-11-22 16:35:11.997815+00');
INSERT INTO evaluations VALUES ('2fcc7b6c5024f27fe4eb', 'minilm', '5704800a8f9aedfa3d45', 10, 0.12306232999981148, '2026-11-22 16:35:12.424968+00');
INSERT INTO evaluations VALUES ('2fcc7b6c5024f27fe4eb', 'tf-idf', 'b1fc77aa6fbce7d0df4f', 10, 0.07348143300623633, '2026-11-22 16:35:12.179380+00');
INSERT INTO evaluations VALUES ('aeb26d9654457a36f10c', 'bag-of-words', '93e829ddfc1bf09c4815', 10, 0.1399672389961779, '2026-11-22 16:35:12.670292+00');
INSERT INTO evaluations VALUES ('aeb26d9654457a36f10c', 'bm25', '78e0d33f8c3a784bfbaf', 10, 0.14854835399455624, '2026-11-22 16:35:12.922152+00');
INSERT INTO evaluations VALUES ('aeb26d9654457a36f10c', 'minilm', '5704800a8f9aedfa3d45', 10, 0.2724764279992087, '2026-11-22 16:35:13.712996+00');
INSERT INTO evaluations VALUES ('aeb26d9654457a36f10c', 'tf-idf', 'b1fc77aa6fbce7d0df4f', 10, 0.2093845310009783, '2026-11-22 16:35:13.282033+00');
INSERT INTO executions VALUES ('q0089966edde1fd91233f', 'c914fc8daacabfc9ddeee', 'b3940b36ecf874b06ab5', 0, 0, 'from target import sum_of_squares

def test_it():
    assert sum_of_squares([1, 2]) == 5
', [], 'passed', '', '', '', 0.010195196002314333, 11.8515625, '', '', 1, 1, 1, NULL);
INSERT INTO executions VALUES ('qc8e97ae16af2fbbaca93', 'c2fa36acfda818a96f6ed', 'b3940b36ecf874b06ab5', 0, 0, 'from target import fahrenheit_to_celsius

def test_it():
    assert fahrenheit_to_celsius(212) == 100
', [], 'assertion_failed', 'AssertionError', 'AssertionError (line 4: assert fahrenheit_to_celsius(212) == 100)', '', 0.005425661998742726, 12.13671875, '', 'Traceback (most recent call last):
  File "program.py", line 4, in test_it
    assert fahrenheit_to_celsius(212) == 100
           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
AssertionError
', 1, 1, 1, NULL);
INSERT INTO llm_calls VALUES ('q0089966edde1fd91233f', 'c914fc8daacabfc9ddeee', 'b3940b36ecf874b06ab5', 0, 'screener', 1, 'openai/scripted', 'a97902812db72fd92b6c', 'ok', '{"reason": "as scripted", "verdict": "unclear"}', '', 167, 5, NULL, 0.629841423004109, false);
INSERT INTO llm_calls VALUES ('q0089966edde1fd91233f', 'c914fc8daacabfc9ddeee', 'b3940b36ecf874b06ab5', 1, 'writer', 1, 'openai/scripted', 'bf035ff5315f82d62abb', 'ok', '{"reading": "as scripted", "program": "from target import sum_of_squares\n\ndef test_it():\n    assert sum_of_squares([1, 2]) == 5\n"}', '', 264, 14, NULL, 0.015400018994114362, false);
INSERT INTO llm_calls VALUES ('q0089966edde1fd91233f', 'c914fc8daacabfc9ddeee', 'b3940b36ecf874b06ab5', 2, 'arbiter', 1, 'openai/scripted', '343ba5e001ba7cbe66a8', 'ok', '{"reason": "as scripted", "verdict": "answers"}', '', 262, 5, NULL, 0.008188671999960206, false);
INSERT INTO llm_calls VALUES ('q0aaf114029678277a653', 'c61f77cc39cb0434608e4', 'b3940b36ecf874b06ab5', 0, 'screener', 1, 'openai/scripted', 'fa88ea048fd596c2c962', 'ok', '{"reason": "as scripted", "verdict": "clear_non_match"}', '', 154, 5, NULL, 0.628064730000915, false);
INSERT INTO llm_calls VALUES ('q1646cef938eb9cf13548', 'cccbac7a4592d055759bc', 'b3940b36ecf874b06ab5', 0, 'screener', 1, 'openai/scripted', '7ada5be93f6250c4c313', 'unavailable', '', 'litellm.InternalServerError: InternalServerError: OpenAIException - scripted', NULL, NULL, NULL, 0.0, false);
INSERT INTO llm_calls VALUES ('q8c467e4eb08c933af9d7', 'cd3fd922ce8887e215410', 'b3940b36ecf874b06ab5', 0, 'screener', 1, 'openai/scripted', '5d6acaaca8d87ed9d37f', 'ok', '{"reason": "as scripted", "verdict": "clear_match"}', '', 156, 5, NULL, 0.6286586240021279, false);
INSERT INTO llm_calls VALUES ('qa1f6847f29316a189e18', 'c6ccfb8cb753315836bd9', 'b3940b36ecf874b06ab5', 0, 'screener', 1, 'openai/scripted', '5cb2200631a603a73169', 'unreadable', 'I would rather talk about the weather.', 'the reply is no JSON object with the fields reason, verdict', 154, 7, NULL, 0.017659861005085986, false);
INSERT INTO llm_calls VALUES ('qa1f6847f29316a189e18', 'c6ccfb8cb753315836bd9', 'b3940b36ecf874b06ab5', 1, 'screener', 2, 'openai/scripted', '9194584548a020beaa9c', 'unreadable', 'I would rather talk about the weather.', 'the reply is no JSON object with the fields reason, verdict', 185, 7, NULL, 0.11651128499943297, false);
INSERT INTO llm_calls VALUES ('qc8e97ae16af2fbbaca93', 'c2fa36acfda818a96f6ed', 'b3940b36ecf874b06ab5', 0, 'screener', 1, 'openai/scripted', 'd901a8920972dc0b3a13', 'ok', '{"reason": "as scripted", "verdict": "unclear"}', '', 152, 5, NULL, 0.6182187230006093, false);
INSERT INTO llm_calls VALUES ('qc8e97ae16af2fbbaca93', 'c2fa36acfda818a96f6ed', 'b3940b36ecf874b06ab5', 1, 'writer', 1, 'openai/scripted', '8705132260f92a89e4b2', 'ok', '{"reading": "as scripted", "program": "from target import fahrenheit_to_celsius\n\ndef test_it():\n    assert fahrenheit_to_celsius(212) == 100\n"}', '', 249, 13, NULL, 0.013346154002647381, false);
INSERT INTO llm_calls VALUES ('qc8e97ae16af2fbbaca93', 'c2fa36acfda818a96f6ed', 'b3940b36ecf874b06ab5', 2, 'arbiter', 1, 'openai/scripted', 'e1ae75925a70047099cc', 'ok', '{"reason": "as scripted", "verdict": "does_not_answer"}', '', 251, 5, NULL, 0.007478173996787518, false);
INSERT INTO meta VALUES (2, 'b042d3597ccb4800bc48407df5227101');
INSERT INTO queries VALUES ('q0089966edde1fd91233f', 'sum of the squares of a list of numbers');
INSERT INTO queries VALUES ('q0aaf114029678277a653', 'multiply two matrices');
INSERT INTO queries VALUES ('q1646cef938eb9cf13548', 'flatten a nested list');
INSERT INTO queries VALUES ('q8c467e4eb08c933af9d7', 'reverse the characters of a string');
INSERT INTO queries VALUES ('qa1f6847f29316a189e18', 'parse a date from text');
INSERT INTO queries VALUES ('qc8e97ae16af2fbbaca93', 'fahrenheit to celsius temperature');
INSERT INTO recipes VALUES ('b3940b36ecf874b06ab5', '{"algorithm": "cosqa-plus-3", "configuration": "paper", "gates": null, "limits": {"cpus": 1.0, "memory_mb": 512, "output_kb": 64, "processes": 64, "runtime": null, "timeout_s": 10.0, "tmp_mb": 64}, "max_try_time": 2, "model": {"max_code_characters": 12000, "max_field_characters": null, "max_tokens": 2048, "model": "openai/scripted", "temperature": 0.0}, "model_file": null, "prompts": {"arbiter": "614c9a0b4b08f89bb9c8", "fixer": "c4d69f358601902a5070", "screener": "ecdf76a670f8a0dee2b6", "writer": "85e4e312e3d7a87d53f5"}, "sandbox": "Docker 20.10.24+dfsg1, image cosqa-sandbox:3 sha256:4bb423b4f4befb1f55bb47b21005e5a84cd44472a10816b4fedf623df0c994c7"}', false, '2026-11-22 16:34:59.995548+00');
INSERT INTO scores VALUES ('2fcc7b6c5024f27fe4eb', '5704800a8f9aedfa3d45', 'MAP', 'q0089966edde1fd91233f', 1.0);
INSERT INTO scores VALUES ('2fcc7b6c5024f27fe4eb', '5704800a8f9aedfa3d45', 'MAP', 'q0aaf114029678277a653', 1.0);
INSERT INTO scores VALUES ('2fcc7b6c5024f27fe4eb', '5704800a8f9aedfa3d45', 'MAP', 'q1646cef938eb9cf13548', 1.0);
INSERT INTO scores VALUES ('2fcc7b6c5024f27fe4eb', '5704800a8f9aedfa3d45', 'MAP', 'q8c467e4eb08c933af9d7', 1.0);
INSERT INTO scores VALUES ('2fcc7b6c5024f27fe4eb', '5704800a8f9aedfa3d45', 'MAP', 'qa1f6847f29316a189e18', 1.0);
INSERT INTO scores VALUES ('2fcc7b6c5024f27fe4eb', '5704800a8f9aedfa3d45', 'MAP', 'qc8e97ae16af2fbbaca93', 1.0);
INSERT INTO scores VALUES ('2fcc7b6c5024f27fe4eb', '5704800a8f9aedfa3d45', 'MRR', 'q0089966edde1fd91233f', 1.0);
INSERT INTO scores VALUES ('2fcc7b6c5024f27fe4eb', '5704800a8f9aedfa3d45', 'MRR', 'q0aaf114029678277a653', 1.0);
INSERT INTO scores VALUES ('2fcc7b6c5024f27fe4eb', '5704800a8f9aedfa3d45', 'MRR', 'q1646cef938eb9cf13548', 1.0);
INSERT INTO scores VALUES ('2fcc7b6c5024f27fe4eb', '5704800a8f9aedfa3d45', 'MRR', 'q8c467e4eb08c933af9d7', 1.0);
INSERT INTO scores VALUES ('2fcc7b6c5024f27fe4eb', '5704800a8f9aedfa3d45', 'MRR', 'qa1f6847f29316a189e18', 1.0);
INSERT INTO scores VALUES ('2fcc7b6c5024f27fe4eb', '5704800a8f9aedfa3d45', 'MRR', 'qc8e97ae16af2fbbaca93', 1.0);
INSERT INTO searches VALUES ('64ed6f1d0751396addfb', 'jsonl', ['minilm'], 1, '2026-11-22 16:34:59.250264+00');
INSERT INTO source_labels VALUES ('jsonl', 'people:jsonl', 'q0089966edde1fd91233f', 'c914fc8daacabfc9ddeee', 1.0, false);
INSERT INTO source_labels VALUES ('jsonl', 'people:jsonl', 'q0aaf114029678277a653', 'c61f77cc39cb0434608e4', 1.0, false);
INSERT INTO source_labels VALUES ('jsonl', 'people:jsonl', 'q1646cef938eb9cf13548', 'cccbac7a4592d055759bc', 1.0, false);
INSERT INTO source_labels VALUES ('jsonl', 'people:jsonl', 'q8c467e4eb08c933af9d7', 'cd3fd922ce8887e215410', 1.0, false);
INSERT INTO source_labels VALUES ('jsonl', 'people:jsonl', 'qa1f6847f29316a189e18', 'c6ccfb8cb753315836bd9', 1.0, false);
INSERT INTO source_labels VALUES ('jsonl', 'people:jsonl', 'qc8e97ae16af2fbbaca93', 'c2fa36acfda818a96f6ed', 1.0, false);
INSERT INTO stage_runs VALUES ('jsonl', 'annotate', 6, 6.28554327099846, '2026-11-22 16:35:06.591209+00');
INSERT INTO stage_runs VALUES ('jsonl', 'collect', 12, 0.05505145600182004, '2026-11-22 16:34:49.829356+00');
INSERT INTO stage_runs VALUES ('jsonl', 'embed with minilm', 12, 4.586921105998044, '2026-11-22 16:34:59.040758+00');
INSERT INTO stage_runs VALUES ('jsonl', 'evaluate bag-of-words', 6, 0.10599153100338299, '2026-11-22 16:35:11.836350+00');
INSERT INTO stage_runs VALUES ('jsonl', 'evaluate bag-of-words', 6, 0.1399672389961779, '2026-11-22 16:35:12.696066+00');
INSERT INTO stage_runs VALUES ('jsonl', 'evaluate bm25', 6, 0.07846379499824252, '2026-11-22 16:35:12.027310+00');
INSERT INTO stage_runs VALUES ('jsonl', 'evaluate bm25', 6, 0.14854835399455624, '2026-11-22 16:35:12.967553+00');
INSERT INTO stage_runs VALUES ('jsonl', 'evaluate minilm', 6, 0.12306232999981148, '2026-11-22 16:35:12.451959+00');
INSERT INTO stage_runs VALUES ('jsonl', 'evaluate minilm', 6, 0.2724764279992087, '2026-11-22 16:35:13.745719+00');
INSERT INTO stage_runs VALUES ('jsonl', 'evaluate tf-idf', 6, 0.07348143300623633, '2026-11-22 16:35:12.223744+00');
INSERT INTO stage_runs VALUES ('jsonl', 'evaluate tf-idf', 6, 0.2093845310009783, '2026-11-22 16:35:13.316210+00');
INSERT INTO stage_runs VALUES ('jsonl', 'find candidates', 6, 0.1746758619992761, '2026-11-22 16:34:59.388065+00');
INSERT INTO vectors VALUES ('eff971f48e7b2f367d9e', 'code', 'c2fa36acfda818a96f6ed', 'minilm-eff971f48e7b2f367d9e/code-1276c7d8bc6290738a01.parquet');
INSERT INTO vectors VALUES ('eff971f48e7b2f367d9e', 'code', 'c61f77cc39cb0434608e4', 'minilm-eff971f48e7b2f367d9e/code-1276c7d8bc6290738a01.parquet');
INSERT INTO vectors VALUES ('eff971f48e7b2f367d9e', 'code', 'c6ccfb8cb753315836bd9', 'minilm-eff971f48e7b2f367d9e/code-1276c7d8bc6290738a01.parquet');
INSERT INTO vectors VALUES ('eff971f48e7b2f367d9e', 'code', 'c914fc8daacabfc9ddeee', 'minilm-eff971f48e7b2f367d9e/code-1276c7d8bc6290738a01.parquet');
INSERT INTO vectors VALUES ('eff971f48e7b2f367d9e', 'code', 'cccbac7a4592d055759bc', 'minilm-eff971f48e7b2f367d9e/code-1276c7d8bc6290738a01.parquet');
INSERT INTO vectors VALUES ('eff971f48e7b2f367d9e', 'code', 'cd3fd922ce8887e215410', 'minilm-eff971f48e7b2f367d9e/code-1276c7d8bc6290738a01.parquet');
INSERT INTO vectors VALUES ('eff971f48e7b2f367d9e', 'query', 'q0089966edde1fd91233f', 'minilm-eff971f48e7b2f367d9e/query-f457fb9f52e344478212.parquet');
INSERT INTO vectors VALUES ('eff971f48e7b2f367d9e', 'query', 'q0aaf114029678277a653', 'minilm-eff971f48e7b2f367d9e/query-f457fb9f52e344478212.parquet');
INSERT INTO vectors VALUES ('eff971f48e7b2f367d9e', 'query', 'q1646cef938eb9cf13548', 'minilm-eff971f48e7b2f367d9e/query-f457fb9f52e344478212.parquet');
INSERT INTO vectors VALUES ('eff971f48e7b2f367d9e', 'query', 'q8c467e4eb08c933af9d7', 'minilm-eff971f48e7b2f367d9e/query-f457fb9f52e344478212.parquet');
INSERT INTO vectors VALUES ('eff971f48e7b2f367d9e', 'query', 'qa1f6847f29316a189e18', 'minilm-eff971f48e7b2f367d9e/query-f457fb9f52e344478212.parquet');
INSERT INTO vectors VALUES ('eff971f48e7b2f367d9e', 'query', 'qc8e97ae16af2fbbaca93', 'minilm-eff971f48e7b2f367d9e/query-f457fb9f52e344478212.parquet');
INSERT INTO dropped VALUES ('jsonl', 'too short', 3);
