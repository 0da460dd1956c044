"""SQL statements that upgrade stores of earlier schema versions without loss.

Whoever changes ``schema.sql`` adds a step here, which raises the version, and a store of the last
one to the tests.
"""

from infra.store.full_ids import FULL_IDS

UPGRADES = {  # version → statements that upgrade it to the next
    1: """
        ALTER TABLE annotations ADD COLUMN grade VARCHAR;
        ALTER TABLE annotations ADD COLUMN judgements INTEGER DEFAULT 0;
        ALTER TABLE annotations ADD COLUMN agreeing INTEGER DEFAULT 0;
        -- That version had no gates, and a label rested on one judgement.
        UPDATE annotations SET
            grade = CASE WHEN status <> 'labelled' THEN 'undecided'
                WHEN decided_by = 'screener' THEN 'screened' ELSE 'ungated' END,
            judgements = (status = 'labelled')::INTEGER,
            agreeing = (status = 'labelled')::INTEGER;
        ALTER TABLE executions ADD COLUMN oracle JSON;
    """,
    2: """
        ALTER TABLE searches ADD COLUMN pool BOOLEAN DEFAULT false;
        ALTER TABLE recipes ADD COLUMN used_at TIMESTAMPTZ DEFAULT now();
    """,
    3: """
        ALTER TABLE collection_queries ADD COLUMN IF NOT EXISTS split VARCHAR DEFAULT '';
        ALTER TABLE collection_codes ADD COLUMN IF NOT EXISTS source VARCHAR DEFAULT '';
        ALTER TABLE collection_codes ADD COLUMN IF NOT EXISTS language VARCHAR DEFAULT '';
        ALTER TABLE collection_codes ADD COLUMN IF NOT EXISTS licence VARCHAR DEFAULT '';
        ALTER TABLE collection_codes ADD COLUMN IF NOT EXISTS url VARCHAR DEFAULT '';
        ALTER TABLE collection_codes ADD COLUMN IF NOT EXISTS split VARCHAR DEFAULT '';
        CREATE TABLE IF NOT EXISTS collection_sources (
            collection VARCHAR NOT NULL,
            position   INTEGER NOT NULL,
            name       VARCHAR NOT NULL,
            licence    VARCHAR NOT NULL,
            revision   VARCHAR NOT NULL,
            location   VARCHAR NOT NULL,
            PRIMARY KEY (collection, position)
        );
    """,
    4: "ALTER TABLE executions ADD COLUMN details JSON;",
    5: """
        CREATE TABLE generated_codes (
            collection VARCHAR NOT NULL,
            query_id VARCHAR NOT NULL,
            ordinal INTEGER NOT NULL CHECK (ordinal >= 0),
            code_id VARCHAR NOT NULL,
            model VARCHAR NOT NULL,
            recipe_id VARCHAR NOT NULL,
            status VARCHAR NOT NULL CHECK (status IN ('verified', 'refused')),
            reason VARCHAR NOT NULL,
            edited BOOLEAN NOT NULL,
            calls JSON NOT NULL,
            written_at TIMESTAMPTZ NOT NULL DEFAULT now(),
            PRIMARY KEY (collection, query_id, ordinal)
        );

        CREATE TABLE confirmations (
            collection VARCHAR NOT NULL,
            query_id VARCHAR NOT NULL,
            ordinal INTEGER NOT NULL,
            person VARCHAR NOT NULL,
            confirmed BOOLEAN NOT NULL,
            notes VARCHAR NOT NULL,
            confirmed_at TIMESTAMPTZ NOT NULL DEFAULT now(),
            PRIMARY KEY (collection, query_id, ordinal, person)
        );
    """,
    6: """
        CREATE TABLE estimations (
            estimation_id VARCHAR PRIMARY KEY,
            kind          VARCHAR NOT NULL,
            train         VARCHAR NOT NULL,
            test          VARCHAR NOT NULL,
            method        VARCHAR NOT NULL,
            method_key    VARCHAR NOT NULL,
            body          JSON NOT NULL,
            computed_at   TIMESTAMPTZ NOT NULL DEFAULT now()
        );
    """,
    7: """
        ALTER TABLE stage_runs ADD COLUMN IF NOT EXISTS codes BIGINT;
        ALTER TABLE stage_runs ADD COLUMN IF NOT EXISTS cores INTEGER;
        ALTER TABLE stage_runs ADD COLUMN IF NOT EXISTS gpus INTEGER;
        ALTER TABLE stage_runs ADD COLUMN IF NOT EXISTS peak_memory_mb DOUBLE;
        CREATE TABLE IF NOT EXISTS exports (
            folder       VARCHAR PRIMARY KEY,
            benchmark_id VARCHAR NOT NULL,
            stamp        VARCHAR NOT NULL,
            files        VARCHAR NOT NULL
        );
        CREATE TABLE vector_files (
            encoder_key VARCHAR NOT NULL,
            kind        VARCHAR NOT NULL CHECK (kind IN ('query', 'code')),
            file        VARCHAR NOT NULL,
            items       INTEGER NOT NULL CHECK (items >= 0),
            dimension   INTEGER,
            recorded_at TIMESTAMPTZ NOT NULL DEFAULT now(),
            PRIMARY KEY (encoder_key, kind, file)
        );
        INSERT INTO vector_files (encoder_key, kind, file, items)
            SELECT encoder_key, kind, file, count(*) FROM vectors GROUP BY ALL;
        DROP TABLE vectors;
        CREATE TABLE IF NOT EXISTS collection_inputs (
            collection VARCHAR PRIMARY KEY,
            stamp      VARCHAR NOT NULL,
            content    VARCHAR NOT NULL,
            queries    BIGINT NOT NULL,
            codes      BIGINT NOT NULL,
            labels     BIGINT NOT NULL
        );
        -- Evidence without primary keys, whose index was rewritten at each commit.
        ALTER TABLE annotations RENAME TO keyed_annotations;
        CREATE TABLE annotations (
            query_id VARCHAR NOT NULL,
            code_id VARCHAR NOT NULL,
            recipe_id VARCHAR NOT NULL,
            status VARCHAR NOT NULL CHECK (status IN ('labelled', 'undecided', 'failed')),
            label TINYINT CHECK (label IN (0, 1)),
            decided_by VARCHAR,
            path VARCHAR NOT NULL,
            reason VARCHAR NOT NULL,
            demo BOOLEAN NOT NULL,
            grade VARCHAR NOT NULL CHECK (
                grade IN ('screened', 'valid_oracle', 'void_oracle', 'ungated', 'undecided')),
            judgements INTEGER NOT NULL CHECK (judgements >= 0),
            agreeing INTEGER NOT NULL CHECK (agreeing BETWEEN 0 AND judgements),
            seconds DOUBLE NOT NULL,
            annotated_at TIMESTAMPTZ NOT NULL DEFAULT now(),
            CHECK ((status = 'labelled') = (label IS NOT NULL))
        );
        INSERT INTO annotations BY NAME SELECT * FROM keyed_annotations;
        DROP TABLE keyed_annotations;
        ALTER TABLE llm_calls RENAME TO keyed_llm_calls;
        CREATE TABLE llm_calls (
            query_id VARCHAR NOT NULL,
            code_id VARCHAR NOT NULL,
            recipe_id VARCHAR NOT NULL,
            ordinal INTEGER NOT NULL,
            role VARCHAR NOT NULL,
            attempt INTEGER NOT NULL,
            model VARCHAR NOT NULL,
            prompt_digest VARCHAR NOT NULL,
            status VARCHAR NOT NULL,
            reply VARCHAR NOT NULL,
            error VARCHAR NOT NULL,
            prompt_tokens BIGINT,
            completion_tokens BIGINT,
            cost_usd DOUBLE,
            seconds DOUBLE NOT NULL,
            cached BOOLEAN NOT NULL
        );
        INSERT INTO llm_calls BY NAME SELECT * FROM keyed_llm_calls;
        DROP TABLE keyed_llm_calls;
        ALTER TABLE executions RENAME TO keyed_executions;
        CREATE TABLE executions (
            query_id VARCHAR NOT NULL,
            code_id VARCHAR NOT NULL,
            recipe_id VARCHAR NOT NULL,
            ordinal INTEGER NOT NULL,
            round INTEGER NOT NULL,
            program VARCHAR NOT NULL,
            requirements VARCHAR[] NOT NULL,
            outcome VARCHAR NOT NULL,
            error_type VARCHAR NOT NULL,
            message VARCHAR NOT NULL,
            missing_module VARCHAR NOT NULL,
            seconds DOUBLE NOT NULL,
            peak_memory_mb DOUBLE,
            stdout VARCHAR NOT NULL,
            stderr VARCHAR NOT NULL,
            tests_run INTEGER NOT NULL,
            asserts_executed INTEGER NOT NULL,
            target_calls INTEGER NOT NULL,
            oracle JSON,
            details JSON
        );
        INSERT INTO executions BY NAME SELECT * FROM keyed_executions;
        DROP TABLE keyed_executions;
    """,
    8: """
        ALTER TABLE annotations ADD COLUMN IF NOT EXISTS met VARCHAR DEFAULT '';
        ALTER TABLE annotations ADD COLUMN IF NOT EXISTS tries INTEGER DEFAULT 1;
        UPDATE annotations SET met = parts.met FROM (
            SELECT query_id, code_id, recipe_id, string_agg(DISTINCT role, ',' ORDER BY role) AS met
            FROM (SELECT query_id, code_id, recipe_id, role FROM llm_calls
                  UNION ALL SELECT query_id, code_id, recipe_id, 'box' FROM executions)
            GROUP BY ALL
        ) AS parts WHERE annotations.query_id = parts.query_id
            AND annotations.code_id = parts.code_id AND annotations.recipe_id = parts.recipe_id;
        CREATE TABLE plans (
            plan_id    VARCHAR PRIMARY KEY,
            collection VARCHAR NOT NULL,
            recipe_id  VARCHAR NOT NULL,
            body       JSON NOT NULL,
            decision   VARCHAR NOT NULL CHECK (
                decision IN ('waiting', 'approved', 'declined', 'unasked')),
            decided_by VARCHAR NOT NULL DEFAULT '',
            planned_at TIMESTAMPTZ NOT NULL DEFAULT now()
        );
        CREATE TABLE audits (
            audit_id        VARCHAR PRIMARY KEY,
            collection      VARCHAR NOT NULL,
            recipe_id       VARCHAR NOT NULL,
            audit_recipe_id VARCHAR NOT NULL,
            pairs           INTEGER NOT NULL CHECK (pairs >= 0),
            alpha           DOUBLE,
            low             DOUBLE,
            high            DOUBLE,
            audited_at      TIMESTAMPTZ NOT NULL DEFAULT now()
        );
        CREATE TABLE controls (
            ordinal INTEGER PRIMARY KEY,
            control VARCHAR NOT NULL CHECK (
                control IN ('paused', 'in_flight', 'requests_per_minute', 'budget_usd')),
            value   JSON NOT NULL,
            set_by  VARCHAR NOT NULL,
            set_at  TIMESTAMPTZ NOT NULL DEFAULT now()
        );
        CREATE TABLE recipe_uses (
            collection VARCHAR NOT NULL,
            rounds     VARCHAR[] NOT NULL,
            used_at    TIMESTAMPTZ NOT NULL
        );
        INSERT INTO recipe_uses
            WITH judged AS (
                SELECT collection, recipe_id, max(annotated_at) AS annotated_at
                FROM annotations JOIN candidates USING (query_id, code_id)
                JOIN searches USING (search_id) GROUP BY ALL
            ), together AS (
                SELECT collection, used_at, max(annotated_at) AS annotated_at, list(
                    recipe_id ORDER BY coalesce((body->>'$.round')::INTEGER, 1)) AS rounds
                FROM judged JOIN recipes USING (recipe_id)
                WHERE used_at > TIMESTAMPTZ '1970-01-01 00:00:00+00'
                GROUP BY collection, used_at, json_merge_patch(body, '{"round": null}')
            )
            SELECT collection, rounds, used_at + INTERVAL 1 microsecond * row_number() OVER (
                PARTITION BY used_at ORDER BY annotated_at) FROM together;
        ALTER TABLE recipes DROP COLUMN used_at;
        -- What earlier steps could only add, as a new store has it.
        ALTER TABLE searches ALTER COLUMN pool SET NOT NULL;
        ALTER TABLE searches ALTER COLUMN pool DROP DEFAULT;
        ALTER TABLE collection_queries ALTER COLUMN split SET NOT NULL;
        ALTER TABLE collection_codes ALTER COLUMN source SET NOT NULL;
        ALTER TABLE collection_codes ALTER COLUMN language SET NOT NULL;
        ALTER TABLE collection_codes ALTER COLUMN licence SET NOT NULL;
        ALTER TABLE collection_codes ALTER COLUMN url SET NOT NULL;
        ALTER TABLE collection_codes ALTER COLUMN split SET NOT NULL;
    """,
    9: FULL_IDS,
    10: """
        CREATE TABLE query_behaviours (
            collection VARCHAR NOT NULL,
            query_id VARCHAR NOT NULL,
            recipe_id VARCHAR NOT NULL,
            comparison VARCHAR NOT NULL,
            claims VARCHAR[] NOT NULL,
            codes INTEGER NOT NULL CHECK (codes >= 0),
            consistency DOUBLE,
            compared_at TIMESTAMPTZ NOT NULL DEFAULT now()
        );

        CREATE TABLE code_behaviours (
            collection VARCHAR NOT NULL,
            query_id VARCHAR NOT NULL,
            code_id VARCHAR NOT NULL,
            recipe_id VARCHAR NOT NULL,
            comparison VARCHAR NOT NULL,
            outcomes VARCHAR[] NOT NULL,
            behaviour VARCHAR NOT NULL,
            label TINYINT CHECK (label IN (0, 1)),
            agreed TINYINT CHECK (agreed IN (0, 1)),
            reason VARCHAR NOT NULL
        );
    """,
}
SCHEMA_VERSION = max(UPGRADES) + 1
