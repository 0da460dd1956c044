"""Laws of ranked lists."""

import numpy as np
import pyarrow as pa
import pytest

from tasks.benchmarks.runs import Numbering, _refuse_sparse, numbered
from tests.fakes.rankings import rank_scores


@pytest.mark.parametrize("levels", [1, 6, 10**9])
@pytest.mark.parametrize(("codes", "depth"), [(40, 1), (40, 39), (40, 99), (3000, 7), (9000, 500)])
def test_the_best_are_those_of_a_full_stable_sort(codes: int, depth: int, levels: int) -> None:
    scores = np.random.default_rng(depth).integers(0, levels, size=(5, codes)).astype(float)
    scores[1] *= scores[1] < levels / 50  # nearly all are 0
    expected = np.argsort(-scores, axis=1, kind="stable")[:, :depth]
    ids = [f"c{n:04}" for n in range(codes)]
    found = rank_scores([f"q{n}" for n in range(5)], ids, scores, depth)
    assert np.array_equal(found.codes, expected)
    assert np.array_equal(found.scores, np.take_along_axis(scores, expected, axis=1))


def test_names_are_numbered_alike_in_one_piece_and_in_several() -> None:
    names = ["b", "a", "b", "c", "a"]
    for column in (pa.array(names), pa.chunked_array([names[:2], [], names[2:]])):
        distinct, places = numbered(column)
        assert [distinct[place] for place in places] == names
        assert distinct == ["b", "a", "c"], "in the order of their first place"
    assert numbered(pa.chunked_array([], pa.string()))[0] == []
    numbering = Numbering()
    for piece in (names[:2], [], names[2:]):
        numbering.add(pa.array(piece, pa.string()))
    distinct, positions = numbering.result()
    assert [distinct[position] for position in positions] == names
    assert Numbering().result()[0] == []


def test_runs_of_a_method_that_finds_little_for_most_queries_are_read() -> None:
    _refuse_sparse(np.array([1_000, *[1] * 20_603]))  # CoSQA+'s queries, at the usual depth
    with pytest.raises(ValueError, match="cut the long ones"):
        _refuse_sparse(np.array([100_000, *[1] * 20_603]))
