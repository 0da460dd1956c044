"""Laws of the writers of BEIR's folders and of TREC's runs (`beir`, `trec`)."""

import csv
import json
from itertools import pairwise
from math import inf
from pathlib import Path

import ir_measures
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ir_measures import MRR

from infra.errors import PublishError
from tasks.benchmarks import write_benchmark, write_run
from tasks.benchmarks.runs import NOTHING, Rankings
from tasks.benchmarks.trec import parted_scores
from tests.fakes.benchmarks import CODES, QUERIES, people_benchmark
from tests.tasks.metrics.cases import random_case


def _lines(file: Path) -> list[dict[str, str]]:
    # Split at line feeds alone: a function may hold U+2028, which splitlines would break at.
    return [json.loads(line) for line in file.read_text("utf-8").strip("\n").split("\n")]


def test_corpus_and_queries_have_the_keys_that_beir_reads(tmp_path: Path) -> None:
    write_benchmark(people_benchmark(), tmp_path / "b")
    corpus = _lines(tmp_path / "b" / "beir" / "corpus.jsonl")
    assert {row["_id"]: row["text"] for row in corpus} == {c.code_id: c.text for c in CODES}
    assert {row["title"] for row in corpus} == {""}
    queries = _lines(tmp_path / "b" / "beir" / "queries.jsonl")
    assert {row["_id"]: row["text"] for row in queries} == {q.query_id: q.text for q in QUERIES}


def test_qrels_hold_every_judgement_zeros_included(tmp_path: Path) -> None:
    benchmark = people_benchmark()
    write_benchmark(benchmark, tmp_path / "b")
    with (tmp_path / "b" / "beir" / "qrels" / "test.tsv").open(newline="") as file:
        header, *rows = csv.reader(file, delimiter="\t")
    assert header == ["query-id", "corpus-id", "score"]
    expected = {(label.query_id, label.code_id, int(label.relevance)) for label in benchmark.labels}
    assert {(query, code, int(score)) for query, code, score in rows} == expected


def test_graded_relevance_keeps_its_fraction(tmp_path: Path) -> None:
    benchmark = people_benchmark()
    graded = benchmark.labels[0].model_copy(update={"relevance": 2.5})
    write_benchmark(benchmark.model_copy(update={"labels": (graded,)}), tmp_path / "b")
    assert (tmp_path / "b" / "beir" / "qrels" / "test.tsv").read_text().endswith("\t2.5\n")


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
