"""Laws of all commands: quick help, working examples, options that set what they say.

Covers `flows.cli.commands`, `flows.cli.tools`, `flows.cli.checks`, `flows.cli.help`,
`flows.options`.
"""

import inspect
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer
from annotated_types import Ge
from typer._click import Command as AnyCommand
from typer.core import TyperGroup
from typer.testing import CliRunner

from flows.cli import commands
from flows.cli import pipeline as cli_pipeline
from flows.cli.app import app
from flows.cli.help import Helped
from flows.options import fields_of, overrides_of, settings_of
from infra.errors import EncoderError, SettingsError, SourceError
from infra.settings import LanguageModelSettings, Settings, StoreSettings
from infra.settings.presets import load_preset
from infra.settings.sections import USUAL_METRICS
from infra.store import open_database
from tasks.encoders import encoders
from tasks.retrievers import retrievers
from tasks.runtime.input_checks import check_estimate, check_kape
from tasks.sources import sources

HEAVY = ("prefect", "ray", "torch", "litellm", "transformers", "faiss", "duckdb", "docker")

# Prints the first command whose help imports one of the names given, and those names.
HELPED = """
import sys
from typer.testing import CliRunner
from flows.cli.app import app
heavy, *commands = sys.argv[1:]
for words in commands:
    done = CliRunner().invoke(app, [*words.split(), "--help"])
    assert done.exit_code == 0, done.output
    if found := [name for name in heavy.split() if name in sys.modules]:
        print(repr(words), "imports", found)
        break
"""


def every_command(group: TyperGroup, words: str) -> Iterator[tuple[str, AnyCommand]]:
    """Yield each command that a person can type, of groups of either kind, and its words."""
    for name, command in group.commands.items():
        assert isinstance(command, Helped)
        command.complete()
        if isinstance(command, TyperGroup):
            yield from every_command(command, f"{words} {name}")
        else:
            yield f"{words} {name}", command


def root() -> TyperGroup:
    group = typer.main.get_command(app)
    assert isinstance(group, TyperGroup)
    return group


EVERY = dict(every_command(root(), "cosqa"))


def help_of(*words: str) -> str:
    outcome = CliRunner().invoke(app, [*words, "--help"], env={"COLUMNS": "200"})
    assert outcome.exit_code == 0, outcome.output
    return " ".join(outcome.output.replace("│", " ").split())


def examples_of(command: AnyCommand) -> list[str]:
    """Return the command lines that end a command's help."""
    head, *lines = (command.epilog or "").split("\n\n")
    assert head in ("", "Examples:")
    return [line.strip().replace("\\[", "[") for line in lines]


def understand(line: str) -> None:
    """Read a command line as the product does, without running it."""
    program, *words = shlex.split(line.partition(" > ")[0])
    assert program == "cosqa"
    group: AnyCommand = root()
    while isinstance(group, TyperGroup):
        with group.make_context("cosqa", list(words)) as context:
            _, command, words = group.resolve_command(context, [*words])
            assert command is not None
            group = command
    group.make_context(line, list(words))


def test_no_help_imports_anything_heavy() -> None:
    names = [words.partition(" ")[2] for words in EVERY]
    command = [sys.executable, "-c", HELPED, " ".join(HEAVY), "", *names]
    assert subprocess.check_output(command, text=True) == ""


def test_commands_below_groups_are_among_every_command() -> None:
    below = {"store check", "suite codesearchnet", "sandbox clean", "study-kape", "study", "diff"}
    assert {f"cosqa {words}" for words in below} <= EVERY.keys()


def test_the_help_of_every_command_explains_all_and_ends_with_an_example_of_it() -> None:
    for words, command in EVERY.items():
        assert any(line.startswith(words) for line in examples_of(command)), words
        shown = help_of(*words.split()[1:])
        assert " ".join((command.help or "no help").split("\n\n")[0].split()) in shown
        assert "default: (" not in shown, words
        for option in command.params:
            if option.name not in ("help", "install_completion", "show_completion"):
                told = str(getattr(option, "help", ""))
                assert re.search(r"[.)]( \[dim\].*)?$", told), (words, option.name)


