"""The options of all commands and the questions of all forms, each declared once.

Each command, and each flow that a server runs, has a model here, whose fields are its options.
`ask` says of a field what it means, which setting it sets and what a form calls it; `questions`
lists the fields, of which `flows.cli.lazy` makes a command and `flows.entries` a form. What
several share is in the classes that come first. Nothing heavy is imported: ``--help`` reads this.
"""

import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, ClassVar, Literal, Self, TypeVar, get_args, get_origin

from annotated_types import Ge, Gt, Le, Lt
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic.fields import FieldInfo

from infra.draws import Draw
from infra.errors import SettingsError
from infra.registry import unknown_name
from infra.settings import (
    COMPARED_CONFIGURATIONS,
    CONFIGURATION_SUMMARIES,
    REASONS,
    SearchSettings,
    Settings,
    load_settings,
)
from infra.settings.presets import preset_names
from tasks.encoders import SYNTAX, encoders
from tasks.metrics import metrics
from tasks.retrievers import retrievers
from tasks.sources import sources
from tasks.training.models import models
from tasks.training.recipes import RECIPES

Model = TypeVar("Model", bound=BaseModel)
Overrides = dict[str, dict[str, Any]]  # section → key → value, as `load_settings` takes them

SAMPLE = "sample"  # the preset that runs where nothing else is asked for
_INPUT, _CANDIDATES, _JUDGE = "Input", "Candidates", "Annotation"
_SCORING, _LABELS, _OUTPUT, _INSTEAD = "Scoring", "Labels", "Output", "Instead of running"
_TRAINING, _OF_RECIPE = "Training", "the recipe's"
_ENCODERS: dict[str, Any] = {
    "flag": "--encoder", "choices": tuple(encoders), "line": f"Others: {SYNTAX}.",
}  # fmt: skip
_BASES = f"Encoders: {', '.join(encoders)}; or {SYNTAX}. Models: {', '.join(models)}."
_CONFIGURATIONS = tuple(CONFIGURATION_SUMMARIES)
_MODELS = ["openai/gpt-4o-mini", "openai/gpt-4o"]
_KEY = (
    "The key is set where runs work, or in a Prefect Secret block that COSQA_LLM__API_KEY_BLOCK "
    "names."
)
_OF_FIELD = ("ge", "le", "examples", "validate_default")
# Settings of every source that are no options of one.
_OWN_FLAGS = {"name": "source", "collection": "collection", "codes": "codes", "reread": "reread"}


@dataclass(frozen=True, kw_only=True)
class Question:
    """A field as a command and a form ask for it.

    Attributes:
        name: The field's name, which a form's parameter has too.
        kind: What a value is, None aside.
        default: What it is where it is not given; ``...`` where it must be.
        bounds: Bounds of a value, as pydantic has them.
        title: What forms call it; empty where none asks it.
        about: What it means, in sentences.
        examples: What an answer may look like.
        is_shown: Whether the command reads it: what it only accepts is not in its help.
        setting: The setting that it sets, as ``section.key``; empty for a value of its own.
        flag: What the command calls it, where not by its name; None where no command has it.
        metavar: What stands for a value in the command's help.
        panel: The part of the help in which it is.
        unset: What holds where it is not given, in words.
        line: A further sentence of the help.
        form: A further sentence of the form.
        choices: The names that a value may be: in a form no other.
        is_file: Whether the command demands a file that is there.
    """

    name: str
    kind: Any
    default: Any
    bounds: Sequence[Any]
    title: str
    about: str
    examples: Sequence[Any]
    is_shown: bool
    setting: str = ""
    flag: str | None = ""
    metavar: str = ""
    panel: str = ""
    unset: str = ""
    line: str = ""
    form: str = ""
    choices: tuple[str, ...] = ()
    is_file: bool = False

    @property
    def is_several(self) -> bool:
        """Whether it takes several values."""
        return get_origin(self.kind) in (tuple, dict)

    @property
    def one(self) -> Any:  # noqa: ANN401 - a type
        """What one of several values is: what becomes a table of folders is given as text."""
        return get_args(self.kind)[0] if self.is_several else self.kind


def ask(about: str = "", setting: str = "", title: str = "", **told: Any) -> Any:  # noqa: ANN401
    """Return a field of a model of options.

    Args:
        about: What it means; empty takes the setting's own description.
        setting: The setting that it sets, as ``section.key``.
        title: What forms call it; empty where none asks it.
        told: Its ``default`` (None), what else pydantic knows of a field, and attributes of
            `Question`.
    """
    known = {name: told.pop(name) for name in _OF_FIELD if name in told}
    return Field(
        told.pop("default", None), title=title or None, description=about or None,
        json_schema_extra={"setting": setting, **told}, **known,
    )  # fmt: skip


def questions(model: type[BaseModel]) -> list[Question]:
    """Return the fields of a model: its own, then those of its bases from left to right."""
    asks = getattr(model, "asks", None)
    found: dict[str, Question] = {}
    for base in model.__mro__:
        is_shown = not asks or base in asks
        for name in vars(base).get("__annotations__", {}):
            if name in model.model_fields and name not in found:
                panel = vars(base).get("panel", "")
                found[name] = _question(name, model.model_fields[name], panel, is_shown=is_shown)
    return [*found.values()]


