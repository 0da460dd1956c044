"""Laws of stored behaviours: each annotation has one at most, and its vote is the agreed label.

Covers `infra.store.behaviours`, `infra.store.labels`, `infra.store.evidence`.
"""

from collections.abc import Sequence
from pathlib import Path

import pytest

from infra.ids import PairKey, QueryId, RecipeId, SearchId
from infra.records import Code
from infra.settings import RetentionSettings
from infra.store import Database
from infra.store.behaviours import (
    Binary,
    CodeBehaviour,
    Comparison,
    behaviour_figures,
    behaviours_of,
    compared_annotations,
    due_comparisons,
    record_comparisons,
)
from infra.store.benchmarks import state_of_labels
from infra.store.check import CollectionCoverage, Retention, rules
from infra.store.evidence import Decided, decide_labels
from infra.store.figures import label_figures
from infra.store.labels import CurrentLabels
from tests.fakes.labels import labels_by
from tests.infra.store.test_retention import IN_A_DAY
from tests.infra.store.test_standing import judge
from tests.tasks.stages.generate.world import (
    CODES,
    QUERIES,
    SEARCH,
    also_collected,
    judged_store,
)

OLD, NEW = RecipeId("old"), RecipeId("new")
FIRST, SECOND = (PairKey(QUERIES[0].query_id, code.code_id) for code in CODES)
LABELS = labels_by(SEARCH, [OLD])


@pytest.fixture
def database(tmp_path: Path) -> Database:
    """Return a store with two codes of a query, one of which a recipe labels 1."""
    database = judged_store(tmp_path, rounds=0)[0]
    judge(database, FIRST, OLD, 0)
    judge(database, SECOND, OLD, 1)
    return database


def behaved(
    pair: PairKey, label: Binary | None, agreed: Binary | None, **fields: object
) -> CodeBehaviour:
    """Return how the code of a pair behaved."""
    row = {"recipe_id": OLD, "outcomes": ("held", "gave 2"), "behaviour": "b", "reason": ""}
    same = {"code_id": pair.code_id, "label": label, "agreed": agreed}
    return CodeBehaviour.model_validate(row | same | fields)


def compare(
    database: Database,
    *codes: CodeBehaviour,
    labels: CurrentLabels = LABELS,
    consistency: float | None = None,
    claims: tuple[str, ...] = ("1 => 2", "2 => 3"),
) -> None:
    """Store a comparison of the first query's candidates, as it is due."""
    [due] = due_comparisons(database, labels, 0, "program")
    comparison = Comparison(
        query_id=due.query_id, comparison=due.comparison, claims=claims,
        consistency=consistency, codes=codes,
    )  # fmt: skip
    record_comparisons(database, labels.collection, labels.coverage.sets[0][0], [comparison])


def due(database: Database, labels: CurrentLabels = LABELS, program: str = "program") -> list[str]:
    return [item.query_id for item in due_comparisons(database, labels, 0, program)]


def said(decided: Decided) -> dict[PairKey, float]:
    return {
        PairKey(row["query_id"], row["code_id"]): row["relevance"]
        for row in decided.labels.to_pylist()
    }


def rows(database: Database, table: str) -> int:
    with database.transaction() as tx:
        return tx.count(f"SELECT count(*) FROM {table}")


def broken(database: Database) -> Sequence[str]:
    with database.transaction() as tx:
        return [
            rule.check
            for group in rules()
            for rule in group
            if "behaviours" in rule.broken and tx.count(rule.broken)
        ]


def test_a_query_is_compared_until_its_annotations_or_the_program_change(
    database: Database,
) -> None:
    assert due(database) == [FIRST.query_id]
    assert compared_annotations(database, LABELS, 0, [FIRST.query_id]) == {
        OLD: sorted([FIRST, SECOND])
    }
    compare(database, behaved(FIRST, 0, 1, reason="alike"), behaved(SECOND, 1, 1))
    assert due(database) == []
    assert due(database, program="a later release") == [FIRST.query_id]
    assert due(database, labels_by(SEARCH, [NEW], [OLD])) == [], "nothing is judged by that recipe"
    judge(database, SECOND, OLD, 0)
    assert due(database) == [FIRST.query_id]
    compare(database)
    assert due(database) == [], "nothing could be compared, and that is known"
    assert rows(database, "code_behaviours") == 0
    assert rows(database, "query_behaviours") == 1
    assert broken(database) == []


def test_a_failed_annotation_takes_no_part(database: Database) -> None:
    judge(database, SECOND, OLD, None, status="failed")
    found = compared_annotations(database, LABELS, 0, [FIRST.query_id, QueryId("unknown")])
    assert found == {OLD: [FIRST]}


def test_a_vote_is_the_agreed_label_and_only_for_the_label_that_was_compared(
    database: Database,
) -> None:
    before = state_of_labels(database, "c", LABELS)
    compare(database, behaved(FIRST, 0, 1, reason="alike"), behaved(SECOND, 1, 1))
    assert state_of_labels(database, "c", LABELS) != before
    assert said(decide_labels(database, LABELS)) == {FIRST: 1, SECOND: 1}
    with database.transaction() as tx:
        tx.execute("UPDATE annotations SET label = 1 - label")
    assert said(decide_labels(database, LABELS)) == {FIRST: 1, SECOND: 0}


