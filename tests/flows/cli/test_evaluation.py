"""Laws of what the commands that measure print."""

from pathlib import Path

import pytest

from flows.cli.evaluation import (
    print_corrected,
    print_difference,
    print_leaderboard,
    print_score_changes,
    print_study,
)
from tasks.reports.corrected import CorrectedFigure, CorrectedScores
from tasks.reports.diff import ScoreChange, difference
from tasks.reports.leaderboard import Leaderboard
from tasks.reports.study import build_report
from tasks.stages.study.report import REPORT
from tests.fakes.studies import full_evidence
from tests.tasks.reports.diff.cases import AFTER, BEFORE
from tests.tasks.reports.leaderboard.cases import leaderboard


def test_every_line_of_a_study_fits_into_80_columns(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    report = build_report(full_evidence(tmp_path), "t", "now")
    (tmp_path / REPORT).write_text(report.model_dump_json())
    print_study(tmp_path)
    printed = capsys.readouterr().out
    computed, _, missing = printed.partition("not computed:")
    assert max(map(len, printed.splitlines()[:-1])) <= 80
    assert "Overlap of a single encoder" in computed
    assert "Snippets of StaQC: these are figures of another command" in " ".join(missing.split())


WIDTHS = [60, 80, 120]
PAGE = "/out/page.html"


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
                "cells": {
                    name: cell.model_copy(update={"surpasses": lower(place)})
                    for name in first.metrics
                },
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
    print_leaderboard(many, PAGE)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= width
    for row in many.rows:
        (line,) = [line for line in lines if line.startswith(f"{row.letter} ")]
        cell = row.cells["NDCG@10"]
        assert f"{cell.mean:.3f} {cell.surpasses.replace(' ', '')}".strip() in line
        assert line.count("…") <= 1
        assert f"-{ord(row.letter) - ord('a')}" in line
    assert "significantly lower" in " ".join(lines)


def test_without_a_terminal_all_columns_are_printed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "1000")
    shown = leaderboard()
    print_leaderboard(shown, PAGE)
    out = capsys.readouterr().out
    assert all(name in out for name in (*shown.metrics, "judged@10"))
    assert "not shown" not in out


def test_corrected_figures_are_printed_with_their_intervals(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "1000")
    good = CorrectedFigure(
        metric="MRR", method="good", by_labels=0.5, mean=0.4, low=0.35, high=0.45
    )
    share = good.model_copy(update={"metric": "share of matches", "method": "", "mean": 0.25})
    corrected = CorrectedScores(
        queries=100, sampled_queries=1, pairs=500, sampled_pairs=50, figures=(good, share)
    )  # fmt: skip
    print_corrected(corrected, PAGE)
    out = " ".join(capsys.readouterr().out.split())
    assert "1 query and 50 pairs sampled at random" in out
    assert "Means over all 100 queries, of which one without a match scores 0 MRR" in out
    assert "good 0.400 [0.350, 0.450] by labels 0.500" in out
    assert "all pairs 0.250 [0.350, 0.450] by labels 0.500" in out


def test_a_leaderboard_with_nothing_to_score_says_so_in_one_sentence(
    capsys: pytest.CaptureFixture[str],
) -> None:
    print_leaderboard(leaderboard().model_copy(update={"scored": 0}), PAGE)
    assert capsys.readouterr().out == (
        f"There is nothing to score: no query of {leaderboard().benchmark} has a match.\n"
    )


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
    print_score_changes(rows, PAGE)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= width
    assert sum("NDCG-exp-condensed@10" in line for line in lines) == 3
    assert all(("0.123" in line) for line in lines if "-condensed@10" in line)
    assert (PAGE in " ".join(lines)) == (width < 120)


def test_a_difference_says_what_turned_and_why(capsys: pytest.CaptureFixture[str]) -> None:
    print_difference(difference(BEFORE, AFTER))
    out = capsys.readouterr().out
    assert [line.split() for line in out.splitlines()][1:3] == [
        ["queries", "0", "0"], ["codes", "0", "0"],
    ]  # fmt: skip
    assert "labels: 3 turned, 196 kept, 1 now undecided; 67 relevant before, 68 after" in out
    assert out.count("before: arbiter, unclear") == 3
    assert "settings: model.model (small → large)" in out


def test_a_version_that_is_the_same_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    print_difference(difference(BEFORE, BEFORE))
    assert "settings: the same" in capsys.readouterr().out
