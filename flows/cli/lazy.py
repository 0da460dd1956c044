"""Commands made of models of options, which are imported when they are named.

So ``--help`` need not wait for Prefect: the models are read for a command's own help alone, and
what it does is imported when it runs.
"""

import inspect
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from threading import Timer
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, get_origin

import typer
from annotated_types import Ge, Le
from rich.markup import escape
from typer.core import TyperCommand, TyperGroup

from infra.errors import SettingsError

if TYPE_CHECKING:
    from pydantic import BaseModel
    from typer._click import Command as AnyCommand
    from typer._click import Context

    from flows.options import Question

_SILENT_S = 2.0
_METAVARS = {Path: "FILE", int: "N", float: "X", str: "NAME"}


@dataclass(frozen=True)
class Command:
    """A command by the names of what it is made of.

    Attributes:
        summary: What the command does, in one sentence.
        options: The model of its options, by its name in `flows.options` if not itself.
        steps: Functions that are called with the options one after the other, each a
            ``module:function`` below ``flows.cli`` that is imported when its turn comes. Where a
            flow is run, the first is a check that raises where names or files cannot be right.
        details: More paragraphs of the command's help.
        examples: Command lines that end its help.
        below: Name → command that may follow this one's name, and then runs in its place.
    """

    summary: str
    options: "str | type[BaseModel]"
    steps: tuple[str | Callable[[Any], None], ...]
    details: str = ""
    examples: tuple[str, ...] = ()
    below: Mapping[str, "Command"] = field(default_factory=dict)

    def load(self, name: str) -> "AnyCommand":
        """Return the command as Typer runs it."""
        told: dict[str, Any] = {
            "help": f"{self.summary}\n\n{self.details}".strip(),
            "epilog": "\n\n".join(["Examples:", *(f"  {escape(line)}" for line in self.examples)]),
        }
        app = typer.Typer(
            add_completion=False, pretty_exceptions_enable=False, rich_markup_mode="rich"
        )
        if self.below:
            group = type("Followed", (_FollowedCommand,), {"entries": self.below})
            below = f"[{'|'.join(self.below)} ...]"
            app.callback(
                cls=group, invoke_without_command=True, subcommand_metavar=below, **told
            )(self.function())  # fmt: skip
        else:
            app.command(name, **told)(self.function())
        command = typer.main.get_command(app)
        command.name = name
        return command

    def model(self) -> "type[BaseModel]":
        """Return the model of the options."""
        if isinstance(self.options, str):
            found: type[BaseModel] = getattr(import_module("flows.options"), self.options)
            return found
        return self.options

    def function(self) -> Callable[..., None]:
        """Return a function with a parameter for each option, as Typer reads commands."""
        options = import_module("flows.options")
        model = self.model()

        def run(**values: object) -> None:
            make = getattr(model, "of_command", None)
            chosen = make(values) if make else options.validated(model, values)
            notice = Timer(_SILENT_S, sys.stderr.write, ["starting …\n"])
            notice.daemon = True  # what ends a command ends it
            if len(self.steps) > 1:  # a flow, whose libraries and server take their time
                notice.start()
            try:
                for step in self.steps:
                    (imported(step) if isinstance(step, str) else step)(chosen)
            finally:
                notice.cancel()

        by_position = getattr(model, "arguments", ())
        parameters = [
            _parameter(question, by_position=question.name in by_position)
            for question in options.questions(model)
            if question.flag is not None
        ]
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {each.name: each.annotation for each in parameters}
        return run


