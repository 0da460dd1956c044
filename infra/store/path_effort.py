"""What judgements took in a store, by the agents that they met."""

from collections.abc import Sequence

from infra.records import Record
from infra.settings import RECORDED_PREFIX
from infra.store.database import Database

_EFFORT = """
    WITH asked AS (
        SELECT llm_calls.*, is_duplicate FROM llm_calls JOIN (
            SELECT query_id, code_id, recipe_id, path = 'duplicate' AS is_duplicate
            FROM annotations
        ) USING (query_id, code_id, recipe_id)
    ), shared AS (
        SELECT recipe_id, role, prompt_digest, attempt, count(*) AS pairs FROM asked
        WHERE list_contains($of_queries, role) AND NOT is_duplicate GROUP BY ALL
    ), calls AS (
        SELECT *, CASE WHEN is_duplicate THEN 0 ELSE 1 / coalesce(pairs, 1) END AS share
        FROM asked LEFT JOIN shared USING (recipe_id, role, prompt_digest, attempt)
        WHERE status <> 'refused'
            AND (model = $model OR $model IS NULL AND NOT starts_with(model, $recorded))
    ), called AS (
        SELECT query_id, code_id, recipe_id, sum(share) AS requests,
            sum(share * (coalesce(prompt_tokens, 0) + coalesce(completion_tokens, 0))) AS tokens,
            sum(share * seconds) AS seconds,
            CASE WHEN NOT $of_tokens AND count(*) = count(cost_usd) THEN sum(share * cost_usd
                / CASE WHEN seconds = 0 AND NOT cached THEN $batch_share ELSE 1 END)
            WHEN $prompt_usd IS NOT NULL THEN sum(share * (coalesce(prompt_tokens, 0) * $prompt_usd
                + coalesce(completion_tokens, 0) * $completion_usd)) END AS usd
        FROM calls
        GROUP BY query_id, code_id, recipe_id
    ), ran AS (
        SELECT query_id, code_id, recipe_id, sum(seconds) AS seconds FROM executions
        GROUP BY query_id, code_id, recipe_id
    ), pairs AS (
        SELECT met, requests, tokens, usd,
            greatest(a.seconds, called.seconds) AS seconds,
            CASE WHEN path = 'duplicate' THEN 0 ELSE coalesce(ran.seconds, 0) END AS box_seconds
        FROM annotations AS a JOIN called USING (query_id, code_id, recipe_id)
        LEFT JOIN ran USING (query_id, code_id, recipe_id)
        WHERE status <> 'failed' AND met <> ''
    )
    SELECT coalesce(met, '') AS met, count(*) AS pairs, {figures}
    FROM pairs GROUP BY GROUPING SETS ((met), ()) HAVING count(*) > 0
"""
QUANTITIES = ("requests", "tokens", "seconds", "box_seconds", "usd")


class PathFigures(Record):
    """What pairs took that met the same agents: mean and variance of each quantity.

    Attributes:
        met: The agents; empty for all pairs together.
        pairs: How many pairs.
        figures: Quantity, of `QUANTITIES`, → mean and variance; None where it is unknown.
    """

    met: str
    pairs: int
    figures: dict[str, tuple[float, float] | None]


class Prices(Record):
    """What tokens cost.

    Attributes:
        prompt_usd: Dollars of a token sent; None is unknown.
        completion_usd: Dollars of a token received.
        batch_share: The share of this that a token of a batch costs.
        of_tokens: Take these prices also where the provider said what a request cost.
    """

    prompt_usd: float | None = None
    completion_usd: float | None = None
    batch_share: float = 1.0
    of_tokens: bool = False


def path_figures(
    database: Database, model: str | None, prices: Prices, of_queries: Sequence[str] = ()
) -> list[PathFigures]:
    """Return what pairs took by path, and all together; nothing where none was judged.

    A reply from the store of replies counts as if it had been paid for; one that several pairs of a
    query share counts in parts for each, and what a duplicate has from another pair as nothing.

    Args:
        database: The store.
        model: The model that judged them; None takes all but recorded replies.
        prices: What a token costs where the provider did not say what a request did.
        of_queries: The agents whose replies pairs share.
    """
    figures = ", ".join(
        f"avg({name}) AS {name}_mean, coalesce(var_samp({name}), 0) AS {name}_variance"
        for name in QUANTITIES
    )
    with database.transaction() as tx:
        cursor = tx.connection.execute(
            _EFFORT.format(figures=figures),
            {
                "model": model,
                "recorded": RECORDED_PREFIX,
                "of_queries": list(of_queries),
                **prices.model_dump(),
            },
        )
        names = [column[0] for column in cursor.description or ()]
        rows = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
    return [
        PathFigures(
            met=str(row["met"]),
            pairs=int(row["pairs"]),
            figures={name: _figure(row, name) for name in QUANTITIES},
        )
        for row in rows
    ]


def _figure(row: dict[str, object], name: str) -> tuple[float, float] | None:
    mean, variance = row[f"{name}_mean"], row[f"{name}_variance"]
    return None if mean is None else (float(str(mean)), float(str(variance)))