def test_every_example_is_a_command_line_that_is_understood(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("program.py", "function.py"):  # some commands look for their files at once
        (tmp_path / name).touch()
    for command in EVERY.values():
        for line in examples_of(command):
            assert len(line) <= 78, "it fits a terminal of 80 columns"
            understand(line)


def test_the_list_has_four_parts_and_first_in_each_what_a_user_needs() -> None:
    parts = CliRunner().invoke(app, ["--help"]).output.split("╭─ ")[2:]
    first = [(part.split()[0], part.splitlines()[1].split()[1]) for part in parts]
    assert first == [
        ("Build", "benchmark"), ("Score", "evaluate"), ("Run", "server"), ("Papers", "study"),
    ]  # fmt: skip


def test_a_misspelt_command_is_answered_with_those_that_are_near() -> None:
    outcome = CliRunner().invoke(app, ["annotat"])
    assert outcome.exit_code == 2
    assert "Did you mean 'annotate'" in " ".join(outcome.output.split())


@pytest.mark.parametrize(
    "words",
    [
        ("benchmark", "--limit", "-1"),
        ("benchmark", "--top-k", "0"),
        ("benchmark", "--top-k", "many"),
        ("compare-annotators", "--truth", "t", "--limit", "-1"),
        ("list", "colours"),
    ],
)
def test_a_bad_value_is_refused_by_its_option_before_any_work(words: tuple[str, ...]) -> None:
    outcome = CliRunner().invoke(app, words, env={"COLUMNS": "200"})
    assert outcome.exit_code == 2
    assert "Invalid value for" in outcome.output
    assert words[-2] in outcome.output or words[-1] in outcome.output


def test_help_says_how_long_lists_of_names_are_printed() -> None:
    text = help_of("leaderboard") + help_of("benchmark") + help_of("train")
    for kind in ("sources", "encoders", "methods", "metrics", "models", "presets"):
        assert f"`cosqa list {kind}`" in text
    for names in (sources, encoders.registered(), retrievers):
        assert ", ".join(names) not in text


@pytest.mark.parametrize(
    ("content", "words", "held"),
    [
        ("", "benchmark", ("preset sample; for other input none", "top-k 5; for other input 20",
                           "source stdlib-sample; for other input python-source",
                           "model recorded/stdlib-sample; for other input none",
                           "encoder minilm", "store cosqa-data")),
        ("preset = 'sample'\n[search]\ntop_k = 7\n", "collect",
         ("source stdlib-sample; for other input python-source", "top-k 7")),
        ("preset = 'sample'\n", "evaluate", ("output cosqa-benchmarks",)),
        ("[source]\npath = 'src'\n", "benchmark", ("preset none", "source python-source",
                                                   "path src", "top-k 20", "encoder minilm")),
        ("[search]\nencoders = ['codet5p', 'minilm']\n", "collect",
         ("encoder codet5p, minilm", "top-k 5; for other input 20")),
        ("", "evaluate", (f"metric {', '.join(USUAL_METRICS)}",
                          "method all lexical methods and the chosen encoders")),
        ("preset = 'cosqa-plus-v2'\n", "annotate",
         ("preset cosqa-plus-v2", "limit all queries", "reason all")),
        ("", "estimate", ("method the chosen encoders",)),
        ("", "diff", ("method none",)),
        ("", "train", ("method none further", "base minilm")),
        ("[search]\ntop_k = 'many'\n", "collect", ("top-k 20",)),  # refused by the command
    ],
)  # fmt: skip
def test_the_defaults_of_a_help_are_those_that_hold_in_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str, words: str, held: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cosqa.toml").write_text(content, encoding="utf-8")
    shown = re.sub(r" --(?=[\w-]+ )", "\n", help_of(words))
    defaults = re.findall(r"^([\w-]+)(?: |\n).*?\[default: (.*?)\]", shown, re.MULTILINE)
    assert {f"{name} {default}" for name, default in defaults} >= set(held)


def test_flags_are_shown_as_flags_and_types_in_words() -> None:
    for words, command in EVERY.items():
        shown = help_of(*words.split()[1:])
        assert not re.search(r"<\w+|range|x>=", shown), words
        for option in command.params:
            if option.secondary_opts and not getattr(option, "hidden", False):
                assert f"{option.opts[0]} / --no-{option.opts[0][2:]} " in shown
    assert "--top-k NUMBER, 1 or more Candidates" in help_of("benchmark")
    assert "--language python|javascript|go The" in help_of("sandbox", "check")
    assert "--plan / --no-plan" in help_of("benchmark")


def test_no_text_of_an_option_tells_of_other_commands() -> None:
    names = "|".join(words.split()[1] for words in EVERY)
    for words, command in EVERY.items():
        for option in command.params:
            assert not re.search(rf"\bof `({names})`", getattr(option, "help", "") or ""), words


@pytest.mark.parametrize("width", [40, 60, 80, 100])
def test_helps_fit_any_width_and_cut_no_word(width: int) -> None:
    for words in ("", *(words.partition(" ")[2] for words in EVERY), "label", "suite"):
        outcome = CliRunner().invoke(app, [*words.split(), "--help"], env={"COLUMNS": str(width)})
        assert "…" not in outcome.output, words
        assert max(map(len, outcome.output.splitlines())) <= width, words
        text = outcome.output.replace("│", " ")
        assert "--help" in text
        assert re.search(r"message\s+and\s+exit\.", text)


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("benchmrak", "'benchmark'"), ("label smaple", "'sample'"), ("suite codesearchne", "'code"),
        ("collect --sorce x", "--source"), ("label sample --anotator x", "--annotator"),
        ("suite codesearchnet --quries x", "--queries"), ("--versoin", "--version"),
        ("benchmark --no-plna", "--no-plan"), ("label --hlep", "--help"),
        ("list metods", "methods"), ("sandbox check --language pyton", "python"),
    ],
)  # fmt: skip
def test_a_misspelt_word_is_answered_with_what_was_meant(line: str, meant: str) -> None:
    outcome = CliRunner().invoke(app, line.split(), env={"COLUMNS": "200"})
    assert outcome.exit_code == 2
    told = " ".join(outcome.output.replace("│", " ").split())
    assert f"Did you mean {meant}" in told
    assert "Value error" not in told


