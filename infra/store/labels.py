"""Labels that stand: the annotations that the current label of each pair rests on.

The current label of a pair is a view. For each pair the sets of labelling rounds that were in use
are gone through, the last used one first, and the first set that gives the pair a label stands.
Each round is covered by an annotation that rests on the same parts of a recipe, whichever recipe
made it (`infra.store.coverage`).

A set gives the label of more than half of its rounds.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import get_args

from infra.ids import SearchId
from infra.records import Record, Support
from infra.store.candidates import OWN_PAIRS
from infra.store.coverage import Coverage
from infra.store.database import Transaction


class CurrentLabels(Record):
    """Which labels are meant: those of a collection's candidates by comparable recipes.

    Attributes:
        collection: Whose queries and codes they are.
        search_ids: The searches that found the candidates.
        coverage: Which annotations count for which recipe.
        support: What a label must rest on to be a vote.
        fresh_only: Whether labels of the recipe in use alone stand.
    """

    collection: str
    search_ids: tuple[SearchId, ...]
    coverage: Coverage
    support: tuple[Support, ...] = get_args(Support)
    fresh_only: bool = False


_PAIRS = f"CREATE TEMP TABLE label_pairs AS FROM {OWN_PAIRS}"

# One row a pair, set and round: of the annotations that cover it one that has a vote, first of all
# the round's own.
_VOTES = """
    CREATE TEMP TABLE votes AS
    SELECT query_id, code_id, number, round, rounds, recipe_id, label, origin,
        label IS NOT NULL AND list_contains($support, grade) AS is_vote
    FROM annotations SEMI JOIN label_pairs USING (query_id, code_id)
    JOIN coverage USING (recipe_id, met)
    WHERE status <> 'failed' AND (number = 0 OR NOT $fresh_only)
    QUALIFY row_number() OVER (
        PARTITION BY query_id, code_id, number, round
        ORDER BY is_vote DESC, own DESC, annotated_at DESC, recipe_id) = 1
"""

# One row a pair: the first set that decides it, else the first that is complete, else the first.
_STANDING = """
    CREATE TEMP TABLE standing AS
    WITH counted AS (
        SELECT query_id, code_id, number, any_value(rounds) AS rounds,
            count(*) = any_value(rounds) AS is_complete,
            min(round) AS round, arg_min(origin, round) AS origin,
            count(*) FILTER (label = 1) AS ones, count(*) FILTER (label = 0) AS zeros,
            count(*) FILTER (label IS NULL) AS none,
            count(*) = any_value(rounds) AND 2 * greatest(
                count(*) FILTER (label = 0), count(*) FILTER (label = 1)) > any_value(rounds)
                AS has_label,
            CASE WHEN 2 * count(*) FILTER (is_vote AND label = 0) > any_value(rounds) THEN 0
                 WHEN 2 * count(*) FILTER (is_vote AND label = 1) > any_value(rounds) THEN 1
            END::DOUBLE AS relevance
        FROM votes GROUP BY query_id, code_id, number
    )
    SELECT *, bool_or(number = 0 AND (is_complete OR relevance IS NOT NULL))
        OVER (PARTITION BY query_id, code_id) AS fresh
    FROM counted
    QUALIFY row_number() OVER (
        PARTITION BY query_id, code_id
        ORDER BY CASE WHEN relevance IS NOT NULL THEN 0 WHEN is_complete THEN 1 ELSE 2 END,
            number) = 1
"""

# Pairs that no recipe has finished and one has failed to judge.
_FAILED = """
    CREATE TEMP TABLE failed AS
    SELECT DISTINCT query_id, code_id FROM annotations
    SEMI JOIN label_pairs USING (query_id, code_id) ANTI JOIN standing USING (query_id, code_id)
    WHERE list_contains($recipes, recipe_id)
"""

# The annotations that the standing sets consist of.
_BASIS = """
    CREATE TEMP TABLE basis AS
    SELECT query_id, code_id, recipe_id, round FROM votes
    SEMI JOIN standing USING (query_id, code_id, number)
"""

IN_BASIS = "SEMI JOIN basis USING (query_id, code_id, recipe_id)"


@contextmanager
def standing(tx: Transaction, labels: CurrentLabels) -> Iterator[None]:
    """Make temporary tables of the current labels inside the ``with``.

    ``standing`` has one row a pair that is judged: its ``relevance``, NULL where the first set that
    is complete gives no label, whether it ``has_label`` all the same, though not with the support
    that is asked for, and whether it is ``fresh``: the recipe in use has judged the pair.
    A label by a former recipe is fresh where that one left the pair undecided. ``basis`` are
    the keys of the annotations that this rests on. ``failed`` are the pairs that nobody has judged,
    though it was tried.
    """
    searches = {"collection": labels.collection, "searches": list(labels.search_ids)}
    votes = labels.model_dump(include={"support", "fresh_only"}, mode="json")
    with tx.stream("coverage", labels.coverage.rows):
        tx.execute(_PAIRS, searches)
        tx.execute(_VOTES, votes)
        tx.execute(_STANDING)
        tx.execute(_FAILED, {"recipes": sorted(labels.coverage.recipes)})
        tx.execute(_BASIS)
        yield
        for table in ("label_pairs", "votes", "standing", "failed", "basis"):
            tx.execute(f"DROP TABLE {table}")  # after an error, the rollback drops them
