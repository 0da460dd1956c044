"""The options of the commands and the questions of the forms, each declared once as a type.

A command is a function of `flows.cli` whose parameters have these types. `option` says what Typer
shows of one, which setting it sets and what a form calls it; `settings_of` reads the settings of a
call, and `flows.entries` makes the form. What has no option is given by ``--set``, the settings
file or the environment. Nothing heavy is imported: ``--help`` reads this.
"""

import inspect
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

from typer.models import ArgumentInfo, OptionInfo

from infra.errors import CosqaError, SettingsError

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
    from pydantic_core.core_schema import CoreSchema

    from infra.settings import Settings

Overrides = dict[str, dict[str, Any]]  # section → key → value, as `load_settings` takes them

SAMPLE = "sample"  # the preset that runs where nothing else is asked for
_INPUT, _CANDIDATES, _JUDGE = "Input", "Candidates", "Annotation"
_SCORING, _TRAINING, _OUTPUT, _INSTEAD = "Scoring", "Training", "Output", "Instead of running"
_SHEETS, _FIGURES = "Sheets", "Further figures"
_BASES = "`cosqa list encoders` and `cosqa list models` name them; or SYNTAX."
_MODELS = ("openai/gpt-4o-mini", "openai/gpt-4o")
_LISTED = ("sources", "encoders", "presets", "configurations", "methods")  # by `cosqa list`


_ASKED = {"title", "line", "unset", "choices", "names", "examples"}


class FormField:
    """A value that a command line and a form ask for, and the setting that it sets.

    Pydantic reads it as a part of the type: a form's field is plain, where the command line's value
    may be None. An empty list is left to the settings file, whatever the setting demands.

    Attributes:
        setting: As ``section.key``; empty for a value of the flow's own.
        title: What forms call it; empty where none asks it.
        about: What it means, in sentences; empty takes the setting's own description.
        line: A further sentence of the help.
        unset: What holds where it is not given, in words; None takes the setting's own default.
        choices: The kind of names that an answer may be, of `choices_of`.
        names: The kind of names that an answer is made of, as `cosqa list` prints them.
        examples: What an answer may look like.
    """

    setting, title, about, line = "", "", "", ""
    unset: str | Callable[[], str] | None = None
    choices, names = "", ""
    examples: tuple[str, ...] = ()
    min: float | None = None
    max: float | None = None

    def help_text(self) -> str:
        """Return the text of the help."""
        kind = self.choices or self.names
        listed = f"`cosqa list {kind}` names them." if kind in _LISTED else ""
        if kind and not listed:
            listed = f"One of {', '.join(choices_of(kind))}."
        line = self.line
        if "SYNTAX" in line:
            from tasks.encoders import SYNTAX

            line = line.replace("SYNTAX", SYNTAX)
        return " ".join(filter(None, (self._meaning(), listed, line)))

    def _meaning(self) -> str:
        return self.about or getattr(_field(self.setting), "description", "")

    def default_text(self) -> str:
        """Return the default, in words."""
        if self.unset is None:
            return _in_words(getattr(_field(self.setting), "default", None))
        return self.unset if isinstance(self.unset, str) else self.unset()

    def form_text(self) -> dict[str, Any]:
        """Return title and description in a form, with the meaning of an empty answer."""
        unset = self.default_text()
        elsewhere = "as in the environment or cosqa.toml, else " * bool(self.setting)
        empty = f"If empty: {elsewhere}{unset}." * bool(unset)
        text = " ".join(filter(None, (self._meaning(), empty)))
        return {"title": self.title, "description": text}

    def __get_pydantic_core_schema__(
        self, kind: object, handler: "GetCoreSchemaHandler"
    ) -> "CoreSchema":
        """Return the schema of values, bounded as the setting is, else the command line.

        One that may be None has no default in the form: the UI would send one of null for each
        empty field, and the server would refuse it.
        """
        from annotated_types import Ge, Gt, Le, Lt

        if own := _field(self.setting):
            bounds = [each for each in own.metadata if isinstance(each, Ge | Gt | Le | Lt)]
        else:
            bounds = [Ge(self.min)] if self.min is not None else []
            bounds += [Le(self.max)] if self.max is not None else []
        bounded: Any = Annotated[(kind, *bounds)] if bounds else kind
        schema: CoreSchema = handler.generate_schema(bounded) if bounds else handler(kind)
        if type(None) not in get_args(kind):
            return schema
        return {"type": "default", "schema": schema, "default_factory": lambda: None}

    def __get_pydantic_json_schema__(
        self, core: "CoreSchema", handler: "GetJsonSchemaHandler"
    ) -> dict[str, Any]:
        """Return the schema of a form's field, which the UI shows as one input."""
        whole: Any = handler.resolve_ref_schema(handler(core))
        field: dict[str, Any] = whole.get("anyOf", [whole])[
            0
        ]  # else the UI would first ask which is meant
        one = field.get("items", field)
        one.pop("format", None)
        if self.choices:
            one["enum"] = [*choices_of(self.choices)]
        if self.examples:
            is_several = "items" in field
            field["examples"] = [[each] if is_several else each for each in self.examples]
        return field


