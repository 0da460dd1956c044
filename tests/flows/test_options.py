"""Laws of the options: bad values are refused by a sentence, defaults are the settings' own.

Covers `flows.cli.lazy`.
"""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from flows.cli import checks
from flows.cli import pipeline as cli_pipeline
from flows.cli.main import app
from flows.options import (
    Collect,
    CompareAnnotators,
    Diff,
    Estimate,
    Leaderboard,
    Pipeline,
)
from infra.errors import EncoderError, SettingsError
from infra.settings import COMPARED_CONFIGURATIONS, LanguageModelSettings
from tasks.encoders import encoders
from tasks.metrics import metrics
from tasks.reports.leaderboard import METRICS
from tasks.retrievers import retrievers
from tasks.sources import sources


def help_of(*words: str) -> str:
    outcome = CliRunner().invoke(app, [*words, "--help"], env={"COLUMNS": "200"})
    assert outcome.exit_code == 0, outcome.output
    return " ".join(outcome.output.replace("│", " ").split())


@pytest.mark.parametrize(
    "words",
    [
        ("collect", "--limit", "-1"),
        ("annotate", "--limit", "0"),
        ("benchmark", "--top-k", "0"),
        ("benchmark", "--top-k", "many"),
        ("leaderboard", "--benchmark", "b", "--depth", "0"),
        ("leaderboard", "--benchmark", "b", "--at-most", "-3"),
        ("annotators", "compare", "--truth", "t", "--limit", "-1"),
        ("estimate", "--train", "t", "--queries", "q", "--k", "0"),
        ("list", "colours"),
    ],
)
def test_a_bad_value_is_refused_by_its_option_before_any_work(words: tuple[str, ...]) -> None:
    outcome = CliRunner().invoke(app, words, env={"COLUMNS": "200"})
    assert outcome.exit_code == 2
    assert "Invalid value for" in outcome.output
    assert words[-2] in outcome.output or words[-1] in outcome.output


def test_help_names_what_is_registered() -> None:
    text = help_of("leaderboard") + help_of("benchmark")
    for names in (sources, encoders.registered(), retrievers, metrics):
        assert ", ".join(names) in text


@pytest.mark.parametrize(
    ("words", "default"),
    [
        (("collect",), "[default: 20]"),
        (("collect",), "[default: minilm]"),
        (("collect",), "[default: cosqa-data]"),
        (("leaderboard",), f"[default: {', '.join(METRICS)}]"),
        (("leaderboard",), "[default: 1000]"),
        (("estimate",), "[default: MRR, Answered@5, NDCG@10, Recall@10]"),
    ],
)
def test_help_shows_the_defaults_of_the_settings(words: tuple[str, ...], default: str) -> None:
    assert default in help_of(*words)


def test_options_that_are_not_given_leave_the_settings_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COSQA_SEARCH__TOP_K", "7")
    chosen = Leaderboard.of_command({"benchmark": Path("b"), "methods": None, "runs": []})
    assert chosen.settings.search.top_k == 7
    assert (chosen.runs, chosen.unjudged_to_annotate) == ((), 0)


@pytest.mark.parametrize(("at_most", "judged"), [(None, 10**6), (3, 3)])
def test_unjudged_results_are_annotated_up_to_the_limit(at_most: int | None, judged: int) -> None:
    values = {"benchmark": Path("b"), "annotate_unjudged": True, "at_most": at_most}
    chosen = Leaderboard.of_command(values)
    assert min(chosen.unjudged_to_annotate, 10**6) == judged


def test_an_estimate_is_set_by_its_options_and_the_rest_by_the_settings(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COSQA_ESTIMATION__LEVEL", "0.9")
    files = {"train": Path("t"), "queries": Path("q")}
    given = {"methods": ["minilm"], "k": 3}
    chosen = Estimate.of_command(files | given)
    estimation = chosen.settings.estimation
    assert chosen.settings.evaluation.methods == ("minilm",)
    assert (estimation.k, estimation.level, estimation.metrics[0]) == (3, 0.9, "MRR")
    with pytest.raises(SettingsError, match=r"estimation\.k|--k"):
        _ = Estimate.of_command(files | {"k": 0}).settings


def test_the_folder_of_the_output_is_made_before_any_work(tmp_path: Path) -> None:
    (tmp_path / "truth.jsonl").write_text('{"query": "q", "code": "def f(): ...", "label": 1}\n')
    chosen = CompareAnnotators(
        truth=tmp_path / "truth.jsonl", output=tmp_path / "new" / "folder" / "figures.json"
    )
    checks.compare_annotators(chosen)
    assert (tmp_path / "new" / "folder").is_dir()
    assert {*chosen.configurations} == {*COMPARED_CONFIGURATIONS}


def test_an_output_below_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(SettingsError, match=r"--output .* cannot be written"):
        checks.compare_annotators(
            CompareAnnotators(truth=tmp_path / "t", output=tmp_path / "file" / "figures.json")
        )


def test_configurations_keep_their_order_and_come_once() -> None:
    chosen = CompareAnnotators(truth=Path("t"), configurations=("spec", "single", "spec"))
    assert chosen.configurations == ("single", "spec")


def test_an_unknown_configuration_is_told_with_those_that_exist() -> None:
    with pytest.raises(
        SettingsError, match=r"unknown configuration 'finest': it must be one of single, arb"
    ):
        CompareAnnotators(truth=Path("t"), configurations=("finest",))


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("leaderboard", "--benchmark", "b", "--at-most", "3"), "--annotate-unjudged"),
        (("annotate", "--plan", "--replay"), "leave all but one out"),
        (("benchmark", "--replay", "--plan"), "leave all but one out"),
    ],
)
def test_options_that_contradict_each_other_are_refused(words: tuple[str, ...], told: str) -> None:
    outcome = CliRunner().invoke(app, words)
    assert isinstance(outcome.exception, SettingsError)
    assert told in str(outcome.exception)


