"""Labels that stand: the annotations that the current label of each pair rests on.

The current label of a pair is a view. For each pair the sets of labelling rounds that were in use
are gone through, the last used one first, and the first set that gives the pair a label stands.
Each round is covered by an annotation that rests on the same parts of a recipe, whichever recipe
made it (`infra.store.coverage`).

Rounds of one model give the label of more than half of them. Where a set is of several models, its
judges, the label stands on which all votes on the pair agree, with those of former sets where a
judge has no newer one; else the one that is likelier by all votes, and of two equally likely ones
the last judge's: the dearest comes last. A vote adds its weight, which follows from how often the
judge errs (`tasks.statistics.dawid_skene`), to the log odds before any vote.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple, get_args

import pyarrow as pa

from infra.ids import RecipeId, SearchId
from infra.records import Record, Support
from infra.store.candidates import OWN_PAIRS
from infra.store.coverage import Coverage
from infra.store.database import Database, Transaction

_VOTERS = pa.schema(
    {
        "recipe_id": pa.string(),
        "judge": pa.int32(),
        "if_zero": pa.float64(),
        "if_one": pa.float64(),
        "is_known": pa.bool_(),
    }
)


class Judge(Record):
    """A judge.

    Attributes:
        recipes: Its recipes. Of the labels that they gave a pair its vote is the one that counts
            for the set of rounds last in use; of several of one set it is the newest.
        if_zero: What a vote of 0 adds to the log odds of a match.
        if_one: What a vote of 1 adds.
        is_known: Whether its errors were seen on pairs whose truth is known.
    """

    recipes: tuple[RecipeId, ...]
    if_zero: float = 0.0
    if_one: float = 0.0
    is_known: bool = False


class Judges(Record):
    """Judges, and the log odds of a match before any vote."""

    judges: tuple[Judge, ...] = ()
    prior: float = 0.0

    @property
    def rows(self) -> pa.Table:
        """Columns ``recipe_id``, ``judge`` (its place), ``if_zero``, ``if_one``, ``is_known``."""
        rows = [
            {"recipe_id": recipe_id, "judge": place} | judge.model_dump(exclude={"recipes"})
            for place, judge in enumerate(self.judges)
            for recipe_id in judge.recipes
        ]
        return pa.Table.from_pylist(rows, schema=_VOTERS)


NO_JUDGES = Judges()

# One row a pair and judge, of the pairs in ``label_pairs`` and of what ``coverage`` lets count.
_BALLOTS = """
    CREATE TEMP TABLE ballots AS
    SELECT query_id, code_id, judge, label, if_zero, if_one, is_known
    FROM annotations SEMI JOIN label_pairs USING (query_id, code_id)
    JOIN judges USING (recipe_id)
    JOIN (SELECT recipe_id, met, min(number) AS number FROM coverage GROUP BY recipe_id, met)
        USING (recipe_id, met)
    WHERE status = 'labelled' AND list_contains($support, grade)
    QUALIFY row_number() OVER (
        PARTITION BY query_id, code_id, judge
        ORDER BY number, annotated_at DESC, recipe_id) = 1