def test_options_that_are_not_given_leave_the_settings_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COSQA_SEARCH__TOP_K", "7")
    given: dict[str, object] = {"benchmark": Path("b"), "methods": None, "runs": []}
    assert settings_of(commands.leaderboard, given).search.top_k == 7
    assert overrides_of(commands.leaderboard, given) == {}


def test_every_option_of_a_flow_s_command_sets_a_setting_that_there_is() -> None:
    sections = Settings.sections()
    for words in ("benchmark", "collect", "annotate", "publish", "evaluate", "study", "train"):
        command = getattr(commands, words)
        for parameter, asked in fields_of(command):
            section, _, key = asked.setting.partition(".")
            assert not section or section in sections, parameter.name
            field = sections[section].model_fields.get(key) if key else None
            assert not key or section == "source" or field, parameter.name
            least = [each.ge for each in getattr(field, "metadata", ()) if isinstance(each, Ge)]
            assert least in ([], [asked.min]), parameter.name


def test_the_commands_show_what_most_need_and_take_the_rest() -> None:
    shown = {
        words: [each for each in command.params if not getattr(each, "hidden", False)]
        for words, command in EVERY.items()
    }
    options = [each for params in shown.values() for each in params if each.opts[0][:2] == "--"]
    assert len(options) <= 200, (
        "name one that few need in the `quiet` of its command, or leave it to --set"
    )
    assert len(shown["cosqa benchmark"]) <= 16
    for words in ("benchmark", "publish"):
        assert "--index" in help_of(words), "it is named"
    understand("cosqa benchmark --until-ranked 3 --margin .02 --index ivf --labels people")
    understand("cosqa publish --queries cosqa=CoSQA/ --collection mine")


def test_any_setting_can_be_given() -> None:
    sets = [
        "annotation.rounds=3", "search.encoders=minilm, codet5p", 'evaluation.methods=["bm25"]',
        "encoder.checkpoints={a = '/b'}", "annotation.seed=7", "source.filters=testable",
    ]  # fmt: skip
    chosen = settings_of(commands.collect, {"sets": sets, "source": "jsonl"})
    assert (chosen.annotation.rounds, chosen.annotation.seed) == (3, 7)
    assert chosen.search.encoders == ("minilm", "codet5p")
    assert chosen.evaluation.methods == ("bm25",)
    assert chosen.encoder.checkpoints == {"a": Path("/b")}
    assert chosen.source.options == {"filters": "testable"}


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"sets": ["annotation.rounds"]}, "--set annotation.rounds has no value"),
        ({"sets": ["rounds=3"]}, "write --set SECTION.KEY=VALUE"),
        ({"sets": ["annotation.rounds=0"]}, r"annotation.rounds = 0 \(command line\): must be"),
        ({"top_k": 1_001}, r"search.top_k = 1001 \(command line\): must be .* 1 to 1000"),
        ({"sets": ["annotation.round=1"]}, r"did you mean annotation.rounds\?"),
        ({"sets": ["sauce.x=1"]}, "is no section"),
        ({"sets": ["llm.api_key=k"]}, "set COSQA_LLM__API_KEY"),
        ({"top_k": 3, "sets": ["search.top_k=4"]}, "search.top_k is given twice"),
        ({"path": "p", "sets": ["source.path=x"]}, "source.path is given twice"),
        ({"sets": ["source.filters"]}, "filters=VALUE"),
    ],
)
def test_a_setting_that_cannot_be_is_refused_with_the_way_to_give_it(
    given: dict[str, object], told: str
) -> None:
    with pytest.raises(SettingsError, match=told):
        settings_of(commands.collect, {"source": "jsonl", **given})


def test_options_of_several_sources_are_told_apart_by_their_names() -> None:
    given = [
        *("source.codesearchnet.filters=testable", "source.codesearchnet.part=definitions"),
        "source.seed=3",
    ]
    source = {"source": None, "queries": "cosqa=CoSQA/", "sets": given}
    assert overrides_of(commands.collect, source)["source"] == {
        "queries": "cosqa=CoSQA/",
        "codesearchnet": {"filters": "testable", "part": "definitions"},
        "seed": "3",
    }
    twice = {"sets": [*given, "source.codesearchnet.part=documented"]}
    with pytest.raises(SettingsError, match=r"codesearchnet.part is given twice"):
        overrides_of(commands.collect, twice)


