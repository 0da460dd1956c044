"""``cosqa annotators``: how far labels can be trusted."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, get_args

import typer

from infra.errors import SettingsError
from infra.settings import Configuration, Settings, load_settings

if TYPE_CHECKING:
    from rich.table import Table

    from tasks.stages.compare_annotators import AnnotatorScore, JudgedTruth

app = typer.Typer(help="How far labels can be trusted.", no_args_is_help=True)

CONFIGURATIONS: tuple[Configuration, ...] = get_args(Configuration)
_JUDGEMENT = ("decided", "accuracy", "95% interval", "precision", "recall", "kappa", "alpha")
_EVIDENCE = ("executable", "valid oracles", "mutation score", "tokens", "USD", "seconds")
_NOTES = """\
decided: of the pairs that were judged; those with model or box out of reach are left out
accuracy: right labels in these pairs, so an undecided pair is not right; interval: Wilson's
always: the commoner label without looking; who has no higher accuracy knows nothing
precision, recall, kappa (Cohen), alpha (Krippendorff): over the decided pairs
executable: test programs whose last form ran to its end; valid oracles: those that passed the gates
tokens, USD, seconds: mean for a pair, as if no reply had come from the store"""


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
    """Score every configuration of the agents, people, and chance against known labels."""
    from tasks.benchmarks.labelled_pairs import read_truth  # noqa: PLC0415
    from tasks.stages.compare_annotators import annotator_scores  # noqa: PLC0415 - takes seconds to import

    chosen = _chosen(configuration or [])
    settings = load_settings({"store": {"folder": store}})
    pairs = read_truth(truth, limit)
    judged = _judged(truth, model or [settings.llm.model], chosen, settings, limit)
    scores = list(annotator_scores(pairs, judged, settings.store))
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


def _judged(
    truth: Path,
    models: Sequence[str],
    configurations: Sequence[Configuration],
    settings: Settings,
    limit: int | None,
) -> "Sequence[JudgedTruth]":
    """Run the flow, whose log says when an annotator is done: all of them take long."""
    from flows.cli.console import quieten_expected_errors  # noqa: PLC0415
    from flows.compare_annotators import compare_annotators  # noqa: PLC0415
    from flows.runtime.prefect_server import prefect_api  # noqa: PLC0415

    quieten_expected_errors()
    with prefect_api():
        return compare_annotators(truth, models, configurations, settings, limit=limit)


def _print(scores: "Sequence[AnnotatorScore]") -> None:
    """Print for each model how well it judges, then what its labels rest on and cost."""
    from flows.cli.console import console  # noqa: PLC0415

    others = [score for score in scores if not score.model]
    for model in dict.fromkeys(score.model for score in scores if score.model):
        agents = [score for score in scores if score.model == model]
        demo = " (demonstration: worthless as judgement)" if any(s.demo for s in agents) else ""
        judged = [(_name(score), _judgement(score)) for score in (*others, *agents)]
        console.print(_table(f"{model} against the truth{demo}", _JUDGEMENT, judged))
        proven = [(_name(score), _evidence(score)) for score in agents]
        console.print(_table(f"{model}: evidence and cost of a pair", _EVIDENCE, proven))
    console.print(_NOTES, markup=False)
    for score in scores:
        if score.failed:
            console.print(f"{score.name}: {score.failed:,} pairs out of reach", markup=False)


def _table(title: str, names: Sequence[str], rows: Sequence[tuple[str, Sequence[str]]]) -> "Table":
    from rich.box import SIMPLE_HEAD  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415

    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("annotator", overflow="fold", min_width=9)
    for place, name in enumerate(names):
        width = max(len(figures[place]) for _, figures in rows)
        table.add_column(name, justify="right", min_width=width)
    for name, figures in rows:
        table.add_row(name, *figures)
    return table


def _name(score: "AnnotatorScore") -> str:
    return score.name.removesuffix(f" · {score.model}")


def _judgement(score: "AnnotatorScore") -> list[str]:
    found = score.agreement
    return [
        f"{found.decided:,} of {found.pairs:,}",
        _figure(found.accuracy),
        f"{_figure(found.accuracy_low)} to {_figure(found.accuracy_high)}",
        *map(_figure, (found.precision, found.recall, found.kappa, found.alpha)),
    ]


def _evidence(score: "AnnotatorScore") -> list[str]:
    return [
        *map(_figure, (score.executable, score.valid_oracles, score.mutation_score)),
        _figure(score.tokens, ",.0f"),
        _figure(score.usd, ".6f", "unknown"),
        _figure(score.seconds, ".2f"),
    ]


def _figure(value: float | None, form: str = ".3f", missing: str = "-") -> str:
    return missing if value is None else format(value, form)
