"""Figures of labels by the agents: how many, by which paths, at what cost."""

from infra.ids import RecipeId
from infra.records import Record
from infra.store.database import Database, Transaction
from infra.store.standing import IN_BASIS, CurrentLabels, standing
from infra.summaries import Effort

_EFFORT = f"""
    SELECT count(*) AS calls, count(*) FILTER (cached) AS cached_calls,
        coalesce(sum(prompt_tokens), 0)::BIGINT AS prompt_tokens,
        coalesce(sum(completion_tokens), 0)::BIGINT AS completion_tokens,
        CASE WHEN count(*) FILTER (NOT cached AND cost_usd IS NULL) > 0 THEN NULL
             ELSE coalesce(sum(cost_usd) FILTER (NOT cached), 0) END AS cost_usd,
        coalesce(sum(seconds), 0) AS model_seconds,
        (SELECT coalesce(sum(seconds), 0) FROM annotations {IN_BASIS}) AS pair_seconds
    FROM llm_calls {IN_BASIS}
"""  # noqa: S608 - literals only


class LabelFigures(Record):
    """Counts over the judgements that the current labels rest on.

    Attributes:
        queries: Queries with a pair that was judged, or that failed.
        pairs: These pairs.
        statuses: ``labelled``, ``undecided``, ``failed`` → judgements.
        labels: "1", "0", "none" → judgements.
        paths: Path through Algorithm 1 → judgements.
        support: What labels rest on → judgements.
        outcomes: How a run of a test program ended → runs.
        recipes: Recipe → its judgements.
        effort: Cached replies cost nothing; the cost is unknown if that of one call is.
    """

    queries: int
    pairs: int
    statuses: dict[str, int]
    labels: dict[str, int]
    paths: dict[str, int]
    support: dict[str, int]
    outcomes: dict[str, int]
    recipes: dict[str, int]
    effort: Effort


def label_figures(database: Database, labels: CurrentLabels) -> LabelFigures:
    """Return the figures of the labels that stand; those of former recipes are among them."""
    with database.transaction() as tx, standing(tx, labels):
        seen = "(SELECT query_id FROM standing UNION ALL SELECT query_id FROM failed)"
        failed = tx.count("SELECT count(*) FROM failed")
        statuses = _counts(tx, "annotations", "status") | ({"failed": failed} if failed else {})
        return LabelFigures(
            queries=tx.count(f"SELECT count(DISTINCT query_id) FROM {seen}"),  # noqa: S608 - literals only
            pairs=tx.count(f"SELECT count(*) FROM {seen}"),  # noqa: S608 - literals only
            statuses=dict(sorted(statuses.items())),
            labels=_counts(tx, "annotations", "label"),
            paths=_counts(tx, "annotations", "path"),
            support=_counts(tx, "annotations", "grade"),
            outcomes=_counts(tx, "executions", "outcome"),
            recipes=_counts(tx, "annotations", "recipe_id"),
            effort=Effort.model_validate(tx.dicts(_EFFORT)[0]),
        )


def recipes_behind(database: Database, labels: CurrentLabels) -> list[RecipeId]:
    """Return the recipes of the judgements that the current labels rest on, ascending."""
    with database.transaction() as tx, standing(tx, labels):
        rows = tx.rows("SELECT DISTINCT recipe_id FROM basis ORDER BY recipe_id")
    return [RecipeId(str(recipe_id)) for (recipe_id,) in rows]


def _counts(tx: Transaction, table: str, column: str) -> dict[str, int]:
    """Return value of a column → number of rows behind the labels; NULL counts as "none"."""
    rows = tx.rows(
        f"SELECT coalesce({column}::VARCHAR, 'none') AS value, count(*) "  # noqa: S608 - literals only
        f"FROM {table} {IN_BASIS} GROUP BY value ORDER BY value"
    )
    return {str(value): int(str(number)) for value, number in rows}