def _question(name: str, field: FieldInfo, panel: str, *, is_shown: bool) -> Question:
    told: Any = field.json_schema_extra or {}
    section, _, key = told.get("setting", "").partition(".")
    # None for an option of a source, which is no field of the section.
    setting = Settings.sections()[section].model_fields.get(key) if key else None
    parts = get_args(field.annotation)
    return Question(
        name=name,
        kind=parts[0] if NoneType in parts else field.annotation,
        default=... if field.is_required() else field.default,
        bounds=[it for it in (setting or field).metadata if isinstance(it, Ge | Gt | Le | Lt)],
        title=field.title or "",
        about=field.description or (setting and setting.description) or "",
        examples=field.examples or (),
        is_shown=is_shown,
        **{"panel": panel, "unset": _in_words(setting.default) if setting else "", **told},
    )


def _in_words(default: object) -> str:
    """Return a setting's default, "" where it has none in words."""
    if isinstance(default, tuple):
        return ", ".join(default)
    return "" if default is None or isinstance(default, bool) else str(default)


def validated(model: type[Model], values: Mapping[str, object]) -> Model:
    """Return a model with these values.

    Raises:
        SettingsError: One of them cannot be.
    """
    try:
        return model.model_validate(values)
    except ValidationError as error:
        problems = [f"{problem['loc'][0]}: {problem['msg']}" for problem in error.errors()]
        raise SettingsError("; ".join(problems)) from None


class Options(BaseModel):
    """Base of what a command or a run of a deployment is to do.

    Attributes:
        arguments: Fields that a command line gives by position rather than by name.
        panel: The part of a command's help in which the fields of this class are.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    arguments: ClassVar[tuple[str, ...]] = ()
    panel: ClassVar[str]

    def __init_subclass__(cls, panel: str = "", **config: Any) -> None:  # noqa: ANN401 - pydantic's
        """Note the panel of a class."""
        super().__init_subclass__(**config)
        cls.panel = panel

    @classmethod
    def of_command(cls, values: Mapping[str, Any]) -> Self:
        """Return the options of a command line, None and no values being "not given"."""
        given = {name: value for name, value in values.items() if value not in (None, [])}
        return validated(cls, given)

    @classmethod
    def of_form(cls, answers: Mapping[str, Any]) -> Self:
        """Return the options of a form's answers; one that was cleared holds empty ones."""
        given = {name: value for name, value in answers.items() if value not in (None, "", [])}
        return validated(cls, given)

    @cached_property
    def settings(self) -> Settings:
        """The settings, with the options over those of file and environment.

        Raises:
            SettingsError: A value is out of bounds, or contradicts another setting.
        """
        return load_settings(self.overrides(), getattr(self, "preset", None))

    def overrides(self) -> Overrides:
        """Return what the options that are given set."""
        found: Overrides = {}
        for question in questions(type(self)):
            section, _, key = question.setting.partition(".")
            value = getattr(self, question.name)
            if key and value not in (None, (), {}):
                found.setdefault(section, {})[key] = value
        return found


def _folders(pairs: Sequence[str], info: ValidationInfo) -> dict[str, Path]:
    """Return name → folder of an option's values ``NAME=FOLDER``."""
    folders: dict[str, Path] = {}
    for pair in pairs:
        (name, equals, folder), flag = pair.partition("="), f"--{info.field_name}"
        if not equals or not folder:
            raise SettingsError(f"{flag} {pair} has no folder: write {flag} {name}=FOLDER")
        if name in folders:
            raise SettingsError(f"{flag} {name} is given twice: give each folder a name of its own")
        folders[name] = Path(folder)
    return folders


Folders = Annotated[dict[str, Path], BeforeValidator(_folders)]


# Options that several commands and forms share.


class Preset(Options, panel=_INPUT):
    """The choice of a preset."""

    preset: str | None = ask(
        "Settings of a published benchmark. What is set elsewhere, here or in cosqa.toml, comes "
        "before them; `cosqa settings --preset NAME` prints them.",
        "preset", "Preset", choices=tuple(preset_names()), unset="none",
    )  # fmt: skip


