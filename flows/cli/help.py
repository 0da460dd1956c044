"""Helps of commands and groups, readable at any width, and what was meant by a misspelt word."""

import difflib
import re
import shutil
import textwrap
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args, get_origin

import typer
from rich.markup import escape
from rich.text import Text
from typer.core import TyperCommand, TyperGroup

from flows.options import defaults_of

if TYPE_CHECKING:
    from typer._click import Context, HelpFormatter

_TABLES = 70  # columns of a terminal from which helps are tables
_LONGEST_TYPE = 24
_DEEPER = " " * 6
_TYPES = {bool: "", int: "NUMBER", float: "NUMBER", Path: "PATH"}


class _Helped:
    """The help of a command, and its errors of words that are misspelt."""

    def format_help(self: Any, ctx: "Context", formatter: "HelpFormatter") -> None:
        """Print or write the help; where options are not given, it tells what holds here."""
        function = getattr(self.callback, "__wrapped__", self.callback)
        defaults = defaults_of(function) if function else {}
        for option in self.get_params(ctx):
            _reword(option, defaults.get(option.name, ""))
        if shutil.get_terminal_size().columns < _TABLES:
            _write(self, ctx, formatter)
        else:
            super().format_help(ctx, formatter)  # type: ignore[misc] - Typer's

    def parse_args(self: Any, ctx: "Context", args: list[str]) -> list[str]:
        """Read a command line; an error names the word that was probably meant."""
        try:
            found: list[str] = super().parse_args(ctx, args)  # type: ignore[misc] - Typer's
        except typer.BadParameter as error:
            error.message = error.message.removeprefix("Value error, ")
            if " is not one of " in error.message:
                given, *known = re.findall(r"'([^']*)'", error.message)
                error.message += _meant(given, known)
            raise
        except Exception as error:
            if near := getattr(error, "possibilities", ()):
                error.possibilities = ()  # type: ignore[attr-defined] - that of no such option
                error.message += f".{_meant(error.option_name, near)}"  # type: ignore[attr-defined]
            raise
        return found


class Command(_Helped, TyperCommand):
    """A command with such a help."""


class Group(_Helped, TyperGroup):
    """A group of commands with such a help."""


def _meant(given: str, known: list[str]) -> str:
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
    parts = [fill(" ".join(Text.from_markup(part).plain.split())) for part in parts]
    lines = ["\n\n".join(parts)]
    last = ""
    for title, name, about in _rows(command, ctx):
        lines += [f"\n{title}:"] * (title != last)
        names = name if len(name) + 2 <= width else name.replace(" / ", " /\n  ")
        lines += [f"  {names}", fill(about, initial_indent=_DEEPER, subsequent_indent=_DEEPER)]
        last = title
    for part in (command.epilog or "").split("\n\n"):
        lines.append(f"\n{fill(Text.from_markup(part.strip()).plain, subsequent_indent='  ')}")
    formatter.write("\n".join(lines))


def _rows(command: Any, ctx: "Context") -> list[tuple[str, str, str]]:  # noqa: ANN401
    """Return section, name and explanation of arguments, options and commands."""
    rows = []
    for option in command.get_params(ctx):
        option.help = Text.from_markup(option.help or "").plain
        if record := option.get_help_record(ctx):
            kind = "Arguments" if option.param_type_name == "argument" else "Options"
            rows.append((option.rich_help_panel or kind, *record))
    for name in command.list_commands(ctx) if isinstance(command, TyperGroup) else ():
        below = command.get_command(ctx, name)
        title = getattr(below, "rich_help_panel", None) or "Commands"
        rows.append((title, name, below.help.split("\n")[0]))
    order = {title: place for place, title in enumerate(dict.fromkeys(row[0] for row in rows))}
    return sorted(rows, key=lambda row: order[row[0]])
