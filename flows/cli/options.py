"""The options that every command has, and what they mean for the settings."""

from pathlib import Path
from typing import Annotated

import typer

from infra.errors import SettingsError
from infra.settings import EMBEDDED_MODEL, Settings, load_settings
from tasks.encoders import encoders
from tasks.sources import sources

_INPUT, _SEARCH, _JUDGE, _OUTPUT = "What goes in", "Candidates", "Annotation", "What comes out"

Source = Annotated[
    str | None,
    typer.Option(
        help=f"One of {', '.join(sources.names())} (default python-source).",
        rich_help_panel=_INPUT,
    ),
]
SourcePath = Annotated[
    Path | None,
    typer.Option(
        "--path",
        help="Folder or file that the source reads; python-source reads the running "
        "interpreter's standard library without one.",
        rich_help_panel=_INPUT,
    ),
]
Distribution = Annotated[
    str | None,
    typer.Option(help="Installed distribution for python-source.", rich_help_panel=_INPUT),
]
Queries = Annotated[
    Path | None,
    typer.Option(help="JSON Lines file of queries.", rich_help_panel=_INPUT),
]
SourceOption = Annotated[
    list[str] | None,
    typer.Option(
        "--source-option",
        metavar="KEY=VALUE",
        help="Another option of the source, such as filters=testable,parseable; repeat it. "
        "`cosqa settings` prints those of the source in force.",
        rich_help_panel=_INPUT,
    ),
]
Collection = Annotated[
    str | None,
    typer.Option(help="Name in the store; the source's name by default.", rich_help_panel=_INPUT),
]
Encoders = Annotated[
    list[str] | None,
    typer.Option(
        "--encoder",
        help=f"One of {', '.join(encoders.names())} (default minilm); repeat it to average "
        "several.",
        rich_help_panel=_SEARCH,
    ),
]
TopK = Annotated[
    int | None,
    typer.Option(help="Candidates for each query (default 20).", rich_help_panel=_SEARCH),
]
Model = Annotated[
    str | None,
    typer.Option(
        help=f"litellm's name of the judging model; by default {EMBEDDED_MODEL}, which needs no "
        "key and whose labels are a demonstration. Its key: COSQA_LLM__API_KEY.",
        rich_help_panel=_JUDGE,
    ),
]
Limit = Annotated[
    int | None,
    typer.Option(help="Annotate the first N queries only.", rich_help_panel=_JUDGE),
]
Store = Annotated[
    Path | None,
    typer.Option(
        help="Folder of the artifact store (default cosqa-data).", rich_help_panel=_OUTPUT
    ),
]
Output = Annotated[
    Path | None,
    typer.Option(
        help="Folder of benchmarks and report (default cosqa-benchmarks).", rich_help_panel=_OUTPUT
    ),
]
AllowDemo = Annotated[
    bool | None,
    typer.Option(
        "--allow-demo", help="Export labels of the demo model too.", rich_help_panel=_OUTPUT
    ),
]
Methods = Annotated[
    list[str] | None,
    typer.Option(
        "--method",
        help="Retrieval method to score; repeat it. All lexical ones and the encoders by default.",
        rich_help_panel=_OUTPUT,
    ),
]


def settings_from(  # noqa: PLR0913 - one parameter an option: this is the command line itself
    *,
    source: Source = None,
    path: SourcePath = None,
    distribution: Distribution = None,
    queries: Queries = None,
    source_option: SourceOption = None,
    collection: Collection = None,
    encoder: Encoders = None,
    top_k: TopK = None,
    model: Model = None,
    limit: Limit = None,
    store: Store = None,
    output: Output = None,
    allow_demo: AllowDemo = None,
    method: Methods = None,
) -> Settings:
    """Return the settings with what the command line gave on top.

    Raises:
        SettingsError: A value is out of bounds.
    """
    return load_settings(
        {
            "source": {
                "name": source,
                "path": path,
                "distribution": distribution,
                "queries": queries,
                "collection": collection,
                **_pairs(source_option or []),
            },
            "search": {"encoders": encoder or None, "top_k": top_k},
            "llm": {"model": model},
            "annotation": {"limit": limit},
            "store": {"folder": store},
            "publish": {"folder": output, "allow_demo": allow_demo},
            "evaluation": {"methods": method or None},
        }
    )


def _pairs(options: list[str]) -> dict[str, str]:
    for option in options:
        if "=" not in option:
            raise SettingsError(f"--source-option {option} has no value: write {option}=VALUE")
    return dict(option.split("=", 1) for option in options)
