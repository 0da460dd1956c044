"""Laws of the parts of benchmarks: rows and runs.

Covers `qrels`, `rows`, `schemas`, `runs`.
"""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from infra.records import Code, Label
from tasks.benchmarks.rows import Rows
from tasks.benchmarks.runs import Numbering, _refuse_sparse, numbered
from tests.fakes.benchmarks import CODES, people_benchmark, rank_scores

ROWS = Rows.of(Code, CODES)


def test_rows_are_read_as_the_records_that_they_were_made_of() -> None:
    assert list(ROWS) == list(CODES)
    whole: Sequence[Code] = ROWS
    assert whole == CODES
    assert (len(whole), whole[1], whole[-1]) == (4, CODES[1], CODES[-1])
    assert whole[1:3] == CODES[1:3]
    assert whole[::-1] == CODES[::-1]
    assert list(reversed(ROWS)) == list(CODES[::-1])
    assert CODES[2] in ROWS
    assert Rows.of(Code, ROWS) is ROWS
    assert list(Rows.of(Code, ())) == []
    shorter: Sequence[Code] = CODES[:3]
    assert whole != shorter
    with pytest.raises(IndexError):
        ROWS[4]


def test_rows_are_chosen_and_joined_by_columns() -> None:
    assert list(ROWS.where(pc.equal(ROWS.column("name"), "largest"))) == [CODES[1]]
    assert list(ROWS[:1].joined(CODES[2:])) == [CODES[0], *CODES[2:]]


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0), (0, 2, 1)])
def test_ordered_rows_ascend_by_their_ids(order: tuple[int, ...]) -> None:
    labels = people_benchmark().labels
    shuffled = Rows.of(Label, [labels[place] for place in order])
    assert list(shuffled.ordered()) == sorted(labels, key=lambda label: label.key)
    ascending = shuffled.ordered()
    assert ascending.ordered() is ascending, "rows in order are not copied"


def test_fields_that_an_older_export_lacks_have_their_defaults() -> None:
    older = pa.table({"code_id": ["c1"], "text": ["x"], "parameters": [["a"]]})
    lines = pa.array([0], pa.int32())
    table = older.append_column("first_line", lines).append_column("last_line", lines)
    assert list(Rows(Code, table)) == [Code.model_validate(table.to_pylist()[0])]


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
