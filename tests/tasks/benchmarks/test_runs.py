"""Laws of the parts of benchmarks: runs, as TREC has them too, and rows.

Covers `rows`, `trec`.
"""

from collections.abc import Sequence
from itertools import pairwise
from math import inf
from pathlib import Path

import ir_measures
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ir_measures import MRR

from infra.errors import PublishError
from infra.records import Code, Label
from tasks.benchmarks import write_benchmark, write_run
from tasks.benchmarks.rows import Rows
from tasks.benchmarks.runs import NOTHING, Numbering, Rankings, _refuse_sparse, numbered
from tasks.benchmarks.trec import parted_scores
from tests.fakes.benchmarks import CODES, QUERIES, people_benchmark, rank_scores
from tests.tasks.metrics.cases import random_case

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


def test_an_independent_library_scores_a_run_of_ties_in_our_order(tmp_path: Path) -> None:
    write_benchmark(people_benchmark(), tmp_path / "b")
    query = QUERIES[1].query_id
    relevant = CODES[0].code_id
    others = sorted(code.code_id for code in CODES if code.code_id != relevant)
    for place in range(4):
        order = [*others[:place], relevant, *others[place:]]
        run = write_run(tmp_path / "b", "ties", lists([(query, code, 0.0) for code in order]))
        assert _reciprocal_rank(tmp_path / "b", run, query) == pytest.approx(1 / (place + 1))


def _reciprocal_rank(folder: Path, run: Path, query: str) -> float:
    rows = (folder / "beir" / "qrels" / "test.tsv").read_text().splitlines()[1:]
    qrels = [ir_measures.Qrel(q, c, int(s)) for q, c, s in (row.split("\t") for row in rows)]
    ranking = ir_measures.read_trec_run(str(run))  # type: ignore[no-untyped-call]
    found = ir_measures.iter_calc([MRR], qrels, ranking)
    return next(metric.value for metric in found if metric.query_id == query)


def lists(rows: list[tuple[str, str, float]]) -> Rankings:
    """Return rows (query, code, score) as they stand; a query's lines follow each other."""
    queries = list(dict.fromkeys(query for query, _, _ in rows))
    codes = sorted({code for _, code, _ in rows})
    width = max((sum(query == each[0] for each in rows) for query in queries), default=0)
    places = np.full((len(queries), width), NOTHING)
    scores = np.zeros(places.shape)
    for row, query in enumerate(queries):
        own = [(code, score) for asked, code, score in rows if asked == query]
        places[row, : len(own)] = [codes.index(code) for code, _ in own]
        scores[row, : len(own)] = [score for _, score in own]
    return Rankings(queries, codes, places, scores)


_scores = st.lists(st.floats(-1e6, 1e6, width=64), min_size=1, max_size=50)


@given(_scores.map(lambda scores: sorted(scores, reverse=True)))
def test_written_scores_fall_strictly_and_stay_close(
    tmp_path_factory: pytest.TempPathFactory, scores: list[float]
) -> None:
    folder = tmp_path_factory.mktemp("run")
    run = write_run(folder, "m", lists([("q", f"c{i}", score) for i, score in enumerate(scores)]))
    rows = [line.split(" ") for line in run.read_text().splitlines()]
    written = [float(row[4]) for row in rows]
    assert all(high > low for high, low in pairwise(written))
    assert written == pytest.approx(scores, rel=1e-5, abs=1e-5)
    assert [row[3] for row in rows] == [str(rank) for rank in range(1, len(scores) + 1)]


_EDGES = [inf, 3.5e38, 1.0, 1.0, 1e-45, 1e-46, 0.0, -0.0, 0.0, -1e-45, -1.0, -1.0, -3.5e38, -inf]


@given(st.lists(st.lists(st.sampled_from(_EDGES), max_size=30), max_size=4))
def test_written_scores_are_those_of_going_from_result_to_result(
    of_queries: list[list[float]],
) -> None:
    rows = [
        (f"q{query}", f"c{rank}", score)
        for query, scores in enumerate(of_queries)
        for rank, score in enumerate(sorted(scores, reverse=True))
    ]
    rankings = lists(rows)
    some = rankings.codes != NOTHING
    parted = parted_scores(rankings.scores, np.cumsum(some, axis=1), some)
    for row, scores in enumerate(filter(None, of_queries)):
        written = np.float32(inf)
        for rank, score in enumerate(sorted(scores, reverse=True)):
            with np.errstate(over="ignore"):
                written = min(np.float32(score), np.nextafter(written, np.float32(-inf)))
            assert str(parted[row, rank]) == str(written), "zeros have signs"


def test_blocks_of_lines_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rankings, _ = random_case(6)
    whole = write_run(tmp_path, "whole", rankings, tag="t").read_bytes()
    monkeypatch.setattr("tasks.benchmarks.trec._LINES_AT_ONCE", 1)
    assert write_run(tmp_path, "lines", rankings, tag="t").read_bytes() == whole


def test_a_run_has_the_six_columns_of_trec(tmp_path: Path) -> None:
    rows = [("q1", "c1", 2.0), ("q1", "c2", 1.0), ("q2", "c1", 5.0)]
    run = write_run(tmp_path, "bm25", lists(rows))
    assert run == tmp_path / "runs" / "bm25.trec"
    assert run.read_text() == "q1 Q0 c1 1 2 bm25\nq1 Q0 c2 2 1 bm25\nq2 Q0 c1 1 5 bm25\n"


def test_a_ranking_out_of_order_is_refused_and_leaves_no_file(tmp_path: Path) -> None:
    with pytest.raises(PublishError, match="not in falling order"):
        write_run(tmp_path, "bm25", lists([("q1", "c1", 1.0), ("q1", "c2", 2.0)]))
    assert list((tmp_path / "runs").iterdir()) == []


@pytest.mark.parametrize("method", ["", "a b", "../x", ".hidden", "a\nb"])
def test_a_method_name_that_cannot_name_a_file_is_refused(tmp_path: Path, method: str) -> None:
    with pytest.raises(PublishError, match="cannot name a run file"):
        write_run(tmp_path, method, lists([]))
