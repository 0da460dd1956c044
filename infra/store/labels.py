"""The current labels of pairs, which `labels.sql` defines for all readers.

The current label of a pair is that of the set of labelling rounds that was used last and gives the
pair a label; a set gives the label of more than half of its rounds. Which annotations count for
which round is part of the `CurrentLabels` that a reader asks for.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, get_args

from infra.ids import RecipeId, SearchId
from infra.records import Record, Support
from infra.store.annotations import label_origin
from infra.store.database import Database, Transaction

_MACROS = Path(__file__).with_name("labels.sql").read_text(encoding="utf-8")


_LABELS = "CREATE TEMP TABLE current_labels AS FROM current_labels($labels)"
_BASIS = """
    CREATE TEMP VIEW basis AS
    SELECT query_id, code_id, unnest(votes, recursive := true)
    FROM current_labels WHERE status <> 'failed'
"""
IN_BASIS = "SEMI JOIN basis USING (query_id, code_id, recipe_id)"


class JudgedBy(NamedTuple):
    """A recipe, and the agents that some pairs met (the ``met`` of their annotations)."""

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


class CurrentLabels(Record):
    """The selection of labels: those of a collection's candidates by comparable recipes.

    Attributes:
        collection: Whose queries and codes they are.
        search_ids: The searches that found the candidates.
        sets: The recipes of all labelling rounds of each set. The recipe in use is the first set,
            then come those before it, last used first.
        covered: The annotations that count for these rounds; those of set 0 are fresh, all others
            stale. Annotations of any other recipe and ``met`` are not comparable with them.
        support: What a label must rest on to be a vote.
        fresh_only: Whether labels of the recipe in use alone stand.
    """

    collection: str
    search_ids: tuple[SearchId, ...]
    sets: tuple[tuple[RecipeId, ...], ...] = ()
    covered: tuple[Covered, ...] = ()
    support: tuple[Support, ...] = get_args(Support)
    fresh_only: bool = False

    @property
    def struct(self) -> dict[str, object]:
        """The fields as the macros take them."""
        return self.model_dump() | {"covered": [item._asdict() for item in self.covered]}

    @property
    def recipes(self) -> frozenset[RecipeId]:
        """The recipes of all sets, and others whose annotations count for them."""
        return frozenset(recipe for rounds in self.sets for recipe in rounds) | {
            item.recipe_id for item in self.covered
        }

    @property
    def origins(self) -> dict[str, RecipeId]:
        """The origin of labels by each recipe that may give one → the recipe."""
        first = [(rounds[0], len(rounds)) for rounds in self.sets]
        others = [(item.recipe_id, len(self.sets[item.number])) for item in self.covered]
        return {label_origin(recipe, rounds): recipe for recipe, rounds in (*first, *others)}


def define_macros(tx: Transaction) -> None:
    """Make the macros of `labels.sql` for a transaction's connection alone."""
    tx.execute(_MACROS)


@contextmanager
def labels_in(database: Database, labels: CurrentLabels) -> Iterator[Transaction]:
    """Yield a transaction with the current labels as its temporary table ``current_labels``.

    The view ``basis`` has the keys of the annotations on which they rest, with their rounds.
    """
    with database.transaction() as tx:
        define_macros(tx)
        tx.execute(_LABELS, {"labels": labels.struct})
        tx.execute(_BASIS)
        yield tx
        tx.execute("DROP VIEW basis; DROP TABLE current_labels")  # an error's rollback drops them


def judged_by(
    database: Database, collection: str, search_ids: Sequence[SearchId]
) -> list[JudgedBy]:
    """Return who has judged a collection's candidates of searches, and what the pairs met.

    What failed is left out.
    """
    labels = CurrentLabels(collection=collection, search_ids=tuple(search_ids))
    with database.transaction() as tx:
        define_macros(tx)
        rows = tx.rows(
            "SELECT DISTINCT recipe_id, met FROM annotations "
            "SEMI JOIN candidate_pairs($labels) USING (query_id, code_id) "
            "WHERE status <> 'failed' ORDER BY recipe_id, met",
            {"labels": labels.struct},
        )
    return [JudgedBy(*row) for row in rows]
