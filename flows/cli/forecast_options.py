"""The options of ``cosqa forecast``."""

from dataclasses import dataclass
from typing import Annotated

import typer

from flows.cli.input_options import JUDGE, Preset, default
from flows.cli.options import Batch, Model, Store, TopK
from infra.settings import AnnotationSettings, Settings, load_settings

Queries = Annotated[int, typer.Option(min=1, metavar="N", help="Number of queries.")]
Rounds = Annotated[
    int | None,
    typer.Option(
        min=1,
        metavar="N",
        help="How often each pair is judged.",
        show_default=default(AnnotationSettings, "rounds"),
        rich_help_panel=JUDGE,
    ),
]
InFlight = Annotated[
    int | None,
    typer.Option(
        min=1,
        metavar="N",
        help="Pairs that wait for the model at once, over all machines.",
        show_default=default(AnnotationSettings, "in_flight"),
        rich_help_panel=JUDGE,
    ),
]
Cores = Annotated[
    int | None,
    typer.Option(
        min=1,
        metavar="N",
        help="Cores of all machines, which run the boxes.",
        show_default="those of this machine",
        rich_help_panel=JUDGE,
    ),
]


@dataclass(frozen=True)
class ForecastOptions:
    """What ``cosqa forecast`` is to do."""

    settings: Settings
    queries: int
    cores: int | None


def forecast(
    *,
    queries: Queries,
    top_k: TopK = None,
    preset: Preset = None,
    model: Model = None,
    rounds: Rounds = None,
    in_flight: InFlight = None,
    batch: Batch = None,
    cores: Cores = None,
    store: Store = None,
) -> ForecastOptions:
    """Return what ``cosqa forecast`` is to do.

    Raises:
        SettingsError: A value is out of bounds, or options contradict each other.
    """
    settings = load_settings(
        {
            "search": {"top_k": top_k},
            "llm": {"model": model},
            "annotation": {"rounds": rounds, "in_flight": in_flight, "batch": batch},
            "store": {"folder": store},
        },
        preset,
    )
    return ForecastOptions(settings, queries, cores)
