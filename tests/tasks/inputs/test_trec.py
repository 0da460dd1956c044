"""TREC files are read as written, and errors name the line."""

import gzip
from pathlib import Path

import numpy as np
import pytest

from infra.errors import PublishError, SourceError
from tasks.benchmarks import write_run
from tasks.benchmarks.runs import rankings_of
from tasks.inputs.formats.beir import read_beir_qrels
from tasks.inputs.trec import read_run
from tasks.metrics import evaluate
from tests.tasks.metrics.cases import random_case

HEADER = "query-id\tcorpus-id\tscore\n"


def test_a_run_that_was_written_is_read_in_its_order(tmp_path: Path) -> None:
    rankings, _ = random_case(4)
    file = write_run(tmp_path, "method", rankings)
    pairs = [(query, code) for query, code, _ in rankings.rows()]
    assert [(query, code) for query, code, _ in read_run(file).rows()] == pairs


def test_a_run_that_comes_in_pieces_is_numbered_as_a_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rankings, _ = random_case(4)
    file = write_run(tmp_path, "method", rankings)
    whole = read_run(file)
    monkeypatch.setattr("tasks.inputs.trec._STREAMED_BYTES", 100)
    pieces = read_run(file)
    assert (pieces.query_ids, pieces.code_ids) == (whole.query_ids, whole.code_ids)
    assert np.array_equal(pieces.codes, whole.codes)
    assert pieces.codes.dtype == np.int32


def test_qrels_are_read_in_their_order_with_fractions_of_grades(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text(f"{HEADER}q2\tb\t0\nq1\tc\t2.3333333\nq1\ta\t1\n")
    read = read_beir_qrels(tmp_path / "qrels")
    assert (read.query_ids, read.rows.tolist()) == (["q2", "q1"], [0, 1, 1])
    codes = [read.code_ids[column] for column in read.columns]
    assert (codes, read.relevance.tolist()) == (["b", "c", "a"], [0, 2.3333333, 1])


def test_ties_fall_by_id_whatever_the_lines_order_and_ranks(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("q Q0 b 1 1.0 t\nq Q0 c 2 2.0 t\nq Q0 a 3 1.0 t\n")
    assert [code for _, code, _ in read_run(tmp_path / "run").rows()] == ["c", "a", "b"]


@pytest.mark.parametrize("white", ["\t", "  ", " \t "])
def test_white_space_of_any_kind_parts_fields(tmp_path: Path, white: str) -> None:
    lines = [white.join(["", "q", "Q0", code, "1", "0.5", "t", ""]) for code in "ba"]
    (tmp_path / "run").write_text("\n\n".join(lines) + "\n")
    assert [code for _, code, _ in read_run(tmp_path / "run").rows()] == ["a", "b"]


def test_files_can_be_scored_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "run").write_text('q Q0 "x 1 2.0 t\nq Q0 y 2 1.0 t\n')
    (tmp_path / "qrels").write_text(f"{HEADER}q\ty\t1\n")
    scores = evaluate(read_run(tmp_path / "run"), read_beir_qrels(tmp_path / "qrels"), ["MRR"])
    assert scores == {"MRR": {"q": 0.5}}


def test_an_empty_run_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("")
    assert list(read_run(tmp_path / "run").rows()) == list(rankings_of({}).rows())


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("q Q0 a 1 2.0 t\nq Q0 b 1.0 t\n", r"run:2: 5 fields where query Q0 code rank score tag"),
        ("q Q0 a 1 2.0 t\nq Q0 b 2 high t\n", r"run:2: score is 'high', no number"),
        ("q Q0 a 1 2.0 t\nq Q0 a 2 1.0 t\n", r"run:2: query 'q' has code 'a' twice"),
        ("\nq Q0 b 1 2 t\nq Q0 a 1 nan t\n", r"run:3: a score is not a number"),
        ("q Q0 a 1 2.0 t\nq Q0 \udcff 2 1.0 t\n", r"run:2: byte 0xff is not UTF-8"),
        ("q Q0 a 1 2.0 t\n\n\nq\udcfe Q0 b 2 1.0 t\n", r"run:4: byte 0xfe is not UTF-8"),
    ],
)
def test_a_bad_run_is_an_error(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "run").write_text(content, errors="surrogateescape")
    with pytest.raises(SourceError, match=message):
        read_run(tmp_path / "run")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("q\ta\t1\nq\ta\n", r"qrels:3: 2 fields where query code relevance"),
        ("q,a,1\n", r"qrels:2: 1 fields where .* expected: they must be tab-separated"),
        ("q;a;1\n", r"qrels:2: 1 fields where .* expected: they must be tab-separated"),
        ("q\ta\t1\nq\tb\tyes\n", r"qrels:3: relevance is 'yes', no number"),
        ("q\ta\t1\nq\ta\t0\n", r"qrels:3: code 'a' is judged twice for query 'q'"),
        ("\nq\ta\t1\nq\tb\tnan\n", r"qrels:4: the relevance of code 'b' for query 'q' is nan"),
        *(
            (f"q\tc\t1\nq\td\t{number}\n", r"qrels:3: .* 'd' for query 'q' is -?inf")
            for number in ("inf", "-inf", "Infinity")
        ),
    ],
)
def test_bad_qrels_are_an_error(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "qrels").write_text(HEADER + content)
    with pytest.raises(SourceError, match=message):
        read_beir_qrels(tmp_path / "qrels")


@pytest.mark.parametrize("lines", ["q Q0 a 1 2.0 t\n", "q\tQ0\ta\t1  2.0 t\n"])
def test_a_compressed_run_is_read_and_one_that_is_cut_short_is_named(
    tmp_path: Path, lines: str
) -> None:
    file = tmp_path / "run.trec.gz"
    file.write_bytes(gzip.compress(lines.encode()))
    assert list(read_run(file).rows()) == [("q", "a", 2.0)]
    file.write_bytes(file.read_bytes()[:-9])
    with pytest.raises(SourceError, match=r"run\.trec\.gz cannot be read: Compressed file ended"):
        read_run(file)
    file.write_text(lines)
    with pytest.raises(SourceError, match=r"run\.trec\.gz cannot be read: Not a gzipped file"):
        read_run(file)


UNFIT = ("a b", "a\nb", "a\tb", "", "a\u2028b", "a\x85b", "a\u00a0b", "a\x00", " a")


@pytest.mark.parametrize("unfit", UNFIT)
def test_an_id_is_one_field_of_a_line_or_nothing_is_written(tmp_path: Path, unfit: str) -> None:
    for query, code in ((unfit, "c"), ("q", unfit)):
        with pytest.raises(PublishError, match="is no id"):
            write_run(tmp_path, "method", rankings_of({query: {code: 1.0}}))
    with pytest.raises(PublishError, match="is no id"):
        write_run(tmp_path, "method", rankings_of({"q": {"c": 1.0}}), tag=f"{unfit} tag")
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_one_long_ranking_among_many_short_ones_fills_no_memory(tmp_path: Path) -> None:
    long = [f"q0 Q0 c{number} 1 {number} t" for number in range(20_000)]
    short = [f"q{number} Q0 c 1 1 t" for number in range(1, 20_000)]
    (tmp_path / "run").write_text("\n".join([*long, *short]))
    with pytest.raises(SourceError, match="one of 20,000 rankings has 20,000 results"):
        read_run(tmp_path / "run")
