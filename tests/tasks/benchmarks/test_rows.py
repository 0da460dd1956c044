"""Laws of records in columns: they are the sequence of the same records.

Covers `schemas`.
"""

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from infra.records import Code, Label
from tasks.benchmarks.rows import Rows
from tests.fakes.benchmarks import CODES, people_benchmark

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
