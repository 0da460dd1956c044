"""The options of ``cosqa study``: those of the pipeline, and files of figures."""

import inspect
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from flows.cli.options import pipeline
from infra.settings import Settings

_FILES = "Further figures"

AnnotatorFiles = Annotated[
    list[Path] | None,
    typer.Option(
        "--annotators",
        metavar="FILE",
        help="Accuracies of annotators, as `cosqa annotators compare --output FILE` writes them. "
        "Repeat it for several.",
        rich_help_panel=_FILES,
    ),
]
AnnotationStore = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="CodeSearchNet's annotationStore.csv, for its annotation statistics.",
        rich_help_panel=_FILES,
    ),
]
ScoreSheet = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Neural Code Search's score_sheet.csv, for its Table 1.",
        rich_help_panel=_FILES,
    ),
]


@dataclass(frozen=True)
class StudyOptions:
    """What ``cosqa study`` is to do."""

    settings: Settings
    annotators: tuple[Path, ...]
    annotation_store: Path | None
    score_sheet: Path | None


def study(
    ctx: typer.Context,
    *,
    annotators: AnnotatorFiles = None,
    annotation_store: AnnotationStore = None,
    score_sheet: ScoreSheet = None,
    **of_pipeline: object,
) -> StudyOptions:
    """Return what ``cosqa study`` is to do.

    Raises:
        SettingsError: A value is out of bounds.
    """
    chosen = pipeline(ctx, **of_pipeline)  # type: ignore[arg-type]
    return StudyOptions(chosen.settings, tuple(annotators or ()), annotation_store, score_sheet)


def _parameters() -> list[inspect.Parameter]:
    """Return the pipeline's parameters and then those of the files, as Typer reads them."""
    of_pipeline = inspect.signature(pipeline).parameters.values()
    own = inspect.signature(study).parameters.values()
    files = [each for each in own if each.kind is inspect.Parameter.KEYWORD_ONLY]
    return [*of_pipeline, *files]


study.__signature__ = inspect.Signature(_parameters(), return_annotation=StudyOptions)  # type: ignore[attr-defined]
study.__annotations__ = {
    each.name: each.annotation
    for each in study.__signature__.parameters.values()  # type: ignore[attr-defined]
}