class Input(Options, panel=_INPUT):
    """What queries and code are read from."""

    source: str | None = ask(
        "Where queries and code come from.", "source.name", "Source", choices=tuple(sources)
    )
    path: Path | None = ask(
        "Folder or file that the source reads, absolute or from the folder in which the run works.",
        "source.path", "Folder or file of the source", metavar="PATH",
        unset="python-source: Python's standard library", examples=["src/", "/data/CoSQA"],
    )  # fmt: skip
    queries: str | None = ask(
        'Queries in place of the source\'s own: JSON Lines, {"query": "..."} each, or those of '
        "another source as NAME=PATH (cosqa=CoSQA/).",
        "source.queries", "Queries", metavar="FILE|NAME[=PATH]",
        unset="python-source: 40 for the standard library",
        examples=["my-queries.jsonl", "cosqa=CoSQA/"],
    )  # fmt: skip
    codes: tuple[str, ...] = ask(
        "Source that code is read from in place of the source's own, as NAME or NAME=PATH "
        "(codesearchnet=python/); code of several is put together in their order.",
        "source.codes", "Code", default=(), metavar="NAME[=PATH]", unset="the source's own",
        examples=[["codesearchnet=python/"]],
    )  # fmt: skip
    source_option: tuple[str, ...] = ask(
        "Another option of the source, such as distribution=pydantic, which python-source reads in "
        "place of a path, or filters=testable,parseable; or of a source named in --queries or "
        "--codes (codesearchnet.filters=testable). `cosqa settings` prints those of the chosen "
        "source.",
        "", "Options of the source", default=(), metavar="[NAME.]KEY=VALUE",
        examples=[["distribution=pydantic"]],
    )  # fmt: skip
    collection: str | None = ask(
        "Name of the queries and code in the store and of what is exported.", "source.collection",
        "Collection", unset="the source's name",
    )  # fmt: skip

    @classmethod
    def of_command(cls, values: Mapping[str, Any]) -> Self:
        """Return the options of a command line, of the sample if it names no input and no model."""
        options = super().of_command(values)
        settings = options.settings
        judging = settings.llm.model_fields_set & {"model"}  # a key or an address alone is none
        judging |= settings.annotation.model_fields_set & {"agents"}
        given = settings.source.model_fields_set | judging
        if settings.preset is None and not given:
            vars(options)["settings"] = load_settings(options.overrides(), SAMPLE)
        return options

    @cached_property
    def settings(self) -> Settings:
        """The settings; the sample that an earlier command kept gives way to other input."""
        found = super().settings
        if found.preset == SAMPLE != getattr(self, "preset", None):
            other = load_settings(self.overrides(), "")
            return other if other.source.model_fields_set else found
        return found

    def overrides(self) -> Overrides:
        """Return what the options that are given set, those of the source among them."""
        found = super().overrides()
        options = found.setdefault("source", {})
        for pair in self.source_option:
            key, equals, value = pair.partition("=")
            if not equals:
                raise SettingsError(f"--source-option {pair} has no value: write {pair}=VALUE")
            if key in _OWN_FLAGS:
                raise SettingsError(
                    f"--source-option {pair} is not an option of a source: use --{_OWN_FLAGS[key]}"
                )
            part, dot, name = key.partition(".")
            place = options.setdefault(part, {}) if dot else options
            if not isinstance(place, dict) or (name or key) in place:
                raise SettingsError(f"the source option {key!r} is given twice: leave one out")
            place[name or key] = value
        return found


class Reread(Options, panel=_INPUT):
    """Whether the input is read again."""

    reread: bool | None = ask("", "source.reread", "Read the source again")


class Candidates(Options, panel=_CANDIDATES):
    """How candidates are found."""

    encoders: tuple[str, ...] = ask(
        "Encoder that candidates are found by; the similarities of several are averaged.",
        "search.encoders", "Encoders", default=(), **_ENCODERS,
        form="Checkpoints and encoders behind an API are set in cosqa.toml.",
    )  # fmt: skip
    top_k: int | None = ask("", "search.top_k", "Candidates for each query")


class Checkpoints(Options, panel=_CANDIDATES):
    """Where checkpoints of encoders are."""

    checkpoint: Folders = ask(
        "Folder whose checkpoint stands in for that of an encoder, such as codebert-search=FOLDER.",
        "encoder.checkpoints", default=(), metavar="NAME=FOLDER", unset="",
    )  # fmt: skip


class Judge(Options, panel=_JUDGE):
    """The model that judges."""

    model: str | None = ask(
        "Language model that judges, by litellm's name (openai/gpt-4o-mini). Its key is read from "
        "COSQA_LLM__API_KEY. Without one, the packaged sample is judged by recorded replies.",
        "llm.model", "Language model", examples=_MODELS, form=_KEY,
    )  # fmt: skip


class Agents(Options, panel=_JUDGE):
    """Which agents judge."""

    configuration: str | None = ask(
        "Which agents judge a pair; `cosqa list configurations` says what each does.",
        "annotation.configuration", "Configuration of the agents", flag=None,
        choices=_CONFIGURATIONS,
    )  # fmt: skip


class DrawnQueries(Options, panel=_JUDGE):
    """Which queries are drawn."""

    limit: int | None = ask(
        "", "annotation.limit", "Queries to annotate at most", unset="all queries"
    )
    seed: int | None = ask("", "annotation.seed")