class FormOption(FormField, OptionInfo):
    """An option of a command, and a field of a form where it has a title."""


class FormArgument(FormField, ArgumentInfo):
    """An argument of a command, given by position, and a field of a form."""


def option(
    flag: str, setting: str = "", about: str = "", *, panel: str = _OUTPUT, **more: Any,  # noqa: ANN401
) -> FormOption:  # fmt: skip
    """Return an option.

    Args:
        flag: Its name on the command line.
        setting: The setting that it sets, as ``section.key``.
        about: What it means.
        panel: The part of the help in which it is.
        more: Other attributes of `FormField`, and arguments of Typer.
    """
    asked = {name: more.pop(name) for name in _ASKED & more.keys()}
    made = FormOption(
        param_decls=[flag], default=..., rich_help_panel=panel, show_default=False, **more
    )
    vars(made).update(asked, setting=setting, about=about)
    return made


def argument(about: str, title: str) -> FormArgument:
    """Return an argument that a command line gives by position."""
    made = FormArgument(default=..., show_default=False)
    vars(made).update(title=title, about=about)
    return made


def choices_of(kind: str) -> tuple[str, ...]:
    """Return the names that an answer of a kind may be."""
    from infra.settings import CONFIGURATION_SUMMARIES, REASONS
    from infra.settings.presets import preset_names
    from tasks.encoders import encoders
    from tasks.sources import sources
    from tasks.training.recipes import RECIPES

    kinds: dict[str, Iterable[str]] = {
        "presets": preset_names(), "sources": sources, "encoders": encoders, "reasons": REASONS,
        "recipes": RECIPES, "configurations": CONFIGURATION_SUMMARIES,
    }  # fmt: skip
    return tuple(kinds[kind])


def _field(setting: str) -> Any:  # noqa: ANN401 - pydantic's, None for a source's option
    from infra.settings import Settings

    section, _, key = setting.partition(".")
    return Settings.sections()[section].model_fields.get(key) if key else None


def _usual_metrics() -> str:
    from infra.settings.sections import USUAL_METRICS

    return ", ".join(USUAL_METRICS)


def _in_words(default: object) -> str:
    """Return a setting's default, "" where it has none in words."""
    if isinstance(default, tuple):
        return ", ".join(default)
    return "" if default is None or isinstance(default, bool | Mapping) else str(default)


# Input.

