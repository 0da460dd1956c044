"""Laws of what ``cosqa forecast`` prints and refuses.

Covers `flows.cli.forecast_options`.
"""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from flows.cli.forecast import duration, money
from flows.cli.main import app
from infra.errors import SettingsError, UnknownNameError

SIZE = ("forecast", "--codes", "653994", "--queries", "20604")


def printed(*words: str) -> str:
    done = CliRunner().invoke(app, list(words), catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_each_stage_has_a_line_with_a_source_and_the_limit_is_named(tmp_path: Path) -> None:
    text = printed(*SIZE, "--encoders", "3", "--cores", "8", "--gpus", "0")
    for words in (
        "653,994 functions, 20,604 queries, 412,080 pairs, 3 encoders, on a machine of 8 cores",
        "embed by base-size encoder 3", "find candidates", "annotate", "publish", "evaluate bm25",
        "report", "a further run, nothing to do", "$257.00", "built in", "exponent 1",
        "the limit is embedding", "in place of",
    ):  # fmt: skip
        assert words in text
    assert list(tmp_path.iterdir()) == []


def test_json_has_the_same_stages_and_their_sums() -> None:
    made = json.loads(printed(*SIZE, "--encoder", "minilm", "--method", "bm25", "--json"))
    assert [stage["stage"] for stage in made["stages"]] == [
        "collect", "embed by minilm", "find candidates", "annotate", "publish", "evaluate bm25",
        "report",
    ]  # fmt: skip
    assert made["seconds"] == pytest.approx(sum(stage["seconds"] for stage in made["stages"]))
    assert made["limit"] in ("embed", "annotate")


def test_a_preset_without_agents_has_no_annotation_and_costs_nothing() -> None:
    words = ("--preset", "codesearchnet-python", "--encoder", "minilm", "--json")
    made = json.loads(printed(*SIZE, *words))
    names = [stage["stage"] for stage in made["stages"]]
    assert "annotate" not in names
    assert {"find candidates", "publish"} <= set(names)
    assert made["cost_usd"] == 0


def test_json_is_whole_however_many_stages_there_are() -> None:
    made = json.loads(printed(*SIZE, "--encoders", "20", "--json"))
    assert sum(stage["stage"].startswith("embed") for stage in made["stages"]) == 20


def test_every_table_line_fits_into_80_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    table, _, _ = printed(*SIZE, "--encoders", "3").partition("\nrates\n")
    assert max(map(len, table.splitlines())) <= 80


@pytest.mark.parametrize(
    ("words", "error", "message"),
    [
        (("--encoder", "minilmm"), UnknownNameError, "minilmm"),
        (("--encoders", "2", "--encoder", "minilm"), SettingsError, "leave one out"),
        (("--method", "bm52"), UnknownNameError, "bm52"),
        (("--top-k", "5000"), SettingsError, "top_k"),
    ],
)
def test_what_cannot_be_forecast_is_refused(
    words: tuple[str, ...], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        printed(*SIZE, *words)


@pytest.mark.parametrize("words", [("--codes", "0", "--queries", "5"), ("--codes", "5")])
def test_a_size_is_needed_and_is_more_than_nothing(words: tuple[str, ...]) -> None:
    done = CliRunner().invoke(app, ["forecast", *words])
    assert done.exit_code == 2
    assert "--codes" in done.output or "--queries" in done.output


def test_times_and_amounts_are_in_units_that_suit_them() -> None:
    assert [duration(seconds) for seconds in (9, 90, 9_000, 400_000)] == [
        "9 s", "1.5 min", "2.5 h", "4.6 d",
    ]  # fmt: skip
    assert [money(usd) for usd in (None, 0.0, 1234.5)] == ["?", "-", "$1,234.50"]


def test_the_help_says_when_nothing_is_said_of_memory() -> None:
    described = " ".join(printed("forecast", "--help").replace("│", " ").split())
    assert "that of this one; unknown with --nodes or --cores, and none is named" in described
    for words in (("--nodes", "4"), ("--cores", "2"), ("--cores", "2", "--memory-gb", "0.5")):
        made = json.loads(printed(*SIZE, "--encoders", "3", *words, "--json"))
        assert bool(made["shortages"]) == ("--memory-gb" in words)
