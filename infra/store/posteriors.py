"""What the votes of judges say of a pair: the log odds that it matches.

A judge is a model with its agents. Each vote adds its weight, which follows from how often the
judge errs, to the log odds before any vote. The weights come from `tasks.statistics.dawid_skene`.
"""

import pyarrow as pa

from infra.ids import RecipeId
from infra.records import Record

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

# Annotations, each with the label that it has after its query's candidates in a ``$collection``
# were compared by what they do; a comparison of another label than it has now counts no more.
JUDGED = """(
    SELECT annotations.* REPLACE (
        CASE WHEN is_compared AND label IS NOT DISTINCT FROM compared_label THEN agreed
            ELSE label END AS label)
    FROM annotations LEFT JOIN (
        SELECT query_id, code_id, recipe_id, label AS compared_label, agreed, true AS is_compared
        FROM code_behaviours WHERE collection = $collection
    ) USING (query_id, code_id, recipe_id)
)"""

# One row a pair and judge, of the pairs in ``label_pairs`` and of what ``coverage`` lets count.
BALLOTS = f"""
    CREATE TEMP TABLE ballots AS
    SELECT query_id, code_id, judge, label, if_zero, if_one, is_known
    FROM {JUDGED} SEMI JOIN label_pairs USING (query_id, code_id)
    JOIN judges USING (recipe_id)
    JOIN (SELECT recipe_id, met, min(number) AS number FROM coverage GROUP BY recipe_id, met)
        USING (recipe_id, met)
    WHERE status = 'labelled' AND list_contains($support, grade)
    QUALIFY row_number() OVER (
        PARTITION BY query_id, code_id, judge
        ORDER BY number, annotated_at DESC, recipe_id) = 1
"""  # noqa: S608 - literals only

# One row a pair with a vote.
POSTERIORS = """
    CREATE TEMP TABLE posteriors AS
    SELECT query_id, code_id, count(*) AS given, bool_or(is_known) AS is_known,
        min(label) <> max(label) AS differ,
        $prior + sum(CASE label WHEN 1 THEN if_one ELSE if_zero END) AS odds
    FROM ballots GROUP BY query_id, code_id
"""
