"""Laws of PACE's choice of queries, and of its prototypes, with mmd-critic as the judge."""

import math
from itertools import islice

import numpy as np
import pytest
from mmd_critic import MMDCritic
from mmd_critic.kernels import RBFKernel

from tasks.estimators import EstimationData, PairVectors, Positions
from tasks.estimators.pace import PACE, apportion, core_distances, diverse, prototypes, scaled
from tasks.statistics import Values


@pytest.mark.parametrize(
    ("sizes", "seats", "expected"),
    [
        ([200, 120, 80], 40, [20, 12, 8]),
        ([100, 1, 1], 10, [8, 1, 1]),  # at least one each
        ([1, 100, 1], 2, [1, 1, 0]),  # as far as they last, the largest first
        ([53, 24, 23], 10, [6, 2, 2]),  # rounds 5.5, 2.5 and 2.4 under one divisor: 9.62
        ([60, 14, 13, 13], 10, [6, 2, 1, 1]),  # 60 / 6.5 is below 14 / 1.5
        ([3, 2], 5, [3, 2]),
        ([3, 2], 0, [0, 0]),
        ([], 0, []),
    ],
)
def test_each_cluster_gets_its_rounded_share_of_the_budget(
    sizes: list[int], seats: int, expected: list[int]
) -> None:
    assert apportion(sizes, seats) == expected


def test_outside_the_clusters_each_next_query_is_the_farthest_from_those_chosen() -> None:
    line = np.array([[0.0], [1.0], [10.0], [4.0], [4.0]])
    assert list(diverse(line, np.array([1.0, 1.0, 5.0, 1.0, 1.0]))) == [2, 0, 3, 1, 4]


def test_the_first_query_outside_the_clusters_is_the_farthest_from_its_fourth_neighbour() -> None:
    line = np.array([[0.0], [1.0], [2.0], [3.0], [9.0], [20.0]])
    assert core_distances(line[4:], line, 4).tolist() == [11 - 2, 19]
    assert core_distances(line[:2], line[:3], 4).tolist() == [2, 1]


def test_features_are_scaled_to_one_and_a_constant_one_is_no_division_by_zero() -> None:
    found = scaled(np.array([[1.0, 5.0], [2.0, 5.0], [5.0, 5.0]]))
    assert found.tolist() == [[0, 0], [0.25, 0], [1, 0]]


@pytest.mark.parametrize(
    ("seed", "sizes", "first"), [(2, [288, 86, 126], 182), (11, [269, 106, 125], 45)]
)
def test_clusters_and_the_first_query_outside_are_those_of_the_hdbscan_that_pace_uses(
    seed: int, sizes: list[int], first: int
) -> None:
    # hdbscan 0.8.44, min_cluster_size=80, min_samples=4: sizes of the noise and of two clusters,
    # and the noise point with the highest outlier score.
    generator = np.random.default_rng(seed)
    parts = [(np.ones(10), 250), (np.full(10, 8.0), 125), (np.arange(1, 11) * 5.0, 125)]
    features = scaled(np.vstack([generator.dirichlet(alpha, size) for alpha, size in parts]))
    pace = PACE()
    assert np.bincount(pace._labels(features) + 1).tolist() == sizes
    assert pace._orders(features)[1].first(1) == [first]


def cosines(parts: list[tuple[Values, int]], spread: float, seed: int) -> Values:
    """Return queries whose cosines with ten codes are near given ones."""
    generator = np.random.default_rng(seed)
    rows = np.vstack([np.tile(centre, (size, 1)) for centre, size in parts])
    return rows + generator.normal(scale=spread, size=rows.shape)


def test_four_fifths_of_the_budget_go_to_the_clusters_by_their_sizes() -> None:
    centres = np.eye(10)[0], np.eye(10)[0] + np.eye(10)[1], np.ones(10)
    queries = cosines(list(zip(centres, (200, 120, 100), strict=True)), 0.005, 0)
    stray = np.abs(np.random.default_rng(1).normal(size=(80, 10))) ** 3
    asked: list[int] = []

    def label(rows: Positions) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        asked[:] = list(rows)
        return np.ones(len(rows), np.int64)

    data = EstimationData(PairVectors(np.eye(10), np.eye(10)), np.vstack([queries, stray]), label)
    pace = PACE()
    labels = pace._labels(scaled(data.probabilities))
    sizes = np.bincount(labels + 1)
    assert (len(sizes), sizes[0]) == (4, 32)
    earlier: set[int] = set()
    for budget, outside in ((5, 1), (50, 10), (100, 20), (250, 32), (490, 32)):
        pace.estimate(data, budget=budget, seed=0)
        counts = np.bincount(labels[asked] + 1, minlength=4)
        assert counts[0] == outside
        expected = (budget - outside) * sizes[1:] / sizes[1:].sum()
        assert np.abs(counts[1:] - expected).max() < 1
        assert earlier <= set(asked)
        earlier = set(asked)


def features(number: int, seed: int) -> Values:
    return np.random.default_rng(seed).dirichlet(np.ones(4), number)


def objective(values: Values, chosen: list[int], gamma: float) -> float:
    """Return J(S) of Kim et al. (2016), term by term."""

    def kernel(one: int, other: int) -> float:
        return math.exp(-gamma * float(np.square(values[one] - values[other]).sum()))

    towards = sum(kernel(row, taken) for row in range(len(values)) for taken in chosen)
    among = sum(kernel(one, other) for one in chosen for other in chosen)
    return 2 * towards / (len(values) * len(chosen)) - among / len(chosen) ** 2


def test_each_prototype_makes_the_objective_as_high_as_can_be() -> None:
    values = features(25, 0)
    chosen: list[int] = []
    for found in islice(prototypes(values, 2.0), 10):
        rest = [row for row in range(25) if row not in chosen]
        best = max(objective(values, [*chosen, row], 2.0) for row in rest)
        chosen.append(found)
        assert objective(values, chosen, 2.0) == pytest.approx(best, abs=1e-12)


@pytest.mark.parametrize("gamma", [0.026, 5.0])
def test_they_are_those_of_the_package_mmd_critic(gamma: float) -> None:
    values = features(300, 1)
    kernel = RBFKernel(sigma=1 / math.sqrt(2 * gamma))
    wanted = MMDCritic(values, kernel, labels=np.arange(300)).select_prototypes(60)[1]
    assert list(islice(prototypes(values, gamma), 60)) == wanted.tolist()


@pytest.mark.parametrize("values", [np.ones((5, 3)), np.ones((1, 3)), features(7, 2)])
def test_every_row_is_taken_once(values: Values) -> None:
    assert sorted(prototypes(values, 0.026)) == list(range(len(values)))


def test_the_kernel_is_summed_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = list(prototypes(features(100, 3), 5.0))
    monkeypatch.setattr("tasks.estimators.pace._CELLS_AT_ONCE", 700)
    assert list(prototypes(features(100, 3), 5.0)) == whole
