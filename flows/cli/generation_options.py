"""The options of ``cosqa generate``."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from flows.cli.options import (
    Collection,
    Distribution,
    DryRun,
    Encoders,
    Model,
    Output,
    Queries,
    Source,
    SourceOption,
    SourcePath,
    Store,
    TopK,
    pipeline,
)
from infra.errors import SettingsError
from infra.settings import Settings

GenerationLimit = Annotated[
    int | None,
    typer.Option(
        min=1,
        metavar="N",
        help="Write answers for the first N queries without a match only.",
        show_default="all of them",
    ),
]
ConfirmedSheet = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Read a sheet back on which people confirmed (relevance 1) or refused (0) answers or "
        "changed their code; nothing is written by a model. It needs --store alone.",
    ),
]


@dataclass(frozen=True)
class GenerationOptions:
    """What ``cosqa generate`` is to do; ``confirmed`` is a sheet to read back instead."""

    settings: Settings
    dry_run: bool
    confirmed: Path | None


def generate(
    ctx: typer.Context,
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
    limit: GenerationLimit = None,
    confirmed: ConfirmedSheet = None,
    store: Store = None,
    output: Output = None,
    dry_run: DryRun = False,
) -> GenerationOptions:
    """Return what ``cosqa generate`` is to do.

    Raises:
        SettingsError: A value is out of bounds, or options contradict each other.
    """
    if dry_run and confirmed:
        raise SettingsError("--dry-run and --confirmed are both given: leave one out")
    settings = pipeline(
        ctx,
        source=source,
        path=path,
        distribution=distribution,
        queries=queries,
        source_option=source_option,
        collection=collection,
        encoder=encoder,
        top_k=top_k,
        model=model,
        store=store,
        output=output,
    ).settings
    if limit:
        generation = settings.generation.model_copy(update={"limit": limit})
        settings = settings.model_copy(update={"generation": generation})
    return GenerationOptions(settings, dry_run, confirmed)
