"""The commands that take benchmarks as folders: ``cosqa leaderboard`` and ``cosqa diff``."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from flows.cli.options import Encoders, Methods, Model, Output, Store
from infra.settings import Settings, load_settings

Benchmark = Annotated[
    Path, typer.Option("--benchmark", help="An exported benchmark's folder, or a BEIR folder.")
]
Runs = Annotated[
    list[Path] | None,
    typer.Option("--run", help="TREC run that was made elsewhere; its stem names the method."),
]
Metrics = Annotated[
    list[str] | None,
    typer.Option(
        "--metric",
        help="NDCG@10, NDCG-exp@10, NDCG-condensed@10, MRR, MAP@100, MMRR, bpref, ...; repeat it.",
    ),
]
Depth = Annotated[int | None, typer.Option(help="Length of the rankings (default 1000).")]
AnnotateUnjudged = Annotated[
    bool,
    typer.Option(
        "--annotate-unjudged",
        help="Let the agents judge results among a method's first 10 that nobody judged.",
    ),
]
AtMost = Annotated[
    int | None,
    typer.Option("--at-most", min=1, help="Judge so many of those, the highest ranked first."),
]


def leaderboard(  # noqa: PLR0913 - one parameter an option: this is the command line itself
    *,
    benchmark: Benchmark,
    method: Methods = None,
    run: Runs = None,
    metric: Metrics = None,
    depth: Depth = None,
    encoder: Encoders = None,
    model: Model = None,
    store: Store = None,
    output: Output = None,
    annotate_unjudged: AnnotateUnjudged = False,
    at_most: AtMost = None,
) -> None:
    """Set methods side by side on a benchmark: intervals, significance, drawings.

    A method is a name such as bm25 or minilm, several fused (bm25+minilm), or either re-ranked by
    the language model (llm:bm25).
    """
    settings = load_settings(
        {
            "search": {"encoders": encoder or None},
            "llm": {"model": model},
            "store": {"folder": store},
            "publish": {"folder": output},
            "evaluation": {"methods": method or None, "metrics": metric or None, "depth": depth},
        }
    )
    to_judge = (at_most or sys.maxsize) if annotate_unjudged else 0
    _print_leaderboard(benchmark, run or [], settings, to_judge)


def _print_leaderboard(
    benchmark: Path, runs: list[Path], settings: Settings, to_judge: int
) -> None:
    # Prefect takes seconds to import, and --help must not wait for it.
    from flows.cli.console import console, quieten_expected_errors  # noqa: PLC0415
    from flows.cli.tables import print_leaderboard  # noqa: PLC0415
    from flows.leaderboard import leaderboard as flow  # noqa: PLC0415
    from flows.runtime.prefect_server import prefect_api  # noqa: PLC0415

    quieten_expected_errors()
    with prefect_api():
        written = flow(benchmark, runs, settings, unjudged_to_annotate=to_judge)
    print_leaderboard(written.before, "")
    if written.after:
        print_leaderboard(written.after, ", unjudged results judged")
    console.print(f"{written.unjudged:,} results among the first 10 were never judged")
    console.print(f"leaderboard: {written.folder / 'leaderboard.html'}")


def diff(
    before: Annotated[Path, typer.Argument(help="The first version's folder.")],
    after: Annotated[Path, typer.Argument(help="The second version's folder.")],
    *,
    method: Methods = None,
    metric: Metrics = None,
    store: Store = None,
    output: Output = None,
) -> None:
    """Say what changed between two exports: queries, codes, pairs, turned labels, scores."""
    settings = load_settings(
        {
            "store": {"folder": store},
            "publish": {"folder": output},
            "evaluation": {"methods": method or None, "metrics": metric or None},
        }
    )
    from flows.cli.console import quieten_expected_errors  # noqa: PLC0415 - see `_print_leaderboard`
    from flows.cli.tables import print_difference  # noqa: PLC0415
    from flows.diff import difference  # noqa: PLC0415
    from flows.runtime.prefect_server import prefect_api  # noqa: PLC0415

    quieten_expected_errors()
    with prefect_api():
        written = difference(before, after, settings)
    print_difference(written)
