"""``cosqa annotators``: how far labels can be trusted."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, get_args

import typer

from infra.errors import SettingsError
from infra.settings import Configuration, load_settings

if TYPE_CHECKING:
    from tasks.annotators import AnnotatorScore

app = typer.Typer(help="How far labels can be trusted.", no_args_is_help=True)

CONFIGURATIONS: tuple[Configuration, ...] = get_args(Configuration)
_FIGURES = (
    "pairs", "decided", "accuracy", "95% interval", "precision", "recall", "kappa", "alpha",
    "executable", "valid oracles", "mutation score", "tokens", "USD", "seconds",
)  # fmt: skip


@app.callback()
def annotators() -> None:
    """Measure annotators."""


@app.command()
def compare(
    truth: Annotated[Path, typer.Option(help="JSON Lines, or CoSQA's JSON, of labelled pairs.")],
    model: Annotated[list[str] | None, typer.Option(help="Repeat it to compare several.")] = None,
    configuration: Annotated[
        list[str] | None,
        typer.Option(help=f"Repeat it; all by default: {', '.join(CONFIGURATIONS)}."),
    ] = None,
    limit: Annotated[int | None, typer.Option(help="Take the first N pairs only.")] = None,
    store: Annotated[Path | None, typer.Option(help="Folder of the artifact store.")] = None,
    output: Annotated[Path | None, typer.Option(help="File for the figures, as JSON.")] = None,
) -> None:
    """Score every configuration of the agents, and people, against known labels."""
    from tasks.annotators import compare_annotators  # noqa: PLC0415 - takes seconds to import
    from tasks.truth import read_truth  # noqa: PLC0415

    chosen = _chosen(configuration or [])
    settings = load_settings({"store": {"folder": store}})
    pairs = read_truth(truth, limit)
    scores = list(compare_annotators(pairs, settings, model or [settings.llm.model], chosen))
    _print(scores)
    if output:
        figures = [score.model_dump(mode="json") for score in scores]
        output.write_text(json.dumps(figures, indent=1, ensure_ascii=False) + "\n", "utf-8")


def _chosen(names: Sequence[str]) -> list[Configuration]:
    for name in names:
        if name not in CONFIGURATIONS:
            raise SettingsError(
                f"there is no configuration {name!r}: must be one of {', '.join(CONFIGURATIONS)}"
            )
    return [name for name in CONFIGURATIONS if name in names or not names]


def _print(scores: "Sequence[AnnotatorScore]") -> None:
    """Print a block for each annotator: fourteen figures fit no terminal side by side."""
    from flows.console import console  # noqa: PLC0415

    for score in scores:
        marked = " (demonstration: worthless as judgement)" if score.demo else ""
        console.print(f"{score.name}{marked}", style="bold", markup=False)
        for name, value in zip(_FIGURES, _values(score), strict=True):
            console.print(f"  {name:<15}{value:>20}", markup=False)


def _values(score: "AnnotatorScore") -> list[str]:
    found = score.agreement
    interval = f"{_figure(found.accuracy_low)} to {_figure(found.accuracy_high)}"
    failed = f" ({score.failed} failed)" if score.failed else ""
    price = "unknown" if score.seconds is not None else "-"
    middle = (
        found.precision, found.recall, found.kappa, found.alpha,
        score.executable, score.valid_oracles, score.mutation_score,
    )  # fmt: skip
    return [
        f"{found.pairs:,}{failed}",
        f"{found.decided:,}",
        _figure(found.accuracy),
        interval,
        *map(_figure, middle),
        _figure(score.tokens, ",.0f"),
        _figure(score.usd, ".6f", price),
        _figure(score.seconds, ".2f"),
    ]


def _figure(value: float | None, form: str = ".3f", missing: str = "-") -> str:
    return missing if value is None else format(value, form)
