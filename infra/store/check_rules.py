"""Rules of a store's rows: references, the evidence of labels, and keys.

To add one, add it to `rules`: a query for the number of rows that break it, and what to do.
"""

from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from infra.store.layout import keys_of_tables

RESTORE = "put a backup in its place: `cosqa store restore FOLDER --force`"
_JUDGE_AGAIN = f"{RESTORE}; what was judged since is derived again from the kept replies"
_COLLECT = "run `cosqa collect --reread`, which stores them again"
_COMPARE = "run `cosqa annotate`, which compares the candidates again"
_PUBLISH = "run `cosqa publish` again"


class Rule(NamedTuple):
    """A rule: ``broken`` selects the number of rows that break it, ``what`` they are."""

    check: str
    broken: str
    what: str
    advice: str


# What each row of a table names, the column, and the table that must have it.
_REFERENCES = (
    ("queries of collections", "collection_queries", "query_id", "queries", _COLLECT),
    ("codes of collections", "collection_codes", "code_id", "codes", _COLLECT),
    ("queries of labels from sources", "source_labels", "query_id", "queries", _COLLECT),
    ("codes of labels from sources", "source_labels", "code_id", "codes", _COLLECT),
    ("searches of candidates", "candidates", "search_id", "searches", RESTORE),
    ("queries of candidates", "candidates", "query_id", "queries", _COLLECT),
    ("codes of candidates", "candidates", "code_id", "codes", _COLLECT),
    ("queries of annotations", "annotations", "query_id", "queries", _COLLECT),
    ("codes of annotations", "annotations", "code_id", "codes", _COLLECT),
    ("recipes of annotations", "annotations", "recipe_id", "recipes", RESTORE),
    ("recipes in use", "uses", "recipe_id", "recipes", RESTORE),
    ("benchmarks of exports", "exports", "benchmark_id", "benchmarks", _PUBLISH),
)
_USES = "WITH uses AS (SELECT unnest(rounds) AS recipe_id FROM recipe_uses) "
_PAIR = "query_id, code_id, recipe_id"


@cache
def rules() -> tuple[tuple[Rule, ...], ...]:
    """Return all rules in their order, in groups that are checked together."""
    return tuple(_references()), (_all_evidence(), *_evidence_of_each()), tuple(_keys())


def _references() -> Iterator[Rule]:
    for what, table, column, target, advice in _REFERENCES:
        yield Rule(
            f"{what} are known",
            f"{_USES} SELECT count(*) FROM {table} ANTI JOIN {target} USING ({column})",  # noqa: S608
            f"rows of {table} name one that {target} lacks",
            advice,
        )


def _all_evidence() -> Rule:
    return Rule(
        "every annotation has all its evidence",
        "SELECT count(*) FROM annotations LEFT JOIN ("  # noqa: S608
        f"SELECT {_PAIR}, string_agg(DISTINCT role, ',' ORDER BY role) AS found FROM ("
        f"SELECT {_PAIR}, role FROM llm_calls UNION ALL SELECT {_PAIR}, 'box' FROM executions"
        f") GROUP BY ALL) USING ({_PAIR}) WHERE coalesce(found, '') <> coalesce(met, '') "
        "OR (status = 'labelled' AND found IS NULL)",
        "annotations lack calls or executions",
        _JUDGE_AGAIN,
    )


def _evidence_of_each() -> Iterator[Rule]:
    yield Rule(
        "behaviours belong to annotations and comparisons",
        f"SELECT (SELECT count(*) FROM code_behaviours ANTI JOIN annotations USING ({_PAIR})) + "  # noqa: S608
        "(SELECT count(*) FROM code_behaviours ANTI JOIN query_behaviours "
        "USING (collection, comparison))",
        "of them belong to none",
        _COMPARE,
    )
    for table in ("llm_calls", "executions"):
        yield Rule(
            f"{table} of each annotation are complete",
            f"SELECT count(*) FROM (SELECT {_PAIR} FROM {table} GROUP BY ALL "  # noqa: S608
            "HAVING min(ordinal) <> 0 OR max(ordinal) + 1 <> count(DISTINCT ordinal))",
            "annotations lack some of them",
            _JUDGE_AGAIN,
        )
        yield Rule(
            f"{table} belong to annotations",
            f"SELECT count(*) FROM {table} ANTI JOIN annotations USING ({_PAIR})",  # noqa: S608
            "of them belong to none",
            _JUDGE_AGAIN,
        )


def _keys() -> Iterator[Rule]:
    for table, columns in sorted(keys_of_tables().items()):
        listed = ", ".join(columns)
        yield Rule(
            f"{table} has each row once",
            f"SELECT count(*) FROM (SELECT 1 FROM {table} GROUP BY {listed} "  # noqa: S608
            "HAVING count(*) > 1)",
            f"values of {listed} come twice",
            RESTORE,
        )
