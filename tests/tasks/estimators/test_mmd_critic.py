"""Laws of MMD-critic's prototypes."""

import math
from itertools import islice

import numpy as np
import pytest
from mmd_critic import MMDCritic
from mmd_critic.kernels import RBFKernel

from tasks.estimators.pace import prototypes
from tasks.statistics import Values


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
