"""Tables of behaviours: what the candidates of a query give for its claims, compared.

A comparison follows from annotations alone. Its name is a digest of these and of what made it, so
that queries whose annotations have changed since are found without a comparison. It is of one
collection, since others may have other candidates of the query. Each behaviour belongs to an
annotation, and is that of the collection's last comparison in which it took part.
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from infra.ids import CodeId, PairKey, QueryId, RecipeId
from infra.records import Record
from infra.store.database import Database, Transaction
from infra.store.labels import CurrentLabels, standing
from infra.summaries import BehaviourFigures

# Annotations that count for a labelling round of the recipe in use, one a pair.
_TOGETHER = """
    annotations SEMI JOIN (SELECT * FROM votes WHERE number = 0 AND round = $round)
    USING (query_id, code_id, recipe_id)
"""
_DUE = f"""
    WITH together AS (
        SELECT query_id, md5($program || ' ' || query_id || ' ' || string_agg(concat_ws(
            ' ', code_id, recipe_id, status, coalesce(label::VARCHAR, 'none'),
            epoch_us(annotated_at)), ',' ORDER BY code_id)) AS comparison
        FROM {_TOGETHER} GROUP BY query_id
    ), given AS (
        SELECT comparison, count(*) AS codes FROM code_behaviours
        WHERE collection = $collection GROUP BY comparison
    ), whole AS (
        SELECT comparison FROM query_behaviours AS q LEFT JOIN given USING (comparison)
        WHERE collection = $collection AND q.codes = coalesce(given.codes, 0)
    )
    SELECT query_id, comparison FROM together ANTI JOIN whole USING (comparison) ORDER BY query_id
"""  # noqa: S608 - literals only
_KEYS = f"""
    SELECT query_id, code_id, recipe_id FROM {_TOGETHER}
    WHERE list_contains($queries, query_id) ORDER BY query_id, code_id