Preset = Annotated[str | None, option(
    "--preset", "",
    "Settings of a published benchmark. What is set elsewhere, here or in cosqa.toml, comes "
    "before them; `cosqa settings --preset NAME` prints them.",
    title="Preset", choices="presets", unset="none", panel=_INPUT,
)]  # fmt: skip
Source = Annotated[str | None, option(
    "--source", "source.name", "Where queries and code come from.",
    title="Source", choices="sources", panel=_INPUT,
)]  # fmt: skip
SourcePath = Annotated[Path | None, option(
    "--path", "source.path",
    "Folder or file that the source reads, absolute or from the folder in which the run works.",
    title="Folder or file of the source",
    unset="the source's own, such as Python's standard library",
    examples=("src/", "/data/CoSQA"), panel=_INPUT,
)]  # fmt: skip
Queries = Annotated[str | None, option(
    "--queries", "source.queries",
    'Queries in place of the source\'s own: JSON Lines, {"query": "..."} each, text (.txt) with '
    "one on each line, or those of another source as NAME=PATH (cosqa=CoSQA/); `commits` takes "
    "subjects of the git history, `written` what a model writes for functions of the code.",
    title="Queries", metavar="FILE|NAME[=PATH]", panel=_INPUT,
    unset="the source's own, such as 40 for the standard library",
    examples=("my-queries.jsonl", "cosqa=CoSQA/"),
)]  # fmt: skip
Codes = Annotated[list[str] | None, option(
    "--codes", "source.codes",
    "Source that code is read from in place of the source's own, as NAME or NAME=PATH "
    "(codesearchnet=python/); code of several is put together in their order.",
    title="Code", metavar="NAME[=PATH]", line="Repeat it for several.",
    unset="the source's own", examples=("codesearchnet=python/",), panel=_INPUT,
)]  # fmt: skip
Collection = Annotated[str | None, option(
    "--collection", "source.collection",
    "Name of the queries and code in the store and of what is exported.",
    title="Collection", unset="the source's name", panel=_INPUT,
)]  # fmt: skip
Reread = Annotated[
    bool | None,
    option("--reread/--no-reread", "source.reread", title="Read the source again", panel=_INPUT),
]

# Candidates and annotation.

