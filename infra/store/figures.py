"""Figures of reports and studies, counted by the database."""

from collections.abc import Mapping, Sequence

from infra.identity import RecipeId, SearchId
from infra.records import Record
from infra.store.corpus import drawn_queries
from infra.store.database import Database, Parameters, Queries, Transaction, statements_beside
from infra.store.labels import ONLY_SUPPORTING, CurrentLabels, define_macros, labels_in
from infra.subsets import ALL, Draw
from infra.summaries import (
    Cost,
    LabelFigures,
    LabelShape,
    PairCost,
    ProgramCounts,
    RankCounts,
    ReadingFigures,
    RoleReplies,
)

_SQL = statements_beside(__file__)
# A test of a program in Python, JavaScript or Go, as the harnesses find them.
_TEST_CASE = (
    r"(?m)^(?:[ \t]*(?:async[ \t]+)?def[ \t]+test"
    r"|(?:(?:async\s+)?function\s+|(?:const|let|var)\s+)test\w*|func[ \t]+Test)"
)
_QUANTITIES = ("tokens", "usd", "seconds")


class Mean(Record):
    """Mean and variance of a quantity over pairs."""

    mean: float
    variance: float = 0.0


class PairMeans(Record):
    """Mean tokens, price and time of judging a pair.

    Attributes:
        pairs: Number of the pairs.
        tokens: Tokens sent and received.
        usd: Their price in US dollars; None is unknown, which is not 0.
        seconds: Seconds from a pair's start to its end.
    """

    pairs: int
    tokens: Mean
    usd: Mean | None
    seconds: Mean


def label_figures(database: Database, labels: CurrentLabels) -> LabelFigures:
    """Return the figures of the labels that stand; those of former recipes are among them."""
    with labels_in(database, labels) as tx:
        failed = tx.count("SELECT count(*) FROM current_labels WHERE status = 'failed'")
        statuses = _counts(tx, "annotations", "status") | ({"failed": failed} if failed else {})
        return LabelFigures(
            queries=tx.count("SELECT count(DISTINCT query_id) FROM current_labels"),
            pairs=tx.count("SELECT count(*) FROM current_labels"),
            statuses=dict(sorted(statuses.items())),
            labels=_counts(tx, "annotations", "label"),
            outcomes=_counts(tx, "executions", "outcome"),
            recipes=_counts(tx, "annotations", "recipe_id"),
            shape=shape_of(tx, {"searches": list(labels.search_ids), "drawn": None}),
            cost=tx.records(Cost, _SQL["cost"])[0],
        )


def shape_of(
    queries: Queries, parameters: Parameters = (), statements: Mapping[str, str] = _SQL
) -> LabelShape:
    """Return what labels say, by the statements ``matches``, ``ranks`` and ``bases``."""
    return LabelShape(
        matches=dict(queries.rows(statements["matches"])),
        ranks=tuple(queries.records(RankCounts, statements["ranks"], parameters)),
        bases=tuple(queries.rows(statements["bases"])),
    )


def reading_figures(database: Database, recipes: Sequence[RecipeId], reader: str) -> ReadingFigures:
    """Return how well models read and are read, in all judgements by some recipes.

    Args:
        database: The store.
        recipes: The recipes.
        reader: The role whose verdicts are readings.
    """
    with database.transaction() as tx:
        roles = tx.records(RoleReplies, _SQL["replies"], {"recipes": list(recipes)})
        [counts] = tx.dicts(_SQL["readings"], {"recipes": list(recipes), "reader": reader})
    return ReadingFigures(roles=tuple(roles), **counts)


def votes_of_rounds(database: Database, labels: CurrentLabels) -> list[tuple[int | None, ...]]:
    """Return the votes of each pair that the rounds of the recipe in use judged.

    None is a round's that gave the pair no label. A label of a former recipe is among them where it
    counts for the round.
    """
    rounds = range(len(labels.sets[0]))
    columns = ", ".join(f"max(label) FILTER (round = {place})::INTEGER" for place in rounds)
    fresh = labels.model_copy(update={"fresh_only": True})
    with database.transaction() as tx:
        define_macros(tx)
        return tx.rows(
            f"SELECT {columns} FROM votes($labels) GROUP BY query_id, code_id "  # noqa: S608 - literals only
            "ORDER BY query_id, code_id",
            {"labels": fresh.struct},
        )


