"""The options of ``cosqa estimate``."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from flows.cli.input_options import SCORING, default
from flows.cli.options import Checkpoints, Output, Store
from flows.cli.pairs import named_folders
from infra.settings import EstimationSettings, SearchSettings, Settings, load_settings
from tasks.encoders import SYNTAX, encoders

_LABELS = "Labels"

Train = Annotated[
    Path,
    typer.Option(
        metavar="PATH",
        help="Queries with known matches that the others are compared with, such as the pairs that "
        "the encoder was trained on: an exported benchmark, a BEIR folder (or its "
        "qrels/train.tsv), a folder of CodeSearchNet's jsonl files, or JSON Lines of query, code "
        "and label.",
    ),
]
Queries = Annotated[
    Path,
    typer.Option(
        metavar="PATH",
        help='Queries without labels, as JSON Lines, {"query": "..."} on each line; or those of '
        "anything that --train takes.",
    ),
]
EstimatedMethods = Annotated[
    list[str] | None,
    typer.Option(
        "--method",
        metavar="NAME",
        help=f"Encoder whose scores are estimated: one of {', '.join(encoders)}; or {SYNTAX}. "
        "Repeat it to compare several.",
        show_default=default(SearchSettings, "encoders"),
        rich_help_panel=SCORING,
    ),
]
Neighbours = Annotated[
    int | None,
    typer.Option(
        "--k",
        min=1,
        metavar="N",
        help="Training queries that a query is compared with.",
        show_default=default(EstimationSettings, "k"),
        rich_help_panel=SCORING,
    ),
]
EstimatedMetrics = Annotated[
    list[str] | None,
    typer.Option(
        "--metric",
        metavar="NAME",
        help="Metric to estimate: MRR, Answered@5, NDCG@10, Recall@10, or with another number. The "
        "first one is planned for. Repeat it for several.",
        show_default=default(EstimationSettings, "metrics"),
        rich_help_panel=SCORING,
    ),
]
Anyway = Annotated[
    bool | None,
    typer.Option(
        "--anyway",
        help="Give an estimate even if the queries lie too far from the training queries.",
        rich_help_panel=SCORING,
    ),
]
JudgedBenchmark = Annotated[
    Path | None,
    typer.Option(
        "--judged",
        metavar="FOLDER",
        help="Benchmark, exported or BEIR, whose queries are a random sample of --queries.",
        rich_help_panel=_LABELS,
    ),
]
HalfWidth = Annotated[
    float | None,
    typer.Option(
        metavar="X",
        help="Say how many queries to label for an interval of ± X, and list them.",
        show_default=default(EstimationSettings, "half_width"),
        rich_help_panel=_LABELS,
    ),
]


@dataclass(frozen=True)
class EstimateOptions:
    """What ``cosqa estimate`` is to do."""

    train: Path
    queries: Path
    judged: Path | None
    settings: Settings


def estimate(
    *,
    train: Train,
    queries: Queries,
    judged: JudgedBenchmark = None,
    half_width: HalfWidth = None,
    method: EstimatedMethods = None,
    k: Neighbours = None,
    metric: EstimatedMetrics = None,
    anyway: Anyway = None,
    checkpoint: Checkpoints = None,
    store: Store = None,
    output: Output = None,
) -> EstimateOptions:
    """Return what ``cosqa estimate`` is to do.

    Raises:
        SettingsError: A value is out of bounds.
    """
    settings = load_settings(
        {
            "encoder": {"checkpoints": named_folders("--checkpoint", checkpoint or [])},
            "store": {"folder": store},
            "publish": {"folder": output},
            "evaluation": {"methods": method or None},
            "estimation": {"k": k, "metrics": metric or None, "half_width": half_width}
            | {"anyway": anyway},
        }
    )
    return EstimateOptions(train, queries, judged, settings)
