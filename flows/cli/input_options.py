"""The options that say what queries and code are read from."""

from pathlib import Path
from typing import Annotated

import typer

from infra.settings import Section, SourceSettings
from infra.settings.presets import preset_names
from tasks.sources import sources

_INPUT = "Input"

# Panels that the help of several files of options shares.
JUDGE, SCORING, INSTEAD = "Annotation", "Scoring", "Instead of running"


def default(section: type[Section], field: str) -> str:
    """Return the default of a setting, for the help of the option that sets it."""
    value = section.model_fields[field].default
    return ", ".join(value) if isinstance(value, tuple) else str(value)


Preset = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help=f"Settings of a published benchmark: one of {', '.join(preset_names())}. "
        "What is set elsewhere, here or in cosqa.toml, comes before them; "
        "`cosqa settings --preset NAME` prints them.",
        show_default="none",
        rich_help_panel=_INPUT,
    ),
]
Source = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help=f"Where queries and code come from: one of {', '.join(sources)}.",
        show_default=default(SourceSettings, "name"),
        rich_help_panel=_INPUT,
    ),
]
SourcePath = Annotated[
    Path | None,
    typer.Option(
        "--path",
        metavar="PATH",
        help="Folder or file that the source reads.",
        show_default="python-source: Python's standard library",
        rich_help_panel=_INPUT,
    ),
]
Distribution = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME",
        help="Installed distribution that python-source reads, in place of --path. Repeat it for "
        "several.",
        rich_help_panel=_INPUT,
    ),
]
Queries = Annotated[
    str | None,
    typer.Option(
        metavar="FILE|NAME[=PATH]",
        help='JSON Lines, {"query": "..."} each, or the queries of another source (cosqa=CoSQA/).',
        show_default="python-source: 40 for the standard library",
        rich_help_panel=_INPUT,
    ),
]
Codes = Annotated[
    list[str] | None,
    typer.Option(
        "--codes",
        metavar="NAME[=PATH]",
        help="Source that code is read from, apart from the queries (codesearchnet=python/). "
        "Repeat it for several, whose code is put together in this order.",
        show_default="the source's own",
        rich_help_panel=_INPUT,
    ),
]
SourceOption = Annotated[
    list[str] | None,
    typer.Option(
        "--source-option",
        metavar="[NAME.]KEY=VALUE",
        help="Another option of the source, such as filters=testable,parseable, or of one named in "
        "--queries or --codes (codesearchnet.filters=testable). Repeat it for several; `cosqa "
        "settings` prints those of the chosen source.",
        rich_help_panel=_INPUT,
    ),
]
Collection = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Name of the queries and code in the store and of what is exported.",
        show_default="the source's name",
        rich_help_panel=_INPUT,
    ),
]
Reread = Annotated[
    bool | None,
    typer.Option(
        "--reread",
        help="Read the input again even if no file, option or filter of it has changed.",
        rich_help_panel=_INPUT,
    ),
]