Encoders = Annotated[
    list[str] | None, option(
    "--encoder", "search.encoders",
    "Encoder that candidates are found by; the similarities of several are averaged.",
    title="Encoders", choices="encoders", panel=_CANDIDATES,
    line="Others: SYNTAX. Repeat it for several.",
)]  # fmt: skip
TopK = Annotated[
    int | None,
    option("--top-k", "search.top_k", title="Candidates for each query", min=1, panel=_CANDIDATES),
]
Index = Annotated[
    Literal["exact", "ivf"] | None, option("--index", "search.index", panel=_CANDIDATES)
]
Checkpoints = Annotated[
    list[str] | None, option(
    "--checkpoint", "encoder.checkpoints",
    "Folder whose checkpoint stands in for that of an encoder, such as codebert-search=FOLDER.",
    metavar="NAME=FOLDER", line="Repeat it for several.", panel=_CANDIDATES,
)]  # fmt: skip
Model = Annotated[str | None, option(
    "--model", "llm.model",
    "Language model that judges, by litellm's name (openai/gpt-4o-mini). Its key is read from "
    "COSQA_LLM__API_KEY.",
    title="Language model", examples=_MODELS, panel=_JUDGE,
)]  # fmt: skip
WritingModel = Annotated[str | None, option(
    "--model", "llm.model",
    "Language model that writes the answers and judges them, by litellm's name "
    "(openai/gpt-4o-mini). Its key is read from COSQA_LLM__API_KEY.",
    title="Language model", examples=_MODELS, panel=_JUDGE,
)]  # fmt: skip
Limit = Annotated[int | None,
    option("--limit", "annotation.limit", title="Queries to annotate at most",
           unset="all queries", min=1, panel=_JUDGE),
]  # fmt: skip
Reasons = Annotated[
    list[str] | None, option(
    "--reason", "reannotation.take",
    "Reason for which pairs are judged, the most urgent first; `failed` takes those that are "
    "not due yet too.",
    title="Reasons", choices="reasons", line="Repeat it for several.", unset="all", panel=_JUDGE,
)]  # fmt: skip
Budget = Annotated[float | None,
    option("--budget-usd", "reannotation.budget_usd", title="Budget of the run in US dollars",
           metavar="DOLLARS", unset="none", panel=_JUDGE),
]  # fmt: skip
UntilRanked = Annotated[int | None, option(
    "--until-ranked", "reannotation.until_ranked",
    metavar="TOP", unset="all queries", min=1, panel=_JUDGE,
)]  # fmt: skip
Margin = Annotated[float | None, option(
    "--margin", "reannotation.margin", min=0, panel=_JUDGE,
)]  # fmt: skip
Approve = Annotated[
    bool | None, option(
    "--approve/--no-approve", "operation.approve",
    "Whether the run waits in this UI until a person approves its plan.",
    title="Wait for approval", hidden=True, panel=_JUDGE,
)]  # fmt: skip
WritingLimit = Annotated[int | None, option(
    "--limit", "generation.limit",
    "Write answers for N queries without a match only, drawn at random by the seed.",
    title="Queries to write answers for at most", unset="all of them", min=1, panel=_JUDGE,
)]  # fmt: skip
Confirmed = Annotated[Path | None, option(
    "--confirmed", "",
    "Read a sheet back on which people confirmed (relevance 1) or refused (0) answers or "
    "changed their code; nothing is written by a model. It needs --store alone.", panel=_JUDGE,
)]  # fmt: skip
Plan = Annotated[bool, option(
    "--plan/--no-plan", "",
    "Print the pending pairs by reason, and what judging them is expected to take, once the input "
    "is collected.",
    panel=_INSTEAD,
)]  # fmt: skip
PlanOfWriting = Annotated[bool, option(
    "--plan/--no-plan", "",
    "Print what a model that writes the queries is expected to take.",
    panel=_INSTEAD,
)]  # fmt: skip
# Scoring.


def _methods(about: str, unset: str, title: str = "Retrieval methods") -> FormOption:
    """Return the option of retrieval methods, as a command takes them."""
    return option(
        "--method", "evaluation.methods", f"{about}: a name, or several fused (bm25+minilm), "
        "re-ranked by a cross-encoder or not (bm25>cross:FOLDER), or a multi-vector encoder "
        "(late:FOLDER).",
        title=title, names="methods", line="Repeat it for several.",
        examples=("bm25", "minilm"), unset=unset, panel=_SCORING,
    )  # fmt: skip


