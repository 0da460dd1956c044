"""The options of the pipeline's commands, and those that other commands share with them.

The function `pipeline` has the options as its parameters and returns what they mean. Nothing heavy
is imported here: ``--help`` reads this file.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import typer

from flows.cli.input_options import (
    INSTEAD,
    JUDGE,
    SCORING,
    Codes,
    Collection,
    Distribution,
    Preset,
    Queries,
    Reread,
    Source,
    SourceOption,
    SourcePath,
    default,
)
from flows.cli.pairs import named_folders, source_options
from flows.cli.reannotation_options import (
    BudgetUsd,
    Pairs,
    Plan,
    Reasons,
    reannotation,
    refuse_several,
)
from infra.settings import (
    LanguageModelSettings,
    PublishSettings,
    SearchSettings,
    Settings,
    StoreSettings,
    load_settings,
)
from tasks.encoders import SYNTAX, encoders
from tasks.retrievers import retrievers

SAMPLE = "sample"  # the preset that runs where nothing else is asked for
_SEARCH, _OUTPUT = "Candidates", "Output"


Encoders = Annotated[
    list[str] | None,
    typer.Option(
        "--encoder",
        metavar="NAME",
        help=f"Encoder that candidates are found by: one of {', '.join(encoders)}; or {SYNTAX}. "
        "Repeat it to average the similarities of several.",
        show_default=default(SearchSettings, "encoders"),
        rich_help_panel=_SEARCH,
    ),
]
Checkpoints = Annotated[
    list[str] | None,
    typer.Option(
        "--checkpoint",
        metavar="NAME=FOLDER",
        help="Folder whose checkpoint stands in for that of an encoder, such as "
        "codebert-search=FOLDER. Repeat it for several.",
        rich_help_panel=_SEARCH,
    ),
]
TopK = Annotated[
    int | None,
    typer.Option(
        min=1,
        metavar="N",
        help="Number of candidates for each query.",
        show_default=default(SearchSettings, "top_k"),
        rich_help_panel=_SEARCH,
    ),
]
Model = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Language model that judges, by litellm's name (openai/gpt-4o-mini). Its key is read "
        "from COSQA_LLM__API_KEY. Without one, the packaged sample is judged by recorded replies.",
        show_default=default(LanguageModelSettings, "model"),
        rich_help_panel=JUDGE,
    ),
]
Judges = Annotated[
    list[str] | None,
    typer.Option(
        "--judge",
        metavar="NAME",
        help="Model that judges in place of --model. Repeat it for several, the cheapest first: "
        "where they differ, the label stands that is likelier by how often each errs.",
        show_default="--model alone",
        rich_help_panel=JUDGE,
    ),
]
Limit = Annotated[
    int | None,
    typer.Option(
        min=1,
        metavar="N",
        help="Annotate the candidates of the first N queries only.",
        show_default="all queries",
        rich_help_panel=JUDGE,
    ),
]
_BATCH = (
    "Send requests by OpenAI's batch protocol (models openai/… and litellm_proxy/…): half the "
    "price, up to a day a step."
)
Batch = Annotated[bool | None, typer.Option("--batch", help=_BATCH, rich_help_panel=JUDGE)]
Store = Annotated[
    Path | None,
    typer.Option(
        metavar="FOLDER",
        help="Folder of the store: collections, vectors, labels, model replies.",
        show_default=default(StoreSettings, "folder"),
        rich_help_panel=_OUTPUT,
    ),
]
Output = Annotated[
    Path | None,
    typer.Option(
        metavar="FOLDER",
        help="Folder of benchmarks, leaderboards and reports.",
        show_default=default(PublishSettings, "folder"),
        rich_help_panel=_OUTPUT,
    ),
]
IncludeUnlicensed = Annotated[
    bool | None,
    typer.Option(
        "--include-unlicensed",
        help="Export code too whose licence is unknown or does not permit redistribution.",
        rich_help_panel=_OUTPUT,
    ),
]
Methods = Annotated[
    list[str] | None,
    typer.Option(
        "--method",
        metavar="NAME",
        help=f"Retrieval method to score: {', '.join([*retrievers, *encoders])}, several fused "
        "(bm25+minilm), or re-ranked by the language model (llm:bm25). Repeat it for several.",
        show_default="all lexical methods and the chosen encoders; of `diff` none",
        rich_help_panel=SCORING,
    ),
]
Replay = Annotated[
    bool,
    typer.Option(
        "--replay",
        help="Recompute all labels from stored model replies and test runs, and check that they "
        "equal the stored labels; needs no model and no Docker.",
        rich_help_panel=INSTEAD,
    ),
]


@dataclass(frozen=True)
class PipelineOptions:
    """What a command of the pipeline is to do; ``lasting`` options hold for later ones too."""

    command: str
    settings: Settings
    replay: bool
    plan: bool = False
    lasting: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    preset: str | None = None


def _has_neither_input_nor_judge(settings: Settings) -> bool:
    """Return whether nobody named a preset, a source, a model or whether agents judge at all."""
    judging = settings.annotation.model_fields_set & {"agents", "judges"}
    given = settings.source.model_fields_set | settings.llm.model_fields_set | judging
    return settings.preset is None and not given


def pipeline(
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
    model: Model = None,
    judge: Judges = None,
    limit: Limit = None,
    reason: Reasons = None,
    pairs: Pairs = None,
    budget_usd: BudgetUsd = None,
    batch: Batch = None,
    method: Methods = None,
    store: Store = None,
    output: Output = None,
    unlicensed: IncludeUnlicensed = None,
    reread: Reread = None,
    plan: Plan = False,
    replay: Replay = False,
) -> PipelineOptions:
    """Return what a command of the pipeline is to do; ``SettingsError`` if options contradict."""
    refuse_several({"--plan": plan, "--replay": replay})
    own = {"path": path, "distribution": distribution or None, "queries": queries}
    lasting: dict[str, dict[str, object]] = {
        "source": {"name": source, "collection": collection, "codes": codes or None}
        | source_options(own, source_option or []),
        "search": {"encoders": encoder or None, "top_k": top_k},
        "encoder": {"checkpoints": named_folders("--checkpoint", checkpoint or [])},
        "llm": {"model": model},
        "annotation": {"judges": judge or (() if model else None)},
        "store": {"folder": store},
        "publish": {"folder": output, "include_unlicensed": unlicensed},
        "evaluation": {"methods": method or None},
    }
    of_this_run = {
        "source": lasting["source"] | {"reread": reread},
        "annotation": lasting["annotation"] | {"limit": limit, "batch": batch},
        "reannotation": reannotation(reason or [], pairs, budget_usd),
    }
    overrides = lasting | of_this_run
    settings = load_settings(overrides, preset)
    if _has_neither_input_nor_judge(settings):
        settings = load_settings(overrides, SAMPLE)
    return PipelineOptions(str(ctx.info_name), settings, replay, plan, lasting, preset)
