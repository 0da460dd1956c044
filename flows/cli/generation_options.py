"""The options of ``cosqa generate``."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from flows.cli.input_options import (
    INSTEAD,
    JUDGE,
    Codes,
    Collection,
    Distribution,
    Preset,
    Queries,
    Source,
    SourceOption,
    SourcePath,
)
from flows.cli.options import Checkpoints, Encoders, Output, Store, TopK, pipeline
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
Writer = Annotated[
    str | None,
    typer.Option(
        "--model",
        metavar="NAME",
        help="Language model that writes the answers and verifies them, by litellm's name "
        "(openai/gpt-4o); another one than the pairs were judged by, if you like. Its key is read "
        "from COSQA_LLM__API_KEY. It must be given, here or in the settings.",
        rich_help_panel=JUDGE,
    ),
]
AnswersDryRun = Annotated[
    bool,
    typer.Option(
        "--dry-run",
        help="Print how many queries have no match and how many answers would be written.",
        rich_help_panel=INSTEAD,
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
    preset: Preset = None,
    source: Source = None,
    path: SourcePath = None,
    distribution: Distribution = None,
    queries: Queries = None,
    codes: Codes = None,
    source_option: SourceOption = None,
    collection: Collection = None,
    encoder: Encoders = None,
    checkpoint: Checkpoints = None,
    top_k: TopK = None,
    model: Writer = None,
    limit: GenerationLimit = None,
    confirmed: ConfirmedSheet = None,
    store: Store = None,
    output: Output = None,
    dry_run: AnswersDryRun = False,
) -> GenerationOptions:
    """Return what ``cosqa generate`` is to do.

    Raises:
        SettingsError: A value is out of bounds, or options contradict each other.
    """
    if dry_run and confirmed:
        raise SettingsError("--dry-run and --confirmed are both given: leave one out")
    settings = pipeline(
        ctx,
        preset=preset,
        source=source,
        path=path,
        distribution=distribution,
        queries=queries,
        codes=codes,
        source_option=source_option,
        collection=collection,
        encoder=encoder,
        checkpoint=checkpoint,
        top_k=top_k,
        model=model,
        store=store,
        output=output,
    ).settings
    if limit:
        generation = settings.generation.model_copy(update={"limit": limit})
        settings = settings.model_copy(update={"generation": generation})
    return GenerationOptions(settings, dry_run, confirmed)