_ALL = "all lexical methods and the chosen encoders"
Scored = Annotated[list[str] | None, _methods("Retrieval method to score", _ALL)]
Ranked = Annotated[
    list[str] | None, _methods("Retrieval method that --until-ranked ranks", _ALL, "")
]
ScoredOnBoth = Annotated[
    list[str] | None, _methods("Retrieval method to score on both versions", "none")
]
Estimated = Annotated[
    list[str] | None,
    _methods("Encoder, or retrieval method, to estimate", "the chosen encoders"),
]
Compared = Annotated[
    list[str] | None,
    _methods("Retrieval method to compare with, beside base and new encoder", "none further"),
]
Metrics = Annotated[list[str] | None, option(
    "--metric", "evaluation.metrics",
    "Metric to compute, of `cosqa list metrics`. Add @k to cut the rankings (NDCG@10), "
    "-condensed to ignore unjudged results, -zero to count queries without a relevant code as "
    "0. The first one orders the table.",
    title="Metrics", line="Repeat it for several.",
    unset=_usual_metrics, panel=_SCORING,
)]  # fmt: skip
Answers = Annotated[Path | None, option(
    "--answers", "evaluation.answers",
    "File of a benchmark's sealed answers, to score against, once its checksum fits.",
    title="Sealed answers", examples=("cosqa-benchmarks/mine.answers-0123456789ab.json",),
    panel=_INPUT,
)]  # fmt: skip
BenchmarkFolder = Annotated[Path | None, option(
    "--benchmark", "",
    "Folder of a benchmark, exported or in another format (`cosqa list formats`).",
    title="Benchmark", unset="the only one that was exported", panel=_INPUT,
    examples=("cosqa-benchmarks/python-source-documentation",),
)]  # fmt: skip
Runs = Annotated[list[Path] | None, option(
    "--run", "",
    "Rankings of a method made elsewhere, as a TREC run; the file's name without its ending "
    "names the method.",
    title="Runs of other methods", line="Repeat it for several.", examples=("theirs.trec",),
    panel=_SCORING,
)]  # fmt: skip
AnnotateUnjudged = Annotated[bool, option(
    "--annotate-unjudged/--no-annotate-unjudged", "",
    "Let the agents judge the unjudged results among the first 10 of each method, and score "
    "again.",
    title="Annotate unjudged results", panel=_JUDGE,
)]  # fmt: skip
Repaired = Annotated[Path, argument(
    "Folder of the benchmark, in any format (`cosqa list formats`), or the file of one split's "
    "grades. Nothing in it is changed.", "Benchmark",
)]  # fmt: skip
Pool = Annotated[int, option(
    "--pool", "",
    "First results of each method that are judged where they have no grade.",
    title="First results to judge", unset="10", min=1, max=100, panel=_JUDGE,
)]  # fmt: skip
PlanOfRepair = Annotated[bool, option(
    "--plan/--no-plan", "",
    "Rank and pool, then print what judging the pool is expected to take; no key is needed.",
    panel=_INSTEAD,
)]  # fmt: skip
Before = Annotated[Path, argument("Folder of the first version.", "First version")]
After = Annotated[Path, argument("Folder of the second version.", "Second version")]
TrainingPairs = Annotated[Path, option(
    "--train", "",
    "Queries with known matches that the others are compared with, such as the pairs that the "
    "encoder was trained on, in any format (`cosqa list formats`).",
    title="Training pairs", panel=_INPUT,
)]  # fmt: skip
AskedQueries = Annotated[Path, option(
    "--queries", "",
    'Queries without labels, as JSON Lines, {"query": "..."} on each line; or those of '
    "anything that training pairs may be.",
    title="Queries", panel=_INPUT,
)]  # fmt: skip

# Training.

TrainingData = Annotated[Path, option(
    "--data", "",
    "What is trained on, in any format (`cosqa list formats`): a benchmark; a folder with train, "
    "dev (or valid) and test; or one file or folder of pairs, which is split.",
    title="Training data", examples=("cosqa-benchmarks/python-source-documentation",),
    panel=_INPUT,
)]  # fmt: skip
Test = Annotated[Path | None, option(
    "--test", "",
    "Benchmark to test on, exported or BEIR, in place of the data's own test queries.",
    title="Test benchmark", panel=_INPUT,
)]  # fmt: skip
Base = Annotated[str | None, option(
    "--base", "training.base",
    "Encoder that is fine-tuned, or model that is trained from nothing.",
    title="Base", examples=("minilm",), line=_BASES, panel=_TRAINING,
)]  # fmt: skip
Recipe = Annotated[str | None, option(
    "--recipe", "training.recipe", "How it is trained.", title="Recipe", choices="recipes",
    panel=_TRAINING, unset="that of a model trained from nothing, else cosqa-plus",
)]  # fmt: skip
EncoderName = Annotated[
    str | None,
    option("--name", "training.name", "Name of the encoder that comes out.",
           title="Name of the encoder", panel=_TRAINING,
           unset="those of base and data, joined"),
]  # fmt: skip

# Studies.