class Extent(Options, panel=_JUDGE):
    """Which pairs are judged."""

    reasons: tuple[str, ...] = ask(
        "Reason for which pairs are judged, the most urgent first.", "reannotation.take",
        "Reasons", default=(), flag="--reason", metavar="REASON", choices=REASONS,
        unset="all", line="`failed` takes those that are not due yet too.",
    )  # fmt: skip
    retry_all: bool | None = ask(
        "Take failed pairs that are not due yet too.", "reannotation.retry_all",
        "Failed pairs that are not due too", flag=None,
    )  # fmt: skip
    pairs: int | None = ask(
        "Judge at most so many pairs in this run, over all labelling rounds.",
        "reannotation.pairs", "Pairs to judge at most", unset="all pending ones",
    )  # fmt: skip

    @classmethod
    def of_command(cls, values: Mapping[str, Any]) -> Self:
        """Return the options of a command line: who asks for failed pairs wants all of them."""
        is_asked = "failed" in (values.get("reasons") or ())
        return super().of_command({**values, "retry_all": is_asked or None})


class Spending(Options, panel=_JUDGE):
    """What a run may cost, and who agrees to it."""

    budget_usd: float | None = ask(
        "", "reannotation.budget_usd", "Budget of the run in US dollars", metavar="DOLLARS",
        unset="none",
    )  # fmt: skip
    approve: bool | None = ask(
        "Whether the run waits in this UI until a person approves its plan.",
        "operation.approve", "Wait for approval", flag=None,
    )  # fmt: skip


class Methods(Options, panel=_SCORING):
    """What is scored."""

    methods: tuple[str, ...] = ask(
        f"Retrieval method to score: {', '.join([*retrievers, *encoders])}, several fused "
        "(bm25+minilm).",
        "evaluation.methods", "Retrieval methods", default=(), flag="--method",
        unset="all lexical methods and the chosen encoders; of `diff` none",
        examples=[["bm25", "minilm"]],
    )  # fmt: skip


class Metrics(Options, panel=_SCORING):
    """By what is scored."""

    metrics: tuple[str, ...] = ask(
        f"Metric to compute: {', '.join(metrics)}. Add @k to cut the rankings (NDCG@10), "
        "-condensed to ignore unjudged results, -zero to count queries without a relevant code as "
        "0. The first one orders the table.",
        "evaluation.metrics", "Metrics", default=(), flag="--metric",
        unset="NDCG@10, MRR, MAP, MMRR, Recall@10, Answered@5",
    )  # fmt: skip


class Store(Options, panel=_OUTPUT):
    """Where the store is."""

    store: Path | None = ask(
        "Folder of the store: collections, vectors, labels, model replies.", "store.folder",
        metavar="FOLDER",
    )  # fmt: skip


class Output(Options, panel=_OUTPUT):
    """Where results go."""

    output: Path | None = ask(
        "Folder of benchmarks, leaderboards and reports.", "publish.folder",
        "Folder of benchmarks and reports", metavar="FOLDER",
    )  # fmt: skip


class Export(Options, panel=_OUTPUT):
    """What is exported."""

    unlicensed: bool | None = ask(
        "", "publish.include_unlicensed", "Export unlicensed code", flag="--include-unlicensed"
    )


class Instead(Options, panel=_INSTEAD):
    """What is printed instead of a run."""

    plan: bool = ask(
        "Print the pending pairs by reason, and what judging them is expected to take; also before "
        "anything is collected.",
        default=False,
    )
    replay: bool = ask(
        "Make the labels by these settings again from kept replies, and check that they equal the "
        "stored labels; runs the programs again and asks no model.",
        default=False,
    )

    @model_validator(mode="after")
    def _refuse_both(self) -> Self:
        if self.plan and self.replay:
            raise SettingsError("--plan and --replay are given together: leave all but one out")
        return self


# The pipeline. Its commands take all of its options, since the first one in a folder keeps them in
# cosqa.toml for those that follow; a command shows and a form asks those of the classes in `asks`.

_FOUND: tuple[type[Options], ...] = (Preset, Input, Candidates, Checkpoints, Store)
_JUDGED = (Judge, Agents, DrawnQueries, Extent, Spending, Instead)


class Pipeline(
    Preset, Input, Reread, Candidates, Checkpoints, Judge, Agents, DrawnQueries, Extent,
    Spending, Methods, Store, Output, Export, Instead,
):  # fmt: skip
    """What a command of the pipeline is to do."""

    asks: ClassVar[tuple[type[Options], ...]]

    @property
    def command(self) -> str:
        """The name of the command, and of its flow."""
        return type(self).__name__.lower()


class Benchmark(Pipeline):
    """What ``cosqa benchmark`` is to do."""

    asks = (*_FOUND, Reread, *_JUDGED, Methods, Output, Export)


class Collect(Pipeline):
    """What ``cosqa collect`` is to do."""

    asks = (*_FOUND, Reread)


class Annotate(Pipeline):
    """What ``cosqa annotate`` is to do."""

    asks = (*_FOUND, *_JUDGED)


class Publish(Pipeline):
    """What ``cosqa publish`` is to do."""

    asks = (*_FOUND, Output, Export)


class Evaluate(Pipeline):
    """What ``cosqa evaluate`` is to do."""

    asks = (*_FOUND, Judge, Methods, Output)


