"""What a store has measured of its own work, for forecasts: runs, judgements, sizes of rows."""

import json
from collections.abc import Sequence

from infra.records import Record
from infra.store.annotations import paid_once
from infra.store.benchmarks import StageRun
from infra.store.database import Database, Transaction

_BLOCK_BYTES = 262_144  # of DuckDB's files
_FEWEST_ROWS = 10_000  # a table with fewer does not fill its blocks

# A row that forecasts count → the tables that hold a part of it, the first of which counts rows.
_TABLES_OF_ROW = {
    "code": ("codes", "collection_codes"),
    "query": ("queries", "collection_queries"),
    "candidate": ("candidates",),
    "judgement": ("annotations", "llm_calls", "executions"),
    "score": ("scores",),
}


class ModelEffort(Record):
    """What the judgements took that a model had a part in.

    Attributes:
        judgements: Their number.
        calls: Requests, those that the store of replies answered included.
        paid_calls: Requests that the model answered.
        single_calls: Those of them that were sent by themselves: a batch's reply has no time.
        call_seconds: Seconds of all single calls.
        prompt_tokens: Tokens sent, of all paid calls.
        completion_tokens: Tokens received.
        cost_usd: US dollars of all single calls, whose price is the usual one; None where there is
            none, or the price of one is unknown.
        executions: Runs of test programs.
        execution_seconds: Seconds of these.
    """

    judgements: int
    calls: int
    paid_calls: int
    single_calls: int
    call_seconds: float
    prompt_tokens: int
    completion_tokens: int
    cost_usd: float | None
    executions: int
    execution_seconds: float


def measured_runs(database: Database) -> list[StageRun]:
    """Return all stored runs of stages, oldest first."""
    with database.transaction() as tx:
        rows = tx.dicts("SELECT * EXCLUDE (ended_at) FROM stage_runs ORDER BY ended_at")
    return [StageRun.model_validate(row) for row in rows]


def searched_encoders(database: Database) -> dict[str, list[str]]:
    """Return collection → names of the encoders of its newest search."""
    with database.transaction() as tx:
        rows = tx.rows(
            "SELECT collection, to_json(encoders) FROM searches WHERE NOT pool "
            "QUALIFY row_number() OVER (PARTITION BY collection ORDER BY created_at DESC) = 1"
        )
    return {str(name): json.loads(str(encoders)) for name, encoders in rows}


def effort_of(database: Database, model: str, of_queries: Sequence[str] = ()) -> ModelEffort | None:
    """Return what the judgements by a model took, None where it has answered nothing.

    Args:
        database: The store.
        model: The model.
        of_queries: Agents one reply of whom serves all candidates of a query; it counts once.
    """
    with database.transaction() as tx:
        calls = tx.dicts(
            "SELECT count(*) FILTER (NOT list_contains($of_queries, role)) "  # noqa: S608 - literals only
            "+ count(DISTINCT (recipe_id, role, prompt_digest, attempt)) "
            "FILTER (list_contains($of_queries, role)) AS calls, "
            "count(*) FILTER (NOT cached) AS paid_calls, "
            "coalesce(sum(seconds) FILTER (NOT cached), 0) AS call_seconds, "
            "coalesce(sum(prompt_tokens) FILTER (NOT cached), 0)::BIGINT AS prompt_tokens, "
            "coalesce(sum(completion_tokens) FILTER (NOT cached), 0)::BIGINT AS completion_tokens, "
            "count(*) FILTER (NOT cached AND seconds > 0) AS single_calls, "
            "CASE WHEN count(*) FILTER (NOT cached AND seconds > 0 AND cost_usd IS NULL) = 0 "
            "THEN sum(cost_usd) FILTER (NOT cached AND seconds > 0) END AS cost_usd, "
            "count(DISTINCT (query_id, code_id, recipe_id)) AS judgements "
            f"FROM {paid_once('llm_calls WHERE model = $model')} WHERE status = 'ok'",
            {"model": model, "of_queries": list(of_queries)},
        )[0]
        runs = tx.dicts(
            "SELECT count(*) AS executions, coalesce(sum(seconds), 0) AS execution_seconds "
            "FROM executions SEMI JOIN (SELECT * FROM llm_calls WHERE model = ?) "
            "USING (query_id, code_id, recipe_id)",
            [model],
        )[0]
    return ModelEffort.model_validate(calls | runs) if calls["paid_calls"] else None


def bytes_per_row(database: Database) -> dict[str, float]:
    """Return row → its bytes in the database file, of tables that are large enough.

    The file's bytes beyond those of the tables, which are their indexes, are shared out in
    proportion.
    """
    found = {}
    with database.transaction() as tx:
        tables = [str(name) for (name,) in tx.rows("SELECT table_name FROM duckdb_tables()")]
        blocks = {table: _blocks_of(tx, table) for table in tables}
        used = tx.count("SELECT max(used_blocks) FROM pragma_database_size()")
        share = max(1.0, used / max(1, sum(blocks.values()))) * _BLOCK_BYTES
        for row, parts in _TABLES_OF_ROW.items():
            number = tx.count(f"SELECT count(*) FROM {parts[0]}")  # noqa: S608 - literals only
            if number >= _FEWEST_ROWS:
                found[row] = share * sum(blocks[table] for table in parts) / number
    return found


def _blocks_of(tx: Transaction, table: str) -> int:
    return tx.count(
        "SELECT count(DISTINCT block) FROM (SELECT unnest(list_append(additional_block_ids, "
        "block_id)) AS block FROM pragma_storage_info(?) WHERE persistent)",
        [table],
    )
