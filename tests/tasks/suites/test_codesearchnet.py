"""The challenge's figures on small files of its form, worked out by hand."""

from math import log2
from pathlib import Path

import pytest

from infra.errors import SourceError
from tasks.inputs.challenge import read_queries
from tasks.suites.codesearchnet import ChallengeScores, read_predictions, read_relevances, score

QUERIES = 'query\nconvert int to string\n"sort, then filter"\nnobody answers\n'
ANNOTATIONS = """Language,Query,GitHubUrl,Relevance,Notes
Python,convert int to string,u/a,3,
Python,convert int to string,u/a,2,"a second
annotator, on two lines"
Python,convert int to string,u/b,1,
Python,convert int to string,u/c,0,
Python,"sort, then filter",u/d,2,"said: ""fine"", twice"
Python,nobody answers,u/e,0,
Java,Convert int to string,u/f,1,
Go,convert int to string,u/g,3,
"""
# u/x and u/y are unjudged; u/b comes twice.
PREDICTIONS = """language,query,identifier,url
python,convert int to string,x,u/x
python,convert int to string,b,u/b
python,convert int to string,b,u/b
python,convert int to string,a,u/a
java,convert int to string,y,u/y
java,convert int to string,f,u/f
python,nobody answers,e,u/e
ruby,convert int to string,z,u/z
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "queries.csv").write_text(QUERIES)
    (tmp_path / "annotationStore.csv").write_text(ANNOTATIONS)
    (tmp_path / "predictions.csv").write_text(PREDICTIONS)
    return tmp_path


def read_all(folder: Path) -> ChallengeScores:
    queries = read_queries(folder / "queries.csv")
    relevances = read_relevances(folder / "annotationStore.csv", queries)
    return score(read_predictions(folder / "predictions.csv", queries), relevances)


def test_figures_are_those_worked_out_by_hand(folder: Path) -> None:
    found = read_all(folder)
    best, second = 2**2.5 - 1, 2**1 - 1
    ideal = best + second / log2(3)
    within = (second + second / log2(3) + best / log2(4)) / ideal
    everything = (second / log2(3) + second / log2(4) + best / log2(5)) / ideal
    python = found.languages["python"]
    # Of three queries one has no relevant function and one was not answered.
    assert python.queries == 2
    assert python.within == pytest.approx(within / 2)
    assert python.everything == pytest.approx(everything / 2)
    assert python.coverage == pytest.approx(3 / 5)
    assert python.relevant_coverage == pytest.approx(2 / 3)
    assert found.languages["java"].within == pytest.approx(1.0)
    assert found.languages["java"].everything == pytest.approx(1 / log2(3))
    assert (found.missing, found.unannotated, found.repeated) == (("go",), ("ruby",), 1)
    assert found.languages["go"].within == 0.0
    assert found.within == pytest.approx((within / 2 + 1.0 + 0.0) / 3)
    assert found.everything == pytest.approx((everything / 2 + 1 / log2(3)) / 3)


def test_annotators_are_averaged(folder: Path) -> None:
    relevances = read_relevances(folder / "annotationStore.csv")
    assert relevances["python"]["convert int to string"] == {"u/a": 2.5, "u/b": 1.0, "u/c": 0.0}


def test_a_result_that_comes_twice_counts_twice_as_with_the_challenges_own_script() -> None:
    found = score({"go": {"q": ["u/a", "u/a"]}}, {"go": {"q": {"u/a": 1.0}}})
    assert found.within == found.everything == pytest.approx(1 + 1 / log2(3))
    assert found.repeated == 1


def test_results_beyond_the_first_300_do_not_count(folder: Path) -> None:
    rows = [f"python,q,,u/{n}" for n in range(301)]
    (folder / "predictions.csv").write_text("\n".join(["language,query,identifier,url", *rows]))
    predictions = read_predictions(folder / "predictions.csv")
    assert score(predictions, {"python": {"q": {"u/300": 1.0}}}).within == 0.0
    assert score(predictions, {"python": {"q": {"u/299": 1.0}}}).within == 1.0


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("queries.csv", "text\nx\n", r"queries.csv:1: the header lacks query; has 'text'; it must"),
        ("queries.csv", "query\nx\nX\n", r"queries.csv:3: query 'x' appears twice"),
        (
            "annotationStore.csv",
            ANNOTATIONS.replace("u/g,3", "u/g,7"),
            r"annotationStore.csv:10: relevance '7': it must be 0, 1, 2 or 3",
        ),
        (
            "annotationStore.csv",
            ANNOTATIONS.replace("Java", "Cobol"),
            r"annotationStore.csv:9: unknown language 'Cobol': it must be one of go, java",
        ),
        (
            "annotationStore.csv",
            ANNOTATIONS.replace("Relevance", "relevance"),
            r"annotationStore.csv:1: the header lacks Relevance; has 'relevance'",
        ),
        (
            "annotationStore.csv",
            ANNOTATIONS.replace('"sort, then filter"', "sort, then filter"),
            r"annotationStore.csv:7: 6 cells where the header has 5 columns",
        ),
        ("annotationStore.csv", ANNOTATIONS.partition("\n")[0], r"holds no grades: write one"),
        ("annotationStore.csv", ANNOTATIONS.replace("nobody", "who"), r":8: 'who answers' is none"),
        ("annotationStore.csv", ANNOTATIONS.replace("u/f", ""), r":9: GitHubUrl is empty"),
        ("predictions.csv", PREDICTIONS.replace("java,convert", "j,convert"), r":6: unknown lang"),
        ("predictions.csv", 'language,query,url\npython,"x,u\n', r"predictions.csv:2: unexpected"),
        ("predictions.csv", "language,query,url,url\n", r":1: the header names a column twice"),
    ],
)
def test_a_bad_file_is_an_error_with_its_line(
    folder: Path, file: str, content: str, message: str
) -> None:
    (folder / file).write_text(content)
    with pytest.raises(SourceError, match=message):
        read_all(folder)


def test_a_missing_file_is_an_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"absent.csv cannot be read"):
        read_queries(tmp_path / "absent.csv")