"""  # noqa: S608 - literals only
Binary = Literal[0, 1]


class CodeBehaviour(Record):
    """What a code gave for the claims of a query; ``recipe_id`` names its annotation.

    Attributes:
        outcomes: Of each claim ``held``, ``gave …``, or "" where it could not be run.
        behaviour: Equal for codes that behave alike; "" where too little ran.
        label: The annotation's.
        agreed: The label after the comparison with the other candidates.
        reason: Why it is another one, or why labels of equal behaviour differ; else "".
    """

    code_id: CodeId
    recipe_id: RecipeId
    outcomes: tuple[str, ...]
    behaviour: str
    label: Binary | None
    agreed: Binary | None
    reason: str


class Comparison(Record):
    """What a query's candidates were compared by, and what they gave.

    Attributes:
        comparison: Its name; see `due_comparisons`.
        claims: None where the annotations have none to run.
        consistency: Share of pairs of codes of equal behaviour that have one label; None without
            such pairs.
        codes: Its codes; none where nothing could be compared.
    """

    query_id: QueryId
    comparison: str
    claims: tuple[str, ...] = ()
    consistency: float | None = None
    codes: tuple[CodeBehaviour, ...] = ()


class DueComparison(NamedTuple):
    """A query whose candidates are to be compared, and the name of that comparison."""

    query_id: QueryId
    comparison: str


def due_comparisons(
    database: Database, labels: CurrentLabels, labelling_round: int, program: str
) -> list[DueComparison]:
    """Return the queries whose annotations have changed since they were compared, ascending.

    So are those of which an annotation took part in another comparison later.

    Args:
        database: The store.
        labels: The labels of the recipe in use.
        labelling_round: The round, from 0, whose annotations are compared.
        program: Digest of what compares them.
    """
    with database.transaction() as tx, standing(tx, labels):
        parameters = {"round": labelling_round, "program": program}
        rows = tx.rows(_DUE, {**parameters, "collection": labels.collection})
    return [DueComparison(*row) for row in rows]


def compared_annotations(
    database: Database, labels: CurrentLabels, labelling_round: int, queries: Sequence[QueryId]
) -> dict[RecipeId, list[PairKey]]:
    """Return recipe → pairs of whose annotations by it the comparisons of queries consist."""
    found: dict[RecipeId, list[PairKey]] = {}
    with database.transaction() as tx, standing(tx, labels):
        parameters = {"round": labelling_round, "queries": list(queries)}
        rows = tx.rows(_KEYS, parameters)
    for query, code, recipe in rows:
        found.setdefault(recipe, []).append(PairKey(query, code))
    return found


def record_comparisons(
    database: Database, collection: str, recipe_id: RecipeId, comparisons: Sequence[Comparison]
) -> None:
    """Store comparisons made under a recipe, in place of what is stored of their queries.

    Args:
        database: The store.
        collection: Whose candidates were compared; what is stored of others stays.
        recipe_id: The recipe in use.
        comparisons: Each query once.
    """
    own = {"collection": collection}
    queries = [
        own
        | {"recipe_id": recipe_id, "codes": len(item.codes)}
        | item.model_dump(exclude={"codes"})
        for item in comparisons
    ]
    codes = [
        own | {"query_id": item.query_id, "comparison": item.comparison} | code.model_dump()
        for item in comparisons
        for code in item.codes
    ]
    names = {name: [row[name] for row in queries] for name in ("query_id", "comparison")}
    keys = {name: [row[name] for row in codes] for name in ("query_id", "code_id", "recipe_id")}
    with database.transaction() as tx:
        with tx.table("made", names):
            tx.execute(
                "CREATE TEMP TABLE replaced AS SELECT comparison FROM made UNION SELECT comparison "
                "FROM query_behaviours WHERE collection = ? AND recipe_id = ? "
                "AND query_id IN (SELECT query_id FROM made)",
                [collection, recipe_id],
            )
        for table in ("query_behaviours", "code_behaviours"):
            tx.execute(
                f"DELETE FROM {table} WHERE collection = ? AND comparison IN (FROM replaced)",  # noqa: S608
                [collection],
            )
        tx.execute("DROP TABLE replaced")
        if codes:
            with tx.table("given", keys):
                tx.execute(
                    "DELETE FROM code_behaviours WHERE collection = ? "
                    "AND (query_id, code_id, recipe_id) IN "
                    "(SELECT (query_id, code_id, recipe_id) FROM given)",
                    [collection],
                )
        tx.insert("query_behaviours", queries)
        tx.insert("code_behaviours", codes)


def behaviours_of(
    database: Database, key: PairKey, recipe_id: RecipeId
) -> list[tuple[str, tuple[str, ...], CodeBehaviour]]:
    """Return how the code of an annotation behaves, by each collection that has compared it.

    Before it come the collection and the query's claims.

    Args:
        database: The store.
        key: The pair.
        recipe_id: That gave the annotation.
    """
    with database.transaction() as tx:
        rows = tx.dicts(
            "SELECT collection, code_id, b.recipe_id, outcomes, behaviour, label, agreed, reason, "
            "claims FROM code_behaviours AS b JOIN query_behaviours USING (collection, comparison) "
            "WHERE b.query_id = ? AND code_id = ? AND b.recipe_id = ? ORDER BY collection",
            [*key, recipe_id],
        )
    return [
        (row.pop("collection"), tuple(row.pop("claims")), CodeBehaviour.model_validate(row))
        for row in rows
    ]


def behaviour_figures(database: Database) -> BehaviourFigures:
    """Return the counts over all comparisons of a store."""
    with database.transaction() as tx:
        return figures_of(tx, "code_behaviours")


def figures_of(tx: Transaction, codes: str, collection: str | None = None) -> BehaviourFigures:
    """Return the counts over some rows of `code_behaviours`.

    Args:
        tx: A transaction.
        codes: SQL after FROM that gives the rows.
        collection: Whose comparisons are counted; None counts those of all.
    """
    [figures] = tx.records(
        BehaviourFigures,
        f"WITH codes AS (SELECT code_behaviours.* FROM {codes} "  # noqa: S608 - literals only
        "    WHERE collection = coalesce($collection, collection)), counted AS ("
        "    SELECT label, agreed, behaviour <> '' AND min(agreed) OVER alike <> "
        "        max(agreed) OVER alike AS differs FROM codes "
        "    WINDOW alike AS (PARTITION BY collection, comparison, behaviour)), "
        "compared AS (SELECT * FROM query_behaviours "
        "    SEMI JOIN codes USING (collection, comparison)) "
        "SELECT (SELECT count(*) FROM compared) AS queries, "
        "(SELECT avg(consistency) FROM compared) AS consistency, "
        "count(*) FILTER (agreed IS DISTINCT FROM label) AS changed, "
        "count(*) FILTER (differs) AS contradictions FROM counted",
        {"collection": collection},
    )
    return figures
