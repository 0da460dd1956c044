"""Laws of ranked lists."""

import numpy as np
import pyarrow as pa
import pytest

from infra.records import Code, Query
from tasks.benchmarks.runs import numbered, rank_scores
from tasks.retrievers import retrievers

CODES = [Code.of(f"def f{n}(items):\n    return items[{n % 5}]") for n in range(40)]
QUERIES = [Query.of(f"f{n} items {n % 5}") for n in range(12)]


@pytest.mark.parametrize("depth", [1, 7, 39, 40, 99])
def test_the_best_are_those_of_a_full_stable_sort(depth: int) -> None:
    scores = np.random.default_rng(depth).integers(0, 6, size=(50, 40)).astype(float)
    expected = np.argsort(-scores, axis=1, kind="stable")[:, :depth]
    ids = [f"c{n:02}" for n in range(40)]
    found = rank_scores([f"q{n}" for n in range(50)], ids, scores, depth)
    assert np.array_equal(found.codes, expected)
    assert np.array_equal(found.scores, np.take_along_axis(scores, expected, axis=1))


@pytest.mark.parametrize("name", retrievers.names())
def test_blocks_of_queries_change_nothing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = list(retrievers.get(name)().rank(QUERIES, CODES, 9).rows())
    monkeypatch.setattr("tasks.benchmarks.runs._CELLS_AT_ONCE", 5 * len(CODES))
    assert list(retrievers.get(name)().rank(QUERIES, CODES, 9).rows()) == whole


def test_names_are_numbered_alike_in_one_piece_and_in_several() -> None:
    names = ["b", "a", "b", "c", "a"]
    for column in (pa.array(names), pa.chunked_array([names[:2], [], names[2:]])):
        distinct, places = numbered(column)
        assert [distinct[place] for place in places] == names
        assert distinct == ["b", "a", "c"], "in the order of their first place"
    assert numbered(pa.chunked_array([], pa.string()))[0] == []
