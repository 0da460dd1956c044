"""Laws of the lazy command line: quick help, working examples, actions that fit their options."""

import inspect
import shlex
import subprocess
import sys
from collections.abc import Mapping

import pytest
import typer
from typer.testing import CliRunner

from flows.cli.annotators_group import _Annotators
from flows.cli.lazy import Command, Group, LazyGroup, imported
from flows.cli.main import _OF_STUDY, _Cosqa, app

HEAVY = ("prefect", "ray", "torch", "litellm", "transformers", "faiss", "duckdb", "docker")
TABLES: dict[str, Mapping[str, Command | Group]] = {
    "": _Cosqa.entries,
    "annotators ": _Annotators.entries,
    "study ": _OF_STUDY,
}
COMMANDS = {
    f"{group}{name}": entry
    for group, entries in TABLES.items()
    for name, entry in entries.items()
    if isinstance(entry, Command)
}


@pytest.mark.parametrize("words", ["", *COMMANDS])
def test_help_imports_nothing_heavy(words: str) -> None:
    program = (
        "import sys\nfrom typer.testing import CliRunner\nfrom flows.cli.main import app\n"
        "done = CliRunner().invoke(app, sys.argv[1:])\nassert done.exit_code == 0, done.output\n"
        f"print([name for name in {HEAVY} if name in sys.modules])"
    )
    command = [sys.executable, "-c", program, *words.split(), "--help"]
    assert subprocess.check_output(command, text=True).strip() == "[]"


@pytest.mark.parametrize(
    "line", [example for entry in COMMANDS.values() for example in entry.examples]
)
def test_every_example_is_a_command_line_that_is_understood(line: str) -> None:
    program, *words = shlex.split(line.partition(" > ")[0])
    assert program == "cosqa"
    group = typer.main.get_command(app)
    while isinstance(group, LazyGroup):
        with group.make_context("cosqa", list(words)) as context:
            if group.invoke_without_command and not context._protected_args:
                return
            _, command, words = group.resolve_command(context, [*words])
            assert command is not None
            group = command
    group.make_context(line, list(words))
    assert len(line) <= 78, "it fits a terminal of 80 columns"


@pytest.mark.parametrize("name", [name for name, entry in COMMANDS.items() if entry.action])
def test_an_action_takes_what_its_options_return(name: str) -> None:
    entry = COMMANDS[name]
    given = inspect.signature(imported(entry.options)).return_annotation
    (wanted,) = inspect.signature(imported(entry.action)).parameters.values()
    assert wanted.annotation is given


@pytest.mark.parametrize("name", _Cosqa.entries)
def test_every_command_says_first_what_the_list_says_of_it(name: str) -> None:
    outcome = CliRunner().invoke(app, [name, "--help"])
    shown = " ".join(outcome.output.split())
    if isinstance(_Cosqa.entries[name], Command):
        assert _Cosqa.entries[name].summary in shown
    assert "--install-completion" not in shown


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_is_explained(name: str) -> None:
    for parameter in inspect.signature(imported(COMMANDS[name].options)).parameters.values():
        for option in getattr(parameter.annotation, "__metadata__", ()):
            assert option.help
            assert option.help[-1] in ".)", option.help


def test_options_before_the_name_of_a_command_below_another_are_refused() -> None:
    outcome = CliRunner().invoke(app, ["study", "--store", "s", "kape", "--data", "d=f"])
    assert "--store before kape would have no effect" in str(outcome.exception)
    help_text = CliRunner().invoke(app, ["study", "--help"]).output
    assert "kape" in help_text
    assert "--annotators" in help_text


def test_a_misspelt_command_is_answered_with_those_that_are_near() -> None:
    outcome = CliRunner().invoke(app, ["annotat"])
    assert outcome.exit_code == 2
    assert "Did you mean 'annotate'" in " ".join(outcome.output.split())
