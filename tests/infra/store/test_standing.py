"""Laws of the current labels of pairs, and of the figures about them.

Covers `infra.store.labels`, `infra.store.evidence`, `infra.store.figures`.
"""

import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from infra.errors import StoreError
from infra.identity import PairKey, RecipeId, SearchId
from infra.records import Annotation, LanguageModelCall
from infra.store import Database, annotations, candidates, database_file, open_database
from infra.store.evidence import EvidenceSelection
from infra.store.figures import label_figures, reading_figures
from infra.store.labels import Coverage, CurrentLabels, decide_labels
from tasks.stages.labels import StoredAnnotations
from tests.fakes.stores import labels_by
from tests.tasks.stages.generate.world import CODES, QUERIES, SEARCH, judged_store, judgement

RECIPES = ("r1", "r2", "r3", "r4")
CALL = LanguageModelCall(
    role="screener", attempt=1, model="m", prompt_digest="d", status="ok", cost_usd=0.5
)
ONE, TWO = (
    PairKey(QUERIES[0].query_id, CODES[0].code_id),
    PairKey(QUERIES[1].query_id, CODES[0].code_id),
)


@pytest.fixture
def database(tmp_path: Path) -> Database:
    return judged_store(tmp_path, rounds=0)[0]


def judged(pair: PairKey, recipe: str, label: int | None, **fields: object) -> Annotation:
    """Return an annotation with one call; None leaves the pair undecided."""
    by_label = {"label": label, "support": "screened", "status": "labelled"}
    without = {"label": None, "support": "undecided", "status": "undecided", "reason": recipe}
    row: dict[str, Any] = {"recipe_id": recipe, "calls": (CALL,)}
    row |= (without if label is None else by_label) | fields
    return judgement(*pair, **row)


def judge(
    database: Database, pair: PairKey, recipe: str, label: int | None, **fields: object
) -> Annotation:
    """Store the annotation and return it."""
    item = judged(pair, recipe, label, **fields)
    annotations.add_annotations(database, [item])
    return item


def said(database: Database, labels: CurrentLabels) -> dict[PairKey, tuple[float, str, bool]]:
    """Return pair → label, origin, and whether it is fresh."""
    return {
        PairKey(row["query_id"], row["code_id"]): (row["relevance"], row["origin"], row["fresh"])
        for row in decide_labels(database, labels).labels.to_pylist()
    }


def test_the_newest_label_stands_and_where_there_is_none_the_one_before(database: Database) -> None:
    judge(database, ONE, "old", 0)
    judge(database, TWO, "old", 1)
    judge(database, ONE, "new", 1)
    assert said(database, labels_by(SEARCH, ["new"], ["old"])) == {
        ONE: (1.0, "agents:new", True),
        TWO: (1.0, "agents:old", False),
    }
    assert said(database, labels_by(SEARCH, ["old"], ["new"]))[ONE] == (0.0, "agents:old", True)
    assert set(said(database, labels_by(SEARCH, ["new"]))) == {ONE}


@pytest.mark.parametrize("status", ["undecided", "failed"])
def test_a_label_stands_although_it_was_not_repeated(database: Database, status: str) -> None:
    judge(database, ONE, "old", 1)
    judge(database, ONE, "new", None, status=status)
    judge(database, TWO, "new", None, status=status)
    both = labels_by(SEARCH, ["new"], ["old"])
    is_judged = status == "undecided"  # then nothing will judge it again
    assert said(database, both) == {ONE: (1.0, "agents:old", is_judged)}
    found = decide_labels(database, both)
    assert (found.undecided.num_rows, found.unfinished) == (
        (1, 0) if status == "undecided" else (0, 1)
    )
    assert set(found.queries.to_pylist()) == {ONE.query_id, TWO.query_id}


def test_a_pair_is_undecided_as_the_newest_complete_set_says(database: Database) -> None:
    judge(database, ONE, "old", None)
    labels = labels_by(SEARCH, ["new", "new2"], ["old"])
    assert decide_labels(database, labels).undecided["reason"].to_pylist() == ["old"]
    judge(database, ONE, "new", 1)
    assert decide_labels(database, labels).undecided["reason"].to_pylist() == ["old"]
    judge(database, ONE, "new2", 0)
    [reason] = decide_labels(database, labels).undecided["reason"].to_pylist()
    assert reason == "no label has more than half of 2 rounds: 1 say 1, 1 say 0, 0 say neither"


