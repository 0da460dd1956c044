"""Laws of results: made-up people with known error come out as they were put in.

And of the agents beside people: scores by the majority, and the truth that is written.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from infra.errors import SettingsError
from infra.identity import RecipeId
from infra.records import Code, Criterion, GivenVote, Query
from infra.store import Database, annotations, samples
from infra.store.samples import Sample, SampleItem, final_labels
from infra.store.votes import load_votes, record_votes
from tasks.inputs.pairs import read_truth
from tasks.stages.label.results import (
    _scores,
    agents_beside_people,
    disagreements,
    label_results,
    majority_labels,
    write_truth,
)
from tasks.stages.label.sample import Drawing, sample_candidates
from tasks.stages.label.sheets import guidelines, read_sheets, write_sheets
from tasks.stages.leaderboard import _people_labels
from tests.fakes.stores import empty_store
from tests.tasks.stages.generate.world import CODES, QUERIES, judged_store, judgement
from tests.tasks.stages.label.world import SANDBOX, read, save

ITEMS = 800
QUERY = Query.of("made up")
MADE_UP = [Code.of(f"def f(): return {number}") for number in range(ITEMS)]
MATCH = (QUERIES[0].query_id, CODES[1].code_id)  # the agents' only one, of six pairs


def stored(folder: Path, **fields: object) -> tuple[Database, Sample]:
    database = empty_store(folder / "store")
    items = tuple(
        SampleItem(query_id=QUERY.query_id, code_id=code.code_id, position=number)
        for number, code in enumerate(MADE_UP, 1)
    )
    sample = Sample.model_validate({"collection": "", "items": items, **fields})
    samples.add_sample(database, sample, [QUERY, *MADE_UP])
    return database, sample


def vote(
    database: Database, sample: Sample, name: str, labels: dict[int, float | None], **fields: object
) -> None:
    """Store what a person says of items by their positions."""
    samples.assign(database, sample, name, labels)
    rows = [
        GivenVote.model_validate(
            {
                "query_id": QUERY.query_id, "code_id": MADE_UP[position - 1].code_id,
                "annotator": name, "origin": sample.origin, "relevance": label, **fields,
            }
        )
        for position, label in labels.items()
    ]  # fmt: skip
    with database.transaction() as tx:
        record_votes(tx, "", rows)


def test_accuracy_alpha_and_majority_of_made_up_people_are_those_put_in(tmp_path: Path) -> None:
    """Half of the items are matches, and each person errs by chance at a known rate.

    Two labels then differ with probability e = a (1 - b) + b (1 - a), so that alpha is 1 - 2 e, and
    so is kappa.
    """
    database, sample = stored(tmp_path)
    generator = np.random.default_rng(5)
    truth = generator.integers(0, 2, ITEMS)
    errors = {"ann": 0.05, "bob": 0.10}
    said = {}
    for name, rate in errors.items():
        wrong = generator.random(ITEMS) < rate
        said[name] = np.where(wrong, 1 - truth, truth)
        labels = {number: float(label) for number, label in enumerate(said[name].tolist(), 1)}
        vote(database, sample, name, dict(labels))
        assert (said[name] == truth).mean() == pytest.approx(1 - rate, abs=0.025)
    differ = 0.05 * 0.90 + 0.95 * 0.10
    found = label_results(database, sample)
    assert found.agreement
    for interval in (found.agreement.alpha, found.agreement.each_two[0].kappa):
        assert interval.low < 1 - 2 * differ < interval.high
        assert interval.mean == pytest.approx(1 - 2 * differ, abs=0.07)
        assert 0.07 < interval.high - interval.low < 0.13, "3.92 standard errors"
    disputed = set(np.flatnonzero(said["ann"] != said["bob"]) + 1)
    assert set(found.conflicts) == disputed
    assert found.decided == ITEMS - len(disputed)
    third = {int(number): float(truth[number - 1]) for number in disputed}
    vote(database, sample, "cam", dict(third))  # who never errs
    found = label_results(database, sample)
    assert (found.conflicts, found.decided) == ((), ITEMS)
    decided = majority_labels(samples.readable_votes(database, sample))
    right = np.mean([decided[item.key] == truth[item.position - 1] for item in sample.items])
    assert right == pytest.approx(1 - 0.05 * 0.10, abs=0.01), "wrong where both are"


def test_agreement_is_of_blind_labels_and_the_majority_of_the_last(tmp_path: Path) -> None:
    database, sample = stored(tmp_path, items=stored_items(4))
    vote(database, sample, "ann", {1: 1, 2: 1, 3: 0, 4: 0})
    vote(database, sample, "bob", {1: 1, 2: 0, 3: 0, 4: None})
    vote(database, sample, "bob", {2: 1}, phase="revised")
    found = label_results(database, sample)
    assert found.agreement
    assert found.agreement.alpha.mean == pytest.approx(1 - 5 * 2 / (3 * 3 * 2))
    assert (found.conflicts, found.decided, found.by_label) == ((2, 4), 4, {0: 2, 1: 2})


def stored_items(number: int) -> tuple[SampleItem, ...]:
    return tuple(
        SampleItem(
            query_id=QUERY.query_id, code_id=MADE_UP[place].code_id, position=place + 1,
        )
        for place in range(number)
    )  # fmt: skip


def test_nothing_is_told_of_people_who_are_not_done(tmp_path: Path) -> None:
    database, sample = stored(tmp_path, items=stored_items(3))
    samples.assign(database, sample, "bob")
    vote(database, sample, "ann", {1: 1, 2: 1, 3: 0})
    with database.transaction() as tx:
        given = {"query_id": QUERY.query_id, "code_id": MADE_UP[0].code_id, "relevance": 0.0}
        row = {**given, "annotator": "bob", "origin": sample.origin}
        record_votes(tx, "", [GivenVote.model_validate(row)])
    found = label_results(database, sample)
    assert [(one.annotator, one.blind, one.is_done) for one in found.progress] == [
        ("ann", 3, True), ("bob", 1, False),
    ]  # fmt: skip
    assert (found.agreement, found.conflicts, found.decided) == (None, (), 3)


def test_a_preference_is_a_share_with_wilsons_interval_for_all_and_for_each(tmp_path: Path) -> None:
    database, sample = stored(tmp_path, items=stored_items(10), kind="preference")
    vote(database, sample, "ann", {n: float(n <= 7) for n in range(1, 11)})
    vote(database, sample, "bob", {n: None if n == 1 else float(n <= 8) for n in range(1, 11)})
    found = {it.annotator: it for it in label_results(database, sample).preferred}
    assert {name: it.decided for name, it in found.items()} == {"majority": 9, "ann": 10, "bob": 9}
    assert found["majority"].share.mean == 7 / 9
    ann = found["ann"].share
    assert (ann.mean, ann.low, ann.high) == pytest.approx((0.7, 0.3968, 0.8922), abs=1e-4)


def test_answers_are_counted_for_each_method_and_person(tmp_path: Path) -> None:
    answers = {"roberta": {QUERY.query_id: MADE_UP[0].code_id}}
    answers["codebert"] = {QUERY.query_id: MADE_UP[1].code_id}
    body = {"answers": answers}
    database, sample = stored(tmp_path, items=stored_items(2), kind="answers", body=body)
    vote(database, sample, "ann", {1: 0, 2: 1})
    vote(database, sample, "bob", {1: 1, 2: 1})
    right = {it.method: it for it in label_results(database, sample).right}
    assert right["roberta"].by_annotator == {"ann": 0, "bob": 1}
    assert {name: (it.mean, it.queries) for name, it in right.items()} == {
        "roberta": (0.5, 1), "codebert": (1.0, 1),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ({"ann": 1, "ben": 1}, None),
        ({"ann": 1}, None),
        ({"ann": 1, "ben": 0}, False),
        ({"ann": None, "ben": None}, False),  # undecided agrees with nobody
        ({"ann": 1, "ben": None}, False),
        ({"ann": 1, "ben": 0, "cat": 1}, True),
        ({"ann": 1, "ben": None, "cat": 1}, True),
        ({"ann": 1, "ben": 0, "cat": None}, False),
    ],
)
def test_people_differ_on_an_item_of_which_a_majority_may_be_all_the_same(
    tmp_path: Path, said: dict[str, float | None], expected: bool | None
) -> None:
    database, sample = stored(tmp_path)
    for name, label in said.items():
        vote(database, sample, name, {1: label})
    progress = samples.progress(database, sample.sample_id)
    found = disagreements(sample, progress, load_votes(database, sample.origin))
    assert [(each.item.position, each.is_decided) for each in found] == (
        [] if expected is None else [(1, expected)]
    )
    for each in found:
        assert {who: votes["blind"].relevance for who, votes in each.votes.items()} == said


def test_nobody_reads_where_people_differ_before_all_who_have_the_item_are_done(
    tmp_path: Path,
) -> None:
    database, sample = stored(tmp_path)
    vote(database, sample, "ann", {1: 1.0, 2: 1.0})
    vote(database, sample, "ben", {1: 0.0, 2: 0.0})
    samples.assign(database, sample, "cat", [2])
    progress = samples.progress(database, sample.sample_id)
    found = disagreements(sample, progress, load_votes(database, sample.origin))
    assert [each.item.position for each in found] == [1]


def labelled(
    database: Database,
    folder: Path,
    *people: set[tuple[str, str]],
    criterion: Criterion = "exact",
) -> Sample:
    """Return a sample of all pairs of which each person sees these as matches."""
    sample = sample_candidates(database, "", Drawing(6, criterion=criterion))
    names = [f"person-{number}" for number in range(len(people))]
    positions = {item.position: item.key for item in sample.items}
    for name, matches in zip(names, people, strict=True):
        samples.assign(database, sample, name)
        [file] = write_sheets(database, sample, [name], folder)
        rows = [
            row | {"grade": str(int(positions[int(row["item"])] in matches))} for row in read(file)
        ]
        save(file, rows)
        read_sheets(database, [file], SANDBOX)
    return sample


def test_the_agents_are_scored_by_the_majority_and_by_what_their_labels_rest_on(
    tmp_path: Path,
) -> None:
    database, _ = judged_store(tmp_path)
    other = (QUERIES[1].query_id, CODES[0].code_id)
    sample = labelled(database, tmp_path, {MATCH, other}, {MATCH, other}, {MATCH})
    found = agents_beside_people(database, sample)
    assert found is not None
    every, *by_ground = found.scores
    assert (every.ground, every.pairs) == ("all", 6)
    assert (every.accuracy.mean, every.precision.mean, every.recall.mean) == (5 / 6, 1.0, 0.5)
    assert sum(each.pairs for each in by_ground) == 6
    assert found.agreement.annotators == ("agents", "majority")
    assert found.alt_test is not None
    assert [each.items for each in found.alt_test.people] == [6, 6, 6]


def test_a_pair_counts_once_by_what_its_label_in_use_rests_on(tmp_path: Path) -> None:
    """Whatever a former recipe's label of the pair rests on."""
    database, _ = judged_store(tmp_path)
    former = judgement(*MATCH, recipe_id=RecipeId("r0"), label=1, support="valid_oracle")
    annotations.record_recipes(database, {RecipeId("r0"): {"model": {"model": "old"}}}, used_on="c")
    annotations.add_annotations(database, [former])
    annotations.record_recipes(database, {RecipeId("r1"): {"model": {"model": "m"}}}, used_on="c")
    found = agents_beside_people(database, labelled(database, tmp_path, {MATCH}, {MATCH}))
    assert found is not None
    assert [(each.ground, each.pairs) for each in found.scores] == [("all", 6), ("by reading", 6)]


