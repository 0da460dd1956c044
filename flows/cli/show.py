"""The commands that print what there is to choose from: ``cosqa list`` and ``cosqa settings``."""

from collections.abc import Callable, Mapping
from typing import Any, cast

import typer

from flows.options import Names, Preset
from infra.languages import languages
from infra.registry import Registry
from infra.settings import CONFIGURATION_SUMMARIES
from infra.settings.presets import load_preset, preset_names
from infra.settings.reference import settings_reference
from tasks.encoders import SYNTAX, encoders
from tasks.estimators import estimators
from tasks.filters import filters
from tasks.metrics import metrics
from tasks.retrievers import retrievers
from tasks.sources import check_options, sources
from tasks.studies import studies
from tasks.suites import suites

_REGISTRIES: Mapping[str, tuple[Registry[Any], ...]] = {
    "sources": (sources,),
    "filters": (filters,),
    "encoders": (encoders,),
    "methods": (retrievers, encoders),
    "metrics": (metrics,),
    "suites": (suites,),
    "studies": (studies,),
    "estimators": (estimators,),
    "languages": (languages,),
}


def names(options: Names) -> None:
    """Print the names of one kind, a line each, with what they mean."""
    kind = options.kind
    if kind == "encoders":
        _print_encoders()
        return
    if kind == "configurations":
        listed = cast("dict[str, str]", dict(CONFIGURATION_SUMMARIES))
    elif kind == "presets":
        listed = {name: load_preset(name).about for name in preset_names()}
    else:
        listed = {
            name: _summary(registry.get(name))
            for registry in _REGISTRIES[kind]
            for name in registry
        }
    width = max(map(len, listed), default=0)
    for name, about in listed.items():
        typer.echo(f"{name:<{width}}  {about}".rstrip())


def _print_encoders() -> None:
    """Print a line for each encoder: name, dimensions, licence, model and its revision."""
    specs = [encoders.get(name).spec for name in encoders]
    name_width = max(len(spec.name) for spec in specs)
    licence_width = max(len(spec.licence) for spec in specs)
    for spec in specs:
        revision = spec.revision[:12] if len(spec.revision) == 40 else spec.revision
        typer.echo(
            f"{spec.name:<{name_width}}  {spec.dimension:>4} dimensions  "
            f"{spec.licence:<{licence_width}}  {spec.model} ({revision})"
        )
    typer.echo(f"\nOthers: {SYNTAX}.", err=True)


def _summary(factory: Callable[..., object]) -> str:
    """Return the first line of a plug-in's docstring, "" where it has none."""
    return (factory.__doc__ or "").partition("\n")[0]


def settings(options: Preset) -> None:
    """Print all settings in force as a commented cosqa.toml."""
    chosen = options.settings
    check_options(chosen.source)
    of_source = sources.get(chosen.source.name).Options
    typer.echo(settings_reference(chosen, of_source), nl=False)
