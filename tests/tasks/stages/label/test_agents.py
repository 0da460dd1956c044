"""Laws of the agents beside people: scores by the majority, and the truth that is written.

Covers `tasks.stages.label.agents`.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from infra.errors import SettingsError
from infra.identity import RecipeId
from infra.records import Criterion
from infra.store import Database, annotations, samples
from infra.store.samples import Sample, final_labels
from tasks.inputs.pairs import read_truth
from tasks.stages.label.agents import _scores, agents_beside_people, write_truth
from tasks.stages.label.sample import Drawing, sample_candidates
from tasks.stages.label.sheets import guidelines, read_sheets, write_sheets
from tasks.stages.leaderboard import _people_labels
from tests.tasks.stages.generate.world import CODES, QUERIES, judged_store, judgement
from tests.tasks.stages.label.world import SANDBOX, read, save

MATCH = (QUERIES[0].query_id, CODES[1].code_id)  # the agents' only one, of six pairs


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
