"""Figures and examples of a report, counted and chosen by the database."""

import json
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from infra.ids import RecipeId, SearchId
from infra.records import Candidate
from infra.store.database import Database
from infra.store.standing import CurrentLabels, standing

Values = npt.NDArray[np.float64]

_HITS = (
    "candidates JOIN (SELECT query_id, position FROM collection_queries WHERE collection = ?) "
    "USING (query_id)"
)
_SHOWN = """
    SELECT query_id, code_id, recipe_id FROM basis JOIN standing USING (query_id, code_id, round)
    UNION ALL
    SELECT query_id, code_id, arg_max(recipe_id, annotated_at) FROM annotations
    SEMI JOIN failed USING (query_id, code_id)
    WHERE list_contains(?, recipe_id) GROUP BY query_id, code_id
"""


def similarities(
    database: Database, search_id: SearchId, collection: str, encoders: Sequence[str]
) -> tuple[Values, dict[str, Values]]:
    """Return the similarities of a search's candidates, and encoder → its own cosines.

    Args:
        database: The store.
        search_id: The search.
        collection: Whose queries the candidates are of.
        encoders: The encoders of the search.
    """
    own = "".join(f", json_extract(by_encoder, ?)::DOUBLE AS e{n}" for n in range(len(encoders)))
    paths = [f"$.{json.dumps(name, ensure_ascii=False)}" for name in encoders]
    with database.transaction() as tx:
        table = tx.arrow(
            f"SELECT similarity{own} FROM {_HITS} WHERE search_id = ?",  # noqa: S608 - literals only
            [*paths, collection, search_id],
        )
    columns = [column.to_numpy() for column in table.columns]
    return columns[0], dict(zip(encoders, columns[1:], strict=True))


class Example(NamedTuple):
    """A judged candidate, and the recipe whose annotation its label rests on."""

    candidate: Candidate
    recipe_id: RecipeId


def example_pairs(
    database: Database, search_id: SearchId, labels: CurrentLabels, number: int
) -> list[Example]:
    """Return judged candidates to show: tested ones first, then by status, path and rank.

    Pairs that nobody could judge are among them, by their last try.

    Args:
        database: The store.
        search_id: The search.
        labels: The labels; of several rounds the first one's annotation is shown.
        number: How many pairs at most.
    """
    with database.transaction() as tx, standing(tx, labels):
        rows = tx.dicts(
            "SELECT query_id, code_id, rank, similarity, by_encoder, recipe_id "  # noqa: S608 - literals only
            f"FROM {_HITS} JOIN annotations USING (query_id, code_id) "
            f"SEMI JOIN ({_SHOWN}) USING (query_id, code_id, recipe_id) "
            "LEFT JOIN (SELECT DISTINCT query_id, code_id, recipe_id, true AS tested "
            "           FROM executions) USING (query_id, code_id, recipe_id) "
            "WHERE search_id = ? ORDER BY tested IS NULL, status, path, position, rank LIMIT ?",
            [labels.collection, sorted(labels.coverage.recipes), search_id, number],
        )
    return [
        Example(
            Candidate.model_validate(
                {name: row[name] for name in ("query_id", "code_id", "rank", "similarity")}
                | {"by_encoder": json.loads(str(row["by_encoder"]))}
            ),
            RecipeId(str(row["recipe_id"])),
        )
        for row in rows
    ]
