"""Candidates that a recipe has not finished: counted, and read in order with their texts."""

from infra.ids import RecipeId, SearchId
from infra.records import Code, Pair, Query, Record
from infra.store.database import Database

_ALL = 2**31 - 1

# Candidates of a search for a collection's first queries, without those that a recipe has finished.
_CHOSEN = (
    "WITH chosen AS (SELECT query_id, position FROM collection_queries "
    "                WHERE collection = ? ORDER BY position LIMIT ?), "
    "found AS (SELECT position, rank, query_id, code_id FROM candidates "
    "          JOIN chosen USING (query_id) WHERE search_id = ?), "
    "pending AS (SELECT * FROM found ANTI JOIN (SELECT query_id, code_id FROM annotations "
    "            WHERE recipe_id = ? AND status <> 'failed') USING (query_id, code_id)), "
    "readable AS (SELECT * FROM pending SEMI JOIN (SELECT code_id FROM collection_codes "
    "             WHERE collection = ?) USING (code_id)) "
)


class Selection(Record):
    """Candidates of a search and the recipe that annotates them.

    Attributes:
        search_id: The search.
        collection: Whose queries and codes they are.
        recipe_id: The recipe; a pair that it has finished is not pending.
        limit: Only the collection's first so many queries count; None takes all.
    """

    search_id: SearchId
    collection: str
    recipe_id: RecipeId
    limit: int | None = None

    @property
    def parameters(self) -> list[object]:
        """What fills the placeholders of the common part of the SQL."""
        limit = _ALL if self.limit is None else self.limit
        return [self.collection, limit, self.search_id, self.recipe_id, self.collection]


class PairCounts(Record):
    """How many pairs a search found, how many of them are pending, and how many lack their code."""

    candidates: int
    pending: int
    without_code: int


class Position(Record):
    """The place of a pair in the order of reading: its query's position, its rank, its code."""

    query: int = -1
    rank: int = 0
    code_id: str = ""


def count_pairs(database: Database, selection: Selection) -> PairCounts:
    """Return how many pairs are selected and pending.

    A candidate whose code the collection does not hold can be neither read nor judged: it is
    counted apart.
    """
    with database.transaction() as tx:
        row = tx.dicts(
            _CHOSEN  # noqa: S608 - our own words
            + "SELECT (SELECT count(*) FROM found) AS candidates, "
            "(SELECT count(*) FROM readable) AS pending, "
            "(SELECT count(*) FROM pending) - (SELECT count(*) FROM readable) AS without_code",
            selection.parameters,
        )[0]
    return PairCounts.model_validate(row)


def load_pending(
    database: Database, selection: Selection, after: Position, at_most: int
) -> tuple[list[Pair], Position]:
    """Return the next pending pairs after a position, best first, and the position of the last.

    The order is that of the queries, then of the ranks. Who goes on from the position that comes
    back meets no pair twice, also where a pair failed meanwhile.
    """
    with database.transaction() as tx:
        rows = tx.dicts(
            _CHOSEN  # noqa: S608 - our own words
            + ", wanted AS (SELECT * FROM readable WHERE (position, rank, code_id) > "
            "(?, ?, ?) ORDER BY position, rank, code_id LIMIT ?) "
            "SELECT wanted.position AS place, rank, query_id, queries.text AS query_text, "
            "code_id, codes.text, name, module, first_line, last_line, documentation, parameters, "
            "k.origin FROM wanted JOIN queries USING (query_id) JOIN codes USING (code_id) "
            "JOIN (SELECT * FROM collection_codes WHERE collection = ?) AS k USING (code_id) "
            "ORDER BY place, rank, code_id",
            [
                *selection.parameters,
                *(after.query, after.rank, after.code_id, at_most),
                selection.collection,
            ],
        )
    if not rows:
        return [], after
    pairs = [_pair(row) for row in rows]
    last = rows[-1]
    end = {"query": last["place"], "rank": last["rank"], "code_id": last["code_id"]}
    return pairs, Position.model_validate(end)


def _pair(row: dict[str, object]) -> Pair:
    others = {"place", "rank", "query_id", "query_text"}
    return Pair(
        query=Query.model_validate({"query_id": row["query_id"], "text": row["query_text"]}),
        code=Code.model_validate({name: row[name] for name in row.keys() - others}),
    )