def recipes_behind(database: Database, labels: CurrentLabels) -> list[RecipeId]:
    """Return the recipes of the judgements that the current labels rest on, ascending."""
    with labels_in(database, labels) as tx:
        return tx.column("SELECT DISTINCT recipe_id FROM supporting_annotations ORDER BY recipe_id")


def _counts(tx: Transaction, table: str, column: str) -> dict[str, int]:
    """Return value of a column → number of rows behind the labels; NULL counts as "none"."""
    rows = tx.rows(
        f"SELECT coalesce({column}::VARCHAR, 'none') AS value, count(*) "  # noqa: S608 - literals only
        f"FROM {table} {ONLY_SUPPORTING} GROUP BY value ORDER BY value"
    )
    return dict(rows)


def pair_means(
    database: Database, model: str, configuration: str, prices: tuple[float, float] | None
) -> PairMeans | None:
    """Return the cost of pairs that a model judged in a configuration; None without any.

    A reply from the journal counts as if it had been paid for; one that several pairs share counts
    in parts for each. Pairs are left out of which the provider did not say the tokens.

    Args:
        database: The store.
        model: The model.
        configuration: The configuration of the agents.
        prices: US dollars of a token sent and of one received; None where they are unknown.
    """
    figures = ", ".join(
        f"{{mean: avg({name}), variance: coalesce(var_samp({name}), 0)}} AS {name}"
        for name in _QUANTITIES
    )
    sent_usd, received_usd = prices or (None, None)
    [found] = database.dicts(
        _SQL["pair_means"].replace("{figures}", figures),
        {
            "model": model,
            "configuration": configuration,
            "sent_usd": sent_usd,
            "received_usd": received_usd,
        },
    )
    if not found["pairs"]:
        return None
    return PairMeans.model_validate(found | ({} if prices else {"usd": None}))


def recent_replies(database: Database, model: str, configuration: str) -> tuple[int, list[str]]:
    """Return how many pairs a model has judged last, some hundreds at most, and replies' keys."""
    given = {"model": model, "configuration": configuration}
    [(pairs, keys)] = database.rows(_SQL["recent_replies"], given)
    return pairs, keys or []


def count_by_rank(
    database: Database, search_id: SearchId, labels: CurrentLabels, draw: Draw = ALL
) -> list[RankCounts]:
    """Return the labels of a search's candidates by rank, those of the drawn queries."""
    with labels_in(database, labels) as tx:
        return tx.records(
            RankCounts,
            _SQL["ranks"],
            {"searches": [search_id], "drawn": drawn_queries(tx, labels.collection, draw)},
        )


def pair_costs(
    database: Database, labels: CurrentLabels, of_queries: Sequence[str] = ()
) -> list[PairCost]:
    """Return time and cost of the judgements behind labels: clear, unclear, by claims or other.

    A pair's time is what its judgement took, installations and gates too, or that of its calls and
    runs where replies from the cache took less. A reply that several pairs of a query share counts
    in parts for each.

    Args:
        database: The store.
        labels: The labels whose judgements count.
        of_queries: The agents whose replies pairs share.
    """
    with labels_in(database, labels) as tx:
        return tx.records(PairCost, _SQL["pair_costs"], {"of_queries": list(of_queries)})


def count_programs(
    database: Database, labels: CurrentLabels, executed: Sequence[str]
) -> ProgramCounts:
    """Return the counts over the last program of each pair that has one.

    Args:
        database: The store.
        labels: The labels whose pairs count.
        executed: The outcomes of a program that ran to its end or to a failing assertion.
    """
    with labels_in(database, labels) as tx:
        given = {"test_case": _TEST_CASE, "executed": list(executed)}
        return tx.records(ProgramCounts, _SQL["programs"], given)[0]