DataSets = Annotated[
    list[str], option(
    "--data", "",
    "Data set as NAME=FOLDER, with training pairs (train, train.jsonl) and test pairs (test, "
    "test.jsonl) in any format (`cosqa list formats`).",
    title="Data sets", metavar="NAME=FOLDER", examples=("docs=documentation",),
    line="Repeat it for several.", panel=_INPUT,
)]  # fmt: skip
Bases = Annotated[list[str], option(
    "--base", "", "Encoder that is fine-tuned, or model that is trained from nothing.",
    title="Bases", examples=("minilm",), line=f"{_BASES} Repeat it for several.",
    panel=_TRAINING,
)]  # fmt: skip
Seeds = Annotated[int, option(
    "--seeds", "",
    "Seeds to train by, counted from that of the settings (training.seed).",
    title="Seeds", unset="1", min=1, panel=_TRAINING,
)]  # fmt: skip
AnnotatorFiles = Annotated[list[Path] | None, option(
    "--annotators", "",
    "Accuracies of annotators, as `cosqa compare-annotators --output FILE` writes them.",
    line="Repeat it for several.", panel=_FIGURES,
)]  # fmt: skip
AnnotationStore = Annotated[Path | None, option(
    "--annotation-store", "",
    "CodeSearchNet's annotationStore.csv, for its annotation statistics.", panel=_FIGURES,
)]  # fmt: skip
ScoreSheet = Annotated[Path | None, option(
    "--score-sheet", "", "Neural Code Search's score_sheet.csv, for its Table 1.",
    panel=_FIGURES,
)]  # fmt: skip
ChallengeQueries = Annotated[Path, option(
    "--queries", "",
    "The challenge's queries.csv, or your own: CSV with the column query, or JSON Lines of "
    '{"query": "..."}.',
    title="Queries of the challenge", examples=("queries.csv",), panel=_INPUT,
)]  # fmt: skip
ChallengeAnnotations = Annotated[Path | None, option(
    "--annotations", "",
    "The challenge's annotationStore.csv, or your own, by which predictions are scored.",
    title="Annotations", examples=("annotationStore.csv",), panel=_INPUT,
)]  # fmt: skip
ChallengePool = Annotated[int | None, option(
    "--pool", "",
    "Draw the first N results of each method, query and language into a sample that people grade "
    "from 0 to 3; the paper's annotators were given 10 of an ensemble.",
    title="First results to grade", unset="no sample", min=1, max=300, panel=_OUTPUT,
)]  # fmt: skip
AnsweredQuestions = Annotated[Path, option(
    "--questions", "", "Neural Code Search's 287_android_questions.json, or your own like it.",
    title="Questions with answers", examples=("data/287_android_questions.json",), panel=_INPUT,
)]  # fmt: skip
PostRank = Annotated[bool, option(
    "--post-rank/--no-post-rank", "",
    "Score each method also with a second pass over its first 50 results, more of the question's "
    "words first: a stand-in for the paper's, which is not published.",
    title="Second pass by words", panel=_SCORING,
)]  # fmt: skip
Truth = Annotated[Path, option(
    "--truth", "",
    'Pairs with known labels: JSON Lines of {"query": ..., "code": ..., "label": 1 or 0}, or '
    "CoSQA's JSON.",
    title="Pairs with known labels", examples=("CoSQA/cosqa-dev.json",), panel=_INPUT,
)]  # fmt: skip
Models = Annotated[list[str] | None, option(
    "--model", "", "Language model that judges, by litellm's name.", title="Language models",
    unset="that of the settings", examples=_MODELS[:1], line="Repeat it for several.",
    panel=_JUDGE,
)]  # fmt: skip
Configurations = Annotated[list[str] | None, option(
    "--configuration", "",
    "Which agents judge.",
    title="Configurations of the agents", choices="configurations",
    unset="the rows of the paper's ablation, and spec", line="Repeat it for several.",
    panel=_JUDGE,
)]  # fmt: skip
PairLimit = Annotated[int | None,
    option("--limit", "", "Take N pairs only, drawn at random by the seed.", min=1,
           title="Pairs to judge at most", unset="all of them", panel=_JUDGE),
]  # fmt: skip
RunPairs = Annotated[int | None, option(
    "--pairs", "", "Pairs of the run whose time and cost are told.", min=1,
    unset="those that a run would judge now", panel=_JUDGE,
)]  # fmt: skip
FiguresFile = Annotated[Path | None, option("--output", "", "File for the figures, as JSON.")]