def test_evidence_is_that_of_the_labels_that_stand(database: Database) -> None:
    kept = [
        judge(database, TWO, "old", 1),
        judge(database, ONE, "new", 1),
    ]
    judge(database, ONE, "old", 0)
    judge(database, TWO, "new", None)
    labels = labels_by(SEARCH, ["new"], ["old"])
    selection = EvidenceSelection(decide_labels(database, labels).supporting_annotations)
    judge(database, TWO, "new", 0)  # after the labels were read: it is evidence of later ones
    stored = {(item.key, item.recipe_id) for item in StoredAnnotations(database, selection)}
    assert stored == {(item.key, item.recipe_id) for item in kept}


def test_figures_are_of_what_the_labels_rest_on(database: Database) -> None:
    judge(database, ONE, "old", 0)
    judge(database, TWO, "old", 1)
    judge(database, ONE, "new", 1)
    judge(database, PairKey(QUERIES[2].query_id, CODES[0].code_id), "new", None, status="failed")
    figures = label_figures(database, labels_by(SEARCH, ["new"], ["old"]))
    assert (figures.queries, figures.pairs) == (3, 3)
    assert figures.statuses == {"failed": 1, "labelled": 2}
    assert (figures.labels, figures.shape.matches) == ({"1": 2}, {1: 2})
    assert figures.shape.bases == (("screened", "read_alone", 2),)
    assert figures.recipes == {"new": 1, "old": 1}
    assert (figures.cost.calls, figures.cost.cost_usd) == (3, 1.5), "the failed try has cost"


def test_readings_are_counted_that_a_valid_run_tested_and_those_that_it_contradicts(
    database: Database,
) -> None:
    pairs = [PairKey(query.query_id, code.code_id) for query in QUERIES for code in CODES]
    rows = [  # what the reader says, the label, and what the run says of it
        ("clear_match", 1, "valid_oracle"), ("clear_match", 0, "valid_oracle"),
        ("clear_non_match", 0, "overruled"), ("clear_match", 1, "overruled"),
        ("unclear_behaviour", 1, "valid_oracle"), ("clear_match", 1, "screened"),
    ]  # fmt: skip
    lost = CALL.model_copy(update={"status": "unreadable", "prompt_digest": "lost", "reply": "{"})
    for key, (verdict, label, support) in zip(pairs, rows, strict=False):
        reply = f'```json\n{{"reason": "no \\"verdict\\"", "verdict": "{verdict}"}}'
        read = CALL.model_copy(update={"prompt_digest": f"{key}", "reply": reply})
        judge(database, key, "new", label, calls=(lost, read), support=support)
    found = reading_figures(database, [RecipeId("new")], CALL.role)
    number = min(len(pairs), len(rows))
    assert (found.tested, found.contradicted) == (4, 3)
    [role] = found.roles
    assert (role.role, role.model) == (CALL.role, CALL.model)
    assert (role.replies, role.unreadable) == (number + 1, 1), "a reply that pairs share is one"


def test_a_request_without_a_reply_leaves_the_cost_known(database: Database) -> None:
    lost = CALL.model_copy(update={"status": "unavailable", "cost_usd": None})
    judge(database, ONE, "new", None, status="failed", calls=(CALL, lost))
    assert label_figures(database, labels_by(SEARCH, ["new"])).cost.cost_usd == 0.5
    unpriced = CALL.model_copy(update={"cost_usd": None})
    judge(database, TWO, "new", 1, calls=(unpriced,))
    assert label_figures(database, labels_by(SEARCH, ["new"])).cost.cost_usd is None


def test_what_failed_tries_have_paid_counts_once_when_the_pair_is_judged(
    database: Database,
) -> None:
    paid = [CALL.model_copy(update={"prompt_digest": name}) for name in ("a", "b", "c")]
    kept = [call.model_copy(update={"cached": True}) for call in paid]
    shared = kept[0].model_copy(update={"prompt_digest": "by another pair"})
    judge(database, ONE, "new", None, status="failed", calls=paid[:1])
    judge(database, ONE, "new", None, status="failed", calls=(kept[0], shared, paid[1]))
    judge(database, ONE, "new", 1, calls=(kept[0], shared, kept[1], kept[1], paid[2]))
    cost = label_figures(database, labels_by(SEARCH, ["new"])).cost
    assert (cost.calls, cost.cached_calls, cost.cost_usd) == (5, 2, 1.5)


