"""Figures over many annotations, candidates and scores, aggregated by the database."""

from collections.abc import Mapping, Sequence

from infra.ids import BenchmarkId, CodeId, QueryId, SearchId
from infra.records import Record
from infra.store.database import Database
from infra.store.standing import IN_BASIS, CurrentLabels, standing

_KEY = "query_id, code_id, recipe_id"


class RankCounts(Record):
    """The labelled candidates of one rank, and how many of them match."""

    rank: int
    labelled: int
    matches: int


class PairEffort(Record):
    """Pairs of one kind, with time and cost of all their calls, cached ones included.

    Attributes:
        seconds: Sum over model calls and program runs.
        dollars: None where the cost of a call is unknown.
    """

    kind: str
    pairs: int
    seconds: float
    dollars: float | None


class ProgramCounts(Record):
    """The last programs of pairs: how many, the test functions in them, and how many ran."""

    programs: int
    tests: int
    executed: int


class GroupMean(Record):
    """A method's mean in a metric over the queries with so many matches."""

    method: str
    metric: str
    matches: int
    value: float
    queries: int


def count_by_rank(
    database: Database, search_id: SearchId, labels: CurrentLabels
) -> list[RankCounts]:
    """Return the labels of a search's candidates by rank."""
    with database.transaction() as tx, standing(tx, labels):
        rows = tx.dicts(
            "SELECT rank, count(relevance) AS labelled, "
            "coalesce(sum(relevance), 0)::BIGINT AS matches "
            "FROM candidates JOIN standing USING (query_id, code_id) "
            "WHERE search_id = ? GROUP BY rank ORDER BY rank",
            [search_id],
        )
    return [RankCounts.model_validate(row) for row in rows]


def efforts(database: Database, labels: CurrentLabels) -> list[PairEffort]:
    """Return time and cost of the judgements behind labels: clear, unclear, by claims or other."""
    with database.transaction() as tx, standing(tx, labels):
        rows = tx.dicts(
            "WITH pairs AS ("  # noqa: S608 - literals only
            f"  SELECT {_KEY}, CASE WHEN starts_with(path, 'clear_') THEN 'clear' "
            "  WHEN starts_with(path, 'unclear_') THEN 'unclear' "
            "  WHEN starts_with(path, 'claims_') THEN 'by claims' ELSE 'other' END AS kind "
            f"  FROM annotations {IN_BASIS}), "
            "calls AS ("
            f"  SELECT {_KEY}, sum(seconds) AS seconds, sum(cost_usd) AS dollars, "
            f"  count(*) - count(cost_usd) AS unpriced FROM llm_calls {IN_BASIS} GROUP BY {_KEY}), "
            "runs AS ("
            f"  SELECT {_KEY}, sum(seconds) AS seconds FROM executions {IN_BASIS} "
            f"  GROUP BY {_KEY}) "
            "SELECT kind, count(*) AS pairs, "
            "coalesce(sum(calls.seconds), 0) + coalesce(sum(runs.seconds), 0) AS seconds, "
            "CASE WHEN coalesce(sum(unpriced), 0) > 0 THEN NULL ELSE coalesce(sum(dollars), 0) END "
            f"AS dollars FROM pairs LEFT JOIN calls USING ({_KEY}) "
            f"LEFT JOIN runs USING ({_KEY}) GROUP BY kind ORDER BY kind"
        )
    return [PairEffort.model_validate(row) for row in rows]


def count_programs(
    database: Database, labels: CurrentLabels, executed: Sequence[str]
) -> ProgramCounts:
    """Return the counts over the last program of each pair that has one.

    Args:
        database: The store.
        labels: The labels whose pairs count.
        executed: The outcomes of a program that ran to its end or to a failing assertion.
    """
    with database.transaction() as tx, standing(tx, labels):
        row = tx.dicts(
            "WITH latest AS ("  # noqa: S608 - literals only
            f"  SELECT program, outcome FROM executions {IN_BASIS} "
            f"  QUALIFY row_number() OVER (PARTITION BY {_KEY} ORDER BY ordinal DESC) = 1) "
            "SELECT count(*) AS programs, coalesce(sum(len(regexp_extract_all("
            "  program, '(?m)^[ \\t]*(async[ \\t]+)?def[ \\t]+test'))), 0)::BIGINT AS tests, "
            "count(*) FILTER (list_contains(?::VARCHAR[], outcome)) AS executed FROM latest",
            [list(executed)],
        )[0]
    return ProgramCounts.model_validate(row)


def candidates_of(
    database: Database, search_id: SearchId, queries: Sequence[QueryId]
) -> dict[QueryId, list[CodeId]]:
    """Return query → the ids of its candidates in a search, for those of the queries with any."""
    with database.transaction() as tx, tx.table("wanted", {"query_id": list(queries)}):
        rows = tx.rows(
            "SELECT query_id, list(code_id) FROM candidates SEMI JOIN wanted USING (query_id) "
            "WHERE search_id = ? GROUP BY query_id",
            [search_id],
        )
    return {
        QueryId(str(query)): [CodeId(str(code)) for code in codes]
        for query, codes in rows
        if isinstance(codes, list)
    }


def group_means(
    database: Database,
    benchmark_id: BenchmarkId,
    method_keys: Sequence[str],
    metrics: Sequence[str],
    matches: Mapping[str, int],
) -> list[GroupMean]:
    """Return the mean scores over the queries of each number of matches.

    Args:
        database: The store.
        benchmark_id: The benchmark.
        method_keys: The methods, in the order of the result.
        metrics: The metrics.
        matches: Query → number of relevant codes.
    """
    groups: dict[str, Sequence[object]] = {
        "query_id": list(matches),
        "matches": list(matches.values()),
    }
    with database.transaction() as tx, tx.table("groups", groups):
        rows = tx.dicts(
            "SELECT method, metric, matches, avg(value) AS value, count(*) AS queries FROM scores "
            "JOIN evaluations USING (benchmark_id, method_key) JOIN groups USING (query_id) "
            "WHERE benchmark_id = ? AND list_contains(?, method_key) AND list_contains(?, metric) "
            "GROUP BY method, method_key, metric, matches "
            "ORDER BY list_position(?, method_key), metric, matches",
            [benchmark_id, list(method_keys), list(metrics), list(method_keys)],
        )
    return [GroupMean.model_validate(row) for row in rows]
