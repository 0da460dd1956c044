"""Figures of labels by the agents: how many, by which paths, at what cost."""

from infra.ids import RecipeId
from infra.records import Record
from infra.store.annotations import UNPRICED, paid_once
from infra.store.behaviours import figures_of
from infra.store.database import Database, Transaction
from infra.store.standing import IN_BASIS, CurrentLabels, standing
from infra.summaries import BehaviourFigures, Effort

_IN_TRIES = "SEMI JOIN tries USING (query_id, code_id, recipe_id)"
# Of pairs that nobody has judged the tries that failed are among them.
_EFFORT = f"""
    WITH tries AS (
        SELECT query_id, code_id, recipe_id FROM basis
        UNION ALL SELECT query_id, code_id, recipe_id FROM annotations
        SEMI JOIN failed USING (query_id, code_id) WHERE list_contains(?, recipe_id)
    )
    SELECT count(*) AS calls, count(*) FILTER (cached) AS cached_calls,
        coalesce(sum(prompt_tokens), 0)::BIGINT AS prompt_tokens,
        coalesce(sum(completion_tokens), 0)::BIGINT AS completion_tokens,
        CASE WHEN count(*) FILTER ({UNPRICED}) > 0 THEN NULL
             ELSE coalesce(sum(cost_usd) FILTER (NOT cached), 0) END AS cost_usd,
        coalesce(sum(seconds), 0) AS model_seconds,
        (SELECT coalesce(sum(seconds), 0) FROM annotations {_IN_TRIES}) AS pair_seconds
    FROM {paid_once(f"llm_calls {_IN_TRIES}")}
"""  # noqa: S608 - literals only


class LabelFigures(Record):
    """Counts over the judgements that the current labels rest on.

    Attributes:
        queries: Queries with a pair that was judged, or that failed.
        pairs: These pairs.
        statuses: ``labelled``, ``undecided``, ``failed`` → judgements.
        labels: "1", "0", "none" → judgements, as they count for the label.
        paths: Path through Algorithm 1 → judgements.
        support: What labels rest on → judgements.
        outcomes: How a run of a test program ended → runs.
        recipes: Recipe → its judgements.
        behaviours: How they compare with those of codes that behave alike.
        effort: Of these judgements, and of the tries of pairs that failed. Cached replies cost
            nothing; the cost is unknown if that of one reply is.
    """

    queries: int
    pairs: int
    statuses: dict[str, int]
    labels: dict[str, int]
    paths: dict[str, int]
    support: dict[str, int]
    outcomes: dict[str, int]
    recipes: dict[str, int]
    behaviours: BehaviourFigures
    effort: Effort


def label_figures(database: Database, labels: CurrentLabels) -> LabelFigures:
    """Return the figures of the labels that stand; those of former recipes are among them."""
    with database.transaction() as tx, standing(tx, labels):
        seen = "(SELECT query_id FROM standing UNION ALL SELECT query_id FROM failed)"
        failed = tx.count("SELECT count(*) FROM failed")
        recipes = sorted(labels.coverage.recipes)
        statuses = _counts(tx, "annotations", "status") | ({"failed": failed} if failed else {})
        return LabelFigures(
            queries=tx.count(f"SELECT count(DISTINCT query_id) FROM {seen}"),  # noqa: S608 - literals only
            pairs=tx.count(f"SELECT count(*) FROM {seen}"),  # noqa: S608 - literals only
            statuses=dict(sorted(statuses.items())),
            labels=_counts(tx, "basis", "vote"),
            paths=_counts(tx, "annotations", "path"),
            support=_counts(tx, "annotations", "grade"),
            outcomes=_counts(tx, "executions", "outcome"),
            recipes=_counts(tx, "annotations", "recipe_id"),
            behaviours=figures_of(tx, f"code_behaviours {IN_BASIS}", labels.collection),
            effort=Effort.model_validate(tx.dicts(_EFFORT, [recipes])[0]),
        )


def votes_of_rounds(database: Database, labels: CurrentLabels) -> list[tuple[int | None, ...]]:
    """Return the votes of each pair that the rounds of the recipe in use have judged, in order.

    None is a round's that gave the pair no label. A label of a former recipe is among them where it
    counts for the round.
    """
    rounds = range(len(labels.coverage.sets[0]))
    columns = ", ".join(f"max(label) FILTER (round = {place})::INTEGER" for place in rounds)
    fresh = labels.model_copy(update={"fresh_only": True})
    with database.transaction() as tx, standing(tx, fresh):
        rows = tx.rows(
            f"SELECT {columns} FROM votes GROUP BY query_id, code_id ORDER BY query_id, code_id"  # noqa: S608 - literals only
        )
    return [tuple(vote if isinstance(vote, int) else None for vote in row) for row in rows]


def recipes_behind(database: Database, labels: CurrentLabels) -> list[RecipeId]:
    """Return the recipes of the judgements that the current labels rest on, ascending."""
    with database.transaction() as tx, standing(tx, labels):
        rows = tx.rows("SELECT DISTINCT recipe_id FROM basis ORDER BY recipe_id")
    return [RecipeId(str(recipe_id)) for (recipe_id,) in rows]


def _counts(tx: Transaction, table: str, column: str) -> dict[str, int]:
    """Return value of a column → number of rows behind the labels; NULL counts as "none"."""
    behind = table if table == "basis" else f"{table} {IN_BASIS}"
    rows = tx.rows(
        f"SELECT coalesce({column}::VARCHAR, 'none') AS value, count(*) "  # noqa: S608 - literals only
        f"FROM {behind} GROUP BY value ORDER BY value"
    )
    return {str(value): int(str(number)) for value, number in rows}