class Figures(Options, panel="Further figures"):
    """Files of further figures."""

    annotators: tuple[Path, ...] = ask(
        "Accuracies of annotators, as `cosqa annotators compare --output FILE` writes them.",
        default=(),
    )
    annotation_store: Path | None = ask(
        "CodeSearchNet's annotationStore.csv, for its annotation statistics."
    )
    score_sheet: Path | None = ask("Neural Code Search's score_sheet.csv, for its Table 1.")


class Study(Pipeline, Figures):
    """What ``cosqa study`` is to do."""

    asks = (*_FOUND, DrawnQueries, Methods, Output, Figures)


class Writing(Judge):
    """How answers are written."""

    model: str | None = ask(
        "Language model that writes the answers and verifies them, by litellm's name "
        "(openai/gpt-4o); another one than the pairs were judged by, if you like. Its key is read "
        "from COSQA_LLM__API_KEY. It must be given, here or in the settings.",
        "llm.model", "Language model", examples=_MODELS, form=_KEY, panel=_JUDGE, unset="",
    )  # fmt: skip
    limit: int | None = ask(
        "Write answers for N queries without a match only, drawn at random by the seed.",
        "generation.limit", "Queries to write answers for at most", unset="all of them",
    )  # fmt: skip
    seed: int | None = ask("", "annotation.seed")
    confirmed: Path | None = ask(
        "Read a sheet back on which people confirmed (relevance 1) or refused (0) answers or "
        "changed their code; nothing is written by a model. It needs --store alone."
    )
    dry_run: bool = ask(
        "Print how many queries have no match and how many answers would be written.",
        default=False, panel=_INSTEAD,
    )  # fmt: skip

    @model_validator(mode="after")
    def _refuse_both(self) -> Self:
        if self.dry_run and self.confirmed:
            raise SettingsError("--dry-run and --confirmed are both given: leave one out")
        return self


class Generate(Preset, Input, Candidates, Checkpoints, Writing, Store, Output):
    """What ``cosqa generate`` is to do."""


# What measures. Fields are called as the parameters of the flow are.


class Unjudged(Options, panel=_JUDGE):
    """How many unjudged results are annotated."""

    annotate_unjudged: bool = ask(
        "Let the agents judge the unjudged results among the first 10 of each method, and score "
        "again.",
        default=False,
    )
    at_most: int | None = ask(
        "With --annotate-unjudged: annotate at most N results, best-ranked first.", ge=1,
        unset="all of them",
    )  # fmt: skip
    unjudged_to_annotate: int = ask(
        "Number of unjudged results that the agents annotate, best-ranked first, before all "
        "methods are scored again, as --annotate-unjudged with --at-most.",
        "", "Unjudged results to annotate", flag=None, default=0, ge=1,
    )  # fmt: skip

    @classmethod
    def of_command(cls, values: Mapping[str, Any]) -> Self:
        """Return the options of a command line.

        Raises:
            SettingsError: --at-most has nothing to limit.
        """
        at_most, is_asked = values.get("at_most"), values.get("annotate_unjudged")
        if at_most and not is_asked:
            raise SettingsError(
                f"--at-most {at_most} limits what --annotate-unjudged annotates: give that too"
            )
        most = (at_most or sys.maxsize) if is_asked else None
        return super().of_command({**values, "unjudged_to_annotate": most})


class Leaderboard(Methods, Metrics, Checkpoints, Unjudged, Judge, Store, Output):
    """What ``cosqa leaderboard`` is to do."""

    benchmark: Path | None = ask(
        "Folder of an exported benchmark, or a BEIR folder (or its qrels/SPLIT.tsv).", "",
        "Benchmark", metavar="FOLDER", unset="the only one that was exported",
        examples=["cosqa-benchmarks/python-source-documentation"],
    )  # fmt: skip
    runs: tuple[Path, ...] = ask(
        "Rankings of a method made elsewhere, as a TREC run; the file's name without its ending "
        "names the method.",
        "", "Runs of other methods", default=(), flag="--run", panel=_SCORING,
        examples=[["theirs.trec"]],
    )  # fmt: skip
    depth: int | None = ask("Length of the rankings.", "evaluation.depth", panel=_SCORING)
    encoders: tuple[str, ...] = ask(
        "Encoder to score beside the lexical methods where no --method is given.",
        "search.encoders", default=(), panel=_SCORING, **_ENCODERS,
    )  # fmt: skip


class Diff(Methods, Metrics, Checkpoints, Store, Output):
    """What ``cosqa diff`` is to compare."""

    arguments = ("before", "after")

    before: Path = ask(
        "Folder of the first version.", "", "First version", default=..., metavar="before"
    )
    after: Path = ask(
        "Folder of the second version.", "", "Second version", default=..., metavar="after"
    )


