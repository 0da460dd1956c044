"""The commands that print what there is to choose from: ``cosqa list`` and ``cosqa settings``."""

from collections.abc import Iterable
from typing import Annotated, Literal

import typer

from flows.cli.evaluation_options import CONFIGURATIONS
from infra.settings import load_settings
from infra.settings.reference import settings_reference
from tasks.encoders import encoders
from tasks.estimators import estimators
from tasks.metrics import metrics
from tasks.retrievers import retrievers
from tasks.sources import sources
from tasks.suites import suites

Kind = Literal[
    "sources", "encoders", "methods", "metrics", "suites", "estimators", "configurations"
]
_NAMES: dict[str, Iterable[str]] = {
    "sources": sources,
    "encoders": encoders,
    "methods": [*retrievers, *encoders],
    "metrics": metrics,
    "suites": suites,
    "estimators": estimators,
    "configurations": CONFIGURATIONS,
}


def names(
    kind: Annotated[Kind, typer.Argument(help="What to list.", show_default=False)],
) -> None:
    """Print the names of one kind, a line each."""
    for name in _NAMES[kind]:
        typer.echo(name)


def settings() -> None:
    """Print all settings in force as a commented cosqa.toml."""
    chosen = load_settings()
    options = sources.get(chosen.source.name).Options
    typer.echo(settings_reference(chosen, options), nl=False)