def test_labels_by_half_of_the_demands_are_none_of_exact_matches(tmp_path: Path) -> None:
    """Neither the agents' beside people's, nor people's own where scores are corrected."""
    database, _ = judged_store(tmp_path)
    exact = labelled(database, tmp_path, {MATCH}, {MATCH})
    half = labelled(database, tmp_path, set(), set(), criterion="half")
    assert exact.sample_id != half.sample_id
    assert exact.items == half.items
    assert agents_beside_people(database, half) is None, "no agent has judged by it"
    found = agents_beside_people(database, exact)
    assert found is not None
    assert found.scores[0].accuracy.mean == 1.0
    assert {label.relevance for label in final_labels(database) if label.criterion == "half"} == {0}
    people = _people_labels(database)
    assert people.pairs[MATCH[0]][MATCH[1]] == 1
    body = {"model": {"model": "m"}, "configuration": "v1-half"}
    annotations.record_recipes(database, {RecipeId("h1"): body}, used_on="c")
    by_half = [
        judgement(*item.key, recipe_id=RecipeId("h1"), label=int(item.key != MATCH))
        for item in half.items
    ]
    annotations.add_annotations(database, by_half)
    found, of_exact = (agents_beside_people(database, each) for each in (half, exact))
    assert found is not None
    assert found.scores[0].accuracy.mean == 1 / 6
    assert of_exact is not None
    assert of_exact.scores[0].accuracy.mean == 1.0
    told = {name: guidelines(sample) for name, sample in (("exact", exact), ("half", half))}
    assert "1, answers half" in told["half"]
    assert "1, answers" in told["exact"]