class Estimate(Checkpoints, Store, Output):
    """What ``cosqa estimate`` is to do."""

    train: Path = ask(
        "Queries with known matches that the others are compared with, such as the pairs that the "
        "encoder was trained on: an exported benchmark, a BEIR folder (or its qrels/train.tsv), a "
        "folder of CodeSearchNet's jsonl files, or JSON Lines of query, code and label.",
        "", "Training pairs", default=..., metavar="PATH",
    )  # fmt: skip
    queries: Path = ask(
        'Queries without labels, as JSON Lines, {"query": "..."} on each line; or those of '
        "anything that training pairs may be.",
        "", "Queries", default=..., metavar="PATH",
    )  # fmt: skip
    judged: Path | None = ask(
        "Benchmark, exported or BEIR, whose queries are a random sample of these.", "",
        "Judged sample", metavar="FOLDER", panel=_LABELS,
    )  # fmt: skip
    methods: tuple[str, ...] = ask(
        "Encoder whose scores are estimated; several are compared.", "evaluation.methods",
        "Retrieval methods", default=(), panel=_SCORING, unset=", ".join(SearchSettings().encoders),
        examples=[["minilm"]], flag="--method", line=f"One of {', '.join(encoders)}; or {SYNTAX}.",
    )  # fmt: skip
    k: int | None = ask("", "estimation.k", panel=_SCORING)
    metrics: tuple[str, ...] = ask(
        "Metric to estimate: MRR, Answered@5, NDCG@10, Recall@10, or with another number. Methods "
        "are compared by the first.",
        "estimation.metrics", default=(), flag="--metric", panel=_SCORING,
    )  # fmt: skip


class Training(Options, panel=_TRAINING):
    """How models are trained, and what they are compared with."""

    recipe: str | None = ask(
        "", "training.recipe", "Recipe", choices=tuple(RECIPES),
        unset="that of a model trained from nothing, else cosqa-plus",
    )  # fmt: skip
    methods: tuple[str, ...] = ask(
        "Retrieval method to compare with beside the base.", "evaluation.methods",
        "Methods to compare with", default=(), panel=_SCORING, flag="--method",
        examples=[["bm25"]], unset="the base alone",
    )  # fmt: skip


class Train(Training, Checkpoints, Store, Output):
    """What ``cosqa train`` is to do."""

    data: Path = ask(
        "What is trained on: an exported benchmark; a folder with train, dev (or valid) and test, "
        "each JSON Lines of query and code, CodeSearchNet's jsonl files, or BEIR's qrels; or one "
        "file or folder of pairs, which is split.",
        "", "Training data", default=..., metavar="PATH", panel=_INPUT,
        examples=["cosqa-benchmarks/python-source-documentation"],
    )  # fmt: skip
    test: Path | None = ask(
        "Benchmark to test on, exported or BEIR, in place of the data's own test queries.", "",
        "Test benchmark", metavar="FOLDER", panel=_INPUT,
    )  # fmt: skip
    base: str | None = ask(
        "Encoder that is fine-tuned, or model that is trained from nothing.", "training.base",
        "Base", panel=_TRAINING, examples=["minilm"],
        line=_BASES,
    )  # fmt: skip
    split: str | None = ask("", "training.split", panel=_INPUT)
    split_by: Literal["query", "repository"] | None = ask("", "training.split_by", panel=_INPUT)
    overlap: Literal["refuse", "drop"] | None = ask("", "training.overlap", panel=_INPUT)
    epochs: int | None = ask("", "training.epochs", "Epochs", unset=_OF_RECIPE, panel=_TRAINING)
    batch_size: int | None = ask("", "training.batch_size", unset=_OF_RECIPE, panel=_TRAINING)
    learning_rate: float | None = ask(
        "", "training.learning_rate", unset=_OF_RECIPE, panel=_TRAINING
    )
    seed: int | None = ask("", "training.seed", unset=_OF_RECIPE, panel=_TRAINING)
    name: str | None = ask("", "training.name", "Name of the encoder", panel=_TRAINING,
        unset="those of base and data, joined",
    )  # fmt: skip


class StudyKape(Checkpoints, Store, Output):
    """What ``cosqa study kape`` is to do."""

    data: Folders = ask(
        "Data set as NAME=FOLDER, with training pairs (train, train.jsonl) and test pairs (test, "
        'test.jsonl), as JSON Lines of {"query": "...", "code": "..."}, as CodeSearchNet publishes '
        "them, or as a BEIR folder.",
        "", "Data sets", default=..., metavar="NAME=FOLDER", panel=_INPUT,
        examples=[["docs=documentation"]],
    )  # fmt: skip
    encoders: tuple[str, ...] = ask(
        "Model whose scores are estimated; several are ordered by KAPE and by the truth.",
        "search.encoders", "Encoders", default=(), panel=_SCORING, **_ENCODERS,
    )  # fmt: skip


class StudyTraining(Training, Checkpoints, Store, Output):
    """What ``cosqa study training`` is to do."""

    bases: tuple[str, ...] = ask(
        "Encoder that is fine-tuned, or model that is trained from nothing.", "", "Bases",
        default=..., flag="--base", panel=_TRAINING, examples=[["minilm"]], line=_BASES,
    )  # fmt: skip
    data: Folders = ask(
        "Data set as NAME=PATH, of what `cosqa train` takes.", "", "Data sets", default=...,
        metavar="NAME=PATH", panel=_INPUT, examples=[["docs=documentation"]],
    )  # fmt: skip
    test: Path | None = ask(
        "Benchmark to test all on, exported or BEIR, in place of each data set's own test queries.",
        "", "Test benchmark", metavar="FOLDER", panel=_INPUT,
    )  # fmt: skip
    seeds: int = ask(
        "Seeds to train by, counted from that of the settings (training.seed).", "", "Seeds",
        default=1, ge=1, panel=_TRAINING,
    )  # fmt: skip


