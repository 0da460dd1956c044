"""The current labels of pairs, which `labels.sql` defines for all readers.

The current label of a pair is that of the set of labelling rounds that was used last and gives the
pair a label; a set gives the label of more than half of its rounds. Which annotations count for
which round is part of the `CurrentLabels` that a reader asks for.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, get_args

import pyarrow as pa

from infra.identity import RecipeId, SearchId
from infra.records import Record, Support
from infra.store.annotations import label_origin
from infra.store.database import Database, Transaction

_MACROS = Path(__file__).with_name("labels.sql").read_text(encoding="utf-8")
_LABELS = "CREATE TEMP TABLE current_labels AS FROM current_labels($labels)"
_BASIS = """
    CREATE TEMP VIEW supporting_annotations AS
    SELECT query_id, code_id, unnest(votes, recursive := true)
    FROM current_labels WHERE status <> 'failed'
"""
_DECIDED = """
    SELECT query_id, code_id, relevance, origin, fresh, '' AS note
    FROM current_labels WHERE status = 'labelled' ORDER BY query_id, code_id
"""
_UNDECIDED = """
    SELECT query_id, code_id, coalesce(disagreement, reason) AS reason
    FROM (SELECT *, votes[1].recipe_id AS recipe_id FROM current_labels
          WHERE status = 'undecided') AS undecided
    JOIN annotations USING (query_id, code_id, recipe_id)
    ORDER BY query_id, code_id
"""
ONLY_SUPPORTING = "SEMI JOIN supporting_annotations USING (query_id, code_id, recipe_id)"


class JudgedBy(NamedTuple):
    """A recipe, and the roles that were asked of some pairs under it."""

    recipe_id: RecipeId
    roles_asked: str


class Coverage(NamedTuple):
    """Annotations that count for a labelling round, by recipe and roles as in `JudgedBy`.

    Attributes:
        number: Of the set of rounds, from 0, the one that is asked about.
        round: Of the round in this set, from 0.
    """

    recipe_id: RecipeId
    roles_asked: str
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
            stale. Annotations of any other recipe and ``roles_asked`` are not comparable with them.
        support: What a label must rest on to be a vote.
        fresh_only: Whether labels of the recipe in use alone stand.
    """

    collection: str
    search_ids: tuple[SearchId, ...]
    sets: tuple[tuple[RecipeId, ...], ...] = ()
    covered: tuple[Coverage, ...] = ()
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

    The view ``supporting_annotations`` has the keys of those on which they rest, with their rounds.
    """
    with database.transaction() as tx:
        define_macros(tx)
        tx.execute(_LABELS, {"labels": labels.struct})
        tx.execute(_BASIS)
        yield tx
        tx.execute(
            "DROP VIEW supporting_annotations; DROP TABLE current_labels"
        )  # an error's rollback drops them


def judged_by(
    database: Database, collection: str, search_ids: Sequence[SearchId]
) -> list[JudgedBy]:
    """Return who has judged a collection's candidates of searches, and which roles were asked.

    What failed is left out.
    """
    labels = CurrentLabels(collection=collection, search_ids=tuple(search_ids))
    with database.transaction() as tx:
        define_macros(tx)
        rows = tx.rows(
            "SELECT DISTINCT recipe_id, roles_asked FROM annotations "
            "SEMI JOIN candidate_pairs($labels) USING (query_id, code_id) "
            "WHERE status <> 'failed' ORDER BY recipe_id, roles_asked",
            {"labels": labels.struct},
        )
    return [JudgedBy(*row) for row in rows]


class Decided(NamedTuple):
    """The agents' labels of a collection's candidates, in columns ascending by query and code.

    Attributes:
        labels: ``query_id``, ``code_id``, ``relevance``, ``origin``, ``note``, ``fresh``: whether
            the recipe in use has judged the pair; others wait to be judged anew.
        undecided: ``query_id``, ``code_id``, ``reason``: pairs that every round has finished, of
            which no label has more than half.
        unfinished: Number of pairs without a label that a later run may give one.
        queries: The ids of the queries with an annotation.
        supporting_annotations: ``query_id``, ``code_id``, ``recipe_id``, ``round`` of those that
            this rests on.
    """

    labels: pa.Table
    undecided: pa.Table
    unfinished: int
    queries: pa.Array
    supporting_annotations: pa.Table


def decide_labels(database: Database, labels: CurrentLabels) -> Decided:
    """Return the current labels, and the pairs without."""
    with labels_in(database, labels) as tx:
        return Decided(
            labels=tx.arrow(_DECIDED),
            undecided=tx.arrow(_UNDECIDED),
            unfinished=tx.count(
                "SELECT count(*) FROM current_labels WHERE status IN ('unfinished', 'failed')"
            ),
            queries=tx.arrow("SELECT DISTINCT query_id FROM current_labels")[
                "query_id"
            ].combine_chunks(),
            supporting_annotations=tx.arrow(
                "SELECT query_id, code_id, recipe_id, round FROM supporting_annotations"
            ),
        )


class StoredReply(Record):
    """A reply of an agent that is the same for all candidates of a query."""

    query_id: str
    recipe_id: str
    model: str
    reply: str


def replies_on_queries(database: Database, labels: CurrentLabels, role: str) -> list[StoredReply]:
    """Return an agent's replies about queries, by query, recipe and their order, each once.

    Args:
        database: The store.
        labels: The labels; replies on whose pairs no label rests are left out.
        role: The agent's.
    """
    with labels_in(database, labels) as tx:
        return tx.records(
            StoredReply,
            "SELECT query_id, recipe_id, model, reply "  # noqa: S608 - literals only
            f"FROM llm_calls {ONLY_SUPPORTING} WHERE role = ? AND status = 'ok' "
            "GROUP BY ALL ORDER BY query_id, recipe_id, min(ordinal), reply",
            [role],
        )
