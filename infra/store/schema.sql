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
    input_digest VARCHAR NOT NULL,       -- of files, settings and program; equal: not read again
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

CREATE TABLE votes (                     -- people's, and known answers; agents' are annotations
    collection VARCHAR NOT NULL,         -- '': of pairs that no collection has
    origin     VARCHAR NOT NULL,         -- of which votes it is one, such as those of a source
    kind       VARCHAR NOT NULL CHECK (kind IN ('gold', 'person')),
    annotator  VARCHAR NOT NULL,         -- '': the origin names nobody
    query_id   VARCHAR NOT NULL,
    code_id    VARCHAR NOT NULL,
    phase      VARCHAR NOT NULL CHECK (phase IN ('blind', 'revised')),  -- revised: saw evidence
    relevance  DOUBLE CHECK (relevance >= 0),  -- NULL: undecided
    note       VARCHAR NOT NULL,
    notes      VARCHAR[] NOT NULL,       -- difficulties, as CodeSearchNet's annotators named them
    minutes    DOUBLE CHECK (minutes >= 0),  -- NULL: not told
    program    VARCHAR NOT NULL,         -- the annotator's test program; '': none
    execution  JSON,                     -- how it ended; NULL: it was not run
    voted_at   TIMESTAMPTZ NOT NULL DEFAULT now(),
    PRIMARY KEY (collection, origin, annotator, query_id, code_id, phase)
);

-- embed: files of vectors, which themselves say whose vectors they have ----------------------------

CREATE TABLE vector_files (
    encoder_key VARCHAR NOT NULL,        -- hash of the encoder's specification
    kind        VARCHAR NOT NULL CHECK (kind IN ('query', 'code')),
    file        VARCHAR NOT NULL,        -- relative to the folder of vectors
    items       INTEGER NOT NULL CHECK (items >= 0),
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
-- annotations. `infra.store.annotations` alone writes it, and keeps each pair once.

CREATE TABLE recipes (
    recipe_id  VARCHAR PRIMARY KEY,      -- hash of everything that could change a label
    body       JSON NOT NULL,
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
    replicate    INTEGER NOT NULL CHECK (replicate >= 1),  -- the labelling round
    kind         VARCHAR NOT NULL CHECK (kind IN ('first', 'replicate', 'gold')),
    status       VARCHAR NOT NULL CHECK (status IN ('labelled', 'undecided', 'failed')),
    label        TINYINT CHECK (label IN (0, 1)),
    decided_by   VARCHAR,
    path         VARCHAR NOT NULL,       -- the path through Algorithm 1
    reason       VARCHAR NOT NULL,
    support      VARCHAR NOT NULL CHECK (
        support IN ('screened', 'valid_oracle', 'overruled', 'void_oracle', 'ungated', 'undecided')),
    judgements   INTEGER NOT NULL CHECK (judgements >= 0),
    agreeing     INTEGER NOT NULL CHECK (agreeing BETWEEN 0 AND judgements),
    seconds      DOUBLE NOT NULL,
    annotated_at TIMESTAMPTZ NOT NULL DEFAULT now(),
    roles_asked  VARCHAR NOT NULL,       -- the label depends on them: also 'box' if a program ran, and the language
    tries        INTEGER NOT NULL,       -- how often the pair was judged under this recipe
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
    details          JSON NOT NULL       -- outcomes of tests, repairs, what stood beside the code
);

-- samples for people; their votes have the origin 'sample:' || sample_id ---------------------------

CREATE TABLE samples (
    sample_id  VARCHAR PRIMARY KEY,      -- hash of what was drawn
    collection VARCHAR NOT NULL,         -- whose pairs they are; '': pairs of no collection
    kind       VARCHAR NOT NULL CHECK (kind IN ('pairs', 'preference', 'answers')),
    scale      VARCHAR NOT NULL CHECK (scale IN ('binary', 'graded')),  -- 0 and 1, or 0 to 3
    seed       BIGINT NOT NULL,
    body       JSON NOT NULL,            -- how it was drawn
    drawn_at   TIMESTAMPTZ NOT NULL DEFAULT now()
);

CREATE TABLE sample_items (
    sample_id VARCHAR NOT NULL,
    position  INTEGER NOT NULL CHECK (position >= 1),  -- at random
    query_id  VARCHAR NOT NULL,
    code_id   VARCHAR NOT NULL,
    rival_id  VARCHAR NOT NULL,          -- of a preference, the code that is compared; else ''
    swapped   BOOLEAN NOT NULL,          -- whether the rival is shown first
    PRIMARY KEY (sample_id, query_id, code_id)
);

CREATE TABLE sample_annotators (         -- who was given which items
    sample_id VARCHAR NOT NULL,
    annotator VARCHAR NOT NULL,
    positions INTEGER[] NOT NULL,
    PRIMARY KEY (sample_id, annotator)
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

-- publish and evaluate ----------------------------------------------------------------------------

CREATE TABLE benchmarks (
    benchmark_id VARCHAR PRIMARY KEY,    -- hash of the exported files
    name         VARCHAR NOT NULL,
    collection   VARCHAR NOT NULL,
    label_origin VARCHAR NOT NULL,
    folder       VARCHAR NOT NULL,
    published_at TIMESTAMPTZ NOT NULL DEFAULT now()
);

CREATE TABLE exports (                   -- what the files of an exported folder were made from
    folder       VARCHAR PRIMARY KEY,
    benchmark_id VARCHAR NOT NULL,
    input_digest VARCHAR NOT NULL,       -- digest of all that the export depends on
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
