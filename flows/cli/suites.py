"""``cosqa suite``: figures of other people's evaluation suites, from their own files.

A command for each registered suite is made from its options, so that a suite is one file in
`tasks.suites`.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, get_args

import typer
from pydantic import ValidationError
from pydantic.fields import FieldInfo
from typer.core import TyperGroup

from flows.cli.lazy import examples
from flows.cli.output import print_table, say
from infra.errors import SettingsError
from tasks.benchmarks import annotation_sheets
from tasks.suites import Figures, Suite, SuiteOptions, suites

if TYPE_CHECKING:
    from typer._click import Command, Context


class _SuiteGroup(TyperGroup):
    """The commands: one for each registered suite beside those of this file."""

    def list_commands(self, ctx: "Context") -> list[str]:
        return sorted({*super().list_commands(ctx), *suites.names()})

    def get_command(self, ctx: "Context", cmd_name: str) -> "Command | None":
        return (
            _command(cmd_name) if cmd_name in suites.names() else super().get_command(ctx, cmd_name)
        )


suite = typer.Typer(cls=_SuiteGroup, no_args_is_help=True, rich_markup_mode="rich")


@suite.callback()
def _suites() -> None:
    """Score other people's evaluation suites from their own files."""


def _command(name: str) -> "Command":
    """Return the command of a suite: its options are the fields of the suite's model."""
    kind = suites.get(name)
    app = typer.Typer(rich_markup_mode="rich", add_completion=False)
    app.command(
        name, help=(kind.__doc__ or "").partition("\n")[0], epilog=examples(_example(name, kind))
    )(_function(kind))
    command = typer.main.get_command(app)
    command.name = name
    return command


def _example(name: str, kind: type[Suite]) -> str:
    """Return a suite's command line with the options that it needs."""
    words = ["cosqa suite", name]
    for key, field in kind.Options.model_fields.items():
        if field.is_required():
            named = [] if key in kind.Options.arguments else [f"--{key.replace('_', '-')}"]
            words += [*named, *map(str, (field.examples or [key])[:1])]
    return " ".join(words)


def _function(kind: type[Suite]) -> Callable[..., None]:
    """Return a function with a parameter for each option, as Typer reads commands."""

    def run(**values: object) -> None:
        given = {key: value for key, value in values.items() if value is not None}
        _print_figures(kind().figures(_validated(kind.Options, given)))

    parameters = [
        _parameter(key, field, positional=key in kind.Options.arguments)
        for key, field in kind.Options.model_fields.items()
    ]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    return run


def _parameter(key: str, field: FieldInfo, *, positional: bool) -> inspect.Parameter:
    declare = typer.Argument if positional else typer.Option
    return inspect.Parameter(
        key,
        inspect.Parameter.KEYWORD_ONLY,
        default=inspect.Parameter.empty if field.is_required() else field.get_default(),
        annotation=Annotated[
            field.annotation, declare(help=field.description, metavar=_metavar(field))
        ],
    )


def _metavar(field: FieldInfo) -> str | None:
    """Return FILE for a path and N for a number; None lets Typer say what the type is."""
    kinds = {field.annotation, *get_args(field.annotation)}
    return "FILE" if Path in kinds else "N" if int in kinds else None


def _validated(model: type[SuiteOptions], values: Mapping[str, object]) -> SuiteOptions:
    try:
        return model.model_validate(values)
    except ValidationError as error:
        problems = [f"{problem['loc'][0]}: {problem['msg']}" for problem in error.errors()]
        raise SettingsError("; ".join(problems)) from None


@suite.command(epilog=examples("cosqa suite agreement first.csv second.csv --highest 3"))
def agreement(
    sheets: Annotated[
        list[Path], typer.Argument(metavar="FILE...", help="Sheets that people filled in, as CSV.")
    ],
    *,
    highest: Annotated[
        int, typer.Option(min=1, metavar="N", help="The best grade; the worst is 0.")
    ] = 1,
) -> None:
    """Print how far annotators agree: Krippendorff's alpha, and Cohen's kappa of every two."""
    result = annotation_sheets.agreement(annotation_sheets.read_sheets(sheets, highest))
    say(f"{len(result.annotators)} annotators, {result.pairs:,} pairs graded by two or more")
    say(f"alpha, nominal: {_figure(result.nominal)}")
    say(f"alpha, ordinal: {_figure(result.ordinal)}")
    rows = [
        (f"{two.first}, {two.second}", f"{two.pairs:,}", f"{two.equal:.1%}", _figure(two.kappa))
        for two in result.each_two
    ]
    _print(("annotators", "pairs", "equal", "kappa, squared weights"), rows)


def _figure(value: float) -> str:
    return f"{value:.3f}" if not isnan(value) else "undefined: all grades are equal"


def _print_figures(figures: Figures) -> None:
    _print(figures.columns, figures.rows)
    for note in figures.notes:
        say(note)


def _print(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    print_table("", header, rows, rest="a wider terminal, or a file: `cosqa suite ... > file`")