# Where results go, and all other settings.

Store = Annotated[
    Path | None, option(
    "--store", "store.folder",
    "Folder of the store: collections, vectors, labels, model replies.",
)]  # fmt: skip
Output = Annotated[Path | None, option(
    "--output", "publish.folder", "Folder of benchmarks, leaderboards and reports.",
    title="Folder of benchmarks and reports",
)]  # fmt: skip
Unlicensed = Annotated[
    bool | None,
    option(
        "--include-unlicensed/--no-include-unlicensed",
        "publish.include_unlicensed",
        title="Export unlicensed code",
    ),
]
Labels = Annotated[
    Literal["agents", "people", "both"] | None,
    option("--labels", "publish.labels"),
]
AcceptGold = Annotated[
    bool | None,
    option("--accept-gold/--no-accept-gold", "publish.accept_gold"),
]
Mutants = Annotated[
    int | None,
    option("--mutants", "publish.mutants", title="Mutants beside each right code", min=0),
]
Sealed = Annotated[
    bool | None,
    option("--sealed/--no-sealed", "publish.sealed", title="Seal the test part's answers"),
]
Set = Annotated[
    list[str] | None, option(
    "--set", "",
    "Any other setting, such as annotation.rounds=3, or a source's option, such as "
    "source.filters=testable, of one of several sources with its name (source.staqc.filters). "
    "`cosqa settings` prints them all.",
    title="Other settings", metavar="SECTION.KEY=VALUE", line="Repeat it for several.",
)]  # fmt: skip

# Names of options by which later commands find what an earlier one stored; cosqa.toml keeps them.
STORED_INPUT = ("source", "path", "queries", "codes", "collection")
STORED_CANDIDATES = ("encoders", "top_k", "index", "checkpoint")


def fields_of(command: Callable[..., Any]) -> Iterator[tuple[inspect.Parameter, FormField]]:
    """Yield the parameters of a command that are options of `option`, and what they ask for."""
    for parameter in inspect.signature(command).parameters.values():
        for each in getattr(parameter.annotation, "__metadata__", ()):
            if isinstance(each, FormField):
                yield parameter, each


def is_given(value: object) -> bool:
    """Return True if an option was given; a cleared field of a form holds an empty value."""
    return value not in (None, "", [], ())


def defaults_of(command: Callable[..., Any]) -> dict[str, str]:
    """Return option → what holds in this folder where it is not given, in words.

    Where the sample would be run, that is also what holds for other input.
    """
    from infra.settings import load_settings

    asked = {parameter.name: field for parameter, field in fields_of(command)}
    if not asked:
        return {}
    try:
        held = settings_of(command, {})
        is_sample = held.preset == SAMPLE and "source" in asked
        other = load_settings({}, "") if is_sample else held
    except CosqaError:  # of a settings file, which the command will refuse
        return {name: field.default_text() for name, field in asked.items()}
    found = {}
    for name, field in asked.items():
        own, others = (_held_text(name, field, settings) for settings in (held, other))
        found[name] = own if own == others else f"{own}; for other input {others or 'none'}"
    return found


def _held_text(name: str, field: FormField, settings: "Settings") -> str:
    if name == "preset" and settings.preset:
        return settings.preset
    section, _, key = field.setting.partition(".")
    value = getattr(getattr(settings, section), key, None) if key else None
    known = _field(field.setting)
    is_default = value is None or (known and value == known.default)
    return field.default_text() if is_default else _in_words(value)