class CompareAnnotators(Store):
    """What ``cosqa annotators compare`` is to compare."""

    truth: Path = ask(
        'Pairs with known labels: JSON Lines of {"query": ..., "code": ..., "label": 1 or 0}, or '
        "CoSQA's JSON.",
        "", "Pairs with known labels", default=..., examples=["CoSQA/cosqa-dev.json"],
    )  # fmt: skip
    models: tuple[str, ...] = ask(
        "Language model that judges, by litellm's name.", "", "Language models", default=(),
        flag="--model", unset="that of the settings", examples=[_MODELS[:1]],
    )  # fmt: skip
    configurations: tuple[str, ...] = ask(
        "Which agents judge; `cosqa list configurations` says what each means.", "",
        "Configurations of the agents", default=(), flag="--configuration",
        choices=_CONFIGURATIONS, unset="the rows of the paper's ablation, and spec",
        validate_default=True,
    )  # fmt: skip
    limit: int | None = ask(
        "Take N pairs only, drawn at random by the seed.", "", "Pairs to judge at most", ge=1,
        unset="all of them", panel=_JUDGE,
    )  # fmt: skip
    seed: int | None = ask("", "annotation.seed", panel=_JUDGE)
    output: Path | None = ask("File for the figures, as JSON.")

    @property
    def draw(self) -> Draw:
        """The draw of the pairs."""
        return Draw(self.limit, self.settings.annotation.seed)

    @field_validator("configurations")
    @classmethod
    def _each_once(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        """Return the configurations in their order; those of the paper where none is named."""
        for name in names:
            if name not in _CONFIGURATIONS:
                raise SettingsError(unknown_name("configuration", name, list(_CONFIGURATIONS)))
        return tuple(each for each in _CONFIGURATIONS if each in (names or COMPARED_CONFIGURATIONS))


# What runs flows for months, and watches them.


class Server(Options, panel="Where runs work"):
    """Where ``cosqa server`` listens and where its runs work."""

    folder: Path | None = ask(
        "Folder in which runs work: their cosqa.toml, and what relative paths start from, such as "
        "those of store and output.",
        metavar="FOLDER", unset="this folder",
    )  # fmt: skip
    port: int = ask("Port of the server on loopback.", default=4200, ge=1024, le=65535)

    @model_validator(mode="after")
    def _is_there(self) -> Self:
        if not self.place.is_dir():
            raise SettingsError(f"--folder {self.place} is not a folder: make it, or name another")
        return self

    @property
    def place(self) -> Path:
        """The folder's absolute path."""
        return (self.folder or Path.cwd()).absolute()


class ShowPair(Store):
    """Which pair ``cosqa pair`` is to show."""

    arguments = ("query", "code")

    query: str = ask(
        "How the query's id begins, or a part of its text.", default=..., metavar="query"
    )
    code: str = ask("How the code's id begins, or a part of its text.", default=..., metavar="code")

    @model_validator(mode="after")
    def _check(self) -> Self:
        if not (self.query and self.code):
            raise SettingsError("a pair is named by the ids of its query and of its code")
        return self


# What people label.


class Annotators(Options, panel="Sheets"):
    """Who gets a sheet, and of which form."""

    annotators: tuple[str, ...] = ask(
        "Name of a person who gets a sheet; letters, digits, and . _ - between them.",
        default=..., flag="--annotator",
    )  # fmt: skip
    form: Literal["csv", "jsonl"] = ask(
        "CSV for spreadsheets, or JSON Lines.", default="csv", flag="--format"
    )

    @field_validator("annotators")
    @classmethod
    def _are_names(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        """Return names that a file may be called by, each once."""
        for name in names:
            if not re.fullmatch(r"\w([\w.-]{0,62}\w)?", name):
                raise SettingsError(
                    f"--annotator {name!r}: letters, digits, and . _ - between them, 64 at most"
                )
        return tuple(dict.fromkeys(names))


class LabelSample(Annotators, Store, Output):
    """What ``cosqa label sample`` draws, or whose sheets it writes."""

    strata: dict[str, int | None] = ask(
        "Set of pairs to draw from, as NAME or NAME=N. Of a collection's candidates: uniform (all "
        "of them), disagreement (rounds or recipes give several labels), undecided, queries (N "
        "queries with all their judged pairs). Of runs on a benchmark: top (the first 10 of each "
        "method), pool (of N queries the first 10 of all methods together in each language), "
        "answers (of N queries each method's first code). A pair is drawn from the first that has "
        "it.",
        default=(), flag="--stratum", metavar="NAME[=N]", unset="uniform", panel=_INPUT,
    )  # fmt: skip
    pairs: int = ask("Pairs to draw from a set without N.", default=400, ge=1, panel=_INPUT)
    queries: int | None = ask("As --stratum queries=N.", ge=1, panel=_INPUT)
    graded: bool = ask("Ask for grades 0 to 3 in place of 0 and 1.", default=False, panel=_INPUT)
    seed: int | None = ask("", "annotation.seed", panel=_INPUT)
    collection: str | None = ask(
        "Whose candidates are drawn.", unset="the only collection of the store", panel=_INPUT
    )
    benchmark: Path | None = ask(
        "Benchmark that runs are of, exported or BEIR.", metavar="FOLDER", panel=_INPUT
    )
    runs: tuple[Path, ...] = ask(
        "Run of a method on the benchmark, in TREC's form; its file's name names the method.",
        default=(), flag="--run", unset="those of cosqa leaderboard and evaluate", panel=_INPUT,
    )  # fmt: skip
    sample: str | None = ask("Write further sheets of this sample; none is drawn.", panel=_INSTEAD)
    conflicts_of: str | None = ask(
        "Write sheets of what people disagree on in this sample, for one more.", panel=_INSTEAD
    )
    revise: str | None = ask(
        "Write sheets of this sample with the agents' evidence, for people who are done blind.",
        panel=_INSTEAD,
    )

    @field_validator("strata", mode="before")
    @classmethod
    def _by_name(cls, given: tuple[str, ...]) -> dict[str, int | None]:
        """Return stratum → number of its values ``NAME=N``."""
        found: dict[str, int | None] = {}
        for text in given:
            name, equals, number = text.partition("=")
            if name in found or (equals and not (number.isdecimal() and int(number))):
                raise SettingsError(f"--stratum {text}: give each one once, as {name}=N with N > 0")
            found[name] = int(number) if equals else None
        return found

    @model_validator(mode="after")
    def _refuse_several(self) -> Self:
        if sum(map(bool, (self.sample, self.conflicts_of, self.revise))) > 1:
            raise SettingsError("--sample, --conflicts-of and --revise: leave all but one out")
        return self


class LabelPreference(Annotators, Store, Output):
    """What ``cosqa label preference`` draws."""

    arguments = ("ours", "theirs")

    ours: Path = ask(
        "The benchmark whose share of wins is wanted: exported, BEIR, or a file of pairs.",
        default=..., metavar="ours",
    )  # fmt: skip
    theirs: Path = ask("The benchmark to compare with.", default=..., metavar="theirs")
    queries: int = ask("Queries to draw at most.", default=1_000, ge=1)
    seed: int | None = ask("", "annotation.seed")


class LabelRead(Store):
    """What ``cosqa label read`` reads."""

    arguments = ("sheets",)

    sheets: tuple[Path, ...] = ask(
        "Sheets that people filled in, of one sample.", default=..., metavar="FILE..."
    )
    unexecuted: bool = ask("Store test programs without running them in a box.", default=False)


# What looks after the store, the sandbox, sheets and names.


class Browse(Store):
    """What ``cosqa browse`` shows, and where."""

    arguments = ("folder",)

    folder: Path | None = ask(
        "Exported folder, or one in BEIR's form, to show in place of the store.",
        metavar="folder", unset="the store",
    )  # fmt: skip
    host: str = ask(
        "Address to listen at. Beyond this machine a token is demanded, which is printed.",
        default="127.0.0.1", metavar="HOST",
    )  # fmt: skip
    port: int = ask("Port to listen at.", default=4280, ge=1024, le=65535)
    bundle: Path | None = ask(
        "Write the pages as a static folder, which a browser opens without a server.",
        metavar="FOLDER",
    )  # fmt: skip


class CheckStore(Store):
    """Which store ``cosqa store check`` checks."""


class Backup(Store):
    """What ``cosqa store backup`` writes and ``cosqa store restore`` reads."""

    arguments = ("folder",)

    folder: Path = ask("The folder of the backup.", default=..., metavar="FOLDER")


class RunProgram(Options):
    """What ``cosqa sandbox run`` runs."""

    arguments = ("program",)

    program: Path = ask("The program to run.", default=..., is_file=True)
    code: Path | None = ask(
        "The code under test, which the program imports as target.", is_file=True
    )
    requirements: tuple[str, ...] = ask(
        "Distribution to install first.", default=(), flag="--requirement"
    )
    hash_seed: int = ask("Seed of hashes and of random numbers.", default=0, ge=0, le=2**32 - 1)
    clock: datetime | None = ask(
        "Date and time at which the program begins, in UTC, such as 2026-01-31T12:00:00; "
        "2026-01-01 when not given.",
        metavar="TIME",
    )


class Clean(Options):
    """What ``cosqa sandbox clean`` removes."""

    everything: bool = ask(
        "Also boxes of running processes, and the cache of downloaded wheels.", default=False,
        flag="--all",
    )  # fmt: skip


class Names(Options):
    """What ``cosqa list`` lists."""

    arguments = ("kind",)

    kind: Literal[
        "sources", "filters", "encoders", "methods", "metrics", "suites", "studies", "estimators",
        "languages", "configurations", "presets",
    ] = ask("What to list.", default=...)  # fmt: skip