def test_an_annotation_that_is_stored_anew_has_no_behaviour(database: Database) -> None:
    compare(database, behaved(FIRST, 0, 1, reason="alike"), behaved(SECOND, 1, 1))
    judge(database, FIRST, OLD, 0)
    assert rows(database, "code_behaviours") == 1
    assert due(database) == [FIRST.query_id]


def test_comparisons_under_other_recipes_share_what_they_have_in_common(
    database: Database,
) -> None:
    compare(database, behaved(FIRST, 0, 0), behaved(SECOND, 1, 1))
    labels = labels_by(SEARCH, [NEW], [OLD])
    judge(database, FIRST, NEW, 1)
    compare(database, behaved(FIRST, 1, 1, recipe_id=NEW), labels=labels)
    assert due(database) == due(database, labels) == []
    assert rows(database, "code_behaviours") == 3
    judge(database, FIRST, NEW, 0)
    again = behaved(FIRST, 0, 0, recipe_id=NEW)
    compare(database, again, behaved(SECOND, 1, 0, reason="alike"), labels=labels)
    assert rows(database, "code_behaviours") == 3
    assert due(database) == [FIRST.query_id], "one of its behaviours is of a later comparison"
    assert broken(database) == []


def test_comparisons_of_collections_that_share_a_query_stand_side_by_side(
    database: Database,
) -> None:
    compare(database, behaved(FIRST, 0, 1, reason="as another"), behaved(SECOND, 1, 1))
    third = Code.of("def third(x):\n    return 3", name="third")
    search = SearchId("of d")
    also_collected(database, "d", QUERIES[:1], [CODES[1], third], search)
    theirs = labels_by(search, [OLD], collection="d")
    judge(database, PairKey(FIRST.query_id, third.code_id), OLD, 0)
    before = said(decide_labels(database, LABELS)), state_of_labels(database, "c", LABELS)
    compare(
        database,
        behaved(SECOND, 1, 0, reason="as the third"),
        behaved(PairKey(FIRST.query_id, third.code_id), 0, 0),
        labels=theirs,
    )
    assert (said(decide_labels(database, LABELS)), state_of_labels(database, "c", LABELS)) == before
    assert set(said(decide_labels(database, theirs)).values()) == {0}
    assert due(database) == due(database, theirs) == []
    assert [item[0] for item in behaviours_of(database, SECOND, OLD)] == ["c", "d"]
    assert label_figures(database, LABELS).behaviours.changed == 1
    assert behaviour_figures(database).queries == 2
    assert {len(decide_labels(database, item).behaviours) for item in (LABELS, theirs)} == {2}
    assert broken(database) == []


def test_labels_of_equal_behaviour_that_were_not_compared_with_each_other_say_so(
    database: Database,
) -> None:
    compare(database, behaved(FIRST, 0, 0), behaved(SECOND, 1, 1, behaviour="other"))
    labels = labels_by(SEARCH, [NEW], [OLD])
    judge(database, FIRST, NEW, 1)
    compare(database, behaved(FIRST, 1, 1, recipe_id=NEW, behaviour="other"), labels=labels)
    assert {row["reason"] for row in decide_labels(database, labels).behaviours.to_pylist()} == {""}
    judge(database, FIRST, NEW, 0)
    compare(database, behaved(FIRST, 0, 0, recipe_id=NEW, behaviour="other"), labels=labels)
    found = decide_labels(database, labels).behaviours.to_pylist()
    assert {row["recipe_id"]: row["agreed"] for row in found} == {NEW: 0, OLD: 1}
    assert [row["claims"] for row in found] == [["1 => 2", "2 => 3"]] * 2
    assert all("judged by another recipe" in row["reason"] for row in found)


def test_what_goes_with_old_annotations_are_their_behaviours(database: Database) -> None:
    compare(database, behaved(FIRST, 0, 0), behaved(SECOND, 1, 1))
    judge(database, FIRST, NEW, 1)
    coverage = labels_by(SEARCH, [NEW], [OLD]).coverage
    settings = RetentionSettings(superseded_days=0, protect=("current",))
    kept = Retention(database, settings, IN_A_DAY, [CollectionCoverage("c", coverage)])
    kept.remove()
    assert rows(database, "code_behaviours") == 1
    assert broken(database) == []


def test_figures_count_what_was_changed_and_what_contradicts(database: Database) -> None:
    assert behaviour_figures(database).consistency is None
    compare(
        database, behaved(FIRST, 0, 0, reason="the claims cannot tell"), behaved(SECOND, 1, 1),
        consistency=0.0,
    )  # fmt: skip
    figures = behaviour_figures(database)
    assert (figures.queries, figures.consistency) == (1, 0.0)
    assert (figures.changed, figures.contradictions) == (0, 2)
    judge(database, FIRST, OLD, 0)
    compare(database, behaved(FIRST, 0, 1, reason="alike"), behaved(SECOND, 1, 1), consistency=1.0)
    figures = behaviour_figures(database)
    assert (figures.changed, figures.contradictions, figures.consistency) == (1, 0, 1.0)