def _parameter(question: "Question", *, by_position: bool) -> inspect.Parameter:
    """Return an option as Typer reads it."""
    kind, default = question.one, question.default
    if question.is_several:
        kind = list[kind]  # type: ignore[valid-type]
    if default in (None, ()):
        kind, default = kind | None, None
    metavar = "" if get_origin(question.one) is Literal else _METAVARS.get(question.one, "")
    low = next((bound.ge for bound in question.bounds if isinstance(bound, Ge)), None)
    # What is too much for a setting is refused by the settings, whose message names it.
    own = () if question.setting else question.bounds
    told: dict[str, Any] = {
        "help": _help(question, by_position=by_position),
        "metavar": question.metavar or metavar or None,
        "min": low,
        "max": next((bound.le for bound in own if isinstance(bound, Le)), None),
        "rich_help_panel": question.panel or None,
        "show_default": default is not ... and not question.unset,
    }
    if question.is_file:
        told |= {"exists": True, "dir_okay": False, "readable": True}
    flag = question.flag or f"--{question.name.replace('_', '-')}"
    asked = (
        typer.Argument(**told)
        if by_position
        else typer.Option(flag, hidden=not question.is_shown, **told)
    )
    return inspect.Parameter(
        question.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=inspect.Parameter.empty if default is ... else default,
        annotation=Annotated[kind, asked],
    )


def _help(question: "Question", *, by_position: bool) -> str:
    """Return an option's help; a default in words has no brackets of its own as Typer's has."""
    sentences = [
        question.about,
        f"One of {', '.join(question.choices)}." * bool(question.choices),
        question.line,
        "Repeat it for several." * (question.is_several and not by_position),
        f"[dim]{escape(f'[default: {question.unset}]')}[/]" * bool(question.unset),
    ]
    return " ".join(filter(None, sentences))


@dataclass(frozen=True)
class Group:
    """A group of commands.

    Attributes:
        summary: What the group is for, in one sentence.
        entries: Its commands by their names, or ``module:function`` below ``flows.cli`` that
            returns them.
    """

    summary: str
    entries: Mapping[str, Command] | str

    def load(self, name: str) -> "AnyCommand":
        """Return the group as Typer runs it."""
        entries = imported(self.entries)() if isinstance(self.entries, str) else self.entries
        group = type("Group", (LazyGroup,), {"entries": entries})
        app = typer.Typer(
            cls=group, no_args_is_help=True, add_completion=False, rich_markup_mode="rich"
        )
        app.callback(help=self.summary)(lambda: None)
        command = typer.main.get_command(app)
        command.name = name
        return command


class LazyGroup(TyperGroup):
    """A group that lists its commands by their summaries and loads the one that is named.

    Attributes:
        entries: Its commands by their names.
        panels: Name of a command → the part of the list that begins with it.
    """

    entries: ClassVar[Mapping[str, Command | Group]] = {}
    panels: ClassVar[Mapping[str, str]] = {}

    def __init__(self, **attributes: Any) -> None:  # noqa: ANN401 - they are Typer's
        super().__init__(**attributes)
        panel = None
        for name, entry in self.entries.items():
            panel = self.panels.get(name, panel)
            self.add_command(TyperCommand(name, help=entry.summary, rich_help_panel=panel))

    def resolve_command(
        self, ctx: "Context", args: list[str]
    ) -> tuple[str | None, "AnyCommand | None", list[str]]:
        """Return the command that ``args`` name, loaded, and what follows the name."""
        name, command, rest = super().resolve_command(ctx, args)
        return name, self.entries[name].load(name) if name else command, rest


class _FollowedCommand(LazyGroup):
    """A command with others below it, each of which runs in its place where its name follows."""

    def resolve_command(
        self, ctx: "Context", args: list[str]
    ) -> tuple[str | None, "AnyCommand | None", list[str]]:
        """Return the command that ``args`` name; this one does nothing then.

        Raises:
            SettingsError: Options stand before it, which it would not see.
        """
        name, command, rest = super().resolve_command(ctx, args)
        given = [
            parameter.opts[0]
            for parameter in self.params
            if (source := ctx.get_parameter_source(str(parameter.name)))
            and source.name == "COMMANDLINE"
        ]
        if given:
            raise SettingsError(
                f"{', '.join(given)} before {name} would have no effect: write the options behind "
                f"`{ctx.command_path} {name}`"
            )
        self.callback = None
        return name, command, rest


def imported(name: str) -> Any:  # noqa: ANN401 - whatever has that name
    """Return the object that ``module:name`` names below ``flows.cli``."""
    module, _, attribute = name.partition(":")
    return getattr(import_module(f"flows.cli.{module}"), attribute)