def overrides_of(command: Callable[..., Any], given: Mapping[str, Any]) -> Overrides:
    """Return the settings that a call's options set.

    Args:
        command: The function of the command.
        given: Its arguments.

    Raises:
        SettingsError: One of them is not of the form that its help says.
    """
    found: Overrides = {"source": {}} if "source" in given else {}
    for parameter, field in fields_of(command):
        section, _, key = field.setting.partition(".")
        value: Any = given.get(parameter.name)
        if key and is_given(value):
            if key == "checkpoints":
                value = folders("--checkpoint", value)
            found.setdefault(section, {})[key] = tuple(value) if isinstance(value, list) else value
    if "failed" in found.get("reannotation", {}).get("take", ()):
        found["reannotation"]["retry_all"] = True
    for pair in given.get("sets") or ():
        _put(found, pair)
    return found


def _put(found: Overrides, text: str) -> None:
    """Add a setting that is given as ``section.key=value``; a source's may have another part.

    The value is as TOML writes it, else the text; names may have commas between.
    """
    flag = f"--set {text}"
    name, equals, value = text.partition("=")
    section, *keys = name.split(".")
    if not equals:
        raise SettingsError(f"{flag} has no value: write {flag}=VALUE")
    if not keys or len(keys) > 1 + (section == "source"):
        raise SettingsError(f"{flag}: write --set SECTION.KEY=VALUE")
    *parts, key = keys
    if key == "api_key":
        raise SettingsError(f"{flag.partition('=')[0]}: set COSQA_{section.upper()}__API_KEY")
    from infra.settings import Settings
    from infra.settings.origins import is_list

    place = found.setdefault(section, {})
    for part in parts:
        place = place.setdefault(part, {})
    if not isinstance(place, dict) or key in place:
        raise SettingsError(f"the setting {name} is given twice: leave one out")
    is_known = section in Settings.sections() and section != "source"
    field = _field(name) if is_known else None
    place[key] = value
    if field and is_list(field) and not value.startswith("["):
        place[key] = [each.strip() for each in value.split(",")]
    elif field:
        with suppress(tomllib.TOMLDecodeError):  # then it is the text
            place[key] = tomllib.loads(f"value = {value}")["value"]


def folders(flag: str, pairs: Iterable[str]) -> dict[str, Path]:
    """Return name → folder of an option's values ``NAME=FOLDER``.

    Raises:
        SettingsError: One has no folder, or a name comes twice.
    """
    found: dict[str, Path] = {}
    for pair in pairs:
        name, equals, folder = pair.partition("=")
        if not equals or not folder:
            raise SettingsError(f"{flag} {pair} has no folder: write {flag} {name}=FOLDER")
        if name in found:
            raise SettingsError(f"{flag} {name} is given twice: give each folder a name of its own")
        found[name] = Path(folder)
    return found


def settings_of(
    command: Callable[..., Any], given: Mapping[str, Any], *, is_form: bool = False
) -> "Settings":
    """Return the settings of a call, its options over those of file and environment.

    For a command that reads a source, other input replaces the sample of an earlier command;
    where no input is named, it runs the sample, by a model that is named.

    Args:
        command: The function of the command.
        given: Its arguments.
        is_form: Whether these are the answers of a form.

    Raises:
        SettingsError: A value is out of bounds, or contradicts another setting.
    """
    from infra.settings import load_settings

    overrides, preset = overrides_of(command, given), given.get("preset") or None
    found = load_settings(overrides, preset)
    if "source" not in inspect.signature(command).parameters:
        return found
    if found.preset == SAMPLE != preset:
        other = load_settings(overrides, "")
        found = other if other.source.model_fields_set else found
    is_own = found.source.model_fields_set or found.annotation.model_fields_set & {"agents"}
    if is_form or found.preset or is_own:
        return found
    return load_settings(overrides, SAMPLE)
