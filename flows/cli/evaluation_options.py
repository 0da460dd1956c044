"""The options of the commands that measure: ``leaderboard``, ``diff``, ``annotators compare``.

Each function has a command's options as its parameters and returns what they mean.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from flows.cli.input_options import JUDGE, SCORING, default
from flows.cli.options import Checkpoints, Methods, Model, Output, Store
from flows.cli.pairs import named_folders
from infra.errors import SettingsError
from infra.outputs import require_writable
from infra.registry import unknown_name
from infra.settings import (
    COMPARED_CONFIGURATIONS,
    CONFIGURATION_SUMMARIES,
    Configuration,
    EvaluationSettings,
    SearchSettings,
    Settings,
    load_settings,
)
from tasks.encoders import SYNTAX, encoders
from tasks.metrics import metrics

Benchmark = Annotated[
    Path,
    typer.Option(
        "--benchmark",
        metavar="FOLDER",
        help="Folder of an exported benchmark, or a BEIR folder (or its qrels/SPLIT.tsv).",
    ),
]
Runs = Annotated[
    list[Path] | None,
    typer.Option(
        "--run",
        metavar="FILE",
        help="Rankings of a method made elsewhere, as a TREC run; the file's name without its "
        "ending names the method. Repeat it for several.",
        rich_help_panel=SCORING,
    ),
]
Metrics = Annotated[
    list[str] | None,
    typer.Option(
        "--metric",
        metavar="NAME",
        help=f"Metric to compute: {', '.join(metrics)}. Add @k to cut the rankings (NDCG@10), "
        "-condensed to ignore unjudged results, -zero to count queries without a relevant code as "
        "0. The first one orders the table. Repeat it for several.",
        show_default="NDCG@10, MRR, MAP, MMRR, Recall@10, Answered@5",
        rich_help_panel=SCORING,
    ),
]
Encoders = Annotated[
    list[str] | None,
    typer.Option(
        "--encoder",
        metavar="NAME",
        help=f"Encoder to score beside the lexical methods where no --method is given: one of "
        f"{', '.join(encoders)}; or {SYNTAX}. Repeat it for several.",
        show_default=default(SearchSettings, "encoders"),
        rich_help_panel=SCORING,
    ),
]
Depth = Annotated[
    int | None,
    typer.Option(
        min=10,
        metavar="N",
        help="Length of the rankings.",
        show_default=default(EvaluationSettings, "depth"),
        rich_help_panel=SCORING,
    ),
]
AnnotateUnjudged = Annotated[
    bool,
    typer.Option(
        "--annotate-unjudged",
        help="Let the agents judge the unjudged results among the first 10 of each method, and "
        "score again. Approval is asked for as COSQA_OPERATION__APPROVAL says.",
        rich_help_panel=JUDGE,
    ),
]
AtMost = Annotated[
    int | None,
    typer.Option(
        min=1,
        metavar="N",
        help="With --annotate-unjudged: annotate at most N results, best-ranked first.",
        show_default="all of them",
        rich_help_panel=JUDGE,
    ),
]


@dataclass(frozen=True)
class LeaderboardOptions:
    """What ``cosqa leaderboard`` is to do."""

    benchmark: Path
    runs: Sequence[Path]
    settings: Settings
    unjudged_to_annotate: int


def leaderboard(
    *,
    benchmark: Benchmark,
    method: Methods = None,
    run: Runs = None,
    metric: Metrics = None,
    depth: Depth = None,
    encoder: Encoders = None,
    checkpoint: Checkpoints = None,
    annotate_unjudged: AnnotateUnjudged = False,
    at_most: AtMost = None,
    model: Model = None,
    store: Store = None,
    output: Output = None,
) -> LeaderboardOptions:
    """Return what ``cosqa leaderboard`` is to do.

    Raises:
        SettingsError: A value is out of bounds, or --at-most has nothing to limit.
    """
    if at_most and not annotate_unjudged:
        raise SettingsError(
            f"--at-most {at_most} limits what --annotate-unjudged annotates: give that too"
        )
    settings = load_settings(
        {
            "search": {"encoders": encoder or None},
            "encoder": {"checkpoints": named_folders("--checkpoint", checkpoint or [])},
            "llm": {"model": model},
            "store": {"folder": store},
            "publish": {"folder": output},
            "evaluation": {"methods": method or None, "metrics": metric or None, "depth": depth},
        }
    )
    unjudged = (at_most or sys.maxsize) if annotate_unjudged else 0
    return LeaderboardOptions(benchmark, run or [], settings, unjudged)


@dataclass(frozen=True)
class DiffOptions:
    """What ``cosqa diff`` is to compare."""

    before: Path
    after: Path
    settings: Settings


def diff(
    before: Annotated[Path, typer.Argument(help="Folder of the first version.")],
    after: Annotated[Path, typer.Argument(help="Folder of the second version.")],
    *,
    method: Methods = None,
    checkpoint: Checkpoints = None,
    metric: Metrics = None,
    store: Store = None,
    output: Output = None,
) -> DiffOptions:
    """Return what ``cosqa diff`` is to compare.

    Raises:
        SettingsError: A value is out of bounds.
    """
    settings = load_settings(
        {
            "encoder": {"checkpoints": named_folders("--checkpoint", checkpoint or [])},
            "store": {"folder": store},
            "publish": {"folder": output},
            "evaluation": {"methods": method or None, "metrics": metric or None},
        }
    )
    return DiffOptions(before, after, settings)


@dataclass(frozen=True)
class CompareOptions:
    """What ``cosqa annotators compare`` is to compare."""

    truth: Path
    models: Sequence[str]
    configurations: Sequence[Configuration]
    limit: int | None
    settings: Settings
    output: Path | None


Truth = Annotated[
    Path,
    typer.Option(
        metavar="FILE",
        help='Pairs with known labels: JSON Lines of {"query": ..., "code": ..., "label": 1 or 0}, '
        "or CoSQA's JSON.",
    ),
]


def compare_annotators(
    *,
    truth: Truth,
    model: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Language model that judges, by litellm's name. Repeat it for several.",
            show_default="that of the settings",
        ),
    ] = None,
    configuration: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help=f"Which agents judge: one of {', '.join(CONFIGURATION_SUMMARIES)}. Repeat it for "
            "several; `cosqa list configurations` says what each means.",
            show_default="the rows of the paper's ablation, and gated",
        ),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Take the first N pairs only."),
    ] = None,
    store: Store = None,
    output: Annotated[
        Path | None,
        typer.Option(dir_okay=False, metavar="FILE", help="File for the figures, as JSON."),
    ] = None,
) -> CompareOptions:
    """Return what ``cosqa annotators compare`` is to compare; the output's folder is made.

    Raises:
        SettingsError: A configuration is unknown, or the output cannot be written.
    """
    for name in configuration or ():
        if name not in CONFIGURATION_SUMMARIES:
            known = list(CONFIGURATION_SUMMARIES)
            raise SettingsError(unknown_name("configuration", name, known))
    chosen = [
        name
        for name in CONFIGURATION_SUMMARIES
        if name in (configuration or COMPARED_CONFIGURATIONS)
    ]
    settings = load_settings({"store": {"folder": store}})
    if output:
        require_writable(output)
    return CompareOptions(truth, model or [settings.llm.model], chosen, limit, settings, output)


def labelling_rounds(*, store: Store = None) -> Settings:
    """Return the settings of ``cosqa annotators rounds``."""
    return load_settings({"store": {"folder": store}})
