"""Laws of audits in the store: samples of fresh labels, repeatable, and what was found."""

from pathlib import Path

import pytest

from infra.ids import PairKey, RecipeId
from infra.store import Database, recipes
from infra.store.audits import (
    Sample,
    StoredAudit,
    compare_labels,
    load_audits,
    record_audit,
    write_sample,
)
from infra.store.pending import read_keys
from tests.infra.store.test_pending import (
    FORMER,
    IN_ORDER,
    annotate,
    database,  # noqa: F401 - the fixture
    selection,
)

AUDIT = RecipeId("audit")
LABELLED = IN_ORDER[:8]


@pytest.fixture
def labelled(database: Database) -> Database:  # noqa: F811
    recipes.record_recipes(database, {AUDIT: {"audit": 1}})
    for place, key in enumerate(LABELLED):
        annotate(database, key, label=place % 2)
    annotate(database, IN_ORDER[8], "undecided")
    annotate(database, IN_ORDER[9], recipe=FORMER)
    return database


def sample(database: Database, pairs: int, seed: str = "0 1") -> list[PairKey]:  # noqa: F811
    file = database.settings.folder / "sample.arrow"
    number = write_sample(database, selection(), Sample(pairs, seed, AUDIT), file)
    found = [PairKey(row["query_id"], row["code_id"]) for row in read_keys(file).to_pylist()]
    assert len(found) == number
    return found


def test_a_sample_holds_fresh_labels_alone_and_is_the_same_for_a_seed(labelled: Database) -> None:
    assert sorted(sample(labelled, 100)) == sorted(LABELLED)
    assert sample(labelled, 4) == sample(labelled, 4)
    assert any(sample(labelled, 4) != sample(labelled, 4, f"0 {number}") for number in range(5))


def test_an_interrupted_audit_goes_on_with_its_own_pairs(labelled: Database) -> None:
    drawn = sample(labelled, 4)
    annotate(labelled, drawn[0], recipe=AUDIT)
    annotate(labelled, drawn[1], "failed", recipe=AUDIT)
    for key in IN_ORDER[8:]:  # more labels, which another sample might hold
        annotate(labelled, key)
    assert sample(labelled, 4)[0:1] != drawn[0:1]
    assert drawn[1] in sample(labelled, 4)
    assert len(sample(labelled, 4)) == 3


def test_labels_are_compared_where_both_have_one(labelled: Database) -> None:
    for place, label in enumerate((0, 1, 1)):  # of the first three, which are 0, 1, 0
        annotate(labelled, LABELLED[place], recipe=AUDIT, label=label)
    annotate(labelled, LABELLED[3], "undecided", recipe=AUDIT)
    found = compare_labels(labelled, selection(), AUDIT)
    assert found == {(0, 0): 1, (1, 1): 1, (0, 1): 1}


def test_audits_come_back_oldest_first_and_one_stored_again_replaces_itself(
    labelled: Database, tmp_path: Path
) -> None:
    audit = StoredAudit(
        audit_id="a", collection="c", recipe_id=RecipeId("r"), audit_recipe_id=AUDIT, pairs=5,
        alpha=0.9, low=0.5, high=1.0,
    )  # fmt: skip
    undefined = {"audit_id": "b", "alpha": None, "low": None, "high": None}
    record_audit(labelled, audit)
    record_audit(labelled, audit.model_copy(update=undefined))
    record_audit(labelled, audit.model_copy(update={"alpha": 0.8}))
    found = load_audits(labelled, "c")
    assert sorted((item.audit_id, item.alpha) for item in found if item.alpha) == [("a", 0.8)]
    assert len(found) == 2
    assert load_audits(labelled, "another") == []
