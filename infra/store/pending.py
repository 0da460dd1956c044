"""Pending pairs: candidates that a recipe has not finished, counted and loaded in order."""

from collections.abc import Iterator
from typing import NamedTuple

import pyarrow as pa

from infra.ids import RecipeId, SearchId
from infra.records import Code, Pair, Query, Record
from infra.store.database import Database

_ALL = 2**31 - 1
_KEYS_AT_ONCE = 20_000
_PAIRS_AT_ONCE = 1_000

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


def pending_pairs(
    database: Database, selection: Selection, at_once: int = _PAIRS_AT_ONCE
) -> Iterator[Pair]:
    """Yield the pending pairs, best first: by query, then by rank.

    Each pair comes once, even if it has failed meanwhile. The keys of many thousands are found at
    a time, since each search reads all annotations, and held as columns; texts are read for few.

    Args:
        database: The store.
        selection: The candidates and the recipe.
        at_once: Pairs whose texts are read at once.
    """
    last = _Position()
    while True:
        keys, last = _pending_keys(database, selection, last, _KEYS_AT_ONCE)
        for start in range(0, keys.num_rows, at_once):
            yield from _load(database, selection, keys.slice(start, at_once))
        if keys.num_rows < _KEYS_AT_ONCE:
            return


class _Position(NamedTuple):
    """A pair's position: its query's in the collection, its rank, its code."""

    query: int = -1
    rank: int = 0
    code_id: str = ""


def _pending_keys(
    database: Database, selection: Selection, after: _Position, at_most: int
) -> tuple[pa.Table, _Position]:
    """Return the keys of the next pending pairs after a position, and the position of the last."""
    with database.transaction() as tx:
        keys = tx.arrow(
            _SELECTED_CANDIDATES  # noqa: S608 - literals only
            + "SELECT position, rank, query_id, code_id FROM readable "
            "WHERE (position, rank, code_id) > (?, ?, ?) ORDER BY position, rank, code_id LIMIT ?",
            [*selection.parameters, *after, at_most],
        )
    if not keys.num_rows:
        return keys, after
    ((query, rank, _, code_id),) = (
        row.values() for row in keys.slice(keys.num_rows - 1).to_pylist()
    )
    return keys, _Position(query, rank, code_id)


def _load(database: Database, selection: Selection, keys: pa.Table) -> list[Pair]:
    """Return the pairs with these keys, with what the collection says of their codes."""
    with database.transaction() as tx, tx.stream("wanted", keys):
        rows = tx.dicts(
            "SELECT query_id, queries.text AS query_text, code_id, codes.text, name, module, "
            "first_line, last_line, documentation, parameters, k.origin "
            "FROM wanted JOIN queries USING (query_id) JOIN codes USING (code_id) "
            "JOIN (SELECT * FROM collection_codes WHERE collection = ?) AS k USING (code_id) "
            "ORDER BY wanted.position, rank, code_id",
            [selection.collection],
        )
    return [_pair(row) for row in rows]


def _pair(row: dict[str, object]) -> Pair:
    not_of_code = {"query_id", "query_text"}
    return Pair(
        query=Query.model_validate({"query_id": row["query_id"], "text": row["query_text"]}),
        code=Code.model_validate({name: row[name] for name in row.keys() - not_of_code}),
    )
