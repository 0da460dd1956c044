"""Laws of the training pairs and queries of an estimate.

Covers `tasks.stages.estimate.inputs`.
"""

from pathlib import Path

import numpy as np
import pytest

from infra.errors import EstimationError
from tasks.estimators import EstimationData, PairVectors, ranks_among
from tasks.estimators.kape import KAPE
from tasks.stages.estimate.inputs import EstimationInput
from tasks.statistics.control_variate import controlled_mean
from tests.fakes.estimations import pairs
from tests.flows.estimation import pairs_file, write_lines

NEW = [("sort a list", "sorted(x)"), ("open a file", "open(x)")]


def inputs(folder: Path, *training: tuple[str, str]) -> EstimationInput:
    asked = write_lines(folder / "asked.jsonl", [{"query": "add a b"}, {"query": "read a file"}])
    return EstimationInput(pairs_file(folder / "train.jsonl", training), asked)


def test_pairs_of_the_queries_are_left_out_where_some_are_judged(tmp_path: Path) -> None:
    found = inputs(tmp_path, ("Add  a B", "a + b"), *NEW, ("add a b", "sum(a, b)"))
    assert list(zip(found.unseen.queries, found.unseen.codes, strict=True)) == NEW
    assert any(
        "left out, so that intervals hold: 2 training pairs" in note
        for note in found.notes(judged=True)
    )
    assert any("estimates are too high" in note for note in found.notes(judged=False))


def test_no_other_pairs_are_refused_with_the_way_out(tmp_path: Path) -> None:
    found = inputs(tmp_path, ("add a b", "a + b"))
    with pytest.raises(EstimationError, match=r"each training pair of train is of a query of ask"):
        found.notes(judged=True)


def test_intervals_would_not_hold_with_these_pairs() -> None:
    """Why they are left out: the judged queries would be no random sample of the estimates."""
    test, others = pairs(400, 2, noise=1.2), pairs(300, 1, noise=1.2)
    true = 1 / ranks_among(test)

    def covering(*, with_own: bool) -> int:
        held = 0
        for seed in range(20):
            rows = np.random.default_rng(seed).choice(400, 80, replace=False)
            own = rows if with_own else rows[:0]
            training = PairVectors(
                np.concatenate([others.queries, test.queries[own]]),
                np.concatenate([others.codes, test.codes[own]]),
            )
            data = EstimationData(training, test.queries, np.asarray)
            estimated = KAPE(1).estimate(data, budget=1, seed=0).by_row("MRR")
            found = controlled_mean(true[rows], estimated[rows], estimated.mean(), 400).interval
            held += found.low <= true.mean() <= found.high
        return held

    assert covering(with_own=False) >= 18
    assert covering(with_own=True) <= 15
