"""Coverage: which stored annotations count as those of which recipe."""

from collections.abc import Sequence
from typing import NamedTuple

import pyarrow as pa

from infra.ids import RecipeId, SearchId
from infra.records import Record
from infra.store.annotations import label_origin
from infra.store.candidates import OWN_PAIRS
from infra.store.database import Database

_COVERED = pa.schema(
    {
        **dict.fromkeys(("recipe_id", "met"), pa.string()),
        **dict.fromkeys(("number", "round", "rounds"), pa.int32()),
        "own": pa.bool_(),
        "origin": pa.string(),
    }
)


class JudgedBy(NamedTuple):
    """A recipe, and what some pairs met that it judged: the ``met`` of their annotations."""

    recipe_id: RecipeId
    met: str


class Covered(NamedTuple):
    """Annotations that count for a labelling round: ``recipe_id`` and ``met`` as in `JudgedBy`.

    Attributes:
        number: Of the set of rounds, from 0, the one that is asked about.
        round: Of the round in this set, from 0.
    """

    recipe_id: RecipeId
    met: str
    number: int
    round: int


class Coverage(Record):
    """Which annotations count for the recipe in use, and which for those in use before.

    Annotations of any other recipe and ``met`` are not comparable with them.

    Attributes:
        covered: What counts; those of set 0 are fresh, all others stale.
        sets: The recipes of all labelling rounds of each set. The recipe in use is the first set,
            then come those before it, last used first.
    """

    covered: tuple[Covered, ...]
    sets: tuple[tuple[RecipeId, ...], ...]

    @property
    def fresh(self) -> frozenset[JudgedBy]:
        """What counts as judged by the recipe in use."""
        return frozenset(
            JudgedBy(item.recipe_id, item.met) for item in self.covered if item.number == 0
        )

    @property
    def stale(self) -> frozenset[JudgedBy]:
        """What has judged by the same criterion and is not fresh."""
        judged = frozenset(JudgedBy(item.recipe_id, item.met) for item in self.covered)
        return judged - self.fresh

    @property
    def recipes(self) -> frozenset[RecipeId]:
        """The recipes of all sets."""
        return frozenset(recipe_id for rounds in self.sets for recipe_id in rounds)

    @property
    def voters(self) -> frozenset[RecipeId]:
        """The recipes of all sets, and others whose annotations count for them."""
        return self.recipes | {item.recipe_id for item in self.covered}

    @property
    def origins(self) -> list[str]:
        """The origin of labels by each set."""
        return [label_origin(rounds[0], len(rounds)) for rounds in self.sets]

    @property
    def rows(self) -> pa.Table:
        """``covered`` as columns, to join with annotations.

        Further columns are the number of ``rounds`` of the set, whether the annotations are the
        round's ``own``, and the ``origin`` of labels by them.
        """
        rows = [
            item._asdict()
            | {
                "rounds": len(self.sets[item.number]),
                "own": item.recipe_id == self.sets[item.number][item.round],
                "origin": label_origin(item.recipe_id, len(self.sets[item.number])),
            }
            for item in self.covered
        ]
        return pa.Table.from_pylist(rows, schema=_COVERED)


NO_COVERAGE = Coverage(covered=(), sets=())


def judged_by(
    database: Database, collection: str, search_ids: Sequence[SearchId]
) -> list[JudgedBy]:
    """Return who has judged a collection's candidates of searches, and what the pairs met.

    What failed is left out.
    """
    rows = database.rows(
        f"SELECT DISTINCT recipe_id, met FROM annotations SEMI JOIN {OWN_PAIRS} "  # noqa: S608
        "USING (query_id, code_id) WHERE status <> 'failed' ORDER BY recipe_id, met",
        {"collection": collection, "searches": list(search_ids)},
    )
    return [JudgedBy(*row) for row in rows]
