"""Commands that are imported when they are named, so that ``--help`` need not wait for Prefect."""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import wraps
from importlib import import_module
from threading import Timer
from typing import TYPE_CHECKING, Any, ClassVar

import typer
from rich.markup import escape
from typer.core import TyperCommand, TyperGroup, TyperOption

from infra.errors import SettingsError

if TYPE_CHECKING:
    from typer._click import Command as AnyCommand
    from typer._click import Context

_SILENT_S = 2.0


@dataclass(frozen=True)
class Command:
    """A command by the names of its functions.

    Attributes:
        summary: What the command does, in one sentence.
        options: ``module:function`` below ``flows.cli`` whose parameters are the command's options.
        check: ``module:function`` that is called with what ``options`` returned, before ``action``
            is imported: it raises where names or files cannot be right.
        action: ``module:function`` that is called with what ``options`` returned. It is imported
            when the command runs, and not for its ``--help``. Empty: ``options`` does everything.
        details: More paragraphs of the command's help.
        examples: Command lines that end its help.
        hidden: Parameters of ``options`` that the command does not read: accepted, not in its help.
        below: Name → command that may follow this one's name, and then runs in its place.
    """

    summary: str
    options: str
    check: str = ""
    action: str = ""
    details: str = ""
    examples: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    below: Mapping[str, "Command"] = field(default_factory=dict)

    def load(self, name: str) -> "AnyCommand":
        """Return the command as Typer runs it."""
        options: Callable[..., object] = imported(self.options)

        @wraps(options)
        def run(*args: object, **values: object) -> None:
            chosen = options(*args, **values)
            notice = Timer(_SILENT_S, sys.stderr.write, ["starting …\n"])
            notice.daemon = True  # what ends a command ends it
            if self.check:  # of a flow, whose libraries and server take their time
                notice.start()
            try:
                for step in filter(None, (self.check, self.action)):
                    imported(step)(chosen)
            finally:
                notice.cancel()

        app = typer.Typer(
            add_completion=False, pretty_exceptions_enable=False, rich_markup_mode="rich"
        )
        text = f"{self.summary}\n\n{self.details}".strip()
        epilog = examples(*self.examples)
        if self.below:
            group = type("Followed", (_FollowedCommand,), {"entries": self.below})
            app.callback(
                cls=group, invoke_without_command=True, help=text, epilog=epilog,
                subcommand_metavar=f"[{'|'.join(self.below)} ...]",
            )(run)  # fmt: skip
        else:
            app.command(name, help=text, epilog=epilog)(run)
        command = typer.main.get_command(app)
        command.name = name
        for parameter in command.params:
            if isinstance(parameter, TyperOption):
                parameter.hidden = parameter.hidden or parameter.name in self.hidden
        _show_defaults_without_brackets(command)
        return command


@dataclass(frozen=True)
class Group:
    """A group of commands that is a Typer app of its own.

    Attributes:
        summary: What the group is for, in one sentence.
        app: ``module:name`` of the Typer app below ``flows.cli``.
    """

    summary: str
    app: str

    def load(self, name: str) -> "AnyCommand":
        """Return the group as Typer runs it."""
        app: typer.Typer = imported(self.app)
        group = typer.main.get_group(app)
        group.name = name
        for command in group.commands.values():
            _show_defaults_without_brackets(command)
        return group


class LazyGroup(TyperGroup):
    """A group that lists its commands by their summaries and loads the one that is named."""

    entries: ClassVar[Mapping[str, Command | Group]] = {}

    def __init__(self, **attributes: Any) -> None:  # noqa: ANN401 - they are Typer's
        super().__init__(**attributes)
        for name, entry in self.entries.items():
            self.add_command(TyperCommand(name, help=entry.summary))

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


def examples(*lines: str) -> str | None:
    """Return the end of a command's help with these command lines; None without any."""
    shown = "\n\n".join(f"  {escape(line)}" for line in lines)
    return f"Examples:\n\n{shown}" if shown else None


def _show_defaults_without_brackets(command: "AnyCommand") -> None:
    """Move defaults in words into the options' help: Typer prints ``[default: (20)]``."""
    for option in command.params:
        if isinstance(option, TyperOption) and isinstance(option.show_default, str):
            option.help = f"{option.help} [dim]{escape(f'[default: {option.show_default}]')}[/]"
            option.show_default = False


def imported(name: str) -> Any:  # noqa: ANN401 - whatever has that name
    """Return the object that ``module:name`` names below ``flows.cli``."""
    module, _, attribute = name.partition(":")
    return getattr(import_module(f"flows.cli.{module}"), attribute)