"""


class CurrentLabels(Record):
    """Which labels are meant: those of a collection's candidates by comparable recipes.

    Attributes:
        collection: Whose queries and codes they are.
        search_ids: The searches that found the candidates.
        coverage: Which annotations count for which recipe.
        support: What a label must rest on to be a vote.
        judges: What each judge's vote weighs; without any, no label has a confidence, and judges
            who differ are taken by their order.
        fresh_only: Whether labels of the recipe in use alone stand; former ones are votes all the
            same.
    """

    collection: str
    search_ids: tuple[SearchId, ...]
    coverage: Coverage
    support: tuple[Support, ...] = get_args(Support)
    judges: Judges = NO_JUDGES
    fresh_only: bool = False


_PAIRS = f"CREATE TEMP TABLE label_pairs AS FROM {OWN_PAIRS}"

# One row a pair, set and round: of the annotations that cover it one that has a vote, first of all
# the round's own.
_VOTES = """
    CREATE TEMP TABLE votes AS
    SELECT query_id, code_id, number, round, rounds, is_judged, recipe_id, label, origin,
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
    WITH posteriors AS (
        SELECT query_id, code_id, count(*) > 1 OR bool_or(is_known) AS is_weighed,
            min(label) <> max(label) AS differ,
            $prior + sum(CASE label WHEN 1 THEN if_one ELSE if_zero END) AS odds
        FROM ballots GROUP BY query_id, code_id
    ), counted AS (
        SELECT query_id, code_id, number, any_value(rounds) AS rounds,
            count(*) = any_value(rounds) AS is_complete,
            any_value(is_judged) AS is_judged, min(round) AS round,
            arg_min(origin, round) AS origin,
            count(*) FILTER (label = 1) AS ones, count(*) FILTER (label = 0) AS zeros,
            count(*) FILTER (label IS NULL) AS none,
            CASE WHEN any_value(is_judged) THEN count(label) > 0
                 ELSE count(*) = any_value(rounds) AND 2 * greatest(
                    count(*) FILTER (label = 0), count(*) FILTER (label = 1)) > any_value(rounds)
                 END AS has_label,
            CASE WHEN any_value(is_judged) THEN
                    CASE WHEN bool_or(is_vote) AND any_value(differ)
                            AND abs(any_value(odds)) >= 1e-9
                        THEN (any_value(odds) > 0)::TINYINT
                    ELSE arg_max(label, round) FILTER (is_vote) END
                 WHEN 2 * count(*) FILTER (is_vote AND label = 0) > any_value(rounds) THEN 0
                 WHEN 2 * count(*) FILTER (is_vote AND label = 1) > any_value(rounds) THEN 1
            END::DOUBLE AS relevance,
            any_value(odds) FILTER (is_weighed) AS odds
        FROM votes LEFT JOIN posteriors USING (query_id, code_id)
        GROUP BY query_id, code_id, number
    )
    SELECT * EXCLUDE (odds), bool_or(number = 0 AND (is_complete OR relevance IS NOT NULL))
        OVER (PARTITION BY query_id, code_id) AS fresh,
        1 / (1 + exp(CASE relevance WHEN 1 THEN -odds WHEN 0 THEN odds END)) AS confidence
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
def _ballots(tx: Transaction, labels: CurrentLabels) -> Iterator[None]:
    """Make temporary tables of the candidates and of the judges' votes on them."""
    searches = {"collection": labels.collection, "searches": list(labels.search_ids)}
    with tx.stream("coverage", labels.coverage.rows), tx.stream("judges", labels.judges.rows):
        tx.execute(_PAIRS, searches)
        tx.execute(_BALLOTS, {"support": list(labels.support)})
        yield
    _drop(tx, "label_pairs", "ballots")


def _drop(tx: Transaction, *tables: str) -> None:
    for table in tables:  # after an error, the rollback drops them
        tx.execute(f"DROP TABLE {table}")


@contextmanager
def standing(tx: Transaction, labels: CurrentLabels) -> Iterator[None]:
    """Make temporary tables of the current labels inside the ``with``.

    ``standing`` has one row a pair that is judged: its ``relevance``, NULL where the first set that
    is complete gives no label, whether it ``has_label`` all the same, though not with the support
    that is asked for, and whether it is ``fresh``: the recipe in use has judged the pair.
    A label by a former recipe is fresh where that one left the pair undecided. Its ``confidence``
    is the probability that the label is right, NULL where one judge alone voted whose errors were
    never seen. ``basis`` are the keys of the annotations that this rests on. ``failed`` are the
    pairs that nobody has judged, though it was tried.
    """
    votes = labels.model_dump(include={"support", "fresh_only"}, mode="json")
    with _ballots(tx, labels):
        tx.execute(_VOTES, votes)
        tx.execute(_STANDING, {"prior": labels.judges.prior})
        tx.execute(_FAILED, {"recipes": sorted(labels.coverage.recipes)})
        tx.execute(_BASIS)
        yield
        _drop(tx, "votes", "standing", "failed", "basis")


# Pairs that people labelled 0 or 1 alike; labels that came with documentation are none of theirs.
_PEOPLE = """
    SELECT query_id, code_id, any_value(relevance)::TINYINT AS truth FROM source_labels
    WHERE collection = $collection AND starts_with(origin, $people)
    GROUP BY query_id, code_id
    HAVING min(relevance) = max(relevance) AND min(relevance) IN (0, 1)
"""


class CountedBallot(NamedTuple):
    """Pairs on which the judges voted alike: their votes in order, and what people said."""

    votes: tuple[int | None, ...]
    truth: int | None
    pairs: int


def count_ballots(database: Database, labels: CurrentLabels, people: str) -> list[CountedBallot]:
    """Return how the judges voted on the candidates on which one of them did, in a fixed order.

    Args:
        database: The store.
        labels: Which candidates, and the judges.
        people: How the origins of people's labels begin.
    """
    judges = len(labels.judges.judges)
    columns = "".join(f"max(label) FILTER (judge = {place}), " for place in range(judges))
    with database.transaction() as tx, _ballots(tx, labels):
        rows = tx.rows(
            f"SELECT * EXCLUDE (query_id, code_id), count(*) FROM (SELECT {columns} "  # noqa: S608 - literals only
            "query_id, code_id FROM ballots GROUP BY query_id, code_id) "
            f"LEFT JOIN ({_PEOPLE}) USING (query_id, code_id) GROUP BY ALL ORDER BY ALL",
            {"collection": labels.collection, "people": people},
        )
    return [CountedBallot(tuple(votes), truth, pairs) for *votes, truth, pairs in rows]