@pytest.mark.parametrize(
    ("command", "shown", "hidden"),
    [
        ("collect", ["--path", "--top-k", "--reread"], ["--model", "--plan"]),
        ("annotate", ["--model", "--replay"], ["--method", "--reread"]),
        ("publish", ["--output", "--include-unlicensed"], ["--model", "--reread"]),
        ("evaluate", ["--method", "--output"], ["--limit", "--reread"]),
        ("benchmark", ["--path", "--model", "--method", "--plan"], []),
        ("generate", ["--preset", "--codes", "--checkpoint", "--model"], ["--method"]),
    ],
)
def test_help_shows_the_options_that_a_command_reads(
    command: str, shown: list[str], hidden: list[str]
) -> None:
    words = help_of(command).partition("Examples:")[0].split()
    assert [option for option in shown if option not in words] == []
    assert [option for option in hidden if option in words] == []


def test_an_option_that_a_command_does_not_read_is_accepted() -> None:
    outcome = CliRunner().invoke(app, ["collect", "--method", "bm25", "--path", "nope"])
    assert "no such folder" in str(outcome.exception)


@pytest.mark.parametrize("command", ["collect", "generate", "study"])
def test_every_command_with_a_preset_names_all_that_is_missing_at_once(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    outcome = CliRunner().invoke(app, [command, "--preset", "cosqa-plus-v2"])
    for missing in ("cosqa=PATH", "codesearchnet=PATH", "--checkpoint codebert-search=FOLDER"):
        assert missing in str(outcome.exception)


def test_options_of_several_sources_are_told_apart_by_their_names() -> None:
    given = ("codesearchnet.filters=testable", "codesearchnet.part=definitions", "seed=3")
    assert Collect(queries="cosqa=CoSQA/", source_option=given).overrides()["source"] == {
        "queries": "cosqa=CoSQA/",
        "codesearchnet": {"filters": "testable", "part": "definitions"},
        "seed": "3",
    }
    with pytest.raises(SettingsError, match=r"'codesearchnet.part' is given twice"):
        Collect(source_option=(*given, "codesearchnet.part=documented")).overrides()


def test_an_estimate_takes_the_checkpoint_that_an_encoder_without_one_asks_for(
    tmp_path: Path,
) -> None:
    given = {"train": tmp_path, "queries": tmp_path, "methods": ["codebert-search"]}
    folder = {"checkpoint": [f"codebert-search={tmp_path}"]}
    checks.inputs(Estimate.of_command(given | folder))
    with pytest.raises(EncoderError, match="give --checkpoint codebert-search=FOLDER"):
        checks.inputs(Estimate.of_command(given))


def test_a_checkpoint_is_given_to_the_commands_that_compare_methods(tmp_path: Path) -> None:
    given = {"checkpoint": [f"codebert-search={tmp_path}"]}
    for chosen in (
        Leaderboard.of_command({"benchmark": "b", **given}),
        Diff.of_command({"before": "b", "after": "c", **given}),
    ):
        assert chosen.settings.encoder.checkpoints == {"codebert-search": tmp_path}


@pytest.mark.parametrize(
    ("words", "variables", "preset"),
    [
        ([], {}, "sample"),
        (["--top-k", "3", "--store", "s"], {"COSQA_ANNOTATION__IN_FLIGHT": "4"}, "sample"),
        (["--path", "."], {}, None),
        (["--source", "python-source"], {}, None),
        (["--model", "openai/x"], {}, None),
        (["--preset", "sample", "--model", "openai/x"], {"COSQA_LLM__API_KEY": "k"}, "sample"),
        ([], {"COSQA_LLM__API_KEY": "k"}, "sample"),
        ([], {"COSQA_LLM__BASE_URL": "http://127.0.0.1:1/v1"}, "sample"),
        ([], {"COSQA_LLM__MODEL": "openai/x"}, None),
        ([], {"COSQA_SOURCE__NAME": "python-source"}, None),
        ([], {"COSQA_ANNOTATION__AGENTS": "false"}, None),
    ],
)
def test_the_sample_runs_where_neither_input_nor_model_is_named(
    words: list[str], variables: dict[str, str], preset: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    asked: list[Pipeline] = []
    monkeypatch.setattr(cli_pipeline, "run", asked.append)
    # input alone names no model
    monkeypatch.setattr(LanguageModelSettings, "require_model", lambda _: None)
    CliRunner().invoke(app, ["benchmark", *words])
    assert [options.settings.preset for options in asked] == [preset]
