"""Laws of what the commands that measure print."""

from dataclasses import replace
from pathlib import Path

import pytest

from flows.cli.evaluation import print_difference, print_leaderboard, print_study
from flows.cli.output import print_document
from tasks.benchmarks import Benchmark
from tasks.reports.corrected import CorrectedFigure, CorrectedScores
from tasks.reports.diff import ScoreChange, difference, difference_document
from tasks.reports.leaderboard import Leaderboard
from tasks.reports.study import build_report
from tasks.reports.text import NONE
from tasks.stages.diff import WrittenDifference
from tasks.stages.leaderboard import WrittenLeaderboard
from tasks.stages.study.report import REPORT
from tasks.statistics.intervals import Interval
from tests.fakes.studies import full_evidence
from tests.tasks.reports.cases import AFTER, BEFORE, leaderboard


def test_every_line_of_a_study_fits_into_80_columns(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    report = build_report(full_evidence(tmp_path), "t", "now")
    (tmp_path / REPORT).write_text(report.model_dump_json())
    print_study(tmp_path)
    printed = capsys.readouterr().out
    found, _, rest = printed.partition("Not computed here")
    missing, _, computed = rest.partition("more on the page:")
    assert [line.split() for line in found.splitlines() if line.startswith("codes, bench")] == [
        ["codes,", "benchmark", "500", "132,952", "-132,452", NONE],
        ["codes,", "benchmark", "500", "51,516", NONE, NONE],
    ]
    assert computed.rstrip().endswith(f"study: {tmp_path / 'study.html'}")
    lines = [line for line in printed.splitlines() if str(tmp_path) not in line]
    assert max(map(len, lines)) <= 80
    assert "Overlap of a single encoder" in " ".join(computed.split())
    assert "Snippets of StaQC: these are figures of another command" in " ".join(missing.split())


WIDTHS = [60, 80, 120]
FOLDER = Path("/out")


def print_board(board: Leaderboard, corrected: CorrectedScores | None = None) -> None:
    print_leaderboard(
        WrittenLeaderboard(folder=FOLDER, before=board, unjudged=0, corrected=corrected)
    )


def test_one_empty_line_stands_between_sections(capsys: pytest.CaptureFixture[str]) -> None:
    print_board(leaderboard())
    printed = capsys.readouterr().out
    assert "\n\nUnjudged results\n" in printed
    assert "\n\n\n" not in printed


def board(methods: int) -> Leaderboard:
    """Return a leaderboard of many methods with long names, each better than all below it."""
    first = leaderboard()
    letters = "abcdefghijklmnopqrstuvwxyz"
    cell = first.rows[0].cells["NDCG@10"]

    def lower(place: int) -> str:
        return " ".join(letters[place + 1 : methods])

    rows = tuple(
        first.rows[0].model_copy(
            update={
                "letter": letters[place],
                "method": f"bag-of-words+tf-idf+bm25+all-MiniLM-L6-v2+encoder-{place}",
                "cells": {name: replace(cell, surpasses=lower(place)) for name in first.metrics},
            }
        )
        for place in range(methods)
    )
    return first.model_copy(update={"rows": rows})


@pytest.fixture(params=WIDTHS)
def width(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setenv("COLUMNS", str(request.param))
    return int(request.param)


@pytest.mark.parametrize("methods", [1, 4, 12])
def test_a_leaderboard_fits_and_cuts_no_figure(
    capsys: pytest.CaptureFixture[str], width: int, methods: int
) -> None:
    many = board(methods)
    print_board(many)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= width
    for row in many.rows:
        (line,) = [line for line in lines if line.startswith(f"{row.letter} ")]
        cell = row.cells["NDCG@10"]
        assert f"{cell.mean:.3f} {cell.surpasses}".strip() in line
        assert line.count("…") <= 1
        assert f"-{ord(row.letter) - ord('a')}" in line
    assert "Letters after it name the methods that score significantly lower" in " ".join(lines)


def test_without_a_terminal_all_columns_are_printed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "1000")
    shown = leaderboard()
    print_board(shown)
    out = capsys.readouterr().out
    assert all(name in out for name in (*shown.metrics, "judged@10"))
    assert "not shown" not in out


def test_corrected_figures_are_printed_with_their_intervals(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "1000")
    good = CorrectedFigure(
        metric="MRR", method="good", by_labels=0.5, corrected=Interval(0.4, 0.35, 0.45)
    )
    share = CorrectedFigure(
        metric="share of matches", by_labels=0.5, corrected=Interval(0.25, 0.35, 0.45)
    )
    corrected = CorrectedScores(
        queries=100, sampled_queries=1, pairs=500, sampled_pairs=50, figures=(good, share)
    )  # fmt: skip
    print_board(leaderboard(), corrected)
    out = " ".join(capsys.readouterr().out.split())
    assert "all pairs of 1 of 100 queries, and 50 of 500 pairs, all sampled at random" in out
    assert "Means over all 100 queries, of which one without a match scores 0 MRR" in out
    assert "good 0.400 [0.350, 0.450] by labels 0.500" in out
    assert "all pairs 0.250 [0.350, 0.450] by labels 0.500" in out


def test_a_leaderboard_with_nothing_to_score_says_so_in_one_sentence(
    capsys: pytest.CaptureFixture[str],
) -> None:
    print_board(leaderboard().model_copy(update={"scored": 0}))
    told = f"There is nothing to score: no query of {leaderboard().benchmark} has a match.\n"
    assert told in capsys.readouterr().out


def test_score_changes_fit_and_cut_no_figure(
    capsys: pytest.CaptureFixture[str], width: int
) -> None:
    rows = tuple(
        ScoreChange(
            method=f"bag-of-words+tf-idf+bm25+all-MiniLM-L6-v2+encoder-{place}",
            metric="NDCG-exp-condensed@10",
            before=0.1234,
            after=0.2345,
            queries=20_604,
            shared=0.1111,
            p_value=0.001,
        )
        for place in range(3)
    )
    document = difference_document(difference(BEFORE, BEFORE), rows)
    print_document(document, "/out/difference.md", parts=("scores",))
    *lines, page = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= width
    assert sum("NDCG-exp-condensed@10" in line for line in lines) == 3
    assert all(("0.123" in line) for line in lines if "-condensed@10" in line)
    assert ("all of it on the page" in " ".join(lines)) == (width < 120)
    assert page == "difference: /out/difference.md"


def printed(after: Benchmark, folder: Path, capsys: pytest.CaptureFixture[str]) -> str:
    change = difference(BEFORE, after)
    (folder / "difference.json").write_text(change.model_dump_json())
    written = WrittenDifference(folder=folder, score_changes=())
    print_difference(written, is_scored=False)
    return capsys.readouterr().out


def test_a_difference_says_what_turned_and_why(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = printed(AFTER, tmp_path, capsys)
    assert [line.split() for line in out.splitlines()][2:4] == [
        ["queries", "0", "0"], ["codes", "0", "0"],
    ]  # fmt: skip
    assert "labels: 3 turned, 196 kept, 1 now undecided; 67 relevant before, 68 after" in out
    assert out.count("before: arbiter, unclear") == 3
    assert "setting: model.model\nbefore: small\nafter: large" in out


def test_a_version_that_is_the_same_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "Changes of the settings\nThe same." in printed(BEFORE, tmp_path, capsys)
