"""The options of ``cosqa forecast``."""

from dataclasses import dataclass
from typing import Annotated

import typer

from flows.cli.input_options import JUDGE, SCORING, Preset, default
from flows.cli.options import (
    Batch,
    Checkpoints,
    Encoders,
    Methods,
    Store,
    TopK,
)
from flows.cli.pairs import named_folders
from infra.errors import SettingsError
from infra.machine import memory_gb, this_machine
from infra.settings import AnnotationSettings, EvaluationSettings, Settings, load_settings
from tasks.forecast.workload import Cluster

_SIZE, _CLUSTER = "Size", "Cluster"

Codes = Annotated[
    int, typer.Option(min=1, metavar="N", help="Number of functions.", rich_help_panel=_SIZE)
]
Queries = Annotated[
    int, typer.Option(min=1, metavar="N", help="Number of queries.", rich_help_panel=_SIZE)
]
NumberOfEncoders = Annotated[
    int | None,
    typer.Option(
        "--encoders",
        min=1,
        max=20,
        metavar="N",
        help="Forecast N encoders of base size (85 million parameters without embeddings, 768 "
        "dimensions) in place of named ones.",
        show_default="those of --encoder",
        rich_help_panel=_SIZE,
    ),
]
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
JudgingModel = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Language model that judges, by litellm's name (openai/gpt-4o-mini). What its calls "
        "took in this store comes first, then litellm's prices.",
        show_default="the CoSQA+ paper's mean cost of a pair",
        rich_help_panel=JUDGE,
    ),
]
InFlight = Annotated[
    int | None,
    typer.Option(
        min=1,
        metavar="N",
        help="Pairs that wait for the model at once, over all nodes.",
        show_default=default(AnnotationSettings, "in_flight"),
        rich_help_panel=JUDGE,
    ),
]
Depth = Annotated[
    int | None,
    typer.Option(
        min=10,
        metavar="N",
        help="Results that each method ranks for a query.",
        show_default=default(EvaluationSettings, "depth"),
        rich_help_panel=SCORING,
    ),
]
Nodes = Annotated[
    int,
    typer.Option(min=1, metavar="N", help="Number of machines.", rich_help_panel=_CLUSTER),
]
Cores = Annotated[
    int | None,
    typer.Option(
        min=1,
        metavar="N",
        help="Cores of each machine.",
        show_default="those of this one",
        rich_help_panel=_CLUSTER,
    ),
]
Gpus = Annotated[
    int | None,
    typer.Option(
        min=0,
        metavar="N",
        help="GPUs of each machine.",
        show_default="those of this one",
        rich_help_panel=_CLUSTER,
    ),
]
MemoryGb = Annotated[
    float | None,
    typer.Option(
        "--memory-gb",
        min=0.5,
        metavar="X",
        help="Memory of each machine, in GB: stages that need more are named.",
        show_default="that of this one; unknown with --nodes or --cores, and none is named",
        rich_help_panel=_CLUSTER,
    ),
]
AsJson = Annotated[
    bool, typer.Option("--json", help="Print everything as JSON, in seconds, GB and US dollars.")
]


@dataclass(frozen=True)
class ForecastOptions:
    """What ``cosqa forecast`` is to do."""

    settings: Settings
    codes: int
    queries: int
    base_sized: int | None
    cluster: Cluster
    as_json: bool


def forecast(
    *,
    codes: Codes,
    queries: Queries,
    encoders: NumberOfEncoders = None,
    preset: Preset = None,
    encoder: Encoders = None,
    checkpoint: Checkpoints = None,
    top_k: TopK = None,
    model: JudgingModel = None,
    rounds: Rounds = None,
    in_flight: InFlight = None,
    batch: Batch = None,
    method: Methods = None,
    depth: Depth = None,
    nodes: Nodes = 1,
    cores: Cores = None,
    gpus: Gpus = None,
    memory: MemoryGb = None,
    store: Store = None,
    as_json: AsJson = False,
) -> ForecastOptions:
    """Return what ``cosqa forecast`` is to do.

    Raises:
        SettingsError: A value is out of bounds, or options contradict each other.
    """
    if encoders and encoder:
        raise SettingsError("--encoders and --encoder are both given: leave one out")
    settings = load_settings(
        {
            "search": {"encoders": encoder or None, "top_k": top_k},
            "encoder": {"checkpoints": named_folders("--checkpoint", checkpoint or [])},
            "llm": {"model": model},
            "annotation": {"rounds": rounds, "in_flight": in_flight, "batch": batch},
            "evaluation": {"methods": method or None, "depth": depth},
            "store": {"folder": store},
        },
        preset,
    )
    cluster = _cluster(nodes, cores, gpus, memory).model_copy(
        update={
            "in_flight": settings.annotation.in_flight,
            "requests_per_minute": settings.llm.requests_per_minute,
            "tokens_per_minute": settings.llm.tokens_per_minute,
            "batch": settings.annotation.batch,
        }
    )
    return ForecastOptions(settings, codes, queries, encoders, cluster, as_json)


def _cluster(nodes: int, cores: int | None, gpus: int | None, memory: float | None) -> Cluster:
    """Return the described cluster; what is not described is this machine's."""
    here = this_machine()
    return Cluster(
        nodes=nodes,
        cores=cores or here.cores,
        gpus=here.gpus if gpus is None else gpus,
        memory_gb=memory or (memory_gb() if cores is None and nodes == 1 else None),
    )
