"""Laws of the lazy command line: quick help, working examples, actions that fit their options."""

import inspect
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
import typer
from typer._click import Command as AnyCommand
from typer.core import TyperGroup
from typer.testing import CliRunner

from flows.cli.lazy import Command, Group, imported
from flows.cli.main import COMMANDS as TABLE
from flows.cli.main import app
from flows.options import Options

HEAVY = ("prefect", "ray", "torch", "litellm", "transformers", "faiss", "duckdb", "docker")


def table(
    entries: Mapping[str, Command | Group], before: str = ""
) -> Iterator[tuple[str, Command]]:
    """Yield the words of each command of the table, and the command."""
    for name, entry in entries.items():
        if isinstance(entry, Command):
            yield f"{before}{name}", entry
            yield from table(entry.below, f"{before}{name} ")
        elif not isinstance(entry.entries, str):
            yield from table(entry.entries, f"{before}{name} ")


COMMANDS = dict(table(TABLE))


# Prints the first command whose help imports one of the names given, and those names.
HELPED = """
import sys
from typer.testing import CliRunner
from flows.cli.main import app
heavy, *commands = sys.argv[1:]
for words in commands:
    done = CliRunner().invoke(app, [*words.split(), "--help"])
    assert done.exit_code == 0, done.output
    if found := [name for name in heavy.split() if name in sys.modules]:
        print(repr(words), "imports", found)
        break
"""


def test_no_help_imports_anything_heavy() -> None:
    command = [sys.executable, "-c", HELPED, " ".join(HEAVY), "", *COMMANDS]
    assert subprocess.check_output(command, text=True) == ""


def every_command(group: TyperGroup, words: str) -> Iterator[tuple[str, AnyCommand]]:
    """Yield each command that a person can type, of groups of either kind, and its words."""
    if group.invoke_without_command:
        yield words, group
    with group.make_context(words, [], resilient_parsing=True) as context:
        for name in group.list_commands(context):
            _, command, _ = group.resolve_command(context, [name])
            assert command is not None
            if isinstance(command, TyperGroup):
                yield from every_command(command, f"{words} {name}")
            else:
                yield f"{words} {name}", command


def root() -> TyperGroup:
    group = typer.main.get_command(app)
    assert isinstance(group, TyperGroup)
    return group


EVERY = dict(every_command(root(), "cosqa"))


def examples_of(command: AnyCommand) -> list[str]:
    """Return the command lines that end a command's help."""
    head, *lines = (command.epilog or "").split("\n\n")
    assert head in ("", "Examples:")
    return [line.strip().replace("\\[", "[") for line in lines]


def test_commands_below_groups_are_among_every_command() -> None:
    below = {"store check", "suite codesearchnet", "sandbox run", "study kape"}
    assert {f"cosqa {words}" for words in {*below, *COMMANDS}} <= EVERY.keys()


def test_the_help_of_every_command_ends_with_an_example_of_it() -> None:
    for words, command in EVERY.items():
        assert any(line.startswith(words) for line in examples_of(command)), words


def test_no_help_has_a_default_in_two_kinds_of_brackets() -> None:
    for words in EVERY:
        shown = CliRunner().invoke(app, [*words.split()[1:], "--help"])
        assert shown.exit_code == 0, words
        assert "default: (" not in " ".join(shown.output.split()), words


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


def understand(line: str) -> None:
    """Read a command line as the product does, without running it."""
    program, *words = shlex.split(line.partition(" > ")[0])
    assert program == "cosqa"
    group: AnyCommand = root()
    while isinstance(group, TyperGroup):
        with group.make_context("cosqa", list(words)) as context:
            if group.invoke_without_command and not context._protected_args:
                return
            _, command, words = group.resolve_command(context, [*words])
            assert command is not None
            group = command
    group.make_context(line, list(words))


def test_every_step_takes_the_options_of_its_command() -> None:
    for command in COMMANDS.values():
        for step in command.steps:
            function = imported(step) if isinstance(step, str) else step
            (wanted,) = inspect.signature(function).parameters.values()
            assert issubclass(command.model(), wanted.annotation), step


def test_every_command_says_first_what_the_list_says_of_it() -> None:
    for name in TABLE:
        outcome = CliRunner().invoke(app, [name, "--help"])
        shown = " ".join(outcome.output.split())
        assert TABLE[name].summary in shown
        assert "--install-completion" not in shown, name


def test_every_option_is_explained() -> None:
    for command in COMMANDS.values():
        for parameter in inspect.signature(command.function()).parameters.values():
            (option,) = parameter.annotation.__metadata__
            assert re.search(r"[.)]( \[dim\].*)?$", option.help), option.help


def test_options_before_the_name_of_a_command_below_another_are_refused() -> None:
    outcome = CliRunner().invoke(app, ["study", "--store", "s", "kape", "--data", "d=f"])
    assert "--store before kape would have no effect" in str(outcome.exception)
    help_text = CliRunner().invoke(app, ["study", "--help"]).output
    assert "kape" in help_text
    assert "--annotators" in help_text


def test_the_folder_of_a_server_speaks_of_nothing_that_a_server_lacks() -> None:
    shown = CliRunner().invoke(app, ["server", "--help"]).output
    assert "Folder in which runs work" in shown
    assert "pool" not in shown


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
    ("steps", "lasts_s", "said"),
    [(2, 0.5, "starting …\n"), (2, 0.0, ""), (1, 0.5, "")],
)
def test_a_flow_s_command_that_takes_its_time_says_once_that_it_starts(
    steps: int,
    lasts_s: float,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("flows.cli.lazy._SILENT_S", 0.1)
    command = Command("Waits.", Options, steps * (lambda _: time.sleep(lasts_s),))
    command.load("waits").main([], standalone_mode=False)
    assert capsys.readouterr().err == said
