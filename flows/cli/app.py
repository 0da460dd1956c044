"""The command line's commands and groups, put together."""

from typing import TYPE_CHECKING, Annotated

import typer

from flows.cli import TRACEBACK, commands, label, maintenance, tools
from flows.cli.help import Group
from flows.cli.output import hide_tracebacks

if TYPE_CHECKING:
    from typer._click import Context

_HELP = (
    "Build, maintain and evaluate multi-choice code-search benchmarks.\n\n"
    "Seven commands are all that most need: benchmark, which is collect, annotate, publish and "
    "evaluate in one; leaderboard; and server.\n\n"
    "Settings that have no option here are read from cosqa.toml and from the environment, such as "
    "COSQA_LLM__API_KEY; `cosqa settings` prints them all."
)


_PANELS = ("Build", "Score", "Run", "Papers")


class _Cosqa(Group):
    def list_commands(self, ctx: "Context") -> list[str]:
        """Return the names of commands and groups by panel, within one as the files have them."""

        def place(name: str) -> int:
            panel = getattr(self.commands[name], "rich_help_panel", "")
            return _PANELS.index(panel) if panel in _PANELS else len(_PANELS)

        return sorted(super().list_commands(ctx), key=place)

    def parse_args(self, ctx: "Context", args: list[str]) -> list[str]:
        """Take ``--traceback`` wherever it stands on the line."""
        rest = [word for word in args if word != TRACEBACK]
        return super().parse_args(ctx, [TRACEBACK, *rest] if len(rest) < len(args) else args)


app = typer.Typer(
    name="cosqa",
    cls=_Cosqa,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
for _group, _name, _panel in (
    (commands.app, None, None),
    (tools.app, None, None),
    (label.app, "label", "Build"),
    (maintenance.store_app, "store", "Run"),
    (maintenance.sandbox_app, "sandbox", "Run"),
    (tools.suite_app, "suite", "Papers"),
    (commands.challenge_app, "challenge", "Papers"),
):
    app.add_typer(_group, name=_name, rich_help_panel=_panel)


def _print_version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        typer.echo(f"cosqa {version('cosqa-plus')}")
        raise typer.Exit


@app.callback(help=_HELP)
def cosqa(
    *,
    traceback: Annotated[
        bool, typer.Option(TRACEBACK, help="Show where in the program an error came from.")
    ] = False,
    version: Annotated[  # noqa: ARG001 - its callback does everything
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Read the options before a command's name."""
    if not traceback:
        hide_tracebacks()