def test_the_folder_of_the_output_is_made_before_any_work(tmp_path: Path) -> None:
    truth = tmp_path / "truth.jsonl"
    truth.write_text('{"query": "q", "code": "def f(): ...", "label": 1}\n')
    made = tmp_path / "new" / "folder"
    words = ["compare-annotators", "--truth", str(truth), "--store", str(tmp_path / "store")]
    outcome = CliRunner().invoke(app, [*words, "--output", str(made / "figures.json")])
    assert "no language model is named" in str(outcome.exception)
    assert made.is_dir()
    (tmp_path / "file").touch()
    outcome = CliRunner().invoke(app, [*words, "--output", str(tmp_path / "file" / "f.json")])
    assert re.search("--output .* cannot be written", str(outcome.exception))


@pytest.mark.parametrize("command", ["collect", "generate", "study"])
def test_every_command_with_a_preset_names_what_it_needs_with_its_places(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    outcome = CliRunner().invoke(app, [command, "--preset", "cosqa-plus-v2"])
    assert "--checkpoint codebert-search=FOLDER" in str(outcome.exception)
    for name, place in load_preset("cosqa-plus-v2").published.items():
        assert f"- {name}: {place}" in str(outcome.exception)


def test_an_estimate_takes_the_checkpoint_that_an_encoder_without_one_asks_for(
    tmp_path: Path,
) -> None:
    files, given = [tmp_path, tmp_path], {"methods": ["codebert-search"]}
    folder = {"checkpoint": [f"codebert-search={tmp_path}"]}
    check_estimate(settings_of(commands.estimate, given | folder), files)
    with pytest.raises(EncoderError, match="give --checkpoint codebert-search=FOLDER"):
        check_estimate(settings_of(commands.estimate, given), files)


@pytest.mark.parametrize(
    ("words", "variables", "preset"),
    [
        ([], {}, "sample"),
        (["--top-k", "3", "--store", "s"], {"COSQA_ANNOTATION__IN_FLIGHT": "4"}, "sample"),
        (["--path", "."], {}, None),
        (["--source", "python-source"], {}, None),
        (["--model", "openai/x"], {}, "sample"),
        (["--preset", "sample", "--model", "openai/x"], {"COSQA_LLM__API_KEY": "k"}, "sample"),
        ([], {"COSQA_LLM__API_KEY": "k"}, "sample"),
        ([], {"COSQA_LLM__MODEL": "openai/x"}, "sample"),
        ([], {"COSQA_SOURCE__NAME": "python-source"}, None),
        ([], {"COSQA_ANNOTATION__AGENTS": "false"}, None),
    ],
)
def test_the_sample_runs_where_no_input_is_named(
    words: list[str], variables: dict[str, str], preset: str | None,
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    (tmp_path / "module.py").write_text("def f() -> int:\n    return 1\n")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    asked: list[Settings] = []
    monkeypatch.setattr(cli_pipeline, "run_flow", lambda _, ready: asked.append(ready.given))
    # input alone names no model
    monkeypatch.setattr(LanguageModelSettings, "require_model", lambda _: None)
    CliRunner().invoke(app, ["benchmark", *words])
    assert [settings.preset for settings in asked] == [preset]


def test_data_sets_have_names_and_folders(tmp_path: Path) -> None:
    for words, told in (
        (["a=x", "a=y"], "--data a is given twice"),
        (["docs"], "--data docs has no folder"),
    ):
        given = [word for each in words for word in ("--data", each)]
        outcome = CliRunner().invoke(app, ["study-kape", *given])
        assert told in str(outcome.exception)
    with pytest.raises(SourceError, match="absent: there is no such folder"):
        check_kape(Settings(), {"a": tmp_path / "absent"})


def test_a_file_that_is_not_there_is_named_before_anything_starts(tmp_path: Path) -> None:
    store = StoreSettings(folder=tmp_path)
    open_database(store)
    words = ["study", "--store", str(tmp_path), "--annotators", str(tmp_path / "absent.json")]
    outcome = CliRunner().invoke(app, words)
    assert "absent.json cannot be read" in str(outcome.exception)


def test_a_command_s_parameters_are_those_of_its_help() -> None:
    assert "--plan" not in help_of("study")
    for name, command in (("collect", commands.collect), ("train", commands.train)):
        shown = help_of(name)
        for parameter in inspect.signature(command).parameters.values():
            (option,) = parameter.annotation.__metadata__
            assert option.param_decls[0].partition("/")[0] in shown
