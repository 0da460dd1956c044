"""Laws of the agents beside people: scores by the majority, and the truth that is written.

Covers `tasks.stages.label.agents`.
"""

from pathlib import Path

import numpy as np
import pytest

from infra.store import Database, samples
from infra.store.samples import Sample
from tasks.inputs.truth import read_truth
from tasks.stages.label.agents import _scores, agents_beside_people, write_truth
from tasks.stages.label.sample import sample_candidates
from tasks.stages.label.sheets import read_sheets, write_sheets
from tests.tasks.stages.generate.world import CODES, QUERIES, judged_store
from tests.tasks.stages.label.world import SANDBOX, read, save

MATCH = (QUERIES[0].query_id, CODES[1].code_id)  # the agents' only one, of six pairs


def labelled(database: Database, folder: Path, *people: set[tuple[str, str]]) -> Sample:
    """Return a sample of all pairs of which each person sees these as matches."""
    sample = sample_candidates(database, "", "pairs", 6, 0)
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


def test_two_people_give_scores_and_no_test_and_nobody_gives_nothing(tmp_path: Path) -> None:
    database, _ = judged_store(tmp_path)
    sample = sample_candidates(database, "", "pairs", 6, 0)
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
    assert np.mean(covered) >= 0.93
