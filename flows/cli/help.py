"""Helps of commands and groups, readable at any width, and what was meant by a misspelt word."""

import difflib
import re
import shutil
import textwrap
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args, get_origin

import typer
from rich.markup import escape
from rich.text import Text
from typer._click.exceptions import NoSuchOption
from typer.core import TyperCommand, TyperGroup

from flows.options import defaults_of, fields_of

if TYPE_CHECKING:
    from typer._click import Context, HelpFormatter

_TABLES = 70  # columns of a terminal from which helps are tables
_LONGEST_TYPE = 24
_DEEPER = " " * 6
_TYPES = {bool: "", int: "NUMBER", float: "NUMBER", Path: "PATH"}


class Helped:
    """The help of a command, and its errors of words that are misspelt."""

    def complete(self: Any) -> None:
        """Fill in what is of this command alone, and takes long: the texts of its options."""
        texts = {each.name: field.help_text() for each, field in fields_of(self.function())}
        for option in self.params:
            option.help = texts.get(option.name, getattr(option, "help", None))

    def function(self: Any) -> Any:  # noqa: ANN401 - a function of any parameters
        """Return the function of the command; a group may have one without any."""
        return getattr(self.callback, "__wrapped__", self.callback) or (lambda: None)

    def format_help(self: Any, ctx: "Context", formatter: "HelpFormatter") -> None:
        """Print or write the help; where options are not given, it tells what holds here."""
        self.complete()
        defaults = defaults_of(self.function())
        for option in self.get_params(ctx):
            _reword(option, defaults.get(option.name, ""))
        if shutil.get_terminal_size().columns < _TABLES:
            _write(self, ctx, formatter)
        else:
            super().format_help(ctx, formatter)  # type: ignore[misc]

    def parse_args(self: Any, ctx: "Context", args: list[str]) -> list[str]:
        """Read a command line; an error names the word that was probably meant."""
        try:
            found: list[str] = super().parse_args(ctx, args)  # type: ignore[misc]
        except typer.BadParameter as error:
            error.message = error.message.removeprefix("Value error, ")
            if " is not one of " in error.message:
                given, *known = re.findall(r"'([^']*)'", error.message)
                error.message += _meant(given, known)
            raise
        except NoSuchOption as error:
            error.message += f".{_meant(error.option_name, error.possibilities or ())}"
            error.possibilities = ()
            raise
        return found


class Command(Helped, TyperCommand):
    """A command with such a help.

    Args:
        words: As Typer's commands.
        quiet: The names of options that the help mentions in one sentence.
        more: As Typer's commands.
    """

    def __init__(self, *words: Any, quiet: Sequence[str] = (), **more: Any) -> None:  # noqa: ANN401
        super().__init__(*words, **more)
        hidden: list[Any] = [each for each in self.params if each.name in quiet]
        for option in hidden:
            option.hidden = True
        if hidden:
            named = ", ".join(option.opts[0] for option in hidden)
            self.help = f"{self.help}\n\nIt also takes {named}."


class Group(Helped, TyperGroup):
    """A group of commands with such a help."""


def _meant(given: str, known: Sequence[str]) -> str:
    close = difflib.get_close_matches(given, known, 1)
    return f" Did you mean {close[0]}?" if close else ""


def _reword(option: Any, default: str) -> None:  # noqa: ANN401 - Typer's
    """Tell what an option takes in words, both of its flags as one, and what holds without it."""
    kind = option.type_descriptor.annotation
    kind = get_args(kind)[0] if get_origin(kind) is list else kind
    choices = [str(name) for name in option.type_descriptor.choices or ()]
    words = "|".join(choices) or _TYPES.get(kind, "NAME")
    if len(words) > _LONGEST_TYPE:
        words, option.help = "NAME", f"{option.help} One of {', '.join(choices)}."
    low, high = getattr(option, "min", None), getattr(option, "max", None)
    if low is not None:
        words += f", {low} or more" if high is None else f", {low} to {high}"
        option.min = option.max = None
    if option.param_type_name == "option":
        words = words if option.metavar is None else option.metavar
        option.opts = [" / ".join([*option.opts, *option.secondary_opts])]
        option.secondary_opts = []
    vars(option)["display_type_rich"] = lambda ctx: words or None  # noqa: ARG005 - Typer's
    if default:
        option.help = f"{option.help} [dim]{escape(f'[default: {default}]')}[/]"


def _write(command: Any, ctx: "Context", formatter: "HelpFormatter") -> None:  # noqa: ANN401
    """Write a help in which each explanation stands beneath its word."""
    width = formatter.width = shutil.get_terminal_size().columns
    fill = partial(textwrap.fill, width=width, break_on_hyphens=False)
    parts = [escape(command.get_usage(ctx)), *(command.help or "").split("\n\n")]
    sections: dict[str, list[str]] = {}
    for title, name, about in _rows(command, ctx):
        names = name if len(name) + 2 <= width else name.replace(" / ", " /\n  ")
        told = fill(about, initial_indent=_DEEPER, subsequent_indent=_DEEPER)
        sections.setdefault(title, [f"{title}:"]).append(f"  {names}\n{told}")
    formatter.write("\n\n".join([
        *(fill(" ".join(Text.from_markup(part).plain.split())) for part in parts),
        *map("\n".join, sections.values()),
        *(fill(Text.from_markup(part.strip()).plain, subsequent_indent="  ")
          for part in (command.epilog or "").split("\n\n")),
    ]))  # fmt: skip


def _rows(command: Any, ctx: "Context") -> Iterator[tuple[str, str, str]]:  # noqa: ANN401
    """Yield section, name and explanation of arguments, options and commands."""
    for option in command.get_params(ctx):
        option.help = Text.from_markup(option.help or "").plain
        if record := option.get_help_record(ctx):
            kind = "Arguments" if option.param_type_name == "argument" else "Options"
            yield option.rich_help_panel or kind, *record
    for name in command.list_commands(ctx) if isinstance(command, TyperGroup) else ():
        below = command.get_command(ctx, name)
        yield getattr(below, "rich_help_panel", None) or "Commands", name, below.help.split("\n")[0]
