"""The questions that forms ask, each defined once."""

from typing import Annotated

from pydantic import Field

from flows.forms.form import FormField, choice_of, setting_field
from infra.settings import Configuration
from infra.settings.presets import preset_names
from tasks.encoders import encoders
from tasks.sources import sources

_COUNT = Annotated[int, Field(ge=1)]
_MODELS = ("openai/gpt-4o-mini", "openai/gpt-4o")

PRESET = FormField(
    "preset", "Preset", "Settings of a published benchmark.", choice_of(tuple(preset_names()))
)
SOURCE = setting_field("source", "source.name", "Source", choices=tuple(sources))
PATH = FormField(
    "path", "Folder or file of the source",
    "Absolute, or relative to the folder in which runs work.",
    setting="source.path", examples=("src/", "/data/CoSQA"),
)  # fmt: skip
QUERIES = FormField(
    "queries", "Queries",
    "Queries in place of the source's own: a JSON Lines file, or another source as NAME=PATH.",
    setting="source.queries", examples=("my-queries.jsonl", "cosqa=CoSQA/"),
)  # fmt: skip
CODES = setting_field(
    "codes", "source.codes", "Code",
    description="Sources of code in place of the source's own, in this order, each NAME=PATH.",
    examples=(["codesearchnet=python/"],),
)  # fmt: skip
DISTRIBUTION = FormField(
    "distribution", "Distribution",
    "Installed distribution whose Python files the source python-source reads.",
    setting="source.distribution", examples=("pydantic",),
)  # fmt: skip
REREAD = setting_field("reread", "source.reread", "Read the source again")
ENCODERS = setting_field(
    "encoders", "search.encoders", "Encoders",
    description="Encoders that candidates are found by; the cosines of several are averaged. "
    "Checkpoints and encoders behind an API are set in cosqa.toml.",
    choices=tuple(encoders),
)  # fmt: skip
TOP_K = setting_field("top_k", "search.top_k", "Candidates for each query")
MODEL = setting_field(
    "model", "llm.model", "Language model",
    description="litellm's name of the model. Its key is set where runs work "
    "(COSQA_LLM__API_KEY), or in a Prefect Secret block (COSQA_LLM__API_KEY_BLOCK).",
    examples=_MODELS,
)  # fmt: skip
CONFIGURATION = setting_field(
    "configuration", "annotation.configuration", "Configuration of the agents",
    description="Which agents judge a pair; `cosqa list configurations` says what each does.",
)  # fmt: skip
LIMIT = setting_field("limit", "annotation.limit", "Queries to annotate at most")
BATCH = setting_field("batch", "annotation.batch", "Use OpenAI's batch protocol")
REASONS = setting_field(
    "reasons", "reannotation.take", "Reasons",
    description="Reasons for which pairs are judged, the most urgent first.",
)  # fmt: skip
RETRY_ALL = setting_field(
    "retry_all", "reannotation.retry_all", "Failed pairs that are not due too"
)  # fmt: skip
PAIRS = setting_field("pairs", "reannotation.pairs", "Pairs to judge at most")
BUDGET = setting_field("budget_usd", "reannotation.budget_usd", "Budget of the run in US dollars")
APPROVAL = setting_field(
    "approval", "operation.approval", "Approval",
    description="Whether the run waits in this UI until a person approves its plan: never, "
    "always, or only above the cost below. An unknown cost counts as above.",
)  # fmt: skip
APPROVAL_ABOVE = setting_field(
    "approval_above_usd", "operation.approval_above_usd", "Approval needed above (US dollars)",
    description="With `above`: a plan that is expected to cost at most this needs no approval.",
)  # fmt: skip
AUDIT_PAIRS = setting_field("audit_pairs", "reannotation.audit_pairs", "Pairs to judge again")
OUTPUT = setting_field("output", "publish.folder", "Folder of benchmarks and reports")
UNLICENSED = setting_field("unlicensed", "publish.include_unlicensed", "Export unlicensed code")
METHODS = setting_field(
    "methods", "evaluation.methods", "Retrieval methods",
    description="Methods to score; none given takes all lexical ones and the encoders. Several "
    "fused are bm25+minilm, re-ranked by the language model llm:bm25.",
    examples=(["bm25", "minilm"],),
)  # fmt: skip
METRICS = setting_field("metrics", "evaluation.metrics", "Metrics")
ANSWERS_LIMIT = setting_field("limit", "generation.limit", "Queries to write answers for at most")
BENCHMARK = FormField(
    "benchmark", "Benchmark", "Folder of an exported benchmark, or a BEIR folder.",
    required=True, examples=("cosqa-benchmarks/python-source-documentation",),
)  # fmt: skip
RUNS = FormField(
    "runs", "Runs of other methods", "TREC runs; a file's name names its method.", list[str],
    examples=(["theirs.trec"],),
)  # fmt: skip
UNJUDGED = FormField(
    "unjudged_to_annotate", "Unjudged results to annotate",
    "Number of unjudged results that the agents annotate, best-ranked first, before all methods "
    "are scored again, as --annotate-unjudged with --at-most.",
    _COUNT,
)  # fmt: skip
BEFORE = FormField("before", "First version", "Folder of the earlier benchmark.", required=True)
AFTER = FormField("after", "Second version", "Folder of the later benchmark.", required=True)
TRAIN = FormField(
    "train", "Training pairs",
    "Pairs whose code is known: an exported benchmark, a BEIR folder, CodeSearchNet's folder, or a "
    "file of labelled pairs.",
    required=True,
)  # fmt: skip
ASKED = FormField(
    "queries", "Queries", "JSON Lines with \"query\" in each line, or what training pairs may be.",
    required=True,
)  # fmt: skip
JUDGED = FormField(
    "judged", "Judged sample", "Folder of a benchmark whose queries are a random sample of these."
)
HALF_WIDTH = setting_field("half_width", "estimation.half_width", "Half-width to plan for")
ANYWAY = setting_field("anyway", "estimation.anyway", "Show refused estimates too")
TRUTH = FormField(
    "truth", "Pairs with known labels", "JSON Lines, or a file as CoSQA publishes its own.",
    required=True, examples=("CoSQA/cosqa-dev.json",),
)  # fmt: skip
MODELS = FormField(
    "models", "Language models", "litellm's names; none given takes the model of the settings.",
    list[str], examples=([_MODELS[0]],),
)  # fmt: skip
CONFIGURATIONS = FormField(
    "configurations", "Configurations of the agents",
    "`cosqa list configurations` says what each does; none given takes the paper's.",
    list[Configuration],
)  # fmt: skip
TRUTH_LIMIT = FormField(
    "limit", "Pairs to judge at most", "From the first; empty takes all.", _COUNT
)
DATA = FormField(
    "data", "Data sets", "Each NAME=FOLDER with training pairs (train) and test pairs (test).",
    list[str], required=True, examples=(["docs=documentation"],),
)  # fmt: skip
