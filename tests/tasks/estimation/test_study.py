"""Laws of the KAPE study's figures."""

from collections import Counter
from functools import cache

import numpy as np
import pytest

from infra.errors import EstimationError
from tasks.estimation.study import (
    BUDGETS,
    KAPE_WEIGHTING,
    StudyFigures,
    budget_size,
    rival_names,
    study_figures,
    study_steps,
)
from tasks.estimators import MEASURES, EstimationData, PairVectors, estimators, ranks_among
from tasks.estimators.kape import KAPE
from tasks.inputs.pairs import Overlap, Pairs, overlap
from tests.fakes.estimations import pairs

TESTED = 81


@cache
def studied() -> tuple[StudyFigures, int]:
    """Return the figures of 81 test pairs, and the steps that were reported."""
    steps: list[int] = []
    figures = study_figures(pairs(300, 1), pairs(TESTED, 2), steps.append)
    return figures, sum(steps)


def mrr_by_loops(of: PairVectors) -> float:
    total = 0.0
    for row in range(len(of)):
        cosines = [
            float(code @ of.queries[row] / np.linalg.norm(code) / np.linalg.norm(of.queries[row]))
            for code in of.codes
        ]
        others = sum(cosine >= cosines[row] for place, cosine in enumerate(cosines) if place != row)
        total += 1 / (1 + others)
    return total / len(of)


def test_the_truth_is_what_plain_loops_compute_on_all_queries_and_on_each_half() -> None:
    figures, _ = studied()
    test = pairs(TESTED, 2)
    nearest = EstimationData.of_pairs(pairs(300, 1), test).nearest(1).similarities[:, 0]
    falling = np.argsort(-nearest)
    rows = {"all": falling, "similar": falling[:40], "different": falling[40:]}
    assert [part.part for part in figures.parts] == list(rows)
    for part in figures.parts:
        assert part.queries == len(rows[part.part])
        assert part.truth["MRR"] == pytest.approx(mrr_by_loops(test.rows(rows[part.part])))


def test_what_a_half_reuses_of_the_whole_is_what_it_would_compute_itself() -> None:
    training, test, half = pairs(300, 1), pairs(TESTED, 2), np.arange(0, TESTED, 2)
    whole = EstimationData.of_pairs(training, test)
    whole.nearest(10)
    assert whole.probabilities.shape == (TESTED, 10)
    reused, fresh = whole.part(half), EstimationData.of_pairs(training, test.rows(half))
    for name in estimators:
        found, own = (
            estimators.get(name)().estimate(data, budget=12, seed=1) for data in (reused, fresh)
        )
        np.testing.assert_array_equal(found.ranks, own.ranks, err_msg=name)
        np.testing.assert_allclose(found.weights, own.weights, err_msg=name)


@pytest.mark.parametrize("name", rival_names())
def test_every_rival_has_mean_and_deviation_over_the_seeds_at_every_budget(name: str) -> None:
    figures, _ = studied()
    data = EstimationData.of_pairs(pairs(300, 1), pairs(TESTED, 2))
    rival = next(each for each in figures.whole.rivals if each.estimator == name)
    estimator = estimators.get(name)()
    assert set(rival.means) == set(MEASURES)
    places = range(len(BUDGETS)) if rival.uses_labels else [0]
    assert len(rival.means["MRR"]) == len(places)
    for place in places:
        size = budget_size(TESTED, BUDGETS[place])
        found = [estimator.estimate(data, budget=size, seed=seed).mean("MRR") for seed in (0, 1, 2)]
        assert rival.means["MRR"][place] == pytest.approx(np.mean(found))
        assert rival.deviations["MRR"][place] == pytest.approx(np.std(found))


def test_kape_and_its_neighbours_are_those_of_the_estimator() -> None:
    figures, _ = studied()
    data = EstimationData.of_pairs(pairs(300, 1), pairs(TESTED, 2))
    for k in (1, 5, 10):
        found = KAPE(k).estimate(data, budget=1, seed=0)
        for measure in MEASURES:
            assert figures.whole.kape_estimate(k, measure) == pytest.approx(found.mean(measure))
    last = figures.neighbours[-1]
    used = (KAPE(10).estimate(data, budget=1, seed=0).weights > 0).sum(axis=1)
    assert (last.k, last.minimum) == (10, used.min())
    assert last.mean == pytest.approx(used.mean())
    assert figures.used == {number: int((used == number).sum()) for number in figures.used}
    assert sum(figures.used.values()) == TESTED
    assert [each.k for each in figures.neighbours] == list(range(3, 11))
    equal = figures.whole.kape["fixed-equal"]["MRR"]
    assert equal[0] == figures.whole.kape[KAPE_WEIGHTING]["MRR"][0], "one neighbour has weight 1"


def test_ten_queries_stand_beside_their_nearest_training_queries() -> None:
    figures, _ = studied()
    training, test = pairs(300, 1), pairs(TESTED, 2)
    data = EstimationData.of_pairs(training, test)
    near, ranks = data.nearest(1), ranks_among(test)
    of_nearest = ranks_among(training, near.rows[:, 0])
    rows = range(0, TESTED, 9)
    assert [
        (each.row, each.nearest_row, each.rank, each.nearest_rank, each.similarity)
        for each in figures.nearest
    ] == [
        (row, near.rows[row, 0], ranks[row], of_nearest[row], near.similarities[row, 0])
        for row in rows
    ]
    assert figures.equal_ranks == (ranks == of_nearest).mean()


def test_all_steps_are_reported_and_the_figures_survive_json() -> None:
    figures, steps = studied()
    assert steps == study_steps(TESTED)
    assert StudyFigures.model_validate_json(figures.model_dump_json()) == figures


def test_copies_of_training_queries_make_no_half_empty() -> None:
    few = pairs(9, 1)
    figures = study_figures(few, few)
    assert [part.queries for part in figures.parts] == [9, 4, 5]


def test_a_single_query_and_three_training_pairs_are_enough() -> None:
    figures = study_figures(pairs(3, 1), pairs(1, 2))
    assert [part.part for part in figures.parts] == ["all"]
    assert figures.whole.truth["MRR"] == 1.0
    assert figures.neighbours[-1].mean <= 3


def test_no_test_pairs_are_refused() -> None:
    with pytest.raises(EstimationError, match="no test pairs"):
        study_figures(pairs(3, 1), pairs(1, 1).rows(np.array([], np.int64)))


def read(texts: list[tuple[str, str]]) -> Pairs:
    return Pairs.of("pairs", texts, Counter())


def test_common_queries_and_pairs_are_counted() -> None:
    training = [("Sort a list", "def f(): pass"), ("b", "def g(): pass")]
    test = [("sort  a list", "def f(): pass\n"), ("b", "def h(): pass"), ("c", "def g(): pass")]
    assert overlap(read(training), read(test)) == Overlap(queries=2, pairs=1, of=3)