def test_what_defines_the_labels_stays_out_of_the_file(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that holds views or macros is refused by the next process, ours too."""
    decide_labels(database, labels_by(SEARCH, ["new"]))
    monkeypatch.setattr(database_file, "_states_of_tables", {})  # as in another process
    assert open_database(database.settings).store_id == database.store_id
    with database.transaction() as tx:
        tx.execute("CREATE MACRO candidate_pairs(labels) AS TABLE SELECT 'q', 'c'")
    monkeypatch.setattr(database_file, "_states_of_tables", {})
    with pytest.raises(StoreError, match="'candidate_pairs' is no table"):
        open_database(database.settings)


class Drawn(NamedTuple):
    """An annotation that was drawn by lot."""

    recipe: str
    met: str
    label: int | None
    support: str


def test_the_database_decides_as_a_plain_reading_of_the_rule(database: Database) -> None:
    """By lot: four recipes, what annotations met, sets of one to three rounds, and labels."""
    draw = random.Random(7)
    pairs = candidates.pairs_of(database, [SEARCH], "c")
    for _ in range(20):
        with database.transaction() as tx:
            for table in ("annotations", "llm_calls", "executions"):
                tx.execute(f"DELETE FROM {table}")
        sets = [
            tuple(draw.sample(RECIPES, draw.choice([1, 1, 2, 3])))
            for _ in range(draw.randint(1, 3))
        ]
        covered = {
            Coverage(RecipeId(recipe), met, number, place)
            for number, rounds in enumerate(sets)
            for place, own in enumerate(rounds)
            for recipe in RECIPES
            for met in ("", "screener")
            if recipe == own or draw.random() < 0.2
        }
        drawn = {pair: by_lot(draw) for pair in pairs}
        annotations.add_annotations(
            database, [stored(pair, item) for pair, items in drawn.items() for item in items]
        )
        labels = CurrentLabels(
            collection="c",
            search_ids=(SearchId(SEARCH),),
            sets=tuple(tuple(RecipeId(name) for name in rounds) for rounds in sets),
            covered=tuple(covered),
            support=("screened", "valid_oracle"),
        )
        expected = {pair: decided(items, sets, covered) for pair, items in drawn.items()}
        found = {pair: (value, fresh) for pair, (value, _, fresh) in said(database, labels).items()}
        assert found == {pair: value for pair, value in expected.items() if value is not None}


def stored(pair: PairKey, item: Drawn) -> Annotation:
    fields = {"support": item.support} if item.label is not None else {}
    return judged(pair, item.recipe, item.label, calls=(CALL,) if item.met else (), **fields)


def by_lot(draw: random.Random) -> list[Drawn]:
    return [
        Drawn(
            recipe,
            draw.choice(["", "screener"]),
            draw.choice([0, 1, 1, None]),
            draw.choice(["screened", "valid_oracle", "void_oracle"]),
        )
        for recipe in draw.sample(RECIPES, draw.randint(0, 4))
    ]


def decided(
    items: Sequence[Drawn], sets: Sequence[tuple[str, ...]], covered: set[Coverage]
) -> tuple[float, bool] | None:
    """Return label and freshness; where several annotations vote for a round, the round's own."""
    is_judged = all(
        any(Coverage(RecipeId(item.recipe), item.met, 0, place) in covered for item in items)
        for place in range(len(sets[0]))
    )
    for number, rounds in enumerate(sets):
        votes: Counter[int] = Counter()
        for place, own in enumerate(rounds):
            counting = [
                item
                for item in items
                if Coverage(RecipeId(item.recipe), item.met, number, place) in covered
                and item.label is not None
                and item.support in ("screened", "valid_oracle")
            ]
            # All are of the same time.
            counting.sort(key=lambda item: (item.recipe != own, item.recipe))
            votes.update([counting[0].label] if counting else [])  # type: ignore[list-item]
        for value in (0, 1):
            if votes[value] * 2 > len(rounds):
                return float(value), number == 0 or is_judged
    return None
