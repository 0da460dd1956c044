"""Pending pairs: candidates that a recipe has not finished, counted and loaded in order."""

from infra.ids import RecipeId, SearchId
from infra.records import Code, Pair, Query, Record
from infra.store.database import Database

_ALL = 2**31 - 1

# Candidates of a search for a collection's first queries, without those that a recipe has finished.
_SELECTED_CANDIDATES = (
    "WITH selected AS (SELECT query_id, position FROM collection_queries "
    "                  WHERE collection = ? ORDER BY position LIMIT ?), "
    "hits AS (SELECT position, rank, query_id, code_id FROM candidates "
    "         JOIN selected USING (query_id) WHERE search_id = ?), "
    "pending AS (SELECT * FROM hits ANTI JOIN (SELECT query_id, code_id FROM annotations "
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
        limit: Number of the collection's queries, from the first; None takes all.
    """

    search_id: SearchId
    collection: str
    recipe_id: RecipeId
    limit: int | None = None

    @property
    def parameters(self) -> list[object]:
        """Values for the placeholders of `_SELECTED_CANDIDATES`."""
        limit = _ALL if self.limit is None else self.limit
        return [self.collection, limit, self.search_id, self.recipe_id, self.collection]


class PairCounts(Record):
    """Numbers of a search's candidates, of pending ones, and of those without a stored code."""

    candidates: int
    pending: int
    without_code: int


class Position(Record):
    """A pair's position in the order of loading: its query's position, its rank, its code id."""

    query: int = -1
    rank: int = 0
    code_id: str = ""


def count_pairs(database: Database, selection: Selection) -> PairCounts:
    """Return how many pairs are selected, pending, and without code.

    A candidate whose code is missing from the collection cannot be judged and is not pending.
    """
    with database.transaction() as tx:
        row = tx.dicts(
            _SELECTED_CANDIDATES  # noqa: S608 - literals only
            + "SELECT (SELECT count(*) FROM hits) AS candidates, "
            "(SELECT count(*) FROM readable) AS pending, "
            "(SELECT count(*) FROM pending) - (SELECT count(*) FROM readable) AS without_code",
            selection.parameters,
        )[0]
    return PairCounts.model_validate(row)


def load_pending(
    database: Database, selection: Selection, after: Position, at_most: int
) -> tuple[list[Pair], Position]:
    """Return the next pending pairs after a position, best first, and the position of the last.

    Pairs are ordered by query, then by rank. A caller that continues from the returned position
    gets no pair twice, even if a pair has failed meanwhile.
    """
    with database.transaction() as tx:
        rows = tx.dicts(
            _SELECTED_CANDIDATES  # noqa: S608 - literals only
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
    not_of_code = {"place", "rank", "query_id", "query_text"}
    return Pair(
        query=Query.model_validate({"query_id": row["query_id"], "text": row["query_text"]}),
        code=Code.model_validate({name: row[name] for name in row.keys() - not_of_code}),
    )