@pytest.mark.parametrize("scale", ["graded", "preference"])
def test_a_truth_is_of_labels_0_and_1(tmp_path: Path, scale: str) -> None:
    database, _ = judged_store(tmp_path)
    fields: dict[str, Any] = {"kind": "preference"} if scale == "preference" else {"scale": scale}
    sample = Sample(collection="c", items=(), **fields)
    with pytest.raises(SettingsError, match="--truth writes labels 0 and 1"):
        write_truth(database, sample, tmp_path / "truth.jsonl")
    assert not (tmp_path / "truth.jsonl").exists()


def test_two_people_give_scores_and_no_test_and_nobody_gives_nothing(tmp_path: Path) -> None:
    database, _ = judged_store(tmp_path)
    sample = sample_candidates(database, "", Drawing(6))
    assert agents_beside_people(database, sample) is None
    found = agents_beside_people(database, labelled(database, tmp_path, {MATCH}, {MATCH}))
    assert found is not None
    assert found.alt_test is None
    assert found.scores[0].accuracy.mean == 1.0


def test_the_truth_is_what_more_than_half_say_with_each_persons_label(tmp_path: Path) -> None:
    database, _ = judged_store(tmp_path)
    sample = labelled(database, tmp_path, {MATCH}, set())
    file = tmp_path / "truth.jsonl"
    assert write_truth(database, sample, file) == 5
    pairs = read_truth(file)
    assert MATCH not in {pair.key for pair in pairs}, "one against one is no majority"
    assert {pair.label for pair in pairs} == {0}
    assert pairs[0].by_people == {"person-0": 0, "person-1": 0}


@pytest.mark.parametrize(("right", "pairs"), [(0.92, 60), (0.7, 100), (0.5, 40)])
def test_the_interval_of_the_accuracy_covers_the_truth(right: float, pairs: int) -> None:
    """In 1,000 simulated samples, as often as 95% says but for chance."""
    generator = np.random.default_rng(3)
    counts = generator.binomial(pairs, right, 1_000)
    intervals = {
        int(count): _scores("all", [(1, 1)] * count + [(1, 0)] * (pairs - count)).accuracy
        for count in set(counts.tolist())
    }
    covered = [intervals[count].low <= right <= intervals[count].high for count in counts.tolist()]
    assert np.mean(covered) >= 0.94
